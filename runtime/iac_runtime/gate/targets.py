"""What the references of a call name: looked at before a person is asked, pinned for the answer.

One request with short limits reads a few describing properties of each object, and of a list its
members. What it answers is shown, and is what the approval holds: the request that acts carries
the same reads and what they answered, and the harness sends nothing where they answer otherwise.
"""

import contextlib
import hashlib
import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from iac_base.errors import IacError, NextCall, SharedNameError, ToolError, quote_text
from iac_base.text import clean_value
from iac_base.words import fold_name
from iac_runtime.execution.answers import AppAnswer
from iac_runtime.gate.names import NameUse, shared, shared_text
from iac_runtime.gate.plans import ToolContext, requester_of
from iac_runtime.gate.results import plain_result
from iac_runtime.gate.suggest import describe_missing_object
from iac_runtime.language.raw_event import compose_read, join_reads
from iac_runtime.language.reader import AppReader, without_filter
from iac_runtime.language.references import Reference, resolve_steps
from iac_runtime.language.steps import (
    AllElements,
    ById,
    ByIndex,
    ByName,
    Column,
    Event,
    EventOp,
    PropertyStep,
    RefValue,
    Step,
)
from iac_runtime.language.terms import columns_of, id_classes, id_property, property_term
from iac_runtime.language.text import format_reference
from iac_runtime.outcomes.outcome import is_gone
from iac_runtime.outcomes.read_back import container_of, parts_of
from iac_runtime.policy.facts import CallFacts, TargetDescription
from iac_runtime.policy.places import FILE_APPS
from iac_runtime.policy.requests import RequestView, inspect_request, lowercase_words
from iac_runtime.policy.taint import is_secret_property
from iac_runtime.policy.wording import holder_steps
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

_TAKING: Final = ("delete", "move", "unknown")
"""What takes an object away, with all that is inside."""

_COUNTED: Final = 3
"""Kinds of content that are counted, and holders that are named."""

_NAMES: Final = ("name", "title", "subject", "summary", "displayed name")

_NOT_COUNTED: Final = "what is inside could not be counted"
_NOT_DESCRIBED: Final = "not described here"
_NOT_RUNNING: Final = "could not be read, because the app is not running"
_NOT_READ: Final = "could not be looked at"
_NOT_ALLOWED: Final = "was not read, because reading it needs an approval of its own"


class CallTarget(NamedTuple):
    """A reference of a call, its class (of several objects in the plural), and what reads it.

    Attributes:
        reads: First the object itself, then what its ways lead to.
        inside: What counts the content of a container that goes: words, and the read.
        holders: What it lies in, the nearest first: words, and what reads its name; None where the
            words have it.
        old: Labels of the columns that are read because the call sets them.
        replaced: Whether it is what something is put in the stead of, if there is any.
    """

    reference: str
    kind: str
    plural: str
    reads: tuple[Event, ...]
    inside: tuple[tuple[str, Event], ...] = ()
    holders: tuple[tuple[str, Event | None], ...] = ()
    old: tuple[str, ...] = ()
    replaced: bool = False

    @property
    def parts(self) -> tuple[Event, ...]:
        """Every read, in the order of the answers."""
        holders = (read for _, read in self.holders if read is not None)
        return (*self.reads, *holders, *(read for _, read in self.inside))


