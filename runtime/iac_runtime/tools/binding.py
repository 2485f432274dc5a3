"""What generated tools do, recipes among them: tools whose arguments are partly fixed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from iac_runtime.tool import Param, Spec
from iac_runtime.tools.tables import Tables

OBJECT_PARAMS: Final[Mapping[str, Param]] = {
    "target": Param("", "----", "specifier"),
    "element": Param("", "", "class"),
    "of": Param("", "----", "specifier"),
    "where": Param("", "", "filter"),
    "properties": Param("", "", "any"),
    "order": Param("", "", "list of property"),
    "limit": Param("", "", "integer"),
    "offset": Param("", "", "integer"),
    "cursor": Param("", "", "text"),
}
"""The parameters of the object tools, for an app that has the recipe but not the tool."""

_MAKE: Final[Mapping[str, Param]] = {
    "element": Param("new", "kocl", "class"),
    "at": Param("at", "insh", "location specifier"),
    "properties": Param("with properties", "prdt", "record", "withProperties"),
    "with_data": Param("with data", "data", "any", "withData"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """What a generated tool does: its name on the wire, its app's tables, what its module says."""

    name: str
    tables: Tables
    spec: Spec
    output: Mapping[str, Any] | None = None


_GONE: Final = object()


def bind(spec: Spec, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the operation behind a recipe; another tool's are left as they are.

    A value `"$name"` stands for the parameter `name`. One that is not given is left out, and what
    held nothing else with it. Parameters that the recipe does not mention keep their name.
    """
    if not spec.bind:
        return dict(arguments)
    used: set[str] = set()
    bound = {
        key: value
        for key, part in spec.bind.items()
        if (value := _fill(part, spec, arguments, used)) is not _GONE
    }
    return {**{k: v for k, v in arguments.items() if k not in used}, **bound}


def _fill(part: Any, spec: Spec, arguments: Mapping[str, Any], used: set[str]) -> Any:
    if isinstance(part, str) and part.startswith("$") and part[1:] in spec.params:
        used.add(part[1:])
        return arguments.get(part[1:], _GONE)
    if isinstance(part, Mapping):
        fields = {key: _fill(value, spec, arguments, used) for key, value in part.items()}
        kept: Any = {key: value for key, value in fields.items() if value is not _GONE}
        return kept if kept or not part else _GONE
    if isinstance(part, list | tuple):
        items = [_fill(value, spec, arguments, used) for value in part]
        kept = [value for value in items if value is not _GONE]
        return kept if kept or not part else _GONE
    return part


@lru_cache(maxsize=1024)
def parameters(tool: Operation) -> Mapping[str, Param]:
    """Return the parameters of the operation behind a tool, by key."""
    spec = tool.spec
    if not spec.bind:
        return spec.params
    found: dict[str, Param] = {}
    if spec.op == "make":
        found.update(_MAKE)
    elif spec.op != "command":
        found.update(OBJECT_PARAMS)
    found.update({key: row for key, row in spec.params.items() if key not in found})
    for other in tool.tables.tools.values():
        same = other.event == spec.event if spec.op == "command" else other.op == spec.op
        if same and other.op == spec.op and not other.bind:
            found.update(other.params)
            break
    return found
