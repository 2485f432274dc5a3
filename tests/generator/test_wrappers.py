"""Wrappers: shortcuts of App Intents, read back by plain plistlib and walked step by step."""

import json
import plistlib
from pathlib import Path
from typing import Any

import pytest
from golden import standard
from metadata import ENTRY, FILE, MOOD, NUMBER, TEXT, action, content, loaded, parameter, value

from iac_gen.discover import from_intents, read_sources
from iac_gen.intents.wrappers import missing_shortcut_reason, shortcuts_plist
from iac_gen.ir import Module
from iac_gen.pipeline import BuildInputs, build_folder, represent_app
from iac_gen.xml import LoadedDictionary

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
