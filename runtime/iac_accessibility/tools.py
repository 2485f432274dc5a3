"""Which modules have accessibility tools, and how a listing begins."""

from typing import Final

from iac_runtime.tool import Toolset

INTERFACES: Final = Toolset(
    tuple(
        f"iac_accessibility.{name}"
        for name in ("ui_tree", "read_tools", "screenshot", "action_tools", "input_tools")
    ),
    order=(
        "get_ui_tree",
        "find_element",
        "see",
        "get_focused_element",
        "list_windows",
        "perform_action",
        "set_value",
        "observe_changes",
        "click_menu",
        "press_keys",
        "type_text",
        "click",
        "scroll",
        "select_option",
        "drag",
        "place_window",
        "fill_form",
        "wait_for",
    ),
)
