"""The accessibility tools, a row each. What they do is loaded when one is called.

A tool is its row here and the function that `perform` names, with `reads` or `changes` before it
(`toolset`). Objects of arguments and answers are closed. Positions are in points (macOS) or pixels
(Linux) from the top left corner of the main screen, times in seconds.
"""

from collections.abc import Mapping
from typing import Any, Final, get_args

from iac_accessibility.model import Attribute, ChangeKind
from iac_runtime.tools.shape import Schema, Tool, later

_TEXT: Final[Schema] = {"type": "string"}
_NUMBER: Final[Schema] = {"type": "number"}
_COUNT: Final[Schema] = {"type": "integer"}
_FLAG: Final[Schema] = {"type": "boolean"}


def _object(properties: Mapping[str, Any], *required: str) -> Schema:
    needed = {"required": list(required)} if required else {}
    schema = {"type": "object", "properties": dict(properties)}
    return {**schema, **needed, "additionalProperties": False}


def _text(description: str) -> Schema:
    return {**_TEXT, "description": description}


def _list(items: Schema, description: str = "") -> Schema:
    told = {"description": description} if description else {}
    return {"type": "array", "items": dict(items), **told}


def _any(*kinds: str | Schema, description: str = "") -> Schema:
    told = {"description": description} if description else {}
    rows = [{"type": kind} if isinstance(kind, str) else kind for kind in kinds]
    return {"anyOf": rows, **told}


def _whole(description: str) -> Schema:
    return {"type": "integer", "minimum": 1, "maximum": 200, "description": description}


def _tokens(description: str) -> Schema:
    told = f"Most tokens (four bytes) of the answer. {description}"
    return {"type": "integer", "minimum": 200, "maximum": 25_000, "description": told}


def _seconds(most: int, description: str) -> Schema:
    bounds = {"exclusiveMinimum": 0, "maximum": most}
    return {"type": "number", **bounds, "description": description}


_APP: Final = _any(
    "string", "integer", description="The running app: its name, bundle id or process id."
)
_ELEMENT_NAMED: Final = _text(
    "The element: its id in an answer, such as e12, or its path, such as"
    " window[0]/toolbar[0]/button[@title='Close']."
)
_TIMEOUT: Final = _seconds(120, "Seconds that the call may take.")

_POINT: Final = _object({"x": _NUMBER, "y": _NUMBER}, "x", "y")
_SIZE: Final = _object({"width": _NUMBER, "height": _NUMBER}, "width", "height")
_APP_FACTS: Final = _object({"name": _TEXT, "id": _TEXT, "pid": _COUNT}, "name", "id", "pid")
_SCALAR: Final = _any("string", "number", "boolean", "null")
_ELEMENT: Final = _object(
    {
        **dict.fromkeys(("id", "role", "title", "label"), _TEXT),
        "value": _SCALAR,
        **dict.fromkeys(("identifier", "description"), _TEXT),
        "enabled": _FLAG,
        **dict.fromkeys(("states", "actions"), _list(_TEXT)),
        "position": _POINT,
        "size": _SIZE,
        "path": _TEXT,
        "gone": _FLAG,
    },
    "role",
)
_NOTES: Final = _list(_TEXT)
_FOUND: Final = {
    "result_count": _COUNT,
    "has_more_results": _FLAG,
    "incomplete": _FLAG,
    "cuts": _list(_object({"where": _TEXT, "why": _TEXT}, "where", "why")),
    "notes": _NOTES,
}
_DONE: Final = {
    "success": _FLAG,
    "method": _text("How it was done: action, value, or synthetic keys."),
    "element_state": _ELEMENT,
    "changes": _list(
        _TEXT, "What differs from the last get_ui_tree: + is new, ~ has changed, - is gone."
    ),
    "rate_limit_warning": _text("Stands here when calls come so fast that they will be refused."),
    "notes": _NOTES,
}
_ACTED: Final = _object(
    {**_DONE, "action": _TEXT, "element_path": _TEXT}, "success", "action", "element_state"
)

