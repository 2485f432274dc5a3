"""Dictionaries of apps without tools: built when a script names the app, and kept by their digest.

They say what the words of a script do, at the levels that a build gives; no tool of them is listed.
"""

import hashlib
import json
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from iac_base.errors import SetupError
from iac_base.files import data_folder, ensure_private_folder
from iac_runtime.execution.workers import run_process
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.freshness import scriptable_apps
from iac_runtime.tools.tables import Tables
from iac_runtime.version import VERSION

_SECONDS: Final = 60.0
"""How long a build may take; most take one second."""


class DictionaryPlace(NamedTuple):
    """Where the dictionary of an app is, and what `iac-gen build` is given for it."""

    id: str
    file: Path
    arguments: tuple[str, ...]


@cache
def dictionary_places() -> dict[str, DictionaryPlace]:
    """Return the dictionaries of this machine by the name and bundle id of their app, folded.

    What is installed comes before a snapshot that IAC ships. It is looked for once: an app that is
    installed later is known at the next start.
    """
    places: dict[str, DictionaryPlace] = {}
    for app in scriptable_apps():
        # The bundle, with `Contents/Resources` and the file taken off.
        folder = str(app.dictionary.parents[3])
        place = DictionaryPlace(app.id, app.dictionary, (app.id, "--search", folder))
        for name in (app.name, app.id):
            places.setdefault(name.casefold(), place)
    generator = find_spec("iac_gen")
    for home in (generator and generator.submodule_search_locations) or ():
        for path in sorted(Path(home, "snapshots", "untooled").glob("*.json")):
            told = json.loads(path.read_bytes())
            place = DictionaryPlace(told["id"], path, ("--dictionary", str(path)))
            for name in (told["name"], told["id"]):
                places.setdefault(name.casefold(), place)
    return places


def find_unbuilt_tables(name: str) -> Tables | None:
    """Return the dictionary of the app with this name or bundle id, built into a folder of its own.

    None if it has none here, or none that can be built.
    """
    place = dictionary_places().get(name.casefold())
    if place is None:
        return None
    try:
        kept = ensure_private_folder(data_folder() / "dictionaries")
        digest = hashlib.sha256(place.file.read_bytes()).hexdigest()
        folder = kept / f"{digest[:32]}-{VERSION}"
        if not (folder / "catalogue.json").is_file():
            build = [sys.executable, "-P", "-m", "iac_gen", "build", *place.arguments]
            run_process([*build, "--output", str(folder)], b"", _SECONDS)
        catalogue = Catalogue([folder])
        wanted = place.id.casefold()
        rows = [row for row in catalogue.apps.values() if row.id.casefold() == wanted]
        return catalogue.load_tables(rows[0]) if rows else None
    except (SetupError, OSError):
        return None
