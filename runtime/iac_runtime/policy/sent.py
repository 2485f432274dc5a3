"""What a call would send for an argument, as the texts that a user's rule may speak of it in.

One object has many spellings: a path with `..` in it, a reference by brackets or by `byName`, a
property in any case, one item or a list of one. A rule is held against what would be sent, so
that no spelling of the caller's gets a call out of one rule or into another.
"""

import json
from collections.abc import Mapping
from typing import TypeAlias

from iac_runtime.language.steps import Every, PathValue, RecordValue, RefValue, Step, Value, Whose
from iac_runtime.language.text import steps_text, value_text
from iac_runtime.policy.sight import Sight
from iac_runtime.request import Absent
from iac_runtime.tables import APPLICATION, fold
from iac_runtime.tool import Param

__all__ = ["Items", "sent_for"]

Items: TypeAlias = tuple[tuple[str, ...], ...]
"""An entry for each item of a value (one, if it is no list): the texts that all mean this item."""


def sent_for(key: str, sight: Sight, params: Mapping[str, Param]) -> Items | None:
    """Return what would be sent for the argument `key`; None for one that is not sent as such.

    `properties.name` reaches into an object.
    """
    first, *fields = key.split(".")
    name = next((param for param in params if fold(param) == fold(first)), None)
    value = None if name is None else _value(params[name], name, sight)
    for field in fields:
        value = _field(value, field)
    if value is None:
        return None
    found = value if isinstance(value, tuple) else (value,)
    return tuple(_forms(item, sight) for item in found)


def _value(row: Param, key: str, sight: Sight) -> Value:
    event = sight.event
    if row.code == "----" and event.op == "command":
        return None if isinstance(event.direct, Absent) else event.direct
    if row.code == "----" and event.parts:
        return tuple(RefValue(part.target) for part in event.parts)
    if row.code == "----":
        return RefValue(_holder(sight) if key == "of" else event.target)
    if key == "properties" and event.op == "set":
        return RecordValue(event.named)
    wanted = fold(row.jxa or row.term)
    named = (*event.named, *event.more)
    return next((value for name, value in named if wanted and fold(name) == wanted), None)


def _holder(sight: Sight) -> tuple[Step, ...]:
    """Return the steps to what holds the collection that is listed or counted."""
    steps = sight.event.target
    while steps and isinstance(steps[-1], Whose):
        steps = steps[:-1]
    return steps[:-1] if steps and isinstance(steps[-1], Every) else steps


def _field(value: Value, name: str) -> Value:
    if not isinstance(value, RecordValue):
        return None
    return next((part for field, part in value.fields if fold(field) == fold(name)), None)


def _forms(value: Value, sight: Sight) -> tuple[str, ...]:
    forms: list[str] = []
    if isinstance(value, RefValue):
        forms.append(steps_text(value.steps) or APPLICATION)
    elif isinstance(value, str):
        forms.append(value)
    elif not isinstance(value, PathValue):
        forms.append(json.dumps(value) if isinstance(value, int | float) else value_text(value))
    path = sight.path_of(value)
    if path is not None and not isinstance(value, str):
        forms.append(path)
        if sight.home and (path == sight.home or path.startswith(sight.home + "/")):
            forms.append("~" + path[len(sight.home) :])
    return tuple(forms)
