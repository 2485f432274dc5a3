"""The finished lines of tools/list: chosen and joined, never parsed.

A start of the server pays for this module.
"""

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from iac_runtime.entries import META_ENTRIES, OWN_ENTRIES
from iac_runtime.errors import SetupError, near_text
from iac_runtime.shelves import Shelf, damaged
from iac_runtime.toolsets import TOOLSETS, toolset_entries

__all__ = ["SEARCH", "Choice", "chosen_lines", "own_lines"]

SEARCH: Final = "search"
"""The surface of a handful of tools that find and call the others."""


class Choice(NamedTuple):
    """What to list.

    Attributes:
        expose: `search`, or patterns of tool names, `all`, or keys of apps (all their tools).
        pins: Keys of apps whose tools are listed beside the surface of `search`.
        read_only: Leave out what can change something.
    """

    expose: tuple[str, ...] = (SEARCH,)
    pins: tuple[str, ...] = ()
    read_only: bool = False


def chosen_lines(shelves: Sequence[Shelf], choice: Choice) -> list[bytes]:
    """Return the entries of generated tools that `choice` lists, in the order of the folders.

    Raises:
        SetupError: A pattern or a pin names nothing, or a listing is missing or damaged.
    """
    patterns = _patterns(shelves, choice)
    lines: list[bytes] = []
    for shelf in shelves:
        if patterns:
            lines += _lines(shelf, None if "*" in patterns else patterns, choice.read_only)
    return lines


def own_lines(choice: Choice) -> list[bytes]:
    """Return the entries of the runtime's own tools that `choice` lists."""
    entries: list[dict[str, Any]] = []
    if SEARCH in choice.expose:
        entries += META_ENTRIES.values()
        entries += (OWN_ENTRIES[name] for name in ("list_apps", "read_more"))
    else:
        entries += OWN_ENTRIES.values()
    chosen = {*choice.expose, *choice.pins} & TOOLSETS.keys()
    if chosen:
        entries += toolset_entries(chosen, read_only=choice.read_only)
    if choice.read_only:
        entries = [entry for entry in entries if entry["annotations"]["readOnlyHint"]]
    return [
        json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() for entry in entries
    ]


def _patterns(shelves: Sequence[Shelf], choice: Choice) -> list[str]:
    searching = SEARCH in choice.expose
    wanted = [
        word for word in (choice.pins if searching else choice.expose) if word not in TOOLSETS
    ]
    keys = {key for shelf in shelves for key in shelf.apps}
    patterns: list[str] = []
    for word in wanted:
        if word == "all":
            patterns.append("*")
        elif word in keys:
            patterns.append(f"{word}_*")
        elif searching:
            raise SetupError(
                f"There are no tools of {word}. {near_text(word, sorted(keys))}".strip()
            )
        elif any(fnmatchcase(name, word) for shelf in shelves for name in shelf.tools):
            patterns.append(word)
        else:
            raise SetupError(f"No tool is called {word}. {near_text(word, sorted(keys))}".strip())
    return patterns


def _lines(shelf: Shelf, patterns: list[str] | None, read_only: bool) -> list[bytes]:
    path = shelf.folder / "listing.jsonl"
    try:
        text = path.read_bytes()
    except OSError as error:
        raise damaged(path) from error
    if patterns is None and not read_only and not shelf.hides:
        return text.splitlines()
    lines = []
    for name, row in shelf.tools.items():
        if patterns is not None and not any(fnmatchcase(name, word) for word in patterns):
            continue
        if read_only and not row["level"] == row["ceiling"] == "SAFE":
            continue
        end = text.find(b"\n", row["offset"])
        lines.append(text[row["offset"] : end if end >= 0 else len(text)])
    return lines
