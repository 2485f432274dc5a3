"""A request as the rules look at it: each value with its role, each object as a path.

One object has many spellings: a path with `..` in it, a reference by brackets or by `byName`, a
property in any case, one item or a list of one. A rule is held against what would be sent, so that
no spelling of the caller's gets a call out of one rule or into another.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

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
from iac_runtime.language.text import format_reference
from iac_runtime.policy.places import (
    FILE_APPS,
    SYSTEM_EVENTS,
    find_specifier_path,
    parse_file_url,
)
from iac_runtime.policy.verbs import (
    HOLDERS,
    URL_NAME,
    Consequence,
    Deed,
    find_consequences,
    is_trash_name,
    link_scheme,
    request_verb,
)
from iac_runtime.tool import Param
from iac_runtime.tools.tables import Tables

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
        is_destination: Whether it says where something is put.
    """

    name: str
    code: str
    type: str
    value: Value
    owner: str = ""
    path: str | None = None
    is_destination: bool = False


@dataclass(frozen=True)
class RequestView:
    """A request as the rules look at it.

    Attributes:
        event: The request.
        tables: Those of the app; None if there are none.
        home: The user's home folder.
        values: Every value, records and lists opened.
        texts: Every text and path among them.
        paths: Every file that the request names.
        destination_paths: Every path at which something comes to lie that the request does not
            name as one: what is moved into a folder, made in one, or called otherwise where it is.
        requests: The request, and those that it does in one call.
        target_processes: The processes that it reaches into by System Events.
        created_class: The class of what is made, in words; empty if nothing is.
        has_file_objects: Whether the app is one whose objects are files.
        can_act: Whether it may do more than read and list.
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
    can_act: bool

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Every value that is a URL, or whose parameter says that it must be one."""
        return tuple(_find_links(self))

    @cached_property
    def consequences(self) -> tuple[Consequence, ...]:
        """What its values bring about beyond its command."""
        if not self.can_act:
            return ()
        return tuple(dict.fromkeys(find_consequences(self.deed)))

    @cached_property
    def deed(self) -> Deed:
        """The request as what brings something about is known by; its verb is the strictest."""
        return _build_deed(self)


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
            path = value_path(value, event.app, home)
            values.append(RequestValue(name, code, type, value, owner, path, into))

    rows = {fold_name(row.jxa or row.term): row for row in params.values() if row.code}
    direct = next((row for row in params.values() if row.code == "----"), None)
    requests = tuple(_flatten_requests(event))
    for one in requests:
        if not isinstance(one.direct, Absent):
            add_value("", "----", direct.type if direct else "", one.direct)
        for name, value in one.more if one.op == "set" else (*one.named, *one.more):
            row = rows.get(fold_name(name))
            code, type = (row.code, row.type) if row else ("", "")
            add_value(lowercase_words(row.term if row else name), code, type, value)
        for name, value in one.named if one.op == "set" else ():
            add_value(lowercase_words(name), "", "", value, "set")
    texts = (
        (row, row.value if isinstance(row.value, str) else row.value.path)
        for row in values
        if isinstance(row.value, str | PathValue)
    )
    paths = [(row, row.path) for row in values if row.path is not None]
    of_files = event.app.casefold() in FILE_APPS
    for one in requests if of_files else ():
        path = find_specifier_path(one.target, event.app, home)
        if path is not None:
            paths.append((RequestValue("", "----", "", RefValue(one.target)), path))
    goes = _find_destination_paths(event, values, paths) if paths else ()
    made = next((lowercase_words(str(row.value)) for row in values if row.code == "kocl"), "")
    made = made if event.code == "corecrel" else ""
    known = (event, tables, home, tuple(values), tuple(texts), tuple(paths), goes, requests)
    can_act = event.writes or event.op == "command"
    return RequestView(*known, tuple(find_target_processes(event)), made, of_files, can_act)


def value_path(value: Value, app: str, home: str) -> str | None:
    if isinstance(value, PathValue):
        return value.path
    if isinstance(value, RefValue):
        known = app.casefold() in FILE_APPS
        return find_specifier_path(value.steps, app, home) if known else None
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
    named = (row.value for row in values if row.owner and row.name in _FILE_NAMES)
    names = [str(value) for value in named if isinstance(value, str | PathValue)]
    if event.op == "set":
        folders = [path.rpartition("/")[0] for path in sources]
    elif event.code in MOVES:
        names += [path.rpartition("/")[2] for path in sources]
    return tuple(f"{folder}/{name.replace('/', ':')}" for folder in folders for name in names)


def _flatten_requests(event: Event) -> list[Event]:
    return [event, *(one for part in event.parts for one in _flatten_requests(part))]


def find_specifiers(event: Event, *, tested: bool = True) -> list[tuple[Step, ...]]:
    """Return every object specifier of a request, those inside filters and records too.

    Args:
        tested: Whether what a filter tests is one; it begins at the item.
    """
    specifiers: list[tuple[Step, ...]] = []

    def visit_part(part: Value | Absent | Filter) -> None:
        inside: Iterable[Value | Filter] = ()
        if isinstance(part, RefValue):
            specifiers.append(part.steps)
            inside = (step.filter for step in part.steps if isinstance(step, Whose))
        elif isinstance(part, Compare):
            inside = (RefValue(part.path), part.value) if tested else (part.value,)
        elif isinstance(part, Join | tuple):
            inside = part if isinstance(part, tuple) else part.tests
        elif isinstance(part, RecordValue):
            inside = (value for _, value in part.fields)
        for one in inside:
            visit_part(one)

    for one in _flatten_requests(event):
        target = (RefValue(one.target),) if one.target else ()
        for part in (*target, one.direct, *(value for _, value in (*one.named, *one.more))):
            visit_part(part)
    return specifiers


