"""Levels by words: verbs by what they do, the last of all evidence.

The first word of a term is its verb; a few words weigh wherever they stand. A verb that nobody
here knows gives no verdict: the caller decides what the unknown is worth.
"""

import re
from typing import Final

from iac_base.words import split_name
from iac_gen.classify.codes import by_level, table, word_sets
from iac_gen.classify.judgement import READS, LevelVerdict

Phrase = tuple[str, ...]
"""The words of a term in lower case: `executeAATFile` is execute, aat, file."""

# `PFOpen`, `AXPress`: two or three letters for whose command it is.
_PREFIXED: Final = re.compile(r"[A-Z]{2,3}[A-Z][a-z]")

_SETS: Final = word_sets("words")
CODE_WORDS: Final = _SETS["code"]
SECRET_WORDS: Final = _SETS["secrets"]
_MEANING: Final = CODE_WORDS | SECRET_WORDS | {"url"}
_VERBS: Final = by_level(table("words")["verbs"])
_PAIRS: Final = by_level(table("words")["pairs"])
# Controls of an interface: choosing one does what it does.
_CONTROLS: Final = (("menu", "item"), ("menu", "bar", "item"), ("button",), ("menu",))
# Verbs that dictionaries write in one word with what they do it to: `getparagraphlength`.
_GLUED: Final = ("get", "set", "run", "execute", "export", "delete", "remove", "send", "import")
_ENDINGS: Final = ("script", "javascript", "shell")
_RUNS: Final = "runs code or an action"


def phrase(term: str) -> Phrase:
    """Return the words of a term in lower case; a vendor's letters before a verb are left out."""
    # PostScript is a page, not a script that runs.
    words = tuple(split_name(term.replace("PostScript", "postscript")))
    if _PREFIXED.match(term) and words[1] in _VERBS and words[0] not in _MEANING:
        return words[1:]
    return words


def by_verb(words: Phrase, *, answers: bool, direct: Phrase) -> LevelVerdict | None:
    """Return what the words of a command say, None where they say nothing.

    `answers` says that the command declares a result; `direct` are the words of the types of its
    direct parameter, none where it has none.
    """
    if not words:
        return None
    led = words[0]
    while len(words) > 1 and led.endswith("ly") and led not in _VERBS:
        words = words[1:]
        led = words[0]
    pair = _PAIRS.get("_".join(words[:2]))
    if pair is not None:
        return pair
    if led in _SETS["chooses"] and words[1:] in _CONTROLS:
        return LevelVerdict("DANGEROUS", "works the controls of an app")
    words = _led_by_verb(words)
    first = _VERBS.get(words[0])
    if first is None:
        return _without_verb(words, answers=answers)
    if words == ("forward",) and direct:
        return LevelVerdict("MODIFY", "opens a draft")
    if first.level == "SAFE":
        return _unless_it_works(words, first, direct)
    if first.level == "MODIFY":
        return _edited(words, first, direct)
    return first


def _led_by_verb(words: Phrase) -> Phrase:
    """Return the words with the verb in front, in the form that the table has."""
    if words[0] in _VERBS:
        return words
    for prefix in ("un", "re", "de", "auto"):
        if (rest := words[0].removeprefix(prefix)) != words[0] and rest in _VERBS:
            # What undoes or repeats a change is one, whatever the verb itself is worth.
            return (rest, *words[1:]) if _VERBS[rest].level != "SAFE" else ("change", *words[1:])
    glued = next((verb for verb in _GLUED if words[0].startswith(verb)), None)
    if glued is not None and len(words[0]) > len(glued) + 3:
        return (glued, words[0].removeprefix(glued), *words[1:])
    return words


