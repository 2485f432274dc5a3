"""What a request holds, laid out for the rules: each value with its role, each object as a path.

One object has many spellings: a path with `..` in it, a reference by brackets or by `byName`, a
property in any case, one item or a list of one. A rule is held against what would be sent, so
that no spelling of the caller's gets a call out of one rule or into another.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from iac_base.text import escape_hidden
from iac_base.words import fold_name, split_name
from iac_runtime.language.steps import (
    Absent,
    AllElements,
    ByName,
    Compare,
    Event,
    Filter,
    Join,
    PathValue,
    PropertyStep,
    RecordValue,
    RefValue,
    Step,
    Value,
    Whose,
)
from iac_runtime.language.text import format_reference, format_value
from iac_runtime.policy.places import FILE_APPS, SYSTEM_EVENTS, find_specifier_path, parse_file_url
from iac_runtime.tool import Param
from iac_runtime.tools.tables import APPLICATION, Tables

MOVES: Final = frozenset({"coremove", "coreclon"})
"""Events that put what is there somewhere else too, or instead."""


class RequestValue(NamedTuple):
    """One value of a request.

    Attributes:
        name: In words; empty for the direct parameter.
        code, type: Those of the parameter, empty for a property.
        value: What would be sent.
        owner: The parameter that a field stands in, or `set`.
        path: The absolute path of the file that it names, however it is named: a path, a text
            with the form of one, a `file:` URL, or Finder's steps to an item; None for no file.
        into: Whether it says where something is put.
    """

    name: str
    code: str
    type: str
    value: Value
    owner: str = ""
    path: str | None = None
    is_destination: bool = False


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request as the rules look at it.

    Attributes:
        event: The request.
        tables: Those of the app; None if there are none.
        home: The user's home folder.
        values: Every value, records and lists opened.
        texts: Every text and path among them.
        paths: Every file that the request names.
        landings: Every path at which something comes to lie that the request does not name as
            one: what is moved into a folder, made in one, or called otherwise where it is.
        asked: The request, and those that it does in one call.
        through: The processes that it reaches into by System Events.
        made: The class of what is made, in words; empty if nothing is.
        of_files: Whether the app is one whose objects are files.
    """

    event: Event
    tables: Tables | None
    home: str
    values: tuple[RequestValue, ...]
    texts: tuple[tuple[RequestValue, str], ...]
    paths: tuple[tuple[RequestValue, str], ...]
    destination_paths: tuple[str, ...]
    requests: tuple[Event, ...]
    target_processes: "tuple[TargetProcess, ...]"
    created_class: str
    has_file_objects: bool


_INTO_CODES: Final = frozenset({"insh", "kfil", "pfil", "fpth", "stof", "refn"})
_INTO_NAMES: Final = frozenset(
    {"as file", "at", "destination", "file", "in", "into", "saving in", "saving to", "to"}
)
_FILE_NAMES: Final = frozenset({"name", "displayed name", "file name"})


@lru_cache(maxsize=4096)
def lowercase_words(name: str) -> str:
    """Return a name in lower-case words: `savingIn`, `saving_in` and `saving in` are one."""
    if not name.isascii():
        return escape_hidden(name.casefold())
    return " ".join(split_name(name))


def inspect_request(
    event: Event, params: Mapping[str, Param], home: str, tables: Tables | None = None
) -> RequestView:
    """Return a request as the rules look at it; `params` are those of the operation, by key."""
    values: list[RequestValue] = []

    def add_value(name: str, code: str, type: str, value: Value, owner: str = "") -> None:
        if isinstance(value, RecordValue):
            for field, part in value.fields:
                add_value(lowercase_words(field), "", "", part, name or "record")
        elif isinstance(value, tuple):
            for part in value:
                add_value(name, code, type, part, owner)
        else:
            into = code in _INTO_CODES or (code != "----" and name in _INTO_NAMES)
            path = _value_path(value, event.app, home)
            values.append(RequestValue(name, code, type, value, owner, path, into))

    rows = {fold_name(row.jxa or row.term): row for row in params.values() if row.code}
    direct = next((row for row in params.values() if row.code == "----"), None)
    asked = tuple(_flatten_requests(event))
    for one in asked:
        if not isinstance(one.direct, Absent):
            add_value("", "----", direct.type if direct else "", one.direct)
        for name, value in one.more if one.op == "set" else (*one.named, *one.more):
            row = rows.get(fold_name(name))
            code, type = (row.code, row.type) if row else ("", "")
            add_value(lowercase_words(row.term if row else name), code, type, value)
        for name, value in one.named if one.op == "set" else ():
            add_value(lowercase_words(name), "", "", value, "set")
    texts = [
        (row, row.value if isinstance(row.value, str) else row.value.path)
        for row in values
        if isinstance(row.value, str | PathValue)
    ]
    paths = [(row, row.path) for row in values if row.path is not None]
    of_files = event.app.casefold() in FILE_APPS
    for one in asked if of_files else ():
        path = find_specifier_path(one.target, event.app, home)
        if path is not None:
            paths.append((RequestValue("", "----", "", RefValue(one.target)), path))
    made = next((lowercase_words(str(row.value)) for row in values if row.code == "kocl"), "")
    return RequestView(
        event,
        tables,
        home,
        tuple(values),
        tuple(texts),
        tuple(paths),
        _find_destination_paths(event, values, paths) if paths else (),
        asked,
        tuple(find_target_processes(event)),
        made if event.code == "corecrel" else "",
        of_files,
    )


