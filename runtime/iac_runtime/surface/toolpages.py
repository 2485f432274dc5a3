"""The page of any tool: generated, the runtime's own, of a toolset, or of the surface itself."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from iac_runtime.apptools import OWN_TOOLS
from iac_runtime.catalogue import Catalogue
from iac_runtime.entries import META_ENTRIES
from iac_runtime.errors import UnknownToolError, nearest
from iac_runtime.gate import DOORS
from iac_runtime.search import Hit, Page, page
from iac_runtime.search.entries import AppWords, toolset_words
from iac_runtime.tool import Level
from iac_runtime.toolsets import LEVELS_OF, TOOLSETS, toolset_entries

__all__ = ["any_page", "beside", "known_names", "reach"]

_MOST: Final[Mapping[str, Level]] = {door: level for level, door in DOORS.items()}

EXAMPLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "find_tools": {"query": "unread mails of today"},
    "read_tool": {"name": "mail_list_unread", "arguments": {}},
    "write_tool": {"name": "notes_make_note", "arguments": {"name": "Milk"}},
    "dangerous_tool": {"name": "notes_delete", "arguments": {"target": 'notes["Milk"]'}},
    "click_menu": {"app": "TextEdit", "menu_path": "Format > Make Plain Text"},
    "find_element": {"app": "Preview", "role": "button", "title": "Close"},
    "get_focused_element": {"app": "Safari"},
    "get_ui_tree": {"app": "Preview", "depth": 3},
    "list_windows": {"app": "Preview"},
    "observe_changes": {"app": "Preview", "duration": 5},
    "perform_action": {
        "app": "Preview",
        "element_path": "window[0]/button[@title='Close']",
        "action": "press",
    },
    "set_value": {
        "app": "Safari",
        "element_path": "window[0]/toolbar[0]/text_field[0]",
        "value": "example.com",
    },
    "analyze_failure": {"number": -1728, "script": 'tell application "Notes" to get note 99'},
    "discover_capabilities": {},
    "execute_applescript": {
        "script": 'tell application "Notes" to count notes',
        "intent": "count the notes",
    },
    "get_app_dictionary": {"app": "Notes", "term": "note"},
    "get_app_skill": {"app": "Mail"},
    "get_learning_stats": {},
    "get_smart_suggestion": {"intent": "make a reminder from a mail", "app": "Mail"},
    "get_system_state": {"parts": ["front_app", "battery"]},
    "get_workflow_pattern": {"intent": "export the selected photos"},
    "list_scriptable_apps": {"filter": "mail"},
    "validate_applescript": {"script": 'tell application "Notes" to count notes'},
}
"""Arguments of a call of each tool that is not generated, the runtime's own aside."""


def beside() -> Iterator[AppWords]:
    """Yield what the toolsets' tools are found by; this loads their packages."""
    for name, row in TOOLSETS.items():
        yield toolset_words(toolset_entries((name,), read_only=False), row.tools)


def known_names(catalogue: Catalogue) -> list[str]:
    """Return the name of every tool that can be called or read about."""
    return [*catalogue.tools, *OWN_TOOLS, *META_ENTRIES, *LEVELS_OF]


def reach(catalogue: Catalogue, tool: str) -> Level:
    """Return the most that a call of a tool can need; of one that is not there, SAFE."""
    row = catalogue.tools.get(tool)
    if row is not None:
        return row.ceiling
    if tool in LEVELS_OF:
        return LEVELS_OF[tool][1]
    own = OWN_TOOLS.get(tool)
    return own.level if own is not None else _MOST.get(tool, "SAFE")


def any_page(catalogue: Catalogue, tool: str | Hit) -> Page:
    """Return the page of a tool; of a hit, the example is about what was asked for.

    Raises:
        UnknownToolError: There is no such tool; the error has the nearest names.
        SetupError: The app's module is not what the catalogue says.
    """
    name = tool if isinstance(tool, str) else tool.tool
    if name in META_ENTRIES:
        return _page(META_ENTRIES[name], ("SAFE", _MOST.get(name, "SAFE")))
    if name in LEVELS_OF:
        return _page(_toolset_entries()[name], LEVELS_OF[name])
    if name not in OWN_TOOLS and name not in catalogue.tools:
        raise UnknownToolError(name, nearest(name, known_names(catalogue)))
    return page(catalogue, tool)


@lru_cache(maxsize=1)
def _toolset_entries() -> Mapping[str, Mapping[str, Any]]:
    return {entry["name"]: entry for entry in toolset_entries(TOOLSETS, read_only=False)}


def _page(entry: Mapping[str, Any], levels: tuple[Level, Level]) -> Page:
    name = entry["name"]
    return Page(name, entry["description"], *levels, entry["inputSchema"], EXAMPLES[name])
