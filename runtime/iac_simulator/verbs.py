"""What the standard commands do to a world. Each takes a call and returns the app's answer."""

import copy
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from iac_runtime.tools.tables import APPLICATION
from iac_simulator.errors import EventRefusedError
from iac_simulator.follow import Found, Many, Value, answer, follow
from iac_simulator.new_objects import NewObjectPlace, plural_for, room_for
from iac_simulator.typed_values import check_value, settable
from iac_simulator.values import UNDEFINED, AppReference, parse, stored
from iac_simulator.world import TEXT, AppWorld, WorldObject

__all__ = ["VERBS", "VerbCall", "change", "make", "shift"]

_STAMPS: Final = ("creation date", "modification date", "date created", "date modified")


class VerbCall(NamedTuple):
    """A command on its way into a world; `now` is the moment for dates, ISO 8601 in UTC."""

    world: AppWorld
    direct: Any
    named: Mapping[str, Any]
    now: str


def make(
    call: VerbCall, term: str, properties: Mapping[str, Any], data: Any, at: Any
) -> AppReference:
    """Make a `term` and return the reference to it.

    Raises:
        EventRefusedError: -10024 it has no place there; what `settable` and `check_value` raise.
    """
    world = call.world
    made: dict[str, Any] = {}
    for name, value in properties.items():
        prop = settable(world.tables, term, name)
        check_value(world.tables, prop.type, value)
        made[name] = stored(value)
    if isinstance(data, str):
        made[TEXT] = data
    room, first = _place(world, term, at)
    items = room.owner.data.setdefault(room.plural, [])
    room.owner.attach()
    if isinstance(data, str) and TEXT in room.owner.data:
        room.owner.data[TEXT] = "\n".join(part.get(TEXT, "") for part in [*items, made])
    listed = world.tables.classes[term].plural
    if listed != room.plural:
        made = {"@class": term, **made}
    _identify(world, term, made)
    for prop in world.tables.properties(term):
        if prop.term in _STAMPS and prop.jxa not in made:
            made[prop.jxa] = {"date": call.now}
    items.insert(0 if first else len(items), made)
    return _reference(world, room, made)


def _reference(world: AppWorld, room: NewObjectPlace, made: dict[str, Any]) -> AppReference:
    held = next(n for n in world.held(room.owner, room.plural) if n.data is made)
    return AppReference(world.tables.key, held.chain)


def _identify(world: AppWorld, term: str, made: dict[str, Any]) -> None:
    """Give a new object its id: a number that the world never gives twice, or a word with it."""
    prop = world.id_property(term)
    if prop is None or prop.jxa in made:
        return
    known = [world.id_of(node.data, node.term) for node in world.descendants(world.root)]
    numbers = [number for number in known if isinstance(number, int)]
    number = max([int(world.data.get("@next", 1)), *(number + 1 for number in numbers)])
    world.data["@next"] = number + 1
    word = world.tables.classes[term].jxa
    made[prop.jxa] = number if prop.type in ("integer", "number", "real") else f"{word}-{number}"


def _place(world: AppWorld, term: str, at: Any) -> tuple[NewObjectPlace, bool]:
    room: NewObjectPlace | None
    if isinstance(at, AppReference) and at.chain and at.chain[-1].kind == "l":
        *before, place = at.chain
        owner, plural = _object(world, tuple(before[:-1])), before[-1].value
        if not isinstance(owner.data.get(plural), list):
            plural = plural_for(world, owner, term) or plural
        return NewObjectPlace(owner, plural), place.value == "beginning"
    owner = _target(world, at) if at is not None else world.root
    plural = plural_for(world, owner, term)
    if plural is None and isinstance(at, AppReference) and at.chain and at.chain[-1].kind == "p":
        # `at: folder.notes` names the list itself.
        found = follow(world, at.chain)
        if isinstance(found, Many):
            return NewObjectPlace(_object(world, at.chain[:-1]), at.chain[-1].value), False
    room = room_for(world, owner, term)
    if room is None:
        raise EventRefusedError(-10024)
    return room, False


def _object(world: AppWorld, chain: Any) -> WorldObject:
    found = follow(world, chain)
    if isinstance(found, Value) and isinstance(found.value, str) and found.owner is not None:
        found.owner.data[found.name] = {TEXT: found.value}
        found = follow(world, chain)
    if not isinstance(found, WorldObject):
        raise EventRefusedError(-10024)
    return found


