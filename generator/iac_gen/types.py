"""Types: a declared type becomes one string, a JSON schema and a Python annotation.

The string is the grammar of `iac_runtime.tool.Param.type`: alternatives joined by ` | `, each
a term with `list of ` before it or not. Terms are the atoms below or names of the module.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from iac_gen.model import TypeRef
from iac_gen.naming import snake
from iac_gen.resolve import Resolved

__all__ = ["ATOMS", "Types"]

ATOMS = frozenset(
    "any text integer real number boolean date file specifier record point rectangle type data"
    " color property filter class".split()
) | {"location specifier", "missing value"}

# Spellings of real dictionaries (docs/dictionaries.md, "Types") and of Apple's intrinsic ones.
_SPELLINGS = {
    "alias": "file",
    "bounding rectangle": "rectangle",
    "double integer": "integer",
    "double real": "real",
    "file specification": "file",
    "file url": "file",
    "fsrf": "file",
    "furl": "file",
    "insertion point": "location specifier",
    "international text": "text",
    "item": "specifier",
    "list": "list of any",
    "location": "location specifier",
    "object": "specifier",
    "object specifier": "specifier",
    "raw data": "data",
    "reference": "specifier",
    "rgb color": "color",
    "script": "any",
    "short integer": "integer",
    "small integer": "integer",
    "small real": "real",
    "string": "text",
    "styled text": "text",
    "type class": "type",
    "unicode text": "text",
    "unsigned integer": "integer",
    "utf8": "text",
    "version": "text",
}
_CODES = {
    "cRGB": "color", "colr": "color", "comp": "integer", "magn": "integer", "PICT": "data",
    "TIFF": "data", "RTF ": "data", "tdta": "data", "imag": "data", "list": "list of any",
    "file": "file", "alis": "file", "bool": "boolean", "TEXT": "text", "ctxt": "text",
    "utxt": "text", "ldt ": "date", "long": "integer", "doub": "real", "reco": "record",
    "obj ": "specifier", "****": "any", "type": "type", "prop": "property", "qdrt": "rectangle",
    "QDpt": "point", "RGBA": "list of real",
}  # fmt: skip

_STRING = {"type": "string"}
_NUMBERS = {"type": "array", "items": {"type": "number"}}
_ANY = {
    "anyOf": [
        _STRING,
        {"type": "number"},
        {"type": "boolean"},
        {"type": "array", "items": _STRING},
    ]
}
_RECTANGLE = {
    "type": "object",
    "properties": {key: {"type": "number"} for key in ("x", "y", "width", "height")},
    "required": ["x", "y", "width", "height"],
    "additionalProperties": False,
}
_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "any": _ANY,
    "boolean": {"type": "boolean"},
    "color": {**_NUMBERS, "minItems": 3, "maxItems": 3},
    "date": {"type": "string", "format": "date-time"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "point": {**_NUMBERS, "minItems": 2, "maxItems": 2},
    "real": {"type": "number"},
    "record": {"type": "object"},
    "rectangle": _RECTANGLE,
}
_ANNOTATIONS = {
    "any": "Any",
    "boolean": "bool",
    "color": "ListOf[float]",
    "integer": "int",
    "location specifier": "Ref",
    "number": "float",
    "point": "ListOf[float]",
    "real": "float",
    "record": "Mapping[str, Any]",
    "rectangle": "Mapping[str, float]",
    "specifier": "Ref",
}


class Types:
    """The types of one app: terms, enumerations by name or code, records and classes."""

    def __init__(self, resolved: Resolved, aliases: Mapping[str, str]) -> None:
        self._aliases = aliases
        self.classes = {row.name for row in resolved.classes}
        self._ids = {row.id: row.name for row in resolved.classes if row.id}
        self._class_codes = {row.code: row.name for row in reversed(resolved.classes)}
        self._class_values = {row.name: row.values for row in resolved.classes if row.values}
        self.records = {row.name: row for row in resolved.records}
        self.enums = {row.name: row for row in resolved.enumerations if row.enumerators}
        self._enum_codes = {row.code: row.name for row in resolved.enumerations if row.enumerators}
        self._values = {row.name: row.code for row in resolved.values}
        self.unknown: set[str] = set()

    def string(self, refs: Iterable[TypeRef]) -> str:
        """Return the alternatives as one type; an undeclared name becomes `any`."""
        listed = list(refs)
        shown = [ref for ref in listed if not ref.hidden] or listed
        parts: list[str] = []
        for ref in shown:
            for part in self._parts(ref):
                if part not in parts:
                    parts.append(part)
        if "any" in parts:
            # Anything goes, but an enumerator still travels as its code, not as text.
            parts = [*(part for part in parts if part in self.enums), "any"]
        return " | ".join(parts) or "any"

    def _parts(self, ref: TypeRef, seen: frozenset[str] = frozenset()) -> Iterable[str]:
        if ref.items:
            for item in ref.items:
                for part in self._parts(item, seen):
                    yield part if part.startswith("list of ") or not ref.list else f"list of {part}"
            return
        # Dictionaries from before 10.4 write unions and lists into the name.
        for name in ref.name.split("|"):
            term = name.strip()
            many = ref.list
            if term not in self.classes and term.lower().startswith("list of "):
                term, many = term[8:].strip(), True
            found = self._term(term)
            yield f"list of {found}" if many and not found.startswith("list of ") else found
            # A class may also be passed as a plain value: rich text as text (sdef(5), `class`).
            # The class may have the name of that value, or two may name each other.
            if not many and found not in seen:
                for value in self._class_values.get(found, ()):
                    yield from self._parts(value, seen | {found})

    def _term(self, name: str) -> str:
        if name in self.records or name in self.enums:
            return name
        if name in ATOMS:
            return name
        if name in self.classes:
            return name
        if name in self._ids:
            return self._ids[name]
        if name in self._values:
            return _CODES.get(self._values[name], "any")
        lower = name.lower()
        if lower in _SPELLINGS or lower in ATOMS:
            return _SPELLINGS.get(lower, lower)
        if len(name) == 4:
            found = self._enum_codes.get(name) or self._class_codes.get(name) or _CODES.get(name)
            if found:
                return found
        self.unknown.add(name)
        return "any"

    def alternatives(self, kind: str) -> list[str]:
        """Return the alternatives of a type string without `missing value`."""
        return [part for part in kind.split(" | ") if part != "missing value"]

    def names_objects(self, kind: str) -> bool:
        """Say whether every alternative is an object or a place of one, lists of them included."""
        parts = [part.removeprefix("list of ") for part in self.alternatives(kind)]
        return bool(parts) and all(self._is_object(part) for part in parts)

    def _is_object(self, part: str) -> bool:
        if part in ("specifier", "location specifier"):
            return True
        if part in self.records or part in self.enums:
            return False
        return part in self.classes and part not in ATOMS

    def schema(self, kind: str) -> dict[str, Any]:
        """Return the JSON schema of a type string; no union where one type says it all."""
        options: list[dict[str, Any]] = []
        for part in self.alternatives(kind):
            option = self._schema(part)
            for one in option.get("anyOf", [option]):
                if one not in options:
                    options.append(one)
        if _STRING in options:
            options = [o for o in options if o == _STRING or o.get("type") != "string"]
        if {"type": "number"} in options:
            options = [o for o in options if o != {"type": "integer"}]
        if not options:
            return dict(_ANY)
        return options[0] if len(options) == 1 else {"anyOf": options}

    def _schema(self, part: str) -> dict[str, Any]:
        if part.startswith("list of "):
            return {"type": "array", "items": self._schema(part.removeprefix("list of "))}
        if part in self.records:
            return self._record(part)
        if part in self.enums:
            return {"type": "string", "enum": self.enumerators(part)}
        return dict(_SCHEMAS.get(part, _STRING))

    def _record(self, name: str) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for prop in self.records[name].properties:
            kind = self.string(prop.types)
            # A record in a record is rare and may hold itself: its fields are left open.
            nested = any(
                part.removeprefix("list of ") in self.records for part in kind.split(" | ")
            )
            fields[snake(prop.name) or prop.code] = (
                {"type": "object"} if nested else self.schema(kind)
            )
        return {"type": "object", "properties": fields, "additionalProperties": False}

    def enumerators(self, name: str) -> list[str]:
        """Return the visible values of an enumeration in order, each once."""
        rows = self.enums[name].enumerators
        shown = [row.name for row in rows if not row.hidden] or [row.name for row in rows]
        return list(dict.fromkeys(shown))

    def annotation(self, kind: str) -> str:
        """Return the Python annotation of a type string."""
        parts: list[str] = []
        for part in self.alternatives(kind):
            text = self._annotation(part)
            if text not in parts:
                parts.append(text)
        if "Any" in parts or not parts:
            return "Any"
        return " | ".join(parts)

    def _annotation(self, part: str) -> str:
        if part.startswith("list of "):
            return f"ListOf[{self._annotation(part.removeprefix('list of '))}]"
        if part in self.records:
            return "Mapping[str, Any]"
        if part in self.enums:
            return self._aliases.get(part, "str")
        if part in _ANNOTATIONS:
            return _ANNOTATIONS[part]
        return "Ref" if part in self.classes and part not in ATOMS else "str"

    def output(self, kind: str) -> dict[str, Any] | None:
        """Return the schema of a structured answer, None where any value may come.

        A single object answers under `ref`, everything else under `result`; what an app
        answers against its own dictionary is told in `note`.
        """
        parts = self.alternatives(kind)
        if not parts or "any" in parts or "record" in parts:
            return None
        properties: dict[str, Any] = {}
        objects = [part for part in parts if self._is_object(part)]
        if objects:
            properties["ref"] = dict(_STRING)
        rest = [part for part in parts if part not in objects]
        if rest:
            properties["result"] = self.schema(" | ".join(rest))
        properties["note"] = dict(_STRING)
        return {"type": "object", "properties": properties, "additionalProperties": False}
