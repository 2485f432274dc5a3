"""What a write did, as it was read back; taking it back; what is kept, and for how long."""

import time
from pathlib import Path
from typing import Any

import pytest
from diary_world import WORLD, gate_of
from jsonschema import Draft202012Validator
from simulated import permissions_under
from simulated import run_tool as done

from iac_base.errors import NextCall, ToolError
from iac_runtime.gate.batch import BatchError
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall, RefusedCall
from iac_runtime.gate.results import structured_content
from iac_runtime.gate.verify import open_history
from iac_runtime.outcomes import history as keeping
from iac_runtime.outcomes.history import FILE, CallSelection, KeptCall, LaterCheck, UndoHistory
from iac_runtime.outcomes.inverse import Inverse
from iac_runtime.outcomes.outcome import ExpectedValue, Outcome, outcome_of_values, values_match
from iac_runtime.policy.permissions import Requester
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import Tables
from iac_simulator.scenario import FaultScenario, InjectedFault

MONDAY = 'journals.byId("j1").entries.byId("e1")'


def gate(catalogue: Catalogue, *faults: InjectedFault, policy: str = "", **more: Any) -> Gate:
    permissions, scenario = permissions_under(policy), FaultScenario(faults)
    return gate_of(catalogue, WORLD, permissions=permissions, faults=scenario, **more)


def write(gate: Gate, body: str = "Snow", **more: Any) -> Outcome:
    found = done(gate, "diary_set", target=MONDAY, properties={"body": body}, **more).outcome
    assert found is not None
    return found


def body(gate: Gate) -> Any:
    return done(gate, "diary_get", target=f"{MONDAY}.body").value


def test_a_write_is_read_back_and_its_result_says_so(catalogue: Catalogue) -> None:
    found = done(gate(catalogue), "diary_set", target=MONDAY, properties={"body": "Snow"})
    told = structured_content(found.value, found.output, found.note, found.outcome)
    ref = {"ref": MONDAY, "read": {"body": "Snow"}, "call": 1}
    assert told == {"outcome": {"state": "confirmed", **ref}}


@pytest.mark.parametrize(("got", "state", "says"), [
    ("Sno", "partial", 'body is "Sno", not "Snow"'),
    ("Rain", "unchanged", 'body is "Rain", not "Snow"'),
])  # fmt: skip
def test_what_an_app_made_of_a_value_is_told(
    catalogue: Catalogue, got: str, state: str, says: str
) -> None:
    # The id and the body are read before, and again after.
    found = write(gate(catalogue, InjectedFault(event="coregetd", nth=4, value=got)))
    assert (found.state, found.says) == (state, says)


def test_what_cannot_be_read_back_is_unknown_and_never_taken_for_done(catalogue: Catalogue) -> None:
    found = write(gate(catalogue, InjectedFault(event="coregetd", nth=3, times=0, error=-10000)))
    assert found.state == "unknown"
    assert "could not be read back" in found.says


def test_a_lost_answer_is_looked_at_again_later_and_can_be_undone(catalogue: Catalogue) -> None:
    lost = gate(catalogue, InjectedFault(event="coresetd", error=-1712, after=True))
    with pytest.raises(ToolError) as caught:
        write(lost)
    outcome = caught.value.facts()["outcome"]
    assert outcome["state"] == "unknown"
    again = done(lost, "outcome", call=outcome["call"]).value["outcome"]
    assert (again["state"], again["read"]) == ("confirmed", {"body": "Snow"})
    done(lost, "undo_call")
    assert body(lost) == "Rain"


def test_an_undo_puts_back_what_was_and_is_undone_in_turn(catalogue: Catalogue) -> None:
    diary = gate(catalogue)
    write(diary)
    undone = done(diary, "undo_call")
    assert body(diary) == "Rain"
    assert undone.outcome is not None
    assert undone.outcome.state == "confirmed"
    with pytest.raises(ToolError, match="nothing to undo"):
        done(diary, "undo_call")
    done(diary, "undo_call", call=undone.outcome.call)
    assert body(diary) == "Snow"
    assert [row["undo"] for row in done(diary, "history").value["calls"]] == ["yes"]


def test_what_somebody_changed_since_is_named_and_left(catalogue: Catalogue) -> None:
    diary = gate(catalogue)
    write(diary)
    done(diary, "diary_set", target=MONDAY, properties={"body": "Hail"}, confirm=False)
    with pytest.raises(ToolError, match='is now "Hail", and was "Snow" after the call') as caught:
        done(diary, "undo_call", call=1)
    assert caught.value.type == "STALE"
    assert body(diary) == "Hail"


