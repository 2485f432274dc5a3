"""Changes of an app between the thread that hears of them and whoever asks for them."""

import threading
from collections import deque
from typing import Final

from iac_accessibility.model import Change

__all__ = ["Inbox"]

KEPT: Final = 2_000
"""Changes that are kept until they are fetched; older ones are dropped."""


class Inbox:
    """Holds changes until they are fetched.

    Attributes:
        closed: No more come in.
    """

    def __init__(self) -> None:
        self._changes: deque[Change] = deque(maxlen=KEPT)
        self._news = threading.Condition()
        self.closed = False

    def add(self, change: Change) -> None:
        """Put in a change."""
        with self._news:
            self._changes.append(change)
            self._news.notify_all()

    def wait(self, seconds: float) -> list[Change]:
        """Return what has come in; wait for the first up to `seconds`."""
        with self._news:
            if not self._changes and not self.closed:
                self._news.wait(seconds)
            found = list(self._changes)
            self._changes.clear()
        return found

    def close(self) -> None:
        """Wake whoever waits; no more come in."""
        with self._news:
            self.closed = True
            self._news.notify_all()
