"""Waiting for a turn among the threads of this process, in the order of arrival."""

import threading
import time
from collections import deque

from iac_runtime.execution.cancellation import Cancellation

__all__ = ["Turnstile"]


class Turnstile:
    """Lets `capacity` threads through at once, first come, first served."""

    def __init__(self, capacity: int) -> None:
        self._lock = threading.Lock()
        self._free = capacity
        self._queue: deque[threading.Event] = deque()

    def enter(self, deadline: float, cancel: Cancellation) -> bool:
        """Wait for a turn until `deadline` (monotonic clock); say whether it came.

        Whoever got a turn has to `leave`. A cancelled call gives up its wait at once.
        """
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            turn = threading.Event()
            self._queue.append(turn)
        with cancel.watched(turn.set):
            turn.wait(max(0.0, deadline - time.monotonic()))
        with self._lock:
            if turn in self._queue:
                self._queue.remove(turn)
                return False
        # Whoever left took the turn out of the queue: it was handed over.
        return True

    def leave(self) -> None:
        """Hand the turn to the next one."""
        with self._lock:
            if self._queue:
                self._queue.popleft().set()
            else:
                self._free += 1
