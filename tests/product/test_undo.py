"""A write and its undo, over all committed apps: the world as before, or an honest "cannot"."""

import copy
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import route, value
from unguarded import unguarded

from iac_base.errors import ToolError
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_simulator import Simulator
from iac_simulator.state import difference
from iac_simulator.world import default_world

pytestmark = pytest.mark.uncounted

TOOLS = Path(__file__).parent.parent.parent / "generated" / "iac_tools"
CATALOGUE = Catalogue([TOOLS])

STAMPS = ("modificationDate", "dateModified", "stampDate", "modified", "@next")
"""What an app keeps of itself: when something was changed, which id comes next."""


class Write(NamedTuple):
    """A write, and one of somebody else's that it must not run over."""

    app: str
    tool: str
    arguments: dict[str, Any]
    foreign: dict[str, Any] | None = None


@cache
def writes() -> list[Write]:
    """Return a write for each writable property, makeable class and movable object."""
    return [
        write
        for app in CATALOGUE.apps.values()
        if app.kind == "application"
        for write in of_app(app.key, CATALOGUE.load_tables(app))
    ]


def of_app(key: str, tables: Tables) -> list[Write]:
    found: list[Write] = []
    for term in tables.classes:
        place = route(tables, term)
        if place == APPLICATION and term != APPLICATION:
            continue
        rows = [row for row in tables.properties(term) if "w" in row.access]
        if "set" in tables.tools:
            for row in rows:
                given = {"target": place, "properties": {row.term: value(row.type, tables)}}
                if given["properties"][row.term] != f"{place}.{row.jxa}":
                    found.append(Write(key, f"{key}_set", given, other(place, row, tables)))
        if "make" in tables.tools and term != APPLICATION:
            # The index of a window is where it lies by now, and no value of it.
            known = (row for row in rows if row.term != "index")
            plain = [row for row in known if row.type in ("text", "boolean", "integer")][:2]
            values = {row.term: value(row.type, tables) for row in plain}
            arguments = {"element": term, "properties": values}
            foreign = None
            if plain:
                foreign = {"target": "", "properties": {plain[0].term: changed(plain[0].type)}}
            found.append(Write(key, f"{key}_make", arguments, foreign))
        owners = (
            owner
            for owner in tables.classes
            if any(element.term == term for element in tables.elements(owner))
        )
        places = [to for to in map(partial(route, tables), owners) if to != APPLICATION]
        for code in ("coremove", "coredelo"):
            name = next((n for n, row in tables.tools.items() if row.event == code), "")
            if name and place.endswith("[0]"):
                to = {"to": places[-1]} if code == "coremove" and places else {}
                found.append(Write(key, f"{key}_{name.rstrip('_')}", {"target": place, **to}))
    return found


def changed(kind: str) -> Any:
    return {"text": "somebody else's", "boolean": False, "integer": 77}.get(kind)


def other(place: str, row: Any, tables: Tables) -> dict[str, Any] | None:
    theirs = changed(row.type)
    return None if theirs is None else {"target": place, "properties": {row.term: theirs}}


def plain(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: plain(part) for key, part in state.items() if key not in STAMPS}
    return [plain(part) for part in state] if isinstance(state, list) else state


def differs(before: Any, after: Any) -> list[Any]:
    """Return what differs: a default that is written out is none, and a trash may hold more."""
    added, removed, changes = difference(plain(before), plain(after))
    more = [row for row in added if row[1] and "trash" not in row[0]]
    return [*more, *removed, *changes]


@given(st.deferred(lambda: st.sampled_from(writes())), st.booleans())
def test_an_undo_gives_the_world_before_or_changes_nothing(write: Write, meddled: bool) -> None:
    check(write, meddled=meddled)


@cache
def pristine(app: str) -> Any:
    """Return the world of an app that nothing was done to; one made anew is equal to it."""
    return default_world(CATALOGUE.load_tables(CATALOGUE.apps[app]))


def check(write: Write, *, meddled: bool) -> str:
    app = CATALOGUE.apps[write.app]
    tables = CATALOGUE.load_tables(app)
    simulator = Simulator([tables], {})
    gate = unguarded(CATALOGUE, simulator)

    def world() -> Any:
        return simulator.state().get(write.app) or pristine(write.app)

    before = world()
    try:
        done = gate.call(Call(write.tool, copy.deepcopy(write.arguments)))
    except ToolError as error:
        return f"refused {error}"
    assert isinstance(done, CompletedCall)
    if done.outcome is None:
        return "only looks"
    if meddled:
        if write.foreign is None:
            return "nobody else"
        theirs = copy.deepcopy(write.foreign)
        theirs["target"] = theirs["target"] or done.value
        if not isinstance(theirs["target"], str):
            return "nobody else"
        at = world()
        try:
            gate.call(Call(f"{write.app}_set", theirs, confirm=False))
        except ToolError:
            return "nobody else"
        meddled = bool(differs(at, world()))
    now = world()
    try:
        undone = gate.call(Call("undo_call", {"call": done.outcome.call}))
    except ToolError as error:
        assert world() == now, "an undo that failed has changed something"
        if not meddled and error.type == "STALE" and "not the only one" not in error.message:
            raise AssertionError(f"{write}: {error}") from None
        return f"cannot: {error}"
    assert isinstance(undone, CompletedCall)
    assert undone.outcome is not None
    assert not meddled, f"{write}: what somebody changed is gone"
    left = differs(before, world())
    assert not left or undone.outcome.state != "confirmed", (write, left)
    return f"undone, {undone.outcome.state}"


@pytest.mark.parametrize("tool", ["mail_reply", "mail_forward", "mail_redirect"])
def test_a_reply_is_a_draft_that_can_be_taken_back(tool: str) -> None:
    tables = CATALOGUE.load_tables(CATALOGUE.apps["mail"])
    gate = unguarded(CATALOGUE, Simulator([tables]))

    def call(name: str, **arguments: Any) -> CompletedCall:
        found = gate.call(Call(name, arguments))
        assert isinstance(found, CompletedCall)
        return found

    def drafts() -> Any:
        return call("mail_count", element="outgoing message").value

    before = drafts()
    made = call(tool, target="inbox.messages[0]")
    assert made.outcome is not None
    assert made.outcome.state == "confirmed"
    assert drafts() == before + 1
    call("undo_call")
    assert drafts() == before
