"""From a request to its effects: what it does to which app, where anything goes, what is hidden."""

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from iac_base.words import split_name
from iac_runtime.language.steps import (
    Absent,
    AllElements,
    ByName,
    Event,
    PropertyStep,
    RefValue,
    Step,
)
from iac_runtime.language.text import format_reference
from iac_runtime.policy.addresses import find_url_hosts, mailbox_role
from iac_runtime.policy.blocklist import is_unreadable_app, is_unreadable_process
from iac_runtime.policy.call_view import (
    MOVES,
    RequestValue,
    RequestView,
    TargetProcess,
    find_target_processes,
    lowercase_words,
)
from iac_runtime.policy.effects import READ_VERBS, VERBS, Effect, Flow, Verb
from iac_runtime.policy.places import FILES, find_specifier_path
from iac_runtime.tool import Level
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import APPLICATION, Operation, Tables
from iac_runtime.types import parse_type

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
    found = _BY_CODE.get(code) or _BY_WORD.get(words[0], "unknown")
    if level == "SAFE":
        if found in READ_VERBS:
            return found
        return "read" if answers else "view"
    return "unknown" if found in READ_VERBS else found


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
    # Each property that is asked of a window goes through its process once more.
    return tuple(
        dict.fromkeys((own, *_process_effects(view, own, identify), *_unknown_effects(event, own)))
    )


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
    found = (_hidden_process_text(row, identify) for row in find_target_processes(event))
    return tuple(dict.fromkeys(filter(None, found)))


def _hidden_process_text(row: TargetProcess, identify: IdentifyApp) -> str:
    """Return what is read of a process though it is not shown; an empty text if nothing is."""
    said = row.name or row.bundle
    app = row.bundle or identify(row.name)[0]
    hides = is_unreadable_process(row.name) or (app and is_unreadable_app(app))
    return f"what {said} shows" if row.inside and hides else ""


_URL_NAME: Final = re.compile(r"\b(url|uri|link|href|web ?site|web ?page|home ?page|webloc)\b")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_ACTIVE: Final = frozenset(
    "about applescript blob chrome data facetime file ftp itms itms-apps javascript mailto message"
    " ms-msdt sftp shortcuts smb afp nfs cifs sms ssh tel telnet vbscript view-source vnc webcal"
    " workflow x-apple.systempreferences x-man-page x-help-action".split()
)


def find_links(view: RequestView) -> list[str]:
    """Return every value that is a URL, or whose parameter says that it must be one."""
    found: list[str] = []
    if not (view.event.writes or view.event.op == "command"):
        return found
    for row, text in view.texts:
        direct = row.code == "----" and view.event.code == "GURLGURL"
        plain = text.strip()
        scheme = _SCHEME.match(plain)
        if direct or _URL_NAME.search(row.name) or _URL_NAME.search(row.type):
            found.append(text)
        elif scheme and not re.search(r"\s", plain):
            known = scheme.group()[:-1].lower() in _ACTIVE
            if known or plain[scheme.end() :].startswith("//"):
                found.append(text)
    return found


RECIPIENTS: Final = re.compile(
    r"\b(?:address|recipient|email|e mail|participant|buddy|handle|phone|attendee|invitee)s?\b"
)


def request_flows(view: RequestView, verb: Verb) -> tuple[Flow, ...]:
    """Return what goes out by a request: to hosts, to recipients, into files."""
    found: list[Flow] = [Flow("file", path) for row, path in view.paths if row.is_destination]
    found += [Flow("file", path) for path in view.destination_paths]
    if verb not in READ_VERBS:
        found += [
            Flow("host", host)
            for url in find_links(view)
            for host in find_url_hosts(url, sure=False)
        ]
        named = ((row, f"{row.name} {row.type}") for row, _ in view.texts)
        found += [
            Flow("recipient", str(row.value)) for row, says in named if RECIPIENTS.search(says)
        ]
    return tuple(dict.fromkeys(found))


def changed_files(view: RequestView, verb: Verb) -> tuple[str, ...]:
    """Return the files that a request changes where they lie; `?` for one that is not known."""
    if (
        not view.has_file_objects
        or verb in READ_VERBS
        or verb == "open"
        or view.event.code in _COPIES
    ):
        return ()
    event, home = view.event, view.home
    found = [row.path for row in view.values if row.code == "----"]
    found += [
        find_specifier_path(row.target, event.app, home) for row in view.requests if row.target
    ]
    return tuple(dict.fromkeys(path or "?" for path in found))


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
    things += [
        row.value.steps for row in view.values if not row.name and isinstance(row.value, RefValue)
    ]
    for steps in things:
        found.append(("", _object_words(steps)))
        path = find_specifier_path(steps, event.app, view.home) if view.has_file_objects else None
        if path is not None:
            found.append(("in", _folder_of_path(path, view, real)))
        elif view.has_file_objects and any(
            isinstance(row, AllElements) and row.name in FILES for row in steps
        ):
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
    names = [
        lowercase_words(step.name)
        for step in steps[last:]
        if isinstance(step, PropertyStep | AllElements)
    ]
    return " of ".join(reversed(names)) or "the app"


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
