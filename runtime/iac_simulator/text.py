"""The parts of a text: paragraphs, words, characters (`doc.text.paragraphs[1].size`).

A text in a world is a string, or `{"@text": ..., properties, parts}` once parts carry properties.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["TEXT", "text_in", "text_parts"]

TEXT: Final = "@text"

_PARTS: Final[Mapping[str, Callable[[str], list[str]]]] = {
    "paragraphs": str.splitlines,
    "words": lambda text: re.findall(r"[\w'’-]+", text),
    "characters": list,
    "attributeRuns": lambda text: [text] if text else [],
}


def text_in(value: Any) -> str | None:
    """Return the text of a world's value: a string, or an object with `@text`."""
    if isinstance(value, dict):
        value = value.get(TEXT)
    return value if isinstance(value, str) else None


def text_parts(holder: Mapping[str, Any], plural: str) -> list[dict[str, Any]] | None:
    """Return the parts called `plural` of the text in `holder`; None for no such parts."""
    text, split = holder.get(TEXT), _PARTS.get(plural)
    if not isinstance(text, str) or split is None:
        return None
    return [{TEXT: part} for part in split(text)]
