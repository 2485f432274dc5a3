"""A client's file as a person wrote it: a server put in or taken out, nothing else touched.

Numbers, escapes, order and white space of what stays are never written anew (RFC 8259 leaves them
to the writer, and a client's file belongs to its user). The libraries that edit JSON in place
write back what they have parsed, and none can tell what was before the edit. Where a client takes
comments and trailing commas, they are read as blanks of the same length, so that every position
holds in the text itself. TOML is tomlkit's, which keeps comments and layout.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, NoReturn

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

Form = Literal["json", "jsonc", "toml"]
"""What a client reads; `jsonc` has comments and trailing commas."""

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_INDENT: Final = "  "
_BOM: Final = "\ufeff"


_COMMENT: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)


class NotJsonError(ValueError):
    """A text is not of its form; the reason has the line and the column."""


def _blank_matches(text: str, pattern: re.Pattern[str]) -> str:
    """Return a text with what a pattern finds made blank, texts aside, at the same positions."""
    return pattern.sub(
        lambda found: found[0] if found[0][0] == '"' else re.sub(r"[^\r\n]", " ", found[0]), text
    )


def _without_comments(text: str, form: Form) -> str:
    """Return a text as JSON that says the same, every character at its place."""
    if form != "jsonc":
        return text
    return _blank_matches(_blank_matches(text, _COMMENT), _TRAILING)


def _find_comments(text: str) -> list[str]:
    return [found for found in _COMMENT.findall(text) if found[0] != '"']


class _JsonMember(NamedTuple):
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


class _JsonObject(NamedTuple):
    """An object, as positions in the text: of its braces (`end` is after), and its members."""

    start: int
    end: int
    members: tuple[_JsonMember, ...]

    def find_member(self, key: str) -> _JsonMember | None:
        """Return the member of this key; of several the last, as every reader takes it."""
        return next((member for member in reversed(self.members) if member.key == key), None)


def _reject_constant(word: str) -> NoReturn:
    raise NotJsonError(f"{word} is not JSON")


# Numbers stay text: none is computed with, and a long one would take Python long.
_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_reject_constant)


def _parse_json(text: str) -> Any:
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
        raise NotJsonError("it is nested too deeply") from None


def _object_at(text: str, start: int) -> _JsonObject:
    """Return the object that begins at `start` of a text that `_parse` took."""
    members: list[_JsonMember] = []
    before = start + 1
    at = _skip_blanks(text, before)
    while text[at] != "}":
        key, after = _DECODER.raw_decode(text, at)
        value = _skip_blanks(text, _skip_blanks(text, after) + 1)
        end = _DECODER.raw_decode(text, value)[1]
        members.append(_JsonMember(str(key), before, at, value, end))
        at = _skip_blanks(text, end)
        if text[at] == ",":
            before = at + 1
            at = _skip_blanks(text, before)
    return _JsonObject(start, at + 1, tuple(members))


def _add_member(
    text: str, plain: str, where: _JsonObject, owner: _JsonMember | None, key: str, value: Any
) -> str:
    """Return the text with a member at the end of an object, spaced like its neighbours.

    Args:
        plain: The text as JSON.
        owner: The member whose value the object is; None for the outermost one.
    """
    name = json.dumps(key, ensure_ascii=False)
    if where.members:
        last = where.members[-1]
        lead = _member_lead(text, plain, last)
        member = f"{name}: {_format_value(plain, lead, value)}"
        # A comment behind the last member stays with it, and so does a comma.
        rest = _blank_matches(text, _COMMENT)[last.end : where.end - 1]
        empty = not text[last.end : where.end - 1].strip()
        line = 0 if empty else len(rest) - len(rest.lstrip(" \t,"))
        kept = text[last.end : last.end + line]
        if "//" in kept and "\n" not in lead:
            lead = f"\n{lead}"
        comma = "" if "," in rest[:line] else ","
        return f"{text[: last.end]}{comma}{kept}{lead}{member}{text[last.end + line :]}"
    outer = _line_start(text, plain, owner)
    lead = "" if outer is None else outer + _indent_unit(plain)
    inside = text[where.start + 1 : where.end - 1].rstrip()
    if "//" in inside and "\n" not in lead:
        lead = f"\n{lead}"
    member = f"{name}: {_format_value(plain, lead, value)}"
    return f"{text[: where.start]}{{{inside}{lead}{member}{outer or ''}}}{text[where.end :]}"


def _change_member(text: str, plain: str, member: _JsonMember, value: Any) -> str:
    """Return the text with another value for a member."""
    written = _format_value(plain, _member_lead(text, plain, member), value)
    return f"{text[: member.value]}{written}{text[member.end :]}"


def _drop_member(text: str, plain: str, where: _JsonObject, member: _JsonMember) -> str:
    """Return the text without a member: what `_add` put there is gone to the last blank."""
    at = where.members.index(member)
    if len(where.members) == 1 and text[where.start : where.end] == plain[where.start : where.end]:
        return f"{text[: where.start]}{{}}{text[where.end :]}"
    if at < len(where.members) - 1:
        # What is said of the next member stays before it.
        comma = plain.index(",", member.end)
        return text[: member.start] + text[_skip_blanks(text, comma + 1) :]
    start, rest = member.start, text[member.end :]
    if at:
        start = where.members[at - 1].end
        between = text[start : member.start]
        if between.strip() == ",":
            return text[:start] + rest
        comma = plain.index(",", start) - start
        kept = between[:comma] + between[comma + 1 :]
        return text[:start] + kept.rstrip(" \t").removesuffix("\n") + "\n" + rest.lstrip(", \t\n")
    return text[:start] + rest.lstrip(",")


def _member_lead(text: str, plain: str, member: _JsonMember) -> str:
    """Return what stands before a member, without comments."""
    lead = plain[member.before : member.start]
    if lead == text[member.before : member.start]:
        return lead
    line = "\r\n" if "\r\n" in lead else "\n"
    return line + lead.rpartition("\n")[2] if "\n" in lead else " "


def _skip_blanks(text: str, at: int) -> int:
    blanks = _SPACE.match(text, at)
    return blanks.end() if blanks else at


def _format_value(plain: str, lead: str, value: Any) -> str:
    """Return a value over several lines if its member begins on a line of its own."""
    if "\n" not in lead:
        return json.dumps(value, ensure_ascii=False)
    line = "\r\n" if "\r\n" in lead else "\n"
    pad = lead.rpartition("\n")[2]
    written = json.dumps(value, ensure_ascii=False, indent=_indent_unit(plain))
    return written.replace("\n", line + pad)


def _line_start(text: str, plain: str, owner: _JsonMember | None) -> str | None:
    """Return the line break and indent before the closing brace; None in a text of one line."""
    if owner is None:
        return "\r\n" if "\r\n" in text else "\n"
    lead = _member_lead(text, plain, owner)
    return lead if "\n" in lead else None


def _indent_unit(plain: str) -> str:
    """Return what one level is indented by: that of the first member."""
    first = _outer_object(plain).members[:1]
    lead = plain[first[0].before : first[0].start] if first else ""
    return (lead.rpartition("\n")[2] if "\n" in lead else "") or _INDENT


def servers_of(text: str, root: str, form: Form = "json") -> dict[str, Any]:
    """Return the servers that a client's file names, numbers as texts; {} for a blank file.

    Raises:
        NotJsonError: It is not of its form, no object, or what is under `root` is none.
    """
    body = text.removeprefix(_BOM)
    if not body.strip():
        return {}
    if form == "toml":
        content: Any = _parse_toml(text).unwrap()
    else:
        content = _parse_json(_without_comments(body, form))
    if not isinstance(content, dict):
        raise NotJsonError("it is JSON, but not an object")
    servers = content.get(root, {})
    if not isinstance(servers, dict):
        raise NotJsonError(f'"{root}" is not an object')
    return servers


def _parse_toml(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except (TOMLKitError, RecursionError, ValueError) as error:
        raise NotJsonError(str(error) or "it is not TOML") from None


def entry_of(text: str, root: str, name: str, form: Form = "json") -> Any:
    """Return the entry of a server, None if there is none.

    Raises:
        NotJsonError: The file is not one that can be changed safely.
    """
    servers = servers_of(text, root, form)
    if name not in servers or form == "toml":
        return servers.get(name)
    member = _entry_member(_without_comments(text, form), root, name)
    try:
        return json.loads(_without_comments(text, form)[member.value : member.end])
    except ValueError:
        # An integer of thousands of digits, which Python does not read.
        raise NotJsonError(f'"{name}" contains an infinite number') from None


def merge_entry(
    text: str | None, root: str, name: str, entry: Mapping[str, Any], form: Form = "json"
) -> str:
    """Return a client's file with a server; of an entry that is there, only these keys change.

    Args:
        text: The file as it is; None for one that is not there.
        root: The key under which servers stand.

    Raises:
        NotJsonError: The file is not one that can be changed safely.
    """
    text = text or ""
    if form == "toml":
        return _merge_toml(text, root, name, entry)
    if not text.removeprefix(_BOM).strip():
        whole = json.dumps({root: {name: dict(entry)}}, ensure_ascii=False, indent=2)
        return f"{_BOM if text.startswith(_BOM) else ''}{whole}\n"
    before = servers_of(text, root, form)
    after = _merge_json(text, root, name, entry, form)
    if form == "jsonc":
        others = {key: value for key, value in before.items() if key != name}
        now = servers_of(after, root, form)
        if {key: now[key] for key in others} != others or _find_comments(after) != _find_comments(
            text
        ):
            raise NotJsonError("there is a comment where the server's entry belongs")
    return after


def _merge_json(text: str, root: str, name: str, entry: Mapping[str, Any], form: Form) -> str:
    plain = _without_comments(text, form)
    outer = _outer_object(plain)
    owner = outer.find_member(root)
    if owner is None:
        return _add_member(text, plain, outer, None, root, {name: dict(entry)})
    servers = _object_at(plain, owner.value)
    old = servers.find_member(name)
    if old is None:
        return _add_member(text, plain, servers, owner, name, dict(entry))
    if text[old.value] != "{":
        return _change_member(text, plain, old, dict(entry))
    for key, value in entry.items():
        # Each change moves what is behind it, so the entry is looked up anew.
        plain = _without_comments(text, form)
        old = _entry_member(plain, root, name)
        fields = _object_at(plain, old.value)
        field = fields.find_member(key)
        if field is None:
            text = _add_member(text, plain, fields, old, key, value)
        elif json.loads(plain[field.value : field.end]) != value:
            text = _change_member(text, plain, field, value)
    return text


def _merge_toml(text: str, root: str, name: str, entry: Mapping[str, Any]) -> str:
    document = _parse_toml(text)
    if root not in document:
        document[root] = tomlkit.table(is_super_table=True)
    servers: Any = document[root]
    if not isinstance(servers.get(name) if hasattr(servers, "get") else None, dict):
        fresh = tomlkit.table() if isinstance(servers, Table) else tomlkit.inline_table()
        fresh.update(entry)
        servers[name] = fresh
    for key, value in entry.items():
        if servers[name].get(key) != value:
            servers[name][key] = value
    return tomlkit.dumps(document)


def remove_entry(text: str, root: str, name: str, form: Form = "json") -> str:
    """Return a client's file without the entry of a server; all else is as it was.

    Raises:
        NotJsonError: The file is not one that can be changed safely.
    """
    if form == "toml":
        document = _parse_toml(text)
        servers: Any = document[root]
        del servers[name]
        return tomlkit.dumps(document)
    # A key that stands there twice would show its first entry once the last is gone.
    while name in servers_of(text, root, form):
        plain = _without_comments(text, form)
        owner = _outer_object(plain).find_member(root)
        assert owner is not None
        text = _drop_member(
            text, plain, _object_at(plain, owner.value), _entry_member(plain, root, name)
        )
    return text


def restore_text(
    text: str, root: str, name: str, before: str | None, form: Form = "json"
) -> str | None:
    """Return a client's file as it was before the server was put in; None: there was no file.

    Where something else was changed since, only the entry is taken out.

    Args:
        before: The file as the backup has it, None without one.

    Raises:
        NotJsonError: The file is not one that can be changed safely.
    """
    entry = entry_of(text, root, name, form)
    if not isinstance(entry, dict):
        return remove_entry(text, root, name, form)
    try:
        fresh = before is None or entry_of(before, root, name, form) is None
        if fresh and merge_entry(before, root, name, entry, form) == text:
            return before
    except NotJsonError:
        pass  # A damaged backup is as good as none.
    return remove_entry(text, root, name, form)


def _entry_member(text: str, root: str, name: str) -> _JsonMember:
    owner = _outer_object(text).find_member(root)
    member = _object_at(text, owner.value).find_member(name) if owner else None
    assert member is not None
    return member


def _outer_object(text: str) -> _JsonObject:
    return _object_at(text, text.index("{"))
