"""Changes to a script that are certain to be right for what went wrong."""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = ["Given", "Mended", "mended"]

_ADDITIONS: Final = re.compile(
    r"\b(?:display(?:Dialog|Alert|Notification)|choose\w+|theClipboard|setTheClipboardTo|pathTo"
    r"|say|beep|getVolumeSettings|setVolume|currentDate|randomNumber|systemInfo)\b"
)
_CURRENT: Final = re.compile(r"(\w+)\s*=\s*Application\.currentApplication\(\)\s*;?")
_CURLY: Final = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})
_OPENED: Final = re.compile(
    r"(?mi)^\s*(?:(tell)\s+(?!.*\bto\s+\S)|(repeat)\b|(try)\s*$|(if)\b.*\bthen\s*$)"
)
_ENDED: Final = re.compile(r"(?mi)^\s*end(?:\s+(?:tell|repeat|try|if))?\s*$")
_NAMED: Final = re.compile(r"""(Application\(\s*|\b(?:application|app)\s+)(["'])([^"']+)\2""")


class Given(NamedTuple):
    """What failed; `nearest_app` gives the bundle id that is meant by an unknown name."""

    script: str
    language: str
    nearest_app: Callable[[str], str]


class Mended(NamedTuple):
    """A better script, and what was changed, one line."""

    script: str
    says: str


def mended(cause: str, given: Given) -> Mended | None:
    """Return the script with its one certain fault gone, or None where nothing is certain."""
    change = _CHANGES.get(cause)
    if change is None:
        return None
    found = change(given)
    return found if found is not None and found.script != given.script else None


def _console(given: Given) -> Mended:
    return Mended(
        re.sub(r"\bconsole\.(?:error|warn|info|debug)\b", "console.log", given.script),
        "console.log in the place of what is not there",
    )


def _additions(given: Given) -> Mended | None:
    current = _CURRENT.search(given.script)
    if (
        "includeStandardAdditions" in given.script
        or not current
        or not _ADDITIONS.search(given.script)
    ):
        return _notes(given)
    line = f"{current.group().rstrip(';')};\n{current[1]}.includeStandardAdditions = true;"
    return Mended(
        given.script[: current.start()] + line + given.script[current.end() :],
        "Standard Additions are switched on",
    )


def _notes(given: Given) -> Mended | None:
    """By its name JavaScript can bind the widget of Notes, which has no dictionary."""
    if not re.search(r"""Application\(["']Notes["']\)""", given.script):
        return None
    return Mended(
        re.sub(r"""Application\(["']Notes["']\)""", 'Application("com.apple.Notes")', given.script),
        "the app by its bundle id",
    )


def _straight(given: Given) -> Mended | None:
    if not re.search("[“”„]", given.script) or '"' in given.script:
        return None
    return Mended(given.script.translate(_CURLY), "straight quotes")


def _end(given: Given) -> Mended | None:
    opened = [next(filter(None, m.groups())).lower() for m in _OPENED.finditer(given.script)]
    ended = len(_ENDED.findall(given.script))
    if len(opened) != ended + 1 or len(set(opened)) != 1:
        return None
    return Mended(f"{given.script.rstrip()}\nend {opened[0]}", f"end {opened[0]} at the end")


def _app(given: Given) -> Mended | None:
    found = _NAMED.findall(given.script)
    if len({name for _, _, name in found}) != 1:
        return None
    name = found[0][2]
    bundle = given.nearest_app(name)
    if not bundle or bundle.casefold() == name.casefold():
        return None

    def by_id(match: re.Match[str]) -> str:
        lead = match[1] if match[1].startswith("Application(") else f"{match[1].rstrip()} id "
        return f"{lead}{match[2]}{bundle}{match[2]}"

    return Mended(_NAMED.sub(by_id, given.script), f"{bundle} in the place of {name}")


def _longer(given: Given) -> Mended | None:
    if given.language != "applescript" or re.search(
        r"(?i)with\s+timeout|^\s*on\s", given.script, re.M
    ):
        return None
    return Mended(
        f"with timeout of 300 seconds\n{given.script.strip()}\nend timeout",
        "the app is given 300 seconds",
    )


_CHANGES: Final[dict[str, Callable[[Given], Mended | None]]] = {
    "console_method": _console,
    "dictionary_not_loaded": _additions,
    "not_understood": _additions,
    "applescript_syntax": _straight,
    "expected_end": _end,
    "app_not_found": _app,
    "timeout": _longer,
}
