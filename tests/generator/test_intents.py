"""App Intents metadata becomes tools: typed, levelled, provable, whatever a file holds."""

import json
import plistlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builds import once
from golden import standard
from hypothesis import given, settings
from making import imported, put, sdef
from making import read as read_sdef
from metadata import (
    ACTIONS,
    ENTRY,
    FILE,
    TEXT,
    action,
    content,
    forged,
    loaded,
    parameter,
    value,
)

from iac_base.errors import DeclaredToolError
from iac_gen.classify.judge import judge_command
from iac_gen.intents.read import MetadataPart, read_intents
from iac_gen.intents.wrappers import missing_shortcut_reason, shortcuts_plist
from iac_gen.ir import Module, ToolFunction
from iac_gen.lint.rules import lint_source
from iac_gen.model import Source
from iac_gen.output import PreviousBuild
from iac_gen.pipeline import BuildInputs, build_folder, represent_app
from iac_gen.quirks import load_quirks
from iac_gen.render import render_module, render_objects
from iac_gen.report import explain_level
from iac_gen.snapshot import facts_only, load_snapshot, write_snapshot
from iac_gen.types import AppTypes
from iac_gen.unsupported import find_unsupported
from iac_gen.verify_output import verify_module, verify_objects
from iac_gen.xml import LoadedDictionary, LoadError
from iac_runtime.search.index import Index
from iac_runtime.serve.listing import Choice, chosen_lines
from iac_runtime.serve.tool_pages import any_page, known_names
from iac_runtime.tool import LEVELS, Intent, spec_of
from iac_runtime.tools.catalogue import Catalogue, find_tool, load_module
from iac_runtime.tools.lock import lock_digest


def module(*actions: Any, **more: Any) -> Module:
    """Return the module of the diary, or of it with only these actions."""
    return represent_app(loaded(content(*actions, **more)), "diary_intents", standard(), []).module


def only(*actions: Any, **more: Any) -> ToolFunction:
    """Return the first tool of some actions."""
    return module(*actions, **more).tools[0]


@pytest.fixture(scope="module")
def diary() -> Module:
    return module()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of a build of the diary's intents."""

    def make() -> dict[str, str]:
        made, report = build_folder(BuildInputs([loaded(content())], standard(), []))
        assert not report.failed
        return dict(made)

    return once(tmp_path_factory, "diary-intents", make)


def test_actions_become_tools_named_by_their_identifiers(diary: Module) -> None:
    assert [tool.name for tool in diary.tools] == [
        "diary_intent_attach", "diary_intent_create_entry", "diary_intent_delete_entries",
        "diary_intent_get_entry", "diary_intent_odd_code", "diary_intent_open_entry",
        "diary_intent_pay", "diary_intent_set_mood", "diary_intent_strange",
    ]  # fmt: skip
    assert diary.tools[1].event == "CreateEntryLinkAction"


def test_what_is_no_tool_is_listed_with_its_reason(diary: Module) -> None:
    made = represent_app(loaded(content()), "diary_intents", standard(), [])
    told = [one.message for one in made.diagnostics if one.code == "left-out"]
    assert told == [
        "command DiaryWidget: it configures a widget; it gets no tool",
        "command InnerIntent: the app does not offer it to users; it gets no tool",
        "command PhoneIntent: it is not for macOS; it gets no tool",
        "command SiriOnlyIntent: only Siri and Apple's assistant may use it; it gets no tool",
    ]
    rows = {one.code: one.reason for one in find_unsupported(made.resolved, made.diagnostics)}
    assert rows["DiaryWidget"] == "it configures a widget"
    assert len(ACTIONS) == len(diary.tools) + len(told)


