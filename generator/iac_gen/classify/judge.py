"""Classify: the permission level of a command, a property setter, a class; and why.

A level is the maximum of all evidence: event code, app, access group, parameters, shape, hidden,
and the verb last. What none of it knows is MODIFY, and DANGEROUS where it takes free text or a
file. Only a quirk lowers a level. No description is read: an app could write anything there, and
the facts that ship with the generator have none. Levels: docs/adr/0014-levels-and-ceilings.md.

Of App Intents, only what answers, takes in nothing to work on, leaves the app where it is and is
called by a verb that reads is SAFE; what is not known to be that is MODIFY at least. There the
words of the app count, and only raise.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from iac_gen.classify.evidence import (
    CODE_WORDS,
    EVENTS,
    OPENS_URLS,
    READS,
    SECRET_WORDS,
    SETS,
    AppTrait,
    LevelFloors,
    LevelJudgment,
    LevelVerdict,
    Phrase,
    VerbContext,
    app_traits,
    floor_verdicts,
    forcing_terms,
    has_objects,
    highest_verdict,
    read_level_table,
    shipped_floors,
    skips_confirmation,
    term_phrase,
    verb_context,
    verb_verdict,
    verdicts_by_word,
    with_source,
    word_sets,
)
from iac_gen.intents.read import KINDS
from iac_gen.model import IntentFacts, SdefClass, SdefCommand, SdefParameter, SdefProperty
from iac_gen.resolve import ResolvedDictionary
from iac_runtime.tool import Level

_STRUCTURE: Final = read_level_table("structure")
_HERE: Final = {
    table: [(AppTrait[name], verdicts_by_word(rows)) for name, rows in _STRUCTURE[table].items()]
    for table in ("events", "verbs")
}
_IDS: Final = verdicts_by_word(_STRUCTURE["event_ids"])
_OPENED, _SERVED = (
    {key: frozenset(row.split()) for key, row in _STRUCTURE[name].items() if isinstance(row, str)}
    for name in ("opened", "served")
)
_ASKED: Final = tuple(map(re.compile, _STRUCTURE["served"]["commands"]))
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
    command, listed = _without_caller(command, resolved, list(kinds))
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
    return LevelJudgment((setter_verdict(owner, prop), *floor))


def _without_caller(
    command: SdefCommand, resolved: ResolvedDictionary, kinds: list[str]
) -> tuple[SdefCommand, list[str]]:
    """Return a command and the types of its parameters without the secret that its caller shows.

    It is one that many commands of the app take under one name: it says who calls, and neither
    what is done nor to what.
    """
    rows = _ordered_parameters(command)
    callers = [row for row in rows if _says_who_calls(row.name, resolved)]
    if not callers:
        return command, kinds
    left = tuple(row for row in command.parameters if row not in callers)
    return replace(command, parameters=left), [
        kind for row, kind in zip(rows, kinds, strict=True) if row not in callers
    ]


def _says_who_calls(name: str, resolved: ResolvedDictionary) -> bool:
    """Say whether a secret is taken by three or more of an app's own commands, a part of all.

    Half of them where it is a password, which a few calls may hand on to somebody else.
    """
    words = set(term_phrase(name))
    own = [row for row in resolved.commands if row.code not in EVENTS]
    taken = sum(any(one.name == name for one in row.parameters) for row in own)
    part = 8 if {"secret", "token"} & words else 2
    return bool(SECRET_WORDS & words) and taken >= max(3, len(own) / part)


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
        yield from with_source("structure", _verdicts_in_app("events", command.code, app))
        if command.code == OPENS_URLS and resolved.commands and not has_objects(resolved):
            why = "opens a URL of any scheme with any app"
            yield LevelVerdict("DANGEROUS", why, "structure")
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
        yield from with_source("structure", _verdicts_in_app("verbs", "".join(words[:1]), app))
    for group in command.access_groups:
        if (verdict := _GROUPS.get(group.rpartition(".")[2])) is not None:
            yield replace(verdict, source=f"access group {group}")


def _intent_evidence(
    command: SdefCommand, facts: IntentFacts, resolved: ResolvedDictionary, kinds: list[str]
) -> Iterator[LevelVerdict]:
    yield from intent_verdicts(command, facts, resolved, kinds)
    verb = verb_verdict(term_phrase(command.name), verb_context(command, resolved))
    verdicts = _parameter_verdicts(command, resolved, kinds, verb)
    yield from (one for one in with_source("words and types", verdicts) if one.level != "SAFE")


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


def _verdicts_in_app(table: str, term: str, app: AppTrait) -> Iterator[LevelVerdict]:
    """Yield what a standard event, or a verb of the app's own, means in an app of a known kind."""
    for trait, terms in _HERE[table]:
        if trait in app and term in terms:
            yield terms[term]


