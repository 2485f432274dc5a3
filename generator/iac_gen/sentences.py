"""Sentences of classes and properties, in our own words, made from structure."""

from collections.abc import Iterator, Mapping
from typing import Final

from iac_gen.describe import app_words, form_words, kind_words, sentence
from iac_gen.merge import APPLICATION
from iac_gen.phrases import (
    PROPERTIES,
    article,
    capital,
    definite,
    listed,
    named,
    plural_noun,
    whether_it,
)
from iac_gen.text import MAX_NAME
from iac_gen.types import Types
from iac_runtime.tool import Class, Property

_PLAIN: Final = frozenset("true or false/a value/text/texts/an object/objects".split("/"))
_LOOSE: Final = ("any", "boolean | any", "any | boolean")
_ACCESS: Final = {"r": ", read only", "w": ", write only", "rw": ""}


def sentences(classes: Mapping[str, Class], types: Types, app: str) -> dict[str, str]:
    """Return what each class is (`message`) and each of its properties (`message.subject`)."""
    found: dict[str, str] = {}
    for term, row in classes.items():
        holders = [name for name, one in classes.items() if _holds(one, term)]
        found[term] = class_sentence(term, row, holders, types, app)
        for prop in row.properties:
            found[f"{term}.{prop.term}"] = property_sentence(prop, types)
    return found


def _holds(row: Class, term: str) -> bool:
    return any(element.term == term for element in row.elements)


def class_sentence(term: str, row: Class, holders: list[str], types: Types, app: str) -> str:
    """Return what a class is: where it is held, what kind it is of, and a reference to one."""
    name = _called(term) or "object"
    where = app_words(app)
    if term == APPLICATION:
        return f"The app {where} itself."
    text = capital(article(name))
    # A note of Notes says one thing twice.
    if where.rstrip("s").lower() not in name.lower():
        text += f" of {where}"
    if row.inherits and row.inherits not in ("item", term):
        text += f", a kind of {_called(row.inherits)}"
    owners = [plural_noun(_called(one)) for one in holders if one != APPLICATION]
    if 0 < len(owners) <= 3:
        text += f", in {listed(owners)}"
    example = types.reference([term])
    return f"{text}{f', such as {example}' if example else ''}."


def _called(term: str) -> str:
    return named(sentence(term, MAX_NAME))


def property_sentence(row: Property, types: Types) -> str:
    """Return what a property is: its form, and whether it can be set."""
    known = PROPERTIES.get(row.code.strip()) or PROPERTIES.get(row.term)
    name = _called(row.term) or "value"
    if known:
        text = known
    elif row.type == "boolean" or (row.type in _LOOSE and name.endswith("ed")):
        text = whether_it(name)
    else:
        said = name if name[-1].isdigit() else definite(name)
        text = "".join((capital(said), *_form(row.type, name, types)))
    return f"{text}{_ACCESS[row.access]}."


def _form(kind: str, name: str, types: Types) -> Iterator[str]:
    words = kind_words(kind, types)
    said = words.removeprefix("a ").removeprefix("an ")
    if words not in _PLAIN and said not in name and said != "colour":
        yield f", {words}"
    if not types.names_objects(kind) and len(types.bare(kind)) <= 2 and not types.unlisted(kind):
        yield form_words(kind, types)
