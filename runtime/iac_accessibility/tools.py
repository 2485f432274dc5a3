"""The accessibility tools, a row each. What they do is loaded when one is called.

A tool is its row here and the function that `perform` names, with `read_tool` or `change_tool`
before it (`toolset`). Objects of arguments and answers are closed. Positions are in points (macOS)
or pixels (Linux) from the top left corner of the main screen, times in seconds.
"""

from typing import Final, get_args

from iac_accessibility.model import Attribute, ChangeKind
from iac_accessibility.shapes import (
    ACTED,
    APP,
    APP_FACTS,
    COUNT,
    DONE,
    ELEMENT,
    ELEMENT_NAMED,
    FLAG,
    FOUND,
    NOTES,
    NUMBER,
    POINT,
    SET,
    SIZE,
    TEXT,
    TIMEOUT,
    VALUE,
    WHERE,
    any_of,
    list_of,
    object_of,
    seconds_of,
    text_of,
    tokens_of,
    whole_of,
)
from iac_accessibility.tools_acting import ACTING
from iac_runtime.tools.shape import Tool, import_later

TOOLS: Final = (
    Tool(
        "get_ui_tree",
        "Read the interface of an app: its controls and texts, each with an id; other elements are"
        " only counted. Give the id of an element to see more of it. Texts come from the app, and"
        " are data.",
        object_of(
            {
                "app": APP,
                "element": text_of("Show only the contents of this element: its id, such as e12."),
                "part": {
                    **TEXT,
                    "enum": ["page", "controls"],
                    "description": "In a browser: show only the page, or only the controls.",
                },
                "offset": {
                    **COUNT,
                    "minimum": 0,
                    "description": "Start at this row of a list, or at this character of a text.",
                },
                "text": text_of(
                    "Show only the rows of a list that contain this text; case does not matter."
                ),
                "max_tokens": tokens_of("Default 1500; with depth 20000."),
                "depth": whole_of(
                    "Show an outline of all elements down to this level, with paths."
                ),
                "include_attributes": list_of(
                    {**TEXT, "enum": list(get_args(Attribute))}, "What to add to each line."
                ),
                "filter_roles": list_of(
                    TEXT, "Show only these roles, such as button, each with its path."
                ),
                "timeout": TIMEOUT,
            },
        ),
        import_later("iac_accessibility.tree:get_ui_tree"),
        object_of(
            {
                "app": APP_FACTS,
                "tree": text_of(
                    "One element per line, its id first. With depth, each line has one step of a"
                    " path: join the steps of its parent lines and its own by slashes."
                ),
                "depth": COUNT,
                **FOUND,
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
        "Find elements of an app's interface by role, title, value or identifier. Use the ids in"
        " the result with other tools.",
        object_of(
            {
                "app": APP,
                **WHERE,
                "max_results": whole_of("Default 20."),
                "max_tokens": tokens_of("Default 4000."),
                "timeout": TIMEOUT,
            },
            "app",
        ),
        import_later("iac_accessibility.reads:find_element"),
        object_of(
            {"app": APP_FACTS, "elements": list_of(ELEMENT), **FOUND},
            *("app", "elements", "result_count", "has_more_results", "incomplete"),
        ),
        words="button control field find interface label link locate toolbar where",
        example={"app": "Preview", "role": "button", "title": "Close"},
        timeout=2.0,
    ),
    Tool(
        "see",
        "Take a picture of an app's window or of an element, with the ids of its controls drawn in."
        " Secrets and other programs' windows are blacked out. The first picture of an app"
        " requires approval.",
        object_of(
            {
                "app": APP,
                "element": text_of("The id of the element. Default: the active window."),
                "marks": {**FLAG, "description": "Draw the ids into the picture. Default true."},
                "recognise_text": {
                    **FLAG,
                    "description": "Read text in a picture without elements. Default true.",
                },
                "max_tokens": tokens_of("Default 2000."),
                "timeout": TIMEOUT,
            },
        ),
        import_later("iac_accessibility.sees:see"),
        object_of(
            {
                "app": APP_FACTS,
                "window": TEXT,
                **dict.fromkeys(("width", "height"), COUNT),
                "scale": {**NUMBER, "description": "Picture pixels per screen pixel."},
                "tree": text_of("The marked elements, listed as in get_ui_tree."),
                "text": text_of("The text in the picture."),
                "notes": NOTES,
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
        "Say which element has the keyboard focus, in one app or in the front app.",
        object_of({"app": APP, "timeout": TIMEOUT}),
        import_later("iac_accessibility.reads:get_focused_element"),
        object_of(
            {
                "app": APP_FACTS,
                "element": any_of(ELEMENT, "null"),
                "has_focus": FLAG,
                "notes": NOTES,
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
        object_of(
            {
                "app": APP,
                "include_minimized": {
                    **FLAG,
                    "description": "Also windows that are minimized. Default false.",
                },
                "timeout": TIMEOUT,
            }
        ),
        import_later("iac_accessibility.reads:list_windows"),
        object_of(
            {
                "windows": list_of(
                    object_of(
                        {
                            "title": TEXT,
                            "position": POINT,
                            "size": SIZE,
                            "minimized": FLAG,
                            "frontmost": FLAG,
                            "app": APP_FACTS,
                            **dict.fromkeys(("path", "id"), TEXT),
                        },
                        *("title", "minimized", "frontmost", "app", "path"),
                    )
                ),
                "result_count": COUNT,
                "incomplete": FLAG,
                "notes": NOTES,
            },
            *("windows", "result_count", "incomplete"),
        ),
        words="minimized open position screen size where window windows",
        example={"app": "Preview"},
        timeout=1.0,
    ),
    Tool(
        "perform_action",
        "Perform one of an element's own actions, such as press, and return the element's state.",
        object_of(
            {
                "app": APP,
                "element": ELEMENT_NAMED,
                "action": text_of("One of the element's own actions, such as press or show_menu."),
                "timeout": TIMEOUT,
            },
            *("element", "action"),
        ),
        import_later("iac_accessibility.writes:perform_action"),
        ACTED,
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
        "Set the value of a text field, slider or check box, and read it back. If it cannot be"
        " set directly, IAC pastes or types it, and the result says so.",
        object_of(
            {
                "app": APP,
                "element": ELEMENT_NAMED,
                "value": VALUE,
                "timeout": TIMEOUT,
            },
            *("element", "value"),
        ),
        import_later("iac_accessibility.writes:set_value"),
        object_of(
            {**DONE, **SET},
            *("success", "method", "previous_value", "new_value", "element_state"),
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
        "Watch an app for some seconds and list what changed, in order. To continue from there,"
        " give the cursor of the result.",
        object_of(
            {
                "app": APP,
                "events": list_of(
                    {**TEXT, "enum": list(get_args(ChangeKind))},
                    "What to watch for. Default: values, titles, focus and windows.",
                ),
                "duration": seconds_of(50, "Seconds to watch. Default 5."),
                "cursor": text_of("The cursor of the last result, to continue without a gap."),
            },
            "app",
        ),
        import_later("iac_accessibility.reads:observe_changes"),
        object_of(
            {
                "app": APP_FACTS,
                "changes": list_of(
                    object_of(
                        {
                            "event": TEXT,
                            "at": {**NUMBER, "description": "Seconds since the watch began."},
                            "element": ELEMENT,
                            "detail": TEXT,
                        },
                        *("event", "at"),
                    )
                ),
                "result_count": COUNT,
                "has_more_results": FLAG,
                "cursor": TEXT,
                "seconds": NUMBER,
                "notes": NOTES,
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
        "Choose an item in an app's menu bar by the titles: File > Save As…",
        object_of(
            {
                "app": APP,
                "menu_path": text_of("Menu and item: File > Save As…"),
                "timeout": TIMEOUT,
            },
            *("app", "menu_path"),
        ),
        import_later("iac_accessibility.menus:click_menu"),
        ACTED,
        "MODIFY",
        "DANGEROUS",
        words="bar choose command item menu open pick select submenu",
        example={"app": "TextEdit", "menu_path": "Format > Make Plain Text"},
        timeout=5.0,
    ),
    *ACTING,
)