class TargetSnapshot(NamedTuple):
    """What was seen.

    Attributes:
        shown: What the references name, for a person.
        before: What the properties that the call sets are now, as short texts; of one object.
        pin: The reads and what they answered, for the harness; None where nothing was read.
        looked: What the reads answered that taking the call back needs; None where they failed.
    """

    shown: tuple[TargetDescription, ...]
    pin: tuple[Event, Any] | None = None
    before: tuple[tuple[str, str], ...] = ()
    looked: Sequence[Mapping[str, Any]] | None = None

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
    names: Sequence[NameUse] = (),
    undo: Sequence[Event] = (),
) -> TargetSnapshot:
    """Look at what a call names, as far as reading it needs no approval of its own.

    An app that does not run is not started. `undo` reads what taking the call back needs.

    Raises:
        SharedNameError: Several objects bear one of the `names`.
        ToolError: There is no such object.
    """
    tables = operation.tables
    hidden = tuple(context.permissions.policy.secrets)
    goes = any(effect.verb in _TAKING for effect in facts.effects)
    targets = _find_targets(event, tables, context.home, hidden, goes=goes)
    if not (targets or undo):
        return TargetSnapshot((), looked=())
    why, app, execute = _NOT_ALLOWED, tables.app.name, context.executor.execute
    bare = tuple(target._replace(inside=()) for target in targets)
    # Where counting takes too long, what goes is at least named.
    for asked in (targets, bare) if bare != targets else (targets,):
        reads = (read for target in asked for read in target.parts)
        looks = join_reads((*reads, *(use.counts for use in names), *undo), tables)
        if not may_read(facts, looks, operation, context):
            continue
        try:
            if event.app not in context.executor.worker_states():
                starts = replace(looks, op="running", parts=())
                execute(starts, app=app, command="app_running", timeout=_START)
            answer = execute(looks, app=app, command="get", timeout=SECONDS).value
        except IacError as error:
            if isinstance(error, ToolError) and error.type == "APP_NOT_RUNNING":
                why = _NOT_RUNNING
                break
            why = _NOT_READ
            continue
        # What is overwritten may move by itself, such as where a player is: it is not held.
        held = len(answer) - len(undo)
        refuse_shared(names, answer[held - len(names) : held], facts, operation, context)
        answers = iter(answer)
        seen = [(target, [next(answers) for _ in target.parts]) for target in asked]
        for target, (first, *_) in seen:
            if is_gone(first, tables) and not target.replaced:
                # Nobody is asked about nothing.
                missing = ToolError("NOT_FOUND", "", app=app, command=facts.tool)
                raise describe_missing_object(missing, target.reads[0], operation)
        rows = [
            _describe_target(*one, tables, uncounted=asked is bare and bool(whole.inside))
            for one, whole in zip(seen[:OBJECTS], targets, strict=False)
        ]
        shown = [row for described, _ in rows for row in described]
        if len(asked) > OBJECTS:
            shown.append(TargetDescription(f"{len(asked) - OBJECTS} more", _NOT_DESCRIBED))
        before = rows[0][1] if len(asked) == 1 else ()
        pin = (replace(looks, parts=looks.parts[:held]), answer[:held]) if held else None
        return TargetSnapshot(tuple(shown), pin, before, answer[held:])
    return TargetSnapshot(tuple(TargetDescription(target.reference, why) for target in targets))


def may_read(facts: CallFacts, event: Event, operation: Operation, context: ToolContext) -> bool:
    """Say whether a request that reads needs no approval of its own for who made a call."""
    permissions = context.permissions
    asks = permissions.request_facts(CallFacts("get"), event, "SAFE", operation)
    asks = permissions.with_caller(asks, requester_of(facts))
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
    ids = property_term(ident) if ident else ""
    more: Any = {"id_column": ids, "limit": OBJECTS, "may_launch": False}
    lists = compose_read("list", use.counts.target, tables, _APART, **more)

    def read(event: Event) -> AppAnswer:
        if not may_read(facts, event, operation, context):
            raise ToolError("REFUSED", "")
        return context.executor.execute(event, app=tables.app.name, command="list", timeout=_APART)

    rows = plain_result(read(lists), lists, operation).value
    steps = (AppReader(tables, strict=False).read_reference(row["ref"]).steps for row in rows)
    known = (_build_target(one, tables, hidden, apart=True) for one in steps)
    targets = tuple(filter(None, known))
    answers = iter(read(join_reads((read for one in targets for read in one.parts), tables)).value)
    for target in targets:
        yield from _describe_target(target, [next(answers) for _ in target.parts], tables)[0]


def _find_targets(
    event: Event, tables: Tables, home: str, hidden: tuple[str, ...], *, goes: bool
) -> tuple[CallTarget, ...]:
    """Return what a request names, each once.

    Args:
        event, tables, home: The request.
        hidden: Globs of properties not to be read.
        goes: Whether what it is about is taken away: then what is inside is counted.
    """
    view = inspect_request(event, {}, home, tables)
    named = [(one.target, goes) for one in view.requests]
    replaced = set(_replaced_steps(view, tables))
    refs = [(row.name, row.value.steps) for row in view.values if isinstance(row.value, RefValue)]
    named += [(steps, goes) for name, steps in refs if not name]
    named += [(steps, True) for steps in replaced]
    named += [(steps, False) for name, steps in refs if name]
    if not any(steps for steps, _ in named):
        way = read_shown_tables()["object"].get(tables.key, {}).get(event.code)
        named += [(AppReader(tables, strict=False).read_reference(way).steps, goes)] if way else []
    # Of a place to insert at, what holds the collection.
    unique = {holder: counted for one, counted in named if (holder := holder_steps(one))}
    sets = [name for name, _ in event.named] if event.op == "set" else []
    each = (_build_target(one, tables, hidden, sets, goes=has) for one, has in unique.items())
    gone = {format_reference(steps) for steps in replaced}
    found = [one._replace(replaced=one.reference in gone) for one in each if one is not None]
    # Those that are not described are pinned by the first that is known of them: the id.
    rest = (
        target._replace(
            reads=(replace(read, columns=read.columns[:1]),), holders=(), inside=(), old=()
        )
        for target in found[OBJECTS:MEMBERS]
        for read in target.reads[:1]
    )
    return (*found[:OBJECTS], *rest)


