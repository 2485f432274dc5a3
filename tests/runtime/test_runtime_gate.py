"""The gate on simulated apps: what a caller may say, gets and is told; what is remembered."""

import logging
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from diary_world import WORLD, call, gate_of

from iac_base.errors import Cancellation, InvalidParameterError, ToolError, UnknownToolError
from iac_base.files import open_state
from iac_runtime.audit.reading import AuditQuery, find_calls
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.limiter import Limiter, RateLimits, RateWindow
from iac_runtime.gate.opening import open_audit
from iac_runtime.gate.planning import expand_recipe
from iac_runtime.gate.plans import Call, CompletedCall, RefusedCall
from iac_runtime.gate.results import structured_content
from iac_runtime.language.compose import effective_level
from iac_runtime.language.steps import Event
from iac_runtime.language.text import jxa_line
from iac_runtime.tool import Level, Param, Spec
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.checking import check_arguments
from iac_runtime.tools.tables import Operation, Tables
from iac_simulator.scenario import FaultScenario, InjectedFault


@pytest.fixture
def gate(catalogue: Catalogue) -> Gate:
    return gate_of(catalogue, WORLD)


def test_a_list_gives_references_that_the_next_tool_takes(gate: Gate) -> None:
    found = call(gate, "diary_list", element="entry", of='journals["Work"]')
    more = {"creation date": None, "URL": ""}
    assert found == [
        {"ref": 'journals["Work"].entries.byId("e1")', "name": "Monday", **more},
        {"ref": 'journals["Work"].entries.byId("e2")', "name": "Tuesday", **more},
    ]
    assert call(gate, "diary_get", target=found[1]["ref"], properties=["Body", "is private"]) == {
        "body": "Sun",
        "is private": True,
    }


def test_a_list_is_read_by_column_not_by_item(catalogue: Catalogue) -> None:
    entries = [{"id": f"e{n}", "name": f"N{n}"} for n in range(50)]
    gate = gate_of(catalogue, {"entries": entries})
    call(gate, "diary_list", element="entry", properties=["name", "body", "words"])
    # How many there are, then three columns between the ids.
    assert len(gate.simulator.events) == 6  # type: ignore[attr-defined]


def test_limit_offset_and_filter_choose_the_items(gate: Gate) -> None:
    outcome = gate.call(Call("diary_list", {"element": "entry", "of": "journals[0]", "limit": 1}))
    assert isinstance(outcome, CompletedCall)
    assert [item["name"] for item in outcome.value] == ["Monday"]
    assert outcome.note == '1 of 2 items; the next: cursor "1:e1"'
    rest = call(gate, "diary_list", element="entry", of="journals[0]", offset=1)
    assert [item["name"] for item in rest] == ["Tuesday"]
    private = call(
        gate, "diary_list", element="entry", of="journals[0]", where={"is private": True}
    )
    assert [item["ref"] for item in private] == ['journals[0].entries.byId("e2")']


def test_items_without_an_id_are_named_by_name_or_position(catalogue: Catalogue) -> None:
    pictures = [{"name": "a"}, {"name": "b"}]
    world = {
        "entries": [{"id": "x", "pictures": pictures}, {"id": "y", "pictures": [{"name": "a"}] * 2}]
    }
    gate = gate_of(catalogue, world)
    unique = call(gate, "diary_list", element="picture", of="entries[0]")
    assert [item["ref"] for item in unique] == [
        'entries[0].pictures["a"]',
        'entries[0].pictures["b"]',
    ]
    doubled = call(gate, "diary_list", element="picture", of="entries[1]")
    assert [item["ref"] for item in doubled] == ["entries[1].pictures[0]", "entries[1].pictures[1]"]
    found = call(gate, "diary_list", element="picture", of="entries[0]", where={"name": "b"})
    assert [item["ref"] for item in found] == ['entries[0].pictures.whose({name: "b"})[0]']


def test_an_object_made_is_answered_by_id_and_is_there(gate: Gate) -> None:
    outcome = gate.call(
        Call(
            "diary_make",
            {
                "element": "entry",
                "at": 'journals["Home"]',
                "properties": {"name": "Milk", "creation date": "2026-03-09T08:00:00Z"},
            },
        )
    )
    assert isinstance(outcome, CompletedCall)
    made = structured_content(outcome.value, outcome.output)
    assert ".byId(" in made["ref"]
    assert call(gate, "diary_get", target=made["ref"], properties=["name", "creation date"]) == {
        "name": "Milk",
        "creation date": LOCAL,
    }
    assert call(gate, "diary_count", element="entry", of='journals["Home"]') == 1


