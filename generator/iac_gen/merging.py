"""Merging: what a dictionary declares more than once becomes one row that has lost nothing.

The first declaration gives order and name; what a later one adds is kept, and where two
contradict each other a diagnostic has the other half.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from iac_gen.diagnostics import Diagnostic, Severity
from iac_gen.model import (
    Access,
    Command,
    Enumeration,
    Enumerator,
    Parameter,
    Property,
    RecordType,
    Synonym,
    ValueType,
)

__all__ = ["Notes", "also", "commands", "enumerations", "join", "properties", "records", "values"]

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


def commands(rows: Iterable[Command], notes: Notes) -> list[Command]:
    """Merge overloads of one name and code; one name with two codes stays two commands."""
    merged: dict[tuple[str, str], Command] = {}
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
    parameters: tuple[Parameter, ...], owner: str, notes: Notes
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
        types=join(one.types, other.types),
        optional=one.optional or other.optional,
        hidden=one.hidden and other.hidden,
        description=one.description or other.description,
    )


def _overload(one: Command, other: Command) -> Command:
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
        direct: Parameter | None = _union(one.direct, other.direct)
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


def properties(owner: str, rows: Iterable[Property], notes: Notes) -> tuple[Property, ...]:
    """Return the properties of a class or record, each term once."""
    kept: dict[str, Property] = {}
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
