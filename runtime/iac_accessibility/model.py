r"""What a bridge answers with, in one vocabulary for all platforms; paths of elements.

Positions and sizes are in points (macOS) or pixels (Linux) from the top left corner of the main
screen. Texts are cleaned on their way in, so that what is compared is what a model was shown.

A path: `window[0]/toolbar[0]/button[@title='Close']`.

    path = step *("/" step)
    step = role "[" (index / "@title=" text / "@identifier=" text) "]"
    text = "'" *(character / "\\" / "\'" / "\n" / "\t") "'"

An index counts the elements of that role under one parent, from 0 and in the app's order. A title
or identifier stands in a step where no other element of that role under that parent has it. The
first step is a child of the app: a window or a menu bar.

A role is in snake case and without prefix (`text_field`, for AXTextField). Names of macOS, of
AT-SPI and plain words are understood.
"""

import re
from collections.abc import Container, Hashable
from enum import Flag, auto
from typing import Final, Literal, NamedTuple, TypeAlias

from iac_base.secrets import redact_text, remove_spans, secret_spans
from iac_base.text import clean_text

Handle: TypeAlias = Hashable
"""An element as its bridge knows it; equal handles are the same element."""

Scalar: TypeAlias = str | float | bool | None
"""A value of an element; None where it has none or where it is a secret."""

TITLE_LIMIT: Final = 500
VALUE_LIMIT: Final = 4_000
"""Characters of a title and of a value that are kept."""

_LONGEST_SECRET: Final = 500


class UiApp(NamedTuple):
    """A running app.

    Attributes:
        pid: Its process id.
        name: The name that people see.
        id: Bundle id; on Linux the desktop file's reverse name or `local.<program>`. Empty where
            the identity could not be read.
        started: When the process began, in a unit of the platform; tells a process from a later
            one of the same pid. Compared for equality only.
        frontmost: Whether it has the keyboard.
        key: What the bridge knows the app by.
    """

    pid: int
    name: str
    id: str
    started: float
    frontmost: bool = False
    key: Handle = None


class Frame(NamedTuple):
    """Position of the top left corner, and size."""

    x: float
    y: float
    width: float
    height: float

    def holds(self, x: float, y: float) -> bool:
        """Say whether a point is in it."""
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


def frames_overlap(one: Frame, other: Frame) -> bool:
    """Say whether two places have a part in common."""
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


class Detail(Flag):
    """What is read of an element beside role, title and states."""

    NOTHING = 0
    CHILDREN = auto()
    VALUE = auto()
    IDENTIFIER = auto()
    FRAME = auto()
    ACTIONS = auto()
    DESCRIPTION = auto()
    LABEL = auto()


class UiNode(NamedTuple):
    """An element as it was when it was read.

    Attributes:
        role: In snake case, without the platform's prefix: `button`, `text_field`, `window`.
        states: Of `enabled focused selected checked expanded editable minimized modal active
            default visible showing secure focusable pressed`.
        children: Its elements in the app's order; empty where they were not wanted.
        total: How many there are; larger than `children` where the bridge cut them, -1 where the
            app failed to say.
        actions: Names in snake case: `press`, `show_menu`; empty where they were not wanted.
        label: Of an element without a title what is said of it elsewhere: the element that labels
            it, its placeholder or its help. Not part of what it is known by.
    """

    handle: Handle
    role: str
    title: str = ""
    identifier: str = ""
    states: frozenset[str] = frozenset()
    children: tuple[Handle, ...] = ()
    total: int = 0
    value: Scalar = None
    description: str = ""
    frame: Frame | None = None
    actions: tuple[str, ...] = ()
    label: str = ""

    @property
    def is_visible(self) -> bool:
        """Whether it is part of the interface now; scrolled out of sight still counts."""
        return "visible" in self.states

    def covers(self, x: float, y: float) -> bool:
        """Say whether it is shown at a point."""
        return self.frame is not None and self.is_visible and self.frame.holds(x, y)


class ScreenWindow(NamedTuple):
    """A window as the window system knows it, whether its app shows a tree or not.

    Attributes:
        number: The window system's own.
        pid: The process behind its connection; 0 where that is not known.
        title: What it is called; empty where nothing.
        kind: The class that it names itself (X11), or its layer; empty where nothing.
        frame: Of its content.
        dialog: Whether it asks for an answer.
        minimized: Whether it is.
        margin: Left and top of what the app draws around the window itself (shadows).
    """

    number: int
    pid: int
    title: str
    kind: str
    frame: Frame
    dialog: bool = False
    minimized: bool = False
    margin: tuple[int, int] = (0, 0)


SCREEN: Final = "screen"


