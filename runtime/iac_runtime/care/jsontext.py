"""JSON as text that a person wrote: where its members stand, and changes that touch nothing else.

Numbers, escapes, order and white space of what stays are never written anew (RFC 8259 leaves them
to the writer, and a client's file belongs to its user).
"""

import json
import re
from typing import Any, Final, NamedTuple, NoReturn

__all__ = ["Member", "NotJsonError", "Object", "add", "change", "drop", "object_at", "parse"]

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_INDENT: Final = "  "


class NotJsonError(ValueError):
    """A text is no JSON; the reason has the line and the column."""


class Member(NamedTuple):
    """A member of an object, as positions in the text.

    Attributes:
        before: After the brace or the comma in front of it.
        start: Where its key begins.
        value, end: Where its value begins and ends.
    """

    key: str
    before: int
    start: int
    value: int
    end: int


class Object(NamedTuple):
    """An object, as positions in the text: of its braces (`end` is after), and its members."""

    start: int
    end: int
    members: tuple[Member, ...]

    def find(self, key: str) -> Member | None:
        """Return the member of this key; of several the last, as every reader takes it."""
        return next((member for member in reversed(self.members) if member.key == key), None)


def _no_constant(word: str) -> NoReturn:
    raise NotJsonError(f"{word} is no JSON")


# Numbers stay text: none is computed with, and a long one would take Python long.
_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_constant)


def parse(text: str) -> Any:
    """Return what a text says, numbers as texts.

    Raises:
        NotJsonError: It is no JSON; comments and trailing commas are none.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        reason = f"line {error.lineno} column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}"
        raise NotJsonError(reason) from None
    except RecursionError:
        raise NotJsonError("it is nested too deep") from None


def object_at(text: str, start: int) -> Object:
    """Return the object that begins at `start` of a text that `parse` took."""
    members: list[Member] = []
    before = start + 1
    at = _skip(text, before)
    while text[at] != "}":
        key, after = _DECODER.raw_decode(text, at)
        value = _skip(text, _skip(text, after) + 1)
        end = _DECODER.raw_decode(text, value)[1]
        members.append(Member(str(key), before, at, value, end))
        at = _skip(text, end)
        if text[at] == ",":
            before = at + 1
            at = _skip(text, before)
    return Object(start, at + 1, tuple(members))


def add(text: str, where: Object, owner: Member | None, key: str, value: Any) -> str:
    """Return the text with a member at the end of an object, spaced like its neighbours.

    Args:
        owner: The member whose value the object is; None for the outermost one.
    """
    name = json.dumps(key, ensure_ascii=False)
    if where.members:
        last = where.members[-1]
        lead = text[last.before : last.start]
        member = f"{name}: {_written(text, lead, value)}"
        return f"{text[: last.end]},{lead}{member}{text[last.end :]}"
    outer = _line_start(text, owner)
    lead = "" if outer is None else outer + _unit(text)
    member = f"{name}: {_written(text, lead, value)}"
    return f"{text[: where.start]}{{{lead}{member}{outer or ''}}}{text[where.end :]}"


def change(text: str, member: Member, value: Any) -> str:
    """Return the text with another value for a member."""
    lead = text[member.before : member.start]
    return f"{text[: member.value]}{_written(text, lead, value)}{text[member.end :]}"


def drop(text: str, where: Object, member: Member) -> str:
    """Return the text without a member: what `add` put there is gone to the last blank."""
    at = where.members.index(member)
    if len(where.members) == 1:
        return f"{text[: where.start]}{{}}{text[where.end :]}"
    if at == len(where.members) - 1:
        return text[: where.members[at - 1].end] + text[member.end :]
    return text[: member.start] + text[where.members[at + 1].start :]


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _written(text: str, lead: str, value: Any) -> str:
    """Return a value over several lines if its member begins on a line of its own."""
    if "\n" not in lead:
        return json.dumps(value, ensure_ascii=False)
    line = "\r\n" if "\r\n" in lead else "\n"
    pad = lead.rpartition("\n")[2]
    written = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return written.replace("\n", line + pad)


def _line_start(text: str, owner: Member | None) -> str | None:
    """Return the line break and indent before the closing brace; None in a text of one line."""
    if owner is None:
        return "\r\n" if "\r\n" in text else "\n"
    lead = text[owner.before : owner.start]
    return lead if "\n" in lead else None


def _unit(text: str) -> str:
    """Return what one level is indented by: that of the first member."""
    first = object_at(text, _skip(text, 0)).members[:1]
    lead = text[first[0].before : first[0].start] if first else ""
    return (lead.rpartition("\n")[2] if "\n" in lead else "") or _INDENT
