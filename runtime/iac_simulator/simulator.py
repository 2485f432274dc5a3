"""The simulator: apps built from tables, scripts run against them as osascript would."""

import copy
import io
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from iac_base import files
from iac_runtime.execution.process import Completed
from iac_runtime.tool import App
from iac_runtime.tools.tables import Tables
from iac_simulator import state as storage
from iac_simulator.dispatcher import Dispatcher
from iac_simulator.engine import load_quickjs
from iac_simulator.errors import StateError
from iac_simulator.field_faults import FieldReading, prepare_world
from iac_simulator.field_profile import FieldProfile
from iac_simulator.host import BufferStreams, HostEnvironment, RunSetting, ScriptTimeout, run_script
from iac_simulator.scenario import FaultCounter, FaultScenario, InjectedFault
from iac_simulator.state import check_world
from iac_simulator.values import SentEvent, parse_instant, to_iso
from iac_simulator.world import AppWorld, default_world

_NOW: Final = "@now"

_KEPT: Final = 1_000
"""Events that are kept at least; a server runs for days."""


def demo_state() -> dict[str, Any]:
    """Return the shipped world: {app key: world}, with a clock of its own."""
    text = Path(__file__).with_name("worlds").joinpath("demo.json").read_text("utf-8")
    state: dict[str, Any] = json.loads(text)
    return state


class _Worlds(Mapping[str, AppWorld]):
    """The worlds of a state by app key; one that nobody described is made on first use.

    Those of `unchecked` are compared with the tables on first use, and left out where they do not
    fit: another version of an app than the shipped world's may have other terms.
    """

    def __init__(
        self,
        tables: Mapping[str, Tables],
        state: dict[str, Any],
        unchecked: set[str],
        profile: FieldProfile | None,
    ) -> None:
        self._profile, self._reading = profile, FieldReading(profile) if profile else None
        self._tables, self._state, self._unchecked = tables, state, unchecked
        self._made: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}

    def __getitem__(self, key: str) -> AppWorld:
        tables = self._tables[key]
        self._check_described(key)
        if key in self._state:
            return self._open_world(tables, self._state[key])
        if key not in self._made:
            world = default_world(tables)
            self._open_world(tables, world)
            self._made[key] = (world, copy.deepcopy(world))
        return self._open_world(tables, self._made[key][0])

    def _open_world(self, tables: Tables, data: dict[str, Any]) -> AppWorld:
        world = AppWorld(tables, data, self._reading)
        if self._profile is not None and "@hard" not in data:
            data["@hard"] = True
            prepare_world(self._profile, world.friendly)
        return world

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def _check_described(self, key: str) -> None:
        if key in self._unchecked:
            self._unchecked.discard(key)
            try:
                check_world(self._tables[key], self._state[key])
            except StateError:
                del self._state[key]

    def current_state(self) -> dict[str, Any]:
        """Return the state with the made worlds that a script changed."""
        for key in [*self._unchecked]:
            self._check_described(key)
        changed = {key: now for key, (now, made) in self._made.items() if now != made}
        return {**self._state, **changed}


