"""What a reference or a path means: steps, checked against the class table of the app.

Where a type says `any`, anything may follow. Rules of element access: JXA release notes 10.10,
"Object specifiers". A filter inside a reference is read by whoever calls (`ReadTest`), because it
holds values and those can be references again.

Finder and System Events want references in place of file paths. Apple's guide names a folder step
by step from the startup disk (Mac Automation Scripting Guide, "Reference Files and Folders"); the
home folder, the desktop and the trash are properties of the application, other volumes its disks.
"""

import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, Literal, TypeAlias

from iac_base.errors import InvalidParameterError, quote_text
from iac_base.words import fold_name
from iac_runtime.language.steps import (
    AllElements,
    Boundary,
    ById,
    ByIndex,
    ByName,
    Filter,
    MiddleOrSome,
    PropertyStep,
    RefValue,
    RelativeTo,
    Span,
    Step,
    Term,
    Whose,
)
from iac_runtime.language.syntax import KeyPart, NamePart, Part, SelectPart, SpanPart
from iac_runtime.language.terms import (
    CLASS_PROPERTY,
    candidate_classes,
    class_term,
    elements_term,
    find_class_element,
    find_class_property,
    find_element_class,
    is_only_elements,
    loose_name,
    object_classes,
    property_term,
    unknown_name_error,
)
from iac_runtime.language.text import format_reference
from iac_runtime.tool import Property
from iac_runtime.tools.tables import APPLICATION, Tables

ReadTest: TypeAlias = Callable[[Any, tuple[str, ...] | None], Filter]
"""How to read a filter over objects of some classes (None: not known)."""

PathKind = Literal["folder", "item", "file"]
"""What a path ends in: a folder, a file, or either."""

_PLACES: Final = (
    ("~/Desktop", ("desktop", "desktop folder")),
    ("~/.Trash", ("trash",)),
    ("~", ("home", "home folder")),
)
"""Folder -> the property of the application that holds it; Finder's name, System Events' name."""

_VOLUMES: Final = "/Volumes/"
_CLASSES: Final = {"folder": ("folder",), "file": ("file",), "item": ("item", "disk item")}

_PICKS: Final = ("first", "last", "middle", "some", "any", "end", "beginning")
_MAX_INDEX: Final = 2**31 - 1
_MAX_ID: Final = 2**53


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
        return format_reference(self.steps) or APPLICATION

    @property
    def value(self) -> RefValue:
        """The reference as a tagged value."""
        return RefValue(self.steps)

    def with_step(
        self,
        step: Step,
        classes: tuple[str, ...] | None,
        *,
        selectable: bool = False,
        prop: Property | None = None,
    ) -> "Reference":
        """Return the reference one step further."""
        return Reference((*self.steps, step), classes, selectable, prop)


def application_reference(tables: Tables) -> Reference:
    """Return the application, where every reference begins."""
    return Reference() if APPLICATION in tables.classes else Reference(classes=None)


def insertion_place(found: Reference) -> Reference:
    """Return the place to insert at: a bare collection means its end."""
    if found.selectable and isinstance(found.steps[-1], AllElements):
        return found.with_step(Boundary("end"), found.classes)
    return found


def resolve_steps(steps: tuple[Step, ...], tables: Tables) -> Reference:
    """Return what steps lead to that were read already; what no table declares is left open."""
    here = application_reference(tables)
    for step in steps:
        if isinstance(step, PropertyStep):
            prop = next(
                filter(None, (
                    find_class_property(owner, step.name, tables)
                    for owner in candidate_classes(here.classes, tables)
                )), CLASS_PROPERTY if step.name == "class" else None,
            )  # fmt: skip
            kinds = object_classes(prop.type, tables) if prop else None
            here = here.with_step(step, kinds, prop=prop)
        elif isinstance(step, AllElements):
            element = find_element_class(here.classes, step.name, tables)
            here = here.with_step(step, (element,) if element else None, selectable=True)
        else:
            here = here.with_step(step, here.classes, selectable=isinstance(step, Span | Whose))
    return here


def resolve_parts(
    begin: Reference,
    parts: tuple[Part, ...],
    tables: Tables,
    read_test: ReadTest,
    *,
    strict: bool = True,
) -> Reference:
    """Return where `parts` lead from `begin`.

    With `strict` off, unknown names are taken as they are: an app's own answer may name what its
    dictionary does not declare.

    Raises:
        InvalidParameterError: A name is unknown, or a part cannot follow the one before it.
    """
    walker = _ReferenceResolver(tables, read_test, strict)
    for part, following in zip_longest(parts, parts[1:]):
        begin = walker.resolve_part(begin, part, following)
    return begin


