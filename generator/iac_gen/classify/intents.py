"""Levels of App Intents, by evidence: protocols, schemas, shape, parameters, and words last.

Only what answers, takes in nothing to work on, leaves the app where it is and is called by a verb
that reads is SAFE; what is not known to be that is MODIFY at least. Words of the app only raise.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from iac_gen.classify.codes import by_level, table
from iac_gen.classify.judgement import READS, LevelVerdict, highest
from iac_gen.classify.structure import given
from iac_gen.classify.terms import Given, Phrase, phrase
from iac_gen.classify.words import by_verb
from iac_gen.intents.facts import KINDS
from iac_gen.model import IntentFacts, SdefCommand
from iac_gen.resolve import Resolved

_TABLE: Final = table("intents")
_PROTOCOLS: Final = by_level(_TABLE["protocols"])
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


def by_intent(
    command: SdefCommand, facts: IntentFacts, resolved: Resolved, kinds: Sequence[str]
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
    around = _given(command, resolved)
    verbs = [by_verb(phrase(command.name), around)]
    for schema in facts.schemas:
        verbs.append(by_verb(_of_schema(schema), around))
        if verbs[-1] is not None:
            yield replace(verbs[-1], source=f"assistant schema {schema}")
    known = [verb for verb in verbs if verb is not None]
    said = by_sentences(command, around)
    if not (known or said) and _takes_content(command, kinds):
        why = "takes text or a file, and its verb is unknown"
        yield LevelVerdict("DANGEROUS", why, "words and types")
    reads = bool(known) and all(verb.level == "SAFE" and verb.reason == "reads" for verb in known)
    if reads and command.result and not _works_on(command, kinds, resolved):
        yield replace(READS, source="output without input")
    else:
        yield _NOTHING
    yield from (replace(verb, source="words") for verb in known if verb.level != "SAFE")
    yield from said


def by_sentences(command: SdefCommand, around: Given | None = None) -> list[LevelVerdict]:
    """Return what the app's own words raise the level of an action to; nothing where they do not.

    The first sentence is its title, which is a term like its name. Of the others the verbs count
    that lose something or leave the machine.
    """
    if command.intent is not None and command.intent.said:
        return [LevelVerdict(command.intent.said, "the app's description says so", "words")]
    around = around or Given(answers="value" if command.result else "")
    sentences = [_WORDS.findall(one) for one in command.description.lower().split(". ")]
    short = [
        by_verb(tuple(words), around)
        for words in sentences
        if len(words) <= _SHORT and not _denies(words)
    ]
    verdicts = [one for one in short if one is not None and one.level == "DANGEROUS"]
    verdicts += [one for words in sentences[1:] if (one := _by_sentence(words)) is not None]
    title = by_verb(tuple(sentences[0]), around)
    raises = title is not None and title.level != "SAFE" and not _denies(sentences[0])
    verdicts += [title] if title is not None and raises else []
    return [replace(highest(verdicts), source="words of the app")] if verdicts else []


def raised_by_words(command: SdefCommand) -> IntentFacts | None:
    """Return the facts of an action with the level of its words, for a file that has no words."""
    if command.intent is None:
        return None
    found = highest(by_sentences(command)).level
    return command.intent if found == "SAFE" else replace(command.intent, said=found)


def _denies(words: Sequence[str]) -> bool:
    """Say whether a sentence begins with what is not done; one that leads with a verb does it."""
    return bool(_DENIED.intersection(words[:4])) and not _VERBS.intersection(words[:1])


def _by_sentence(words: Sequence[str]) -> LevelVerdict | None:
    for at, word in enumerate(words):
        stem = next((one for one in _stems(word) if one in _VERBS), None)
        leads = at == 0 or words[at - 1] in _BEFORE
        if stem is not None and leads and _DENIED.isdisjoint(words[max(at - 3, 0) : at]):
            return LevelVerdict("DANGEROUS", f"says that it can {stem}")
    return None


def _stems(word: str) -> Iterable[str]:
    """Return the verbs that a word may be a form of: `clears`, `publishes`, `empties`."""
    return (word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word))


def _given(command: SdefCommand, resolved: Resolved) -> Given:
    """Return what the verb is applied to; nothing here proves that a word is harmless."""
    first = next(iter(command.parameters), None)
    about = given(replace(command, direct=first), resolved)
    return replace(about, plain=False, numbers=False, gathers=False, closed=False)


def _of_schema(schema: str) -> Phrase:
    """Return what the name of a schema says, without its domain and what says that it is one."""
    domain, _, name = schema.partition(".")
    own = {*phrase(domain), "intent"}
    return tuple(word for word in phrase(name) if word not in own)


def _works_on(command: SdefCommand, kinds: Sequence[str], resolved: Resolved) -> bool:
    """Say whether an action takes in what it may work on; text to find objects by is none."""
    classes = {row.name for row in resolved.classes}
    found = {one.name for ref in command.result or () for one in (ref, *ref.items)} - {""}
    looks = phrase(command.name)[:1] in _FINDS and bool(found) and found <= classes
    texts = looks and all(kind == "text" or kind in classes for kind in kinds)
    return _takes_content(command, kinds) and not texts


def _takes_content(command: SdefCommand, kinds: Sequence[str]) -> bool:
    """Say whether an action is given text or a file that the app does not offer itself."""
    both = zip(command.parameters, kinds, strict=True)
    return any(
        not row.offered and not _CONTENT.isdisjoint(re.split(r" \| |\||list of ", kind))
        for row, kind in both
    )