def _parameter_verdicts(
    command: SdefCommand, resolved: ResolvedDictionary, kinds: list[str], verb: LevelVerdict | None
) -> Iterator[LevelVerdict]:
    """Yield what parameters and result say of a command whose event is not known."""
    words = term_phrase(command.name)
    leads = words[0] if words else ""
    quiet = verb is not None and verb.level == "SAFE"
    looks = verb is not None and verb.reason == "changes only the view"
    anything = command.result is not None and any(ref.name == "any" for ref in command.result)
    taken = {word for one in command.parameters for word in term_phrase(one.name)}
    opened = leads in _OPENED["verbs"] and _OPENED["elsewhere"].isdisjoint(taken)
    for parameter, kind in zip(_ordered_parameters(command), kinds, strict=True):
        named = set(term_phrase(parameter.name))
        place = f"parameter {parameter.name} [{parameter.code}]" if parameter.name else "target"
        free, file = _is_free_input(kind), "file" in kind.replace("list of ", "").split(" | ")
        if SECRET_WORDS & named:
            least: Level = "MODIFY" if opened else "DANGEROUS"
            yield LevelVerdict(least, f"takes a {parameter.name}", place)
        for name in forcing_terms(parameter, resolved):
            yield LevelVerdict("DANGEROUS", f"may be given: {name}", place)
        if not quiet and ("pid" in named or named > {"process"}):
            yield LevelVerdict("DANGEROUS", "takes control of a process", place)
        code = bool(CODE_WORDS & named) or named >= _SOURCE_CODE or named == {"command"}
        if code and free and (anything or leads not in _KEEPS_CODE):
            yield LevelVerdict("DANGEROUS", f"takes {parameter.name} as text", place)
        taken_in = leads == "read" and named == {"from"} and command.result is None
        taken_in |= (
            leads == "write" and bool(named & _DESTINATIONS) and not _is_free_input(kinds[0])
        )
        whole = parameter is command.direct or bool(named & (_DESTINATIONS | {"from"}))
        if leads in ("read", "write") and (file or (kind == "any" and whole)) and not taken_in:
            yield LevelVerdict("DANGEROUS", "reads or writes any file", place)
        # Where one goes *from* a file, that only says what is looked up.
        source = parameter is not command.direct and named == {"from"}
        shown = looks and not source and leads != "reveal"
        if file and quiet and (shown or named & _DESTINATIONS):
            yield LevelVerdict("MODIFY", "opens or writes a file", place)
        if free and looks and "url" in named:
            yield LevelVerdict("MODIFY", "opens a URL", place)
        if free and parameter.name and looks and leads in SETS["renews"]:
            yield LevelVerdict("MODIFY", "changes what is shown", place)
        if quiet and named & _REPLACES:
            yield LevelVerdict("MODIFY", "may replace what it finds", place)
        if free and (words == ("start",) or leads == "read"):
            yield LevelVerdict("MODIFY", "starts or reads its argument", place)
    if any(map(_is_free_input, kinds)) and _asks_model(words, taken):
        yield LevelVerdict("DANGEROUS", "sends what it is given to a model or a service")
    if leads in _SERVED["fetches"] and _SERVED["sent_along"] & taken:
        yield LevelVerdict("DANGEROUS", "sends data to another computer")
    if quiet and command.result and any(one.search(" ".join(words)) for one in _KEYS):
        yield LevelVerdict("DANGEROUS", "returns a secret")
    if skips_confirmation(words):
        yield LevelVerdict("DANGEROUS", "skips a confirmation")
    if leads == "write" and "file" in words:
        yield LevelVerdict("DANGEROUS", "reads or writes any file")
    if leads in ("set", "change") and (danger := danger_of_name(words[1:])) is not None:
        yield LevelVerdict("DANGEROUS", danger)
    if leads == "close" and "document" in words and taken.isdisjoint(("save", "saving")):
        yield LevelVerdict("DANGEROUS", "closes a document without an option for saving")
    if leads == "expand" and (command.result is not None or any(map(_is_free_input, kinds))):
        yield LevelVerdict("MODIFY", "replaces what it expands")
    makes = verb is not None and verb.reason == "makes something new"
    if anything and not (quiet or makes) and any("text" in kind.split(" | ") for kind in kinds):
        yield LevelVerdict("DANGEROUS", "takes text and returns a result")


