"""Texts that an app keeps as HTML: what a caller writes is what the note says afterwards."""

from typing import Any

import pytest
from simulated import TOOLS, shipped_catalogue, simulate_apps
from simulated import run_tool as run

import iac_runtime
from iac_base.errors import InvalidParameterError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, PendingCall
from iac_runtime.language.html_text import as_html, is_html, plain_text
from iac_runtime.policy.permissions import Requester, open_permissions
from iac_simulator import Simulator
from iac_simulator.simulator import demo_state

ASKED = Requester("Claude", ("client",))
ODD = "R&D: a < b && b > c\n\n  two spaces  in it\n&amp; stays, <x y> too"
"""A text that HTML would change: signs, an empty line, spaces in a row, an entity."""

NEW = {"name": "Oats & more", "body": ODD}


def gate_of(world: dict[str, Any] | Simulator, allow: Any = "DANGEROUS") -> Gate:
    known, permissions = shipped_catalogue(), open_permissions()
    simulator = world if isinstance(world, Simulator) else simulate_apps(known, world)
    return Gate(known, Executor(simulator), allow, home="/Users/me", permissions=permissions)


@pytest.fixture(name="gate")
def simulated_gate() -> Gate:
    return gate_of(demo_state())


def text_of(gate: Gate, note: str) -> str:
    said: str = run(gate, "notes_read_note", note=note).value["plaintext"]
    return said


@pytest.mark.parametrize(("tool", "arguments"), [
    ("notes_make_note", NEW),
    ("notes_make", {"element": "note", "properties": NEW}),
])  # fmt: skip
def test_a_new_note_says_what_was_given(gate: Gate, tool: str, arguments: dict[str, Any]) -> None:
    made = run(gate, tool, **arguments)
    assert made.outcome is not None
    assert made.outcome.state == "confirmed"
    assert text_of(gate, made.value) == f"Oats & more\n{ODD}"
    assert run(gate, "notes_get", target=made.value, properties=["name"]).value == {
        "name": "Oats & more"
    }


@pytest.mark.parametrize(("tool", "arguments"), [
    ("notes_write_note", {"body": ODD}),
    ("notes_set", {"properties": {"body": ODD}}),
    ("notes_set", {"properties": {"body": ODD}, "text_format": "plain"}),
])  # fmt: skip
def test_a_text_that_is_replaced_says_what_was_given(
    gate: Gate, tool: str, arguments: dict[str, Any]
) -> None:
    key = "note" if tool == "notes_write_note" else "target"
    written = run(gate, tool, **{key: "notes[0]", **arguments})
    assert written.outcome is not None
    assert written.outcome.state == "confirmed"
    assert written.outcome.read == {"body": ODD}
    assert text_of(gate, "notes[0]") == ODD


def test_a_copy_is_given_a_plain_text() -> None:
    simulator = simulate_apps(shipped_catalogue(), demo_state())
    copied = {"target": "notes[0]", "with_properties": {"body": "<3 & more"}}
    run(gate_of(simulator), "notes_duplicate", **copied)
    sent = next(event for event in simulator.events if event.event == "coreclon")
    assert "<div>&lt;3 &amp; more</div>" in str(sent.params)


def test_a_title_that_the_text_has_stands_there_once(gate: Gate) -> None:
    made = run(gate, "notes_make_note", name="Oats", body="<h1>Oats</h1>5 kg", text_format="html")
    assert text_of(gate, made.value).split() == ["Oats", "5", "kg"]


def test_text_is_added_and_what_was_there_stays(gate: Gate) -> None:
    before = run(gate, "notes_get", target="notes[0].body").value
    added = run(gate, "notes_append_to_note", note="notes[0]", text=ODD)
    assert added.outcome is not None
    assert added.outcome.state == "confirmed"
    assert run(gate, "notes_get", target="notes[0].body").value == before + as_html(ODD, "plain")
    run(gate, "undo_call", call=added.outcome.call)
    assert run(gate, "notes_get", target="notes[0].body").value == before


def test_any_text_can_grow(gate: Gate) -> None:
    """An app without HTML has the text as it is given."""
    was = run(gate, "reminders_get", target="reminders[0]", properties=["name"]).value["name"]
    more = {"name": {"append": " <today>"}}
    run(gate, "reminders_set", target="reminders[0]", properties=more)
    now = run(gate, "reminders_get", target="reminders[0]", properties=["name"]).value
    assert now == {"name": f"{was} <today>"}


