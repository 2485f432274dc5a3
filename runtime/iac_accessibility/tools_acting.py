"""The rows of the tools that use keys, the pointer and windows, and of waiting; see `tools`."""

from typing import Final

from iac_accessibility.shapes import (
    ACTED,
    AFTER,
    APP,
    APP_FACTS,
    DONE,
    ELEMENT,
    ELEMENT_NAMED,
    FLAG,
    NOTES,
    NUMBER,
    POINT,
    SET,
    SIZE,
    TEXT,
    TIMEOUT,
    VALUE,
    WHERE,
    list_of,
    object_of,
    text_of,
)
from iac_runtime.tools.shape import Tool, import_later

ACTING: Final = (
    Tool(
        "press_keys",
        "Press keys or combinations one after the other, such as ctrl+s or Escape, in an element or"
        " where the app has the keyboard focus. Works even while a dialog blocks the app.",
        object_of(
            {
                "app": APP,
                "keys": {
                    **list_of(
                        TEXT, "Combinations in order, such as ctrl+shift+s, Return, Down, F5, a."
                    ),
                    "minItems": 1,
                    "maxItems": 50,
                },
                "element": ELEMENT_NAMED,
                "timeout": TIMEOUT,
            },
            "keys",
        ),
        import_later("iac_accessibility.inputs:press_keys"),
        ACTED,
        "MODIFY",
        "DANGEROUS",
        words="arrow combination confirm dismiss enter escape hotkey key keyboard keys modal return"
        " shortcut tab",
        example={"app": "TextEdit", "keys": ["cmd+s"]},
        timeout=5.0,
    ),
    Tool(
        "type_text",
        "Add text at the end of an element, all of it or nothing. IAC sets it directly, pastes it"
        " and restores the clipboard, or types it.",
        object_of(
            {
                "app": APP,
                "element": ELEMENT_NAMED,
                "text": text_of("The text, in any language, with line breaks."),
                "timeout": TIMEOUT,
            },
            *("element", "text"),
        ),
        import_later("iac_accessibility.inputs:type_text"),
        object_of(dict(DONE), "success", "method", "element_state"),
        "MODIFY",
        "DANGEROUS",
        words="append enter field input insert keyboard paste text type typing words write",
        example={"element": "e12", "text": "Grüße aus 山田"},
        timeout=10.0,
    ),
    Tool(
        "click",
        "Click an element. A plain click uses the element's own action; other clicks move the"
        " pointer to its middle, or to a point in it.",
        object_of(
            {
                "app": APP,
                "element": ELEMENT_NAMED,
                "button": {
                    **text_of("Default: left."),
                    "enum": ["left", "middle", "right"],
                },
                "count": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 3,
                    "description": "How many clicks: 2 for a double click. Default: 1.",
                },
                "point": {
                    **POINT,
                    "description": "The point in the element, from its top left corner.",
                },
                "timeout": TIMEOUT,
            },
            "element",
        ),
        import_later("iac_accessibility.inputs:click"),
        ACTED,
        "MODIFY",
        "DANGEROUS",
        words="button double doubleclick hit mouse open picture point pointer right tap",
        example={"element": "e12", "count": 2},
        timeout=5.0,
    ),
    Tool(
        "context_menu",
        "Open the context menu of an element. Then find_element shows the items.",
        object_of(
            {"app": APP, "element": ELEMENT_NAMED, "timeout": TIMEOUT},
            "element",
        ),
        import_later("iac_accessibility.inputs:context_menu"),
        ACTED,
        "MODIFY",
        "DANGEROUS",
        words="click context menu mouse popup right rightclick secondary shortcut",
        example={"element": "e12"},
        timeout=5.0,
    ),
    Tool(
        "scroll",
        "Scroll an element into view, or scroll its contents by pages.",
        object_of(
            {
                "app": APP,
                "element": ELEMENT_NAMED,
                "pages": {
                    "type": "number",
                    "minimum": -50,
                    "maximum": 50,
                    "description": "Pages down or right; negative for up or left. Default: 0.",
                },
                "direction": {
                    **text_of("Default: vertical."),
                    "enum": ["vertical", "horizontal"],
                },
                "timeout": TIMEOUT,
            },
            "element",
        ),
        import_later("iac_accessibility.inputs:scroll"),
        ACTED,
        "MODIFY",
        "DANGEROUS",
        words="bottom down further into more page reveal scroll show top up view",
        example={"element": "e12", "pages": 1},
        timeout=5.0,
    ),
    Tool(
        "select_option",
        "Choose an option of a pop-up, a combo box, a list, a tab bar or a menu by the option's"
        " title.",
        object_of(
            {
                "app": APP,
                "element": ELEMENT_NAMED,
                "option": text_of("Title of the option."),
                "timeout": TIMEOUT,
            },
            *("element", "option"),
        ),
        import_later("iac_accessibility.forms:select_option"),
        ACTED,
        "MODIFY",
        "DANGEROUS",
        words="choice choose combo dropdown list option pick pop popup select switch tab up",
        example={"element": "e12", "option": "Green"},
        timeout=5.0,
    ),
    Tool(
        "drag",
        "Drag an element onto another element with the pointer.",
        object_of(
            {
                "app": APP,
                "element": ELEMENT_NAMED,
                "to": text_of("The target: id or path of a visible element."),
                "timeout": TIMEOUT,
            },
            *("element", "to"),
        ),
        import_later("iac_accessibility.inputs:drag"),
        ACTED,
        "MODIFY",
        "DANGEROUS",
        words="drag drop mouse move onto order pointer reorder",
        example={"element": "e12", "to": "e15"},
        timeout=10.0,
    ),
    Tool(
        "place_window",
        "Raise, minimize, move or resize a window.",
        object_of(
            {
                "app": APP,
                "element": text_of("The window: its id from list_windows, or its path."),
                "show": {
                    **text_of("Bring it to the front, or minimize it."),
                    "enum": ["raise", "minimize"],
                },
                "position": {**POINT, "description": "Top left corner, as in list_windows."},
                "size": {**SIZE, "description": "Width and height, as in list_windows."},
                "timeout": TIMEOUT,
            },
            "element",
        ),
        import_later("iac_accessibility.forms:place_window"),
        ACTED,
        "MODIFY",
        "DANGEROUS",
        words="arrange bring focus front minimize move place position raise resize size window",
        example={"element": "e12", "show": "raise"},
        timeout=5.0,
    ),
    Tool(
        "fill_form",
        "Set the values of many elements of one app with one approval. Stops at the first element"
        " that does not take its value.",
        object_of(
            {
                "app": APP,
                "fields": {
                    **list_of(
                        object_of({"element": ELEMENT_NAMED, "value": VALUE}, "element", "value"),
                        "Elements and their values, in order.",
                    ),
                    "minItems": 1,
                    "maxItems": 50,
                },
                "timeout": TIMEOUT,
            },
            "fields",
        ),
        import_later("iac_accessibility.forms:fill_form"),
        object_of(
            {
                "success": FLAG,
                "fields": list_of(object_of(SET, "success", "method", "element_state")),
                **AFTER,
            },
            *("success", "fields"),
        ),
        "MODIFY",
        "DANGEROUS",
        words="address enter fields fill form login name register set several values",
        example={"fields": [{"element": "e12", "value": "Ada"}, {"element": "e15", "value": True}]},
        timeout=20.0,
    ),
    Tool(
        "wait_for",
        "Wait until an element appears, disappears or changes, instead of reading it repeatedly.",
        object_of(
            {
                "app": APP,
                "element": ELEMENT_NAMED,
                **WHERE,
                "until": {**text_of("Default: appears."), "enum": ["appears", "goes", "changes"]},
                "timeout": TIMEOUT,
            },
        ),
        import_later("iac_accessibility.forms:wait_for"),
        object_of(
            {
                "app": APP_FACTS,
                "met": FLAG,
                "seconds": NUMBER,
                "element": ELEMENT,
                "notes": NOTES,
            },
            *("app", "met", "seconds"),
        ),
        words="appear appears button changes dialog disappear done finished gone loaded progress"
        " ready until wait",
        example={"app": "Safari", "title": "Order placed", "until": "appears"},
        timeout=10.0,
    ),
)