def _asks_model(words: Phrase, taken: set[str]) -> bool:
    """Say whether a command hands what it is given to a model, by its words and its parameters."""
    if words[:1] and words[0] in _SERVED["prompted"] and "prompt" in taken:
        return True
    told = any(taken.issuperset(row.split()) for row in _STRUCTURE["served"]["parameters"])
    return told or any(one.search(" ".join(words)) for one in _ASKED)


_SOURCE_CODE: Final = frozenset({"source", "code"})
_REPLACES: Final = frozenset({"replace", "replacing", "replacement"})
_DESTINATIONS: Final = frozenset({"to", "in", "into", "saving"})
# Verbs that look at or keep code, and do not run it.
_KEEPS_CODE: Final = frozenset("get find search show save export".split())


def _ordered_parameters(command: SdefCommand) -> list[SdefParameter]:
    """Return the parameters in the order of `kinds`: the direct one first."""
    shown = [parameter for parameter in command.parameters if not parameter.hidden]
    return [*([command.direct] if command.direct else []), *shown]


def judge_make(
    row: SdefClass, resolved: ResolvedDictionary, *, floors: LevelFloors | None = None
) -> LevelJudgment:
    """Return the level of making an object of a class of `resolved`, and why."""
    verdicts = [LevelVerdict("MODIFY", "makes something new", "event code corecrel")]
    if AppTrait.SHELL in app_traits(resolved):
        verdicts.append(LevelVerdict("DANGEROUS", "starts or ends a shell", "structure"))
    if acts_later(row):
        verdicts.append(LevelVerdict("DANGEROUS", f"a {row.name} acts later by itself", "class"))
    return LevelJudgment(
        (*verdicts, *floor_verdicts((floors or shipped_floors()).classes.get(row.code)))
    )


def judge_delete(row: SdefClass) -> LevelJudgment:
    """Return the level of deleting an object of a class, always the highest, and why."""
    return LevelJudgment(
        (LevelVerdict("DANGEROUS", f"deletes a {row.name}", "event code coredelo"),)
    )


_CHANGES: Final = LevelVerdict("MODIFY", "changes a property", "access")
# Types of what need not be an object of the app.
_NAMED: Final = frozenset(("text", "string", "file", "rich text", "any"))
_CREDENTIALS: Final = "is the user name of a login"
_ROUTES: Final = "decides where credentials and data go"
_SENT: Final = "decides how credentials are sent"
_RUNS: Final = "decides what is run"
_GUARDED: Final = "is a secret or protects one"
_DUE: Final = "decides when something acts by itself"
_ADMIN: Final = "makes an administrator"
_VIEW: Final = LevelVerdict("SAFE", "changes only the view", "words and class")

