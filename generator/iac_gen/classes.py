"""Classes: declarations, extensions and the old self-inheriting form become one row a class.

Every name in `inherits` and in an element is one of the classes afterwards, and following
`inherits` ends.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from iac_gen.merging import Notes, also, join, properties
from iac_gen.model import Class, Element, Synonym

__all__ = ["APPLICATION", "classes", "named"]

APPLICATION = "application"
_APPLICATION_CODE = "capp"

# Classes that dictionaries extend or contain without declaring them. Codes are those of the
# open scripting headers (AERegistry.h, ASRegistry.h).
_WELL_KNOWN = {APPLICATION: _APPLICATION_CODE, "document": "docu", "window": "cwin", "item": "cobj"}

Find: TypeAlias = Callable[[str], str]
"""A name, id, synonym or code -> the term that it means, `""` for none."""


def named(
    names: Iterable[str],
    ids: Mapping[str, str],
    codes: Mapping[str, str],
    synonyms: Iterable[tuple[str, tuple[Synonym, ...]]],
) -> Find:
    """Return how to find a term: by name, id, synonym, name in other case, code, in that order.

    `ids` and `codes` map to terms. A synonym may give a name, a code or both (sdef(5)); terms
    are compared without case, as AppleScript does.
    """
    exact = {name: name for name in names}
    loose = {name.lower(): name for name in reversed(list(exact))}
    for spelling, name in ids.items():
        exact.setdefault(spelling, name)
    coded = dict(codes)
    for name, rows in synonyms:
        for row in rows:
            if row.name:
                exact.setdefault(row.name, name)
            if row.code:
                coded.setdefault(row.code, name)

    def find(term: str) -> str:
        found = exact.get(term) or loose.get(term.lower())
        # A code that ends in blanks has lost them as an attribute with blanks around it.
        return found or (coded.get(term.ljust(4), "") if len(term) <= 4 else "")

    return find


def classes(rows: Iterable[Class], notes: Notes) -> list[Class]:
    """Return each class once, with its extensions, in the order of first declaration."""
    declared: dict[str, Class] = {}
    additions: list[Class] = []
    for row in rows:
        if row.extends or (row.inherits and row.inherits in (row.name, row.id)):
            additions.append(row)
        elif row.name in declared:
            notes.add(row.line, "class-again", f"class {row.name} is declared again; merged")
            declared[row.name] = _extended(declared[row.name], row, notes)
        else:
            declared[row.name] = row
    for row in additions:
        _add(row, declared, notes)
    if declared and APPLICATION not in declared:
        _make_application(declared, notes)
    _borrow(declared, notes)
    return _linked(declared, _finder(declared), notes)


def _finder(declared: Mapping[str, Class]) -> Find:
    return named(
        declared,
        {row.id: name for name, row in declared.items() if row.id},
        {row.code: name for name, row in reversed(list(declared.items()))},
        ((name, row.synonyms) for name, row in declared.items()),
    )


def _add(row: Class, declared: dict[str, Class], notes: Notes) -> None:
    """Merge an extension, or a class that inherits from itself, into the class it means."""
    wanted = row.extends or row.name
    name = wanted if wanted in declared else _finder(declared)(wanted)
    if row.name and name != row.name:
        # A class of this name is new, whatever else is called so.
        name = ""
    if name:
        declared[name] = _extended(declared[name], row, notes)
        if row.name:
            text = f"class {name} inherits from itself; taken as an extension"
            notes.add(row.line, "self-inherits", text)
    elif row.code or wanted in _WELL_KNOWN:
        code = row.code or _WELL_KNOWN[wanted]
        declared[wanted] = replace(row, name=wanted, code=code, extends="", inherits="")
        if row.extends:
            text = f"class {wanted} is extended but not declared; made from the extension"
            notes.add(row.line, "synthesised", text)
    else:
        text = f"class {wanted} is extended but not declared; the extension is left out"
        notes.add(row.line, "unknown-class", text, "warning")


def _make_application(declared: dict[str, Class], notes: Notes) -> None:
    """Make the class where references begin; one of its code under another name is its base."""
    base = next((row for row in declared.values() if row.code == _APPLICATION_CODE), None)
    declared[APPLICATION] = Class(
        APPLICATION, _APPLICATION_CODE, inherits=base.name if base else ""
    )
    text = (
        f"no class application is declared; one was made that inherits from {base.name}"
        if base
        else "no class application is declared; an empty one was made"
    )
    notes.add(0, "synthesised", text)


def _borrow(declared: dict[str, Class], notes: Notes) -> None:
    """Make the well-known classes that are contained or inherited but declared nowhere."""
    wanted = {e.type for row in declared.values() for e in row.elements}
    wanted |= {row.inherits for row in declared.values()}
    find = _finder(declared)
    for name in sorted(wanted & _WELL_KNOWN.keys()):
        if not find(name):
            declared[name] = Class(name, _WELL_KNOWN[name], hidden=True)
            text = f"class {name} is used but not declared; an empty one was made"
            notes.add(0, "synthesised", text)


def _extended(row: Class, addition: Class, notes: Notes) -> Class:
    if addition.code and addition.code != row.code:
        text = (
            f"class {row.name} is declared again with the code {addition.code!r};"
            f" {row.code!r} is kept"
        )
        notes.add(addition.line, "class-code", text, "warning")
    gone = bool(addition.extends) and addition.hidden
    more = addition
    if gone:
        more = replace(
            addition,
            properties=tuple(replace(p, hidden=True) for p in addition.properties),
            elements=tuple(replace(e, hidden=True) for e in addition.elements),
        )
    return replace(
        row,
        id=row.id or addition.id,
        properties=row.properties + more.properties,
        elements=row.elements + more.elements,
        responds_to=join(row.responds_to, addition.responds_to),
        values=join(row.values, addition.values),
        inherits=row.inherits or (addition.inherits if addition.inherits != row.name else ""),
        plural=row.plural or addition.plural,
        synonyms=also(row.synonyms, addition.synonyms, row.code, addition.code),
        hidden=row.hidden and (addition.hidden or bool(addition.extends)),
        description=row.description or addition.description,
    )


def _linked(declared: dict[str, Class], find: Find, notes: Notes) -> list[Class]:
    """Replace ids, synonyms and codes in `inherits` and elements by names; end cycles."""
    parents = {name: find(row.inherits) for name, row in declared.items() if row.inherits}
    linked = []
    for name, row in declared.items():
        inherits = parents.get(name, "")
        if row.inherits and not inherits:
            text = f"class {name} inherits from {row.inherits}, which is not declared"
            notes.add(row.line, "unknown-class", text)
        if inherits and _reaches(inherits, name, parents):
            notes.add(row.line, "cycle", f"class {name} inherits from itself; cut", "warning")
            inherits = parents[name] = ""
        linked.append(
            replace(
                row,
                inherits=inherits,
                properties=properties(row.name, row.properties, notes),
                elements=_elements(row, find, notes),
            )
        )
    return linked


def _reaches(start: str, goal: str, parents: Mapping[str, str]) -> bool:
    seen: set[str] = set()
    name = start
    while name and name not in seen:
        if name == goal:
            return True
        seen.add(name)
        name = parents.get(name, "")
    return False


def _elements(row: Class, find: Find, notes: Notes) -> tuple[Element, ...]:
    kept: dict[str, Element] = {}
    for element in row.elements:
        name = find(element.type)
        if not name:
            text = f"element {element.type} of {row.name} is of no declared class; left out"
            notes.add(element.line, "unknown-class", text, "warning")
        elif name in kept:
            text = f"element {name} of {row.name} is listed again; once is enough"
            notes.add(element.line, "repeated", text)
            first = kept[name]
            access = first.access if first.access == element.access else "rw"
            hidden = first.hidden and element.hidden
            kept[name] = replace(first, access=access, hidden=hidden)
        else:
            kept[name] = replace(element, type=name)
    return tuple(kept.values())
