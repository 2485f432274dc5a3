"""Levels come from structure and codes: a name that changes lowers nothing, whoever changes it.

Of every dictionary at hand: another name of the app, of its file, another id change no level. With
every term a nonsense word and all codes kept, floors hold each level; and without any floor nothing
that needs to be asked becomes SAFE.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from floors import dictionaries, kinds

from iac_gen.classify.evidence import LevelFloors, read_level_table, shipped_floors
from iac_gen.classify.judge import judge_command, judge_make, judge_setter
from iac_gen.model import TypeRef
from iac_gen.resolve import ResolvedDictionary
from iac_gen.types import AppTypes
from iac_runtime.tool import LEVELS, Level

Levels = Mapping[tuple[object, ...], Level]
NONE = LevelFloors()


@dataclass(frozen=True, slots=True)
class Judged:
    """An app with its levels, with floors and without."""

    app: ResolvedDictionary
    held: Levels
    bare: Levels


@pytest.fixture(scope="module")
def apps(corpus: Path) -> list[Judged]:
    """Every dictionary at hand."""
    return [judged(one) for one in dictionaries([corpus / "sdef"])]


def judged(app: ResolvedDictionary) -> Judged:
    return Judged(app, levels(app, shipped_floors()), levels(app, NONE))


def levels(resolved: ResolvedDictionary, floors: LevelFloors) -> Levels:
    """Return the level of each command, setter and class by its place and code."""
    return dict(_levels(resolved, floors))


def _levels(
    resolved: ResolvedDictionary, floors: LevelFloors
) -> Iterator[tuple[tuple[object, ...], Level]]:
    types = AppTypes(resolved, {})
    for place, row in enumerate(resolved.commands):
        judged = judge_command(row, resolved, kinds(row, types), floors=floors)
        yield ("command", place, row.code), judged.level
    for place, owner in enumerate(resolved.classes):
        yield ("make", place, owner.code), judge_make(owner, resolved, floors=floors).level
        for at, one in enumerate(owner.properties):
            yield ("set", place, at, one.code), judge_setter(owner, one, floors=floors).level


def nonsense(resolved: ResolvedDictionary) -> ResolvedDictionary:
    """Return an app in which every term is a word that nobody knows; codes and shape are kept."""
    words: dict[str, str] = {}
    types = {row.name for row in (*resolved.classes, *resolved.enumerations)}
    types |= {row.name for row in (*resolved.records, *resolved.values)}

    def word(term: str) -> str:
        return words.setdefault(term, f"zor{len(words)}q") if term else ""

    def reworded(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(reworded, value))
        if not is_dataclass(value) or isinstance(value, type):
            return value
        changed = {one.name: reworded(getattr(value, one.name)) for one in fields(value)}
        if isinstance(value, TypeRef):
            changed["name"] = word(value.name) if value.name in types else value.name
        elif "name" in changed:
            changed["name"] = word(changed["name"])
        for key in ("type", "inherits", "extends", "plural"):
            if changed.get(key) and (key == "plural" or changed[key] in types):
                changed[key] = word(changed[key])
        return replace(value, **changed)

    new = reworded(replace(resolved, source=resolved.source))
    assert isinstance(new, ResolvedDictionary)
    return replace(new, source=resolved.source)


def below(before: Levels, after: Levels) -> list[str]:
    """Return what is lower than before, a line each."""
    return [
        f"{key}: {level}, then {after[key]}"
        for key, level in before.items()
        if LEVELS.index(after[key]) < LEVELS.index(level)
    ]


def test_the_name_of_an_app_of_its_file_and_its_id_decide_no_level(apps: list[Judged]) -> None:
    for one in apps:
        source = replace(
            one.app.source, id="com.example.Nobody", name="No", stem="No", kind="application"
        )
        renamed = judged(replace(one.app, source=source))
        assert (renamed.held, renamed.bare) == (one.held, one.bare), one.app.source.id


def test_nonsense_for_every_term_lowers_no_floor_and_makes_nothing_safe(
    apps: list[Judged],
) -> None:
    for one in apps:
        nobody = judged(nonsense(one.app))
        assert below(one.held, nobody.held) == [], one.app.source.id
        made_safe = [key for key, level in nobody.bare.items() if level == "SAFE" != one.bare[key]]
        assert made_safe == [], one.app.source.id


def test_a_verb_has_one_level_and_one_reason() -> None:
    rows = [row for level in read_level_table("words")["verbs"].values() for row in level.values()]
    words = Counter(word for row in rows for word in row.split())
    assert [word for word, count in words.items() if count > 1] == []
