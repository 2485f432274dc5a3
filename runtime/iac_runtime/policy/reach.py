"""From a request to its effects: what it does to which app, where anything goes, what is hidden."""

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from iac_base.words import split_name
from iac_runtime.language.request import Absent, Event
from iac_runtime.language.steps import ByName, Every, Go, RefValue, Step
from iac_runtime.language.text import steps_text
from iac_runtime.policy.addresses import hosts_in, role_of
from iac_runtime.policy.blocklist import hides_texts, hiding_process
from iac_runtime.policy.call_view import (
    MOVES,
    CallValue,
    CallView,
    TargetProcess,
    processes,
    words_of,
)
from iac_runtime.policy.effects import LOOKS, VERBS, Effect, Flow, Verb
from iac_runtime.policy.places import FILES, path_of_steps
from iac_runtime.tool import Level
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import APPLICATION, Operation, Tables
from iac_runtime.types import parse_type

_DATA: Final = json.loads(Path(__file__).with_suffix(".json").read_bytes())


def _verbs(rows: dict[str, str]) -> dict[str, Verb]:
    known: dict[str, Verb] = {verb: verb for verb in VERBS}
    return {word: known[verb] for verb, words in rows.items() for word in words.split()}


_ACTIVATE: Final = "miscactv"
"""The event that shows an app, or starts it."""

_BY_CODE: Final = _verbs(_DATA["codes"])
_BY_WORD: Final = _verbs(_DATA["words"])
_BY_OP: Final[dict[str, Verb]] = {
    "activate": "view",
    "launch": "start",
    "quit": "end",
    "set": "change",
}


STARTERS: Final = frozenset(("miscactv", "ascrnoop", "aevtoapp", "aevtrapp"))
"""Events that are sent to start an app or to show it: activate, launch, run, reopen."""


@lru_cache(maxsize=4096)
def verb_of(code: str, name: str, level: Level, *, answers: bool) -> Verb:
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
        if found in LOOKS:
            return found
        return "read" if answers else "view"
    return "unknown" if found in LOOKS else found


def event_of(event: Event) -> str:
    """Return the event of a request as an effect has it: `coresetd`, `hookPlay play`."""
    known = event.op != "command" or event.code in _BY_CODE
    return event.code if known else f"{event.code} {' '.join(split_name(event.command))}"


def verb_of_event(event: Event, level: Level, *, answers: bool) -> Verb:
    """Return what a request does that needs `level`, by the tables of its app or as planned."""
    if event.code == _ACTIVATE and level != "SAFE":
        return "start"
    if event.op == "command":
        return verb_of(event.code, event.command, level, answers=answers)
    verb = _BY_OP.get(event.op, "read")
    return "view" if level == "SAFE" and verb == "change" else verb


def object_of(event: Event, tables: Tables | None) -> tuple[str, str]:
    """Return the class and the specifier of what a request is about; both empty for the app."""
    made = next((value for name, value in event.named if name == "new"), None)
    if event.code == "corecrel" and isinstance(made, str):
        return class_of(made, tables), ""
    steps = event.parts[0].target if event.parts else event.target
    steps = steps or next(iter(_direct(event)), ())
    last = next((step.name for step in reversed(steps) if isinstance(step, Every)), "")
    return class_of(last, tables) if last else "", steps_text(steps) if steps else ""


def _direct(event: Event) -> Iterable[tuple[Step, ...]]:
    if isinstance(event.direct, Absent):
        return ()
    values = event.direct if isinstance(event.direct, tuple) else (event.direct,)
    return (value.steps for value in values if isinstance(value, RefValue))


def class_of(name: str, tables: Tables | None) -> str:
    """Return the term of a class that is given by any of its names, in words."""
    term = tables.find_class(name) if tables is not None else None
    return term or " ".join(split_name(name))


Identify: TypeAlias = Callable[[str], tuple[str, str]]
"""From an app's bundle id, or its name or a process's, to its bundle id and name; empty if neither
is known."""


def nobody(_name: str) -> tuple[str, str]:
    """Know no app."""
    return "", ""


def identify_in(catalogue: Catalogue) -> Identify:
    """Return what knows the apps of a catalogue.

    On a Mac the process itself could be asked; what no catalogue knows has no identity here.
    """

    def identify(name: str) -> tuple[str, str]:
        found = catalogue.find_app(name)
        return (found.id, found.name) if found else ("", "")

    return identify


