"""What a call does, as the policy sees it: a list of effects, the same on every road.

A generated tool, a recipe, a script, an interface and a resource each say what they do in these
words, and everything that judges, counts, records or asks looks at them alone. What cannot be
known is there too: an app without an identity, a verb `unknown`, a doubt that says why.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from iac_runtime.language.steps import Event
from iac_runtime.language.text import event_json
from iac_runtime.policy.places import path_identity
from iac_runtime.tool import LEVELS, Level

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

READ_VERBS: Final[frozenset[Verb]] = frozenset(("read", "view"))
"""The verbs that leave everything as it is."""

LOADING_CLASSES: Final = ("", "document", "tab", "window")
"""Last words of the classes of what loads an address; "" where no object is named."""

FlowKind: TypeAlias = Literal["host", "recipient", "file", "process"]

OWN_APP: Final = "iac"
"""Stands where an effect is on what this program itself keeps."""


TIME: Final = "%Y-%m-%d %H:%M:%S"
"""How a moment is written that a person reads and programs compare: local time."""

NEW_DRAFT: Final = "new"
"""Stands for the draft that a call makes, which has no reference yet."""


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
            the value where it is few or a place (`effects.approval_values`); None where that is not
            known.
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
    def page_hosts(self) -> tuple[str, ...]:
        """Hosts of the pages that it opens: a tab loads the address it is given, a bookmark not."""
        loads = self.verb == "open" or self.kind.rpartition(" ")[2] in LOADING_CLASSES
        opens = loads and self.verb in ("create", "change", "open")
        return tuple(flow.to for flow in self.flow if opens and flow.kind == "host")

    @property
    def is_read_only(self) -> bool:
        """Whether it leaves everything as it is."""
        return self.verb in READ_VERBS

    @property
    def target_unknown(self) -> bool:
        """Whether it may be on any app at all."""
        return bool(self.doubt) and not (self.app or self.name)

    def audit_row(self) -> tuple[str, str, str, str]:
        """Return it as the audit keeps it: verb, app, object, flow."""
        thing = " ".join(filter(None, (self.kind, self.reference)))
        flows = ", ".join(f"{flow.kind} {flow.to}" for flow in self.flow)
        return self.verb, self.app or self.name or "unknown", thing, flows


VERB_WORDS: Final[dict[Verb, str]] = {
    **{verb: str(verb) for verb in VERBS},
    "view": "show",
    "create": "make",
    "ask-person": "ask you in",
    "unknown": "do something in",
}
"""Verbs as a person is told them."""


Action = Literal["allow", "ask", "deny"]

Approver = Literal["client", "dialog", "terminal", "page"]
"""A way of asking a person."""

Verdict = Literal["once", "always", "decline", "cancel", "error", "timeout", "unable", "unshown"]
"""What a way of asking came back with: accepted (`once` or `always`), declined, closed without an
answer (some clients do that unseen), failed, not answered in time, or not able to ask at all."""

ACCEPTED: Final[tuple[Verdict, ...]] = ("once", "always")


class ApprovalHistory(NamedTuple):
    """What was asked about one call so far, over all its questions.

    Attributes:
        id: Joins what the audit has of it; empty before the first question.
        asked: Each way that was tried, and what it came back with; a question that waits for its
            answer has none.
        changed: What is otherwise than when the same was asked before, a sentence each.
    """

    id: str = ""
    asked: tuple[tuple[Approver, Verdict | Literal[""]], ...] = ()
    changed: tuple[str, ...] = ()


class RaisedLevel(NamedTuple):
    """A rule of escalation that held: its name, what a person is told, and how far it raises.

    `to` is a level, or `up` for one level more than the call needs otherwise.
    """

    rule: str
    reason: str
    to: Level | Literal["up", "deny"]


class TargetDescription(NamedTuple):
    """An object that a call names: its reference, and what it is, as a person is shown it."""

    reference: str
    description: str


@dataclass(frozen=True)
class CallFacts:
    """A call that is ready to be judged.

    Attributes:
        tool: Its name on the wire.
        effects: All that it does; none for a call that reaches nothing but its own program.
        arguments: The checked arguments, those of the operation behind a recipe.
        given: The arguments as the caller knows them, where the tool is a recipe.
        event: The request; None for a call that is none.
        line: What runs, as a line that a person can read: of a request its JXA.
        deed: What it does, in words, where no request says it; `{deeds}` stands for its effects.
        raised: The rules of escalation that hold (`escalation.find_escalations`).
        draft: The unsent object that it makes or fills alone (`tasks.Drafts`), or `NEW_DRAFT`.
        held: What is told when that is sent, and raises nothing before.
        secrets: Properties that hold a secret and would be read.
        digest: That of the tools of its app in tools.lock; empty where there is none.
        client: Who calls, as it named itself.
        token_client: The client that a token proved, which alone has what is given to it
            (approvals, kept results, limits); empty for the programs of this user.
        simulated: Whether no app is reached; what is allowed then is so for simulated apps alone.
        max_level: The highest level that its token covers.
        server: By which server it came, as that was named when it was started; or an empty text.
        ways: How a person can be asked, in order; none where nobody can.
        story: What was asked about it so far.
        preapproved_level: Calls up to this level were written by the person who runs them (the
            library, `--allow`), and are not asked about; None where a model writes them.
        memory: What an approval of this call also covers while this program runs (a window);
            empty where it covers the call alone.
        shown: What its references name, where that was looked at; then an approval is of that.
        before: What the properties that it sets are now, as short texts, where that was looked at.
        pin: The SHA-256 (hex) of all that was seen of it; empty where nothing was.
        undo: What can be promised of taking it back, as the reads around it allow; None where
            nothing is read around it.
        known: What the field book knows of such a call, told where a person is asked.
        parts: Of several calls that stand or fall together, the facts of each.
        repairs: What was put right in the call before it was planned, a line each.
        sent: Argument -> what would be sent for it (`permissions.sent_argument_forms`); None where
            nothing is known.
        at: When it is made, in local time; None where that is not known.
        places: A path as it is written -> where it leads, in the form of `places.path_identity`:
            as it says, and with its links resolved.
    """

    tool: str
    effects: tuple[Effect, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    event: Event | None = None
    line: str = ""
    deed: str = ""
    raised: tuple[RaisedLevel, ...] = ()
    draft: str = ""
    held: tuple[RaisedLevel, ...] = ()
    secrets: tuple[str, ...] = ()
    digest: str = ""
    client: str = ""
    token_client: str = ""
    simulated: bool = False
    max_level: Level = "DANGEROUS"
    server: str = ""
    ways: tuple[Approver, ...] = ()
    story: ApprovalHistory = ApprovalHistory()  # noqa: RUF009 (it is immutable)
    preapproved_level: Level | None = None
    memory: str = ""
    shown: tuple[TargetDescription, ...] = ()
    before: tuple[tuple[str, str], ...] = ()
    pin: str = ""
    undo: "Undo | None" = None
    known: str = ""
    parts: "tuple[CallFacts, ...]" = ()
    repairs: tuple[str, ...] = ()
    sent: Callable[[str], tuple[tuple[str, ...], ...] | None] = field(
        default=lambda _key: None, repr=False, compare=False
    )
    at: time.struct_time | None = field(default=None, compare=False)
    places: Callable[[str], tuple[str, ...]] = field(
        default=lambda path: (path_identity(path),), repr=False, compare=False
    )

    @cached_property
    def level(self) -> Level:
        """What the effects need by themselves."""
        return LEVELS[max((LEVELS.index(row.level) for row in self.effects), default=0)]

    @cached_property
    def apps(self) -> tuple[tuple[str, str], ...]:
        """Every app that the call reaches, as bundle id and name, each once."""
        known = (row for row in self.effects if row.app != OWN_APP and not row.target_unknown)
        return tuple(dict.fromkeys((row.app, row.name) for row in known))

    @cached_property
    def app(self) -> tuple[str, str]:
        """Bundle id and name of the app that it is about first; both empty if it reaches none."""
        return next(iter(self.apps), ("", ""))

    @property
    def doubt(self) -> str:
        """Why it cannot be told which apps the call reaches; empty where it can."""
        return next((effect.doubt for effect in self.effects if effect.doubt), "")

    @property
    def app_names(self) -> str:
        """The apps by name, for a person; empty where none is known."""
        return ", ".join(filter(None, (name or app for app, name in self.apps)))

    @property
    def object_count(self) -> float:
        """How many objects it is about; infinity for a whole collection, or what a filter finds."""
        if any(row.rule == "many-objects" for row in self.raised):
            return float("inf")
        event = self.event
        direct = event.direct if event and isinstance(event.direct, tuple) else ()
        known = sum(not row.target_unknown for row in self.effects)
        return max(known, len(event.parts) if event else 0, len(direct))

    @cached_property
    def is_read_only(self) -> bool:
        """Whether every effect leaves things as they are, whatever level a user gave it."""
        return all(effect.is_read_only for effect in self.effects)

    @property
    def acts(self) -> bool:
        """Whether it does more than answer, and be it that something is shown or played."""
        return any(effect.verb != "read" for effect in self.effects)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done with a call.

    Attributes:
        action: Run it, ask a person first, or refuse it.
        level: What the call needs after all rules.
        reasons: Sentences: what raised the level, and what decided.
        source: What decided: `policy.toml line 3`, `preset cautious`, `--read-only`, a built-in.
        rules: The names of the rules of escalation that held.
        own_rule: The user's own rule that set the level; empty if none did.
        offers_always: Whether the person may be offered to remember the answer.
        scope: What an "always" would cover, in words.
        error: Of a refusal, the type of its error: `UNANSWERED` where nobody could be asked,
            `STALE` where what it names kept changing.
        suggestion: What the caller can do, and how the user can allow it; empty if it runs.
        person: What is said to the person who was asked, or could have been, in its stead.
    """

    action: Action
    level: Level
    reasons: tuple[str, ...]
    source: str
    rules: tuple[str, ...] = ()
    own_rule: str = ""
    offers_always: bool = False
    scope: str = ""
    error: Literal["REFUSED", "UNANSWERED", "STALE"] = "REFUSED"
    suggestion: str = field(default="")
    person: str = ""

    @property
    def requires_prompt(self) -> bool:
        """Whether it was refused only because nobody could be asked."""
        return self.error == "UNANSWERED"


