"""How long things may take, and the order in which the values are looked up."""

import os
from collections.abc import Mapping
from typing import Final

from iac_scenario.errors import PlayError
from iac_scenario.schema import TABLES

TIMEOUTS: Final = {
    name: field for name, field in TABLES["timeouts"].fields.items() if field.honoured
}
"""Times in milliseconds, as `schema.toml` has them."""


def resolve_timeouts(
    flags: Mapping[str, int | None], scenario: Mapping[str, int]
) -> dict[str, int]:
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
            text = os.environ.get(variable, timeout.default)
            if not (text.isascii() and text.isdigit()):
                raise PlayError(f"{variable}={text!r}: give a whole number of milliseconds.")
            found[name] = int(text)
    return found
