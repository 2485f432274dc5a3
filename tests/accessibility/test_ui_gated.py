"""The tools behind the gate, on a real app: who is asked, how often, and what is shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from simulated import permissions_under
from ui_user import User

from iac_accessibility.toolset import open_toolset
from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.limiter import Limiter, RateLimits, RateWindow
from iac_runtime.gate.plans import Call, CallAnswer, CompletedCall, PendingCall, RefusedCall
from iac_runtime.policy.permissions import Requester
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import added_tools, toolset_tools

pytestmark = pytest.mark.process

ASKED = Requester("tester", ("client",))
ROW = "window[@title='Fixture']/group[0]/group[0]"
Calls = Callable[..., CallAnswer]


@pytest.fixture
def calls(gtk: User, generated: Path) -> Callable[..., Calls]:
    """Return a gate's calls about the app; the keywords are the gate's own."""

    def made(**more: Any) -> Calls:
        catalogue, executor = Catalogue([generated]), Executor()
        gate = Gate(
            catalogue,
            executor,
            home="/Users/me",
            added=added_tools,
            kept={open_toolset: gtk.toolset},
            **more,
        )

        def call(tool: str, *, answer: str = "", **arguments: Any) -> CallAnswer:
            asked = Call(tool, {"app": gtk.app.pid, **arguments}, ASKED)
            outcome = gate.call(asked)
            if answer and isinstance(outcome, PendingCall):
                outcome = gate.call(asked._replace(token=outcome.token, verdict=answer))
            return outcome

        return call

    return made


def press(call: Calls, title: str, answer: str = "", row: str = ROW) -> CallAnswer:
    path = f"{row}/button[@title='{title}']"
    return call("perform_action", element=path, action="press", answer=answer)


def test_an_answer_holds_for_the_window_until_the_server_ends(calls: Callable[..., Calls]) -> None:
    call = calls()
    assert isinstance(call("get_ui_tree", depth=5), CompletedCall)
    asked = press(call, "Press")
    assert isinstance(asked, PendingCall)
    assert (asked.level, "Fixture" in asked.question.line) == ("MODIFY", True)
    assert isinstance(press(call, "Press", "once"), CompletedCall)
    assert isinstance(press(call, "Second"), CompletedCall)
    # Another window, and another server, are asked about.
    assert isinstance(press(call, "Press", row="window[@title='Second window']"), PendingCall)
    assert isinstance(press(calls(), "Press"), PendingCall)


def test_what_is_dangerous_is_asked_about_every_time(calls: Callable[..., Calls]) -> None:
    call = calls()
    asked = press(call, "Delete")
    assert isinstance(asked, PendingCall)
    assert asked.level == "DANGEROUS"
    assert "delete" in asked.question.text.casefold()
    assert isinstance(press(call, "Delete", "once"), CompletedCall)
    assert isinstance(press(call, "Delete", "once"), CompletedCall)
    assert isinstance(press(call, "Delete", "decline"), RefusedCall)
    found = call("find_element", title="count")
    assert isinstance(found, CompletedCall)
    assert found.value["elements"][0]["title"] == "count 2"


def test_a_secret_is_not_shown_where_it_is_asked_about(calls: Callable[..., Calls]) -> None:
    call = calls()
    path = "window[@title='Fixture']/group[0]/secure_text_field[@title='Passphrase']"
    asked = call("set_value", element=path, value="correct horse")
    assert isinstance(asked, PendingCall)
    assert asked.level == "DANGEROUS"
    assert "correct horse" not in str(asked)
    assert "to a secret." in asked.question.text
    assert isinstance(call("set_value", element=path, value="x", answer="once"), CompletedCall)


def test_nothing_is_changed_where_only_reads_run(calls: Callable[..., Calls]) -> None:
    call = calls(permissions=permissions_under("read_only = true"))
    assert isinstance(press(call, "Press"), RefusedCall)
    assert isinstance(call("click_menu", menu_path="File > Save"), RefusedCall)
    assert isinstance(call("list_windows"), CompletedCall)
    changing = {tool.name for tool in toolset_tools(("accessibility",)) if tool.ceiling != "SAFE"}
    assert {"perform_action", "set_value", "click_menu"} < changing
    assert isinstance(call("press_keys", keys=["a"]), RefusedCall)


def test_errors_of_the_gate_say_operation_and_guidance_as_the_tools_own_do(
    calls: Callable[..., Calls],
) -> None:
    call = calls(permissions=permissions_under("read_only = true"))
    refused = press(call, "Press")
    assert isinstance(refused, RefusedCall)
    told = [refused.facts()]
    for tool, arguments in (
        ("get_ui_tree", {"depth": 0}),
        ("find_element", {"colour": "red"}),
        ("wait_for", {"title": 5}),
        ("set_value", {"element": "e1"}),
        ("perform_action", {"element": "e999999", "action": "press"}),
    ):
        with pytest.raises(ToolError) as caught:
            call(tool, **arguments)
        told.append(caught.value.facts())
    for facts in told:
        assert facts["operation"] == facts["command"]
        assert facts["guidance"].endswith((".", "…")), facts
    assert {facts["type"] for facts in told} == {"REFUSED", "INVALID_PARAMETER", "NOT_FOUND"}


def test_calls_that_come_too_fast_are_delayed_and_that_is_said(
    calls: Callable[..., Calls], tmp_path: Path
) -> None:
    limits = RateLimits(writes=RateWindow(2, 0.5))
    call = calls(limiter=Limiter(tmp_path, limits), allow="MODIFY")
    answers = [press(call, "Press") for _ in range(3)]
    values = [answer.value for answer in answers if isinstance(answer, CompletedCall)]
    assert len(values) == 3
    assert ["rate_limit_warning" in value for value in values] == [False, False, True]


def test_the_platform_is_opened_by_the_first_call(
    desk: Any, gtk: User, generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", desk.env["DBUS_SESSION_BUS_ADDRESS"])
    catalogue, executor = Catalogue([generated]), Executor()
    gate = Gate(catalogue, executor, home="/Users/me", added=added_tools)
    try:
        outcome = gate.call(Call("list_windows", {"app": gtk.app.pid}, ASKED))
        assert isinstance(outcome, CompletedCall)
        assert outcome.value["windows"][0]["title"] == "Fixture"
    finally:
        gate.close()
