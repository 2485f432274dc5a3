"""Calls of the shipped tools as facts, composed as the gate composes them; nothing is sent."""

import importlib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from iac_runtime.gate.planning import expand_recipe
from iac_runtime.language.compose import compose_request, effective_level
from iac_runtime.outcomes.inverse import plan_undo
from iac_runtime.outcomes.read_back import ReadBackPlanner
from iac_runtime.policy.approvals import ApprovalStore, remaining_pause
from iac_runtime.policy.escalation import RuleContext
from iac_runtime.policy.facts import CallFacts, Decision, Verdict
from iac_runtime.policy.permissions import Permissions
from iac_runtime.policy.places import FileKind
from iac_runtime.policy.settings import Policy, PolicyFlags, PolicySettings, read_settings
from iac_runtime.policy.taint import remove_secret_columns
from iac_runtime.tools.tables import Operation, tables_of

HOME = "/Users/me"


class Disk:
    """A file system of a few paths; what it does not know is not there."""

    def __init__(
        self, kinds: Mapping[str, FileKind] | None = None, links: Mapping[str, str] = {}
    ) -> None:
        self.kinds = dict(kinds or {})
        self.links = dict(links)

    def file_kind(self, path: str) -> FileKind:
        return self.kinds.get(self.resolve_links(path), "none")

    def resolve_links(self, path: str) -> str:
        for link, target in self.links.items():
            if path == link or path.startswith(link + "/"):
                return target + path[len(link) :]
        return path


DISK = Disk(
    {
        "/Users/me": "folder", "/Users/me/Documents": "folder",
        "/Users/me/Documents/old.txt": "file", "/Users/me/Documents/old.pages": "folder",
        "/Users/me/pipe": "special",
    },
    {"/Users/me/Documents/agents": "/Users/me/Library/LaunchAgents"},
)  # fmt: skip


WORLD = RuleContext(DISK)
CAUTIOUS = Policy()


def facts_of(
    tool: str, arguments: Mapping[str, Any], world: RuleContext = WORLD, **more: Any
) -> CallFacts:
    """Return the facts of a call; `tool` is app and function, as in `finder move`."""
    app, function = tool.split()
    tables = tables_of(importlib.import_module(f"iac_tools.{app}"))
    spec = tables.tools[function]
    found = Operation(f"{app}_{function}", tables, spec)
    operation = expand_recipe(spec, arguments)
    event = remove_secret_columns(compose_request(found, operation, HOME), tables)
    facts = CallFacts(
        found.name,
        arguments=operation,
        given=arguments if spec.bind else {},
        digest="d1",
        client="Claude",
        ways=("client",),
    )
    level = effective_level(found, operation, HOME)
    facts = permissions_of(world).request_facts(facts, event, level, found)
    if event.writes and level != "SAFE":
        reads = ReadBackPlanner(event, tables, (), 10).plan_read_back()
        facts = replace(facts, undo=plan_undo(reads, None, tables))
    return replace(facts, **more)


def on(facts: CallFacts, app: str, **more: Any) -> CallFacts:
    """Return a call with its first effect on another app, or otherwise changed."""
    first, *others = facts.effects
    return replace(facts, effects=(first._replace(app=app, **more), *others))


def also(facts: CallFacts, *apps: tuple[str, str], doubt: str = "") -> CallFacts:
    """Return a call that does the same to other apps, by bundle id and name."""
    (first, *_) = facts.effects
    more = tuple(first._replace(app=app, name=name) for app, name in apps)
    unknown = (first._replace(app="", name="", doubt=doubt),) if doubt else ()
    return replace(facts, effects=(*facts.effects, *more, *unknown))


@cache
def permissions_of(world: RuleContext) -> Permissions:
    notes = ("com.apple.Notes", "Notes")
    return Permissions(
        CAUTIOUS,
        settings_of(),
        context=world,
        home=HOME,
        identify=lambda name: notes if name in notes else ("", ""),
    )


def settings_of(policy: Policy = CAUTIOUS, **flags: Any) -> PolicySettings:
    """Return the settings of a policy without an environment."""
    return read_settings(PolicyFlags(**flags), {}, policy)


def answer(permissions: Permissions, facts: CallFacts, token: str, verdict: Verdict) -> Decision:
    """Return what is to be done with a call after an answer."""
    return permissions.apply_answer(facts, permissions.judge_call(facts), token, verdict)[1]


def stopped(store: ApprovalStore, client: str, now: Callable[[], float] = time.time) -> bool:
    """Say whether the questions of a client are denied unasked."""
    with store.open_transaction() as connection:
        return remaining_pause(connection, client, now()) > 0
