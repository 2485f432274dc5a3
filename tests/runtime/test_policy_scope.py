"""What an "always" covers: calls of one scope run unasked from then on, calls of another do not."""

from typing import Any

import pytest
from policy_calls import facts_of

from iac_runtime.language.request import ABSENT, Absent, Event
from iac_runtime.language.steps import (
    ByIndex,
    ByName,
    DateValue,
    Every,
    Go,
    PathValue,
    RecordValue,
    RefValue,
    Value,
)
from iac_runtime.policy.decide import ApprovalScope, scope_of
from iac_runtime.policy.effects import CallFacts, Effect

NOTES = "com.apple.Notes"


@pytest.mark.parametrize(
    ("tool", "given", "scope"),
    [
        (
            "notes set",
            {"target": 'folders["x"].notes[0]', "properties": {"name": "a", "body": "b"}},
            (NOTES, "set coresetd", "set body, name of folders notes"),
        ),
        ("notes make", {"element": "folder"}, (NOTES, "command corecrel make", "make folder")),
        (
            "notes make_note",
            {"name": "Milk", "body": ""},
            (NOTES, "command corecrel make", "make note with properties {body, name}"),
        ),
        (
            "notes list",
            {"element": "note"},
            (NOTES, "list coregetd", "list (notes_list)"),
        ),
        (
            "music play",
            {},
            ("com.apple.Music", "command hookPlay play", "play nothing (music_play)"),
        ),
        (
            "finder move",
            {"target": "~/Documents/a", "to": "~/Desktop", "replacing": True},
            (
                "com.apple.finder",
                "command coremove move",
                "move home folders items with replacing true; to desktop (finder_move)",
            ),
        ),
    ],
)
def test_a_scope_is_the_app_the_command_and_the_kind_of_its_arguments(
    tool: str, given: dict[str, Any], scope: tuple[str, str, str]
) -> None:
    found = scope_of(facts_of(tool, given))
    assert found == ApprovalScope(*scope)
    assert found.says("An app") == f"An app: {scope[2]}"


def kind(direct: Value | Absent = ABSENT, *named: tuple[str, Value], **more: Any) -> str:
    """Return the kind of a call of a made-up command."""
    event = Event(
        "com.example.App",
        "application",
        "command",
        more.pop("code", "ExmpSend"),
        more.pop("command", "sendIt"),
        direct=direct,
        named=named,
        **more,
    )
    effect = Effect("send", "com.example.App", "App", level="MODIFY")
    scope = scope_of(CallFacts("app_send_it", (effect,), event=event))
    assert scope is not None
    return scope.kind


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (PathValue("/a.b/c/Report.tar.GZ"), "file .gz"),
        (PathValue("/a.b/Makefile"), "file"),
        (PathValue("/a/x.t\u202ext"), "file .t\\u202ext"),
        (True, "true"),
        (False, "false"),
        (7, "number"),
        (0.5, "number"),
        (None, "nothing"),
        (DateValue(0), "date"),
        (RecordValue((("a", "b"),)), "record"),
        ("Some words", "text"),
        ("mailto:someone", "text"),
        ("//host/path", "text"),
        ("http://[half", "text"),
        (" https://A.example:8080/path?q=1 ", "https://a.example:8080"),
        ("https://a\u202eb.example", "https://a\\u202eb.example"),
        (RefValue(()), "the app"),
        (RefValue((Every("noteFolders"), ByName("x"), Go("container"))), "note folders container"),
        ((PathValue("/b.txt"), 1, PathValue("/a.txt"), "x"), "list of file .txt, number, text"),
        ((), "list of "),
    ],
)
def test_a_value_counts_by_its_kind(value: Value, words: str) -> None:
    assert kind(value) == f"send it {words} (app_send_it)"
    assert kind(ABSENT, ("asKind", value)).startswith("send it with as kind ")
    if not isinstance(value, RecordValue):
        assert kind(ABSENT, ("asKind", value)) == f"send it with as kind {words} (app_send_it)"


def test_every_parameter_counts_and_their_order_does_not() -> None:
    first = ("withProperties", RecordValue((("noteName", "a"), ("body", "b"))))
    second = ("at", RefValue((Every("folders"), ByIndex(0))))
    expected = "send it text with at folders; properties {body, note name} (app_send_it)"
    assert kind("x", first, second) == kind("x", second, first) == expected
    made = kind(ABSENT, ("new", "textNote"), second, first, code="corecrel", command="make")
    assert made == "make text note with at folders; properties {body, note name}"
    assert kind(ABSENT, second, code="corecrel", command="make") == "make  with at folders"
    assert kind("x", command="") == "command text (app_send_it)"
