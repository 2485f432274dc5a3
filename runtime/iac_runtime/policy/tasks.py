"""What one answer of a person covers for several calls: a draft at its sending, a task as a budget.

A draft is an object that a client made and that leaves by a command alone which sends it (Mail's
outgoing message). What that client puts into it reaches nobody before: it is asked about with the
sending, whose question shows the recipients and the attachments, and what is said of them here.

A task is a kind of change that a person allowed some times for some minutes. What it covers is what
an "Always allow" would cover (`decide.ApprovalScope`), and only in the containers that were named.
It lives in this process: nothing of it lies in a file that another program could write, and it is
over when the server is. Every rule that denies or asks stands before it, and so do the limits.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from iac_base.text import escape_hidden
from iac_runtime.language.steps import AllElements, Boundary, Event, RefValue, Step
from iac_runtime.language.text import format_reference
from iac_runtime.policy.decide import TASK, ApprovalScope, find_approval_scope
from iac_runtime.policy.effects import RECIPIENTS, outgoing_classes
from iac_runtime.policy.escalation import ACTS_LATER, FROM_RESULT
from iac_runtime.policy.facts import NEW_DRAFT, TIME, CallFacts, RaisedLevel
from iac_runtime.policy.requests import RequestView, find_specifiers
from iac_runtime.tools.tables import Tables


def find_draft(view: RequestView, tables: Tables) -> str:
    """Return the draft that a request makes (`NEW_DRAFT`), or changes; empty for any other.

    A file that is put into it, or an object elsewhere, is asked about by itself.
    """
    event = view.event
    if view.paths:
        return ""
    if tables.find_class(view.created_class) in outgoing_classes(tables):
        return NEW_DRAFT
    if event.op != "set" and not RECIPIENTS.search(view.created_class):
        return ""
    named = [steps for steps in find_specifiers(event) if steps]
    drafts = {draft_of(steps, tables) for steps in named}
    return drafts.pop() if len(drafts) == 1 else ""


def draft_of(steps: tuple[Step, ...], tables: Tables) -> str:
    """Return the reference of the outgoing object that steps lead to, or into; else nothing."""
    if not isinstance(steps[0], AllElements) or len(steps) < 2:
        return ""
    kind = tables.find_class(steps[0].name)
    return format_reference(steps[:2]) if kind in outgoing_classes(tables) else ""


_HELD: Final = (ACTS_LATER, FROM_RESULT)
"""What raises a call that fills a draft, and is told when it is sent."""

_TEXT: Final = 300
"""Characters of a text that the question of the sending shows."""

_SEEN: Final = 80
"""Characters of a text that it shows of any object."""


class Drafts:
    """The drafts that clients made, and what is to be said when each is sent."""

    def __init__(self) -> None:
        self._drafts: dict[tuple[str, str, str], list[RaisedLevel]] = {}
        self._lock = threading.Lock()

    def hold(self, facts: CallFacts) -> CallFacts:
        """Return the facts of a call with what its draft changes: held until it is sent, or told.

        `CallFacts.draft` stays for a call that needs no question of its own.
        """
        if facts.draft:
            known = facts.draft == NEW_DRAFT or _draft_key(facts) in self._drafts
            kept = any(row.rule not in _HELD for row in facts.raised)
            if known and not kept:
                return replace(facts, raised=(), held=(*facts.held, *facts.raised))
            return replace(facts, draft="")
        if facts.effects and facts.effects[0].verb == "send":
            told = self._drafts.get((*_draft_key(facts)[:2], facts.effects[0].reference), ())
            return replace(facts, raised=tuple(dict.fromkeys((*facts.raised, *told))))
        return facts

    def record(self, facts: CallFacts, made: object) -> None:
        """Remember that a call filled a draft, or made one: `made` is its reference."""
        if not facts.draft or (facts.draft == NEW_DRAFT and not isinstance(made, str)):
            return
        key = _draft_key(facts, str(made) if facts.draft == NEW_DRAFT else facts.draft)
        with self._lock:
            rows = self._drafts.setdefault(key, [])
            rows += [row for row in facts.held if row.rule == FROM_RESULT]
            rows += _long_texts(facts.arguments)


def _draft_key(facts: CallFacts, draft: str = "") -> tuple[str, str, str]:
    return facts.token_client, facts.app[0], draft or facts.draft


def _long_texts(arguments: Any) -> list[RaisedLevel]:
    given = arguments.get("properties", {})
    return [
        RaisedLevel("draft", f"Its {name} is {_shown_text(text)}.", "SAFE")
        for name, text in (given.items() if isinstance(given, dict) else ())
        if isinstance(text, str) and len(text) > _SEEN
    ]


def _shown_text(text: str) -> str:
    cut = text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"
    return escape_hidden(json.dumps(cut, ensure_ascii=False))


@dataclass
class ApprovedTask:
    """A kind of change that a person allowed: how often is left of how often, and until when."""

    scope: ApprovalScope
    places: frozenset[str]
    digests: frozenset[str]
    client: str
    count: int
    ends: float
    left: int

    @property
    def source_name(self) -> str:
        """How decisions call it."""
        return f"{TASK} ({self.scope.description})"

    def covers(self, facts: CallFacts) -> bool:
        """Say whether all that a call does is of this kind, and where it may be.

        Of what is no request (a script) nobody can tell the containers, nor how many objects.
        """
        if facts.event is None:
            return False
        mine = find_approval_scope(facts.effects, facts.token_client, simulated=facts.simulated)
        within = mine is not None and mine.is_within(self.scope.keys)
        return within and facts.digest in self.digests and task_places(facts) <= self.places


class TaskBudgets:
    """The tasks that were approved in this process; safe to share between threads."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._tasks: list[ApprovedTask] = []
        self._lock = threading.Lock()

    def add(
        self, parts: Sequence[CallFacts], count: int, minutes: int, client: str
    ) -> ApprovedTask:
        """Allow calls like those of `parts`, `count` in all."""
        task = describe_task(parts, count, client, self._now() + minutes * 60)
        with self._lock:
            self._tasks.append(task)
        return task

    def find(self, facts: CallFacts, before: Sequence[CallFacts] = ()) -> ApprovedTask | None:
        """Return the task that covers a call after those `before` it."""
        with self._lock:
            valid = self._valid()
        for task in valid:
            more = sum(object_count(one) for one in before if task.covers(one))
            if _fits(task, facts, more):
                return task
        return None

    def spend(self, parts: Sequence[CallFacts]) -> bool:
        """Count down what covers some calls; say whether it was enough for all of them."""
        with self._lock:
            spent: list[tuple[ApprovedTask, int]] = []
            for facts in parts:
                task = next((one for one in self._valid() if _fits(one, facts)), None)
                if task is None:
                    for one, number in spent:
                        one.left += number
                    return False
                task.left -= object_count(facts)
                spent.append((task, object_count(facts)))
            return True

    def rows(self) -> list[dict[str, Any]]:
        """Return what is left, as `status` and the page show it."""
        with self._lock:
            valid = self._valid()
        return [
            {
                "client": task.client,
                "covers": task.scope.description,
                "left": task.left,
                "of": task.count,
                "until": time.strftime(TIME, time.localtime(task.ends)),
            }
            for task in valid
        ]

    def _valid(self) -> list[ApprovedTask]:
        now = self._now()
        self._tasks = [task for task in self._tasks if task.ends > now and task.left > 0]
        return list(self._tasks)


