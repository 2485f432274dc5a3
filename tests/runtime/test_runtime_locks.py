"""Turns: one call an app and a few in all, over threads and processes."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from scripted import until

from iac_base.errors import Cancellation, SetupError
from iac_runtime.execution.locks import KEPT, ExecutionLocks, NoTurnError, Turnstile


def locks(folder: Path, running: int = 4, waiting: int = 64) -> ExecutionLocks:
    return ExecutionLocks(folder / "locks", running, waiting)


def soon(seconds: float = 20.0) -> float:
    return time.monotonic() + seconds


@contextmanager
def held(turns: ExecutionLocks, app: str) -> Iterator[None]:
    with turns.hold_turn(app, soon(), Cancellation()):
        yield


def refused(turns: ExecutionLocks, app: str, seconds: float = 0.05) -> NoTurnError:
    with (
        pytest.raises(NoTurnError) as caught,
        turns.hold_turn(app, soon(seconds), Cancellation()),
    ):
        raise AssertionError("it had a turn")
    return caught.value


def test_an_app_has_one_call_at_a_time_and_another_app_its_own(tmp_path: Path) -> None:
    turns, other = locks(tmp_path), locks(tmp_path)
    with held(turns, "com.example.A"):
        assert not refused(turns, "com.example.A").full
        assert not refused(other, "com.example.A").full
        assert not refused(other, "COM.EXAMPLE.a").full
        with held(other, "com.example.B"):
            pass
    with held(other, "com.example.A"):
        pass


def test_there_are_so_many_calls_at_once_over_all_executors(tmp_path: Path) -> None:
    turns, other = locks(tmp_path, running=2), locks(tmp_path, running=2)
    with held(turns, "a"), held(other, "b"):
        refused(turns, "c")
        refused(other, "c")
    with held(turns, "a"), held(turns, "b"):
        refused(turns, "c")
        refused(other, "c")


def test_a_full_queue_answers_at_once(tmp_path: Path) -> None:
    turns = locks(tmp_path, waiting=2)
    with held(turns, "a"), ThreadPoolExecutor(2) as pool:
        cancel = Cancellation()
        waiting = [pool.submit(_turn, turns, "a", cancel) for _ in range(2)]
        assert until(lambda: turns._waiting.total() == 2)
        assert refused(turns, "a", 1000).full
        # Who need not wait is not turned away.
        with held(turns, "b"):
            pass
        cancel.cancel()
        assert [future.result() for future in waiting] == ["no turn", "no turn"]


def _turn(turns: ExecutionLocks, app: str, cancel: Cancellation) -> str:
    try:
        with turns.hold_turn(app, soon(1000), cancel):
            return "turn"
    except NoTurnError:
        return "no turn"


def test_a_cancelled_wait_for_another_process_ends_at_once(tmp_path: Path) -> None:
    turns, other = locks(tmp_path), locks(tmp_path)
    cancel = Cancellation()
    with held(other, "a"), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(_turn, turns, "a", cancel)
        assert until(lambda: turns._waiting.total() == 1)
        cancel.cancel()
        assert waiting.result(20) == "no turn"


def test_turns_come_in_the_order_of_arrival() -> None:
    line, order, lock = Turnstile(1), [], threading.Lock()
    assert line.enter(soon(), Cancellation())

    def wait(number: int) -> None:
        assert line.enter(soon(), Cancellation())
        with lock:
            order.append(number)
        line.leave()

    threads = []
    for number in range(8):
        threads.append(threading.Thread(target=wait, args=(number,)))
        threads[-1].start()
        assert until(lambda number=number: len(line._queue) == number + 1)
    line.leave()
    for thread in threads:
        thread.join()
    assert order == list(range(8))


@pytest.mark.process
def test_a_lock_outlives_no_process(tmp_path: Path) -> None:
    turns = locks(tmp_path)
    with held(turns, "warm-up"):
        pass
    code = (
        "import sys, time; from pathlib import Path\n"
        "from iac_runtime.execution.locks import ExecutionLocks\n"
        "from iac_base.errors import Cancellation\n"
        "turns, until = ExecutionLocks(Path(sys.argv[1]), 4, 64), time.monotonic() + 20\n"
        "with turns.hold_turn('a', until, Cancellation()):\n"
        "    print('held', flush=True); time.sleep(1000)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "locks")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        refused(turns, "a")
        with held(turns, "b"):
            pass
        other.kill()
        with held(turns, "a"):
            pass


@pytest.mark.parametrize("app", ["", "..", "../../etc/passwd", "a/b\x00c", "ä" * 300, "\udc80"])
def test_any_name_is_one_file_in_the_folder(tmp_path: Path, app: str) -> None:
    turns = locks(tmp_path)
    with held(turns, app):
        refused(turns, app)
        names = sorted(path.name for path in (tmp_path / "locks").iterdir())
    assert len(names) == 2
    assert all(name.endswith(".lock") and len(name) < 200 for name in names)
    assert list(tmp_path.iterdir()) == [tmp_path / "locks"]


def test_a_lock_file_that_is_a_trap_is_refused(tmp_path: Path) -> None:
    turns = locks(tmp_path)
    with held(turns, "b"):
        pass
    trap = tmp_path / "locks" / "app-a.lock"
    trap.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SetupError, match="cannot be opened"), held(turns, "a"):
        pass
    assert not (tmp_path / "elsewhere").exists()
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "open").chmod(0o755)
    with (
        pytest.raises(SetupError, match="chmod 700"),
        held(ExecutionLocks(tmp_path / "open", 4, 4), "a"),
    ):
        pass


def test_a_busy_app_leaves_places_for_the_others(tmp_path: Path) -> None:
    turns, cancel = locks(tmp_path, waiting=2), Cancellation()
    with held(turns, "a"), held(turns, "b"), ThreadPoolExecutor() as pool:
        waiting = [pool.submit(_turn, turns, "a", cancel) for _ in range(2)]
        assert until(lambda: turns._waiting.total() == 2)
        assert refused(turns, "a", 1000).full
        waiting += [pool.submit(_turn, turns, "b", cancel) for _ in range(KEPT)]
        assert until(lambda: turns._waiting.total() == 2 + KEPT)
        assert refused(turns, "b", 1000).full
        with held(turns, "c"):
            pass
        cancel.cancel()
        assert {future.result() for future in waiting} == {"no turn"}
    few, cancel = ExecutionLocks(tmp_path / "few", 4, 64, share=1), Cancellation()
    with held(few, "a"), ThreadPoolExecutor() as pool:
        one = pool.submit(_turn, few, "a", cancel)
        assert until(lambda: few._waiting.total() == 1)
        assert refused(few, "a", 1000).full
        cancel.cancel()
        assert one.result() == "no turn"
