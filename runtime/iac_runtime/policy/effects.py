"""From a request to its effects: what it holds, what it does to which app, where anything goes.

First a request is laid out for the rules: each value with its role, each object as a path. One
object has many spellings: a path with `..` in it, a reference by brackets or by `byName`, a
property in any case, one item or a list of one. A rule is held against what would be sent, so
that no spelling of the caller's gets a call out of one rule or into another.
"""

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

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
from iac_runtime.policy.facts import READ_VERBS, VERBS, Effect, Flow, Verb
from iac_runtime.policy.places import (
    FILE_APPS,
    FILES,
    SYSTEM_EVENTS,
    find_specifier_path,
    find_url_hosts,
    is_unreadable_app,
    is_unreadable_process,
    mailbox_role,
    parse_file_url,
)
from iac_runtime.tool import Level, Param
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import APPLICATION, Operation, Tables
from iac_runtime.types import parse_type

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
    known = (event, tables, home, tuple(values), tuple(texts), tuple(paths), goes)
    return RequestView(*known, requests, tuple(find_target_processes(event)), made, of_files)


def value_path(value: Value, app: str, home: str) -> str | None:
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

    def visit_specifier(steps: tuple[Step, ...]) -> None:
        specifiers.append(steps)
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
        elif isinstance(value, RecordValue | tuple):
            parts = value if isinstance(value, tuple) else (part for _, part in value.fields)
            for part in parts:
                visit_value(part)

    for one in _flatten_requests(event):
        if one.target:
            visit_specifier(one.target)
        if not isinstance(one.direct, Absent):
            visit_value(one.direct)
        for _, value in (*one.named, *one.more):
            visit_value(value)
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


_DATA: Final = json.loads(Path(__file__).with_suffix(".json").read_bytes())


def _index_verbs(rows: dict[str, str]) -> dict[str, Verb]:
    known: dict[str, Verb] = {verb: verb for verb in VERBS}
    return {word: known[verb] for verb, words in rows.items() for word in words.split()}


_ACTIVATE: Final = "miscactv"
"""The event that shows an app, or starts it."""

_BY_CODE: Final = _index_verbs(_DATA["codes"])
_BY_WORD: Final = _index_verbs(_DATA["words"])
_BY_OP: Final[dict[str, Verb]] = {
    "activate": "view",
    "launch": "start",
    "quit": "end",
    "set": "change",
}


STARTERS: Final = frozenset(("miscactv", "ascrnoop", "aevtoapp", "aevtrapp"))
"""Events that are sent to start an app or to show it: activate, launch, run, reopen."""


@lru_cache(maxsize=4096)
def command_verb(code: str, name: str, level: Level, *, answers: bool) -> Verb:
    """Return what a command does.

    Args:
        code: The eight characters of its event.
        name: Its name in any spelling; its first word counts where the code is not known.
        level: What the reviewed tables say that it needs. What they call SAFE looks, whatever it is
            called; what they do not cannot be looking.
        answers: Whether it declares a result.
    """
    words = split_name(name) or [""]
    verb = _BY_CODE.get(code) or _BY_WORD.get(words[0], "unknown")
    if level == "SAFE":
        return verb if verb in READ_VERBS else "read" if answers else "view"
    return "unknown" if verb in READ_VERBS else verb


@lru_cache(maxsize=256)
def outgoing_classes(tables: Tables) -> frozenset[str]:
    """Return the classes of an app whose objects leave by a DANGEROUS command that sends them."""
    sent = (
        param.type
        for name, spec in tables.tools.items()
        if spec.level == "DANGEROUS"
        and command_verb(spec.event, name, spec.level, answers=False) == "send"
        for param in spec.params.values()
        if param.code == "----"
    )
    return frozenset(term for term in sent if (row := tables.classes.get(term)) and row.make)


def effect_event(event: Event) -> str:
    """Return the event of a request as an effect has it: `coresetd`, `hookPlay play`."""
    known = event.op != "command" or event.code in _BY_CODE
    return event.code if known else f"{event.code} {' '.join(split_name(event.command))}"


def request_verb(event: Event, level: Level, *, answers: bool) -> Verb:
    """Return what a request does that needs `level`, by the tables of its app or as planned."""
    if event.code == _ACTIVATE and level != "SAFE":
        return "start"
    if event.op == "command":
        return command_verb(event.code, event.command, level, answers=answers)
    verb = _BY_OP.get(event.op, "read")
    return "view" if level == "SAFE" and verb == "change" else verb


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


IdentifyApp: TypeAlias = Callable[[str], tuple[str, str]]
"""From an app's bundle id, or its name or a process's, to its bundle id and name; empty if neither
is known."""


def identify_no_app(_name: str) -> tuple[str, str]:
    """Know no app."""
    return "", ""


def identify_from_catalogue(catalogue: Catalogue) -> IdentifyApp:
    """Return what knows the apps of a catalogue.

    On a Mac the process itself could be asked; what no catalogue knows has no identity here.
    """

    def identify_app(name: str) -> tuple[str, str]:
        found = catalogue.find_app(name)
        return (found.id, found.name) if found else ("", "")

    return identify_app


