"""Ending a call from another thread."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Cancellation:
    """Says once, for good, that a call is no longer wanted; whoever waits for it wakes at once.

    Safe to use from any thread. A cancelled call ends its process before it returns.

    Attributes:
        word: The other way: what the call last said of how far it is, for who waits for it.
    """

    def __init__(self) -> None:
        # A signal handler may cancel while its own thread holds the lock.
        self._lock = threading.RLock()
        self._event = threading.Event()
        self._wakers: list[Callable[[], object]] = []
        self.word = ""

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._event.is_set()

    def cancel(self) -> None:
        """End the call; a second time does nothing."""
        with self._lock:
            if not self._event.is_set():
                self._event.set()
                for wake in self._wakers:
                    wake()

    def wait(self, seconds: float) -> bool:
        """Sleep for `seconds`, or until it is cancelled; then the answer is True."""
        return self._event.wait(seconds)

    @contextmanager
    def on_cancel(self, wake: Callable[[], object]) -> Iterator[None]:
        """Call `wake` (quick, not raising) once it is cancelled, but never after the block."""
        with self._lock:
            self._wakers.append(wake)
            if self._event.is_set():
                wake()
        try:
            yield
        finally:
            with self._lock:
                self._wakers.remove(wake)