_SETTERS: Final = read_level_table("setters")
_SETS: Final = word_sets("setters")
_CODES: Final = verdicts_by_word(_SETTERS["codes"])
_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(SECRET_WORDS, "is a secret or protects one"),
    **dict.fromkeys(CODE_WORDS, "decides what is run"),
    **{word: why for why, words in _SETTERS["words"].items() for word in words.split()},
}
_PHRASES: Final = tuple(
    (re.compile(pattern), why)
    for why, patterns in _SETTERS["phrases"].items()
    for pattern in patterns
)
_KEYS: Final = tuple(pattern for pattern, why in _PHRASES if why == _GUARDED)
_CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    key: tuple(names) for key, names in _SETTERS["classes"].items()
}
# Values of an accessibility object or a setting: typing into anything, setting anything.
_VALUES: Final = re.compile(r"\b(ui element|attribute|text field|text area|slider)$", re.I)

_WINDOWS: Final = re.compile(rf"({'|'.join(sorted(_SETS['stages']))})s?( object)?$", re.I)

_HOLDERS: Final = re.compile(
    r"(document|draft|note|page|article|template|area|text file|entry|\brecord)$", re.I
)
# Codes of whole contents. A new object has none to lose, so making one with them is less.
CONTENTS: Final = frozenset({"body", "ctxt", "pcnt", "PCnt", "text"})


def acts_later(row: SdefClass) -> bool:
    """Say whether an object of the class does something by itself once it is there."""
    return _name_ends_with(row, (*_CLASSES["acts"], *_CLASSES["holds_rights"]))


def _name_ends_with(row: SdefClass, kinds: tuple[str, ...]) -> bool:
    """Say whether the name of a class ends with one of some names, as whole words."""
    name = f" {' '.join(term_phrase(row.name))}"
    return name.endswith(tuple(f" {kind}" for kind in kinds)) and not name.endswith(
        tuple(f" {kind}" for kind in _CLASSES["harmless"])
    )


def setter_verdict(owner: SdefClass, prop: SdefProperty) -> LevelVerdict:
    """Return what is known of setting a property, its access left aside."""
    if (coded := _CODES.get(prop.code)) is not None:
        return replace(coded, source=f"property code {prop.code}")
    words = term_phrase(prop.name)
    key = "_".join(words)
    kinds = _type_names(prop)
    # A switch of whether the app itself starts is a setting like another.
    starts_app = words[-2:-1] == ("at",) and kinds == {"boolean"}
    danger = None if starts_app else danger_of_name(words)
    if danger is not None and _is_dangerous_setter(danger, owner, words, kinds):
        return LevelVerdict("DANGEROUS", f"{prop.name} {danger}", "words")
    starts = key in ("enabled", "active") and _name_ends_with(owner, _CLASSES["starts"])
    if starts or (_name_ends_with(owner, _CLASSES["acts"]) and key not in _SETS["quiet"]):
        return LevelVerdict("DANGEROUS", f"a {owner.name} acts later by itself", "class")
    if _VALUES.search(owner.name) and key == "value" and not _is_text_style(owner, prop):
        return LevelVerdict("DANGEROUS", "types into any control", "class")
    text = kinds.isdisjoint(_SETS["no_text"])
    written = text and not _SETS["written_as"].isdisjoint(words[-1:])
    if written and _name_ends_with(owner, _CLASSES["programs"]):
        return LevelVerdict("DANGEROUS", f"decides what a {owner.name} does", "class")
    timed = any(not _SETS["times"].isdisjoint(term_phrase(one.name)) for one in owner.properties)
    if text and timed and not _SETS["due"].isdisjoint(words):
        return LevelVerdict(
            "DANGEROUS", f"decides what a {owner.name} does when it is due", "class"
        )
    holds = key in _SETS["contents"] and _HOLDERS.search(owner.name) is not None
    if (holds or key in _SETS["whole"]) and text:
        return LevelVerdict("DANGEROUS", "replaces the whole content", "words and type")
    return _VIEW if _is_view_property(owner, prop, words) else _CHANGES


