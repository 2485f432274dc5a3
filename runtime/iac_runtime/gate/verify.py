"""What the gate reads around a write and keeps of it; what is missing of a read."""

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from iac_base.errors import Cancellation, IacError, SetupError, ToolError
from iac_base.secrets import redact_text
from iac_base.text import clean_text
from iac_runtime.execution.answers import OUTCOME_UNKNOWN, SurroundingAnswers
from iac_runtime.gate.plans import Call, ToolContext
from iac_runtime.language.raw_event import compose_read, join_reads
from iac_runtime.language.steps import Event
from iac_runtime.outcomes.compare import LOST, compare_reads, unread_reference
from iac_runtime.outcomes.inverse import (
    Inverse,
    find_loss,
    inverse_of,
    named_for_good,
    plan_undo,
    rivals_of,
)
from iac_runtime.outcomes.outcome import Outcome
from iac_runtime.outcomes.read_back import UNSEEN, ReadBackPlan, ReadBackPlanner
from iac_runtime.policy.facts import VERB_WORDS, CallFacts, Effect, Undo, describe_undo
from iac_runtime.tools.field import field_rows
from iac_runtime.tools.tables import Operation

if TYPE_CHECKING:
    from iac_runtime.outcomes.history import UndoHistory

_NOT_KEPT: Final = Undo(False, "the policy turns off what keeps the old state")

_NOT_READ: Final = Outcome("unknown", says="it was not read back, because the call asked not to")


def open_history(context: ToolContext) -> "UndoHistory":
    """Return the history of this user; of simulated apps one that ends with them, or their file."""
    from iac_runtime.outcomes.history import UndoHistory

    world = context.executor.simulation
    if world is None:
        return UndoHistory()
    path: Path | None = getattr(world, "path", None)
    if path is None:
        return UndoHistory(None)
    name = f"{path.name}.history"
    if getattr(world, "is_new", False):
        # The apps begin anew: what was done to others of that file is not to be taken back here.
        for left in ("", "-wal", "-shm"):
            path.with_name(name + left).unlink(missing_ok=True)
    return UndoHistory(lambda: path.parent, name, math.inf)


