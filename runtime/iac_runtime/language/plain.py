"""What an app answered, as plain values in the words of its dictionary."""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from iac_base import text as cleaning
from iac_base.errors import InvalidParameterError
from iac_runtime.language.reader import AppReader
from iac_runtime.language.references import Reference
from iac_runtime.language.steps import ById, ByIndex, ByName, Step, Whose
from iac_runtime.tools.tables import Tables

_PREFIX: Final = re.compile(r'Application(?:\("(?:[^"\\]|\\.)*"\)|\.currentApplication\(\))\.?')


class DateText(str):
    """A moment: ISO 8601 in local time, with the offset."""

    __slots__ = ()


class RefText(str):
    """A result that is an object specifier; as a text it is the reference."""

    __slots__ = ()


def answer_to_python(value: Any, tables: Tables, terms: Mapping[str, str]) -> Any:
    """Return a value of the harness in Python's and JSON's types; `terms` are keys of records."""
    if isinstance(value, list):
        return [answer_to_python(part, tables, terms) for part in value]
    if not isinstance(value, dict):
        return value
    if "ref" in value:
        return reference_text(canonical_reference(value["ref"], value.get("id"), tables))
    if "record" in value:
        return {
            terms.get(key, key): answer_to_python(part, tables, terms)
            for key, part in value["record"]
        }
    if "opaque" in value:
        return dict(value["opaque"])
    if "cut" in value:
        return {"truncated": value["cut"]}
    return value.get("path") or _local_moment(value.get("date"))


def _local_moment(iso: str | None) -> DateText | None:
    """Return a moment in local time; at the ends of the calendar, where there is none, in UTC."""
    if iso is None:
        return None
    moment = datetime.fromisoformat(iso)
    with suppress(ValueError, OverflowError, OSError):
        moment = moment.astimezone()
    return DateText(moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds"))


def reference_text(text: str) -> RefText:
    """Return the text of a reference as a result."""
    return RefText(cleaning.escape_hidden(text))


def canonical_reference(shown: str, ident: str | int | None, tables: Tables) -> str:
    """Return the canonical text of a display string, by id where the id is known."""
    steps = read_shown_reference(shown, ident, tables)
    return _PREFIX.sub("", shown, count=1) if steps is None else Reference(steps).text


def read_shown_reference(
    shown: str, ident: str | int | None, tables: Tables
) -> tuple[Step, ...] | None:
    """Return the steps of a display string, by id where the id is known; None for no reference."""
    try:
        found = AppReader(tables, strict=False).read_reference(_PREFIX.sub("", shown, count=1))
    except InvalidParameterError:
        return None
    steps = found.steps
    if ident is not None and steps and isinstance(steps[-1], ByIndex | ByName):
        return (*without_filter(steps[:-1]), ById(ident))
    return steps


def without_filter(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return a collection without its filter: an id needs none."""
    return steps[:-1] if steps and isinstance(steps[-1], Whose) else steps
