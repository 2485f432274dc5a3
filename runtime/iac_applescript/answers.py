"""What osascript printed, as a typed value: the source form of both languages.

AppleScript's source form: AppleScript Language Guide, "Class Reference". JavaScript's is JSON but
for objects of apps, dates and paths, which stay text.
"""

import json
import re
from typing import Any, Final, NamedTuple

__all__ = ["Answer", "read_answer"]

_TOKEN: Final = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<number>-?\d+(?:[.,]\d+)?(?:E[+-]?\d+)?)(?![\w.])'
    r"|(?P<word>true|false|missing value|null)(?!\w)|(?P<mark>[{},:]))",
    re.DOTALL,
)
_KEY: Final = re.compile(r"\s*(\|[^|]*\||[A-Za-z][\w ]*?)\s*:(?!:)")
_WORDS: Final = {"true": True, "false": False, "missing value": None, "null": None}
_DEEPEST: Final = 32


class Answer(NamedTuple):
    """A value and its kind: text, number, boolean, list, record, reference, nothing."""

    value: Any
    kind: str


class _NotReadError(ValueError):
    """The text is no value of this form."""


def read_answer(printed: str, language: str) -> Answer:
    """Return the value of what was printed with `-s s`; text that is no value is a reference."""
    text = printed.removesuffix("\n")
    if not text.strip() or text in ("undefined", "null", "missing value"):
        return Answer(None, "nothing")
    try:
        value = _json(text) if language == "javascript" else _whole(text)
    except (ValueError, RecursionError):
        return Answer(text, "reference")
    return Answer(value, _kind(value))


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    kinds = ((str, "text"), (int | float, "number"), (list, "list"), (dict, "record"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "nothing")


def _json(text: str) -> Any:
    value = json.loads(text)
    # What a script turns into JSON itself arrives as the text of it.
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _whole(text: str) -> Any:
    value, end = _value(text, 0, 0)
    if text[end:].strip():
        raise _NotReadError(text[:40])
    return value


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    found = _TOKEN.match(text, at)
    if depth > _DEEPEST:
        raise _NotReadError("too deep")
    if found is None or found["mark"] not in (None, "{"):
        if depth == 0:
            raise _NotReadError(text[:40])
        return _reference(text, at)
    if found["text"]:
        return re.sub(r"\\(.)", r"\1", found["text"][1:-1], flags=re.DOTALL), found.end()
    if found["number"]:
        number = found["number"].replace(",", ".")
        return (int(number) if number.lstrip("-").isdigit() else float(number)), found.end()
    if found["word"]:
        return _WORDS[found["word"]], found.end()
    return _group(text, found.end(), depth + 1)


def _reference(text: str, at: int) -> tuple[str, int]:
    """Read the source form of an object inside a list: up to a comma outside quotes."""
    end, quoted = at, False
    while end < len(text) and (quoted or text[end] not in ",}"):
        quoted ^= text[end] == '"'
        end += 1
    if not text[at:end].strip():
        raise _NotReadError(text[:40])
    return text[at:end].strip(), end


def _group(text: str, at: int, depth: int) -> tuple[Any, int]:
    items: list[Any] = []
    fields: dict[str, Any] = {}
    while True:
        if (found := re.compile(r"\s*\}").match(text, at)) is not None:
            if items and fields:
                raise _NotReadError(text[:40])
            return (fields or items), found.end()
        key = _KEY.match(text, at)
        value, at = _value(text, key.end() if key else at, depth)
        if key:
            fields[key[1].strip("|")] = value
        else:
            items.append(value)
        comma = re.compile(r"\s*,").match(text, at)
        if comma:
            at = comma.end()
        elif not re.compile(r"\s*\}").match(text, at):
            raise _NotReadError(text[:40])
