"""The answer to a command that nobody described: one of the type that it declares."""

from typing import Any

from iac_runtime.tools.tables import APPLICATION
from iac_runtime.types import find_type
from iac_simulator.calls import Command
from iac_simulator.encode import enumerators
from iac_simulator.names import alternatives
from iac_simulator.values import UNDEFINED, Refer
from iac_simulator.world import World, default_value

__all__ = ["answer_by_type"]


def answer_by_type(world: World, command: Command, direct: Any, now: str) -> Any:
    """Return a plausible answer of the type that the command declares."""
    if not command.result:
        return UNDEFINED
    for term, listed in alternatives(command.result):
        if listed:
            return []
        kind = find_type(term)
        reading = kind.reading if kind is not None else ""
        if reading in ("object", "any"):
            return direct if isinstance(direct, Refer) else UNDEFINED
        if reading == "boolean":
            return True
        if reading == "date":
            return {"date": now}
        if reading == "file":
            return {"path": "/Users/me/Desktop"}
        if term in world.tables.records or reading == "record":
            return {"record": {}}
        if enumerators(world.tables, term):
            return enumerators(world.tables, term)[0][0]
        if term in world.tables.classes and term != APPLICATION:
            if isinstance(direct, Refer):
                return direct
            nodes = world.descendants(world.root)
            found = next((n for n in nodes if world.tables.descends(n.term, term)), None)
            return Refer(world.tables.key, found.chain) if found else UNDEFINED
        return default_value(world.tables, term)
    return UNDEFINED
