"""Calling tools from Python: `from iac_tools import notes; notes.list("note")`.

Whoever imports the library writes the calls himself, so every level is allowed unless `connect`
says otherwise. Without `connect`, calls go to the osascript of this Mac.
"""

import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from iac_base.errors import SetupError, quote_text
from iac_runtime.tool import LEVELS, Level, spec_of, tool_prefix

if TYPE_CHECKING:
    from iac_runtime.gate.gate import Gate
    from iac_runtime.gate.opening import Simulation
    from iac_runtime.gate.plans import Call
    from iac_runtime.outcomes.outcome import Outcome
    from iac_runtime.tools.catalogue import Catalogue
    from iac_runtime.tools.shape import Tool

_TIMEOUT: Final = 30.0

_seconds: ContextVar[float | None] = ContextVar("seconds", default=None)
"""What `timeout` gives to calls; None for the session's own."""

_confirm: ContextVar[bool] = ContextVar("confirm", default=True)
"""What `confirm` gives to calls."""

_came: ContextVar["Outcome | None"] = ContextVar("came", default=None)
"""What came of the last call."""

_lock = threading.RLock()
_sessions: list["Session"] = []
_standing: list["Session"] = []
"""The session without `connect`, once it was needed: it keeps its workers between calls."""


class Session:
    """What `connect` chose; it holds until its `with` block ends, or `close` is called."""

    def __init__(self, gate: "Gate", simulation: "Simulation | None") -> None:
        self._gate = gate
        self._simulation = simulation

    @property
    def simulator(self) -> Any:
        """The `iac_simulator.Simulator` behind the calls, or None on a Mac."""
        return self._simulation.simulator if self._simulation else None

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool by its name on the wire, as in `session.call("notes_count", element="note")`.

        Raises:
            ToolError: The call was refused or failed.
        """
        from iac_runtime.gate.plans import Call
        from iac_runtime.tools.checking import to_json_types

        return self._call_value(Call(tool, to_json_types(arguments)))

    def call_all(self, tool: str, calls: Sequence[Mapping[str, Any]], /) -> list[Any]:
        """Call a tool several times, with each of the arguments; return the results in order.

        All are checked and judged before any runs, and one that may not run refuses them all.

        Raises:
            ToolError: They were refused, or one failed; those after it were not sent.
        """
        from iac_runtime.gate.plans import Call
        from iac_runtime.tools.checking import to_json_types

        if not calls:
            return []
        given = tuple(map(to_json_types, calls))
        return list(self._call_value(Call(tool, {}, calls=given))["results"])

    def run(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Carry out the call that a generated function stands for."""
        from iac_runtime.gate.plans import Call
        from iac_runtime.tools.catalogue import find_tool, module_tables
        from iac_runtime.tools.checking import to_json_types

        module = sys.modules[function.__module__]
        key = module_tables(module).key
        name = f"{tool_prefix(key)}{function.__name__.rstrip('_')}"
        tool = find_tool(module, function.__name__, name)
        given = {
            key: to_json_types(value, key) for key, value in arguments.items() if value is not None
        }
        return self._call_value(Call(tool.name, given), tool)

    def _call_value(self, call: "Call", tool: "Tool | None" = None) -> Any:
        from iac_runtime.gate.plans import CompletedCall, call_with_prompts
        from iac_runtime.policy.prompts import ask_dialog, can_show_dialog

        dialog = ask_dialog if can_show_dialog() else None
        _came.set(None)
        call = call._replace(raw=True, timeout=_seconds.get(), confirm=_confirm.get())
        answer = call_with_prompts(self._gate, call, {"dialog": dialog}, tool)
        if isinstance(answer, CompletedCall):
            _came.set(answer.outcome)
            return _python_value(answer.value)
        raise answer.error

    def close(self) -> None:
        """End the session and what runs for it: what was connected before holds again."""
        with _lock:
            if self in _sessions:
                _sessions.remove(self)
        self._gate.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def connect(
    simulate: bool | str | Path | None = None,
    tools: str | Path | None = None,
    timeout: float = _TIMEOUT,
    allow: Level = "DANGEROUS",
    launch: Collection[str] = (),
) -> Session:
    """Choose where calls go from here on, in every thread.

    Args:
        simulate: True for simulated apps, or the path of a state file (JSON or TOML) for them;
            `hard` for apps that act as the field book says of real ones, `hard,mail=sick` with
            the variant of one, `hard:world.json` with a state file.
        tools: A folder of generated modules to look in first.
        timeout: Seconds for one call.
        allow: The highest level that runs unasked. Above it, and where the user's policy asks, a
            dialog of the Mac does; without one the call raises `CallRefusedError`. What the
            policy denies is refused at every level.
        launch: The apps that a call which only reads may start: keys, names or bundle ids.

    Returns:
        A session. It holds at once; at the end of its `with` block the earlier one holds again.

    Raises:
        SetupError: `allow` is no level, the folder holds no tools, the policy is not right, or
            the simulator or its state cannot be had.
    """
    from iac_runtime.tools.catalogue import Catalogue, tool_folders

    if allow not in LEVELS:
        raise SetupError(f"allow must be one of {', '.join(LEVELS)}, not {quote_text(str(allow))}.")
    folders = tool_folders([Path(tools)] if tools else [])
    catalogue = Catalogue(folders) if folders else None
    launch = [_bundle_id(catalogue, app) for app in launch]
    if simulate is None or simulate is False:
        return _begin_session(_build_session(catalogue, timeout, allow, launch))
    from iac_runtime.gate.opening import open_simulation

    if catalogue is None:
        raise SetupError("There are no tools yet; build them with: iac-gen build")
    world = open_simulation(catalogue, "" if simulate is True else str(simulate))
    return _begin_session(_build_session(catalogue, timeout, allow, launch, world))


