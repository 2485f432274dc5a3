"""What an app's dictionary says: what a name means, and which values an app accepts.

Since 10.11 any term of a dictionary is accepted on any object (JXA release notes 10.11), so a name
that the object's own class lacks is looked up in the whole dictionary before it counts as unknown.
JXA itself checks no value since then; the app refuses, by the numbers of Apple's error tables.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Final, Literal, NamedTuple

from iac_base.words import fold_name
from iac_runtime.tool import Enum, Property
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_runtime.types import Reading, find_type, parse_type
from iac_simulator.errors import EventRefusedError
from iac_simulator.values import (
    AppReference,
    Chain,
    Undefined,
    UnmadeObject,
    format_chain,
    record_fields,
)

Kind = Literal["application", "object", "elements", "value", "unknown", "class"]

STANDARD_PROPERTIES = ("id", "name", "version", "frontmost", "running")
"""What every application object answers, dictionary or not."""

_ANYWHERE = ("class", "properties", "id", "name")


class NameMeaning(NamedTuple):
    """What a chain denotes: its kind, its class if it has one, its property if it is one."""

    kind: Kind
    term: str | None = None
    prop: Property | None = None


def class_of_type(tables: Tables, type_: str) -> str | None:
    """Return the first class among the alternatives of `type_`."""
    return next((row.name for row in parse_type(type_) if row.name in tables.classes), None)


def property_named(tables: Tables, term: str | None, name: str) -> Property | None:
    """Return the property of `term` with the JXA name `name`; any class where `term` is None."""
    if term is not None:
        return next((prop for prop in tables.properties(term) if prop.jxa == name), None)
    rows = (prop for row in tables.classes.values() for prop in row.properties)
    return next((prop for prop in rows if prop.jxa == name), None)


def property_of_kin(tables: Tables, term: str | None, name: str) -> Property | None:
    """Return a property that an object listed as `term` may have: its class's or a subclass's."""
    own = property_named(tables, term, name)
    if own is not None or term is None:
        return own
    kin = (property_named(tables, sub, name) for sub in class_descendants(tables, term))
    return next(filter(None, kin), None)


def element_class(tables: Tables, term: str | None, plural: str) -> str | None:
    """Return the class whose collection on `term` is `plural`; any class where `term` is None.

    What `term` lists as its elements may also be asked for by the name of a subclass.
    """
    named = [name for name, row in tables.classes.items() if row.plural == plural]
    if term is None:
        return named[0] if named else None
    for element in tables.elements(term) if named else ():
        # The class itself goes before its subclasses.
        for name in sorted(named, key=lambda name: name != element.term):
            if tables.is_descendant(name, element.term):
                return name
    return None


@lru_cache(maxsize=4096)
def class_descendants(tables: Tables, term: str) -> tuple[str, ...]:
    """Return `term` and the classes that descend from it."""
    return tuple(name for name in tables.classes if tables.is_descendant(name, term))


def member_names(tables: Tables, term: str) -> list[str]:
    """Return the JXA names of what objects of `term` have."""
    listed = (row.term for row in tables.elements(term) if row.term in tables.classes)
    plurals = (tables.classes[name].plural for name in listed)
    return [*(prop.jxa for prop in tables.properties(term)), *plurals]


def unknown_name(tables: Tables, chain: Chain) -> str | None:
    """Return the first name of `chain` that the dictionary lacks; commands are not looked at."""
    named = (end for end, step in enumerate(chain, 1) if step.kind == "p")
    unknown = (end for end in named if chain_meaning(tables, chain[:end]).kind == "unknown")
    return next((str(chain[end - 1].value) for end in unknown), None)


def is_member(tables: Tables, term: str | None, name: str) -> bool:
    """Say whether `name` after a collection of `term` is a term; else it names an object.

    `layers["a"]` and `layers.a` are one expression in JavaScript. A property counts if an object of
    the collection can have it; a collection counts wherever the dictionary has it.
    """
    known = term if term in tables.classes else None
    member = property_of_kin(tables, known, name) or element_class(tables, None, name)
    return name in _ANYWHERE or member is not None


def chain_meaning(tables: Tables, chain: Chain) -> NameMeaning:
    """Return what `chain` denotes; commands are not looked at."""
    place = NameMeaning("application", APPLICATION)
    for kind, value in chain:
        if kind == "p":
            place = _name_meaning(tables, place, value)
        elif kind in ("i", "n", "id", "o", "x"):
            place = place if place.kind == "unknown" else NameMeaning("object", place.term)
        elif kind in ("w", "r"):
            place = NameMeaning("elements", place.term)
        elif kind == "new":
            place = NameMeaning("object", value)
    return place


def _name_meaning(tables: Tables, owner: NameMeaning, name: str) -> NameMeaning:
    if owner.kind == "unknown":
        return owner
    for term in [owner.term, None] if owner.term is not None else [None]:
        prop = property_of_kin(tables, term, name)
        if prop is not None:
            cls = class_of_type(tables, prop.type)
            return NameMeaning("object" if cls else "value", cls, prop)
        cls = element_class(tables, term, name)
        if cls is not None:
            return NameMeaning("elements", cls)
    if owner.kind == "application":
        # The constructor of a class: `OutgoingMessage`, `UIElement`.
        wanted = name.casefold() if name[:1].isupper() else None
        terms = (term for term, row in tables.classes.items() if row.jxa.casefold() == wanted)
        cls = next(terms, None)
        if cls is not None:
            return NameMeaning("class", cls)
        if name in STANDARD_PROPERTIES:
            return NameMeaning("value")
    return NameMeaning("value" if name in _ANYWHERE else "unknown")


SAVE_OPTIONS: Final[Enum] = (("yes", "yes "), ("no", "no  "), ("ask", "ask "))
"""An enumeration that every app knows, in its dictionary or not."""

ANY_ITEM: Final = "cobj"
"""The code of the class that every object is of; JXA counts by it."""

_TYPES: Final = ("type", "type class", "class")


def enumeration_rows(tables: Tables, term: str) -> Enum:
    """Return the rows of the enumeration `term`; empty for what is none."""
    return tables.enums.get(term) or (SAVE_OPTIONS if term == "save options" else ())


def encode_value(tables: Tables, value: Any, type_: str) -> Any:
    """Return `value` for a parameter of `type_` in the log's notation.

    Raises:
        EventRefusedError: -1700: undefined, or an object that exists in the script only.
    """
    if isinstance(value, Undefined):
        raise EventRefusedError(-1700)
    if isinstance(value, list):
        return [encode_value(tables, item, type_) for item in value]
    if isinstance(value, AppReference):
        return {"ref": format_chain(value.chain)}
    if isinstance(value, str):
        return _encode_word(tables, value, type_)
    record = record_fields(value)
    if record is None:
        return value
    known = (tables.records[term] for term, _ in parse_type(type_) if term in tables.records)
    rows = {
        row.jxa: row
        for record_type in reversed(list(known))
        for row in reversed(record_type.properties)
    }
    return {"record": _encode_record(tables, record, rows.get)}


def _encode_word(tables: Tables, value: str, type_: str) -> Any:
    for term, _ in parse_type(type_):
        for name, code in enumeration_rows(tables, term):
            if name == value or fold_name(name) == fold_name(value) != "":
                return {"enum": code}
        if term in _TYPES:
            cls = tables.find_class(value)
            if cls is not None or value == "item":
                return {"type": tables.classes[cls].code if cls else ANY_ITEM}
    return value


def _encode_record(
    tables: Tables, record: Mapping[str, Any], find: Callable[[str], Property | None]
) -> dict[str, Any]:
    """Return the fields of a record by the codes of their rows; by their names without one."""
    rows = {key: find(key) for key in record}
    return {
        row.code if row else key: encode_value(tables, record[key], row.type if row else "any")
        for key, row in rows.items()
    }


def encode_properties(
    tables: Tables, term: str | None, record: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the properties of a new `term` as a record of the log, by property codes."""
    named = partial(property_named, tables)
    record = {key: _describe_new_objects(tables, value) for key, value in record.items()}
    fields = _encode_record(tables, record, lambda name: named(term, name) or named(None, name))
    return {"record": fields}