@pytest.mark.parametrize(
    "text", ["<p>Milk</p>", "one<br>two", '<div class="x">a</div>', "<UL><LI>a</LI></UL>"]
)
def test_html_is_never_written_out_by_mistake(gate: Gate, text: str) -> None:
    before = text_of(gate, "notes[0]")
    with pytest.raises(InvalidParameterError, match='text_format: "html"') as failed:
        run(gate, "notes_write_note", note="notes[0]", body=text)
    proposed = failed.value.next
    assert proposed is not None
    assert text_of(gate, "notes[0]") == before
    run(gate, proposed.tool, **proposed.arguments)
    assert run(gate, "notes_get", target="notes[0].body").value == text
    run(gate, "notes_write_note", note="notes[0]", body=text, text_format="plain")
    assert text_of(gate, "notes[0]") == text


@pytest.mark.parametrize(
    "text", ["a < b > c", "if x<b and b>c", "the <b> tag", "List<String> x", "<3"]
)
def test_signs_alone_are_no_html(text: str) -> None:
    assert not is_html(text)
    assert plain_text(as_html(text, "plain")) == text


def test_markdown_is_written_as_what_it_means(gate: Gate) -> None:
    said = "# Trip\n\n- **bag**\n- _map_ & `a<b`\n\n[Hotel](https://example.org/?a=1&b=2)\nlate <b>"
    run(gate, "notes_write_note", note="notes[0]", body=said, text_format="markdown")
    body = run(gate, "notes_get", target="notes[0].body").value
    assert "<h1>Trip</h1>" in body
    assert "<li><strong>bag</strong></li>" in body
    lines = text_of(gate, "notes[0]").split("\n")
    # Notes drops the address of a link.
    assert "Hotel (https://example.org/?a=1&b=2)" in lines
    assert {"bag", "map & a<b", "late <b>"} <= {*lines}


def test_reading_a_body_says_that_it_is_html(gate: Gate) -> None:
    for arguments in ({"target": "notes[0].body"}, {"target": "notes[0]", "properties": ["body"]}):
        assert "body is HTML" in run(gate, "notes_get", **arguments).note
    assert "body is HTML" not in run(gate, "notes_read_note", note="notes[0]").note


def note_with(body: str, *attachments: str) -> dict[str, Any]:
    world = demo_state()
    note = world["notes"]["accounts"][0]["folders"][0]["notes"][0]
    note |= {"body": body, "attachments": [{"id": one, "name": one} for one in attachments]}
    return world


@pytest.mark.parametrize(("world", "said"), [
    (note_with("<div>a</div>", "map.pdf"), "the attachments are lost"),
    (note_with("<ul><li>a</li></ul>"), "a checklist in it becomes a list without ticks"),
])  # fmt: skip
def test_a_question_says_what_writing_a_text_loses(world: dict[str, Any], said: str) -> None:
    for tool, key in (("notes_write_note", "body"), ("notes_append_to_note", "text")):
        gate = gate_of(world, "SAFE")
        asked = gate.call(Call(tool, {"note": "notes[0]", key: "a < b"}, ASKED))
        assert isinstance(asked, PendingCall)
        assert said in asked.question.text
        # A person reads the text, not its HTML.
        assert "a < b" in asked.question.text


def test_attachments_are_no_promise_of_an_undo_where_nobody_was_asked() -> None:
    gate = gate_of(note_with("<div>a</div>", "map.pdf"))
    written = run(gate, "notes_write_note", note="notes[0]", body="b")
    assert written.outcome is not None
    assert written.outcome.undo == "the attachments are lost"


def test_python_writes_plain_text_too() -> None:
    with iac_runtime.connect(simulate=True, tools=TOOLS):
        from iac_tools import notes

        note = notes.app.notes[0]
        note.body.set(ODD)
        assert note.plaintext() == ODD
        note.body.set("<div>b</div>", text_format="html")
        assert note.body() == "<div>b</div>"
        made = notes.app.notes.make(name="Plan", body="*a* < b", text_format="markdown")
        assert made.plaintext() == "Plan\na < b"
