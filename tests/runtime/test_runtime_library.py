"""Calling tools as plain Python functions, and the folders they come from."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from diary_world import write_output
from hypothesis import given
from hypothesis import strategies as st

import iac_runtime
from iac_base.errors import CallRefusedError, SetupError, ToolError, nearest_names
from iac_base.files import data_folder, open_state
from iac_runtime.audit.reading import AuditQuery, find_calls
from iac_runtime.gate.results import clean_value, structured_content
from iac_runtime.gate.stored import cut_to_limit
from iac_runtime.language.reader import RefText
from iac_runtime.policy import prompts
from iac_runtime.tool import user_tools
from iac_runtime.tools.catalogue import (
    Catalogue,
    load_module,
    shipped_folder,
    tool_folders,
    user_folders,
)

SHIPPED = shipped_folder


def test_a_generated_function_is_called_like_any_other(output: Path, state_file: Path) -> None:
    diary = load_module(output, "diary")
    with iac_runtime.connect(simulate=state_file, tools=output) as session:
        assert diary.count("entry", of='journals["Work"]') == 2
        made = diary.make_entry("Milk", body="2 l", journal="journals[1]")
        assert diary.get(made, properties=["name", "body"]) == {"name": "Milk", "body": "2 l"}
        assert session.call("diary_count", element="entry", of="journals[1]") == 1
        assert session.simulator.events
        assert state_file.exists()
    state = json.loads(state_file.read_text(encoding="utf-8"))
    assert state["diary"]["journals"][1]["entries"][0]["name"] == "Milk"


def test_calls_of_simulated_apps_are_recorded_as_such(output: Path) -> None:
    diary = load_module(output, "diary")
    with iac_runtime.connect(simulate=True, tools=output):
        diary.make_entry("Milk", body="2 l", journal="journals[1]")
    with (
        iac_runtime.connect(simulate=True, tools=output, allow="SAFE"),
        pytest.raises(CallRefusedError),
    ):
        diary.make("entry")
    made, refused = find_calls(open_state(), AuditQuery(), 10)
    assert (made.tool, made.result) == ("diary_make_entry", "done")
    assert (refused.tool, refused.result) == ("diary_make", "UNANSWERED")
    assert made.simulated
    assert refused.simulated
    assert find_calls(open_state(), AuditQuery(simulated=False), 10) == []


def test_connecting_can_allow_less(output: Path) -> None:
    diary = load_module(output, "diary")
    with (
        iac_runtime.connect(simulate=True, tools=str(output), allow="SAFE"),
        pytest.raises(CallRefusedError, match="was not run") as caught,
    ):
        diary.make("entry")
    assert (caught.value.type, caught.value.retryable) == ("UNANSWERED", True)
    assert "allow=" not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "expected"),
    [("once", ""), ("decline", "REFUSED"), ("timeout", "UNANSWERED"), (None, "UNANSWERED")],
)
def test_what_connect_allows_outranks_no_rule_that_asks(
    output: Path, monkeypatch: pytest.MonkeyPatch, said: str | None, expected: str
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(prompts, "can_show_dialog", lambda: said is not None)
    monkeypatch.setattr(prompts, "ask_dialog", lambda about: asked.append(about.text) or said)
    data_folder().mkdir(mode=0o700, exist_ok=True)
    (data_folder() / "policy.toml").write_text("[[ask]]\ntool = 'diary_make'", encoding="utf-8")
    with iac_runtime.connect(simulate=True, tools=output, allow="DANGEROUS") as session:
        try:
            session.call("diary_make", element="entry")
            kind = ""
        except CallRefusedError as error:
            kind = error.type
        assert session.call("diary_count", element="entry") == (3 if said == "once" else 2)
    assert kind == expected
    assert len(asked) == (said is not None)


@pytest.mark.parametrize(("policy", "words"), [
    ("[[deny]]\napp = 'Diary'\nlevel = 'MODIFY'", "denies this call"),
    ("read_only = true", "Only calls that read may run here"),
    ("[blocklist]\nadd = 'com.example.Diary'", "No tool may change"),
])  # fmt: skip
def test_the_users_policy_holds_for_simulated_apps_too(
    output: Path, policy: str, words: str
) -> None:
    data_folder().mkdir(mode=0o700, exist_ok=True)
    (data_folder() / "policy.toml").write_text(policy, encoding="utf-8")
    with iac_runtime.connect(simulate=True, tools=output) as session:
        before = session.call("diary_count", element="entry")
        with pytest.raises(CallRefusedError, match=words):
            session.call("diary_make", element="entry")
        assert session.call("diary_count", element="entry") == before
    (data_folder() / "policy.toml").write_text("preset = 'none'", encoding="utf-8")
    with pytest.raises(SetupError, match=r"policy\.toml line 1"):
        iac_runtime.connect(simulate=True, tools=output)


def test_a_call_that_fails_carries_its_facts(output: Path, state_file: Path) -> None:
    diary = load_module(output, "diary")
    with (
        pytest.raises(ToolError) as caught,
        iac_runtime.connect(simulate=state_file, tools=output),
    ):
        diary.get('journals["No"]')
    error = caught.value
    assert (error.type, error.number, error.retryable) == ("NOT_FOUND", -1728, False)
    assert (error.app, error.command) == ("Diary", "diary_get")
    assert error.original == "Can't get object."
    assert str(error) == f"{error.message} {error.suggestion}"
    assert error.facts()["command"] == "diary_get"


def test_a_block_that_fails_ends_the_session_all_the_same(output: Path) -> None:
    diary = load_module(output, "diary")

    def fail() -> None:
        with iac_runtime.connect(simulate=True, tools=output):
            diary.make("entry")
            raise ZeroDivisionError

    with iac_runtime.connect(simulate=True, tools=output) as outer:
        before = diary.count("entry")
        with pytest.raises(ZeroDivisionError):
            fail()
        assert diary.count("entry") == before
        assert outer.simulator is not None


@pytest.mark.process
def test_without_simulate_calls_go_to_the_osascript_of_this_machine(
    output: Path, state_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "osascript"
    program.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m iac_simulator.osascript "$@"\n', encoding="utf-8"
    )
    program.chmod(0o755)
    monkeypatch.setenv("IAC_OSASCRIPT", str(program))
    monkeypatch.setenv("IAC_SIMULATOR_TOOLS", str(output))
    monkeypatch.setenv("IAC_SIMULATOR_STATE", str(state_file))
    diary = load_module(output, "diary")
    with iac_runtime.connect(tools=output) as session:
        assert session.simulator is None
        assert diary.count("entry", of='journals["Work"]') == 2
        assert session.call("diary_get", target="journals[0].name") == "Work"


def test_the_earlier_connection_holds_again_after_the_block(output: Path, tmp_path: Path) -> None:
    diary = load_module(output, "diary")
    with iac_runtime.connect(simulate=True, tools=output):
        before = diary.count("entry")
        inner = iac_runtime.connect(simulate=True, tools=output)
        diary.make("entry")
        assert diary.count("entry") == before + 1
        inner.close()
        inner.close()
        assert diary.count("entry") == before


def test_without_a_mac_the_library_says_what_to_do(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IAC_OSASCRIPT", "/nowhere/osascript")
    monkeypatch.setattr(sys, "platform", "linux")
    diary = load_module(output, "diary")
    with pytest.raises(ToolError, match=r"connect\(simulate=True\)"):
        diary.count("entry")
    with iac_runtime.connect(tools=output), pytest.raises(ToolError, match="not a Mac"):
        diary.count("entry")


def test_a_state_that_cannot_be_read_is_one_line(output: Path, tmp_path: Path) -> None:
    bad = tmp_path / "state.json"
    bad.write_text('{"diary": {"journls": []}}', encoding="utf-8")
    with pytest.raises(SetupError, match="journals") as caught:
        iac_runtime.connect(simulate=bad, tools=output)
    assert "\n" not in str(caught.value)


def test_a_state_file_that_cannot_be_written_is_one_line(output: Path, tmp_path: Path) -> None:
    diary = load_module(output, "diary")
    missing = tmp_path / "no" / "state.json"
    with (
        iac_runtime.connect(simulate=missing, tools=output),
        pytest.raises(SetupError, match="cannot be written"),
    ):
        diary.make("entry")
    with pytest.raises(SetupError, match="directory"):
        iac_runtime.connect(simulate=tmp_path, tools=output)


def test_without_the_simulator_it_is_said_how_to_get_it(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "iac_simulator", None)
    with pytest.raises(SetupError, match=r"pip install .*\[simulator\]"):
        iac_runtime.connect(simulate=True, tools=output)


def test_without_any_tools_nothing_can_be_simulated() -> None:
    with pytest.raises(SetupError, match="iac-gen build"):
        iac_runtime.connect(simulate=True)
    with iac_runtime.connect() as session, pytest.raises(ToolError, match="no tool"):
        session.call("list_apps")


def test_importing_the_library_loads_nothing_heavy() -> None:
    code = (
        "import sys, iac_runtime, iac_runtime.gate.gate, iac_runtime.execution.executor;"
        "import iac_runtime.library;"
        "heavy = {'mcp', 'click', 'jsonschema', 'lxml', 'jinja2', 'black', 'platformdirs'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_package_offers_its_names_and_no_other() -> None:
    assert iac_runtime.connect.__name__ == "connect"
    assert all(getattr(iac_runtime, name) for name in iac_runtime.__all__)
    with pytest.raises(AttributeError):
        iac_runtime.nothing  # noqa: B018


def test_an_app_in_an_earlier_folder_hides_the_later_one_whole(
    output: Path, tmp_path: Path
) -> None:
    first = write_output(tmp_path / "first")
    raw = json.loads((first / "catalogue.json").read_text(encoding="utf-8"))
    raw["tools"] = {"diary_count": raw["tools"]["diary_count"]}
    (first / "catalogue.json").write_text(json.dumps(raw), encoding="utf-8")
    catalogue = Catalogue([first, output])
    assert list(catalogue.tools) == ["diary_count"]
    assert [entry["name"] for entry in catalogue.read_listing()] == ["diary_count"]
    assert catalogue.load_operation("diary_count").spec.op == "count"


@pytest.mark.parametrize("damage", [
    lambda folder: (folder / "catalogue.json").unlink(),
    lambda folder: (folder / "catalogue.json").write_text("{"),
    lambda folder: (folder / "catalogue.json").write_text('{"format": 2}'),
    lambda folder: (folder / "catalogue.json").write_text('{"format": 1, "apps": {"x": 3}}'),
    lambda folder: (folder / "listing.jsonl").unlink(),
    lambda folder: (folder / "listing.jsonl").write_text("\n"),
    lambda folder: (folder / "listing.jsonl").write_text("[1]\n" * 200),
    lambda folder: (folder / "diary.py").unlink(),
    lambda folder: (folder / "diary.py").write_text("import nothing_of_that_name"),
    lambda folder: (folder / "diary.py").write_text("__all__ = []\nSCHEMAS = {}"),
])  # fmt: skip
def test_a_damaged_folder_is_told_with_the_way_out(tmp_path: Path, damage: object) -> None:
    folder = write_output(tmp_path / "tools")
    damage(folder)  # type: ignore[operator]

    def use() -> None:
        catalogue = Catalogue([folder])
        catalogue.read_listing()
        (folder / "diary.py").read_text(encoding="utf-8") and catalogue.load_tool(
            catalogue.find_row("diary_count")
        )

    with pytest.raises((SetupError, FileNotFoundError, AttributeError)) as caught:
        use()
    if isinstance(caught.value, SetupError):
        assert "iac-gen build" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_folders_are_searched_chosen_own_shipped(
    output: Path, own_data_folder: Path, tmp_path: Path
) -> None:
    own = write_output(own_data_folder / "tools")
    for folder in (own_data_folder, own):
        folder.chmod(0o700)
    found = tool_folders([output])
    assert found[:2] == [output, own]
    assert data_folder() == own_data_folder
    assert user_tools() == [str(own)]


def test_the_shipped_folder_is_found_without_importing_it() -> None:
    shipped = SHIPPED()
    assert shipped is not None
    assert shipped.name == "iac_tools"


def test_a_folder_that_others_can_write_to_is_refused(own_data_folder: Path) -> None:
    own = write_output(own_data_folder / "tools")
    own.chmod(0o777)
    assert user_folders() == []
    with pytest.raises(SetupError, match="chmod go-w"):
        tool_folders()


def test_a_folder_of_another_user_is_refused(
    own_data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_output(own_data_folder / "tools")
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(SetupError, match="another user"):
        tool_folders()


def test_a_folder_without_tools_is_told(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="iac-gen build --output"):
        tool_folders([tmp_path])
    with pytest.raises(SetupError, match="no tools yet"):
        Catalogue([])


def test_the_data_folder_is_that_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IAC_DATA")
    assert data_folder().name == "iac"


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(st.characters())),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(st.characters()), inner)),
)


@given(value=JSON)
def test_a_clean_value_can_always_be_sent(value: object) -> None:
    cleaned = clean_value(value)
    json.dumps(cleaned, ensure_ascii=False).encode("utf-8")
    assert clean_value(cleaned) == cleaned


@given(value=JSON, limit=st.integers(1, 200))
def test_a_capped_value_is_near_its_limit(value: object, limit: int) -> None:
    whole = len(json.dumps(value, ensure_ascii=False))
    kept, cut = cut_to_limit(value, limit)
    if not cut:
        assert kept == value
    if whole <= limit // 2:
        assert not cut


def test_results_take_the_form_that_the_schema_declares() -> None:
    ref = RefText("notes[0]")
    result = {"type": "object", "properties": {"result": {"type": "integer"}, "note": {}}}
    either = {"type": "object", "properties": {"ref": {}, "result": {"type": "array"}, "note": {}}}
    assert structured_content(ref) == {"ref": "notes[0]"}
    assert structured_content(ref, either) == {"ref": "notes[0]"}
    assert structured_content([ref], either) == {"result": ["notes[0]"]}
    assert structured_content({"a": 1}) == {"a": 1}
    assert structured_content(None) == {}
    assert structured_content(None, result) == {"note": "the app answered nothing"}
    assert structured_content(3, result, "cut") == {"result": 3, "note": "cut"}
    assert structured_content("x", result) == {"note": 'the app answered "x"'}


def test_of_rows_only_what_is_not_of_its_type_is_told_in_the_note() -> None:
    size = {"type": ["integer", "null"]}
    row = {"type": "object", "properties": {"ref": {"type": "string"}, "size": size}}
    rows = {"type": "array", "items": {**row, "required": ["ref"]}}
    output = {"type": "object", "properties": {"result": rows}, "required": ["result"]}
    found = [{"ref": "files[0]", "size": "big"}, {"ref": "files[1]", "size": None}]
    content = structured_content(found, output, "2 items")
    assert content == {
        "result": [{"ref": "files[0]"}, {"ref": "files[1]", "size": None}],
        "note": 'the app answered {"result.0.size": "big"}; 2 items',
    }
    assert found[0]["size"] == "big"
    fields = {"type": "object", "properties": {"size": size}, "minProperties": 1}
    assert structured_content({"size": "big", "name": "a"}, fields) == {
        "name": "a",
        "note": 'the app answered {"size": "big"}',
    }
    # Rows that cannot be told apart are no list.
    assert structured_content([{"size": 1}], output)["note"] == 'the app answered [{"size": 1}]'


def test_the_nearest_names_are_found_in_either_spelling() -> None:
    assert nearest_names("readstatus", ["read status", "subject"]) == ["read status"]
    assert nearest_names("xyz", ["read status"]) == []
    assert nearest_names("date", ["creation date", "zzz"]) == ["creation date"]
