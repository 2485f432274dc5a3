"""Tools that are not generated, in packages of their own that are loaded on first need.

A package has a module `gated`: `open_toolset(catalogue, executor) -> Toolset`, and
`entries(read_only=) -> list of listing entries`.
"""

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from iac_runtime.catalogue import Catalogue
    from iac_runtime.execution.executor import Executor
    from iac_runtime.plans import Call, Plan, Toolset

__all__ = ["TOOLSETS", "LateToolset", "toolset_entries"]

TOOLSETS: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "accessibility": (
        "iac_accessibility.gated",
        frozenset(
            {
                "click_menu",
                "find_element",
                "get_focused_element",
                "get_ui_tree",
                "list_windows",
                "observe_changes",
                "perform_action",
                "set_value",
            }
        ),
    ),
    "applescript": (
        "iac_applescript.gated",
        frozenset(
            {
                "analyze_failure",
                "discover_capabilities",
                "execute_applescript",
                "get_app_dictionary",
                "get_app_skill",
                "get_learning_stats",
                "get_smart_suggestion",
                "get_system_state",
                "get_workflow_pattern",
                "list_scriptable_apps",
                "validate_applescript",
            }
        ),
    ),
}
"""Name -> its module and the names of its tools."""


class LateToolset:
    """A toolset that is loaded when one of its tools is called."""

    def __init__(self, name: str, catalogue: "Catalogue", executor: "Executor") -> None:
        self._module, self.names = TOOLSETS[name]
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
    for name, (module, _) in TOOLSETS.items():
        if name in names:
            found += import_module(module).entries(read_only=read_only)
    return found
