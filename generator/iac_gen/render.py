"""Render: layout. A module of the intermediate representation becomes source text.

What people read (header, enumerations, functions) is formatted by black; the tables below
`# fmt: off` are written in rows by `rows`.
"""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from black import format_str
from black.mode import Mode, TargetVersion

from iac_gen.ir import Module, ToolFunction, ToolParameter
from iac_gen.layout import WIDTH, fits, lay_out
from iac_gen.text import (
    SourceText,
    clean,
    clean_prose,
    cleaned,
    exact,
    finalize,
    identifier,
    literal,
    prose,
)
from iac_runtime.tool import Class, Enum, Param, Property, Record


def param_row(row: Param) -> SourceText:
    """Return a row of a tool's parameters."""
    jxa = f", {literal(row.jxa)}" if row.jxa else ""
    return SourceText(f"Param({literal(row.term)}, {exact(row.code)}, {literal(row.type)}{jxa})")


def table_source(module: Module) -> str:
    """Return `CLASSES`, `ENUMS`, `RECORDS`, `UNVERIFIED` and `SCHEMAS` of a module as source."""
    parts = (
        _table("CLASSES", "Class", _class_rows(module.classes)),
        _table("ENUMS", "Enum", _enums(module.enums)),
        _table("RECORDS", "Record", _records(module.records)),
        _unverified(module),
        _table("SCHEMAS", "Schema", _schemas(module)),
    )
    return "\n".join(parts)


def _unverified(module: Module) -> str:
    body = "".join(f"    {literal(term)},\n" for term in module.unverified())
    inner = f"\n{body}" if body else ""
    return f"UNVERIFIED: Final[tuple[str, ...]] = ({inner})\n"


def _table(name: str, kind: str, rows: Iterator[str]) -> str:
    body = "".join(f"{row}\n" for row in rows)
    inner = f"\n{body}" if body else ""
    return f"{name}: Final[Mapping[str, {kind}]] = {{{inner}}}\n"


def _property_rows(rows: tuple[Property, ...]) -> Iterator[str]:
    for row in rows:
        yield (
            f"        Property({literal(row.term)}, {exact(row.code)}, {literal(row.jxa)},"
            f" {literal(row.type)}, {literal(row.access)}, {literal(row.level)}),"
        )


def _class_rows(classes: Mapping[str, Class]) -> Iterator[str]:
    for term, row in classes.items():
        head = (
            f"    {literal(term)}: Class({exact(row.code)}, {literal(row.jxa)},"
            f" {literal(row.plural)}, {literal(row.inherits)}, {literal(row.make)},"
            f" {literal(row.delete)}"
        )
        if row.properties:
            yield f"{head}, ("
            yield from _property_rows(row.properties)
            tail = "    )"
        else:
            tail = f"{head}, ()"
        elements = ", ".join(
            f"Element({literal(e.term)}, {literal(e.access)})" for e in row.elements
        )
        rest = [f"({elements},)"] if elements else ["()"] if row.synonyms else []
        if row.synonyms:
            rest.append(f"({', '.join(map(literal, row.synonyms))},)")
        yield f"{', '.join((tail, *rest))}),"


def _enums(enums: Mapping[str, Enum]) -> Iterator[str]:
    for term, values in enums.items():
        rows = "".join(f"({literal(name)}, {exact(code)}), " for name, code in values)
        yield f"    {literal(term)}: ({rows.strip()}),"


def _records(records: Mapping[str, Record]) -> Iterator[str]:
    for term, row in records.items():
        if row.properties:
            yield f"    {literal(term)}: Record({exact(row.code)}, ("
            yield from _property_rows(row.properties)
            yield "    )),"
        else:
            yield f"    {literal(term)}: Record({exact(row.code)}),"


