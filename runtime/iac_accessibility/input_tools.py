"""The tools that give keys, text and pointer to an element, and place windows."""

import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Final, Literal

from iac_accessibility.arguments import (
    AppName,
    ChangeDone,
    ElementName,
    ScreenPoint,
    ScreenSize,
    Seconds,
    UiCall,
)
from iac_accessibility.bridge import Stroke, parse_stroke, stroke_effect
from iac_accessibility.element_identity import ElementFound
from iac_accessibility.errors import LOOK_AGAIN, UiError
from iac_accessibility.input_devices import (
    UNREAD,
    TextEntry,
    aim_at,
    bring_window,
    click_at,
    elements_under_point,
    focus_element,
    is_readable,
    is_screen_window,
    moved_error,
    point_at,
    press_element,
    press_strokes,
    put_text,
    require_input_devices,
    screen_window,
    show_tab,
)
from iac_accessibility.locate import path_of
from iac_accessibility.model import (
    TEXT_ROLES,
    Detail,
    Frame,
    PathStep,
    ScreenWindow,
    UiApp,
    UiFault,
    UiNode,
)
from iac_accessibility.risk import holds_secret, return_does
from iac_accessibility.session import UiSession
from iac_accessibility.toolset import (
    ElementChange,
    acting_tool,
    change_tool,
    check_enabled,
    describe_app,
    describe_element,
)
from iac_base.errors import quote_text
from iac_base.text import escape_hidden
from iac_runtime.tool import limits

_FOCUS_SECONDS: Final = 1.0
_HOLD: Final = 0.03
_CANCEL: Final = parse_stroke("escape")
_STEPS: Final = 8
"""Points on the way of a drag; apps take fewer for a click."""


@change_tool
def plan_press_keys(session: UiSession, call: UiCall) -> ElementChange:
    """Press combinations of keys, in an element or where the app's keyboard is.

    Raises:
        UiError: A combination is unknown, or there is nowhere to give it to.
    """
    app = call.app
    hands = require_input_devices(session)
    strokes = [parse_stroke(text) for text in call.arguments["keys"]]
    element, again = _keyboard_target(session, call)
    node, secret = element.node, holds_secret(element.node)
    shown = ["[secret]" if secret and one.is_character else one.text for one in strokes]
    named = " ".join(shown)

    def send_strokes(now: UiNode, seconds: float) -> Mapping[str, Any]:
        if again is None:
            proof = focus_element(session, app, element.now(now), seconds)
        else:
            proof = bring_window(session, app, None, seconds)
        read = again is None and is_readable(now)
        given = press_strokes(hands, proof, strokes, read=read)
        typed = any(one.is_character for one in strokes)
        return {"keys": given, **({"notes": [UNREAD]} if typed and not read else {})}

    does = next(filter(None, (_stroke_effect_at(one, element) for one in strokes)), "")
    place = (
        describe_element(element, app)
        if again is None
        else f"{quote_text(node.title, 60)}, {describe_app(app)}"
    )
    return ElementChange(
        element,
        f"press {escape_hidden(named)} in {place}",
        send_strokes,
        "keys",
        words=tuple(stroke.text for stroke in strokes),
        does=does,
        again=again,
        more={"action": named},
    )


@acting_tool(
    plan=plan_press_keys,
    words="arrow combination confirm dismiss enter escape hotkey key keyboard keys modal return"
    " shortcut tab",
    example={"app": "TextEdit", "keys": ["cmd+s"]},
    timeout=5.0,
)
def press_keys(
    *,
    app: AppName | None = None,
    keys: Annotated[list[str], limits(minItems=1, maxItems=50)],
    element: ElementName | None = None,
    timeout: Seconds | None = None,
) -> None:
    """Press keys or combinations one after the other, such as ctrl+s or Escape, in an element or
    where the app has the keyboard focus. Works even while a dialog blocks the app.

    Args:
        keys: Combinations in order, such as ctrl+shift+s, Return, Down, F5, a.
    """