def test_a_recipe_is_its_operation_with_arguments_bound(gate: Gate) -> None:
    made = call(gate, "diary_make_entry", title="Eggs", journal="journals[1]")
    assert call(gate, "diary_get", target=made, properties=["name"]) == {"name": "Eggs"}
    assert call(gate, "diary_entry_of_today") == 1
    assert call(gate, "diary_write_in", words="rain") == []
    sent = gate.simulator.events[-1]  # type: ignore[attr-defined]
    assert sent.event == "diarfind"
    assert sent.direct == {"text": "rain"}


def test_set_changes_and_get_shows_it(gate: Gate) -> None:
    target = 'journals["Work"].entries["Monday"]'
    assert (
        call(gate, "diary_set", target=target, properties={"isPrivate": True, "mood": "HAPPY"})
        is None
    )
    assert call(gate, "diary_get", target=target, properties=["is private", "mood"]) == {
        "is private": True,
        "mood": "happy",
    }


def test_get_reads_an_object_a_value_a_collection_and_the_app(gate: Gate) -> None:
    whole = call(gate, "diary_get", target="journals[0]")
    assert whole["name"] == "Work"
    assert whole["id"] == "j1"
    assert call(gate, "diary_get", target="journals[0].name") == "Work"
    assert call(gate, "diary_get", target="journals.name") == ["Work", "Home"]
    assert call(gate, "diary_get", target="journals") == [
        'journals.byId("j1")',
        'journals.byId("j2")',
    ]
    assert call(gate, "diary_get", target="application")["name"] == "Diary"
    assert call(gate, "diary_get", target="today", properties=["owner"]) == {"owner": "me"}


def test_a_command_answers_by_reference(gate: Gate) -> None:
    moved = call(gate, "diary_move", target="journals[0].entries[0]", to="journals[1].entries")
    assert call(gate, "diary_get", target=moved, properties=["name"]) == {"name": "Monday"}


@pytest.mark.parametrize(("tool", "arguments", "level"), [
    ("diary_get", {"target": "entries[0]"}, "SAFE"),
    ("diary_set", {"target": "entries[0]", "properties": {"expanded": True}}, "SAFE"),
    ("diary_set", {"target": "entries[0]", "properties": {"body": "x"}}, "MODIFY"),
    ("diary_set", {"target": "today", "properties": {"owner": "x", "password": "x"}}, "DANGEROUS"),
    ("diary_set", {"target": "frontItem", "properties": {"anything": 1}}, "DANGEROUS"),
    ("diary_make", {"element": "entry"}, "MODIFY"),
    ("diary_make", {"element": "day book"}, "DANGEROUS"),
    ("diary_make", {"element": "journal", "properties": {"password": "x"}}, "DANGEROUS"),
    ("diary_make_entry", {"title": "x"}, "MODIFY"),
    ("diary_delete", {"target": "entries[0]"}, "DANGEROUS"),
    ("app_activate", {"app": "diary"}, "SAFE"),
    ("app_launch", {"app": "com.example.Diary"}, "MODIFY"),
    ("app_quit", {"app": "Diary"}, "DANGEROUS"),
])  # fmt: skip
def test_the_level_of_a_call_comes_from_its_arguments(
    catalogue: Catalogue, tool: str, arguments: dict[str, Any], level: str
) -> None:
    gate = gate_of(catalogue, WORLD, "SAFE")
    outcome = gate.call(Call(tool, arguments), dry_run=True)
    assert isinstance(outcome, CompletedCall)
    assert outcome.level == level
    if level == "SAFE":
        return
    refused = gate.call(Call(tool, arguments))
    assert isinstance(refused, RefusedCall)
    assert refused.level == level
    assert refused.line == outcome.line
    assert refused.requires_prompt
    assert "policy.toml" in refused.suggestion
    assert (refused.error.type, refused.error.retryable) == ("UNANSWERED", True)
    assert gate.simulator.events == []  # type: ignore[attr-defined]


def test_apps_are_listed_with_their_tools_by_level(catalogue: Catalogue) -> None:
    gate = gate_of(catalogue, WORLD)
    (app,) = call(gate, "list_apps")["apps"]
    assert app["key"] == "diary"
    assert app["id"] == "com.example.Diary"
    assert set(app["tools"]) == {"SAFE", "MODIFY", "DANGEROUS"}


