"""The simulator as a program: `python -m iac_simulator.osascript` in the place of osascript.

Environment:
    IAC_SIMULATOR_TOOLS: Folders of generated modules, separated as in PATH; if unset, the shipped
        ones.
    IAC_SIMULATOR_STATE: A state file, read at the start and written after each event that changed
        something, under a lock, so that no process loses what another one did. A file that is
        missing is begun with the shipped world.
    IAC_SIMULATOR_EVENTS: A file to which each sent event is appended as a line of JSON.
    IAC_SIMULATOR_FAULTS: A scenario file: what goes wrong, with which event, how often. What was
        counted is kept beside it (`.counts`), so that several processes share one count.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from iac_base import files
from iac_base.errors import SetupError
from iac_runtime.tools.catalogue import Catalogue, shipped_folder
from iac_runtime.tools.lock import leave_out
from iac_runtime.tools.tables import Tables
from iac_simulator import state as storage
from iac_simulator.errors import StateError
from iac_simulator.host import HostEnvironment, ProcessStreams
from iac_simulator.scenario import read_scenario
from iac_simulator.simulator import Simulator


def main() -> int:
    """Run sys.argv as osascript would and return the exit status."""
    try:
        faults = os.environ.get("IAC_SIMULATOR_FAULTS")
        scenario = read_scenario(Path(faults)) if faults else None
        simulator = Simulator(load_tables(_tool_folders()), faults=scenario)
        if faults:
            simulator.faults.file = Path(f"{faults}.counts")
        session = _Session(simulator)
        outside = HostEnvironment(ProcessStreams(), time.sleep, lambda: None, own=True)
        return simulator.run(sys.argv[1:], outside, session.hold_state)
    except (StateError, SetupError, OSError) as error:
        os.write(2, f"osascript: {error}\n".encode("utf-8", "replace"))
        return 1


def load_tables(folders: Sequence[Path]) -> list[Tables]:
    """Return the tables of every app in the output folders; an earlier one hides a later one's.

    A module that cannot be used is left out, and a line of the log names it.

    Raises:
        SetupError: A folder has no readable catalogue.
    """
    catalogue = Catalogue(folders)
    tables: list[Tables] = []
    for app in catalogue.dictionaries:
        try:
            tables.append(catalogue.load_tables(app))
        except (SetupError, AttributeError) as error:
            leave_out(app.folder, f"{app.key}.py", error)
    return tables


def _tool_folders() -> list[Path]:
    named = os.environ.get("IAC_SIMULATOR_TOOLS")
    if named:
        return [Path(folder) for folder in named.split(os.pathsep) if folder]
    shipped = shipped_folder()
    return [shipped] if shipped else []


class _Session:
    """Keeps a simulator and its files the same, request by request."""

    def __init__(self, simulator: Simulator) -> None:
        state, events = (os.environ.get(f"IAC_SIMULATOR_{name}") for name in ("STATE", "EVENTS"))
        self._simulator = simulator
        self._state = Path(state) if state else None
        self._log = Path(events) if events else None
        self._seen: tuple[int, int, int] | None = None
        self._kept: str | None = None
        if self._state is not None:
            with storage.lock_state(self._state):
                self._load_changes(self._state)

    @contextlib.contextmanager
    def hold_state(self) -> Iterator[None]:
        """Hold the state file around a request: read what others changed, write what this did."""
        try:
            if self._state is None:
                yield
            else:
                with storage.lock_state(self._state):
                    self._load_changes(self._state)
                    try:
                        yield
                    finally:
                        # Only an event can have changed anything; a failed one too.
                        if self._simulator.events:
                            self._save_state(self._state)
        finally:
            self._write_events()

    def _load_changes(self, path: Path) -> None:
        mark = _file_version(path)
        if mark != self._seen:
            if mark is not None:
                self._simulator.load(path)
            self._seen, self._kept = mark, None
        if self._kept is None:
            self._kept = self._simulator.text(path.suffix)

    def _save_state(self, path: Path) -> None:
        text = self._simulator.text(path.suffix)
        if text != self._kept:
            files.write_whole(path, text)
            self._seen, self._kept = _file_version(path), text

    def _write_events(self) -> None:
        """Write the new events down and forget them: a worker runs for days."""
        events, self._simulator.events[:] = list(self._simulator.events), []
        if self._log is not None and events:
            lines = [json.dumps(event._asdict(), ensure_ascii=False) for event in events]
            with self._log.open("a", encoding="utf-8") as file:
                file.write("".join(f"{line}\n" for line in lines))


def _file_version(path: Path) -> tuple[int, int, int] | None:
    """Return what tells one version of a file from another; None where there is no file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


if __name__ == "__main__":
    sys.exit(main())
