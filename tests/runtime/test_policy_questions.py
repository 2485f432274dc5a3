"""Asking a person: what he reads, how he is asked, and that nobody answers in his place."""

import importlib
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_calls import facts_of, settings_of

from iac_base.text import is_hidden_character
from iac_mcp.cli.main import ask_terminal, terminal_at_hand
from iac_runtime.execution.process import Completed
from iac_runtime.policy.decide import decide_call
from iac_runtime.policy.facts import ApprovalHistory, CallFacts, Decision, TargetDescription
from iac_runtime.policy.prompts import (
    DIALOG_SECONDS,
    KEY,
    LINE_LIMIT,
    SCRIPT,
    TEXT_LIMIT,
    Question,
    ask_dialog,
    build_question,
    can_show_dialog,
    elicitation_form,
    input_required_result,
    read_answer,
    read_responses,
)
from iac_runtime.policy.settings import Policy
from iac_runtime.policy.wording import escaped_json
from iac_runtime.tools.tables import tables_of
from iac_simulator import Simulator

WRITE = facts_of("notes make_note", {"name": "Milk", "body": "one\ntwo"})
DELETE = facts_of("notes delete", {"target": "notes.whose({name: 'x'})"})


def decided(facts: CallFacts) -> Decision:
    return decide_call(facts, Policy(), settings_of())


def question_of(facts: CallFacts) -> Question:
    return build_question(facts, decided(facts))


def test_a_question_says_who_what_why_and_with_what() -> None:
    assert question_of(DELETE).text.splitlines() == [
        'Claude wants to delete notes.whose({name: "x"}) in Notes.',
        "Reason: It changes several objects at once.",
        "Cannot be undone: what several objects were before is not kept.",
        'DANGEROUS: notes_delete, notes.whose({name: "x"})',
    ]
    assert question_of(WRITE).text.splitlines() == [
        'Claude wants to make a note called "Milk" in Notes.',
        'With body: "one\\ntwo".',
        "Reason: MODIFY calls require approval (preset cautious).",
        "Undo: deletes it again, unless it has changed.",
        '"Always allow" would cover: make notes in Notes (with "name" and "body").',
        "MODIFY: notes_make_note",
    ]
    assert question_of(replace(WRITE, client="")).text.startswith("A program wants")


def test_nothing_in_a_question_is_hidden() -> None:
    nasty = "a\u202eb\x1b[2Jc\u200bd\U000e0041\ud800\r\nDeny"
    facts = replace(WRITE, arguments={"name": nasty, nasty: 1}, client=nasty, line=nasty)
    text = question_of(facts).text
    assert "\\u202e" in text
    assert "\\u200b" in text
    assert not any(is_hidden_character(ch) for ch in text)
    assert text.count("\nDeny") == 0
    text.encode()


@given(st.recursive(st.text() | st.integers() | st.none(), lambda x: st.lists(x, max_size=4)))
def test_a_shown_value_is_one_line_that_hides_nothing_and_says_what_is_left_out(value: Any) -> None:
    text = escaped_json(value)
    assert not any(is_hidden_character(ch) or ch in "\n\t" for ch in text)
    whole = escaped_json(value, 10**9)
    assert text == whole or "characters left out, SHA-256" in text


def test_a_long_question_has_eight_lines_and_names_the_file_that_has_all() -> None:
    arguments = {str(n): "x" * 5000 for n in range(50)}
    shown = tuple(TargetDescription(f"notes[{n}]", f"note {n} " + "y" * 300) for n in range(20))
    effects = tuple(WRITE.effects[0]._replace(kind=f"note {n}") for n in range(9))
    story = ApprovalHistory(changed=("a was b, and is c now.",))
    facts = replace(WRITE, arguments=arguments, shown=shown, effects=effects, story=story)
    kept: list[str] = []

    def keep(text: str) -> str:
        kept.append(text)
        return "/state/q.txt"

    text = build_question(facts, decided(facts), keep).text
    assert len(text) <= TEXT_LIMIT
    assert len(text.splitlines()) == LINE_LIMIT
    assert text.endswith("All of it: /state/q.txt")
    assert "characters left out, SHA-256" in text
    assert "  and 19 more" in text
    (whole,) = kept
    assert all("x" * 5000 in part for part in whole.split("; ")[:50])
    assert "note 19 yy" in whole
    assert build_question(DELETE, decided(DELETE), keep).text.count("All of it") == 0


