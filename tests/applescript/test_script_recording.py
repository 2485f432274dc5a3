"""A JavaScript is asked about by what it would change, and what was approved is what is sent."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from simulated import permissions_under

from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import open_simulation
from iac_runtime.gate.plans import Call, CallAnswer, CompletedCall, PendingCall
from iac_runtime.policy.effects import identify_from_catalogue
from iac_runtime.policy.permissions import Requester
from iac_runtime.tools.catalogue import Catalogue

ASKED = Requester("tester", ("client",))
DELETES = """
const n = Application("Notes");
for (const x of n.notes()) if (x.name() !== "Roof repair") n.delete(x);
n.folders[0].notes.push(n.Note({name: "Kept"}));
"""
NAMES = 'Application("Notes").notes.name()'


@pytest.fixture
def executor(catalogue: Catalogue) -> Iterator[Executor]:
    found = Executor(open_simulation(catalogue, None))
    yield found
    found.close()


@pytest.fixture
def gate_of(
    catalogue: Catalogue, executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Gate]]:
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))
    gates: list[Gate] = []

    def make(policy: str = "") -> Gate:
        permissions = permissions_under(policy, identify=identify_from_catalogue(catalogue))
        from iac_runtime.tools.own import added_tools

        gates.append(Gate(catalogue, executor, permissions=permissions, added=added_tools))
        return gates[-1]

    yield make
    for gate in gates:
        gate.close()


def run(gate: Gate, script: str, **more: Any) -> CallAnswer:
    given = {"script": script, "language": "javascript"}
    return gate.call(Call("execute_applescript", given, ASKED, **more))


def value(found: CallAnswer) -> Any:
    assert isinstance(found, CompletedCall)
    assert found.value["success"], found.value
    return found.value["data"]["result"]


def question(found: CallAnswer) -> str:
    assert isinstance(found, PendingCall), found
    return found.question.text


def test_a_script_that_changes_nothing_runs_unasked(gate_of: Callable[..., Gate]) -> None:
    gate = gate_of()
    assert "Roof repair" in value(run(gate, NAMES))
    # Its text alone says more: the name is one that only the run shows.
    found = run(gate, 'const n = Application("Notes"); const k = "na" + "me"; n.notes[0][k]()')
    assert value(found)


def test_the_question_shows_each_change_and_a_yes_commits_them(
    gate_of: Callable[..., Gate],
) -> None:
    gate = gate_of()
    before = value(run(gate, NAMES))
    asks = run(gate, DELETES)
    text = question(asks)
    gone = [name for name in before if name != "Roof repair"]
    assert f"{len(gone)} notes: delete in Notes:" in text
    assert all(name in text for name in gone)
    assert "1 note: make in Notes" in text
    assert "Kept" in text
    assert value(run(gate, NAMES)) == before
    assert isinstance(asks, PendingCall)
    gate.answer(asks, "once")
    assert sorted(value(run(gate, NAMES))) == ["Kept", "Roof repair"]


def test_what_is_otherwise_at_the_yes_is_not_sent_and_asked_about_again(
    gate_of: Callable[..., Gate],
) -> None:
    gate = gate_of()
    asks = run(gate, DELETES)
    assert isinstance(asks, PendingCall)
    other = run(
        gate, 'const n = Application("Notes"); n.folders[0].notes.push(n.Note({name: "New"}))'
    )
    assert isinstance(other, PendingCall)
    gate.answer(other, "once")
    before = value(run(gate, NAMES))
    assert "New" in before
    again = gate.answer(asks, "once")
    assert "New" in question(again)
    assert value(run(gate, NAMES)) == before


# Names that only the run shows, so that the script is recorded and not asked about first.
_REACHES = (
    'const k = ["con" + "structor", "proto" + "type", "defineP" + "roperty", "n" + "ame",'
    ' "r" + "un"]; const A = [][k[0]], O = ({})[k[0]]; let got; const n = Application("Notes");'
    " const x = n.notes.byId(n.notes[0].id());"
)


@pytest.mark.parametrize(
    ("setter", "after"),
    [
        # What is handed to an app while it is sent.
        ('try { if (typeof v === "function") v[k[3]] = "Hacked"; } catch (e) {}', ""),
        # A change that is kept for the yes, run by the script itself.
        ("if (v && v[k[4]]) got = v;", " got && got[k[4]]();"),
    ],
)
def test_a_setter_that_all_lists_share_gets_nothing_to_send_by(
    gate_of: Callable[..., Gate], setter: str, after: str
) -> None:
    gate = gate_of()
    keeps = "{value: v, writable: true, enumerable: true, configurable: true}"
    script = (
        f'{_REACHES} O[k[2]](A[k[1]], "0", {{configurable: true, set(v) {{ {setter}'
        f' O[k[2]](this, "0", {keeps}); }}}}); n.duplicate(x);{after} 1'
    )
    before = value(run(gate, NAMES))
    asks = run(gate, script)
    assert "make in Notes" in question(asks)
    assert value(run(gate, NAMES)) == before
    assert isinstance(asks, PendingCall)
    gate.answer(asks, "once")
    assert sorted(value(run(gate, NAMES))) == sorted([*before, f"{before[0]} copy"])


def test_a_setter_that_all_objects_share_gets_nothing_that_is_sent(
    gate_of: Callable[..., Gate],
) -> None:
    gate = gate_of()
    script = (
        f'{_REACHES} O[k[2]](O[k[1]], "result", {{configurable: true,'
        ' set(v) { got = v; if (typeof v === "function") v[k[3]] = "Hacked"; }});'
        ' n.duplicate(x); x.body = "New"; 1'
    )
    before = value(run(gate, NAMES))
    asks = run(gate, script)
    assert isinstance(asks, PendingCall)
    gate.answer(asks, "once")
    assert sorted(value(run(gate, NAMES))) == sorted([*before, f"{before[0]} copy"])


def test_a_failure_half_way_says_what_was_done_and_how_it_is_taken_back(
    gate_of: Callable[..., Gate],
) -> None:
    gate = gate_of()
    script = (
        'const n = Application("Notes"); const x = n.notes[0]; x.name = "Renamed";'
        ' n.folders[0].notes.push(n.Note({name: "Second"})); n.folders[0].notes[0].id = "odd"; 1'
    )
    before = value(run(gate, NAMES))
    asks = run(gate, script)
    assert isinstance(asks, PendingCall)
    found = gate.answer(asks, "once")
    assert isinstance(found, CompletedCall)
    error = found.value["error"]
    assert error["message"].startswith("2 of 3 changes were made; then this one failed:")
    assert "Renamed" in value(run(gate, NAMES))
    back = error["suggestion"].partition("run this JavaScript: ")[2]
    undo = run(gate, back)
    assert isinstance(undo, PendingCall)
    gate.answer(undo, "once")
    assert value(run(gate, NAMES)) == before


def test_the_question_shows_what_a_change_gives(gate_of: Callable[..., Gate]) -> None:
    script = 'const n = Application("Notes"); n.notes[0].name = "Trip " + (1 + 1)'
    text = question(run(gate_of(), script))
    assert '1 note: change in Notes: "Shopping list" (name = "Trip 2")' in text


def test_a_value_that_is_set_by_a_call_waits_for_the_yes(gate_of: Callable[..., Gate]) -> None:
    gate = gate_of()
    before = value(run(gate, NAMES))
    found = run(gate, 'const n = Application("Notes"); n.notes[0].name.set("Other"); 1')
    assert 'name = "Other"' in question(found)
    assert value(run(gate, NAMES)) == before
    assert isinstance(found, PendingCall)
    gate.answer(found, "once")
    assert "Other" in value(run(gate, NAMES))


def test_an_answer_that_nothing_uses_is_no_reason_to_ask_first(
    gate_of: Callable[..., Gate],
) -> None:
    script = (
        'const m = Application("Mail"); const x = m.OutgoingMessage({subject: "Hi"});'
        ' m.outgoingMessages.push(x); x.toRecipients.push(m.Recipient({address: "i@a.example"}));'
        " x.send();"
    )
    gate = gate_of()
    text = question(run(gate, script))
    assert "1 outgoing message: send in Mail" in text
    assert "i@a.example" in text
    text = question(run(gate, script.replace("x.send();", "const ok = x.send(); ok")))
    assert "the answer of send" in text


@pytest.mark.parametrize(("script", "why"), [
    ('const n = Application("Notes"); while (n.notes.length) n.delete(n.notes[0])',
     "reading back what it changed"),
    ('const n = Application("Notes"); n.notes[0].name = "b"; n.notes[0].name()',
     "reading back what it changed"),
    ('const t = Application("TextEdit"); const d = t.Document({text: "q"}).make(); d.name()',
     "reading what it made"),
    ('const a = Application.currentApplication(); a.includeStandardAdditions = true;'
     ' const said = a.displayDialog("x"); Application("Notes").notes[0].name = said.buttonReturned',
     "the answer of displayDialog"),
    ('const a = Application.currentApplication(); a.includeStandardAdditions = true;'
     ' a.doShellScript("id")', "runs a command of the shell"),
])  # fmt: skip
def test_what_cannot_be_recorded_is_asked_about_first_and_the_question_says_why(
    gate_of: Callable[..., Gate], script: str, why: str
) -> None:
    text = question(run(gate_of(), script))
    assert "What it changes: not known before it runs" in text
    assert why in text
