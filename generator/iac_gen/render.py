"""Render: layout. A module of the intermediate representation becomes source text.

How a module looks stands in the templates; here values come through the doors. Black formats
what people read (header, enumerations, functions); the tables below `# fmt: off` stay in the
rows that the templates give them.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from iac_gen.describe import WIDTH, tool_docstring
from iac_gen.ir import Module, ToolFunction, ToolParameter
from iac_gen.keep import kept
from iac_gen.limits import LimitError, read_file
from iac_gen.model import GeneratorError
from iac_gen.naming import CONTRACT
from iac_gen.text import (
    SourceText,
    clean_json,
    clean_prose,
    clean_text,
    exact_literal,
    finalize,
    identifier,
    literal,
    prose,
)
from iac_runtime.tool import Class, Element, Param, Property, Record

if TYPE_CHECKING:
    import jinja2

_ROW: Final = 150
"""Characters of a line of a schema, without its indentation."""
_UNFORMATTED: Final = "# fmt: off\n"
_LAYOUT: Final = f"{version('black')}\0{Path(__file__).read_text(encoding='utf-8')}"
"""What a kept text came from: black, and how its parts are taken apart here."""

Row = TypeVar("Row", Class, Element, Param, Property, Record)


class TeamTemplates(NamedTuple):
    """A team's own templates: a folder, and how a header and a report name them."""

    folder: Path
    name: str


def shipped_templates() -> dict[str, str]:
    """Return the templates that ship: name -> text."""
    rows = (one for one in files("iac_templates").iterdir() if one.name.endswith(".jinja"))
    return {one.name: one.read_text(encoding="utf-8") for one in rows}


def own_templates(folder: Path) -> TeamTemplates:
    """Return the templates of a team; one that is missing there is the shipped one.

    Raises:
        GeneratorError: A file there replaces none, or cannot be read.
    """
    found = sorted(path.name for path in folder.glob("*.jinja"))
    shipped = shipped_templates()
    odd = [name for name in found if name not in shipped]
    if odd or not found:
        what = f"has {odd[0]}, which replaces none" if odd else "contains no template"
        hint = f"iac-gen templates --write DIR writes these: {', '.join(sorted(shipped))}"
        raise GeneratorError(f"{folder} {what}. {hint}")
    digest = hashlib.sha256()
    for name in found:
        try:
            digest.update(name.encode() + b"\0" + read_file(folder / name))
        except LimitError as error:
            raise GeneratorError(f"{folder / name} {error}") from None
    name = clean_prose(folder.resolve().name) or "a team"
    return TeamTemplates(folder, f"{name} (sha256 {digest.hexdigest()[:12]})")


def lay_out_items(items: Sequence[SourceText], taken: int, indent: int = 0) -> SourceText:
    """Return `items` of a bracket as black lays them out: it is twice as fast on what is so.

    `taken` are the characters of the line without them, `indent` those before it.
    """
    flat = ", ".join(map(finalize, items))
    if taken + len(flat) <= WIDTH:
        return SourceText(flat)
    gap = "\n" + " " * (indent + 4)
    # A comma behind the only item of a subscript makes a tuple of it.
    alone = len(items) == 1 or indent + 4 + len(flat) <= WIDTH
    rows = flat if alone else f",{gap}".join(items) + ","
    return SourceText(f"{gap}{rows}{gap[:-4]}")


@cache
def _jinja_environment(folder: Path | None) -> "jinja2.Environment":
    import jinja2  # Takes 15 ms, and a build that renders nothing does without.

    class Pieces(jinja2.Environment):
        # What a macro gives was let through piece by piece.
        concat = staticmethod(lambda parts: SourceText("".join(parts)))

    loaders: list[jinja2.BaseLoader] = [jinja2.DictLoader(shipped_templates())]
    if folder is not None:
        loaders.insert(0, jinja2.FileSystemLoader(folder))
    environment = Pieces(
        loader=jinja2.ChoiceLoader(loaders),
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        autoescape=False,
        keep_trailing_newline=True,
    )
    environment.filters["laid"] = lay_out_items
    return environment


def _render_template(name: str, templates: TeamTemplates | None, values: Mapping[str, Any]) -> str:
    from jinja2 import TemplateError

    try:
        environment = _jinja_environment(templates.folder if templates else None)
        return environment.get_template(name).render(values)
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        if templates is None:
            raise
        reason = " ".join(str(error).split())
        raise GeneratorError(f"the templates of {templates.name} fail: {reason}") from None


def render_module(
    module: Module,
    *,
    quirks: str = "",
    templates: TeamTemplates | None = None,
    keep: Path | None = None,
) -> str:
    """Return the source of a module; `quirks` is the file of its quirks, where it has one.

    In the folder `keep`, the text that black made of an app's module is kept by its content.

    Raises:
        GeneratorError: A team's templates fail, or give what is no Python.
    """
    values = _module_values(module, quirks, templates)
    return render_source("module.py.jinja", module.app.id, values, templates, keep)