def test_an_answer_that_was_not_offered_is_an_error() -> None:
    question = question_of(DELETE)
    assert question.verdict_for("Allow once") == "once"
    assert question.verdict_for("Always allow") == "error"
    assert question.verdict_for("Deny") == "decline"
    assert question.verdict_for(None) == "error"
    assert question_of(WRITE).verdict_for("Always allow") == "always"


def test_the_question_fits_both_eras_of_the_protocol() -> None:
    question = question_of(WRITE)
    params = mcp_types.ElicitRequestFormParams.model_validate(elicitation_form(question))
    assert params.message == question.text
    result = mcp_types.InputRequiredResult.model_validate(input_required_result(question, "t"))
    assert result.request_state == "t"
    assert list(result.input_requests or {}) == [KEY]
    schema = elicitation_form(question)["requestedSchema"]
    assert schema["properties"]["answer"]["enum"] == ["Deny", "Allow once", "Always allow"]


@pytest.mark.parametrize(("action", "content", "declared", "expected"), [
    ("accept", {"answer": "Allow once"}, True, "once"),
    ("accept", {"answer": "Always allow"}, True, "always"),
    ("accept", {"answer": "Deny"}, True, "decline"),
    ("accept", {"answer": "allow once"}, True, "error"),
    ("accept", {"answer": ["Allow once"]}, True, "error"), ("accept", {}, True, "error"),
    ("accept", None, True, "error"), ("accept", "Allow once", True, "error"),
    ("decline", {"answer": "Allow once"}, True, "decline"), ("cancel", None, True, "cancel"),
    ("ACCEPT", {"answer": "Allow once"}, True, "error"),
    ("accept", {"answer": "Allow once"}, False, "unable"), ("decline", None, False, "unable"),
])  # fmt: skip
def test_only_a_plain_yes_of_a_client_that_can_ask_is_a_yes(
    action: str, content: Any, declared: bool, expected: str
) -> None:
    answers = ("Deny", "Allow once", "Always allow")
    assert read_answer(action, content, answers, declared=declared) == expected
    responses = {KEY: {"action": action, "content": content}}
    assert read_responses(responses, answers, declared=declared) == expected


@pytest.mark.parametrize("responses", [None, {}, {KEY: None}, {KEY: "accept"}, {"x": {}}])
def test_a_retry_without_an_answer_is_no_yes(responses: Any) -> None:
    assert read_responses(responses, ("Deny", "Allow once"), declared=True) == "error"


def stand_in(answer: Any) -> Simulator:
    tables = tables_of(importlib.import_module("iac_tools.standard_additions"))
    world = answer if "@errors" in answer else {"@results": {"sysodlog": answer}}
    return Simulator([tables], {"standard_additions": world})


def test_the_dialog_shows_the_question_with_deny_as_its_default() -> None:
    world = stand_in({"buttonReturned": "Allow once", "gaveUp": False})
    question = question_of(WRITE)
    assert ask_dialog(question, world) == "once"
    sent = next(event for event in world.events if event.event == "sysodlog")
    assert sent.direct == {"text": question.text}
    assert sent.params["btns"] == ["Always allow", "Allow once", "Deny"]
    assert sent.params["dflt"] == "Deny"
    assert sent.params["givu"] == DIALOG_SECONDS


@pytest.mark.parametrize(("answer", "expected"), [
    ({"buttonReturned": "Always allow", "gaveUp": False}, "always"),
    ({"buttonReturned": "Deny", "gaveUp": False}, "decline"),
    ({"buttonReturned": "Allow once", "gaveUp": True}, "timeout"),
    ({"buttonReturned": "", "gaveUp": True}, "timeout"), ({"buttonReturned": "OK"}, "error"),
    ({"buttonReturned": 3, "gaveUp": False}, "error"),
])  # fmt: skip
def test_a_dialog_says_yes_only_when_a_button_was_pressed(answer: Any, expected: str) -> None:
    assert ask_dialog(question_of(WRITE), stand_in(answer)) == expected


