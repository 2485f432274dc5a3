"""App Intents are installed, called through the gate, and what they answer is proved."""

import json
import os
import plistlib
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from golden import standard
from making import put, sdef
from making import read as read_sdef
from metadata import ENTRY, FILE, MOOD, NUMBER, TEXT, action, content, loaded, parameter, value

from iac_base.errors import DeclaredToolError, InvalidParameterError
from iac_gen.discover import from_intents, read_sources
from iac_gen.intents.wrappers import missing_shortcut_reason, shortcuts_plist
from iac_gen.ir import Module
from iac_gen.model import Source
from iac_gen.pipeline import BuildInputs, build_folder, represent_app
from iac_gen.xml import LoadedDictionary
from iac_mcp.cli.main import cli
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.process import Completed
from iac_runtime.execution.shortcuts import ShortcutError, run_shortcut
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall
from iac_runtime.language.steps import IntentRequest
from iac_runtime.policy.permissions import Requester
from iac_runtime.search.index import Index
from iac_runtime.serve.listing import Choice, chosen_lines
from iac_runtime.tools.catalogue import Catalogue, load_module, module_tables
from iac_runtime.tools.lock import input_keys_of, installed_shortcuts, read_wrappers
from iac_simulator import shortcuts

LATER = value("primitive", typeIdentifier=8)
ACTIONS = (
    action(
        "GetStreakIntent",
        parameter("mood", MOOD),
        # A name that its shortcut uses itself: no value of it is passed on, not even the default.
        parameter("UUID", NUMBER, {"int": 1}),
        outputType=NUMBER,
    ),
    action(
        "AddEntryIntent",
        parameter("body"),
        parameter("when", LATER),
        parameter("strength", NUMBER, {"int": 3}),
        *(parameter(name, isOptional=True) for name in ("note", "place", "tag", "more")),
        outputType=TEXT,
    ),
    action("ShowIntent", supportedModes=2),
)
APP = "com.example.Diary"
UUID, OTHER = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "12")
BODY = {"body": 'Quote " and\nline', "when": "2026-03-01T10:00:00+00:00"}


