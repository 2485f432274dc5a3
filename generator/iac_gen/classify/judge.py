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
    LevelFloors,
    floor_verdicts,
    read_level_table,
    shipped_floors,
    verdicts_by_word,
)
from iac_gen.classify.intents import intent_verdicts
from iac_gen.classify.judgement import LevelJudgment, LevelVerdict, with_source
from iac_gen.classify.setters import acts_later, danger_of_name, setter_verdicts
from iac_gen.classify.structure import (
    AppTrait,
    app_traits,
    forcing_terms,
    has_objects,
    skips_confirmation,
    verb_context,
)
from iac_gen.classify.terms import CODE_WORDS, SECRET_WORDS, Phrase, term_phrase
from iac_gen.classify.words import verb_verdict
from iac_gen.model import IntentFacts, SdefClass, SdefCommand, SdefParameter, SdefProperty
from iac_gen.resolve import ResolvedDictionary

_HERE: Final = tuple(
    (AppTrait[name], verdicts_by_word(rows))
    for name, rows in read_level_table("structure")["verbs"].items()
)
_IDS: Final = verdicts_by_word(read_level_table("structure")["event_ids"])
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
    resolved: ResolvedDictionary,
    kinds: Iterable[str],
    *,
    floors: LevelFloors | None = None,
) -> LevelJudgment:
    """Return the level of a command and why; `kinds` are the types of its visible parameters.

    `floors` stand in for those that ship.
    """
    floors = floors or shipped_floors()
    listed = list(kinds)
    if command.intent is not None:
        # No floor and no event: its code is a name that anybody may give it.
        return LevelJudgment(tuple(_intent_evidence(command, command.intent, resolved, listed)))
    evidence = _command_evidence(command, resolved, listed)
    return LevelJudgment((*evidence, *floor_verdicts(floors.events.get(command.code))))


def judge_setter(
    owner: SdefClass, prop: SdefProperty, *, floors: LevelFloors | None = None
) -> LevelJudgment:
    """Return the level of setting a property and why; one that cannot be set is SAFE."""
    if prop.access == "r":
        return LevelJudgment((LevelVerdict("SAFE", "cannot be set", "access"),))
    floor = floor_verdicts((floors or shipped_floors()).setters.get((owner.code, prop.code)))
    return LevelJudgment((*setter_verdicts(owner, prop), *floor))


def _command_evidence(
    command: SdefCommand, resolved: ResolvedDictionary, kinds: list[str]
) -> Iterator[LevelVerdict]:
    words = term_phrase(command.name)
    app = app_traits(resolved)
    verb = _sort_verdict(words, command) or verb_verdict(words, verb_context(command, resolved))
    coded = EVENTS.get(command.code)
    free = any(_is_free_input(kind) for kind in kinds)
    if coded is not None:
        # Whatever it is called: `run` is a launch where its event is that of launching.
        yield replace(coded, source=f"event code {command.code}")
        yield from with_source("structure", _event_verdicts_in_app(command, resolved, app))
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
        yield from with_source(
            "words and types", _parameter_verdicts(command, resolved, kinds, verb)
        )
        yield from with_source("structure", _verb_verdicts_in_app(words, app))
    for group in command.access_groups:
        if (found := _GROUPS.get(group.rpartition(".")[2])) is not None:
            yield replace(found, source=f"access group {group}")


def _intent_evidence(
    command: SdefCommand, facts: IntentFacts, resolved: ResolvedDictionary, kinds: list[str]
) -> Iterator[LevelVerdict]:
    yield from intent_verdicts(command, facts, resolved, kinds)
    verb = verb_verdict(term_phrase(command.name), verb_context(command, resolved))
    for found in with_source(
        "words and types", _parameter_verdicts(command, resolved, kinds, verb)
    ):
        if found.level != "SAFE":
            yield found


def _is_free_input(kind: str) -> bool:
    """Say whether a type takes free text, a file or anything."""
    terms = (part.removeprefix("list of ") for part in kind.split(" | "))
    return any(not _FREE.isdisjoint(term.split("|")) for term in terms)


def _sort_verdict(words: Phrase, command: SdefCommand) -> LevelVerdict | None:
    """Return the verdict of a sort, which answers the objects in order or puts them in order."""
    if words[:1] != ("sort",) or command.result is None:
        return None
    plain = {"text", "boolean", "integer"}
    if any(ref.name in plain and not ref.list for ref in command.result):
        return None
    return LevelVerdict("SAFE", "reads")


def _event_verdicts_in_app(
    command: SdefCommand, resolved: ResolvedDictionary, app: AppTrait
) -> Iterator[LevelVerdict]:
    """Yield what a standard event means in an app of a known kind."""
    if command.code == OPENS_FILES and app & (AppTrait.SHELL | AppTrait.OPENER | AppTrait.PROGRAMS):
        yield LevelVerdict("DANGEROUS", "opening may run the file")
    if command.code == OPENS_URLS and AppTrait.SHELL in app:
        yield LevelVerdict("DANGEROUS", "a URL starts a session or runs something")
    if command.code == OPENS_URLS and resolved.commands and not has_objects(resolved):
        yield LevelVerdict("DANGEROUS", "opens a URL of any scheme with any app")
    if command.code in ("coreclos", "corecrel") and AppTrait.SHELL in app:
        yield LevelVerdict("DANGEROUS", "starts or ends a shell")
    if command.code == "miscslct" and AppTrait.REMOTE in app:
        yield LevelVerdict("MODIFY", "selects something in an app, which can trigger an action")