@pytest.mark.parametrize("stdout", [
    b"", b'<iac:x>{"button": "Allow once", "gaveUp": false}</iac:x>', b"garbage",
    b'{"button": "Allow once"}',
])  # fmt: skip
def test_a_dialog_that_fails_is_no_answer(stdout: bytes) -> None:
    def runner(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        assert argv[3] == str(SCRIPT)
        assert timeout > DIALOG_SECONDS
        assert json.loads(stdin)["text"]
        return Completed(stdout, b"", 1)

    def missing(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        raise FileNotFoundError(argv[0])

    question = question_of(DELETE)
    assert ask_dialog(question, runner) == "error"
    assert ask_dialog(question, missing) == "unable"


def test_a_dialog_that_is_closed_is_cancelled_and_one_that_fails_is_an_error() -> None:
    for number, expected in ((-128, "cancel"), (-1713, "error")):
        world = stand_in({"@errors": {"sysodlog": number}})
        assert ask_dialog(question_of(DELETE), world) == expected


def test_a_dialog_is_at_hand_on_a_mac_or_with_a_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert not can_show_dialog()
    monkeypatch.setenv("IAC_OSASCRIPT", "x")
    assert can_show_dialog()
    monkeypatch.delenv("IAC_OSASCRIPT")
    monkeypatch.setattr("sys.platform", "darwin")
    assert can_show_dialog()


def at_terminal(arguments: list[str], typed: bytes) -> bytes:
    """Run a Python program at a terminal, and return all that a person saw there."""
    ours, theirs = pty.openpty()
    seen = b""
    with subprocess.Popen(
        [sys.executable, *arguments], stdin=theirs, stdout=theirs, stderr=theirs
    ) as child:
        os.close(theirs)
        os.write(ours, typed)
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break
            if not part:
                break
            seen += part
        child.wait(60)
    os.close(ours)
    return seen


ASK = """
import sys
sys.path[:0] = {path!r}
from iac_mcp.cli.main import ask_terminal, terminal_at_hand
from iac_runtime.policy.prompts import Question
question = Question("N", "t", "MODIFY", "May it?", "", ("Deny", "Allow once", "Always allow"))
open({out!r}, "w").write(f"{{terminal_at_hand()}} {{ask_terminal(question)}}")
"""


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize(("typed", "expected"), [
    (b"y\n", "once"), (b" YES \n", "once"), (b"Always\n", "always"), (b"n\n", "decline"),
    (b"No\n", "decline"), (b"\n", "decline"), (b"what?\nyess\ny\n", "once"), (b"\x04", "cancel"),
])  # fmt: skip
def test_a_terminal_asks_until_it_has_a_plain_answer(
    tmp_path: Path, typed: bytes, expected: str
) -> None:
    out = tmp_path / "out"
    shown_text = at_terminal(["-c", ASK.format(path=sys.path, out=str(out))], typed)
    assert out.read_text() == f"True {expected}"
    assert b"May it?" in shown_text
    asked = shown_text.count(b"Run it? (y = yes, n = no, a = always; Enter = no)")
    assert asked == max(typed.count(b"\n"), 1)


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize(("typed", "says"), [
    (b"Y\n", b".notes.byId("), (b"\n", b"You declined; nothing was sent."),
    (b"\x04", b"Nobody answered the prompt; nothing was sent."),
])  # fmt: skip
def test_a_refusal_in_the_terminal_speaks_to_the_person_there(typed: bytes, says: bytes) -> None:
    call = ["-m", "iac_mcp", "call", "notes_make_note", '{"name": "Milk"}', "--simulate"]
    seen = at_terminal(call, typed)
    assert says in seen
    assert b"the user" not in seen.lower()
    assert b"--allow" not in seen


@pytest.mark.process
def test_a_refusal_in_a_pipe_speaks_to_a_model() -> None:
    call = ["-m", "iac_mcp", "call", "notes_make_note", '{"name": "Milk"}', "--simulate"]
    done = subprocess.run(
        [sys.executable, *call], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"The user can allow it in policy.toml" in done.stderr
    assert b"--allow" not in done.stderr


def test_nobody_is_asked_through_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not terminal_at_hand()
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert ask_terminal(question_of(DELETE)) == "cancel"
    assert "DANGEROUS" in capsys.readouterr().err
