"""What the standard commands do to a world. Each takes a call and returns the app's answer."""

import contextlib
import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Final

from iac_runtime.tools.tables import APPLICATION
from iac_simulator.app_behaviour import (
    check_allowed,
    fill_new_object,
    mark_modified,
    update_dependents,
)
from iac_simulator.dictionary import check_value, element_class, settable_property
from iac_simulator.errors import EventRefusedError
from iac_simulator.resolve import (
    Found,
    FoundItems,
    FoundValue,
    NewObjectPlace,
    VerbCall,
    answer_value,
    assign_id,
    direct_objects,
    flatten_objects,
    insert_object,
    object_at,
    place_for,
    resolve_chain,
    target_object,
)
from iac_simulator.values import (
    UNDEFINED,
    AppReference,
    Chain,
    ChainStep,
    UnmadeObject,
    parse_chain,
    record_fields,
    stored_value,
)
from iac_simulator.world import TEXT, AppWorld, Data, WorldObject, handle_disk_request, value_text

_STAMPS: Final = ("creation date", "modification date", "date created", "date modified")


def _remove_object(node: WorldObject) -> None:
    if node.home is None:
        raise EventRefusedError(-10003)
    items = node.home.items
    at = next((i for i, data in enumerate(items) if data is node.data), None)
    if at is None:
        # It was named twice in one list, and is gone.
        raise EventRefusedError(-1728)
    del items[at]


def _delete_objects(call: VerbCall, trash: Any = None) -> Any:
    """Remove objects; an app with a `trash` keeps there what is deleted."""
    for node in direct_objects(call.world, call.direct):
        _remove_object(node)
        mark_modified(call, node.owner)
        if isinstance(trash, dict) and node.home is not None and node.home.owner.data is not trash:
            trash.setdefault(node.home.plural, []).append(node.data)
    return UNDEFINED


def _single_or_list(made: list[AppReference]) -> Any:
    return made[0] if len(made) == 1 else list(made)


def _move_objects(call: VerbCall) -> Any:
    to = call.named.get("to")
    if to is None:
        raise EventRefusedError(-1715)
    moved = []
    for node in direct_objects(call.world, call.direct):
        place_for(call.world, node.term, to)
        _remove_object(node)
        # A place named by position may be another one now.
        place = place_for(call.world, node.term, to)
        try:
            _make_room(call, place, node)
        except EventRefusedError:
            node.home.items.append(node.data) if node.home else None
            raise
        mark_modified(call, node.owner)
        mark_modified(call, place.owner)
        moved.append(insert_object(call.world, place, node.term, node.data))
    return _single_or_list(moved)


def _duplicate_objects(call: VerbCall) -> Any:
    world, to = call.world, call.named.get("to")
    made = []
    for node in direct_objects(world, call.direct):
        if node.home is None:
            raise EventRefusedError(-1708)
        data = copy.deepcopy(node.data)
        prop = world.id_property(node.term)
        if prop is not None:
            data.pop(prop.jxa, None)
        assign_id(world, node.term, data)
        if to is not None:
            place = place_for(world, node.term, to)
        else:
            name = world.object_name(data)
            if name is not None:
                data["name"] = f"{name} copy"
            node.attach()
            place = NewObjectPlace(node.home.owner, node.home.plural)
        _make_room(call, place, replace(node, data=data))
        mark_modified(call, place.owner)
        made.append(insert_object(world, place, node.term, data))
    return _single_or_list(made)


def _make_room(call: VerbCall, place: NewObjectPlace, node: WorldObject) -> None:
    """Refuse an object whose name is taken where it goes, unless it is to replace the other."""
    if call.named.get("replacing") is True:
        name = call.world.object_name(node.data)
        for other in list(call.world.all_list_items(place.owner)):
            if other.data is not node.data and call.world.object_name(other.data) == name:
                _remove_object(other)
    check_allowed(call.world, place.owner, node.term, node.data)


def _object_exists(call: VerbCall) -> bool:
    try:
        if isinstance(call.direct, AppReference):
            target = resolve_chain(call.world, call.direct.chain)
            return not (isinstance(target, FoundValue) and target.value is None)
        target_object(call.world, call.direct)
    except EventRefusedError:
        return False
    return True


