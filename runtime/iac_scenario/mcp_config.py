"""Servers from a file in Claude's JSON format, and the variables that configurations may use."""

import json
import operator
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from iac_scenario.building import build_servers
from iac_scenario.checking import check_document, format_field_path
from iac_scenario.errors import PlayError
from iac_scenario.model import StdioServer

_VARIABLE: Final = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_KEYS: Final = ("command", "args", "env", "cwd", "type", "url", "headers")
"""What is read of a server; clients keep keys of their own beside these."""


def read_config(path: Path) -> dict[str, StdioServer]:
    """Return the servers of `{"mcpServers": {NAME: {"command", "args", "env"} or {"url"}}}`.

    Raises PlayError for a file that is not of that form.
    """
    known = {
        name: {key: value[key] for key in _KEYS if key in value}
        if isinstance(value, dict)
        else value
        for name, value in _server_table(path).items()
    }
    faults: list[str] = []

    def add_fault(at: Sequence[str | int], said: str) -> None:
        faults.append(f"{format_field_path(('mcpServers', *at[1:]))}: {said}")

    check_document({"mcp_servers": known}, add_fault, lambda *_: None)
    if faults:
        raise PlayError(f"--mcp-config {path}: {faults[0]}")
    return build_servers(known)


def remote_servers(path: Path) -> dict[str, Any]:
    """Return the other servers of the file, as they stand there. Raises as `read_config`."""
    return {name: value for name, value in _server_table(path).items() if _is_remote(value)}


def _server_table(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise PlayError(f"--mcp-config {path}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise PlayError(f"--mcp-config {path}: is not JSON: {error}") from None
    table = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(table, dict):
        raise PlayError(f"--mcp-config {path}: has no object mcpServers.")
    return table


def _is_remote(value: Any) -> bool:
    return isinstance(value, dict) and "url" in value and "command" not in value


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def expand_variables(server: StdioServer, places: Mapping[str, Any]) -> StdioServer:
    """Return a server with its variables replaced: `places` first, then the environment.

    Raises PlayError for a variable that is set nowhere and has no default.
    """
    known = {**os.environ, **places}

    def variable_value(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if name not in known and default is None:
            of = server.command or server.url
            raise PlayError(f"The server {of} uses ${{{name}}}, which is not set.")
        return str(known.get(name, default or ""))

    def expand_text(given: str) -> str:
        return _VARIABLE.sub(variable_value, given)

    return replace(
        server,
        command=expand_text(server.command),
        args=tuple(map(expand_text, server.args)),
        env={name: expand_text(given) for name, given in server.env.items()},
        cwd=None if server.cwd is None else expand_text(server.cwd),
        url=expand_text(server.url),
        headers={name: expand_text(given) for name, given in server.headers.items()},
    )


def replace_variables(value: Any, places: Mapping[str, Any]) -> Any:
    """Return a value with `${NAME}` replaced in its texts, for the given names only.

    A text that is nothing but `${NAME}` becomes the value itself; within others it stands as text.
    Where nothing is replaced, the same value comes back.
    """
    if isinstance(value, str):
        if "${" not in value:
            return value
        if (whole := _VARIABLE.fullmatch(value)) is not None:
            return places.get(whole[1], value)
        return _VARIABLE.sub(lambda found: _value_text(places.get(found[1], found[0])), value)
    if isinstance(value, list):
        items = [replace_variables(item, places) for item in value]
        return value if all(map(operator.is_, items, value)) else items
    if isinstance(value, dict):
        table = {key: replace_variables(item, places) for key, item in value.items()}
        return value if all(map(operator.is_, table.values(), value.values())) else table
    return value
