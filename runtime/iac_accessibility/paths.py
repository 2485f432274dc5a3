r"""Paths of elements, and the names of roles and actions in them.

A path: `window[0]/toolbar[0]/button[@title='Close']`.

    path = step *("/" step)
    step = role "[" (index / "@title=" text / "@identifier=" text) "]"
    text = "'" *(character / "\\" / "\'" / "\n" / "\t") "'"

An index counts the elements of that role under one parent, from 0 and in the app's order. A title
or identifier stands in a step where no other element of that role under that parent has it. The
first step is a child of the app: a window or a menu bar.

Inside, a role is in snake case and without prefix (`text_field`, for AXTextField). Names of macOS,
of AT-SPI and plain words are understood.
"""

import re
from collections.abc import Container
from typing import Final, NamedTuple

_OTHER_NAMES: Final = {
    "button": "push_button",
    "static_text": "label static",
    "text_field": "text entry textfield",
    "secure_text_field": "password_text password",
    "window": "frame standard_window",
    "toolbar": "tool_bar",
    "tab": "page_tab",
    "tab_group": "page_tab_list",
    "menu_item": "check_menu_item radio_menu_item",
    "menu": "popup_menu",
    "check_box": "checkbox",
    "radio_button": "radiobutton",
    "group": "filler panel section",
    "scroll_area": "scroll_pane",
    "web_area": "document_web",
    "split_group": "split_pane",
    "progress_indicator": "progress_bar",
    "cell": "table_cell",
    "row": "table_row",
    "incrementor": "spin_button",
    "text_area": "textarea",
}
_ALIASES: Final = {name: role for role, names in _OTHER_NAMES.items() for name in names.split()}

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


CONFIRMS: Final = frozenset(("confirm", "default_activate"))
"""Actions that do what Return does: they end an entry, and press what is the default of it."""


def role_name(text: str) -> str:
    """Return a role in the inner spelling: `AXTextField`, "push button", `Button`."""
    name = _to_snake_case(text)
    return _ALIASES.get(name, name)


def action_name(text: str, *, of_text: bool = False) -> str:
    """Return an action in the inner spelling: `AXPress`, "Click", "Show Menu".

    Args:
        of_text: Whether it is of an element that is typed into. What toolkits of Linux call
            "activate" there is Return, so it is no press.
    """
    name = _to_snake_case(text)
    plain = _ACTIONS.get(name, name)
    return "confirm" if of_text and plain == "press" else plain


def takes_typing(role: str, states: Container[str]) -> bool:
    """Say whether an element is typed into; a pop-up that is not editable is not."""
    return "editable" in states or role in TEXT_ROLES - {"combo_box"}


def _to_snake_case(text: str) -> str:
    plain = text.strip()
    if plain.startswith("AX") and plain[2:3].isupper():
        plain = plain[2:]
    return _OTHER.sub("_", _CAMEL.sub("_", plain).lower()).strip("_")[:64]


MAX_STEPS: Final = 100
_MAX_LENGTH: Final = 20_000
_STEP: Final = re.compile(
    r"(?P<role>[A-Za-z][A-Za-z0-9_ ]*)"
    r"(?:\[(?:(?P<index>[0-9]{1,9})|@(?P<key>title|identifier)=(?P<quote>['\"])"
    r"(?P<text>(?:[^\\'\"]|\\.|(?!(?P=quote))['\"])*)(?P=quote))\])?",
    re.DOTALL,
)
_ESCAPES: Final = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"})
_MEANING: Final = {"n": "\n", "t": "\t"}


class PathError(ValueError):
    """A path cannot be read; the text says where and why."""


class PathStep(NamedTuple):
    """One step: a role, and which element of that role (exactly one of the three is set)."""

    role: str
    number: int | None = None
    title: str | None = None
    identifier: str | None = None

    @property
    def text(self) -> str:
        """The step as a path has it."""
        if self.title is not None:
            return f"{self.role}[@title='{_escape_text(self.title)}']"
        if self.identifier is not None:
            return f"{self.role}[@identifier='{_escape_text(self.identifier)}']"
        return f"{self.role}[{self.number}]"


def path_text(steps: tuple[PathStep, ...]) -> str:
    """Return the canonical text of a path."""
    return "/".join(step.text for step in steps)


def parse_path(text: str) -> tuple[PathStep, ...]:
    """Return the steps of a path. Roles may be spelled any usual way; no index means the first.

    Raises:
        PathError: It is no path.
    """
    if not text.strip():
        raise PathError("the path is empty")
    if len(text) > _MAX_LENGTH:
        raise PathError(f"the path has more than {_MAX_LENGTH} characters")
    steps: list[PathStep] = []
    at = 0
    while True:
        found = _STEP.match(text, at)
        if found is None:
            raise PathError(f"a role is expected at character {at + 1}")
        steps.append(_parse_step(found))
        at = found.end()
        if len(steps) > MAX_STEPS:
            raise PathError(f"the path has more than {MAX_STEPS} steps")
        if at == len(text):
            return tuple(steps)
        if text[at] != "/":
            raise PathError(f"'/' is expected at character {at + 1}")
        at += 1


def _parse_step(found: re.Match[str]) -> PathStep:
    role = role_name(found["role"])
    if found["key"] is None:
        return PathStep(role, number=int(found["index"] or 0))
    text = re.sub(
        r"\\(.)", lambda match: _MEANING.get(match[1], match[1]), found["text"], flags=re.S
    )
    if found["key"] == "title":
        return PathStep(role, title=text)
    return PathStep(role, identifier=text)


def _escape_text(text: str) -> str:
    return text.translate(_ESCAPES)
