"""A plan never acts beyond the table it showed, and no program of one reaches this machine."""

import contextlib
import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psutil
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from plans_desk import CATALOGUE, Desk
from plans_escapes import ESCAPES

from iac_base.errors import InvalidParameterError, ToolError
from iac_plans.check import ProgramUsage, read_program
from iac_plans.interpreter import FrozenWorld, run_program
from iac_runtime.gate.plans import PendingCall
from iac_runtime.language.html_text import as_html

HOME: Final = "accounts[0].folders[0]"
READ: Final = f'rows = notes.list("note", of="{HOME}", properties=["name", "plaintext"])\n'
PROGRAMS: Final = (
    # By the reference of a row; what is written comes from what was read.
    READ
    + """
for row in rows:
    if row["name"] < "m":
        notes.set(row["ref"], properties={"body": "seen " + row["name"]})
    else:
        notes.delete(row["ref"])
""",
    # By place: what lies there may be another object by then.
    READ
    + f"""
for at in range(len(rows) - 1, -1, -1):
    if rows[at]["name"] < "m":
        notes.delete(f"{HOME}.notes[{{at}}]")
""",
    # By place again and again, and something made of what is left.
    f"""
notes.delete("{HOME}.notes[0]")
notes.delete("{HOME}.notes[0]")
made = notes.make("note", properties={{"body": "of the plan"}}, at="{HOME}.notes")
notes.set(made, properties={{"body": "of the plan, again"}})
""",
    # As many as there are.
    READ
    + f"""
for row in rows:
    notes.make("note", properties={{"body": "copy of " + row["name"]}}, at="{HOME}.notes")
""",
)
NAMES: Final = st.sampled_from(["ada", "ben", "kim", "max", "zoe"])
CHANGES: Final = st.tuples(
    st.integers(0, 18), st.sampled_from(["name", "delete", "make"]), st.integers(0, 4), NAMES
)


class World(Desk):
    """Notes, and what became of them by whom."""

    def __init__(self, names: list[str]) -> None:
        notes = [
            {"id": f"n{at}", "name": name, "body": f"body {at}", "plaintext": f"body {at}"}
            for at, name in enumerate(names)
        ]
        folder = {"id": "f", "name": "Notes", "notes": notes}
        super().__init__({"notes": {"accounts": [{"id": "a", "name": "A", "folders": [folder]}]}})
        self.foreign: set[str] = set()

    @property
    def notes(self) -> dict[str, dict[str, Any]]:
        rows = self.simulator.state()["notes"]["accounts"][0]["folders"][0]["notes"]
        return {row["id"]: row for row in rows}

    def change(self, kind: str, at: int, name: str) -> None:
        """Change the world as somebody else would."""
        ids = list(self.notes)
        if kind == "make":
            made = {"element": "note", "properties": {"name": name}, "at": f"{HOME}.notes"}
            self.meanwhile("notes_make", **made)
            self.foreign |= self.notes.keys() - set(ids)
        elif at < len(ids) and kind == "delete":
            self.meanwhile("notes_delete", target=f'notes.byId("{ids[at]}")')
            self.foreign.add(ids[at])
        elif at < len(ids):
            target = f'notes.byId("{ids[at]}")'
            self.meanwhile("notes_set", target=target, properties={"name": name})


