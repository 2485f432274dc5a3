"""Every tool of every committed app, called on apps made from its own tables."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hard_profile import PROFILES, find_faults, play_calls
from jsonschema import Draft202012Validator
from remainder import REMAINDER, read_remainder
from samples import built, same_reads
from simulated import TOOLS
from unguarded import unguarded

from iac_base.errors import ToolError
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.serve.call import done_result
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.field import field_rows
from iac_simulator import Simulator

# A thousand calls over the same lines, which other tests count.
pytestmark = pytest.mark.uncounted

CATALOGUE = Catalogue([TOOLS])

# What these are about is not there in a simulated app that was just made.
LACKING = {
    "system_events_add_login_item", "system_events_get_wallpaper", "system_events_open",
    "system_events_set_wallpaper",
}  # fmt: skip


# A message is written before it is sent.
FIRST = dict.fromkeys(("mail_add_recipient", "mail_send", "mail_send_message"), "mail_make_message")


def fresh(name: str, catalogue: Catalogue = CATALOGUE) -> tuple[Gate, Simulator]:
    """Return a gate on newly made apps: an earlier call may have quit or emptied one."""
    row = catalogue.find_row(name)
    apps = [app for app in catalogue.apps.values() if app.key == row.module]
    simulator = Simulator([catalogue.load_tables(app) for app in apps])
    return unguarded(catalogue, simulator), simulator


def run_example(
    catalogue: Catalogue, name: str, answers: list[CompletedCall] | None = None
) -> ToolError | None:
    """Call a tool as its module shows; return why that failed, and add what it answers."""
    gate, simulator = fresh(name, catalogue)
    tool = catalogue.load_operation(name)
    if first := FIRST.get(name):
        assert isinstance(
            gate.call(Call(first, dict(catalogue.load_operation(first).spec.example))),
            CompletedCall,
        )
    try:
        done = gate.call(Call(name, dict(tool.spec.example), confirm=False))
        assert isinstance(done, CompletedCall)
        if answers is not None:
            answers.append(done)
    except ToolError as error:
        return error
    sent = [event.event for event in simulator.events]
    assert tool.spec.event in sent if tool.spec.op in ("command", "make", "set") else sent
    return None


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(CATALOGUE.tools))
def test_the_example_of_a_tool_is_understood(name: str) -> None:
    error = run_example(CATALOGUE, name)
    assert (error is None) == (name not in LACKING), error


READS = [n for n in sorted(CATALOGUE.tools) if CATALOGUE.load_operation(n).output is not None]


@pytest.mark.sweep
@pytest.mark.parametrize("name", READS)
def test_the_answer_to_an_example_fits_the_output_schema(name: str) -> None:
    answers: list[CompletedCall] = []
    run_example(CATALOGUE, name, answers)
    for done in answers:
        content = done_result(done)["structuredContent"]
        Draft202012Validator(dict(done.output or {})).validate(content)
        # Else the answer is in the note, and what is left fits any schema.
        assert "the app answered {" not in content.get("note", "")
    assert answers or name in LACKING


def test_each_read_has_an_output_schema_and_so_has_each_column_that_a_recipe_names() -> None:
    for name in CATALOGUE.tools:
        tool = CATALOGUE.load_operation(name)
        if tool.spec.op not in ("get", "list", "count"):
            continue
        assert tool.output is not None, name
        properties = tool.output.get("properties", {})
        if tool.spec.op == "list":
            assert tool.output["required"] == ["result"], name
            assert properties["result"]["items"]["required"] == ["ref"], name
            properties = properties["result"]["items"]["properties"]
        assert {*tool.spec.bind.get("properties", ())} <= properties.keys(), name


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(CATALOGUE.tools))
def test_an_example_on_a_hard_mac_comes_out_the_same_or_says_why(name: str) -> None:
    calls = (FIRST[name], name) if name in FIRST else (name,)
    friendly, hard = (play_calls(CATALOGUE, profile, *calls) for profile in PROFILES)
    faults = find_faults(CATALOGUE.find_row(name).app.id, friendly, hard)
    reason = read_remainder()["examples"].get(name, "")
    assert bool(faults) == bool(reason), f"{faults}, and {REMAINDER.name} says: {reason}"


def test_no_example_sets_what_the_app_refuses() -> None:
    for app in CATALOGUE.apps.values():
        plays = [row.get("play", {}) for row in field_rows(app.id, "refusal")]
        refused = {play["property"] for play in plays if play.get("verb") == "set"}
        names = [name for name in CATALOGUE.tools if CATALOGUE.find_row(name).app == app]
        examples = (CATALOGUE.load_operation(name).spec.example for name in names)
        assert not any(refused & {*one.get("properties", ())} for one in examples)


@pytest.mark.stress
def test_the_examples_of_every_dictionary_are_understood(corpus: Path, tmp_path: Path) -> None:
    catalogue = built(corpus / "sdef", tmp_path)
    failed = {n: error for n in sorted(catalogue.tools) if (error := run_example(catalogue, n))}
    # Objects of which there is only one cannot be moved or deleted, some dictionaries have no
    # way to their objects, and JavaScript takes an object given first for named parameters.
    assert len(failed) <= len(catalogue.tools) / 50, failed


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(CATALOGUE.tools))
def test_a_raw_event_is_the_event_that_jxa_sends(name: str) -> None:
    tool = CATALOGUE.load_operation(name)
    given = dict(tool.spec.example)
    sent = []
    for seconds in (100.0, 200.0):
        gate, simulator = fresh(name)
        try:
            outcome: Any = gate.call(Call(name, given, timeout=seconds, confirm=False))
        except ToolError as error:
            outcome = error.facts()
        # No tool of a committed app needs a raw event for what it is called with by default.
        assert seconds > 120 or not any(event.timeout for event in simulator.events)
        # What is asked in JXA's words before the call has no time of its own.
        sent.append(([event._replace(timeout=None) for event in simulator.events], outcome))
    assert sent[0] == sent[1]
    if tool.tables.app.kind == "application":
        assert {event.timeout for event in simulator.events} <= {None, 200.0}
        assert any(event.timeout for event in simulator.events)


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(CATALOGUE.tools))
def test_the_line_that_is_shown_sends_what_the_call_sends(name: str) -> None:
    given = dict(CATALOGUE.load_operation(name).spec.example)
    gate, called = fresh(name)
    done: object = None
    with contextlib.suppress(ToolError):
        done = gate.call(Call(name, given, confirm=False))
    gate, shown = fresh(name)
    line = gate.call(Call(name, given), dry_run=True).line
    shown(["osascript", "-l", "JavaScript", "-e", line], b"", 10)
    sent, more = called.events[: len(shown.events)], called.events[len(shown.events) :]
    assert sent
    if CATALOGUE.load_operation(name).spec.op == "list":
        found = bool(isinstance(done, CompletedCall) and done.value)
        assert same_reads(called.events, shown.events, found=found)
        return
    assert shown.events == sent
    # Beyond what the line says, the harness may only ask an object it was given for its id, and
    # the gate an original for the text that a reply quotes.
    asked = (".id", ".content") if name == "mail_reply" else (".id",)
    rest = [e for e in more if not (e.event == "coregetd" and str(e.direct).endswith(asked))]
    # Where an object is not there, its error says how many there are.
    assert all(done is None and e.event == "corecnte" for e in rest)
