"""What is known of a call when it is judged, and what was judged."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from iac_runtime.language.request import Event
from iac_runtime.language.text import event_json
from iac_runtime.tool import Level

Action = Literal["allow", "ask", "deny"]


class Raised(NamedTuple):
    """A rule of escalation that held: its name, what a person is told, and how far it raises.

    `to` is a level, or `up` for one level more than the call needs otherwise.
    """

    rule: str
    says: str
    to: Level | Literal["up", "deny"]


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call that is ready to be judged.

    Attributes:
        tool: Its name on the wire.
        app_id: The bundle id, or `local.<key>`; empty where the identity could not be read.
        app_name: The app's name.
        level: What the tables say that these arguments need.
        ceiling: The most that arguments of this tool can reach.
        arguments: The checked arguments, those of the operation behind a recipe.
        event: The request; None for a call that sends nothing.
        line: The request as a line of JXA.
        raised: The rules of escalation that hold (`escalation.escalate`).
        targets: Other apps that the call reaches into by their identity; an empty identity is one
            that could not be read.
        names: The names of `targets`, in their order, as far as they are known.
        unsure: Why it cannot be told which apps the call reaches; empty where it can.
        secrets: Properties that hold a secret and would be read.
        digest: The tool's digest in tools.lock; empty where there is none.
        client: Who calls, as it named itself.
        can_ask: Whether there is anybody to ask.
        vouched: Calls up to this level were written by the person who runs them (the library,
            `--allow`), and are not asked about; None where a model writes them.
        memory: What an approval of this call also covers while this program runs (a window);
            empty where it covers the call alone.
        sent: Argument -> what would be sent for it (`sent.sent_for`); None where nothing is known.
    """

    tool: str
    app_id: str
    app_name: str
    level: Level
    ceiling: Level
    arguments: Mapping[str, Any]
    event: Event | None
    line: str = ""
    raised: tuple[Raised, ...] = ()
    targets: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    unsure: str = ""
    secrets: tuple[str, ...] = ()
    digest: str = ""
    client: str = ""
    can_ask: bool = False
    vouched: Level | None = None
    memory: str = ""
    sent: Callable[[str], tuple[tuple[str, ...], ...] | None] = field(
        default=lambda _key: None, repr=False, compare=False
    )

    @property
    def reaches(self) -> bool:
        """Say whether the call reaches any app at all."""
        return self.event is not None or bool(self.app_id or self.targets)

    @property
    def apps(self) -> tuple[tuple[str, str], ...]:
        """Every app that the call reaches, as bundle id and name, its own first; each once."""
        others = zip_longest(self.targets, self.names, fillvalue="")
        own = (self.app_id, self.app_name)
        known = [row for row in dict.fromkeys((own, *others)) if any(row)]
        return tuple(row for row in known if row == own or row[0] != own[0] or not own[0])

    @property
    def whom(self) -> str:
        """The apps by name, for a person; empty where none is known."""
        return ", ".join(name or app for app, name in self.apps)

    @property
    def writes(self) -> bool:
        """Say whether the call may change anything, whatever level a user gave it."""
        return self.level != "SAFE" or (self.event is not None and self.event.writes)


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
        requires_prompt: Refused only because nobody can be asked.
        suggestion: How the user can allow it; empty if it runs.
    """

    action: Action
    level: Level
    reasons: tuple[str, ...]
    source: str
    rules: tuple[str, ...] = ()
    own_rule: str = ""
    offers_always: bool = False
    scope: str = ""
    requires_prompt: bool = False
    suggestion: str = field(default="")


def call_digest(facts: CallFacts) -> str:
    """Return the SHA-256 (hex) of what would run: tool, arguments and request, byte for byte.

    A call without an event is what its line says: the same path in an interface can lead to
    another element by the time of the answer.
    """
    request = None if facts.event is None else event_json(facts.event, "")
    body = {
        "app": facts.app_id,
        "arguments": facts.arguments,
        "code": facts.event.code if facts.event else "",
        "line": "" if facts.event else facts.line,
        "lock": facts.digest,
        "request": request,
        "tool": facts.tool,
    }
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
