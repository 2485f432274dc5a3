"""How the hard profile plays each fault of the field book; none of these knows an app.

`EVENT_FAULTS` stand around an event's work, `READ_FAULTS` between a world and who reads it, and
`prepare_world` changes a world before it is used first.
"""

import copy
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from iac_simulator.dictionary import class_descendants, element_class
from iac_simulator.errors import EventRefusedError
from iac_simulator.field_profile import (
    ODD,
    FieldProfile,
    FieldRow,
    Occasion,
    Perform,
    has_value,
    is_odd_object,
)
from iac_simulator.resolve import (
    FoundItems,
    FoundValue,
    assign_id,
    comparable_value,
    object_at,
    resolve_chain,
)
from iac_simulator.values import AppReference, is_mark, parse_instant, to_iso
from iac_simulator.world import AppWorld, ContainingList, Data, WorldObject

_TABLES: Final = tomllib.loads(Path(__file__).with_name("field_forms.toml").read_text("utf-8"))
FORMS: Final[Mapping[str, Mapping[str, Any]]] = _TABLES["form"]
"""Word of a row -> how a value of that form is made of the declared one."""

_Fault = Callable[[FieldProfile, FieldRow, Occasion, Perform], Any]


# Around the work of an event.


def perform_event(profile: FieldProfile, occasion: Occasion, perform: Perform) -> Any:
    """Do the work of an event as the rows in force have it, and take its time.

    Raises:
        EventRefusedError: As the work does, or a row says; -1712 where it takes too long.
    """
    profile.catch_up()
    profile.occasion = occasion
    cost, limit = profile.cost_of(occasion), profile.limit_of(occasion)
    profile.wait(min(cost, limit) / 1000)
    if cost > limit and occasion.reads:
        raise EventRefusedError(_TIMED_OUT)
    act = perform
    for row in reversed([*profile.event_rows(occasion, acts_on_events)]):
        act = partial(_strike, profile, row, occasion, act)
    answer = act(occasion.target)
    if cost > limit:
        raise EventRefusedError(_TIMED_OUT)
    return answer


_TIMED_OUT: Final = -1712


def _strike(
    profile: FieldProfile, row: FieldRow, occasion: Occasion, act: Perform, target: Any
) -> Any:
    profile.struck[row["id"]] += 1
    aimed = occasion._replace(target=target)
    return EVENT_FAULTS[row["play"]["fault"]](profile, row["play"], aimed, act)


def _refuse(_profile: FieldProfile, play: FieldRow, _o: Occasion, _act: Perform) -> Any:
    raise EventRefusedError(play["number"])


def _do_and_refuse(_profile: FieldProfile, play: FieldRow, o: Occasion, act: Perform) -> Any:
    act(o.target)
    raise EventRefusedError(play["number"])


def _hang(profile: FieldProfile, play: FieldRow, o: Occasion, act: Perform) -> Any:
    limit = profile.limit_of(o)
    stall = play.get("ms", limit)
    profile.wait(min(stall, limit) / 1000)
    if stall >= limit:
        raise EventRefusedError(_TIMED_OUT)
    return act(o.target)


def _crash(_profile: FieldProfile, play: FieldRow, o: Occasion, _act: Perform) -> Any:
    o.call.world.data["@running"] = False
    raise EventRefusedError(play["number"])


def _ask_person(profile: FieldProfile, play: FieldRow, o: Occasion, act: Perform) -> Any:
    if profile.dialogs == "wait":
        return _hang(profile, play, o, act)
    if profile.dialogs != "yes":
        raise EventRefusedError(-128)
    return act(o.target)


def _do_in_vain(_profile: FieldProfile, _play: FieldRow, o: Occasion, act: Perform) -> Any:
    before = copy.deepcopy(o.call.world.data)
    try:
        return act(o.target)
    finally:
        _restore(o.call.world.data, before)


def _restore(data: Data, before: Data) -> None:
    data.clear()
    data.update(before)


def _do_later(profile: FieldProfile, play: FieldRow, o: Occasion, act: Perform) -> Any:
    def happen() -> None:
        # Its object can be gone by now.
        with suppress(EventRefusedError):
            act(o.target)

    try:
        return _do_in_vain(profile, play, o, act)
    finally:
        # What is answered with an error may be done all the same.
        profile.later.append((profile.clock() + play.get("ms", 0) / 1000, happen))


