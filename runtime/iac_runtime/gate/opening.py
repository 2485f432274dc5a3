"""Putting a gate together from what a person chose: tools, policy, limits, audit, simulation."""

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from iac_base.errors import SetupError, near_text, pip_install, quote_text
from iac_base.files import open_state
from iac_base.logs import LOGGER
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.locks import DEFAULT_TIMEOUT, WAITING, ExecutionLimits
from iac_runtime.execution.process import Completed
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.limiter import Limiter, RateLimits, window_of_rate
from iac_runtime.policy.effects import identify_from_catalogue
from iac_runtime.policy.facts import Effect
from iac_runtime.policy.permissions import Permissions, open_permissions
from iac_runtime.policy.requests import RequestView
from iac_runtime.policy.settings import PolicyFlags
from iac_runtime.tool import LEVELS, App, Level
from iac_runtime.tools.catalogue import AppRow, Catalogue, tool_folders
from iac_runtime.tools.own import added_tools, entry_places
from iac_runtime.tools.tables import Tables

if TYPE_CHECKING:
    from iac_runtime.audit import Audit

HOME: Final = "/Users/me"
"""The home folder of the simulated user."""


class Simulation:
    """A simulator as a `Runner` that keeps its state in a file, if one is given.

    Attributes:
        path: The file.
        is_new: Whether it was not there when the simulation began.
    """

    def __init__(self, simulator: Any, path: Path | None) -> None:
        self.simulator = simulator
        self.path = path
        self.is_new = path is not None and not path.exists()
        self._saved = simulator.state() if path else None
        self._lock = threading.Lock()

    def __call__(self, argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        """Run a script as osascript would, then write the state if the script changed it.

        Raises:
            SetupError: The state file cannot be written.
        """
        done: Completed = self.simulator(argv, stdin, timeout)
        if self.path is not None:
            with self._lock:
                self._save_state(self.path)
        return done

    def replace_apps(self, catalogue: Catalogue) -> None:
        """Take the apps of another catalogue; those that were there keep their state.

        Raises:
            SetupError: A module cannot be read, or a state does not fit its app any more.
        """
        iac_simulator = _import_simulator()
        apps = _app_tables(catalogue)
        with self._lock:
            state = {**iac_simulator.Simulator(apps).state(), **self.simulator.state()}
            try:
                faults = self.simulator.faults.scenario
                self.simulator = iac_simulator.Simulator(apps, state, faults=faults)
            except iac_simulator.StateError as error:
                raise SetupError(str(error)) from error

    def _save_state(self, path: Path) -> None:
        state = self.simulator.state()
        if state == self._saved:
            return
        try:
            self.simulator.save(path)
        except OSError as error:
            raise SetupError(f"{path} cannot be written: {error.strerror}.") from error
        self._saved = state


HARD: Final = "hard"
"""The profile of simulated apps that act as the field book says of real ones."""


def split_simulation(text: str) -> tuple[str, str]:
    """Return the profile and the state file that an option names: `hard,mail=sick:world.json`.

    Both are empty where it does not say; the friendly profile is the one without a name.
    """
    profile, _, state = text.partition(":")
    return (profile, state) if profile.partition(",")[0] == HARD else ("", text)


def open_simulation(catalogue: Catalogue, text: str | None) -> Simulation:
    """Return the simulated apps of a catalogue; a state file that is missing is begun.

    Args:
        catalogue: What the apps are made from.
        text: The profile and the state file, as in `split_simulation`.

    Raises:
        SetupError: The simulator is not installed, there is no such profile, or the state cannot
            be read.
    """
    iac_simulator = _import_simulator()
    profile, state = split_simulation(text or "")
    path = Path(state) if state else None
    try:
        faults = iac_simulator.parse_profile(profile) if profile else None
        simulator = iac_simulator.Simulator(_app_tables(catalogue), faults=faults)
        if path is not None and path.exists():
            simulator.load(path)
        simulator.check_engine()
    except (iac_simulator.StateError, iac_simulator.MissingEngineError) as error:
        raise SetupError(str(error)) from error
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from error
    return Simulation(simulator, path)


def _import_simulator() -> Any:
    """Return the package of the simulator, which stands above."""
    try:
        return import_module(entry_places("iac.simulator")["apps"])
    except ModuleNotFoundError as error:
        raise SetupError(
            f"The simulator needs {error.name}; install it with: {pip_install('simulator')}"
        ) from error


_READ_LATER: Final = ("classes", "enums", "records", "tools")


class _LazyTables(Tables):
    """The tables of an app whose module is imported when they are first looked at.

    They are empty where it cannot be imported: the other apps ask every app who it is, and a call
    of its own tools says what is wrong with it.
    """

    def __init__(self, row: AppRow, load: Callable[[AppRow], Tables]) -> None:
        vars(self).update(
            key=row.key, app=App(row.id, row.name, row.kind), _load=partial(load, row)
        )

    def __getattr__(self, name: str) -> Any:
        if name in _READ_LATER:
            try:
                loaded = self._load()
            except SetupError as error:
                from logging import getLogger

                getLogger(f"{LOGGER}.simulator").warning("%s", error)
                loaded = Tables(self.key, self.app, {}, {}, {}, {})
            vars(self).update(vars(loaded))
            return vars(self)[name]
        raise AttributeError(name)


def _app_tables(catalogue: Catalogue) -> list[Tables]:
    return [_LazyTables(app, catalogue.load_tables) for app in catalogue.dictionaries]


class GateOptions(NamedTuple):
    """What a command line said; the defaults are what holds without a word.

    Attributes:
        simulate: The profile and state file of simulated apps, as in `split_simulation`; empty for
            friendly ones whose state is not kept, None for the Mac.
        allow: Calls up to this level run unasked.
        timeout: Seconds for one call.
        launch: Apps that a read may start, by key, name or bundle id.
        policy: The policy file, if not the user's own.
        server: What this server is called, for rules of the policy.
        waiting: Calls that may wait for their turn, and those of one app among them.
    """

    tools: Sequence[Path] = ()
    simulate: str | None = None
    allow: str = "SAFE"
    timeout: float = DEFAULT_TIMEOUT
    launch: Sequence[str] = ()
    policy: Path | None = None
    read_only: bool | None = None
    rate_limit: float | None = None
    blocklist: Sequence[str] = ()
    server: str = ""
    waiting: tuple[int, int] = (WAITING, WAITING)

    @property
    def flags(self) -> PolicyFlags:
        """The settings among them."""
        return PolicyFlags(self.read_only, self.rate_limit, self.blocklist, self.server)


def read_options(raw: Mapping[str, Any]) -> GateOptions:
    """Return what a command line says of the gate, given as texts by name.

    Raises:
        SetupError: A number is none, or the state of simulated apps no file.
    """
    policy, simulate = raw.get("policy"), raw.get("simulate")
    _, state = split_simulation(simulate or "")
    if state and Path(state).suffix not in (".json", ".toml") and not Path(state).exists():
        raise SetupError(
            f"--simulate took {state} for the name of its state file, which does not exist. Name"
            " a .json file, write hard for apps that act like real ones, or put --simulate last."
        )
    timeout = _parse_number("--timeout", raw.get("timeout"))
    return GateOptions(
        tools=[Path(folder) for folder in raw.get("tools") or ()],
        simulate=simulate,
        allow=raw.get("allow") or "SAFE",
        timeout=DEFAULT_TIMEOUT if timeout is None else timeout,
        launch=raw.get("launch") or (),
        policy=Path(policy) if policy else None,
        read_only=raw.get("read_only") or None,
        rate_limit=_parse_number("--rate-limit", raw.get("rate_limit")),
        blocklist=raw.get("blocklist") or (),
        server=raw.get("server") or "",
        waiting=raw.get("waiting") or (WAITING, WAITING),
    )


def _parse_number(flag: str, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        raise SetupError(f"{flag} must be a number, not {quote_text(text)}.") from None


def read_nested_code(
    catalogue: Catalogue, view: RequestView, hidden: tuple[str, ...]
) -> tuple[tuple[Effect, ...], tuple[str, ...]]:
    """Return what the code in a request does, and the secrets that it reads.

    `hidden` are globs over properties that are never read.
    """
    module, _, name = entry_places("iac.scripts")["effects"].partition(":")
    find_effects = getattr(import_module(module), name)
    language = next((str(row.value) for row in view.values if row.name == "in"), "")
    texts = [text for row, text in view.texts if row.code == "----"]
    found = [find_effects(catalogue, hidden, view.event.code, text, language) for text in texts]
    effects = dict.fromkeys(effect for inner in found for effect in inner.effects)
    return tuple(effects), tuple(dict.fromkeys(name for inner in found for name in inner.secrets))


def build_gate(options: GateOptions) -> Gate:
    """Return the gate of `iac-mcp`: judged by the user's policy, limited, audited.

    Raises:
        SetupError: A folder, the policy, a setting or a wish is not right.
    """
    level = _parse_level(options.allow)
    if not (math.isfinite(options.timeout) and options.timeout > 0):
        raise SetupError(f"--timeout must be a number of seconds above 0, not {options.timeout:g}.")
    catalogue = Catalogue(tool_folders(options.tools))
    launch = [_bundle_id(catalogue, app) for app in options.launch]
    home = None if options.simulate is None else HOME

    def identify_app(name: str) -> tuple[str, str]:
        return identify_from_catalogue(gate.catalogue or catalogue)(name)

    def stale_lines() -> list[str]:
        return _stale_lines(gate.catalogue or catalogue)

    def read_code(view: RequestView, hidden: tuple[str, ...]) -> Any:
        return read_nested_code(gate.catalogue or catalogue, view, hidden)

    permissions = open_permissions(
        options.flags, options.policy, home=home, identify=identify_app, read_code=read_code
    )
    kinds = _observed_types() if os.environ.get(COLLECTOR) else (Gate, Executor)
    make_gate, make_executor = kinds
    waiting, share = options.waiting
    limits = ExecutionLimits(waiting=waiting, share=share)
    executor = make_executor(timeout=options.timeout, limits=limits)
    world: Simulation | None = None
    if options.simulate is not None:
        world = open_simulation(catalogue, options.simulate)
        executor = make_executor(world, timeout=options.timeout, limits=limits)
    gate = make_gate(
        catalogue,
        executor,
        level,
        home=home,
        launch=launch,
        permissions=permissions,
        audit=open_audit,
        limiter=build_limiter(permissions),
        stale=stale_lines if options.simulate is None else tuple,
        renewed=world.replace_apps if world is not None else None,
        added=added_tools,
    )
    return gate


COLLECTOR: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""Names a collector of OpenTelemetry; the exporter's other variables count too."""


def _observed_types() -> tuple[type[Gate], type[Executor]]:
    # The exporter of OpenTelemetry takes half a second to load.
    from iac_runtime.gate import observing

    observing.export_telemetry(COLLECTOR)
    return observing.ObservedGate, observing.ObservedExecutor


def _stale_lines(catalogue: Catalogue) -> list[str]:
    # Reads the folders of apps, which nothing else here needs.
    from iac_runtime.tools.freshness import check_freshness

    return [row.line for row in check_freshness(catalogue.tool_folders).stale]


def open_audit() -> "Audit":
    """Open the audit of this user.

    Raises:
        SetupError: The state folder is not safe.
    """
    # Loads sqlite3.
    from iac_runtime.audit import Audit

    return Audit.open(open_state())


def build_limiter(permissions: Permissions) -> Limiter:
    """Return the limits that a policy sets.

    Raises:
        SetupError: The state folder is not safe.
    """
    usual = RateLimits()
    policy = permissions.policy
    reads, dangerous = usual.reads, usual.dangerous
    if policy.reads_per_second is not None:
        reads = window_of_rate(policy.reads_per_second)
    if policy.dangerous_per_second is not None:
        dangerous = window_of_rate(policy.dangerous_per_second, dangerous.seconds)
    writes = window_of_rate(float(permissions.settings.rate_limit.value))
    return Limiter(open_state(), RateLimits(reads, writes, dangerous))


def _parse_level(word: str) -> Level:
    for level in LEVELS:
        if word.upper() == level:
            return level
    raise SetupError(f"--allow must be one of {', '.join(LEVELS)}, not {quote_text(word)}.")


def _bundle_id(catalogue: Catalogue, name: str) -> str:
    app = catalogue.named_app(name)
    if app is None:
        near = near_text(name, sorted(catalogue.apps))
        raise SetupError(f"--launch: there are no tools for {quote_text(name)}. {near}".strip())
    return app.id