def _count_objects(call: VerbCall) -> int:
    if call.direct is None:
        raise EventRefusedError(-1701)
    if not isinstance(call.direct, AppReference):
        return len(call.direct) if isinstance(call.direct, list | str) else 1
    chain, each = call.direct.chain, call.named.get("each")
    target = resolve_chain(call.world, chain)
    if isinstance(each, str) and isinstance(target, WorldObject):
        term = call.world.tables.find_class(each)
        if term is None:
            raise EventRefusedError(-1700)
        listed = call.world.find_collection(target, call.world.tables.classes[term].plural)
        return len(listed or [])
    return _found_size(target)


def _found_size(target: Found) -> int:
    if isinstance(target, FoundItems):
        return sum(
            _found_size(item) if isinstance(item, FoundItems) else 1 for item in target.items
        )
    if isinstance(target, FoundValue) and isinstance(target.value, list):
        return len(target.value)
    return 1


def objects_examined(world: AppWorld, chain: Chain) -> int:
    """Return how many objects the app goes through to find what `chain` names."""
    most = 1
    with contextlib.suppress(EventRefusedError):
        for end in range(1, len(chain) + 1):
            target = resolve_chain(world, chain[:end])
            most = max(most, _found_size(target) if isinstance(target, FoundItems) else 1)
    return most


def _open_documents(call: VerbCall) -> Any:
    """A path becomes a document, in an app that has documents; an object just opens."""
    made = []
    for direct in call.direct if isinstance(call.direct, list) else [call.direct]:
        if isinstance(direct, AppReference):
            direct_objects(call.world, direct)
        elif isinstance(direct, dict) and "path" in direct:
            data = {"name": PurePosixPath(direct["path"]).name, "path": direct["path"]}
            with contextlib.suppress(EventRefusedError):
                place = place_for(call.world, "document", None)
                made.append(insert_object(call.world, place, "document", data))
    return _single_or_list(made) if made else UNDEFINED


def _save_documents(call: VerbCall) -> Any:
    target = call.named.get("in")
    for node in direct_objects(call.world, call.direct) if call.direct is not None else []:
        if isinstance(target, dict) and "path" in target:
            node.data["path"] = target["path"]
            with contextlib.suppress(EventRefusedError):
                # Where an app of the Mac that is simulated has a disk, the file lies there.
                text = value_text(node.data) or value_text(node.data.get("text")) or ""
                request = {"does": "write", "path": target["path"], "to": text}
                handle_disk_request(call.worlds, request, call.now)
            node.data["name"] = PurePosixPath(target["path"]).name
        if "modified" in node.data:
            node.data["modified"] = False
    return UNDEFINED


def _quit_app(call: VerbCall) -> Any:
    call.world.data["@running"] = False
    return UNDEFINED


def _get_value(call: VerbCall) -> Any:
    return answer_value(call.world, resolve_chain(call.world, _direct_chain(call)))


def _direct_chain(call: VerbCall) -> Chain:
    if not isinstance(call.direct, AppReference):
        raise EventRefusedError(-1700)
    return call.direct.chain


def set_value(call: VerbCall, chain: Chain, value: Any) -> None:
    """Set what `chain` names to `value`.

    Raises:
        EventRefusedError: What `resolve_chain`, `settable_property`, `check_value` and
            `check_allowed` raise.
    """
    world = call.world
    if not chain or chain[-1].kind != "p":
        raise EventRefusedError(-10006)
    owner = resolve_chain(world, chain[:-1])
    if isinstance(owner, FoundValue):
        owner = object_at(world, chain[:-1])
    name = chain[-1].value
    for node in flatten_objects(owner):
        term = node.term
        if name in node.data and term not in world.tables.classes:
            node.data[name] = stored_value(value)
            continue
        if term == APPLICATION and name == "frontmost":
            node.data[name] = bool(value)
            continue
        prop = settable_property(world.tables, term, name)
        check_value(world.tables, prop.type, value)
        node.attach()
        before = dict(node.data)
        node.data[name] = stored_value(value)
        try:
            check_allowed(world, node.owner or world.root, term, node.data)
        except EventRefusedError:
            node.data.clear()
            node.data.update(before)
            raise
        update_dependents(call, node, name)