def _do_for_a_while(profile: FieldProfile, play: FieldRow, o: Occasion, act: Perform) -> Any:
    before = [(node.data, copy.deepcopy(node.data)) for node in o.objects()]
    answer = act(o.target)

    def revert() -> None:
        for data, old in before:
            _restore(data, old)

    profile.later.append((profile.clock() + play.get("ms", 0) / 1000, revert))
    return answer


def _affected(o: Occasion, before: list[WorldObject], answer: Any) -> list[WorldObject]:
    """Return the objects that an event made, or else was about."""
    if isinstance(answer, AppReference) and answer.chain:
        try:
            return [object_at(o.call.world.friendly, answer.chain)]
        except EventRefusedError:
            return before
    return before


def _renumber(_profile: FieldProfile, _play: FieldRow, o: Occasion, act: Perform) -> Any:
    before = o.objects()
    if o.reads:
        # What is read has the new ids; those that were kept from before are gone.
        for node in before:
            _give_new_id(o.call.world, node)
    answer = act(o.target)
    for node in () if o.reads else _affected(o, before, answer):
        _give_new_id(o.call.world, node)
    return answer


def _give_new_id(world: AppWorld, node: WorldObject) -> None:
    prop = world.id_property(node.term)
    if prop is not None:
        node.data.pop(prop.jxa, None)
        assign_id(world, node.term, node.data)


def _do_more(_profile: FieldProfile, _play: FieldRow, o: Occasion, act: Perform) -> Any:
    """A text that was set gets a line more; else a copy of the object stands where it was."""
    if o.reads:
        return act(o.target)
    before = o.objects()
    homes = [(node, copy.deepcopy(node.data)) for node in before if node.home is not None]
    answer = act(o.target)
    if o.verb == "set":
        for node in before:
            text = node.data.get(o.chain[-1].value)
            if isinstance(text, str):
                node.data[o.chain[-1].value] = f"{text}\n"
                return answer
    if not homes:
        homes = [(node, copy.deepcopy(node.data)) for node in _affected(o, [], answer)]
    for node, data in homes:
        if node.home is not None:
            copied = WorldObject(data, node.term, node.chain)
            _give_new_id(o.call.world, copied)
            node.home.items.append(data)
    return answer


def _do_less(_profile: FieldProfile, play: FieldRow, o: Occasion, act: Perform) -> Any:
    """The last of several objects, or all but the name of a new one, or what text carries."""
    several = o.target if isinstance(o.target, list) else []
    before = o.objects()
    answer = act(several[:-1] if len(several) > 1 else o.target)
    for node in _affected(o, before, answer):
        for name in o.values if o.verb == "make" else ():
            if name != "name":
                node.data.pop(name, None)
        for name, value in node.data.items() if o.verb != "make" else ():
            if isinstance(value, str):
                node.data[name] = re.sub(r"<(\w+)[^>]*>", r"<\1>", value)
            elif isinstance(value, list) and name.casefold() in play["part"].casefold():
                value.clear()
    return answer


def _do_to_another(profile: FieldProfile, _play: FieldRow, o: Occasion, act: Perform) -> Any:
    """A new object goes to the usual place; else the neighbour is meant, or nothing happens."""
    return _aim(profile, o, act, 1)


def _do_to_front(profile: FieldProfile, _play: FieldRow, o: Occasion, act: Perform) -> Any:
    """The first object of the list is meant; an app that is not in front has nothing to read."""
    if o.reads and "@front" not in o.call.world.data:
        return None
    return _aim(profile, o, act, 0)


def _aim(profile: FieldProfile, o: Occasion, act: Perform, place: int) -> Any:
    if o.verb == "make":
        return act(None)
    picked = [end for end, step in enumerate(o.chain) if step.kind in ("id", "n", "i", "w")]
    if not picked:
        return _do_in_vain(profile, {}, o, act)
    end = picked[-1] + 1
    try:
        found = resolve_chain(o.call.world.friendly, o.chain[:end])
    except EventRefusedError:
        return act(o.target)
    node = found.items[0] if isinstance(found, FoundItems) and found.items else found
    if not isinstance(node, WorldObject) or node.home is None:
        return _do_in_vain(profile, {}, o, act)
    at = next(i for i, data in enumerate(node.home.items) if data is node.data)
    index = (at + 1) % len(node.home.items) if place else 0
    another = o.call.world.list_item(node.home.owner, node.home.plural, index).chain
    return act(AppReference(o.target.key, (*another, *o.chain[end:])))


