"""What clients and model vendors accept of a listing, as faults found in its entries.

The rules were met in clients: Claude Desktop drops all tools of a server for one name that is
wrong; the Messages API refuses unions at a root; the TypeScript SDK drops all tools for an
output schema without a type; Gemini cuts long names in the middle; Cursor counts the server in.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
KEY: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
LONGEST: Final = 64
SERVERS: Final = ("iac", "mac", "a-team-of-nearly-24-chars")
"""Names under which a person may register the server; the longest is as long as we promise."""

PREFIXES: Final = ("mcp__{}__", "mcp_{}_", "{}_", "{}-", "{}.", "{}:")
TYPES: Final = ("string", "number", "integer", "boolean", "array", "object")
FORBIDDEN: Final = frozenset(
    ("const", "oneOf", "allOf", "not", "$ref", "$defs", "if", "then", "else", "patternProperties")
)
DESCRIPTION: Final = 1024
CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def cut(name: str) -> str:
    """Return a name as a client that shows 63 characters cuts it: both ends, 30 each."""
    return name if len(name) <= 63 else f"{name[:30]}...{name[-30:]}"


def name_faults(names: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with the names of a whole listing."""
    for name in names:
        if not NAME.fullmatch(name):
            yield f"{name!r}: odd characters"
        if len(f"mcp__iac__{name}") > LONGEST:
            yield f"{name!r}: too long with its prefix"
        if len(f"iac{name}") > 60:
            yield f"{name!r}: too long with its server"
    for server in SERVERS:
        for prefix in PREFIXES:
            shown = Counter(
                cut(re.sub(r"[^a-z0-9]", "_", f"{prefix.format(server)}{name}".lower()))
                for name in names
            )
            yield from (
                f"{name!r}: {count} tools are shown so"
                for name, count in shown.items()
                if count > 1
            )


def entry_faults(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with one entry."""
    said = entry["description"]
    if not said or len(said) > DESCRIPTION or CONTROL.search(said):
        yield f"description of {len(said)} characters"
    if not entry.keys() <= {
        *("name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta")
    }:
        yield f"keys {sorted(entry)}"
    yield from root_faults("inputSchema", entry["inputSchema"])
    if "outputSchema" in entry:
        yield from root_faults("outputSchema", entry["outputSchema"])


def root_faults(where: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a schema whose root is looked at more closely."""
    if schema.get("type") != "object":
        yield f"{where}: the root is not an object"
    elif where == "inputSchema" and schema.get("additionalProperties") is not False:
        # What a tool answers may say more than was declared: a note, the cost of a read.
        yield f"{where}: the root is open"
    if "anyOf" in schema or "enum" in schema:
        yield f"{where}: a union at the root"
    yield from schema_faults(where, schema)


def schema_faults(where: str, schema: Any) -> Iterator[str]:
    """Yield what is wrong with a schema, those in it included."""
    if not isinstance(schema, Mapping):
        yield f"{where}: {schema!r} is no schema"
        return
    yield from (f"{where}: {word}" for word in sorted(FORBIDDEN & schema.keys()))
    if "anyOf" in schema:
        if "type" in schema or not schema["anyOf"]:
            yield f"{where}: a type beside anyOf, or an empty one"
        for number, part in enumerate(schema["anyOf"]):
            yield from schema_faults(f"{where}.anyOf[{number}]", part)
    elif not _is_type(where, schema.get("type")):
        yield f"{where}: type {schema.get('type')!r}"
    yield from value_faults(where, schema)
    if schema.get("type") == "object":
        yield from object_faults(where, schema)
    if schema.get("type") == "array":
        yield from schema_faults(f"{where}[]", schema.get("items"))


def _is_type(where: str, kind: Any) -> bool:
    """Say whether clients take a type; a value of an answer, which no vendor reads, may be null."""
    if isinstance(kind, list) and where.startswith("outputSchema"):
        return {*kind} <= {*TYPES, "null"}
    return isinstance(kind, str) and kind in TYPES


def value_faults(where: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with enumerations, formats and words."""
    if "enum" in schema:
        values = schema["enum"]
        if schema.get("type") != "string" or not values:
            yield f"{where}: an enumeration of what is no text, or of nothing"
        elif not all(isinstance(v, str) and v for v in values) or len(set(values)) < len(values):
            yield f"{where}: {values}"
    if schema.get("format", "date-time") != "date-time":
        yield f"{where}: format {schema['format']!r}"
    if CONTROL.search(schema.get("description", "")):
        yield f"{where}: control characters"


def object_faults(where: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with an object: its keys, and whether it is closed.

    One that declares no keys may be open: a record, or a filter, which the gate checks.
    """
    rows = schema.get("properties", {})
    closed = schema.get("additionalProperties") is False or where.startswith("outputSchema")
    if rows and not closed:
        yield f"{where}: open"
    if not set(schema.get("required", ())) <= rows.keys():
        yield f"{where}: requires what it does not have"
    for key, row in rows.items():
        # Rows of an answer are keyed by the dictionary's terms.
        if not (KEY.fullmatch(key) or where.startswith("outputSchema")):
            yield f"{where}: key {key!r}"
        yield from schema_faults(f"{where}.{key}", row)
