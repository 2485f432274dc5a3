"""Tools for Diary, an app that does not exist: the shape of a generated module, in small."""

import json
from collections.abc import Mapping
from inspect import signature
from typing import Any, Final, Literal

from iac_runtime.tool import (
    App,
    Class,
    Element,
    Enum,
    ListOf,
    Param,
    Property,
    Record,
    Ref,
    Schema,
    spec_of,
    tool,
)

__all__ = [
    "APP", "count", "delete", "entry_of_today", "export", "get", "list", "make", "make_entry",
    "move", "remind", "search", "set", "write_in",
]  # fmt: skip

APP: Final = App("com.example.Diary", "Diary")

ClassName = Literal["application", "day book", "entry", "journal", "picture"]


@tool(
    event="coregetd",
    op="get",
    level="SAFE",
    params={
        "target": Param("", "----", "specifier"),
        "properties": Param("", "", "list of property"),
        "as": Param("as", "rtyp", "type"),
    },
    result="any",
)
def get(
    target: Ref | ListOf[Ref], *, properties: ListOf[str] | None = None, as_: str | None = None
) -> Any:
    """Read an object of Diary, or several."""
    return APP.call(get, target=target, properties=properties, as_=as_)


@tool(
    event="coresetd",
    op="set",
    level="SAFE",
    ceiling="DANGEROUS",
    params={
        "target": Param("", "----", "specifier"),
        "properties": Param("", "data", "record"),
        "quietly": Param("quietly", "quie", "boolean"),
    },
)
def set(target: Ref, *, properties: Mapping[str, Any], quietly: bool | None = None) -> None:
    """Change properties of an object of Diary."""
    return APP.call(set, target=target, properties=properties, quietly=quietly)


@tool(
    event="coregetd",
    op="list",
    level="SAFE",
    params={
        "element": Param("", "", "class"),
        "of": Param("", "----", "specifier"),
        "where": Param("", "", "filter"),
        "properties": Param("", "", "list of property"),
        "order": Param("", "", "list of property"),
        "limit": Param("", "", "integer"),
        "offset": Param("", "", "integer"),
    },
    result="list of record",
)
def list(
    element: ClassName,
    *,
    of: Ref | None = None,
    where: Mapping[str, Any] | None = None,
    properties: ListOf[str] | None = None,
    order: ListOf[str] | None = None,
    limit: int | None = None,
    offset: int | None = None,
) -> ListOf[Mapping[str, Any]]:
    """List objects of Diary."""
    return APP.call(
        list,
        element=element,
        of=of,
        where=where,
        properties=properties,
        order=order,
        limit=limit,
        offset=offset,
    )


@tool(
    event="corecnte",
    op="count",
    level="SAFE",
    params={
        "element": Param("each", "kocl", "class"),
        "of": Param("", "----", "specifier"),
        "where": Param("", "", "filter"),
        "with_hidden": Param("with hidden", "hidn", "boolean", "withHidden"),
    },
    result="integer",
)
def count(
    element: ClassName,
    *,
    of: Ref | None = None,
    where: Mapping[str, Any] | None = None,
    with_hidden: bool | None = None,
) -> int:
    """Count objects of Diary."""
    return APP.call(count, element=element, of=of, where=where, with_hidden=with_hidden)


@tool(
    event="corecrel",
    op="make",
    level="MODIFY",
    ceiling="DANGEROUS",
    params={
        "element": Param("new", "kocl", "class"),
        "properties": Param("with properties", "prdt", "record", "withProperties"),
        "at": Param("at", "insh", "location specifier"),
        "with_data": Param("with data", "data", "any", "withData"),
    },
    result="specifier",
)
def make(
    element: ClassName,
    *,
    properties: Mapping[str, Any] | None = None,
    at: Ref | None = None,
    with_data: Any = None,
) -> Ref:
    """Make an object of Diary."""
    return APP.call(make, element=element, properties=properties, at=at, with_data=with_data)


