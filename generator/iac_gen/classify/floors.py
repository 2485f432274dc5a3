"""Floors: what an event, a setter or a class was judged to be, by code alone.

Words are evidence, and words change: an update or a translation that renames `erase all` keeps its
event. `floors.json` holds the levels above SAFE that the classifier gave to public dictionaries,
under the codes of command, of class and property, and of class. A code that is met again is never
judged lower than that, however it is called. Floors only raise; only a quirk is stronger.
`tests/generator/floors.py` writes the file, from dictionaries, without looking at the old one.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final

from iac_gen.classify.verdicts import Verdict
from iac_runtime.tool import LEVELS, Level

__all__ = ["FILE", "Floors", "collect", "floors_text", "shipped"]

FILE: Final = "floors.json"
_REASON: Final = "known by its code"


@dataclass(frozen=True, slots=True)
class Floors:
    """Levels by code: events, (class, property) of setters, classes whose making has one."""

    events: Mapping[str, Level] = field(default_factory=dict)
    setters: Mapping[tuple[str, str], Level] = field(default_factory=dict)
    classes: Mapping[str, Level] = field(default_factory=dict)

    def event(self, code: str) -> list[Verdict]:
        """Return what is known of an event, a list of one or none."""
        return _verdicts(self.events.get(code))

    def setter(self, owner: str, code: str) -> list[Verdict]:
        """Return what is known of setting a property of a class, a list of one or none."""
        return _verdicts(self.setters.get((owner, code)))

    def made(self, code: str) -> list[Verdict]:
        """Return what is known of making an object of a class, a list of one or none."""
        return _verdicts(self.classes.get(code))


def _verdicts(level: Level | None) -> list[Verdict]:
    return [] if level is None else [Verdict(level, _REASON)]


@cache
def shipped() -> Floors:
    """Return the floors that ship with the generator."""
    data = json.loads((files("iac_gen.classify") / FILE).read_text(encoding="utf-8"))
    return Floors(
        {code: level for level, codes in data["events"].items() for code in codes},
        {
            (owner, code): level
            for level, owners in data["setters"].items()
            for owner, codes in owners.items()
            for code in codes
        },
        {code: level for level, codes in data["classes"].items() for code in codes},
    )


def collect(
    events: Iterable[tuple[str, Level]],
    setters: Iterable[tuple[tuple[str, str], Level]],
    classes: Iterable[tuple[str, Level]],
) -> Floors:
    """Return the floors of judged rows: the highest level of each code, without SAFE."""
    return Floors(_top(events), _top(setters), _top(classes))


def _top(rows: Iterable[tuple[Any, Level]]) -> dict[Any, Level]:
    found: dict[Any, Level] = {}
    for key, level in rows:
        if level != "SAFE" and LEVELS.index(level) > LEVELS.index(found.get(key, "SAFE")):
            found[key] = level
    return dict(sorted(found.items()))


def floors_text(floors: Floors) -> str:
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


def _owners(floors: Floors, level: Level) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for (owner, code), one in floors.setters.items():
        if one == level:
            found.setdefault(owner, []).append(code)
    return found
