"""Writes docs/scenario.schema.json from the table of fields; the reference has them as a page."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from iac_scenario.schema import ROOT, TABLES, FieldFormat

FOLDER = Path(__file__).parent

_SIMPLE: Final[Mapping[str, Mapping[str, Any]]] = {
    "text": {"type": "string"},
    "integer": {"type": "integer", "minimum": 0},
    "boolean": {"type": "boolean"},
    "any": {},
}


def json_schema() -> str:
    """Return the JSON schema (2020-12) of a scenario file, for editors."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A scenario of iac-scenario",
        "$ref": f"#/$defs/{ROOT}",
        "$defs": {
            **{name: _table(name) for name in TABLES},
            "include": {
                "type": "object",
                "properties": {"$file": {"type": "string"}},
                "required": ["$file"],
                "additionalProperties": False,
            },
        },
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def reference_page() -> str:
    """Return the fields of every table as Markdown, the file itself first."""
    lines: list[str] = []
    for name, table in TABLES.items():
        lines += [f"## {_title(name)}", "", table.doc, ""]
        lines += ["| field | type | meaning | default |", "|---|---|---|---|"]
        lines += [_row(key, field) for key, field in table.fields.items() if field.honoured]
        ignored = [f"`{key}`" for key, field in table.fields.items() if not field.honoured]
        if ignored:
            lines += [
                "",
                f"claudeless also has these fields. Here they have no effect and give"
                f" a warning: {', '.join(ignored)}.",
            ]
        lines.append("")
    return "\n".join(lines)


def _table(name: str) -> dict[str, Any]:
    fields = TABLES[name].fields
    required = [key for key, field in fields.items() if field.required]
    found: dict[str, Any] = {
        "type": "object",
        "description": TABLES[name].doc,
        "properties": {key: _field(field) for key, field in fields.items()},
        "additionalProperties": False,
    }
    if one_of := TABLES[name].one_of:
        found["oneOf"] = [{"required": [key]} for key in one_of]
    return {**found, "required": required} if required else found


def _field(field: FieldFormat) -> dict[str, Any]:
    doc = field.doc if field.honoured else f"Changes nothing here. {field.doc}"
    kinds = [_type(kind) for kind in field.types]
    # The content of a file may stand anywhere.
    if {} in kinds:
        return {"description": doc}
    return {"description": doc, "anyOf": [*kinds, {"$ref": "#/$defs/include"}]}


def _type(kind: str) -> dict[str, Any]:
    head, _, rest = kind.partition(" ")
    inner = rest.removeprefix("of ")
    if head == "table":
        return {"$ref": f"#/$defs/{rest}"}
    if head == "one":
        return {"enum": inner.split("|")}
    if head == "list":
        return {"type": "array", "items": _type(inner)}
    if head == "map":
        return {"type": "object", "additionalProperties": _type(inner)}
    return dict(_SIMPLE[kind])


def _row(key: str, field: FieldFormat) -> str:
    types = " or ".join(map(_shown, field.types))
    without = "required" if field.required else field.default
    doc = field.doc.replace("|", "\\|")
    return f"| `{key}` | {types} | {doc} | {without} |"


def _shown(kind: str) -> str:
    head, _, rest = kind.partition(" ")
    inner = rest.removeprefix("of ")
    if head == "table":
        return f"[{_title(rest)}](#{_title(rest)})"
    if head == "one":
        return ", ".join(f"`{word}`" for word in inner.split("|"))
    if head in ("list", "map"):
        return f"{head} of {_shown(inner)}"
    return kind


def _title(name: str) -> str:
    return name.replace("_", "-")


def main() -> None:
    """Rewrite the schema."""
    (FOLDER / "scenario.schema.json").write_text(json_schema(), encoding="utf-8")


if __name__ == "__main__":
    main()