def _replaced_steps(view: RequestView, tables: Tables) -> Iterator[tuple[Step, ...]]:
    """Yield what lies where a request puts something in its stead."""
    if not any(row.name.startswith("replac") and row.value is True for row in view.values):
        return
    places = (row.value for row in view.values if row.is_destination)
    for place, plural in itertools.product(places, ("items", "diskItems")):
        if isinstance(place, RefValue):
            inside = (*holder_steps(place.steps), AllElements(plural))
            if resolve_steps(inside, tables).classes:
                names = (path.rpartition("/")[2] for path in view.destination_paths)
                yield from ((*inside, ByName(name)) for name in names)


def _build_target(
    steps: tuple[Step, ...],
    tables: Tables,
    hidden: tuple[str, ...],
    sets: Sequence[str] = (),
    *,
    apart: bool = False,
    goes: bool = False,
) -> CallTarget | None:
    """Return what reads what a reference names.

    Args:
        steps, tables, hidden: The reference, in its request.
        sets: The properties that are set.
        apart: Read what tells it from another of its name.
        goes: Count what is inside.
    """
    found = resolve_steps(steps, tables)
    while found.classes == () and len(steps) > 1:
        # The property of an object: what holds it is what matters.
        steps = steps[:-1]
        found = resolve_steps(steps, tables)
    kind = found.classes[0] if found.classes else ""
    if kind == APPLICATION or not steps:
        return None
    listed = found.prop is not None and found.prop.type.startswith("list of")
    if not kind or (listed and not found.selectable):
        read = compose_read("get", steps, tables, SECONDS, id_classes=id_classes(tables))
        return CallTarget(found.text, kind, "", (read,))
    holders = tuple(itertools.islice(_find_holders(steps, tables), _COUNTED))
    counts = tuple(_count_content(found, kind, tables)) if goes else ()
    ident = id_property(kind, tables)
    known = (*describing_properties(kind, tables), *(_apart(kind, tables) if apart else ()))
    ways = [way for way in dict.fromkeys(known) if not is_secret_property(way, tables, hidden)]
    rows = [row for way in ways if (row := tables.find_property(kind, way)) is not None]
    if found.selectable:
        columns = columns_of([row for row in rows if row.term not in _TEXTS][:3])
        more: Any = {"id_column": property_term(ident) if ident else "", "limit": MEMBERS}
        many = compose_read("list", steps, tables, SECONDS, columns=columns, **more)
        plural = lowercase_words(tables.classes[kind].plural)
        return CallTarget(found.text, kind, plural, (many,), counts, holders)
    old = [row for name in sets if (row := tables.find_property(kind, name)) is not None]
    old = [row for row in old if not is_secret_property(row.jxa, tables, hidden)]
    columns = columns_of((*rows, *old))
    if ident is not None and not is_secret_property(ident.jxa, tables, hidden):
        columns = (Column("id", property_term(ident)), *columns)
    op: EventOp = "columns" if columns else "get"
    reads = [compose_read(op, steps, tables, SECONDS, columns=columns)]
    reads += [_read_way(found, way, tables) for way in ways if "." in way]
    named = tuple(row.term for row in old)
    return CallTarget(found.text, kind, "", tuple(reads), counts, holders, named)


def _read_way(found: Reference, way: str, tables: Tables) -> Event:
    steps = AppReader(tables, strict=False).follow_properties(found, way).steps
    return compose_read("get", steps, tables, SECONDS)


