"""What lies behind the front: the gate, opened on first need, and tools that are built anew.

A start of the server pays for this module; the SDK, the gate and the status wait for a need.
"""

import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from iac_runtime.errors import SetupError
from iac_runtime.surface.changes import Changes
from iac_runtime.surface.lines import Lines

if TYPE_CHECKING:
    from iac_runtime.care.status import Board
    from iac_runtime.catalogue import Catalogue
    from iac_runtime.front.answers import Identity
    from iac_runtime.gate import Gate

__all__ = ["Backing"]


class Backing:
    """The gate of a server, and its status. Safe to use from several threads.

    Args:
        lines: What is listed.
        open_gate: Opens the gate.
        gate: The gate, where it had to be opened already.
    """

    def __init__(
        self, lines: Lines, open_gate: "Callable[[], Gate]", gate: "Gate | None" = None
    ) -> None:
        self.changes = Changes()
        self._lines = lines
        self._open = open_gate
        self._gate = gate
        self._board: Board | None = None
        # Tools that are built anew while the gate is opened must not be lost between the two.
        self._lock = threading.Lock()

    def server(self, identity: "Identity", patience: float) -> Any:
        """Return the SDK's server, with the gate opened.

        Raises:
            SetupError: The gate cannot be opened.
        """
        from iac_runtime.server.handlers import build_server

        with self._lock:
            if self._gate is None:
                self._gate = self._open()
            gate = self._gate
            self._board = _board(gate, self._lines)
        return build_server(
            gate,
            self._lines,
            identity,
            changes=self.changes,
            board=self._board,
            patience=patience,
        )

    def look(self) -> bool:
        """Take over tools that were built anew, and say whether any were.

        Raises:
            SetupError: They cannot be read; the old ones stay.
        """
        with self._lock:
            if not self._lines.renew():
                return False
            if self._gate is not None:
                from iac_runtime.catalogue import Catalogue

                catalogue = Catalogue(self._lines.folders)
                self._gate.renew(catalogue)
                if self._board is not None:
                    self._board.update(apps=len(catalogue.apps), tools=_levels(catalogue))
        return True

    def close(self) -> None:
        """End what runs, and remove the status."""
        gate, board = self._gate, self._board
        if gate is not None:
            gate.close()
        if board is not None:
            board.close()


def _board(gate: "Gate", lines: Lines) -> "Board | None":
    from iac_runtime.care.status import Board

    catalogue = lines.catalogue(gate)
    try:
        workers = gate.executor.workers
        return Board(lines.surface, len(catalogue.apps), _levels(catalogue), workers=workers)
    except SetupError:
        # A state folder that is not safe stops the calls, which say so, and not the server.
        return None


def _levels(catalogue: "Catalogue") -> dict[str, int]:
    return dict(Counter(row.level for row in catalogue.tools.values()))
