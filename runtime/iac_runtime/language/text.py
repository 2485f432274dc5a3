"""What crosses to the app, written out: as text that a person would write, and as JSON.

The text of references, filters and values is JavaScript; so is the line of a request. That line is
for reading (dry runs, refusals, a client's display); it is never run. It sends the same Apple
events as the harness, but for what the harness asks afterwards to name a result.

The JSON is for the harness. In it an object is always a tagged value, so that no data can be taken
for a tag.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from iac_base.text import text_literal
from iac_runtime.language.steps import (
    Absent,
    AllElements,
    AppendedText,
    Boundary,
    ById,
    ByIndex,
    ByName,
    DateValue,
    Event,
    Filter,
    Join,
    MiddleOrSome,
    PathValue,
    PreviouslyRead,
    PropertyStep,
    RawForm,
    RecordValue,
    RefValue,
    RelativeTo,
    Rgb,
    Span,
    Step,
    Term,
    Value,
    Whose,
)

_OF_OBJECTS = frozenset(
    "get set make constructor prototype toString toLocaleString valueOf hasOwnProperty"
    " propertyIsEnumerable isPrototypeOf toJSON call apply bind".split()
)
_OF_COLLECTIONS = _OF_OBJECTS | frozenset(
    "length at byName byId whose where push first last beginning end"
    " unshift splice pop shift".split()
)
"""Names that JXA keeps for itself on every object and on collections: a property of such a name is
taken from the record of all properties, here as in the harness."""

KEPT_NAMES = _OF_COLLECTIONS

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")


_UNESCAPED: Final = re.compile(r"[ !#-\[\]-~]*\Z")


def _quote_text(text: str) -> str:
    """Return a text as a literal; most hold nothing that is written otherwise there."""
    return f'"{text}"' if _UNESCAPED.match(text) else text_literal(text)


def member_access(name: str) -> str:
    """Return the access to the property `name`: `.name`, or in brackets where it must be."""
    return f".{name}" if _IDENTIFIER.match(name) else f"[{_quote_text(name)}]"


def format_reference(steps: tuple[Step, ...], root: str = "") -> str:
    """Return the canonical text of `steps`; without `root` it begins with the first name.

    `root` is a JavaScript expression for the application; with it the text can be run.
    """
    text = root + "".join(_format_step(step, root) for step in steps)
    return text if root else text.removeprefix(".")


def _format_step(step: Step, root: str) -> str:
    match step:
        case PropertyStep(name) | AllElements(name):
            return member_access(name)
        case ByIndex(index):
            return f"[{index}]"
        case ByName(name):
            return f"[{_quote_text(name)}]"
        case ById(ident):
            return f".byId({_quote_text(ident) if isinstance(ident, str) else ident})"
        case Boundary(word) | MiddleOrSome(word) | RelativeTo(word) | PreviouslyRead(word):
            return f".{word}"
        case Span(start, stop):
            return f"[{'' if start is None else start}:{'' if stop is None else stop}]"
        case Whose(test):
            return f".whose({format_filter(test, root)})"


def format_filter(test: Filter, root: str = "") -> str:
    """Return a filter as the object that JXA's `whose` takes."""
    if isinstance(test, Join):
        return f"{{_{test.word}: [{', '.join(format_filter(part, root) for part in test.tests)}]}}"
    value = format_value(test.value, root)
    if test.operator != "=":
        word = test.operator if test.operator.startswith("_") else _quote_text(test.operator)
        value = f"{{{word}: {value}}}"
    match test.path:
        case (PropertyStep(name),) if _IDENTIFIER.match(name):
            return f"{{{name}: {value}}}"
    path = "".join(_format_step(step, root) for step in test.path)
    return f"{{_match: [ObjectSpecifier(){path}, {value}]}}"


def format_value(value: Value, root: str = "") -> str:
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
            return _quote_text(value)
        case tuple():
            return f"[{', '.join(format_value(item, root) for item in value)}]"
        case PathValue(path):
            return f"Path({_quote_text(path)})" if root else _quote_text(path)
        case DateValue():
            return f"new Date({_quote_text(value.iso)})"
        case RecordValue(fields):
            return format_object({key: format_value(item, root) for key, item in fields})
        case RefValue(steps):
            return format_reference(steps, root) if root else _quote_text(format_reference(steps))


def format_object(fields: Mapping[str, str]) -> str:
    """Return a JavaScript object literal of ready expressions."""
    rows = (
        f"{name if _IDENTIFIER.match(name) else _quote_text(name)}: {value}"
        for name, value in fields.items()
    )
    return f"{{{', '.join(rows)}}}"


