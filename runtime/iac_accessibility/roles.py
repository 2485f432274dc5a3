"""Names of roles and actions: one spelling inside, every usual spelling accepted.

Inside, a role is in snake case and without prefix (`text_field`, for AXTextField). Names of
macOS, of AT-SPI and plain words are understood.
"""

import re
from typing import Final

__all__ = ["BOOLEAN_ROLES", "MENU_ROLES", "TEXT_ROLES", "WINDOW_ROLES", "action_name", "role_name"]

_ALIASES: Final = {
    "push_button": "button",
    "label": "static_text",
    "static": "static_text",
    "text": "text_field",
    "entry": "text_field",
    "password_text": "secure_text_field",
    "password": "secure_text_field",
    "frame": "window",
    "standard_window": "window",
    "tool_bar": "toolbar",
    "page_tab": "tab",
    "page_tab_list": "tab_group",
    "check_menu_item": "menu_item",
    "radio_menu_item": "menu_item",
    "popup_menu": "menu",
    "checkbox": "check_box",
    "radiobutton": "radio_button",
    "filler": "group",
    "panel": "group",
    "section": "group",
    "scroll_pane": "scroll_area",
    "document_web": "web_area",
    "split_pane": "split_group",
    "progress_bar": "progress_indicator",
    "table_cell": "cell",
    "table_row": "row",
    "spin_button": "incrementor",
    "textfield": "text_field",
    "textarea": "text_area",
}

WINDOW_ROLES: Final = frozenset(("window", "dialog", "alert", "sheet", "file_chooser"))
MENU_ROLES: Final = frozenset(("menu_bar", "menu_bar_item", "menu", "menu_item"))
TEXT_ROLES: Final = frozenset(
    ("text_field", "text_area", "secure_text_field", "search_field", "combo_box", "incrementor")
)
BOOLEAN_ROLES: Final = frozenset(("check_box", "toggle_button", "radio_button", "switch"))

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHER: Final = re.compile(r"[^a-z0-9]+")

_ACTIONS: Final = {
    "click": "press",
    "activate": "press",
    "do_default": "press",
    "jump": "press",
    "menu": "show_menu",
    "increase": "increment",
    "decrease": "decrement",
    "setfocus": "set_focus",
}


def role_name(text: str) -> str:
    """Return a role in the inner spelling: `AXTextField`, "push button", `Button`."""
    name = _snake(text)
    return _ALIASES.get(name, name)


def action_name(text: str) -> str:
    """Return an action in the inner spelling: `AXPress`, "Click", "Show Menu"."""
    name = _snake(text)
    return _ACTIONS.get(name, name)


def _snake(text: str) -> str:
    plain = text.strip()
    if plain.startswith("AX") and plain[2:3].isupper():
        plain = plain[2:]
    return _OTHER.sub("_", _CAMEL.sub("_", plain).lower()).strip("_")[:64]