def _unless_it_works(words: Phrase, first: LevelVerdict, direct: Phrase) -> LevelVerdict:
    if words[0] == "display" and {"dialog", "alert"} & set(words):
        return LevelVerdict("MODIFY", "asks the user")
    rest = set(words[1:])
    if words[0] == "go" and _SETS["presence"] & rest:
        return LevelVerdict("MODIFY", "others see it")
    if _SETS["elsewhere"] & rest and first.reason == "reads":
        return LevelVerdict("MODIFY", "asks another computer")
    if words[0] in ("activate", "deactivate") and rest and not _SETS["places"] & rest:
        return LevelVerdict("MODIFY", "starts or ends something")
    if _SETS["urls"] & rest and first.reason == "plays or navigates":
        return LevelVerdict("MODIFY", "opens a URL")
    things = {*rest, *direct}
    if _SETS["works"] & things and first.reason == "plays or navigates":
        recording = (_SETS["recordings"] | {"recorder"}) & things
        if recording and words[0] in ("start", "resume", "play"):
            return LevelVerdict("DANGEROUS", "captures sound, pictures or the screen")
        return LevelVerdict("MODIFY", "starts or ends something")
    return first


def _edited(words: Phrase, first: LevelVerdict, direct: Phrase) -> LevelVerdict:
    """Return the verdict of a verb that changes something: by what it is that changes."""
    rest = set(words[1:])
    things = {*rest, *direct}
    if SECRET_WORDS & rest:
        return LevelVerdict("DANGEROUS", "touches a secret")
    if _SETS["payments"] & rest or (_SETS["transfers"] & rest and {"transfer", "transfers"} & rest):
        return LevelVerdict("DANGEROUS", "spends money")
    if words[0] in ("open", "connect", "mount", "load", "browse") and _SETS["protocols"] & rest:
        return LevelVerdict("DANGEROUS", "connects to another computer")
    if words[0] in ("load", "make", "new", "begin", "toggle") and _SETS["recordings"] & rest:
        return LevelVerdict("DANGEROUS", "captures sound, pictures or the screen")
    if words[0] == "capture" and _SETS["screens"] & rest:
        return LevelVerdict("DANGEROUS", "captures sound, pictures or the screen")
    if words[0] in ("format", "reformat", "partition", "initialize") and _SETS["disks"] & things:
        return LevelVerdict("DANGEROUS", "destroys")
    if words[0] in ("load", "use", "process") and rest & {
        *CODE_WORDS, "module", "action", "actions", "plugin", "extension", "bundle", "library",
    }:  # fmt: skip
        return LevelVerdict("DANGEROUS", "loads code")
    if words[0] == "clear" and {"history", "undo"} & rest:
        return LevelVerdict("DANGEROUS", "destroys")
    if words[0] in ("add", "set", "change") and {"environment", "variable"} <= rest:
        return LevelVerdict("DANGEROUS", "decides how programs run")
    if words[0] in _SETS["view_verbs"] and words[-1] in _SETS["view_nouns"]:
        return LevelVerdict("SAFE", "changes the view only")
    return first


def _without_verb(words: Phrase, *, answers: bool) -> LevelVerdict | None:
    """Return what a term says that begins with no known verb."""
    if words[0] == "do" and CODE_WORDS & set(words[1:]):
        return LevelVerdict("DANGEROUS", _RUNS)
    if any(word.endswith(_ENDINGS) and word not in _SETS["no_code"] for word in words):
        return LevelVerdict("DANGEROUS", _RUNS)
    if {"screenshot", "keystroke"} & set(words):
        return LevelVerdict("DANGEROUS", "captures or types")
    # Behind a word that nobody knows, a dangerous verb still counts: `please delete`.
    for position in range(1, len(words)):
        pair = _PAIRS.get("_".join(words[position : position + 2]))
        verb = pair or _VERBS.get(words[position])
        if verb is not None and verb.level == "DANGEROUS" and words[position] not in _SETS["nouns"]:
            return verb
    if words[-1] == "preview":
        return LevelVerdict("SAFE", "changes the view only")
    # What is named after its answer: `title for tty`, `module paths`, `unicode numbers`.
    if answers and _SETS["copulas"] & set(words[1:]):
        return READS
    named = words[-1] in _SETS["nouns"] or {"of", "for"} & {*words[1:], words[-1]}
    return READS if answers and named else None
