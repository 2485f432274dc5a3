"""The difference of two states as a value: what was added, removed and changed, and where."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeGuard

__all__ = ["Change", "Difference", "difference"]

_IDENTITY: Final = ("id", "uid", "name")
_NOTHING: Final = object()


class Change(NamedTuple):
    """A value that is another one now; `place` as in `notes.folders[0].notes[1].body`."""

    place: str
    before: Any
    after: Any


class Difference(NamedTuple):
    """(place, value) of what was added and removed, and what changed; false where all is equal."""

    added: tuple[tuple[str, Any], ...] = ()
    removed: tuple[tuple[str, Any], ...] = ()
    changed: tuple[Change, ...] = ()

    def __bool__(self) -> bool:
        return any(self)


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference:
    """Compare two states. Objects of a list are matched by id or name, else by their place.

    The place of what was removed is that in `before`, every other one that in `after`. That an
    object only moved within its list is no difference.
    """
    found = list(_compared("", dict(before), dict(after)))
    return Difference(
        tuple((c.place, c.after) for c in found if c.before is _NOTHING),
        tuple((c.place, c.before) for c in found if c.after is _NOTHING),
        tuple(c for c in found if c.before is not _NOTHING and c.after is not _NOTHING),
    )


def _compared(place: str, before: Any, after: Any) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            left, right = before.get(key, _NOTHING), after.get(key, _NOTHING)
            name = key if key.isidentifier() or key.startswith("@") else json.dumps(key)
            yield from _compared(f"{place}.{name}" if place else name, left, right)
    elif _are_objects(before) and _are_objects(after):
        yield from _lists(place, before, after)
    elif type(before) is not type(after) or before != after:
        yield Change(place, before, after)


def _are_objects(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _lists(place: str, before: list[Any], after: list[Any]) -> Iterator[Change]:
    old, new = _keyed(before), _keyed(after)
    for key, (index, item) in new.items():
        yield from _compared(f"{place}[{index}]", old.get(key, (0, _NOTHING))[1], item)
    for key, (index, item) in old.items():
        if key not in new:
            yield Change(f"{place}[{index}]", item, _NOTHING)


def _keyed(items: list[Any]) -> dict[tuple[str, Any], tuple[int, Any]]:
    """Return the objects by what tells each apart: identity, and its rank among equal ones."""
    seen: dict[str, int] = {}
    keyed = {}
    for index, item in enumerate(items):
        identity = next((str(item[key]) for key in _IDENTITY if item.get(key) is not None), "")
        seen[identity] = rank = seen.get(identity, -1) + 1
        keyed[identity, rank] = (index, item)
    return keyed
