"""The committed tools on simulated apps, behind a gate with a policy of the user's."""

from functools import cache
from pathlib import Path
from typing import Any, Final

from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.policy.permissions import Permissions
from iac_runtime.policy.policy_file import parse_policy
from iac_runtime.policy.settings import Policy, PolicyFlags, read_settings
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator import Simulator

TOOLS: Final = Path(__file__).parents[1] / "generated" / "iac_tools"
HOME: Final = "/Users/me"


@cache
def shipped_catalogue() -> Catalogue:
    """Return the committed tools, read once."""
    return Catalogue([TOOLS])


def simulate_apps(catalogue: Catalogue, world: Any = None, **more: Any) -> Simulator:
    """Return all apps of a catalogue, in the state `world`."""
    tables = [catalogue.load_tables(app) for app in catalogue.apps.values()]
    return Simulator(tables, world, **more)


def permissions_under(
    policy: str | Policy = "", *flags: Any, home: str | None = HOME, **more: Any
) -> Permissions:
    """Return the permissions under a policy, without an environment; `flags` are PolicyFlags'."""
    known = parse_policy(policy, "policy.toml") if isinstance(policy, str) else policy
    return Permissions(known, read_settings(PolicyFlags(*flags), {}, known), home=home, **more)


def run_tool(gate: Gate, tool: str, /, **arguments: Any) -> CompletedCall:
    """Call a tool that asks nobody, and return what came of it."""
    answer = gate.call(Call(tool, arguments))
    assert isinstance(answer, CompletedCall), answer
    return answer
