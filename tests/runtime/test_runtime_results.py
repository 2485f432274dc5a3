"""Results: kept where they are too large, read on in slices, and named so that they last."""

import json
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from defective import Defective
from hypothesis import given
from hypothesis import strategies as st
from simulated import permissions_under, simulate_apps
from simulated import run_tool as call

from iac_base.errors import InvalidParameterError, ToolError
from iac_base.files import open_state
from iac_runtime.execution.executor import Executor
from iac_runtime.gate import stored
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import (
    Call,
    CallAnswer,
    CompletedCall,
    PendingCall,
    Plan,
    RefusedCall,
    ToolResult,
)
from iac_runtime.gate.results import structured_content
from iac_runtime.gate.stored import read_on, truncate
from iac_runtime.language.reader import RefText
from iac_runtime.policy.facts import CallFacts
from iac_runtime.policy.permissions import Requester
from iac_runtime.serve.call import done_result
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.shape import Tool
from iac_simulator import Simulator

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**6), 10**6), st.text(max_size=40)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=12), st.dictionaries(st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=40,
)


def small_gate(catalogue: Catalogue, world: dict[str, Any], limit: int) -> Gate:
    executor = Executor(simulate_apps(catalogue, {"diary": world}))
    return Gate(catalogue, executor, "DANGEROUS", home="/Users/me", limit=limit)


def ident_in(note: str) -> str:
    return note.partition('result "')[2].partition('"')[0]


def rest_of(ident: str, offset: int, limit: int) -> list[Any]:
    """Read a kept result to its end; return its slices."""
    slices = []
    while True:
        part = read_on(ident, offset, limit)
        assert part["offset"] == offset
        assert part["result"]
        slices.append(part["result"])
        if "next" not in part:
            return slices
        offset = part["next"]


def size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


@given(value=VALUES, limit=st.integers(20, 200))
def test_slices_put_together_are_the_whole(value: Any, limit: int) -> None:
    shown, note = truncate(value, limit)
    if not note:
        assert shown == value
        assert size(value) <= limit
        return
    assert size(value) > limit
    whole_json = "characters of JSON" in note
    offset = 0 if whole_json else len(shown)
    slices = rest_of(ident_in(note), offset, limit)
    if whole_json:
        assert json.loads("".join(slices)) == value
    elif isinstance(value, str):
        assert shown + "".join(slices) == value
    else:
        assert shown + [item for part in slices for item in part] == value
    for part in slices:
        assert size(part) <= limit or len(part) == 1


def test_a_large_list_says_how_to_read_on_and_can_be(catalogue: Catalogue) -> None:
    entries = [{"id": f"e{n}", "name": "x" * 50} for n in range(100)]
    gate = small_gate(catalogue, {"entries": entries}, 2000)
    first = call(gate, "diary_list", element="entry", limit=100)
    assert f"truncated at 2000 characters: {len(first.value)} of 100 items" in first.note
    assert structured_content(first.value, None, first.note)["note"] == first.note
    found = list(first.value)
    more = call(gate, "read_more", result=ident_in(first.note), offset=len(found)).value
    while True:
        assert more["total"] == 100
        assert more["unit"] == "items"
        found += more["result"]
        if "next" not in more:
            break
        more = call(gate, "read_more", result=ident_in(first.note), offset=more["next"]).value
    assert [row["ref"] for row in found] == [f'entries.byId("e{n}")' for n in range(100)]


def test_reading_on_is_judged_as_the_first_read_was(catalogue: Catalogue) -> None:
    entries = [{"id": f"e{n}", "name": f"see https://host{n}.example/x"} for n in range(100)]
    gate = small_gate(catalogue, {"entries": entries}, 2000)
    first = call(gate, "diary_list", element="entry", properties=["name"], limit=100)
    ident = ident_in(first.note)
    app = catalogue.apps["diary"].id

    def more(policy: str) -> Gate:
        executor = Executor(Simulator([]))
        return Gate(catalogue, executor, permissions=permissions_under(policy))

    def outcome(policy: str) -> CallAnswer:
        arguments = {"result": ident, "offset": 90}
        return more(policy).call(Call("read_more", arguments, Requester("tester", ("client",))))

    assert isinstance(outcome(f"[[deny]]\napp = '{app}'"), RefusedCall)
    assert isinstance(outcome("[[deny]]\napp = 'Mail'"), CompletedCall)
    assert isinstance(outcome("preset = 'private'"), PendingCall)
    opted = outcome(f"preset = 'private'\nreads = ['{app}']")
    assert isinstance(opted, CompletedCall)
    assert opted.app == (app, catalogue.apps["diary"].name)
    gate = more("")
    call(gate, "read_more", result=ident, offset=90)
    assert gate.permissions.taint.find_tainted_piece("https://host95.example/x")
    path = open_state() / "results" / f"{ident}.json"
    # One that an earlier version kept may be from any app.
    kept = json.loads(path.read_text("utf-8"))
    del kept["sources"]
    path.write_text(json.dumps(kept), "utf-8")
    assert isinstance(outcome(""), CompletedCall)
    assert isinstance(outcome("[[deny]]\napp = 'Mail'"), PendingCall)


