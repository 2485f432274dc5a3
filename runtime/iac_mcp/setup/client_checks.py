"""What `doctor` looks at in clients: entries of this server, others in their way, bundles."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from iac_base.errors import SetupError
from iac_mcp.setup.clients import (
    CLIENTS,
    bundle_versions,
    client_file,
    installed_entry,
    is_former,
    is_ours,
    server_entries,
)
from iac_mcp.setup.findings import DoctorContext, DoctorFinding, State, ok, warning
from iac_mcp.setup.interpreter import examine_python
from iac_runtime.version import VERSION

_SHIMS: Final = "shims"
"""The folder of pyenv's and asdf's shims."""


def check_clients(around: DoctorContext) -> Iterator[DoctorFinding]:
    """Look at each client's file: whether the server is in it, and whether it would start."""
    known = 0
    for key in CLIENTS:
        client = CLIENTS[key]
        path = client_file(client, around.environ, around.system)
        try:
            entry = installed_entry(client, path, around.name)
        except SetupError as error:
            yield warning(str(error), f"iac-mcp install {key} --print")
            continue
        ours = [name for name, said in server_entries(client, path).items() if is_ours(said)]
        others = [name for name in ours if name != around.name]
        if entry is None and around.name in server_entries(client, path):
            says = f'{client.name} has another server called "{around.name}".'
            yield warning(says, f"iac-mcp install {key} --name NAME")
        for name in others:
            says = f'{client.name} has this server under the name "{name}" too.'
            yield warning(says, f"iac-mcp uninstall {key} --name {name}")
        if entry is None:
            continue
        known += 1
        state, says = _check_entry(entry)
        mend = "" if state == "ok" else f"iac-mcp install {key}"
        yield DoctorFinding(state, f"{client.name}{says}", mend)
    bundles = bundle_versions(around.environ, around.system)
    yield from _check_bundles(around, bundles)
    if not known and not bundles:
        yield warning("No client has this server.", f"iac-mcp install {'|'.join(CLIENTS)}")


def _check_bundles(around: DoctorContext, bundles: Sequence[str]) -> Iterator[DoctorFinding]:
    for version in bundles:
        if version != VERSION:
            says = f"The bundle in Claude Desktop has version {version}; this is {VERSION}."
            yield warning(says, "iac-mcp bundle, and open it with Claude Desktop")
        else:
            yield ok(f"Claude Desktop has the bundle, version {version}")
    desktop = CLIENTS["claude-desktop"]
    path = client_file(desktop, around.environ, around.system)
    with suppress(SetupError):  # Said before.
        if bundles and installed_entry(desktop, path, around.name) is not None:
            says = "Claude Desktop has this server twice: as a bundle and in its file."
            yield warning(says, "iac-mcp uninstall claude-desktop")


def _check_entry(entry: Mapping[str, Any]) -> tuple[State, str]:
    """Say whether an entry starts this server, and what to say of that after the client's name."""
    command = entry.get("command")
    path = Path(command if isinstance(command, str) else "")
    if not path.is_absolute():
        missing = f': it starts "{path}", which an app cannot find; give the full path.'
        return "problem", missing
    if not path.is_file() or not os.access(path, os.X_OK):
        return "problem", f": {path} does not exist or cannot be started."
    if is_former(entry):
        return "problem", ": it starts the server from the place that an earlier version used."
    if _SHIMS in path.parts:
        return "warning", f": {path} is a shim, which starts slowly and may start another Python."
    if path.name.startswith("python"):
        try:
            examine_python(str(path))
        except SetupError as error:
            return "problem", f": {error}"
    if path.parent.resolve() != Path(sys.executable).parent.resolve():
        return "warning", f": it starts {path}, not the Python of this command."
    return "ok", f" starts {path}"
