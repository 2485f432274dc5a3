"""Classify: the permission level of a command, a property setter, a class; and why.

A level is the maximum of all evidence: event code, app, access group, parameters, shape, hidden,
and the verb last. What none of it knows is MODIFY, and DANGEROUS where it takes free text or a
file. Only a quirk lowers a level. No description is read: an app could write anything there, and
the facts that ship with the generator have none. Levels: docs/adr/0014-levels-and-ceilings.md.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Flag, auto
from typing import Final

from iac_gen.classify.codes import (
    EVENTS,
    OPENS_FILES,
    OPENS_URLS,
    Floors,
    by_level,
    known,
    shipped,
    table,
)
from iac_gen.classify.judgement import Judgement, LevelVerdict, spoken
from iac_gen.classify.setters import acts_later, by_setter, dangerous_name
from iac_gen.classify.words import CODE_WORDS, SECRET_WORDS, Phrase, by_verb, phrase
from iac_gen.model import SdefClass, SdefCommand, SdefParameter, SdefProperty, Source
from iac_gen.resolve import Resolved


class Trait(Flag):
    """What makes an app's commands weigh more."""

    NONE = 0
    INTERPRETER = auto()
    """Runs text or files as code."""
    SHELL = auto()
    """Its windows are processes: making one starts a shell, closing one ends it."""
    REMOTE = auto()
    """Works the interface of other apps, or another computer."""
    OPENER = auto()
    """Opening is what a double click does: any file, with the app that it belongs to."""
    RECORDER = auto()
    """Has cameras, microphones or the screen as its source."""


_TABLE: Final = table("apps")
_KNOWN: Final = tuple(
    (Trait[name], frozenset(row["ids"].lower().split()), frozenset(row["names"].split()))
    for name, row in _TABLE["apps"].items()
)
_HERE: Final = tuple((Trait[name], by_level(rows)) for name, rows in _TABLE["verbs"].items())
# Four-character codes of classes that only an app over the file system has: disk item, disk.
_FILE_CLASSES: Final = frozenset({"ditm", "cdis"})
_SOURCES: Final = frozenset("camera microphone recording capture webcam".split())


def traits(resolved: Resolved) -> Trait:
    """Return what is known of the app that `resolved` belongs to, from its id and classes."""
    found = _by_identity(resolved.source)
    if any(row.code in _FILE_CLASSES for row in resolved.classes):
        found |= Trait.OPENER
    if any(_SOURCES & set(row.name.lower().split()) for row in resolved.classes):
        found |= Trait.RECORDER
    return found


def _by_identity(source: Source) -> Trait:
    identifier = source.id.lower()
    name = "".join(ch for ch in source.name.lower() if ch.isalnum())
    found = Trait.NONE
    for trait, ids, names in _KNOWN:
        if identifier in ids or name in names:
            found |= trait
    return found | Trait.INTERPRETER if Trait.SHELL in found else found


_UNKNOWN: Final = LevelVerdict("MODIFY", "may change something", "words")
_FREE: Final = frozenset({"text", "file", "any"})
_GROUPS: Final = {
    "read-write": LevelVerdict("MODIFY", "the app asks for the right to write"),
    "compose": LevelVerdict("MODIFY", "the app asks for the right to write"),
    "authorize": LevelVerdict("DANGEROUS", "the app asks for the right to authorize"),
    "run": LevelVerdict("DANGEROUS", "the app asks for the right to run things"),
}


def judge_command(
    command: SdefCommand,
    resolved: Resolved,
    kinds: Iterable[str],
    *,
    hidden: bool = False,
    floors: Floors | None = None,
) -> Judgement:
    """Return the level of a command and why; `kinds` are the types of its visible parameters.

    `hidden` says that the dictionary hides it. `floors` stand in for those that ship.
    """
    floors = floors or shipped()
    evidence = _evidence(command, resolved, list(kinds), hidden=hidden)
    return Judgement((*evidence, *known(floors.events.get(command.code))))


def judge_setter(
    owner: SdefClass, prop: SdefProperty, *, floors: Floors | None = None
) -> Judgement:
    """Return the level of setting a property and why; one that cannot be set is SAFE."""
    if prop.access == "r":
        return Judgement((LevelVerdict("SAFE", "cannot be set", "access"),))
    floor = known((floors or shipped()).setters.get((owner.code, prop.code)))
    return Judgement((*by_setter(owner, prop), *floor))


def _evidence(
    command: SdefCommand, resolved: Resolved, kinds: list[str], *, hidden: bool
) -> Iterator[LevelVerdict]:
    words = phrase(command.name)
    app = traits(resolved)
    taken = () if command.direct is None else command.direct.types
    verb = _sorted_out(words, command) or by_verb(
        words,
        answers=command.result is not None,
        direct=tuple(word for ref in taken for word in phrase(ref.name)),
    )
    coded = EVENTS.get(command.code)
    free = any(_is_free(kind) for kind in kinds)
    if coded is not None:
        # Whatever it is called: `run` is a launch where its event is that of launching.
        yield replace(coded, source=f"event code {command.code}")
        yield from spoken("app", _coded_in_app(command, resolved, app))
    else:
        if verb is not None:
            yield replace(verb, source="words")
        elif free:
            why = "takes text or a file, and its verb is unknown"
            yield LevelVerdict("DANGEROUS", why, "words and types")
        else:
            yield _UNKNOWN
        yield from spoken("words and types", _by_parameters(command, words, kinds, verb))
        yield from spoken("app", _in_app(words, app, verb, free=free))
    for group in command.access_groups:
        if (found := _GROUPS.get(group.rpartition(".")[2])) is not None:
            yield replace(found, source=f"access group {group}")
    if hidden:
        yield LevelVerdict("MODIFY", "hidden in the dictionary", "hidden")


