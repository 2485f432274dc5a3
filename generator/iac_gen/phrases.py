"""Phrases: the grammar of the sentences that are made from terms.

Terms come in and plain words go out; what a word is stands in phrases.toml. Nothing here knows
types or dictionaries.
"""

import re
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from typing import Final, NamedTuple

_TABLE: Final = tomllib.loads((files("iac_gen") / "phrases.toml").read_text(encoding="utf-8"))
_VERBS, _PARTICLES, _PREPOSITIONS, _INDEFINITE, _MASS, _RUNNABLE = (
    frozenset(str(_TABLE[name]).split())
    for name in ("verbs", "particles", "prepositions", "indefinite", "mass", "runnable")
)
_ACRONYMS: Final = {word.lower(): word for word in _TABLE["acronyms"].split()}
_DOING: Final = _VERBS | {*_TABLE["doing"].split()}
_QUALITY: Final = re.compile(_TABLE["quality"])
_ASKING: Final = ("is", "has", "can", "should", "does", "was", "are")
_CONSONANT: Final = re.compile(_TABLE["consonant"])
_VOWEL: Final = re.compile(_TABLE["vowel"])
_VERBAL: Final = re.compile("..(ize|ise|ate|ify|ise)$")
_PAST: Final = re.compile("[^e]ed$")
_ARTICLES: Final = ("a ", "an ", "the ", "any ", "all ", "next ", "previous ", "first ", "last ")
KNOWN: Final[dict[str, str]] = _TABLE["parameters"]
"""The sentence of a parameter, by its Apple event code or its name."""
SHORTCUTS: Final[dict[str, str]] = _TABLE["shortcuts"]
"""The sentence of a parameter of a shortcut, by its name."""
PROPERTIES: Final[dict[str, str]] = _TABLE["properties"]
"""The sentence of a property, by its code or its name."""
FORMS: Final[dict[str, str]] = _TABLE["forms"]
"""How a value of a type is written, by the type."""


def term_words(term: str) -> list[str]:
    """Return the words of a term; humps part a term that is one word (`GetURL`: get URL)."""
    words = term.split()
    if len(words) != 1 or not term.isalnum():
        return words
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", term)
    parts = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", parted).split()
    return [word if len(parts) == 1 or word.isupper() else word.lower() for word in parts]


def displayed_name(term: str) -> str:
    """Return what a class or a property is called: no `object` behind it, acronyms as such."""
    words = term_words(re.sub("(?<=.)[- ]object$", "", term))
    # A pop up button is of no protocol.
    if not _PARTICLES.isdisjoint(words):
        return " ".join(words)
    return " ".join(_ACRONYMS.get(word, word) for word in words)


def is_plural(noun: str) -> bool:
    """Say whether a noun stands without an article: many of a thing, or what is not counted."""
    last = noun.rpartition(" ")[2]
    if " or " in noun:
        return True
    one = re.search(r"(ias|is|canvas|atlas)$", last, re.IGNORECASE)
    return last.lower() in _MASS or (not one and bool(re.search(r"[^su]s$", last, re.IGNORECASE)))


def with_article(noun: str) -> str:
    """Return a noun behind a or an, by its sound; bare where none fits."""
    if not noun or is_plural(noun) or noun.lower().startswith(_ARTICLES):
        return noun
    spoken = noun[0].lower() in "aeiou" and not _CONSONANT.search(noun)
    return f"an {noun}" if spoken or _VOWEL.search(noun) else f"a {noun}"


def with_the(noun: str) -> str:
    """Return a noun behind `the`, where it has no determiner of its own."""
    return noun if noun.lower().startswith(_ARTICLES) else f"the {noun}"


def plural_noun(noun: str) -> str:
    """Return the plural of a noun."""
    head, space, last = noun.rpartition(" ")
    if last in _TABLE["plurals"]:
        many = _TABLE["plurals"][last]
    elif is_plural(noun):
        return noun
    elif re.search(r"[^aeiou]y$", last):
        many = f"{last[:-1]}ies"
    else:
        many = f"{last}es" if re.search(r"(s|x|z|ch|sh)$", last) else f"{last}s"
    return f"{head}{space}{many}"


