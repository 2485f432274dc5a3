"""Resolve: includes expanded, overloads, extensions and self-inheriting classes merged.

Terms and codes are untouched; the order of first declaration is kept. What was merged and
what could not be resolved comes back as diagnostics.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from iac_gen.diagnostics import Diagnostic, Severity
from iac_gen.includes import IncludeMap, path_of, select
from iac_gen.model import (
    Class,
    Command,
    Dictionary,
    Element,
    Enumeration,
    Include,
    Item,
    Parameter,
    Property,
    RecordType,
    Source,
    Suite,
    TypeRef,
    ValueType,
)

__all__ = ["APPLICATION", "Resolved", "resolve"]

T = TypeVar("T", RecordType, ValueType)

APPLICATION = "application"

# Classes that dictionaries extend or contain without declaring them. Codes are those of the
# open scripting headers (AERegistry.h, ASRegistry.h).
_WELL_KNOWN = {"application": "capp", "document": "docu", "window": "cwin", "item": "cobj"}


@dataclass(frozen=True, slots=True)
class Resolved:
    """One dictionary with every name declared once.

    `inherits` and element types of `classes` are names of `classes`; `commands` holds neither
    events nor two rows of one name and code.
    """

    source: Source
    commands: tuple[Command, ...] = ()
    events: tuple[Command, ...] = ()
    classes: tuple[Class, ...] = ()
    enumerations: tuple[Enumeration, ...] = ()
    records: tuple[RecordType, ...] = ()
    values: tuple[ValueType, ...] = ()


@dataclass
class _Notes:
    file: str
    found: list[Diagnostic] = field(default_factory=list)

    def add(self, line: int, code: str, message: str, level: Severity = "note") -> None:
        self.found.append(Diagnostic(self.file, line, code, message, level))


def resolve(source: Source, includes: IncludeMap) -> tuple[Resolved, list[Diagnostic]]:
    """Return `source` resolved, and what had to be merged, guessed or left out."""
    notes = _Notes(source.dictionary.file)
    items = list(_expanded(source.dictionary, includes, notes, depth=0))
    commands = [i for i in items if isinstance(i, Command) and not i.event]
    for command in commands:
        if command.hidden:
            text = f"command {command.name} is hidden; no tool is made of it"
            notes.add(command.line, "hidden", text)
    resolved = Resolved(
        source,
        tuple(_commands(commands, notes)),
        tuple(i for i in items if isinstance(i, Command) and i.event),
        tuple(_classes([i for i in items if isinstance(i, Class)], notes)),
        tuple(_enumerations([i for i in items if isinstance(i, Enumeration)], notes)),
        tuple(_first_of_each([i for i in items if isinstance(i, RecordType)], notes)),
        tuple(_first_of_each([i for i in items if isinstance(i, ValueType)], notes)),
    )
    return resolved, notes.found


def _expanded(
    dictionary: Dictionary, includes: IncludeMap, notes: _Notes, depth: int
) -> Iterator[Item]:
    """Yield all items in order; those of a hidden suite are hidden."""
    for suite in dictionary.suites:
        if isinstance(suite, Include):
            yield from _included(suite, includes, notes, depth)
            continue
        for item in suite.items:
            if isinstance(item, Include):
                yield from _included(item, includes, notes, depth)
            else:
                yield _hide(item) if suite.hidden else item


def _hide(item: Item) -> Item:
    return item if isinstance(item, Include) else replace(item, hidden=True)


def _included(include: Include, includes: IncludeMap, notes: _Notes, depth: int) -> Iterator[Item]:
    path = path_of(include.href)
    target = includes.get(path)
    if target is None or depth > 0:
        reason = "is not at hand" if target is None else "is included by an included file"
        notes.add(include.line, "include", f"{path} {reason}; its terms are missing", "warning")
        return
    try:
        picked = select(target, include)
    except ValueError as error:
        notes.add(include.line, "include", f"{error}; its terms are missing", "warning")
        return
    notes.add(include.line, "included", f"{path}: {len(picked)} parts taken in")
    suites = tuple(part for part in picked if isinstance(part, Suite))
    yield from _expanded(replace(target, suites=suites), includes, notes, depth + 1)
    for part in picked:
        if not isinstance(part, Suite):
            yield replace(part, line=include.line)


def _commands(commands: list[Command], notes: _Notes) -> list[Command]:
    merged: dict[tuple[str, str], Command] = {}
    for command in commands:
        clean = replace(command, parameters=_parameters(command.parameters, command.name, notes))
        key = (command.name, command.code)
        if key in merged:
            merged[key] = _overload(merged[key], clean)
            notes.add(command.line, "overload", f"command {command.name} is declared again; merged")
        else:
            if any(name == command.name for name, _ in merged):
                notes.add(
                    command.line,
                    "overload",
                    f"command {command.name} is declared again with the code {command.code!r};"
                    " the second gets a number",
                    "warning",
                )
            merged[key] = clean
    return list(merged.values())


def _parameters(
    parameters: tuple[Parameter, ...], owner: str, notes: _Notes
) -> tuple[Parameter, ...]:
    """Merge parameters that repeat name and code into one with all their types."""
    kept: dict[tuple[str, str], Parameter] = {}
    for parameter in parameters:
        key = (parameter.name, parameter.code)
        if key in kept:
            kept[key] = _union(kept[key], parameter)
            text = f"parameter {parameter.name} of {owner} is repeated; its types are merged"
            notes.add(parameter.line, "repeated", text)
        else:
            kept[key] = parameter
    return tuple(kept.values())


def _union(one: Parameter, other: Parameter) -> Parameter:
    return replace(
        one,
        types=_join(one.types, other.types),
        optional=one.optional or other.optional,
        hidden=one.hidden and other.hidden,
    )


def _join(one: tuple[TypeRef, ...], other: tuple[TypeRef, ...]) -> tuple[TypeRef, ...]:
    return one + tuple(ref for ref in other if ref not in one)


def _overload(one: Command, other: Command) -> Command:
    """Merge two declarations: what only one of them requires is optional in both."""
    mine = {p.code: p for p in one.parameters}
    theirs = {p.code: p for p in other.parameters}
    parameters = []
    for code, parameter in mine.items():
        twin = theirs.get(code)
        parameters.append(_union(parameter, twin) if twin else replace(parameter, optional=True))
    parameters += [replace(p, optional=True) for c, p in theirs.items() if c not in mine]
    if one.direct and other.direct:
        direct: Parameter | None = _union(one.direct, other.direct)
    else:
        only = one.direct or other.direct
        direct = replace(only, optional=True) if only else None
    result = one.result
    if other.result is not None:
        result = _join(one.result or (), other.result)
    return replace(
        one,
        direct=direct,
        parameters=tuple(parameters),
        result=result,
        hidden=one.hidden and other.hidden,
        description=one.description or other.description,
        access_groups=one.access_groups + other.access_groups,
    )


def _classes(classes: list[Class], notes: _Notes) -> list[Class]:
    declared: dict[str, Class] = {}
    additions: list[Class] = []
    for row in classes:
        if row.extends or (row.inherits and row.inherits in (row.name, row.id)):
            additions.append(row)
        elif row.name in declared:
            notes.add(row.line, "class-again", f"class {row.name} is declared again; merged")
            declared[row.name] = _extended(declared[row.name], row)
        else:
            declared[row.name] = row
    ids = {row.id: name for name, row in declared.items() if row.id}
    for row in additions:
        wanted = row.extends or row.name
        name = wanted if wanted in declared else ids.get(wanted, "")
        if name:
            declared[name] = _extended(declared[name], row)
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
    if declared and APPLICATION not in declared:
        declared[APPLICATION] = Class(APPLICATION, "capp")
        notes.add(0, "synthesised", "no class application is declared; an empty one was made")
    _borrow(declared, notes)
    return _linked(declared, ids, notes)


def _borrow(declared: dict[str, Class], notes: _Notes) -> None:
    """Make the well-known classes that are contained or inherited but declared nowhere."""
    wanted = {e.type for row in declared.values() for e in row.elements}
    wanted |= {row.inherits for row in declared.values()}
    known = {row.id for row in declared.values()} | declared.keys()
    for name in sorted((wanted & _WELL_KNOWN.keys()) - known):
        declared[name] = Class(name, _WELL_KNOWN[name], hidden=True)
        notes.add(0, "synthesised", f"class {name} is used but not declared; an empty one was made")


def _extended(row: Class, addition: Class) -> Class:
    return replace(
        row,
        properties=row.properties + addition.properties,
        elements=row.elements + addition.elements,
        responds_to=row.responds_to + addition.responds_to,
        values=_join(row.values, addition.values),
        inherits=row.inherits or (addition.inherits if addition.inherits != row.name else ""),
        plural=row.plural or addition.plural,
        synonyms=row.synonyms + addition.synonyms,
        hidden=row.hidden and (addition.hidden or bool(addition.extends)),
        description=row.description or addition.description,
    )


def _linked(declared: dict[str, Class], ids: dict[str, str], notes: _Notes) -> list[Class]:
    """Replace ids and codes in `inherits` and elements by names; end cycles."""
    codes: dict[str, str] = {}
    for name, row in declared.items():
        codes.setdefault(row.code, name)

    def name_of(term: str) -> str:
        if term in declared:
            return term
        return ids.get(term) or codes.get(term, "")

    linked: dict[str, Class] = {}
    for name, row in declared.items():
        inherits = name_of(row.inherits) if row.inherits else ""
        if row.inherits and not inherits:
            text = f"class {name} inherits from {row.inherits}, which is not declared"
            notes.add(row.line, "unknown-class", text)
        if inherits and _reaches(inherits, name, declared, name_of):
            notes.add(row.line, "cycle", f"class {name} inherits from itself; cut", "warning")
            inherits = ""
            declared[name] = replace(row, inherits="")
        linked[name] = replace(
            row,
            inherits=inherits,
            properties=_once(row, notes),
            elements=_elements(row, name_of, notes),
        )
    return list(linked.values())


def _reaches(
    start: str, goal: str, declared: dict[str, Class], name_of: Callable[[str], str]
) -> bool:
    seen: set[str] = set()
    name = start
    while name and name not in seen:
        if name == goal:
            return True
        seen.add(name)
        inherits = declared[name].inherits
        name = name_of(inherits) if inherits else ""
    return False


def _once(row: Class, notes: _Notes) -> tuple[Property, ...]:
    kept: dict[str, Property] = {}
    for prop in row.properties:
        if prop.contents:
            text = f"what {row.name} contains stands as its property {prop.name}"
            notes.add(prop.line, "contents", text)
        if prop.name in kept:
            text = f"property {prop.name} of {row.name} is declared again; the types are merged"
            notes.add(prop.line, "repeated", text)
            first = kept[prop.name]
            kept[prop.name] = replace(first, types=_join(first.types, prop.types))
        else:
            kept[prop.name] = prop
    return tuple(kept.values())


def _elements(row: Class, name_of: Callable[[str], str], notes: _Notes) -> tuple[Element, ...]:
    kept: dict[str, Element] = {}
    for element in row.elements:
        name = name_of(element.type)
        if not name:
            text = f"element {element.type} of {row.name} is of no declared class; left out"
            notes.add(element.line, "unknown-class", text, "warning")
        elif name in kept:
            text = f"element {name} of {row.name} is listed again; once is enough"
            notes.add(element.line, "repeated", text)
        else:
            kept[name] = replace(element, type=name)
    return tuple(kept.values())


def _enumerations(rows: list[Enumeration], notes: _Notes) -> list[Enumeration]:
    kept: dict[str, Enumeration] = {}
    for row in rows:
        first = kept.get(row.name)
        if first is None:
            kept[row.name] = row
            continue
        known = {value.name for value in first.enumerators}
        more = tuple(value for value in row.enumerators if value.name not in known)
        kept[row.name] = replace(first, enumerators=first.enumerators + more)
        notes.add(row.line, "repeated", f"enumeration {row.name} is declared again; merged")
    return list(kept.values())


def _first_of_each(rows: list[T], notes: _Notes) -> list[T]:
    kept: dict[str, T] = {}
    for row in rows:
        if row.name in kept:
            notes.add(row.line, "repeated", f"{row.name} is declared again; the first is kept")
        else:
            kept[row.name] = row
    return list(kept.values())