def test_a_large_text_and_a_large_object_are_read_on_too(catalogue: Catalogue) -> None:
    body = "".join(f"{n}é\n" for n in range(3000))
    gate = small_gate(catalogue, {"entries": [{"id": "e", "name": "n", "body": body}]}, 5000)
    text = call(gate, "diary_get", target="entries[0].body")
    assert body.startswith(text.value)
    rest = rest_of(ident_in(text.note), len(text.value), 5000)
    assert text.value + "".join(rest) == body
    whole = call(gate, "diary_get", target="entries[0]")
    assert whole.value["name"] == "n"
    assert whole.value["body"].endswith("… [truncated]")
    assert "0 of" in whole.note
    assert json.loads("".join(rest_of(ident_in(whole.note), 0, 5000)))["body"] == body


def test_what_is_kept_is_for_its_user_alone() -> None:
    _, note = truncate(["x" * 50] * 100, 500)
    folder = open_state() / "results"
    (path,) = folder.iterdir()
    assert path.name == f"{ident_in(note)}.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(ident_in(note)) == 22


def test_kept_results_go_by_age_and_by_room(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = [truncate([str(n) * 50] * 100, 500)[1] for n in range(3)]
    old, middle, new = map(ident_in, notes)
    folder = open_state() / "results"
    os.utime(folder / f"{old}.json", (time.time() - stored.MAX_AGE - 1,) * 2)
    os.utime(folder / f"{middle}.json", (time.time() - 100,) * 2)
    with pytest.raises(ToolError, match="it has expired"):
        read_on(old, 0, 500)
    assert read_on(middle, 0, 500)["total"] == 100
    monkeypatch.setattr(stored, "MAX_BYTES", 12_000)
    last = ident_in(truncate(["y" * 50] * 100, 500)[1])
    assert {path.stem for path in folder.iterdir()} == {new, last}


@pytest.mark.parametrize("ident", ["", "../state", "x" * 22, "a/../../etc/passwd", "\0", "é" * 22])
def test_an_id_that_names_nothing_is_told(ident: str, catalogue: Catalogue) -> None:
    with pytest.raises(ToolError) as caught:
        call(small_gate(catalogue, {}, 500), "read_more", result=ident, offset=0)
    assert caught.value.type == "NOT_FOUND"
    assert "Call the original tool again" in caught.value.suggestion
    assert caught.value.command == "read_more"


@pytest.mark.parametrize("offset", [100, 10**9])
def test_an_offset_outside_a_result_is_told(offset: int) -> None:
    ident = ident_in(truncate(["x" * 50] * 100, 500)[1])
    with pytest.raises(InvalidParameterError, match="which has 100 items"):
        read_on(ident, offset, 500)


def test_a_damaged_file_is_as_good_as_gone() -> None:
    ident = ident_in(truncate(["x" * 50] * 100, 500)[1])
    (open_state() / "results" / f"{ident}.json").write_text("{", encoding="utf-8")
    with pytest.raises(ToolError, match="it has expired"):
        read_on(ident, 0, 500)


def test_without_a_safe_folder_a_result_is_cut_and_says_why() -> None:
    (open_state() / "results").symlink_to("/tmp")
    shown, note = truncate(["x" * 50] * 100, 500)
    assert 0 < len(shown) < 100
    assert "could not be kept" in note
    assert "ask for fewer" in note


def test_reading_on_runs_at_the_lowest_level(catalogue: Catalogue) -> None:
    ident = ident_in(truncate(["x" * 50] * 100, 500)[1])
    gate = Gate(catalogue, Executor(Simulator([])), "SAFE")
    assert call(gate, "read_more", result=ident, offset=90).value["result"] == ["x" * 50] * 10


@pytest.mark.parametrize(("tool", "arguments", "said", "way"), [
    ("diary_get", {"target": 'journals.byId("gone")'},
     'There is no journals.byId("gone") in Diary.',
     'diary_list {"element": "journal", "limit": 20}'),
    ("diary_get", {"target": 'journals[0].entries["gone"].name'}, 'no journals[0].entries["gone"]',
     'diary_list {"element": "entry", "of": "journals[0]", "limit": 20}'),
    ("diary_set", {"target": "journals[9]", "properties": {"owner": "x"}}, "no journals[9]",
     'diary_list {"element": "journal", "limit": 20}'),
    ("diary_delete", {"target": 'entries.byId("gone")'}, 'no entries.byId("gone")',
     'diary_list {"element": "entry", "limit": 20}'),
    ("diary_move", {"target": 'entries.byId("gone")', "to": "journals[1].entries"},
     'does not have all of these: entries.byId("gone"), journals[1]',
     'diary_list {"element": "journal", "limit": 20}'),
])  # fmt: skip
def test_a_stale_reference_is_named_with_the_way_to_look_again(
    catalogue: Catalogue, tool: str, arguments: dict[str, Any], said: str, way: str
) -> None:
    with pytest.raises(ToolError) as caught:
        Defective(catalogue).call(tool, **arguments)
    assert caught.value.type == "NOT_FOUND"
    assert said in caught.value.message
    assert way in caught.value.suggestion
    assert caught.value.number in (-1728, -1719)


def test_a_reference_by_position_says_that_it_shifts(catalogue: Catalogue) -> None:
    world = {"entries": [{"id": "x", "pictures": [{"name": "a"}, {"name": "a"}]}]}
    app = Defective(catalogue, "", world)
    done = app.call("diary_list", element="picture", of="entries[0]")
    assert "positions shift" in done.note
    assert "positions shift" in app.call("diary_get", target="entries[0].pictures").note
    assert app.call("diary_list", element="entry").note == ""


def test_a_reference_with_hidden_characters_still_means_its_object(catalogue: Catalogue) -> None:
    name = "a\u202eb\u200d\U000e0041\x07\u0301 \ud7ff"
    world = {"entries": [{"id": "x", "pictures": [{"name": name}, {"name": "plain"}]}]}
    app = Defective(catalogue, "", world)
    done = app.call("diary_list", element="picture", of="entries[0]")
    ref = done.value[0]["ref"]
    assert isinstance(ref, RefText)
    assert "\\u202e" in ref
    assert ref.isprintable()
    assert app.call("diary_get", target=ref, properties=["name"]).value["name"] != "plain"


def test_a_field_without_a_name_is_keyed_as_its_schema_says() -> None:
    from iac_runtime.execution.answers import AppAnswer
    from iac_runtime.gate.results import plain_result
    from iac_runtime.language.steps import Event
    from iac_runtime.tool import App, Property, Record, Spec
    from iac_runtime.tools.tables import Operation, Tables

    record = Record("rcrd", (Property("%", "prct", "%", "integer", "rw", "SAFE"),))
    tables = Tables("t", App("t", "T"), {}, {}, {"share": record}, {})
    spec = Spec("testtest", "SAFE", "SAFE", {}, "command", "share", "share", {})
    schema = {"properties": {"result": {"properties": {"code_70726374": {"type": "integer"}}}}}
    tool = Operation("t_share", tables, spec, schema)
    answer = AppAnswer({"record": [["%", 7]]}, None, ())
    found = plain_result(answer, Event("t", "application", "command", "testtest"), tool)
    assert found.value == {"code_70726374": 7}


def test_the_folder_of_results_is_made_when_it_is_needed(own_data_folder: Path) -> None:
    assert truncate([1], 100) == ([1], "")
    assert not (own_data_folder / "state" / "results").exists()


ODD = Tool(
    "odd",
    "Answer what the schema does not have.",
    {"type": "object", "properties": {}, "additionalProperties": False},
    lambda tool, _call, _context: Plan(
        tool, CallFacts(tool.name), lambda _cancel: ToolResult({"success": True, "said": "x"})
    ),
    {
        "type": "object", "properties": {"success": {"type": "boolean"}}, "required": ["success"],
        "additionalProperties": False,
    },
)  # fmt: skip


def test_an_answer_of_ours_beyond_its_schema_is_an_error_here_and_passed_on_in_use(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate(None, Executor(Simulator([], {})), added=lambda: {"odd": ODD})
    with pytest.raises(RuntimeError, match="does not fit its output schema"):
        call(gate, "odd")
    monkeypatch.delenv("IAC_STRICT")
    told = done_result(call(gate, "odd"))
    assert told["structuredContent"] == {"success": True, "said": "x"}
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "odd does not fit its output schema ($: additionalProperties)" in record.message