def describe_task(parts: Sequence[CallFacts], count: int, client: str, ends: float) -> ApprovedTask:
    """Return the task that covers calls like some examples; each must have a scope."""
    scopes = [
        scope
        for facts in parts
        if (
            scope := find_approval_scope(
                facts.effects, facts.token_client, simulated=facts.simulated
            )
        )
    ]
    places = frozenset(place for facts in parts for place in task_places(facts))
    where = ", ".join(sorted(filter(None, places)))
    says = "; ".join(dict.fromkeys(scope.description for scope in scopes))
    keys = tuple(dict.fromkeys(key for scope in scopes for key in scope.keys))
    scope = ApprovalScope(keys, f"{says}, only in {where}" if where else says)
    digests = frozenset(facts.digest for facts in parts)
    return ApprovedTask(scope, places, digests, client, count, ends, count)


def _fits(task: ApprovedTask, facts: CallFacts, more: int = 0) -> bool:
    return task.left >= object_count(facts) + more and task.covers(facts)


def object_count(facts: CallFacts) -> int:
    """Return how many objects of a task a call takes up."""
    return max(1, int(facts.object_count)) if facts.object_count != float("inf") else 10**9


def task_places(facts: CallFacts) -> frozenset[str]:
    """Return the containers of the objects that a call is about; empty for one of the app itself.

    What a call makes is put where its arguments say, which the scope holds.
    """
    event = facts.event
    if event is None:
        return frozenset()
    return frozenset(_container(steps) for steps in _subjects(event))


def is_positional(place: str) -> bool:
    """Say whether a container is named by a position, which may be another's by the next call."""
    return re.search(r"\[\d+\]", place) is not None


def _subjects(event: Event) -> list[tuple[Step, ...]]:
    if event.parts:
        return [steps for part in event.parts for steps in _subjects(part)]
    direct = event.direct if isinstance(event.direct, tuple) else (event.direct,)
    found = [value.steps for value in direct if isinstance(value, RefValue)]
    return [steps for steps in (event.target, *found) if steps]


def _container(steps: tuple[Step, ...]) -> str:
    """Return what holds an object: all before its own class."""
    last = max((at for at, one in enumerate(steps) if isinstance(one, AllElements)), default=0)
    held = steps[:last]
    return format_reference(held) if held and not isinstance(held[-1], Boundary) else ""
