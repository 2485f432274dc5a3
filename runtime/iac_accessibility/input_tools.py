"""The tools that give keys, text and pointer to an element, and place windows."""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Final, Literal

from iac_accessibility.arguments import (
    ChangeDone,
    ElementName,
    ScreenPoint,
    ScreenSize,
    UiCall,
)
from iac_accessibility.bridge import Stroke, parse_stroke, stroke_effect, wait_until
from iac_accessibility.deliver import ElementChange, check_enabled
from iac_accessibility.element_identity import ElementFound
from iac_accessibility.errors import UiError
from iac_accessibility.locate import path_of
from iac_accessibility.model import TEXT_ROLES, Frame, UiFault, is_screen
from iac_accessibility.risk import holds_secret, return_does
from iac_accessibility.target import (
    ESCAPE,
    UNREAD,
    Target,
    find_screen_window,
    find_target,
    is_readable,
    moved_error,
    open_devices,
)
from iac_accessibility.toolset import acting_tool
from iac_base.errors import quote_text
from iac_base.text import escape_hidden
from iac_runtime.tool import limits

_FOCUS_SECONDS: Final = 1.0
_HOLD: Final = 0.03
_STEPS: Final = 8
"""Points on the way of a drag; apps take fewer for a click."""

_NOTCH: Final = 53.0
"""Pixels that a notch of the wheel moves, about; toolkits differ."""

_PLACED: Final = 1.0
"""Seconds that a window may take until it is where it is to be."""

_UNKNOWN: Final = "does something that cannot be known beforehand"


@acting_tool(
    words="arrow combination confirm dismiss enter escape hotkey key keyboard keys modal return"
    " shortcut tab",
    example={"app": "TextEdit", "keys": ["cmd+s"]},
)
def press_keys(
    call: UiCall,
    keys: Annotated[list[str], limits(minItems=1, maxItems=50)],
    element: ElementName | None = None,
) -> ElementChange:
    """Press keys or combinations in order, in an element or where the app has the keyboard focus.
    Works even while a dialog blocks the app.

    Args:
        keys: Such as ctrl+shift+s, Escape, Return, Down, F5, a.
    """
    strokes = [*map(parse_stroke, keys)]
    open_devices(call.session)
    target = find_target(call, element) if element else _keyboard_target(call)
    secret = holds_secret(target.node)
    named = " ".join("[secret]" if secret and one.is_character else one.text for one in strokes)

    def send_strokes(now: Target) -> Mapping[str, Any]:
        read = is_readable(now.node)
        given = now.press_strokes(strokes, now.take_keyboard(), read=read)
        typed = any(one.is_character for one in strokes)
        return {"keys": given, **({"notes": [UNREAD]} if typed and not read else {})}

    return ElementChange(
        target,
        f"press {escape_hidden(named)} in {target.name}",
        send_strokes,
        "keys",
        words=tuple(stroke.text for stroke in strokes),
        does=next(filter(None, (_stroke_effect_at(one, target.found) for one in strokes)), ""),
        more={"action": named},
    )


def _stroke_effect_at(stroke: Stroke, element: ElementFound) -> str:
    """Return what a combination does where the keyboard is."""
    node = element.node
    if is_screen(node.handle) and stroke.key != "escape":
        return _UNKNOWN
    if stroke.key == "return" and not stroke.modifiers - {"shift"}:
        return return_does(element.way)
    in_text = node.role in TEXT_ROLES or "editable" in node.states
    return stroke_effect(stroke, in_text=in_text)


def _keyboard_target(call: UiCall) -> Target:
    """Return the element that has the app's keyboard; its window where the app does not say."""
    app, session = call.app, call.session
    element: ElementFound | None = None
    with suppress(UiFault):
        if handle := session.bridge.focused_element(app, _FOCUS_SECONDS):
            element = path_of(session.bridge, app, handle, seconds=_FOCUS_SECONDS)
            session.memory.remember_element(app, element)
    return Target(session, app, element or find_screen_window(session, app), call.seconds)