def _is_free(kind: str) -> bool:
    """Say whether a type takes free text, a file or anything."""
    terms = (part.removeprefix("list of ") for part in kind.split(" | "))
    return any(not _FREE.isdisjoint(term.split("|")) for term in terms)


def _sorted_out(words: Phrase, command: SdefCommand) -> LevelVerdict | None:
    """Return the verdict of a sort, which answers the objects in order or puts them in order."""
    if words[:1] != ("sort",) or command.result is None:
        return None
    plain = {"text", "boolean", "integer"}
    if any(ref.name in plain and not ref.list for ref in command.result):
        return None
    return LevelVerdict("SAFE", "reads")


def _coded_in_app(command: SdefCommand, resolved: Resolved, app: Trait) -> Iterator[LevelVerdict]:
    """Yield what a standard event means in an app of a known kind."""
    if command.code == OPENS_FILES and app & (Trait.INTERPRETER | Trait.OPENER):
        yield LevelVerdict("DANGEROUS", "opening may run what is opened")
    if command.code == OPENS_URLS and app & (Trait.INTERPRETER | Trait.REMOTE):
        yield LevelVerdict("DANGEROUS", "a URL starts a session or runs something")
    if command.code == OPENS_URLS and resolved.source.kind == "addition":
        yield LevelVerdict("DANGEROUS", "opens a URL of any scheme with any app")
    if command.code in ("coreclos", "corecrel") and Trait.SHELL in app:
        yield LevelVerdict("DANGEROUS", "starts or ends a shell")
    if command.code == "miscslct" and Trait.REMOTE in app:
        yield LevelVerdict("MODIFY", "selects in any app, which may act")


def _by_parameters(
    command: SdefCommand, words: Phrase, kinds: list[str], verb: LevelVerdict | None
) -> Iterator[LevelVerdict]:
    """Yield what parameters and result say of a command whose event is not known."""
    leads = words[0] if words else ""
    quiet = verb is not None and verb.level == "SAFE"
    looks = verb is not None and verb.reason == "changes the view only"
    anything = command.result is not None and any(ref.name == "any" for ref in command.result)
    for parameter, kind in zip(_parameters(command), kinds, strict=True):
        named = set(phrase(parameter.name))
        said = f"parameter {parameter.name} [{parameter.code}]" if parameter.name else "target"
        free, file = _is_free(kind), "file" in kind.split(" | ")
        if SECRET_WORDS & named:
            yield LevelVerdict("DANGEROUS", f"takes a {parameter.name}", said)
        code = bool(CODE_WORDS & named) or named >= _SOURCE_CODE or named == {"command"}
        if code and free and (anything or leads not in _KEEPS_CODE):
            yield LevelVerdict("DANGEROUS", f"takes {parameter.name} as text", said)
        if file and leads in ("read", "write"):
            yield LevelVerdict("DANGEROUS", "reads or writes any file", said)
        if file and quiet and (looks or named & _DESTINATIONS):
            yield LevelVerdict("MODIFY", "opens or writes a file", said)
        if free and leads == "start":
            yield LevelVerdict("MODIFY", "starts what it is given", said)
    if leads in ("read", "write") and "file" in words:
        yield LevelVerdict("DANGEROUS", "reads or writes any file")
    if leads == "set" and (danger := dangerous_name(words[1:])) is not None:
        yield LevelVerdict("DANGEROUS", danger)
    if leads == "expand" and (command.result is not None or any(map(_is_free, kinds))):
        yield LevelVerdict("MODIFY", "replaces what it expands")
    if anything and not quiet and any("text" in kind.split(" | ") for kind in kinds):
        yield LevelVerdict("DANGEROUS", "takes text and answers what came of it")


_SOURCE_CODE: Final = frozenset({"source", "code"})
_DESTINATIONS: Final = frozenset({"to", "in", "into", "saving"})
# Verbs that look at or keep code, and do not run it.
_KEEPS_CODE: Final = frozenset("get find search show save export".split())


def _in_app(
    words: Phrase, app: Trait, verb: LevelVerdict | None, *, free: bool
) -> Iterator[LevelVerdict]:
    """Yield what an event of the app's own means in an app of a known kind."""
    looks = verb is not None and verb.reason in ("reads", "changes the view only")
    leads = words[0] if words else ""
    if Trait.INTERPRETER in app and not looks:
        yield LevelVerdict("DANGEROUS" if free else "MODIFY", "this app runs what it is given")
    for trait, verbs in _HERE:
        if trait in app and leads in verbs:
            yield verbs[leads]


def _parameters(command: SdefCommand) -> list[SdefParameter]:
    """Return the parameters in the order of `kinds`: the direct one first."""
    shown = [parameter for parameter in command.parameters if not parameter.hidden]
    return [*([command.direct] if command.direct else []), *shown]


def judge_make(row: SdefClass, resolved: Resolved, *, floors: Floors | None = None) -> Judgement:
    """Return the level of making an object of a class of `resolved`, and why."""
    found = [LevelVerdict("MODIFY", "makes something new", "event code corecrel")]
    if Trait.SHELL in traits(resolved):
        found.append(LevelVerdict("DANGEROUS", "starts or ends a shell", "app"))
    if acts_later(row):
        found.append(LevelVerdict("DANGEROUS", f"a {row.name} acts later by itself", "class"))
    return Judgement((*found, *known((floors or shipped()).classes.get(row.code))))


def judge_delete(row: SdefClass) -> Judgement:
    """Return the level of deleting an object of a class, always the highest, and why."""
    return Judgement((LevelVerdict("DANGEROUS", f"deletes a {row.name}", "event code coredelo"),))
