"""Simulated apps in the place of a Mac: built from the catalogue, with a state file if wanted."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from iac_runtime.catalogue import Catalogue
from iac_runtime.errors import SetupError
from iac_runtime.execution.process import Completed
from iac_runtime.tables import Tables

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

    def renew(self, catalogue: Catalogue) -> None:
        """Take the apps of another catalogue; those that were there keep their state.

        Raises:
            SetupError: A module cannot be read, or a state does not fit its app any more.
        """
        from iac_simulator import Simulator, StateError

        apps = _apps(catalogue)
        with self._lock:
            state = {**Simulator(apps).state(), **self.simulator.state()}
            try:
                self.simulator = Simulator(apps, state)
            except StateError as error:
                raise SetupError(str(error)) from error

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
        from iac_simulator import MissingEngineError, Simulator, StateError
    except ModuleNotFoundError as error:
        raise SetupError(
            f"The simulator needs {error.name}; install it with: pip install 'iac[simulator]'"
        ) from error
    try:
        simulator = Simulator(_apps(catalogue))
        if path is not None and path.exists():
            simulator.load(path)
        simulator.check_engine()
    except (StateError, MissingEngineError) as error:
        raise SetupError(str(error)) from error
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from error
    return Simulation(simulator, path)


def _apps(catalogue: Catalogue) -> list[Tables]:
    return [catalogue.tables(app) for app in catalogue.apps.values()]