@acting_tool(
    answer=ChangeDone,
    words="append enter field input insert keyboard paste text type typing words write",
    example={"element": "e12", "text": "Grüße aus 山田"},
    timeout=10.0,
)
def type_text(call: UiCall, element: ElementName, text: str) -> ElementChange:
    """Add text in any language at the end of an element, all of it or nothing. It is set directly,
    pasted (the clipboard is restored) or typed."""
    target = find_target(call, element)
    node = target.node
    check_enabled(node)
    if node.role not in {*TEXT_ROLES, "terminal"} and "editable" not in node.states:
        message = f"{target.name} does not accept text."
        guidance = "Use a text field, or press_keys."
        raise UiError("NOT_SUPPORTED", message, guidance, reason="not_settable")
    shown = "a secret" if holds_secret(node) else quote_text(escape_hidden(text), 200)
    line = f"type {shown} into {target.name}"
    return ElementChange(target, line, lambda now: now.put_text(text, whole=False), "value")


@acting_tool(
    words="button context double doubleclick hit menu mouse open picture point pointer popup right"
    " rightclick secondary shortcut tap",
    example={"element": "e12", "count": 2},
)
def click(
    call: UiCall,
    element: ElementName,
    button: Literal["left", "middle", "right"] = "left",
    count: Annotated[int, limits(minimum=1, maximum=3)] = 1,
    point: ScreenPoint | None = None,
) -> ElementChange:
    """Click an element, or open its context menu with the right button. A single click uses the
    element's own action; others move the pointer to its middle, or to a point.

    Args:
        count: 2 for a double click.
        point: From the element's top left corner.
    """
    target = find_target(call, element)
    single = count == 1 and point is None
    how = {1: "click", 2: "double-click", 3: "triple-click"}[count]
    if button != "left":
        how = f"{button}-{how}"
    if button != "right":
        check_enabled(target.node)
    line = f"{how} {target.name}" + (f" at {point['x']:g}, {point['y']:g}" if point else "")
    if single and button == "right" and target.own_action("show_menu"):
        line = f"open the menu of {target.name}"
        more = {"action": "show_menu"}
        return ElementChange(
            target, line, lambda now: now.perform("show_menu"), action="show_menu", more=more
        )
    own = target.own_action("press", "toggle") if single and button == "left" else ""
    if single and button == "left" and target.node.role == "tab" and len(target.found.way) > 1:
        return ElementChange(target, line, Target.show_tab, action=own)
    more = {"action": how}
    if own:
        return ElementChange(
            target, line, lambda now: now.press(own), action=own, words=(own,), more=more
        )
    hit = target.elements_at(point)

    def click_pointer(now: Target) -> Mapping[str, Any]:
        aim = now.aim(point)
        if now.elements_at(point) != hit:
            raise moved_error()
        return now.click(button, count, aim)

    # What is clicked is what lies there, not what it lies in.
    does = _UNKNOWN if is_screen(target.node.handle) else ""
    words = (how, *(text for _, text in hit))
    return ElementChange(target, line, click_pointer, "pointer", words=words, more=more, does=does)


@acting_tool(
    words="bottom down further into more page reveal scroll show top up view",
    example={"element": "e12", "pages": 1},
)
def scroll(
    call: UiCall,
    element: ElementName,
    pages: Annotated[float, limits(minimum=-50, maximum=50)] = 0,
    direction: Literal["vertical", "horizontal"] = "vertical",
) -> ElementChange:
    """Scroll an element into view, or scroll its contents by pages.

    Args:
        pages: Down or right; negative for up or left.
    """
    target, across = find_target(call, element), direction == "horizontal"

    def scroll_element(now: Target) -> Mapping[str, Any]:
        if pages:
            now.point_at(now.aim())
            frame = now.read(now.node.handle).frame
            size = (frame.width if across else frame.height) if frame else 300.0
            # A notch moves about three lines.
            notches = max(1, round(abs(pages) * size / _NOTCH)) * (1 if pages > 0 else -1)
            now.devices.turn_wheel(*((notches, 0) if across else (0, notches)))
            return {"method": "pointer"}
        if now.bridge.scroll_to(now.node.handle, now.seconds):
            return {"method": "action"}
        message = "This element cannot bring itself into view."
        guidance = "Scroll the list or area that contains it, by pages."
        raise UiError("NOT_SUPPORTED", message, guidance, reason="no_action")

    line = f"scroll {target.name} by {pages:g} pages" if pages else f"bring {target.name} into view"
    return ElementChange(target, line, scroll_element, "pointer", more={"action": "scroll"})


