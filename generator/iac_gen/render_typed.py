"""Render the object layer: from what `build_object_api` decided to `<app>_objects.py`."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from iac_gen.describe import WIDTH, safe_app_name, tool_docstring
from iac_gen.ir import Module, ObjectAttribute, ObjectMethod, TypedClass, TypedModule
from iac_gen.render import TeamTemplates, header_values, lay_out_items, render_source
from iac_gen.text import SourceText, exact_literal, identifier, literal, prose
from iac_gen.typed import COMMANDS, RUNTIME, TYPING, build_object_api

_SHOWN: Final = re.compile(", such as [^,]+(?=[.]$)|, absolute path or ~|, (read|write) only")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_LONGEST: Final = WIDTH - len('    """"""')
EXTRA: Final = "MakeValues"
_SELECT: Final = (
    "self", "*names: {name}", "order: Sequence[str] = ()", "limit: int | None = None",
    "offset: int = 0",
)  # fmt: skip


def render_objects(
    module: Module,
    *,
    quirks: str = "",
    templates: TeamTemplates | None = None,
    keep: Path | None = None,
) -> str:
    """Return the source of the object layer of an app.

    Raises:
        GeneratorError: A team's templates fail, or give what is no Python.
    """
    made = build_object_api(module)
    values = {**header_values(module, quirks, templates), **_objects_values(module, made)}
    return render_source("objects.py.jinja", f"{module.app.id}.objects", values, templates, keep)


def _objects_values(module: Module, made: TypedModule) -> dict[str, Any]:
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
        "settable": [tuple(SourceText(part) for part in row) for row in made.settable],
        "records": [_typed_dict(name, "TypedDict", rows) for name, rows in made.records],
        "literals": [
            (identifier(name), [literal(value) for value in rows])
            for name, rows in made.literals.items()
        ],
        "extra": _typed_dict(EXTRA, "TypedDict" * bool(made.extra), made.extra),
        "fields": [(literal(jxa), literal(key)) for jxa, key in made.fields.items()],
        "objects": [_objects_entry(one) for one in made.classes],
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
        "types": [SourceText("__name__"), SourceText(f"[{lay_out_items(types, 7, 4)}]")],
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
    held = bool(one.items)
    base = list(one.bases)
    if made.commands and base[-1] in ("Object", "TextObject"):
        base.insert(0, COMMANDS)
    has_row = bool(one.row_name) and not one.is_text
    # A class that is not made itself may be inherited from by one that is.
    makes = bool(one.values_name) and made.make
    app = safe_app_name(module.app.name)
    rows = module.classes[one.term].properties if one.term in module.classes else ()
    said = {row.jxa: _short_description(module.sentences[f"{one.term}.{row.term}"]) for row in rows}
    value_base = one.values_base or (EXTRA if made.extra else "TypedDict")
    return {
        "name": identifier(one.name),
        "bases": SourceText(", ".join(base)),
        "doc": prose(_short_description(module.sentences.get(one.term, "")) or f"The app {app}."),
        "doc_items": prose(f"Objects of the class {one.term}."),
        "attributes": [_attribute_values(row, said.get(row.jxa, "")) for row in one.attributes],
        "methods": [_method_values(row) for row in one.methods],
        "row": _typed_dict(one.row_name, one.row_base or "TypedDict", one.row) if has_row else None,
        "given": _typed_dict(one.values_name, value_base, one.values) if makes else None,
        "keys_name": SourceText(one.keys_name),
        "keys_type": SourceText(_key_type(one) * bool(one.keys_name)),
        "many": SourceText(one.items) if held else None,
        "item_bases": SourceText((f"{COMMANDS}, Items" if made.commands else "Items") * held),
        "select": [SourceText(part.format(name=one.keys_name)) for part in _SELECT * held],
        "row_name": SourceText((one.row_name if has_row else "dict[str, Any]") * (has_row or held)),
        "makes": makes,
        "types": [
            name
            for name, there in (
                (one.row_name, has_row),
                (one.values_name, makes),
                (one.keys_name, bool(one.keys_name)),
            )
            if there
        ],
    }


def _key_type(one: TypedClass) -> str:
    parts = [f"Literal[{', '.join(literal(key) for key in one.keys)}]"] if one.keys else []
    return " | ".join([*parts, *([one.keys_base] if one.keys_base else [])]) or "str"


def _typed_dict(name: str, base: str, rows: list[tuple[str, str]]) -> dict[str, Any]:
    return {"name": SourceText(name), "base": SourceText(base), "rows": _field_rows(rows)}


def _field_rows(rows: list[tuple[str, str]]) -> list[tuple[SourceText, SourceText]]:
    return [(identifier(key), SourceText(kind)) for key, kind in rows]


def _short_description(sentence: str) -> str:
    """Return a sentence of a class or property without what its annotation or its name says."""
    said = _SHOWN.sub("", sentence)
    return said if len(said) <= _LONGEST else f"{said.partition(', in ')[0]}."


def _attribute_values(row: ObjectAttribute, said: str) -> dict[str, Any]:
    name = row.name.rstrip("_").replace("_", " ")
    tells = not said.lower().removeprefix("the ").startswith(name)
    term = [literal(row.term)] if row.term else []
    return {
        "name": identifier(row.name),
        "kind": SourceText(row.kind),
        "held": SourceText(row.held),
        "arguments": [exact_literal(row.jxa), *term],
        "widens": row.widens,
        "doc": prose(said) if said and tells else "",
    }


def _method_values(one: ObjectMethod) -> dict[str, Any]:
    keys = [f"{parameter.key}={parameter.key}" for parameter in one.parameters]
    given = [f"{one.self_key}=self", *keys] if one.self_key else keys
    doc = tool_docstring(replace(one.tool, parameters=one.parameters))
    return {
        "name": identifier(one.name),
        "signature": [SourceText(part) for part in one.signature],
        "returns": SourceText(one.returns),
        "before": SourceText("" if one.returns == "None" else "return "),
        "how": SourceText("_answer" if one.returns == "Any" else "_command"),
        "doc": SourceText(re.sub(r"\n(?=.)", "\n    ", doc)),
        "call": [literal(one.tool.function), *map(SourceText, given)],
    }


def _objects_entry(one: TypedClass) -> tuple[SourceText, SourceText]:
    pair = f"({one.name}, {one.items or None})"
    return literal(one.term), SourceText(pair)
