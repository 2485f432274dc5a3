"""What the arguments and answers of the accessibility tools are made of."""

from collections.abc import Mapping
from typing import Any, Final

from iac_runtime.tools.shape import Schema

TEXT: Final[Schema] = {"type": "string"}
NUMBER: Final[Schema] = {"type": "number"}
COUNT: Final[Schema] = {"type": "integer"}
FLAG: Final[Schema] = {"type": "boolean"}


def object_of(properties: Mapping[str, Any], *required: str) -> Schema:
    """Return a closed object."""
    needed = {"required": list(required)} if required else {}
    schema = {"type": "object", "properties": dict(properties)}
    return {**schema, **needed, "additionalProperties": False}


def text_of(description: str) -> Schema:
    """Return a text."""
    return {**TEXT, "description": description}


def list_of(items: Schema, description: str = "") -> Schema:
    """Return a list."""
    told = {"description": description} if description else {}
    return {"type": "array", "items": dict(items), **told}


def any_of(*kinds: str | Schema, description: str = "") -> Schema:
    """Return a value of one of these kinds."""
    told = {"description": description} if description else {}
    rows = [{"type": kind} if isinstance(kind, str) else kind for kind in kinds]
    return {"anyOf": rows, **told}


def whole_of(description: str) -> Schema:
    """Return a whole number from 1 to 200."""
    return {"type": "integer", "minimum": 1, "maximum": 200, "description": description}


def tokens_of(description: str) -> Schema:
    """Return a number of tokens."""
    told = f"Most tokens (four bytes) of the answer. {description}"
    return {"type": "integer", "minimum": 200, "maximum": 25_000, "description": told}


def seconds_of(most: int, description: str) -> Schema:
    """Return a time in seconds."""
    bounds = {"exclusiveMinimum": 0, "maximum": most}
    return {"type": "number", **bounds, "description": description}


APP: Final = any_of(
    "string", "integer", description="The running app: its name, bundle id or process id."
)
ELEMENT_NAMED: Final = text_of(
    "The element: its id from a result, such as e12, or its path, such as"
    " window[0]/toolbar[0]/button[@title='Close']."
)
TIMEOUT: Final = seconds_of(120, "Most seconds for the call.")

POINT: Final = object_of({"x": NUMBER, "y": NUMBER}, "x", "y")
SIZE: Final = object_of({"width": NUMBER, "height": NUMBER}, "width", "height")
APP_FACTS: Final = object_of({"name": TEXT, "id": TEXT, "pid": COUNT}, "name", "id", "pid")
SCALAR: Final = any_of("string", "number", "boolean", "null")
ELEMENT: Final = object_of(
    {
        **dict.fromkeys(("id", "role", "title", "label"), TEXT),
        "value": SCALAR,
        **dict.fromkeys(("identifier", "description"), TEXT),
        "enabled": FLAG,
        **dict.fromkeys(("states", "actions"), list_of(TEXT)),
        "position": POINT,
        "size": SIZE,
        "path": TEXT,
        "gone": FLAG,
    },
    "role",
)
NOTES: Final = list_of(TEXT)
FOUND: Final = {
    "result_count": COUNT,
    "has_more_results": FLAG,
    "incomplete": FLAG,
    "cuts": list_of(object_of({"where": TEXT, "why": TEXT}, "where", "why")),
    "notes": NOTES,
}
AFTER: Final = {
    "changes": list_of(
        TEXT, "What differs from the last get_ui_tree: + is new, ~ has changed, - is gone."
    ),
    "rate_limit_warning": text_of(
        "Present if calls come so fast that IAC will refuse further ones."
    ),
    "notes": NOTES,
}
"""What every act can end with."""

SET: Final = {
    "success": FLAG,
    "method": text_of("How it was done: action, value, paste, keys, pointer or window."),
    "element_state": ELEMENT,
    "previous_value": SCALAR,
    "new_value": SCALAR,
}
DONE: Final = {
    **{key: SET[key] for key in ("success", "method", "element_state")},
    "dialog": text_of("The dialog that blocks the app until it is closed."),
    **AFTER,
}
ACTED: Final = object_of(
    {**DONE, "action": TEXT, "element_path": TEXT, "option": TEXT, "keys": COUNT},
    *("success", "method", "action", "element_state"),
)
VALUE: Final = any_of(
    *("string", "boolean", "number"),
    description="Text, true or false, or a number, whichever the element accepts.",
)
WHERE: Final[Schema] = {
    "role": text_of("Role, such as button or text_field."),
    "title": text_of("Part of the title; case does not matter."),
    "value": text_of("Part of the value; case does not matter."),
    "identifier": text_of("The whole identifier."),
}