def request_effects(
    event: Event,
    view: RequestView,
    operation: Operation | None,
    level: Level,
    identify: IdentifyApp,
    real: Callable[[str], str] = str,
) -> tuple[Effect, ...]:
    """Return all that a request does, its own app's first.

    Args:
        event, view: The request, and what it holds.
        operation: What the tool does in its app; None for one of the runtime's own.
        level: What it needs by the tables of its app.
        identify: Knows apps by the names of their processes.
        real: Returns a path with its links resolved.
    """
    tables = operation.tables if operation else None
    answers = operation is None or bool(operation.spec.result)
    name = tables.app.name if tables else identify(event.app)[1]
    verb = request_verb(event, level, answers=answers)
    thing, flow = request_object(event, tables), request_flows(view, verb)
    own = Effect(
        *(verb, event.app, name, *thing, flow, level),
        files=changed_files(view, verb),
        event=effect_event(event),
        given=approval_values(view, verb, thing[0], real),
    )
    effects = (own, *_process_effects(view, own, identify), *_unknown_effects(event, own))
    # Each property that is asked of a window goes through its process once more.
    return tuple(dict.fromkeys(effects))


def _process_effects(view: RequestView, effect: Effect, identify: IdentifyApp) -> Iterator[Effect]:
    """Yield the same on each app whose process a request of System Events goes through."""
    for row in view.target_processes:
        said = row.name or row.bundle
        app, name = identify(said)
        app, name = row.bundle or app, name or row.name
        if effect.is_read_only and not (said or row.inside):
            continue
        doubt = ""
        if not app and (name or row.inside):
            whose = f"the process {name}" if name else "a process without a name"
            doubt = f"it goes through {whose}, whose app IAC does not know"
        # One that is looked at may be any; where it is changed, no app is written to unknown.
        name = name or ("" if effect.is_read_only else "a process")
        yield effect._replace(app=app, name=name, flow=(), files=(), doubt=doubt)


def _unknown_effects(event: Event, effect: Effect) -> Iterator[Effect]:
    """Yield that anything may be reached by code that is run, or by an address that is opened."""
    if effect.verb == "run" and effect.level == "DANGEROUS":
        yield Effect("unknown", level=effect.level, doubt="the code can reach any app")
    elif effect.verb == "open" and event.kind == "addition":
        doubt = "the app that opens it is not known"
        yield Effect("unknown", level=effect.level, doubt=doubt, given=())


def hidden_texts_read(event: Event, identify: IdentifyApp) -> tuple[str, ...]:
    """Return what a request would read by System Events of processes that hold secrets."""
    read = [row for row in find_target_processes(event) if row.inside]
    apps = {row: row.bundle or identify(row.name)[0] for row in read}
    hidden = (
        row
        for row, app in apps.items()
        if is_unreadable_process(row.name) or (app and is_unreadable_app(app))
    )
    return tuple(dict.fromkeys(f"what {row.name or row.bundle} shows" for row in hidden))


_URL_NAME: Final = re.compile(r"\b(url|uri|link|href|web ?site|web ?page|home ?page|webloc)\b")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_ACTIVE: Final = frozenset(
    "about applescript blob chrome data facetime file ftp itms itms-apps javascript mailto message"
    " ms-msdt sftp shortcuts smb afp nfs cifs sms ssh tel telnet vbscript view-source vnc webcal"
    " workflow x-apple.systempreferences x-man-page x-help-action".split()
)


def find_links(view: RequestView) -> list[str]:
    """Return every value that is a URL, or whose parameter says that it must be one."""
    if not (view.event.writes or view.event.op == "command"):
        return []
    opens = view.event.code == "GURLGURL"
    return [
        text
        for row, text in view.texts
        if (opens and row.code == "----")
        or _URL_NAME.search(row.name)
        or _URL_NAME.search(row.type)
        or _has_link_form(text.strip())
    ]


def _has_link_form(text: str) -> bool:
    scheme = None if re.search(r"\s", text) else _SCHEME.match(text)
    known = scheme and scheme.group()[:-1].lower() in _ACTIVE
    return bool(scheme and (known or text.startswith("//", scheme.end())))


RECIPIENTS: Final = re.compile(
    r"\b(?:address|recipient|email|e mail|participant|buddy|handle|phone|attendee|invitee)s?\b"
)


def request_flows(view: RequestView, verb: Verb) -> tuple[Flow, ...]:
    """Return what goes out by a request: to hosts, to recipients, into files."""
    flows = [Flow("file", path) for row, path in view.paths if row.is_destination]
    flows += [Flow("file", path) for path in view.destination_paths]
    if verb not in READ_VERBS:
        links = find_links(view)
        flows += [Flow("host", host) for url in links for host in find_url_hosts(url, sure=False)]
        rows = [row for row, _ in view.texts if RECIPIENTS.search(f"{row.name} {row.type}")]
        flows += [Flow("recipient", str(row.value)) for row in rows]
    return tuple(dict.fromkeys(flows))


