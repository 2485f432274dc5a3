"""Classes: declarations, extensions and the old self-inheriting form become one row a class.

Every name in `inherits` and in an element is one of the classes afterwards, and following
`inherits` ends.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from iac_gen.model import (
    Access,
    Diagnostic,
    Enumeration,
    Enumerator,
    RecordType,
    SdefClass,
    SdefCommand,
    SdefElement,
    SdefParameter,
    SdefProperty,
    Severity,
    Synonym,
    ValueType,
)

T = TypeVar("T")


@dataclass
class Notes:
    """Collects diagnostics about one file."""

    file: str
    found: list[Diagnostic] = field(default_factory=list)

    def add(self, line: int, code: str, message: str, level: Severity = "note") -> None:
        self.found.append(Diagnostic(self.file, line, code, message, level))


def join(one: tuple[T, ...], other: tuple[T, ...]) -> tuple[T, ...]:
    """Return `one` and what `other` adds to it."""
    return one + tuple(ref for ref in other if ref not in one)


def also(
    kept: tuple[Synonym, ...], other: tuple[Synonym, ...], code: str, others: str
) -> tuple[Synonym, ...]:
    """Return the synonyms of two rows merged; the second row's own code is one of them."""
    more = (Synonym(code=others),) if others and others != code else ()
    return join(join(kept, other), more)


def commands(rows: Iterable[SdefCommand], notes: Notes) -> list[SdefCommand]:
    """Merge overloads of one name and code; one name with two codes stays two commands."""
    merged: dict[tuple[str, str], SdefCommand] = {}
    names: set[str] = set()
    for command in rows:
        clean = replace(command, parameters=_parameters(command.parameters, command.name, notes))
        key = (command.name, command.code)
        if key in merged:
            hidden = merged[key].hidden != clean.hidden
            how = "the hidden form adds nothing" if hidden else "merged"
            notes.add(command.line, "overload", f"command {command.name} is declared again; {how}")
            merged[key] = _overload(merged[key], clean)
            continue
        if command.name in names:
            text = (
                f"command {command.name} is declared again with the code {command.code!r};"
                " the second gets a number"
            )
            notes.add(command.line, "overload", text, "warning")
        names.add(command.name)
        merged[key] = clean
    return list(merged.values())


def _parameters(
    parameters: tuple[SdefParameter, ...], owner: str, notes: Notes
) -> tuple[SdefParameter, ...]:
    """Merge parameters that repeat name and code into one with all their types."""
    kept: dict[tuple[str, str], SdefParameter] = {}
    for parameter in parameters:
        key = (parameter.name, parameter.code)
        if key in kept:
            kept[key] = _union(kept[key], parameter)
            text = f"parameter {parameter.name} of {owner} is repeated; its types are merged"
            notes.add(parameter.line, "repeated", text)
        else:
            kept[key] = parameter
    return tuple(kept.values())


def _union(one: SdefParameter, other: SdefParameter) -> SdefParameter:
    return replace(
        one,
        types=join(one.types, other.types),
        optional=one.optional or other.optional,
        hidden=one.hidden and other.hidden,
        description=one.description or other.description,
    )


def _overload(one: SdefCommand, other: SdefCommand) -> SdefCommand:
    """Merge two commands of one name and code; what only one has is optional in both."""
    if one.hidden != other.hidden:
        # A hidden form is not to be called: it adds nothing to the one that is shown.
        return replace(other, line=one.line) if one.hidden else one
    mine = {(p.name, p.code): p for p in one.parameters}
    theirs = {(p.name, p.code): p for p in other.parameters}
    parameters = [
        _union(parameter, theirs[key]) if key in theirs else replace(parameter, optional=True)
        for key, parameter in mine.items()
    ]
    parameters += [replace(p, optional=True) for key, p in theirs.items() if key not in mine]
    if one.direct and other.direct:
        direct: SdefParameter | None = _union(one.direct, other.direct)
    else:
        only = one.direct or other.direct
        direct = replace(only, optional=True) if only else None
    result = one.result
    if other.result is not None:
        result = join(one.result or (), other.result)
    return replace(
        one,
        id=one.id or other.id,
        direct=direct,
        parameters=tuple(parameters),
        result=result,
        synonyms=join(one.synonyms, other.synonyms),
        description=one.description or other.description,
        access_groups=join(one.access_groups, other.access_groups),
    )


def properties(owner: str, rows: Iterable[SdefProperty], notes: Notes) -> tuple[SdefProperty, ...]:
    """Return the properties of a class or record, each term once."""
    kept: dict[str, SdefProperty] = {}
    for prop in rows:
        if prop.contents:
            text = f"what {owner} contains stands as its property {prop.name}"
            notes.add(prop.line, "contents", text)
        first = kept.get(prop.name)
        if first is None:
            kept[prop.name] = prop
            continue
        if first.code == prop.code:
            text = f"property {prop.name} of {owner} is declared again; the types are merged"
            notes.add(prop.line, "repeated", text)
        else:
            text = (
                f"property {prop.name} of {owner} is declared again with the code {prop.code!r};"
                f" {first.code!r} is kept and the types are merged"
            )
            notes.add(prop.line, "repeated", text, "warning")
        kept[prop.name] = replace(
            first,
            types=join(first.types, prop.types),
            access=_access(first.access, prop.access),
            hidden=first.hidden and prop.hidden,
            synonyms=also(first.synonyms, prop.synonyms, first.code, prop.code),
            access_groups=join(first.access_groups, prop.access_groups),
            description=first.description or prop.description,
        )
    return tuple(kept.values())


