"""How long things may take: one table, and the order in which the values are looked up."""

import os
from collections.abc import Mapping
from typing import Final, NamedTuple

from iac_scenario.errors import PlayError


class Timeout(NamedTuple):
    """A time in milliseconds: its default, and what it limits."""

    default: int
    doc: str


TIMEOUTS: Final[Mapping[str, Timeout]] = {
    "mcp_start_timeout_ms": Timeout(
        30_000, "The time for a server to start, agree on a protocol and list its tools."
    ),
    "mcp_timeout_ms": Timeout(30_000, "The time for a server to answer one call."),
    "notification_timeout_ms": Timeout(5_000, "The time to wait for an expected notification."),
    "bash_timeout_ms": Timeout(
        120_000, "The time for one Bash command; a call's own `timeout` may be shorter."
    ),
    "hook_timeout_ms": Timeout(
        60_000, "The time for one hook; its own `timeout`, in seconds, may be shorter."
    ),
    "prompt_timeout_ms": Timeout(
        600_000, "The time for everything that one prompt causes; after it the run fails."
    ),
    "response_delay_ms": Timeout(0, "The pause before a reply without its own `delay_ms`."),
}


def resolve(flags: Mapping[str, int | None], scenario: Mapping[str, int]) -> dict[str, int]:
    """Return every timeout in milliseconds: flag, else scenario, else environment, else default.

    The variable is IAC_SCENARIO_ and the name in capitals. Raises PlayError for one that is no
    whole number of milliseconds.
    """
    found = {}
    for name, timeout in TIMEOUTS.items():
        flag, own = flags.get(name), scenario.get(name)
        if flag is not None:
            found[name] = flag
        elif own is not None:
            found[name] = own
        else:
            variable = f"IAC_SCENARIO_{name.upper()}"
            text = os.environ.get(variable, str(timeout.default))
            if not (text.isascii() and text.isdigit()):
                raise PlayError(f"{variable}={text!r}: give a whole number of milliseconds.")
            found[name] = int(text)
    return found