def _stroke_effect_at(stroke: Stroke, element: ElementFound) -> str:
    """Return what a combination does where the keyboard is."""
    node = element.node
    if is_screen_window(node) and stroke.key != "escape":
        return UNKNOWN
    in_text = node.role in TEXT_ROLES or "editable" in node.states
    if stroke.key == "return" and not stroke.modifiers - {"shift"}:
        return return_does(element.way)
    return stroke_effect(stroke, in_text=in_text)


def _keyboard_target(session: UiSession, call: UiCall) -> tuple[ElementFound, Any]:
    """Return what is to get the keys, and how it is found again where it is but a window."""
    app = call.app
    if call.path:
        return call.resolve_element(session), None
    with suppress(UiFault):
        handle = session.bridge.focused_element(app, _FOCUS_SECONDS)
        if handle is not None:
            element = path_of(session.bridge, app, handle, seconds=_FOCUS_SECONDS)
            session.memory.remember_element(app, element)
            return element, None
    number = screen_window(session, app, None).number

    def find_window_again() -> ElementFound:
        now = next(
            (one for one in require_input_devices(session).list_windows() if one.number == number),
            None,
        )
        if now is None:
            now = screen_window(session, app, None)
        if now.number != number:
            raise UiError(
                "NOT_FOUND", "The window is closed.", LOOK_AGAIN, reason="stale", app=app.name
            )
        return element_of_window(now)

    return find_window_again(), find_window_again


def element_of_window(window: ScreenWindow) -> ElementFound:
    """Return a window of the screen as an element, for an app whose tree does not answer."""
    states = {"enabled", "visible", *(("modal",) if window.dialog else ())}
    role = "dialog" if window.dialog else "window"
    node = UiNode(("screen", window.number), role, window.title, states=frozenset(states))
    return ElementFound(node, (node,), PathStep(role, title=window.title).text)


@change_tool
def plan_type_text(session: UiSession, call: UiCall) -> ElementChange:
    """Put a text in behind what an element holds.

    Raises:
        UiError: The element does not accept text.
    """
    app = call.app
    element = call.resolve_element(session)
    _check_text(element, app)
    text = str(call.arguments["text"])

    def append_text(now: UiNode, seconds: float) -> Mapping[str, Any]:
        return put_text(session, TextEntry(app, element.now(now), text, whole=False), seconds)

    shown = "a secret" if holds_secret(element.node) else quote_text(escape_hidden(text), 200)
    return ElementChange(
        element, f"type {shown} into {describe_element(element, app)}", append_text, "value"
    )


@acting_tool(
    plan=plan_type_text,
    answer=ChangeDone,
    words="append enter field input insert keyboard paste text type typing words write",
    example={"element": "e12", "text": "Grüße aus 山田"},
    timeout=10.0,
)
def type_text(
    *, app: AppName | None = None, element: ElementName, text: str, timeout: Seconds | None = None
) -> None:
    """Add text at the end of an element, all of it or nothing. IAC sets it directly, pastes it
    and restores the clipboard, or types it.

    Args:
        text: The text, in any language, with line breaks.
    """


def _check_text(element: ElementFound, app: UiApp) -> None:
    node = element.node
    check_enabled(node)
    if node.role not in TEXT_ROLES and not node.states & {"editable"} and node.role != "terminal":
        message = f"{describe_element(element, app)} does not accept text."
        guidance = "Use a text field, or press_keys."
        raise UiError("NOT_SUPPORTED", message, guidance, reason="not_settable")


