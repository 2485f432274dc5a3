"""Answers of an app to plain values: references as text, dates as ISO 8601, terms as declared.

What an app answers is foreign text. It is cleaned here, and nowhere else: a lone surrogate would
end the connection of a server, control characters disturb whoever shows them.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from iac_runtime.binding import Tool
from iac_runtime.errors import InvalidParameterError
from iac_runtime.execution.executor import Answer
from iac_runtime.language.references import parse_reference
from iac_runtime.language.steps import ById, ByIndex, ByName, Step, Whose
from iac_runtime.language.text import steps_text
from iac_runtime.language.typespec import parse_type
from iac_runtime.request import Event
from iac_runtime.tables import Tables, fold

__all__ = ["RefText", "cap", "clean", "plain_result", "structured"]

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_PREFIX = re.compile(r'Application(?:\("(?:[^"\\]|\\.)*"\)|\.currentApplication\(\))\.?')
_MARK: Final = "… [truncated]"


class RefText(str):
    """A result that is an object specifier; as a text it is the reference."""

    __slots__ = ()


def plain_result(answer: Answer, event: Event, tool: Tool) -> Any:
    """Return the value of an answer in the words of the dictionary.

    A list becomes one object an item with `ref` and the properties. Properties are keyed by the
    dictionary's terms, the fields of a declared record as the output schema keys them.
    """
    tables = tool.tables
    if answer.listing is not None:
        return clean(_items(answer.listing, event, tables))
    terms = _field_names(tool)
    if event.op in ("properties", "columns"):
        fields = answer.value["record"]
        terms |= {column.jxa: column.label for column in event.columns}
        return clean({terms.get(key, key): _plain(value, tables, terms) for key, value in fields})
    return clean(_plain(answer.value, tables, terms))


def _field_names(tool: Tool) -> dict[str, str]:
    """Return JXA name -> key for the fields of a declared record type."""
    declared = (tool.output or {}).get("properties", {}).get("result", {}).get("properties", ())
    keys = {fold(key): key for key in declared}
    return {
        row.jxa: keys.get(fold(row.term), row.term)
        for kind in parse_type(tool.spec.result)
        if kind.name in tool.tables.records
        for row in tool.tables.records[kind.name].properties
    }


def _plain(value: Any, tables: Tables, terms: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_plain(part, tables, terms) for part in value]
    if not isinstance(value, dict):
        return value
    if "ref" in value:
        return RefText(_reference(value["ref"], value.get("id"), tables))
    if "record" in value:
        return {terms.get(key, key): _plain(part, tables, terms) for key, part in value["record"]}
    return value.get("path") or value.get("date")


def _reference(shown: str, ident: str | int | None, tables: Tables) -> str:
    """Return the canonical text of a display string, by id where the id is known."""
    relative = _PREFIX.sub("", shown, count=1)
    try:
        found = parse_reference(relative, tables, strict=False)
    except InvalidParameterError:
        return relative
    steps = found.steps
    if ident is not None and steps and isinstance(steps[-1], ByIndex | ByName):
        steps = (*_unfiltered(steps[:-1]), ById(ident))
    return steps_text(steps) or found.text


def _unfiltered(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return a collection without its filter: an id needs none."""
    return steps[:-1] if steps and isinstance(steps[-1], Whose) else steps


def _items(listing: Mapping[str, Any], event: Event, tables: Tables) -> list[dict[str, Any]]:
    by, base = listing["by"], event.target
    bare = _unfiltered(base)
    found: list[dict[str, Any]] = []
    for key, row in listing["rows"]:
        steps: tuple[Step, ...]
        if by == "id":
            steps = (*bare, ById(key))
        elif by == "name" and bare == base:
            # Unique among the items that were found, which are all there are.
            steps = (*base, ByName(str(key)))
        elif by == "name":
            steps = (*base, ByIndex(event.offset + len(found)))
        else:
            steps = (*base, ByIndex(int(key)))
        item: dict[str, Any] = {"ref": RefText(steps_text(steps))}
        for column, value in zip(event.columns, row, strict=True):
            item[column.label] = _plain(value, tables, {})
        found.append(item)
    return found


def clean(value: Any) -> Any:
    """Return `value` without control characters and lone surrogates, at every depth."""
    if isinstance(value, RefText):
        return RefText(_CONTROL.sub("", value))
    if isinstance(value, str):
        return _CONTROL.sub("", value)
    if isinstance(value, list | tuple):
        return [clean(part) for part in value]
    if isinstance(value, Mapping):
        return {clean(str(key)): clean(part) for key, part in value.items()}
    return value


def cap(value: Any, limit: int) -> tuple[Any, bool]:
    """Return `value` cut to about `limit` characters of JSON, and whether it was cut.

    Lists lose their last items and texts their ends; a text that was cut says so itself.
    """
    left = [limit]
    cut = _cut(value, left)
    return cut, left[0] < 0


def _cut(value: Any, left: list[int]) -> Any:
    if isinstance(value, list):
        kept = []
        for part in value:
            if left[0] <= 0:
                left[0] = -1
                break
            kept.append(_cut(part, left))
        return kept
    if isinstance(value, dict):
        fields = {}
        for key, part in value.items():
            left[0] -= len(key) + 4
            fields[key] = _cut(part, left)
        return fields
    if isinstance(value, str) and not isinstance(value, RefText):
        if len(value) > max(left[0], 0):
            value, left[0] = value[: max(left[0], 0)] + _MARK, -1
            return value
        left[0] -= len(value) + 2
        return value
    left[0] -= len(json.dumps(value)) + 1
    return value


def structured(
    value: Any, output: Mapping[str, Any] | None = None, note: str = ""
) -> dict[str, Any]:
    """Return a result as the object that MCP wants, fit for `output`, the tool's output schema.

    A reference becomes `{"ref": …}`, an object stays, all else is `{"result": …}`; nothing to say
    is an empty object. A note says what is missing. An app may answer something else than its
    dictionary declares: clients refuse that, so it is then told in the note.
    """
    declared = set((output or {}).get("properties", ()))
    found: dict[str, Any]
    if isinstance(value, RefText) and ("ref" in declared or "result" not in declared):
        found = {"ref": str(value)}
    elif isinstance(value, dict) and "result" not in declared:
        found = dict(value)
    else:
        found = {} if value is None else {"result": value}
    if output is not None and found and not _fits(found, output):
        answered = json.dumps(found.get("result", value), ensure_ascii=False)
        found, note = {}, "; ".join(filter(None, (f"the app answered {answered}", note)))
    if note and "note" not in found and (output is None or "note" in declared):
        found["note"] = note
    return found


def _fits(found: Mapping[str, Any], output: Mapping[str, Any]) -> bool:
    # Heavy, and needed from the first result on only.
    from jsonschema import Draft202012Validator

    return bool(Draft202012Validator(dict(output)).is_valid(dict(found)))