def _find_holders(steps: tuple[Step, ...], tables: Tables) -> Iterator[tuple[str, Event | None]]:
    """Yield what an object lies in, the nearest first: words, and what reads its name.

    Of a file nothing: its path says it.
    """
    if tables.app.id.casefold() in FILE_APPS:
        return
    for end in range(len(steps) - 1, 0, -1):
        found, last = resolve_steps(steps[:end], tables), steps[end - 1]
        kind = found.classes[0] if found.classes else ""
        if found.selectable or not kind or kind == APPLICATION:
            continue
        words = lowercase_words(last.name) if isinstance(last, PropertyStep) else kind
        if isinstance(last, ByName):
            yield f"{words} {quote_text(last.name, _WORDS)}", None
        elif end == 1 and isinstance(last, PropertyStep):
            yield words, None
        elif tables.find_property(kind, "name") is not None:
            yield words, _read_way(found, "name", tables)


def _count_content(found: Reference, kind: str, tables: Tables) -> Iterator[tuple[str, Event]]:
    """Yield what counts the content of a container: words, and the read."""
    rows, reader = (
        read_shown_tables()["inside"].get(tables.key, {}),
        AppReader(tables, strict=False),
    )
    known: dict[str, str] | None
    known = next((rows[term] for term, _ in tables.lineage(kind) if term in rows), None)
    if known is None:
        if not tables.elements(kind):
            found, kind = _as_container(found, kind, tables)
        known = dict(itertools.islice(_content_classes(kind, tables), _COUNTED))
    for words, way in known.items():
        content = reader.follow_properties(found, way)
        op: EventOp = "count" if content.selectable else "get"
        yield words, compose_read(op, content.steps, tables, SECONDS)


def _content_classes(kind: str, tables: Tables) -> Iterator[tuple[str, str]]:
    """Yield the classes of what is in a container, in words and as JXA spells them."""
    for term in parts_of(kind, tables):
        plural = tables.classes[term].plural
        regular = fold_name(plural) == f"{fold_name(term)}s"
        yield (f"{term}s" if regular else lowercase_words(plural)), plural


def _as_container(found: Reference, kind: str, tables: Tables) -> tuple[Reference, str]:
    """Return an object that is named by a class without elements as one that may have some.

    What Finder calls an item can be a folder.
    """
    above, last = found.steps[:-2], found.steps[-1]
    holder = resolve_steps(above, tables).classes if isinstance(last, ByName) else None
    around = [row.term for row in tables.elements(holder[0])] if holder else []
    held = [term for term in around if tables.is_descendant(term, kind) and tables.elements(term)]
    for term in held:
        if not any(tables.is_descendant(other, term) for other in held if other != term):
            step = AllElements(tables.classes[term].plural)
            return resolve_steps((*above, step, last), tables), term
    return found, kind


def _apart(kind: str, tables: Tables) -> Iterator[str]:
    """Yield what tells objects of one name apart: a date, and what they lie in."""
    dates = (row.term for row in tables.properties(kind) if row.type == "date")
    yield from itertools.islice(dates, 1)
    container = container_of(kind, tables)
    if container is not None:
        yield f"{property_term(container)}.name"


@cache
def read_shown_tables() -> dict[str, dict[str, dict[str, Any]]]:
    """Return what describes objects: `shown`, `inside`, `object` -> app key -> class or event."""
    return tomllib.loads(Path(__file__).with_name("shown.toml").read_text("utf-8"))


@cache
def describing_properties(kind: str, tables: Tables) -> tuple[str, ...]:
    """Return the properties that describe an object of a class, by its row or by the rule."""
    rows = read_shown_tables()["shown"].get(tables.key, {})
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