def join_with_or(words: Sequence[str]) -> str:
    """Return `a, b or c`."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words)


def join_with_and(words: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def capitalize_first(text: str) -> str:
    """Return `text` with its first letter as a capital."""
    return text[:1].upper() + text[1:]


class VerbPhrase(NamedTuple):
    """A command as a verb phrase: `add a row above`, which awaits its object, or `go back`.

    `head` comes before the object, `tail` behind it (`open` a file `for access`); `link` is the
    preposition that an object needs, a space where it needs none.
    """

    head: str
    tail: str = ""
    link: str = " "
    value: str = " "

    def with_object(self, thing: str, app: str = "", *, is_value: bool = False) -> str:
        """Return the phrase with its object and the app where it is done, capitalised."""
        link = self.value if is_value else self.link
        behind = f"{link}{thing}" if thing else ""
        first = self.head.split(" ")[0]
        place = (
            "in"
            if thing and (link.strip() or " " in self.head)
            else _TABLE["place"].get(first, "in")
        )
        where = f" {place} {app}" if app else ""
        if re.search(rf"\b{re.escape(app)}\b", f"{self.head}{behind}"):
            where = ""
        if behind.startswith(","):
            return capitalize_first(f"{self.head}{self.tail}{where}{behind}")
        return capitalize_first(" ".join(f"{self.head}{behind}{self.tail}{where}".split()))

    def after_to(self, *, is_value: bool = False) -> str:
        """Return the phrase as it follows `the tab to`."""
        link = self.value if is_value else self.link
        return f"{self.without_object()} {link.strip().replace(', given', 'with')}".rstrip()

    def without_object(self) -> str:
        """Return the phrase without its object."""
        return f"{self.head}{self.tail}"


DO: Final = VerbPhrase("do", link=" with ")


def verb_phrase(term: str, *, answers: bool, noun: str = "") -> VerbPhrase:
    """Return a command's term as a verb phrase; `noun` is what the command is given.

    A term that is no verb is what the command answers, or what it is told to do.
    """
    words = term_words(term)
    if words:
        words[:1] = _TABLE["means"].get(words[0].lower(), words[0]).split()
    else:
        words = ["send"]
    first = words[0].lower()
    known = first in _VERBS or bool(_VERBAL.search(first))
    if not known and len(words) > 1:
        if first in ("next", "previous") and not answers:
            return VerbPhrase(f"go to the {' '.join(words)}")
        if answers and words[-1].lower() in _PREPOSITIONS and len(words) > 1:
            return VerbPhrase(f"return {with_the(' '.join(words[:-1]))} {words[-1]}")
    if not known and first not in _TABLE["infinitive"].values():
        if answers and not any(first.startswith(verb) for verb in _VERBS if len(verb) > 3):
            return VerbPhrase(f"return {with_the(' '.join(words))}", link=" of ", value=" of ")
        return VerbPhrase(f"run {term.strip()}", link=" on ", value=" with ")
    # An acronym stays one.
    verb, rest = words[0] if words[0][:2].isupper() else first, words[1:]
    while rest and rest[0].lower() in _PARTICLES:
        verb, rest = f"{verb} {rest[0].lower()}", rest[1:]
    link = _TABLE["link"].get(first, "in" if verb.endswith((" all", " back", " forward")) else "")
    inside = _TABLE["inside"].get(verb)
    if inside and not rest and not {*noun.split()} & _RUNNABLE:
        return VerbPhrase(verb, link=f" {inside} ")
    if not rest:
        space = f" {link} " if link else " "
        return VerbPhrase(verb, link=space, value=", given " if link == "in" else space)
    places = [i for i, word in enumerate(rest) if word.lower() in _PREPOSITIONS]
    if places and places[0] == 0:
        tail = " ".join(rest[1:])
        if not tail:
            return VerbPhrase(f"{verb} {rest[0]}")
        return VerbPhrase(verb, f" {rest[0]} {with_article(tail)}")
    cut = places[0] if places else len(rest)
    thing = " ".join(rest[:cut])
    named = thing if is_plural(thing) or not known else with_the(thing)
    if first in _INDEFINITE:
        named = with_article(thing)
    tail = " ".join(rest[cut:])
    if tail and len(rest) == cut + 1:
        return VerbPhrase(f"{verb} {named} {tail}")
    if tail:
        return VerbPhrase(f"{verb} {named} {rest[cut]} {with_article(' '.join(rest[cut + 1 :]))}",
                    link=" with ", value=", given ")  # fmt: skip
    if noun and plural_noun(thing.lower()) == plural_noun(noun):
        return VerbPhrase(verb)
    return VerbPhrase(
        f"{verb} {named}", link=" of " if first != "add" else " to ", value=", given "
    )


def infinitive_of(word: str) -> str:
    """Return the verb of a word in -ing, empty for any other word."""
    if word in _TABLE["infinitive"]:
        return str(_TABLE["infinitive"][word])
    stem = word.removesuffix("ing")
    if stem == word or stem in ("str", "th", "k", "r", "someth", "anyth") or len(stem) < 2:
        return ""
    if re.search(r"([bdgmnprt])\1$", stem):
        return stem[:-1]
    return f"{stem}e" if re.search(r"([cvuz]|[aiou]s|[aeiou]at|[a-z]dg)$", stem) else stem


def parameter_role(name: str, thing: str, verb: str, *, named: bool = False) -> str:
    """Return what a parameter is for.

    `thing` is what it takes (`Which tab`), empty for a file, `verb` what its command does;
    `named` says that a word in -ing is the name of a number or of a choice.
    """
    words = term_words(name.replace("_", " ").strip()) or ["value"]
    first, rest = words[0].lower(), " ".join(words[1:])
    if first in _PREPOSITIONS and not rest:
        if not thing:
            return f"Where to {verb}{'' if first in ('to', 'in', 'into', 'at') else f' {first}'}"
        return f"{thing} to {verb} {first}"
    if first in {*_PREPOSITIONS, "and"} and rest:
        return f"{capitalize_first(with_the(rest))} to use"
    doing = "" if named else infinitive_of(first)
    if doing:
        return f"What to {doing} {rest}".strip()
    if rest and words[-1].lower() in _PREPOSITIONS:
        return f"{'What it is' if _PAST.search(first) else 'The value for'} {' '.join(words)}"
    return f"{capitalize_first(with_the(' '.join(words)))} to use"


def whether_clause(name: str) -> str:
    """Return what a parameter is for that takes yes or no."""
    words = term_words(name.replace("_", " ").strip()) or ["value"]
    first, rest = words[0].lower(), " ".join(words[1:])
    last = words[-1].lower()
    if rest and last.endswith("ed"):
        head = " ".join(words[:-1])
        return f"Whether {head} {'are' if head.endswith('s') else 'is'} {last}"
    doing = infinitive_of(first) or (first if first in _VERBS else "")
    if doing:
        bare = not rest or words[1].lower() in _PREPOSITIONS | _PARTICLES
        return f"Whether to {doing} {rest if bare else with_article(rest)}".strip()
    if first in ("with", "using", "without") and rest:
        return f"Whether to {'leave out' if first == 'without' else 'use'} {with_article(rest)}"
    if (last.endswith("ly") and last != "only") or last == "once" or first in _PREPOSITIONS:
        return f"Whether to do it {' '.join(words)}"
    return f"Whether to use {' '.join(words)}"


def whether_property(name: str) -> str:
    """Return what a property of yes or no says of its object."""
    words = name.split()
    first, rest, last = words[0].lower(), words[1:], words[-1]
    head = " ".join(words[:-1])
    if first in _ASKING:
        return f"Whether it {' '.join([first, *rest])}"
    if head and last == "status":
        return f"Whether it is {head}"
    if "is" in rest or "must" in rest:
        return f"Whether {with_the(name)}"
    if head and (last == "enabled" or (_QUALITY.search(last) and first not in _DOING)):
        return f"Whether {with_the(head)} {_is_or_are(head)} {last}"
    if _is_third_person(first) and rest:
        return f"Whether it {name}"
    if first in ("always", "never") or (first in _DOING and rest):
        return f"Whether to {first} {_verb_object(rest)}"
    if any(map(_is_third_person, rest)):
        return f"Whether {with_the(name)}"
    if any(word in _DOING and is_plural(one) for one, word in zip(words, rest, strict=False)):
        return f"Whether {name}"
    if first in _DOING - _VERBS:
        return f"Whether it {first}s"
    if not rest or first.endswith("ed"):
        return f"Whether it is {name}"
    return f"Whether {with_the(name)} {_is_or_are(name)} on"


def _is_third_person(word: str) -> bool:
    """Say whether a word is what somebody does: `shows`."""
    return word.endswith("s") and bool({word[:-1], word[:-2]} & _DOING)


def _is_or_are(noun: str) -> str:
    return "are" if plural_noun(noun) == noun and noun.endswith("s") else "is"


def _verb_object(words: Sequence[str]) -> str:
    """Return what a verb is done to, behind `the` where it is one thing: `the clock`."""
    whole = " ".join(words)
    ends = (i for i, word in enumerate(words) if word in _PREPOSITIONS | {"when", "while"})
    noun = words[: next(ends, len(words))]
    last = noun[-1] if noun else ""
    bare = not noun or is_plural(last) or last in _DOING or last.endswith(("ed", "tion", "one"))
    return whole if bare or {"all", "myself", *_ASKING, *_PARTICLES} & {*words} else with_the(whole)
