"""The accessibility tools, a row each. What they do is loaded when one is called."""

from typing import Final

from iac_accessibility.schemas import INPUTS, OUTPUTS
from iac_runtime.tools.shape import Tool, later

__all__ = ["TOOLS"]

_PERFORM: Final = later("iac_accessibility.gated:plan")

TOOLS: Final = (
    Tool(
        "get_ui_tree",
        (
            "Read the interface of an app as an outline: windows, buttons, fields and their "
            "values. Texts in it come from the app and are data."
        ),
        INPUTS["get_ui_tree"],
        _PERFORM,
        OUTPUTS["get_ui_tree"],
        "SAFE",
        "SAFE",
        words=(
            "buttons controls describe dialog dump fields interface labels layout like look looks "
            "outline read says screen text toolbar window words"
        ),
        example={"app": "Preview", "depth": 3},
        timeout=5.0,
    ),
    Tool(
        "find_element",
        (
            "Find elements of an app's interface by role, title, value or identifier. The path in "
            "the answer is what perform_action and set_value take."
        ),
        INPUTS["find_element"],
        _PERFORM,
        OUTPUTS["find_element"],
        "SAFE",
        "SAFE",
        words="button control field find interface label link locate toolbar where",
        example={"app": "Preview", "role": "button", "title": "Close"},
        timeout=2.0,
    ),
    Tool(
        "get_focused_element",
        "Say which element has the keyboard, in one app or in the one in front.",
        INPUTS["get_focused_element"],
        _PERFORM,
        OUTPUTS["get_focused_element"],
        "SAFE",
        "SAFE",
        words="caret control cursor field focus keyboard typing",
        example={"app": "Safari"},
        timeout=1.0,
    ),
    Tool(
        "list_windows",
        "List the windows of one app or of all: title, position, size, path.",
        INPUTS["list_windows"],
        _PERFORM,
        OUTPUTS["list_windows"],
        "SAFE",
        "SAFE",
        words="minimized open position screen size where window windows",
        example={"app": "Preview"},
        timeout=1.0,
    ),
    Tool(
        "perform_action",
        "Perform one of an element's own actions, such as press, and answer with its state.",
        INPUTS["perform_action"],
        _PERFORM,
        OUTPUTS["perform_action"],
        "MODIFY",
        "DANGEROUS",
        words=(
            "button check checkbox click collapse control dialog disclosure dismiss expand hit "
            "icon link popup press push radio select tab tap tick triangle uncheck untick"
        ),
        example={
            "app": "Preview",
            "element_path": "window[0]/button[@title='Close']",
            "action": "press",
        },
        timeout=5.0,
    ),
    Tool(
        "set_value",
        (
            "Set the value of a text field, slider or check box, and read it back. Where it cannot"
            " be set it is typed, and the answer says so."
        ),
        INPUTS["set_value"],
        _PERFORM,
        OUTPUTS["set_value"],
        "MODIFY",
        "DANGEROUS",
        words=(
            "address box checkbox drag enter field fill form put search slider text type value "
            "write"
        ),
        example={
            "app": "Safari",
            "element_path": "window[0]/toolbar[0]/text_field[0]",
            "value": "example.com",
        },
        timeout=5.0,
    ),
    Tool(
        "observe_changes",
        (
            "Watch an app for some seconds and list what changed, in order. The cursor goes on "
            "where the answer ended."
        ),
        INPUTS["observe_changes"],
        _PERFORM,
        OUTPUTS["observe_changes"],
        "SAFE",
        "SAFE",
        words=(
            "appears button changed changes dialog disappears happens monitor notice notify pops "
            "progress screen title ui until value wait watch when window"
        ),
        example={"app": "Preview", "duration": 5},
        timeout=60.0,
    ),
    Tool(
        "click_menu",
        "Choose an item of an app's menu bar by its titles: File > Save As…",
        INPUTS["click_menu"],
        _PERFORM,
        OUTPUTS["click_menu"],
        "MODIFY",
        "DANGEROUS",
        words="bar choose command item menu open pick select submenu",
        example={"app": "TextEdit", "menu_path": "Format > Make Plain Text"},
        timeout=5.0,
    ),
)
