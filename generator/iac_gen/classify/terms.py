"""What terms are made of: their words, the sets that words are in, what a verb is applied to."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from iac_base.words import split_name
from iac_gen.classify.codes import read_level_table, verdicts_by_word, word_sets

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
