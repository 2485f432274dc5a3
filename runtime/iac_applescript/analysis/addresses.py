"""Web addresses that a script spells out, and texts that matter where something is done."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from iac_applescript.analysis.danger_rows import TEXTS
from iac_applescript.analysis.declared import Declared
from iac_applescript.analysis.tokens import Token
from iac_applescript.analysis.units import Unit

__all__ = ["is_https", "is_web_address", "judge_text"]

_HTTPS: Final = re.compile(r"(?i)https?://[^\s\"']*\Z")
_LONG_QUERY: Final = 200
_DEEPEST: Final = 3


def judge_text(text: str) -> str:
    """Return why a text matters where something is written, opened or run; empty if it does not."""
    return next((why for pattern, why in TEXTS if re.search(pattern, text)), "")


def is_web_address(text: str) -> bool:
    """Say whether a text is a plain web address with no long query."""
    return bool(_HTTPS.match(text)) and len(text.partition("?")[2]) <= _LONG_QUERY


def is_https(value: Sequence[Unit], declared: Declared, depth: int = 0) -> bool:
    """Say whether a value begins with a web address that the script spells out."""
    units = [unit for unit in value if unit.word not in ("(", ")")]
    if not units or depth > _DEEPEST:
        return False
    first = units[0]
    if first.kind == "text":
        if len(units) == 1:
            return is_web_address(first.word)
        # What is joined goes to that address: it must be known, and cannot change where it goes.
        start = re.match(r"(?i)https?://[^/\s]+/", first.word)
        query = first.word.partition("?")[2]
        return (
            bool(start)
            and len(query) <= _LONG_QUERY
            and _is_spelled_out(units[1:], declared, depth)
        )
    if first.kind == "variable" and len(units) == 1:
        values = declared.variables.get(first.word, [])
        return bool(values) and all(
            is_https([_as_unit(token) for token in tokens], declared, depth + 1)
            for tokens in values
        )
    return False


def _is_spelled_out(units: Sequence[Unit], declared: Declared, depth: int) -> bool:
    """Say whether parts that `&` joins are written out, or are what a person typed for it."""
    if depth > _DEEPEST or not all(unit.word == "&" for unit in units[::2]):
        return False
    parts = units[1::2]
    return len(units) == 2 * len(parts) and all(
        part.kind in ("text", "number")
        or (part.kind == "variable" and _is_known(part.word, declared, depth + 1))
        for part in parts
    )


def _is_typed(tokens: Sequence[Token], declared: Declared) -> bool:
    """Say whether a value is what a person typed into a dialog of this script."""
    words = [token.folded for token in tokens]
    if words[:3] != ["text", "returned", "of"]:
        return False
    asks = [value[:2] for value in declared.variables.get(words[-1], [])] if len(words) == 4 else []
    if asks:
        return all([token.folded for token in value] == ["display", "dialog"] for value in asks)
    dialog = words[3:6] == ["(", "display", "dialog"]
    return words[3:] == ["result"] or (
        dialog and words[-1] == ")" and "&" not in words and words.count("(") == 1
    )


def _is_known(name: str, declared: Declared, depth: int) -> bool:
    values = declared.variables.get(name, [])
    return bool(values) and all(
        _is_typed(tokens, declared)
        or _is_spelled_out(
            [Unit("sign", "&", (), 0), *(_as_unit(token) for token in tokens)], declared, depth
        )
        for tokens in values
    )


def _as_unit(token: Token) -> Unit:
    kinds: Mapping[str, str] = {
        "string": "text",
        "word": "variable",
        "sign": "sign",
        "number": "number",
    }
    text = token.text if token.kind == "string" else token.folded
    return Unit(kinds.get(token.kind, "unknown"), text, (), token.start)  # type: ignore[arg-type]
