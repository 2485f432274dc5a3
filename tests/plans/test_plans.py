"""Plans: checked, rehearsed, asked about once, held against their table, kept by name."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from plans_desk import CATALOGUE, ROOT, Desk

from iac_base.errors import (
    CallRefusedError,
    InvalidParameterError,
    SetupError,
    ToolError,
    pip_install,
)
from iac_mcp.cli.main import cli
from iac_plans.check import tool_signatures
from iac_plans.store import load_plans, pinned_tools
from iac_plans.tools import PlanStoppedError
from iac_runtime.gate.plans import CompletedCall, PendingCall
from iac_runtime.serve.stdio import PLANS, server_identity

FLAG = """
for row in mail.list("message", of="inbox", properties=["subject", "read status"]):
    if not row["read status"]:
        mail.set(row["ref"], properties={"flagged status": True})
"""
FLAGGED = {"element": "message", "of": "inbox", "where": {"flagged status": True}}


@pytest.mark.parametrize(("program", "says"), [
    ('notes.list("nte")', 'line 1: "nte" is not a name here. Nearest: note'),
    ("mail.lst()", "line 1: mail has no lst. Nearest: list"),
    ('mail.list("message", of="inbox")[0].subject', r'line 1: .* write \["subject"\]'),
    ('Mail.count("message")', "line 1: write mail, not Mail"),
    ('mail_count("message")', "line 1: write mail.count, not mail_count"),
    ('contacts.list("person")', "line 1: no app with tools is contacts"),
    ('mail.list("message", off=1)', "line 1: Argument off does not match"),
    ('x = 1\nmail.set("m", properties={"read staus": True})',
     "line 2: mail has no .*Nearest: read status"),
    ("import os", "line 1: a plan imports nothing"),
    ('mail.count("message") + "a"', "line 1: Operator . is not supported"),
    ("mail._x", "line 1: a plan has no attribute _x"),
    ("datetime.datetime(2026, 1, 1)", "line 1: write datetime, not datetime.datetime"),
    ("def f(", "line 1: .* was never closed"),
])  # fmt: skip
def test_what_is_wrong_with_a_program_is_a_line_each(desk: Desk, program: str, says: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"The plan was not run:\n{says}"):
        desk.ask("run_plan", program=program)
    assert desk.simulator.events == []


@pytest.mark.parametrize(("program", "result"), [
    ('list(map(lambda word: word.upper(), filter(None, ["a", ""])))', ["A"]),
    ('[*map(len, notes.list("note", properties=["name"]))]', [2, 2, 2]),
    ("import math, re, json\nfrom math import floor\n"
     'json.loads(re.sub("a", str(floor(math.pi)), "[a]"))', [3]),
    ("import datetime\ndatetime.datetime.now(datetime.timezone.utc) > datetime.datetime(2020, 1, 1,"
     " tzinfo=datetime.timezone.utc)", True),
    ('row = calendar.list("event", of="calendars[0]", properties=["start date"])[0]\n'
     'row["start date"] != datetime.now().astimezone()', True),
    ("def f(x: int): return x\nf('a')", "a"), ("total: int = None\ntotal", None),
])  # fmt: skip
def test_what_only_the_type_checker_doubts_runs(desk: Desk, program: str, result: Any) -> None:
    assert desk.plan(program) == result


@pytest.mark.parametrize(("program", "says"), [
    ('notes.list("note", properties=["name"])[0]["nme"]', "The keys of the rows are: ref, name."),
    ('notes.get("notes[0]", properties=["name"])["nme"]', "The keys of the rows are: name."),
    ('calendar.list("event", of="calendars[0]", properties=["start date"])[0]["start date"]'
     " > datetime.now()", "compare them with datetime.now.*astimezone"),
    ("nobody_knows", "name 'nobody_knows' is not defined"),
])  # fmt: skip
def test_what_goes_wrong_in_a_rehearsal_says_what_to_write(
    desk: Desk, program: str, says: str
) -> None:
    with pytest.raises(ToolError, match=says):
        desk.plan(program)


def test_a_call_of_the_wrong_form_is_shown_the_right_one(desk: Desk) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        desk.ask("run_plan", program='mail.set("inbox.messages[0]", {"flagged status": True}, 5)')
    form = "Write mail.set(target=..., properties=...); optional: timeout."
    assert caught.value.suggestion == form
    assert caught.value.next is not None
    assert caught.value.next.arguments == {"query": "mail_set"}


def test_a_read_takes_all_in_order_and_a_change_what_it_needs(desk: Desk) -> None:
    by_name = 'mail.count("message", of="inbox", where={"read status": False})'
    assert desk.plan('mail.count("message", "inbox", {"read status": False})') == desk.plan(by_name)
    assert desk.plan('mail.set("inbox.messages[0]", {"flagged status": True})') is None
    assert desk.read("mail_get", target="inbox.messages[0]", properties=["flagged status"]) == {
        "flagged status": True
    }


def test_reading_asks_nothing_and_gives_back_the_result_alone(desk: Desk) -> None:
    rows = 'mail.list("message", of="inbox", properties=["subject"])'
    subjects = desk.plan(f'[row["subject"] for row in {rows}][:1]')
    assert subjects == ["Lunch on Thursday?"]
    assert desk.questions == []


def test_one_question_shows_every_change_and_the_run_makes_them(desk: Desk) -> None:
    before = desk.read("mail_count", **FLAGGED)
    assert desk.plan(FLAG) is None
    (question,) = desk.questions
    one, two, three, *_ = question.splitlines()
    assert one == "Claude wants to run a plan: flag 2 messages in Mail:"
    assert '"Lunch on Thursday?"' in two
    assert '"Minutes of the board meeting"' in three
    assert desk.read("mail_count", **FLAGGED) != before


def test_a_rehearsal_changes_nothing_and_answers_with_the_table(desk: Desk) -> None:
    state = desk.simulator.state()
    found = desk.run("rehearse_plan", program=FLAG)
    (row,) = found["effects"]
    assert (row["does"], row["count"], found["level"]) == ("change message in Mail", 2, "MODIFY")
    assert row["values"] == {"flagged status": [True]}
    assert desk.simulator.state() == state
    assert desk.questions == []


def test_what_the_plan_makes_is_used_and_shown_by_the_call_that_makes_it(desk: Desk) -> None:
    made = desk.plan("""
