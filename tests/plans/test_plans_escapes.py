"""Programs that try to get out: none reaches this machine, or more than the calls it is given."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans_desk import CATALOGUE
from plans_escapes import ESCAPES

from iac_base.errors import InvalidParameterError, ToolError
from iac_plans.check import ProgramUsage, read_program
from iac_plans.interpreter import FrozenWorld, run_program

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