def test_a_person_is_asked_with_what_will_be_restored(catalogue: Catalogue) -> None:
    diary = gate(catalogue, allow="SAFE")
    said = {"target": MONDAY, "properties": {"body": "Snow"}}
    vouched = Call("diary_set", said, Requester(preapproved_level="DANGEROUS"))
    assert isinstance(diary.call(vouched), CompletedCall)
    asked = Call("undo_call", {}, Requester("Claude", ("client",)))
    asks = diary.call(asked)
    assert isinstance(asks, PendingCall)
    assert asks.question.text.startswith(
        'Claude wants to undo an earlier call: change the body of the entry "Monday" in Diary.'
    )
    assert 'It sets body to "Rain" (was "Snow").' in asks.question.text
    assert 'Undo: restores body to "Snow".' in asks.question.text
    assert body(diary) == "Snow"
    assert isinstance(diary.call(asked._replace(token=asks.token, verdict="once")), CompletedCall)
    assert body(diary) == "Rain"


def test_the_next_call_after_an_undo_is_never_what_it_would_set(catalogue: Catalogue) -> None:
    diary = gate(catalogue, allow="SAFE")
    person = Requester(preapproved_level="DANGEROUS")
    set_to = {"target": MONDAY, "properties": {"body": "Snow"}}
    assert isinstance(diary.call(Call("diary_set", set_to, person)), CompletedCall)
    unanswered = diary.call(Call("undo_call", {"call": 1}, Requester("Claude")))
    assert isinstance(unanswered, RefusedCall)
    assert (unanswered.tool, unanswered.next) == ("undo_call", NextCall("undo_call", {"call": 1}))
    set_to = {"target": MONDAY, "properties": {"body": "Hail"}}
    assert isinstance(diary.call(Call("diary_set", set_to, person, confirm=False)), CompletedCall)
    with pytest.raises(ToolError, match="something has changed since") as caught:
        diary.call(Call("undo_call", {"call": 1}, person))
    assert caught.value.next == NextCall("diary_get", {"target": MONDAY})


def test_what_was_done_is_told_in_the_form_that_its_tools_declare(catalogue: Catalogue) -> None:
    diary = gate(catalogue)
    done(diary, "restore_point", name="before")
    number = write(diary).call
    told = {
        "history": done(diary, "history"),
        "outcome": done(diary, "outcome", call=number),
        "restore_point": done(diary, "restore_point", name="after"),
    }
    for name, answer in told.items():
        assert answer.output is not None, name
        Draft202012Validator(dict(answer.output)).validate(answer.value)
        # Every key is declared, so that a client's types have it.
        assert answer.value.keys() <= answer.output["properties"].keys(), name


def test_undoing_to_a_restore_point_stops_at_the_first_that_no_longer_fits(
    catalogue: Catalogue,
) -> None:
    diary = gate(catalogue)
    done(diary, "restore_point", name="before")
    write(diary, "one")
    done(diary, "diary_set", target=MONDAY, properties={"body": "two"}, confirm=False)
    write(diary, "three")
    with pytest.raises(BatchError) as caught:
        done(diary, "undo_call", point="before")
    facts = caught.value.facts()
    assert [row["undone"] for row in facts["results"]] == [2]
    assert (facts["failed"], facts["not_sent"]) == (2, [])
    assert body(diary) == "two"
    with pytest.raises(ToolError, match="There is no restore point"):
        done(diary, "undo_call", point="after")


def test_a_new_object_is_deleted_again_unless_it_holds_something_by_then(
    catalogue: Catalogue,
) -> None:
    diary = gate(catalogue)
    done(diary, "diary_make", element="journal", properties={"name": "Trip"})
    done(diary, "diary_make", element="entry", at='journals["Trip"].entries', confirm=False)
    with pytest.raises(ToolError, match="now contains 1 objects of the class entry"):
        done(diary, "undo_call")
    done(diary, "diary_make", element="journal", properties={"name": "Walk"})
    done(diary, "undo_call")
    assert done(diary, "diary_count", element="journal").value == 3


def test_nothing_is_kept_or_read_where_the_policy_says_so(catalogue: Catalogue) -> None:
    assert write(gate(catalogue, policy='undo = "off"')).call == 0
    unread = gate(catalogue, policy='confirm = "off"')
    assert (write(unread).state, write(unread).call) == ("unknown", 0)
    sent = [event.event for event in unread.simulator.events]  # type: ignore[attr-defined]
    assert sent == ["coresetd"] * 2