class Mac:
    """A Mac with Shortcuts: the program's state, and ways to look at it and to change it."""

    def __init__(self, path: Path, state: dict[str, Any]) -> None:
        self._path = path
        self.set(**state)

    @property
    def state(self) -> dict[str, Any]:
        return dict(json.loads(self._path.read_text()))

    def set(self, **more: Any) -> None:
        before = self.state if self._path.exists() else {}
        self._path.write_text(json.dumps({**before, **more}))


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["intents", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def install(folder: Path, *names: str) -> str:
    return run("install", "--yes", "--tools", str(folder), *names)


def use(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IAC_SHORTCUTS", str(root / "iac-shortcuts"))
    monkeypatch.setenv("IAC_SHORTCUTS_STATE", str(root / "shortcuts.json"))
    monkeypatch.setenv("IAC_DATA", str(root / "data"))


@pytest.fixture(scope="module")
def installed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tools, a Mac's state, and the data of a person who installed two shortcuts."""
    root = tmp_path_factory.mktemp("once")
    made, report = build_folder(BuildInputs([loaded(content(*ACTIONS))], standard(), []))
    assert not report.failed
    put(root / "tools", made)
    program = root / "iac-shortcuts"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m iac_simulator.shortcuts "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    apps = shortcuts.intent_actions(module_tables(load_module(root / "tools", "diary_intents")))
    apps[f"{APP}.GetStreakIntent"]["answer"] = 12
    Mac(root / "shortcuts.json", {"apps": apps, "answers": "always"})
    with pytest.MonkeyPatch.context() as monkeypatch:
        use(root, monkeypatch)
        names = ("diary_intent_get_streak", "diary_intent_add_entry")
        said = install(root / "tools", *names)
    assert said.count("is installed.") == 2
    return root


@pytest.fixture
def folder(installed_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(installed_once, tmp_path / "mac")
    use(tmp_path / "mac", monkeypatch)
    return tmp_path / "mac" / "tools"


@pytest.fixture
def mac(folder: Path) -> Mac:
    return Mac(folder.parent / "shortcuts.json", {})


@pytest.fixture
def gate(folder: Path) -> Iterator[Gate]:
    made = Gate(Catalogue([folder]), Executor(timeout=5))
    yield made
    made.close()


def called(gate: Gate, name: str, given: dict[str, Any], **more: Any) -> Any:
    return gate.call(Call(name, given, Requester(preapproved_level="DANGEROUS"), **more))


def test_an_installed_intent_is_called_and_its_answer_is_typed(gate: Gate, mac: Mac) -> None:
    done = called(gate, "diary_intent_get_streak", {"mood": "soSo"})
    assert isinstance(done, CompletedCall)
    assert (done.value, done.level, done.outcome) == (12, "SAFE", None)
    assert mac.state["done"] == [
        {"action": f"{APP}.GetStreakIntent", "parameters": {"mood": "soSo"}}
    ]


def test_a_write_gets_what_was_given_and_its_outcome_is_unknown(gate: Gate, mac: Mac) -> None:
    done = called(gate, "diary_intent_add_entry", BODY)
    assert isinstance(done, CompletedCall)
    assert done.value == "answer"
    assert done.outcome is not None
    assert done.outcome.state == "unknown"
    (row,) = mac.state["done"]
    wanted = {**BODY, "when": "2026-03-01T10:00:00.000Z", "strength": 3}
    assert row["parameters"] == wanted


def test_a_model_s_write_is_asked_about(gate: Gate, mac: Mac) -> None:
    asks = gate.call(Call("diary_intent_add_entry", BODY, Requester(ways=("client",))))
    assert isinstance(asks, PendingCall)
    assert "done" not in mac.state


@pytest.mark.parametrize(("terms", "fits"), [
    (["make", "entry"], True), (["entry.body"], False), (["set", "entry.body"], False),
    (["delete", "entry"], False), (["make", "mood"], False), (["entry"], True),
])  # fmt: skip
def test_a_question_about_an_intent_tells_what_the_field_book_knows_of_it(
    gate: Gate, folder: Path, terms: list[str], fits: bool
) -> None:
    row = {"id": "entries", "terms": terms, "act": "add an entry", "happens": "Its date is lost."}
    (folder / "field.json").write_text(json.dumps({"field": {APP: {"question": [row]}}}))
    asks = gate.call(Call("diary_intent_add_entry", BODY, Requester(ways=("client",))))
    assert isinstance(asks, PendingCall)
    assert ("Its date is lost." in asks.question.text) == fits


def test_what_may_be_missing_is_passed_on_only_where_it_is_given(gate: Gate, mac: Mac) -> None:
    for more in ({"note": "x"}, {}, {"note": ""}, {"note": "x", "place": "y"}):
        called(gate, "diary_intent_add_entry", {**BODY, **more})
    told = [row["parameters"] for row in mac.state["done"]]
    assert [(row.get("note"), row.get("place")) for row in told] == [
        ("x", None), (None, None), (None, None), ("x", "y"),
    ]  # fmt: skip


def test_what_the_shortcut_does_not_pass_on_is_refused(gate: Gate) -> None:
    with pytest.raises(InvalidParameterError, match="does not accept"):
        called(gate, "diary_intent_add_entry", {**BODY, "more": "x"})


def test_only_what_is_installed_is_listed_and_called(folder: Path, gate: Gate) -> None:
    catalogue = Catalogue([folder])
    assert sorted(catalogue.tools) == ["diary_intent_add_entry", "diary_intent_get_streak"]
    with pytest.raises(DeclaredToolError):
        called(gate, "diary_intent_show", {})
    lines = b"".join(chosen_lines(catalogue.tool_folders, Choice(("all",))))
    assert b'"diary_intent_get_streak"' in lines
    assert b'"diary_intent_show"' not in lines
    rows = [row.split() for row in run("list", "--tools", str(folder)).splitlines()]
    assert [row[0] for row in rows] == ["installed", "installed", "available"]
    assert [row[2] for row in rows] == ["imported", "imported", "declared"]
    called(gate, "diary_intent_get_streak", {"mood": "glad"})
    assert [installed_shortcuts()[row[3]].proof for row in rows[:2]] == ["imported", "ran"]
    run("remove", "diary_intent_get_streak")
    assert list(Catalogue([folder]).tools) == ["diary_intent_add_entry"]
    with pytest.raises(DeclaredToolError):
        called(gate, "diary_intent_get_streak", {"mood": "glad"})


def test_simulated_apps_run_what_was_installed_for_them(folder: Path) -> None:
    name = "diary_intent_show"
    said = run("install", "--simulate", "--tools", str(folder), name)
    assert said == f"{name}  can be called with simulated apps (--simulate).\n"
    assert run("list", "--tools", str(folder)).splitlines()[2].split()[0] == "simulated"
    simulated = build_gate(GateOptions(tools=(folder,), simulate=""))
    done = called(simulated, name, {})
    assert isinstance(done, CompletedCall)
    assert (done.value, done.outcome and done.outcome.state) == (None, "unknown")
    done = called(simulated, "diary_intent_get_streak", {"mood": "glad"})
    assert isinstance(done, CompletedCall)
    assert done.value == 1
    simulated.close()
    real = Gate(Catalogue([folder]), Executor(timeout=5))
    with pytest.raises(DeclaredToolError):
        called(real, name, {})
    real.close()


def test_a_tool_that_was_built_anew_waits_for_the_person(folder: Path, gate: Gate) -> None:
    made, _ = build_folder(BuildInputs([loaded(content(*ACTIONS[:2]))], standard(), []))
    put(folder, made)
    with pytest.raises(DeclaredToolError, match="changed after"):
        called(gate, "diary_intent_get_streak", {"mood": "glad"})


def test_a_file_of_shortcuts_that_the_lock_does_not_know_is_refused(folder: Path, mac: Mac) -> None:
    path = folder / "diary_intents.plist"
    path.write_text(path.read_text().replace("ShowIntent", "WipeIntent"))
    given = ["intents", "install", "--yes", "--tools", str(folder), "diary_intent_show"]
    before = mac.state
    assert "damaged" in str(CliRunner().invoke(cli, given).exception)
    assert mac.state == before


def test_a_search_names_the_proven_road_first_and_the_other_with_it(
    folder: Path, tmp_path: Path
) -> None:
    dictionary = LoadedDictionary(
        Source(read_sdef(sdef()), "Diary", "com.example.Diary", "Diary", "1")
    )
    reread = action("RereadEntryIntent", parameter("aloud", value("primitive", typeIdentifier=1)))
    made, _ = build_folder(
        BuildInputs([dictionary, loaded(content(*ACTIONS, reread))], standard(), [])
    )
    put(tmp_path / "both", made)
    assert "diary_intent_reread_entry" not in hits(tmp_path / "both", "reread the diary entry")
    install(tmp_path / "both", "diary_intent_reread_entry")
    catalogue = Catalogue([tmp_path / "both"])
    # An app is its dictionary, for whoever asks for it by name; a search in it finds both.
    assert (catalogue.find_app("com.example.Diary") or 0) == catalogue.apps["diary"]
    assert [app.key for app in catalogue.dictionaries] == ["diary"]
    inside = [hit.tool for hit in Index(catalogue).find("reread entry", app="Diary", limit=20)]
    assert {"diary_reread", "diary_intent_reread_entry"} <= {*inside}
    found = hits(tmp_path / "both", "reread the diary entry")
    names = list(found)
    assert names.index("diary_reread") + 1 == names.index("diary_intent_reread_entry")
    assert found["diary_make"].endswith("also by diary_intent_add_entry, an App Intent")
    assert "also" not in found["diary_list"]
    assert found["diary_reread"].endswith("also by diary_intent_reread_entry, an App Intent")


def hits(folder: Path, query: str) -> dict[str, str]:
    return {hit.tool: hit.why for hit in Index(Catalogue([folder])).find(query, limit=20)}


# One shortcut, run in this process: each state that a run can end in.


@pytest.fixture
def add(folder: Path, mac: Mac) -> dict[str, Any]:
    """The state of a Mac that has the shortcut of adding, as X."""
    state = mac.state
    workflow = read_wrappers(folder, "diary_intents")[1]["AddEntryIntent"]
    return {**state, "shortcuts": {UUID: {"name": "IAC t", "workflow": workflow}}}


def here(state: dict[str, Any], argv: Sequence[str]) -> Completed:
    try:
        return Completed(shortcuts.run_shortcuts_command(argv[1:], state).encode(), b"", 0)
    except shortcuts.DismissedError:
        waited = state.get("patience", 1) > 0 and state.get("answers") != "no"
        return Completed(b"", b"", -9 if waited else 0, timed_out=waited)
    except shortcuts.ShortcutsError as error:
        return Completed(b"", str(error).encode(), 1)


def outcome(state: dict[str, Any], given: dict[str, Any], uuid: str = UUID) -> str:
    state = {"patience": 0.0, **state}

    def in_process(argv: Sequence[str], stdin: bytes, timeout: float, **_more: Any) -> Completed:
        assert (stdin, timeout > 0) == (b"", True)
        return here(state, argv)

    try:
        return run_shortcut(in_process, uuid, IntentRequest(APP, "AddEntryIntent", given), "t", 1)
    except ShortcutError as error:
        assert error.suggestion
        return error.state


def test_each_way_to_end_is_a_state(add: dict[str, Any]) -> None:
    whole = {**BODY, "strength": 1}
    assert outcome(add, whole) == "answer"
    # Nobody answers, somebody says no, a value is of the wrong type, another is missing: status 0.
    assert outcome({**add, "answers": None}, whole) == "silent"
    assert outcome({**add, "answers": "no"}, whole) == "silent"
    assert outcome(add, {**whole, "strength": "three"}) == "silent"
    assert outcome(add, {"body": "x", "strength": 1}) == "silent"
    assert outcome(add, whole, OTHER) == "replaced"
    assert outcome({**add, "shortcuts": {}}, whole) == "absent"
    assert outcome({**add, "apps": {}}, whole) == "failed"


def test_an_input_that_is_dropped_gives_no_answer_to_take(add: dict[str, Any]) -> None:
    state = {**add, "patience": 0.0}

    def renamed(argv: Sequence[str], stdin: bytes, timeout: float, **_more: Any) -> Completed:
        assert (stdin, timeout > 0) == (b"", True)
        given = Path(argv[4])
        other = given.rename(given.with_suffix(".json"))
        return here(state, [*argv[:4], str(other), *argv[5:]])

    with pytest.raises(ShortcutError) as caught:
        run_shortcut(renamed, UUID, IntentRequest(APP, "AddEntryIntent", BODY), "t", 1)
    assert caught.value.state == "silent"


def test_a_run_that_waits_is_ended_with_its_group(folder: Path, gate: Gate, mac: Mac) -> None:
    mac.set(answers=None)
    with pytest.raises(ShortcutError) as caught:
        called(gate, "diary_intent_add_entry", BODY, timeout=0.8)
    assert (caught.value.state, caught.value.type) == ("waits", "TIMEOUT")
    assert caught.value.outcome == {
        "state": "unknown",
        "says": "the shortcut ended; IAC did not check what it did",
    }


def test_a_run_that_waits_behind_a_locked_screen_says_so() -> None:
    locked = plistlib.dumps({"IOConsoleLocked": True})

    def run(argv: Sequence[str], *_given: Any, **_more: Any) -> Completed:
        looks = argv[0].endswith("ioreg")
        return Completed(locked if looks else b"", b"", 0 if looks else -9, timed_out=not looks)

    with pytest.raises(ShortcutError, match="did not end") as caught:
        run_shortcut(run, UUID, IntentRequest(APP, "AddEntryIntent", BODY), "t", 1)
    assert (caught.value.state, "unlock" in (caught.value.suggestion or "")) == ("locked", True)


def test_without_shortcuts_a_call_says_what_is_missing(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IAC_SHORTCUTS", os.devnull)
    with pytest.raises(ShortcutError) as caught:
        called(gate, "diary_intent_add_entry", BODY)
    assert (caught.value.state, caught.value.outcome) == ("no program", None)


def test_every_shortcut_of_the_real_files_runs(corpus: Path, tmp_path: Path) -> None:
    folder = corpus / "app-intents"
    if not folder.is_dir():
        pytest.skip("needs shared/corpus/app-intents beside the checkout")
    made, _ = build_folder(BuildInputs(read_sources(from_intents([folder]))[0], standard(), []))
    put(tmp_path, made)
    ran = 0
    for key in (name.removesuffix(".plist") for name in made if name.endswith(".plist")):
        tables = module_tables(load_module(tmp_path, key))
        events = {spec.event: spec for spec in tables.tools.values()}
        for event, workflow in read_wrappers(tmp_path, key)[1].items():
            spec = events[event]
            state = {
                "apps": shortcuts.intent_actions(tables),
                "answers": "once",
                "shortcuts": {UUID: {"name": "IAC t", "workflow": workflow}},
            }
            kinds = {row.code: row.type for row in spec.params.values()}
            given = {
                name: next((case for case, _ in tables.enums.get(kinds[name], ())), None)
                or {"boolean": True, "integer": 1, "real": 0.5}.get(kinds[name], "x")
                for name in input_keys_of(workflow)
            }
            assert outcome(state, given) in ("", "answer")
            ran += 1
    assert ran == 47
    assert installed_shortcuts() == {}


# Wrappers: shortcuts of App Intents, read back by plain plistlib and walked step by step.


BUILT_IN = "is.workflow.actions."


def modules(*sources: LoadedDictionary) -> list[Module]:
    return [represent_app(one, "diary_intents", standard(), []).module for one in sources]


def walked(workflow: dict[str, Any]) -> tuple[str, dict[str, str], list[str]]:
    """Follow a shortcut from its end: the action, its parameters by the keys, the answer's lines.

    Fails where a step refers to one that is not before it.
    """
    steps: dict[str, dict[str, Any]] = {}
    seen: set[str] = set()

    def sources(held: Any) -> list[dict[str, Any]]:
        form, inner = held["WFSerializationType"], held["Value"]
        if form == "WFTextTokenAttachment":
            return [inner]
        assert form == "WFTextTokenString"
        places = [int(key[1:].partition(",")[0]) for key in inner["attachmentsByRange"]]
        assert [inner["string"][at] for at in places] == ["\ufffc"] * len(places)
        return [inner["attachmentsByRange"][f"{{{at}, 1}}"] for at in sorted(places)]

    def read_key(held: Any) -> str:
        (one,) = sources(held)
        step = steps[one["OutputUUID"]]
        assert step["WFWorkflowActionIdentifier"] == f"{BUILT_IN}getvalueforkey"
        (given,) = sources(step["WFWorkflowActionParameters"]["WFInput"])
        whole = steps[given["OutputUUID"]]
        assert whole["WFWorkflowActionIdentifier"] == f"{BUILT_IN}detect.dictionary"
        assert sources(whole["WFWorkflowActionParameters"]["WFInput"]) == [
            {"Type": "ExtensionInput"}
        ]
        return str(step["WFWorkflowActionParameters"]["WFDictionaryKey"])

    name, given, lines, depth = "", {}, [], 0
    for step in workflow["WFWorkflowActions"]:
        held = dict(step["WFWorkflowActionParameters"])
        identifier, uuid = step["WFWorkflowActionIdentifier"], held.pop("UUID")
        if identifier == f"{BUILT_IN}conditional":
            depth += {0: 1, 1: 0, 2: -1}[held["WFControlFlowMode"]]
            if held["WFControlFlowMode"] == 0:
                assert held["WFCondition"] == 100
                read_key(held["WFInput"]["Variable"])
        elif not identifier.startswith(BUILT_IN):
            assert name in ("", identifier)
            assert depth or not name
            name, descriptor = identifier, held.pop("AppIntentDescriptor")
            assert descriptor["AppIntentIdentifier"]
            here = {key: read_key(item) for key, item in held.items()}
            # The first of all branches has everything, each other less.
            assert not given or here.items() < given.items()
            given = given or here
        if identifier == f"{BUILT_IN}gettext":
            lines = [one["OutputUUID"] for one in sources(held["WFTextActionText"])]
            answers = [steps[one]["WFWorkflowActionIdentifier"] for one in lines]
            last = f"{BUILT_IN}conditional" if f"{BUILT_IN}conditional" in seen else name
            assert answers in ([f"{BUILT_IN}getvalueforkey"], [f"{BUILT_IN}getvalueforkey", last])
        assert uuid not in steps
        steps[uuid] = step
        seen.add(identifier)
    assert depth == 0
    assert workflow["WFWorkflowActions"][-1]["WFWorkflowActionIdentifier"] == f"{BUILT_IN}output"
    return name, given, lines


def test_a_shortcut_takes_typed_input_by_key_and_gives_the_call_and_the_answer() -> None:
    row = action(
        "AddIntent",
        parameter("body"),
        parameter("mood", MOOD),
        parameter("strength", NUMBER, {"int": 3}),
        parameter("later", value("primitive", typeIdentifier=8), isOptional=True),
        outputType=TEXT,
    )
    (module,) = modules(loaded(content(row)))
    made = plistlib.loads(shortcuts_plist(module).encode())
    name, given, lines = walked(made["AddIntent"])
    assert name == "com.example.Diary.AddIntent"
    assert given == {"body": "body", "mood": "mood", "strength": "strength", "later": "later"}
    assert len(lines) == 2


def test_what_needs_more_than_plain_values_has_no_shortcut() -> None:
    rows = [
        action("GetIntent", parameter("entry", ENTRY)),
        action("SendIntent", parameter("file", FILE)),
        action("TellIntent", parameter("entry", ENTRY, isOptional=True)),
    ]
    (module,) = modules(loaded(content(*rows)))
    assert [missing_shortcut_reason(tool, module) for tool in module.tools] == [
        "needs an entity",
        "needs a value of the type file",
        "",
    ]
    assert list(plistlib.loads(shortcuts_plist(module).encode())) == ["TellIntent"]


def test_names_that_differ_from_the_metadata_come_from_a_table() -> None:
    from dataclasses import replace

    one = loaded(content(action("CreateNoteLinkAction", parameter("contents"))))
    notes = replace(one, source=replace(one.source, id="com.apple.Notes"))
    (module,) = modules(notes)
    (workflow,) = plistlib.loads(shortcuts_plist(module).encode()).values()
    name, given, _ = walked(workflow)
    assert name == "com.apple.mobilenotes.SharingExtension"
    assert given == {"WFCreateNoteInput": "contents"}


def test_the_same_build_gives_the_same_bytes_and_the_lock_has_their_digest() -> None:
    made, _ = build_folder(BuildInputs([loaded(content())], standard(), []))
    again, _ = build_folder(BuildInputs([loaded(content())], standard(), []))
    name = "diary_intents.plist"
    assert made[name] == again[name]
    assert len(json.loads(made["tools.lock"])["apps"]["diary_intents"]["wrappers"]) == 16


def test_every_real_file_s_shortcuts_are_whole(corpus: Path) -> None:
    folder = corpus / "app-intents"
    if not folder.is_dir():
        pytest.skip("needs shared/corpus/app-intents beside the checkout")
    for module in modules(*read_sources(from_intents([folder]))[0]):
        made = plistlib.loads(shortcuts_plist(module).encode())
        assert len(made) == sum(not missing_shortcut_reason(tool, module) for tool in module.tools)
        for tool in module.tools:
            if tool.event in made:
                name, given, _ = walked(made[tool.event])
                assert name == f"{module.app.id}.{tool.event}"
                needed = {one.row.code for one in tool.parameters if one.required}
                assert needed <= set(given.values())