def _target(world: AppWorld, value: Any) -> WorldObject:
    """Return the object that a place or a direct parameter names: a reference or a path."""
    if isinstance(value, dict) and "path" in value:
        node = world.by_path(value["path"])
        if node is None:
            raise EventRefusedError(-43)
        return node
    if not isinstance(value, AppReference):
        raise EventRefusedError(-1700)
    found = follow(world, value.chain)
    if isinstance(found, Many):
        return _object(world, value.chain[:-1])
    if not isinstance(found, WorldObject):
        raise EventRefusedError(-1700)
    return found


def _nodes(world: AppWorld, direct: Any) -> list[WorldObject]:
    """Return the objects that a direct parameter names, lists and filters taken apart."""
    if isinstance(direct, list):
        return [node for item in direct for node in _nodes(world, item)]
    if isinstance(direct, AppReference):
        return _flat(follow(world, direct.chain))
    return [_target(world, direct)]


def _flat(found: Found) -> list[WorldObject]:
    if isinstance(found, Many):
        return [node for item in found.items for node in _flat(item)]
    if not isinstance(found, WorldObject):
        raise EventRefusedError(-1708)
    return [found]


def _remove(node: WorldObject) -> None:
    if node.home is None:
        raise EventRefusedError(-10003)
    items = node.home.items
    at = next((i for i, data in enumerate(items) if data is node.data), None)
    if at is None:
        # It was named twice in one list, and is gone.
        raise EventRefusedError(-1728)
    del items[at]


def _delete(call: VerbCall) -> Any:
    """An app with a `trash` keeps what is deleted there; elsewhere it is gone."""
    trash = call.world.data.get("trash")
    for node in _nodes(call.world, call.direct):
        _remove(node)
        if isinstance(trash, dict) and node.home is not None and node.home.owner.data is not trash:
            trash.setdefault(node.home.plural, []).append(node.data)
    return UNDEFINED


def _carry(call: VerbCall, node: WorldObject, data: dict[str, Any], to: Any) -> AppReference:
    room, first = _place(call.world, node.term, to)
    if call.world.tables.classes[node.term].plural != room.plural:
        data["@class"] = node.term
    items = room.owner.data.setdefault(room.plural, [])
    items.insert(0 if first else len(items), data)
    return _reference(call.world, room, data)


def _single(made: list[AppReference]) -> Any:
    return made[0] if len(made) == 1 else list(made)


def _move(call: VerbCall) -> Any:
    to = call.named.get("to")
    if to is None:
        raise EventRefusedError(-1715)
    moved = []
    for node in _nodes(call.world, call.direct):
        _place(call.world, node.term, to)
        _remove(node)
        moved.append(_carry(call, node, node.data, to))
    return _single(moved)


def _duplicate(call: VerbCall) -> Any:
    made = []
    for node in _nodes(call.world, call.direct):
        if node.home is None:
            raise EventRefusedError(-1708)
        data = copy.deepcopy(node.data)
        prop = call.world.id_property(node.term)
        if prop is not None:
            data.pop(prop.jxa, None)
        _identify(call.world, node.term, data)
        to = call.named.get("to")
        if to is not None:
            made.append(_carry(call, node, data, to))
            continue
        name = call.world.name_of(data)
        if name is not None:
            data["name"] = f"{name} copy"
        node.home.items.append(data)
        room = NewObjectPlace(node.home.owner, node.home.plural)
        made.append(_reference(call.world, room, data))
    return _single(made)


def _exists(call: VerbCall) -> bool:
    try:
        if isinstance(call.direct, AppReference):
            found = follow(call.world, call.direct.chain)
            return not (isinstance(found, Value) and found.value is None)
        _target(call.world, call.direct)
    except EventRefusedError:
        return False
    return True


def _count(call: VerbCall) -> int:
    if call.direct is None:
        raise EventRefusedError(-1701)
    if not isinstance(call.direct, AppReference):
        return len(call.direct) if isinstance(call.direct, list | str) else 1
    chain, each = call.direct.chain, call.named.get("each")
    found = follow(call.world, chain)
    if isinstance(each, str) and isinstance(found, WorldObject):
        term = call.world.tables.find_class(each)
        if term is None:
            raise EventRefusedError(-1700)
        listed = call.world.collection(found, call.world.tables.classes[term].plural)
        return len(listed or [])
    return _size(found)


