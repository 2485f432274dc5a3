"""Schemas of the arguments and answers of the accessibility tools.

Objects of arguments are closed. Positions are in points (macOS) or pixels (Linux) from the top left
corner of the main screen, times in seconds.
"""

from collections.abc import Mapping
from typing import Any, Final, get_args

from iac_accessibility.model import ChangeKind
from iac_accessibility.render import ATTRIBUTES

__all__ = ["INPUTS", "OUTPUTS"]

_Schema = dict[str, Any]


def _object(properties: Mapping[str, Any], *required: str) -> _Schema:
    schema: _Schema = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    return {**schema, "additionalProperties": False}


def _text(description: str) -> _Schema:
    return {"type": "string", "description": description}


def _flag(description: str) -> _Schema:
    return {"type": "boolean", "description": description}


def _list(items: Mapping[str, Any], description: str = "") -> _Schema:
    schema: _Schema = {"type": "array", "items": dict(items)}
    return {**schema, "description": description} if description else schema


_APP: Final = {
    "anyOf": [{"type": "string"}, {"type": "integer"}],
    "description": "The running app: its name, bundle id or process id.",
}
_PATH: Final = _text(
    "Path of the element, from get_ui_tree, find_element, list_windows or get_focused_element,"
    " such as window[0]/toolbar[0]/button[@title='Close']."
)
_TIMEOUT: Final = {
    "type": "number",
    "exclusiveMinimum": 0,
    "maximum": 120,
    "description": "Seconds that the call may take.",
}

INPUTS: Final[Mapping[str, _Schema]] = {
    "get_ui_tree": _object(
        {
            "app": _APP,
            "depth": {
                "type": "integer",
                "minimum": 1,
                "maximum": 200,
                "description": "Levels to read, windows being the first. Default 3.",
            },
            "include_attributes": _list(
                {"type": "string", "enum": list(ATTRIBUTES)}, "What to add to each line."
            ),
            "filter_roles": _list(
                {"type": "string"}, "Show only these roles, such as button, each with its path."
            ),
            "timeout": _TIMEOUT,
        },
        "app",
    ),
    "find_element": _object(
        {
            "app": _APP,
            "role": _text("Role, such as button or text_field."),
            "title": _text("Part of the title, in any case."),
            "value": _text("Part of the value, in any case."),
            "identifier": _text("The whole identifier."),
            "max_results": {
                "type": "integer",
                "minimum": 1,
                "maximum": 200,
                "description": "Default 20.",
            },
            "timeout": _TIMEOUT,
        },
        "app",
    ),
    "get_focused_element": _object({"app": _APP, "timeout": _TIMEOUT}),
    "list_windows": _object(
        {
            "app": _APP,
            "include_minimized": _flag("Also windows that are minimized. Default false."),
            "timeout": _TIMEOUT,
        }
    ),
    "perform_action": _object(
        {
            "app": _APP,
            "element_path": _PATH,
            "action": _text("One of the element's own actions, such as press or show_menu."),
            "timeout": _TIMEOUT,
        },
        "app",
        "element_path",
        "action",
    ),
    "set_value": _object(
        {
            "app": _APP,
            "element_path": _PATH,
            "value": {
                "anyOf": [{"type": "string"}, {"type": "boolean"}, {"type": "number"}],
                "description": "A text, true or false, or a number, as the element takes it.",
            },
            "timeout": _TIMEOUT,
        },
        "app",
        "element_path",
        "value",
    ),
    "observe_changes": _object(
        {
            "app": _APP,
            "events": _list(
                {"type": "string", "enum": list(get_args(ChangeKind))},
                "What to watch for. Default: values, titles, focus and windows.",
            ),
            "duration": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": 50,
                "description": "Seconds to watch. Default 5.",
            },
            "cursor": _text("From the last answer, to go on without a gap."),
        },
        "app",
    ),
    "click_menu": _object(
        {
            "app": _APP,
            "menu_path": _text("Menu and item: File > Save As…"),
            "timeout": _TIMEOUT,
        },
        "app",
        "menu_path",
    ),
}