class WriteVerification:
    """Sees to the outcome of one write.

    Args:
        event: The write.
        operation: What its tool does.
        call, context: The call, and the gate's side of it.
        seconds: What each event may take, where it goes out raw.
    """

    def __init__(
        self, event: Event, operation: Operation, call: Call, context: ToolContext, seconds: float
    ) -> None:
        self._event, self._operation = event, operation
        self._call, self._context, self._seconds = call, context, seconds
        policy = context.permissions.policy
        self._confirms = policy.confirm and call.confirm
        self._can_keep = policy.confirm and policy.undo
        self._watch = self._plan_reads(event)
        self._facts = CallFacts(call.tool)
        self._loss = ""

    def _plan_reads(self, event: Event) -> ReadBackPlan:
        tables, secrets = self._operation.tables, self._context.permissions.policy.secrets
        return ReadBackPlanner(event, tables, secrets, self._seconds).plan_read_back()

    @property
    def look(self) -> tuple[Event, ...]:
        """What is read before a question to tell how the write would be taken back."""
        return self._watch.look if self._can_keep else ()

    def with_undo(
        self, facts: CallFacts, answers: Sequence[Mapping[str, Any]] | None = None
    ) -> CallFacts:
        """Return the facts of the call with how it would be taken back.

        `answers` are those of `look`. What a person is promised is kept, whatever the call asks.
        """
        undo = _NOT_KEPT
        if self._can_keep:
            if answers:
                self._watch = named_for_good(self._watch, answers, self._operation.tables)
            undo = plan_undo(self._watch, answers, self._operation.tables)
            if undo.known and answers:
                self._loss = find_loss(
                    self._watch, answers, self._operation.tables
                ) or self._find_rival(answers)
                undo = Undo(False, self._loss) if self._loss else undo
        if answers is not None and undo.known:
            self._confirms = True
        self._facts = replace(facts, undo=undo)
        return self._facts

    def _find_rival(self, answers: Sequence[Mapping[str, Any]]) -> str:
        """Return that the trash may hold what would be taken for the object there, if it may."""
        tables, executor = self._operation.tables, self._context.executor
        steps = rivals_of(self._watch, answers, tables)
        if not steps:
            return ""
        counts = compose_read("count", steps, tables, self._seconds, may_launch=False)
        with contextlib.suppress(IacError):
            if not executor.execute(counts, app=tables.app.name, command="count").value:
                return ""
        return "another one like it is in the trash already"

    def add_reads(self, event: Event) -> Event:
        """Return the write with what is read around it."""
        if not self._confirms or self._watch.says:
            return event
        if event.raw is not self._event.raw:
            # A new object that a raw event made is read by raw events.
            self._event = event
            self._watch = self._plan_reads(replace(event, around=None, pin=None))
        return replace(event, around=self._watch.around)

    def confirm_failed(self, error: ToolError) -> None:
        """Tell an error of a write what is known of its outcome; one that was not sent has none."""
        reads: SurroundingAnswers | None = error.around
        if reads and reads.after and self._watch.operation in ("set", "delete", "move"):
            outcome = compare_reads(self._watch, None, reads, self._operation.tables)
            if outcome.state in ("confirmed", "partial"):
                outcome = self.confirm(None, reads)
            if outcome.state != "unknown":
                error.outcome = outcome.facts()
        elif OUTCOME_UNKNOWN in error.suggestion:
            error.outcome = self.confirm(None, reads, lost=True).facts()

    def confirm(
        self,
        value: Any,
        reads: SurroundingAnswers | None,
        *,
        lost: bool = False,
        cancel: Cancellation | None = None,
    ) -> Outcome:
        """Return the outcome of a write, and keep how it is taken back.

        Args:
            value, reads: What it answered, and what was read around it.
            lost: Whether its answer was.
            cancel: Ends the wait for an app that is late.
        """
        watch, tables = self._watch, self._operation.tables
        outcome = _NOT_READ
        if lost:
            outcome = replace(LOST, reference=unread_reference(watch, value, reads, tables))
        elif self._confirms:
            outcome = compare_reads(watch, value, reads, tables)
            if outcome.state != "confirmed" or self._hides():
                outcome, reads = self._settle(outcome, value, reads, cancel)
        if not (self._can_keep and self._confirms):
            return outcome
        if watch.operation == "set" and reads is not None and not self._loss:
            self._loss = find_loss(watch, reads.before, self._operation.tables)
        if self._loss:
            inverse = Inverse(says=self._loss)
        elif lost and reads is None:
            inverse = Inverse(says="the answer was lost, and the old state with it")
        elif watch.operation == "command":
            inverse = Inverse(says=describe_undo(self._facts).description)
        else:
            inverse = inverse_of(watch, outcome, value, reads, tables)
        outcome = replace(outcome, undo="" if inverse.steps else inverse.says)
        return replace(outcome, call=self._keep_call(outcome, inverse))

    def _hides(self) -> bool:
        """Say whether the book knows what a first look at such a write does not see."""
        watch, tables = self._watch, self._operation.tables
        plays = (row.get("play", {}) for row in field_rows(tables.app.id, "postcondition"))
        return any(
            watch.operation in UNSEEN.get(play.get("fault", ""), ())
            and play.get("verb", "") == watch.operation
            and ("of" not in play or tables.is_descendant(watch.kind, play["of"]))
            for play in plays
        )

    def _settle(
        self,
        outcome: Outcome,
        value: Any,
        reads: SurroundingAnswers | None,
        cancel: Cancellation | None,
    ) -> tuple[Outcome, SurroundingAnswers | None]:
        """Return the outcome, and what was read last, as the field book says of such a write."""
        # Needed by what is not confirmed, or may not stay.
        from iac_runtime.gate.postconditions import Postconditions

        executor, tables = self._context.executor, self._operation.tables

        def look_again(events: Sequence[Event], seconds: float) -> tuple[dict[str, Any], ...]:
            executor.wait(seconds, cancel)
            try:
                answer = executor.execute(
                    join_reads(events, tables),
                    app=tables.app.name,
                    command=self._call.tool,
                    timeout=self._seconds,
                    cancel=cancel,
                )
            except ToolError:
                return ()
            return tuple(answer.value)

        book = Postconditions(self._facts, self._operation, self._watch, self._seconds)
        return book.settle_outcome(outcome, value, reads, look_again)

    def _keep_call(self, outcome: Outcome, inverse: Inverse) -> int:
        """Keep the call; return its number, 0 where it cannot be kept."""
        # Loads sqlite3.
        from iac_runtime.outcomes.history import KeptCall, LaterCheck

        call, tables, watch = self._call, self._operation.tables, self._watch
        effect = next(iter(self._facts.effects), Effect("run"))
        made = watch.operation in ("make", "copy")
        reference = outcome.reference or ("" if made else effect.reference)
        # What is made to be sent is not sent yet.
        verb = VERB_WORDS["create" if watch.operation == "make" else effect.verb]
        about = " ".join(filter(None, (verb, watch.kind or effect.kind, reference)))
        if watch.wanted and watch.operation == "set":
            about = f"{about}: {', '.join(row.term for row in watch.wanted)}"
        kept = KeptCall(
            *(call.tool, tables.app.id, tables.key, redact_text(clean_text(about))[:300]),
            outcome,
            inverse,
            LaterCheck(watch.operation, reference, watch.wanted),
            client=call.caller.client,
            undoes=call.undoes,
        )
        try:
            return self._context.get_or_create(open_history).keep_call(kept)
        except SetupError:
            # What was done is done; that it cannot be taken back later is no reason to fail.
            return 0
