"""Two tasks, played in this process; `nox -s tasks` plays all of them on servers of their own."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from player import ABLE, Answer, play, read_tasks, world
from test_row_texts import Person, asker

from iac_base.errors import InvalidParameterError, ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import HOME, GateOptions, build_gate, open_simulation
from iac_runtime.gate.plans import Call, RefusedCall
from iac_runtime.language import compose
from iac_runtime.language.compose import default_columns
from iac_runtime.language.steps import local_day, read_date
from iac_runtime.serve.call import unwrap_call_tool
from iac_runtime.serve.http_sdk import build_server
from iac_runtime.serve.listing import Choice, Listings
from iac_runtime.serve.rebuild import LazyGate
from iac_runtime.serve.stdio import server_identity
from iac_runtime.serve.tool_pages import any_page
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import call_tool_for
from iac_runtime.tools.tables import Tables

TASKS = {task["words"]: task for task in read_tasks()}
CHOSEN = (
    "Which events are there? (asked the wrong way, mended by the answer)",
    "I have bought milk.",
)


def play_here(words: str, folder: Path, generated: Path, profile: str = "") -> list[str]:
    """Return what is wrong with a task that is played in this process."""
    state = folder / f"{len(words)}.json"
    state.write_text(json.dumps(world()), "utf-8")
    lines = Listings([generated], Choice())
    options = GateOptions([generated], f"{profile}{state}")
    with closing(LazyGate(lines, partial(build_gate, options))) as backing:
        server = build_server(backing.open_methods(54.0), lines, server_identity())
        return anyio.run(play, TASKS[words], server, state).wrong


def test_a_task_is_reached_within_its_budget(tmp_path: Path, generated: Path) -> None:
    for words in CHOSEN:
        assert play_here(words, tmp_path, generated) == []


HARD = [
    words
    for words, task in TASKS.items()
    if {"Calendar", "Reminders"} & {given.get("app") for _, given in task["plan"]}
]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("words", HARD)
def test_a_task_is_reached_on_apps_that_act_like_real_ones(
    words: str, tmp_path: Path, generated: Path
) -> None:
    assert play_here(words, tmp_path, generated, "hard:") == []


def test_a_person_is_asked_little_in_everyday_sessions() -> None:
    program = Path(__file__).parents[2] / "benchmarks" / "sessions.py"
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_task_says_what_it_may_cost() -> None:
    assert len(TASKS) >= 20
    for task in TASKS.values():
        assert task["budget"].keys() == {"calls", "tokens", "questions"}
        assert task["budget"]["calls"] == len(task["plan"])


# What a list shows where nothing is asked for: what a person would look at.


TABLE = json.loads(Path(compose.__file__).with_name("columns.json").read_text("utf-8"))
DULL = {"id", "uid", "index", "all headers", "source", "message id", "calendarIdentifier"}


@pytest.fixture(scope="module")
def apps(gate: Gate) -> dict[str, Tables]:
    assert gate.catalogue is not None
    return {key: gate.catalogue.load_tables(app) for key, app in gate.catalogue.apps.items()}


def test_a_list_of_mails_is_read_like_a_mailbox(answer: Answer) -> None:
    (first, *_) = answer("mail_list", {"element": "message", "of": "inbox"})["result"]
    assert list(first) == [
        *("ref", "subject", "sender", "date received", "read status", "message size"),
    ]


def test_no_list_is_of_headers_or_ids_alone(apps: dict[str, Tables]) -> None:
    shown = {
        (key, term): [column.label for column in default_columns(term, tables)]
        for key, tables in apps.items()
        for term in tables.classes
    }
    assert len(shown) > 250
    assert [at for at, labels in shown.items() if labels and set(labels) <= DULL] == []
    assert [at for at, labels in shown.items() if len(labels) > 6] == []


def test_every_row_of_the_table_is_of_something_that_is_there(apps: dict[str, Tables]) -> None:
    strange = [
        (key, term, name)
        for key, rows in TABLE["rows"].items()
        for term, names in rows.items()
        for name in names
        if term not in apps[key].classes or apps[key].find_property(term, name) is None
    ]
    assert strange == []


def test_a_row_says_what_the_rule_does_not(
    apps: dict[str, Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {(key, term) for key, rows in TABLE["rows"].items() for term in rows}
    now = {at: default_columns(at[1], apps[at[0]]) for at in told}
    monkeypatch.setattr(compose, "_load_column_table", lambda: {**TABLE, "rows": {}})
    default_columns.cache_clear()
    ruled = {at: default_columns(at[1], apps[at[0]]) for at in told}
    default_columns.cache_clear()
    assert [at for at in sorted(told) if now[at] == ruled[at]] == []


# Days and times as people say them, and lists over several objects.


@pytest.fixture(params=["UTC", "Asia/Tokyo", "America/New_York"])
def zone(request: pytest.FixtureRequest) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield request.param
    time.tzset()


def local(text: str) -> datetime:
    return datetime.fromtimestamp(read_date(text).ms / 1000)


def test_words_for_days_are_local_days(zone: str) -> None:
    today = date.today()
    assert local("today") == datetime.combine(today, datetime.min.time())
    assert local("Tomorrow 14:30") == local("today") + timedelta(days=1, hours=14.5)
    assert local("yesterday 9:00") == local("today") - timedelta(hours=15)
    assert local("tomorrowT09:00") == local("tomorrow 9:00")
    monday = local("Monday").date()
    assert monday.weekday() == 0
    assert timedelta(0) < monday - today <= timedelta(7)
    assert abs(local("now") - datetime.now()) < timedelta(minutes=1)


def test_a_day_is_that_of_the_place(zone: str) -> None:
    assert local_day("2026-11-24T23:30") == "2026-11-24"
    assert local_day("2026-12-31", 1) == "2027-01-01"


def test_what_is_no_date_is_told_how_to_write_one() -> None:
    with pytest.raises(InvalidParameterError) as caught:
        read_date("someday")
    assert "tomorrow 14:30" in caught.value.suggestion


def test_the_apps_come_with_the_time_and_the_zone(answer: Answer) -> None:
    told = answer("list_apps", {})["result"]
    assert date.today().isoformat() in told["now"]
    assert told["zone"]


def test_a_list_looks_in_several_objects(answer: Answer) -> None:
    everything = {"element": "event", "of": "calendars", "order": ["-start date"]}
    rows = answer("calendar_list", everything)["result"]
    assert len({row["ref"].split(".events")[0] for row in rows}) == 2
    starts = [row["start date"] for row in rows]
    assert starts == sorted(starts, reverse=True)
    assert answer("calendar_list", {**everything, "limit": 2})["result"] == rows[:2]
    first = answer("calendar_get", {"target": rows[0]["ref"], "properties": ["summary"]})
    assert first["result"]["summary"] == rows[0]["summary"]


def test_a_page_of_several_objects_can_be_asked_for(answer: Answer) -> None:
    asked = {"element": "tab", "of": "windows"}
    tabs = [row["ref"] for row in answer("safari_list", asked)["result"]]
    later = answer("safari_list", {**asked, "offset": 1})["result"]
    assert [row["ref"] for row in later] == tabs[1:] != []


def test_a_person_is_asked_about_a_date_and_not_about_tomorrow(answer: Answer) -> None:
    tomorrow = (date.today() + timedelta(days=1)).isoformat()
    times = {"start date": "tomorrow 12:00", "end date": "tomorrow 13:00"}
    event = {"element": "event", "at": "calendars[0]", "properties": {"summary": "A", **times}}
    recipe = {"calendar": "calendars[0]", "title": "A", "from": "tomorrow 12:00", "until": "now"}
    for told in (answer("calendar_make", event), answer("calendar_make_event", recipe)):
        assert f"{tomorrow}T12:00" in told["asks"].text
        assert "tomorrow" not in told["asks"].text


# The page of every tool: its example is a call that works, by the door that is named.


def played(gate: Gate, name: str) -> str:
    """Return what is wrong with the example of a page; empty where it works or asks.

    A door that is refused names the right one; what this world lacks is looked for by the next
    call.
    """
    assert gate.catalogue is not None
    page = any_page(gate.catalogue, name)
    door = call_tool_for(page.level, acts=page.acts)
    call: tuple[str, Any] = (door, {"name": name, "arguments": page.example})
    said = ""
    for _ in range(5):
        try:
            outcome = gate.call(unwrap_call_tool(Call(*call, ABLE)))
        except ToolError as error:
            then, said = error.next, f"{error.type} {error.message}"
        else:
            if not isinstance(outcome, RefusedCall):
                return ""
            if outcome.next is None:
                # By a rule that no arguments get round, such as: no tool writes to Terminal.
                return ""
            then, said = outcome.next, f"{outcome.kind} {outcome.reason}"
        if then is None:
            break
        call = (then.tool, then.arguments)
    return f"{name} {json.dumps(page.example)}: {said}"


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.stress)])
def test_the_example_of_every_page_works(gate: Gate, step: int) -> None:
    assert gate.catalogue is not None
    names = sorted(gate.catalogue.tools)[::step]
    assert [wrong for name in names if (wrong := played(gate, name))] == []


@pytest.mark.stress
def test_the_example_of_every_page_of_every_dictionary_works(
    corpus_build: Any, tmp_path: Path
) -> None:
    for name, text in corpus_build.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    catalogue = Catalogue([tmp_path])
    gate = Gate(catalogue, Executor(open_simulation(catalogue, None)), home=HOME)
    wrong = [said for name in sorted(catalogue.tools) if (said := played(gate, name))]
    print(
        f"{len(catalogue.tools)} pages, {len(wrong)} whose example leads nowhere", *wrong, sep="\n"
    )
    # Some dictionaries have no way to their objects, and some apps answer nothing here.
    assert len(wrong) <= len(catalogue.tools) / 50


def test_no_tool_that_acts_is_called_through_the_one_that_reads(gate: Gate) -> None:
    assert gate.catalogue is not None
    ask, acting = asker(gate), 0
    for name, row in gate.catalogue.tools.items():
        page = any_page(gate.catalogue, name)
        if row.level != "SAFE" or not page.acts:
            continue
        found = ask("find_tools", query=name)[0]["tools"][0]
        assert found["call_with"] != "read_tool", name
        given = {"name": name, "arguments": page.example}
        facts, answer = ask("read_tool", **given)
        assert answer["isError"], name
        if found["call_with"] == "write_tool" and "next" in facts:
            acting += 1
            assert facts["next"] == {"tool": "write_tool", "arguments": given}
    assert acting > 40


@pytest.mark.parametrize("read_only", [False, True])
def test_what_plays_runs_unasked_and_as_a_read_where_nothing_is_changed(*, read_only: bool) -> None:
    gate = build_gate(GateOptions(simulate="", read_only=read_only))
    person = Person()
    ask, door = asker(gate, person), "read_tool" if read_only else "write_tool"
    found = ask("find_tools", query="music_pause")[0]["tools"][0]
    assert (found["level"], found["call_with"]) == ("SAFE", door)
    assert not ask(door, name="music_pause")[1]["isError"]
    assert person.asked == []
    # A name that is nearly one leads to the tool through its own.
    facts, _ = ask("read_tool", name="music_pausse")
    assert facts["next"]["tool"] == door
    gate.close()
