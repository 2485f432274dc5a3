"""The simulator as a program: `python -m iac_simulator.osascript` in the place of osascript.

Environment:
    IAC_SIMULATOR_TOOLS: Folders of generated modules, separated as in PATH; if unset, the shipped
        ones.
    IAC_SIMULATOR_STATE: A state file, read at the start and written after each event that changed
        something, under a lock, so that no process loses what another one did. A file that is
        missing is begun with the shipped world.
    IAC_SIMULATOR_EVENTS: A file to which each sent event is appended as a line of JSON.
"""

import contextlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iac_runtime.tables import Tables, tables_of
from iac_simulator import storage
from iac_simulator.errors import StateError
from iac_simulator.host import Outside
from iac_simulator.simulator import Simulator

__all__ = ["load_tables", "main"]


def main() -> int:
    """Run sys.argv as osascript would and return the exit status."""
    try:
        simulator = Simulator(load_tables(_folders()))
        session = _Session(simulator)
        return simulator.run(sys.argv[1:], _outside(), session.turn)
    except (StateError, OSError) as error:
        os.write(2, f"osascript: {error}\n".encode("utf-8", "replace"))
        return 1


def _folders() -> list[Path]:
    named = os.environ.get("IAC_SIMULATOR_TOOLS")
    if named:
        return [Path(folder) for folder in named.split(os.pathsep) if folder]
    shipped = importlib.util.find_spec("iac_tools")
    return (
        [Path(folder) for folder in (shipped.submodule_search_locations or [])] if shipped else []
    )


def load_tables(folders: list[Path]) -> list[Tables]:
    """Return the tables of every module that the catalogues of `folders` list.

    An app in an earlier folder hides the later one.

    Raises:
        StateError: A folder has no readable catalogue, or a module cannot be imported.
    """
    found: dict[str, Tables] = {}
    for folder in folders:
        try:
            catalogue = json.loads((folder / "catalogue.json").read_text("utf-8"))
            keys = list(catalogue["apps"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StateError(f"{folder}: no readable catalogue.json: {error}") from None
        for key in keys:
            if key not in found:
                found[key] = _tables(folder / f"{key}.py", key)
    return list(found.values())


def _tables(path: Path, key: str) -> Tables:
    spec = importlib.util.spec_from_file_location(f"iac_simulated.{key}", path)
    if spec is None or spec.loader is None:
        raise StateError(f"{path}: not a module.")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        return tables_of(module)
    except Exception as error:
        raise StateError(f"{path}: not a generated module: {error}") from None


def _outside() -> Outside:
    def write(descriptor: int, data: bytes) -> None:
        while data:
            data = data[os.write(descriptor, data) :]

    stdin = os.fdopen(0, "rb", closefd=False)
    return Outside(stdin, write, time.sleep, lambda: None)


class _Session:
    """Keeps a simulator and its files the same, request by request."""

    def __init__(self, simulator: Simulator) -> None:
        state, events = (os.environ.get(f"IAC_SIMULATOR_{name}") for name in ("STATE", "EVENTS"))
        self._simulator = simulator
        self._state = Path(state) if state else None
        self._log = Path(events) if events else None
        self._seen: Any = None
        if self._state is not None:
            with storage.locked(self._state):
                self._refresh(self._state)

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the state file around a request: read what others changed, write what this did."""
        sent = len(self._simulator.events)
        try:
            if self._state is None:
                yield
            else:
                with storage.locked(self._state):
                    self._refresh(self._state)
                    before = self._simulator.state()
                    try:
                        yield
                    finally:
                        # Only an event can have changed anything; a failed one too.
                        if len(self._simulator.events) > sent:
                            self._keep(self._state, before)
        finally:
            self._append(sent)

    def _refresh(self, path: Path) -> None:
        mark = _mark(path)
        if mark != self._seen:
            if mark is not None:
                self._simulator.load(path)
            self._seen = mark

    def _keep(self, path: Path, before: dict[str, Any]) -> None:
        if self._simulator.state() != before:
            self._simulator.save(path)
            self._seen = _mark(path)

    def _append(self, sent: int) -> None:
        if self._log is None or len(self._simulator.events) == sent:
            return
        lines = [
            json.dumps(event._asdict(), ensure_ascii=False)
            for event in self._simulator.events[sent:]
        ]
        with self._log.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))


def _mark(path: Path) -> tuple[int, int, int] | None:
    """Return what tells one version of a file from another; None where there is no file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


if __name__ == "__main__":
    sys.exit(main())