def test_a_call_says_what_it_needs_and_how_far_it_was_seen_to_work(diary: Module) -> None:
    known = {tool.event: tool.intent for tool in diary.tools}
    assert known["GetEntryIntent"] == Intent("Diary.GetEntryIntent", "entity", False, "declared")
    assert known["OpenEntryIntent"] == Intent("Diary.OpenEntryIntent", "entity", True, "declared")
    shown = action("ShowEntryIntent", protocols=["URLRepresentable"], supportedModes=1)
    assert only(shown).intent == Intent("Diary.ShowEntryIntent", "simple", True)
    assert known["StrangeIntent"] == Intent("Diary.StrangeIntent", "unsupported")
    assert known["SetMoodAppIntent"] == Intent("Diary.SetMoodAppIntent", "simple")
    assert all(tool.summary.endswith("Declared, not verified.") for tool in diary.tools)


def test_schemas_have_defaults_bounds_and_what_is_required(diary: Module) -> None:
    schema = next(tool for tool in diary.tools if tool.function == "set_mood").input_schema()
    rows = {key: {k: v for k, v in row.items() if k != "description"}
            for key, row in schema["properties"].items()}  # fmt: skip
    assert schema["required"] == ["strength"]
    assert rows["mood"] == {"type": "string", "enum": ["glad", "soSo"], "default": "soSo"}
    assert rows["strength"] == {"type": "integer", "minimum": 0, "maximum": 9.5}
    assert rows["aloud"] == {"type": "boolean", "default": True}
    assert rows["since"] == {"type": "string", "format": "date-time"}
    assert rows["lasting"]["properties"].keys() == {"value", "unit"}


def test_entities_are_typed_and_named_by_their_id(files: dict[str, str], diary: Module) -> None:
    text = files["diary_intents.py"]
    assert 'def get_entry(*, entry: Entity[Literal["entry"]]) -> str:' in text
    assert "def attach(*, file: str, entry: " in text.replace("\n    ", "").replace(", \n", "")
    row = diary.classes["entry"]
    assert (row.code, row.plural) == ("EntryEntity", "entries")
    assert [prop.code for prop in row.properties] == ["title", "wordCount"]
    entry = next(tool for tool in diary.tools if tool.function == "get_entry").parameters[0]
    assert 'entries.byId("1")' in entry.description
    assert "def get_entry(self, *, entry: Entry) -> str" in files["diary_intents_objects.py"]


def test_the_module_imports_and_says_what_its_lock_says(
    files: dict[str, str], tmp_path: Path
) -> None:
    with imported(files["diary_intents.py"], "diary_intents", tmp_path) as made:
        spec = spec_of(made.delete_entries)
        assert spec is not None
        assert (spec.event, spec.level) == ("DeleteEntriesIntent", "DANGEROUS")
        assert spec.intent == Intent("Diary.DeleteEntriesIntent", "entity")
    lock = json.loads(files["tools.lock"])
    assert lock["apps"]["diary_intents"]["identity"] == "com.example.Diary/intents"
    assert lock["tools"]["diary_intent_delete_entries"]["event"] == "DeleteEntriesIntent"
    assert json.loads(files["catalogue.json"])["apps"]["diary_intents"]["kind"] == "intents"


def test_an_unknown_kind_and_an_unknown_number_are_told_and_take_any_value() -> None:
    made = represent_app(loaded(content()), "diary_intents", standard(), [])
    told = [one.message for one in made.diagnostics if one.code == "unknown-kind"]
    assert told == [
        f"parameter thing of {where} has a type that nobody knows: {kind}; any value goes"
        for where, kind in (("OddCodeIntent", "'primitive' 77"), ("StrangeIntent", "'hologram'"))
    ]
    assert all(tool.intent and tool.intent.calls == "unsupported"
               for tool in made.module.tools
               if "thing" in tool.input_schema()["properties"])  # fmt: skip


