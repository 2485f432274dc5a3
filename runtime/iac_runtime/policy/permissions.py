"""Everything about permission in one object: what the gate asks, in the order in which it asks.

    facts -> judge -> (ask -> a person -> answer) -> run

One belongs to one process; what it keeps is shared through the state folder. No lock is held
while a person thinks.
"""

import contextlib
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from iac_base.errors import SetupError
from iac_base.files import data_folder
from iac_base.text import escaped
from iac_runtime.language.request import Event
from iac_runtime.language.text import jxa_line
from iac_runtime.policy.call_view import CallView, sent_for, view_of
from iac_runtime.policy.dataflow import Taint, secrets_read, without_secrets
from iac_runtime.policy.decide import decide, together
from iac_runtime.policy.effects import CallFacts, Decision, Shown
from iac_runtime.policy.escalation import escalate
from iac_runtime.policy.file import load_policy, policy_path
from iac_runtime.policy.file_rules import RuleContext
from iac_runtime.policy.model import (
    REGISTERED,
    Approver,
    Flags,
    Policy,
    PolicySettings,
    read_settings,
)
from iac_runtime.policy.places import from_file_url, identity
from iac_runtime.policy.question import Question, Verdict
from iac_runtime.policy.reach import Identify, effects_of, hidden_in, nobody
from iac_runtime.policy.wording import differences, question_for
from iac_runtime.tool import Level
from iac_runtime.tools.binding import Operation, parameters

if TYPE_CHECKING:
    from iac_runtime.policy.approvals import ApprovalStore

_TOO_MANY: Final = "The user declined too many questions of {}: none is asked for {} more."
_FINAL: Final = "Do not call again; ask the user what he wants instead."
_UNANSWERED: Final = "Ask the user whether it should run before you call again."
_CHANGED: Final = "What this call names has changed since it was approved."
_GRANTED: Final = "the same, while this program runs"
_RESUME: Final = (
    "Wait that long; the user can let questions be asked now with: iac-mcp policy resume"
)


class Requester(NamedTuple):
    """Who calls, and who can ask there.

    `vouched` is for calls that the person who runs them wrote himself (the library, `--allow`).
    """

    client: str = ""
    asks_by: Approver | None = None
    vouched: Level | None = None


class PendingApproval(NamedTuple):
    """A question to be put to a person, and the token that its answer comes back with."""

    question: Question
    token: str