def _answer_in_form(_profile: FieldProfile, play: FieldRow, o: Occasion, act: Perform) -> Any:
    return change_form(play.get("form") or play.get("part", ""), act(o.target))


def _answer_nothing(_profile: FieldProfile, _play: FieldRow, o: Occasion, act: Perform) -> Any:
    act(o.target)
    return None


def _refuse_several(_profile: FieldProfile, play: FieldRow, o: Occasion, act: Perform) -> Any:
    if len(o.objects()) > 1:
        raise EventRefusedError(play["number"])
    return act(o.target)


def _shift_list(profile: FieldProfile, play: FieldRow, o: Occasion, act: Perform) -> Any:
    """The first time that several objects were read, the last of them comes first afterwards."""
    answer = act(o.target)
    nodes, key = o.objects(), f"{play}"
    if len(nodes) > 1 and nodes[0].home is not None and key not in profile.seen:
        profile.seen[key] = (0.0, None)
        items = nodes[0].home.items
        items.insert(0, items.pop())
    return answer


EVENT_FAULTS: Final[Mapping[str, _Fault]] = {
    "no-effect": _do_in_vain,
    "instead": _do_to_another,
    "drops": _do_less,
    "extra": _do_more,
    "reverts": _do_for_a_while,
    "late": _do_later,
    "stale": _do_later,
    "error": _refuse,
    "denied": _refuse,
    "done-anyway": _do_and_refuse,
    "hang": _hang,
    "crash": _crash,
    "dialog": _ask_person,
    "front": _do_to_front,
    "renumber": _renumber,
    "column-fails": _refuse_several,
    "order": _shift_list,
    "form": _answer_in_form,
    "localised": _answer_in_form,
    "missing": _answer_nothing,
}


def acts_on_events(play: FieldRow) -> bool:
    """Say whether a row stands around the work of events, not between a world and its reader."""
    fault, named = play["fault"], "property" in play
    if fault == "order":
        return str(play["value"]).startswith("shifts")
    if fault in ("missing", "column-fails"):
        return "verb" in play
    if fault == "localised":
        return "of" not in play
    return fault in EVENT_FAULTS and ("verb" in play or not named or fault not in ("form", "stale"))


# Between a world and its reader.


