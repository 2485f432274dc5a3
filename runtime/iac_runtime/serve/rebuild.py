"""What lies behind the front: the gate, opened on first need, and tools that are built anew.

An idle server pays for a few calls of stat a second. A start of the server pays for this module;
the gate and the status wait for a need.
"""

import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from iac_base.errors import IacError, SetupError
from iac_runtime.serve.listing import Listings

if TYPE_CHECKING:
    from iac_runtime.gate.gate import Gate
    from iac_runtime.serve.methods import Methods
    from iac_runtime.serve.status import StatusFile
    from iac_runtime.tools.catalogue import Catalogue


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

    def notify_listeners(self) -> None:
        """Tell every listener."""
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener()


class BuildWatch:
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
        threading.Thread(target=self._watch_loop, name="iac-watch", daemon=True).start()

    def close(self) -> None:
        """End; a look under way is not waited for."""
        self._ended.set()

    def _watch_loop(self) -> None:
        while not self._ended.wait(self._pause):
            try:
                changed = self._look()
            except (IacError, OSError) as error:
                sys.stderr.write(f"iac-mcp: the tools were built again, but: {error}\n")
                continue
            if changed:
                self._changes.notify_listeners()


class LazyGate:
    """The gate of a server, and its status. Safe to use from several threads.

    Args:
        lines: What is listed.
        open_gate: Opens the gate.
        gate: The gate, where it had to be opened already.
    """

    def __init__(
        self, lines: Listings, open_gate: "Callable[[], Gate]", gate: "Gate | None" = None
    ) -> None:
        self.changes = Changes()
        self.lines = lines
        self._open = open_gate
        self._gate = gate
        self._status_file: StatusFile | None = None
        self._methods: Methods | None = None
        # Tools that are built anew while the gate is opened must not be lost between the two.
        self._lock = threading.Lock()

    def open_methods(self, patience: float) -> "Methods":
        """Return what answers the requests that lead behind the listings, with the gate opened.

        Raises:
            SetupError: The gate cannot be opened.
        """
        from iac_runtime.serve.methods import build_methods

        with self._lock:
            if self._methods is None:
                if self._gate is None:
                    self._gate = self._open()
                self._status_file = _status_file(self._gate, self.lines)
                self._methods = build_methods(self._gate, self.lines, self._status_file, patience)
            return self._methods

    def reload_tools(self) -> bool:
        """Take over tools that were built anew, and say whether any were.

        Raises:
            SetupError: They cannot be read; the old ones stay.
        """
        with self._lock:
            if not self.lines.reload_if_changed():
                return False
            if self._gate is not None:
                from iac_runtime.tools.catalogue import Catalogue

                catalogue = Catalogue(self.lines.folders)
                self._gate.replace_tools(catalogue)
                if self._status_file is not None:
                    self._status_file.update_fields(
                        apps=len(catalogue.apps), tools=_tools_by_level(catalogue)
                    )
        return True

    def stop_calls(self) -> None:
        """End the calls that are under way; nothing where the gate was never opened."""
        if self._gate is not None:
            self._gate.stop_calls()

    def end_tasks(self) -> None:
        """End the tasks that were approved here."""
        if self._gate is not None:
            self._gate.permissions.end_tasks()

    def close(self) -> None:
        """End what runs, and remove the status."""
        gate, status = self._gate, self._status_file
        if gate is not None:
            gate.close()
        if status is not None:
            status.close()


def _status_file(gate: "Gate", lines: Listings) -> "StatusFile | None":
    from iac_runtime.serve.status import StatusFile

    catalogue = gate.catalogue
    assert catalogue is not None
    try:
        states, tasks = gate.executor.worker_states, gate.permissions.list_tasks
        apps, levels = len(catalogue.apps), _tools_by_level(catalogue)
        return StatusFile(lines.surface, apps, levels, workers=states, tasks=tasks, later=True)
    except SetupError:
        # A state folder that is not safe stops the calls, which say so, and not the server.
        return None


def _tools_by_level(catalogue: "Catalogue") -> dict[str, int]:
    return dict(Counter(row.level for row in catalogue.tools.values()))
