"""What one answer of a person covers for several calls: a draft at its sending, a task as a budget.

A draft is an object that a client made and that leaves by a command alone which sends it (Mail's
outgoing message). What that client puts into it reaches nobody before: it is asked about with the
sending, whose question shows the recipients and the attachments, and what is said of them here.

A task is a kind of change that a person allowed some times for some minutes. What it covers is what
an "Always allow" would cover (`decide.ApprovalScope`), and only in the containers that were named.
It lives in this process: nothing of it lies in a file that another program could write, and it is
over when the server is. Every rule that denies or asks stands before it, and so do the limits.
"""

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from iac_runtime.language.steps import AllElements, Step
from iac_runtime.language.text import format_reference
from iac_runtime.policy.decide import TASK, ApprovalScope, find_approval_scope
from iac_runtime.policy.effects import RECIPIENTS, outgoing_classes
from iac_runtime.policy.escalation import ACTS_LATER, FROM_RESULT
from iac_runtime.policy.facts import NEW_DRAFT, TIME, CallFacts, RaisedLevel
from iac_runtime.policy.requests import RequestView, find_specifiers
from iac_runtime.policy.wording import escaped_json
from iac_runtime.tools.tables import Tables


def find_draft(view: RequestView, tables: Tables) -> str:
    """Return the draft that a request makes (`NEW_DRAFT`), or changes; empty for any other.

    A file that is put into it, or an object elsewhere, is asked about by itself.
    """
    if view.paths:
        return ""
    kinds = outgoing_classes(tables)
    if tables.find_class(view.created_class) in kinds:
        return NEW_DRAFT
    if view.event.op != "set" and not RECIPIENTS.search(view.created_class):
        return ""
    drafts = {
        format_reference(steps[:2])
        if isinstance(steps[0], AllElements) and tables.find_class(steps[0].name) in kinds
        else ""
        for steps in find_specifiers(view.event)
        if steps
    }
    return drafts.pop() if len(drafts) == 1 else ""


_SEEN: Final = 80
"""Characters of a text that a question shows of any object."""


class Drafts:
    """The drafts that clients made, and what is to be said when each is sent."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str, str], list[RaisedLevel]] = {}
        self._lock = threading.Lock()

    def hold(self, facts: CallFacts) -> CallFacts:
        """Return the facts of a call with what raises it held until its draft is sent, or told.

        `CallFacts.draft` stays for a call that needs no question of its own.
        """
        if facts.draft:
            known = facts.draft == NEW_DRAFT or _draft_key(facts, facts.draft) in self._told
            if known and all(row.rule in (ACTS_LATER, FROM_RESULT) for row in facts.raised):
                return replace(facts, raised=(), held=(*facts.held, *facts.raised))
            return replace(facts, draft="")
        told = (self._told.get(_draft_key(facts, row.reference), ()) for row in facts.effects)
        rows = (*facts.raised, *(row for rows in told for row in rows))
        return replace(facts, raised=tuple(dict.fromkeys(rows)))

    def record(self, facts: CallFacts, made: object) -> None:
        """Remember that a call filled a draft, or made one: `made` is its reference."""
        given = facts.arguments.get("properties", {})
        texts = (row for row in given.items() if isinstance(row[1], str) and len(row[1]) > _SEEN)
        told = [row for row in facts.held if row.rule == FROM_RESULT]
        for name, text in texts:
            shown = escaped_json(text)
            told.append(RaisedLevel("draft", f"Its {name} is {shown}.", "SAFE"))
        draft = str(made) if facts.draft == NEW_DRAFT else facts.draft
        with self._lock:
            self._told.setdefault(_draft_key(facts, draft), []).extend(told)


def _draft_key(facts: CallFacts, draft: str) -> tuple[str, str, str]:
    return facts.token_client, facts.app[0], draft


@dataclass
class ApprovedTask:
    """A kind of change that a person allowed: how often is left of how often, and until when."""

    scope: ApprovalScope
    places: frozenset[str]
    digests: frozenset[str]
    client: str
    count: int
    left: float
    ends: float = 0.0

    @property
    def source_name(self) -> str:
        """How decisions call it."""
        return f"{TASK} ({self.scope.description})"

    def covers(self, facts: CallFacts) -> bool:
        """Say whether all that a call does is of this kind, and where it may be.

        Of what is no request (a script) nobody can tell the containers, nor how many objects.
        """
        mine = _scope_of(facts) if facts.event else None
        within = mine is not None and mine.is_within(self.scope.keys)
        return within and facts.digest in self.digests and task_places(facts) <= self.places


def _scope_of(facts: CallFacts) -> ApprovalScope | None:
    return find_approval_scope(facts.effects, facts.token_client, simulated=facts.simulated)


def describe_task(parts: Sequence[CallFacts], count: int) -> ApprovedTask:
    """Return the task that covers calls like some examples, in the same containers."""
    scopes = [scope for facts in parts if (scope := _scope_of(facts))]
    places = frozenset(place for facts in parts for place in task_places(facts))
    says = "; ".join(dict.fromkeys(scope.description for scope in scopes))
    where = ", ".join(sorted(filter(None, places)))
    whole = f"{says}, only in {where}" if where else says
    scope = ApprovalScope(tuple(key for scope in scopes for key in scope.keys), whole)
    digests = frozenset(facts.digest for facts in parts)
    return ApprovedTask(scope, places, digests, parts[0].client, count, count)


class TaskBudgets:
    """The tasks that were approved in this process; safe to share between threads."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._tasks: list[ApprovedTask] = []
        self._lock = threading.Lock()

    def end(self) -> None:
        """End all of them."""
        self._tasks.clear()

    def start(self, task: ApprovedTask, minutes: int) -> None:
        """Let a task run calls from now on."""
        task.ends = self._now() + minutes * 60
        self._tasks.append(task)

    def find(self, facts: CallFacts, before: Sequence[CallFacts] = ()) -> ApprovedTask | None:
        """Return the task that covers a call after those `before` it."""
        for task in self._valid():
            taken = sum(one.object_count for one in before if task.covers(one))
            if task.left >= facts.object_count + taken and task.covers(facts):
                return task
        return None

    def spend(self, parts: Sequence[CallFacts]) -> bool:
        """Count down what covers some calls; say whether it was enough for all of them."""
        with self._lock:
            for facts in parts:
                task = self.find(facts)
                if task is None:
                    return False
                task.left -= facts.object_count
            return True

    def rows(self) -> list[dict[str, Any]]:
        """Return what is left, as `status` and the page show it."""
        return [
            {
                "client": task.client,
                "covers": task.scope.description,
                "left": int(task.left),
                "of": task.count,
                "until": time.strftime(TIME, time.localtime(task.ends)),
            }
            for task in self._valid()
        ]

    def _valid(self) -> list[ApprovedTask]:
        now = self._now()
        return [task for task in self._tasks if task.ends > now and task.left > 0]


def task_places(facts: CallFacts) -> frozenset[str]:
    """Return the containers of the objects that a call names; empty for one of the app itself."""
    specifiers = find_specifiers(facts.event) if facts.event else ()
    return frozenset(_container(steps) for steps in specifiers if steps)


def is_positional(place: str) -> bool:
    """Say whether a container is named by a position, which may be another's by the next call."""
    return re.search(r"\[\d+\]", place) is not None


def _container(steps: tuple[Step, ...]) -> str:
    """Return what holds an object: all before its own class."""
    last = max((at for at, one in enumerate(steps) if isinstance(one, AllElements)), default=0)
    return format_reference(steps[:last]) if last else ""