def _describe_target(
    target: CallTarget, answers: Sequence[Any], tables: Tables, *, uncounted: bool = False
) -> tuple[list[TargetDescription], tuple[tuple[str, str], ...]]:
    """Return what was seen of a reference, and what the properties that are set are now."""
    rest = iter(answers)
    first, *reads = [next(rest) for _ in target.reads]
    holders = [
        f"{words} {_short_text(next(rest).get('value') if read else '')}".rstrip()
        for words, read in target.holders
    ]
    counts = list(zip((words for words, _ in target.inside), rest, strict=True))
    beside = [f"in {', '.join(holders)}"] if holders else []
    inside = [*_describe_content(counts, tables), *([_NOT_COUNTED] if uncounted else ())]
    if target.replaced and is_gone(first, tables):
        return [], ()
    if not first.get("ok"):
        says = f"{_NOT_READ}: {clean_value(str(first.get('message', '')))}"
        return [TargetDescription(target.reference, says)], ()
    if target.plural:
        listing = first["list"]
        says = ", ".join([f"{listing['total']:,} {target.plural}", *inside, *beside])
        rows = [TargetDescription(target.reference, says)]
        columns = target.reads[0].columns
        for key, at, row in listing["rows"][:_SHOWN]:
            step: Step = ById(key) if listing["by"] == "id" else ByIndex(int(at))
            pairs = [(column.label, value) for column, value in zip(columns, row, strict=True)]
            member = format_reference((*target.reads[0].target, step))
            rows.append(TargetDescription(member, _describe_values(target.kind, pairs)))
        return rows, ()
    value = first["value"]
    plain = isinstance(value, dict) and "record" in value
    pairs = [tuple(pair) for pair in value["record"]] if plain else [("", value)]
    before = tuple((name, _short_text(_plain(now))) for name, now in pairs if name in target.old)
    # What is set is shown by itself; a name is what the object is known by.
    pairs = [pair for pair in pairs if pair[0] not in target.old or pair[0] in _NAMES]
    others = [
        (lowercase_words(format_reference(read.target[-2:-1])), answer.get("value"))
        for read, answer in zip(target.reads[1:], reads, strict=True)
    ]
    # Behind the name: long texts, which a stranger may have written, come last.
    pairs[2:2] = others
    if counts and not inside and all(label in ("id", *_NAMES) for label, _ in pairs):
        inside = ["empty"]
    says = f"{'replaces ' * target.replaced}{_describe_values(target.kind, pairs, inside, beside)}"
    return [TargetDescription(target.reference, says)], before


def _plain(value: Any) -> Any:
    """Return a text of HTML as it reads; the whole of it is pinned."""
    return re.sub(r"<[^<>]*>", " ", value) if isinstance(value, str) else value


def _describe_content(
    counts: Sequence[tuple[str, Mapping[str, Any]]], tables: Tables
) -> Iterator[str]:
    """Yield how much is inside, of each kind that there is."""
    for words, answer in counts:
        value = answer.get("value")
        number = _count_filled(value) if isinstance(value, list) else value
        if is_gone(answer, tables):
            # No container after all.
            continue
        if not answer.get("ok") or not isinstance(number, int):
            yield f"{words} could not be counted"
        elif number:
            one = number == 1 and not isinstance(value, list)
            yield f"{number:,} {words.removesuffix('s') if one else words}"


def _count_filled(values: list[Any]) -> int:
    """Return how many of some objects have values, where each has a list of them."""
    nested = [one for one in values if isinstance(one, list)]
    return sum(map(_count_filled, nested)) if nested else int(bool(values))


def _describe_values(
    kind: str,
    pairs: list[tuple[Any, Any]],
    inside: Sequence[str] = (),
    beside: Sequence[str] = (),
) -> str:
    """Return a description: class, the text that it goes by, then the others with their names.

    `inside` stands behind the name, `beside` behind what is short.
    """
    said = [(label, text) for label, value in pairs if (text := _short_text(value))]
    told = [_labeled_text(*pair) for pair in said if pair[0] != "id"] or said
    # A number alone is no name: what holds a size of 0.5 is not called so.
    named = told[:1] if told and (told[0][1][:1] == '"' or told[0][0] in ("", "id")) else []
    words = [
        *(text for _, text in named),
        *inside,
        *(f"{label} {text}" for label, text in told[len(named) :] if label not in _TEXTS),
        *beside,
        *(f"{label} {text}" for label, text in told[len(named) :] if label in _TEXTS),
    ]
    # A trash-object, an appearance preferences object.
    kind = re.sub(r"[ -]object\Z", "", kind)
    return f"{kind}{' ' if named else ', '}{', '.join(words)}".strip(" ,")


def _labeled_text(label: Any, text: str) -> tuple[Any, str]:
    """Return a file's URL as its path, and a size with its unit."""
    if label == "URL" and text.startswith('"file://'):
        return "at", quote_text(unquote(urlsplit(text[1:-1]).path), _WORDS)
    return (label, _format_size(int(text))) if label == "size" and text.isdigit() else (label, text)


def _format_size(size: float) -> str:
    """Return a number of bytes as Finder writes it: `412 bytes`, `3.2 GB`."""
    steps = min(len(str(int(size))) - 1, 12) // 3
    unit = ("bytes", "KB", "MB", "GB", "TB")[steps]
    return f"{size / 1000**steps:.1f} {unit}".replace(".0 ", " ")


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