def test_an_app_is_quit_and_launched_by_any_of_its_names(gate: Gate) -> None:
    assert call(gate, "app_running", app="diary") is True
    assert call(gate, "app_quit", app="com.example.Diary") is None
    assert call(gate, "app_running", app="Diary") is False
    call(gate, "app_launch", app="Diary")
    assert call(gate, "app_running", app="DIARY") is True


@pytest.mark.parametrize(("world", "tool", "arguments", "type_", "number"), [
    (WORLD, "diary_get", {"target": "journals['No']"}, "NOT_FOUND", -1728),
    ({**WORLD, "@errors": {"coregetd": -1743}}, "diary_get", {"target": "today"},
     "PERMISSION_DENIED", -1743),
    ({**WORLD, "@errors": {"diarexpo": -128}}, "diary_export", {"to": "/x"}, "USER_CANCELLED",
     -128),
    ({**WORLD, "@errors": {"diarexpo": -4711}}, "diary_export", {"to": "/x"}, "UNKNOWN", -4711),
])  # fmt: skip
def test_a_failure_of_the_app_is_told_apart_by_number(
    catalogue: Catalogue,
    world: dict[str, Any],
    tool: str,
    arguments: dict[str, Any],
    type_: str,
    number: int,
) -> None:
    with pytest.raises(ToolError) as caught:
        call(gate_of(catalogue, world), tool, **arguments)
    facts = caught.value.facts()
    assert facts["type"] == type_
    assert facts["number"] == number
    assert facts["app"] == "Diary"
    assert facts["command"] == tool
    assert "Diary" in facts["message"] or "macOS" in facts["message"]


def test_a_large_result_is_cut_and_says_so(catalogue: Catalogue) -> None:
    entries = [{"id": f"e{n}", "name": "x" * 50} for n in range(100)]
    gate = gate_of(catalogue, {"entries": entries}, limit=2000)
    outcome = gate.call(Call("diary_list", {"element": "entry"}))
    assert isinstance(outcome, CompletedCall)
    assert 10 < len(outcome.value) < 40
    assert "truncated at 2000 characters" in outcome.note
    assert "of 100 items" in outcome.note
    assert (
        structured_content(outcome.value, outcome.output, outcome.note)["result"] == outcome.value
    )


def test_control_characters_and_lone_surrogates_never_leave(catalogue: Catalogue) -> None:
    world = {"entries": [{"id": "e", "name": "a\x00b\x1b[31m", "body": "x\ud800y\nz"}]}
    gate = gate_of(catalogue, world)
    found = call(gate, "diary_get", target="entries[0]", properties=["name", "body"])
    assert found["name"] == "ab"
    assert "\ud800" not in found["body"]
    assert found["body"].endswith("y\nz")


