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
        30_000, "The time a server has to start, to agree on a protocol and to list its tools."
    ),
    "mcp_timeout_ms": Timeout(30_000, "The time a server has to answer one call."),
    "notification_timeout_ms": Timeout(
        5_000, "The time for which an expected notification is waited for."
    ),
    "bash_timeout_ms": Timeout(
        120_000, "The time one Bash command may take; a call's own `timeout` may be shorter."
    ),
    "hook_timeout_ms": Timeout(
        60_000, "The time one hook may take; its own `timeout`, in seconds, may be shorter."
    ),
    "prompt_timeout_ms": Timeout(
        600_000, "The time that all one prompt leads to may take; after it the run fails."
    ),
    "response_delay_ms": Timeout(0, "The pause before a reply that has no `delay_ms` of its own."),
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