@change_tool
def plan_click(session: UiSession, call: UiCall) -> ElementChange:
    """Click an element: by its own action where a plain click is asked for, else by the pointer.

    Raises:
        UiError: It is disabled.
    """
    app, arguments = call.app, call.arguments
    element = call.resolve_element(session)
    check_enabled(element.node)
    button: str = arguments.get("button", "left")
    count = int(arguments.get("count", 1))
    point: Mapping[str, float] | None = arguments.get("point")
    plain = button == "left" and count == 1 and point is None
    own = next((name for name in ("press", "toggle") if name in element.node.actions), "")
    how = {1: "click", 2: "double-click", 3: "triple-click"}[count]
    where = f" at {point['x']:g}, {point['y']:g}" if point else ""
    line = (
        f"{'' if button == 'left' else button + '-'}{how} {describe_element(element, app)}{where}"
    )
    if plain and element.node.role == "tab" and len(element.way) > 1:
        return ElementChange(element, line, partial(show_tab, session, app, element), action=own)
    if plain and own:
        return ElementChange(
            element,
            line,
            lambda now, seconds: press_element(session, app, element.now(now), own, seconds),
            action=own,
            words=(own,),
            more={"action": how},
        )

    hit = elements_under_point(session, app, element, point, call.seconds)

    def click_pointer(now: UiNode, seconds: float) -> Mapping[str, Any] | None:
        aim = aim_at(session, app, element.now(now), point)
        if elements_under_point(session, app, element.now(now), point, seconds) != hit:
            raise moved_error()
        click_at(aim, button, count)
        return None

    # What is clicked is what lies there, not what it lies in.
    does = UNKNOWN if is_screen_window(element.node) else ""
    words = (how, *(text for _, text in hit))
    more = {"action": how}
    return ElementChange(element, line, click_pointer, "pointer", words=words, more=more, does=does)


@acting_tool(
    plan=plan_click,
    words="button double doubleclick hit mouse open picture point pointer right tap",
    example={"element": "e12", "count": 2},
    timeout=5.0,
)
def click(
    *,
    app: AppName | None = None,
    element: ElementName,
    button: Literal["left", "middle", "right"] | None = None,
    count: Annotated[int, limits(minimum=1, maximum=3)] | None = None,
    point: ScreenPoint | None = None,
    timeout: Seconds | None = None,
) -> None:
    """Click an element. A plain click uses the element's own action; other clicks move the
    pointer to its middle, or to a point in it.

    Args:
        button: Default: left.
        count: How many clicks: 2 for a double click. Default: 1.
        point: The point in the element, from its top left corner.
    """


UNKNOWN: Final = "does something that cannot be known beforehand"


@change_tool
def plan_context_menu(session: UiSession, call: UiCall) -> ElementChange:
    """Open the menu of an element: by its own action, else by the right button."""
    app = call.app
    element = call.resolve_element(session)
    line = f"open the menu of {describe_element(element, app)}"
    more = {"action": "show_menu"}
    if "show_menu" in element.node.actions:
        return ElementChange(
            element,
            line,
            lambda node, seconds: session.bridge.perform_action(node.handle, "show_menu", seconds),
            action="show_menu",
            more=more,
        )

    def click_right(now: UiNode, _seconds: float) -> None:
        click_at(aim_at(session, app, element.now(now)), "right")

    return ElementChange(element, line, click_right, "pointer", more=more)


@acting_tool(
    plan=plan_context_menu,
    words="click context menu mouse popup right rightclick secondary shortcut",
    example={"element": "e12"},
    timeout=5.0,
)
def context_menu(
    *, app: AppName | None = None, element: ElementName, timeout: Seconds | None = None
) -> None:
    """Open the context menu of an element. Then find_element shows the items."""