def effects_of(
    event: Event,
    view: CallView,
    operation: Operation | None,
    level: Level,
    identify: Identify,
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
    verb = verb_of_event(event, level, answers=answers)
    thing, flow = object_of(event, tables), flows_of(view, verb)
    own = Effect(
        *(verb, event.app, name, *thing, flow, level),
        files=files_of(view, verb),
        event=event_of(event),
        given=given_of(view, verb, thing[0], real),
    )
    # Each property that is asked of a window goes through its process once more.
    return tuple(dict.fromkeys((own, *_worked(view, own, identify), *_beyond(event, own))))


def _worked(view: CallView, effect: Effect, identify: Identify) -> Iterator[Effect]:
    """Yield the same on each app whose process a request of System Events goes through."""
    for row in view.through:
        said = row.name or row.bundle
        app, name = identify(said)
        app, name = row.bundle or app, name or row.name
        if effect.looks and not (said or row.inside):
            continue
        doubt = ""
        if not app and (name or row.inside):
            whose = f"the process {name}" if name else "a process without a name"
            doubt = f"it goes through {whose}, whose app IAC does not know"
        # One that is looked at may be any; where it is changed, no app is written to unknown.
        name = name or ("" if effect.looks else "a process")
        yield effect._replace(app=app, name=name, flow=(), files=(), doubt=doubt)


def _beyond(event: Event, effect: Effect) -> Iterator[Effect]:
    """Yield that anything may be reached by code that is run, or by an address that is opened."""
    if effect.verb == "run" and effect.level == "DANGEROUS":
        yield Effect("unknown", level=effect.level, doubt="the code can reach any app")
    elif effect.verb == "open" and event.kind == "addition":
        doubt = "the app that opens it is not known"
        yield Effect("unknown", level=effect.level, doubt=doubt, given=())


def hidden_in(event: Event, identify: Identify) -> tuple[str, ...]:
    """Return what a request would read by System Events of processes that hold secrets."""
    found = (_hidden(row, identify) for row in processes(event))
    return tuple(dict.fromkeys(filter(None, found)))


def _hidden(row: TargetProcess, identify: Identify) -> str:
    """Return what is read of a process though it is not shown; an empty text if nothing is."""
    said = row.name or row.bundle
    app = row.bundle or identify(row.name)[0]
    hides = hiding_process(row.name) or (app and hides_texts(app))
    return f"what {said} shows" if row.inside and hides else ""


_URL_NAME: Final = re.compile(r"\b(url|uri|link|href|web ?site|web ?page|home ?page|webloc)\b")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_ACTIVE: Final = frozenset(
    "about applescript blob chrome data facetime file ftp itms itms-apps javascript mailto message"
    " ms-msdt sftp shortcuts smb afp nfs cifs sms ssh tel telnet vbscript view-source vnc webcal"
    " workflow x-apple.systempreferences x-man-page x-help-action".split()
)


def links_in(view: CallView) -> list[str]:
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


def flows_of(view: CallView, verb: Verb) -> tuple[Flow, ...]:
    """Return what goes out by a request: to hosts, to recipients, into files."""
    found: list[Flow] = [Flow("file", path) for row, path in view.paths if row.into]
    found += [Flow("file", path) for path in view.landings]
    if verb not in LOOKS:
        found += [
            Flow("host", host) for url in links_in(view) for host in hosts_in(url, sure=False)
        ]
        named = ((row, f"{row.name} {row.type}") for row, _ in view.texts)
        found += [
            Flow("recipient", str(row.value)) for row, says in named if RECIPIENTS.search(says)
        ]
    return tuple(dict.fromkeys(found))


def files_of(view: CallView, verb: Verb) -> tuple[str, ...]:
    """Return the files that a request changes where they lie; `?` for one that is not known."""
    if not view.of_files or verb in LOOKS or verb == "open" or view.event.code in _COPIES:
        return ()
    event, home = view.event, view.home
    found = [row.path for row in view.values if row.code == "----"]
    found += [path_of_steps(row.target, event.app, home) for row in view.asked if row.target]
    return tuple(dict.fromkeys(path or "?" for path in found))


_COPIES: Final = frozenset({"coreclon", "corecrel"})
"""What these make lies where it goes to; what they are made from is left as it is."""


_UNTOLD: Final = frozenset({"run", "send", "install"})
"""Verbs whose object says nothing of what they do: each is asked about by itself."""

_OWNERS: Final = frozenset({"set", "properties", "with properties", "record"})
"""What holds the properties of an object, by whatever road they are given."""


def given_of(
    view: CallView, verb: Verb, kind: str, real: Callable[[str], str]
) -> tuple[tuple[str, str], ...] | None:
    """Return what a request does its like to and with, as name and value.

    Without a name: the objects by their class, and by which property of one. `in`: the folder that
    files lie in. Else the name of a property or a parameter, with its value where that is a truth
    value, an enumerator, a folder or a place; of any other value its name alone.

    None where it cannot be told what it is done to: code, elements of an interface, a file that
    nobody knows where it lies.
    """
    event = view.event
    if verb in LOOKS:
        return ()
    if verb in _UNTOLD or view.through:
        return None
    found: list[tuple[str, str]] = []
    things = [one.target for one in view.asked if one.target]
    things += [
        row.value.steps for row in view.values if not row.name and isinstance(row.value, RefValue)
    ]
    for steps in things:
        found.append(("", _thing(steps)))
        path = path_of_steps(steps, event.app, view.home) if view.of_files else None
        if path is not None:
            found.append(("in", _folder(path, view, real)))
        elif view.of_files and any(isinstance(row, Every) and row.name in FILES for row in steps):
            return None
    if view.made:
        made = view.tables.classes.get(kind) if view.tables else None
        found.append(("", words_of(made.plural) if made else kind))
    for row in view.values:
        if row.code == "kocl" or (not row.name and isinstance(row.value, RefValue)):
            continue
        name = row.name if row.owner in _OWNERS else " ".join(filter(None, (row.owner, row.name)))
        if not name and row.path is not None:
            found.append(("in", _folder(row.path, view, real)))
        else:
            found.append((name, _few(row, kind, view, real)))
    return None if any("?" in value for name, value in found if name == "in") else tuple(found)


def _thing(steps: tuple[Step, ...]) -> str:
    """Return the names on the way to an object from its class on, without which one it is."""
    last = max((at for at, step in enumerate(steps) if isinstance(step, Every)), default=0)
    names = [words_of(step.name) for step in steps[last:] if isinstance(step, Go | Every)]
    return " of ".join(reversed(names)) or "the app"


def _place_name(steps: tuple[Step, ...]) -> str:
    """Return a place by its name, or a mailbox by what it is for, in whatever language."""
    *above, last = steps or (Go("the app"),)
    role = role_of(last.name) if isinstance(last, ByName) else ""
    if not role or above[-1] != Every("mailboxes"):
        return steps_text(steps) or "the app"
    account = steps_text(tuple(above[:-1]))
    return f"the {role} of {account}" if account else f"the {role}"


def _folder(path: str, view: CallView, real: Callable[[str], str], *, itself: bool = False) -> str:
    """Return the folder that a file lies in, or that a path is, with its links resolved."""
    folder = real(path if itself else posixpath.dirname(path) or "/").rstrip("/")
    inside = f"{folder}/".startswith(f"{view.home}/")
    return f"~{folder.removeprefix(view.home)}" if inside else folder or "/"


def _few(row: CallValue, kind: str, view: CallView, real: Callable[[str], str]) -> str:
    """Return a value where it is few or a place; else nothing."""
    value, tables = row.value, view.tables
    if isinstance(value, bool):
        return "true" if value else "false"
    if row.path is not None and (row.into or not isinstance(value, str)):
        inside = isinstance(value, RefValue) or view.event.code in (*MOVES, "corecrel")
        return _folder(row.path, view, real, itself=inside)
    if isinstance(value, RefValue):
        return _place_name(value.steps)
    if isinstance(value, str) and tables is not None:
        whose = kind or (APPLICATION if not view.event.target else "")
        known = tables.find_property(whose, row.name) if whose and not row.type else None
        types = parse_type(known.type if known else row.type) if known or row.type else ()
        words = [word for one in types for word, _ in tables.enums.get(one.name, ())]
        return value if value in words else ""
    return ""