def changed_files(view: RequestView, verb: Verb) -> tuple[str, ...]:
    """Return the files that a request changes where they lie; `?` for one that is not known."""
    event, leaves = view.event, verb in (*READ_VERBS, "open")
    if not view.has_file_objects or leaves or event.code in _COPIES:
        return ()
    paths = [row.path for row in view.values if row.code == "----"]
    targets = (row.target for row in view.requests if row.target)
    paths += [find_specifier_path(target, event.app, view.home) for target in targets]
    return tuple(dict.fromkeys(path or "?" for path in paths))


_COPIES: Final = frozenset({"coreclon", "corecrel"})
"""What these make lies where it goes to; what they are made from is left as it is."""


_UNTOLD: Final = frozenset({"run", "send", "install"})
"""Verbs whose object says nothing of what they do: each is asked about by itself."""

_OWNERS: Final = frozenset({"set", "properties", "with properties", "record"})
"""What holds the properties of an object, by whatever road they are given."""


def approval_values(
    view: RequestView, verb: Verb, kind: str, real: Callable[[str], str]
) -> tuple[tuple[str, str], ...] | None:
    """Return what a request does its like to and with, as name and value.

    Without a name: the objects by their class, and by which property of one. `in`: the folder that
    files lie in. Else the name of a property or a parameter, with its value where that is a truth
    value, an enumerator, a folder or a place; of any other value its name alone.

    None where it cannot be told what it is done to: code, elements of an interface, a file that
    nobody knows where it lies.
    """
    event = view.event
    if verb in READ_VERBS:
        return ()
    if verb in _UNTOLD or view.target_processes:
        return None
    found: list[tuple[str, str]] = []
    things = [one.target for one in view.requests if one.target]
    unnamed = (row.value for row in view.values if not row.name)
    things += [value.steps for value in unnamed if isinstance(value, RefValue)]
    for steps in things:
        found.append(("", _object_words(steps)))
        path = find_specifier_path(steps, event.app, view.home) if view.has_file_objects else None
        files = (row for row in steps if isinstance(row, AllElements) and row.name in FILES)
        if path is not None:
            found.append(("in", _folder_of_path(path, view, real)))
        elif view.has_file_objects and any(files):
            return None
    if view.created_class:
        made = view.tables.classes.get(kind) if view.tables else None
        found.append(("", lowercase_words(made.plural) if made else kind))
    for row in view.values:
        if row.code == "kocl" or (not row.name and isinstance(row.value, RefValue)):
            continue
        name = row.name if row.owner in _OWNERS else " ".join(filter(None, (row.owner, row.name)))
        if not name and row.path is not None:
            found.append(("in", _folder_of_path(row.path, view, real)))
        else:
            found.append((name, _approval_value(row, kind, view, real)))
    return None if any("?" in value for name, value in found if name == "in") else tuple(found)


def _object_words(steps: tuple[Step, ...]) -> str:
    """Return the names on the way to an object from its class on, without which one it is."""
    last = max((at for at, step in enumerate(steps) if isinstance(step, AllElements)), default=0)
    named = [step.name for step in steps[last:] if isinstance(step, PropertyStep | AllElements)]
    return " of ".join(map(lowercase_words, reversed(named))) or "the app"


def _place_name(steps: tuple[Step, ...]) -> str:
    """Return a place by its name, or a mailbox by what it is for, in whatever language."""
    *above, last = steps or (PropertyStep("the app"),)
    role = mailbox_role(last.name) if isinstance(last, ByName) else ""
    if not role or above[-1] != AllElements("mailboxes"):
        return format_reference(steps) or "the app"
    account = format_reference(tuple(above[:-1]))
    return f"the {role} of {account}" if account else f"the {role}"


def _folder_of_path(
    path: str, view: RequestView, real: Callable[[str], str], *, itself: bool = False
) -> str:
    """Return the folder that a file lies in, or that a path is, with its links resolved."""
    folder = real(path if itself else posixpath.dirname(path) or "/").rstrip("/")
    inside = f"{folder}/".startswith(f"{view.home}/")
    return f"~{folder.removeprefix(view.home)}" if inside else folder or "/"


def _approval_value(
    row: RequestValue, kind: str, view: RequestView, real: Callable[[str], str]
) -> str:
    """Return a value where it is few or a place; else nothing."""
    value, tables = row.value, view.tables
    if isinstance(value, bool):
        return "true" if value else "false"
    if row.path is not None and (row.is_destination or not isinstance(value, str)):
        inside = isinstance(value, RefValue) or view.event.code in (*MOVES, "corecrel")
        return _folder_of_path(row.path, view, real, itself=inside)
    if isinstance(value, RefValue):
        return _place_name(value.steps)
    if isinstance(value, str) and tables is not None:
        whose = kind or (APPLICATION if not view.event.target else "")
        known = tables.find_property(whose, row.name) if whose and not row.type else None
        types = parse_type(known.type if known else row.type) if known or row.type else ()
        words = [word for one in types for word, _ in tables.enums.get(one.name, ())]
        return value if value in words else ""
    return ""
