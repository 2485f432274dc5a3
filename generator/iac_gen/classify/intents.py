"""Levels of App Intents, by evidence: protocols, schemas, shape, parameters, and words last.

Only what answers, takes in nothing to work on, leaves the app where it is and is called by a verb
that reads is SAFE; what is not known to be that is MODIFY at least. Words of the app only raise.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from iac_gen.classify.codes import read_level_table, verdicts_by_word
from iac_gen.classify.judgement import READS, LevelVerdict, highest_verdict
from iac_gen.classify.structure import verb_context
from iac_gen.classify.terms import Phrase, VerbContext, term_phrase
from iac_gen.classify.words import verb_verdict
from iac_gen.intents.facts import KINDS
from iac_gen.model import IntentFacts, SdefCommand
from iac_gen.resolve import ResolvedDictionary

_TABLE: Final = read_level_table("intents")
_PROTOCOLS: Final = verdicts_by_word(_TABLE["protocols"])
_PLACED: Final = frozenset(KINDS["no_tool"])
_VERBS: Final = frozenset(_TABLE["sentences"]["DANGEROUS"].split())
_BEFORE: Final = frozenset(_TABLE["sentences"]["before"].split())
_DENIED: Final = frozenset(_TABLE["sentences"]["denied"].split())
_WORDS: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
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
        if (found := _PROTOCOLS.get(protocol)) is not None:
            yield replace(found, source=f"protocol {protocol}")
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
    said = sentence_verdicts(command, around)
    if not (known or said) and _takes_content(command, kinds):
        why = "takes text or a file, and its verb is unknown"
        yield LevelVerdict("DANGEROUS", why, "words and types")
    reads = bool(known) and all(verb.level == "SAFE" and verb.reason == "reads" for verb in known)
    if reads and command.result and not _takes_target(command, kinds, resolved):
        yield replace(READS, source="output without input")
    else:
        yield _NOTHING
    yield from (replace(verb, source="words") for verb in known if verb.level != "SAFE")
    yield from said


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
    sentences = [_WORDS.findall(one) for one in command.description.lower().split(". ")]
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
    found = highest_verdict(sentence_verdicts(command)).level
    return command.intent if found == "SAFE" else replace(command.intent, said=found)


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
    found = {one.name for ref in command.result or () for one in (ref, *ref.items)} - {""}
    looks = term_phrase(command.name)[:1] in _FINDS and bool(found) and found <= classes
    texts = looks and all(kind == "text" or kind in classes for kind in kinds)
    return _takes_content(command, kinds) and not texts


def _takes_content(command: SdefCommand, kinds: Sequence[str]) -> bool:
    """Say whether an action is given text or a file that the app does not offer itself."""
    both = zip(command.parameters, kinds, strict=True)
    return any(
        not row.offered and not _CONTENT.isdisjoint(re.split(r" \| |\||list of ", kind))
        for row, kind in both
    )
