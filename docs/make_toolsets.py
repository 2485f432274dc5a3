"""Write what packages add to those below them: tools of each toolset, entry points, the field book.

`python docs/make_toolsets.py` writes what differs; with `--check` it fails instead. The tools are
rendered from the functions of the entry points `iac.toolsets` in pyproject.toml, the table of the
field book from its rows in the generator.
"""

import json
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Final

from iac_gen.field import render_field
from iac_gen.quirks import load_field_book, read_facts
from iac_gen.toolsets import toolset_rows
from iac_runtime.tool import Toolset

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "runtime" / "iac_runtime" / "tools" / "toolsets"
FIELD: Final = FOLDER.with_name("field.jsonl")


def render_toolsets() -> dict[Path, str]:
    """Return the files; of a toolset first what it has beside tools, then a tool a line."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    places = {group: rows for group, rows in groups.items() if group.startswith("iac.")}
    toolsets = places.pop("iac.toolsets")
    files = {FOLDER / "entry_points.json": f"{json.dumps(places)}\n"}
    for name, place in toolsets.items():
        module, _, attribute = place.partition(":")
        toolset: Toolset = getattr(import_module(module), attribute)
        beside = {key: getattr(toolset, key) for key in ("added", "offers", "guides")}
        rows = toolset_rows(map(import_module, toolset.modules), toolset.order)
        lines = (json.dumps(row, ensure_ascii=False) for row in (beside, *rows))
        files[FOLDER / f"{name}.jsonl"] = "".join(f"{line}\n" for line in lines)
    return files


def main() -> None:
    """Write or check the files."""
    files = {**render_toolsets(), FIELD: render_field(read_facts(load_field_book()[0]))}
    old = {
        path: path.read_text("utf-8") for path in (*FOLDER.glob("*.json*"), FIELD) if path.exists()
    }
    if old == files:
        return
    differ = ", ".join(
        sorted(path.name for path in old.keys() | files.keys() if old.get(path) != files.get(path))
    )
    if "--check" in sys.argv:
        sys.exit(
            f"{FOLDER.relative_to(ROOT)} differs from the sources in {differ}: run nox -s regen"
        )
    for path in old.keys() - files.keys():
        path.unlink()
    FOLDER.mkdir(exist_ok=True)
    for path, text in files.items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