LEVELLED: list[tuple[dict[str, Any], str]] = [
    (action("GetEntryIntent", parameter("entry", ENTRY), outputType=TEXT), "SAFE"),
    (action("FindEntriesIntent", parameter("text"), outputType=ENTRY), "SAFE"),
    # What reads and says no answer, works on text, opens the app or is not known to read.
    (action("GetEntryIntent", parameter("entry", ENTRY)), "MODIFY"),
    (action("GetSummaryIntent", parameter("text"), outputType=TEXT), "MODIFY"),
    (action("GetEntryIntent", outputType=TEXT, supportedModes=2), "MODIFY"),
    (action("GetEntryIntent", outputType=TEXT, openAppWhenRun=True), "MODIFY"),
    (action("FrobnicateIntent", outputType=TEXT), "MODIFY"),
    (action("ShowEntryIntent", parameter("entry", ENTRY)), "MODIFY"),
    # A harmless name under a protocol, a schema, a title, a sentence that say more.
    (action("GetEntryIntent", outputType=TEXT, protocols=["DeleteEntity"]), "DANGEROUS"),
    (action("GetEntryIntent", outputType=TEXT, protocols=["SetValue"]), "MODIFY"),
    (
        action(
            "GetEntryIntent",
            outputType=TEXT,
            assistantDefinedSchemas=[{"domain": "reader", "name": "ReaderDeletePagesIntent"}],
        ),
        "DANGEROUS",
    ),
    (action("GetEntryIntent", outputType=TEXT, title="Send Entry"), "DANGEROUS"),
    (
        action(
            "GetEntryIntent",
            outputType=TEXT,
            title="Get Entry",
            descriptionMetadata={"descriptionText": {"key": "Returns an entry and deletes it."}},
        ),
        "DANGEROUS",
    ),
    (action("FrobnicateIntent", parameter("text")), "DANGEROUS"),
    (action("AttachIntent", parameter("file", FILE)), "MODIFY"),
    # What the system places has the name of a thing; a quirk may make a tool of it.
    (action("DeleteWidgetIntent", protocols=["WidgetConfiguration"]), "MODIFY"),
    # Codes of events, which anybody may take for a name.
    (action("aevtoapp"), "MODIFY"),
    (action("coregetd"), "MODIFY"),
]


@pytest.mark.parametrize(("row", "level"), LEVELLED, ids=lambda one: str(one)[:40])
def test_levels_come_from_evidence(row: dict[str, Any], level: str) -> None:
    source = loaded(content({**row}))
    made = represent_app(source, "diary_intents", standard(), [])
    (command,) = made.resolved.commands
    types = AppTypes(made.resolved, {})
    kinds = [types.type_string(one.types) for one in command.parameters]
    assert judge_command(command, made.resolved, kinds).level == level


def test_words_never_lower_and_what_an_app_denies_does_not_raise() -> None:
    plain = action("DeleteEntryIntent", title="Get Entry", outputType=TEXT)
    assert only(plain).level == "DANGEROUS"
    about = {"descriptionText": {"key": "It does not delete anything."}}
    reads = action("GetEntryIntent", outputType=TEXT, descriptionMetadata=about)
    assert only(reads).level == "SAFE"


def test_why_says_the_evidence(diary: Module) -> None:
    lines = explain_level(diary, "diary_intent_open_entry")
    assert "1. MODIFY, opens the app (protocol OpenEntity)" in lines
    assert "2. MODIFY, opens the app (modes)" in lines


def test_a_lower_level_stops_the_build_and_an_update_is_told_in_words() -> None:
    from iac_gen.changes import describe_changes
    from iac_gen.output import PreviousBuild

    def built(raw: bytes, before: PreviousBuild | None = None) -> Any:
        given = BuildInputs([loaded(raw)], standard(), [], previous=before or PreviousBuild())
        files, report = build_folder(given)
        names = ("catalogue.json", "listing.jsonl", "tools.lock", "words.jsonl")
        return PreviousBuild.read(*(files[name] for name in names)), report

    one = action("GetEntryIntent", parameter("entry", ENTRY), protocols=["DeleteEntity"])
    other = action("GetEntryIntent", parameter("entry", TEXT), outputType=TEXT)
    before, _ = built(content(one))
    after, report = built(content(other), before)
    assert [fall.after for fall in report.falls] == ["MODIFY"]
    told = [*map(str, describe_changes(before.apps, after.apps))]
    assert "diary_intents: diary_intent_get_entry: level lowered from DANGEROUS to MODIFY" in told
    assert "diary_intents: diary_intent_get_entry: result changed from none to text" in told