@dataclass(frozen=True, slots=True)
class _ReferenceResolver:
    tables: Tables
    read_test: ReadTest
    strict: bool

    def resolve_part(self, here: Reference, part: Part, following: Part | None) -> Reference:
        if here.steps and isinstance(here.steps[-1], Boundary):
            raise InvalidParameterError(
                f"Nothing can follow {here.text}, because it only says where to insert."
            )
        if isinstance(part, NamePart):
            return self._resolve_name(here, part.name, following)
        if isinstance(part, KeyPart):
            if isinstance(part.key, str) and not here.selectable and not _is_list(here):
                # Brackets also hold a name that is no JavaScript identifier.
                return self._resolve_name(here, part.key, following)
            self._require_collection(here, str(part.key))
            step = _checked_index(part.key) if isinstance(part.key, int) else ByName(part.key)
            return here.with_step(step, here.classes)
        if isinstance(part, SpanPart):
            return self._resolve_range(here, part)
        self._require_collection(here, part.how)
        return self._resolve_selector(here, part)

    def _resolve_range(self, here: Reference, part: SpanPart) -> Reference:
        start, stop = part.start or 0, part.stop
        self._require_collection(here, f"{'' if part.start is None else start}:")
        if stop == 0 or (stop is not None and (start < 0) == (stop < 0) and start >= stop):
            raise InvalidParameterError(
                f"The range [{start}:{stop}] of {here.text} is empty.",
                "A range includes its first position but not its second. Positions start at 0.",
            )
        for number in (start, stop or 0):
            _checked_index(number)
        return here.with_step(Span(part.start, stop), here.classes, selectable=True)

    def _require_collection(self, here: Reference, how: str) -> None:
        if here.selectable or here.classes is None or not self.strict:
            return
        if _is_list(here):
            raise InvalidParameterError(
                f"{here.text} is a list. You cannot name one of its items by [{how}].",
                "Read it with get and use the references in the answer.",
            )
        raise InvalidParameterError(f"{here.text} is one object, so it cannot be used with {how}.")

    def _resolve_selector(self, here: Reference, part: SelectPart) -> Reference:
        argument = part.argument
        if part.how == "whose":
            return here.with_step(
                Whose(self.read_test(argument, here.classes)), here.classes, selectable=True
            )
        whole = isinstance(argument, int) and not isinstance(argument, bool)
        if part.how == "at" and whole:
            return here.with_step(_checked_index(argument), here.classes)
        if part.how == "byName" and isinstance(argument, str):
            return here.with_step(ByName(argument), here.classes)
        if part.how == "byId" and (isinstance(argument, str) or whole):
            if isinstance(argument, int) and abs(argument) > _MAX_ID:
                raise InvalidParameterError(
                    f"The id {argument} is larger than 2^53, so JavaScript cannot hold it exactly.",
                    "Name the object by its name or position.",
                )
            return here.with_step(ById(argument), here.classes)
        wanted = {"at": "a whole number", "byName": "a text", "byId": "a text or a whole number"}
        raise InvalidParameterError(f"{part.how}(…) after {here.text} needs {wanted[part.how]}.")

    def _resolve_name(self, here: Reference, name: str, following: Part | None) -> Reference:
        word = fold_name(name)
        if here.selectable and word in ("first", "last"):
            return here.with_step(ByIndex(0 if word == "first" else -1), here.classes)
        if here.selectable and word in ("end", "beginning"):
            return here.with_step(_end_boundary(word), here.classes)
        if self._repeats_collection(here, word, following):
            return here
        known = self._find_declared(here, name)
        if known is not None:
            return known
        if word in ("end", "beginning") and here.classes != ():
            return here.with_step(_end_boundary(word), here.classes)
        if here.steps and here.classes != ():
            relative = self._resolve_relative(here, word)
            if relative is not None:
                return relative
        if here.classes is not None and self.strict:
            raise unknown_name_error(name, here.classes, self.tables, here.prop)
        jxa = loose_name(name, self.tables)
        picked = isinstance(following, KeyPart | SelectPart) or (
            isinstance(following, NamePart) and fold_name(following.name) in _PICKS
        )
        # What can only be elements is taken for all of them, so that it counts as many.
        if picked or is_only_elements(jxa, self.tables):
            return here.with_step(AllElements(jxa), None, selectable=True)
        return here.with_step(PropertyStep(jxa), None)

    def _resolve_relative(self, here: Reference, word: str) -> Reference | None:
        """Return what only a raw event can say of a collection, or of an object."""
        if here.selectable:
            if word not in ("middle", "some", "any"):
                return None
            return here.with_step(
                MiddleOrSome("middle" if word == "middle" else "some"), here.classes
            )
        if word in ("before", "after"):
            return here.with_step(Boundary("before" if word == "before" else "after"), here.classes)
        if word not in ("next", "previous") or (not here.classes and not self.strict):
            return None
        last = next(
            (s for s in reversed(here.steps) if isinstance(s, AllElements | PropertyStep)), None
        )
        if isinstance(last, AllElements) and isinstance(last.name, Term):
            kind: str = last.name
        elif here.classes:
            kind = class_term(here.classes[0], self.tables)
        else:
            return None
        return here.with_step(
            RelativeTo("next" if word == "next" else "previous", kind), here.classes
        )

    def _find_declared(self, here: Reference, name: str) -> Reference | None:
        """Return the property or the elements called `name`; of one class's, the property."""
        for owner in candidate_classes(here.classes, self.tables):
            prop = find_class_property(owner, name, self.tables)
            if prop is not None:
                kinds = object_classes(prop.type, self.tables)
                return here.with_step(PropertyStep(property_term(prop)), kinds, prop=prop)
            element = find_class_element(owner, name, self.tables)
            if element is not None:
                every = AllElements(elements_term(element, self.tables))
                return here.with_step(every, (element,), selectable=True)
        if fold_name(name) == "class" and here.classes != ():
            return here.with_step(
                PropertyStep(property_term(CLASS_PROPERTY)), (), prop=CLASS_PROPERTY
            )
        return None

    def _repeats_collection(self, here: Reference, word: str, following: Part | None) -> bool:
        """Say whether a name only says again what a filtered collection holds.

        JXA shows an item of one as `notes.whose({…}).notes.at(0)` (Calendar Scripting Guide). What
        a person writes so can also mean the notes in those notes, if notes can hold such.
        """
        if len(here.steps) < 2 or not isinstance(here.steps[-1], Whose):
            return False
        collection = next(step for step in reversed(here.steps) if not isinstance(step, Whose))
        if not isinstance(collection, AllElements) or word != fold_name(collection.name):
            return False
        if not isinstance(following, KeyPart | SelectPart):
            return False
        return (
            not self.strict
            or find_element_class(here.classes, collection.name, self.tables) is None
        )