def _build_session(
    catalogue: "Catalogue | None",
    timeout: float,
    allow: Level,
    launch: Collection[str],
    world: "Simulation | None" = None,
) -> Session:
    """Return a session under the user's policy; every call is audited, of simulated apps too."""
    from iac_runtime.execution.executor import Executor
    from iac_runtime.gate.gate import Gate
    from iac_runtime.gate.opening import HOME, open_audit
    from iac_runtime.policy.effects import identify_from_catalogue, identify_no_app
    from iac_runtime.policy.permissions import open_permissions

    home = HOME if world else None
    identify = identify_from_catalogue(catalogue) if catalogue else identify_no_app
    gate = Gate(
        catalogue,
        Executor(world, timeout=timeout),
        allow,
        home=home,
        limit=None,
        launch=launch,
        permissions=open_permissions(home=home, identify=identify),
        audit=open_audit,
    )
    return Session(gate, world)


def _bundle_id(catalogue: "Catalogue | None", app: str) -> str:
    found = catalogue.named_app(app) if catalogue else None
    return found.id if found else app


def _begin_session(session: Session) -> Session:
    with _lock:
        _sessions.append(session)
    return session


@contextmanager
def timeout(seconds: float) -> Iterator[None]:
    """Give each call of this thread so many seconds inside the block: `with timeout(600): …`."""
    token = _seconds.set(seconds)
    try:
        yield
    finally:
        _seconds.reset(token)


@contextmanager
def confirm(wanted: bool) -> Iterator[None]:
    """Say whether the writes of this thread are read back inside the block; by default they are.

    What is not read back cannot be taken back. It is for work in bulk: `with confirm(False): …`.
    """
    token = _confirm.set(wanted)
    try:
        yield
    finally:
        _confirm.reset(token)


def outcome() -> "Outcome | None":
    """Return what came of the last call of this thread: of a write as it was read back.

    Of a read it is `partial`, and says what is missing; None means that nothing is. A call that
    raised has its outcome in the error.
    """
    return _came.get()


def each(
    function: Callable[..., Sequence[Mapping[str, Any]]],
    /,
    *args: Any,
    page: int = 200,
    **given: Any,
) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a `list`, read a page at a time: `each(mail.list, "message", of="inbox")`.

    A page goes on behind the last row of the one before, wherever that is by then.

    Args:
        function: The `list` of an app.
        args, given: Its arguments, without `limit`, `offset` and `cursor`.
        page: Rows that are read at once.
    """
    from iac_runtime.language.syntax import SelectPart, read_syntax

    seen, cursor = 0, None
    while rows := function(*args, limit=page, cursor=cursor, **given):
        yield from rows
        seen += len(rows)
        match read_syntax(rows[-1]["ref"]).parts[-1]:
            case SelectPart("byId", ident):
                cursor = f"{seen}:{ident}"
            case _:
                cursor = f"{seen}:"


def dispatch(function: Callable[..., Any], arguments: Mapping[str, Any], /) -> Any:
    """Carry out `App.call`: how a generated function does its work.

    Raises:
        ToolError: The call was refused or failed.
    """
    if spec_of(function) is None:
        raise SetupError(f"{function.__module__}.{function.__name__} is not a tool.")
    with _lock:
        session = _sessions[-1] if _sessions else None
    return (session or _default_session()).run(function, arguments)


def _default_session() -> Session:
    with _lock:
        if not _standing:
            _standing.append(_build_session(None, _TIMEOUT, "DANGEROUS", ()))
        return _standing[0]


def _python_value(value: Any) -> Any:
    """Return a result in Python's own types: a moment is an aware `datetime`."""
    from iac_runtime.language.reader import DateText

    if isinstance(value, DateText):
        return datetime.fromisoformat(value)
    if isinstance(value, list):
        return [_python_value(part) for part in value]
    if isinstance(value, dict):
        return {key: _python_value(part) for key, part in value.items()}
    return value