@pytest.mark.parametrize(("title", "level"), [("Send Entry", "DANGEROUS"), ("Get Entry", "SAFE")])
def test_a_snapshot_without_prose_builds_the_same_levels(
    tmp_path: Path, title: str, level: str
) -> None:
    raw = content(action("GetIntent", outputType=TEXT, title=title))
    bare = loaded(raw).source
    text = write_snapshot(replace(bare, dictionary=facts_only(bare.dictionary)))
    assert title not in text
    (tmp_path / "diary.json").write_text(text)
    again = load_snapshot(tmp_path / "diary.json")
    assert again.diagnostics == ()
    made = represent_app(again, "diary_intents", standard(), []).module
    assert [(tool.event, tool.level) for tool in made.tools] == [("GetIntent", level)]
    assert made.app.kind == "intents"


def test_quirks_of_dictionaries_are_not_those_of_intents(tmp_path: Path) -> None:
    quirks, faults = load_quirks()
    assert not faults
    made = represent_app(loaded(content(action("coregetd"))), "diary_intents", standard(), quirks)
    assert made.module.tools[0].level == "MODIFY"
    (tmp_path / "diary.toml").write_text(
        'app = "com.example.Diary/intents"\n[[command]]\ncode = "coregetd"\nlevel = "SAFE"\n'
        'why = "Reads, as its maker says."\n'
    )
    ours, faults = load_quirks(tmp_path)
    assert not faults
    made = represent_app(loaded(content(action("coregetd"))), "diary_intents", standard(), ours)
    assert made.module.tools[0].level == "SAFE"


def test_lint_speaks_of_intents_and_not_of_the_codes_of_events() -> None:
    source = loaded(content())
    found = [one.rule for one in lint_source(source.source, standard(), source.diagnostics)]
    assert sorted(found) == ["doubtful"] * 2 + ["no-tool"] * 4


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b"{}", b'{"actions": []}', b"\xff\xfe{", b"[" * 100_000, b'{"actions": 1}'],
    ids=lambda raw: repr(raw[:12]),
)
def test_a_file_that_is_no_metadata_is_refused_in_one_line(raw: bytes) -> None:
    with pytest.raises(LoadError) as caught:
        read_intents([MetadataPart("f", raw)])
    assert "\n" not in str(caught.value)


def test_names_that_are_no_identifiers_cost_themselves() -> None:
    rows = [action("Get it; rm -rf"), action("GetIntent", parameter('x"""'), parameter("fine"))]
    made = represent_app(loaded(content(*rows)), "diary_intents", standard(), [])
    assert [tool.function for tool in made.module.tools] == ["get"]
    assert list(made.module.tools[0].input_schema()["properties"]) == ["fine"]
    assert sum(one.level == "error" for one in made.diagnostics) == 2


def test_lists_in_lists_end_somewhere() -> None:
    kind = TEXT
    for _ in range(280):
        kind = value("array", memberValueType=kind)
    tool = only(action("GetIntent", parameter("thing", kind)))
    assert tool.parameters[0].row.type == "list of list of list of list of any"


def test_entities_that_are_called_as_types_are_keep_their_own_name() -> None:
    kind = value("entity", typeName="FileEntity")
    tool = only(action("GetFileIntent", parameter("one", kind), parameter("two", FILE)))
    assert [row.row.type for row in tool.parameters] == ["file entity", "file"]


