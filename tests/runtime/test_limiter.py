"""The limiter: at most so many calls in any window, delays up to a second, and over restarts."""

import json
import re
import threading
import time
from pathlib import Path

import pytest
from diary_world import WORLD, gate_of
from hypothesis import given
from hypothesis import strategies as st

from iac_base.errors import Cancellation, SetupError, ToolError
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.limiter import (
    LONGEST_DELAY,
    Limiter,
    Permit,
    RateLimits,
    RateWindow,
    RetryAfter,
    calls_per_second,
    wait_turn,
    window_of_rate,
)
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.tools.catalogue import Catalogue

SMALL = RateLimits(
    reads=RateWindow(5, 1.0), writes=RateWindow(2, 1.0), dangerous=RateWindow(3, 60.0)
)


class Clock:
    """A clock that tests move."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_calls_within_the_limit_run_at_once_then_wait_then_are_refused(clock: Clock) -> None:
    limiter = Limiter(clock=clock, limits=SMALL)
    assert [limiter.reserve_places("write") for _ in range(2)] == [Permit(0.0)] * 2
    assert [limiter.reserve_places("write") for _ in range(2)] == [Permit(1.0)] * 2
    assert limiter.reserve_places("write") == RetryAfter(2.0)
    clock.now += 1.5
    assert limiter.reserve_places("write") == Permit(0.5)


def test_reads_and_writes_do_not_wait_for_each_other(clock: Clock) -> None:
    limiter = Limiter(clock=clock, limits=SMALL)
    for _ in range(4):
        limiter.reserve_places("write")
    assert limiter.reserve_places("read") == Permit(0.0)


def test_ten_writes_a_second_are_the_default(clock: Clock) -> None:
    limiter = Limiter(clock=clock)
    assert [limiter.reserve_places("write") for _ in range(10)] == [Permit(0.0)] * 10
    assert limiter.reserve_places("write") == Permit(1.0)


def test_a_refused_call_takes_no_place(clock: Clock) -> None:
    limiter = Limiter(clock=clock, limits=SMALL)
    for _ in range(50):
        limiter.reserve_places("write")
    clock.now += 2.0
    assert limiter.reserve_places("write") == Permit(0.0)


def test_a_dangerous_call_is_a_write_too(clock: Clock) -> None:
    limiter = Limiter(clock=clock, limits=SMALL)
    assert [limiter.reserve_places("dangerous").__class__ for _ in range(2)] == [Permit, Permit]
    assert limiter.reserve_places("write") == Permit(1.0)


def test_a_restart_does_not_empty_the_window_of_dangerous_calls(
    tmp_path: Path, clock: Clock
) -> None:
    for _ in range(3):
        assert isinstance(Limiter(tmp_path, SMALL, clock).reserve_places("dangerous"), Permit)
    assert Limiter(tmp_path, SMALL, clock).reserve_places("dangerous") == RetryAfter(60.0)
    clock.now += 60.0
    assert Limiter(tmp_path, SMALL, clock).reserve_places("dangerous") == Permit(0.0)


def test_after_a_start_of_the_machine_the_window_is_closed_for_its_length_at_most(
    tmp_path: Path, clock: Clock
) -> None:
    for _ in range(3):
        Limiter(tmp_path, SMALL, clock).reserve_places("dangerous")
    clock.now = 30.0
    assert Limiter(tmp_path, SMALL, clock).reserve_places("dangerous") == RetryAfter(60.0)
    clock.now = 90.0
    assert Limiter(tmp_path, SMALL, clock).reserve_places("dangerous") == Permit(0.0)


def test_the_clock_on_the_wall_is_never_asked(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked() -> float:
        raise AssertionError("the clock on the wall can be set")

    monkeypatch.setattr("time.time", asked)
    assert isinstance(Limiter(tmp_path, SMALL, clock).reserve_places("dangerous"), Permit)


@pytest.mark.parametrize("text", [
    "", "{", "[]", '{"dangerous": 5}', '{"dangerous": ["x"]}', '{"dangerous": [NaN]}',
    '{"dangerous": [1e999]}', '{"dangerous": [null]}', "\xff",
])  # fmt: skip
def test_a_file_that_cannot_be_read_counts_as_a_full_window_once(
    tmp_path: Path, clock: Clock, text: str
) -> None:
    (tmp_path / "limits.json").write_text(text, "latin-1")
    assert Limiter(tmp_path, SMALL, clock).reserve_places("dangerous") == RetryAfter(60.0)
    clock.now += 60.0
    assert Limiter(tmp_path, SMALL, clock).reserve_places("dangerous") == Permit(0.0)


def test_times_far_ahead_lock_nobody_out(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "limits.json").write_text(json.dumps({"dangerous": [1e300] * 99}))
    assert Limiter(tmp_path, SMALL, clock).reserve_places("dangerous") == RetryAfter(60.0)
    clock.now += 60.0
    assert Limiter(tmp_path, SMALL, clock).reserve_places("dangerous") == Permit(0.0)


@pytest.mark.parametrize("ahead", [0.5, LONGEST_DELAY])
def test_places_that_another_server_took_ahead_count_when_they_come(
    tmp_path: Path, clock: Clock, ahead: float
) -> None:
    taken = json.dumps({"dangerous": [clock.now + ahead] * 3})
    (tmp_path / "limits.json").write_text(taken)
    assert Limiter(tmp_path, SMALL, clock).reserve_places("dangerous") == RetryAfter(60.0 + ahead)


def test_where_the_window_cannot_be_kept_no_dangerous_call_runs(
    tmp_path: Path, clock: Clock
) -> None:
    (tmp_path / "limits.json").mkdir()
    limiter = Limiter(tmp_path, SMALL, clock)
    with pytest.raises(SetupError, match="cannot be written"):
        limiter.reserve_places("dangerous")
    assert limiter.reserve_places("write") == Permit(0.0)


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "limits.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SetupError):
        Limiter(tmp_path, SMALL, clock).reserve_places("dangerous")
    assert not (tmp_path / "elsewhere").exists()


def test_threads_and_servers_share_the_windows(tmp_path: Path, clock: Clock) -> None:
    limits = RateLimits(RateWindow(50, 1.0), RateWindow(1000, 1.0), RateWindow(40, 60.0))
    servers = [Limiter(tmp_path, limits, clock) for _ in range(3)]
    answers: list[object] = []

    def work(limiter: Limiter) -> None:
        answers.extend(limiter.reserve_places("dangerous") for _ in range(20))

    threads = [threading.Thread(target=work, args=(limiter,)) for limiter in servers * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(answer, Permit) for answer in answers) == 40
    assert len(answers) == 120


def test_a_window_without_places_lets_nothing_pass(clock: Clock) -> None:
    limiter = Limiter(clock=clock, limits=RateLimits(writes=RateWindow(0, 1.0)))
    assert limiter.reserve_places("write") == RetryAfter(float("inf"))


@given(
    st.lists(st.tuples(st.floats(0, 2), st.sampled_from(["read", "write", "dangerous"]))),
    st.integers(1, 4),
)
def test_no_window_ever_holds_more_than_its_calls(steps: list, calls: int) -> None:
    clock = Clock(0.0)
    limits = RateLimits(RateWindow(calls + 2, 1.0), RateWindow(calls, 1.0), RateWindow(calls, 3.0))
    limiter = Limiter(clock=clock, limits=limits)
    starts: dict[str, list[float]] = {"read": [], "write": [], "dangerous": []}
    for pause, kind in steps:
        clock.now += pause
        answer = limiter.reserve_places(kind)
        if isinstance(answer, RetryAfter):
            assert answer.seconds > LONGEST_DELAY
            continue
        assert 0 <= answer.delay <= LONGEST_DELAY
        starts[kind].append(clock.now + answer.delay)
    starts["write"] += starts["dangerous"]
    for (size, seconds), times in zip(
        limits, (starts["read"], starts["write"], starts["dangerous"]), strict=True
    ):
        times.sort()
        for early, late in zip(times, times[size:], strict=False):
            assert late - early >= seconds - 1e-6


READ = Call("diary_count", {"element": "entry", "of": "journals[0]"})


def limited(catalogue: Catalogue, reads: RateWindow) -> Gate:
    return gate_of(catalogue, WORLD, limiter=Limiter(limits=RateLimits(reads=reads)))


def read(gate: Gate) -> str:
    """Make a call, and return what was noted of it."""
    outcome = gate.call(READ)
    assert isinstance(outcome, CompletedCall)
    return outcome.note


def test_a_call_that_comes_too_early_waits_before_it_is_sent(catalogue: Catalogue) -> None:
    gate = limited(catalogue, RateWindow(1, 0.6))
    began = time.monotonic()
    assert "waited" not in read(gate)
    assert read(gate).startswith("waited 0.")
    assert time.monotonic() - began >= 0.6


def test_a_call_that_is_cancelled_waits_no_longer(catalogue: Catalogue) -> None:
    gate = limited(catalogue, RateWindow(1, 1.0))
    read(gate)
    cancel = Cancellation()
    threading.Timer(0.1, cancel.cancel).start()
    began = time.monotonic()
    with pytest.raises(ToolError):
        gate.call(READ, cancel=cancel)
    assert time.monotonic() - began < 0.9


def test_a_call_far_over_the_limit_is_refused_and_not_sent(catalogue: Catalogue) -> None:
    gate = limited(catalogue, RateWindow(1, 60.0))
    read(gate)
    sent = len(gate.simulator.events)  # type: ignore[attr-defined]
    with pytest.raises(
        ToolError, match=r"Too many calls: this one can run after [56]\d\.\d"
    ) as caught:
        gate.call(READ)
    assert (caught.value.type, caught.value.retryable) == ("BUSY", True)
    assert len(gate.simulator.events) == sent  # type: ignore[attr-defined]


@pytest.mark.parametrize(("calls", "seconds", "expected"), [
    (10.0, 1.0, RateWindow(10, 1.0)), (0.5, 1.0, RateWindow(1, 2.0)),
    (1 / 3, 60.0, RateWindow(20, 60.0)), (0.01, 60.0, RateWindow(1, 100.0)),
])  # fmt: skip
def test_a_limit_is_calls_a_second_however_few(
    calls: float, seconds: float, expected: RateWindow
) -> None:
    found = window_of_rate(calls, seconds)
    assert found == expected
    assert calls_per_second(found) == pytest.approx(calls)


def test_each_client_has_windows_of_its_own_over_restarts(tmp_path: Path, clock: Clock) -> None:
    limiter = Limiter(tmp_path, SMALL, clock)
    assert limiter.for_client("") is limiter
    studio, mini = limiter.for_client("http:studio"), limiter.for_client("http:mini")
    assert limiter.for_client("http:studio") is studio
    assert [one.reserve_places("dangerous", 3) for one in (limiter, studio, mini)] == [
        Permit(0.0)
    ] * 3
    assert studio.reserve_places("dangerous") == RetryAfter(60.0)
    anew = Limiter(tmp_path, SMALL, clock)
    assert [
        anew.for_client(name).reserve_places("dangerous") for name in ("http:studio", "http:mini")
    ] == [RetryAfter(60.0)] * 2
    assert anew.for_client("http:other").reserve_places("dangerous") == Permit(0.0)
    # Whatever a client calls itself, its file has a plain name.
    names = {path.name for path in tmp_path.glob("limits*.json")}
    assert all(re.fullmatch(r"limits(-[0-9a-f]{16})?\.json", name) for name in names)
    assert len(names) == 4


@pytest.mark.parametrize(("asked", "made"), [
    (1.0, RateWindow(1, 1.0)), (2.4, RateWindow(2, 1.0)), (0.5, RateWindow(1, 2.0)),
    (1.5, RateWindow(2, 1.0)),
])  # fmt: skip
def test_a_rate_becomes_a_window(asked: float, made: RateWindow) -> None:
    assert window_of_rate(asked) == made


def test_a_turn_takes_its_places_and_the_impatient_are_refused(clock: Clock) -> None:
    limiter = Limiter(limits=SMALL, clock=clock)
    assert wait_turn(limiter, "read", 4) == 0.0
    assert limiter.reserve_places("read") == Permit(0.0)
    assert limiter.reserve_places("read") == Permit(1.0)
    assert wait_turn(limiter, "write", 2) == 0.0
    limiter.reserve_places("write", 2)
    with pytest.raises(ToolError, match=r"can run after 2\.0 seconds"):
        wait_turn(limiter, "write", 1)


def test_the_oldest_call_that_counts_says_when_there_is_room(clock: Clock) -> None:
    limiter = Limiter(limits=SMALL, clock=clock)
    for _ in range(5):
        limiter.reserve_places("read")
        clock.now += 0.125
    assert limiter.reserve_places("read") == Permit(0.375)


def test_the_patient_wait_for_the_places_that_they_asked_for(clock: Clock) -> None:
    class Waiting(Cancellation):
        def wait(self, seconds: float) -> bool:
            clock.now += seconds
            return False

    limiter = Limiter(limits=SMALL, clock=clock)
    for _ in range(2):
        limiter.reserve_places("read", 5)
    assert wait_turn(limiter, "read", 3, Waiting(), patient=True) == 0.0
    assert [limiter.reserve_places("read", 2), limiter.reserve_places("write", 2)] == [
        Permit(0.0)
    ] * 2
    assert limiter.reserve_places("read") == Permit(1.0)
