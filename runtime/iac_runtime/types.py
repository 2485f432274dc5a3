"""The types that mean the same in every app, a row each, and the one grammar that names them.

A type is one string: alternatives joined by ` | `, each a term with `list of ` before it or not. A
term is a name of `TYPES`, or of a class, record or enumeration of the app. A list whose items may
be of several types joins those with a bare bar: `list of text|number` takes both in one list, `list
of text | list of number` one or the other. No term has a bar in it, so a reader that splits at
` | ` first and the rest at `|` reads both.

Generator, runtime and simulator read this table. Codes and spellings are those of real dictionaries
and Apple's intrinsic ones (docs/dictionaries.md, "Types").
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias

__all__ = ["ANY", "TYPES", "Alternative", "Reading", "ValueType", "alternatives", "parse_type"]

Reading: TypeAlias = Literal[
    "any", "boolean", "color", "date", "file", "missing", "number", "record", "rectangle",
    "reference", "term", "text",
]  # fmt: skip
"""How a value is read and sent: `iac_runtime.language.values` has a reader of each name."""

_STRING: Final = {"type": "string"}
_PLAIN: Final = ({"type": "number"}, {"type": "boolean"})
_NUMBERS: Final = {"type": "array", "items": {"type": "number"}}


class ValueType(NamedTuple):
    """A type.

    Attributes:
        reading: How a value of it is read and sent.
        schema: Its JSON schema.
        annotation: Its Python annotation in a generated module.
        words: What to call a value of it in a sentence.
        example: A value that is read.
        hint: What to say of how it is written; empty where the schema says it all.
        secret: Whether a value of it can be a secret; "require password to wake" is a yes or no.
        spellings: What dictionaries call it besides, in lower case.
        codes: The four-character codes that mean it.
        aliases: Names that a module may have for it, too.
    """

    reading: Reading
    schema: Mapping[str, Any]
    annotation: str
    words: str
    example: Any
    hint: str = ""
    secret: bool = True
    spellings: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


TYPES: Final[Mapping[str, ValueType]] = {
    "any": ValueType(
        "any",
        {"anyOf": [_STRING, *_PLAIN, {"type": "array", "items": _STRING}]},
        "Any",
        "any value",
        "example",
        spellings=("script",),
        codes=("****", "scpt"),
    ),
    "boolean": ValueType(
        "boolean", {"type": "boolean"}, "bool", "true or false", True, secret=False, codes=("bool",)
    ),
    "class": ValueType("term", _STRING, "str", "a class", "example", "Class name"),
    "color": ValueType(
        "color",
        {**_NUMBERS, "minItems": 3, "maxItems": 3},
        "ListOf[float]",
        "a colour",
        [1, 0, 0],
        "Red, green, blue, each 0 to 1",
        spellings=("rgb color",),
        codes=("cRGB", "colr"),
        aliases=("RGB color",),
    ),
    "data": ValueType(
        "any",
        _STRING,
        "str",
        "data",
        "example",
        spellings=("raw data",),
        codes=("PICT", "TIFF", "RTF ", "tdta", "imag", "bmrk"),
    ),
    "date": ValueType(
        "date",
        {"type": "string", "format": "date-time"},
        "str",
        "a date",
        "2026-03-01T09:30:00Z",
        "ISO 8601",
        secret=False,
        codes=("ldt ",),
    ),
    "file": ValueType(
        "file",
        _STRING,
        "str",
        "a file",
        "~/Documents/example.txt",
        "Absolute path or ~",
        spellings=("alias", "file specification", "file url", "fsrf", "furl"),
        codes=("file", "alis", "furl", "fsrf", "fss "),
        aliases=("alias",),
    ),
    "filter": ValueType("any", _STRING, "str", "any value", "example"),
    "integer": ValueType(
        "number",
        {"type": "integer"},
        "int",
        "a whole number",
        1,
        spellings=("double integer", "short integer", "small integer", "unsigned integer"),
        codes=("comp", "magn", "long", "shor"),
    ),
    "location specifier": ValueType(
        "reference",
        _STRING,
        "Ref",
        "a place",
        "application",
        spellings=("insertion point", "location"),
        codes=("insl",),
    ),
    "missing value": ValueType("missing", _STRING, "str", "nothing", None, codes=("msng", "null")),
    "number": ValueType(
        "number", {"type": "number"}, "float", "a number", 1.5, codes=("nmbr",)
    ),
    "point": ValueType(
        "any",
        {**_NUMBERS, "minItems": 2, "maxItems": 2},
        "ListOf[float]",
        "a point",
        [0, 0],
        secret=False,
        codes=("QDpt",),
    ),
    "property": ValueType("term", _STRING, "str", "a property", "example", codes=("prop",)),
    "real": ValueType(
        "number",
        {"type": "number"},
        "float",
        "a number",
        1.5,
        spellings=("double real", "small real"),
        codes=("doub", "sing", "exte"),
    ),
    "record": ValueType(
        "record", {"type": "object"}, "Mapping[str, Any]", "a record", {}, codes=("reco",)
    ),
    "rectangle": ValueType(
        "rectangle",
        {
            "type": "object",
            "properties": {key: {"type": "number"} for key in ("x", "y", "width", "height")},
            "required": ["x", "y", "width", "height"],
            "additionalProperties": False,
        },
        "Mapping[str, float]",
        "a rectangle",
        {"x": 0, "y": 0, "width": 800, "height": 600},
        secret=False,
        spellings=("bounding rectangle",),
        codes=("qdrt",),
    ),
    "specifier": ValueType(
        "reference",
        _STRING,
        "Ref",
        "an object",
        "application",
        spellings=("item", "object", "object specifier", "reference"),
        codes=("obj ",),
    ),
    "text": ValueType(
        "text",
        _STRING,
        "str",
        "text",
        "example",
        spellings=(
            "international text", "string", "styled text", "unicode text", "utf8", "version",
        ),
        codes=("TEXT", "ctxt", "utxt", "itxt", "STXT", "utf8", "ut16"),
    ),
    "type": ValueType(
        "term", _STRING, "str", "a class name", "example", "Class name",
        spellings=("type class",), codes=("type",),
    ),
}  # fmt: skip
"""Term -> type. Order has no meaning."""


class Alternative(NamedTuple):
    """One way to read a value: a term, and whether it is a list of such."""

    name: str
    many: bool = False


ANY: Final = (Alternative("any"),)


def alternatives(kind: str) -> list[str]:
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
