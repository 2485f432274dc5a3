"""Tools that are not generated, in packages of their own that are loaded on first need.

A package has a module `gated`: `open_toolset(catalogue, executor) -> Toolset`, and
`entries(read_only=) -> list of listing entries`.
"""

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from iac_runtime.execution.executor import Executor
    from iac_runtime.gate.plans import Call, Plan, Toolset
    from iac_runtime.tool import Level
    from iac_runtime.tools.catalogue import Catalogue

__all__ = ["GUIDES", "LEVELS_OF", "TOOLSETS", "LateToolset", "ToolsetRow", "toolset_entries"]

Levels: TypeAlias = "tuple[Level, Level]"
"""The least level of a call of a tool, and the most that its arguments can make of it."""


class ToolsetRow(NamedTuple):
    """A toolset: the module that opens it, and the levels of its tools by their names."""

    module: str
    tools: Mapping[str, Levels]


_READS: Final[Levels] = ("SAFE", "SAFE")
_ACTS: Final[Levels] = ("MODIFY", "DANGEROUS")

TOOLSETS: Final[Mapping[str, ToolsetRow]] = {
    "accessibility": ToolsetRow(
        "iac_accessibility.gated",
        {
            "click_menu": _ACTS,
            "find_element": _READS,
            "get_focused_element": _READS,
            "get_ui_tree": _READS,
            "list_windows": _READS,
            "observe_changes": _READS,
            "perform_action": _ACTS,
            "set_value": _ACTS,
        },
    ),
    "applescript": ToolsetRow(
        "iac_applescript.gated",
        {
            "analyze_failure": _READS,
            "discover_capabilities": _READS,
            "execute_applescript": ("SAFE", "DANGEROUS"),
            "get_app_dictionary": _READS,
            "get_app_skill": _READS,
            "get_learning_stats": _READS,
            "get_smart_suggestion": _READS,
            "get_system_state": _READS,
            "get_workflow_pattern": _READS,
            "list_scriptable_apps": _READS,
            "validate_applescript": _READS,
        },
    ),
}
"""The toolsets by name. What is said here of a tool is what its package says, and a test ties them:
the front and the search ask for it before the package is loaded."""

LEVELS_OF: Final[Mapping[str, Levels]] = {
    name: levels for row in TOOLSETS.values() for name, levels in row.tools.items()
}
"""The levels of every tool of every toolset."""

GUIDES: Final = "iac_applescript.skills"
"""The module that reads the guides of apps: `skills() -> mapping of name to guide`."""


class LateToolset:
    """A toolset that is loaded when one of its tools is called."""

    def __init__(self, name: str, catalogue: "Catalogue", executor: "Executor") -> None:
        self._module, tools = TOOLSETS[name]
        self.names = frozenset(tools)
        self._catalogue = catalogue
        self._executor = executor
        self._loaded: Toolset | None = None

    def plan(self, call: "Call") -> "Plan":
        """Return what a call would do. Raises as the toolset does."""
        if self._loaded is None:
            module = import_module(self._module)
            self._loaded = module.open_toolset(self._catalogue, self._executor)
        assert self._loaded is not None
        return self._loaded.plan(call)

    def close(self) -> None:
        """End what runs for the tools."""
        if self._loaded is not None:
            self._loaded.close()


def toolset_entries(names: Collection[str], *, read_only: bool) -> list[dict[str, Any]]:
    """Return the listing entries of toolsets, in the order of `TOOLSETS`."""
    found: list[dict[str, Any]] = []
    for name, row in TOOLSETS.items():
        if name in names:
            found += import_module(row.module).entries(read_only=read_only)
    return found
