"""Sentences of classes and properties, in our own words, made from structure."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from iac_gen.describe import app_words, form_words, kind_words, sentence
from iac_gen.merge import APPLICATION
from iac_gen.phrases import PROPERTIES, article, capital, definite, is_verb, plural_noun, words_of
from iac_gen.text import MAX_NAME
from iac_gen.types import Types
from iac_runtime.tool import Class, Property

_QUALITY: Final = re.compile("(ed|able|ible|ing|ive|ful|less|en|ant|ent)$")
_ASKING: Final = ("is", "has", "can", "should", "does", "was", "are")
_PLAIN: Final = frozenset({"a boolean", "true or false", "a value", "text"})
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
    name = sentence(term, MAX_NAME) or "object"
    if term == APPLICATION:
        return f"The app {app_words(app)} itself."
    text = f"{capital(article(name))} of {app_words(app)}"
    if row.inherits and row.inherits not in ("item", term):
        text += f", a kind of {sentence(row.inherits, MAX_NAME)}"
    owners = [plural_noun(sentence(one, MAX_NAME)) for one in holders if one != APPLICATION]
    if 0 < len(owners) <= 3:
        text += f", in {' and '.join(owners)}"
    example = types.reference([term])
    return f"{text}{f', such as {example}' if example else ''}."


def property_sentence(row: Property, types: Types) -> str:
    """Return what a property is: its form, and whether it can be set."""
    known = PROPERTIES.get(row.code.strip()) or PROPERTIES.get(row.term)
    name = " ".join(words_of(sentence(row.term, MAX_NAME))) or "value"
    if known:
        text = known
    elif row.type == "boolean":
        text = _whether(name)
    else:
        text = "".join((capital(definite(name)), *_form(row.type, name, types)))
    return f"{text}{_ACCESS[row.access]}."


def _whether(name: str) -> str:
    """Return a property of yes or no as a question."""
    first, _, rest = name.partition(" ")
    head, _, last = name.rpartition(" ")
    if first.lower() in _ASKING:
        return f"Whether it {first.lower()} {rest}".rstrip()
    if last == "status" and head:
        return f"Whether it is {head}"
    if is_verb(first) and rest:
        return f"Whether to {name}"
    if first.endswith("s") and (is_verb(first[:-1]) or is_verb(first[:-2])) and rest:
        return f"Whether it {name}"
    if " must " in name or " is " in name:
        return f"Whether {name}"
    if not rest or (_QUALITY.search(first) and first.endswith("ed")):
        return f"Whether it is {name}"
    if _QUALITY.search(last):
        return f"Whether {definite(head)} is {last}"
    return f"Whether {definite(name)} is on"


def _form(kind: str, name: str, types: Types) -> Iterator[str]:
    words = kind_words(kind, types)
    said = words.removeprefix("a ").removeprefix("an ")
    if words not in _PLAIN and said not in name and said != "colour":
        yield f", {words}"
    if not types.names_objects(kind):
        yield form_words(kind, types)
