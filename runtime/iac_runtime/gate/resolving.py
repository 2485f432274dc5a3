"""What the references of a call name: looked at before a person is asked, pinned for the answer.

One request with short limits reads a few describing properties of each object, and of a list its
members. What it answers is shown, and is what the approval holds: the request that acts carries
the same reads and what they answered, and the harness sends nothing where they answer otherwise.
"""

import contextlib
import hashlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from iac_base.errors import IacError, ToolError, quoted
from iac_base.text import clean
from iac_runtime.gate.plans import ToolContext, requester_of
from iac_runtime.language.raw import sent_as
from iac_runtime.language.reader import AppReader
from iac_runtime.language.request import Column, Event
from iac_runtime.language.steps import Boundary, ById, ByIndex, RefValue, Step
from iac_runtime.language.terms import id_classes, id_property, property_term
from iac_runtime.language.text import steps_text
from iac_runtime.policy.call_view import view_of, words_of
from iac_runtime.policy.dataflow import secret_property
from iac_runtime.policy.effects import CallFacts, Shown
from iac_runtime.tools.tables import APPLICATION, Operation, Tables

SECONDS: Final = 0.3
"""For all that is read; starting what reads is not counted."""

OBJECTS: Final = 20
"""Objects that are described, of one call."""

MEMBERS: Final = 1000
"""Objects, or members of a list, whose ids are pinned."""

_SHOWN: Final = 5
_WORDS: Final = 80
"""Characters of one value that are shown; the whole of it is pinned."""

_START: Final = 5.0
"""Seconds for starting what reads, by the question whether the app runs."""

_MOST: Final = 4
_TEXTS: Final = ("plaintext", "content", "contents", "text", "body")
_TELLING: Final = ("name", "title", "subject", "summary", "URL", "sender", "date", *_TEXTS, "size")
"""Last words of the properties that describe an object of any app, the most telling first."""

_PLAIN: Final = ("text", "rich text", "date", "integer", "number", "real")

_NOT_RUNNING: Final = "could not be read, because the app is not running"
_NOT_READ: Final = "could not be looked at"
_NOT_ALLOWED: Final = "was not read, because reading it needs an approval of its own"


class Target(NamedTuple):
    """A reference of a call, its class (of several objects in the plural), and what reads it."""

    reference: str
    kind: str
    plural: str
    reads: tuple[Event, ...]


