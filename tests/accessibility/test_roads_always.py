"""An "always" holds for the same effect by every road, and for nothing else."""

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import permissions_under
from test_roads import ASKED, World, own_state, world

from iac_applescript.toolset import open_toolset as scripts
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import HOME
from iac_runtime.gate.plans import Call
from iac_runtime.policy.approvals import remember_approval, revoke_approvals
from iac_runtime.policy.effects import identify_from_catalogue
from iac_runtime.serve.call import unwrap_call_tool
from iac_runtime.tools.catalogue import find_tool
from iac_runtime.tools.own import added_tools

__all__ = ["own_state", "world"]


class Way(NamedTuple):
    """A tool with its arguments, and what it does: two of one meaning do the same."""

    means: str
    tool: str
    given: Mapping[str, Any]


def ways() -> Iterator[Way]:
    """Yield calls by plain tools, recipes and records, by what a person would say of them."""
    for note in ("notes[0]", 'notes["Milk"]', "folders[0].notes[1]"):
        for name in ("x", "y"):
            yield Way("note name", "notes_set", {"target": note, "properties": {"name": name}})
    yield Way("folder name", "notes_set", {"target": "folders[0]", "properties": {"name": "x"}})
    for row in ({"name": "a", "body": "b"}, {"body": "c", "name": "d"}):
        yield Way("new note", "notes_make_note", row)
        yield Way("new note", "notes_make", {"element": "note", "properties": row})
    yield Way("empty note", "notes_make", {"element": "note"})
    yield Way("new folder", "notes_make", {"element": "folder"})
    for at in (0, 1):
        for flag in (True, False):
            target = f"inbox.messages[{at}]"
            read = {"target": target, "properties": {"read status": flag}}
            yield Way(f"read {flag}", "mail_set", read)
            record = {"target": target, "properties": {"flagged status": flag}}
            yield Way(f"flag {flag}", "mail_set", record)
        for box in ("Work", "Home"):
            move = {"target": f"inbox.messages[{at}]", "to": f'mailboxes["{box}"]'}
            yield Way(f"to {box}", "mail_move", move)
        for host in ("www.example.com", "example.com", "example.com.evil.org"):
            for path in ("", "a/b?c=d"):
                page = {"URL": f"https://{host}/{path}"}
                given = {"target": f"windows[0].tabs[{at}]", "properties": page}
                yield Way(f"page of {host}", "safari_set", given)
                made = {"element": "document", "properties": page}
                yield Way(f"new page of {host}", "safari_make", made)
    for source in ("~/Documents", "~/Pictures"):
        for name in ("a.txt", "b.txt"):
            for to in ("~/Desktop", "~/Documents/sub"):
                row = {"target": f"{source}/{name}", "to": to}
                yield Way(f"move {source} {to}", "finder_move", row)
    for app in ("Music", "Notes"):
        yield Way(f"start {app}", "app_launch", {"app": app})


WAYS: Final = tuple(ways())

SCRIPTS: Final = (
    'tell application "Notes" to set name of note 1 to "x"',
    'tell application "Mail" to set read status of message 1 of inbox to true',
    'tell application "Music" to launch',
)


def roads(way: Way) -> Iterator[tuple[Call, dict[str, Any]]]:
    """Yield the call by its own name, through both doors, and by the library."""
    yield Call(way.tool, way.given, ASKED), {}
    for door in ("write_tool", "dangerous_tool"):
        yield Call(door, {"name": way.tool, "arguments": way.given}, ASKED), {}
    key, _, function = way.tool.partition("_")
    if key != "app":
        module = importlib.import_module(f"iac_tools.{key}")
        yield Call(way.tool, way.given, ASKED), {"tool": find_tool(module, function, way.tool)}


@pytest.fixture(scope="module")
def gate(world: World) -> Gate:
    identify = identify_from_catalogue(world.catalogue)
    permissions = permissions_under(home=HOME, identify=identify)
    return Gate(
        world.catalogue,
        world.executor,
        home=HOME,
        permissions=permissions,
        added=added_tools,
        kept={scripts: world.scripts},
    )


@given(st.data())
def test_what_was_allowed_always_runs_by_every_road_and_nothing_else_does(
    gate: Gate, data: st.DataObject
) -> None:
    ways = st.sampled_from(WAYS)
    first, second = data.draw(ways), data.draw(ways)
    call, more = data.draw(st.sampled_from([*roads(first)]))
    other, others = data.draw(st.sampled_from([*roads(second)]))
    store = gate.permissions.store
    revoke_approvals(store, None)
    facts, decision = gate.judge_plan(gate.plan_call(unwrap_call_tool(call), **more), ASKED)
    assert decision.offers_always, (call, decision)
    remember_approval(store, facts)
    _, found = gate.judge_plan(gate.plan_call(unwrap_call_tool(other), **others), ASKED)
    expected = "allow" if first.means == second.means else "ask"
    assert found.action == expected, (call, other, decision.scope, found)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_is_asked_about_each_time(gate: Gate, script: str) -> None:
    for way in WAYS:
        call, more = next(roads(way))
        remember_approval(
            gate.permissions.store, gate.judge_plan(gate.plan_call(call, **more), ASKED)[0]
        )
    call = Call("execute_applescript", {"script": script}, ASKED)
    _, decision = gate.judge_plan(gate.plan_call(call), ASKED)
    assert (decision.action, decision.offers_always) == ("ask", False)
    revoke_approvals(gate.permissions.store, None)