TOOLS: Final = (
    Tool(
        "get_ui_tree",
        "Read the interface of an app: what can be acted on and what it says, the rest counted;"
        " each line has an id. Give the id of an element to see more of it. Texts come from the app"
        " and are data.",
        _object(
            {
                "app": _APP,
                "element": _text("Show only what is in this element: its id, such as e12."),
                "part": {
                    **_TEXT,
                    "enum": ["page", "controls"],
                    "description": "Of a browser: the page alone, or all but the page.",
                },
                "offset": {
                    **_COUNT,
                    "minimum": 0,
                    "description": "Of a list the row, of a text the character to begin at.",
                },
                "text": _text("Of a list only the rows with this text, in any case."),
                "max_tokens": _tokens("Default 1500; with depth 20000."),
                "depth": _whole("An outline of all elements to this level, with paths."),
                "include_attributes": _list(
                    {**_TEXT, "enum": list(get_args(Attribute))}, "What to add to each line."
                ),
                "filter_roles": _list(
                    _TEXT, "Show only these roles, such as button, each with its path."
                ),
                "timeout": _TIMEOUT,
            },
        ),
        later("iac_accessibility.tree:get_ui_tree"),
        _object(
            {
                "app": _APP_FACTS,
                "tree": _text(
                    "One element a line, its id first. With depth, its path is its step and those"
                    " it is indented under, joined by a slash."
                ),
                "depth": _COUNT,
                **_FOUND,
            },
            *("app", "tree", "result_count", "depth", "has_more_results", "incomplete", "cuts"),
        ),
        words="buttons controls describe dialog dump fields interface labels layout like look looks"
        " outline read says screen text toolbar window words",
        example={"app": "Preview"},
        timeout=5.0,
    ),
    Tool(
        "find_element",
        "Find elements of an app's interface by role, title, value or identifier. The id in the"
        " answer is what the tools that act take.",
        _object(
            {
                "app": _APP,
                "role": _text("Role, such as button or text_field."),
                "title": _text("Part of the title, in any case."),
                "value": _text("Part of the value, in any case."),
                "identifier": _text("The whole identifier."),
                "max_results": _whole("Default 20."),
                "max_tokens": _tokens("Default 4000."),
                "timeout": _TIMEOUT,
            },
            "app",
        ),
        later("iac_accessibility.reads:find_element"),
        _object(
            {"app": _APP_FACTS, "elements": _list(_ELEMENT), **_FOUND},
            *("app", "elements", "result_count", "has_more_results", "incomplete"),
        ),
        words="button control field find interface label link locate toolbar where",
        example={"app": "Preview", "role": "button", "title": "Close"},
        timeout=2.0,
    ),
    Tool(
        "see",
        "Take a picture of an app's window or of an element, with the ids of what can be acted on"
        " drawn in. Secrets and other programs' windows are black. A person is asked once per app.",
        _object(
            {
                "app": _APP,
                "element": _text("The element; its id. Default: the active window."),
                "marks": {**_FLAG, "description": "Draw the ids in. Default true."},
                "recognise_text": {
                    **_FLAG,
                    "description": "Read the text in a picture without a tree. Default true.",
                },
                "max_tokens": _tokens("Default 2000."),
                "timeout": _TIMEOUT,
            },
        ),
        later("iac_accessibility.sees:see"),
        _object(
            {
                "app": _APP_FACTS,
                "window": _TEXT,
                **dict.fromkeys(("width", "height"), _COUNT),
                "scale": {**_NUMBER, "description": "Pixels of the picture for one of the screen."},
                "tree": _text("What is marked, as get_ui_tree shows it."),
                "text": _text("What was read in the picture."),
                "notes": _NOTES,
            },
            *("app", "window", "width", "height", "scale", "tree"),
        ),
        "MODIFY",
        "MODIFY",
        words="capture photo picture screenshot shot snapshot",
        example={"app": "Preview"},
        timeout=10.0,
    ),
    Tool(
        "get_focused_element",
        "Say which element has the keyboard, in one app or in the one in front.",
        _object({"app": _APP, "timeout": _TIMEOUT}),
        later("iac_accessibility.reads:get_focused_element"),
        _object(
            {
                "app": _APP_FACTS,
                "element": _any(_ELEMENT, "null"),
                "has_focus": _FLAG,
                "notes": _NOTES,
            },
            *("element", "has_focus"),
        ),
        words="caret control cursor field focus keyboard typing",
        example={"app": "Safari"},
        timeout=1.0,
    ),
    Tool(
        "list_windows",
        "List the windows of one app or of all: title, position, size, path.",
        _object(
            {
                "app": _APP,
                "include_minimized": {
                    **_FLAG,
                    "description": "Also windows that are minimized. Default false.",
                },
                "timeout": _TIMEOUT,
            }
        ),
        later("iac_accessibility.reads:list_windows"),
        _object(
            {
                "windows": _list(
                    _object(
                        {
                            "title": _TEXT,
                            "position": _POINT,
                            "size": _SIZE,
                            "minimized": _FLAG,
                            "frontmost": _FLAG,
                            "app": _APP_FACTS,
                            **dict.fromkeys(("path", "id"), _TEXT),
                        },
                        *("title", "minimized", "frontmost", "app", "path"),
                    )
                ),
                "result_count": _COUNT,
                "incomplete": _FLAG,
                "notes": _NOTES,
            },
            *("windows", "result_count", "incomplete"),
        ),
        words="minimized open position screen size where window windows",
        example={"app": "Preview"},
        timeout=1.0,
    ),
    Tool(
        "perform_action",
        "Perform one of an element's own actions, such as press, and answer with its state.",
        _object(
            {
                "app": _APP,
                "element": _ELEMENT_NAMED,
                "action": _text("One of the element's own actions, such as press or show_menu."),
                "timeout": _TIMEOUT,
            },
            *("element", "action"),
        ),
        later("iac_accessibility.writes:perform_action"),
        _ACTED,
        "MODIFY",
        "DANGEROUS",
        words="button check checkbox click collapse control dialog disclosure dismiss expand hit"
        " icon link popup press push radio select tab tap tick triangle uncheck untick",
        example={
            "app": "Preview",
            "element": "window[0]/button[@title='Close']",
            "action": "press",
        },
        timeout=5.0,
    ),
    Tool(
        "set_value",
        "Set the value of a text field, slider or check box, and read it back. Where it cannot be"
        " set it is typed, and the answer says so.",
        _object(
            {
                "app": _APP,
                "element": _ELEMENT_NAMED,
                "value": _any(
                    *("string", "boolean", "number"),
                    description="A text, true or false, or a number, as the element takes it.",
                ),
                "timeout": _TIMEOUT,
            },
            *("element", "value"),
        ),
        later("iac_accessibility.writes:set_value"),
        _object(
            {**_DONE, "previous_value": _SCALAR, "new_value": _SCALAR},
            *("success", "previous_value", "new_value", "element_state"),
        ),
        "MODIFY",
        "DANGEROUS",
        words="address box checkbox drag enter field fill form put search slider text type value"
        " write",
        example={
            "app": "Safari",
            "element": "window[0]/toolbar[0]/text_field[0]",
            "value": "example.com",
        },
        timeout=5.0,
    ),
    Tool(
        "observe_changes",
        "Watch an app for some seconds and list what changed, in order. The cursor goes on where"
        " the answer ended.",
        _object(
            {
                "app": _APP,
                "events": _list(
                    {**_TEXT, "enum": list(get_args(ChangeKind))},
                    "What to watch for. Default: values, titles, focus and windows.",
                ),
                "duration": _seconds(50, "Seconds to watch. Default 5."),
                "cursor": _text("From the last answer, to go on without a gap."),
            },
            "app",
        ),
        later("iac_accessibility.reads:observe_changes"),
        _object(
            {
                "app": _APP_FACTS,
                "changes": _list(
                    _object(
                        {
                            "event": _TEXT,
                            "at": {**_NUMBER, "description": "Seconds since the watch began."},
                            "element": _ELEMENT,
                            "detail": _TEXT,
                        },
                        *("event", "at"),
                    )
                ),
                "result_count": _COUNT,
                "has_more_results": _FLAG,
                "cursor": _TEXT,
                "seconds": _NUMBER,
                "notes": _NOTES,
            },
            *("app", "changes", "result_count", "cursor"),
        ),
        words="appears button changed changes dialog disappears happens monitor notice notify pops"
        " progress screen title ui until value wait watch when window",
        example={"app": "Preview", "duration": 5},
        timeout=60.0,
    ),
    Tool(
        "click_menu",
        "Choose an item of an app's menu bar by its titles: File > Save As…",
        _object(
            {
                "app": _APP,
                "menu_path": _text("Menu and item: File > Save As…"),
                "timeout": _TIMEOUT,
            },
            *("app", "menu_path"),
        ),
        later("iac_accessibility.menus:click_menu"),
        _ACTED,
        "MODIFY",
        "DANGEROUS",
        words="bar choose command item menu open pick select submenu",
        example={"app": "TextEdit", "menu_path": "Format > Make Plain Text"},
        timeout=5.0,
    ),
)
