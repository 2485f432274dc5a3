"""Render: layout. A module of the intermediate representation becomes source text.

What people read (header, enumerations, functions) is formatted by black; the tables below
`# fmt: off` are written in rows by `rows`.
"""

import textwrap
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from black import format_str
from black.mode import Mode, TargetVersion

from iac_gen.doors import Door, clean_prose, finalize, identifier, literal, prose
from iac_gen.ir import Module, Parameter, Tool
from iac_gen.rows import exact, param, tables

__all__ = ["WIDTH", "render_module", "render_package"]

WIDTH = 100
_CONTRACT = (
    "App", "Class", "Element", "Enum", "ListOf", "Param", "Property", "Record", "Ref", "Schema",
    "tool",
)  # fmt: skip
_ANNOTATION_NAMES = ("Any", "Final", "Literal")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        autoescape=False,  # noqa: S701  Python source, not HTML: the doors are the defence
        keep_trailing_newline=True,
    )
    folder = files("iac_templates")
    environment.loader = jinja2.FunctionLoader(
        lambda name: (folder / name).read_text(encoding="utf-8")
    )
    return environment


@cache
def _mode() -> Mode:
    return Mode(target_versions={TargetVersion.PY311}, line_length=WIDTH)


def render_module(module: Module, *, quirks: str = "") -> str:
    """Return the source of a module; `quirks` is the file of its quirks, where it has one."""
    template = _environment().get_template("module.py.jinja")
    top = template.render(_values(module, quirks))
    formatted = format_str(top, mode=_mode())
    return f"{formatted.rstrip()}\n\n\n# fmt: off\n{tables(module)}"


def render_package(*, shipped: bool) -> str:
    """Return the `__init__` of an output folder; the shipped one also finds the user's own."""
    words = "Generated tools, one module an app."
    text = (
        _environment().get_template("package.py.jinja").render(shipped=shipped, words=prose(words))
    )
    return format_str(text, mode=_mode())


def _values(module: Module, quirks: str) -> dict[str, Any]:
    aliases = [
        *((alias, values) for alias, _, values in module.aliases),
        ("ClassName", module.class_names),
        ("PropertyName", module.property_names),
    ]
    tools = [_tool(tool) for tool in module.tools]
    used = " ".join(f"{tool['signature']} {tool['returns']}" for tool in tools)
    shown = [(name, values) for name, values in aliases if values and name in used]
    contract = [name for name in _CONTRACT if _imported(name, used, module)]
    typing = [
        name
        for name in _ANNOTATION_NAMES
        if name == "Final" or (name == "Any" and "Any" in used) or (name == "Literal" and shown)
    ]
    mend = (
        f"change generator/iac_gen/{quirks} or the templates, then run `nox -s regen`."
        if quirks
        else "change the dictionary, the quirks or the templates, and build again."
    )
    version = clean_prose(module.version)
    return {
        "app_words": prose(module.app.name),
        "app_id": prose(module.app.id),
        "version": Door(f" {version}" if version else ""),
        "digest": prose(module.digest[:12]),
        "mend": Door(mend),
        "uses_mapping": True,
        "typing_names": Door(", ".join(typing)),
        "contract_names": Door(", ".join(contract)),
        "exported": literal(["APP", *sorted(tool.function for tool in module.tools)]),
        "app": _app(module),
        "aliases": [
            {"name": identifier(name), "members": Door(literal(values)[1:-1].rstrip(","))}
            for name, values in shown
        ],
        "tools": tools,
    }


def _imported(name: str, used: str, module: Module) -> bool:
    if name in ("App", "Class", "Enum", "Record", "Schema"):
        return True
    if name == "tool":
        return bool(module.tools)
    if name == "Param":
        return any(tool.parameters for tool in module.tools)
    if name == "Property":
        held = [row.properties for row in module.classes.values()]
        return any((*held, *(row.properties for row in module.records.values())))
    if name == "Element":
        return any(row.elements for row in module.classes.values())
    return name in used


def _app(module: Module) -> Door:
    app = module.app
    kind = f", {literal(app.kind)}" if app.kind != "application" else ""
    return Door(f"{literal(app.id)}, {literal(app.name)}{kind}")


def _tool(tool: Tool) -> dict[str, Any]:
    arguments = ", ".join(f"{identifier(p.key)}={identifier(p.key)}" for p in tool.parameters)
    call = f"{identifier(tool.function)}{', ' if arguments else ''}{arguments}"
    return {
        "decorator": _decorator(tool),
        "function": identifier(tool.function),
        "signature": _signature(tool),
        "returns": Door(tool.returns),
        "summary": _wrapped(tool.summary, first=7),
        "arguments": [_argument(p) for p in tool.parameters],
        "returned": prose(_capital(tool.returned)),
        "call": Door(call),
    }


def _decorator(tool: Tool) -> Door:
    params = ", ".join(f"{literal(p.key)}: {param(p.row)}" for p in tool.parameters)
    parts = [f"event={exact(tool.event)}"]
    if tool.op != "command":
        parts.append(f"op={literal(tool.op)}")
    parts.append(f"level={literal(tool.level)}")
    if tool.ceiling != tool.level:
        parts.append(f"ceiling={literal(tool.ceiling)}")
    if tool.op == "command" and tool.jxa != tool.function.rstrip("_"):
        parts.append(f"jxa={literal(tool.jxa)}")
    parts.append(f"params={{{params}}}")
    if tool.result:
        parts.append(f"result={literal(tool.result)}")
    if tool.bind:
        parts.append(f"bind={literal(tool.bind)}")
    return Door(", ".join(parts))


def _signature(tool: Tool) -> Door:
    parts = [_declared(p) for p in tool.parameters[: tool.positional]]
    rest = tool.parameters[tool.positional :]
    if rest:
        parts += ["*", *(_declared(p) for p in rest)]
    return Door(", ".join(parts))


def _declared(parameter: Parameter) -> str:
    name = identifier(parameter.key)
    if parameter.required:
        return f"{name}: {parameter.annotation}"
    optional = parameter.annotation
    if optional != "Any":
        optional += " | None"
    return f"{name}: {optional} = None"


def _argument(parameter: Parameter) -> Door:
    words = prose(_argument_words(parameter))
    return _wrapped(f"{identifier(parameter.key)}: {words}", first=8, indent=12, checked=True)


def _argument_words(parameter: Parameter) -> str:
    if parameter.words:
        text = parameter.words
    elif parameter.description:
        text = parameter.description
    elif "enum" in parameter.schema:
        values = parameter.schema["enum"]
        text = f"One of {', '.join(values[:6])}{' and others' if len(values) > 6 else ''}"
    else:
        text = _capital(parameter.row.type.replace(" | ", " or ") or "value")
    return f"{text.rstrip('.')}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _wrapped(text: str, first: int, indent: int = 4, checked: bool = False) -> Door:
    """Return `text` broken at the width, all words as prose; the first line is indented already."""
    words: str = text if checked else prose(text)
    lines = textwrap.wrap(words, WIDTH - indent, initial_indent=" " * (first - indent))
    return Door(f"\n{' ' * indent}".join(line.strip() for line in lines))
