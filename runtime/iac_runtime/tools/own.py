"""The runtime's own tools as rows, and where those of other packages stand.

Rows are plain data: the front prints them before anything heavy is imported.
"""

from collections.abc import Collection, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from iac_runtime.tool import LEVELS, Level
from iac_runtime.tools.shape import Tool, import_later

TOOLSETS: Final[Mapping[str, str]] = {
    "accessibility": "iac_accessibility.tools",
    "applescript": "iac_applescript.tools",
    "plans": "iac_plans.tools",
}
"""Packages that add tools: the word for them in `--expose`, and the module with their `TOOLS`."""

CALL_TOOLS: Final[Mapping[Level, str]] = {
    "SAFE": "read_tool",
    "MODIFY": "write_tool",
    "DANGEROUS": "dangerous_tool",
}
"""The tools that call others by name, by the highest level that each takes."""

_APP: Final = {
    "type": "string",
    "description": "The app: its key, name or bundle id, as in list_apps.",
}


def _object_schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    needs = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **needs, "additionalProperties": False}


_ONE_APP: Final = _object_schema({"app": _APP}, "app")
_IS_RUNNING: Final = _object_schema({"result": {"type": "boolean"}}, "result")


def _app_tool(
    name: str,
    purpose: str,
    level: Level = "SAFE",
    ceiling: Level | None = None,
    output: dict[str, Any] | None = None,
) -> Tool:
    """Return a tool that does one thing with an app as a whole."""
    plan = import_later("iac_runtime.gate.planning:plan_app_event")
    most = ceiling or level
    return Tool(name, purpose, _ONE_APP, plan, output, level, most, example={"app": "Notes"})


def _by_name(*tools: Tool) -> Mapping[str, Tool]:
    return {tool.name: tool for tool in tools}


OWN_TOOLS: Final = _by_name(
    _app_tool(
        "app_activate",
        "Bring an app to the front, and start it if necessary.",
        ceiling="MODIFY",
    ),
    _app_tool("app_launch", "Start an app without opening a document.", "MODIFY"),
    _app_tool("app_quit", "Quit an app. Unsaved work may be lost.", "DANGEROUS"),
    _app_tool(
        "app_running", "Say whether an app is running, without starting it.", output=_IS_RUNNING
    ),
    Tool(
        "list_apps",
        "List the apps that can be controlled, and how many tools of each level they have."
        " Answers the question: what can you do on this Mac?",
        _object_schema({}),
        import_later("iac_runtime.gate.planning:plan_list_apps"),
        always=True,
    ),
    Tool(
        "read_more",
        "Read more of a result that was too large for one answer.",
        _object_schema(
            {
                "result": {
                    "type": "string",
                    "description": "The id of the result, from the note in the answer.",
                },
                "offset": {"type": "integer", "minimum": 0, "description": "Where to continue."},
            },
            "result",
            "offset",
        ),
        import_later("iac_runtime.gate.planning:plan_read_more"),
        example={"result": "example", "offset": 1},
        always=True,
        large=True,
    ),
    Tool(
        "undo_call",
        "Undo what a call changed. Give its number, or else how many of the last calls, a time, a"
        " client or a restore point. Refuses if something else has changed since.",
        _object_schema(
            {
                "call": {"type": "integer", "minimum": 1},
                "last": {"type": "integer", "minimum": 1, "maximum": 50},
                "since": {"type": "string", "description": "A time (ISO 8601)."},
                "client": {"type": "string"},
                "point": {"type": "string", "description": "The name of a restore point."},
            }
        ),
        import_later("iac_runtime.gate.undoing:plan_undo"),
        level="MODIFY",
        ceiling="DANGEROUS",
        words="undo revert restore put back take back",
        example={"call": 12},
    ),
    Tool(
        "outcome",
        "Check again whether a change had its effect, by the call's number in its outcome.",
        _object_schema({"call": {"type": "integer", "minimum": 1}}, "call"),
        import_later("iac_runtime.gate.undoing:plan_outcome"),
        example={"call": 12},
    ),
    Tool(
        "history",
        "Show the changes of the last week, and whether undo_call can undo them.",
        _object_schema(
            {
                "call": {"type": "integer", "minimum": 1},
                "last": {"type": "integer", "minimum": 1, "maximum": 1000},
            }
        ),
        import_later("iac_runtime.gate.undoing:plan_history"),
        large=True,
    ),
    Tool(
        "restore_point",
        "Set a restore point with a name, so that undo_call can undo everything after it.",
        _object_schema({"name": {"type": "string", "minLength": 1, "maxLength": 100}}, "name"),
        import_later("iac_runtime.gate.undoing:plan_restore_point"),
        example={"name": "before the clean-up"},
    ),
    Tool(
        "audit_tail",
        "Show the latest calls of this user's servers, and their results.",
        _object_schema({}),
        import_later("iac_runtime.gate.planning:plan_audit_tail"),
        large=True,
    ),
)
"""Tools of every surface: apps as such, and large results."""

