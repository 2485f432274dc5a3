"""What a call may hold: any spelling of a name, and one line for what does not fit."""

from typing import Any

import pytest
from diary_world import WORLD, gate_of

from iac_base.errors import InvalidParameterError, UnknownToolError
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.planning import expand_recipe
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.tool import Param, Spec
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.checking import check_arguments


@pytest.fixture
def gate(catalogue: Catalogue) -> Gate:
    return gate_of(catalogue, WORLD)


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
