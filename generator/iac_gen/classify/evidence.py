"""What a level rests on: verdicts, the tables beside this file, facts of the app, words of terms.

A judgement holds all verdicts in the order in which they counted. Names and ids of apps are no
evidence: whoever renames a dictionary would choose its levels. The first word of a term is its
verb; a few words weigh wherever they stand. A verb that nobody here knows gives no verdict: the
caller decides what the unknown is worth. A word alone proves nothing: what reads must answer,
what plays must play something (`VerbContext`).
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
_LOSES: Final = frozenset(_TABLE["forces"]["verbs"].split())
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
    lists = all(ref.list or ref.name in _COLLECTIONS for ref in (*taken, *answered))
    return VerbContext(
        direct=tuple(_type_words(ref, resolved.classes) for ref in taken),
        answers=answers,
        around=_app_nouns(resolved),
        plain=bool(taken or library or command.parameters)
        and all(ref.name in plain for ref in shown),
        numbers=bool(taken) and all(ref.name in _NUMBERS for ref in shown),
        gathers=library and bool(taken) and lists,
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
    if _LOSES.intersection(term_phrase(parameter.name)[:1]):
        yield parameter.name
    for name in (parameter.name, *values):
        words = term_phrase(name)
        if _FORCES & set(words) or skips_confirmation(words):
            yield name


def skips_confirmation(words: tuple[str, ...]) -> bool:
    """Say whether a term leaves out a question: `close without saving`."""
    return any(one.search(" ".join(words)) for one in _SILENT)


_SEEN: Final = SETS["media"] | SETS["view_nouns"]
_PAIRS: Final = verdicts_by_word(read_level_table("words")["pairs"])


def _verb_object_rows(name: str) -> tuple[tuple[frozenset[str], frozenset[str], LevelVerdict], ...]:
    """Return the rows of a table of verbs and of the sets that make them dangerous."""
    return tuple(
        (
            frozenset(verbs.split()),
            frozenset().union(*(SETS[one] for one in sets.split())),
            LevelVerdict("DANGEROUS", why),
        )
        for why, rows in read_level_table("words")[name].items()
        for verbs, sets in rows.items()
    )


_OBJECTS: Final = _verb_object_rows("objects")
_TARGETS: Final = _verb_object_rows("targets")
_TURNED: Final = {
    verb: SETS[nouns]
    for verbs, nouns in read_level_table("words")["views"].items()
    for verb in verbs.split()
}
# Controls of an interface: choosing one does what it does.
_CONTROLS: Final = (("menu", "item"), ("menu", "bar", "item"), ("button",), ("menu",))
# Verbs that dictionaries write in one word with what they do it to: `getparagraphlength`.
_GLUED: Final = tuple(
    "get set run execute export delete remove send import connect apply show select edit".split()
)
_ENDINGS: Final = ("script", "javascript", "shell")
_RUNS_CODE: Final = "runs code or an action"
_CAPTURES: Final = LevelVerdict("DANGEROUS", "captures sound, pictures or the screen")
_VIEW: Final = LevelVerdict("SAFE", "changes only the view")
_SLEEPS: Final = (("sleep",), ("hibernate",), ("standby",))
_PAGES: Final = SETS["pages"]
_THINGS: Final = SETS["things"] | SETS["nouns"] | SETS["ways"]
_CHANGES: Final = LevelVerdict("MODIFY", "changes something")
_BECOMING: Final = ("ize", "ise", "ify")
_STARTS: Final = LevelVerdict("MODIFY", "starts or ends something")


def verb_verdict(words: Phrase, given: VerbContext) -> LevelVerdict | None:
    """Return what the words of a command say, None where they say nothing."""
    if not words:
        return None
    words = _without_adverbs(words)
    # `reply and send`: the heavier of the two.
    joined = next((at for at, word in enumerate(words) if word in ("and", "then") and at), 0)
    second = VERBS.get(words[joined + 1]) if 0 < joined < len(words) - 1 else None
    if second is not None and second.level == "DANGEROUS":
        return second
    pair = _PAIRS.get("_".join(words[:3])) or _PAIRS.get("_".join(words[:2]))
    if pair is not None and words[0] == "bring" and given.direct and not _may_be_window(given):
        return _CHANGES
    if pair is not None:
        reached = (SETS["served"] | SETS["urls"]).intersection(words[2:])
        return highest_verdict((pair, _STARTS)) if reached else pair
    if words[0] in SETS["chooses"] and words[1:] in _CONTROLS:
        return LevelVerdict("DANGEROUS", "operates the controls of an app")
    if words[0] in ("enter", "exit", "leave", "end") and words[-1] in SETS["modes"]:
        return _VIEW
    if words[1:] == ("preview",) or (words[0] in SETS["framing"] and _places_window(words[1:])):
        return _VIEW
    if given.answers == "value" and _is_query(words, given):
        return READS
    if given.bare and given.answers and _names_its_answer(words, given):
        return READS
    if words[0] == "send" and _places_window(tuple(word for word in words[1:] if word != "number")):
        return _VIEW
    if words[0] == "close" and words[-1] == "window" and SETS["no_contents"] & {*words[1:-1]}:
        return _VIEW
    if words[0] == "export" and given.bare and given.answers == "value":
        return READS
    begun = map(_verb_of_participle, words[1:] if words[0] in ("start", "begin", "resume") else ())
    if (verb := highest_verdict(filter(None, begun))).level == "DANGEROUS":
        return verb
    words = words if given.answers and words[0].endswith("ing") else _verb_first(words)
    first = VERBS.get(words[0])
    if first is None:
        return _verbless_verdict(words, given)
    drafts = given.direct and not _SEEN & _direct_words(given) and "transport" not in given.around
    if words == ("forward",) and drafts:
        return LevelVerdict("MODIFY", "opens a draft")
    if words == ("push",) and "file" in _direct_words(given):
        return LevelVerdict("MODIFY", "writes a file")
    if first.level == "SAFE":
        return _safe_verb_verdict(words, first, given)
    listed = given.gathers and words[0] in SETS["of_lists"] and len(words) > 1
    if listed and (SETS["listed_values"] | SETS["ways"]).issuperset(words[1:]):
        return READS
    if first.level == "MODIFY":
        return _change_verdict(words, first, given)
    return _harmless_verdict(words, given) or first


def _is_query(words: Phrase, given: VerbContext) -> bool:
    """Say whether a verb is a noun or a function: `upload rate`, `index of`, `round`."""
    if given.numbers and words[0] in SETS["maths"]:
        return True
    if (words[1:2] == ("of",) or words[1:3] == ("as", "of")) and VERBS.get(
        words[0], READS
    ).level != "DANGEROUS":
        return True
    measured = words[0] in SETS["measured"] and words[-1] in SETS["measures"]
    return measured and not given.direct


def _names_its_answer(words: Phrase, given: VerbContext) -> bool:
    """Say whether a term without anything that it takes names what it answers, or how that is."""
    if given.answers == "value" and words[-1] in SETS["answered"]:
        return True
    return len(words) > 1 and words[0] not in VERBS and words[-1] in SETS["states"]


def _places_window(rest: Phrase) -> bool:
    """Say whether what stands behind a verb is a window or a screen and a side, nothing else."""
    where = SETS["framed"] | SETS["sides"] | SETS["ways"]
    return where.issuperset(rest) and not SETS["framed"].isdisjoint(rest)


def _may_be_window(given: VerbContext) -> bool:
    """Say whether what is brought to the front may be a window; else it is a layer of a drawing."""
    return not _direct_words(given).isdisjoint(
        SETS["places"] | SETS["view_nouns"] | SETS["neutral"]
    )


def _harmless_verdict(words: Phrase, given: VerbContext) -> LevelVerdict | None:
    """Return what a verb that is dangerous elsewhere does to an object that bears it."""
    led, *rest = words
    # What an app has as a class is an object of its own, and lost.
    if led == "remove" and rest and rest[-1] in SETS["marks"] - given.around:
        if given.plain and given.answers == "value":
            return READS
        return LevelVerdict("MODIFY", "removes a mark or a part of a text")
    if led in SETS["tells"] and rest and rest[-1] in SETS["news"]:
        return LevelVerdict("MODIFY", "tells the user")
    if led == "restart" and rest and SETS["media"].issuperset(rest):
        return LevelVerdict("SAFE", "plays or navigates")
    if led in ("run", "start") and "".join(rest[-2:]) in SETS["shows"]:
        return LevelVerdict("SAFE", "plays or navigates")
    if led in ("run", "perform", "execute") and len(rest) == 1 and rest[0] in SETS["finds"]:
        return VERBS[rest[0]]
    if words == ("press",) and given.closed and "media" in given.around:
        return LevelVerdict("SAFE", "plays or navigates")
    return None


def _without_adverbs(words: Phrase) -> Phrase:
    """Return the words from the verb on: `permanently delete`, `web export`."""
    before, *rest = words
    if rest and (before == "force" or (before not in VERBS and before.endswith("ly"))):
        return _without_adverbs(tuple(rest))
    if rest and before in SETS["before_verb"] and rest[0] in VERBS:
        return tuple(rest)
    return words


def _direct_words(given: VerbContext) -> set[str]:
    return {word for words in given.direct for word in words}


def _verb_first(words: Phrase) -> Phrase:
    """Return the words with the verb in front, in the form that the table has."""
    if words[0] in VERBS:
        return words
    for prefix in ("un", "re", "de", "auto"):
        if (rest := words[0].removeprefix(prefix)) != words[0] and rest in VERBS:
            # What undoes or repeats a change is one, whatever the verb itself is worth.
            return (rest, *words[1:]) if VERBS[rest].level != "SAFE" else ("change", *words[1:])
    glued = next((verb for verb in _GLUED if words[0].startswith(verb)), None)
    if (
        glued is not None
        and len(words[0]) > len(glued) + 2
        and not words[0].endswith(("ion", "table"))
    ):
        return (glued, words[0].removeprefix(glued), *words[1:])
    return words


def _safe_verb_verdict(words: Phrase, first: LevelVerdict, given: VerbContext) -> LevelVerdict:
    """Return SAFE for a verb that reads, shows or plays where what stands around it proves that."""
    rest = set(words[1:])
    if {"go": SETS["presence"], "join": SETS["rooms"]}.get(words[0], frozenset()) & rest:
        return LevelVerdict("MODIFY", "is seen by others")
    if SETS["elsewhere"] & rest and first.reason == "reads":
        return LevelVerdict("MODIFY", "queries another computer")
    if words[0] in ("show", "display", "present") and SETS["asks"] & rest:
        if (SETS["proofs"] | SECRET_WORDS) & rest:
            return LevelVerdict("DANGEROUS", "asks for credentials")
        return LevelVerdict("MODIFY", "asks the user")
    told = first.reason in ("reads", _VIEW.reason) and given.answers == "value"
    if SECRET_WORDS & rest and told:
        return LevelVerdict("DANGEROUS", "returns a secret")
    if words[-1] in SECRET_WORDS and first.reason == _VIEW.reason:
        return LevelVerdict("MODIFY", "shows a secret")
    if words[0] == "select" and words[-1] in ("file", "files"):
        return LevelVerdict("MODIFY", "imports a file")
    if words[0] == "get" and given.plain and rest and rest <= SETS["urls"]:
        return LevelVerdict("MODIFY", "opens a URL")
    if words[0] in SETS["goes"] and SETS["urls"] & rest:
        return LevelVerdict("MODIFY", "opens a URL")
    if first.reason == "reads" and not given.answers and words[0] not in SETS["finds"]:
        return LevelVerdict("MODIFY", "declares no result")
    active = rest | (_direct_words(given) - SETS["neutral"])
    if words[0] in ("activate", "deactivate") and active and not SETS["places"] & active:
        return _STARTS
    if first.reason == "plays or navigates":
        return _playback_verdict(words, first, given)
    return first


def _playback_verdict(words: Phrase, first: LevelVerdict, given: VerbContext) -> LevelVerdict:
    """Return what playing, starting or stopping is worth: by what it is that plays or starts."""
    rest, types = set(words[1:]), _direct_words(given)
    things = rest | types
    if SETS["urls"] & rest:
        return LevelVerdict("MODIFY", "opens a URL")
    if words[0] == "skip" and SETS["safeguards"] & rest:
        return LevelVerdict("DANGEROUS", "removes a safeguard")
    if words[0] in ("start", "resume") and SETS["remote"] & rest:
        return LevelVerdict("DANGEROUS", "opens a session on another computer")
    if (CODE_WORDS | SETS["actions"]) & rest and words[0] in ("start", "play", "resume", "replay"):
        return LevelVerdict("DANGEROUS", _RUNS_CODE)
    if {*SETS["recordings"], "recorder"} & things and words[0] in ("start", "resume", "play"):
        return _CAPTURES
    if words[0] == "start" and SETS["calls"] & rest:
        return LevelVerdict("DANGEROUS", "leaves the machine and cannot be taken back")
    if words[0] == "stop" and SETS["runs"] & things:
        return LevelVerdict("DANGEROUS", "ends something that is running for a person")
    if SETS["works"] & things:
        return _STARTS
    if words[0] in PLAYERS or (words[0] in ("skip", "step") and rest and rest <= SETS["on"]):
        return first
    named = (rest - SETS["ways"] or types) - SETS["neutral"]
    listed = SETS["listed"] | SETS["places"]
    if words[0] in ("next", "previous", "prev", "first", "last") and listed & things:
        return first
    # What stops may give up a queue, where nothing shows that there are tracks to start again.
    around = given.around - ({"media"} if words == ("stop",) and not given.direct else set())
    seen = _SEEN & named if named else SETS["media"] & around
    return first if seen else _STARTS


def _change_verdict(words: Phrase, first: LevelVerdict, given: VerbContext) -> LevelVerdict:
    """Return the verdict of a verb that changes something: by what it is that changes."""
    led, rest = words[0], set(words[1:])
    things = rest | _direct_words(given)
    if SECRET_WORDS & rest:
        return LevelVerdict("DANGEROUS", "touches a secret")
    if words in _SLEEPS and not given.direct:
        return LevelVerdict("DANGEROUS", "puts the computer to sleep")
    if words == ("capture",):
        return _CAPTURES
    if led == "clear" and words[-1] in SETS["marks"]:
        return LevelVerdict("MODIFY", "removes a mark or a part of a text")
    if led == "choose" and given.answers == "value":
        return LevelVerdict("SAFE", "lets the user pick")
    shown = bool(given.direct) and all(_PAGES & set(kind) for kind in given.direct)
    if led in SETS["renews"] and (shown or words[-1] in _PAGES):
        return _VIEW
    if words[0] == "wait" or (words == ("delay",) and given.plain):
        return LevelVerdict("SAFE", "waits")
    if words[0] == "load" and words[-1] in SETS["media"] and not CODE_WORDS & rest:
        return LevelVerdict("SAFE", "plays or navigates")
    if SETS["payments"] & rest or (SETS["transfers"] & rest and {"transfer", "transfers"} & rest):
        return LevelVerdict("DANGEROUS", "spends money")
    for rows, words_of in ((_OBJECTS, rest), (_TARGETS, things)):
        for verbs, objects, verdict in rows:
            if led in verbs and objects & words_of:
                return verdict
    if given.handlers and given.bare and led in SETS["gets_in"]:
        return LevelVerdict("DANGEROUS", "loads code")
    computed = given.plain and led in SETS["computes"] and not rest & SETS["works"]
    if computed and (given.answers == "value" or (given.handlers and given.direct)):
        return READS
    if led in SETS["draws_out"] and given.direct and given.answers == "value":
        return first if SETS["screens"] & things - _PAGES else READS
    if led in SETS["prints"] and (rest & SETS["streams"]):
        return LevelVerdict("SAFE", "only the user sees it")
    if led == "fetch" and words[-1] in SETS["found"] and given.answers == "value":
        return first if given.direct else READS
    return _VIEW if _changes_view_only(words, given) else first


def _changes_view_only(words: Phrase, given: VerbContext) -> bool:
    """Say whether something is opened, closed, moved that only shows what is there."""
    led, *rest = words
    turned = _TURNED.get(led, frozenset())
    if not rest and given.direct and all(turned & set(kind) for kind in given.direct):
        return True
    if rest and rest[-1] in turned:
        # A volume is a disk where an app has disks.
        return rest[-1] != "volume" or "volume" not in given.around
    if led not in SETS["view_verbs"]:
        return False
    if "for" in rest[1:]:
        rest = rest[: rest.index("for")]
    while len(rest) > 1 and rest[-1] in SETS["ways"]:
        rest.pop()
    nouns = SETS["view_nouns"]
    if led == "close":
        nouns -= SETS["closed_with_contents"]
    if rest:
        shown = rest[-1] in nouns or "".join(rest) in nouns
        toggled = rest[0] in PLAYERS or not SETS["toggled"].isdisjoint((rest[-1], rest[0]))
        return shown or (led == "toggle" and toggled)
    if given.closed and led in ("open", "close", "move"):
        return True
    return bool(given.direct) and all(nouns & set(kind) for kind in given.direct)


def _verbless_verdict(words: Phrase, given: VerbContext) -> LevelVerdict | None:
    """Return what a term says that begins with no known verb."""
    if SECRET_WORDS & set(words):
        return LevelVerdict("DANGEROUS", "touches a secret")
    if words[0] == "do":
        done = (CODE_WORDS | SETS["does"]) & set(words[1:])
        return LevelVerdict("DANGEROUS", _RUNS_CODE) if done else None
    if any(word.endswith(_ENDINGS) and word not in SETS["no_code"] for word in words):
        return LevelVerdict("DANGEROUS", _RUNS_CODE)
    if {"screenshot", "keystroke"} & set(words):
        return LevelVerdict("DANGEROUS", "captures or types")
    # Behind a word that nobody knows, a dangerous verb still counts: `please delete`.
    for position in range(1, len(words)):
        pair = _PAIRS.get("_".join(words[position : position + 2]))
        verb = pair or VERBS.get(words[position])
        noun = SETS["nouns"] | (SETS["nouns_too"] if given.answers == "value" else frozenset())
        if verb is not None and verb.level == "DANGEROUS" and words[position] not in noun:
            return verb
    if words[-1] in ("preview", "scroll"):
        return _VIEW
    # What is named after its answer: `title for tty`, `module paths`, `unicode numbers`. A boolean
    # says of most commands only that they were carried out.
    if given.answers and SETS["copulas"] & set(words[1:]):
        return READS
    bound = {"of", "for", "between"} & {*words[1:], words[-1]}
    named = bool(bound) or words[-1] in SETS["nouns"] or _THINGS.issuperset(words)
    named |= words[0] in SETS["measures"]
    named |= any(words[-1].endswith(noun) for noun in SETS["glued_nouns"])
    turned = words[-1] in _THINGS and not {"to", "from", "2"}.isdisjoint(words[:-1])
    turned = given.plain and (turned or words[-1] in SETS["computes"])
    if given.plain and given.handlers and given.direct and words[-1] in SETS["computes"]:
        return READS
    if given.answers == "value" and (named or turned or words[0] in SETS["asked"]):
        return READS
    last = VERBS.get(words[-1])
    if given.answers and words[-1] in SETS["looked_at"]:
        return READS
    if last is not None and words[-1] in SETS["ways"] and SETS["media"].issuperset(words[:-1]):
        # `frame forward`: what is gone through stands before the way.
        return last if last.reason == "plays or navigates" else None
    if last is not None and last.level == "MODIFY" and not CODE_WORDS & set(words):
        return last
    verbs = [verb for word in words if (verb := _verb_of_participle(word)) is not None]
    if any(verb.level != "DANGEROUS" for verb in verbs):
        return LevelVerdict("MODIFY", "reports an event")
    # `-ize`, `-ify`: to make something be so.
    either = words[0] in SETS["either"] and not given.answers
    return _CHANGES if either or words[0].endswith(_BECOMING) else None


def _verb_of_participle(word: str) -> LevelVerdict | None:
    """Return the verdict on the known verb that a word is a participle of: `joined`, `saving`."""
    for ending in ("ed", "ing"):
        stem = word.removesuffix(ending)
        if stem != word:
            return next((VERBS[one] for one in (stem, f"{stem}e", stem[:-1]) if one in VERBS), None)
    return None
