"""A reply that is given a text keeps the original, and a forward its attachments."""

from typing import Any

import pytest
from simulated import run_tool, shipped_catalogue, simulate_apps

from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.quotes import QuotedOriginals
from iac_runtime.language.steps import (
    AllElements,
    ById,
    ByIndex,
    Event,
    PropertyStep,
    RefValue,
)
from iac_simulator.simulator import demo_state

MAIL = "com.apple.mail"
MESSAGE = "inbox.messages[0]"


@pytest.fixture(name="gate")
def simulated_gate() -> Gate:
    world = demo_state()
    world["mail"]["inbox"]["messages"][0]["content"] = "Shall we meet?\n\nAt noon"
    known = shipped_catalogue()
    return Gate(known, Executor(simulate_apps(known, world)), "DANGEROUS", home="/Users/me")


def run(gate: Gate, tool: str, /, **arguments: Any) -> Any:
    return run_tool(gate, tool, **arguments).value


@pytest.mark.parametrize("more", [{}, {"opening_window": False}, {"reply_to_all": True}])
def test_a_reply_has_the_text_above_the_quote(gate: Gate, more: dict[str, bool]) -> None:
    reply = run(gate, "mail_reply", target=MESSAGE, **more)
    for said in ("Yes, gladly", "No <sorry>"):
        run(gate, "mail_set", target=reply, properties={"content": said})
        text = run(gate, "mail_get", target=reply, properties=["content"])["content"]
        assert text == f"{said}\n\n> Shall we meet?\n>\n> At noon"


@pytest.mark.parametrize(("tool", "more", "says"), [
    ("mail_reply", {"opening_window": True}, "opening_window: false"),
    ("mail_forward", {}, "without a text"),
    ("mail_forward", {"opening_window": True}, "without a text"),
])  # fmt: skip
def test_what_would_be_sent_empty_takes_no_text(
    gate: Gate, tool: str, more: dict[str, bool], says: str
) -> None:
    made = run(gate, tool, target=MESSAGE, **more)
    before = run(gate, "mail_get", target=made, properties=["content"])
    with pytest.raises(ToolError) as failed:
        run(gate, "mail_set", target=made, properties={"content": "See below"})
    assert says in failed.value.suggestion
    assert run(gate, "mail_get", target=made, properties=["content"]) == before
    run(gate, "mail_set", target=made, properties={"subject": "Lunch"})


def test_a_new_message_has_the_text_that_it_is_given(gate: Gate) -> None:
    made = run(gate, "mail_make_message", subject="a", content="b")
    run(gate, "mail_set", target=made, properties={"content": "c"})
    assert run(gate, "mail_get", target=made, properties=["content"]) == {"content": "c"}


def test_an_original_that_cannot_be_read_is_not_replaced() -> None:
    def fail(_event: Event) -> Any:
        raise ToolError("TIMEOUT", "Mail did not answer.")

    known = QuotedOriginals()
    original = (PropertyStep("inbox"), AllElements("messages"), ByIndex(0))
    made = Event(MAIL, "application", "command", "emalrpms", direct=RefValue(original))
    known.remember(made, "quoted", "outgoingMessages.byId(7)", fail)
    target = (AllElements("outgoingMessages"), ById(7))
    write = Event(MAIL, "application", "set", "", target=target, named=(("content", "Yes"),))
    with pytest.raises(ToolError, match="could not be read"):
        known.with_quote(write)