def _schemas(module: Module) -> Iterator[str]:
    for tool in module.tools:
        texts = [tool.input()] if tool.output is None else [tool.input(), tool.output]
        written = ", ".join(literal(json.dumps(cleaned(text))) for text in texts)
        yield f"    {literal(clean(tool.function))}: Schema({written}),"


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
    top = _environment().get_template("module.py.jinja").render(_values(module, quirks))
    if not fits(top):
        top = format_str(top, mode=_mode())
    return f"{top}{table_source(module)}"


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
    used = " ".join(tool["definition"] for tool in tools)
    shown = [(name, values) for name, values in aliases if name in used]
    contract = [name for name in _CONTRACT if _imported(name, used, module)]
    typing = [
        name
        for name in _ANNOTATION_NAMES
        if name == "Final"
        or (name == "Any" and "Any" in used)
        or (name == "Literal" and any(values for _, values in shown))
    ]
    mend = (
        f"change generator/iac_gen/{quirks} or the templates, then run `nox -s regen`."
        if quirks
        else "change the dictionary, the quirks or the templates, and build again."
    )
    version = clean_prose(module.version)
    exported = literal(["APP", *sorted(tool.function for tool in module.tools)])
    return {
        "app_words": prose(module.app.name),
        "app_id": prose(module.app.id),
        "version": SourceText(f" {version}" if version else ""),
        "digest": prose(module.digest[:12]),
        "mend": SourceText(mend),
        "typing": lay_out(f"from typing import {', '.join(typing)}"),
        "contract": _import("iac_runtime.tool", contract),
        "exported": lay_out(f"__all__ = {exported}"),
        "app": lay_out(f"APP: Final = App({_app(module)})"),
        "aliases": [lay_out(f"{identifier(name)} = {_alias(values)}") for name, values in shown],
        "tools": tools,
    }


def _alias(values: Sequence[str]) -> SourceText:
    # An app may have classes and no property: the signatures name the alias all the same.
    return SourceText(f"Literal[{literal(list(values))[1:-1]}]" if values else "str")


def _import(module: str, names: list[str]) -> SourceText:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return SourceText(line)
    rows = "".join(f"    {name},\n" for name in names)
    return SourceText(f"from {module} import (\n{rows})")


def _imported(name: str, used: str, module: Module) -> bool:
    classes, records = module.classes.values(), module.records.values()
    present = {
        **dict.fromkeys(("App", "Class", "Enum", "Record", "Schema"), True),
        "tool": bool(module.tools),
        "Param": any(tool.parameters for tool in module.tools),
        "Property": any(row.properties for row in classes)
        or any(row.properties for row in records),
        "Element": any(row.elements for row in classes),
    }
    return present.get(name, name in used)


def _app(module: Module) -> SourceText:
    app = module.app
    kind = f", {literal(app.kind)}" if app.kind != "application" else ""
    return SourceText(f"{literal(app.id)}, {literal(app.name)}{kind}")


def _tool(tool: ToolFunction) -> dict[str, Any]:
    arguments = ", ".join(f"{identifier(p.key)}={identifier(p.key)}" for p in tool.parameters)
    call = f"{identifier(tool.function)}{', ' if arguments else ''}{arguments}"
    return {
        "decorator": lay_out(f"@tool({_decorator(tool)})"),
        "definition": lay_out(
            f"def {identifier(tool.function)}({_signature(tool)}) -> {tool.returns}:"
        ),
        "docstring": _docstring(tool),
        "returning": lay_out(f"return APP.call({call})", 4),
    }


def _docstring(tool: ToolFunction) -> SourceText:
    lines = textwrap.wrap(prose(tool.summary), WIDTH - 4, initial_indent=" " * 3)
    lines[0] = f'"""{lines[0].strip()}'
    if tool.parameters:
        lines += ["", "Args:", *(line for p in tool.parameters for line in _argument(p))]
    if tool.returned:
        lines += ["", "Returns:", f"    {prose(_capital(tool.returned))}"]
    if len(lines) == 1 and len(lines[0]) + 4 + 3 <= WIDTH:
        return SourceText(f'{lines[0]}"""')
    return SourceText("\n".join(f"    {line}".rstrip() for line in [*lines, '"""']).lstrip())


def _decorator(tool: ToolFunction) -> SourceText:
    params = ", ".join(f"{literal(p.key)}: {param_row(p.row)}" for p in tool.parameters)
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
    return SourceText(", ".join(parts))


def _signature(tool: ToolFunction) -> SourceText:
    parts = [_declared(p) for p in tool.parameters[: tool.positional]]
    rest = tool.parameters[tool.positional :]
    if rest:
        parts += ["*", *(_declared(p) for p in rest)]
    return SourceText(", ".join(parts))


def _declared(parameter: ToolParameter) -> str:
    name = identifier(parameter.key)
    if parameter.required:
        return f"{name}: {parameter.annotation}"
    optional = parameter.annotation
    if optional != "Any":
        optional += " | None"
    return f"{name}: {optional} = None"


def _argument(parameter: ToolParameter) -> list[str]:
    text = f"{identifier(parameter.key)}: {prose(_argument_words(parameter))}"
    return textwrap.wrap(text, WIDTH - 4, initial_indent=" " * 4, subsequent_indent=" " * 8)


def _argument_words(parameter: ToolParameter) -> str:
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