@dataclass(frozen=True)
class FieldReading:
    """What those who read a world find there by the rows in force."""

    profile: FieldProfile
    forms: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)

    def show_value(self, world: AppWorld, node: WorldObject, prop: str, found: Any) -> Any:
        """Return what the property of an object reads as.

        Raises:
            EventRefusedError: One object of a column cannot be read.
        """
        for row in self.profile.reading_rows(world, READ_FAULTS, node.term, prop):
            play = row["play"]
            value = found.value if isinstance(found, FoundValue) else found
            if not has_value(world.tables, node, play):
                continue
            self.profile.struck[row["id"]] += 1
            if play["fault"] == "stale":
                found = self._remembered(f"{row['id']} {node.chain}", play, found)
            elif play["fault"] == "form":
                is_whole = not FORMS[play["form"]].get("odd") or is_odd_object(node)
                if isinstance(found, FoundValue) and is_whole:
                    found = found._replace(value=change_form(play["form"], value))
            elif is_odd_object(node):
                if play["fault"] == "column-fails":
                    raise EventRefusedError(play["number"])
                found = FoundValue(None)
        return found

    def _remembered(self, key: str, play: FieldRow, found: Any) -> Any:
        now = self.profile.clock()
        until, old = self.profile.seen.get(key, (0.0, None))
        if now < until:
            return old
        seconds = play.get("ms", _FOR_EVER) / 1000
        self.profile.seen[key] = (now + seconds, found)
        return found

    def show_id(self, world: AppWorld, term: str, ident: Any) -> Any:
        """Return the id by which an object is named."""
        prop = world.id_property(term)
        for form in self._known_forms(world, term, prop.term if prop else "id"):
            ident = change_form(form, ident)
        return ident

    def _known_forms(self, world: AppWorld, term: str, prop: str) -> list[str]:
        """Return the forms that a property of every object of a class has."""
        key = (world.tables.key, term, prop)
        if key not in self.forms:
            rows = [*self.profile.reading_rows(world, ("form",), term, prop)]
            self.profile.struck.update(row["id"] for row in rows)
            forms = dict.fromkeys(row["play"]["form"] for row in rows)
            self.forms[key] = [form for form in forms if FORMS[form] and "odd" not in FORMS[form]]
        return self.forms[key]

    def list_objects(
        self, world: AppWorld, owner: WorldObject, plural: str, nodes: list[WorldObject]
    ) -> list[WorldObject]:
        """Return what a collection is said to hold: the last of several can be left out."""
        listed = element_class(world.tables, None, plural) or "item"
        nested = [*self.profile.reading_rows(world, ("by-path",), listed)]
        if nested and owner.term not in class_descendants(world.tables, listed):
            self.profile.struck.update(row["id"] for row in nested)
            nodes = [*_all_levels(world, nodes, plural)]
        for row in self._hiding_rows(world, owner, listed):
            left = [one for one in nodes if not _is_hidden(world, row["play"], one)]
            if len(nodes) > 1 and len(left) < len(nodes):
                self.profile.struck[row["id"]] += 1
                nodes = left
        return nodes

    def hides_any(self, world: AppWorld, home: ContainingList, end: int, listed: str) -> bool:
        """Say whether an object of a list before a place is left out."""
        odd = any(ODD in data for data in home.items[:end])
        rows = self._hiding_rows(world, home.owner, listed) if odd else ()
        return any("having" not in row["play"] for row in rows)

    def _hiding_rows(self, world: AppWorld, owner: WorldObject, listed: str) -> Iterator[FieldRow]:
        for row in self.profile.reading_rows(world, ("missing",), owner.term):
            since, _ = self.profile.seen.setdefault(row["id"], (self.profile.clock(), None))
            is_over = self.profile.clock() - since > row["play"].get("ms", _FOR_EVER) / 1000
            if not is_over and _leaves_out(world, row["play"], listed):
                yield row

    def find_elsewhere(
        self, world: AppWorld, plural: str, matches: Callable[[WorldObject], bool]
    ) -> WorldObject | None:
        """Return the object of a class that is found although another container was named."""
        term = element_class(world.tables, None, plural) or ""
        for row in self.profile.reading_rows(world, ("unscoped",), term):
            for node in world.descendant_objects(world.root):
                if world.tables.is_descendant(node.term, term) and matches(node):
                    self.profile.struck[row["id"]] += 1
                    return node
        return None

    def lookup_name(self, world: AppWorld, node: WorldObject) -> str | None:
        """Return the name by which an object is found: of nested ones the path."""
        name, owner = world.object_name(node.data), node.owner
        for form in self._known_forms(world, node.term, "name") if name else ():
            name = change_form(form, name)
        rows = self.profile.reading_rows(world, ("by-path",), node.term)
        if owner is None or owner.term != node.term or next(rows, None) is None:
            return name
        return f"{self.lookup_name(world, owner)}/{name}"


_FOR_EVER: Final = 10**12
READ_FAULTS: Final = ("form", "missing", "column-fails", "stale")


def _all_levels(world: AppWorld, nodes: list[WorldObject], plural: str) -> Iterator[WorldObject]:
    for node in nodes:
        yield node
        yield from _all_levels(world, [*world.list_items(node, plural)], plural)


def _is_hidden(world: AppWorld, play: FieldRow, node: WorldObject) -> bool:
    return has_value(world.tables, node, play) if "having" in play else is_odd_object(node)


def _leaves_out(world: AppWorld, play: FieldRow, listed: str) -> bool:
    """Say whether a row leaves out objects of a class: `part` can name the one that it means."""
    part = play.get("part", "")
    words = {part, *part.split()}
    named = {world.tables.find_class(word) for word in words} - {None}
    return not named or listed in named


# Before a world is used.


