"""What an app is and what a command is about, from the classes, properties and values declared.

Names and ids of apps are no evidence: whoever renames a dictionary would choose its levels.
"""

import re
from collections.abc import Iterable, Iterator
from enum import Flag, auto
from functools import lru_cache
from typing import Final

from iac_gen.classify.codes import read_level_table
from iac_gen.classify.terms import PLAYERS, Answers, VerbContext, term_phrase
from iac_gen.model import SdefClass, SdefCommand, SdefParameter, TypeRef
from iac_gen.resolve import ResolvedDictionary


class AppTrait(Flag):
    """What makes an app's commands weigh more."""

    NONE = 0
    BUILDER = auto()
    """Starts programs with arguments: what it builds or tests, it runs."""
    SHELL = auto()
    """Its windows are processes: making one starts a shell, closing one ends it."""
    REMOTE = auto()
    """Works the interface of other apps."""
    OPENER = auto()
    """Opening is what a double click does: any file, with the app that it belongs to."""
    PROGRAMS = auto()
    """Its documents are programs."""
    RECORDER = auto()
    """Has cameras, microphones or the screen as its source."""


_TABLE: Final = read_level_table("structure")
_RUNS: Final = frozenset(_TABLE["runs"]["properties"].split())
_FORCES: Final = frozenset(_TABLE["forces"]["words"].split())
_SILENT: Final = tuple(re.compile(pattern) for pattern in _TABLE["forces"]["phrases"])
_NUMBERS: Final = frozenset("integer real number date".split())
_PLAIN: Final = _NUMBERS | frozenset("text string boolean record point rectangle".split())
# What is a value too where an app has no objects that it could stand for.
_HELD: Final = frozenset(("any", "list", "type", "missing value"))
_LOCATIONS: Final = frozenset(("path", "paths", "alias"))
_PLAY: Final = frozenset(("play", "playpause"))
_ONWARD: Final = frozenset("next previous prev rewind fast seek skip backward".split())
_COLLECTIONS: Final = frozenset(("list", "record"))


@lru_cache(maxsize=1)
def app_traits(resolved: ResolvedDictionary) -> AppTrait:
    """Return what is known of the app that `resolved` belongs to."""
    codes = {row.code for row in resolved.classes}
    names = [_padded_phrase(row.name) for row in resolved.classes]
    properties = {one.name.lower() for row in resolved.classes for one in row.properties}
    taken = {one.name.lower() for row in resolved.commands for one in row.parameters}
    found = AppTrait.NONE
    for name, facts in _TABLE["traits"].items():
        if (
            not codes.isdisjoint(facts.get("codes", ()))
            or any(f" {kind} " in name for kind in facts.get("classes", ()) for name in names)
            or not properties.isdisjoint(facts.get("properties", ()))
            or not taken.isdisjoint(facts.get("parameters", ()))
        ):
            found |= AppTrait[name]
    return found


@lru_cache(maxsize=1)
def _app_nouns(resolved: ResolvedDictionary) -> frozenset[str]:
    """Return the words of what an app shows or plays: of its classes, and `media` for a player.

    With `transport` it also goes on and back in what it plays.
    """
    words = {word for row in resolved.classes for word in term_phrase(row.name)}
    led = {first for row in resolved.commands for first in term_phrase(row.name)[:1]}
    plays = {"media"} if PLAYERS & led else set()
    again = {"transport"} if plays and _PLAY & led and _ONWARD & led else set()
    return frozenset(words | plays | again)


def verb_context(command: SdefCommand, resolved: ResolvedDictionary) -> VerbContext:
    """Return what the verb of a command is applied to, and what comes of it."""
    taken = command.direct.types if command.direct else ()
    answered = command.result or ()
    shown = [*taken, *answered, *(ref for one in command.parameters for ref in one.types)]
    closed = {row.name for row in resolved.enumerations}
    # Where an app has a class of that name, `text` is an object that a command may change.
    plain = (_PLAIN | closed) - {row.name for row in resolved.classes}
    library = bool(resolved.commands) and not has_objects(resolved)
    if library:
        plain |= _HELD | {row.name for row in (*resolved.records, *resolved.values)}
        # The name of a file, and not the file.
        plain |= (
            {"file", "alias"} if _LOCATIONS.intersection(term_phrase(command.name)[1:]) else set()
        )
    answers: Answers = "value" if answered else ""
    if answered and all(ref.name == "boolean" for ref in answered):
        answers = "flag"
    return VerbContext(
        direct=tuple(_type_words(ref, resolved.classes) for ref in taken),
        answers=answers,
        around=_app_nouns(resolved),
        plain=bool(taken or library) and all(ref.name in plain for ref in shown),
        numbers=bool(taken) and all(ref.name in _NUMBERS for ref in shown),
        gathers=library
        and bool(taken)
        and all(ref.list or ref.name in _COLLECTIONS for ref in (*taken, *answered)),
        closed=bool(taken) and all(ref.name in closed for ref in taken),
        bare=not taken and not command.parameters,
        handlers=library,
    )


def has_objects(resolved: ResolvedDictionary) -> bool:
    """Say whether an app has anything of its own; scripting additions and mere handlers do not."""
    return any(row.code == "capp" and (row.properties or row.elements) for row in resolved.classes)


def _type_words(ref: TypeRef, classes: Iterable[SdefClass]) -> tuple[str, ...]:
    """Return the words of a type; what has an exit code or a command line is also a process."""
    words = term_phrase(ref.name)
    row = next((one for one in classes if one.name == ref.name), None)
    if row is None:
        return words
    known = {"_".join(term_phrase(one.name)) for one in row.properties}
    return words if known.isdisjoint(_RUNS) else (*words, "process")


def forcing_terms(parameter: SdefParameter, resolved: ResolvedDictionary) -> Iterator[str]:
    """Yield the names of a parameter, and of its values, that force or leave out a question."""
    names = {ref.name for ref in parameter.types}
    chosen = [row for row in resolved.enumerations if row.name in names]
    values = (value.name for row in chosen for value in row.enumerators)
    for name in (parameter.name, *values):
        words = term_phrase(name)
        if _FORCES & set(words) or skips_confirmation(words):
            yield name


def skips_confirmation(words: tuple[str, ...]) -> bool:
    """Say whether a term leaves out a question: `close without saving`."""
    return any(one.search(" ".join(words)) for one in _SILENT)


def _padded_phrase(name: str) -> str:
    return f" {' '.join(term_phrase(name))} "