def _is_text_style(owner: SdefClass, prop: SdefProperty) -> bool:
    """Say whether an attribute is one of a text: it takes colours, and never just anything."""
    kinds = _type_names(prop)
    return owner.name.lower() == "attribute" and "color" in kinds and "any" not in kinds


def _type_names(prop: SdefProperty) -> set[str]:
    return {ref.name.lower() for ref in prop.types}


def _is_dangerous_setter(danger: str, owner: SdefClass, words: Phrase, kinds: set[str]) -> bool:
    """Say whether a dangerous name is one, by the type of its value and by the class.

    A switch or a number says whether and how much, not what is run, nor which secret it is; what
    is selected among objects is looked at, not run.
    """
    if words[:1] == ("selected",) and kinds.isdisjoint(_NAMED):
        return False
    if danger in (_RUNS, _GUARDED, _DUE):
        return not kinds <= _SETS["told"]
    if danger == _ADMIN:
        return kinds <= _SETS["told"]
    secret = any(SECRET_WORDS.intersection(term_phrase(one.name)) for one in owner.properties)
    if danger == _CREDENTIALS:
        return secret or _name_ends_with(owner, _CLASSES["holds_rights"])
    if danger == _ROUTES and kinds <= _SETS["told"]:
        return False
    if danger in (_ROUTES, _SENT) and not _name_ends_with(owner, _CLASSES["logs_in"]):
        # Whoever keeps a secret sends it there; an address may be one of many to talk to.
        return secret and words[-1] != "address"
    return True


def level_when_made(code: str, level: Level) -> Level:
    """Return the level of giving a new object the property that is `level` to set."""
    return "MODIFY" if code in CONTENTS and level == "DANGEROUS" else level


def danger_of_name(words: Phrase) -> str | None:
    """Return why setting something of this name is dangerous, None where it is not."""
    if words and (words[-1] in _SETS["about"] or words[0] == "show" or "menu" in words):
        return None
    named = next((_WORDS[word] for word in words if word in _WORDS), None)
    if named is not None:
        return named
    plain = " ".join(words)
    return next((reason for pattern, reason in _PHRASES if pattern.search(plain)), None)


def _is_playback_term(words: Phrase) -> bool:
    """Say whether a term is about the state of what plays: `looping`, `elapsed time`."""
    if not _SETS["playing"].isdisjoint((words[0], words[-1])) or "captioning" in words:
        return True
    if words[-1] in _SETS["in_order"] and _SETS["orders"].issuperset((*words[:-1], words[0])):
        return True
    return words[-1] in _SETS["at"] and (words[:-1] == () or words[0] in _SETS["moments"])


