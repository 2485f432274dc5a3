"""How often calls may run: a sliding window for reads, one for writes, one for dangerous calls.

A call that comes too early is told to wait up to a second, and its place is kept; beyond that it
is refused with the time to wait. Time is the monotonic clock, which nobody can set.

The window of dangerous calls outlives the process, so that a restart does not empty it: its times
lie in the state folder, and all servers of the folder share them. The monotonic clock runs on
through restarts of a program and begins anew with the machine. A stored time that lies ahead is
therefore one of before the machine's start; it counts as now. So neither a clock that was set nor
a restart opens the window, and none can close it for longer than its length.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from iac_base.errors import Cancellation, SetupError, ToolError
from iac_base.files import hold_lock, write_whole

LONGEST_DELAY: Final = 1.0
"""Seconds that a call is delayed at most."""

_FILE: Final = "limits.json"

LimiterKind = Literal["read", "write", "dangerous"]


class RateWindow(NamedTuple):
    """At most `calls` in any `seconds`."""

    calls: int
    seconds: float


def window_of_rate(rate: float, seconds: float = 1.0) -> RateWindow:
    """Return the window of `rate` calls a second; less than one in `seconds` is one in more."""
    calls = round(rate * seconds)
    return RateWindow(calls, seconds) if rate * seconds >= 1 else RateWindow(1, 1.0 / rate)


def calls_per_second(of: RateWindow) -> float:
    """Return how many calls a second a window lets through."""
    return of.calls / of.seconds


class RateLimits(NamedTuple):
    """The three windows. A dangerous call counts as a write too."""

    reads: RateWindow = RateWindow(100, 1.0)
    writes: RateWindow = RateWindow(10, 1.0)
    dangerous: RateWindow = RateWindow(20, 60.0)


DEFAULT: Final = RateLimits()


@dataclass(frozen=True, slots=True)
class Permit:
    """The call may run, after `delay` seconds; its place is taken."""

    delay: float


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """The call may not run; in `seconds` it could without delay. No place is taken."""

    seconds: float


LimiterAnswer: TypeAlias = Permit | RetryAfter


class Limiter:
    """The windows of one server. Thread-safe; it never sleeps.

    Args:
        state: The state folder, or None to keep no window over restarts.
        limits: The windows.
        clock: Seconds on a clock that is never set and is the same for all processes.
        holder: Whose windows these are (`CallFacts.token_client`).
    """

    def __init__(
        self,
        state: Path | None = None,
        limits: RateLimits = DEFAULT,
        clock: Callable[[], float] = time.monotonic,
        holder: str = "",
    ) -> None:
        self._state = state
        self._file = f"limits-{sha256(holder.encode()).hexdigest()[:16]}.json" if holder else _FILE
        self._others: dict[str, Limiter] = {}
        self._limits = limits
        self._clock = clock
        self._lock = threading.Lock()
        self._reads: list[float] = []
        self._writes: list[float] = []
        self._dangerous: list[float] = []

    def for_client(self, holder: str) -> "Limiter":
        """Return the windows of a client that a token proved; those of all others are these."""
        if not holder:
            return self
        with self._lock:
            if holder not in self._others:
                self._others[holder] = Limiter(self._state, self._limits, self._clock, holder)
            return self._others[holder]

    @property
    def dangerous_limit(self) -> int:
        """How many DANGEROUS effects one call can have places for at most."""
        return self._limits.dangerous.calls

    def reserve_places(self, kind: LimiterKind, places: int = 1) -> LimiterAnswer:
        """Take the places of a call: one for each of its effects, a whole window at most.

        Raises:
            SetupError: The stored window cannot be read or written; the call must not run.
        """
        with self._lock:
            if kind == "read":
                return self._reserve_in_windows(places, (self._limits.reads, self._reads))
            if kind == "write":
                return self._reserve_in_windows(places, (self._limits.writes, self._writes))
            with self._stored_times(self._dangerous) as times:
                return self._reserve_in_windows(
                    places, (self._limits.dangerous, times), (self._limits.writes, self._writes)
                )

    def _reserve_in_windows(
        self, places: int, *windows: tuple[RateWindow, list[float]]
    ) -> LimiterAnswer:
        now = self._clock()
        start = max((now, *(_next_free_time(window, times, places) for window, times in windows)))
        if start - now > LONGEST_DELAY:
            return RetryAfter(start - now)
        for window, times in windows:
            times += [start] * places
            times.sort()
            del times[: -window.calls]
        return Permit(start - now)

    @contextmanager
    def _stored_times(self, times: list[float]) -> Iterator[list[float]]:
        """Give the times of dangerous calls; what is done to them is kept."""
        if self._state is None:
            yield times
            return
        path = self._state / self._file
        try:
            # A reader sees the old file or the new one; the lock is on another.
            with hold_lock(path.with_suffix(".lock")):
                window, now = self._limits.dangerous, self._clock()
                stored = _read_times(path)
                times[:] = _current_times(stored, window, now)
                yield times
                # Also what was only put right is kept, or it would never grow old.
                if times != stored:
                    write_whole(path, json.dumps({"dangerous": times}))
        except OSError as error:
            raise SetupError(
                f"{path} cannot be written ({error.strerror}), so no DANGEROUS call runs. Check"
                " the disk and the folder."
            ) from error


def wait_turn(
    limiter: Limiter,
    kind: LimiterKind,
    places: int,
    cancel: Cancellation | None = None,
    *,
    patient: bool = False,
) -> float:
    """Wait for the places of a call, as long as it takes if `patient`; return the last wait.

    Raises:
        ToolError: It would have to wait for longer than a call is delayed.
    """
    cancel = cancel or Cancellation()
    answer = limiter.reserve_places(kind, places)
    while patient and isinstance(answer, RetryAfter) and not cancel.wait(answer.seconds):
        answer = limiter.reserve_places(kind, places)
    if isinstance(answer, Permit):
        if answer.delay:
            cancel.wait(answer.delay)
        return answer.delay
    raise ToolError(
        "BUSY",
        f"Too many calls: this one can run after {answer.seconds:.1f} seconds.",
        "Wait, or do more in one call.",
        retryable=True,
    )


def _next_free_time(window: RateWindow, times: list[float], places: int) -> float:
    """Return when a window has that many free places, given the sorted times of the last ones."""
    if window.calls < 1:
        return math.inf
    before = max(window.calls - places, 0)
    return times[-before - 1] + window.seconds if len(times) > before else -math.inf


def _read_times(path: Path) -> list[float] | None:
    """Return the stored times; None for a file that holds no such thing."""
    try:
        found = [float(moment) for moment in json.loads(path.read_text("ascii"))["dangerous"]]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    return found if all(map(math.isfinite, found)) else None


def _current_times(stored: list[float] | None, window: RateWindow, now: float) -> list[float]:
    if stored is None:
        # What cannot be read may have been a full window, and is taken for one.
        return [now] * window.calls
    # A place that was taken ahead lies up to the longest delay in the future.
    ahead = now + LONGEST_DELAY
    return sorted(moment if moment <= ahead else now for moment in stored)[-window.calls :]
