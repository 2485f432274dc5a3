"""Tools that are built anew while a server runs: who wants to know, and the thread that looks.

An idle server pays for a few calls of stat a second.
"""

import sys
import threading
from collections.abc import Callable
from typing import Final

from iac_runtime.errors import IacError

__all__ = ["PAUSE", "Changes", "Watch"]

PAUSE: Final = 1.0
"""Seconds between two looks; a build is seen at the second look after it."""


class Changes:
    """Tells its listeners that the tools are others. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[object, Callable[[], object]] = {}

    def subscribe(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call `listener` (quick, from any thread) at each change; return what ends that."""
        token = object()
        with self._lock:
            self._listeners[token] = listener

        def stop() -> None:
            with self._lock:
                self._listeners.pop(token, None)

        return stop

    def tell(self) -> None:
        """Tell every listener."""
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener()


class Watch:
    """A thread that looks, and tells when something has changed.

    Args:
        look: Takes over what has changed, and says whether anything has.
        changes: Whom to tell.
        pause: Seconds between two looks.
    """

    def __init__(self, look: Callable[[], bool], changes: Changes, pause: float = PAUSE) -> None:
        self._look = look
        self._changes = changes
        self._pause = pause
        self._ended = threading.Event()

    def start(self) -> None:
        """Begin; the thread does not keep the process alive."""
        threading.Thread(target=self._run, name="iac-watch", daemon=True).start()

    def close(self) -> None:
        """End; a look under way is not waited for."""
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(self._pause):
            try:
                changed = self._look()
            except (IacError, OSError) as error:
                sys.stderr.write(f"iac-mcp: the tools were built anew, but: {error}\n")
                continue
            if changed:
                self._changes.tell()
