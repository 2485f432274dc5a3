"""What a name means in an app: property, collection, command or class, decided from its tables.

Since 10.11 any term of a dictionary is accepted on any object (JXA release notes 10.11), so a name
that the object's own class lacks is looked up in the whole dictionary before it counts as unknown.
"""

from functools import lru_cache
from typing import Literal, NamedTuple

from iac_runtime.tool import Property
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_runtime.types import parse_type
from iac_simulator.values import Chain

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
    return next(
        (prop for row in tables.classes.values() for prop in row.properties if prop.jxa == name),
        None,
    )


def property_of_kin(tables: Tables, term: str | None, name: str) -> Property | None:
    """Return a property that an object listed as `term` may have: its class's or a subclass's."""
    found = property_named(tables, term, name)
    if found is not None or term is None:
        return found
    return next(
        filter(
            None, (property_named(tables, sub, name) for sub in class_descendants(tables, term))
        ),
        None,
    )


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
    found = property_of_kin(tables, known, name) or element_class(tables, None, name)
    return name in _ANYWHERE or found is not None


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
