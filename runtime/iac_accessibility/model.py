"""What a bridge answers with: apps, elements and changes, in one vocabulary for all platforms.

Positions and sizes are in points (macOS) or pixels (Linux) from the top left corner of the main
screen. Texts are cleaned on their way in, so that what is compared is what a model was shown.
"""

from collections.abc import Hashable
from enum import Flag, auto
from typing import Final, Literal, NamedTuple, TypeAlias

from iac_base.text import clean_text

Handle: TypeAlias = Hashable
"""An element as its bridge knows it; equal handles are the same element."""

Scalar: TypeAlias = str | float | bool | None
"""A value of an element; None where it has none or where it is a secret."""

TITLE_LIMIT: Final = 500
VALUE_LIMIT: Final = 4_000
"""Characters of a title and of a value that are kept."""


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
    """Return foreign text as it is shown and compared: nothing hidden, no blanks around it."""
    if not text:
        return ""
    plain = str(text)
    if len(plain) <= limit and plain.isascii() and plain.isprintable():
        return plain.strip()
    return clean_text(plain, limit).strip()


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
