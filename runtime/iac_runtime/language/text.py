"""The one text form of references, filters and values: JavaScript as a person would write it."""

import json
import re
from collections.abc import Mapping

from iac_base.words import text_literal
from iac_runtime.language.steps import (
    Boundary,
    ById,
    ByIndex,
    ByName,
    DateValue,
    Every,
    Filter,
    Go,
    Join,
    PathValue,
    RecordValue,
    RefValue,
    Step,
    Value,
    Whose,
)

__all__ = ["filter_text", "member", "object_text", "steps_text", "value_text"]

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")


def member(name: str) -> str:
    """Return the access to the property `name`: `.name`, or in brackets where it must be."""
    return f".{name}" if _IDENTIFIER.match(name) else f"[{text_literal(name)}]"


def steps_text(steps: tuple[Step, ...], root: str = "") -> str:
    """Return the canonical text of `steps`; without `root` it begins with the first name.

    `root` is a JavaScript expression for the application; with it the text can be run.
    """
    text = root + "".join(_step(step, root) for step in steps)
    return text if root else text.removeprefix(".")


def _step(step: Step, root: str) -> str:
    match step:
        case Go(name) | Every(name):
            return member(name)
        case ByIndex(index):
            return f"[{index}]"
        case ByName(name):
            return f"[{text_literal(name)}]"
        case ById(ident):
            return f".byId({text_literal(ident) if isinstance(ident, str) else ident})"
        case Boundary(place):
            return f".{place}"
        case Whose(test):
            return f".whose({filter_text(test, root)})"


def filter_text(test: Filter, root: str = "") -> str:
    """Return a filter as the object that JXA's `whose` takes."""
    if isinstance(test, Join):
        return f"{{_{test.word}: [{', '.join(filter_text(part, root) for part in test.tests)}]}}"
    value = value_text(test.value, root)
    if test.operator != "=":
        word = test.operator if test.operator.startswith("_") else text_literal(test.operator)
        value = f"{{{word}: {value}}}"
    match test.path:
        case (Go(name),) if _IDENTIFIER.match(name):
            return f"{{{name}: {value}}}"
    path = "".join(_step(step, root) for step in test.path)
    return f"{{_match: [ObjectSpecifier(){path}, {value}]}}"


def value_text(value: Value, root: str = "") -> str:
    """Return a tagged value as a JavaScript expression.

    Without `root` it is the form inside a reference, where a file and an object are texts.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return json.dumps(value)
        case str():
            return text_literal(value)
        case tuple():
            return f"[{', '.join(value_text(item, root) for item in value)}]"
        case PathValue(path):
            return f"Path({text_literal(path)})" if root else text_literal(path)
        case DateValue():
            return f"new Date({text_literal(value.iso)})"
        case RecordValue(fields):
            return object_text({key: value_text(item, root) for key, item in fields})
        case RefValue(steps):
            return steps_text(steps, root) if root else text_literal(steps_text(steps))


def object_text(fields: Mapping[str, str]) -> str:
    """Return a JavaScript object literal of ready expressions."""
    rows = (
        f"{name if _IDENTIFIER.match(name) else text_literal(name)}: {value}"
        for name, value in fields.items()
    )
    return f"{{{', '.join(rows)}}}"