def shift_list(world: AppWorld, place: str, how: str) -> None:
    """Move a list of the world: `reorder` (its last object comes first), `insert` (a copy of its
    last object comes first, with an id of its own), `remove` (its first goes), or `replace` (both).
    """
    chain = parse_chain(place)
    owner = resolve_chain(world, chain[:-1])
    items = owner.data.get(chain[-1].value) if isinstance(owner, WorldObject) else None
    if not isinstance(owner, WorldObject) or not isinstance(items, list) or not items:
        return
    if how == "reorder":
        items.insert(0, items.pop())
        return
    node = list(world.list_items(owner, chain[-1].value))[-1]
    made = copy.deepcopy(node.data)
    prop = world.id_property(node.term)
    if prop is not None:
        made.pop(prop.jxa, None)
    # Before anything goes, so that an id that goes with it is not given again.
    assign_id(world, node.term, made)
    if how != "insert":
        del items[0]
    if how != "remove":
        items.insert(0, made)


def make_object(
    call: VerbCall, term: str, properties: Mapping[str, Any], data: Any, at: Any
) -> AppReference:
    """Make a `term` and return the reference to it.

    Raises:
        EventRefusedError: -10024 it has no place there; what `settable_property`, `check_value` and
            `check_allowed` raise.
    """
    world = call.world
    made: Data = {}
    inside: list[tuple[str, UnmadeObject]] = []
    for name, value in properties.items():
        items = value if isinstance(value, list) else [value]
        new = [item for item in items if isinstance(item, UnmadeObject)]
        if new and len(new) == len(items) and element_class(world.tables, term, name):
            inside += [(name, item) for item in new]
            continue
        prop = settable_property(world.tables, term, name)
        check_value(world.tables, prop.type, value)
        made[name] = stored_value(value)
    if isinstance(data, str):
        made[TEXT] = data
    place = place_for(world, term, at)
    # The paragraphs that a text has without being told apart.
    lines = str(place.owner.data.get(TEXT, "")).splitlines() if place.plural == "paragraphs" else ()
    items = place.owner.data.setdefault(place.plural, [{TEXT: line} for line in lines])
    place.owner.attach()
    check_allowed(world, place.owner, term, made, new=True)
    if isinstance(data, str) and TEXT in place.owner.data:
        place.owner.data[TEXT] = "\n".join(part.get(TEXT, "") for part in [*items, made])
    assign_id(world, term, made)
    for prop in world.tables.properties(term):
        if prop.term in _STAMPS and prop.jxa not in made:
            made[prop.jxa] = {"date": call.now}
    for name in properties:
        update_dependents(call, WorldObject(made, term, ()), name)
    mark_modified(call, place.owner)
    fill_new_object(world, term, made)
    made_reference = insert_object(world, place, term, made)
    for name, item in inside:
        within = world.make_reference((*made_reference.chain, ChainStep("p", name)))
        make_object(call, item.term, item.properties, None, within)
    return made_reference


def _set_direct(call: VerbCall) -> Any:
    set_value(call, _direct_chain(call), call.named.get("to"))
    return UNDEFINED


def _make_from_call(call: VerbCall) -> Any:
    named = call.named
    new = named.get("new")
    term = call.world.tables.find_class(new) if isinstance(new, str) else None
    if term is None:
        raise EventRefusedError(-10024 if isinstance(new, str) else -1715)
    properties = record_fields(named.get("withProperties") or {"record": {}})
    if properties is None:
        raise EventRefusedError(-1700)
    return make_object(call, term, properties, named.get("withData"), named.get("at"))


VERBS: Final[Mapping[str, Callable[[VerbCall], Any]]] = {
    "coregetd": _get_value,
    "coresetd": _set_direct,
    "corecnte": _count_objects,
    "coredoex": _object_exists,
    "corecrel": _make_from_call,
    "coredelo": lambda call: _delete_objects(call, call.world.data.get("trash")),
    "coreclon": _duplicate_objects,
    "coremove": _move_objects,
    "aevtodoc": _open_documents,
    "coreclos": _delete_objects,
    "coresave": _save_documents,
    "aevtquit": _quit_app,
    **dict.fromkeys(("miscactv", "ascrnoop", "aevtoapp", "aevtrapp"), lambda _call: UNDEFINED),
}
"""Event -> what it does; others are logged and answered from `@results` or by their type."""