def _is_list(here: Reference) -> bool:
    return here.prop is not None and here.prop.type.startswith("list of")


def _checked_index(number: int) -> ByIndex:
    if abs(number) > _MAX_INDEX:
        raise InvalidParameterError(f"The position {number} is larger than {_MAX_INDEX}.")
    return ByIndex(number)


def _end_boundary(word: str) -> Boundary:
    return Boundary("end" if word == "end" else "beginning")


def is_path(text: str) -> bool:
    """Say whether a text has the form of a file path: absolute, or under `~`."""
    return text == "~" or text.startswith(("/", "~/"))


def full_path(text: str, home: str, where: str = "path") -> str:
    """Return `text` as an absolute path without `.`, `..` and doubled slashes.

    Raises:
        InvalidParameterError: It is relative, names another user's home, or holds a NUL.
    """
    if "\0" in text:
        raise InvalidParameterError(
            f"{where}: the path {quote_text(text)} contains a NUL character."
        )
    if not is_path(text) or (text.startswith("~") and not home):
        raise InvalidParameterError(
            f"{where}: {quote_text(text)} is not an absolute path.", "Start it with / or ~/."
        )
    path = home + text[1:] if text.startswith("~") else text
    return posixpath.normpath("/" + path.lstrip("/"))


def has_folders(tables: Tables) -> bool:
    """Say whether the app is one that names files by objects: Finder, System Events."""
    return (
        APPLICATION in tables.classes
        and "folder" in tables.classes
        and tables.find_property(APPLICATION, "startup disk") is not None
    )


def folder_reference(
    path: str, home: str, tables: Tables, last: PathKind = "folder"
) -> tuple[Step, ...]:
    """Return the steps to what lies at an absolute path, from the nearest known place.

    `last` says among what the last name is looked for.
    """
    steps, rest = _nearest_place(path, home, tables)
    names = [name for name in rest.split("/") if name]
    for name in names:
        steps += [AllElements(elements_term("folder", tables)), ByName(name)]
    if names and last != "folder":
        steps[-2] = AllElements(_collection_term(last, tables))
    return tuple(steps)


def _nearest_place(path: str, home: str, tables: Tables) -> tuple[list[Step], str]:
    """Return the way to the nearest place of its own, and what of the path follows it."""
    for place, terms in _PLACES:
        root = place.replace("~", home, 1)
        if not home or not (path == root or path.startswith(root + "/")):
            continue
        for term in terms:
            prop = tables.find_property(APPLICATION, term)
            if prop is not None:
                return [PropertyStep(property_term(prop))], path[len(root) :]
    disks = find_element_class((APPLICATION,), "disks", tables)
    if path.startswith(_VOLUMES) and disks is not None:
        volume, _, rest = path.removeprefix(_VOLUMES).partition("/")
        return [AllElements(elements_term(disks, tables)), ByName(volume)], rest
    disk = tables.find_property(APPLICATION, "startup disk")
    assert disk is not None
    return [PropertyStep(property_term(disk))], path


def _collection_term(last: PathKind, tables: Tables) -> Term:
    held = {row.term for row in tables.elements("folder")} & tables.classes.keys()
    wanted = (*_CLASSES[last], *_CLASSES["item"], "folder")
    term = next((term for term in wanted if term in held), "folder")
    return elements_term(term, tables)
