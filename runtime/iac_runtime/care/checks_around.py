"""Checks of what is around the server: clients' files, and servers that were left over."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from iac_runtime.care.clients import CLIENTS, MERGED, place
from iac_runtime.care.findings import Finding, Place, State
from iac_runtime.care.installing import installed_entry
from iac_runtime.care.interpreter import examine
from iac_runtime.care.processes import server_processes
from iac_runtime.care.status import servers as told
from iac_runtime.errors import SetupError
from iac_runtime.version import VERSION

__all__ = ["clients", "servers"]

_SHIMS: Final = ("shims",)
"""The folders of pyenv's and asdf's shims."""


def clients(around: Place) -> Iterator[Finding]:
    """Look at each client's file: whether the server is in it, and whether it would start."""
    known = 0
    for key in MERGED:
        client = CLIENTS[key]
        path = place(client, around.environ, around.system)
        try:
            entry = installed_entry(client, path, around.name)
        except SetupError as error:
            yield Finding("clients", "warning", str(error), f"iac-mcp install {key} --print")
            continue
        if entry is None:
            continue
        known += 1
        command = entry.get("command")
        fault = _fault(command if isinstance(command, str) else "")
        if fault:
            yield Finding(
                "clients", fault[0], f"{client.name}: {fault[1]}", f"iac-mcp install {key}"
            )
        else:
            yield Finding("clients", "ok", f"{client.name} starts {command}")
    if not known:
        yield Finding(
            "clients",
            "warning",
            "No client knows this server.",
            f"iac-mcp install {'|'.join(MERGED)}",
        )


def _fault(command: str) -> tuple[State, str] | None:
    path = Path(command)
    if not path.is_absolute():
        return "problem", f'it starts "{command}", which an app does not find; a path is needed.'
    if not path.is_file() or not os.access(path, os.X_OK):
        return "problem", f"{command} is not there or cannot be started."
    if any(part in _SHIMS for part in path.parts):
        return "warning", f"{command} is a shim, which starts slowly and may start another Python."
    if path.name.startswith("python"):
        try:
            examine(command)
        except SetupError as error:
            return "problem", str(error)
    if path.parent.resolve() != Path(sys.executable).parent.resolve():
        return "warning", f"it starts {command}, not the Python of this command."
    return None


def servers(_around: Place) -> Iterator[Finding]:
    """Look for servers whose client is gone, of an older version, or many of one client."""
    running = server_processes()
    for server in running:
        if server.orphan:
            says = f"Server {server.pid} runs on although what started it is gone."
            yield Finding("servers", "warning", says, f"kill {server.pid}")
    try:
        older = [row for row in told() if row.version != VERSION]
    except SetupError:
        older = []  # `state` has said so.
    for row in older:
        says = f"Server {row.pid} is of version {row.version}; this is {VERSION}."
        yield Finding("servers", "warning", says, "Start its client again.")
    counts = Counter(server.parent for server in running if not server.orphan)
    for parent, count in counts.items():
        if count > 1:
            says = f"{parent} started {count} servers; they take turns at each app."
            yield Finding("servers", "ok", says)
    if not older and not any(server.orphan for server in running):
        yield Finding("servers", "ok", f"{len(running)} running")
