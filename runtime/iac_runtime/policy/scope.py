"""What an "always" covers: a function of the effects of a call alone, and the words for it.

Kept are what is done, the app, the class of the object, the names of what is given with the values
that are few (truth values, enumerators), folders, places, hosts and recipients as they are; never
which object it was, nor a text. The same effect is covered by whatever road it comes. What is sent
is DANGEROUS, and that is never remembered, whoever gets it.
"""

import json
import posixpath
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from iac_base.text import escaped
from iac_runtime.language.steps import ByName, Every, Go, RefValue, Step
from iac_runtime.language.text import steps_text
from iac_runtime.policy.addresses import role_of
from iac_runtime.policy.call_view import (
    MOVES,
    CallValue,
    CallView,
    processes,
    requests,
    words_of,
)
from iac_runtime.policy.effects import LOOKS, SAYS, Effect, Verb
from iac_runtime.policy.places import FILES, identity, path_of_steps
from iac_runtime.tools.tables import APPLICATION
from iac_runtime.types import parse_type

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
    if verb in _UNTOLD or processes(event):
        return None
    found: list[tuple[str, str]] = []
    things = [one.target for one in requests(event) if one.target]
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
            found.append((name, _value(row, kind, view, real)))
    return None if any("?" in value for name, value in found if name == "in") else tuple(found)


def _thing(steps: tuple[Step, ...]) -> str:
    """Return the names on the way to an object from its class on, without which one it is."""
    last = max((at for at, step in enumerate(steps) if isinstance(step, Every)), default=0)
    names = [words_of(step.name) for step in steps[last:] if isinstance(step, Go | Every)]
    return " of ".join(reversed(names)) or "the app"


def _place(steps: tuple[Step, ...]) -> str:
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


def _value(row: CallValue, kind: str, view: CallView, real: Callable[[str], str]) -> str:
    """Return a value where it is few or a place; else nothing."""
    value, tables = row.value, view.tables
    if isinstance(value, bool):
        return "true" if value else "false"
    if row.path is not None and (row.into or not isinstance(value, str)):
        inside = isinstance(value, RefValue) or view.event.code in (*MOVES, "corecrel")
        return _folder(row.path, view, real, itself=inside)
    if isinstance(value, RefValue):
        return _place(value.steps)
    if isinstance(value, str) and tables is not None:
        whose = kind or (APPLICATION if not view.event.target else "")
        known = tables.find_property(whose, row.name) if whose and not row.type else None
        types = parse_type(known.type if known else row.type) if known or row.type else ()
        words = [word for one in types for word, _ in tables.enums.get(one.name, ())]
        return value if value in words else ""
    return ""


LONGEST: Final = 300
"""Characters of what is covered: what cannot be shown whole is not remembered."""


class ApprovalScope(NamedTuple):
    """What is remembered: a key for each effect, compared whole, and all of them in words."""

    keys: tuple[str, ...]
    says: str

    def within(self, keys: Iterable[str]) -> bool:
        """Say whether everything in it is among the keys of another."""
        return set(self.keys) <= set(keys)


def scope_of(effects: Sequence[Effect]) -> ApprovalScope | None:
    """Return what an "always" for a call would cover; None where that cannot be told."""
    acting = [effect for effect in effects if not (effect.looks and effect.level == "SAFE")]
    if not acting or any(effect.looks or effect.given is None for effect in acting):
        return None
    known = [_said(effect) for effect in acting if not effect.anywhere]
    doubts = [effect.doubt for effect in acting if effect.doubt]
    says = "; ".join(dict.fromkeys([*known, *doubts]))
    if not known or len(says) > LONGEST:
        return None
    return ApprovalScope(tuple(sorted({_key(effect) for effect in acting})), says)


def _key(effect: Effect) -> str:
    flows = sorted({(flow.kind, flow.to) for flow in effect.flow if flow.kind != "file"})
    given = {
        (name, identity(value) if value.startswith(("/", "~")) else value)
        for name, value in effect.given or ()
    }
    what = (effect.verb, effect.app, effect.event, effect.kind, effect.doubt)
    return json.dumps([*what, sorted(given), flows])


_EVENTS: Final = {"coreclon": "duplicate", "coresave": "save"}
"""Events that say more than their verb."""

_PLACES: Final = ("at", "to")
"""Parameters that say where something is put."""


def _said(effect: Effect) -> str:
    """Return what is covered of one effect: `change name of notes in Notes`."""
    code, _, command = effect.event.partition(" ")
    does = command or _EVENTS.get(code) or SAYS[effect.verb].removesuffix(" in")
    rows = dict.fromkeys(effect.given or ())
    things = ", ".join(value for name, value in rows if not name and value) or effect.kind
    folders = ", ".join(value for name, value in rows if name == "in")
    places = "".join(f" {name} {value}" for name, value in rows if name in _PLACES and value)
    named = {name: value for name, value in rows if name not in ("", "in", *_PLACES)}
    given = ", ".join(f"{name} to {value}" if value else name for name, value in named.items())
    hosts = ", ".join(dict.fromkeys(flow.to for flow in effect.flow if flow.kind != "file"))
    if hosts and (list(named) == ["url"] or (effect.verb == "open" and not things)):
        new = "new " if effect.verb == "create" else ""
        does, given = "open", ""
        things, hosts = f"pages of {hosts}" + (f" in {new}{things}" if things else ""), ""
    if folders:
        things = f"{things or 'files'} in {folders}"
    if given and code == "coresetd":
        said = f"{does} {given} of {things or 'the app'}"
    else:
        said = " ".join(filter(None, (does, things, f"with {given}" if given else "")))
    whole = effect.verb in ("start", "end") and not things
    said += f"{places}{' ' if whole else ' in '}{effect.name or effect.app}"
    return escaped(f"{said}, going to {hosts}" if hosts else said)
