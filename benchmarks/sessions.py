"""Everyday sessions of an assistant: how many questions a person answers, session by session.

    python benchmarks/sessions.py

Each session of `sessions.toml` runs on simulated apps of its own; every question is answered with
yes. `each` is without `approve_task`, so that every change is asked about by itself; `task` is
with it. The DANGEROUS questions are counted apart: a task must lose none of them. The same sessions
took 38 questions before drafts, tasks and the source of a text were known.
"""

import os
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any, Final, NamedTuple

from bounds import exit_status, hold_at_least, hold_at_most

from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall
from iac_runtime.policy.permissions import Requester, open_permissions
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import added_tools
from iac_simulator import Simulator
from iac_simulator.simulator import demo_state

ROOT: Final = Path(__file__).parent.parent
CATALOGUE: Final = Catalogue([ROOT / "generated" / "iac_tools"])
ASKED: Final = Requester("benchmark", ("client",))
TASK: Final = "approve_task"


class Asked(NamedTuple):
    """The questions of a session, how many of them are DANGEROUS, and the calls that failed."""

    questions: int = 0
    dangerous: int = 0
    failed: tuple[str, ...] = ()


def read_sessions() -> list[dict[str, Any]]:
    """Return the sessions of the file."""
    sessions: list[dict[str, Any]] = tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text("utf-8")
    )["session"]
    return sessions


def play_session(session: dict[str, Any], *, with_tasks: bool) -> Asked:
    """Return what was asked in a session, by somebody who says yes once to everything."""
    apps = [CATALOGUE.load_tables(app) for app in CATALOGUE.apps.values()]
    gate = Gate(
        CATALOGUE,
        Executor(Simulator(apps, demo_state())),
        home="/Users/me",
        permissions=open_permissions(home="/Users/me"),
        added=added_tools,
    )
    asked = Asked()
    for tool, arguments in session["calls"]:
        if tool == TASK and not with_tasks:
            continue
        try:
            answer = gate.call(Call(tool, arguments, ASKED))
            while isinstance(answer, PendingCall):
                dangerous = asked.dangerous + (answer.level == "DANGEROUS")
                asked = Asked(asked.questions + 1, dangerous, asked.failed)
                answer = gate.answer(answer, "once")
        except ToolError as error:
            asked = asked._replace(failed=(*asked.failed, f"{tool}: {error.message}"))
        else:
            if not isinstance(answer, CompletedCall):
                asked = asked._replace(failed=(*asked.failed, f"{tool}: {answer.reason}"))
    return asked


def main() -> int:
    """Play all sessions, and print a row for each and the sums."""
    sums = [[0, 0], [0, 0]]
    print(f"{'':68}{'each':>6}{'task':>6}   (DANGEROUS of them)")
    for session in read_sessions():
        found = [play_session(session, with_tasks=with_tasks) for with_tasks in (False, True)]
        for row, asked in zip(sums, found, strict=True):
            row[0] += asked.questions
            row[1] += asked.dangerous
        counts = "".join(f"{asked.questions:6}" for asked in found)
        print(f"{session['wants']:68}{counts}   ({found[0].dangerous}, {found[1].dangerous})")
        for fault in dict.fromkeys((*found[0].failed, *found[1].failed)):
            print(f"    {fault}")
            hold_at_most("calls that failed", 1, 0)
    hold_at_least("sessions", len(read_sessions()), 27)
    hold_at_most("questions, each by itself", sums[0][0], 31)
    hold_at_most("questions, with tasks", sums[1][0], 25)
    hold_at_least("DANGEROUS questions, with tasks", sums[1][1], sums[0][1])
    return exit_status()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IAC_DATA"] = folder
        sys.exit(main())