def render_source(
    template: str,
    name: str,
    values: Mapping[str, Any],
    templates: TeamTemplates | None,
    keep: Path | None,
) -> str:
    """Return what a template gives, its top in black's form; `name` is that of the kept text.

    Raises:
        GeneratorError: A team's templates fail, or give what is no Python.
    """
    text = _render_template(template, templates, values)
    top, mark, tables = text.partition(_UNFORMATTED)
    # The header is prose, which black leaves alone; a new digest in it is no new text below.
    head, end, body = top.partition('\n"""\n')
    if not end or head.rfind('"""') != 0:
        head, end, body = "", "", top
    gap, space = "\n" if end else "", "\n\n" if mark else ""
    try:
        # Black takes the text in parts, and what is indented belongs to the part before it.
        plain = re.sub(r"\n{3,}(?= )", "\n\n", f"{body.strip()}\n")
        made = kept(keep, name, f"{_LAYOUT}\0{plain}", lambda: _format_with_black(plain))
    except SyntaxError as error:
        who = templates.name if templates else "iac-gen"
        raise GeneratorError(f"the templates of {who} do not give Python: {error}") from None
    return f"{head}{end}{gap}{made}{space}{mark}{tables}"


@lru_cache(maxsize=64)
def _format_with_black(text: str) -> str:
    """Return a text in black's form. Raises SyntaxError."""
    # Takes 60 ms to load, and a build that formats nothing does without.
    from black import format_str
    from black.mode import Mode, TargetVersion
    from black.parsing import InvalidInput

    mode = Mode(target_versions={TargetVersion.PY311}, line_length=WIDTH)
    # Black goes twice over what it changes, so one odd function costs its own second pass only.
    pieces = (part.strip("\n") for part in text.split("\n\n\n"))
    try:
        parts = [format_str(f"{part}\n", mode=mode) for part in pieces if part]
    except InvalidInput:
        # A team's own template may leave two empty lines inside a statement.
        try:
            return format_str(text, mode=mode)
        except InvalidInput as error:
            raise SyntaxError(str(error)) from None
    return "\n\n".join(parts)


def render_package(*, shipped: bool, templates: TeamTemplates | None = None) -> str:
    """Return the `__init__` of an output folder; the shipped one also finds the user's own."""
    words = prose("Generated tools, one module per app.")
    return _format_with_black(
        _render_template("package.py.jinja", templates, {"shipped": shipped, "words": words})
    )


def _module_values(module: Module, quirks: str, templates: TeamTemplates | None) -> dict[str, Any]:
    aliases = [
        *((alias, values) for alias, _, values in module.aliases),
        ("ClassName", module.class_names),
        ("PropertyName", module.property_names),
    ]
    tools = [_tool_values(tool) for tool in module.tools]
    used = " ".join(text for tool in tools for text in (*tool["signature"], tool["returns"]))
    shown = [(name, values) for name, values in aliases if name in used]
    present = {
        "Final": True,
        "Any": "Any" in used,
        "Literal": "Literal[" in used or any(values for _, values in shown),
        **_contract_names(module, used),
    }
    return {
        **header_values(module, quirks, templates),
        "typing": [SourceText(name) for name in ("Any", "Final", "Literal") if present[name]],
        "contract": [SourceText(name) for name in CONTRACT if present[name]],
        "exported": [literal(name) for name in ("APP", *sorted(t.function for t in module.tools))],
        "app": _app_arguments(module),
        "objects": identifier(objects_module(module.key)),
        "names": [(identifier(name), [literal(v) for v in values]) for name, values in shown],
        "tools": tools,
        "tables": _table_values(module),
    }


def objects_module(key: str) -> str:
    """Return the name of the module that holds the objects of the app `key`."""
    return f"{key}_objects"


def header_values(
    module: Module, quirks: str, templates: TeamTemplates | None
) -> dict[str, SourceText]:
    """Return what the docstring of a generated file says: of which app, and how to change it."""
    mend = (
        f"change generator/iac_gen/{quirks} or the templates, then run `nox -s regen`."
        if quirks
        else "change the dictionary, the quirks or the templates, and build again."
    )
    if templates is not None:
        mend += f"\nLaid out by the templates in {templates.name}."
    built = clean_prose(module.version)
    return {
        "app_words": prose(module.app.name),
        "app_id": prose(module.app.id),
        "version": SourceText(f" {built}" if built else ""),
        "source": prose("App Intents" if module.app.kind == "intents" else "dictionary"),
        "digest": prose(module.digest[:12]),
        "mend": SourceText(mend),
    }


