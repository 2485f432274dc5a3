"""The listing entries of the runtime's own tools, finished: what a client is told of them.

Plain data, for the front prints it before anything heavy is imported.
"""

from typing import Any, Final

__all__ = ["META_ENTRIES", "OWN_ENTRIES", "RESULT_LIMIT"]

RESULT_LIMIT: Final = 100_000
"""Characters of JSON in an answer to a client; larger ones are refused by some."""

_APP: Final = {
    "type": "string",
    "description": "The app: its key, name or bundle id, as list_apps gives them.",
}
_LEVEL: Final = {"type": "string", "enum": ["SAFE", "MODIFY", "DANGEROUS"]}


def _schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {
        **schema,
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
    }


def _entry(
    name: str,
    description: str,
    schema: dict[str, Any],
    *,
    read: bool,
    destructive: bool = False,
    output: dict[str, Any] | None = None,
    always: bool = False,
    large: bool = False,
) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "description": description, "inputSchema": schema}
    hints = {"readOnlyHint": read, "destructiveHint": destructive, "openWorldHint": False}
    entry["annotations"] = hints
    if output is not None:
        entry["outputSchema"] = output
    meta: dict[str, Any] = {}
    if always:
        # Clients that load tools on demand load these at once.
        meta["anthropic/alwaysLoad"] = True
    if large:
        # Else a client puts half of it into a file; what is longer is for read_more.
        meta["anthropic/maxResultSizeChars"] = RESULT_LIMIT
    return {**entry, "_meta": meta} if meta else entry


_ONE_APP: Final = _schema({"app": _APP}, "app")
_BOOLEAN: Final = {**_schema({"result": {"type": "boolean"}}, "result")}

OWN_ENTRIES: Final[dict[str, dict[str, Any]]] = {
    entry["name"]: entry
    for entry in (
        _entry(
            "app_activate",
            "Bring an app to the front; it is started if need be.",
            _ONE_APP,
            read=True,
        ),
        _entry("app_launch", "Start an app without opening a document.", _ONE_APP, read=False),
        _entry(
            "app_quit",
            "Quit an app. Unsaved work may be lost.",
            _ONE_APP,
            read=False,
            destructive=True,
        ),
        _entry(
            "app_running",
            "Say whether an app is running, without starting it.",
            _ONE_APP,
            read=True,
            output=_BOOLEAN,
        ),
        _entry(
            "list_apps",
            "List the apps that can be controlled, and how many tools of each level. "
            "Answers: what can you do on this Mac?",
            _schema({}),
            read=True,
            always=True,
        ),
        _entry(
            "read_more",
            "Read on in a result that was too large for one answer.",
            _schema(
                {
                    "result": {"type": "string", "description": "The id that the note named."},
                    "offset": {"type": "integer", "minimum": 0, "description": "Where to read on."},
                },
                "result",
                "offset",
            ),
            read=True,
            always=True,
            large=True,
        ),
    )
}
"""Tools of every surface: apps as such, and large results."""

_CALL: Final = _schema(
    {
        "name": {"type": "string", "description": "The tool, as find_tools names it."},
        "arguments": {"type": "object", "description": "As its schema says."},
    },
    "name",
)

META_ENTRIES: Final[dict[str, dict[str, Any]]] = {
    entry["name"]: entry
    for entry in (
        _entry(
            "find_tools",
            "Find tools for Mac apps (Mail, Notes, Finder, Calendar, Safari, Music, ...), for any "
            "app's windows and menus and for scripts, by what you want to do, in plain words. "
            "Gives names, purposes, exact schemas, an example each, and which of read_tool, "
            "write_tool, dangerous_tool calls it. Start here.",
            _schema(
                {
                    "query": {
                        "type": "string",
                        "description": "What to do, as in: unread mails of today",
                    },
                    "app": {"type": "string", "description": "Only this app: name or bundle id."},
                    "level": {**_LEVEL, "description": "Only tools that need at most this."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 20},
                },
                "query",
            ),
            read=True,
            always=True,
        ),
        _entry(
            "read_tool",
            "Call a tool that only reads (SAFE).",
            _CALL,
            read=True,
            always=True,
            large=True,
        ),
        _entry(
            "write_tool",
            "Call a tool that changes something which can be put right again (up to MODIFY).",
            _CALL,
            read=False,
            always=True,
        ),
        _entry(
            "dangerous_tool",
            "Call a tool whose effect cannot be taken back or reaches others (up to DANGEROUS): "
            "sending, deleting, running code. The user is asked each time.",
            _CALL,
            read=False,
            destructive=True,
            always=True,
        ),
    )
}
"""Tools of the surface `search`: they find and call the others."""