@change_tool
def plan_scroll(session: UiSession, call: UiCall) -> ElementChange:
    """Bring an element into view, or scroll it by pages.

    Raises:
        UiError: It can neither be shown nor scrolled.
    """
    app = call.app
    element = call.resolve_element(session)
    pages = float(call.arguments.get("pages", 0))
    across = call.arguments.get("direction", "vertical") == "horizontal"

    def scroll_element(now: UiNode, seconds: float) -> Mapping[str, Any]:
        if not pages:
            if session.bridge.scroll_to(now.handle, seconds):
                return {"method": "action"}
            message = "This element cannot bring itself into view."
            guidance = "Scroll the list or area that contains it, by pages."
            raise UiError("NOT_SUPPORTED", message, guidance, reason="no_action")
        point_at(aim_at(session, app, element.now(now)))
        frame = session.read_node(app, now.handle, Detail.FRAME, seconds).frame
        size = (frame.width if across else frame.height) if frame else 300.0
        # A notch moves about three lines.
        notches = max(1, round(abs(pages) * size / _NOTCH)) * (1 if pages > 0 else -1)
        require_input_devices(session).turn_wheel(
            notches if across else 0, 0 if across else notches
        )
        return {"method": "pointer"}

    what = (
        f"scroll {describe_element(element, app)} by {pages:g} pages"
        if pages
        else (f"bring {describe_element(element, app)} into view")
    )
    return ElementChange(element, what, scroll_element, "pointer", more={"action": "scroll"})


@acting_tool(
    plan=plan_scroll,
    words="bottom down further into more page reveal scroll show top up view",
    example={"element": "e12", "pages": 1},
    timeout=5.0,
)
def scroll(
    *,
    app: AppName | None = None,
    element: ElementName,
    pages: Annotated[float, limits(minimum=-50, maximum=50)] | None = None,
    direction: Literal["vertical", "horizontal"] | None = None,
    timeout: Seconds | None = None,
) -> None:
    """Scroll an element into view, or scroll its contents by pages.

    Args:
        pages: Pages down or right; negative for up or left. Default: 0.
        direction: Default: vertical.
    """


_NOTCH: Final = 53.0
"""Pixels that a notch of the wheel moves, about; toolkits differ."""


@change_tool
def plan_drag(session: UiSession, call: UiCall) -> list[ElementChange]:
    """Drag an element onto another one, with the pointer."""
    app = call.app
    element = call.resolve_element(session)
    onto = call.resolve_element(session, "to", 1)

    def drag_pointer(now: UiNode, _seconds: float) -> None:
        hands = require_input_devices(session)
        end = aim_at(session, app, onto.now(now))
        start = aim_at(session, app, element)
        end()
        point_at(start)
        places = ((start.x, start.y), (end.x, end.y))
        hands.set_button("left", down=True)
        try:
            for step in range(1, _STEPS + 1):
                share = step / _STEPS
                x, y = (a + (b - a) * share for a, b in zip(places[0], places[1], strict=True))
                hands.move_pointer(x, y)
                time.sleep(_HOLD)
            end(carrying=True)
        except (UiError, UiFault):
            # Whoever lets go after that drops nothing.
            hands.press_stroke(_CANCEL)
            raise
        finally:
            hands.set_button("left", down=False)

    line = f"drag {describe_element(element, app)} onto {describe_element(onto, app)}"
    # The first is looked for again before anything moves, and does nothing itself.
    more = {"action": "drag"}
    return [
        ElementChange(element, line, lambda _node, _seconds: None, "pointer", words=("drag",)),
        ElementChange(onto, line, drag_pointer, "pointer", words=(element.node.title,), more=more),
    ]


@acting_tool(
    plan=plan_drag,
    words="drag drop mouse move onto order pointer reorder",
    example={"element": "e12", "to": "e15"},
    timeout=10.0,
)
def drag(
    *, app: AppName | None = None, element: ElementName, to: str, timeout: Seconds | None = None
) -> None:
    """Drag an element onto another element with the pointer.

    Args:
        to: The target: id or path of a visible element.
    """


