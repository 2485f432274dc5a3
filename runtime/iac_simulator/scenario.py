"""Scenarios: what goes wrong, with which event, how often; and the machine's habits.

A scenario is data (TOML or JSON); docs/simulator.md has the table of its keys. What is said here
about an app's event is carried out by `dispatcher`, what is said about the process by `host`.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, get_origin, get_type_hints

from iac_base.errors import near_text, quote_text
from iac_runtime.tools.field import profile_words
from iac_simulator.errors import LANGUAGES, StateError
from iac_simulator.state import lock_state, read_table


@dataclass(frozen=True)
class InjectedFault:
    """Something that goes wrong with some events, or at the start of a script.

    When: `on` is `event` or `start`; `app` a bundle id or name and `event` a code, empty for any;
    it strikes at the `nth` that fits and `times` times in a row, 0 for ever.

    What, to an event: the app answers `error`, with `after` once the work is done; or `value`, or a
    text of `size` characters; it has `quit`; the list `shift` has moved (`how`). What, to the
    process: it waits `delay` seconds, forks a child that lives `fork` seconds (in a session of its
    own with `setsid`), ignores TERM, writes `write` (`times` times) to `descriptor`, and ends with
    the status `exit`, where 139 is a real segmentation fault.
    """

    on: str = "event"
    app: str = ""
    event: str = ""
    nth: int = 1
    times: int = 1
    error: int | None = None
    after: bool = False
    value: Any = None
    size: int = 0
    quit: bool = False
    shift: str = ""
    how: str = "reorder"
    delay: float = 0.0
    fork: float = 0.0
    setsid: bool = False
    ignore_term: bool = False
    write: str = ""
    repeat: int = 1
    descriptor: int = 1
    exit: int | None = None


@dataclass(frozen=True)
class FaultScenario:
    """`faults` in order; the `language` of error texts; `error_lines` is `new` or `old`.

    With `strict`, a name that the dictionary lacks is told on stderr when an event uses it; JXA
    itself says nothing since 10.11.
    The old lines (10.10 to 10.13) have character offsets and the line number. `dialogs` is how a
    person answers an app that asks: `yes`, `no` or `cancel`, or not while the event waits (`wait`).
    An event takes `latency` seconds, and `latency_each` for each object that is looked at.
    With the `profile` hard, apps act as the field book says (`iac_simulator.field_profile`):
    `variants` has the variant of an app by its key, `play` the ids of rows that act in any case.
    """

    faults: tuple[InjectedFault, ...] = ()
    language: str = "en"
    error_lines: str = "new"
    strict: bool = False
    dialogs: str = "wait"
    latency: float = 0.0
    latency_each: float = 0.0
    profile: str = "friendly"
    variants: dict[str, str] = field(default_factory=dict)
    play: list[str] = field(default_factory=list)


_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "language": LANGUAGES,
    "error_lines": ("new", "old"),
    "dialogs": ("wait", "cancel", "yes", "no"),
    "profile": ("friendly", "hard"),
    "on": ("event", "start"),
    "how": ("reorder", "insert", "remove", "replace"),
}


def parse_scenario(data: Any, where: str = "scenario") -> FaultScenario:
    """Return the scenario in plain data.

    Raises:
        StateError: A key that there is not, or a value of the wrong kind.
    """
    if not isinstance(data, dict):
        raise StateError(f"{where}: a scenario must be a table.")
    rows = data.get("fault", [])
    if not isinstance(rows, list):
        raise StateError(f"{where}: fault must be a list of tables: write [[fault]].")
    machine = {key: value for key, value in data.items() if key != "fault"}
    _check_row(machine, FaultScenario, where)
    faults = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise StateError(f"{where}: fault {number}: must be a table.")
        _check_row(row, InjectedFault, f"{where}: fault {number}")
        faults.append(InjectedFault(**row))
    return FaultScenario(tuple(faults), **machine)


def _check_row(
    row: Mapping[str, Any], table: type[FaultScenario | InjectedFault], where: str
) -> None:
    kinds = get_type_hints(table)
    if kinds.pop("faults", None):
        kinds["fault"] = Any
    for key, value in row.items():
        if key not in kinds:
            hint = near_text(str(key), kinds)
            raise StateError(f"{where}: {json.dumps(key)} is not a key. {hint}")
        kind = kinds[key]
        kind = get_origin(kind) if get_origin(kind) in (dict, list) else kind
        fits = kind is Any or isinstance(value, int | float if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind not in (bool, Any)):
            name = getattr(kind, "__name__", "int")
            raise StateError(f"{where}: {key} must be {name}.")
        if key in _CHOICES and value not in _CHOICES[key]:
            raise StateError(f"{where}: {key} must be one of {', '.join(_CHOICES[key])}.")


def parse_profile(text: str) -> FaultScenario:
    """Return the scenario of a profile as options say it: `hard`, or `hard,mail=sick`.

    A word without `=` is the id of a row of the field book that acts in any case.

    Raises:
        StateError: There is no such profile, variant or row.
    """
    name, *words = text.split(",")
    ids, known = profile_words() if words else (frozenset[str](), frozenset[str]())
    for word in words:
        app, sign, variant = word.partition("=")
        if (variant if sign else app) not in (known if sign else ids):
            near = (
                f"the variants are {', '.join(sorted(known))}" if sign else "there is no such row"
            )
            raise StateError(f"profile: {quote_text(word)} is not known; {near}.")
    variants = dict(word.split("=", 1) for word in words if "=" in word)
    machine = {"profile": name, "variants": variants, "play": [w for w in words if "=" not in w]}
    return parse_scenario({"language": "de", **machine} if name == "hard" else machine, "profile")


def read_scenario(path: Path) -> FaultScenario:
    """Return the scenario in a file; the suffix `.toml` or `.json` says how it is written.

    Raises:
        StateError: It cannot be read, or says what there is not.
    """
    return parse_scenario(read_table(path, "scenario"), str(path))


@dataclass
class FaultCounter:
    """Counts occasions and says which faults strike; safe to share between threads.

    `counts` holds how often each fault of the scenario found what it fits, in the same order. With
    a file they are kept there, under a lock, for all processes that name it.
    """

    scenario: FaultScenario
    counts: list[int] = field(default_factory=list)
    file: Path | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.counts += [0] * (len(self.scenario.faults) - len(self.counts))

    def due_faults(
        self, on: str, names: Sequence[str] = (), event: str = ""
    ) -> list[InjectedFault]:
        """Count an occasion and return the faults that strike, in the order of the scenario.

        Raises:
            OSError: The file of counts cannot be written.
        """
        struck: list[InjectedFault] = []
        if not self.scenario.faults:
            return struck
        folded = {"", *(name.casefold() for name in names)}
        with self._lock, self._share_counts():
            for index, fault in enumerate(self.scenario.faults):
                named = fault.app.casefold() in folded and fault.event in ("", event)
                if fault.on != on or not named:
                    continue
                self.counts[index] += 1
                past = self.counts[index] - fault.nth
                if past >= 0 and (fault.times == 0 or past < fault.times):
                    struck.append(fault)
        return struck

    @contextmanager
    def _share_counts(self) -> Iterator[None]:
        """Read what other processes counted too, and keep what is counted in the block."""
        if self.file is None:
            yield
            return
        with lock_state(self.file):
            with suppress(OSError, ValueError):
                known = json.loads(self.file.read_text("utf-8"))
                self.counts[: len(known)] = known[: len(self.counts)]
            yield
            self.file.write_text(json.dumps(self.counts), "utf-8")