@pytest.fixture(scope="module", autouse=True)
def _state(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IAC_DATA", str(tmp_path_factory.mktemp("data")))
        yield


@given(
    st.sampled_from(PROGRAMS),
    st.lists(NAMES, min_size=2, max_size=4, unique=True),
    st.lists(CHANGES, min_size=1, max_size=3),
)
@settings(
    suppress_health_check=[*HealthCheck],
    # An exchange with a simulated app takes 13 ms, and an example has twenty of them.
    max_examples=8 if settings.default.max_examples <= 200 else 2000,
)
def test_a_plan_never_acts_beyond_its_table(
    program: str, names: list[str], changes: list[tuple[int, str, int, str]]
) -> None:
    world = World(names)
    asked = world.ask("run_plan", program=program)
    if not isinstance(asked, PendingCall):
        return
    before = world.notes
    shown = {row["name"] for row in before.values() if f'"{row["name"]}"' in asked.question.text}
    bodies = {row["id"]: f"seen {row['name']}" for row in before.values()}
    summary = asked.question.text.partition("\n")[0]
    counts = dict(re.findall(r"(make|delete) (\w+) notes?", summary))
    made, deletes = (
        0 if many is None else 1 if many == "a" else int(many)
        for many in (counts.get("make"), counts.get("delete"))
    )
    seen = [0]

    def between(_event: Any) -> None:
        seen[0] += 1
        for when, kind, at, name in changes:
            if when == seen[0]:
                world.change(kind, at, name)

    for when, kind, at, name in changes:
        if when == 0:
            world.change(kind, at, name)
    world.before_each(between)
    ended = "stopped"
    with contextlib.suppress(ToolError):
        # A second question is about another world: it is not answered here.
        ended = type(world.answer(asked, "run_plan", program=program)).__name__
    event(ended)
    after = world.notes
    gone = before.keys() - after.keys() - world.foreign
    new = after.keys() - before.keys() - world.foreign
    assert len(gone) <= deletes
    assert all(before[key]["name"] in shown for key in gone)
    assert len(new) <= made
    for key in before.keys() & after.keys():
        assert after[key]["body"] in (before[key]["body"], as_html(bodies[key], "plain"))


FROZEN = FrozenWorld(datetime(2026, 3, 2, tzinfo=UTC), "seed")
TOOLS = read_program("notes", CATALOGUE)
SECRET = "the-secret-of-this-process"


def tried(program: str, calls: list[str], used: ProgramUsage = TOOLS) -> str:
    """Return all that a program gave back, run past the check of names and types."""

    def answer(_app: str, function: str, *_given: Any) -> Any:
        calls.append(function)
        return []

    try:
        return repr(run_program(program, used, answer, FROZEN, checked=True, seconds=0.1))
    except ToolError as error:
        return str(error.facts())


def test_no_program_gets_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IAC_SECRET", SECRET)
    assert len(ESCAPES) >= 60
    calls: list[str] = []
    for program in ESCAPES:
        began = time.monotonic()
        found = tried(program, calls)
        assert time.monotonic() - began < 30, program
        assert not any(word in found for word in (SECRET, "root:", "<class 'object'>", "_frame"))
        assert len(found) < 2_000, program
    assert list(tmp_path.iterdir()) == []
    # `notes.list` stands for nothing else, whatever a program does to its name.
    assert set(calls) <= {"list", "delete"}
    assert psutil.Process(os.getpid()).is_running()


def test_the_check_refuses_what_a_plan_does_not_have() -> None:
    refused = 0
    for program in ESCAPES:
        try:
            read_program(program, CATALOGUE)
        except InvalidParameterError:
            refused += 1
    assert refused >= 40


def test_a_worker_that_dies_ends_its_plan_and_nothing_else() -> None:
    def kill(*_given: Any) -> Any:
        for child in psutil.Process().children(recursive=True):
            if "monty" in child.name():
                child.kill()
        return []

    with pytest.raises(ToolError, match="sandbox of the plan crashed"):
        run_program("notes.list('note')", TOOLS, kill, FROZEN)
    assert run_program("1 + 1", TOOLS, kill, FROZEN) == 2


WORDS = st.sampled_from(
    "notes . list ( ) [ ] { } 'note' 0 1 : , = + * ** lambda x for in if else not while def f"
    " return yield \n    try except raise with as del global __class__ __dict__ import os eval"
    " open 'a' f'{x}' % is None True async await class ... @ -> != ; ~".split(" ")
)


@given(st.lists(WORDS, max_size=25).map(" ".join))
@settings(
    max_examples=settings.default.max_examples // 2
    if settings.default.max_examples <= 200
    else 2000
)
def test_any_text_ends_as_a_value_or_an_error(program: str) -> None:
    found = tried(program, [])
    assert SECRET not in found