note = notes.make_note("Milk")
notes.set(note, properties={"body": "Two bottles"})
notes.get(note, properties=["plaintext"])
""")
    assert "Two bottles" in made["plaintext"]
    assert "the note that call 1 makes" in desk.questions[0]


def test_a_program_hands_a_text_on_with_all_that_is_hidden_in_it(desk: Desk) -> None:
    hidden = "Dear\u200b Ines, see you on Monday"
    desk.meanwhile("notes_make", element="note", properties={"name": hidden})
    found = desk.ask("run_plan", program=f"{NAMES}\n[name for name in names if 'Ines' in name]")
    assert found.value["result"] == [hidden.replace("\u200b", "")]
    assert found.note == "hidden characters are left out of a text"
    copy = "for name in names:\n    if 'Ines' in name:\n        notes.make_note(name)"
    desk.plan(f"{NAMES}\n{copy}")
    names = [row["name"] for row in desk.run("notes_list", element="note", raw=True)]
    assert names.count(hidden) == 2


NAMES = 'names = [row["name"] for row in notes.list("note", properties=["name"])]'


def test_what_lies_deeper_in_an_app_is_made_and_used_too(desk: Desk) -> None:
    said = desk.plan("""
start = datetime(2026, 3, 6, 9, tzinfo=timezone.utc)
times = {"start date": start, "end date": start + timedelta(hours=1)}
tea = {"summary": "Tea", **times}
event = calendar.make("event", properties=tea, at='calendars["Home"].events')
calendar.set(event, properties={"location": "Garden"})
calendar.get(event, properties=["summary", "location"])
""")
    assert said == {"summary": "Tea", "location": "Garden"}


@pytest.mark.parametrize("at", ["notes[0]", 'folders["Notes"].notes[0]'])
def test_what_was_at_a_position_is_moved_into_what_the_plan_makes(desk: Desk, at: str) -> None:
    first = desk.run("notes_get", target=at, properties=["name"])["name"]
    made = 'made = notes.make("folder", properties={"name": "New"})'
    moved = desk.plan(f"""{made}
