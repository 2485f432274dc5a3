"""What a call costs: through the gate on simulated apps, the executor's own part, an outcome's."""

import os
import select
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bounds import OSASCRIPT, exit_status, hold_at_least, hold_at_most

import iac_runtime
from iac_runtime.execution.answers import AppAnswer
from iac_runtime.execution.executor import Executor, request_bytes
from iac_runtime.execution.locks import ExecutionLimits
from iac_runtime.execution.workers import Worker
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call
from iac_runtime.language.steps import Event
from iac_runtime.tools.catalogue import Catalogue, tool_folders
from iac_tools import mail, notes

CALLS: Final = 300
EXCHANGES: Final = 1000
PROCESSES: Final = 20
OWN_PART: Final = 0.5
READ_BACK: Final = {"notes_set": 2.9, "notes_make": 4.3}
"""Times that an exchange with reads around the write takes of one without."""


WRITTEN: Final = 150

WRITES: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    (
        "set one property",
        "notes_set",
        {"target": "notes[1]", "properties": lambda at: {"name": f"Note {at}"}},
    ),
    (
        "make a note",
        "notes_make",
        {"element": "note", "properties": lambda at: {"name": f"New {at}", "body": "x"}},
    ),
)

APP: Final = "com.apple.mail"
READ: Final = Event(APP, "application", "running", "", writes=False)


def main() -> None:
    """Print medians, in one run."""
    with tempfile.TemporaryDirectory() as folder:
        # Every call is recorded, and these not among the user's own.
        os.environ["IAC_DATA"] = folder
        gate()
        executor()
        outcomes()


def gate() -> None:
    """Calls of three kinds on the simulator in this process."""
    with iac_runtime.connect(simulate=True):
        calls: tuple[tuple[str, Callable[[], object]], ...] = (
            ("get one property", lambda: mail.get("inbox.unreadCount")),
            (
                "count with a filter",
                lambda: mail.count("message", of="inbox", where={"read status": False}),
            ),
            ("list three columns", lambda: notes.list("note", properties=["name", "body"])),
        )
        for name, call in calls:
            call()
            milliseconds = statistics.median(timed(call) for _ in range(CALLS))
            print(f"{name:<34} {milliseconds:8.3f} ms (median of {CALLS})")


def executor() -> None:
    """The executor on iac-osascript: its own part of a call, and what a worker is good for."""
    limits = ExecutionLimits(calls=1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        worker = Executor(program=OSASCRIPT, limits=limits, state=state)
        single = Executor(program=OSASCRIPT, workers=False, state=state)
        carry_out(worker)
        carry_out(single)
        bare = Bare(worker)
        whole, exchange = [], []
        for _ in range(EXCHANGES):
            whole.append(timed(lambda: carry_out(worker)))
            exchange.append(timed(bare))
        processes = statistics.median(timed(lambda: carry_out(single)) for _ in range(PROCESSES))
        worker.close()
    call, bytes_only = statistics.median(whole), statistics.median(exchange)
    own = call - bytes_only
    print(f"{'call by a worker':<34} {call:8.3f} ms (median of {EXCHANGES})")
    print(f"{'bare exchange of the same bytes':<34} {bytes_only:8.3f} ms (median of {EXCHANGES})")
    hold_at_most("the executor's own part", own, OWN_PART, "ms")
    print(f"{'call by a process of its own':<34} {processes:8.3f} ms (median of {PROCESSES})")
    hold_at_least("worker against process", processes / call, 8, "times")


def outcomes() -> None:
    """Writes with what is read around them, and without, in turn: whole calls and exchanges."""
    catalogue = Catalogue(tool_folders(()))
    limits = ExecutionLimits(calls=1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IAC_DATA"] = folder
        worker = Timed(program=OSASCRIPT, limits=limits, state=Path(folder))
        gate = Gate(catalogue, worker, "DANGEROUS")
        for name, tool, arguments in WRITES:
            took: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
            for at in range(2 * WRITTEN + 2):
                given = {
                    key: value(at) if callable(value) else value for key, value in arguments.items()
                }
                call = Call(tool, given, confirm=bool(at % 2))
                whole = timed(lambda call=call: gate.call(call))
                if at > 1:
                    took[call.confirm].append((whole, worker.last))
            medians = {
                confirm: [statistics.median(part) for part in zip(*rows, strict=True)]
                for confirm, rows in took.items()
            }
            (whole, exchange), (bare, plain) = medians[True], medians[False]
            own = (whole - exchange) - (bare - plain)
            print(f"{name + ', read back':<34} {whole:8.3f} ms (without: {bare:.3f})")
            print(f"{'  its exchange':<34} {exchange:8.3f} ms (without: {plain:.3f})")
            hold_at_most("  the outcome's own part", own, 20, "ms")
            hold_at_most("  exchange against exchange", exchange / plain, READ_BACK[tool], "times")
        gate.close()


class Timed(Executor):
    """An executor that knows how long its last exchange took, in milliseconds."""

    last = 0.0

    def execute(self, event: Event, **more: Any) -> AppAnswer:
        """Send a request."""
        start = time.perf_counter()
        try:
            return super().execute(event, **more)
        finally:
            self.last = (time.perf_counter() - start) * 1000


class Bare:
    """The same bytes to the same worker and back, by the system's calls alone."""

    def __init__(self, executor: Executor) -> None:
        assert executor._workers is not None
        worker: Worker = executor._workers._idle[APP]
        self._requests, self._answers = worker.child.feed, worker._answers
        self._line = request_bytes(READ, "0" * 16) + b"\n"
        self._poller = select.poll()
        self._poller.register(self._answers, select.POLLIN)

    def __call__(self) -> None:
        """One exchange."""
        os.write(self._requests, self._line)
        answer = b""
        while not answer.endswith(b"\n"):
            self._poller.poll()
            answer += os.read(self._answers, 65536)


def carry_out(executor: Executor) -> None:
    """One call of the executor."""
    executor.execute(READ, app="Mail", command="app_running")


def timed(call: Callable[[], object]) -> float:
    """Return the milliseconds that a call took."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    main()
    sys.exit(exit_status())
