"""The tables and schemas of Diary, the second half of its module (`diary_output.SOURCE`)."""

import json
from collections.abc import Mapping
from typing import Any, Final

from iac_runtime.tool import Class, Element, Enum, ListOf, Property, Record, Schema

CLASSES: Final[Mapping[str, Class]] = {
    "application": Class(
        "capp",
        "application",
        "applications",
        None,
        "DANGEROUS",
        "DANGEROUS",
        (
            Property("name", "pnam", "name", "text", "r", "SAFE"),
            Property("today", "tday", "today", "journal", "r", "SAFE"),
            Property("selection", "seln", "selection", "list of entry", "rw", "SAFE"),
            Property("front item", "frnt", "frontItem", "any", "r", "SAFE"),
        ),
        (Element("journal", "rw"), Element("entry", "rw")),
    ),
    "item": Class(
        "cobj",
        "item",
        "items",
        None,
        "MODIFY",
        "DANGEROUS",
        (
            Property("name", "pnam", "name", "text", "rw", "MODIFY"),
            Property("id", "ID  ", "id", "text", "r", "SAFE"),
        ),
    ),
    "journal": Class(
        "jour",
        "journal",
        "journals",
        "item",
        "MODIFY",
        "DANGEROUS",
        (
            Property("password", "pass", "password", "text", "w", "DANGEROUS"),
            Property("owner", "ownr", "owner", "text", "rw", "MODIFY"),
        ),
        (Element("entry", "rw"),),
    ),
    "day book": Class("dayb", "dayBook", "dayBooks", "journal", "DANGEROUS", "DANGEROUS"),
    "entry": Class(
        "entr",
        "entry",
        "entries",
        "item",
        "MODIFY",
        "DANGEROUS",
        (
            Property("body", "body", "body", "text", "rw", "MODIFY"),
            Property("creation date", "ascd", "creationDate", "date", "rw", "MODIFY"),
            Property("mood", "mood", "mood", "mood", "rw", "MODIFY"),
            Property("is private", "priv", "isPrivate", "boolean", "rw", "MODIFY"),
            Property("words", "wrds", "words", "integer", "r", "SAFE"),
            Property("container", "cntr", "container", "journal", "r", "SAFE"),
            Property("URL", "URL ", "url", "text", "rw", "MODIFY"),
            Property("expanded", "expd", "expanded", "boolean", "rw", "SAFE"),
        ),
        (Element("picture", "rw"),),
    ),
    "picture": Class(
        "pict",
        "picture",
        "pictures",
        None,
        "MODIFY",
        "DANGEROUS",
        (
            Property("name", "pnam", "name", "text", "rw", "MODIFY"),
            Property("source file", "file", "sourceFile", "file", "rw", "MODIFY"),
        ),
    ),
}
ENUMS: Final[Mapping[str, Enum]] = {
    "mood": (("happy", "hapy"), ("not so happy", "nhap"), ("QuickTime movie", "qtmo")),
}
RECORDS: Final[Mapping[str, Record]] = {
    "export settings": Record(
        "xset",
        (
            Property("page count", "pgct", "pageCount", "integer", "rw", "MODIFY"),
            Property("mood", "mood", "mood", "mood", "rw", "MODIFY"),
        ),
    ),
}
_Json = Mapping[str, Any]
_TEXT: Final[_Json] = {"type": "string"}
_OPEN: Final[_Json] = {"type": "object"}
_TEXTS: Final[_Json] = {"type": "array", "items": {"type": "string"}}
_CLASS: Final[_Json] = {
    "type": "string",
    "enum": ["application", "day book", "entry", "journal", "picture"],
}


def _schema(required: ListOf[str], **rows: _Json) -> _Json:
    return {
        "type": "object",
        "properties": rows,
        "required": required,
        "additionalProperties": False,
    }


_TREES: Final[Mapping[str, Mapping[str, _Json]]] = {
    "count": {
        "input": _schema(
            ["element"], element=_CLASS, of=_TEXT, where=_OPEN, with_hidden={"type": "boolean"}
        ),
        "output": _schema(["result"], result={"type": "integer"}),
    },
    "delete": {"input": _schema(["target"], target=_TEXT)},
    "entry_of_today": {
        "input": _schema([]),
        "output": _schema(["result"], result={"type": "integer"}),
    },
    "export": {"input": _schema(["to"], target=_TEXT, to=_TEXT, settings=_OPEN)},
    "get": {
        "input": _schema(
            ["target"], target={"anyOf": [_TEXT, _TEXTS]}, properties=_TEXTS, as_=_TEXT
        )
    },
    "list": {
        "input": _schema(
            ["element"],
            element=_CLASS,
            of=_TEXT,
            where=_OPEN,
            properties=_TEXTS,
            order=_TEXTS,
            limit={"type": "integer", "minimum": 0},
            offset={"type": "integer", "minimum": 0},
        ),
        "output": _schema(["result"], result={"type": "array", "items": _OPEN}),
    },
    "make": {
        "input": _schema(["element"], element=_CLASS, properties=_OPEN, at=_TEXT, with_data={}),
        "output": _schema(["ref"], ref=_TEXT),
    },
    "make_entry": {
        "input": _schema(["title"], title=_TEXT, body=_TEXT, journal=_TEXT),
        "output": _schema(["ref"], ref=_TEXT),
    },
    "move": {
        "input": _schema(["target", "to"], target=_TEXT, to=_TEXT),
        "output": _schema(["ref"], ref=_TEXT),
    },
    "remind": {"input": _schema([], when={"type": "string", "format": "date-time"})},
    "search": {
        "input": _schema(
            ["text"],
            text=_TEXT,
            in_=_TEXT,
            mood={"type": "string", "enum": ["happy", "not so happy", "QuickTime movie"]},
            since={"type": "string", "format": "date-time"},
            limit={"type": "integer"},
        ),
        "output": _schema(["result"], result=_TEXTS),
    },
    "set": {
        "input": _schema(
            ["target", "properties"],
            target=_TEXT,
            properties=_OPEN,
            quietly={"type": "boolean"},
        )
    },
    "write_in": {
        "input": _schema(["words"], words=_TEXT),
        "output": _schema(["result"], result=_TEXTS),
    },
}

SCHEMAS: Final[Mapping[str, Schema]] = {
    name: Schema(*(json.dumps(tree[part]) for part in ("input", "output") if part in tree))
    for name, tree in _TREES.items()
}
