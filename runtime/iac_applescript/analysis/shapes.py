"""The shape of a statement: whether it lasts, what stands outside brackets, what it asks for."""

from collections.abc import Iterable, Sequence
from typing import Final

from iac_applescript.analysis import language_words as language
from iac_applescript.analysis.tokens import Token
from iac_applescript.analysis.units import Unit

__all__ = [
    "lasts",
    "on_screen",
    "operations",
    "outside",
    "outside_list",
    "sign_after",
    "text_after",
]

_OPENS: Final = language.STARTS | {"using"}
_LIST_WORDS: Final = frozenset(("every", "whose", "where"))


def lasts(tokens: Sequence[Token]) -> bool:
    """Say whether a statement that is no `tell` lasts until an `end`."""
    words = [token.folded if token.kind == "word" else "" for token in tokens]
    if words[0] == "if":
        return words[-1] == "then"
    if words[0] in ("on", "to"):
        return words[1:2] != ["error"]
    if words[0] == "with":
        return words[1:2] in (["timeout"], ["transaction"])
    return words[0] in _OPENS


def outside(units: Sequence[Unit]) -> Iterable[Unit]:
    """Yield the units that are in no parentheses or braces."""
    depth = 0
    for unit in units:
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(unit.word, 0) if unit.kind == "sign" else 0
        if depth == 0 and unit.kind == "keyword":
            yield unit


def outside_list(units: Sequence[Unit]) -> list[Unit]:
    """Return the units, those in parentheses or braces masked."""
    depth = 0
    found = []
    for unit in units:
        if unit.kind == "sign":
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(unit.word, 0)
        found.append(unit if depth == 0 else unit._replace(word=""))
    return found


def on_screen(units: Sequence[Unit]) -> bool:
    """Say whether units name an element of the screen, by System Events' dictionary."""
    return any(
        entry.use == "class"
        and app.tables.descends(entry.term, "UI element")
        and not app.tables.descends(entry.term, "process")
        for unit in units
        for app, entry in unit.entries
    )


def text_after(units: Sequence[Unit], place: int) -> str:
    after = units[place + 1] if place + 1 < len(units) else None
    return after.word.casefold() if after is not None and after.kind == "text" else ""


def sign_after(units: Sequence[Unit], place: int) -> str:
    return units[place + 1].word if place + 1 < len(units) else ""


def operations(units: Sequence[Unit], own: Sequence[Unit]) -> list[str]:
    """Return the object tools that do what a statement does with an app's own terms."""
    words = {unit.word for unit in units}
    found: list[str] = [op for op in ("make", "count") if op in words]
    if "set" in words and own and any(unit.has("property") for unit in own):
        found.append("set")
    if own and not found:
        many = _LIST_WORDS & words or any(
            unit.has("class") and unit.word.endswith("s") for unit in own
        )
        found.append("list" if many else "get")
    return found