@tool(event="coredelo", level="DANGEROUS", params={"target": Param("", "----", "specifier")})
def delete(target: Ref) -> None:
    """Delete an object of Diary."""
    return APP.call(delete, target=target)


@tool(
    event="coremove",
    level="MODIFY",
    params={
        "target": Param("", "----", "entry"),
        "to": Param("to", "insh", "location specifier"),
    },
    result="entry",
)
def move(target: Ref, *, to: Ref) -> Ref:
    """Move an entry to another journal."""
    return APP.call(move, target=target, to=to)


@tool(
    event="diarfind",
    level="SAFE",
    params={
        "text": Param("", "----", "text"),
        "in": Param("in", "scop", "journal | file | text"),
        "mood": Param("with mood", "mood", "mood", "withMood"),
        "since": Param("since", "sinc", "date"),
        "limit": Param("limit", "limt", "integer"),
    },
    result="list of entry",
)
def search(
    text: str,
    *,
    in_: str | None = None,
    mood: str | None = None,
    since: str | None = None,
    limit: int | None = None,
) -> ListOf[Ref]:
    """Search the diary."""
    return APP.call(search, text=text, in_=in_, mood=mood, since=since, limit=limit)


@tool(
    event="diarexpo",
    level="MODIFY",
    params={
        "target": Param("", "----", "entry"),
        "to": Param("to", "kfil", "file"),
        "settings": Param("with settings", "sett", "export settings", "withSettings"),
    },
)
def export(target: Ref | None = None, *, to: str, settings: Any = None) -> None:
    """Export an entry to a file."""
    return APP.call(export, target=target, to=to, settings=settings)


@tool(
    event="diarremi",
    level="MODIFY",
    params={"when": Param("at", "when", "date")},
    result="export settings",
)
def remind(when: str | None = None) -> Mapping[str, Any]:
    """Remind of writing."""
    return APP.call(remind, when=when)


@tool(
    event="corecrel",
    op="make",
    level="MODIFY",
    params={
        "title": Param("title", "pnam", "text"),
        "body": Param("body", "body", "text"),
        "journal": Param("journal", "insh", "specifier"),
    },
    result="specifier",
    bind={
        "element": "entry",
        "properties": {"name": "$title", "body": "$body"},
        "at": "$journal",
    },
)
def make_entry(title: str, *, body: str | None = None, journal: Ref | None = None) -> Ref:
    """Make an entry."""
    return APP.call(make_entry, title=title, body=body, journal=journal)


@tool(
    event="corecnte",
    op="count",
    level="SAFE",
    params={},
    result="integer",
    bind={"element": "entry", "of": "today", "where": {"is private": False}},
)
def entry_of_today() -> int:
    """Count the entries of today."""
    return APP.call(entry_of_today)


@tool(
    event="diarfind",
    jxa="search",
    level="SAFE",
    params={"words": Param("words", "----", "text")},
    result="list of entry",
    bind={"text": "$words", "in": "today"},
)
def write_in(words: str) -> ListOf[Ref]:
    """Search the journal of today."""
    return APP.call(write_in, words=words)


