"""From a request to its effects: what it does to which app, and where anything goes."""

import posixpath
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias

from iac_base.words import split_name
from iac_runtime.language.steps import (
    AllElements,
    ByName,
    Event,
    PropertyStep,
    RefValue,
    Step,
)
from iac_runtime.language.text import format_reference
from iac_runtime.policy.facts import READ_VERBS, Effect, Flow, Verb
from iac_runtime.policy.places import (
    FILES,
    find_specifier_path,
    find_url_hosts,
    is_unreadable_app,
    is_unreadable_process,
    mailbox_role,
)
from iac_runtime.policy.requests import (
    MOVES,
    OWNERS,
    RequestValue,
    RequestView,
    find_target_processes,
    lowercase_words,
    request_object,
)
from iac_runtime.policy.verbs import EVENT_VERBS, combine_verbs, command_verb, request_verb
from iac_runtime.tool import Level
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import APPLICATION, Operation, Tables
from iac_runtime.types import parse_type

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


ReadCode: TypeAlias = Callable[
    [RequestView, tuple[str, ...]], tuple[tuple[Effect, ...], tuple[str, ...]]
]
"""From a request that runs code, and globs over secrets, to what that code does and the secrets
that it reads, as far as that is understood."""


@lru_cache(maxsize=256)
def outgoing_classes(tables: Tables) -> frozenset[str]:
    """Return the classes of an app that have recipients, and that a DANGEROUS command sends."""
    sent = (
        param.type
        for name, spec in tables.tools.items()
        if spec.level == "DANGEROUS"
        and command_verb(spec.event, name, spec.level, answers=False) == "send"
        for param in spec.params.values()
        if param.code == "----"
    )
    known = (term for term in sent if term in tables.classes and tables.classes[term].make)
    return frozenset(
        term
        for term in known
        if any(RECIPIENTS.search(part.term) for part in tables.classes[term].elements)
    )


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
    verbs: tuple[Verb, ...] = (request_verb(event, level, answers=answers),)
    if view.can_act and view.consequences:
        verbs = combine_verbs(view.deed._replace(verb=verbs[0]), view.consequences)
    verb, *others = verbs
    thing, flow = request_object(event, tables), request_flows(view, verb)
    own = Effect(
        *(verb, event.app, name, *thing, flow, level),
        files=changed_files(view, verb),
        event=_effect_event(event),
        given=approval_values(view, verb, thing[0], real),
    )
    every = (own, *(own._replace(verb=other) for other in others))
    through = (row for one in every for row in _process_effects(view, one, identify))
    effects = (*every, *through, *_unknown_effects(event, own))
    # Each property that is asked of a window goes through its process once more.
    return tuple(dict.fromkeys(effects))


def _effect_event(event: Event) -> str:
    """Return the event of a request as an effect has it: `coresetd`, `hookPlay play`."""
    known = event.op != "command" or event.code in EVENT_VERBS
    return event.code if known else f"{event.code} {' '.join(split_name(event.command))}"


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


RECIPIENTS: Final = re.compile(
    r"\b(?:address|recipient|email|e mail|participant|buddy|handle|phone|attendee|invitee)s?\b"
)


def request_flows(view: RequestView, verb: Verb) -> tuple[Flow, ...]:
    """Return what goes out by a request: to hosts, to recipients, into files."""
    flows = [Flow("file", path) for row, path in view.paths if row.is_destination]
    flows += [Flow("file", path) for path in view.destination_paths]
    if verb not in READ_VERBS:
        flows += [
            Flow("host", host) for url in view.links for host in find_url_hosts(url, sure=False)
        ]
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
        name = row.name if row.owner in OWNERS else " ".join(filter(None, (row.owner, row.name)))
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
