"""What a level rests on: verdicts, the tables beside this file, words of terms, facts of the app.

A judgement holds all verdicts in the order in which they counted. Names and ids of apps are no
evidence: whoever renames a dictionary would choose its levels.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Flag, auto
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final, Literal

from iac_base.words import split_name
from iac_gen.model import SdefClass, SdefCommand, SdefParameter, TypeRef
from iac_gen.resolve import ResolvedDictionary
from iac_runtime.tool import LEVELS, Level


@dataclass(frozen=True, slots=True)
class LevelVerdict:
    """A level and its reason, a few words that end a sentence.

    `source` says what speaks: `event code aevtodoc`, `words`, `parameter to [kfil]`, `floor`.
    A verdict that `raises` counts only where it is higher than the others.
    """

    level: Level
    reason: str
    source: str = ""
    raises: bool = False


@dataclass(frozen=True, slots=True)
class LevelJudgment:
    """All evidence of one level in the order in which it counted.

    The level is the highest of `evidence`, its reason the first of equals; a `quirk` that comes
    with the generator decides alone, one of somebody else can only raise.
    """

    evidence: tuple[LevelVerdict, ...] = ()
    quirk: LevelVerdict | None = None

    @property
    def verdict(self) -> LevelVerdict:
        """What decided."""
        if self.quirk and self.quirk.raises:
            return highest_verdict((*self.evidence, self.quirk))
        return self.quirk or highest_verdict(self.evidence)

    @property
    def level(self) -> Level:
        """The level that all evidence comes to."""
        return self.verdict.level

    @property
    def reason(self) -> str:
        """Why it is that level."""
        return self.verdict.reason


READS: Final = LevelVerdict("SAFE", "reads")


def highest_verdict(verdicts: Iterable[LevelVerdict]) -> LevelVerdict:
    """Return the verdict with the highest level, the first of equals; SAFE for none."""
    return max(verdicts, key=lambda verdict: LEVELS.index(verdict.level), default=READS)


def with_source(source: str, verdicts: Iterable[LevelVerdict]) -> Iterator[LevelVerdict]:
    """Yield `verdicts` with what speaks in them; one that says it already is left as it is."""
    for verdict in verdicts:
        yield verdict if verdict.source else replace(verdict, source=source)


@cache
def read_level_table(name: str) -> dict[str, Any]:
    """Return the table that lies beside this file under a name, without `.toml`."""
    return tomllib.loads((files("iac_gen.classify") / f"{name}.toml").read_text(encoding="utf-8"))


def verdicts_by_word(rows: Mapping[str, Mapping[str, str]]) -> dict[str, LevelVerdict]:
    """Return word -> verdict for a table of level -> reason -> words."""
    return {
        word: LevelVerdict(_LEVELS[level], why)
        for level, reasons in rows.items()
        for why, words in reasons.items()
        for word in words.split()
    }


def word_sets(name: str) -> dict[str, frozenset[str]]:
    """Return the sets of words of a table."""
    return {key: frozenset(words.split()) for key, words in read_level_table(name)["sets"].items()}


_LEVELS: Final[Mapping[str, Level]] = {level: level for level in LEVELS}
OPENS_FILES: Final = "aevtodoc"
OPENS_URLS: Final = "GURLGURL"

EVENTS: Final[Mapping[str, LevelVerdict]] = {
    code.replace(".", " "): verdict
    for code, verdict in verdicts_by_word(read_level_table("codes")).items()
}
"""Event code -> verdict. Words can raise it, never lower it."""


FILE: Final = "floors.json"
_REASON: Final = "known by its code"


@dataclass(frozen=True, slots=True)
class LevelFloors:
    """Levels by code: events, (class, property) of setters, classes whose making has one."""

    events: Mapping[str, Level] = field(default_factory=dict)
    setters: Mapping[tuple[str, str], Level] = field(default_factory=dict)
    classes: Mapping[str, Level] = field(default_factory=dict)


def floor_verdicts(level: Level | None) -> list[LevelVerdict]:
    """Return the verdict of a floor, a list of one or none."""
    return [] if level is None else [LevelVerdict(level, _REASON, "floor")]


@cache
def shipped_floors() -> LevelFloors:
    """Return the floors that ship with the generator."""
    data = json.loads((files("iac_gen.classify") / FILE).read_text(encoding="utf-8"))
    return LevelFloors(
        {code: level for level, codes in data["events"].items() for code in codes},
        {
            (owner, code): level
            for level, owners in data["setters"].items()
            for owner, codes in owners.items()
            for code in codes
        },
        {code: level for level, codes in data["classes"].items() for code in codes},
    )


Answers = Literal["", "flag", "value"]
"""What a command declares as its result: nothing, a boolean (often only that it worked), more."""
Phrase = tuple[str, ...]
"""The words of a term in lower case: `executeAATFile` is execute, aat, file."""


@dataclass(frozen=True, slots=True)
class VerbContext:
    """What a verb is applied to, and what comes of it.

    `direct` holds the words of each type of the direct parameter, `around` those of the classes of
    the app. `plain` says that all it takes are values, `numbers` that they are numbers and so is
    the answer, `gathers` that one list is made of another in a library of handlers, `closed` that
    it chooses from a fixed set, `bare` that it takes nothing,
    `handlers` that the app has no objects: what is not a value, it does not keep.
    """

    direct: tuple[Phrase, ...] = ()
    answers: Answers = ""
    around: frozenset[str] = frozenset()
    plain: bool = False
    numbers: bool = False
    gathers: bool = False
    closed: bool = False
    bare: bool = False
    handlers: bool = False


# `PFOpen`, `AXPress`: two or three letters for whose command it is.
_SEVERAL: Final = re.compile(r"\b[A-Z]{2,}s\b")
_PREFIXED: Final = re.compile(r"[A-Z]{2,3}[A-Z][a-z]")

SETS: Final = word_sets("words")
CODE_WORDS: Final = SETS["code"]
SECRET_WORDS: Final = SETS["secrets"]
PLAYERS: Final = SETS["players"]
_MEANING: Final = CODE_WORDS | SECRET_WORDS | {"url"}
VERBS: Final = verdicts_by_word(read_level_table("words")["verbs"])


@lru_cache(maxsize=4096)
def term_phrase(term: str) -> Phrase:
    """Return the words of a term in lower case; a vendor's letters before a verb are left out."""
    # PostScript is a page, not a script that runs; `IDs` are several of one.
    term = _SEVERAL.sub(lambda one: one[0].lower(), term.replace("PostScript", "postscript"))
    words = tuple(split_name(term))
    if _PREFIXED.match(term) and words[1] in VERBS and words[0] not in _MEANING:
        return words[1:]
    return words


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
    names = [f" {' '.join(term_phrase(row.name))} " for row in resolved.classes]
    properties = {one.name.lower() for row in resolved.classes for one in row.properties}
    taken = {one.name.lower() for row in resolved.commands for one in row.parameters}
    traits = AppTrait.NONE
    for name, facts in _TABLE["traits"].items():
        if (
            not codes.isdisjoint(facts.get("codes", ()))
            or any(f" {kind} " in name for kind in facts.get("classes", ()) for name in names)
            or not properties.isdisjoint(facts.get("properties", ()))
            or not taken.isdisjoint(facts.get("parameters", ()))
        ):
            traits |= AppTrait[name]
    return traits


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