notes.move({at!r}, to=made)
[row["name"] for row in notes.list("note", of=made, properties=["name"])]""")
    assert moved == [first]


def test_what_a_plan_took_something_from_can_be_deleted(desk: Desk) -> None:
    desk.plan("""notes.delete('folders["Notes"].notes[0]')\nnotes.delete('folders["Notes"]')""")
    names = [row["name"] for row in desk.run("notes_list", element="folder")]
    assert "Notes" not in names


def test_positions_count_without_what_the_plan_deleted(desk: Desk) -> None:
    names = [row["name"] for row in desk.run("notes_list", element="note")]
    desk.plan('notes.delete("notes[1]")\nnotes.delete("notes[0]")\nnotes.delete("notes[0]")')
    assert [row["name"] for row in desk.run("notes_list", element="note")] == names[3:]


@pytest.mark.parametrize("program", [
    'notes.make_note("a")\nnotes.delete("notes[0]")',
    'made = notes.make("folder")\nnotes.move("notes[0]", to=made)\nnotes.delete("notes[0]")',
])  # fmt: skip
def test_a_position_that_the_plan_moves_is_refused_before_anything_runs(
    desk: Desk, program: str
) -> None:
    with pytest.raises(InvalidParameterError, match="A call names an object by its pos"):
        desk.plan(program)
    assert not desk.questions


def test_a_rehearsal_sees_what_it_changed(desk: Desk) -> None:
    found = desk.run(
        "rehearse_plan",
        program="""
