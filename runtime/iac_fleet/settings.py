"""Where a Mac's record goes: `fleet.toml` beside the policy, for its user alone."""

import socket
import tomllib
from pathlib import Path
from typing import Final, NamedTuple

from iac_base.errors import SetupError
from iac_base.files import config_file, require_private_file, write_whole

BEHIND: Final = 1_000_000
"""Rows that may wait for the database before writes stop: about 700 MB."""


class FleetSettings(NamedTuple):
    """What `fleet.toml` says: the database's address, this Mac's name there, rows that may wait.

    With `key`, the public key of the team in base64, this Mac takes the team's policy over. The
    holders of the keys in `approvers` may answer its questions.
    """

    database: str
    host: str
    behind: int = BEHIND
    key: str = ""
    approvers: tuple[str, ...] = ()


def settings_path() -> Path:
    """Return where the settings lie."""
    return config_file().with_name("fleet.toml")


def read_settings() -> FleetSettings:
    """Return the settings.

    Raises:
        SetupError: There are none, others may read them, or they are wrong.
    """
    path = settings_path()
    try:
        require_private_file(path)
        table = tomllib.loads(path.read_text("utf-8"))["fleet"]
        table["approvers"] = tuple(map(str, table.get("approvers", ())))
        found = FleetSettings(**{"host": socket.gethostname(), **table})
    except FileNotFoundError:
        raise SetupError(
            "This Mac has not joined a fleet. Run: iac-fleet join postgresql://…"
        ) from None
    except (OSError, ValueError, KeyError, TypeError):
        # What is wrong may quote the address, which may hold a password.
        raise SetupError(
            f"{path} cannot be read, or lacks database, host or behind in its section [fleet]."
        ) from None
    kinds = [type(value) for value in found]
    if kinds != [str, str, int, str, tuple] or not found.database:
        raise SetupError(f"{path}: database and host must be texts, and behind must be a number.")
    return found


def write_settings(settings: FleetSettings) -> Path:
    """Keep the settings for this user alone, and return where. Raises SetupError."""
    path = settings_path()
    lines = (f"{key} = {_toml_literal(value)}\n" for key, value in settings._asdict().items())
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(path, "[fleet]\n" + "".join(lines))
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror}.") from None
    return path


def _toml_literal(value: str | int | tuple[str, ...]) -> str:
    import tomlkit

    return str(tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string())