def test_a_secret_is_not_kept(catalogue: Catalogue, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    kept = UndoHistory(lambda: tmp_path)
    diary = gate(catalogue, kept={open_history: kept})
    write(diary, secret)
    assert "something like a secret" in write(diary, "gone").undo
    kept.close()
    held = b"".join(path.read_bytes() for path in tmp_path.glob(f"{FILE}*"))
    assert b"diary_set" in held
    assert secret.encode() not in held


def test_a_read_that_lacks_something_says_what(catalogue: Catalogue) -> None:
    targets = [MONDAY, 'entries.byId("none")']
    found = done(gate(catalogue), "diary_get", target=targets).outcome
    assert found is not None
    assert (found.state, found.says) == (
        "partial",
        '1 of 2 could not be read: entries.byId("none")',
    )
    assert done(gate(catalogue), "diary_get", target=MONDAY).outcome is None


def kept(at: float, size: int = 1) -> KeptCall:
    return KeptCall(
        *("t", "a", "k", "x" * size, Outcome("confirmed"), Inverse(), LaterCheck("set")), at=at
    )


def test_the_history_ends_after_a_week_or_its_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = UndoHistory(lambda: tmp_path)
    now = time.time()
    rows.keep_call(kept(now - keeping.AGE - 1))
    assert rows.find_calls(CallSelection()) == []
    monkeypatch.setattr(keeping, "ROOM", 400_000)
    for _ in range(60):
        rows.keep_call(kept(now, 20_000))
    rows.close()
    assert sum(path.stat().st_size for path in tmp_path.glob(f"{FILE}")) < 1_000_000
    assert rows.find_calls(CallSelection(last=1))[0].id == 61


@pytest.mark.parametrize(("wanted", "got", "kind", "right"), [
    ("a\r\nb", "a\nb", "text", True), ("é", "e\u0301", "text", True), ("A", "a", "text", False),
    ("Read Only", "readOnly", "type", True), (1, 1.0, "integer", True), (1, 2, "integer", False),
    ([1, 0.5, 0], [1.0, 0.50001, 0], "color", True),
    ({"date": "2026-03-01T09:30:00.400Z"}, {"date": "2026-03-01T09:30:00.000Z"}, "date", True),
    ({"date": "2026-03-01T09:30:00.000Z"}, {"date": "2026-03-01T00:00:00.000Z"}, "date", False),
    ({"path": "/Users/me/A"}, {"path": "/users/me/a/"}, "file", True),
    ({"ref": "journals[0]"}, {"ref": 'Application("x").entries.at(0)'}, "journal", None),
    (None, None, "date", True), ("x", None, "text", False),
])  # fmt: skip
def test_values_are_compared_by_their_type(
    tables: Tables, wanted: Any, got: Any, kind: str, right: bool | None
) -> None:
    assert values_match(wanted, got, kind, tables) is right


def test_a_value_that_cannot_be_read_back_is_not_confirmed(tables: Tables) -> None:
    wanted = [ExpectedValue("body", "text", "a")]
    whole: dict[str, Any] = {"body": "a"}
    assert outcome_of_values(wanted, [(None, whole)], tables).state == "confirmed"
    assert outcome_of_values(wanted, [(None, whole)], tables, ["pin"]).state == "partial"
    assert outcome_of_values(wanted, [(None, whole), (None, None)], tables).state == "partial"
    assert outcome_of_values(wanted, [(None, None)], tables).state == "unknown"


def test_undo_lasts_as_long_as_the_state_file_of_simulated_apps(
    tmp_path: Path, generated: Path
) -> None:
    state = tmp_path / "world.json"

    def own_gate() -> Gate:
        return build_gate(GateOptions((generated,), str(state), "DANGEROUS"))

    def calls_of(one: Gate) -> list[Any]:
        found = one.call(Call("history", {}))
        assert isinstance(found, CompletedCall)
        one.close()
        rows: list[Any] = found.value["calls"]
        return rows

    first = own_gate()
    first.call(Call("notes_make_note", {"name": "Milk"}))
    first.close()
    second = own_gate()
    undone = second.call(Call("undo_call", {}))
    assert isinstance(undone, CompletedCall)
    assert undone.value["undone"] == 1
    assert calls_of(second)[0]["undone_by"] == 2
    # Other apps begin with another state: nothing of the old ones is taken back in them.
    state.unlink()
    assert calls_of(own_gate()) == []