def _is_view_property(owner: SdefClass, prop: SdefProperty, words: Phrase) -> bool:
    """Say whether a property is selection, view or playing, which nobody stores."""
    name, kinds = owner.name.lower(), _type_names(prop)
    window = owner.code == "cwin" or _WINDOWS.search(name) is not None
    if ("preferences" in name and not window) or not words or not _SETS["kept"].isdisjoint(words):
        return False
    key, first, last = "_".join(words), words[0], words[-1]
    rest = "_".join(words[1:])
    typed = not kinds.isdisjoint(_NAMED)
    if last in ("vol", "volume") and not _SETS["mixed"].isdisjoint(term_phrase(owner.name)[-1:]):
        return False
    if key in _SETS["always_view"] or key == "visible":
        return owner.code not in _SETS["files"]
    if first == "selected" and rest:
        return last not in _SETS["typed_over"]
    if last in ("expanded", "collapsed", "disclosed") or (
        owner.code == "csel" and kinds == {"integer"}
    ):
        return True
    if "selection" in words and last in ("range", "selection"):
        return first not in ("allow", "allows", "enable", "enables")
    if name.endswith("selection") and last == "range":
        return True
    if key == "selected" and not name.endswith(("device", "ui element")):
        return True
    if first in _SETS["present"] and rest:
        return rest in _SETS["current"] or (last in _SETS["current"] and not typed)
    if window:
        if last in _SETS["of_contents"]:
            return key in _SETS["in_a_window"]
        shown = not typed and not _SETS["seen_in_a_window"].isdisjoint(words)
        return shown or kinds <= _SETS["measured"] or key in _SETS["in_a_window"]
    if name in _SETS["screens"] and last in _SETS["of_a_screen"]:
        return True
    if name == "tab" and last == "color":
        return True
    if name.endswith("player") and (key in _SETS["screened"] or last == "track"):
        return True
    if name not in _SETS["plays"]:
        return False
    if typed:
        return key in _SETS["searches"]
    if first in ("show", "shows") and kinds == {"boolean"} and not _SETS["bars"].isdisjoint(words):
        return True
    framed = last in _SETS["framed"] and _is_interface_part(words)
    if words[-1] == "state" and words[0] not in _SETS["orders"] and kinds <= _SETS["measured"]:
        return False
    return framed or _is_playback_term(words) or key in _SETS["searches"]


def _is_interface_part(words: Phrase) -> bool:
    """Say whether a term is about a part of the interface: `controller visibility`."""
    joined = {*words, *map("".join, pairwise(words))}
    if not _SETS["written"].isdisjoint(words):
        return False
    return words[-1] in _SETS["seen"] or not _SETS["parts"].isdisjoint(joined)


_INTENTS: Final = read_level_table("intents")
_PROTOCOLS: Final = verdicts_by_word(_INTENTS["protocols"])
_PLACED: Final = frozenset(KINDS["no_tool"])
_VERBS: Final = frozenset(_INTENTS["sentences"]["DANGEROUS"].split())
_BEFORE: Final = frozenset(_INTENTS["sentences"]["before"].split())
_DENIED: Final = frozenset(_INTENTS["sentences"]["denied"].split())
_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
_FINDS: Final = (("find",), ("search",), ("look",))
_SHORT: Final = 6
"""Words of a phrase that says a command as its title does; longer ones are sentences."""
_CONTENT: Final = frozenset(("text", "file", "any"))
_NOTHING: Final = LevelVerdict("MODIFY", "may change something", "structure")


def intent_verdicts(
    command: SdefCommand, facts: IntentFacts, resolved: ResolvedDictionary, kinds: Sequence[str]
) -> Iterator[LevelVerdict]:
    """Yield the evidence of an action's level, whose parameters are of `kinds`."""
    for protocol in facts.protocols:
        if (verdict := _PROTOCOLS.get(protocol)) is not None:
            yield replace(verdict, source=f"protocol {protocol}")
    if facts.opens:
        yield LevelVerdict("MODIFY", "opens the app", "modes")
    if not _PLACED.isdisjoint(facts.protocols):
        # Its name says what is configured: a control centre, and not that something is controlled.
        yield _NOTHING
        return
    around = _intent_verb_context(command, resolved)
    verbs = [verb_verdict(term_phrase(command.name), around)]
    for schema in facts.schemas:
        verbs.append(verb_verdict(_schema_phrase(schema), around))
        if verbs[-1] is not None:
            yield replace(verbs[-1], source=f"assistant schema {schema}")
    known = [verb for verb in verbs if verb is not None]
    stated = sentence_verdicts(command, around)
    if not (known or stated) and _takes_content(command, kinds):
        why = "takes text or a file, and its verb is unknown"
        yield LevelVerdict("DANGEROUS", why, "words and types")
    reads = bool(known) and all(verb.level == "SAFE" and verb.reason == "reads" for verb in known)
    if reads and command.result and not _takes_target(command, kinds, resolved):
        yield replace(READS, source="output without input")
    else:
        yield _NOTHING
    yield from (replace(verb, source="words") for verb in known if verb.level != "SAFE")
    yield from stated