class Look(NamedTuple):
    """What was seen.

    Attributes:
        shown: What the references name, for a person.
        pin: The reads and what they answered, for the harness; None where nothing was read.
    """

    shown: tuple[Shown, ...]
    pin: tuple[Event, Any] | None = None

    @property
    def digest(self) -> str:
        """The SHA-256 (hex) of all that was read; empty where nothing was."""
        if self.pin is None:
            return ""
        text = json.dumps([self.shown, self.pin[1]], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def seen(facts: CallFacts, event: Event, operation: Operation, context: ToolContext) -> Look:
    """Look at what a call names, as far as reading it needs no approval of its own.

    An app that does not run is not started.
    """
    permissions, tables = context.permissions, operation.tables
    targets = _targets(event, tables, context.home, tuple(permissions.policy.secrets))
    if not targets:
        return Look(())
    parts = tuple(read for target in targets for read in target.reads)
    looks = Event(event.app, event.kind, "each", "", parts=parts, writes=False, may_launch=False)
    caller = requester_of(facts)
    asks = permissions.of(permissions.request(CallFacts("get"), looks, "SAFE", operation), caller)
    why, app = _NOT_ALLOWED, tables.app.name
    if not asks.secrets and permissions.judge(asks).action == "allow":
        try:
            starts = replace(looks, op="running", parts=())
            context.executor.execute(starts, app=app, command="app_running", timeout=_START)
            answer = context.executor.execute(looks, app=app, command="get", timeout=SECONDS).value
            return Look(tuple(_told(targets, iter(answer))), (looks, answer))
        except IacError as error:
            gone = isinstance(error, ToolError) and error.type == "APP_NOT_RUNNING"
            why = _NOT_RUNNING if gone else _NOT_READ
    return Look(tuple(Shown(target.reference, why) for target in targets))


def _told(targets: tuple[Target, ...], answers: Iterator[Any]) -> Iterator[Shown]:
    for target in targets[:OBJECTS]:
        yield from _described(target, [next(answers) for _ in target.reads])
    if len(targets) > OBJECTS:
        yield Shown(f"{len(targets) - OBJECTS} more", "not described here")


def _targets(
    event: Event, tables: Tables, home: str, hidden: tuple[str, ...]
) -> tuple[Target, ...]:
    """Return what a request names, each once; `hidden` are globs of properties not to be read."""
    values = (row.value for row in view_of(event, {}, home, tables).values)
    named = [event.target, *(value.steps for value in values if isinstance(value, RefValue))]
    # Of a place to insert at, what holds the collection.
    holders = (_holder(one) for one in named)
    each = (_target(one, event, tables, hidden) for one in dict.fromkeys(holders) if one)
    found = [target for target in each if target is not None]
    # Those that are not described are pinned by the first that is known of them: the id.
    rest = (
        target._replace(reads=(replace(read, columns=read.columns[:1]),))
        for target in found[OBJECTS:MEMBERS]
        for read in target.reads[:1]
    )
    return (*found[:OBJECTS], *rest)


def _holder(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return what holds a place to insert at, or the object beside it; else `steps`."""
    if not steps or not isinstance(steps[-1], Boundary):
        return steps
    return steps[:-1] if steps[-1].place in ("before", "after") else steps[:-2]


def _target(
    steps: tuple[Step, ...], event: Event, tables: Tables, hidden: tuple[str, ...]
) -> Target | None:
    reader = AppReader(tables, strict=False)
    try:
        found = reader.reference(steps_text(steps))
        while found.classes == () and len(steps) > 1:
            # The property of an object: what holds it is what matters.
            steps = steps[:-1]
            found = reader.reference(steps_text(steps))
    except ToolError:
        return None
    kind = found.classes[0] if found.classes else ""
    if kind == APPLICATION or not steps:
        return None

    def read(op: Any, target: tuple[Step, ...] = steps, **more: Any) -> Event:
        found = Event(event.app, event.kind, op, "", target=target, writes=False, **more)
        return sent_as(found, tables, SECONDS)

    listed = found.prop is not None and found.prop.type.startswith("list of")
    if not kind or (listed and not found.selectable):
        classes = id_classes(tables)
        return Target(found.text, kind, "", (read("get", id_classes=classes),))
    ident = id_property(kind, tables)
    ways = [way for way in describing(kind, tables) if not secret_property(way, tables, hidden)]
    rows = [row for way in ways if (row := tables.find_property(kind, way)) is not None]
    if found.selectable:
        names = [row for row in rows if row.term not in _TEXTS][:2]
        columns = tuple(Column(row.term, property_term(row)) for row in names)
        ids = property_term(ident) if ident else ""
        many = read("list", columns=columns, id_column=ids, limit=MEMBERS)
        return Target(found.text, kind, words_of(tables.classes[kind].plural), (many,))
    columns = tuple(Column(row.term, property_term(row)) for row in rows)
    if ident is not None and not secret_property(ident.jxa, tables, hidden):
        columns = (Column("id", property_term(ident)), *columns)
    reads = [read("columns", columns=columns)] if columns else [read("get")]
    through = (f"{found.text}.{way}" for way in ways if "." in way)
    reads += [read("get", reader.reference(text).steps) for text in through]
    return Target(found.text, kind, "", tuple(reads))


@cache
def table() -> dict[str, dict[str, list[str]]]:
    """Return what describes an object: app key -> class -> properties."""
    return tomllib.loads(Path(__file__).with_name("shown.toml").read_text("utf-8"))


@cache
def describing(kind: str, tables: Tables) -> tuple[str, ...]:
    """Return the properties that describe an object of a class, by its row or by the rule."""
    rows = table().get(tables.key, {})
    for term, _ in tables.lineage(kind):
        if term in rows:
            return tuple(rows[term])
    known = [row for row in tables.properties(kind) if "r" in row.access and row.type in _PLAIN]
    terms = [row.term for row in known]
    # A font name says less than a name.
    named = (
        word if word in terms else next((one for one in terms if one.split()[-1:] == [word]), "")
        for word in _TELLING
    )
    return tuple(filter(None, named))[:_MOST]


def _described(target: Target, answers: list[Any]) -> Iterator[Shown]:
    first = answers[0]
    if not first.get("ok"):
        yield Shown(target.reference, f"{_NOT_READ}: {clean(str(first.get('message', '')))}")
    elif target.plural:
        listing = first["list"]
        columns = target.reads[0].columns
        yield Shown(target.reference, f"{listing['total']} {target.plural}")
        for key, at, row in listing["rows"][:_SHOWN]:
            step: Step = ById(key) if listing["by"] == "id" else ByIndex(int(at))
            pairs = [(column.label, value) for column, value in zip(columns, row, strict=True)]
            member = steps_text((*target.reads[0].target, step))
            yield Shown(member, _words(target.kind, pairs))
    else:
        value = first["value"]
        plain = isinstance(value, dict) and "record" in value
        pairs = [tuple(pair) for pair in value["record"]] if plain else [("", value)]
        others = [
            (words_of(steps_text(read.target[-2:-1])), answer.get("value"))
            for read, answer in zip(target.reads[1:], answers[1:], strict=True)
        ]
        # Behind the name: long texts, which a stranger may have written, come last.
        pairs[2:2] = others
        yield Shown(target.reference, _words(target.kind, pairs))


def _words(kind: str, pairs: list[tuple[Any, Any]]) -> str:
    """Return a description: class, the text that it goes by, then the others with their names."""
    said = [(label, text) for label, value in pairs if (text := _text(value))]
    told = [_told_as(*pair) for pair in said if pair[0] != "id"] or said
    # A number alone is no name: what holds a size of 0.5 is not called so.
    named = told[:1] if told and (told[0][1][:1] == '"' or told[0][0] in ("", "id")) else []
    words = [
        *(text for _, text in named),
        *(f"{label} {text}" for label, text in told[len(named) :]),
    ]
    return f"{kind}{' ' if named else ', '}{', '.join(words)}".strip(" ,")


def _told_as(label: Any, text: str) -> tuple[Any, str]:
    """Return a file's URL as its path, and a size with its unit."""
    if label == "URL" and text.startswith('"file://'):
        return "at", quoted(unquote(urlsplit(text[1:-1]).path), _WORDS)
    return (label, f"{text} bytes") if label == "size" and text.isdigit() else (label, text)


def _text(value: Any) -> str:
    """Return a value as one short line; nothing for one that is missing."""
    if isinstance(value, list):
        parts = list(filter(None, map(_text, value)))
        more = f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
        return ", ".join(parts[:_SHOWN]) + more
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        if isinstance(value.get("date"), str):
            with contextlib.suppress(ValueError, OverflowError):
                return f"{datetime.fromisoformat(value['date']).astimezone():%Y-%m-%d %H:%M}"
            return str(value["date"])
        return next(
            (quoted(str(value[key]), _WORDS) for key in ("path", "ref") if key in value), ""
        )
    if value is None or value == "":
        return ""
    if not isinstance(value, str):
        return str(value)
    # No text can look like the end of its own quotes.
    return quoted(" ".join(value.split()).replace('"', "'"), _WORDS)
