"""What arguments and answers of the tools are made of; a call, its app and the elements it names.

Objects are closed. Positions are in points (macOS) or pixels (Linux) from the top left corner of
the main screen, times in seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, TypedDict

from iac_accessibility.bridge import time_left
from iac_accessibility.element_identity import ElementFound, ElementId, Fingerprint, is_id
from iac_accessibility.errors import LOOK_AGAIN, StaleError, UiError, error_context
from iac_accessibility.locate import resolve_target
from iac_accessibility.model import PathError, Scalar, UiApp, parse_path, path_text
from iac_accessibility.session import UiSession
from iac_base.errors import Cancellation, quote_text
from iac_runtime.tool import limits
from iac_runtime.toolkit import Call, Tool

AppName = Annotated[str | int, "Name, bundle id or pid."]
ElementName = Annotated[str, "Id (e12) or path."]
Seconds = Annotated[float, limits(exclusiveMinimum=0, maximum=120), "Seconds."]
FewItems = Annotated[int, limits(minimum=1, maximum=200)]
TokenLimit = Annotated[int, limits(minimum=200, maximum=25_000)]
ElementValue = str | bool | float
RoleName = Annotated[str, "Such as button or text_field."]
TitlePart = Annotated[str, "Part of it; ignores case."]
ValuePart = Annotated[str, "Part of it; ignores case."]
WholeIdentifier = Annotated[str, "All of it."]
ChangedLines = Annotated[
    list[str], "Since the last get_ui_tree: + is new, ~ has changed, - is gone."
]
RateLimitWarning = Annotated[str, "Calls come so fast that IAC will refuse further ones."]
ElementState = Annotated[dict[str, Any], "As find_element lists it."]
"""An `ElementFacts`, whose schema stands once in the list of tools."""


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
    row: NotRequired[Annotated[str, "What its row says."]]
    window: NotRequired[str]
    gone: NotRequired[bool]


class CutFacts(TypedDict):
    """Where an answer leaves something out."""

    where: str
    why: str


class ElementDone(TypedDict):
    """What was done to an element."""

    success: bool
    method: Annotated[str, "action, value, paste, keys, pointer or window."]
    element_state: ElementState


class ChangeDone(ElementDone, total=False):
    """What every call that changes an element answers."""

    dialog: Annotated[str, "What waits for an answer: a dialog, or what opened in another app."]
    dialog_app: Annotated[int, "Process id of its app, if that is another."]
    changes: ChangedLines
    rate_limit_warning: RateLimitWarning
    notes: list[str]


class ActionDone(ChangeDone):
    """What a call answers that performs an action."""

    action: str
    element_path: NotRequired[str]
    option: NotRequired[str]
    keys: NotRequired[int]


@dataclass(frozen=True, slots=True)
class UiCall:
    """A call of a tool.

    Attributes:
        session: The bridge, and what is remembered between calls.
        arguments: They fit the tool's schema.
        seconds: The time that it may take.
        end: When that is over, by `time.monotonic`.
        named: The app; None where none was named.
        path: The element's path in canonical spelling; empty where none was given.
        bound: What the elements have to be, in the order in which the tool asks for them, since a
            person agreed to those; empty where nobody was asked yet.
        cancel: Ends it early, and is told how far it is.
        apps: Those that may be read: the one that was named, or all that run and are not denied.
    """

    session: UiSession
    arguments: Mapping[str, Any]
    seconds: float
    named: UiApp | None
    path: str
    bound: tuple[Fingerprint, ...] = ()
    cancel: Cancellation = field(default_factory=Cancellation)
    apps: tuple[UiApp, ...] = ()
    end: float = 0.0

    def left(self, least: float = 0.2) -> float:
        """Return the seconds that are left of the call, and some in any case."""
        return time_left(self.end, least)

    @property
    def app(self) -> UiApp:
        """The app that was named, or is in front.

        Raises:
            UiError: There is none.
        """
        if self.named is None:
            raise UiError(
                *("NOT_FOUND", "No app is in front.", "Name the app."), reason="app_not_running"
            )
        return self.named

    def resolve_element(
        self, session: UiSession, given: str = "element", at: int = 0
    ) -> ElementFound:
        """Return the element that id or path were made from.

        Args:
            given: The argument that names it, or the id or path itself.
            at: Which of the elements of the call it is.

        Raises:
            UiError: It is another one, or not there; as `resolve_target`.
        """
        text = str(self.arguments.get(given, given))
        known = known_id(session, text)
        if known is not None and known.process != (self.app.pid, self.app.started):
            why = f"{text} was read in another process than {self.app.name} has now"
            raise StaleError(known.path, why)
        path = known.path if known else _canonical_path(text)
        before = known.fingerprint if known else session.memory.known_fingerprint(self.app, path)
        if self.bound:
            before = self.bound[at]
        given_id = text if known else ""
        return resolve_target(session, self.app, path, before, self.seconds, id=given_id)


def known_id(session: UiSession, text: str) -> ElementId | None:
    """Return what an id stands for; None for what is no id but a path.

    Raises:
        UiError: No answer gave this id.
    """
    if not is_id(text):
        return None
    known = session.memory.lookup_id(text)
    if known is None:
        message = f"The element {text} is unknown: no result of a tool contained it."
        raise UiError("NOT_FOUND", message, LOOK_AGAIN, reason="no_element")
    return known


def prepare_call(
    session: UiSession,
    tool: Tool,
    call: Call,
    agreed: tuple[UiApp, tuple[ElementFound, ...]] | None = None,
) -> UiCall:
    """Return a call with its app found; `agreed` is what a person said yes to, if asked."""
    arguments = call.arguments
    seconds = float(arguments.get("timeout") or tool.timeout or 0)
    fields = arguments.get("fields") or [{}]
    text = str(arguments.get("element") or fields[0].get("element", ""))
    with error_context(None, tool=tool.name):
        known = known_id(session, text)
        wanted = arguments.get("app", known.process[0] if known else None)
        if wanted is None and text:
            message = "The path of an element was given without its app."
            guidance = "Name the app too, or give the element's id."
            raise UiError("INVALID_PARAMETER", message, guidance, reason="bad_path")
        app = session.resolve_app(wanted) if wanted is not None else None
    with error_context(app, tool=tool.name):
        path = known.path if known else _canonical_path(text) if text else ""
        if agreed is None:
            return UiCall(session, arguments, seconds, app, path)
        before, elements = agreed
        if app is None or (before.pid, before.started) != (app.pid, app.started):
            why = f"{before.name} was started again in another process"
            raise StaleError(elements[0].path, why)
        bound = tuple(element.fingerprint for element in elements)
        return UiCall(session, arguments, seconds, app, path, bound)


def _canonical_path(path: str) -> str:
    try:
        return path_text(parse_path(path))
    except PathError as error:
        message = f"{quote_text(path, 120)} is not a path: {error}."
        guidance = "Paths look like window[0]/toolbar[0]/button[@title='Close']."
        raise UiError(
            "INVALID_PARAMETER", message, guidance, reason="bad_path", element_path=path[:200]
        ) from None
