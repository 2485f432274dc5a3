"""What the field book says of a write's outcome: when to look again, and why it may have failed.

A row fits a write as the question's rows do (`known_cases`), where it plays the write's own verb.
Where the first look does not confirm the write, the app is given the time that the row says
(`cost.settle_ms`), and looked at `cost.tries` times. What a first look cannot see (`UNSEEN`) is
looked for although the write was confirmed: whether a change is taken back, and whether what was
made lies where it should; what no look can tell, the outcome says. Loaded for such writes alone.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from iac_runtime.execution.answers import SurroundingAnswers
from iac_runtime.gate.known_cases import describe_case, known_cases, read_call_terms
from iac_runtime.language.raw_event import compose_read
from iac_runtime.language.reader import AppReader, read_known_reference
from iac_runtime.language.references import resolve_steps
from iac_runtime.language.steps import ById, ByName, Event, PreviouslyRead, Step
from iac_runtime.language.terms import id_property, property_term
from iac_runtime.outcomes.compare import compare_reads, made_reference
from iac_runtime.outcomes.outcome import Outcome, is_gone, record_of
from iac_runtime.outcomes.read_back import UNSEEN, ReadBackPlan, container_of
from iac_runtime.policy.facts import CallFacts
from iac_runtime.tools.tables import Operation

MOST_WAIT: Final = 10.0
"""Seconds that an outcome is waited for, at most; an app may take minutes."""

_TRIES: Final = 3
"""Looks where a row does not say: after a quarter of the time, half of it, all of it."""

_READS: Final = frozenset({"get", "count", "exists", "whose"})

_LATE: Final = frozenset({"late", "stale"})
"""Faults that are no reason any more when the app had its time."""

FieldRow: TypeAlias = Mapping[str, Any]

Look: TypeAlias = Callable[[Sequence[Event], float], tuple[dict[str, Any], ...]]
"""Waits for the seconds, sends reads, and returns what each answered; nothing where none did."""


class Postconditions:
    """What rows of the field book say of one write.

    Args:
        facts, operation: The call.
        watch: What is read around it.
        seconds: What each read may take.
    """

    def __init__(
        self, facts: CallFacts, operation: Operation, watch: ReadBackPlan, seconds: float
    ) -> None:
        self._tables, self._watch, self._seconds = operation.tables, watch, seconds
        found = known_cases(read_call_terms(facts, operation), "postcondition")
        # What names the line of such calls is nearest.
        found.sort(key=lambda row: "given" not in row)
        self._rows = [row for row in found if _is_about_write(row, facts.line)]

    def settle_outcome(
        self, outcome: Outcome, value: Any, reads: SurroundingAnswers | None, look: Look
    ) -> tuple[Outcome, SurroundingAnswers | None]:
        """Return the outcome when the app had its time, and what was read then.

        Args:
            outcome: By the first look.
            value, reads: What the write answered, and what was read around it.
            look: Looks again.
        """
        if outcome.state != "confirmed":
            awaited = [row for row in self._rows if _fault(row) in {*_LATE, "no-effect"}]
            outcome, reads = self._look_again(outcome, value, reads, awaited, look)
            if outcome.state == "confirmed":
                return outcome, reads
            # It had its time.
            left = [row for row in self._rows if _fault(row) not in _LATE] or self._rows
            return _explain(outcome, left), reads
        done = self._watch.operation
        rows = [row for row in self._rows if done in UNSEEN.get(_fault(row), ())]
        if any(_fault(row) == "instead" for row in rows):
            outcome = self._check_place(outcome, value, look)
        if 0 < _settle_time(rows) <= MOST_WAIT:
            outcome, reads = self._look_again(outcome, value, reads, rows, look)
            if outcome.state == "confirmed":
                return outcome, reads
        if outcome.state == "confirmed":
            rows = [row for row in rows if _fault(row) != "instead"]
        return _explain(outcome, rows), reads

    def _look_again(
        self,
        outcome: Outcome,
        value: Any,
        reads: SurroundingAnswers | None,
        rows: Sequence[FieldRow],
        look: Look,
    ) -> tuple[Outcome, SurroundingAnswers | None]:
        """Return the outcome by the last of several looks, or by the first that changes it."""
        again = self._repeated_reads(value, reads) if reads is not None else []
        settle = min(_settle_time(rows), MOST_WAIT)
        tries = max((row.get("cost", {}).get("tries", _TRIES) for row in rows), default=0)
        passed, first = 0.0, outcome.state
        for left in reversed(range(tries if again and settle else 0)):
            answers = look(again, settle / 2**left - passed)
            passed = settle / 2**left
            if reads is None or len(answers) < len(again):
                break
            reads = reads._replace(after=answers)
            outcome = compare_reads(self._watch, value, reads, self._tables)
            if (outcome.state == "confirmed") != (first == "confirmed"):
                break
        return outcome, reads

    def _check_place(self, outcome: Outcome, value: Any, look: Look) -> Outcome:
        """Return that what was made lies elsewhere, where it does."""
        watch, tables = self._watch, self._tables
        made = self._known_steps((PreviouslyRead("made"),), None, value)
        holders = resolve_steps(watch.there[:-1], tables).classes if watch.there else None
        if not made or not holders or watch.ident is None:
            return outcome
        reader = AppReader(tables, strict=False)
        place = container_of(watch.kind, tables)
        ident = id_property(holders[0], tables) or tables.find_property(holders[0], "name")
        ways: list[tuple[tuple[Step, ...], str]] = [((*watch.there, made[-1]), "")]
        if place is not None and ident is not None:
            way = property_term(ident)
            ways = [(made, f"{property_term(place)}.{way}"), (watch.there[:-1], way)]
        reads = [
            compose_read("get", found.steps, tables, self._seconds)
            for steps, way in ways
            if (
                found := reader.follow_properties(
                    resolve_steps(steps, tables), way or property_term(watch.ident)
                )
            )
        ]
        there, *wanted = look(reads, 0.0) or ({},)
        if is_gone(there, tables) or (
            there.get("ok") and wanted and there["value"] != wanted[0]["value"]
        ):
            return replace(outcome, state="partial", says="it was made, but not where it should be")
        return outcome

    def _repeated_reads(self, value: Any, reads: SurroundingAnswers) -> list[Event]:
        """Return the reads after the write as they are sent alone; none where one cannot be."""
        found = [*self._iterate_reads(value, reads)]
        return found if len(found) == len(reads.after) else []

    def _iterate_reads(self, value: Any, reads: SurroundingAnswers) -> Iterator[Event]:
        watch, tables = self._watch, self._tables
        listing = reads.before[0].get("list") if watch.many and reads.before else None
        row = record_of(reads.before[0]) if reads.before else None
        keys = [key for key, _, _ in listing["rows"]] if listing else [_key_of(watch, row)]
        for read in watch.around.after:
            for key in keys if listing or len(keys) == 1 else ():
                steps = self._known_steps(read.target, key, value)
                if steps is not None:
                    more = {"columns": read.columns} if read.columns else {}
                    yield compose_read(read.op, steps, tables, self._seconds, **more)

    def _known_steps(
        self, steps: tuple[Step, ...], key: Any, value: Any
    ) -> tuple[Step, ...] | None:
        """Return the steps to what an exchange read of an object, named by what was read."""
        last = steps[-1] if steps else None
        if not isinstance(last, PreviouslyRead):
            return steps
        if last.by == "made":
            made = made_reference(value, self._tables)
            return read_known_reference(made, self._tables).steps if made else None
        if not isinstance(key, str | int):
            return None
        return (*steps[:-1], ById(key) if last.by == "id" else ByName(str(key)))


def _explain(outcome: Outcome, rows: Sequence[FieldRow]) -> Outcome:
    """Return an outcome that says which cases are known, one or two."""
    says = [outcome.says, *(describe_case(row) for row in rows[:2])]
    return replace(outcome, says="; ".join(filter(None, says)))


def _settle_time(rows: Sequence[FieldRow]) -> float:
    """Return the seconds that an app may need by any of the rows."""
    return max((row.get("cost", {}).get("settle_ms", 0) / 1000 for row in rows), default=0.0)


def _key_of(watch: ReadBackPlan, row: Mapping[str, Any] | None) -> Any:
    return (row or {}).get(watch.ident.term) if watch.ident else None


def _fault(row: FieldRow) -> str:
    return str(row.get("play", {}).get("fault", ""))


def _is_about_write(row: FieldRow, line: str) -> bool:
    """Say whether a row that fits a write is about what comes of it."""
    return row.get("play", {}).get("verb", "get") not in _READS and bool(
        re.search(row.get("given", ""), line)
    )
