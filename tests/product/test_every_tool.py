"""Every tool of every committed app, called on apps made from its own tables."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from samples import arguments, complete, same_reads
from unguarded import unguarded

from iac_base.errors import ToolError
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, Done
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator import Simulator

# A thousand calls over the same lines, which other tests count.
pytestmark = pytest.mark.uncounted

TOOLS = Path(__file__).parent.parent.parent / "generated" / "iac_tools"
CATALOGUE = Catalogue([TOOLS])

# An app may refuse a well-formed call, by a number of its own. These mean that it could not
# even be read: a script error, a value that does not convert, a parameter that is missing.
NONSENSE = {None, -2700, -1700, -1701, -1708, -1715}


def fresh(name: str) -> tuple[Gate, Simulator]:
    """Return a gate on newly made apps: an earlier call may have quit or emptied one."""
    row = CATALOGUE.find(name)
    apps = [app for app in CATALOGUE.apps.values() if app.key == row.module]
    simulator = Simulator([CATALOGUE.tables(app) for app in apps])
    return unguarded(CATALOGUE, simulator), simulator


def sample(name: str) -> tuple[dict[str, Any], Any]:
    tool = CATALOGUE.operation(name)
    given = arguments(tool.spec, CATALOGUE.tool(CATALOGUE.find(name)).input, tool.tables)
    return complete(name, tool.spec, given, tool.tables), tool


@pytest.mark.parametrize("name", sorted(CATALOGUE.tools))
def test_a_well_formed_call_reaches_the_app_as_the_declared_event(
    name: str,
) -> None:
    given, tool = sample(name)
    gate, simulator = fresh(name)
    try:
        outcome = gate.call(Call(name, given))
        assert isinstance(outcome, Done)
    except ToolError as error:
        assert error.number not in NONSENSE, (given, error.facts())
    sent = [event.event for event in simulator.events]
    assert sent, given
    if tool.spec.op in ("command", "make", "set"):
        assert tool.spec.event in sent, given


@pytest.mark.parametrize("name", sorted(CATALOGUE.tools))
def test_a_raw_event_is_the_event_that_jxa_sends(name: str) -> None:
    given, tool = sample(name)
    sent = []
    for seconds in (100.0, 200.0):
        gate, simulator = fresh(name)
        try:
            outcome: Any = gate.call(Call(name, given, timeout=seconds))
        except ToolError as error:
            outcome = error.facts()
        # What is asked in JXA's words before the call has no time of its own.
        sent.append(([event._replace(timeout=None) for event in simulator.events], outcome))
    assert sent[0] == sent[1]
    if tool.tables.app.kind == "application":
        assert {event.timeout for event in simulator.events} <= {None, 200.0}
        assert any(event.timeout for event in simulator.events)


@pytest.mark.parametrize("name", sorted(CATALOGUE.tools))
def test_the_line_that_is_shown_sends_what_the_call_sends(name: str) -> None:
    given, _ = sample(name)
    gate, called = fresh(name)
    done: object = None
    with contextlib.suppress(ToolError):
        done = gate.call(Call(name, given))
    gate, shown = fresh(name)
    line = gate.call(Call(name, given), dry_run=True).line
    shown(["osascript", "-l", "JavaScript", "-e", line], b"", 10)
    sent, more = called.events[: len(shown.events)], called.events[len(shown.events) :]
    assert sent
    if CATALOGUE.operation(name).spec.op == "list":
        found = bool(isinstance(done, Done) and done.value)
        assert same_reads(called.events, shown.events, found=found)
        return
    assert shown.events == sent
    # Beyond what the line says, the harness may only ask an object it was given for its id.
    assert all(e.event == "coregetd" and str(e.direct).endswith(".id") for e in more)
