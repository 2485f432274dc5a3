"""Rows: tables and schemas as Python source, a row a line.

Black leaves this part alone (`# fmt: off` stands above it): people review it as lines of a
diff, and formatting it would cost most of a build's time.
"""

import json
from collections.abc import Iterator, Mapping

from iac_gen.doors import Door, clean, cleaned, exact, literal
from iac_gen.ir import Module
from iac_runtime.tool import Class, Enum, Param, Property, Record

__all__ = ["param", "tables"]


def param(row: Param) -> Door:
    """Return a row of a tool's parameters."""
    jxa = f", {literal(row.jxa)}" if row.jxa else ""
    return Door(f"Param({literal(row.term)}, {exact(row.code)}, {literal(row.type)}{jxa})")


def tables(module: Module) -> str:
    """Return `CLASSES`, `ENUMS`, `RECORDS`, `UNVERIFIED` and `SCHEMAS` of a module as source."""
    parts = (
        _table("CLASSES", "Class", _classes(module.classes)),
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


def _property(row: Property) -> str:
    return (
        f"Property({literal(row.term)}, {exact(row.code)}, {literal(row.jxa)},"
        f" {literal(row.type)}, {literal(row.access)}, {literal(row.level)})"
    )


def _properties(rows: tuple[Property, ...]) -> Iterator[str]:
    for row in rows:
        yield f"        {_property(row)},"


def _classes(classes: Mapping[str, Class]) -> Iterator[str]:
    for term, row in classes.items():
        head = (
            f"    {literal(term)}: Class({exact(row.code)}, {literal(row.jxa)},"
            f" {literal(row.plural)}, {literal(row.inherits)}, {literal(row.make)},"
            f" {literal(row.delete)}"
        )
        if row.properties:
            yield f"{head}, ("
            yield from _properties(row.properties)
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
            yield from _properties(row.properties)
            yield "    )),"
        else:
            yield f"    {literal(term)}: Record({exact(row.code)}),"


def _schemas(module: Module) -> Iterator[str]:
    for tool in module.tools:
        texts = [tool.input()] if tool.output is None else [tool.input(), tool.output]
        written = ", ".join(literal(json.dumps(cleaned(text))) for text in texts)
        yield f"    {literal(clean(tool.function))}: Schema({written}),"
