"""test, [ and [[: conditions on files, texts and whole numbers."""

from collections.abc import Callable, Sequence
from typing import Final

from iac_scenario.errors import ToolError
from iac_scenario.shell.commands import Answer, Place

__all__ = ["test"]

_NUMBERS: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": int.__eq__, "-ne": int.__ne__, "-lt": int.__lt__,
    "-le": int.__le__, "-gt": int.__gt__, "-ge": int.__ge__,
}  # fmt: skip
_FILES: Final = ("-e", "-f", "-d", "-s", "-r", "-w", "-x")
_BITS: Final = {"-r": 0o400, "-w": 0o200, "-x": 0o100}


def test(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Answer by status: -e -f -d -s -r -w -x FILE, -z -n TEXT, = != < >, numbers; ! -a -o."""
    return Answer(status=int(not _either(place, list(arguments))))


def _either(place: Place, words: list[str]) -> bool:
    # Up to three words are one condition, whatever they are.
    if len(words) > 3 and "-o" in words[1:-1]:
        at = words.index("-o", 1)
        return _either(place, words[:at]) | _either(place, words[at + 1 :])
    if len(words) > 3 and "-a" in words[1:-1]:
        at = words.index("-a", 1)
        return _either(place, words[:at]) & _either(place, words[at + 1 :])
    if len(words) == 3 and words[1] in ("-o", "-a"):
        left, right = bool(words[0]), bool(words[2])
        return (left or right) if words[1] == "-o" else (left and right)
    if len(words) > 1 and words[0] == "!" and not (len(words) == 3 and words[1] in ("=", "!=")):
        return not _either(place, words[1:])
    return _condition(place, words)


def _condition(place: Place, words: list[str]) -> bool:
    match words:
        case []:
            return False
        case [text]:
            return bool(text)
        case ["-z", text]:
            return not text
        case ["-n", text]:
            return bool(text)
        case [sign, path] if sign in _FILES:
            return bool(path) and _file(place, sign, path)
        case [left, "=" | "==", right]:
            return left == right
        case [left, "!=", right]:
            return left != right
        case [left, "<", right]:
            return left < right
        case [left, ">", right]:
            return left > right
        case [left, sign, right] if sign in _NUMBERS and _is_number(left) and _is_number(right):
            return _NUMBERS[sign](int(left), int(right))
    raise ToolError(f"test: {' '.join(words)} is not interpreted here.")


def _file(place: Place, sign: str, path: str) -> bool:
    entry = place.sandbox.entry(place.parts(path))
    if entry is None:
        return False
    if sign in _BITS:
        return bool(entry.mode & _BITS[sign])
    wanted = {"-f": "file", "-d": "folder"}.get(sign)
    if wanted is not None:
        return entry.kind == wanted
    return sign != "-s" or entry.size > 0 or entry.kind == "folder"


def _is_number(text: str) -> bool:
    return text.isascii() and text.strip().lstrip("+-").isdigit()