@change_tool
def plan_place_window(session: UiSession, call: UiCall) -> ElementChange:
    """Raise, minimize, move or resize a window, and read back where it is then.

    Raises:
        UiError: Nothing is asked for, or several windows may be the one that is meant.
    """
    app, arguments = call.app, call.arguments
    element = call.resolve_element(session)
    number = screen_window(session, app, element.window).number
    position, size = arguments.get("position"), arguments.get("size")
    shown: str = arguments.get("show", "")
    if not (position or size or shown):
        raise UiError(
            "INVALID_PARAMETER",
            "place_window needs position, size or show.",
            "Give at least one of them.",
            reason="bad_value",
        )

    def arrange_window(_now: UiNode, seconds: float) -> Mapping[str, Any] | None:
        hands = require_input_devices(session)
        if position or size:
            frame = screen_window(session, app, element.window).frame
            told = _place_of(session, app, element.window, frame)
            x, y, width, height = frame
            if position:
                x, y = x + position["x"] - told.x, y + position["y"] - told.y
            if size:
                width += size["width"] - told.width
                height += size["height"] - told.height
            hands.place_window(number, Frame(x, y, max(width, 1), max(height, 1)))
        if shown == "raise":
            hands.raise_window(number)
        elif shown == "minimize":
            hands.minimize_window(number)
        end = time.monotonic() + min(seconds, _PLACED)
        while why := _misplaced(session, app, element.window, number, arguments):
            if time.monotonic() > end:
                return {"success": False, "notes": [why]}
            time.sleep(_LOOK)
        return None

    told = [shown] if shown else []
    told += ["move"] if position else []
    told += ["resize"] if size else []
    line = f"{' and '.join(told)} {describe_element(element, app)}"
    return ElementChange(element, line, arrange_window, "window", more={"action": ", ".join(told)})


@acting_tool(
    plan=plan_place_window,
    words="arrange bring focus front minimize move place position raise resize size window",
    example={"element": "e12", "show": "raise"},
    timeout=5.0,
)
def place_window(
    *,
    app: AppName | None = None,
    element: str,
    show: Literal["raise", "minimize"] | None = None,
    position: ScreenPoint | None = None,
    size: ScreenSize | None = None,
    timeout: Seconds | None = None,
) -> None:
    """Raise, minimize, move or resize a window.

    Args:
        element: The window: its id from list_windows, or its path.
        show: Bring it to the front, or minimize it.
        position: Top left corner, as in list_windows.
        size: Width and height, as in list_windows.
    """


_PLACED: Final = 1.0
"""Seconds that a window may take until it is where it is to be."""


def _place_of(session: UiSession, app: UiApp, node: UiNode, on_screen: Frame) -> Frame:
    """Return where a window is as answers say; `held` is where its content is on the screen."""
    frame = session.read_node(app, node.handle, Detail.FRAME, _LOOK_SECONDS).frame
    # GTK 4 does not say where its windows are.
    return on_screen if frame is None or (frame.x, frame.y) == (0, 0) else frame


def _misplaced(
    session: UiSession, app: UiApp, node: UiNode, number: int, asked: Mapping[str, Any]
) -> str:
    """Return how a window stands otherwise than was asked for; empty where it does not."""
    hands = require_input_devices(session)
    window = next((one for one in hands.list_windows() if one.number == number), None)
    if asked.get("show") == "minimize":
        return "" if window is None or window.minimized else "The window was not minimized."
    front = hands.front_window()
    if asked.get("show") == "raise" and (front is None or front.number != number):
        return "The window did not come to the front."
    if window is None:
        return "The window is gone."
    place = _place_of(session, app, node, window.frame)._asdict()
    wanted = {**asked.get("position", {}), **asked.get("size", {})}
    if all(abs(place[name] - value) <= 1 for name, value in wanted.items()):
        return ""
    return (
        "The window is now at {x:g}, {y:g} with size {width:g} x {height:g}, not as asked. The app"
        " or the window manager may limit it."
    ).format(**place)


_LOOK: Final = 0.1
_LOOK_SECONDS: Final = 2.0