def _size(found: Found) -> int:
    if isinstance(found, Many):
        return sum(_size(item) if isinstance(item, Many) else 1 for item in found.items)
    if isinstance(found, Value) and isinstance(found.value, list):
        return len(found.value)
    return 1


def _open(call: VerbCall) -> Any:
    """A path becomes a document, in an app that has documents; an object just opens."""
    directs = call.direct if isinstance(call.direct, list) else [call.direct]
    made = []
    for direct in directs:
        if isinstance(direct, AppReference):
            _nodes(call.world, direct)
        elif isinstance(direct, dict) and "path" in direct:
            room = room_for(call.world, call.world.root, "document")
            if room is not None:
                data = {"name": PurePosixPath(direct["path"]).name, "path": direct["path"]}
                room.owner.data.setdefault(room.plural, []).append(data)
                made.append(_reference(call.world, room, data))
    return _single(made) if made else UNDEFINED


def _close(call: VerbCall) -> Any:
    for node in _nodes(call.world, call.direct):
        _remove(node)
    return UNDEFINED


def _save(call: VerbCall) -> Any:
    target = call.named.get("in")
    for node in _nodes(call.world, call.direct) if call.direct is not None else []:
        if isinstance(target, dict) and "path" in target:
            node.data["path"] = target["path"]
            node.data["name"] = PurePosixPath(target["path"]).name
        if "modified" in node.data:
            node.data["modified"] = False
    return UNDEFINED


def _quit(call: VerbCall) -> Any:
    call.world.data["@running"] = False
    return UNDEFINED


def _get(call: VerbCall) -> Any:
    if not isinstance(call.direct, AppReference):
        raise EventRefusedError(-1700)
    return answer(call.world, follow(call.world, call.direct.chain))


def change(world: AppWorld, chain: Any, value: Any) -> None:
    """Set what `chain` names to `value`.

    Raises:
        EventRefusedError: What `follow`, `settable` and `check_value` raise.
    """
    if not chain or chain[-1].kind != "p":
        raise EventRefusedError(-10006)
    owner = follow(world, chain[:-1])
    if isinstance(owner, Value):
        owner = _object(world, chain[:-1])
    name = chain[-1].value
    for node in _flat(owner):
        term = node.term
        if name in node.data and term not in world.tables.classes:
            node.data[name] = stored(value)
            continue
        if term == APPLICATION and name == "frontmost":
            node.data[name] = bool(value)
            continue
        prop = settable(world.tables, term, name)
        check_value(world.tables, prop.type, value)
        node.attach()
        node.data[name] = stored(value)


def shift(world: AppWorld, place: str) -> None:
    """Move a list of the world by one: its last object comes first, all others one later."""
    chain = parse(place)
    owner = follow(world, chain[:-1])
    items = owner.data.get(chain[-1].value) if isinstance(owner, WorldObject) else None
    if isinstance(items, list) and items:
        items.insert(0, items.pop())


def _set(call: VerbCall) -> Any:
    if not isinstance(call.direct, AppReference):
        raise EventRefusedError(-1700)
    change(call.world, call.direct.chain, call.named.get("to"))
    return UNDEFINED


def _make(call: VerbCall) -> Any:
    named = call.named
    new = named.get("new")
    term = call.world.tables.find_class(new) if isinstance(new, str) else None
    if term is None:
        raise EventRefusedError(-10024 if isinstance(new, str) else -1715)
    record = named.get("withProperties") or {"record": {}}
    if not isinstance(record, dict) or "record" not in record:
        raise EventRefusedError(-1700)
    return make(call, term, record["record"], named.get("withData"), named.get("at"))


VERBS: Final[Mapping[str, Callable[[VerbCall], Any]]] = {
    "coregetd": _get,
    "coresetd": _set,
    "corecnte": _count,
    "coredoex": _exists,
    "corecrel": _make,
    "coredelo": _delete,
    "coreclon": _duplicate,
    "coremove": _move,
    "aevtodoc": _open,
    "coreclos": _close,
    "coresave": _save,
    "aevtquit": _quit,
    "miscactv": lambda _call: UNDEFINED,
    "ascrnoop": lambda _call: UNDEFINED,
    "aevtoapp": lambda _call: UNDEFINED,
    "aevtrapp": lambda _call: UNDEFINED,
}
"""Event -> what it does; others are logged and answered from `@results` or by their type."""
