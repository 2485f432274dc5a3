"""What the lock asks: calls, scripts, sessions, policies and labels of the tree that is stored.

They are made once, when the facts are stored, and kept beside them, so that a later tree is asked
the same whatever its files are called by then. Here alone are imports from the tree.
"""

import contextlib
import csv
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"
_OF_TESTS = ("tests/product", "tests/generator", "tests/applescript", "tests")
_LABELS = ("tests/generator/labels*.tsv", "benchmarks/labels_*.tsv")
_OF_LISTS = ("cursor", "offset", "order", "properties", "timeout", "where")
_ALWAYS = {"hours": '"00:00-23:59"', "days": '["mon", "tue", "wed", "thu", "fri", "sat", "sun"]'}


def collect_inputs(folders: dict[str, Path]) -> dict[str, Any]:
    """Return all inputs; `folders` are built tools: `bundled`, and `corpus` where there is one."""
    for place in _OF_TESTS:
        sys.path.insert(0, str(ROOT / place))
    labels = [path for glob in _LABELS for path in sorted(ROOT.glob(glob))]
    if (own := CORPUS / "permission-labels.tsv").exists():
        labels.append(own)
    expected = sorted((ROOT / "docs" / "policies").glob("*.expected.toml"))
    policies = {path.name: path.read_text() for path in (ROOT / "docs" / "policies").glob("*.toml")}
    return {
        "corpus": str(CORPUS) if CORPUS.is_dir() else "",
        "calls": {name: list(_calls(folder, labels)) for name, folder in folders.items()},
        "expected": [
            [row["call"], row.get("arguments", {})]
            for path in expected
            for row in tomllib.loads(path.read_text())["expect"]
        ],
        "labels": {path.name: path.read_text(encoding="utf-8") for path in labels},
        "policies": policies,
        "timeless": {
            name: re.sub(r"(?m)^(hours|days) = .*$", lambda at: f"{at[1]} = {_ALWAYS[at[1]]}", text)
            for name, text in policies.items()
            if "expected" not in name
        },
        "scripts": [*_written_scripts(), *_drawn_scripts()],
        "sessions": json.loads((ROOT / "tests/server/recorded_sessions.json").read_bytes()),
    }


def _calls(folder: Path, files: list[Path]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield calls of each tool (as its page shows, what it must have, all it can have) and setter.

    A labelled command has its tool's calls; of a labelled setter `app_set` sets the property.
    """
    import samples

    from iac_runtime.tools.catalogue import Catalogue

    catalogue = Catalogue([folder])
    setters = {}
    for name in sorted(catalogue.tools):
        tool = catalogue.operation(name)
        spec, tables = tool.spec, tool.tables
        if spec.op == "set" and not spec.bind:
            setters[_plain(tables.app.name)] = name, tables
        few = samples.arguments(spec, catalogue.tool(catalogue.find(name)).input, tables)
        rows = {key: row for key, row in spec.params.items() if key not in _OF_LISTS}
        many = {key: samples.value(row.type, tables) for key, row in rows.items()}
        yield f"{name} required", name, few
        yield f"{name} example", name, dict(spec.example)
        with contextlib.suppress(LookupError):
            yield f"{name} all", name, samples.complete(name, spec, {**many, **few}, tables)
    for file in files:
        text = file.read_text(encoding="utf-8").splitlines()
        for row in csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["kind"] == "property_set" and _plain(row["app"]) in setters:
                name, tables = setters[_plain(row["app"])]
                owner, _, prop = row["name"].partition(".")
                if found := tables.find_property(owner, prop):
                    given = {found.term: samples.value(found.type, tables)}
                    target = samples.route(tables, owner)
                    yield f"{name} {row['name']}", name, {"target": target, "properties": given}


def _plain(name: str) -> str:
    return re.sub(r"\W", "", name.lower())


def _written_scripts() -> Iterator[tuple[str, str]]:
    from script_cases import read_cases

    for path in sorted((ROOT / "tests" / "applescript").glob("*.txt")):
        yield from read_cases(path.name)


def _drawn_scripts() -> Iterator[tuple[str, str]]:
    """Yield programs of the kind that the tests of predictions draw."""
    import test_script_predicted as javascript
    import test_script_predicted_tell as tell
    from hypothesis import given, settings

    drawn: dict[tuple[str, str], None] = {}

    @settings(max_examples=400, derandomize=True, database=None, deadline=None)
    @given(javascript.programs(), tell.programs())
    def keep(script: str, told: tuple[str, str, str]) -> None:
        drawn.update({("javascript", script): None, ("applescript", told[1]): None})

    keep()
    yield from drawn
