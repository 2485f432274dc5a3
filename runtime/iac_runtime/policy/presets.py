"""The presets: what happens with a call of each level that no rule speaks of."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from iac_runtime.policy.facts import Action
from iac_runtime.tool import Level

__all__ = ["DEFAULT", "PRESETS", "Preset"]


class Preset(NamedTuple):
    """Level -> action, and what the preset says of itself.

    `reads` is what happens with a read of an app that the user has not opted in.
    """

    levels: Mapping[Level, Action]
    reads: Action
    says: str


DEFAULT: Final = "cautious"

PRESETS: Final[Mapping[str, Preset]] = {
    "read-only": Preset(
        {"SAFE": "allow", "MODIFY": "deny", "DANGEROUS": "deny"},
        "allow",
        "reads run, nothing else does",
    ),
    "cautious": Preset(
        {"SAFE": "allow", "MODIFY": "ask", "DANGEROUS": "ask"},
        "allow",
        "reads run, changes ask",
    ),
    "private": Preset(
        {"SAFE": "allow", "MODIFY": "ask", "DANGEROUS": "ask"},
        "ask",
        "changes ask, and so do reads of apps that are not under reads",
    ),
    "trusted": Preset(
        {"SAFE": "allow", "MODIFY": "allow", "DANGEROUS": "ask"},
        "allow",
        "reads and changes run, what cannot be taken back asks",
    ),
}
