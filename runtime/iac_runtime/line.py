"""A request as the one line of JXA that a person would write for it.

The line is for reading (dry runs, refusals, a client's display); it is never run. It sends the
same Apple events as the harness, but for what the harness asks afterwards to name a result.
"""

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
    match event.op:
        case "command":
            return f"{root}{member(event.command)}({', '.join(_arguments(event, root))})"
        case "get":
            return f"{target}()"
        case "properties":
            return f"{target}.properties()"
        case "count":
            return f"{target}.length"
        case "columns":
            if len(event.columns) == 1:
                return f"{target}{member(event.columns[0].jxa)}()"
            fields = {column.label: f"x{member(column.jxa)}()" for column in event.columns}
            return f"const x = {target}; ({object_text(fields)})"
        case "list":
            names = [column.jxa for column in event.columns]
            names += [
                name
                for name in (event.id_column or event.name_column,)
                if name and name not in names
            ]
            if not names:
                return f"{target}.length"
            if len(names) == 1:
                return f"{target}{_read(names[0])}"
            return f"const x = {target}; [{', '.join(f'x{_read(name)}' for name in names)}]"
        case "set":
            sets = [(name, value_text(value, root)) for name, value in event.named]
            if len(sets) == 1:
                return f"{target}{member(sets[0][0])} = {sets[0][1]}"
            return f"const x = {target}; " + "; ".join(f"x{member(n)} = {v}" for n, v in sets)
        case "activate" | "launch" | "quit" | "running":
            return f"{root}.{event.op}()"


def _read(name: str) -> str:
    return f"{member(name)}()" if name else "()"


def _arguments(event: Event, root: str) -> list[str]:
    arguments: list[str] = []
    named = {name: value_text(value, root) for name, value in event.named}
    if not isinstance(event.direct, Absent) and (event.direct is not None or named):
        arguments.append(value_text(event.direct, root))
    if named:
        arguments.append(object_text(named))
    return arguments