def is_screen(handle: Handle) -> bool:
    """Say whether a handle is that of a window that only the window system knows, or its app."""
    return isinstance(handle, tuple) and handle[0] == SCREEN


def window_node(window: ScreenWindow, *, active: bool = False) -> UiNode:
    """Return a window of the screen as an element."""
    told = {"modal": window.dialog, "minimized": window.minimized, "active": active}
    states = frozenset(("enabled", "visible", *(name for name, holds in told.items() if holds)))
    role = "dialog" if window.dialog else "window"
    return UiNode((SCREEN, window.number), role, window.title, "", states, frame=window.frame)


class ScreenPicture(NamedTuple):
    """A part of the screen.

    Attributes:
        size: Width and height in pixels.
        pixels: Row by row, from the top left corner, in the order that `mode` names.
        mode: `BGRX` or `RGBA`: the order of the four bytes of a pixel.
        frame: The part of the screen, in the unit of elements' frames.
        covered: What lies before it there and is not of the app.
    """

    size: tuple[int, int]
    pixels: bytes
    mode: str
    frame: Frame
    covered: tuple[Frame, ...] = ()


class AcceptedValue(NamedTuple):
    """What an element takes as its value; `kind` is None for one whose value cannot be set."""

    kind: Literal["text", "number", "boolean"] | None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()


ChangeKind = Literal[
    "value_changed",
    "title_changed",
    "focus_changed",
    "state_changed",
    "selection_changed",
    "window_created",
    "window_closed",
    "element_created",
    "element_destroyed",
]

Attribute = Literal["actions", "description", "identifier", "position", "states", "value"]
"""What a line of an outline can have beside."""

ALIVE_CHANGES: Final[tuple[ChangeKind, ...]] = (
    "value_changed",
    "title_changed",
    "focus_changed",
    "window_created",
    "window_closed",
)
"""What is watched for where a caller does not say."""


class UiEvent(NamedTuple):
    """Something that happened: what, to which element, and when (seconds since the watch began)."""

    kind: ChangeKind
    handle: Handle
    seconds: float
    detail: str = ""


def clean_foreign_text(text: object, limit: int = TITLE_LIMIT) -> str:
    """Return foreign text as it is shown and compared: nothing hidden, no blanks around it.

    What has the shape of a secret is taken out here, so that no tool has it to show or to find.
    """
    if not text:
        return ""
    # A secret that the limit cuts is found by what follows.
    plain = redact_text(str(text)[: limit + _LONGEST_SECRET])
    if len(plain) <= limit and plain.isascii() and plain.isprintable():
        return plain.strip()
    return clean_text(plain, limit).strip()


def clean_text_part(text: str, start: int, stop: int) -> str:
    """Return a part of a text as it is shown; what stands around it tells where secrets are."""
    inside = [(max(at, start), min(to, stop)) for at, to in secret_spans(text)]
    spans = tuple((at - start, to - start) for at, to in inside if at < to)
    return clean_foreign_text(remove_spans(text[start:stop], spans), stop - start)


TEXT_MARGIN: Final = 500
"""Characters around a part of a text that are read to find secrets which lie across its ends."""


class UiFault(Exception):  # noqa: N818 (it is returned as a value more often than raised)
    """An element could not be read or worked; the text is the platform's own."""


class ElementGone(UiFault):
    """The element or its app is no more."""


class AppNotResponding(UiFault):
    """The app did not answer in time."""


class Unsupported(UiFault):
    """The element has no such attribute or action, or its value cannot be set."""


class ActionFailed(UiFault):
    """The app answered that it could not do it."""


class AccessDenied(UiFault):
    """The system does not let this process look into the app."""


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
        matched = _STEP.match(text, at)
        if matched is None:
            raise PathError(f"a role is expected at character {at + 1}")
        steps.append(_parse_step(matched))
        at = matched.end()
        if len(steps) > MAX_STEPS:
            raise PathError(f"the path has more than {MAX_STEPS} steps")
        if at == len(text):
            return tuple(steps)
        if text[at] != "/":
            raise PathError(f"'/' is expected at character {at + 1}")
        at += 1


def _parse_step(matched: re.Match[str]) -> PathStep:
    role = role_name(matched["role"])
    if matched["key"] is None:
        return PathStep(role, number=int(matched["index"] or 0))
    text = re.sub(
        r"\\(.)", lambda match: _MEANING.get(match[1], match[1]), matched["text"], flags=re.S
    )
    if matched["key"] == "title":
        return PathStep(role, title=text)
    return PathStep(role, identifier=text)


def _escape_text(text: str) -> str:
    return text.translate(_ESCAPES)
