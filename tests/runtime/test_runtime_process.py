"""A process a call, with real processes that hang, fork and flee."""

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from scripted import Scripted, descriptors, until

from iac_base.errors import Cancellation
from iac_runtime.execution.process import MARK, Grace, end_child, has_ended, spawn_child
from iac_runtime.execution.workers import run_process

pytestmark = pytest.mark.process

STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);"


def python(code: str) -> list[str]:
    return [sys.executable, "-IS", "-c", code]


def test_output_and_status_come_back() -> None:
    script = "import sys; print(sys.stdin.read()[::-1]); print('e', file=sys.stderr); sys.exit(3)"
    done = run_process(python(script), b"abc", 20)
    assert (done.stdout, done.stderr, done.status, done.timed_out) == (b"cba\n", b"e\n", 3, False)


def test_a_process_that_hangs_and_ignores_term_is_killed() -> None:
    script = f"{STUBBORN} print('begun', flush=True); signal.pause()"
    done = run_process(python(script), b"", 0.5, grace=Grace(0.1))
    assert done.timed_out
    assert done.status == -9
    assert done.stdout == b"begun\n"


def test_a_process_that_heeds_term_may_tidy_up(tmp_path: Path) -> None:
    tidy = tmp_path / "tidy"
    script = (
        "import signal, time, pathlib\n"
        "def leave(*_):\n"
        f"    time.sleep(0.2); pathlib.Path({str(tidy)!r}).touch(); raise SystemExit(7)\n"
        "signal.signal(signal.SIGTERM, leave)\n"
        "print('begun', flush=True)\n"
        "while True: time.sleep(1)"
    )
    done = run_process(python(script), b"", 3.0, grace=Grace(20))
    assert (done.timed_out, done.status) == (True, 7)
    assert tidy.exists()


@pytest.mark.parametrize("flight", [
    "", f"{STUBBORN}", "import os; os.setsid();",
    f"{STUBBORN} import os; os.setsid(); os.fork() and os._exit(0);",
])  # fmt: skip
def test_what_a_process_started_ends_with_it(osascript: Scripted, flight: str) -> None:
    child = f"{flight} import time; time.sleep(1000)"
    script = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-IS', '-c', {child!r}]);"
        "sys.stdin.read(); import time; time.sleep(1000)"
    )
    done = run_process(python(script), b"", 0.5, grace=Grace(0.1))
    assert done.timed_out
    assert osascript.nothing_is_left()


def test_a_process_is_not_waited_for_once_a_grandchild_holds_its_pipes() -> None:
    script = (
        "import subprocess, sys;"
        "subprocess.Popen([sys.executable, '-IS', '-c', 'import time; time.sleep(3)']);"
        "print('done')"
    )
    done = run_process(python(script), b"", 60)
    assert (done.stdout, done.status, done.timed_out) == (b"done\n", 0, False)


def test_a_process_that_closes_its_output_is_waited_for() -> None:
    script = "import os, time; os.close(1); os.close(2); time.sleep({}); os._exit(5)"
    assert run_process(python(script.format(0.1)), b"", 20).status == 5
    assert run_process(python(script.format(1000)), b"", 0.4, grace=Grace(0.1)).timed_out
    cancel = Cancellation()
    threading.Timer(0.3, cancel.cancel).start()
    assert run_process(
        python(script.format(1000)), b"", 60, cancel=cancel, grace=Grace(0.1)
    ).cancelled


def test_a_cancelled_call_ends_at_once(osascript: Scripted) -> None:
    cancel = Cancellation()
    threading.Timer(0.3, cancel.cancel).start()
    done = run_process(python("import time; time.sleep(1000)"), b"", 60, cancel=cancel)
    assert (done.cancelled, done.timed_out, done.status) == (True, False, -15)
    assert osascript.nothing_is_left()
    cancel.cancel()
    assert run_process(python("import time; time.sleep(1000)"), b"", 60, cancel=cancel).cancelled


def test_output_without_end_is_cut_and_the_process_ended() -> None:
    script = "while True: print('x' * 100_000)"
    done = run_process(python(script), b"", 60, cap=1_000_000, grace=Grace(0.1))
    assert done.too_large
    assert len(done.stdout) == 1_000_000


def test_of_many_words_on_standard_error_the_last_are_kept() -> None:
    script = "import sys; sys.stderr.write('x' * 5_000_000 + 'last')"
    done = run_process(python(script), b"", 60)
    assert done.stderr.endswith(b"xlast")
    assert len(done.stderr) == 64 * 1024


def test_a_process_that_does_not_read_its_input_does_no_harm() -> None:
    done = run_process(python("pass"), b"x" * 1_000_000, 20)
    assert done.status == 0


@pytest.mark.parametrize("program", ["/nowhere/osascript", "/"])
def test_a_program_that_cannot_be_started_is_an_os_error(program: str) -> None:
    before = descriptors()
    with pytest.raises(OSError):
        run_process([program], b"", 1)
    assert descriptors() == before


def test_a_child_gets_its_channel_a_session_and_nothing_else_of_ours(tmp_path: Path) -> None:
    with (tmp_path / "ours").open("w"):
        script = (
            "import json, os, sys\n"
            "folder = '/proc/self/fd'\n"
            "names = os.listdir(folder) if os.path.isdir(folder) else []\n"
            "paths = [f'{folder}/{name}' for name in names]\n"
            "links = [os.readlink(path) for path in paths if os.path.lexists(path)]\n"
            f"facts = [links, os.getsid(0) == os.getpid(), {MARK!r} in os.environ]\n"
            "facts.append(sys.stdin.read())\n"
            "os.write(4, os.read(3, 100) + json.dumps(facts).encode())"
        )
        child = spawn_child([sys.executable, "-IS", "-c", script], channel=True)
        assert child.answers is not None
        os.write(child.feed, b"hello ")
        answers, got = child.answers, bytearray()
        assert until(lambda: _read_some(answers, got))
    end_child(child, Grace(1))
    assert child.status == 0
    word, _, facts = got.decode().partition(" ")
    links, leads, marked, stdin = json.loads(facts)
    assert (word, leads, marked, stdin) == ("hello", True, True, "")
    assert str(tmp_path / "ours") not in links


def _read_some(descriptor: int, into: bytearray) -> bool:
    try:
        part = os.read(descriptor, 10_000)
    except BlockingIOError:
        return False
    into += part
    return not part


def test_a_child_that_somebody_else_reaped_counts_as_ended() -> None:
    child = spawn_child(python("pass"))
    os.waitpid(child.pid, 0)
    assert has_ended(child)
    assert child.reap()
    assert has_ended(child)
    end_child(child, Grace(0.1))


def test_no_descriptor_is_left_open(osascript: Scripted) -> None:
    run_process(python("pass"), b"", 20)
    before = descriptors()
    for _ in range(10):
        run_process(python("pass"), b"", 20)
        run_process(python("import time; time.sleep(1000)"), b"", 0.05, grace=Grace(0.1))
    assert descriptors() == before
    assert osascript.nothing_is_left()


def test_a_signal_handler_may_cancel_and_who_watches_wakes() -> None:
    cancel = Cancellation()
    woken: list[str] = []
    watchers: list[Callable[[], object]] = [lambda: woken.append("a"), cancel.cancel]
    with cancel.on_cancel(watchers[0]), cancel.on_cancel(watchers[1]):
        cancel.cancel()
        cancel.cancel()
    assert woken == ["a"]
    with cancel.on_cancel(lambda: woken.append("late")):
        assert woken == ["a", "late"]
    assert cancel.is_cancelled
    assert cancel.wait(60)
