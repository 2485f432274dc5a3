"""Merge: what a dictionary declares more than once becomes one row that has lost nothing.

The first declaration gives order and name; what a later one adds is kept, and where two
contradict each other a diagnostic has the other half. Extensions and the old self-inheriting
form become part of their class: every name in `inherits` and in an element is one of the classes
afterwards, and following `inherits` ends.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, TypeVar

from iac_gen import model

T = TypeVar("T")
R = TypeVar("R", bound=model.Term)
N = TypeVar("N", model.Enumeration, model.RecordType, model.ValueType)

# The first declaration that says one of these decides it; what another adds to those is kept.
_DECIDED: Final = ("code", "id", "plural", "description")
_ADDED: Final = ("types", "responds_to", "values", "access_groups")


@dataclass
class MergeNotes:
    """Collects diagnostics about one file."""

    file: str
    found: list[model.Diagnostic] = field(default_factory=list)

    def add(self, line: int, code: str, message: str, level: model.Severity = "note") -> None:
        self.found.append(model.Diagnostic(self.file, line, code, message, level))


def _joined_rows(one: tuple[T, ...], other: tuple[T, ...]) -> tuple[T, ...]:
    """Return `one` and what `other` adds to it."""
    return one + tuple(ref for ref in other if ref not in one)


def _merge_declarations(first: R, row: R, **decided: Any) -> R:
    """Return `first` with what a later declaration of it adds, and what is `decided` already.

    The code of the later one becomes a synonym; hidden is what is hidden in both, and what is
    readable in one and writable in the other is both.
    """
    merged: dict[str, Any] = {"hidden": first.hidden and row.hidden}
    for name in (each.name for each in fields(first)):
        one, other = getattr(first, name), getattr(row, name)
        if name in _DECIDED:
            merged[name] = one or other
        elif name in _ADDED:
            merged[name] = _joined_rows(one, other)
        elif name == "access":
            merged[name] = one if one == other else "rw"
        elif name == "synonyms":
            mine, theirs = (getattr(each, "code", "") for each in (first, row))
            more = (model.Synonym(code=theirs),) if theirs and theirs != mine else ()
            merged[name] = _joined_rows(_joined_rows(one, other), more)
    return replace(first, **{**merged, **decided})


def _repeat_message(what: str, kept: str, code: str) -> str:
    """Say that `what` is declared again, and which of two codes is kept."""
    text = f"{what} is declared again"
    return text if kept == code else f"{text} with the code {code!r}; {kept!r} is kept"


def merge_by_name(
    rows: Iterable[N], notes: MergeNotes, merge: Callable[[N, N], N] = _merge_declarations
) -> list[N]:
    """Return the rows with those of one name merged, in the order of first declaration."""
    kept: dict[str, N] = {}
    for row in rows:
        first = kept.get(row.name)
        if first is not None:
            text = _repeat_message(f"{model.KINDS[type(row)]} {row.name}", first.code, row.code)
            rest = "; merged" if row.code == first.code else ", the rest merged"
            notes.add(row.line, "repeated", text + rest)
        kept[row.name] = row if first is None else merge(first, row)
    return list(kept.values())


def merge_commands(rows: Iterable[model.SdefCommand], notes: MergeNotes) -> list[model.SdefCommand]:
    """Merge overloads of one name and code; one name with two codes stays two commands."""
    merged: dict[tuple[str, str], model.SdefCommand] = {}
    names: set[str] = set()
    for command in rows:
        parameters = _merge_parameters(command.parameters, command.name, notes)
        clean = replace(command, parameters=parameters)
        key = (command.name, command.code)
        if key in merged:
            hidden = merged[key].hidden != clean.hidden
            how = "the hidden form adds nothing" if hidden else "merged"
            notes.add(command.line, "overload", f"command {command.name} is declared again; {how}")
            merged[key] = _merge_overloads(merged[key], clean)
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


def _merge_parameters(
    parameters: tuple[model.SdefParameter, ...], owner: str, notes: MergeNotes
) -> tuple[model.SdefParameter, ...]:
    """Merge parameters that repeat name and code into one with all their types."""
    kept: dict[tuple[str, str], model.SdefParameter] = {}
    for parameter in parameters:
        key = (parameter.name, parameter.code)
        if key in kept:
            text = f"parameter {parameter.name} of {owner} is repeated; its types are merged"
            notes.add(parameter.line, "repeated", text)
            parameter = _merge_parameter(kept[key], parameter)
        kept[key] = parameter
    return tuple(kept.values())


def _merge_parameter(one: model.SdefParameter, other: model.SdefParameter) -> model.SdefParameter:
    return _merge_declarations(one, other, optional=one.optional or other.optional)


def _merge_overloads(one: model.SdefCommand, other: model.SdefCommand) -> model.SdefCommand:
    """Merge two commands of one name and code; what only one has is optional in both."""
    if one.hidden != other.hidden:
        # A hidden form is not to be called: it adds nothing to the one that is shown.
        return replace(other, line=one.line) if one.hidden else one
    mine = {(p.name, p.code): p for p in one.parameters}
    theirs = {(p.name, p.code): p for p in other.parameters}
    parameters = tuple(
        _merge_parameter(mine[key], theirs[key])
        if key in mine and key in theirs
        else replace(parameter, optional=True)
        for key, parameter in {**mine, **theirs}.items()
    )
    if one.direct and other.direct:
        direct: model.SdefParameter | None = _merge_parameter(one.direct, other.direct)
    else:
        only = one.direct or other.direct
        direct = replace(only, optional=True) if only else None
    result = one.result
    if other.result is not None:
        result = _joined_rows(one.result or (), other.result)
    return _merge_declarations(one, other, direct=direct, parameters=parameters, result=result)


def merge_properties(
    owner: str, rows: Iterable[model.SdefProperty], notes: MergeNotes
) -> tuple[model.SdefProperty, ...]:
    """Return the properties of a class or record, each term once."""
    kept: dict[str, model.SdefProperty] = {}
    for prop in rows:
        if prop.contents:
            text = f"what {owner} contains stands as its property {prop.name}"
            notes.add(prop.line, "contents", text)
        first = kept.get(prop.name)
        if first is None:
            kept[prop.name] = prop
            continue
        same = first.code == prop.code
        text = _repeat_message(f"property {prop.name} of {owner}", first.code, prop.code)
        text += "; the types are merged" if same else " and the types are merged"
        notes.add(prop.line, "repeated", text, "note" if same else "warning")
        kept[prop.name] = _merge_declarations(first, prop)
    return tuple(kept.values())


def merge_enumerations(
    rows: Iterable[model.Enumeration], notes: MergeNotes
) -> list[model.Enumeration]:
    """Return each enumeration once, with the values of all its declarations."""
    return merge_by_name(
        rows,
        notes,
        lambda a, b: _merge_declarations(a, b, enumerators=_merge_enumerators(a, b, notes)),
    )


def _merge_enumerators(
    first: model.Enumeration, row: model.Enumeration, notes: MergeNotes
) -> tuple[model.Enumerator, ...]:
    known = {value.name: value.code for value in first.enumerators}
    more = []
    for value in row.enumerators:
        if value.name not in known:
            more.append(value)
        elif known[value.name] != value.code:
            what = f"enumerator {value.name} of {row.name}"
            text = _repeat_message(what, known[value.name], value.code)
            notes.add(value.line, "repeated", text, "warning")
    return (*first.enumerators, *more)


def merge_records(rows: Iterable[model.RecordType], notes: MergeNotes) -> list[model.RecordType]:
    """Return each record type once, with the fields of all its declarations."""
    merged = merge_by_name(
        rows, notes, lambda a, b: _merge_declarations(a, b, properties=a.properties + b.properties)
    )
    return [
        replace(row, properties=merge_properties(row.name, row.properties, notes)) for row in merged
    ]


APPLICATION = "application"
_APPLICATION_CODE = "capp"

# Classes that dictionaries extend or contain without declaring them. Codes are those of the
# open scripting headers (AERegistry.h, ASRegistry.h).
_WELL_KNOWN = {APPLICATION: _APPLICATION_CODE, "document": "docu", "window": "cwin", "item": "cobj"}


def merge_classes(rows: Iterable[model.SdefClass], notes: MergeNotes) -> list[model.SdefClass]:
    """Return each class once, with its extensions, in the order of first declaration."""
    declared: dict[str, model.SdefClass] = {}
    additions: list[model.SdefClass] = []
    for row in rows:
        if row.extends or (row.inherits and row.inherits in (row.name, row.id)):
            additions.append(row)
        elif row.name in declared:
            notes.add(row.line, "class-again", f"class {row.name} is declared again; merged")
            declared[row.name] = _extend_class(declared[row.name], row, notes)
        else:
            declared[row.name] = row
    for row in additions:
        _merge_extension(row, declared, notes)
    if declared and APPLICATION not in declared:
        _make_application(declared, notes)
    _add_known_classes(declared, notes)
    return _link_classes(declared, model.make_finder(declared.values()), notes)


def _merge_extension(
    row: model.SdefClass, declared: dict[str, model.SdefClass], notes: MergeNotes
) -> None:
    """Merge an extension, or a class that inherits from itself, into the class it means."""
    wanted = row.extends or row.name
    name = wanted if wanted in declared else model.make_finder(declared.values())(wanted)
    if row.name and name != row.name:
        # A class of this name is new, whatever else is called so.
        name = ""
    if name:
        declared[name] = _extend_class(declared[name], row, notes)
        if row.name:
            text = f"class {name} inherits from itself; taken as an extension"
            notes.add(row.line, "self-inherits", text)
        return
    # Of a class that lies in a file that is not at hand, the code is not known.
    code = row.code or _WELL_KNOWN.get(wanted, "")
    declared[wanted] = replace(row, name=wanted, code=code, extends="", inherits="")
    if row.extends:
        text = f"class {wanted} is extended but not declared; made from the extension"
        notes.add(row.line, "synthesised", text)


def _make_application(declared: dict[str, model.SdefClass], notes: MergeNotes) -> None:
    """Make the class where references begin; one of its code under another name is its base."""
    base = next((row for row in declared.values() if row.code == _APPLICATION_CODE), None)
    declared[APPLICATION] = model.SdefClass(
        APPLICATION, _APPLICATION_CODE, inherits=base.name if base else ""
    )
    text = (
        f"no class application is declared; IAC made one that inherits from {base.name}"
        if base
        else "no class application is declared; an empty one was made"
    )
    notes.add(0, "synthesised", text)


def _add_known_classes(declared: dict[str, model.SdefClass], notes: MergeNotes) -> None:
    """Make the well-known classes that are contained or inherited but declared nowhere."""
    wanted = {e.type for row in declared.values() for e in row.elements}
    wanted |= {row.inherits for row in declared.values()}
    find = model.make_finder(declared.values())
    for name in sorted(wanted & _WELL_KNOWN.keys()):
        if not find(name):
            declared[name] = model.SdefClass(name, _WELL_KNOWN[name], hidden=True)
            text = f"class {name} is used but not declared; an empty one was made"
            notes.add(0, "synthesised", text)


def _extend_class(
    row: model.SdefClass, addition: model.SdefClass, notes: MergeNotes
) -> model.SdefClass:
    if addition.code and addition.code != row.code:
        text = _repeat_message(f"class {row.name}", row.code, addition.code)
        notes.add(addition.line, "class-code", text, "warning")
    more = addition
    if addition.extends and addition.hidden:
        more = replace(
            addition,
            properties=tuple(replace(p, hidden=True) for p in addition.properties),
            elements=tuple(replace(e, hidden=True) for e in addition.elements),
        )
    return _merge_declarations(
        row,
        more,
        properties=row.properties + more.properties,
        elements=row.elements + more.elements,
        inherits=row.inherits or (addition.inherits if addition.inherits != row.name else ""),
        hidden=row.hidden and (addition.hidden or bool(addition.extends)),
    )


def _link_classes(
    declared: dict[str, model.SdefClass], find: model.Find, notes: MergeNotes
) -> list[model.SdefClass]:
    """Replace ids, synonyms and codes in `inherits` and elements by names; end cycles."""
    parents = {name: find(row.inherits) for name, row in declared.items() if row.inherits}
    linked = []
    ended: set[str] = set()
    for name, row in declared.items():
        inherits = parents.get(name, "")
        if row.inherits and not inherits:
            text = f"class {name} inherits from {row.inherits}, which is not declared"
            notes.add(row.line, "unknown-class", text)
        if inherits and _inherits_from(inherits, name, parents, ended):
            text = f"class {name} inherits from itself, which is left out"
            notes.add(row.line, "cycle", text, "warning")
            inherits = parents[name] = ""
        properties = merge_properties(row.name, row.properties, notes)
        elements = _link_elements(row, find, notes)
        linked.append(replace(row, inherits=inherits, properties=properties, elements=elements))
    return linked


def _inherits_from(start: str, goal: str, parents: Mapping[str, str], ended: set[str]) -> bool:
    """Say whether following `parents` leads to `goal`; what leads to an end is noted in `ended`."""
    seen: set[str] = set()
    name = start
    while name and name not in seen and name not in ended:
        if name == goal:
            return True
        seen.add(name)
        name = parents.get(name, "")
    if name not in seen:
        ended |= seen
    return False


def _link_elements(
    row: model.SdefClass, find: model.Find, notes: MergeNotes
) -> tuple[model.SdefElement, ...]:
    kept: dict[str, model.SdefElement] = {}
    for element in row.elements:
        name = find(element.type)
        if not name:
            text = f"element {element.type} of {row.name} is of no declared class; left out"
            notes.add(element.line, "unknown-class", text, "warning")
        elif name in kept:
            text = f"element {name} of {row.name} is listed again; once is enough"
            notes.add(element.line, "repeated", text)
            kept[name] = _merge_declarations(kept[name], element)
        else:
            kept[name] = replace(element, type=name)
    return tuple(kept.values())