@acting_tool(
    words="drag drop mouse move onto order pointer reorder",
    example={"element": "e12", "to": "e15"},
    timeout=10.0,
)
def drag(call: UiCall, element: ElementName, to: str) -> list[ElementChange]:
    """Drag an element onto another visible element with the pointer.

    Args:
        to: Id or path of the other.
    """
    target, onto = find_target(call, element), find_target(call, to, 1)
    found: list[Target] = []

    def drag_pointer(now: Target) -> None:
        devices = now.devices
        end = now.aim()
        start = found[0].aim()
        now.check_point(end)
        found[0].point_at(start)
        devices.set_button("left", down=True)
        try:
            for step in range(1, _STEPS + 1):
                share = step / _STEPS
                x, y = start.x + (end.x - start.x) * share, start.y + (end.y - start.y) * share
                devices.move_pointer(x, y)
                time.sleep(_HOLD)
            now.check_point(end, carrying=True)
        except (UiError, UiFault):
            # Whoever lets go after that drops nothing.
            devices.press_stroke(ESCAPE)
            raise
        finally:
            devices.set_button("left", down=False)

    line = f"drag {target.name} onto {onto.name}"
    # The first is looked for again before anything moves, and does nothing itself.
    more, words = {"action": "drag"}, (target.node.title,)
    return [
        ElementChange(target, line, found.append, "pointer", words=("drag",)),
        ElementChange(onto, line, drag_pointer, "pointer", words=words, more=more),
    ]


@acting_tool(
    words="arrange bring focus front minimize move place position raise resize size window",
    example={"element": "e12", "show": "raise"},
)
def place_window(
    call: UiCall,
    element: ElementName,
    show: Literal["raise", "minimize"] | None = None,
    position: ScreenPoint | None = None,
    size: ScreenSize | None = None,
) -> ElementChange:
    """Raise, minimize, move or resize a window. Ids and positions are as in list_windows.

    Args:
        position: Top left corner.
    """
    target = find_target(call, element)
    number = target.screen_window().number
    wanted: dict[str, Any] = {**(position or {}), **(size or {})}
    parts = ((show or "", show), ("move", position), ("resize", size))
    told = [part for part, given in parts if given]
    if not told:
        message = "place_window needs position, size or show."
        guidance = "Give at least one of them."
        raise UiError("INVALID_PARAMETER", message, guidance, reason="bad_value")

    def arrange_window(now: Target) -> Mapping[str, Any] | None:
        if wanted:
            frame = now.screen_window().frame
            here = _told_frame(now, frame)
            # What an app tells of its place leaves out what is around its content.
            x, y, width, height = (
                a + wanted.get(key, b) - b for a, (key, b) in zip(frame, here.items(), strict=True)
            )
            now.devices.place_window(number, Frame(x, y, max(width, 1), max(height, 1)))
        if show == "raise":
            now.devices.raise_window(number)
        elif show == "minimize":
            now.devices.minimize_window(number)
        if wait_until(lambda: not _misplaced(now, number, show, wanted), _PLACED, 0.1):
            return None
        return {"success": False, "notes": [_misplaced(now, number, show, wanted)]}

    line = f"{' and '.join(told)} {target.name}"
    return ElementChange(target, line, arrange_window, "window", more={"action": ", ".join(told)})


def _told_frame(target: Target, on_screen: Frame) -> dict[str, float]:
    """Return where a window is as answers say; `on_screen` is where its content is there."""
    frame = target.read(target.found.window.handle).frame
    # GTK 4 does not say where its windows are.
    told = on_screen if frame is None or (frame.x, frame.y) == (0, 0) else frame
    return told._asdict()


def _misplaced(target: Target, number: int, shown: str | None, wanted: Mapping[str, float]) -> str:
    """Return how a window stands otherwise than was asked for; empty where it does not."""
    devices = target.devices
    window = next((one for one in devices.list_windows() if one.number == number), None)
    if shown == "minimize":
        return "" if window is None or window.minimized else "The window was not minimized."
    front = devices.front_window()
    if shown == "raise" and (front is None or front.number != number):
        return "The window did not come to the front."
    if window is None:
        return "The window is gone."
    place = _told_frame(target, window.frame)
    if all(abs(place[name] - value) <= 1 for name, value in wanted.items()):
        return ""
    return (
        "The window is now at {x:g}, {y:g} with size {width:g} x {height:g}, not as asked. The app"
        " or the window manager may limit it."
    ).format(**place)
