"""The one grammar of types: `text`, `file`, `list of note`, `text | file` (see `Param.type`)."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from iac_runtime.tools.tables import Tables

__all__ = ["ANY", "BUILTIN", "REFERENCES", "Type", "object_classes", "parse_type"]

BUILTIN: Final = frozenset(
    {
        "text",
        "integer",
        "real",
        "number",
        "boolean",
        "date",
        "file",
        "alias",
        "location specifier",
        "specifier",
        "any",
        "type",
        "class",
        "property",
        "filter",
        "point",
        "rectangle",
        "RGB color",
        "color",
        "record",
        "data",
        "missing value",
    }
)
"""Types that mean the same in every app."""

REFERENCES: Final = frozenset({"specifier", "location specifier"})
_SCALARS: Final = BUILTIN - {"any", "specifier", "location specifier", "record"}


@dataclass(frozen=True, slots=True)
class Type:
    """One way to read a value: a name, and whether it is a list of such."""

    name: str
    many: bool = False


ANY: Final = (Type("any"),)


@lru_cache(maxsize=4096)
def parse_type(text: str) -> tuple[Type, ...]:
    """Return the alternatives that a type names, in order; nothing named means `any`."""
    found: list[Type] = []
    for part in (part.strip() for part in text.split(" | ")):
        if part.startswith("list of "):
            # `list of text|number` is one list that may mix the two.
            items = part.removeprefix("list of ").split("|")
            found += [Type(item, True) for item in items]
            found += [Type("any", True)] if len(items) > 1 else []
        elif part:
            found.append(Type(part))
    return tuple(found) or ANY


def object_classes(text: str, tables: Tables) -> tuple[str, ...] | None:
    """Return the classes whose objects a property of this type can hold.

    None means that anything may follow (`any`, `specifier`); an empty tuple that nothing can:
    the property holds a value. A class of the app wins over a builtin name (`text`), because
    such text has parts (words, paragraphs).
    """
    classes: list[str] = []
    for kind in parse_type(text):
        if kind.name in tables.classes:
            classes.append(kind.name)
        elif kind.name in _SCALARS or kind.name in tables.enums or kind.name in tables.records:
            continue
        else:
            return None
    return tuple(classes)
