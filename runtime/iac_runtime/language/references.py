"""What the names of a reference mean: its steps, checked against the class table of the app.

Names are taken in JXA's or the dictionary's spelling and in any case. A name is looked for among
the properties of the class, then its elements, then those of its subclasses (a property typed
`item` may hold a folder). Where a type says `any`, anything may follow. Rules of element access:
JXA release notes 10.10, "Object specifiers".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from iac_runtime.errors import InvalidParameterError, near_text, quoted
from iac_runtime.language.steps import (
    Boundary,
    ById,
    ByIndex,
    ByName,
    Every,
    Go,
    RefValue,
    Step,
    Whose,
)
from iac_runtime.language.syntax import Key, Name, Part, Select, read_syntax
from iac_runtime.language.text import steps_text
from iac_runtime.language.typespec import object_classes
from iac_runtime.tables import APPLICATION, Tables, fold
from iac_runtime.tool import Property

__all__ = [
    "CLASS_PROPERTY",
    "Reference",
    "camel",
    "contains",
    "find_properties",
    "known_names",
    "loose_name",
    "parse_reference",
    "unknown_name",
]

CLASS_PROPERTY = Property("class", "pcls", "class", "type", "r", "SAFE")
"""Every object answers its class, whether the dictionary says so or not."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference that was understood.

    Attributes:
        steps: From the application on.
        classes: The classes that the object can be of; None where the tables cannot say, empty
            for a value (`note.name`).
        selectable: It ends in a collection, of which an item can be picked.
        prop: The property that it ends in.
    """

    steps: tuple[Step, ...] = ()
    classes: tuple[str, ...] | None = (APPLICATION,)
    selectable: bool = False
    prop: Property | None = None

    @property
    def text(self) -> str:
        """The canonical text; `application` for the app itself."""
        return steps_text(self.steps) or APPLICATION

    @property
    def value(self) -> RefValue:
        """The reference as a tagged value."""
        return RefValue(self.steps)

    def then(
        self,
        step: Step,
        classes: tuple[str, ...] | None,
        *,
        selectable: bool = False,
        prop: Property | None = None,
    ) -> "Reference":
        """Return the reference one step further."""
        return Reference((*self.steps, step), classes, selectable, prop)


def parse_reference(text: str, tables: Tables, *, strict: bool = True) -> Reference:
    """Return the reference that `text` stands for; empty text is the application.

    With `strict` off, unknown names are taken as they are: an app's own answer may name what its
    dictionary does not declare.

    Raises:
        InvalidParameterError: The text is no reference, or a name in it is unknown.
    """
    parts = read_syntax(text)
    found = Reference() if APPLICATION in tables.classes else Reference(classes=None)
    for number, part in enumerate(parts):
        following = parts[number + 1] if number + 1 < len(parts) else None
        found = _walk(found, part, following, tables, strict)
    return found


def _walk(
    here: Reference, part: Part, following: Part | None, tables: Tables, strict: bool
) -> Reference:
    if here.steps and isinstance(here.steps[-1], Boundary):
        raise InvalidParameterError(
            f"Nothing can follow {here.text}, which is a place to insert at."
        )
    if isinstance(part, Name):
        return _name(here, part.name, following, tables, strict)
    if isinstance(part, Key):
        if not here.selectable and isinstance(part.key, str) and here.prop is None:
            return _name(here, part.key, following, tables, strict)
        _must_select(here, str(part.key), strict)
        step = ByIndex(part.key) if isinstance(part.key, int) else ByName(part.key)
        return here.then(step, here.classes)
    _must_select(here, part.how, strict)
    return _select(here, part, tables)


def _must_select(here: Reference, how: str, strict: bool) -> None:
    if here.selectable or here.classes is None or not strict:
        return
    if here.prop is not None and here.prop.type.startswith("list of"):
        raise InvalidParameterError(
            f"{here.text} is a list; no item of it can be named by [{how}].",
            "Read it with get and use the references that it gives.",
        )
    raise InvalidParameterError(
        f"{here.text} is one object, so nothing can be picked from it by {how}."
    )


def _select(here: Reference, part: Select, tables: Tables) -> Reference:
    argument = part.argument
    if part.how == "whose":
        # Filters hold values, and values hold references: the circle is cut here.
        from iac_runtime.language.filters import read_filter

        test = read_filter(argument, here.classes, tables)
        return here.then(Whose(test), here.classes, selectable=True)
    if part.how == "at" and isinstance(argument, int) and not isinstance(argument, bool):
        return here.then(ByIndex(argument), here.classes)
    if part.how == "byName" and isinstance(argument, str):
        return here.then(ByName(argument), here.classes)
    if part.how == "byId" and isinstance(argument, str | int) and not isinstance(argument, bool):
        return here.then(ById(argument), here.classes)
    wanted = {"at": "a whole number", "byName": "a text", "byId": "a text or a whole number"}
    raise InvalidParameterError(f"{part.how}(…) after {here.text} wants {wanted[part.how]}.")


def _name(
    here: Reference, name: str, following: Part | None, tables: Tables, strict: bool
) -> Reference:
    word = fold(name)
    if here.selectable and word in ("first", "last"):
        return here.then(ByIndex(0 if word == "first" else -1), here.classes)
    if here.selectable and word in ("end", "beginning"):
        return here.then(_boundary(word), here.classes)
    if _repeats(here, word, following, tables, strict):
        return here
    for owner in _owners(here.classes, tables):
        prop = tables.find_property(owner, name)
        if prop is not None:
            return here.then(Go(prop.jxa), object_classes(prop.type, tables), prop=prop)
        element = _element(owner, word, tables)
        if element is not None:
            return here.then(Every(tables.classes[element].plural), (element,), selectable=True)
    if word == "class" and here.classes != ():
        return here.then(Go("class"), (), prop=CLASS_PROPERTY)
    if word in ("end", "beginning") and here.classes != ():
        return here.then(_boundary(word), here.classes)
    if here.classes is not None and strict:
        raise unknown_name(name, here.classes, tables, here.prop)
    picked = isinstance(following, Key | Select) or (
        isinstance(following, Name)
        and fold(following.name) in ("first", "last", "end", "beginning")
    )
    jxa = loose_name(name, tables)
    if picked:
        return here.then(Every(jxa), None, selectable=True)
    return here.then(Go(jxa), None)


def _repeats(
    here: Reference, word: str, following: Part | None, tables: Tables, strict: bool
) -> bool:
    """Say whether a name only says again what a filtered collection holds.

    JXA shows an item of one as `notes.whose({…}).notes.at(0)` (Calendar Scripting Guide). What a
    person writes so can also mean the notes in those notes, if notes can hold such.
    """
    if len(here.steps) < 2 or not isinstance(here.steps[-1], Whose):
        return False
    collection = next(step for step in reversed(here.steps) if not isinstance(step, Whose))
    if not isinstance(collection, Every) or word != fold(collection.name):
        return False
    if not isinstance(following, Key | Select):
        return False
    return not strict or not any(_element(t, word, tables) for t in here.classes or ())


def _boundary(word: str) -> Boundary:
    return Boundary("end" if word == "end" else "beginning")


def _owners(classes: tuple[str, ...] | None, tables: Tables) -> Iterator[str]:
    """Yield the classes to look in: those given, then their subclasses."""
    if not classes:
        return
    yield from classes
    for term in tables.classes:
        if term not in classes and any(tables.descends(term, owner) for owner in classes):
            yield term


def _element(owner: str, word: str, tables: Tables) -> str | None:
    """Return the class of the elements of `owner` that are called `word`."""
    declared = [row.term for row in tables.elements(owner) if row.term in tables.classes]
    for term in declared:
        if word == fold(tables.classes[term].plural):
            return term
    for term in declared:
        if word == fold(term):
            return term
    for term, row in tables.classes.items():
        if word in (fold(term), fold(row.plural)) and any(
            tables.descends(term, parent) for parent in declared
        ):
            return term
    return None


def find_properties(classes: tuple[str, ...] | None, name: str, tables: Tables) -> list[Property]:
    """Return every property `name` that an object of one of `classes` can have."""
    found = [
        prop
        for owner in _owners(classes, tables)
        if (prop := tables.find_property(owner, name)) is not None
    ]
    if not found and fold(name) == "class":
        return [CLASS_PROPERTY]
    return list(dict.fromkeys(found))


def contains(classes: tuple[str, ...], term: str, tables: Tables) -> bool:
    """Say whether an object of one of `classes` has elements of the class `term`."""
    word = fold(tables.classes[term].plural)
    return any(_element(owner, word, tables) is not None for owner in _owners(classes, tables))


What = Literal["property", "element", "property or element"]


def known_names(classes: tuple[str, ...], tables: Tables, what: What) -> list[str]:
    """Return the terms that can follow an object of one of `classes`."""
    names: dict[str, None] = {}
    for owner in _owners(classes, tables):
        if what != "element":
            names.update(dict.fromkeys(prop.term for prop in tables.properties(owner)))
        if what != "property":
            held = [row.term for row in tables.elements(owner) if row.term in tables.classes]
            names.update(dict.fromkeys(tables.classes[term].plural for term in held))
    return list(names)


def unknown_name(
    name: str,
    classes: tuple[str, ...],
    tables: Tables,
    prop: Property | None = None,
    *,
    what: What = "property or element",
) -> InvalidParameterError:
    """Return the error for a name that none of `classes` has."""
    if not classes:
        kind = f' "{prop.term}", which is {prop.type},' if prop is not None else " a value,"
        return InvalidParameterError(
            f"{tables.key}: nothing follows{kind} so {quoted(name)} cannot."
        )
    owner = " or ".join(classes[:3])
    return InvalidParameterError(
        f"{tables.key}: {quoted(name)} is no {what} of {owner}.",
        near_text(name, known_names(classes, tables, what)),
    )


def camel(term: str) -> str:
    """Return a term as JXA names it: `read status` is `readStatus`.

    The rule is not published by Apple; it is read off working scripts (first word in lower case,
    the later ones capitalised), and only a Mac can confirm it for odd terms.
    """
    words = term.split()
    if len(words) < 2:
        return words[0] if words else ""
    return words[0].lower() + "".join(word[:1].upper() + word[1:] for word in words[1:])


def loose_name(name: str, tables: Tables) -> str:
    """Return the JXA name of a term wherever in the app it is declared, else by the rule."""
    wanted = fold(name)
    for row in tables.classes.values():
        if wanted == fold(row.plural):
            return row.plural
        for prop in row.properties:
            if wanted == fold(prop.term):
                return prop.jxa
    return camel(name)
