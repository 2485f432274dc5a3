"""Real processes for tests: the scripted osascript, and a count of what it left behind."""

import contextlib
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from iac_base.errors import Cancellation, ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.locks import ExecutionLimits
from iac_runtime.language.steps import Event

PROGRAM = Path(__file__).with_name("scripted_osascript.py")
APP = "com.example.Diary"
RUN = "SCRIPTED_RUN"


@dataclass(frozen=True)
class Scripted:
    """The scripted osascript as a program, and the mark of all processes of a test."""

    program: Path
    state: Path
    run: str

    def executor(self, timeout: float = 20.0, *, workers: bool = True, **limits: float) -> Executor:
        """An executor on it, with locks of its own and a short grace."""
        found = ExecutionLimits(**{"grace": 0.2, **limits})  # type: ignore[arg-type]
        return Executor(
            program=str(self.program),
            timeout=timeout,
            limits=found,
            workers=workers,
            state=self.state,
        )

    def processes(self) -> list[psutil.Process]:
        """The living processes of this test, and this process's zombies."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.pid != os.getpid() and process.environ().get(RUN) == self.run:
                    found.append(process)
        for process in psutil.Process().children(recursive=True):
            # One that ends while it is looked at is gone.
            with contextlib.suppress(psutil.Error):
                if process.status() == "zombie":
                    found.append(process)
        return found

    def nothing_is_left(self, seconds: float = 5.0) -> bool:
        """Say whether they are all gone within `seconds`."""
        return until(lambda: not self.processes(), seconds)


def scripted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """Make the program in `folder` and mark all processes that are started from here on."""
    program = folder / "osascript"
    code = PROGRAM.read_text(encoding="utf-8")
    program.write_text(f"#!{sys.executable} -IS\n{code}", encoding="utf-8")
    program.chmod(0o755)
    run = uuid.uuid4().hex
    monkeypatch.setenv(RUN, run)
    state = folder / "state"
    state.mkdir(mode=0o700)
    return Scripted(program, state, run)


def request(command: str, *, writes: bool = False, app: str = APP, **more: object) -> Event:
    """A request whose command the scripted osascript carries out."""
    return Event(app, "application", "command", "", command, writes=writes, **more)  # type: ignore[arg-type]


def until(done: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Ask until `done` says yes, at most for `seconds`; return what it said last."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def descriptors() -> int:
    """How many descriptors this process has open."""
    return psutil.Process().num_fds()


def end_many(executor: Executor, way: str, count: int) -> int:
    """Let calls hang in the worst manner and end each by `way`; return the open descriptors."""
    for number in range(count):
        cancel = Cancellation()
        hang = request("hang stubborn forks setsid", writes=number % 2 == 0)
        timer = threading.Timer(0.1, cancel.cancel)
        if way == "cancel":
            timer.start()
        timeout = 0.1 if way == "timeout" else 60.0
        with pytest.raises(ToolError) as caught:
            executor.execute(hang, app="Diary", command="t", timeout=timeout, cancel=cancel)
        expected = "TIMEOUT" if way == "timeout" else "USER_CANCELLED"
        assert caught.value.type == expected
        if way == "cancel":
            timer.join()
    return descriptors()
