"""State files: TOML or JSON in, TOML or JSON out, whole or not at all."""

import contextlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from iac_base import files
from iac_simulator.errors import StateError
from iac_simulator.values import to_iso

__all__ = ["locked", "read_state", "write_state"]


def read_state(path: Path) -> dict[str, Any]:
    """Return the state in a file; the suffix `.toml` or `.json` says how it is written.

    Raises:
        StateError: It cannot be read, or does not hold a table of apps.
    """
    try:
        text = path.read_text("utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise StateError(f"{path}: {error.strerror or error}.") from None
    except ValueError as error:
        raise StateError(f"{path}: not a state file: {error}.") from None
    if not isinstance(found, dict):
        raise StateError(f"{path}: the state must be a table of apps.")
    state: dict[str, Any] = _plain(found)
    return state


def _plain(value: Any) -> Any:
    """TOML's own dates become marked ones."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return {"date": to_iso(value if value.tzinfo else value.astimezone())}
    return {"date": value.isoformat()} if isinstance(value, date) else value


def write_state(path: Path, state: Mapping[str, Any]) -> None:
    """Write a state file so that a reader sees the old one or the new one.

    Raises:
        OSError: The file cannot be written.
        StateError: TOML cannot express it: a null in a list.
    """
    text = _toml(state) if path.suffix == ".toml" else _json(state)
    files.write_whole(path, text)


def _json(state: Mapping[str, Any]) -> str:
    return json.dumps(state, ensure_ascii=False, indent=1) + "\n"


def _toml(state: Mapping[str, Any]) -> str:
    lines = [f"{_key(k)} = {_inline(v)}" for k, v in state.items() if not isinstance(v, dict)]
    for name, world in state.items():
        if isinstance(world, dict):
            lines += ["", f"[{_key(name)}]"]
            lines += [f"{_key(k)} = {_inline(v)}" for k, v in world.items() if v is not None]
    return "\n".join(lines).lstrip("\n") + "\n"


def _key(name: str) -> str:
    return _inline(str(name))


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{_key(k)} = {_inline(v)}" for k, v in value.items() if v is not None)
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(_inline(item) for item in value)}]"
    if value is None:
        raise StateError("TOML has no null: save this state as .json.")
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a state file against other processes."""
    with files.locked(path.with_name(f"{path.name}.lock")):
        yield
