"""Floors by code: compare the committed file with what the classifier says of dictionaries.

    python tests/generator/floors.py [--write] [DICTIONARIES...]

Judges every command, setter and class of the bundled snapshots and of DICTIONARIES without floors.
Prints what the file lacks and ends with 1; `--write` rewrites it from them alone.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from iac_gen.classify.evidence import EVENTS, FILE, LevelFloors, shipped_floors
from iac_gen.classify.judge import acts_later, judge_command, judge_setter
from iac_gen.discover import from_bundled_snapshots, from_paths, load_includes, read_sources
from iac_gen.quirks import known_apps
from iac_gen.resolve import ResolvedDictionary, resolve_dictionary
from iac_gen.types import AppTypes
from iac_runtime.tool import LEVELS, Level

_NONE = LevelFloors()


def collect(
    events: Iterable[tuple[str, Level]],
    setters: Iterable[tuple[tuple[str, str], Level]],
    classes: Iterable[tuple[str, Level]],
) -> LevelFloors:
    """Return the floors of judged rows: the highest level of each code, without SAFE."""
    return LevelFloors(_top(events), _top(setters), _top(classes))


def _top(rows: Iterable[tuple[Any, Level]]) -> dict[Any, Level]:
    found: dict[Any, Level] = {}
    for key, level in rows:
        if level != "SAFE" and LEVELS.index(level) > LEVELS.index(found.get(key, "SAFE")):
            found[key] = level
    return dict(sorted(found.items()))


def floors_text(floors: LevelFloors) -> str:
    """Return the file that holds `floors`, a class a line."""
    tables: Mapping[str, Mapping[str, Any]] = {
        "events": {level: _of(floors.events, level) for level in LEVELS[1:]},
        "setters": {level: _owners(floors, level) for level in LEVELS[1:]},
        "classes": {level: _of(floors.classes, level) for level in LEVELS[2:]},
    }
    parts = [f"{json.dumps(name)}: {{\n{_lines(rows)}\n}}" for name, rows in tables.items()]
    return "{" + ",\n".join(parts) + "}\n"


def _lines(rows: Mapping[str, Any]) -> str:
    """Return the levels of a table: a list on one line, a table with a class a line."""
    found = []
    for level, value in rows.items():
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, dict):
            inner = (f"{json.dumps(k, ensure_ascii=False)}: {_list(v)}" for k, v in value.items())
            text = "{\n" + ",\n".join(inner) + "\n}"
        found.append(f"{json.dumps(level)}: {text}")
    return ",\n".join(found)


def _list(codes: list[str]) -> str:
    return json.dumps(codes, ensure_ascii=False, separators=(",", ":"))


def _of(rows: Mapping[str, Level], level: Level) -> list[str]:
    return [code for code, one in rows.items() if one == level]


def _owners(floors: LevelFloors, level: Level) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for (owner, code), one in floors.setters.items():
        if one == level:
            found.setdefault(owner, []).append(code)
    return found


def dictionaries(paths: Iterable[Path]) -> list[ResolvedDictionary]:
    """Return the bundled snapshots and the dictionaries at `paths`, resolved."""
    found = [from_bundled_snapshots()]
    if listed := list(paths):
        found.append(from_paths(listed, known_apps()))
    standard = load_includes()
    return [
        resolve_dictionary(one.source, standard)[0]
        for where in found
        for one in read_sources(where)[0]
    ]


def kinds(command: object, types: AppTypes) -> list[str]:
    """Return the type strings of the visible parameters of a command, the direct one first."""
    direct = getattr(command, "direct", None)
    rows = [*([direct] if direct else [])]
    rows += [row for row in getattr(command, "parameters", ()) if not row.hidden]
    return [types.type_string(row.types) for row in rows]


def events(resolved: ResolvedDictionary) -> Iterator[tuple[str, Level]]:
    """Yield the level of every event that is no standard one."""
    types = AppTypes(resolved, {})
    for one in resolved.commands:
        if one.code not in EVENTS:
            found = kinds(one, types)
            yield (
                one.code,
                judge_command(one, resolved, found, floors=_NONE).level,
            )


def setters(resolved: ResolvedDictionary) -> Iterator[tuple[tuple[str, str], Level]]:
    """Yield the level of every setter under the codes of class and property."""
    for row in resolved.classes:
        for prop in row.properties:
            yield (row.code, prop.code), judge_setter(row, prop, floors=_NONE).level


def classes(resolved: ResolvedDictionary) -> Iterator[tuple[str, Level]]:
    """Yield the classes that are dangerous to make; making any other is MODIFY anyway."""
    for row in resolved.classes:
        # What the app itself adds is no fact of the class.
        if acts_later(row):
            yield row.code, "DANGEROUS"


def judged(all_of: Sequence[ResolvedDictionary]) -> LevelFloors:
    """Return the floors that dictionaries give."""
    return collect(
        (row for one in all_of for row in events(one)),
        (row for one in all_of for row in setters(one)),
        (row for one in all_of for row in classes(one)),
    )


def lower(have: LevelFloors, want: LevelFloors) -> list[str]:
    """Return a line for each code of `want` that is lower in `have`."""
    found = []
    for name in ("events", "setters", "classes"):
        ours, theirs = getattr(have, name), getattr(want, name)
        found += [
            f"{name} {code!r}: {ours.get(code, 'SAFE')}, judged {level}"
            for code, level in theirs.items()
            if LEVELS.index(ours.get(code, "SAFE")) < LEVELS.index(level)
        ]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, or with `--write` rewrite; return 1 when the file lacked anything."""
    parser = argparse.ArgumentParser(description="Compare floors with what is judged today.")
    parser.add_argument("--write", action="store_true", help="rewrite the file")
    parser.add_argument("paths", nargs="*", type=Path, metavar="DICTIONARIES")
    chosen = parser.parse_args(arguments)
    want = judged(dictionaries(chosen.paths))
    if chosen.write:
        with as_file(files("iac_gen.classify") / FILE) as path:
            path.write_text(floors_text(want), encoding="utf-8")
        return 0
    missing = lower(shipped_floors(), want)
    print("".join(f"{row}\n" for row in missing), end="")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
