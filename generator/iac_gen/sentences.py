"""Sentences of classes and properties, in our own words, made from structure."""

from collections.abc import Iterator, Mapping
from typing import Final

from iac_gen.describe import describe_type, describe_value_form, safe_app_name, short_prose
from iac_gen.merge import APPLICATION
from iac_gen.phrases import (
    PROPERTIES,
    capitalize_first,
    displayed_name,
    join_with_and,
    plural_noun,
    whether_property,
    with_article,
    with_the,
)
from iac_gen.text import MAX_NAME
from iac_gen.types import AppTypes
from iac_runtime.tool import Class, Property

_PLAIN: Final = frozenset("true or false/a value/text/texts/an object/objects".split("/"))
_LOOSE: Final = ("any", "boolean | any", "any | boolean")
_ACCESS: Final = {"r": ", read only", "w": ", write only", "rw": ""}


def describe_terms(classes: Mapping[str, Class], types: AppTypes, app: str) -> dict[str, str]:
    """Return what each class is (`message`) and each of its properties (`message.subject`)."""
    found: dict[str, str] = {}
    for term, row in classes.items():
        holders = [name for name, one in classes.items() if _has_element(one, term)]
        found[term] = describe_class(term, row, holders, types, app)
        for prop in row.properties:
            found[f"{term}.{prop.term}"] = describe_property(prop, types)
    return found


def _has_element(row: Class, term: str) -> bool:
    return any(element.term == term for element in row.elements)


def describe_class(term: str, row: Class, holders: list[str], types: AppTypes, app: str) -> str:
    """Return what a class is: where it is held, what kind it is of, and a reference to one."""
    name = _term_name(term) or "object"
    where = safe_app_name(app)
    if term == APPLICATION:
        return f"The app {where} itself."
    text = capitalize_first(with_article(name))
    # A note of Notes says one thing twice.
    if where.rstrip("s").lower() not in name.lower():
        text += f" of {where}"
    if row.inherits and row.inherits not in ("item", term):
        text += f", a kind of {_term_name(row.inherits)}"
    owners = [plural_noun(_term_name(one)) for one in holders if one != APPLICATION]
    if 0 < len(owners) <= 3:
        text += f", in {join_with_and(owners)}"
    example = types.example_reference([term])
    return f"{text}{f', such as {example}' if example else ''}."


def _term_name(term: str) -> str:
    return displayed_name(short_prose(term, MAX_NAME))


def describe_property(row: Property, types: AppTypes) -> str:
    """Return what a property is: its form, and whether it can be set."""
    known = PROPERTIES.get(row.code.strip()) or PROPERTIES.get(row.term)
    name = _term_name(row.term) or "value"
    if known:
        text = known
    elif row.type == "boolean" or (row.type in _LOOSE and name.endswith("ed")):
        text = whether_property(name)
    else:
        said = name if name[-1].isdigit() else with_the(name)
        text = "".join((capitalize_first(said), *_property_form(row.type, name, types)))
    return f"{text}{_ACCESS[row.access]}."


def _property_form(kind: str, name: str, types: AppTypes) -> Iterator[str]:
    words = describe_type(kind, types)
    said = words.removeprefix("a ").removeprefix("an ")
    if words not in _PLAIN and said not in name and said != "colour":
        yield f", {words}"
    if (
        not types.names_objects(kind)
        and len(types.bare_terms(kind)) <= 2
        and not types.unlisted_fields(kind)
    ):
        yield describe_value_form(kind, types)