LOCAL = datetime.fromisoformat("2026-03-09T08:00:00Z").astimezone().isoformat()
ALL_CALLS = [
    ("diary_get", {"target": "journals[0].name"}),
    ("diary_get", {"target": "journals[0]", "properties": ["name", "owner"]}),
    ("diary_get", {"target": "journals[0]"}),
    ("diary_get", {"target": "journals[0].entries.whose({isPrivate: true})"}),
    ("diary_set", {"target": "journals[0]", "properties": {"owner": "x", "name": "y"}}),
    ("diary_set", {"target": "journals[0]", "properties": {"owner": "x"}}),
    ("diary_list", {"element": "journal", "properties": ["id"]}),
    ("diary_count", {"element": "entry", "of": "today", "where": {"name": {"contains": "o"}}}),
    ("diary_make", {"element": "journal", "properties": {"name": "\"x'\n"}}),
    ("diary_make_entry", {"title": "t", "journal": "journals[1]"}), ("diary_entry_of_today", {}),
    ("diary_write_in", {"words": "w"}), ("diary_delete", {"target": "journals[0].entries[-1]"}),
    ("diary_move", {"target": "journals[0].entries[0]", "to": "journals[1].entries.end"}),
    ("diary_search", {"text": "x", "in": "~/a", "since": "2026-01-01T00:00:00Z", "limit": 3}),
    ("diary_export", {"to": "~/x y.txt", "settings": {"page count": 3}}),
    ("diary_export", {"target": "journals[0].entries[0]", "to": "/x"}),
    ("diary_remind", {"when": "2026-01-01T00:00:00Z"}), ("diary_remind", {}),
    ("app_activate", {"app": "Diary"}), ("app_running", {"app": "Diary"}),
    ("app_launch", {"app": "Diary"}), ("app_quit", {"app": "Diary"}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments"), ALL_CALLS)
def test_the_line_sends_the_same_events_as_the_harness(
    catalogue: Catalogue, tool: str, arguments: dict[str, Any]
) -> None:
    first, second = gate_of(catalogue, WORLD), gate_of(catalogue, WORLD)
    # What is read around a write is in no line.
    outcome = first.call(Call(tool, arguments, confirm=False))
    assert isinstance(outcome, CompletedCall)
    simulator = second.simulator  # type: ignore[attr-defined]
    done = simulator(["osascript", "-l", "JavaScript", "-e", outcome.line], b"", 10)
    assert done.status == 0, done.stderr
    sent = first.simulator.events  # type: ignore[attr-defined]
    if tool == "diary_list":
        # How many there are, for no more than a page is read.
        assert sent.pop(0).event == "corecnte"
    # The harness may ask for the id of what a command answered; the line stops before.
    assert sent[: len(simulator.events)] == simulator.events
    assert len(sent) - len(simulator.events) in (0, 1)


def test_the_output_folder_is_not_written_to(output: Path, gate: Gate) -> None:
    call(gate, "diary_count", element="entry")
    assert {path.name for path in output.iterdir()} - {"__pycache__"} == {
        "catalogue.json",
        "diary.py",
        "listing.jsonl",
    }


def test_deleting_needs_the_level_of_the_class_between_the_tool_and_its_ceiling(
    tables: Tables,
) -> None:
    def level(target: str, ceiling: Level = "DANGEROUS") -> Level:
        spec = Spec("coredelo", "SAFE", ceiling, {}, "command", "delete", "", {})
        return effective_level(Operation("t", tables, spec), {"target": target}, "")

    assert level("journals[0]") == "DANGEROUS"
    assert level("journals[0]", "MODIFY") == "MODIFY"
    assert level("frontItem") == "DANGEROUS"


def test_an_addition_is_run_by_the_current_application(catalogue: Catalogue) -> None:
    event = Event("com.example.Add", "addition", "command", "addibeep", "beep", direct=None)
    assert jxa_line(event) == (
        "const app = Application.currentApplication(); app.includeStandardAdditions = true; "
        "app.beep()"
    )


def test_apps_that_are_newer_than_their_tools_are_named(catalogue: Catalogue) -> None:
    line = "Diary was updated; build its tools again: iac-gen build diary"
    outcome = gate_of(catalogue, WORLD, stale=lambda: [line]).call(Call("list_apps", {}))
    assert isinstance(outcome, CompletedCall)
    assert outcome.note == line


def test_a_keyword_is_taken_bare_and_in_any_spelling(gate: Gate) -> None:
    for spelling in ({"in": "journals[0]"}, {"in_": "journals[0]"}, {"In": "journals[0]"}):
        outcome = gate.call(
            Call("diary_search", {"text": "x", "mood": "not So happy", **spelling}), dry_run=True
        )
        assert isinstance(outcome, CompletedCall)
        assert outcome.line == (
            'Application("com.example.Diary").search("x", '
            '{in: Application("com.example.Diary").journals[0], withMood: "not so happy"})'
        )


@pytest.mark.parametrize(("tool", "arguments", "words"), [
    ("diary_list", {"elemnt": "entry"}, ['no argument "elemnt"', "Nearest: element"]),
    ("diary_list", {"element": "entry", "considering": "case"}, ["No dictionary", "script"]),
    ("diary_list", {}, ["Missing required argument: element."]),
    ("diary_list", {"element": "entri"}, ["element", "Nearest: entry."]),
    ("diary_list", {"element": "entry", "limit": "many"}, ["limit must be a whole number, not"]),
    ("diary_list", {"element": "entry", "limit": -1}, ["limit must be 0 or more, not -1."]),
    ("diary_list", {"element": "picture"}, ["contains no picture", 'Set `of` to "entries[0]"']),
    ("diary_list", {"element": "entry", "properties": ["naem"]}, ["Nearest: name."]),
    ("diary_list", {"element": "journal", "properties": ["password"]}, ["not read"]),
    ("diary_list", {"element": "entry", "where": {"nam": 1}}, ['"nam" is not a property']),
    ("diary_list", {"element": "entry", "of": "journals[0]", "Of": "x"}, ["given twice"]),
    ("diary_get", {"target": "journals[0].nam"}, ["diary:", "Nearest: name"]),
    ("diary_set", {"target": "entries[0]", "properties": {"words": 3}}, ["read-only"]),
    ("diary_set", {"target": "entries[0]", "properties": {"wrods": 3}}, ["words"]),
    ("diary_set", {"target": "entries[0]", "properties": {}}, ["properties to set"]),
    ("diary_make", {"element": "entry", "properties": {"x": 1}},
     ['"x" is not a property of entry']),
    ("diary_search", {"text": "x", "since": "soon"}, ["since", "not a date"]),
    ("diary_export", {"to": "here.txt"}, ["not an absolute path"]),
    ("app_quit", {"app": "Dairy"}, ['There is no app "Dairy"', "Nearest: Diary."]),
    ("app_quit", {}, ["Missing required argument: app"]),
])  # fmt: skip
def test_a_wrong_argument_is_told_in_one_line_and_nothing_is_sent(
    gate: Gate, tool: str, arguments: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        gate.call(Call(tool, arguments))
    said = str(caught.value)
    assert "\n" not in said
    for word in words:
        assert word in said
    assert caught.value.command == tool
    assert gate.simulator.events == []  # type: ignore[attr-defined]


def test_an_unknown_tool_is_answered_with_the_nearest(gate: Gate) -> None:
    with pytest.raises(UnknownToolError, match="Nearest: diary_list"):
        gate.call(Call("diary_lst", {}))
    with pytest.raises(UnknownToolError, match="list_apps"):
        gate.call(Call("zzzzzz", {}))


@pytest.mark.parametrize(("schema", "value", "words"), [
    ({"type": "array", "items": {"type": "string", "enum": ["a b"]}}, ["A-B", "x"], "x[1]"),
    ({"anyOf": [{"type": "string"}, {"type": "number"}]}, {}, "a text or a number"),
    ({"type": "object", "properties": {"k": {}}, "additionalProperties": False}, {"kk": 1}, "k"),
    ({"type": "object", "required": ["k"]}, {}, 'lacks "k"'),
    ({"type": "string", "maxLength": 2}, "abc", "at most 2 characters"),
])  # fmt: skip
def test_a_value_that_does_not_fit_its_schema_is_told_by_place(
    schema: dict[str, Any], value: Any, words: str
) -> None:
    whole = {"type": "object", "properties": {"x": schema}, "additionalProperties": False}
    with pytest.raises(InvalidParameterError) as caught:
        check_arguments({"x": value}, whole)
    assert "x" in str(caught.value)
    assert words in str(caught.value)


def test_arguments_that_are_no_object_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="one object"):
        check_arguments([], {})  # type: ignore[arg-type]
    assert check_arguments({"x": None}, {"properties": {"x": {"type": "string"}}}) == {}


def test_a_recipe_leaves_out_what_is_not_given() -> None:
    params = {key: Param(key, key, "text") for key in ("a", "b", "c")}
    fixed = {"one": {"x": "$a", "y": ["$b", 1]}, "two": {"z": ["$a"]}, "three": "$d", "four": {}}
    spec = Spec("e", "SAFE", "SAFE", params, "list", "", "", fixed)
    assert expand_recipe(spec, {"b": 2, "c": 3}) == {
        "one": {"y": [2, 1]}, "three": "$d", "four": {}, "c": 3,
    }  # fmt: skip


def test_a_mere_name_is_answered_with_the_way_to_write_it(gate: Gate) -> None:
    with pytest.raises(
        InvalidParameterError, match=r'entry with that name, write entries\["Monday"\]'
    ):
        gate.call(Call("diary_export", {"target": "Monday", "to": "/x"}))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_finite_number_is_said_to_be_none(value: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^sizes\[1\] is not a finite number\."):
        check_arguments({"sizes": [1, value]}, {"properties": {"sizes": {"type": "array"}}})


MONDAY = 'journals.byId("j1").entries.byId("e1")'
LONG = "https://weather.example/a-place-that-nobody-guesses"


def test_the_log_tells_how_long_each_stage_of_a_call_took(
    catalogue: Catalogue, own_data_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gate = gate_of(catalogue, WORLD, audit=open_audit)
    with caplog.at_level(logging.DEBUG, "iac.gate"):
        gate.call(Call("diary_get", {"target": f"{MONDAY}.name"}))
    gate.close()
    stages = "plan judge answer limit intent execute".split()
    shape = ", ".join(rf"{name} (\d+\.\d\d)" for name in stages)
    [said] = [row.getMessage() for row in caplog.records if row.name == "iac.gate"]
    took = re.fullmatch(rf"diary_get: {shape} ms", said)
    assert took is not None, said
    # Milliseconds: the simulated app takes one, and nothing here takes a minute.
    assert 0.05 < sum(map(float, took.groups())) < 60_000


def audited(gate: Any) -> list[Any]:
    gate.close()
    return find_calls(open_state(), AuditQuery(), 50)


def test_a_failure_is_recorded_as_what_it_was(catalogue: Catalogue, own_data_folder: Path) -> None:
    hung = FaultScenario((InjectedFault(error=-1743),))
    gate = gate_of(catalogue, WORLD, audit=open_audit, faults=hung)
    with pytest.raises(ToolError) as caught:
        gate.call(Call("diary_get", {"target": f"{MONDAY}.name"}))
    assert (caught.value.app, caught.value.command) == ("Diary", "diary_get")
    [row] = audited(gate)
    assert (row.result, row.error) == (caught.value.type, caught.value.message)
    assert row.ms is not None
    assert 0 <= row.ms < 60_000


def test_a_call_that_breaks_inside_is_an_execution_error(
    catalogue: Catalogue, own_data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = gate_of(catalogue, WORLD, audit=open_audit)

    def broken(*_args: Any, **_more: Any) -> Any:
        raise ValueError("broken")

    monkeypatch.setattr(gate.executor, "execute", broken)
    with pytest.raises(ValueError, match="broken"):
        gate.call(Call("diary_get", {"target": f"{MONDAY}.name"}))
    assert [row.result for row in audited(gate)] == ["EXECUTION_ERROR"]


def test_a_call_that_was_cancelled_is_recorded_so(
    catalogue: Catalogue, own_data_folder: Path
) -> None:
    gate = gate_of(catalogue, WORLD, audit=open_audit)
    cancel = Cancellation()
    cancel.cancel()
    with pytest.raises(ToolError):
        gate.call(Call("diary_get", {"target": f"{MONDAY}.name"}), cancel=cancel)
    assert [row.result for row in audited(gate)] == ["cancelled"]


def test_what_an_app_answers_is_remembered_as_text_of_strangers(catalogue: Catalogue) -> None:
    gate = gate_of(catalogue, WORLD)
    taint = gate.permissions.taint
    gate.call(Call("diary_set", {"target": MONDAY, "properties": {"body": LONG}}))
    gate.call(Call("diary_get", {"target": f"{MONDAY}.body"}))
    # What the caller wrote and the app gave back is still the caller's, to this caller.
    assert not taint.find_tainted_piece(LONG)
    assert taint.find_tainted_piece(LONG, holder="another")
    fresh = gate_of(catalogue, gate.simulator.state()["diary"])  # type: ignore[attr-defined]
    fresh.call(Call("diary_get", {"target": f"{MONDAY}.body"}))
    assert fresh.permissions.taint.find_tainted_piece(LONG)


def test_a_result_that_is_cut_is_remembered_whole(catalogue: Catalogue) -> None:
    gate = gate_of(catalogue, WORLD, limit=300)
    gate.call(Call("diary_set", {"target": MONDAY, "properties": {"body": "x" * 500 + LONG}}))
    fresh = gate_of(catalogue, gate.simulator.state()["diary"], limit=300)  # type: ignore[attr-defined]
    answer = fresh.call(Call("diary_get", {"target": f"{MONDAY}.body"}))
    assert isinstance(answer, CompletedCall)
    assert LONG not in str(answer.value)
    assert fresh.permissions.taint.find_tainted_piece(LONG)


def test_what_an_error_says_is_remembered_too(catalogue: Catalogue) -> None:
    says = FaultScenario((InjectedFault(error=-1743),))
    gate = gate_of(catalogue, WORLD, faults=says)
    with pytest.raises(ToolError) as caught:
        gate.call(Call("diary_get", {"target": f"{MONDAY}.name"}))
    assert gate.permissions.taint.find_tainted_piece(caught.value.original)


def test_several_calls_wait_for_their_places_one_by_one(
    catalogue: Catalogue, own_data_folder: Path
) -> None:
    limits = RateLimits(writes=RateWindow(1, 1.1))
    gate = gate_of(catalogue, WORLD, audit=open_audit, limiter=Limiter(limits=limits))
    given = tuple({"target": MONDAY, "properties": {"body": f"{n}"}} for n in range(2))
    answer = gate.call(Call("diary_set", {}, calls=given))
    assert isinstance(answer, CompletedCall)
    # A call of its own would be refused rather than wait for so long.
    assert len(answer.value["results"]) == 2
    assert [row.result for row in audited(gate)] == ["done", "done"]
