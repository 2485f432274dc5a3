"""Render: layout. A module of the intermediate representation becomes source text.

How a module looks stands in the templates; here values come through the doors, and are laid out
as black would. It proves that in a test, and formats what a team's own templates give and what
names make too long. The tables below `# fmt: off` have a row a line. The object layer is laid out
from what `object_api` decided.
"""

import hashlib
import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from iac_base.files import write_whole
from iac_gen.descriptions import WIDTH, docstring, safe_app_name, shown_term, tool_docstring
from iac_gen.ir import (
    Module,
    ObjectAttribute,
    ObjectMethod,
    ToolFunction,
    ToolParameter,
    TypedClass,
    TypedModule,
)
from iac_gen.limits import LimitError, read_file
from iac_gen.model import GeneratorError
from iac_gen.naming import CONTRACT, objects_module
from iac_gen.object_api import COMMANDS, RUNTIME, TYPING, build_object_api
from iac_gen.text import (
    SourceText,
    clean_json,
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
    names = sorted(path.name for path in folder.glob("*.jinja"))
    shipped = shipped_templates()
    odd = [name for name in names if name not in shipped]
    if odd or not names:
        what = f"has {odd[0]}, which replaces none" if odd else "contains no template"
        hint = f"iac-gen templates --write DIR writes these: {', '.join(sorted(shipped))}"
        raise GeneratorError(f"{folder} {what}. {hint}")
    digest = hashlib.sha256()
    for name in names:
        try:
            digest.update(name.encode() + b"\0" + read_file(folder / name))
        except LimitError as error:
            raise GeneratorError(f"{folder / name} {error}") from None
    name = prose(folder.resolve().name) or "a team"
    return TeamTemplates(folder, f"{name} (sha256 {digest.hexdigest()[:12]})")


def lay_out_items(
    items: Sequence[SourceText], taken: int, indent: int = 0, *, each: bool = False
) -> SourceText:
    """Return `items` of a bracket as black lays them out.

    `taken` are the characters of the line without them, `indent` those before it. With `each`,
    where they do not fit on that line, an item stands on a line even where all fit on the next.
    """
    flat = ", ".join(map(finalize, items))
    if taken + len(flat) <= WIDTH:
        return SourceText(flat)
    gap = "\n" + " " * (indent + 4)
    # A comma behind the only item of a subscript makes a tuple of it.
    alone = len(items) == 1 or (not each and indent + 4 + len(flat) <= WIDTH)
    rows = flat if alone else f",{gap}".join(items) + ","
    return SourceText(f"{gap}{rows}{gap[:-4]}")


def lay_out_value(value: Any, taken: int, indent: int) -> SourceText:
    """Return a literal as black lays it out; `taken` and `indent` as of `lay_out_items`."""
    flat = literal(value)
    if taken + len(flat) <= WIDTH or not value or not isinstance(value, Mapping | list | tuple):
        return flat
    rows, within = [], indent + 4
    if isinstance(value, Mapping):
        for key, one in value.items():
            head = f"{literal(key)}: "
            rows.append(SourceText(head + lay_out_value(one, within + len(head) + 1, within)))
    else:
        rows = [lay_out_value(one, within + 1, within) for one in value]
    return SourceText(f"{flat[0]}{lay_out_items(rows, taken + 2, indent, each=True)}{flat[-1]}")


def fill_lines(
    items: Sequence[SourceText], taken: int, indent: int, behind: int, end: str = ""
) -> SourceText:
    """Return `items` of a row that black leaves alone: on as many lines as they need.

    `taken` and `indent` as of `lay_out_items`; `behind` are the characters that follow the last
    item. Where there are several lines, `end` follows them first.
    """
    flat = ", ".join(map(finalize, items))
    if taken + len(flat) <= WIDTH:
        return SourceText(flat)
    lines, gap = [""], "\n" + " " * (indent + 4)
    for item in items:
        if lines[-1] and indent + len(lines[-1]) + len(item) + 5 + behind > WIDTH:
            lines.append("")
        lines[-1] += f"{' ' * bool(lines[-1])}{item},"
    return SourceText(f"{gap}{gap.join(lines)}".removesuffix(",") + end)


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
    layouts = {"laid": lay_out_items, "laid_value": lay_out_value, "filled": fill_lines}
    environment.filters.update(layouts)
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


class Layout(NamedTuple):
    """How files are laid out: the file of an app's quirks, where it has one, a team's templates.

    In the folder `keep`, the text that black made of an app's module is kept by its content.
    """

    quirks: str = ""
    templates: TeamTemplates | None = None
    keep: Path | None = None


_PLAIN: Final = Layout()


def render_module(module: Module, layout: Layout = _PLAIN) -> str:
    """Return the source of a module.

    Raises:
        GeneratorError: A team's templates fail, or give what is no Python.
    """
    return _render_source("module.py.jinja", module.app.id, _module_values(module, layout), layout)


def _render_source(template: str, name: str, values: Mapping[str, Any], layout: Layout) -> str:
    """Return what a template gives, its top in black's form; `name` is that of the kept text.

    Raises:
        GeneratorError: A team's templates fail, or give what is no Python.
    """
    templates = layout.templates
    text = _render_template(template, templates, values)
    top, mark, tables = text.partition(_UNFORMATTED)
    # The header is prose, which black leaves alone; a new digest in it is no new text below.
    head, end, body = top.partition('\n"""\n')
    if not end or head.rfind('"""') != 0:
        head, end, body = "", "", top
    head = "\n".join(textwrap.fill(line, WIDTH) for line in head.splitlines())
    gap, space = "\n" if end else "", "\n\n" if mark else ""
    try:
        # Macros leave empty lines, and what is indented belongs to the part before it.
        plain = re.sub(r"\n{3,}(?= )|\n{4,}", _empty_lines, f"{body.strip()}\n")
        made = plain
        # Of what fits, the layout is known to be black's.
        if templates or any(len(line) > WIDTH for line in plain.splitlines()):
            stamp = f"{_LAYOUT}\0{plain}"
            made = kept(layout.keep, name, stamp, lambda: _format_with_black(plain))
    except SyntaxError as error:
        who = templates.name if templates else "iac-gen"
        raise GeneratorError(f"the templates of {who} do not give Python: {error}") from None
    return f"{head}{end}{gap}{made}{space}{mark}{tables}"


def _empty_lines(gap: re.Match[str]) -> str:
    return "\n\n" if gap.string.startswith(" ", gap.end()) else "\n\n\n"


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
    values = {"shipped": shipped, "words": words}
    text = f"{_render_template('package.py.jinja', templates, values).strip()}\n"
    return _format_with_black(text) if templates else text


def _module_values(module: Module, layout: Layout) -> dict[str, Any]:
    aliases = [
        *((alias, values) for alias, _, values in module.aliases),
        ("ClassName", module.class_names),
        ("PropertyName", module.property_names),
    ]
    tools = [_tool_values(tool) for tool in module.tools]
    used = " ".join(text for tool in tools for text in (*tool["signature"], tool["returns"]))
    shown = [(name, values) for name, values in aliases if name in used]
    app = module.app if module.app.kind != "application" else module.app[:2]
    present = {
        "Final": True,
        "Any": "Any" in used,
        "Literal": "Literal[" in used or any(values for _, values in shown),
        **_contract_names(module, used),
    }
    return {
        **_header_values(module, layout),
        "typing": [SourceText(name) for name in ("Any", "Final", "Literal") if present[name]],
        "contract": [SourceText(name) for name in CONTRACT if present[name]],
        "exported": [literal(name) for name in ("APP", *sorted(t.function for t in module.tools))],
        "app": [literal(value) for value in app],
        "objects": identifier(objects_module(module.key)),
        "names": [(identifier(name), [literal(v) for v in values]) for name, values in shown],
        "tools": tools,
        "tables": _table_values(module),
    }


def _header_values(module: Module, layout: Layout) -> dict[str, SourceText]:
    """Return what the docstring of a generated file says: of which app, and how to change it."""
    mend = "change the dictionary, the quirks or the templates, and build again."
    if layout.quirks:
        mend = f"change generator/iac_gen/{layout.quirks} or the templates,"
        mend += " then run `nox -s regen`."
    if layout.templates is not None:
        mend += f"\nLaid out by the templates in {layout.templates.name}."
    built = prose(module.version)
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


def _class_table_row(named: tuple[str, Class]) -> tuple[SourceText, SourceText, Class]:
    term, row = literal(named[0]), _quote_row(named[1])
    behind = len(", (") if row.properties else len(", (), (), (")
    values = [SourceText(value) for value in row[:6]]
    head = fill_lines(values, len(f"    {term}: Class(") + behind, 4, behind)
    return term, head, row


def _table_values(module: Module) -> dict[str, Any]:
    enums = module.enums.items()
    schemas = []
    for tool in module.tools:
        both = [one for one in (tool.input_schema(), tool.output) if one]
        rows = [[*_schema_lines(clean_json(one))] for one in both]
        schemas.append((literal(clean_text(tool.function)), rows))
    return {
        "classes": [*map(_class_table_row, module.classes.items())],
        "records": [(literal(term), _quote_row(row)) for term, row in module.records.items()],
        "enums": [
            (literal(e), [(literal(n), exact_literal(c)) for n, c in rows]) for e, rows in enums
        ],
        "unverified": [literal(term) for term in module.unverified_terms()],
        "schemas": schemas,
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
    names = [identifier(parameter.name) for parameter in tool.parameters]
    return {
        "event": exact_literal(tool.event),
        "facts": [(SourceText(name), literal(value)) for name, value in facts.items() if value],
        "params": [(literal(p.key), _param_arguments(p.row)) for p in tool.parameters],
        "answer": [(SourceText(name), value) for name, value in answer.items() if value],
        "intent": [SourceText(f"{name}={literal(one)}") for name, one in known.items() if one],
        "name": identifier(tool.function),
        "signature": signature,
        "returns": SourceText(tool.returns),
        "docstring": tool_docstring(tool),
        "arguments": [identifier(tool.function), *(SourceText(f"{name}={name}") for name in names)],
    }


def _param_arguments(row: Param) -> list[SourceText]:
    quoted = _quote_row(row)
    return [SourceText(v) for v in (quoted if row.jxa else quoted[:3])]


def _signature_parameter(parameter: ToolParameter) -> SourceText:
    name = identifier(parameter.name)
    if parameter.required:
        return SourceText(f"{name}: {parameter.annotation}")
    optional = parameter.annotation
    if optional != "Any":
        optional += " | None"
    return SourceText(f"{name}: {optional} = None")


_SHOWN: Final = re.compile(
    r", such as [^,]+(?=[.]$)|, (read|write) only(?=[.]$)| (Read|Write) only[.]$"
)
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
EXTRA: Final = "MakeValues"
_SELECT: Final = (
    "self", "*names: {name}", "order: Sequence[str] = ()", "limit: int | None = None",
    "offset: int = 0",
)  # fmt: skip


def render_objects(module: Module, layout: Layout = _PLAIN) -> str:
    """Return the source of the object layer of an app.

    Raises:
        GeneratorError: A team's templates fail, or give what is no Python.
    """
    values = {**_header_values(module, layout), **_objects_values(module)}
    return _render_source("objects.py.jinja", f"{module.app.id}.objects", values, layout)


def _objects_values(module: Module) -> dict[str, Any]:
    made = build_object_api(module)
    classes = [_class_values(one, made, module) for one in made.classes]
    shapes = [
        *(name for one in classes for name in one["types"]),
        *(name for name, *_ in made.settable),
        *(name for name, _ in made.records),
    ]
    own = {alias for alias, _, _ in module.aliases}
    hidden = [*shapes, *(name for name in made.literals if name not in own)]
    names = ["app", *(n for one in made.classes for n in (one.name, one.items) if n)]
    values: dict[str, Any] = {
        "commands": [_method_values(one) for one in made.commands],
        "classes": classes,
        "settable": [
            (SourceText(name), [SourceText(held), SourceText(f"Replaceable[{value}]")])
            for name, held, value in made.settable
        ],
        "records": [_typed_dict(name, "TypedDict", rows) for name, rows in made.records],
        "literals": [
            (identifier(name), [literal(value) for value in rows])
            for name, rows in made.literals.items()
        ],
        "extra": _typed_dict(EXTRA, "TypedDict" * bool(made.extra), made.extra),
        "fields": [(literal(jxa), literal(key)) for jxa, key in made.fields.items()],
        "objects": [
            (literal(one.term), SourceText(f"({one.name}, {one.items or None})"))
            for one in made.classes
        ],
    }
    used = {word for text in _source_texts(values) for word in _WORD.findall(text)}
    # What the template itself writes.
    used |= {"Rows"} if any(one["many"] for one in classes) else set()
    used |= {"Unpack"} if any(one["many"] and one["makes"] for one in classes) else set()
    used |= {"Literal"} if any(rows for _, rows in values["literals"]) else set()
    used |= {"Replaceable"} if made.settable else set()
    used |= {"Specifier"} if made.commands else set()
    late = {"AnyObject", "Color", "Point", "Rect", "Rows", "Replaceable"}
    late |= set() if made.commands else {"Specifier"}
    imports = {
        "collections.abc": sorted({"Mapping", "Sequence"} & used),
        "datetime": ["datetime"] if "datetime" in used else [],
        "pathlib": ["Path"] if "Path" in used else [],
        "typing": [name for name in TYPING if name in used],
        "iac_runtime.objects": sorted(late & used),
        "iac_runtime.tool": ["ListOf"] if "ListOf" in used else [],
    }
    types = list(map(literal, sorted(hidden)))
    shaped = bool(hidden or made.literals or made.extra)
    guarded = any(imports.values()) or any(one["row"] or one["many"] for one in classes)
    return {
        **values,
        "shaped": shaped,
        "guarded": shaped or guarded,
        "types": [SourceText("__name__"), SourceText(f"[{lay_out_items(types, 7, 4, each=True)}]")],
        "exported": list(map(literal, sorted({*names, *hidden}))),
        "runtime": [SourceText(name) for name in RUNTIME if name in used - late],
        "imports": [
            (SourceText(name), [SourceText(one) for one in rows])
            for name, rows in imports.items()
            if rows
        ],
    }


def _source_texts(value: Any) -> Iterator[str]:
    """Yield the texts of prepared values that are annotations, bases and names."""
    if isinstance(value, str):
        yield value if value[:1] not in "\"'" else ""
    elif isinstance(value, dict):
        for key, part in value.items():
            if key not in ("doc", "doc_items", "arguments", "call"):
                yield from _source_texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _source_texts(part)


def _class_values(one: TypedClass, made: TypedModule, module: Module) -> dict[str, Any]:
    many = bool(one.items)
    base = list(one.bases)
    if made.commands and base[-1] in ("Object", "TextObject"):
        base.insert(0, COMMANDS)
    has_row = bool(one.row_name) and not one.is_text
    # A class that is not made itself may be inherited from by one that is.
    makes = bool(one.values_name) and made.make
    app = safe_app_name(module.app.name)
    rows = module.classes[one.term].properties if one.term in module.classes else ()
    docs = {row.jxa: _short_description(module.sentences[f"{one.term}.{row.term}"]) for row in rows}
    shapes = {one.row_name: has_row, one.values_name: makes, one.keys_name: bool(one.keys_name)}
    value_base = one.values_base or (EXTRA if made.extra else "TypedDict")
    return {
        "name": identifier(one.name),
        "bases": SourceText(", ".join(base)),
        "doc": docstring(_short_description(module.sentences.get(one.term, f"The app {app}."))),
        "doc_items": docstring(f"Objects of the class {shown_term(one.term)}."),
        "attributes": [_attribute_values(row, docs.get(row.jxa, "")) for row in one.attributes],
        "methods": [_method_values(row) for row in one.methods],
        "row": _typed_dict(one.row_name, one.row_base or "TypedDict", one.row) if has_row else None,
        "given": _typed_dict(one.values_name, value_base, one.values) if makes else None,
        "keys_name": SourceText(one.keys_name),
        "keys_type": SourceText(_key_type(one) * bool(one.keys_name)),
        "many": SourceText(one.items) if many else None,
        "item_bases": SourceText((f"{COMMANDS}, Items" if made.commands else "Items") * many),
        "select": [SourceText(part.format(name=one.keys_name)) for part in _SELECT * many],
        "row_name": SourceText((one.row_name if has_row else "dict[str, Any]") * (has_row or many)),
        "makes": makes,
        "types": [name for name, there in shapes.items() if there],
    }


def _key_type(one: TypedClass) -> str:
    rest = [one.keys_base] if one.keys_base else []
    taken = len(" | ".join([one.keys_name, *rest])) + 16
    keys = lay_out_items([literal(key) for key in one.keys], taken, 4, each=True)
    return " | ".join([*([f"Literal[{keys}]"] if one.keys else []), *rest]) or "str"


def _typed_dict(name: str, base: str, rows: list[tuple[str, str]]) -> dict[str, Any]:
    fields = [(identifier(key), SourceText(kind)) for key, kind in rows]
    return {"name": SourceText(name), "base": SourceText(base), "rows": fields}


def _short_description(sentence: str) -> str:
    """Return a sentence of a class or property without what its annotation or its name says."""
    return _SHOWN.sub("", sentence)


def _attribute_values(row: ObjectAttribute, description: str) -> dict[str, Any]:
    tells = not description.startswith("The property '")
    term = [literal(row.term)] if row.term else []
    return {
        "name": identifier(row.name),
        "kind": SourceText(row.kind),
        "held": SourceText(row.held),
        "arguments": [exact_literal(row.jxa), *term],
        "widens": row.widens,
        "doc": docstring(description) if description and tells else "",
    }


def _method_values(one: ObjectMethod) -> dict[str, Any]:
    names = [f"{parameter.name}={parameter.name}" for parameter in one.parameters]
    given = [f"{one.self_key}=self", *names] if one.self_key else names
    doc = tool_docstring(replace(one.tool, parameters=one.parameters), indent=8)
    return {
        "name": identifier(one.name),
        "signature": [SourceText(part) for part in one.signature],
        "returns": SourceText(one.returns),
        "before": SourceText("" if one.returns == "None" else "return "),
        "how": SourceText("_answer" if one.returns == "Any" else "_command"),
        "doc": doc,
        "call": [literal(one.tool.function), *map(SourceText, given)],
    }


def kept(folder: Path | None, name: str, made_of: str, make: Callable[[], str]) -> str:
    """Return what `make` gives; where `folder` has it under `name` of the same, it is not made.

    A folder that cannot be written is done without.
    """
    if folder is None:
        return make()
    stamp = hashlib.sha256(made_of.encode()).hexdigest()
    file = folder / hashlib.sha256(name.encode()).hexdigest()[:24]
    with suppress(LimitError, UnicodeDecodeError):
        before, _, text = read_file(file).decode().partition("\n")
        if before == stamp:
            return text
    text = make()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(file, f"{stamp}\n{text}")
    return text