class Undo(NamedTuple):
    """What can be promised of taking a call back.

    Attributes:
        known: Whether there is a way.
        description: The way, or why there is none; empty where nobody looked at what it needs.
        leaves: What stays in spite of it; empty where nothing does.
    """

    known: bool
    description: str = ""
    leaves: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether there is a way, and nothing stays in spite of it."""
        return self.known and not self.leaves

    @property
    def line(self) -> str:
        """The promise as a person is shown it; what nobody looked at is none."""
        if self.known and self.description:
            return f"Undo: {'; '.join(filter(None, self[1:]))}."
        return f"Cannot be undone: {self.description or _NOT_LOOKED_AT}."


_NOT_LOOKED_AT: Final = "its old state was not looked at"
UNCHANGED: Final = Undo(True, "not needed, because it is so already")
_NOTHING_CHANGES: Final = Undo(True, "not needed, because it changes nothing")

_TOLD: Final = 3
"""Ways of several calls that are told."""


def describe_undo(facts: CallFacts) -> Undo:
    """Return what can be promised of taking a call back, of several calls together."""
    found = [_undo_of_part(part) for part in facts.parts or (facts,)]
    found = [undo for undo in found if undo != UNCHANGED] or [UNCHANGED]
    known = all(undo.known for undo in found)
    said = list(dict.fromkeys(undo.description for undo in found if undo.known == known))
    if "" in said:
        return Undo(known)
    more = [f"and {len(said) - _TOLD} more"] if len(said) > _TOLD else []
    leaves = dict.fromkeys(filter(None, (undo.leaves for undo in found)))
    return Undo(known, "; ".join((*said[:_TOLD], *more)), "; ".join(leaves))


def _undo_of_part(facts: CallFacts) -> Undo:
    acting = [effect for effect in facts.effects if effect.verb != "read"]
    if not acting:
        return _NOTHING_CHANGES
    if any(effect.doubt for effect in acting):
        return Undo(False, _lost_table()["unknown"])
    if facts.undo is None or not (facts.undo.known or facts.undo.description):
        lost = [
            row.reason[:1].lower() + row.reason[1:].rstrip(".")
            for row in facts.raised
            if row.rule == "without-saving"
        ]
        lost = lost or [_lost_table()[effect.verb] for effect in acting]
        return Undo(False, "; ".join(dict.fromkeys(lost)))
    leaves = ""
    if any(effect.page_hosts for effect in acting):
        leaves = "the page was opened even so"
    elif any(effect.verb == "unknown" for effect in acting):
        leaves = "what else it does is not known"
    elif facts.level == "DANGEROUS" and any(effect.verb == "create" for effect in acting):
        leaves = "what it does until then stays"
    return facts.undo._replace(leaves=leaves or facts.undo.leaves)


@cache
def _lost_table() -> dict[Verb, str]:
    """Return why what a verb does cannot be taken back where IAC keeps nothing of it."""
    table: dict[Verb, str] = json.loads(Path(__file__).with_name("undo.json").read_bytes())
    return table


def call_digest(facts: CallFacts) -> str:
    """Return the SHA-256 (hex) of what would run: tool, arguments and request, byte for byte.

    A call without an event is what its line says: the same path in an interface can lead to
    another element by the time of the answer.
    """
    request = None if facts.event is None else event_json(facts.event, "")
    body = {
        "app": facts.app[0],
        "arguments": facts.arguments,
        "code": facts.event.code if facts.event else "",
        **({"holder": facts.token_client} if facts.token_client else {}),
        "line": "" if facts.event else facts.line,
        "lock": facts.digest,
        **({"parts": [call_digest(part) for part in facts.parts]} if facts.parts else {}),
        "request": request,
        "tool": facts.tool,
    }
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
