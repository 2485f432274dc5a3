"""A request as the one line of JXA that a person would write for it.

The line is for reading (dry runs, refusals, a client's display); it is never run. It sends the
same Apple events as the harness, but for what the harness asks afterwards to name a result.
"""

from collections.abc import Mapping

from iac_runtime.language.text import member, object_text, steps_text, text_literal, value_text
from iac_runtime.request import Absent, Event

__all__ = ["jxa_line"]


def jxa_line(event: Event) -> str:
    """Return the request as one line of JavaScript."""
    if event.kind == "addition":
        root, before = (
            "app",
            "const app = Application.currentApplication(); app.includeStandardAdditions = true; ",
        )
    else:
        root, before = f"Application({text_literal(event.app)})", ""
    return before + _line(event, root)


def _line(event: Event, root: str) -> str:
    target = steps_text(event.target, root)
    more = {name: value_text(value, root) for name, value in event.more}
    match event.op:
        case "command":
            return f"{root}{member(event.command)}({', '.join(_arguments(event, root))})"
        case "get":
            return _read(target, root, more)
        case "properties":
            return _read(f"{target}.properties", root, more)
        case "count":
            return f"{root}.count({target}, {object_text(more)})" if more else f"{target}.length"
        case "columns":
            return _columns(event, target, root, more)
        case "each":
            return f"[{', '.join(_line(part, root) for part in event.parts)}]"
        case "list":
            return _list(event, target, root, more)
        case "set":
            return _set(event, target, root, more)
        case "activate" | "launch" | "quit" | "running":
            return f"{root}.{event.op}()"
        case "test":
            return f"{root}.running()"


def _columns(event: Event, target: str, root: str, more: Mapping[str, str]) -> str:
    if len(event.columns) == 1:
        return _read(f"{target}{member(event.columns[0].jxa)}", root, more)
    reads = {c.label: _read(f"x{member(c.jxa)}", root, more) for c in event.columns}
    return f"const x = {target}; ({object_text(reads)})"


def _list(event: Event, target: str, root: str, more: Mapping[str, str]) -> str:
    names = [column.jxa for column in event.columns] + [row.jxa for row in event.order]
    names += [name for name in (event.id_column or event.name_column,) if name]
    names = list(dict.fromkeys(names))
    if not names:
        return f"{root}.count({target}, {object_text(more)})" if more else f"{target}.length"
    if len(names) == 1:
        return _read(f"{target}{_dot(names[0])}", root, more)
    reads = (_read(f"x{_dot(name)}", root, more) for name in names)
    return f"const x = {target}; [{', '.join(reads)}]"


def _set(event: Event, target: str, root: str, more: Mapping[str, str]) -> str:
    sets = [(member(name), value_text(value, root)) for name, value in event.named]
    one = len(sets) == 1
    begin = "" if one else f"const x = {target}; "
    owner = target if one else "x"
    if more:
        calls = (f"{root}.set({owner}{n}, {object_text({'to': v, **more})})" for n, v in sets)
        return begin + "; ".join(calls)
    return begin + "; ".join(f"{owner}{name} = {value}" for name, value in sets)


def _read(specifier: str, root: str, more: Mapping[str, str]) -> str:
    return f"{root}.get({specifier}, {object_text(more)})" if more else f"{specifier}()"


def _dot(name: str) -> str:
    return member(name) if name else ""


def _arguments(event: Event, root: str) -> list[str]:
    arguments: list[str] = []
    named = {name: value_text(value, root) for name, value in event.named}
    if not isinstance(event.direct, Absent) and (event.direct is not None or named):
        arguments.append(value_text(event.direct, root))
    if named:
        arguments.append(object_text(named))
    return arguments
