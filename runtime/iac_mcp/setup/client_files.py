"""A client's JSON file as a person wrote it: a server put in or taken out, nothing else touched.

Numbers, escapes, order and white space of what stays are never written anew (RFC 8259 leaves them
to the writer, and a client's file belongs to its user). The libraries that edit JSON in place
write back what they have parsed, and none can tell what was before the edit.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, NoReturn

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_INDENT: Final = "  "
_BOM: Final = "\ufeff"


class NotJsonError(ValueError):
    """A text is no JSON; the reason has the line and the column."""


class _Member(NamedTuple):
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


class _Object(NamedTuple):
    """An object, as positions in the text: of its braces (`end` is after), and its members."""

    start: int
    end: int
    members: tuple[_Member, ...]

    def find(self, key: str) -> _Member | None:
        """Return the member of this key; of several the last, as every reader takes it."""
        return next((member for member in reversed(self.members) if member.key == key), None)


def _no_constant(word: str) -> NoReturn:
    raise NotJsonError(f"{word} is no JSON")


# Numbers stay text: none is computed with, and a long one would take Python long.
_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_constant)


def _parse(text: str) -> Any:
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


def _object_at(text: str, start: int) -> _Object:
    """Return the object that begins at `start` of a text that `_parse` took."""
    members: list[_Member] = []
    before = start + 1
    at = _skip(text, before)
    while text[at] != "}":
        key, after = _DECODER.raw_decode(text, at)
        value = _skip(text, _skip(text, after) + 1)
        end = _DECODER.raw_decode(text, value)[1]
        members.append(_Member(str(key), before, at, value, end))
        at = _skip(text, end)
        if text[at] == ",":
            before = at + 1
            at = _skip(text, before)
    return _Object(start, at + 1, tuple(members))


def _add(text: str, where: _Object, owner: _Member | None, key: str, value: Any) -> str:
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


def _change(text: str, member: _Member, value: Any) -> str:
    """Return the text with another value for a member."""
    lead = text[member.before : member.start]
    return f"{text[: member.value]}{_written(text, lead, value)}{text[member.end :]}"


def _drop(text: str, where: _Object, member: _Member) -> str:
    """Return the text without a member: what `_add` put there is gone to the last blank."""
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


def _line_start(text: str, owner: _Member | None) -> str | None:
    """Return the line break and indent before the closing brace; None in a text of one line."""
    if owner is None:
        return "\r\n" if "\r\n" in text else "\n"
    lead = text[owner.before : owner.start]
    return lead if "\n" in lead else None


def _unit(text: str) -> str:
    """Return what one level is indented by: that of the first member."""
    first = _outer(text).members[:1]
    lead = text[first[0].before : first[0].start] if first else ""
    return (lead.rpartition("\n")[2] if "\n" in lead else "") or _INDENT


def servers_of(text: str, root: str) -> dict[str, Any]:
    """Return the servers that a client's file names, numbers as texts; {} for a blank file.

    Raises:
        NotJsonError: It is no JSON, no object, or what is under `root` is none.
    """
    body = text.removeprefix(_BOM)
    if not body.strip():
        return {}
    said = _parse(body)
    if not isinstance(said, dict):
        raise NotJsonError("it is JSON, but no object")
    servers = said.get(root, {})
    if not isinstance(servers, dict):
        raise NotJsonError(f'"{root}" is no object')
    return servers


def entry_of(text: str, root: str, name: str) -> Any:
    """Return the entry of a server, None if there is none.

    Raises:
        NotJsonError: The file is not one that can be changed safely.
    """
    if name not in servers_of(text, root):
        return None
    member = _entry(text, root, name)
    try:
        return json.loads(text[member.value : member.end])
    except ValueError:
        # An integer of thousands of digits, which Python does not read.
        raise NotJsonError(f'"{name}" holds a number without end') from None


def merged(text: str | None, root: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return a client's file with a server; of an entry that is there, only these keys change.

    Args:
        text: The file as it is; None for one that is not there.
        root: The key under which servers stand.

    Raises:
        NotJsonError: The file is not one that can be changed safely.
    """
    text = text or ""
    if not text.removeprefix(_BOM).strip():
        whole = json.dumps({root: {name: dict(entry)}}, ensure_ascii=False, indent=2)
        return f"{_BOM if text.startswith(_BOM) else ''}{whole}\n"
    servers_of(text, root)
    outer = _outer(text)
    owner = outer.find(root)
    if owner is None:
        return _add(text, outer, None, root, {name: dict(entry)})
    servers = _object_at(text, owner.value)
    old = servers.find(name)
    if old is None:
        return _add(text, servers, owner, name, dict(entry))
    if text[old.value] != "{":
        return _change(text, old, dict(entry))
    for key, value in entry.items():
        # Each change moves what is behind it, so the entry is looked up anew.
        old = _entry(text, root, name)
        fields = _object_at(text, old.value)
        field = fields.find(key)
        if field is None:
            text = _add(text, fields, old, key, value)
        elif json.loads(text[field.value : field.end]) != value:
            text = _change(text, field, value)
    return text


def without(text: str, root: str, name: str) -> str:
    """Return a client's file without the entry of a server; all else is as it was.

    Raises:
        NotJsonError: The file is not one that can be changed safely.
    """
    # A key that stands there twice would show its first entry once the last is gone.
    while name in servers_of(text, root):
        owner = _outer(text).find(root)
        assert owner is not None
        text = _drop(text, _object_at(text, owner.value), _entry(text, root, name))
    return text


def undone(text: str, root: str, name: str, before: str | None) -> str | None:
    """Return a client's file as it was before the server was put in; None: there was no file.

    Where something else was changed since, only the entry is taken out.

    Args:
        before: The file as the backup has it, None without one.

    Raises:
        NotJsonError: The file is not one that can be changed safely.
    """
    entry = entry_of(text, root, name)
    if not isinstance(entry, dict):
        return without(text, root, name)
    try:
        fresh = before is None or entry_of(before, root, name) is None
        if fresh and merged(before, root, name, entry) == text:
            return before
    except NotJsonError:
        pass  # A damaged backup is as good as none.
    return without(text, root, name)


def _entry(text: str, root: str, name: str) -> _Member:
    owner = _outer(text).find(root)
    member = _object_at(text, owner.value).find(name) if owner else None
    assert member is not None
    return member


def _outer(text: str) -> _Object:
    return _object_at(text, text.index("{"))