def prepare_world(profile: FieldProfile, world: AppWorld) -> None:
    """Give a world the order, names and doubles that the rows in force say, and mark the odd."""
    for row in profile.rows_in_force(world.tables):
        play = row.get("play", {})
        if play.get("fault") not in _PREPARED or acts_on_events(play) or not profile.acts(row):
            continue
        lists = [*_lists_of(world, play.get("of", ""))]
        profile.struck[row["id"]] += 1
        _PREPARED[play["fault"]](world, play, lists)
    _mark_odd(world.data)


def _mark_odd(data: Data) -> None:
    for key, items in data.items():
        if isinstance(items, list) and not key.startswith("@"):
            objects = [item for item in items if isinstance(item, dict) and not is_mark(item)]
            if len(objects) > 1:
                objects[-1][ODD] = True
            for item in objects:
                _mark_odd(item)


def _lists_of(world: AppWorld, term: str) -> Iterator[list[WorldObject]]:
    """Yield the lists of a world that hold objects of a class, empty for any."""
    for node in [world.root, *world.descendant_objects(world.root)]:
        homes = {child.home.plural: child for child in world.all_list_items(node) if child.home}
        for plural, child in homes.items():
            if not term or world.tables.is_descendant(child.term, term):
                yield [*world.list_items(node, plural)]


def _sort_lists(world: AppWorld, play: FieldRow, lists: list[list[WorldObject]]) -> None:
    """By the first date of the objects where they have one; else the other way round."""
    for nodes in lists:
        prop = next((p for p in world.tables.properties(nodes[0].term) if p.type == "date"), None)
        items = nodes[0].home.items if nodes[0].home is not None else []
        dates: list[Any] = [
            comparable_value(data.get(prop.jxa)) if prop else None for data in items
        ]
        if all(isinstance(date, datetime) for date in dates):
            ranked = sorted(range(len(items)), key=dates.__getitem__)
            items[:] = [items[at] for at in ranked]
        if prop is None or not str(play["value"]).startswith("oldest"):
            items.reverse()


def _localise_names(world: AppWorld, play: FieldRow, lists: list[list[WorldObject]]) -> None:
    nodes = [node for nodes in lists for node in nodes]
    nodes += [n for n in world.descendant_objects(world.root) if n.term == play["of"]]
    for node in nodes:
        name = world.object_name(node.data) or ""
        if name in _TABLES["names"]:
            node.data["name"] = _TABLES["names"][name]
            _rename_references(world.data, f'["{name}"]', f'["{_TABLES["names"][name]}"]')


def _rename_references(value: Any, old: str, new: str) -> None:
    for part in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        if is_mark(part) and "ref" in part:
            part["ref"] = part["ref"].replace(old, new)
        else:
            _rename_references(part, old, new)


def _double_names(world: AppWorld, _play: FieldRow, lists: list[list[WorldObject]]) -> None:
    for nodes in lists:
        if nodes[0].home is not None:
            data = copy.deepcopy(nodes[0].data)
            _give_new_id(world, WorldObject(data, nodes[0].term, ()))
            nodes[0].home.items.insert(0, data)


_PREPARED: Final[Mapping[str, Callable[[AppWorld, FieldRow, list[list[WorldObject]]], None]]] = {
    "order": _sort_lists,
    "localised": _localise_names,
    "ambiguous": _double_names,
}


# Forms.


def change_form(word: str, value: Any) -> Any:
    """Return a value of the declared form in the one that `word` says; others stay as they are."""
    if isinstance(value, list):
        return [change_form(word, item) for item in value]
    form = FORMS[word]
    if isinstance(value, dict) and "date" in value:
        moment = parse_instant(value["date"]) + timedelta(seconds=form.get("seconds", 0))
        if "day" in form and moment.time() != time():
            moment = moment.replace(hour=0, minute=0, second=0) + timedelta(days=form["day"])
        return {"date": to_iso(moment.replace(year=form.get("year", moment.year)))}
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    if isinstance(value, int | float):
        value = value * form.get("factor", 1) + form.get("add", 0)
        return form["number"].format(value) if "number" in form else value
    for pattern, new in form.get("change", {}).items():
        value = re.sub(pattern, new, value)
    return form["text"].format(value) if "text" in form else value[: form.get("cut")]
