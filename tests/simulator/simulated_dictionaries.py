"""Tables straight from a folder of dictionaries, as JavaScript for Automation sees them.

The generator leaves out what a dictionary hides; JXA does not, so for these tables nothing is
hidden. Quirks are left out as well: they are decisions about tools.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from iac_gen import discover
from iac_gen.model import SdefCommand
from iac_gen.pipeline import represent_app
from iac_gen.quirks import known_apps
from iac_gen.render import render_module
from iac_gen.xml import LoadedDictionary, LoadError
from iac_runtime.tools.tables import Tables, tables_of
from iac_simulator.events import STANDARD_EVENTS

NAMES = {
    "SystemEvents": "System Events",
    "GoogleChrome": "Google Chrome",
    "Illustrator": "Adobe Illustrator",
}
"""Dictionary -> the app's name in a script, where that is not the dictionary's own stem."""


def names_in(folder: Path) -> dict[str, str]:
    """Return the dictionaries of a folder: stem -> the app's name in a script."""
    return {path.stem: NAMES.get(path.stem, path.stem) for path in sorted(folder.glob("*.sdef"))}


def tables_in(folder: Path, stem: str, bundle_id: str | None = None) -> Tables:
    """Return the tables of the dictionary `stem`.

    Raises:
        LoadError: It cannot be read.
    """
    tables = _tables_in(folder, stem)
    app = tables.app._replace(name=NAMES.get(stem, stem), id=bundle_id or tables.app.id)
    return Tables(tables.key, app, tables.classes, tables.enums, tables.records, tables.tools)


@cache
def _tables_in(folder: Path, stem: str) -> Tables:
    [raw] = discover.from_paths([folder / f"{stem}.sdef"], known_apps()).sources
    loaded = shown(raw if isinstance(raw, LoadedDictionary) else raw.read())
    module = represent_app(
        loaded, stem.lower().replace("-", "_"), discover.load_includes(), []
    ).module
    # Nobody reads it, so it is not laid out.
    with patch("iac_gen.render._format_with_black", str):
        source = render_module(module)
    made = ModuleType(f"simulated.{stem}")
    exec(compile(source, f"{stem}.py", "exec"), made.__dict__)
    return tables_of(made)


def shown(loaded: LoadedDictionary) -> LoadedDictionary:
    """Return the dictionary with nothing hidden but the second forms of standard commands."""
    return replace(loaded, source=_shown(loaded.source))


def _shown(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_shown(item) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {
        field.name: _shown(getattr(value, field.name))
        for field in fields(value)
        if field.name != "hidden"
    }
    keeps = isinstance(value, SdefCommand) and value.code in STANDARD_EVENTS
    if hasattr(value, "hidden") and not keeps:
        changed["hidden"] = False
    return replace(value, **changed)


def all_tables(folder: Path, stems: Iterable[str], ids: Mapping[str, str]) -> dict[str, Tables]:
    """Return the tables of `stems`; what cannot be read is left out."""
    found = {}
    for stem in stems:
        try:
            found[stem] = tables_in(folder, stem, ids.get(stem))
        except LoadError:
            continue
    return found
