"""Output folders as they lie on disk: their catalogues, read once and checked a little.

A start of the server pays for this module, so it needs `json` and `pathlib` alone.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_runtime.errors import SetupError

__all__ = ["Shelf", "damaged", "read_shelves"]

FORMAT: Final = 1


class Shelf(NamedTuple):
    """One output folder: its apps that no earlier folder hides, and its tools."""

    folder: Path
    apps: dict[str, dict[str, Any]]
    tools: dict[str, dict[str, Any]]
    hides: bool


def read_shelves(folders: Sequence[Path]) -> list[Shelf]:
    """Return what lies in the output folders; an app in an earlier one hides the later one whole.

    Raises:
        SetupError: No folder is given, or a catalogue is missing or damaged.
    """
    if not folders:
        raise SetupError("There are no tools yet; make them with: iac-gen build")
    shelves: list[Shelf] = []
    seen: set[str] = set()
    for folder in folders:
        raw = _read(folder / "catalogue.json")
        try:
            hides = bool(seen & raw["apps"].keys())
            apps = {key: row for key, row in raw["apps"].items() if key not in seen}
            tools = raw["tools"]
            if hides:
                tools = {name: row for name, row in tools.items() if row["module"] in apps}
        except (KeyError, TypeError, AttributeError) as error:
            raise damaged(folder / "catalogue.json") from error
        seen |= apps.keys()
        shelves.append(Shelf(folder, apps, tools, hides))
    return shelves


def damaged(path: Path) -> SetupError:
    """Return the error for a file of an output folder that is not as it was written."""
    return SetupError(f"{path} is damaged; build it again: iac-gen build")


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise SetupError(f"{path} is missing; build it again: iac-gen build") from None
    except (OSError, ValueError) as error:
        raise damaged(path) from error
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise SetupError(f"{path} is of another version; build it again: iac-gen build")
    return raw
