"""What the arguments and answers of the accessibility tools are made of.

Objects are closed. Positions are in points (macOS) or pixels (Linux) from the top left corner of
the main screen, times in seconds.
"""

from typing import Annotated, NotRequired, TypedDict

from iac_runtime.tool import limits

AppName = Annotated[str | int, "The running app: its name, bundle id or process id."]
ElementName = Annotated[
    str,
    "The element: its id from a result, such as e12, or its path, such as"
    " window[0]/toolbar[0]/button[@title='Close'].",
]
Seconds = Annotated[float, limits(exclusiveMinimum=0, maximum=120), "Most seconds for the call."]
FewItems = Annotated[int, limits(minimum=1, maximum=200)]
TokenLimit = Annotated[int, limits(minimum=200, maximum=25_000)]
ElementValue = Annotated[
    str | bool | float,
    "Text, true or false, or a number, whichever the element accepts.",
]
RoleName = Annotated[str, "Role, such as button or text_field."]
TitlePart = Annotated[str, "Part of the title; case does not matter."]
ValuePart = Annotated[str, "Part of the value; case does not matter."]
WholeIdentifier = Annotated[str, "The whole identifier."]
Scalar = str | float | bool | None
ChangedLines = Annotated[
    list[str], "What differs from the last get_ui_tree: + is new, ~ has changed, - is gone."
]
RateLimitWarning = Annotated[
    str, "Present if calls come so fast that IAC will refuse further ones."
]


class ScreenPoint(TypedDict):
    """A point of the screen or of an element."""

    x: float
    y: float


class ScreenSize(TypedDict):
    """How large something is."""

    width: float
    height: float


class AppFacts(TypedDict):
    """A running app."""

    name: str
    id: str
    pid: int


class ElementFacts(TypedDict):
    """What is known of an element."""

    id: NotRequired[str]
    role: str
    title: NotRequired[str]
    label: NotRequired[str]
    value: NotRequired[Scalar]
    identifier: NotRequired[str]
    description: NotRequired[str]
    enabled: NotRequired[bool]
    states: NotRequired[list[str]]
    actions: NotRequired[list[str]]
    position: NotRequired[ScreenPoint]
    size: NotRequired[ScreenSize]
    path: NotRequired[str]
    gone: NotRequired[bool]


class CutFacts(TypedDict):
    """Where an answer leaves something out."""

    where: str
    why: str


class ElementDone(TypedDict):
    """What was done to an element."""

    success: bool
    method: Annotated[str, "How it was done: action, value, paste, keys, pointer or window."]
    element_state: ElementFacts


class ChangeDone(ElementDone, total=False):
    """What every call that changes an element answers."""

    dialog: Annotated[str, "The dialog that blocks the app until it is closed."]
    changes: ChangedLines
    rate_limit_warning: RateLimitWarning
    notes: list[str]


class ActionDone(ChangeDone):
    """What a call answers that performs an action."""

    action: str
    element_path: NotRequired[str]
    option: NotRequired[str]
    keys: NotRequired[int]
