"""What a call does, as the policy sees it: a list of effects, the same on every road.

A generated tool, a recipe, a script, an interface and a resource each say what they do in these
words, and everything that judges, counts, records or asks looks at them alone. What cannot be
known is there too: an app without an identity, a verb `unknown`, a doubt that says why.
"""

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from iac_base.text import escaped
from iac_base.words import split_name
from iac_runtime.language.request import Absent, Event
from iac_runtime.language.steps import Every, RefValue, Step
from iac_runtime.language.text import steps_text
from iac_runtime.tool import Level
from iac_runtime.tools.tables import Tables

Verb: TypeAlias = Literal[
    "read",
    "view",
    "change",
    "create",
    "delete",
    "move",
    "open",
    "close",
    "run",
    "send",
    "install",
    "start",
    "end",
    "ask-person",
    "unknown",
]
"""`read` answers and changes nothing, `view` changes what is shown alone. `run` is code, `send`
cannot be called back, `start` is of the app as a program and told by its event alone, `end` is of
programs and sessions."""

VERBS: Final[tuple[Verb, ...]] = get_args(Verb)

LOOKS: Final[frozenset[Verb]] = frozenset(("read", "view"))
"""The verbs that leave everything as it is."""

FlowKind: TypeAlias = Literal["host", "recipient", "file", "process"]

OWN: Final = "iac"
"""Stands where an effect is on what this program itself keeps."""


class Flow(NamedTuple):
    """Where something goes: a host, a recipient, the path of a file, the name of a process."""

    kind: FlowKind
    to: str


class Effect(NamedTuple):
    """One thing that a call does.

    Attributes:
        verb: What is done.
        app: The bundle id of the app that is really reached, `local.<key>`, or `iac`; empty where
            its identity is not known, and then nothing but looking is allowed.
        name: The app's name, as far as it is known.
        kind: What the object is, as the term of its class; empty for the app as a whole.
        reference: The object as its specifier, without the app; of several the first.
        flow: What goes out by it, and where to.
        level: What the effect needs by itself, from reviewed tables or an analysis.
        doubt: Why it cannot be told what is reached; empty where it can. Without a name beside it,
            anything may be reached.
        files: The files that it changes where they lie, as paths; `?` for one that is not known.
        event: The event that does it: its code, and its command in words where the verb alone does
            not say what is done; empty where that is not known.
        given: What it is done to and with, as an approval of its like holds it: name and value,
            the value where it is few or a place (`reach.given_of`); None where that is not known.
    """

    verb: Verb
    app: str = ""
    name: str = ""
    kind: str = ""
    reference: str = ""
    flow: tuple[Flow, ...] = ()
    level: Level = "SAFE"
    doubt: str = ""
    files: tuple[str, ...] = ()
    event: str = ""
    given: tuple[tuple[str, str], ...] | None = None

    @property
    def looks(self) -> bool:
        """Whether it leaves everything as it is."""
        return self.verb in LOOKS

    @property
    def anywhere(self) -> bool:
        """Whether it may be on any app at all."""
        return bool(self.doubt) and not (self.app or self.name)

    def row(self) -> tuple[str, str, str, str]:
        """Return it as the audit keeps it: verb, app, object, flow."""
        thing = " ".join(filter(None, (self.kind, self.reference)))
        flows = ", ".join(f"{flow.kind} {flow.to}" for flow in self.flow)
        return self.verb, self.app or self.name or "unknown", thing, flows


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
def verb_of(code: str, name: str, level: Level, *, answers: bool = True) -> Verb:
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


def verb_of_event(event: Event, level: Level, *, answers: bool = True) -> Verb:
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


SAYS: Final[dict[Verb, str]] = {
    "read": "read",
    "view": "show",
    "change": "change",
    "create": "make",
    "delete": "delete",
    "move": "move",
    "open": "open",
    "close": "close",
    "run": "run",
    "send": "send",
    "install": "install",
    "start": "start",
    "end": "end",
    "ask-person": "ask you in",
    "unknown": "do something in",
}
"""Verbs as a person is told them."""


def in_words(effect: Effect) -> str:
    """Return an effect as a person reads it: `deletes notes["Milk"] in Notes`."""
    whom = effect.name or effect.app
    article = "an" if effect.kind[:1].lower() in "aeiou" else "a"
    thing = effect.reference or (f"{article} {effect.kind}" if effect.kind else "")
    does, *rest = SAYS[effect.verb].split()
    says = " ".join((f"{does}es" if does == "do" else f"{does}s", *rest))
    if not thing or says.endswith(" in"):
        said = f"{says} {whom or 'any app'}"
    else:
        said = f"{says} {thing} in {whom or 'any app'}"
    flows = "; ".join(f"to {flow.kind} {flow.to}" for flow in effect.flow)
    return escaped(f"{said}, {flows}" if flows else said)