def find_specifiers_and_columns(event: Event) -> list[tuple[Step, ...]]:
    """Return every object specifier of a request, and what it asks of each object as one."""
    requests = _flatten_requests(event)
    asked = [(one.target, row.jxa) for one in requests for row in one.columns]
    asked += [(one.target, row.jxa) for one in requests for row in one.order]
    return find_specifiers(event) + [(*target, PropertyStep(name)) for target, name in asked]


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
    target_processes: list[TargetProcess] = []
    if event.app.casefold() != SYSTEM_EVENTS:
        return target_processes
    for steps in find_specifiers_and_columns(event):
        for at, step in enumerate(steps):
            named = isinstance(step, AllElements | PropertyStep) and step.name in _PROCESSES
            if not named or (step == AllElements("uiElements") and at > 0):
                continue
            after = steps[at + 1] if at + 1 < len(steps) else None
            name, bundle = after.name if isinstance(after, ByName) else "", ""
            if isinstance(after, Whose):
                name, bundle = _process_in_filter(after.filter)
            target_processes.append(
                TargetProcess(name, bundle, any(map(_is_inside_step, steps[at + 1 :])))
            )
    return target_processes


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
    if not isinstance(step, Whose):
        return isinstance(step, AllElements) or step == PropertyStep("entireContents")
    test = step.filter
    if isinstance(test, Join):
        return any(_is_inside_step(Whose(part)) for part in test.tests)
    return any(map(_is_inside_step, test.path))


def request_object(event: Event, tables: Tables | None) -> tuple[str, str]:
    """Return the class and the specifier of what a request is about; both empty for the app."""
    made = next((value for name, value in event.named if name == "new"), None)
    if event.code == "corecrel" and isinstance(made, str):
        return class_term(made, tables), ""
    steps = event.parts[0].target if event.parts else event.target
    steps = steps or next(iter(_direct_specifiers(event)), ())
    last = next((step.name for step in reversed(steps) if isinstance(step, AllElements)), "")
    return class_term(last, tables) if last else "", format_reference(steps) if steps else ""


def _direct_specifiers(event: Event) -> Iterable[tuple[Step, ...]]:
    if isinstance(event.direct, Absent):
        return ()
    values = event.direct if isinstance(event.direct, tuple) else (event.direct,)
    return (value.steps for value in values if isinstance(value, RefValue))


def class_term(name: str, tables: Tables | None) -> str:
    """Return the term of a class that is given by any of its names, in words."""
    term = tables.find_class(name) if tables is not None else None
    return term or " ".join(split_name(name))


def _find_links(view: RequestView) -> Iterator[str]:
    if not view.can_act:
        return
    opens = view.event.code == "GURLGURL"
    for row, text in view.texts:
        if (
            (opens and row.code == "----")
            or URL_NAME.search(row.name)
            or URL_NAME.search(row.type)
            or (":" in text and link_scheme(text))
        ):
            yield text
        elif text.lstrip().startswith("="):
            yield from _ADDRESS_IN_TEXT.findall(text)


_ADDRESS_IN_TEXT: Final = re.compile(r"https?://[^\s\"'<>)]+")


def find_move_destinations(view: RequestView) -> list[tuple[Step, ...]]:
    """Return the places that things are moved to, by a move or by setting what holds them."""
    if not view.event.writes:
        return []
    moves = view.event.code in MOVES
    places = (
        row.value
        for row in view.values
        if (moves and row.code == "insh") or (row.owner == "set" and row.name in HOLDERS)
    )
    return [place.steps for place in places if isinstance(place, RefValue)]


def _build_deed(view: RequestView) -> Deed:
    event = view.event
    steps = (step for place in find_move_destinations(view) for step in place)
    names = (lowercase_words(step.name) if isinstance(step, PropertyStep) else step.name
             for step in steps if isinstance(step, PropertyStep | ByName))  # fmt: skip
    return Deed(
        request_verb(event, "MODIFY", answers=False),
        " ".join(split_name(event.command)),
        view.created_class or request_object(event, view.tables)[0],
        tuple(_field(row) for row in view.values if row.owner in OWNERS),
        tuple(row.path or str(row.value) for row in view.values if row.code == "----"),
        next(filter(is_trash_name, names), ""),
        event.code in MOVES,
        tuple(_pressed_titles(view)) if event.code in _PRESSES else (),
        tuple(row.name for row in view.values if row.name),
    )


def _field(row: RequestValue) -> tuple[str, str | bool | float | None]:
    value = row.value.path if isinstance(row.value, PathValue) else row.value
    return row.name, value if isinstance(value, str | bool | int | float) else None


OWNERS: Final = frozenset({"set", "properties", "with properties", "record"})
"""What holds the properties of an object, by whatever road they are given."""

_KEYSTROKE: Final = "prcskprs"
_PRESSES: Final = frozenset({"prcsclic", "prcsperf", _KEYSTROKE})
"""Events of System Events that work an interface: click, perform, keystroke."""


def _pressed_titles(view: RequestView) -> Iterator[str]:
    for steps in find_specifiers(view.event, tested=False):
        # The process has a name too.
        yield from [step.name for step in steps if isinstance(step, ByName)][1:][-1:]
    held = [str(row.value).removesuffix(" down") for row in view.values if row.name == "using"]
    if view.event.code == _KEYSTROKE and held:
        keys = [str(row.value) for row in view.values if row.code == "----"]
        yield from ("+".join((*sorted(held), key)) for key in keys)