def _access(one: Access, other: Access) -> Access:
    return one if one == other else "rw"


def enumerations(rows: Iterable[Enumeration], notes: Notes) -> list[Enumeration]:
    """Return each enumeration once, with the values of all its declarations."""
    kept: dict[str, Enumeration] = {}
    for row in rows:
        first = kept.get(row.name)
        if first is None:
            kept[row.name] = row
            continue
        kept[row.name] = replace(
            first,
            id=first.id or row.id,
            enumerators=_values(first, row, notes),
            hidden=first.hidden and row.hidden,
            synonyms=also(first.synonyms, row.synonyms, first.code, row.code),
            description=first.description or row.description,
        )
        notes.add(row.line, "repeated", f"enumeration {row.name} is declared again; merged")
    return list(kept.values())


def _values(first: Enumeration, row: Enumeration, notes: Notes) -> tuple[Enumerator, ...]:
    known = {value.name: value.code for value in first.enumerators}
    more = []
    for value in row.enumerators:
        if value.name not in known:
            more.append(value)
        elif known[value.name] != value.code:
            text = (
                f"enumerator {value.name} of {row.name} is declared again with the code"
                f" {value.code!r}; {known[value.name]!r} is kept"
            )
            notes.add(value.line, "repeated", text, "warning")
    return (*first.enumerators, *more)


def records(rows: Iterable[RecordType], notes: Notes) -> list[RecordType]:
    """Return each record type once, with the fields of all its declarations."""
    kept: dict[str, RecordType] = {}
    for row in rows:
        first = kept.get(row.name)
        if first is None:
            kept[row.name] = row
            continue
        notes.add(row.line, "repeated", _again("record type", first, row))
        kept[row.name] = replace(
            first,
            id=first.id or row.id,
            properties=first.properties + row.properties,
            hidden=first.hidden and row.hidden,
            description=first.description or row.description,
        )
    return [
        replace(row, properties=properties(row.name, row.properties, notes))
        for row in kept.values()
    ]


def values(rows: Iterable[ValueType], notes: Notes) -> list[ValueType]:
    """Return each value type once."""
    kept: dict[str, ValueType] = {}
    for row in rows:
        first = kept.get(row.name)
        if first is None:
            kept[row.name] = row
            continue
        notes.add(row.line, "repeated", _again("value type", first, row))
        kept[row.name] = replace(
            first,
            code=first.code or row.code,
            id=first.id or row.id,
            hidden=first.hidden and row.hidden,
            synonyms=also(first.synonyms, row.synonyms, first.code, row.code),
        )
    return list(kept.values())


def _again(what: str, first: RecordType | ValueType, row: RecordType | ValueType) -> str:
    if row.code == first.code:
        return f"{what} {row.name} is declared again; merged"
    return (
        f"{what} {row.name} is declared again with the code {row.code!r};"
        f" {first.code!r} is kept, the rest merged"
    )


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


def classes(rows: Iterable[SdefClass], notes: Notes) -> list[SdefClass]:
    """Return each class once, with its extensions, in the order of first declaration."""
    declared: dict[str, SdefClass] = {}
    additions: list[SdefClass] = []
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


def _finder(declared: Mapping[str, SdefClass]) -> Find:
    return named(
        declared,
        {row.id: name for name, row in declared.items() if row.id},
        {row.code: name for name, row in reversed(list(declared.items()))},
        ((name, row.synonyms) for name, row in declared.items()),
    )


def _add(row: SdefClass, declared: dict[str, SdefClass], notes: Notes) -> None:
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


def _make_application(declared: dict[str, SdefClass], notes: Notes) -> None:
    """Make the class where references begin; one of its code under another name is its base."""
    base = next((row for row in declared.values() if row.code == _APPLICATION_CODE), None)
    declared[APPLICATION] = SdefClass(
        APPLICATION, _APPLICATION_CODE, inherits=base.name if base else ""
    )
    text = (
        f"no class application is declared; one was made that inherits from {base.name}"
        if base
        else "no class application is declared; an empty one was made"
    )
    notes.add(0, "synthesised", text)


def _borrow(declared: dict[str, SdefClass], notes: Notes) -> None:
    """Make the well-known classes that are contained or inherited but declared nowhere."""
    wanted = {e.type for row in declared.values() for e in row.elements}
    wanted |= {row.inherits for row in declared.values()}
    find = _finder(declared)
    for name in sorted(wanted & _WELL_KNOWN.keys()):
        if not find(name):
            declared[name] = SdefClass(name, _WELL_KNOWN[name], hidden=True)
            text = f"class {name} is used but not declared; an empty one was made"
            notes.add(0, "synthesised", text)


def _extended(row: SdefClass, addition: SdefClass, notes: Notes) -> SdefClass:
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


def _linked(declared: dict[str, SdefClass], find: Find, notes: Notes) -> list[SdefClass]:
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


def _elements(row: SdefClass, find: Find, notes: Notes) -> tuple[SdefElement, ...]:
    kept: dict[str, SdefElement] = {}
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
