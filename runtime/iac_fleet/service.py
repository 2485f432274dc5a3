"""The forwarder of a Mac as a launchd agent of its user."""

from collections.abc import Mapping
from typing import Final

from iac_mcp.setup.interpreter import PythonInterpreter
from iac_mcp.setup.service import AgentKind, make_plist

FORWARDER: Final = AgentKind(
    "iac-for-mac.fleet", "iac-fleet", "send rows with: iac-fleet forward", "fleet.log"
)


def forwarder_plist(python: PythonInterpreter, environ: Mapping[str, str]) -> bytes:
    """Return the plist of the agent that sends the audit log to the team's database."""
    arguments = ("-P", "-m", "iac_fleet", "forward")
    more = {"KeepAlive": True, "ProcessType": "Background"}
    return make_plist(FORWARDER, python, arguments, environ, more)
