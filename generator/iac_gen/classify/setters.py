"""Levels of property setters, one by one: by code, by type, by the class, by words last."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from iac_gen.classify.codes import by_level, table, word_sets
from iac_gen.classify.judgement import LevelVerdict
from iac_gen.classify.words import CODE_WORDS, SECRET_WORDS, Phrase, phrase
from iac_gen.model import SdefClass, SdefProperty
from iac_runtime.tool import Level

_CHANGES: Final = LevelVerdict("MODIFY", "changes a property", "access")
_CREDENTIALS: Final = "sends credentials there, or in that name"
_VIEW: Final = LevelVerdict("SAFE", "changes the view only", "words and class")

_TABLE: Final = table("setters")
_SETS: Final = word_sets("setters")
_CODES: Final = by_level(_TABLE["codes"])
_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(SECRET_WORDS, "is a secret or guards one"),
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

_WINDOWS: Final = re.compile(
    r"(window|viewer|browser|panel|drawer|toolbar|sidebar|cursor|pane|palette|inspector)s?"
    r"( object)?$",
    re.I,
)

_HOLDERS: Final = re.compile(r"(document|note|page|article|template|area|text file|entry)$", re.I)
# Codes of whole contents. A new object has none to lose, so making one with them is less.
CONTENTS: Final = frozenset({"body", "ctxt", "pcnt", "PCnt", "text"})


def acts_later(row: SdefClass) -> bool:
    """Say whether an object of the class does something by itself once it is there."""
    return _is_one_of(row, (*_CLASSES["acts"], *_CLASSES["holds_rights"]))


def _is_one_of(row: SdefClass, kinds: tuple[str, ...]) -> bool:
    """Say whether the name of a class ends with one of some names, as whole words."""
    name = f" {row.name.lower()}"
    return name.endswith(tuple(f" {kind}" for kind in kinds)) and not name.endswith(
        tuple(f" {kind}" for kind in _CLASSES["harmless"])
    )


def by_setter(owner: SdefClass, prop: SdefProperty) -> Iterator[LevelVerdict]:
    """Yield what is known of setting a property, its access left aside."""
    if (coded := _CODES.get(prop.code)) is not None:
        yield replace(coded, source=f"property code {prop.code}")
        return
    words = phrase(prop.name)
    key = "_".join(words)
    danger = dangerous_name(words)
    if danger is not None and (danger != _CREDENTIALS or _holds_a_secret(owner)):
        yield LevelVerdict("DANGEROUS", f"{prop.name} {danger}", "words")
        return
    starts = key in ("enabled", "active") and _is_one_of(owner, _CLASSES["starts"])
    if starts or (_is_one_of(owner, _CLASSES["acts"]) and key not in _SETS["quiet"]):
        yield LevelVerdict("DANGEROUS", f"a {owner.name} acts later by itself", "class")
        return
    if _VALUES.search(owner.name) and key == "value" and not _is_style(owner, prop):
        yield LevelVerdict("DANGEROUS", "types into any control", "class")
        return
    holds = key in _SETS["contents"] and _HOLDERS.search(owner.name) is not None
    text = not any(ref.name.lower() in _SETS["no_text"] for ref in prop.types)
    if (holds or key in _SETS["whole"]) and text:
        yield LevelVerdict("DANGEROUS", "replaces the whole content", "words and type")
        return
    yield _VIEW if _is_view(owner, prop, words) else _CHANGES


def _is_style(owner: SdefClass, prop: SdefProperty) -> bool:
    """Say whether an attribute is one of a text: it takes colours, and never just anything."""
    kinds = {ref.name.lower() for ref in prop.types}
    return owner.name.lower() == "attribute" and "color" in kinds and "any" not in kinds


def _holds_a_secret(owner: SdefClass) -> bool:
    if _is_one_of(owner, _CLASSES["holds_rights"]):
        return True
    return any(SECRET_WORDS.intersection(phrase(one.name)) for one in owner.properties)


def made_with(code: str, level: Level) -> Level:
    """Return the level of giving a new object the property that is `level` to set."""
    return "MODIFY" if code in CONTENTS and level == "DANGEROUS" else level


def dangerous_name(words: Phrase) -> str | None:
    """Return why setting something of this name is dangerous, None where it is not."""
    if words and (words[-1] in _SETS["about"] or words[0] == "show" or "menu" in words):
        return None
    named = next((_WORDS[word] for word in words if word in _WORDS), None)
    if named is not None:
        return named
    plain = " ".join(words)
    return next((reason for pattern, reason in _PHRASES if pattern.search(plain)), None)


def _plays(words: Phrase) -> bool:
    return not _SETS["playing"].isdisjoint((words[0], words[-1])) or "captioning" in words


def _is_view(owner: SdefClass, prop: SdefProperty, words: Phrase) -> bool:
    """Say whether a property is selection, view or playing, which nobody stores."""
    name = owner.name.lower()
    if "preferences" in name or not words:
        return False
    key, first, last = "_".join(words), words[0], words[-1]
    window = owner.code == "cwin" or _WINDOWS.search(name) is not None
    kinds = {ref.name.lower() for ref in prop.types}
    placed = name == "application" and last == "position" and kinds == {"point"}
    picked = owner.code == "csel" and kinds == {"integer"}
    shows = last in ("visible", "volume") or first == "fullscreen"
    return (
        key in _SETS["always_view"]
        or (window and key in _SETS["in_a_window"])
        or (shows and (window or name == "application"))
        or (key == "visible" and owner.code not in _SETS["files"])
        or (first == "selected" and len(words) > 1 and last not in _SETS["typed_over"])
        or ("selection" in words and last in ("range", "selection") and first != "allows")
        or (name.endswith("selection") and last == "range")
        or last in ("expanded", "collapsed")
        or (placed or picked)
        or (window and first == "display" and not _SETS["typed_over"] & set(words))
        or (name in _SETS["plays"] and "text" not in kinds and _plays(words))
        or (name == "tab" and last in ("color", "title"))
        or (first in ("current", "active") and "_".join(words[1:]) in _SETS["current"])
    )
