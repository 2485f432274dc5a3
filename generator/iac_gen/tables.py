"""Lower the class table: classes, enumerations and records as rows of the contract."""

from collections.abc import Iterable

from iac_gen import model
from iac_gen.classify.judge import delete_level, judge_setter, make_level
from iac_gen.naming import jxa, plural
from iac_gen.quirks import Decisions
from iac_gen.resolve import Resolved
from iac_gen.types import Types
from iac_runtime.tool import Class, Element, Enum, Property, Record

__all__ = ["class_table", "enum_table", "record_table"]


def class_table(resolved: Resolved, types: Types, decisions: Decisions) -> dict[str, Class]:
    """Return every class, hidden ones too: references run through them."""
    return {row.name: _class(row, resolved, types, decisions) for row in resolved.classes}


def _class(row: model.Class, resolved: Resolved, types: Types, decisions: Decisions) -> Class:
    return Class(
        row.code,
        jxa(row.name),
        jxa(plural(row.name, row.plural)),
        row.inherits or None,
        make_level(row, resolved).level,
        delete_level(row).level,
        tuple(_properties(row, row.properties, types, decisions)),
        tuple(Element(element.type, element.access) for element in row.elements),
        tuple(word.name for word in row.synonyms if word.name),
    )


def _properties(
    owner: model.Class, rows: Iterable[model.Property], types: Types, decisions: Decisions
) -> Iterable[Property]:
    for row in rows:
        decided = decisions.setters.get((owner.name, row.name))
        level = decided[0] if decided else judge_setter(owner, row).level
        kind = types.string(row.types)
        yield Property(row.name, row.code, jxa(row.name), kind, row.access, level)


def enum_table(resolved: Resolved) -> dict[str, Enum]:
    """Return every enumeration: rows of (enumerator, code), hidden ones too."""
    return {
        row.name: tuple((value.name, value.code) for value in row.enumerators)
        for row in resolved.enumerations
    }


def record_table(resolved: Resolved, types: Types, decisions: Decisions) -> dict[str, Record]:
    """Return every record type with its fields."""
    return {
        row.name: Record(
            row.code,
            tuple(_properties(model.Class(row.name, row.code), row.properties, types, decisions)),
        )
        for row in resolved.records
    }