def _value_path(value: Value, app: str, home: str) -> str | None:
    if isinstance(value, PathValue):
        return value.path
    if isinstance(value, RefValue):
        return find_specifier_path(value.steps, app, home)
    if isinstance(value, str):
        if value.startswith(("/", "~/")) and "\n" not in value:
            return home + value[1:] if value.startswith("~") else value
        return parse_file_url(value) if ":" in value else None
    return None


def _find_destination_paths(
    event: Event, values: list[RequestValue], paths: list[tuple[RequestValue, str]]
) -> tuple[str, ...]:
    if event.op != "set" and event.code not in (*MOVES, "corecrel"):
        return ()
    folders = [path for row, path in paths if row.is_destination]
    sources = [path for row, path in paths if row.code == "----"]
    names = [
        str(row.value)
        for row in values
        if row.owner and row.name in _FILE_NAMES and isinstance(row.value, str | PathValue)
    ]
    if event.op == "set":
        folders = [path.rpartition("/")[0] for path in sources]
    elif event.code in MOVES:
        names += [path.rpartition("/")[2] for path in sources]
    return tuple(f"{folder}/{name.replace('/', ':')}" for folder in folders for name in names)


def _flatten_requests(event: Event) -> list[Event]:
    found = [event]
    for part in event.parts:
        found += _flatten_requests(part)
    return found


def find_specifiers(event: Event, *, tested: bool = True) -> list[tuple[Step, ...]]:
    """Return every object specifier of a request, those inside filters and records too.

    Args:
        tested: Whether what a filter tests is one; it begins at the item.
    """
    found: list[tuple[Step, ...]] = []

    def visit_specifier(steps: tuple[Step, ...]) -> None:
        found.append(steps)
        for step in steps:
            if isinstance(step, Whose):
                visit_filter(step.filter)

    def visit_filter(one: Filter) -> None:
        if isinstance(one, Compare):
            if tested:
                visit_specifier(one.path)
            visit_value(one.value)
        else:
            for part in one.tests:
                visit_filter(part)

    def visit_value(value: Value) -> None:
        if isinstance(value, RefValue):
            visit_specifier(value.steps)
        elif isinstance(value, RecordValue):
            for _, part in value.fields:
                visit_value(part)
        elif isinstance(value, tuple):
            for part in value:
                visit_value(part)

    for one in _flatten_requests(event):
        if one.target:
            visit_specifier(one.target)
        if not isinstance(one.direct, Absent):
            visit_value(one.direct)
        for _, value in (*one.named, *one.more):
            visit_value(value)
    return found


def find_specifiers_and_columns(event: Event) -> list[tuple[Step, ...]]:
    """Return every object specifier of a request, and what it asks of each object as one."""
    asked = _flatten_requests(event)
    found = [(*one.target, PropertyStep(column.jxa)) for one in asked for column in one.columns]
    found += [(*one.target, PropertyStep(row.jxa)) for one in asked for row in one.order]
    return find_specifiers(event) + found


_PROCESSES: Final = frozenset(
    {"applicationProcesses", "deskAccessoryProcesses", "processes", "uiElements"}
)
"""Where the application has processes; a process is an interface element too."""


class TargetProcess(NamedTuple):
    """A process that a request of System Events goes through.

    Attributes:
        name, bundle: As the request chooses it; both empty for one that is chosen otherwise.
        inside: Whether the request goes on to its windows or elements.
    """

    name: str
    bundle: str
    inside: bool


