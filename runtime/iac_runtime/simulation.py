"""Simulated apps in the place of a Mac: built from the catalogue, with a state file if wanted."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from iac_runtime.catalogue import Catalogue
from iac_runtime.errors import SetupError
from iac_runtime.execution.process import Completed

__all__ = ["HOME", "Simulation", "simulation"]

HOME: Final = "/Users/me"
"""The home folder of the simulated user."""


class Simulation:
    """A simulator as a `Runner` that keeps its state in a file, if one is given."""

    def __init__(self, simulator: Any, path: Path | None) -> None:
        self.simulator = simulator
        self._path = path
        self._saved = simulator.state() if path else None
        self._lock = threading.Lock()

    def __call__(self, argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        """Run a script as osascript would, then write the state if the script changed it.

        Raises:
            SetupError: The state file cannot be written.
        """
        done: Completed = self.simulator(argv, stdin, timeout)
        if self._path is not None:
            with self._lock:
                self._save(self._path)
        return done

    def _save(self, path: Path) -> None:
        state = self.simulator.state()
        if state == self._saved:
            return
        try:
            self.simulator.save(path)
        except OSError as error:
            raise SetupError(f"{path} cannot be written: {error.strerror}.") from error
        self._saved = state


def simulation(catalogue: Catalogue, path: Path | None) -> Simulation:
    """Return the simulated apps of a catalogue; a state file that is missing is begun.

    Raises:
        SetupError: The simulator is not installed, or the state cannot be read.
    """
    try:
        from iac_simulator import Simulator, StateError
    except ModuleNotFoundError as error:
        raise SetupError(
            f"The simulator needs {error.name}; install it with: pip install 'iac[simulator]'"
        ) from error
    try:
        simulator = Simulator([catalogue.tables(app) for app in catalogue.apps.values()])
        if path is not None and path.exists():
            simulator.load(path)
    except StateError as error:
        raise SetupError(str(error)) from error
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from error
    return Simulation(simulator, path)