_POINT: Final = _object({"x": {"type": "number"}, "y": {"type": "number"}}, "x", "y")
_SIZE: Final = _object(
    {"width": {"type": "number"}, "height": {"type": "number"}}, "width", "height"
)
_APP_FACTS: Final = _object(
    {"name": {"type": "string"}, "id": {"type": "string"}, "pid": {"type": "integer"}},
    "name",
    "id",
    "pid",
)
_SCALAR: Final = {
    "anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "null"}]
}
_ELEMENT: Final = _object(
    {
        "role": {"type": "string"},
        "title": {"type": "string"},
        "value": _SCALAR,
        "identifier": {"type": "string"},
        "description": {"type": "string"},
        "enabled": {"type": "boolean"},
        "states": _list({"type": "string"}),
        "actions": _list({"type": "string"}),
        "position": _POINT,
        "size": _SIZE,
        "path": {"type": "string"},
        "gone": {"type": "boolean"},
    },
    "role",
)
_NOTES: Final = _list({"type": "string"})
_CUTS: Final = _list(
    _object({"where": {"type": "string"}, "why": {"type": "string"}}, "where", "why")
)
_COUNT: Final = {"type": "integer"}
_BOOLEAN: Final = {"type": "boolean"}

_DONE: Final = {
    "success": _BOOLEAN,
    "method": _text("How it was done: action, value, or synthetic keys."),
    "element_state": _ELEMENT,
    "rate_limit_warning": _text("Stands here when calls come so fast that they will be refused."),
    "notes": _NOTES,
}
_ACTED: Final = _object(
    {**_DONE, "action": {"type": "string"}, "element_path": {"type": "string"}},
    *("success", "action", "element_state"),
)

OUTPUTS: Final[Mapping[str, _Schema]] = {
    "get_ui_tree": _object(
        {
            "app": _APP_FACTS,
            "tree": _text(
                "One element a line; its path is its step and those it is indented under, joined"
                " by a slash."
            ),
            "result_count": _COUNT,
            "depth": _COUNT,
            "has_more_results": _BOOLEAN,
            "incomplete": _BOOLEAN,
            "cuts": _CUTS,
            "notes": _NOTES,
        },
        *("app", "tree", "result_count", "depth", "has_more_results", "incomplete", "cuts"),
    ),
    "find_element": _object(
        {
            "app": _APP_FACTS,
            "elements": _list(_ELEMENT),
            "result_count": _COUNT,
            "has_more_results": _BOOLEAN,
            "incomplete": _BOOLEAN,
            "cuts": _CUTS,
            "notes": _NOTES,
        },
        *("app", "elements", "result_count", "has_more_results", "incomplete"),
    ),
    "get_focused_element": _object(
        {
            "app": _APP_FACTS,
            "element": {"anyOf": [_ELEMENT, {"type": "null"}]},
            "has_focus": _BOOLEAN,
            "notes": _NOTES,
        },
        *("element", "has_focus"),
    ),
    "list_windows": _object(
        {
            "windows": _list(
                _object(
                    {
                        "title": {"type": "string"},
                        "position": _POINT,
                        "size": _SIZE,
                        "minimized": _BOOLEAN,
                        "frontmost": _BOOLEAN,
                        "app": _APP_FACTS,
                        "path": {"type": "string"},
                    },
                    *("title", "minimized", "frontmost", "app", "path"),
                )
            ),
            "result_count": _COUNT,
            "incomplete": _BOOLEAN,
            "notes": _NOTES,
        },
        *("windows", "result_count", "incomplete"),
    ),
    "perform_action": _ACTED,
    "set_value": _object(
        {**_DONE, "previous_value": _SCALAR, "new_value": _SCALAR},
        *("success", "previous_value", "new_value", "element_state"),
    ),
    "observe_changes": _object(
        {
            "app": _APP_FACTS,
            "changes": _list(
                _object(
                    {
                        "event": {"type": "string"},
                        "at": _text("Seconds since the watch began.") | {"type": "number"},
                        "element": _ELEMENT,
                        "detail": {"type": "string"},
                    },
                    *("event", "at"),
                )
            ),
            "result_count": _COUNT,
            "has_more_results": _BOOLEAN,
            "cursor": {"type": "string"},
            "seconds": {"type": "number"},
            "notes": _NOTES,
        },
        *("app", "changes", "result_count", "cursor"),
    ),
    "click_menu": _ACTED,
}