def _contract_names(module: Module, used: str) -> dict[str, bool]:
    owners: list[Class | Record] = [*module.classes.values(), *module.records.values()]
    return {
        **{name: name in used for name in CONTRACT},
        **dict.fromkeys(("App", "Class", "Enum", "Record", "Schema", "objects"), True),
        "tool": bool(module.tools),
        "Intent": any(tool.intent for tool in module.tools),
        "Param": any(tool.parameters for tool in module.tools),
        "Property": any(row.properties for row in owners),
        "Element": any(row.elements for row in module.classes.values()),
    }


def _app_arguments(module: Module) -> SourceText:
    app = module.app
    kind = f", {literal(app.kind)}" if app.kind != "application" else ""
    return SourceText(f"{literal(app.id)}, {literal(app.name)}{kind}")


def _quote_row(row: Row) -> Row:
    """Return a row of the contract with each value as source, the rows in it too."""
    values: dict[str, Any] = row._asdict()
    for name, value in values.items():
        if name == "code":
            values[name] = exact_literal(value)
        elif isinstance(value, tuple):
            values[name] = [_quote_row(v) if hasattr(v, "_asdict") else literal(v) for v in value]
        else:
            values[name] = literal(value)
    return row._replace(**values)


def _table_values(module: Module) -> dict[str, Any]:
    enums = module.enums.items()
    return {
        "classes": [(literal(term), _quote_row(row)) for term, row in module.classes.items()],
        "records": [(literal(term), _quote_row(row)) for term, row in module.records.items()],
        "enums": [
            (literal(e), [(literal(n), exact_literal(c)) for n, c in rows]) for e, rows in enums
        ],
        "unverified": [literal(term) for term in module.unverified_terms()],
        "schemas": [
            (
                literal(clean_text(tool.function)),
                [
                    list(_schema_lines(clean_json(one)))
                    for one in (tool.input_schema(), tool.output)
                    if one
                ],
            )
            for tool in module.tools
        ],
    }


def _schema_lines(schema: Mapping[str, Any]) -> Iterator[SourceText]:
    """Yield the JSON of a schema as literals to be joined, a property a line."""
    head, _, tail = json.dumps({**schema, "properties": "@"}).partition('"@"')
    if "properties" not in schema:
        yield from _literal_pieces(json.dumps(schema))
        return
    yield from _literal_pieces(f"{head}{{")
    rows = list(schema["properties"].items())
    for key, value in rows:
        comma = ", " if key != rows[-1][0] else ""
        yield from _literal_pieces(f"{json.dumps(key)}: {json.dumps(value)}{comma}")
    yield from _literal_pieces(f"}}{tail}")


def _literal_pieces(text: str) -> Iterator[SourceText]:
    """Yield `text` as literals that fit on a line, cut behind a space where there is one."""
    while len(whole := literal(text)) > _ROW:
        # JSON is ASCII here; an escape at most doubles it.
        room = _ROW - 2 if len(whole) == len(text) + 2 else _ROW // 2
        cut = text.rfind(" ", 0, room) + 1 or room
        yield literal(text[:cut])
        text = text[cut:]
    yield whole


def _tool_values(tool: ToolFunction) -> dict[str, Any]:
    facts = {
        "op": tool.op if tool.op != "command" else "",
        "level": tool.level,
        "ceiling": tool.ceiling if tool.ceiling != tool.level else "",
        "jxa": tool.jxa if tool.op == "command" and tool.jxa != tool.function.rstrip("_") else "",
    }
    answer = {"result": tool.result, "bind": tool.bind, "example": tool.example}
    known = tool.intent._asdict() if tool.intent else {}
    signature = [_signature_parameter(p) for p in tool.parameters]
    if signature[tool.positional :]:
        signature.insert(tool.positional, SourceText("*"))
    return {
        "event": exact_literal(tool.event),
        "facts": [(SourceText(name), literal(value)) for name, value in facts.items() if value],
        "params": [(literal(p.key), _param_arguments(p.row)) for p in tool.parameters],
        "answer": [(SourceText(name), literal(value)) for name, value in answer.items() if value],
        "intent": [(SourceText(name), literal(value)) for name, value in known.items() if value],
        "name": identifier(tool.function),
        "signature": signature,
        "returns": SourceText(tool.returns),
        "docstring": tool_docstring(tool),
        "arguments": _call_arguments(tool),
    }


def _call_arguments(tool: ToolFunction) -> list[SourceText]:
    keys = [identifier(parameter.key) for parameter in tool.parameters]
    return [identifier(tool.function), *(SourceText(f"{key}={key}") for key in keys)]


def _param_arguments(row: Param) -> list[SourceText]:
    quoted = _quote_row(row)
    return [SourceText(v) for v in (quoted if row.jxa else quoted[:3])]


def _signature_parameter(parameter: ToolParameter) -> SourceText:
    name = identifier(parameter.key)
    if parameter.required:
        return SourceText(f"{name}: {parameter.annotation}")
    optional = parameter.annotation
    if optional != "Any":
        optional += " | None"
    return SourceText(f"{name}: {optional} = None")
