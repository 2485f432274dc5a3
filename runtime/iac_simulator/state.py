"""States: files in and out, checked against the dictionary, compared with each other."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeGuard

from iac_base import files
from iac_base.errors import near_text
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_simulator.dictionary import (
    STANDARD_PROPERTIES,
    class_descendants,
    class_of_type,
    element_class,
    member_names,
    property_of_kin,
)
from iac_simulator.errors import StateError
from iac_simulator.values import is_mark, parse_chain, parse_instant, to_iso


def read_table(path: Path, what: str) -> Any:
    """Return the content of a file of ours; the suffix `.toml` or `.json` says how it is written.

    Raises:
        StateError: It cannot be read, or is no `what`.
    """
    try:
        text = path.read_text("utf-8")
        return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise StateError(f"{path}: {error.strerror or error}.") from None
    except ValueError as error:
        raise StateError(f"{path}: not a {what}: {error}.") from None


def read_state(path: Path) -> dict[str, Any]:
    """Return the state in a file.

    Raises:
        StateError: It cannot be read, or does not hold a table of apps.
    """
    state = _mark_dates(read_table(path, "state file"))
    if not isinstance(state, dict):
        raise StateError(f"{path}: the state must be a table of apps.")
    return state


def _mark_dates(value: Any) -> Any:
    """TOML's own dates become marked ones."""
    if isinstance(value, dict):
        return {key: _mark_dates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_mark_dates(item) for item in value]
    if isinstance(value, datetime):
        return {"date": to_iso(value if value.tzinfo else value.astimezone())}
    return {"date": value.isoformat()} if isinstance(value, date) else value


def state_text(state: Mapping[str, Any], suffix: str) -> str:
    """Return the text of a state file: TOML for `.toml`, else JSON, an app a line.

    Raises:
        StateError: TOML cannot express it: a null in a list.
    """
    if suffix == ".toml":
        return _toml_text(state)
    # Without an indent this is the encoder in C, which a worker needs after each event.
    worlds = state.items()
    apps = (f"{_inline_toml(k)}: {json.dumps(w, ensure_ascii=False)}" for k, w in worlds)
    return "{\n" + ",\n".join(apps) + "\n}\n"


def _toml_text(state: Mapping[str, Any]) -> str:
    """Write a line for each key of a world: tomlkit takes half a second for the shipped state."""
    tables = {name: world for name, world in state.items() if isinstance(world, dict)}
    lines = _toml_pairs({name: value for name, value in state.items() if name not in tables})
    for name, world in tables.items():
        lines += ["", f"[{_inline_toml(name)}]", *_toml_pairs(world)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _toml_pairs(table: Mapping[str, Any]) -> list[str]:
    pairs = table.items()
    return [f"{_inline_toml(k)} = {_inline_toml(v)}" for k, v in pairs if v is not None]


def _inline_toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(_toml_pairs(value))}}}"
    if isinstance(value, list):
        return f"[{', '.join(_inline_toml(item) for item in value)}]"
    if value is None:
        raise StateError("TOML has no null: save this state as .json.")
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def lock_state(path: Path) -> AbstractContextManager[None]:
    """Hold the lock of a state file against other processes."""
    return files.hold_lock(path.with_name(f"{path.name}.lock"))


_OF_WORLD: Final = frozenset(
    {"@results", "@errors", "@running", "@dictionary", "@name", "@next", "@kept", "@front", "@hard"}
)
_OF_OBJECT: Final = frozenset({"@class", "@text", "@content"})
_ANYWHERE: Final = frozenset({"id", "name", "properties"})


def check_world(tables: Tables, world: Any) -> None:
    """Compare the world of an app with its class table.

    Raises:
        StateError: A key that is no term, a value of the wrong shape, a reference that cannot be
            read. The text names the app, the place, the key and the nearest known names.
    """
    if not isinstance(world, dict):
        raise StateError(f"{tables.key}: the world of an app must be a table.")
    for key in world:
        if key.startswith("@") and key not in _OF_WORLD | _OF_OBJECT:
            raise _unknown_key_error(tables.key, "", key, "not a key of a world", sorted(_OF_WORLD))
    for key in ("@results", "@errors"):
        if not isinstance(world.get(key, {}), dict):
            raise StateError(f"{tables.key}: {key} must be a table of event codes.")
    if not tables.classes:
        return
    terms = {key: value for key, value in world.items() if key not in _OF_WORLD}
    _check_object(tables, APPLICATION, terms, "")


def _check_object(tables: Tables, term: str | None, data: Mapping[str, Any], place: str) -> None:
    named = data.get("@class")
    if named is not None:
        known_class = tables.find_class(named) if isinstance(named, str) else None
        if known_class is None:
            known = sorted(tables.classes)
            raise _unknown_key_error(tables.key, place, str(named), "no class", known)
        term = known_class
    for key, value in data.items():
        here = f"{place}.{_quote_key(key)}" if place else _quote_key(key)
        if key.startswith("@"):
            if key not in _OF_OBJECT and key != "@odd":
                raise _unknown_key_error(
                    tables.key, place, key, "not a key of an object", sorted(_OF_OBJECT)
                )
            continue
        rows = class_descendants(tables, term) if term in tables.classes and term else ()
        prop = property_of_kin(tables, term if rows else None, key)
        # Scopes are not checked since 10.11: a collection of another class is a collection.
        owners = (element_class(tables, row, key) for row in (*rows, None) if prop is None)
        listed = next(filter(None, owners), None)
        if listed is not None:
            _check_elements(tables, listed, value, here)
        elif prop is not None:
            _check_value(tables, class_of_type(tables, prop.type), value, here)
        elif key not in _ANYWHERE and not (term == APPLICATION and key in STANDARD_PROPERTIES):
            owner = term or "object"
            known = sorted({name for row in rows for name in member_names(tables, row)})
            raise _unknown_key_error(
                tables.key, place, key, f"not a property or element of {owner}", known
            )


