"""Where in a TOML text something stands: tomllib does not say."""

import tomllib
from typing import Any, TypeAlias

__all__ = ["Path", "line_of"]

Path: TypeAlias = tuple[str | int, ...]
"""Keys and positions from the root to a value."""


def line_of(text: str, path: Path) -> int:
    """Return the line, from 1, on which the value at `path` begins; 1 if it is not there.

    It is found by parsing ever more of the text: what the parser takes for the value is right
    whatever the spelling (dotted keys, inline tables, strings over many lines). Slow, and needed
    for one message only.
    """
    lines = text.splitlines(keepends=True)
    parsed = 0
    for count in range(1, len(lines) + 1):
        try:
            found = tomllib.loads("".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue
        if _holds(found, path):
            return _first(lines, parsed, count)
        parsed = count
    return 1


def _holds(value: Any, path: Path) -> bool:
    for part in path:
        if isinstance(part, int):
            rest = value[part : part + 1] if isinstance(value, list) else []
        else:
            rest = [value[part]] if isinstance(value, dict) and part in value else []
        if not rest:
            return False
        value = rest[0]
    return True


def _first(lines: list[str], start: int, end: int) -> int:
    """Return the first line after `start` that is neither blank nor a comment."""
    for number in range(start, end):
        plain = lines[number].strip()
        if plain and not plain.startswith("#"):
            return number + 1
    return end
