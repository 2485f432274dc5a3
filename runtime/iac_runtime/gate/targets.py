"""What the references of a call name: looked at before a person is asked, pinned for the answer.

One request with short limits reads a few describing properties of each object, and of a list its
members. What it answers is shown, and is what the approval holds: the request that acts carries
the same reads and what they answered, and the harness sends nothing where they answer otherwise.
"""

import contextlib
import hashlib
import itertools
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from iac_base.errors import IacError, NextCall, SharedNameError, ToolError, quote_text
from iac_base.text import clean_value
from iac_runtime.execution.answers import AppAnswer
from iac_runtime.gate.names import NameUse, shared, shared_text
from iac_runtime.gate.plans import ToolContext, requester_of
from iac_runtime.gate.results import plain_result
from iac_runtime.language.raw_event import choose_wire_form
from iac_runtime.language.reader import AppReader, without_filter
from iac_runtime.language.references import resolve_steps
from iac_runtime.language.steps import Boundary, ById, ByIndex, Column, Event, RefValue, Step
from iac_runtime.language.terms import id_classes, id_property, property_term
from iac_runtime.language.text import format_reference
from iac_runtime.outcomes.read_back import container_of
from iac_runtime.policy.facts import CallFacts, TargetDescription
from iac_runtime.policy.requests import inspect_request, lowercase_words
from iac_runtime.policy.taint import is_secret_property
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

_APART: Final = 2.0
"""Seconds for what tells objects of one name apart."""

_PLAIN: Final = ("text", "rich text", "date", "integer", "number", "real")

_NOT_RUNNING: Final = "could not be read, because the app is not running"
_NOT_READ: Final = "could not be looked at"
_NOT_ALLOWED: Final = "was not read, because reading it needs an approval of its own"


class CallTarget(NamedTuple):
    """A reference of a call, its class (of several objects in the plural), and what reads it."""

    reference: str
    kind: str
    plural: str
    reads: tuple[Event, ...]


