"""What the running servers of this user are doing: a small file each in the state folder.

A server writes its own file and nobody else's; whoever reads removes those of servers that are
gone. Numbers are kept in memory and written at most once a second, off the thread of the call.
"""

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from iac_base.errors import SetupError
from iac_base.files import ensure_private_folder, open_state
from iac_runtime.policy.facts import TIME
from iac_runtime.policy.pause import pause_calls, paused_since
from iac_runtime.serve.protocol import END_TASKS, STOP_CALLS
from iac_runtime.version import VERSION

_FOLDER: Final = "servers"
_FORMAT: Final = 1
_PAUSE: Final = 1.0
"""Seconds between two writes, so that thousands of calls cost no more than a few."""

_SLACK: Final = 2.0
"""Seconds by which two readings of when a process was started may differ."""


class RunningServer(NamedTuple):
    """A running server.

    Attributes:
        started: Seconds since 1970.
        surface: What it lists: `search`, `all`, patterns.
        apps: How many apps it has tools of.
        tools: How many tools of each level.
        calls, errors: Since its start; a refusal is an error.
        workers: The state of each app's worker, by bundle id, as the executor says it.
        client: What the client calls itself, empty before it said so.
        tasks: What is left of the tasks that were approved there, as `TaskBudgets.rows` says it.
    """

    pid: int
    started: float
    version: str
    surface: str
    apps: int
    tools: Mapping[str, int]
    calls: int = 0
    errors: int = 0
    workers: Mapping[str, str] = MappingProxyType({})
    client: str = ""
    tasks: Sequence[Mapping[str, Any]] = ()

    def facts(self, now: float | None = None) -> dict[str, Any]:
        """Return it as one JSON object, with `uptime` in seconds."""
        at = time.time() if now is None else now
        plain: dict[str, Any] = {"tools": dict(self.tools), "workers": dict(self.workers)}
        # A server writes its file after a call; time goes on without one.
        now_text = time.strftime(TIME, time.localtime(at))
        plain["tasks"] = [dict(task) for task in self.tasks if task["until"] > now_text]
        return {**self._asdict(), **plain, "uptime": max(0, round(at - self.started))}


class StatusFile:
    """The status of this process; safe to share between threads.

    Args:
        surface, apps, tools: As in `RunningServer`.
        workers, tasks: Say the state of the workers, and what is left of tasks, when asked.
        later: Whether to write in a moment only: a first call waits for nothing then.

    Raises:
        SetupError: The state folder is not as it must be.
    """

    def __init__(
        self,
        surface: str,
        apps: int,
        tools: Mapping[str, int],
        *,
        workers: Callable[[], Mapping[str, str]] = dict,
        tasks: Callable[[], Sequence[Mapping[str, Any]]] = tuple,
        later: bool = False,
    ) -> None:
        self._workers, self._tasks = workers, tasks
        self._server = RunningServer(os.getpid(), 0.0, VERSION, surface, apps, dict(tools))
        self._path = servers_folder() / f"{self._server.pid}.json"
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._timer: threading.Timer | None = None
        self._closed = False
        if later:
            self._schedule_write(self._server)
        else:
            self._write_file()

    def count_call(self, *, failed: bool = False) -> None:
        """Count a call that is over."""
        with self._lock:
            server = self._server
            errors = server.errors + 1 if failed else server.errors
            self._schedule_write(server._replace(calls=server.calls + 1, errors=errors))

    def update_fields(self, **fields: Any) -> None:
        """Set fields of `RunningServer`: the client's name, or tools that were built meanwhile."""
        with self._lock:
            self._schedule_write(self._server._replace(**fields))

    def facts(self) -> dict[str, Any]:
        """Return the status of this process as one JSON object."""
        with self._lock:
            # Not before: it loads psutil.
            self._server = self._server._replace(started=self._server.started or _process_start())
            server = self._server
        return server._replace(workers=dict(self._workers()), tasks=self._tasks()).facts()

    def close(self) -> None:
        """Remove the file; the server is going."""
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
        with self._writing, contextlib.suppress(OSError):
            self._path.unlink()

    def _schedule_write(self, server: RunningServer) -> None:
        """Take over new numbers, and write what they are in a moment."""
        self._server = server
        if self._timer is None and not self._closed:
            self._timer = threading.Timer(_PAUSE, self._write_file)
            self._timer.daemon = True
            self._timer.start()

    def _write_file(self) -> None:
        with self._lock:
            self._timer = None
        part = self._path.with_suffix(".part")
        text = json.dumps({"format": _FORMAT, **self.facts()})
        # A full disk must not stop a server; who asks for the status misses its numbers.
        with self._writing, contextlib.suppress(OSError):
            if not self._closed:
                part.write_text(text, encoding="utf-8")
                part.replace(self._path)


