"""Show: the intermediate representation of a module as JSON-ready data."""

from collections.abc import Iterable
from typing import Any

from iac_gen.diagnostics import Diagnostic
from iac_gen.ir import Module

__all__ = ["module_data"]


def module_data(module: Module, diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """Return everything that was decided for a module, tables as objects."""
    return {
        "key": module.key,
        "app": module.app._asdict(),
        "version": module.version,
        "digest": module.digest,
        "tools": [
            {
                **tool.entry(),
                "function": tool.function,
                "op": tool.op,
                "event": tool.event,
                "jxa": tool.jxa,
                "level": tool.level,
                "ceiling": tool.ceiling,
                "reason": tool.reason,
                "parameters": {p.key: p.row._asdict() for p in tool.parameters},
                "result": tool.result,
                "bind": dict(tool.bind),
            }
            for tool in module.tools
        ],
        "classes": {
            term: {
                **row._asdict(),
                "properties": [prop._asdict() for prop in row.properties],
                "elements": [element._asdict() for element in row.elements],
            }
            for term, row in module.classes.items()
        },
        "enumerations": {term: [list(row) for row in rows] for term, rows in module.enums.items()},
        "records": {
            term: {"code": row.code, "properties": [prop._asdict() for prop in row.properties]}
            for term, row in module.records.items()
        },
        "unverified": module.unverified(),
        "diagnostics": [str(one) for one in diagnostics],
    }