@settings(max_examples=min(60, settings.default.max_examples))
@given(raw=forged())
def test_whatever_is_forged_is_refused_or_gives_a_module_that_passes_its_proof(raw: bytes) -> None:
    try:
        source = loaded(raw)
    except LoadError:
        return
    made = represent_app(source, "diary_intents", standard(), [], wording=True).module
    assert verify_module(made, render_module(made)) == []
    assert verify_objects(made, render_objects(made)) == []
    shortcuts = plistlib.loads(shortcuts_plist(made).encode())
    assert shortcuts.keys() == {
        tool.event for tool in made.tools if not missing_shortcut_reason(tool, made)
    }
    assert all(tool.level in LEVELS and tool.level == tool.ceiling for tool in made.tools)


# Built intents are listed nowhere and run by nobody: their pages say declared, not verified.


DICTIONARY = LoadedDictionary(Source(read_sdef(sdef()), "Diary", "com.example.Diary", "Diary", "1"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of an app's dictionary and its intents."""
    made, report = build_folder(BuildInputs([DICTIONARY, loaded(content())], standard(), []))
    assert not report.failed
    path = tmp_path_factory.mktemp("both")
    put(path, made)
    return path


@pytest.fixture(scope="module")
def catalogue(folder: Path) -> Catalogue:
    return Catalogue([folder])


def test_both_sources_of_an_app_are_in_one_folder(folder: Path) -> None:
    assert {"diary.py", "diary_intents.py"} <= {one.name for one in folder.iterdir()}


def test_no_list_and_no_search_has_them(catalogue: Catalogue) -> None:
    names = known_names(catalogue)
    assert any(name.startswith("diary_") for name in names)
    assert not any("_intent_" in name for name in names)
    assert list(catalogue.apps) == ["diary"]
    lines = chosen_lines(catalogue.tool_folders, Choice(("all",)))
    assert lines
    assert not any(b"_intent_" in line for line in lines)
    hits = Index(catalogue).find("delete entries of the diary", limit=20)
    assert not any("_intent_" in hit.tool for hit in hits)


def test_whoever_names_one_is_told_what_it_is(catalogue: Catalogue) -> None:
    for ask in (catalogue.find_row, lambda name: any_page(catalogue, name)):
        with pytest.raises(
            DeclaredToolError, match=r"App Intent \(an action that its app declares\), not verified"
        ):
            ask("diary_intent_delete_entries")


def test_a_call_from_python_sends_nothing(folder: Path) -> None:
    module = load_module(folder, "diary_intents")
    try:
        with pytest.raises(DeclaredToolError):
            find_tool(module, "delete_entries", "diary_intent_delete_entries")
        with pytest.raises(DeclaredToolError):
            module.delete_entries(entries=['entries.byId("1")'])
    finally:
        sys.modules.pop(module.__name__)


def test_an_approval_of_the_dictionary_outlives_a_change_of_the_intents(
    folder: Path, tmp_path: Path
) -> None:
    made, _ = build_folder(BuildInputs([DICTIONARY], standard(), []))
    put(tmp_path, made)
    assert lock_digest(tmp_path, "diary_get") == lock_digest(folder, "diary_get")
    assert lock_digest(folder, "diary_intent_pay") != lock_digest(folder, "diary_get")


def test_a_build_of_one_source_keeps_the_other(folder: Path) -> None:
    names = ("catalogue.json", "listing.jsonl", "tools.lock", "words.jsonl")
    before = PreviousBuild.read(*((folder / name).read_text() for name in names))
    _, report = build_folder(BuildInputs([DICTIONARY], standard(), [], previous=before))
    assert report.gone == ()
    _, report = build_folder(BuildInputs([loaded(content())], standard(), [], previous=before))
    assert report.gone == ()


@pytest.mark.parametrize(("actions", "gain"), [
    ((), "13 actions, 2 usable as tools, 1 with text or Markdown"),
    ((action("WriteIntent", parameter("body")),),
     "1 action, 1 usable as a tool, 1 with text or Markdown"),
])  # fmt: skip
def test_a_build_says_what_a_person_gains(actions: tuple[Any, ...], gain: str) -> None:
    _, report = build_folder(BuildInputs([loaded(content(*actions))], standard(), []))
    (app,) = report.apps
    assert app.gain == f"Diary: {gain}"