def event_json(event: Event, mark: str) -> dict[str, Any]:
    """Return the request as the harness reads it; `mark` frames the answer.

    Codes stand in it only where it is sent raw.
    """
    coded = event.raw is not None
    request: dict[str, Any] = {
        "mark": mark,
        "app": event.app,
        "kind": event.kind,
        "op": event.op,
        "command": event.command,
        "target": [_step_json(step, coded) for step in event.target],
        "named": [_field_json(name, value, coded) for name, value in event.named],
        "more": [_field_json(name, value, coded) for name, value in event.more],
        "columns": [[column.label, column.jxa] for column in event.columns],
        "idColumn": event.id_column,
        "nameColumn": event.name_column,
        "order": [list(row) for row in event.order],
        "offset": event.offset,
        "limit": event.limit,
        "idClasses": [list(pair) for pair in event.id_classes],
        "parts": [event_json(part, mark) for part in event.parts],
    }
    if event.writes and mark:
        # Of how it is sent, not of what is asked: a stored answer's digest has no mark.
        request["writes"] = True
    if event.after:
        request["after"] = event.after
    if event.nested and not event.id_column:
        request["nested"] = True
    if event.filter_here:
        request["filterHere"] = event.filter_here
    if event.raw is not None:
        request["raw"] = _raw_json(event, event.raw)
    if event.ranges is not None:
        raw, known = _raw_json(event, event.ranges), event.ranges.properties
        raw["codes"] = {name: code for code, name in known.items()}
        bare = [_step_json(step, True) for step in event.target if not isinstance(step, Whose)]
        request["range"] = {"raw": raw, "target": bare}
    if event.holders is not None:
        length, *ways = event.holders
        for key, way in zip(("holder", "holderName"), ways, strict=True):
            path = (*event.target[:length], PropertyStep(way))
            request |= {key: [_step_json(step, coded) for step in path]} if way else {}
    if event.costs:
        request["costs"] = dict(event.costs)
    if not isinstance(event.direct, Absent):
        request["direct"] = _value_json(event.direct, coded)
    if event.kind == "application" and not event.may_launch:
        request["needRunning"] = True
    if event.pin is not None:
        request["pin"] = [event_json(event.pin[0], mark), event.pin[1]]
    if event.around is not None:
        request["before"] = [event_json(part, mark) for part in event.around.before]
        request["after"] = [event_json(part, mark) for part in event.around.after]
        steps = (step for read in event.around.after for step in read.target)
        request["seen"] = any(isinstance(one, PreviouslyRead) and one.by != "made" for one in steps)
    return request


def _raw_json(event: Event, form: RawForm) -> dict[str, Any]:
    names = [column.jxa for column in event.columns] + [row.jxa for row in event.order]
    names += [event.id_column, event.name_column]
    classes = ((code_number(kind), code_number(ident)) for kind, ident in event.id_classes)
    columns = {code_number(name): str(name) for name in names if name}
    return {
        "seconds": form.seconds,
        "event": [four_number(event.code[:4]), four_number(event.code[4:])],
        "codes": {name: code_number(name) for name in names if name},
        "ids": dict(classes),
        "properties": {**form.properties, **columns},
        "elements": form.elements,
        "words": form.words,
    }


def code_number(name: str) -> int:
    """Return the code of a term as the number that an event carries; 0 for a name without."""
    return four_number(name.code) if isinstance(name, Term) else 0


def four_number(code: str) -> int:
    """Return a four-character code as a number; 0 for what is none."""
    return int.from_bytes(code.encode("mac_roman", "replace")) if len(code) == 4 else 0


def _step_json(step: Step, coded: bool) -> Any:
    match step:
        case PropertyStep(name) | AllElements(name) if coded:
            return ["every" if isinstance(step, AllElements) else "go", name, code_number(name)]
        case PropertyStep(name) | AllElements(name):
            return ["go", name]
        case ByIndex(index):
            return ["at", index]
        case ByName(name):
            return ["name", name]
        case ById(ident):
            return ["id", ident]
        case Span(start, stop):
            # Apple events count from 1, and name the last object of a range.
            first, last = start or 0, -1 if stop is None else stop - 1
            return ["span", first if first < 0 else first + 1, last if last < 0 else last + 1]
        case MiddleOrSome(which):
            return ["among", {"middle": "midd", "some": "any "}[which]]
        case RelativeTo(way, kind):
            return ["beside", way[:4], code_number(kind)]
        case PreviouslyRead(by):
            return ["seen", by]
        case Boundary(place):
            return ["place" if coded else "go", place]
        case Whose(test):
            return ["whose", _filter_json(test, coded)]


def _field_json(name: str, value: Value, coded: bool) -> list[Any]:
    code = code_number(name) if coded else 0
    return [name, _value_json(value, coded), *([code] if code else [])]


def _filter_json(test: Filter, coded: bool) -> Any:
    if isinstance(test, Join):
        return [test.word, [_filter_json(part, coded) for part in test.tests]]
    path = [_step_json(step, coded) for step in test.path]
    return ["test", path, test.operator, _value_json(test.value, coded)]


