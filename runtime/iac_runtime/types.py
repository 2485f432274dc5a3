"""The types that mean the same in every app, a row each, and the one grammar that names them.

A type is one string: alternatives joined by ` | `, each a term with `list of ` before it or not. A
term is a name of `TYPES`, or of a class, record or enumeration of the app. A list whose items may
be of several types joins those with a bare bar: `list of text|number` takes both in one list, `list
of text | list of number` one or the other. No term has a bar in it, so a reader that splits at
` | ` first and the rest at `|` reads both.

Generator, runtime and simulator read this table, whose rows are in types.json. Codes and spellings
are those of real dictionaries and Apple's intrinsic ones (docs/dictionaries.md, "Types").
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

Reading: TypeAlias = Literal[
    "any",
    "boolean",
    "class",
    "class name",
    "color",
    "date",
    "file",
    "insertion",
    "integer",
    "missing",
    "number",
    "object",
    "plain",
    "property",
    "record",
    "rectangle",
    "text",
]
"""How a value is read: `iac_runtime.language.values` has a reader of each.

`any` and `plain` take what comes; after a property of type `any` names can follow, for it may
hold an object. A `class` must be one of the app, a `class name` need not.
"""

_STRING: Final = {"type": "string"}


class DataType(NamedTuple):
    """A type.

    Attributes:
        reading: How a value of it is read and sent.
        schema: Its JSON schema.
        annotation: Its Python annotation in a generated module.
        object_annotation, object_answer: In the object layer: of what is given, and of what is
            answered; as `annotation`, and as the first of them, where a row does not say.
        words: What to call a value of it in a sentence.
        example: A value that is read wherever the type is; None where that depends on the app.
        examples: What people write for what is called so, or has a word so.
        hint: What to say of how it is written; empty where the schema says it all.
        spellings: What dictionaries call it besides, in lower case.
        codes: The four-character codes that mean it.
        aliases: Names that a module may have for it, too.
    """

    reading: Reading
    schema: Mapping[str, Any] = _STRING
    annotation: str = "str"
    object_annotation: str = "str"
    object_answer: str = "str"
    words: str = ""
    example: Any = None
    examples: Mapping[str, Any] = {}
    hint: str = ""
    spellings: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


def _load_types() -> dict[str, DataType]:
    raw: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
    for row in raw.values():
        row.setdefault("object_annotation", row.get("annotation", "str"))
        row.setdefault("object_answer", row["object_annotation"])
        row |= {key: tuple(row.get(key, ())) for key in ("spellings", "codes", "aliases")}
    return {name: DataType(**row) for name, row in raw.items()}


TYPES: Final[Mapping[str, DataType]] = _load_types()
"""Term -> type. Of a value that may be of several, the first here that has a hint gives it."""

SPELLINGS: Final[Mapping[str, str]] = {"list": "list of any"} | {
    spelling: name for name, row in TYPES.items() for spelling in row.spellings
}
"""What dictionaries write, in lower case -> type."""

CODES: Final[Mapping[str, str]] = {"list": "list of any", "RGBA": "list of real"} | {
    code: name for name, row in TYPES.items() for code in row.codes
}
"""Four-character code -> type."""

_ALIASES: Final = {alias: row for row in TYPES.values() for alias in row.aliases}


@lru_cache(maxsize=4096)
def find_type(name: str) -> DataType | None:
    """Return the type that a module means by `name`, None where the name is one of the app."""
    return TYPES.get(name) or _ALIASES.get(name)


def reading_of(name: str) -> Reading | None:
    """Return how a type is read; None where its name is one of the app."""
    found = find_type(name)
    return None if found is None else found.reading


class Alternative(NamedTuple):
    """One way to read a value: a term, and whether it is a list of such."""

    name: str
    many: bool = False


ANY: Final = (Alternative("any"),)


def example_value(kind: str, *names: str) -> Any:
    """Return a value of a plain type, as people write it for what has one of these names.

    A name counts before the words of all; None where the value depends on the app.
    """
    row = find_type(kind)
    if row is None:
        return None
    plain = [name.replace("_", " ").lower() for name in names]
    words = chain.from_iterable(reversed(name.split()) for name in plain)
    told = (row.examples[one] for one in (*plain, *words) if one in row.examples)
    return next(told, row.example)


HTML_TEXT: Final = "HTML text"
"""The type of a text that an app keeps as HTML, which only a quirk can say."""


def type_alternatives(kind: str) -> list[str]:
    """Return the alternatives of a type as they are written, without `missing value`."""
    return [part for part in kind.split(" | ") if part != "missing value"]


@lru_cache(maxsize=4096)
def parse_type(text: str) -> tuple[Alternative, ...]:
    """Return the alternatives that a type names, in order; nothing named means `any`."""
    found: list[Alternative] = []
    for part in (part.strip() for part in text.split(" | ")):
        if part.startswith("list of "):
            # `list of text|number` is one list that may mix the two.
            items = part.removeprefix("list of ").split("|")
            found += [Alternative(item, True) for item in items]
            found += [Alternative("any", True)] if len(items) > 1 else []
        elif part:
            found.append(Alternative(part))
    return tuple(found) or ANY