class Simulator:
    """Simulated apps and the osascript that talks to them; safe to call from several threads.

    A `Runner`: `simulator(argv, stdin, timeout)` runs `argv[1:]` as /usr/bin/osascript would.
    Waiting (`delay`) takes no time here but counts against `timeout`. The engine cannot be
    interrupted: a script that loops without touching an app, a stream or `delay` runs on.

    Args:
        apps: The tables of the apps that there are.
        state: {app key: world}; None for the shipped world. An app without a world gets a few
            plausible objects of each class.
        faults: What goes wrong, and the machine's habits; None for nothing.

    Raises:
        StateError: The state does not fit the tables; one line that says where.
    """

    def __init__(
        self,
        apps: Sequence[Tables],
        state: Mapping[str, Any] | None = None,
        *,
        faults: FaultScenario | None = None,
    ) -> None:
        self.faults = FaultCounter(faults or FaultScenario())
        self._warnings: list[str] = []
        self.events: list[SentEvent] = []
        self._apps = {tables.key: tables for tables in apps}
        self._lock = threading.RLock()
        self._waited = 0.0
        self._used: dict[str, float] = {}
        self._state: dict[str, Any] = {}
        given = demo_state() if state is None else copy.deepcopy(dict(state))
        scenario = self.faults.scenario
        self._struck: list[InjectedFault] = []
        self._profile: FieldProfile | None = None
        if scenario.profile == "hard":
            self._profile = FieldProfile(
                scenario.variants,
                frozenset(scenario.play),
                self._seconds,
                lambda seconds: self._struck.append(InjectedFault(delay=seconds)),
                scenario.dialogs,
            )
        self._adopt_state(given, shipped=state is None)

    def check_engine(self) -> None:
        """Load the engine now, which is otherwise done for the first script.

        Raises:
            MissingEngineError: It is not installed; the text says how to get it.
        """
        load_quickjs()

    def _adopt_state(self, state: dict[str, Any], shipped: bool) -> None:
        """Take over a state; of the shipped one only what concerns the apps that there are."""
        apps = dict(self._apps)
        kept: dict[str, Any] = {}
        for key, world in state.items():
            if key == _NOW:
                _parse_moment(world)
            elif key in apps or not shipped:
                if key not in apps:
                    apps[key] = _tables_without_dictionary(key, world)
                if not shipped:
                    check_world(apps[key], world)
            else:
                continue
            kept[key] = world
        self._state = kept
        self._worlds = _Worlds(apps, kept, {*kept} - {_NOW} if shipped else set(), self._profile)
        self._dispatcher = Dispatcher(
            self._worlds,
            self._current_time,
            self._log_event,
            self.faults,
            self._warnings.append,
            self._seconds,
            self._used,
            self._profile,
            self._struck,
        )

    def _seconds(self) -> float:
        return self._waited + (0.0 if self._profile else time.monotonic())

    def _current_time(self) -> str:
        return to_iso(self._fixed_time() or datetime.now(UTC))

    def _fixed_time(self) -> datetime | None:
        """Return the moment of a fixed clock, which moves on only by what is waited."""
        fixed = self._state.get(_NOW)
        return None if fixed is None else _parse_moment(fixed) + timedelta(seconds=self._waited)

    def _log_event(self, event: SentEvent) -> None:
        self.events.append(event)
        if len(self.events) > 2 * _KEPT:
            del self.events[:-_KEPT]

    def __call__(self, argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        """Run `argv[1:]` with `stdin`; past `timeout` seconds the result says `timed_out`."""
        streams = BufferStreams(io.BytesIO(stdin))
        waited = [0.0]
        start = time.monotonic()

        def add_wait(seconds: float) -> None:
            # Who waits for longer than the script may run is ended with it.
            self._waited += min(seconds, max(timeout - waited[0], 0.0))
            waited[0] += seconds

        def check_timeout() -> None:
            # With costs of its own, an app is not slower where this computer is.
            spent = 0.0 if self._profile else time.monotonic() - start
            if spent + waited[0] > timeout:
                raise ScriptTimeout

        outside = HostEnvironment(streams, add_wait, check_timeout, clock=self._seconds)
        try:
            status, timed_out = self.run(argv[1:], outside), False
        except ScriptTimeout:
            status, timed_out = -9, True
        written = streams.written
        return Completed(bytes(written[1]), bytes(written[2]), status, timed_out)

    def run(
        self,
        argv: Sequence[str],
        outside: HostEnvironment,
        turn: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> int:
        """Run osascript's arguments against `outside` and return the exit status.

        `turn` is entered around each request to an app.

        Raises:
            ScriptTimeout: `outside.check` said so.
        """
        fixed = self._fixed_time()
        now = None if fixed is None else fixed.timestamp() * 1000

        def handle_request(request: Mapping[str, Any], operation: Callable[[Any], Any]) -> Any:
            with self._lock, turn():
                try:
                    return operation(request)
                finally:
                    for text in self._warnings:
                        outside.streams.write(2, f"warning: {text}\n".encode())
                    self._warnings.clear()

        return run_script(argv, RunSetting(lambda: self._dispatcher, outside, handle_request, now))

    @property
    def waited(self) -> float:
        """The seconds that scripts waited, which took no time."""
        return self._waited

    def wait(self, seconds: float) -> None:
        """Let time pass for the apps, which takes none here."""
        self._waited += seconds

    def state(self) -> dict[str, Any]:
        """Return a copy of the current state, in the format of the constructor."""
        with self._lock:
            return copy.deepcopy(self._worlds.current_state())

    def load(self, path: str | Path) -> None:
        """Replace the state by that of a TOML or JSON file.

        Raises:
            StateError: It cannot be read, or does not fit the tables.
        """
        state = storage.read_state(Path(path))
        with self._lock:
            self._adopt_state(state, shipped=False)

    def save(self, path: str | Path) -> None:
        """Write the state to a TOML or JSON file, by its suffix, atomically.

        Raises:
            OSError: The file cannot be written.
            StateError: TOML cannot express it.
        """
        files.write_whole(Path(path), self.text(Path(path).suffix))

    def text(self, suffix: str) -> str:
        """Return what `save` writes to a file of this suffix.

        Raises:
            StateError: TOML cannot express it.
        """
        with self._lock:
            return storage.state_text(self._worlds.current_state(), suffix)


def _parse_moment(value: Any) -> datetime:
    text = value.get("date") if isinstance(value, dict) else value
    try:
        return parse_instant(str(text))
    except ValueError:
        raise StateError(f"@now: {text!r} is not a date; write 2026-01-31T09:00:00Z.") from None


def _tables_without_dictionary(key: str, world: Any) -> Tables:
    """An app that only the state knows: it has a name (`@name`) and no dictionary."""
    name = world.get("@name") if isinstance(world, dict) else None
    if not isinstance(name, str):
        raise StateError(
            f'{key}: there is no app with this key; give the world an "@name" to add one.'
        )
    return Tables(key, App(f"local.{key}", name), {}, {}, {}, {})