class Permissions:
    """The policy of this process, its memory of results, and the approvals of this user.

    Args:
        policy: The user's policy.
        settings: The settings that hold.
        store: Opens the approvals, on first need; those of this user if left out.
        context: What the rules of escalation look at.
        home: The user's home folder.
        identify: Knows apps by the names of their processes.
        now: The time of day in seconds.
    """

    def __init__(
        self,
        policy: Policy,
        settings: PolicySettings,
        store: "Callable[[], ApprovalStore] | None" = None,
        context: RuleContext | None = None,
        home: str | None = None,
        identify: Identify = nobody,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.policy = policy
        self.settings = settings
        self.taint = (context and context.taint) or Taint()
        own = (str(data_folder()), policy.path or str(policy_path()))
        self._context = (context or RuleContext(own=own))._replace(taint=self.taint)
        self._home = os.path.expanduser("~") if home is None else home  # noqa: PTH111 (a text)
        self._identify = identify
        self._now = now
        self._make_store = store
        self._store: ApprovalStore | None = None
        self._granted: set[str] = set()

    @property
    def store(self) -> "ApprovalStore":
        """The approvals of this user.

        Raises:
            SetupError: The state folder is not safe, or its file cannot be used.
        """
        # Loads sqlite3, which a call that is not asked about does without.
        from iac_runtime.policy.approvals import ApprovalStore

        if self._store is None:
            self._store = (self._make_store or ApprovalStore)()
        return self._store

    def guarded(self, event: Event, tool: Operation | None) -> Event:
        """Return a request as it may be sent: all of an object means all but its secrets."""
        return without_secrets(event, tool.tables if tool else None, self.policy.secrets)

    def request(
        self, facts: CallFacts, event: Event, level: Level, operation: Operation | None = None
    ) -> CallFacts:
        """Return the facts of a request: what it does, what raises it, what it would read.

        Args:
            facts: Tool, arguments and line; what is of the app is filled in here.
            event: The request, which went through `guarded`.
            level: What it needs by the tables of its app.
            operation: What the tool does in its app; None for one of the runtime's own.
        """
        tables = operation.tables if operation else None
        rows = parameters(operation) if operation else {}
        bound = operation.spec.bind if operation else None
        view = view_of(event, rows, self._home, tables)
        effects = effects_of(
            event, view, operation, level, self._identify, self._context.files.real
        )
        raised = escalate(view, self._context) if _can_raise(view) else ()
        secrets = secrets_read(event, tables, self.policy.secrets)
        if effects[0].looks:
            secrets += hidden_in(event, self._identify)
        return replace(
            facts,
            effects=effects,
            event=event,
            line=facts.line or jxa_line(event),
            raised=raised,
            secrets=secrets,
            sent=lambda key: sent_for(key, view, rows, bound),
            places=self.places,
        )

    def of(self, facts: CallFacts, caller: Requester) -> CallFacts:
        """Return the facts of a call with what is known of who calls."""
        can_ask = caller.asks_by is not None and caller.asks_by in self.policy.approvers
        return replace(
            facts,
            client=caller.client,
            server=self.settings.server,
            can_ask=can_ask,
            vouched=caller.vouched,
            at=time.localtime(self._now()),
            places=cache(self.places),
            parts=tuple(self.of(part, caller) for part in facts.parts),
        )

    def places(self, path: str) -> tuple[str, ...]:
        """Return where a path leads: as it says, and with its links resolved."""
        path = from_file_url(path) or path
        whole = self._home + path[1:] if path == "~" or path.startswith("~/") else path
        if not whole.startswith("/"):
            return ()
        return tuple(dict.fromkeys(map(identity, (whole, self._context.files.real(whole)))))

    def judge(self, facts: CallFacts) -> Decision:
        """Return what is to be done with a call, or with several together."""
        if facts.parts:
            parts = (replace(part, can_ask=facts.can_ask) for part in facts.parts)
            return together([self.judge(part) for part in parts])
        known = facts, self.policy, self.settings, tuple(REGISTERED)
        granted = _GRANTED if facts.memory and facts.memory in self._granted else ""
        decision = decide(*known, granted)
        if granted or not decision.offers_always:
            return decision
        from iac_runtime.policy.approvals import find

        # Without its memory it asks.
        with contextlib.suppress(SetupError):
            row = find(self.store, facts)
            return decide(*known, row.name) if row else decision
        return decision

    def ask(
        self, facts: CallFacts, decision: Decision, changed: Sequence[str] = ()
    ) -> PendingApproval | Decision:
        """Return the question to put and its token, or a refusal where too many were asked.

        `changed` says what is otherwise than when the same was asked before.

        Raises:
            SetupError: The state cannot be written; then nothing may be asked or run.
        """
        from iac_runtime.policy.approvals import Stopped, issue, keep

        if decision.action != "ask":
            return decision
        token = issue(self.store, facts, decision, self._now)
        if not isinstance(token, Stopped):
            kept = partial(keep, self.store)
            return PendingApproval(question_for(facts, decision, changed, kept), token)
        too_many = _TOO_MANY.format(escaped(facts.client) or "this program", _span(token.seconds))
        return replace(
            decision,
            action="deny",
            reasons=(*decision.reasons, too_many),
            source="the limit of questions",
            requires_prompt=True,
            suggestion=_RESUME,
        )

    def pinned(self, token: str, verdict: Verdict) -> bool:
        """Say whether a yes is bound to objects, which have to be looked at again.

        Raises:
            SetupError: The state cannot be read.
        """
        if not token or verdict not in ("once", "always"):
            return False
        from iac_runtime.policy.approvals import TokenError, read_token

        with contextlib.suppress(TokenError):
            return bool(read_token(self.store, token).pin)
        return False

    def ask_anew(self, facts: CallFacts, token: str) -> PendingApproval | None:
        """Return a new question where what was said yes to is not what there is now.

        It uses the answer up. None where nothing changed, or the answer is no good.

        Raises:
            SetupError: The state cannot be written.
        """
        from iac_runtime.policy.approvals import TokenError, check, read_token, redeem

        decision = self.judge(replace(facts, can_ask=True))
        with contextlib.suppress(TokenError):
            before = read_token(self.store, token)
            if before.pin == facts.pin or decision.action != "ask":
                return None
            check(self.store, token, facts, decision, self._now)
            redeem(self.store, token, facts, decision, self._now)
            was = tuple(Shown(*row) for row in before.shown)
            asked = self.ask(facts, decision, differences(was, facts.shown))
            return asked if isinstance(asked, PendingApproval) else None
        return None

    def honours(self, facts: CallFacts, token: str, verdict: Verdict) -> bool:
        """Say whether an answer would let a call run, without using it up.

        Raises:
            SetupError: The state cannot be read.
        """
        from iac_runtime.policy.approvals import TokenError, check

        decision = self.judge(replace(facts, can_ask=True))
        if verdict not in ("once", "always") or decision.action == "deny":
            return False
        with contextlib.suppress(TokenError):
            check(self.store, token, facts, decision, self._now)
            return True
        return False

    def answer(self, facts: CallFacts, token: str, verdict: Verdict) -> Decision:
        """Return what is to be done with a call after its question was answered.

        The call is judged anew: what is denied or blocked by now stays so, whatever was answered.

        Raises:
            SetupError: The state cannot be written; then the call may not run.
        """
        from iac_runtime.policy.approvals import (
            TokenError,
            accepted,
            declined,
            redeem,
            remember,
        )

        # The surface that asked may not be the one that this call came by.
        decision = self.judge(replace(facts, can_ask=True))
        try:
            said = redeem(self.store, token, facts, decision, self._now)
        except TokenError as error:
            return _refused(decision, str(error), "the approval")
        if verdict == "denied":
            with self.store.change() as connection:
                declined(connection, facts.client, self._now())
        if decision.action == "deny":
            return decision
        if verdict == "denied":
            return _refused(decision, "The user said no.", "the user")
        if verdict not in ("once", "always"):
            return _refused(decision, "The question was not answered.", "no answer", _UNANSWERED)
        if said.pin != facts.pin:
            return _refused(decision, _CHANGED, "the approval", _UNANSWERED)
        with self.store.change() as connection:
            accepted(connection, facts.client)
        if verdict == "always" and said.always and decision.offers_always:
            remember(self.store, facts)
        if facts.memory:
            self._granted.add(facts.memory)
        return replace(
            decision, action="allow", source=f"the user, asked by {facts.client or 'iac'}"
        )

    def saw(self, value: Any) -> None:
        """Remember the texts of a result, which an app or a stranger wrote."""
        self.taint.add(value)


def _can_raise(view: CallView) -> bool:
    """Say whether any rule of escalation can hold: a read without values raises nothing."""
    return bool(view.values or view.paths or view.of_files) or view.event.writes


def _span(seconds: float) -> str:
    """Return a time to wait in words, as a person counts it."""
    if seconds < 90:
        return f"{math.ceil(seconds)} seconds"
    return f"{math.ceil(seconds / 60)} minutes"


def _refused(decision: Decision, reason: str, source: str, way: str = _FINAL) -> Decision:
    return replace(
        decision,
        action="deny",
        reasons=(*decision.reasons, reason),
        source=source,
        offers_always=False,
        suggestion=way,
    )


def open_permissions(
    flags: Flags = Flags(),  # noqa: B008 (it is immutable)
    policy_file: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    home: str | None = None,
    identify: Identify = nobody,
) -> Permissions:
    """Return the permissions of this user.

    Raises:
        SetupError: The policy is not right, or a flag or a variable is not; nothing starts then.
    """
    policy = load_policy(policy_file)
    settings = read_settings(flags, os.environ if environ is None else environ, policy)
    return Permissions(policy, settings, home=home, identify=identify)


def default_permissions(home: str | None = None) -> Permissions:
    """Return them without a policy file: what holds where a user said nothing."""
    policy = Policy()
    return Permissions(policy, read_settings(Flags(), {}, policy), home=home)
