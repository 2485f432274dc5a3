"""Classify: the permission level of a command, a property setter, a class; and why.

A level is the maximum of all evidence: event code, app, access group, parameters, shape, hidden,
and the verb last. What none of it knows is MODIFY, and DANGEROUS where it takes free text or a
file. Only a quirk lowers a level. No description is read: an app could write anything there, and
the facts that ship with the generator have none. Levels: docs/adr/0014-levels-and-ceilings.md.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
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
from iac_gen.classify.intents import by_intent
from iac_gen.classify.judgement import Judgement, LevelVerdict, spoken
from iac_gen.classify.setters import acts_later, by_setter, dangerous_name
from iac_gen.classify.structure import Trait, forced, given, has_objects, silent, traits
from iac_gen.classify.terms import CODE_WORDS, SECRET_WORDS, Phrase, phrase
from iac_gen.classify.words import by_verb
from iac_gen.model import IntentFacts, SdefClass, SdefCommand, SdefParameter, SdefProperty
from iac_gen.resolve import Resolved

_HERE: Final = tuple(
    (Trait[name], by_level(rows)) for name, rows in table("structure")["verbs"].items()
)
_IDS: Final = by_level(table("structure")["event_ids"])
_UNKNOWN: Final = LevelVerdict("MODIFY", "may change something", "words")
_FREE: Final = frozenset({"text", "file", "any"})
_GROUPS: Final = {
    "read-write": LevelVerdict("MODIFY", "the app requests the right to write"),
    "compose": LevelVerdict("MODIFY", "the app requests the right to write"),
    "authorize": LevelVerdict("DANGEROUS", "the app requests the right to authorize"),
    "run": LevelVerdict("DANGEROUS", "the app requests the right to run things"),
}


def judge_command(
    command: SdefCommand,
    resolved: Resolved,
    kinds: Iterable[str],
    *,
    floors: Floors | None = None,
) -> Judgement:
    """Return the level of a command and why; `kinds` are the types of its visible parameters.

    `floors` stand in for those that ship.
    """
    floors = floors or shipped()
    listed = list(kinds)
    if command.intent is not None:
        # No floor and no event: its code is a name that anybody may give it.
        return Judgement(tuple(_of_intent(command, command.intent, resolved, listed)))
    evidence = _evidence(command, resolved, listed)
    return Judgement((*evidence, *known(floors.events.get(command.code))))


def judge_setter(
    owner: SdefClass, prop: SdefProperty, *, floors: Floors | None = None
) -> Judgement:
    """Return the level of setting a property and why; one that cannot be set is SAFE."""
    if prop.access == "r":
        return Judgement((LevelVerdict("SAFE", "cannot be set", "access"),))
    floor = known((floors or shipped()).setters.get((owner.code, prop.code)))
    return Judgement((*by_setter(owner, prop), *floor))


def _evidence(command: SdefCommand, resolved: Resolved, kinds: list[str]) -> Iterator[LevelVerdict]:
    words = phrase(command.name)
    app = traits(resolved)
    verb = _sorted_out(words, command) or by_verb(words, given(command, resolved))
    coded = EVENTS.get(command.code)
    free = any(_is_free(kind) for kind in kinds)
    if coded is not None:
        # Whatever it is called: `run` is a launch where its event is that of launching.
        yield replace(coded, source=f"event code {command.code}")
        yield from spoken("structure", _coded_in_app(command, resolved, app))
    else:
        if verb is not None:
            yield replace(verb, source="words")
        elif free:
            why = "takes text or a file, and its verb is unknown"
            yield LevelVerdict("DANGEROUS", why, "words and types")
        else:
            yield _UNKNOWN
        if (by_id := _IDS.get(command.code[4:].lower())) is not None:
            yield replace(by_id, source=f"event code {command.code}")
        yield from spoken("words and types", _by_parameters(command, resolved, kinds, verb))
        yield from spoken("structure", _in_app(words, app))
    for group in command.access_groups:
        if (found := _GROUPS.get(group.rpartition(".")[2])) is not None:
            yield replace(found, source=f"access group {group}")


def _of_intent(
    command: SdefCommand, facts: IntentFacts, resolved: Resolved, kinds: list[str]
) -> Iterator[LevelVerdict]:
    yield from by_intent(command, facts, resolved, kinds)
    verb = by_verb(phrase(command.name), given(command, resolved))
    for found in spoken("words and types", _by_parameters(command, resolved, kinds, verb)):
        if found.level != "SAFE":
            yield found


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
    if command.code == OPENS_FILES and app & (Trait.SHELL | Trait.OPENER | Trait.PROGRAMS):
        yield LevelVerdict("DANGEROUS", "opening may run the file")
    if command.code == OPENS_URLS and Trait.SHELL in app:
        yield LevelVerdict("DANGEROUS", "a URL starts a session or runs something")
    if command.code == OPENS_URLS and resolved.commands and not has_objects(resolved):
        yield LevelVerdict("DANGEROUS", "opens a URL of any scheme with any app")
    if command.code in ("coreclos", "corecrel") and Trait.SHELL in app:
        yield LevelVerdict("DANGEROUS", "starts or ends a shell")
    if command.code == "miscslct" and Trait.REMOTE in app:
        yield LevelVerdict("MODIFY", "selects something in an app, which can trigger an action")


def _by_parameters(
    command: SdefCommand, resolved: Resolved, kinds: list[str], verb: LevelVerdict | None
) -> Iterator[LevelVerdict]:
    """Yield what parameters and result say of a command whose event is not known."""
    words = phrase(command.name)
    leads = words[0] if words else ""
    quiet = verb is not None and verb.level == "SAFE"
    looks = verb is not None and verb.reason == "changes only the view"
    anything = command.result is not None and any(ref.name == "any" for ref in command.result)
    for parameter, kind in zip(_parameters(command), kinds, strict=True):
        named = set(phrase(parameter.name))
        said = f"parameter {parameter.name} [{parameter.code}]" if parameter.name else "target"
        free, file = _is_free(kind), "file" in kind.replace("list of ", "").split(" | ")
        if SECRET_WORDS & named:
            yield LevelVerdict("DANGEROUS", f"takes a {parameter.name}", said)
        for name in forced(parameter, resolved):
            yield LevelVerdict("DANGEROUS", f"may be given: {name}", said)
        if not quiet and ("pid" in named or named > {"process"}):
            yield LevelVerdict("DANGEROUS", "takes control of a process", said)
        code = bool(CODE_WORDS & named) or named >= _SOURCE_CODE or named == {"command"}
        if code and free and (anything or leads not in _KEEPS_CODE):
            yield LevelVerdict("DANGEROUS", f"takes {parameter.name} as text", said)
        taken_in = leads == "read" and named == {"from"} and command.result is None
        taken_in |= leads == "write" and bool(named & _DESTINATIONS) and not _is_free(kinds[0])
        if leads in ("read", "write") and (file or kind == "any") and not taken_in:
            yield LevelVerdict("DANGEROUS", "reads or writes any file", said)
        # Where one goes *from* a file, that only says what is looked up.
        source = parameter is not command.direct and named == {"from"}
        shown = looks and not source and leads != "reveal"
        if file and quiet and (shown or named & _DESTINATIONS):
            yield LevelVerdict("MODIFY", "opens or writes a file", said)
        if free and (words == ("start",) or leads == "read"):
            yield LevelVerdict("MODIFY", "starts or reads its argument", said)
    if silent(words):
        yield LevelVerdict("DANGEROUS", "skips a confirmation")
    if leads == "write" and "file" in words:
        yield LevelVerdict("DANGEROUS", "reads or writes any file")
    if leads in ("set", "change") and (danger := dangerous_name(words[1:])) is not None:
        yield LevelVerdict("DANGEROUS", danger)
    if leads == "close" and "document" in words and not _asks_to_save(command):
        yield LevelVerdict("DANGEROUS", "closes a document without an option for saving")
    if leads == "expand" and (command.result is not None or any(map(_is_free, kinds))):
        yield LevelVerdict("MODIFY", "replaces what it expands")
    makes = verb is not None and verb.reason == "makes something new"
    if anything and not (quiet or makes) and any("text" in kind.split(" | ") for kind in kinds):
        yield LevelVerdict("DANGEROUS", "takes text and returns a result")


def _asks_to_save(command: SdefCommand) -> bool:
    named = {word for one in command.parameters for word in phrase(one.name)}
    return not named.isdisjoint(("save", "saving"))


_SOURCE_CODE: Final = frozenset({"source", "code"})
_DESTINATIONS: Final = frozenset({"to", "in", "into", "saving"})
# Verbs that look at or keep code, and do not run it.
_KEEPS_CODE: Final = frozenset("get find search show save export".split())


def _in_app(words: Phrase, app: Trait) -> Iterator[LevelVerdict]:
    """Yield what an event of the app's own means in an app of a known kind."""
    for trait, verbs in _HERE:
        if trait in app and words and words[0] in verbs:
            yield verbs[words[0]]


def _parameters(command: SdefCommand) -> list[SdefParameter]:
    """Return the parameters in the order of `kinds`: the direct one first."""
    shown = [parameter for parameter in command.parameters if not parameter.hidden]
    return [*([command.direct] if command.direct else []), *shown]


def judge_make(row: SdefClass, resolved: Resolved, *, floors: Floors | None = None) -> Judgement:
    """Return the level of making an object of a class of `resolved`, and why."""
    found = [LevelVerdict("MODIFY", "makes something new", "event code corecrel")]
    if Trait.SHELL in traits(resolved):
        found.append(LevelVerdict("DANGEROUS", "starts or ends a shell", "structure"))
    if acts_later(row):
        found.append(LevelVerdict("DANGEROUS", f"a {row.name} acts later by itself", "class"))
    return Judgement((*found, *known((floors or shipped()).classes.get(row.code))))


def judge_delete(row: SdefClass) -> Judgement:
    """Return the level of deleting an object of a class, always the highest, and why."""
    return Judgement((LevelVerdict("DANGEROUS", f"deletes a {row.name}", "event code coredelo"),))