class TargetSnapshot(NamedTuple):
    """What was seen.

    Attributes:
        shown: What the references name, for a person.
        pin: The reads and what they answered, for the harness; None where nothing was read.
    """

    shown: tuple[TargetDescription, ...]
    pin: tuple[Event, Any] | None = None

    @property
    def digest(self) -> str:
        """The SHA-256 (hex) of all that was read; empty where nothing was."""
        if self.pin is None:
            return ""
        text = json.dumps([self.shown, self.pin[1]], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def describe_targets(
    facts: CallFacts,
    event: Event,
    operation: Operation,
    context: ToolContext,
    names: Sequence[NameUse],
) -> TargetSnapshot:
    """Look at what a call names, as far as reading it needs no approval of its own.

    An app that does not run is not started.

    Raises:
        SharedNameError: Several objects bear one of the `names`.
    """
    tables = operation.tables
    hidden = tuple(context.permissions.policy.secrets)
    targets = _find_targets(event, tables, context.home, hidden)
    if not targets:
        return TargetSnapshot(())
    looks = _each(read for target in targets for read in target.reads)
    looks = replace(looks, parts=(*looks.parts, *(use.counts for use in names)))
    why, app = _NOT_ALLOWED, tables.app.name
    if may_read(facts, looks, operation, context):
        try:
            if event.app not in context.executor.worker_states():
                starts = replace(looks, op="running", parts=())
                context.executor.execute(starts, app=app, command="app_running", timeout=_START)
            answer = context.executor.execute(looks, app=app, command="get", timeout=SECONDS).value
        except IacError as error:
            gone = isinstance(error, ToolError) and error.type == "APP_NOT_RUNNING"
            why = _NOT_RUNNING if gone else _NOT_READ
        else:
            counts = answer[len(answer) - len(names) :]
            refuse_shared(names, counts, facts, operation, context)
            return TargetSnapshot(tuple(_describe(targets, iter(answer))), (looks, answer))
    return TargetSnapshot(tuple(TargetDescription(target.reference, why) for target in targets))


def _each(parts: Iterable[Event]) -> Event:
    """Return reads as one request, which starts no app."""
    every = tuple(parts)
    first = every[0]
    return Event(first.app, first.kind, "each", "", parts=every, writes=False, may_launch=False)


def may_read(facts: CallFacts, event: Event, operation: Operation, context: ToolContext) -> bool:
    """Say whether a request that reads needs no approval of its own for who made a call."""
    permissions = context.permissions
    caller = requester_of(facts)
    asks = permissions.with_caller(
        permissions.request_facts(CallFacts("get"), event, "SAFE", operation), caller
    )
    return not asks.secrets and permissions.judge_call(asks).action == "allow"


def refuse_shared(
    names: Sequence[NameUse],
    counts: Sequence[Mapping[str, Any]],
    facts: CallFacts,
    operation: Operation,
    context: ToolContext,
) -> None:
    """Refuse a write with a name that several objects bear.

    Raises:
        SharedNameError: There is one; the error has those objects.
    """
    found = list(shared(names, counts))
    if not found:
        return
    rows: list[TargetDescription] = []
    for use, _ in found[:_SHOWN]:
        with contextlib.suppress(IacError):
            rows += _bearers(use, facts, operation, context)
    said = [shared_text(use, count) for use, count in found]
    told = "; ".join(f"{ref} ({says})" for ref, says in rows[:_SHOWN])
    error = SharedNameError(
        f"{', and '.join(said)}. Nothing was sent.",
        f"Name the one that you mean by its reference: {told}." if told else "List them first.",
        [{"ref": ref, "is": says} for ref, says in rows],
        app=operation.tables.app.name,
    )
    context.permissions.taint.remember_texts([says for _, says in rows])
    use = found[0][0]
    if "list" in operation.tables.tools:
        of = format_reference(without_filter(use.steps[:-1])[:-1])
        asked = {"element": use.kind, **({"of": of} if of else {}), "where": {"name": use.name}}
        error.next = NextCall(f"{operation.tables.key}_list", asked)
    raise error


def _bearers(
    use: NameUse, facts: CallFacts, operation: Operation, context: ToolContext
) -> Iterator[TargetDescription]:
    """Yield the objects that bear a name, each with what tells it from the others."""
    tables, hidden = operation.tables, tuple(context.permissions.policy.secrets)
    ident = id_property(use.kind, tables)
    lists = replace(use.counts, op="list", raw=None, limit=OBJECTS, may_launch=False)
    lists = replace(lists, id_column=property_term(ident) if ident else "")

    def read(event: Event) -> AppAnswer:
        if not may_read(facts, event, operation, context):
            raise ToolError("REFUSED", "")
        return context.executor.execute(event, app=tables.app.name, command="list", timeout=_APART)

    lists = choose_wire_form(lists, tables, _APART)
    rows = plain_result(read(lists), lists, operation).value
    steps = (AppReader(tables, strict=False).read_reference(row["ref"]).steps for row in rows)
    known = (_build_target(one, lists, tables, hidden, apart=True) for one in steps)
    targets = tuple(filter(None, known))
    answers = read(_each(read for target in targets for read in target.reads)).value
    return _describe(targets, iter(answers))


def _describe(
    targets: tuple[CallTarget, ...], answers: Iterator[Any]
) -> Iterator[TargetDescription]:
    for target in targets[:OBJECTS]:
        yield from _describe_target(target, [next(answers) for _ in target.reads])
    if len(targets) > OBJECTS:
        yield TargetDescription(f"{len(targets) - OBJECTS} more", "not described here")


def _find_targets(
    event: Event, tables: Tables, home: str, hidden: tuple[str, ...]
) -> tuple[CallTarget, ...]:
    """Return what a request names, each once; `hidden` are globs of properties not to be read."""
    values = (row.value for row in inspect_request(event, {}, home, tables).values)
    named = [event.target, *(value.steps for value in values if isinstance(value, RefValue))]
    # Of a place to insert at, what holds the collection.
    holders = (_holder_steps(one) for one in named)
    each = (_build_target(one, event, tables, hidden) for one in dict.fromkeys(holders) if one)
    found = [target for target in each if target is not None]
    # Those that are not described are pinned by the first that is known of them: the id.
    rest = (
        target._replace(reads=(replace(read, columns=read.columns[:1]),))
        for target in found[OBJECTS:MEMBERS]
        for read in target.reads[:1]
    )
    return (*found[:OBJECTS], *rest)


def _holder_steps(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return what holds a place to insert at, or the object beside it; else `steps`."""
    if not steps or not isinstance(steps[-1], Boundary):
        return steps
    return steps[:-1] if steps[-1].place in ("before", "after") else steps[:-2]


def _build_target(
    steps: tuple[Step, ...],
    event: Event,
    tables: Tables,
    hidden: tuple[str, ...],
    *,
    apart: bool = False,
) -> CallTarget | None:
    """Return what reads what a reference names; `apart`: what tells it from one of its name."""
    found = resolve_steps(steps, tables)
    while found.classes == () and len(steps) > 1:
        # The property of an object: what holds it is what matters.
        steps = steps[:-1]
        found = resolve_steps(steps, tables)
    kind = found.classes[0] if found.classes else ""
    if kind == APPLICATION or not steps:
        return None

    def build_read(op: Any, target: tuple[Step, ...] = steps, **more: Any) -> Event:
        found = Event(event.app, event.kind, op, "", target=target, writes=False, **more)
        return choose_wire_form(found, tables, SECONDS)

    listed = found.prop is not None and found.prop.type.startswith("list of")
    if not kind or (listed and not found.selectable):
        classes = id_classes(tables)
        return CallTarget(found.text, kind, "", (build_read("get", id_classes=classes),))
    ident = id_property(kind, tables)
    known = (*describing_properties(kind, tables), *(_apart(kind, tables) if apart else ()))
    ways = [way for way in dict.fromkeys(known) if not is_secret_property(way, tables, hidden)]
    rows = [row for way in ways if (row := tables.find_property(kind, way)) is not None]
    if found.selectable:
        names = [row for row in rows if row.term not in _TEXTS][:2]
        columns = tuple(Column(row.term, property_term(row)) for row in names)
        ids = property_term(ident) if ident else ""
        many = build_read("list", columns=columns, id_column=ids, limit=MEMBERS)
        return CallTarget(found.text, kind, lowercase_words(tables.classes[kind].plural), (many,))
    columns = tuple(Column(row.term, property_term(row)) for row in rows)
    if ident is not None and not is_secret_property(ident.jxa, tables, hidden):
        columns = (Column("id", property_term(ident)), *columns)
    reads = [build_read("columns", columns=columns)] if columns else [build_read("get")]
    reader = AppReader(tables, strict=False)
    through = (reader.follow_properties(found, way) for way in ways if "." in way)
    reads += [build_read("get", one.steps) for one in through]
    return CallTarget(found.text, kind, "", tuple(reads))


def _apart(kind: str, tables: Tables) -> Iterator[str]:
    """Yield what tells objects of one name apart: a date, and what they lie in."""
    dates = (row.term for row in tables.properties(kind) if row.type == "date")
    yield from itertools.islice(dates, 1)
    container = container_of(kind, tables)
    if container is not None:
        yield f"{property_term(container)}.name"


@cache
def load_shown_properties() -> dict[str, dict[str, list[str]]]:
    """Return what describes an object: app key -> class -> properties."""
    return tomllib.loads(Path(__file__).with_name("shown.toml").read_text("utf-8"))


@cache
def describing_properties(kind: str, tables: Tables) -> tuple[str, ...]:
    """Return the properties that describe an object of a class, by its row or by the rule."""
    rows = load_shown_properties().get(tables.key, {})
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


def _describe_target(target: CallTarget, answers: list[Any]) -> Iterator[TargetDescription]:
    first = answers[0]
    if not first.get("ok"):
        yield TargetDescription(
            target.reference, f"{_NOT_READ}: {clean_value(str(first.get('message', '')))}"
        )
    elif target.plural:
        listing = first["list"]
        columns = target.reads[0].columns
        yield TargetDescription(target.reference, f"{listing['total']} {target.plural}")
        for key, at, row in listing["rows"][:_SHOWN]:
            step: Step = ById(key) if listing["by"] == "id" else ByIndex(int(at))
            pairs = [(column.label, value) for column, value in zip(columns, row, strict=True)]
            member = format_reference((*target.reads[0].target, step))
            yield TargetDescription(member, _describe_values(target.kind, pairs))
    else:
        value = first["value"]
        plain = isinstance(value, dict) and "record" in value
        pairs = [tuple(pair) for pair in value["record"]] if plain else [("", value)]
        others = [
            (lowercase_words(format_reference(read.target[-2:-1])), answer.get("value"))
            for read, answer in zip(target.reads[1:], answers[1:], strict=True)
        ]
        # Behind the name: long texts, which a stranger may have written, come last.
        pairs[2:2] = others
        yield TargetDescription(target.reference, _describe_values(target.kind, pairs))


def _describe_values(kind: str, pairs: list[tuple[Any, Any]]) -> str:
    """Return a description: class, the text that it goes by, then the others with their names."""
    said = [(label, text) for label, value in pairs if (text := _short_text(value))]
    told = [_labeled_text(*pair) for pair in said if pair[0] != "id"] or said
    # A number alone is no name: what holds a size of 0.5 is not called so.
    named = told[:1] if told and (told[0][1][:1] == '"' or told[0][0] in ("", "id")) else []
    words = [
        *(text for _, text in named),
        *(f"{label} {text}" for label, text in told[len(named) :]),
    ]
    return f"{kind}{' ' if named else ', '}{', '.join(words)}".strip(" ,")


def _labeled_text(label: Any, text: str) -> tuple[Any, str]:
    """Return a file's URL as its path, and a size with its unit."""
    if label == "URL" and text.startswith('"file://'):
        return "at", quote_text(unquote(urlsplit(text[1:-1]).path), _WORDS)
    return (label, f"{text} bytes") if label == "size" and text.isdigit() else (label, text)


def _short_text(value: Any) -> str:
    """Return a value as one short line; nothing for one that is missing."""
    if isinstance(value, list):
        parts = list(filter(None, map(_short_text, value)))
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
            (quote_text(str(value[key]), _WORDS) for key in ("path", "ref") if key in value), ""
        )
    if value is None or value == "":
        return ""
    if not isinstance(value, str):
        return str(value)
    # No text can look like the end of its own quotes.
    return quote_text(" ".join(value.split()).replace('"', "'"), _WORDS)