def _check_elements(tables: Tables, term: str, value: Any, place: str) -> None:
    if not isinstance(value, list):
        raise StateError(f"{tables.key}: {place}: a collection must be a list of objects.")
    for index, item in enumerate(value):
        here = f"{place}[{index}]"
        if not isinstance(item, dict) or is_mark(item):
            raise StateError(f"{tables.key}: {here}: an element must be an object.")
        _check_object(tables, term, item, here)


def _check_value(tables: Tables, term: str | None, value: Any, place: str) -> None:
    if isinstance(value, list):
        for index, item in enumerate(value):
            _check_value(tables, term, item, f"{place}[{index}]")
    elif is_mark(value):
        _check_mark(tables, value, place)
    elif isinstance(value, dict):
        _check_object(tables, term, value, place)


def _check_mark(tables: Tables, value: Mapping[str, Any], place: str) -> None:
    mark, content = next(iter(value.items()))
    kind, named = (dict, "a table") if mark == "record" else (str, "text")
    fits = isinstance(content, kind)
    if not fits:
        raise StateError(f"{tables.key}: {place}: a {mark} must be {named}.")
    try:
        if mark == "date":
            parse_instant(str(content))
        elif mark == "ref":
            parse_chain(str(content))
    except StateError as error:
        raise StateError(f"{tables.key}: {place}: {error}") from None
    except ValueError:
        wrong = f"{content!r} is not a date; write 2026-01-31T09:00:00Z."
        raise StateError(f"{tables.key}: {place}: {wrong}") from None


def _quote_key(key: str) -> str:
    return key if key.isidentifier() else json.dumps(key)


def _unknown_key_error(app: str, place: str, key: str, what: str, known: list[str]) -> StateError:
    where = f"{app}: {place}: " if place else f"{app}: "
    quoted = json.dumps(key, ensure_ascii=False)
    return StateError(f"{where}{quoted} is {what}. {near_text(key, known)}")


_IDENTITY: Final = ("id", "uid", "name")
_NOTHING: Final = object()


class StateChange(NamedTuple):
    """A value that is another one now; `place` as in `notes.folders[0].notes[1].body`."""

    place: str
    before: Any
    after: Any


class StateDifference(NamedTuple):
    """(place, value) of what was added and removed, and what changed; false where all is equal."""

    added: tuple[tuple[str, Any], ...] = ()
    removed: tuple[tuple[str, Any], ...] = ()
    changed: tuple[StateChange, ...] = ()

    def __bool__(self) -> bool:
        return any(self)


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> StateDifference:
    """Compare two states. Objects of a list are matched by id or name, else by their place.

    The place of what was removed is that in `before`, every other one that in `after`. That an
    object only moved within its list is no difference.
    """
    changes = list(_compare_values("", dict(before), dict(after)))
    return StateDifference(
        tuple((c.place, c.after) for c in changes if c.before is _NOTHING),
        tuple((c.place, c.before) for c in changes if c.after is _NOTHING),
        tuple(c for c in changes if c.before is not _NOTHING and c.after is not _NOTHING),
    )


def _compare_values(place: str, before: Any, after: Any) -> Iterator[StateChange]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            left, right = before.get(key, _NOTHING), after.get(key, _NOTHING)
            name = key if key.isidentifier() or key.startswith("@") else json.dumps(key)
            yield from _compare_values(f"{place}.{name}" if place else name, left, right)
    elif _is_object_list(before) and _is_object_list(after):
        yield from _compare_lists(place, before, after)
    elif type(before) is not type(after) or before != after:
        yield StateChange(place, before, after)


def _is_object_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _compare_lists(place: str, before: list[Any], after: list[Any]) -> Iterator[StateChange]:
    old, new = _objects_by_identity(before), _objects_by_identity(after)
    for key, (index, item) in new.items():
        yield from _compare_values(f"{place}[{index}]", old.get(key, (0, _NOTHING))[1], item)
    for key, (index, item) in old.items():
        if key not in new:
            yield StateChange(f"{place}[{index}]", item, _NOTHING)


def _objects_by_identity(items: list[Any]) -> dict[tuple[str, Any], tuple[int, Any]]:
    """Return the objects by what tells each apart: identity, and its rank among equal ones."""
    seen: dict[str, int] = {}
    keyed = {}
    for index, item in enumerate(items):
        identity = next((str(item[key]) for key in _IDENTITY if item.get(key) is not None), "")
        seen[identity] = rank = seen.get(identity, -1) + 1
        keyed[identity, rank] = (index, item)
    return keyed