def _describe_new_objects(tables: Tables, value: Any) -> Any:
    """Return what a new object is told of objects that go into it: records with their class."""
    if isinstance(value, list):
        return [_describe_new_objects(tables, item) for item in value]
    if not isinstance(value, UnmadeObject):
        return value
    row = tables.classes.get(value.term)
    return {"record": {"class": row.jxa if row else value.term, **value.properties}}


def encode_direct(tables: Tables, value: Any, type_: str) -> Any:
    """Return a direct parameter: there a reference is plain text, and text is marked."""
    if isinstance(value, AppReference):
        return format_chain(value.chain)
    shown = encode_value(tables, value, type_)
    return {"text": shown} if isinstance(shown, str) else shown


def settable_property(tables: Tables, term: str, name: str) -> Property:
    """Return the property `name` of `term` if it can be set.

    Raises:
        EventRefusedError: -10006 there is none, -10003 it is read-only.
    """
    prop = property_of_kin(tables, term, name)
    if prop is None:
        raise EventRefusedError(-10006)
    if prop.access == "r":
        raise EventRefusedError(-10003)
    return prop


def check_value(tables: Tables, type_: str, value: Any) -> None:
    """Refuse a value that no alternative of `type_` takes.

    Raises:
        EventRefusedError: -1700 wrong type, -10023 no such enumerator.
    """
    if isinstance(value, Undefined):
        raise EventRefusedError(-1700)
    options = parse_type(type_)
    if any(_matches_type(tables, term, listed, value) for term, listed in options):
        return
    if isinstance(value, str) and any(enumeration_rows(tables, term) for term, _ in options):
        raise EventRefusedError(-10023)
    raise EventRefusedError(-1700)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_READINGS: Final[Mapping[Reading, Callable[[Any], bool]]] = {
    "boolean": lambda value: isinstance(value, bool),
    "date": lambda value: value is None or (isinstance(value, dict) and "date" in value),
    "integer": _is_number,
    "number": _is_number,
    "record": lambda value: value is None or record_fields(value) is not None,
    "text": lambda value: value is None or isinstance(value, str) or _is_number(value),
}
"""How a type is read -> whether an app takes a value for it; of the others it takes any."""


def _matches_type(tables: Tables, term: str, listed: bool, value: Any) -> bool:
    if listed:
        return isinstance(value, list) and all(_matches_type(tables, term, False, v) for v in value)
    rows = enumeration_rows(tables, term)
    if rows:
        return value in [name for name, _ in rows]
    kind = find_type(term)
    if kind is not None and kind.reading in _READINGS:
        return _READINGS[kind.reading](value)
    if term in tables.records:
        return _READINGS["record"](value)
    if term in tables.classes and term not in ("rich text", "color"):
        return value is None or isinstance(value, AppReference | list | dict)
    return True
