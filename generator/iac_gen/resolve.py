"""Resolve: includes expanded, overloads, extensions and self-inheriting classes merged.

Terms and codes are untouched; the order of first declaration is kept. What was merged and
what could not be resolved comes back as diagnostics.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

from iac_gen import merging
from iac_gen.classes import APPLICATION, classes
from iac_gen.diagnostics import Diagnostic
from iac_gen.includes import IncludeMap, find, select
from iac_gen.merging import Notes
from iac_gen.model import (
    Class,
    Command,
    Dictionary,
    Enumeration,
    Include,
    Item,
    RecordType,
    Source,
    Suite,
    ValueType,
)

__all__ = ["APPLICATION", "Resolved", "resolve"]

T = TypeVar("T")


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


def resolve(source: Source, includes: IncludeMap) -> tuple[Resolved, list[Diagnostic]]:
    """Return `source` resolved, and what had to be merged, guessed or left out."""
    notes = Notes(source.dictionary.file)
    items = list(_expanded(source.dictionary, includes, notes, depth=0))
    commands = [i for i in items if isinstance(i, Command) and not i.event]
    for command in commands:
        if command.hidden:
            text = f"command {command.name} is hidden; no tool is made of it"
            notes.add(command.line, "hidden", text)
    resolved = Resolved(
        source,
        tuple(merging.commands(commands, notes)),
        tuple(i for i in items if isinstance(i, Command) and i.event),
        tuple(classes((i for i in items if isinstance(i, Class)), notes)),
        tuple(merging.enumerations((i for i in items if isinstance(i, Enumeration)), notes)),
        tuple(merging.records((i for i in items if isinstance(i, RecordType)), notes)),
        tuple(merging.values((i for i in items if isinstance(i, ValueType)), notes)),
    )
    return resolved, notes.found


def _expanded(
    dictionary: Dictionary, includes: IncludeMap, notes: Notes, depth: int
) -> Iterator[Item]:
    """Yield all items in order; those of a hidden suite are hidden."""
    for suite in dictionary.suites:
        if isinstance(suite, Include):
            yield from _included(suite, includes, notes, depth)
            continue
        for item in suite.items:
            found = _included(item, includes, notes, depth) if isinstance(item, Include) else [item]
            for one in found:
                yield _hide(one) if suite.hidden else one


def _hide(item: Item) -> Item:
    return item if isinstance(item, Include) else replace(item, hidden=True)


def _included(include: Include, includes: IncludeMap, notes: Notes, depth: int) -> Iterator[Item]:
    path, target, told = find(include, includes)
    if told:
        notes.add(include.line, "include", told, "warning")
    if target is None or depth > 0:
        if target is not None:
            text = f"{path} is included by an included file; its terms are missing"
            notes.add(include.line, "include", text, "warning")
        return
    try:
        picked = select(target, include)
    except ValueError as error:
        notes.add(include.line, "include", f"{error}; its terms are missing", "warning")
        return
    notes.add(include.line, "included", f"{path}: {len(picked)} parts taken in")
    here = _at(tuple(picked), include.line)
    suites = tuple(part for part in here if isinstance(part, Suite))
    yield from _expanded(replace(target, suites=suites), includes, notes, depth + 1)
    for part in here:
        if not isinstance(part, Suite):
            yield part


def _at(value: T, line: int) -> T:
    """Return `value` with the line of its include throughout: its own are of another file."""
    if isinstance(value, tuple):
        made: Any = tuple(_at(item, line) for item in value)
        return made  # type: ignore[no-any-return]
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed: dict[str, Any] = {}
    for f in fields(value):
        old = getattr(value, f.name)
        new = line if f.name == "line" else _at(old, line)
        if new is not old:
            changed[f.name] = new
    return replace(value, **changed) if changed else value
