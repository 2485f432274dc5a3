"""What the class tables know: what a name means, and which properties show an object.

Names are taken as the dictionary or as JXA spells them, in any case. A name is looked for in the
class, then in its subclasses (a property typed `item` may hold a folder).
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, Literal

from iac_base.errors import InvalidParameterError, nearest_names, quote_text
from iac_base.text import text_literal
from iac_base.words import fold_name
from iac_runtime.language.steps import Column, Term
from iac_runtime.tool import Class, Property
from iac_runtime.tools.tables import (
    APPLICATION,
    Tables,
    holder_classes,
    holder_of,
    shortest_reference,
)
from iac_runtime.types import find_type, parse_type

CLASS_PROPERTY = Property("class", "pcls", "class", "type", "r", "SAFE")
"""Every object answers its class, whether the dictionary says so or not."""

_ID_CODE: Final = "ID  "

_TEXT_CODES: Final = frozenset({"ctxt", "cpar", "cwor", "cha ", "catr"})
"""Classes of the Text Suite: what an app answers for such an object is its text."""

_HOLDING: Final = frozenset({"any", "insertion", "object", "record"})
"""How types are read that may hold an object, or something that names can follow."""

NameKind = Literal["property", "element", "property or element"]


_cached: Final = lru_cache(maxsize=4096)
"""Tables never change, and each call of an app asks them the same."""


def code_key(code: str) -> str:
    """Return the key of a term that has no letter or digit, as schemas spell it: `code_` + hex."""
    return f"code_{code.encode('mac_roman', 'replace').hex()}"


@_cached
def property_term(row: Property) -> Term:
    """Return the JXA name of a property with its code."""
    return Term(row.jxa, row.code, row.term)


def columns_of(rows: Iterable[Property | None]) -> tuple[Column, ...]:
    """Return what reads properties, each once; a row that is none is left out."""
    known = (Column(row.term, property_term(row)) for row in rows if row is not None)
    return tuple(dict.fromkeys(known))


@_cached
def elements_term(term: str, tables: Tables) -> Term:
    """Return the JXA name of the collection of a class, with the code of the class."""
    row = tables.classes[term]
    return Term(row.plural, row.code, term)


@_cached
def class_term(term: str, tables: Tables) -> Term:
    """Return the JXA name of a class as a value, with its code."""
    row = tables.classes[term]
    return Term(row.jxa, row.code, term, "type")


def find_field(rows: Iterable[Property], name: str) -> Property | None:
    """Return the row called `name`: exactly, else in either spelling, else by its `code_` key."""
    known = list(rows)
    for row in known:
        if name in (row.term, row.jxa):
            return row
    wanted = fold_name(name)
    for row in known:
        if wanted and wanted in (fold_name(row.term), fold_name(row.jxa)):
            return row
    return next((row for row in known if name == code_key(row.code)), None)


@_cached
def find_class_property(term: str, name: str, tables: Tables) -> Property | None:
    """Return the property of a class that is called `name`, as `find_field` does."""
    return find_field(tables.properties(term), name)


@_cached
def find_class_term(name: str, tables: Tables) -> str | None:
    """Return the term of the class called `name`, singular, plural or by a synonym."""
    return tables.find_class(name) or next(
        (term for term, row in tables.classes.items() if fold_name(name) in _folded_synonyms(row)),
        None,
    )


def known_class(name: str, tables: Tables, where: str) -> str:
    """Return the term of the class called `name`.

    Args:
        where: What to call the name in an error.

    Raises:
        InvalidParameterError: The app has no such class.
    """
    found = find_class_term(name, tables)
    if found is None:
        raise InvalidParameterError(
            f"{where}: {tables.app.name} has no class {quote_text(name)}.",
            said=name,
            known=tables.classes,
        )
    return found


@_cached
def find_properties(
    classes: tuple[str, ...] | None, name: str, tables: Tables
) -> tuple[Property, ...]:
    """Return every property `name` that an object of one of `classes` can have."""
    found = [
        prop
        for owner in candidate_classes(classes, tables)
        if (prop := find_class_property(owner, name, tables)) is not None
    ]
    if not found and fold_name(name) == "class":
        return (CLASS_PROPERTY,)
    return tuple(dict.fromkeys(found))


@_cached
def known_properties(
    classes: tuple[str, ...] | None, name: str, tables: Tables
) -> tuple[Property, ...]:
    """Return every property `name`, as `find_properties`; none only where `classes` is None.

    Raises:
        InvalidParameterError: No object of `classes` has such a property.
    """
    properties = find_properties(classes, name, tables)
    if not properties and classes is not None:
        raise unknown_name_error(name, classes, tables, what="property")
    return properties


@_cached
def find_element_class(classes: tuple[str, ...] | None, name: str, tables: Tables) -> str | None:
    """Return the class of the elements called `name` that an object of one of `classes` holds."""
    found = (
        find_class_element(owner, name, tables) for owner in candidate_classes(classes, tables)
    )
    return next(filter(None, found), None)


@_cached
def has_elements(classes: tuple[str, ...], term: str, tables: Tables) -> bool:
    """Say whether an object of one of `classes` has elements of the class `term`."""
    return find_element_class(classes, tables.classes[term].plural, tables) is not None


def _known_names(classes: tuple[str, ...], tables: Tables, what: NameKind) -> list[str]:
    """Return the terms that can follow an object of one of `classes`."""
    names: dict[str, None] = {}
    for owner in candidate_classes(classes, tables):
        if what != "element":
            names.update(dict.fromkeys(prop.term for prop in tables.properties(owner)))
        if what != "property":
            names.update(
                (tables.classes[term].plural, None) for term in _declared_elements(owner, tables)
            )
    return list(names)


def unknown_name_error(
    name: str,
    classes: tuple[str, ...],
    tables: Tables,
    prop: Property | None = None,
    *,
    what: NameKind = "property or element",
) -> InvalidParameterError:
    """Return the error for a name that none of `classes` has."""
    if not classes:
        kind = f' "{prop.term}", which is {prop.type},' if prop is not None else " a value,"
        return InvalidParameterError(
            f"{tables.key}: nothing can follow{kind} so leave out {quote_text(name)}."
        )
    owner, known = " or ".join(classes[:3]), _known_names(classes, tables, what)
    message = f"{tables.key}: {quote_text(name)} is not a {what} of {owner}."
    elsewhere = "" if nearest_names(name, known) else _suggest_class(name, classes, tables)
    return InvalidParameterError(message, elsewhere, said=name, known=known)


def _suggest_class(name: str, classes: tuple[str, ...], tables: Tables) -> str:
    """Return which class has a property of a name, one inside `classes` first; empty for none."""
    for term in sorted(tables.classes, key=lambda term: not has_elements(classes, term, tables)):
        place = (
            shortest_reference(tables, term) if find_field(tables.properties(term), name) else ""
        )
        if place and place != APPLICATION:
            return f"{quote_text(name)} is a property of {term}, such as {place}."
    return ""


def missing_elements_error(
    term: str, classes: tuple[str, ...], tables: Tables
) -> InvalidParameterError:
    """Return the error for elements that no object of `classes` has: it says who has them."""
    others, place = holder_classes(term, tables), holder_of(tables, term)
    message = f"{tables.key}: {' or '.join(classes[:3])} contains no {term}."
    if not others:
        return InvalidParameterError(
            message, "No object contains one; look for a property that gives one."
        )
    said = f"Set `of` to {text_literal(place)}" if place else "Leave out `of`"
    way = f"These contain it: {', '.join(others[:5])}. {said}."
    return InvalidParameterError(message, way, give={"of": place or None})


def camel_case(term: str) -> str:
    """Return a term as JXA names it: `read status` is `readStatus`.

    The rule is not published by Apple; it is read off working scripts (first word in lower case,
    the later ones capitalised), and only a Mac can confirm it for odd terms.
    """
    words = term.split()
    if len(words) < 2:
        return words[0] if words else ""
    return words[0].lower() + "".join(word[:1].upper() + word[1:] for word in words[1:])


def loose_name(name: str, tables: Tables) -> str:
    """Return the JXA name of a term wherever in the app it is declared, else by the rule.

    Raises:
        InvalidParameterError: No object of an app has such a name.
    """
    wanted = fold_name(name)
    for row in tables.classes.values():
        if wanted and wanted == fold_name(row.plural):
            return Term(row.plural, row.code)
        prop = find_field(row.properties, name)
        if prop is not None:
            return property_term(prop)
    found = camel_case(name)
    if not found or found == "__proto__":
        raise InvalidParameterError(
            f"{tables.key}: {quote_text(name)} is not the name of a property."
        )
    return found


@_cached
def is_only_elements(jxa: str, tables: Tables) -> bool:
    """Say whether a JXA name is that of elements, and of no property of any class."""
    rows = tables.classes.values()
    return any(row.plural == jxa for row in rows) and not any(
        prop.jxa == jxa for row in rows for prop in row.properties
    )


def _folded_synonyms(row: Class) -> set[str]:
    """Return the other names of a class, singular and plural, folded."""
    return {fold_name(form) for name in row.synonyms for form in (name, f"{name}s")}


@_cached
def candidate_classes(classes: tuple[str, ...] | None, tables: Tables) -> tuple[str, ...]:
    """Return the classes to look in: those given, then their subclasses."""
    if not classes:
        return ()
    others = (term for term in tables.classes if term not in classes)
    below = (term for term in others if any(tables.is_descendant(term, owner) for owner in classes))
    return (*classes, *below)


def _declared_elements(owner: str, tables: Tables) -> list[str]:
    return [row.term for row in tables.elements(owner) if row.term in tables.classes]


@_cached
def find_class_element(owner: str, name: str, tables: Tables) -> str | None:
    """Return the class of the elements of `owner` that are called `name`."""
    word, declared = fold_name(name), _declared_elements(owner, tables)
    classes: Mapping[str, Class] = tables.classes
    for term in declared:
        if name == classes[term].plural:
            return term
    if not word:
        return None
    for term in declared:
        if word == fold_name(classes[term].plural):
            return term
    for term in declared:
        if word == fold_name(term) or word in _folded_synonyms(classes[term]):
            return term
    for term, row in classes.items():
        called = word in (fold_name(term), fold_name(row.plural)) or word in _folded_synonyms(row)
        if called and any(tables.is_descendant(term, parent) for parent in declared):
            return term
    return None


@_cached
def object_classes(text: str, tables: Tables) -> tuple[str, ...] | None:
    """Return the classes whose objects a property of this type can hold.

    None means that anything may follow (`any`, `specifier`); an empty tuple that nothing can:
    the property holds a value. A class of the app wins over a builtin name (`text`), because
    such text has parts (words, paragraphs).
    """
    classes: list[str] = []
    for kind in parse_type(text):
        if kind.name in tables.classes:
            classes.append(kind.name)
        elif kind.name in tables.enums or kind.name in tables.records:
            continue
        elif (row := find_type(kind.name)) is None or row.reading in _HOLDING:
            return None
    return tuple(classes)


@_cached
def id_property(term: str, tables: Tables) -> Property | None:
    """Return the property that holds the id of an object; Calendar calls it `uid`."""
    named = tables.find_property(term, "id")
    if named is not None:
        return named
    return next((row for row in tables.properties(term) if row.code == _ID_CODE), None)


@_cached
def id_classes(tables: Tables) -> tuple[tuple[str, str], ...]:
    """Return the classes whose objects have an id, and its property, by JXA name."""
    found = ((class_term(term, tables), id_property(term, tables)) for term in tables.classes)
    return tuple((name, property_term(ident)) for name, ident in found if ident is not None)


@_cached
def is_text(term: str, tables: Tables) -> bool:
    """Say whether the class is one of the Text Suite."""
    return any(row.code in _TEXT_CODES for _, row in tables.lineage(term))


def enumerator_term(text: str, rows: Iterable[tuple[str, str]]) -> Term | None:
    """Return the dictionary's spelling of an enumerator, found without case or by its code."""
    wanted = fold_name(text)
    exact = (row for row in rows if text in row)
    loose = (row for row in rows if wanted and wanted == fold_name(row[0]))
    name, code = next(exact, None) or next(loose, ("", ""))
    return Term(name, code, form="enum") if name else None
