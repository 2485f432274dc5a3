"""A list that looks in each of several objects: the notes of all folders that pass a filter."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter
from typing import Any, Final

from iac_runtime.execution.answers import AppAnswer
from iac_runtime.gate.naming import NameUse, shared_notes
from iac_runtime.gate.plans import ToolResult
from iac_runtime.gate.results import plain_result
from iac_runtime.language.reader import AppReader
from iac_runtime.language.references import resolve_steps
from iac_runtime.language.request import Event
from iac_runtime.language.steps import AllElements, Span, Step, Whose
from iac_runtime.language.terms import id_property, property_term
from iac_runtime.tools.tables import Operation

HOLDERS: Final = 50
"""Objects in which one list looks."""


def holders_of(target: tuple[Step, ...]) -> int:
    """Return the length of the steps to the objects in each of which a list looks; 0 for one."""
    for at, (one, then) in enumerate(itertools.pairwise(target), 1):
        if isinstance(one, AllElements | Whose | Span) and isinstance(then, AllElements):
            return at
    return 0


def list_over(
    event: Event,
    length: int,
    execute: Callable[[Event], AppAnswer],
    tool: Operation,
    names: tuple[NameUse, ...],
) -> ToolResult:
    """Return the rows that several objects hold as one list: an exchange for each of them.

    Args:
        length: How many steps of the target lead to those objects.
        names: The names that the event counts.

    Raises:
        ToolError: The app could not be asked for one of them.
    """
    reader = AppReader(tool.tables, strict=False)
    kinds = resolve_steps(event.target[:length], tool.tables).classes
    ident = id_property(kinds[0], tool.tables) if kinds else None
    ids = property_term(ident) if ident else ""
    first = replace(event, target=event.target[:length], columns=(), order=(), limit=HOLDERS)
    first = replace(first, id_column=ids, name_column="")
    answer = execute(first)
    held = plain_result(answer, first, tool)
    rows: list[dict[str, Any]] = []
    notes = [f"looked in {note}" for note in held.notes if " of " in note]
    notes += shared_notes(names, answer)
    for holder in held.value:
        steps = (*reader.read_reference(holder["ref"]).steps, *event.target[length:])
        inner = replace(event, target=steps, around=None)
        found = plain_result(execute(inner), inner, tool)
        rows += found.value
        notes += found.notes if found.value else ()
    labels = {column.jxa: column.label for column in event.columns}
    for by in reversed(event.order):
        # What has no value comes last, as in a list of one.
        label = labels.get(by.jxa, "ref")
        known = [row for row in rows if row[label] is not None]
        known.sort(key=itemgetter(label), reverse=by.descending)
        rows = [*known, *(row for row in rows if row[label] is None)]
    said = tuple(dict.fromkeys(notes)) if rows else ("there is none",)
    return ToolResult(rows[: event.limit], said)