def find_target_processes(event: Event) -> list[TargetProcess]:
    """Return the processes that a request of System Events reaches into.

    A process that is chosen by position, id or any other filter has no name that could be judged.
    """
    found: list[TargetProcess] = []
    if event.app.casefold() != SYSTEM_EVENTS:
        return found
    for steps in find_specifiers_and_columns(event):
        for at, step in enumerate(steps):
            inner = step == AllElements("uiElements") and at > 0
            if (
                not isinstance(step, AllElements | PropertyStep)
                or step.name not in _PROCESSES
                or inner
            ):
                continue
            after = steps[at + 1] if at + 1 < len(steps) else None
            name, bundle = "", ""
            if isinstance(after, ByName):
                name = after.name
            elif isinstance(after, Whose):
                name, bundle = _process_in_filter(after.filter)
            found.append(TargetProcess(name, bundle, any(map(_is_inside_step, steps[at + 1 :]))))
    return found


def _process_in_filter(test: Filter) -> tuple[str, str]:
    """Return the name and the bundle id that a filter wants; empty where it takes others too."""
    if isinstance(test, Join):
        parts = [_process_in_filter(part) for part in test.tests] if test.word == "and" else []
        return next((part for part in parts if any(part)), ("", ""))
    if test.operator != "=" or not isinstance(test.value, str):
        return "", ""
    name = test.value if test.path == (PropertyStep("name"),) else ""
    return name, test.value if test.path == (PropertyStep("bundleIdentifier"),) else ""


def _is_inside_step(step: Step) -> bool:
    """Say whether a step behind a process leads to what it shows, or looks there to choose."""
    if isinstance(step, Whose):
        return _has_inside_step(step.filter)
    return isinstance(step, AllElements) or step == PropertyStep("entireContents")


def _has_inside_step(test: Filter) -> bool:
    if isinstance(test, Join):
        return any(map(_has_inside_step, test.tests))
    return any(map(_is_inside_step, test.path))


ItemForms: TypeAlias = tuple[tuple[str, ...], ...]
"""An entry for each item of a value (one, if it is no list): the texts that all mean this item."""


def sent_argument_forms(
    key: str, view: RequestView, params: Mapping[str, Param], bound: Mapping[str, Any] | None = None
) -> ItemForms | None:
    """Return what would be sent for the argument `key`; None for one that is not sent as such.

    `properties.name` reaches into an object. A recipe's own argument is what it is `bound` to.
    """
    first, *fields = key.split(".")
    first, *fields = (*(_recipe_argument_path(fold_name(first), bound or {}) or (first,)), *fields)
    name = next((param for param in params if fold_name(param) == fold_name(first)), None)
    value = None if name is None else _sent_value(params[name], name, view.event)
    for field in fields:
        record = value.fields if isinstance(value, RecordValue) else ()
        value = next((part for name, part in record if fold_name(name) == fold_name(field)), None)
    if value is None:
        return None
    found = value if isinstance(value, tuple) else (value,)
    return tuple(_value_forms(item, view) for item in found)


def _recipe_argument_path(name: str, bound: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the way to the argument that a recipe puts its own argument `name` into."""
    for key, part in bound.items():
        if isinstance(part, str) and part.startswith("$") and fold_name(part) == name:
            return (key,)
        found = _recipe_argument_path(name, part) if isinstance(part, Mapping) else None
        if found is not None:
            return (key, *found)
    return None


def _sent_value(row: Param, key: str, event: Event) -> Value:
    if row.code == "----" and event.op == "command":
        return None if isinstance(event.direct, Absent) else event.direct
    if row.code == "----" and event.parts:
        return tuple(RefValue(part.target) for part in event.parts)
    if row.code == "----":
        return RefValue(_collection_owner(event.target) if key == "of" else event.target)
    if key == "properties" and event.op == "set":
        return RecordValue(event.named)
    wanted = fold_name(row.jxa or row.term)
    named = (*event.named, *event.more)
    return next((value for name, value in named if wanted and fold_name(name) == wanted), None)


def _collection_owner(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps to what holds the collection that is listed or counted."""
    while steps and isinstance(steps[-1], Whose):
        steps = steps[:-1]
    return steps[:-1] if steps and isinstance(steps[-1], AllElements) else steps


def _value_forms(value: Value, view: RequestView) -> tuple[str, ...]:
    forms: list[str] = []
    if isinstance(value, RefValue):
        forms.append(format_reference(value.steps) or APPLICATION)
    elif isinstance(value, str):
        forms.append(value)
    elif not isinstance(value, PathValue):
        forms.append(json.dumps(value) if isinstance(value, int | float) else format_value(value))
    path = _value_path(value, view.event.app, view.home)
    if path is not None and not isinstance(value, str):
        forms.append(path)
        if view.home and (path == view.home or path.startswith(view.home + "/")):
            forms.append("~" + path[len(view.home) :])
    return tuple(forms)
