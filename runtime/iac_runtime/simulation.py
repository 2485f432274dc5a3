"""Simulated apps in the place of a Mac: built from the catalogue, with a state file if wanted."""

from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_runtime.catalogue import Catalogue
from iac_runtime.errors import SetupError

__all__ = ["HOME", "Simulation", "simulation"]

HOME: Final = "/Users/me"
"""The home folder of the simulated user."""


class Simulation(NamedTuple):
    """A simulator (a `Runner`) and the file that keeps its state, if any."""

    simulator: Any
    path: Path | None
    before: Any

    def save(self) -> None:
        """Write the state back if the calls changed it.

        Raises:
            SetupError: The file cannot be written.
        """
        if self.path is None or self.simulator.state() == self.before:
            return
        try:
            self.simulator.save(self.path)
        except OSError as error:
            raise SetupError(f"{self.path} cannot be written: {error.strerror}.") from error


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
    return Simulation(simulator, path, simulator.state() if path else None)
