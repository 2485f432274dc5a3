"""The level that one call needs, from its arguments."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from iac_runtime.language.compose import place
from iac_runtime.language.terms import find_properties
from iac_runtime.tool import LEVELS, Level
from iac_runtime.tools.binding import Operation, parameters
from iac_runtime.tools.tables import Tables

__all__ = ["LEVELS", "at_most", "effective_level", "highest"]

_ALL: Final = "pALL"
"""The code of the property that holds all properties of an object as a record (ASRegistry.h)."""

_CONTENTS: Final = frozenset({"body", "ctxt", "pcnt", "PCnt", "text"})
"""The codes of whole contents: replacing them loses the old ones, and a new object has none."""


def highest(levels: Iterable[Level]) -> Level:
    """Return the highest of some levels; SAFE for none."""
    return LEVELS[max((LEVELS.index(level) for level in levels), default=0)]


def at_most(level: Level, limit: Level) -> bool:
    """Say whether `level` is no higher than `limit`."""
    return LEVELS.index(level) <= LEVELS.index(limit)


def effective_level(tool: Operation, arguments: Mapping[str, Any], home: str) -> Level:
    """Return the level of a call; `arguments` are those of the operation and are valid.

    For `set` the highest of the named properties on the target's class, for `make` of the class
    and its properties, for copying the same of what is copied, for deleting of the target's
    class. What the tables do not know needs the tool's ceiling. The answer lies between the
    tool's level and its ceiling.
    """
    spec, tables = tool.spec, tool.tables
    wanted: Level = spec.level
    if spec.level == spec.ceiling:
        return wanted
    if spec.op == "set":
        found = place(arguments.get("target"), tables, home, item=True)
        wanted = _properties(found.classes, arguments.get("properties"), tables, spec.ceiling)
    elif spec.op == "make":
        term = tables.find_class(str(arguments.get("element")))
        if term is None:
            wanted = spec.ceiling
        else:
            given = _properties(
                (term,), arguments.get("properties"), tables, spec.ceiling, making=True
            )
            wanted = highest((tables.classes[term].make, given))
    elif spec.event == "coredelo" and isinstance(arguments.get("target"), str):
        found = place(arguments["target"], tables, home, item=True)
        classes = found.classes
        wanted = (
            highest(tables.classes[term].delete for term in classes) if classes else spec.ceiling
        )
    elif spec.event == "coreclon":
        wanted = _copying(tool, arguments, home)
    if not at_most(wanted, spec.ceiling):
        wanted = spec.ceiling
    return highest((wanted, spec.level))


def _copying(tool: Operation, arguments: Mapping[str, Any], home: str) -> Level:
    """Return the level of making what is copied, with the properties that the copy is given."""
    tables, ceiling = tool.tables, tool.spec.ceiling
    direct: Any = None
    given: Any = None
    for key, row in parameters(tool).items():
        if row.code == "----":
            direct = arguments.get(key)
        elif row.code == "prdt":
            given = arguments.get(key)
    levels: list[Level] = [tool.spec.level]
    for text in direct if isinstance(direct, list | tuple) else [direct]:
        classes = place(text, tables, home, item=True).classes if isinstance(text, str) else None
        if not classes:
            return ceiling
        levels.extend(tables.classes[term].make for term in classes if term in tables.classes)
        levels.append(_properties(classes, given, tables, ceiling, making=True))
    return highest(levels)


def _properties(
    classes: tuple[str, ...] | None,
    given: Any,
    tables: Tables,
    unknown: Level,
    *,
    making: bool = False,
) -> Level:
    if not given:
        return "SAFE"
    levels: list[Level] = []
    for name, value in given.items():
        for row in find_properties(classes, name, tables) or (None,):
            if row is None:
                levels.append(unknown)
            elif row.code == _ALL and isinstance(value, Mapping):
                # It sets what its record names, so it weighs what those weigh.
                levels.append(_properties(classes, value, tables, unknown, making=making))
            elif making and row.code in _CONTENTS and row.level == "DANGEROUS":
                levels.append("MODIFY")
            else:
                levels.append(row.level)
    return highest(levels)