def _parameter_verdicts(
    command: SdefCommand, resolved: ResolvedDictionary, kinds: list[str], verb: LevelVerdict | None
) -> Iterator[LevelVerdict]:
    """Yield what parameters and result say of a command whose event is not known."""
    words = term_phrase(command.name)
    leads = words[0] if words else ""
    quiet = verb is not None and verb.level == "SAFE"
    looks = verb is not None and verb.reason == "changes only the view"
    anything = command.result is not None and any(ref.name == "any" for ref in command.result)
    for parameter, kind in zip(_ordered_parameters(command), kinds, strict=True):
        named = set(term_phrase(parameter.name))
        said = f"parameter {parameter.name} [{parameter.code}]" if parameter.name else "target"
        free, file = _is_free_input(kind), "file" in kind.replace("list of ", "").split(" | ")
        if SECRET_WORDS & named:
            yield LevelVerdict("DANGEROUS", f"takes a {parameter.name}", said)
        for name in forcing_terms(parameter, resolved):
            yield LevelVerdict("DANGEROUS", f"may be given: {name}", said)
        if not quiet and ("pid" in named or named > {"process"}):
            yield LevelVerdict("DANGEROUS", "takes control of a process", said)
        code = bool(CODE_WORDS & named) or named >= _SOURCE_CODE or named == {"command"}
        if code and free and (anything or leads not in _KEEPS_CODE):
            yield LevelVerdict("DANGEROUS", f"takes {parameter.name} as text", said)
        taken_in = leads == "read" and named == {"from"} and command.result is None
        taken_in |= (
            leads == "write" and bool(named & _DESTINATIONS) and not _is_free_input(kinds[0])
        )
        if leads in ("read", "write") and (file or kind == "any") and not taken_in:
            yield LevelVerdict("DANGEROUS", "reads or writes any file", said)
        # Where one goes *from* a file, that only says what is looked up.
        source = parameter is not command.direct and named == {"from"}
        shown = looks and not source and leads != "reveal"
        if file and quiet and (shown or named & _DESTINATIONS):
            yield LevelVerdict("MODIFY", "opens or writes a file", said)
        if free and (words == ("start",) or leads == "read"):
            yield LevelVerdict("MODIFY", "starts or reads its argument", said)
    if skips_confirmation(words):
        yield LevelVerdict("DANGEROUS", "skips a confirmation")
    if leads == "write" and "file" in words:
        yield LevelVerdict("DANGEROUS", "reads or writes any file")
    if leads in ("set", "change") and (danger := danger_of_name(words[1:])) is not None:
        yield LevelVerdict("DANGEROUS", danger)
    if leads == "close" and "document" in words and not _asks_to_save(command):
        yield LevelVerdict("DANGEROUS", "closes a document without an option for saving")
    if leads == "expand" and (command.result is not None or any(map(_is_free_input, kinds))):
        yield LevelVerdict("MODIFY", "replaces what it expands")
    makes = verb is not None and verb.reason == "makes something new"
    if anything and not (quiet or makes) and any("text" in kind.split(" | ") for kind in kinds):
        yield LevelVerdict("DANGEROUS", "takes text and returns a result")


def _asks_to_save(command: SdefCommand) -> bool:
    named = {word for one in command.parameters for word in term_phrase(one.name)}
    return not named.isdisjoint(("save", "saving"))


_SOURCE_CODE: Final = frozenset({"source", "code"})
_DESTINATIONS: Final = frozenset({"to", "in", "into", "saving"})
# Verbs that look at or keep code, and do not run it.
_KEEPS_CODE: Final = frozenset("get find search show save export".split())


def _verb_verdicts_in_app(words: Phrase, app: AppTrait) -> Iterator[LevelVerdict]:
    """Yield what an event of the app's own means in an app of a known kind."""
    for trait, verbs in _HERE:
        if trait in app and words and words[0] in verbs:
            yield verbs[words[0]]


def _ordered_parameters(command: SdefCommand) -> list[SdefParameter]:
    """Return the parameters in the order of `kinds`: the direct one first."""
    shown = [parameter for parameter in command.parameters if not parameter.hidden]
    return [*([command.direct] if command.direct else []), *shown]


def judge_make(
    row: SdefClass, resolved: ResolvedDictionary, *, floors: LevelFloors | None = None
) -> LevelJudgment:
    """Return the level of making an object of a class of `resolved`, and why."""
    found = [LevelVerdict("MODIFY", "makes something new", "event code corecrel")]
    if AppTrait.SHELL in app_traits(resolved):
        found.append(LevelVerdict("DANGEROUS", "starts or ends a shell", "structure"))
    if acts_later(row):
        found.append(LevelVerdict("DANGEROUS", f"a {row.name} acts later by itself", "class"))
    return LevelJudgment(
        (*found, *floor_verdicts((floors or shipped_floors()).classes.get(row.code)))
    )


def judge_delete(row: SdefClass) -> LevelJudgment:
    """Return the level of deleting an object of a class, always the highest, and why."""
    return LevelJudgment(
        (LevelVerdict("DANGEROUS", f"deletes a {row.name}", "event code coredelo"),)
    )