def _value_json(value: Value, coded: bool) -> Any:
    match value:
        case PathValue(path):
            return {"path": path}
        case DateValue(ms):
            return {"date": ms}
        case RefValue(steps):
            return {"ref": [_step_json(step, coded) for step in steps]}
        case RecordValue(fields):
            return {"record": [_field_json(name, part, coded) for name, part in fields]}
        case Term() if coded and value.form != "property":
            return {"word": value, "code": code_number(value), "form": value.form}
        case Rgb() if coded:
            return {"color": list(value)}
        case AppendedText():
            return {"append": str(value)}
        case tuple():
            return [_value_json(part, coded) for part in value]
    return value


def jxa_line(event: Event) -> str:
    """Return the request as one line of JavaScript."""
    if event.kind == "addition":
        root, before = (
            "app",
            "const app = Application.currentApplication(); app.includeStandardAdditions = true; ",
        )
    else:
        root, before = f"Application({_quote_text(event.app)})", ""
    return before + _format_line(event, root)


def _format_line(event: Event, root: str) -> str:
    target = format_reference(event.target, root)
    more = {name: format_value(value, root) for name, value in event.more}
    match event.op:
        case "command":
            return (
                f"{root}{member_access(event.command)}({', '.join(_format_arguments(event, root))})"
            )
        case "get":
            last = event.target[-1] if event.target else None
            if isinstance(last, PropertyStep) and last.name in _OF_OBJECTS:
                return _format_property_read(
                    format_reference(event.target[:-1], root), last.name, root, more
                )
            return _format_read(target, root, more)
        case "properties":
            return _format_read(f"{target}.properties", root, more)
        case "count":
            return _format_count(target, root, more)
        case "columns":
            return _format_columns(event, target, root, more)
        case "each":
            return f"[{', '.join(_format_line(part, root) for part in event.parts)}]"
        case "list":
            return _format_list_read(event, target, root, more)
        case "set":
            return _format_assignments(event, target, root, more)
        case "activate" | "launch" | "quit" | "running":
            return f"{root}.{event.op}()"
        case "test":
            return f"{root}.running()"


def _format_count(target: str, root: str, more: Mapping[str, str]) -> str:
    given = {"each": '"item"', **more}
    return f"{root}.count({target}, {format_object(given)})" if more else f"{target}.length"


def _format_columns(event: Event, target: str, root: str, more: Mapping[str, str]) -> str:
    if len(event.columns) == 1:
        return _format_property_read(target, event.columns[0].jxa, root, more)
    reads = {c.label: _format_property_read("x", c.jxa, root, more) for c in event.columns}
    return f"const x = {target}; ({format_object(reads)})"


def _format_list_read(event: Event, target: str, root: str, more: Mapping[str, str]) -> str:
    key = event.id_column or event.name_column
    names = [key] if key else []
    names += [column.jxa for column in event.columns] + [row.jxa for row in event.order]
    names = list(dict.fromkeys(names))
    if not names:
        return _format_count(target, root, more)
    if len(names) == 1:
        return _format_property_read(target, names[0], root, more, _OF_COLLECTIONS)
    reads = (_format_property_read("x", name, root, more, _OF_COLLECTIONS) for name in names)
    return f"const x = {target}; [{', '.join(reads)}]"


def _format_assignments(event: Event, target: str, root: str, more: Mapping[str, str]) -> str:
    sets = [(member_access(name), format_value(value, root)) for name, value in event.named]
    one = len(sets) == 1
    begin = "" if one else f"const x = {target}; "
    owner = target if one else "x"
    if more:
        calls = (f"{root}.set({owner}{n}, {format_object({'to': v, **more})})" for n, v in sets)
        return begin + "; ".join(calls)
    kept = {member_access(name) for name, value in event.named if isinstance(value, AppendedText)}
    # A specifier that is added to is a text about itself.
    before = {name: f"{owner}{name}() + " if name in kept else "" for name, _ in sets}
    return begin + "; ".join(f"{owner}{name} = {before[name]}{value}" for name, value in sets)


def _format_read(specifier: str, root: str, more: Mapping[str, str]) -> str:
    return f"{root}.get({specifier}, {format_object(more)})" if more else f"{specifier}()"


def _format_property_read(
    target: str,
    name: str,
    root: str,
    more: Mapping[str, str],
    kept: frozenset[str] = _OF_OBJECTS,
) -> str:
    """Return the read of a property of an object, or of each object of a collection."""
    if name not in kept:
        return _format_read(f"{target}{member_access(name) if name else ''}", root, more)
    record = _format_read(f"{target}.properties", root, more)
    return (
        f"{record}{member_access(name)}"
        if kept is _OF_OBJECTS
        else f"{record}.map(p => p{member_access(name)})"
    )


def _format_arguments(event: Event, root: str) -> list[str]:
    arguments: list[str] = []
    named = {name: format_value(value, root) for name, value in event.named}
    if not isinstance(event.direct, Absent) and (event.direct is not None or named):
        arguments.append(format_value(event.direct, root))
    if named:
        arguments.append(format_object(named))
    return arguments