def sentence_verdicts(
    command: SdefCommand, around: VerbContext | None = None
) -> list[LevelVerdict]:
    """Return what the app's own words raise the level of an action to; nothing where they do not.

    The first sentence is its title, which is a term like its name. Of the others the verbs count
    that lose something or leave the machine.
    """
    if command.intent is not None and command.intent.said:
        return [LevelVerdict(command.intent.said, "the app's description says so", "words")]
    around = around or VerbContext(answers="value" if command.result else "")
    sentences = [_WORD.findall(one) for one in command.description.lower().split(". ")]
    short = [
        verb_verdict(tuple(words), around)
        for words in sentences
        if len(words) <= _SHORT and not _is_denial(words)
    ]
    verdicts = [one for one in short if one is not None and one.level == "DANGEROUS"]
    verdicts += [one for words in sentences[1:] if (one := _sentence_verdict(words)) is not None]
    title = verb_verdict(tuple(sentences[0]), around)
    raises = title is not None and title.level != "SAFE" and not _is_denial(sentences[0])
    verdicts += [title] if title is not None and raises else []
    return [replace(highest_verdict(verdicts), source="words of the app")] if verdicts else []


def facts_with_stated_level(command: SdefCommand) -> IntentFacts | None:
    """Return the facts of an action with the level of its words, for a file that has no words."""
    if command.intent is None:
        return None
    level = highest_verdict(sentence_verdicts(command)).level
    return command.intent if level == "SAFE" else replace(command.intent, said=level)


def _is_denial(words: Sequence[str]) -> bool:
    """Say whether a sentence begins with what is not done; one that leads with a verb does it."""
    return bool(_DENIED.intersection(words[:4])) and not _VERBS.intersection(words[:1])


def _sentence_verdict(words: Sequence[str]) -> LevelVerdict | None:
    for at, word in enumerate(words):
        stem = next((one for one in _possible_verbs(word) if one in _VERBS), None)
        leads = at == 0 or words[at - 1] in _BEFORE
        if stem is not None and leads and _DENIED.isdisjoint(words[max(at - 3, 0) : at]):
            return LevelVerdict("DANGEROUS", f"says that it can {stem}")
    return None


def _possible_verbs(word: str) -> Iterable[str]:
    """Return the verbs that a word may be a form of: `clears`, `publishes`, `empties`."""
    return (word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word))


def _intent_verb_context(command: SdefCommand, resolved: ResolvedDictionary) -> VerbContext:
    """Return what the verb is applied to; nothing here proves that a word is harmless."""
    first = next(iter(command.parameters), None)
    about = verb_context(replace(command, direct=first), resolved)
    return replace(about, plain=False, numbers=False, gathers=False, closed=False)


def _schema_phrase(schema: str) -> Phrase:
    """Return what the name of a schema says, without its domain and what says that it is one."""
    domain, _, name = schema.partition(".")
    own = {*term_phrase(domain), "intent"}
    return tuple(word for word in term_phrase(name) if word not in own)


def _takes_target(command: SdefCommand, kinds: Sequence[str], resolved: ResolvedDictionary) -> bool:
    """Say whether an action takes in what it may work on; text to find objects by is none."""
    classes = {row.name for row in resolved.classes}
    answers = {one.name for ref in command.result or () for one in (ref, *ref.items)} - {""}
    looks = term_phrase(command.name)[:1] in _FINDS and bool(answers) and answers <= classes
    texts = looks and all(kind == "text" or kind in classes for kind in kinds)
    return _takes_content(command, kinds) and not texts


def _takes_content(command: SdefCommand, kinds: Sequence[str]) -> bool:
    """Say whether an action is given text or a file that the app does not offer itself."""
    both = zip(command.parameters, kinds, strict=True)
    return any(
        not row.offered and not _CONTENT.isdisjoint(re.split(r" \| |\||list of ", kind))
        for row, kind in both
    )
