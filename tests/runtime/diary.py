"""Tools for Diary, an app that does not exist: the shape of a generated module, in small."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from iac_runtime.tool import (
    App,
    ListOf,
    Param,
    Ref,
    tool,
)

__all__ = [
    "APP",
    "count",
    "delete",
    "entry_of_today",
    "export",
    "get",
    "list",
    "make",
    "make_entry",
    "move",
    "remind",
    "search",
    "set",
    "write_in",
]

APP: Final = App("com.example.Diary", "Diary")

ClassName = Literal["application", "day book", "entry", "journal", "picture"]


@tool(
    event="coregetd",
    op="get",
    level="SAFE",
    params={
        "target": Param("", "----", "specifier"),
        "properties": Param("", "", "list of property"),
        "as_": Param("as", "rtyp", "type"),
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
        "in_": Param("in", "scop", "journal | file | text"),
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
    bind={"text": "$words", "in_": "today"},
)
def write_in(words: str) -> ListOf[Ref]:
    """Search the journal of today."""
    return APP.call(write_in, words=words)
