"""Values as an event carries them: enumerators, classes and record fields by their codes."""

from collections.abc import Mapping
from typing import Any, Final

from iac_base.words import fold
from iac_runtime.tool import Enum, Property
from iac_runtime.tools.tables import Tables
from iac_simulator.chains import notation
from iac_simulator.errors import AppError
from iac_simulator.names import alternatives, property_named
from iac_simulator.values import Item, Refer, Undefined, Unmade

__all__ = ["direct_of", "encoded", "enumerators", "properties_of"]

_STANDARD_ENUMS: Final[Mapping[str, Enum]] = {
    "save options": (("yes", "yes "), ("no", "no  "), ("ask", "ask ")),
}
_TYPES: Final = ("type", "type class", "class")


def enumerators(tables: Tables, term: str) -> Enum:
    """Return the rows of the enumeration `term`; empty for what is none."""
    return tables.enums.get(term) or _STANDARD_ENUMS.get(term, ())


def encoded(tables: Tables, value: Any, type_: str) -> Any:
    """Return `value` for a parameter of `type_` in the log's notation.

    Raises:
        AppError: -1700: undefined, or an object that exists in the script only.
    """
    if isinstance(value, Undefined | Unmade | Item):
        raise AppError(-1700)
    if isinstance(value, list):
        return [encoded(tables, item, type_) for item in value]
    if isinstance(value, Refer):
        return {"ref": notation(value.chain)}
    if isinstance(value, str):
        return _word(tables, value, type_)
    if isinstance(value, dict) and "record" in value:
        fields = [
            f
            for term, _ in alternatives(type_)
            if term in tables.records
            for f in tables.records[term].properties
        ]
        return {"record": dict(_field(tables, fields, k, v) for k, v in value["record"].items())}
    return value


def _word(tables: Tables, value: str, type_: str) -> Any:
    for term, _ in alternatives(type_):
        for name, code in enumerators(tables, term):
            if name == value or fold(name) == fold(value) != "":
                return {"enum": code}
        if term in _TYPES:
            cls = tables.find_class(value)
            if cls is not None:
                return {"type": tables.classes[cls].code}
    return value


def _field(tables: Tables, rows: list[Property], key: str, value: Any) -> tuple[str, Any]:
    row = next((r for r in rows if r.jxa == key), None)
    if row is None:
        return key, encoded(tables, value, "any")
    return row.code, encoded(tables, value, row.type)


def properties_of(tables: Tables, term: str | None, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a new `term` as a record of the log, by property codes."""
    fields: dict[str, Any] = {}
    for key, value in record.items():
        row = property_named(tables, term, key) or property_named(tables, None, key)
        fields[row.code if row else key] = encoded(tables, value, row.type if row else "any")
    return {"record": fields}


def direct_of(tables: Tables, value: Any, type_: str) -> Any:
    """Return a direct parameter: there a reference is plain text, and text is marked."""
    if isinstance(value, Refer):
        return notation(value.chain)
    shown = encoded(tables, value, type_)
    return {"text": shown} if isinstance(shown, str) else shown
