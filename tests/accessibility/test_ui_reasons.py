"""Every reason of an error, from a real app: the table in docs/accessibility.md and this one agree.

What no app here can be brought to is not in `CASES`: a refusal of macOS and a failure behind the
bridge come from an app in memory.
"""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from ui_calls import perform, prepare
from ui_memory import APP, Memory, node, tree
from ui_reasons import CASES, raised
from ui_user import User

from iac_accessibility.model import AccessDenied, ActionFailed, Handle
from iac_accessibility.toolset import UiToolset, open_bridge

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "accessibility.md").read_text(encoding="utf-8")


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize(("reason", "type_"), CASES, ids=lambda value: value)
def test_a_real_app_gives_this_reason(gtk: User, start: Any, reason: str, type_: str) -> None:
    facts = CASES[reason, type_](gtk, start)
    assert (facts["reason"], facts["type"]) == (reason, type_)
    assert facts["message"]
    assert facts["guidance"]
    assert facts["operation"]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs Linux")
def test_a_session_without_a_bus_has_no_interface(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("jeepney")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    facts = raised(open_bridge)
    assert (facts["reason"], facts["type"]) == ("no_interface", "UNAVAILABLE")


@pytest.mark.parametrize(("fault", "reason", "type_"), [
    (ActionFailed("the app refused the action"), "failed", "EXECUTION_ERROR"),
    (AccessDenied("not trusted"), "no_permission", "PERMISSION_DENIED"),
])  # fmt: skip
def test_what_the_bridge_is_told_of_an_action(fault: Exception, reason: str, type_: str) -> None:
    class Refusing(Memory):
        def perform_action(self, handle: Handle, action: str, timeout: float) -> None:
            raise fault

    button = node("b", "button", "Go", actions=("press",))
    rows = {"app": node("app", "application", "", "w"), "w": node("w", "window", "A", "b")}
    toolset = UiToolset(Refusing(tree({**rows, "b": button})))
    path = "window[@title='A']/button[@title='Go']"
    call = {"app": APP.pid, "element": path, "action": "press"}
    plan = prepare(toolset, "perform_action", call)
    facts = raised(lambda: perform(plan))
    assert (facts["reason"], facts["type"]) == (reason, type_)


ELSEWHERE = {
    # In `test_ui_hands`, on an app of their own.
    ("app_modal", "TIMEOUT"),
    ("focus_lost", "REFUSED"),
    ("not_exact", "EXECUTION_ERROR"),
    ("not_shown", "NOT_SUPPORTED"),
    ("no_window", "NOT_SUPPORTED"),
    ("app_gone", "NOT_FOUND"),
    ("failed", "EXECUTION_ERROR"),
    ("no_interface", "UNAVAILABLE"),
    ("no_permission", "PERMISSION_DENIED"),
}


def test_the_table_of_reasons_is_whole() -> None:
    table = PAGE.partition("| reason | type |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if re.match(r"\| [a-z]", line)]
    told = {name.strip(): types for names, types in rows for name in names.split(",")}
    tried = {reason for reason, _ in (*CASES, *ELSEWHERE)}
    assert set(told) == tried
    assert [pair for pair in (*CASES, *ELSEWHERE) if pair[1] not in told[pair[0]]] == []


def test_every_reason_in_the_code_is_in_the_table() -> None:
    found = {
        word.value.value
        for file in (ROOT / "runtime" / "iac_accessibility").rglob("*.py")
        for word in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(word, ast.keyword) and word.arg == "reason"
        if isinstance(word.value, ast.Constant)
    }
    assert found == {reason for reason, _ in (*CASES, *ELSEWHERE)}
