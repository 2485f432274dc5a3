"""Putting a server into a client's JSON file and taking it out, as functions of texts."""

import json
from collections.abc import Mapping
from typing import Any, Final

from iac_runtime.care.jsontext import (
    Member,
    NotJsonError,
    Object,
    add,
    change,
    drop,
    object_at,
    parse,
)

__all__ = ["entry_of", "merged", "servers_of", "undone", "without"]

_BOM: Final = "\ufeff"


def servers_of(text: str, root: str) -> dict[str, Any]:
    """Return the servers that a client's file names, numbers as texts; {} for a blank file.

    Raises:
        NotJsonError: It is no JSON, no object, or what is under `root` is none.
    """
    body = text.removeprefix(_BOM)
    if not body.strip():
        return {}
    said = parse(body)
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
    body = text.removeprefix(_BOM)
    if name not in servers_of(body, root):
        return None
    member = _entry(body, root, name)
    try:
        return json.loads(body[member.value : member.end])
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
    mark, body = _split(text or "")
    if not body.strip():
        whole = json.dumps({root: {name: dict(entry)}}, ensure_ascii=False, indent=2)
        return f"{mark}{whole}\n"
    servers_of(body, root)
    outer = _outer(body)
    owner = outer.find(root)
    if owner is None:
        return mark + add(body, outer, None, root, {name: dict(entry)})
    servers = object_at(body, owner.value)
    old = servers.find(name)
    if old is None:
        return mark + add(body, servers, owner, name, dict(entry))
    if body[old.value] != "{":
        return mark + change(body, old, dict(entry))
    for key, value in entry.items():
        # Each change moves what is behind it, so the entry is looked up anew.
        old = _entry(body, root, name)
        fields = object_at(body, old.value)
        field = fields.find(key)
        if field is None:
            body = add(body, fields, old, key, value)
        elif json.loads(body[field.value : field.end]) != value:
            body = change(body, field, value)
    return mark + body


def without(text: str, root: str, name: str) -> str:
    """Return a client's file without the entry of a server; all else is as it was.

    Raises:
        NotJsonError: The file is not one that can be changed safely.
    """
    mark, body = _split(text)
    # A key that stands there twice would show its first entry once the last is gone.
    while name in servers_of(body, root):
        owner = _outer(body).find(root)
        assert owner is not None
        body = drop(body, object_at(body, owner.value), _entry(body, root, name))
    return mark + body


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


def _split(text: str) -> tuple[str, str]:
    body = text.removeprefix(_BOM)
    return text[: len(text) - len(body)], body


def _entry(body: str, root: str, name: str) -> Member:
    owner = _outer(body).find(root)
    member = object_at(body, owner.value).find(name) if owner else None
    assert member is not None
    return member


def _outer(body: str) -> Object:
    return object_at(body, len(body) - len(body.lstrip(" \t\r\n")))
