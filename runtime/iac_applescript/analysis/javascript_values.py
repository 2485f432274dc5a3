"""What an expression of a JavaScript may be: a set of atoms, joined over all that gives it one.

("number",) ("data",) ("text",) ("text", "known")   plain values; HOLE in a text stands for any part
("chosen",)                     a file that a person picked in a dialog
("app", KEY) ("of", KEY, CLASS, "many" or "", PROPERTY)   an app, or an object of its own
("site", ID) ("fn", ID) ("class", ID)   what the script makes, by the place that makes it
("js", NAME) ("bridge", NAME)   what the language and Objective-C give
("odd",) ("this",) ("anything",)   a member that may come from all values' own; not known
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from iac_applescript.analysis.budget import spend

Atom: TypeAlias = tuple[str | int, ...]
Value: TypeAlias = frozenset[Atom]

HOLE: Final = "\0"
NOTHING: Final[Value] = frozenset()
DATA: Final[Value] = frozenset((("data",),))
NUMBER: Final[Value] = frozenset((("number",),))
ANY_TEXT: Final[Value] = frozenset((("text",),))
ODD: Final[Value] = frozenset((("odd",),))
CHOSEN: Final[Value] = frozenset((("chosen",),))
ANYTHING: Final[Value] = frozenset((("anything",),))

_MOST_TEXTS: Final = 24
_LONGEST: Final = 4_000


@dataclass(slots=True)
class Site:
    """A record or list that a place of the script makes; `any` is what unnamed fields may hold.

    `ordered` is a list as it is written out, `keyed` a record with fields whose names are reckoned.
    """

    fields: dict[str, Value] = field(default_factory=dict)
    any: Value = NOTHING
    ordered: bool = True
    keyed: bool = False
    read: bool = False


@dataclass(slots=True)
class Args:
    """What a call is given; `spread` may stand at any place."""

    values: list[Value] = field(default_factory=list)
    spread: Value = NOTHING

    def all(self) -> Value:
        """Return all of it as one value."""
        return NOTHING.union(self.spread, *self.values)


def limited(value: Value) -> Value:
    """Return a value with its texts as one that is not known, where there are too many."""
    spend(len(value) // 32)
    if len(value) <= _MOST_TEXTS:
        return value
    texts = [atom for atom in value if atom[0] == "text"]
    return (value - frozenset(texts)) | ANY_TEXT if len(texts) > _MOST_TEXTS else value


def texts_of(value: Iterable[Atom]) -> list[str]:
    """Return the texts of a value as far as they are known, in a fixed order."""
    return sorted(str(a[1])[:_LONGEST] for a in value if a[0] == "text" and len(a) > 1 and a[1])


def exact(value: Value) -> list[str] | None:
    """Return the texts that a value may be; None if it may be another."""
    if value and all(a[0] == "text" and len(a) > 1 and HOLE not in str(a[1]) for a in value):
        return sorted(str(atom[1]) for atom in value)
    return None