STARTERS: Final = ("app_activate", "app_launch")
"""What a read asks for where its app does not run: listed where nothing else that changes is."""

_CALL: Final = _object_schema(
    {
        "name": {"type": "string", "description": "The tool's name, from find_tools."},
        "arguments": {"type": "object", "description": "Its arguments, as in its schema."},
        "calls": {
            "type": "array",
            "items": {"type": "object"},
            "minItems": 1,
            "maxItems": 50,
            "description": "Instead of arguments: a list of the arguments of up to 50 calls,"
            " approved together.",
        },
    },
    "name",
)


def _call_tool(level: Level, purpose: str, tool: str, arguments: dict[str, Any]) -> Tool:
    """Return the tool that calls others of up to a level, with an example of a call."""
    example = {"name": tool, "arguments": arguments}
    large = level == "SAFE"
    return Tool(
        CALL_TOOLS[level], purpose, _CALL, ceiling=level, example=example, always=True, large=large
    )


META_TOOLS: Final = _by_name(
    Tool(
        "find_tools",
        "Find tools by what you want to do, in plain words. There are tools for Mac apps (Mail, "
        "Notes, Finder, Calendar, Safari, Music, ...), any app's windows and menus, and scripts. "
        "Returns the details of the best matches (exact schema, an example, which tool calls it),"
        " and the names of more tools. Start here.",
        _object_schema(
            {
                "query": {
                    "type": "string",
                    "description": "What to do, as in: unread mails of today",
                },
                "app": {
                    "type": "string",
                    "description": "Only tools of this app: its name or bundle id.",
                },
                "level": {
                    "type": "string",
                    "enum": [*LEVELS],
                    "description": "Only tools up to this level.",
                },
                "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            },
            "query",
        ),
        example={"query": "unread mails of today"},
        always=True,
    ),
    _call_tool("SAFE", "Call a tool that only reads (SAFE).", "mail_list_unread", {}),
    _call_tool(
        "MODIFY",
        "Call a tool that changes something in a way that can be undone (up to MODIFY).",
        "notes_make_note",
        {"name": "Milk"},
    ),
    _call_tool(
        "DANGEROUS",
        "Call a tool whose effect cannot be undone or reaches other people (up to DANGEROUS):"
        " sending, deleting, running code. The user must approve each call.",
        "notes_delete",
        {"target": 'notes["Milk"]'},
    ),
)
"""Tools of the surface `search`, which it answers itself: they find and call the others."""


def toolset_offers(query: str, app: str, catalogue: Any) -> list[dict[str, Any]]:
    """Return what toolsets offer for a request beside tools, each with the call that does it."""
    places = (getattr(import_module(module), "OFFERS", "") for module in TOOLSETS.values())
    finders = (place.partition(":") for place in places if place)
    found = (getattr(import_module(module), name) for module, _, name in finders)
    return [row for offers in found for row in offers(query, app, catalogue)]


def toolset_tools(names: Collection[str]) -> list[Tool]:
    """Return the tools of toolsets, in the order of `TOOLSETS`."""
    return [
        tool
        for name, module in TOOLSETS.items()
        if name in names
        for tool in import_module(module).TOOLS
    ]


@lru_cache(maxsize=1)
def added_tools() -> Mapping[str, Tool]:
    """Return every tool of every toolset by its name; this imports the rows of their packages."""
    return {tool.name: tool for tool in toolset_tools(TOOLSETS)}
