"""`{ "$file" = "path" }` anywhere in a scenario stands for the content of that file.

A relative path stays inside the scenario's folder, links followed first; who means a file
elsewhere writes its absolute path. A `.json` file is read as JSON, any other as text.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from iac_scenario.positions import Path as Where

__all__ = ["LARGEST", "included"]

LARGEST: Final = 10_000_000
"""Bytes of one included file."""


def included(
    value: Any, folder: Path, complain: Callable[[Where, str], None], where: Where = ()
) -> Any:
    """Return the value with its includes replaced; what cannot be is complained of, and null."""
    if isinstance(value, list):
        return [
            included(item, folder, complain, (*where, index)) for index, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    if "$file" not in value:
        return {key: included(item, folder, complain, (*where, key)) for key, item in value.items()}
    try:
        return _content(value, folder)
    except (OSError, ValueError) as error:
        complain((*where, "$file"), _reason(error))
        return None


def _content(value: dict[str, Any], folder: Path) -> Any:
    name = value["$file"]
    if len(value) > 1 or not isinstance(name, str):
        raise ValueError("is a path, and the only key of its table.")
    path = Path(folder, name).resolve()
    if not Path(name).is_absolute() and not path.is_relative_to(folder.resolve()):
        raise ValueError(f"{name} is outside the scenario's folder; write its absolute path.")
    if not path.is_file():
        raise ValueError(f"{name}: there is no such file.")
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"{name} has more than {LARGEST:,} bytes.")
    try:
        text = data.decode()
        return json.loads(text) if path.suffix == ".json" else text
    except UnicodeDecodeError:
        raise ValueError(f"{name} is not UTF-8 text.") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{name} is not JSON: {error}") from None


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
