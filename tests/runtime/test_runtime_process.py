"""The one module that starts processes, with real ones."""

import os
import sys
from pathlib import Path

import pytest

from iac_runtime.execution.process import run_process

pytestmark = pytest.mark.process


def test_output_and_status_come_back() -> None:
    script = "import sys; print(sys.stdin.read()[::-1]); print('e', file=sys.stderr); sys.exit(3)"
    done = run_process([sys.executable, "-c", script], b"abc", 20)
    assert (done.stdout, done.stderr, done.status, done.timed_out) == (b"cba\n", b"e\n", 3, False)


def test_a_process_that_hangs_and_ignores_term_is_killed() -> None:
    script = (
        "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "print('begun', flush=True); signal.pause()"
    )
    done = run_process([sys.executable, "-c", script], b"", 0.7)
    assert done.timed_out
    assert done.status == -9
    assert done.stdout == b"begun\n"


def test_a_child_that_was_left_behind_is_killed_too(tmp_path: Path) -> None:
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    child = f"import signal; f = open({str(fifo)!r}, 'w'); f.write('x'); f.flush(); signal.pause()"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    done = run_process([sys.executable, "-c", script], b"", 1.2)
    assert done.timed_out
    # The end of the pipe comes when its only writer, the child, is gone.
    os.set_blocking(reading, True)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"x"


def test_a_process_that_does_not_read_its_input_does_no_harm() -> None:
    done = run_process([sys.executable, "-c", "pass"], b"x" * 1_000_000, 20)
    assert done.status == 0


def test_a_missing_program_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        run_process(["/nowhere/osascript"], b"", 1)