first, second, *_ = reminders.list("reminder", properties=["name", "completed"])
reminders.set(first["ref"], properties={"completed": True})
reminders.delete(second["ref"])
rows = reminders.list("reminder", properties=["name", "completed"])
[rows[0]["completed"], rows[1]["name"] == second["name"]]
""",
    )
    assert found["result"] == [True, False]


def test_a_change_of_the_world_before_the_answer_is_never_acted_on(desk: Desk) -> None:
    asked = desk.ask("run_plan", program=FLAG)
    assert isinstance(asked, PendingCall)
    one = desk.read("mail_list", element="message", of="inbox", limit=1)[0]["ref"]
    desk.run("mail_set", target=one, properties={"read status": True})
    refused = desk.answer(asked, "run_plan", program=FLAG)
    assert not isinstance(refused, CompletedCall)
    assert desk.read("mail_get", target=one, properties=["flagged status"]) == {
        "flagged status": False
    }


def test_beyond_its_table_a_plan_stops_and_says_how_far_it_came(desk: Desk) -> None:
    asked = desk.ask("run_plan", program=FLAG)
    assert isinstance(asked, PendingCall)
    read = desk.read("mail_list", element="message", of="inbox", where={"read status": True})
    lists = []

    def between(event: Any) -> None:
        """After the last rehearsal, before the run reads, one more comes to be unread."""
        lists.extend([event] if event.op == "list" else [])
        if event.op == "list" and len(lists) == 2:
            desk.meanwhile("mail_set", target=read[0]["ref"], properties={"read status": False})

    desk.before_each(between)
    with pytest.raises(PlanStoppedError, match="its table did not show") as stopped:
        desk.answer(asked, "run_plan", program=FLAG)
    facts = stopped.value.facts()
    assert len(facts["done"]) == 1
    assert "Lunch" in facts["done"][0]
    assert len(facts["not_done"]) == 1
    assert facts["undo"]


def test_a_policy_that_denies_a_call_of_a_plan_refuses_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IAC_DATA", str(tmp_path))
    desk = Desk(policy='[[deny]]\ntool = "notes_delete"')
    program = 'made = notes.make_note("a")\nnotes.delete(made)'
    refused = desk.ask("run_plan", program=program)
    assert "call 2 of 2" in refused.reason
    assert not [event for event in desk.simulator.events if event.code == "corecrel"]
    with pytest.raises(CallRefusedError, match="denies this call"):
        Desk(policy='[[deny]]\ntool = "run_plan"').ask("run_plan", program=FLAG)


def test_a_rule_that_asks_about_plans_asks_where_every_change_is_allowed() -> None:
    allowed = "preset = 'trusted'\n"
    assert isinstance(Desk(policy=allowed).ask("run_plan", program=FLAG), CompletedCall)
    rule = Desk(policy=f'{allowed}[[ask]]\ntool = "run_plan"')
    assert isinstance(rule.ask("run_plan", program=FLAG), PendingCall)


def test_limits_end_a_program(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iac_plans.interpreter.CALLS", 5)
    with pytest.raises(ToolError, match="at most 5 calls"):
        desk.ask("run_plan", program="for i in range(6):\n    notes.make_note(str(i))")
    with pytest.raises(ToolError, match="can return text, numbers"):
        desk.ask("run_plan", program="10**400")


def test_without_the_sandbox_a_plan_says_how_to_get_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    with pytest.raises(SetupError, match=re.escape(pip_install("plans"))):
        desk.ask("run_plan", program="1")


def test_instructions_name_plans_where_they_are_listed() -> None:
    assert PLANS not in server_identity("search").instructions
    assert (
        server_identity("search,plans").instructions
        == server_identity("search").instructions + PLANS
    )
    assert len(PLANS) / 4 <= 60


def test_a_signature_is_in_the_form_of_a_program() -> None:
    (said,) = tool_signatures(CATALOGUE, ("notes_make_note",))
    assert said == (
        "notes.make_note(name: str, *, body: str | None=None, folder: Ref | None=None,"
        " text_format: Literal['plain', 'html', 'markdown'] | None=None) -> Ref"
    )


KEPT = '''from typing import Literal

from iac_tools import mail


def flag_from(sender: str, limit: int = 20) -> int:
    """Flag the messages of a sender."""
    rows = mail.list("message", of="inbox", properties=["sender"], limit=limit)
    found = [row for row in rows if sender in row["sender"]]
    for row in found:
        mail.set(row["ref"], properties={"flagged status": True})
    return len(found)
'''


def test_a_kept_plan_is_listed_shown_run_pinned_and_removed(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "flagging.py"
    file.write_text(KEPT)

    def said(*words: str) -> str:
        return CliRunner().invoke(cli, ["plans", *words], catch_exceptions=False).output

    assert said("add", "--pin", str(file)) == "flag_from is saved, and listed as a tool.\n"
    team = tmp_path / "tools" / "plans"
    team.mkdir(parents=True)
    (team / "team.py").write_text(KEPT.replace("flag_from", "flag_all_from"))
    assert load_plans([team.parent]).keys() == {"flag_from", "flag_all_from"}
    assert said("list") == "* flag_from(sender, limit)  Flag the messages of a sender.\n"
    assert said("show", "flag_from") == KEPT
    found = desk.run("run_plan", plan="flag_from", arguments={"sender": "ines@"})
    assert (found["result"], found["changes"]) == (1, 1)
    with pytest.raises(InvalidParameterError, match="Missing required argument: sender"):
        desk.ask("run_plan", plan="flag_from")
    (tool,) = pinned_tools()
    assert (tool.name, tool.input["required"]) == ("plan_flag_from", ["sender"])
    asked = desk.gate.call(_call(tool.name, sender="tom@"), tool=tool)
    assert isinstance(asked, PendingCall)
    assert "run a plan: flag a message in Mail:" in asked.question.text
    assert said("remove", "flag_from") == "flag_from is removed.\n"
    assert said("list") == ""


def _call(tool: str, **arguments: Any) -> Any:
    from plans_desk import ASKED

    from iac_runtime.gate.plans import Call

    return Call(tool, arguments, ASKED)


def test_a_plan_with_faults_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))
    file = tmp_path / "wrong.py"
    file.write_text(KEPT.replace("flagged status", "flaged status"))
    with pytest.raises(InvalidParameterError, match="Nearest: flagged status"):
        CliRunner().invoke(cli, ["plans", "add", str(file)], catch_exceptions=False)
    file.write_text(KEPT.replace("sender: str", "sender"))
    with pytest.raises(SetupError, match="sender needs a type"):
        CliRunner().invoke(cli, ["plans", "add", str(file)], catch_exceptions=False)


PAGE = (ROOT / "docs" / "plans.md").read_text("utf-8")
TASKS = re.findall(r"^## \d\. (.*?)\n.*?```python\n(.*?)```.*?```json\n(.*?)```", PAGE, re.S | re.M)


@pytest.mark.sweep
@pytest.mark.parametrize(("title", "program", "answer"), TASKS, ids=[row[0] for row in TASKS])
def test_the_worked_tasks_answer_as_the_page_says(
    desk: Desk, title: str, program: str, answer: str
) -> None:
    assert len(TASKS) == 5
    assert desk.plan(program) == json.loads(answer), title
    assert len(desk.questions) <= 1