def pause_everything() -> None:
    """Refuse all calls of this user's programs from now on, and end those under way.

    Raises:
        SetupError: The state folder is not as it must be.
        OSError: It cannot be written.
    """
    pause_calls(open_state())
    for server in running_servers():
        stop_server_calls(server.pid)


def stop_server_calls(pid: int) -> bool:
    """End the calls under way in a server; say whether it is one of this version.

    Raises:
        SetupError: The state folder is not as it must be.
    """
    return _signal_server(pid, STOP_CALLS)


def end_server_tasks(pid: int) -> bool:
    """End the tasks that were approved in a server; say whether it is one of this version.

    Raises:
        SetupError: The state folder is not as it must be.
    """
    return _signal_server(pid, END_TASKS)


def _signal_server(pid: int, number: int) -> bool:
    known = {server.pid for server in running_servers() if server.version == VERSION}
    if pid not in known:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
    return True


def servers_folder() -> Path:
    """Return the folder of the status files, made if need be.

    Raises:
        SetupError: It is not safe, or cannot be made.
    """
    return ensure_private_folder(open_state() / _FOLDER)


def running_servers() -> list[RunningServer]:
    """Return the running servers of this user, the oldest first; files of others are removed.

    Raises:
        SetupError: The state folder is not as it must be.
    """
    servers: list[RunningServer] = []
    for path in sorted(servers_folder().glob("*.json")):
        server = _read_server(path)
        if server is not None and _is_alive(server):
            servers.append(server)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
    return sorted(servers, key=lambda server: server.started)


def status_facts(own: StatusFile | None = None) -> dict[str, Any]:
    """Return the status of all servers, and who may not or cannot ask, as one JSON object.

    It is `{"servers": [...], "paused": [{"client", "until", "lift"}], "unshown": [client]}`, with
    `all_paused_since` while a person has paused everything.

    Args:
        own: The board of this process, whose numbers are newer than its file's.
    """
    # Loads sqlite3.
    from iac_runtime.policy.approvals import paused_clients, unshown

    note: dict[str, str] = {}
    rows: list[dict[str, Any]] = []
    resting: list[dict[str, Any]] = []
    quick: list[str] = []
    try:
        rows = [server.facts() for server in running_servers()]
        resting = [row._asdict() for row in paused_clients(open_state())]
        quick = unshown(open_state())
        if since := paused_since(open_state()):
            note = {"all_paused_since": since}
    except SetupError as error:
        note = {"note": str(error)}
    if own is not None:
        mine = own.facts()
        rows = [mine, *(row for row in rows if row["pid"] != mine["pid"])]
    return {"servers": rows, "paused": resting, "unshown": quick, **note}


def _read_server(path: Path) -> RunningServer | None:
    try:
        facts = json.loads(path.read_bytes())
        if facts["format"] != _FORMAT or str(int(facts["pid"])) != path.stem:
            return None
        server = RunningServer(**{field: facts[field] for field in RunningServer._fields})
        return server if isinstance(server.started, float | int) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _process_start(pid: int | None = None) -> float:
    import psutil

    return float(psutil.Process(pid).create_time())


def _is_alive(server: RunningServer) -> bool:
    """Say whether the process is still this server, and not a later one of its number."""
    import psutil

    try:
        return abs(_process_start(server.pid) - server.started) < _SLACK
    except psutil.AccessDenied:
        return True
    except (psutil.Error, ValueError, OverflowError):
        return False