# fmt: off
CLASSES: Final[Mapping[str, Class]] = {
    "application": Class("capp", "application", "applications", None, "DANGEROUS", "DANGEROUS", (
        Property("name", "pnam", "name", "text", "r", "SAFE"),
        Property("today", "tday", "today", "journal", "r", "SAFE"),
        Property("selection", "seln", "selection", "list of entry", "rw", "SAFE"),
        Property("front item", "frnt", "frontItem", "any", "r", "SAFE"),
    ), (Element("journal", "rw"), Element("entry", "rw"))),
    "item": Class("cobj", "item", "items", None, "MODIFY", "DANGEROUS", (
        Property("name", "pnam", "name", "text", "rw", "MODIFY"),
        Property("id", "ID  ", "id", "text", "r", "SAFE"),
    )),
    "journal": Class("jour", "journal", "journals", "item", "MODIFY", "DANGEROUS", (
        Property("password", "pass", "password", "text", "w", "DANGEROUS"),
        Property("owner", "ownr", "owner", "text", "rw", "MODIFY"),
    ), (Element("entry", "rw"),)),
    "day book": Class("dayb", "dayBook", "dayBooks", "journal", "DANGEROUS", "DANGEROUS"),
    "entry": Class("entr", "entry", "entries", "item", "MODIFY", "DANGEROUS", (
        Property("body", "body", "body", "text", "rw", "MODIFY"),
        Property("creation date", "ascd", "creationDate", "date", "rw", "MODIFY"),
        Property("mood", "mood", "mood", "mood", "rw", "MODIFY"),
        Property("is private", "priv", "isPrivate", "boolean", "rw", "MODIFY"),
        Property("words", "wrds", "words", "integer", "r", "SAFE"),
        Property("container", "cntr", "container", "journal", "r", "SAFE"),
        Property("URL", "URL ", "url", "text", "rw", "MODIFY"),
        Property("expanded", "expd", "expanded", "boolean", "rw", "SAFE"),
    ), (Element("picture", "rw"),)),
    "picture": Class("pict", "picture", "pictures", None, "MODIFY", "DANGEROUS", (
        Property("name", "pnam", "name", "text", "rw", "MODIFY"),
        Property("source file", "file", "sourceFile", "file", "rw", "MODIFY"),
    )),
}
ENUMS: Final[Mapping[str, Enum]] = {
    "mood": (("happy", "hapy"), ("not so happy", "nhap"), ("QuickTime movie", "qtmo")),
}
RECORDS: Final[Mapping[str, Record]] = {
    "export settings": Record("xset", (
        Property("page count", "pgct", "pageCount", "integer", "rw", "MODIFY"),
        Property("mood", "mood", "mood", "mood", "rw", "MODIFY"),
    )),
}
# fmt: on
_Json = Mapping[str, Any]
_TEXT: Final[_Json] = {"type": "string"}
_TEXTS: Final[_Json] = {"type": "array", "items": _TEXT}
_OPEN: Final[_Json] = {"type": "object"}
_INTEGER: Final[_Json] = {"type": "integer"}
_TYPES: Final[Mapping[str, _Json]] = {
    "any": {}, "boolean": {"type": "boolean"},
    "class": {"type": "string", "enum": ["application", "day book", "entry", "journal", "picture"]},
    "date": {"type": "string", "format": "date-time"}, "export settings": _OPEN, "filter": _OPEN,
    "integer": _INTEGER, "list of property": _TEXTS,
    "mood": {"type": "string", "enum": ["happy", "not so happy", "QuickTime movie"]},
    "record": _OPEN,
}  # fmt: skip
_RESULTS: Final[Mapping[str, _Json]] = {
    "entry": {"ref": _TEXT}, "integer": {"result": _INTEGER}, "list of entry": {"result": _TEXTS},
    "list of record": {"result": {"type": "array", "items": _OPEN}}, "specifier": {"ref": _TEXT},
}  # fmt: skip


def _schema(rows: _Json, required: ListOf[str]) -> str:
    closed = {"required": required, "additionalProperties": False}
    return json.dumps({"type": "object", "properties": rows, **closed})


def _schemas(function: Any) -> Schema:
    """Return the schemas that a build would give a tool."""
    spec = spec_of(function)
    assert spec is not None
    rows = {name: _TYPES.get(row.type, _TEXT) for name, row in spec.params.items()}
    if spec.op == "get":
        rows["target"] = {"anyOf": [_TEXT, _TEXTS]}
    if spec.op == "list":
        rows |= {name: {**_INTEGER, "minimum": 0} for name in ("limit", "offset")}
    declared = signature(function).parameters.values()
    schemas = [_schema(rows, [row.name for row in declared if row.default is row.empty])]
    if spec.result in _RESULTS:
        schemas.append(_schema(_RESULTS[spec.result], [*_RESULTS[spec.result]]))
    return Schema(*schemas)


SCHEMAS: Final[Mapping[str, Schema]] = {
    name: _schemas(globals()[name]) for name in sorted(__all__) if name != "APP"
}
