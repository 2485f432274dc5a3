"""What a failure of an app becomes: its type, its words, who must be allowed, and what now."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_base.errors import ErrorType, ToolError
from iac_runtime.apple_errors import APPLE_ERRORS
from iac_runtime.execution import mac as responsible
from iac_runtime.execution.answers import (
    ErrorLine,
    ExchangeReply,
    SentCall,
    answer_from_reply,
    describe_failure,
    parse_error_line,
)
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.mac import (
    RunningProcess,
    resolve_responsible,
    responsible_process,
    shown_name,
)
from iac_runtime.execution.process import Completed
from iac_runtime.language.steps import AllElements, ByIndex, Event, PropertyStep
from iac_runtime.tools.tables import Tables
from iac_simulator import Simulator
from iac_simulator.errors import LANGUAGES
from iac_simulator.scenario import FaultScenario

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"


def described(number: int | None, original: str = "text", *, writes: bool = False) -> ToolError:
    return describe_failure(number, original, app="Notes", command="notes_get", writes=writes)


def failed(reply: ExchangeReply, *, writes: bool = False, seconds: float = 30) -> ToolError:
    with pytest.raises(ToolError) as caught:
        answer_from_reply(reply, SentCall("Notes", "notes_get", writes, seconds))
    return caught.value


def ended(stderr: str) -> ExchangeReply:
    return ExchangeReply("gone", left=Completed(b"", stderr.encode(), 1))


@pytest.mark.sweep
@pytest.mark.parametrize("number", APPLE_ERRORS)
@pytest.mark.parametrize("writes", [False, True])
def test_every_number_has_its_type_in_any_language(number: int, writes: bool) -> None:
    for original in ("Can't get object.", "Objekt kann nicht gelesen werden.", "オブジェクト", ""):
        error = described(number, original, writes=writes)
        assert error.type == APPLE_ERRORS[number].type
        assert error.facts()["number"] == number
        assert error.original == original
        assert (error.app, error.command) == ("Notes", "notes_get")
        assert not re.search(r"[{}\n]", str(error))
        assert error.message.endswith(".")


def test_who_may_send_it_again_follows_from_whether_it_can_have_been_done() -> None:
    reads = {number for number in APPLE_ERRORS if described(number).retryable}
    writes = {number for number in APPLE_ERRORS if described(number, writes=True).retryable}
    assert reads == {-600, -609, -1712, -10000, -10011, -10810}
    assert writes == {-600, -10011, -10810}
    by_itself = {number: row.retry for number, row in APPLE_ERRORS.items() if row.retry != "never"}
    assert by_itself == {
        -600: "launch", -1708: "launch", -10810: "launch", -609: "read", -10000: "read",
    }  # fmt: skip


@pytest.mark.parametrize("number", [-609, -1712, -10000])
def test_a_change_that_may_have_been_made_says_that_this_is_not_known(number: int) -> None:
    assert "unknown whether the change happened" in str(described(number, writes=True))
    assert "unknown whether the change happened" not in str(described(number))


@pytest.mark.parametrize(("number", "original", "type_", "text"), [
    (-2700, "Error: Application can't be found.", "EXECUTION_ERROR",
     "Notes failed: Error: Application can't be found."),
    (-2700, "Error: ReferenceError: Can't find variable: foo", "EXECUTION_ERROR",
     "Notes failed: Error: ReferenceError: Can't find variable: foo."),
    (None, "boom", "EXECUTION_ERROR", "Notes failed: boom."),
    (None, "", "EXECUTION_ERROR", "Notes failed: no reason was given."),
    (8800, "General error", "EXECUTION_ERROR", "Notes failed: General error (8800)."),
    (-4711, "{app} {process}", "UNKNOWN", "Notes failed: {app} {process} (-4711)."),
    (-1743, "", "PERMISSION_DENIED", "Permission to control Notes was denied. Allow it under "),
    (-1728, "Can't get object.", "NOT_FOUND", "Notes could not find this object. List again"),
])  # fmt: skip
def test_a_number_decides_and_no_word_of_any_language(
    number: int | None, original: str, type_: ErrorType, text: str
) -> None:
    error = described(number, original)
    assert error.type == type_
    assert str(error).startswith(text)


@pytest.mark.parametrize(("seconds", "writes", "text"), [
    (30.0, False,
     "The command timed out after 30 seconds. Check whether Notes is showing a dialog."),
    (1, True,
     "The command timed out after 1 second. Check whether Notes is showing a dialog."
     " It is unknown whether the change happened. Check before you try again."),
])  # fmt: skip
def test_a_timeout_says_what_to_look_for(seconds: float, writes: bool, text: str) -> None:
    error = failed(ExchangeReply("timeout"), writes=writes, seconds=seconds)
    assert str(error) == text
    assert (error.type, error.retryable) == ("TIMEOUT", not writes)


@pytest.mark.parametrize(("stderr", "line"), [
    ("/tmp/a.js:120:160: execution error: Error on line 17: ReferenceError: Can't find"
     " variable: obj (-2700)\n",
     ErrorLine("ReferenceError: Can't find variable: obj", -2700, 17, 120, 160)),
    ("243:339: execution error: Error on line 10: Error: Can't get object. (-1728)",
     ErrorLine("Error: Can't get object.", -1728, 10, 243, 339)),
    ("execution error: Error: Error: Can't get object. (-1728)\n",
     ErrorLine("Error: Error: Can't get object.", -1728)),
    ("/Users/me/my script.js: execution error: Error: Error: boom (-2700)",
     ErrorLine("Error: Error: boom", -2700)),
    ("a line of the console\nexecution error: Error: Error: two\nlines (3) (-2700)\n\n",
     ErrorLine("Error: Error: two\nlines (3)", -2700)),
    ('16:23: execution error: Finder got an error: Can’t get folder "x". (-1728)',
     ErrorLine('Finder got an error: Can’t get folder "x".', -1728, None, 16, 23)),
    ("12:15: syntax error: Expected end of line. (-2741)",
     ErrorLine("Expected end of line.", -2741, None, 12, 15)),
    ("execution error: Error: [object Object] (42)", ErrorLine("Error: [object Object]", 42)),
    ("Ausführungsfehler: nicht gefunden. (-1728)",
     ErrorLine("Ausführungsfehler: nicht gefunden.", -1728)),
    ("only a line of the console (3)", None), ("execution error: without a number", None),
    ("", None),
])  # fmt: skip
def test_the_error_line_of_every_system_is_understood(stderr: str, line: ErrorLine | None) -> None:
    assert parse_error_line(stderr) == line


@given(text=st.text(), number=st.integers(-99999, 99999), path=st.text())
def test_the_number_at_the_end_is_the_number(text: str, number: int, path: str) -> None:
    found = parse_error_line(f"{path}: execution error: {text} ({number})\n")
    assert found is not None
    assert found.number == number


@given(stderr=st.text())
def test_no_output_is_too_odd(stderr: str) -> None:
    error = failed(ended(stderr), writes=True)
    assert error.type in get_args(ErrorType)


def test_an_error_line_carries_its_facts() -> None:
    error = failed(ended("execution error: Error: Not authorized. (-1743)"))
    assert error.facts()["type"] == "PERMISSION_DENIED"
    assert error.facts()["original"] == "Error: Not authorized."
    assert failed(ended("noise")).facts()["original"] == "noise"
    assert failed(ended("noise")).type == "EXECUTION_ERROR"


def test_a_denial_names_the_pane_the_process_and_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responsible, "responsible_name", lambda: "iTerm")
    automation = "System Settings > Privacy & Security > Automation"
    for error in (described(-1743), failed(ended(""))):
        assert error.type == "PERMISSION_DENIED"
        assert not error.retryable
        assert f"{automation}: switch on Notes under iTerm" in error.suggestion
    for number in (-25211, 1002):
        error = described(number)
        assert "Privacy & Security > Accessibility: switch on iTerm" in error.suggestion


ITERM = "/Applications/iTerm.app/Contents/MacOS/iTerm2"
PYTHON_APP = "/opt/homebrew/Frameworks/Python.framework/Versions/3.12/Resources/Python.app"
FRAMEWORK = f"{PYTHON_APP}/Contents/MacOS/Python"
CODE = "/Applications/Visual Studio Code.app/Contents"
HELPER = f"{CODE}/Frameworks/Code Helper.app/Contents/MacOS/Code Helper"
CLAUDE = "/Applications/Claude.app/Contents"


@pytest.mark.parametrize(("paths", "shown"), [
    (["/opt/bin/python3.12", "/bin/zsh", "", ITERM], "iTerm"),
    ([FRAMEWORK, "/bin/zsh", "/usr/bin/login", ITERM], "iTerm"),
    (["/opt/bin/python3.12", HELPER, f"{CODE}/MacOS/Electron"], "Visual Studio Code"),
    (["/opt/bin/python3.12", f"{CLAUDE}/Helpers/disclaimer", f"{CLAUDE}/MacOS/Claude"],
     "python3.12"),
    ([FRAMEWORK, "/opt/bin/uv", f"{CLAUDE}/Helpers/disclaimer", f"{CLAUDE}/MacOS/Claude"], "uv"),
    ([FRAMEWORK, f"{CLAUDE}/Helpers/disclaimer", f"{CLAUDE}/MacOS/Claude"], "Python"),
    (["/opt/bin/python3.12"], "python3.12"), ([f"{CLAUDE}/Helpers/disclaimer"], "Claude"),
    (["/opt/bin/python3.12", "/usr/sbin/sshd"], "python3.12"),
    (["/opt/bin/node", "/x/.app/y"], "node"),
])  # fmt: skip
def test_the_process_that_is_asked_for_is_the_one_that_inherits_to_us(
    paths: Sequence[str], shown: str
) -> None:
    chain = [
        RunningProcess(100 - row, path.rpartition("/")[2], path) for row, path in enumerate(paths)
    ]
    found = responsible_process([*chain, RunningProcess(1, "launchd", "/sbin/launchd")])
    assert found is not None
    assert shown_name(found) == shown


def test_what_macos_says_goes_before_what_the_tree_says() -> None:
    table = {
        7: [RunningProcess(7, "python", "/opt/bin/python")],
        9: [RunningProcess(9, "iTerm2", ITERM)],
    }
    assert resolve_responsible(7, lambda pid: 9, lambda pid: table.get(pid, [])) == "iTerm"
    assert resolve_responsible(7, lambda pid: None, lambda pid: table.get(pid, [])) == "python"
    assert "program" in resolve_responsible(8, lambda pid: None, lambda pid: table.get(pid, []))
    assert responsible_process([]) is None
    assert shown_name(RunningProcess(3, "login", "")) == "login"


def test_the_tree_of_processes_of_this_machine_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    responsible.responsible_name.cache_clear()
    assert responsible.responsible_name()

    def hidden(process: psutil.Process) -> str:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "exe", hidden)
    responsible.responsible_name.cache_clear()
    assert responsible.responsible_name() == "the program that started this one"
    responsible.responsible_name.cache_clear()


def test_a_process_that_is_gone_has_no_tree() -> None:
    assert resolve_responsible(2**22 + 1, lambda pid: None, responsible.process_chain) == (
        "the program that started this one"
    )


def test_the_page_of_errors_has_a_row_for_every_type() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in get_args(ErrorType):
        assert f"| {name} |" in text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("world", "known", "type_"), [
    ({}, False, "APP_NOT_FOUND"), ({"@dictionary": False}, True, "NOT_SUPPORTED"),
    ({"@errors": {"coregetd": -1743}}, True, "PERMISSION_DENIED"),
    ({"@errors": {"coregetd": -1728}}, True, "NOT_FOUND"),
    ({"@errors": {"coregetd": -600}}, True, "APP_NOT_RUNNING"),
    ({"@errors": {"coregetd": -1712}}, True, "TIMEOUT"),
])  # fmt: skip
def test_an_error_is_of_its_type_in_every_language(
    tables: Tables, language: str, world: dict[str, Any], known: bool, type_: ErrorType
) -> None:
    apps = [tables] if known else []
    simulator = Simulator(
        apps, {"diary": world} if known else {}, faults=FaultScenario(language=language)
    )
    target = (AllElements("journals"), ByIndex(0), PropertyStep("name"))
    read = Event("com.example.Diary", "application", "get", "coregetd", target=target, writes=False)
    with pytest.raises(ToolError) as caught:
        Executor(simulator).execute(read, app="Diary", command="diary_get")
    assert caught.value.type == type_
