"""Levels of property setters, one by one: by code, by type, by the class, by words last."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Final

from iac_gen.classify.codes import read_level_table, verdicts_by_word, word_sets
from iac_gen.classify.judgement import LevelVerdict
from iac_gen.classify.terms import CODE_WORDS, SECRET_WORDS, Phrase, term_phrase
from iac_gen.model import SdefClass, SdefProperty
from iac_runtime.tool import Level

_CHANGES: Final = LevelVerdict("MODIFY", "changes a property", "access")
_CREDENTIALS: Final = "is the user name of a login"
_ROUTES: Final = "decides where credentials and data go"
_SENT: Final = "decides how credentials are sent"
_RUNS: Final = "decides what is run"
_GUARDED: Final = "is a secret or protects one"
_VIEW: Final = LevelVerdict("SAFE", "changes only the view", "words and class")

_TABLE: Final = read_level_table("setters")
_SETS: Final = word_sets("setters")
_CODES: Final = verdicts_by_word(_TABLE["codes"])
_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(SECRET_WORDS, "is a secret or protects one"),
    **dict.fromkeys(CODE_WORDS, "decides what is run"),
    **{word: why for why, words in _TABLE["words"].items() for word in words.split()},
}
_PHRASES: Final = tuple(
    (re.compile(pattern), why)
    for why, patterns in _TABLE["phrases"].items()
    for pattern in patterns
)
_CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    key: tuple(names) for key, names in _TABLE["classes"].items()
}
# Values of an accessibility object or a setting: typing into anything, setting anything.
_VALUES: Final = re.compile(r"\b(ui element|attribute|text field|text area|slider)$", re.I)

_WINDOWS: Final = re.compile(rf"({'|'.join(sorted(_SETS['stages']))})s?( object)?$", re.I)

_HOLDERS: Final = re.compile(r"(document|note|page|article|template|area|text file|entry)$", re.I)
# Codes of whole contents. A new object has none to lose, so making one with them is less.
CONTENTS: Final = frozenset({"body", "ctxt", "pcnt", "PCnt", "text"})


def acts_later(row: SdefClass) -> bool:
    """Say whether an object of the class does something by itself once it is there."""
    return _name_ends_with(row, (*_CLASSES["acts"], *_CLASSES["holds_rights"]))


def _name_ends_with(row: SdefClass, kinds: tuple[str, ...]) -> bool:
    """Say whether the name of a class ends with one of some names, as whole words."""
    name = f" {row.name.lower()}"
    return name.endswith(tuple(f" {kind}" for kind in kinds)) and not name.endswith(
        tuple(f" {kind}" for kind in _CLASSES["harmless"])
    )


def setter_verdicts(owner: SdefClass, prop: SdefProperty) -> Iterator[LevelVerdict]:
    """Yield what is known of setting a property, its access left aside."""
    if (coded := _CODES.get(prop.code)) is not None:
        yield replace(coded, source=f"property code {prop.code}")
        return
    words = term_phrase(prop.name)
    key = "_".join(words)
    kinds = _type_names(prop)
    # A switch of whether the app itself starts is a setting like another.
    starts_app = words[-2:-1] == ("at",) and kinds == {"boolean"}
    danger = None if starts_app else danger_of_name(words)
    if danger is not None and _is_dangerous_setter(danger, owner, kinds):
        yield LevelVerdict("DANGEROUS", f"{prop.name} {danger}", "words")
        return
    starts = key in ("enabled", "active") and _name_ends_with(owner, _CLASSES["starts"])
    if starts or (_name_ends_with(owner, _CLASSES["acts"]) and key not in _SETS["quiet"]):
        yield LevelVerdict("DANGEROUS", f"a {owner.name} acts later by itself", "class")
        return
    if _VALUES.search(owner.name) and key == "value" and not _is_text_style(owner, prop):
        yield LevelVerdict("DANGEROUS", "types into any control", "class")
        return
    holds = key in _SETS["contents"] and _HOLDERS.search(owner.name) is not None
    text = kinds.isdisjoint(_SETS["no_text"])
    if (holds or key in _SETS["whole"]) and text:
        yield LevelVerdict("DANGEROUS", "replaces the whole content", "words and type")
        return
    yield _VIEW if _is_view_property(owner, prop, words) else _CHANGES


def _is_text_style(owner: SdefClass, prop: SdefProperty) -> bool:
    """Say whether an attribute is one of a text: it takes colours, and never just anything."""
    kinds = _type_names(prop)
    return owner.name.lower() == "attribute" and "color" in kinds and "any" not in kinds


def _type_names(prop: SdefProperty) -> set[str]:
    return {ref.name.lower() for ref in prop.types}


def _is_dangerous_setter(danger: str, owner: SdefClass, kinds: set[str]) -> bool:
    """Say whether a dangerous name is one, by the type of its value and by the class.

    A switch or a number says whether and how much, not what is run, nor which secret it is.
    """
    if danger in (_RUNS, _GUARDED):
        return not kinds <= _SETS["told"]
    if danger == _CREDENTIALS:
        secret = any(SECRET_WORDS.intersection(term_phrase(one.name)) for one in owner.properties)
        return secret or _name_ends_with(owner, _CLASSES["holds_rights"])
    if danger == _ROUTES and kinds <= _SETS["told"]:
        return False
    return danger not in (_ROUTES, _SENT) or _name_ends_with(owner, _CLASSES["logs_in"])


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
    typed = not kinds.isdisjoint(("text", "string", "file", "rich text", "any"))
    if last in ("vol", "volume") and not _SETS["mixed"].isdisjoint(term_phrase(owner.name)[-1:]):
        return False
    if key in _SETS["always_view"] or key == "visible":
        return owner.code not in _SETS["files"]
    if first == "selected" and rest:
        return last not in _SETS["typed_over"]
    if last in ("expanded", "collapsed") or (owner.code == "csel" and kinds == {"integer"}):
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
