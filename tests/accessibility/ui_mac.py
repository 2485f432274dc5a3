"""A look-alike of the Mac's frameworks over the apps of a Linux desktop.

Names, values and the shape of every call are those of PyObjC's wheels (`ui_pyobjc`); behind them
are real apps, through AT-SPI. What the wheels say nothing of (selectors that answer with objects)
is written as Apple's documents have it, and only a Mac can confirm it.
"""

import time
import types
from typing import Any, NamedTuple

from ui_pyobjc import Framework

from iac_accessibility.atspi.bridge import AtspiBridge
from iac_accessibility.bridge import parse_stroke
from iac_accessibility.model import (
    ALIVE_CHANGES,
    AccessDenied,
    AppNotResponding,
    Detail,
    ElementGone,
    Handle,
    UiApp,
    UiFault,
    UiNode,
    Unsupported,
)

ALL = (
    Detail.CHILDREN
    | Detail.VALUE
    | Detail.IDENTIFIER
    | Detail.FRAME
    | Detail.ACTIONS
    | Detail.DESCRIPTION
)
KEYS = {"return": 36, "tab": 48, "delete": 117, "escape": 53, "down": 125}
LAYOUT = dict(enumerate("qwertyuiopasdfghjklzxcvbnm", 1))
"""A layout on which no letter is where the tables of a US keyboard have it."""

_ROLES = {
    "secure_text_field": ("AXTextField", "AXSecureTextField"), "dialog": ("AXWindow", "AXDialog"),
    "alert": ("AXWindow", "AXDialog"), "window": ("AXWindow", "AXStandardWindow"),
    "toggle_button": ("AXCheckBox", "AXToggle"),
}  # fmt: skip
_CHANGES = {
    "AXValueChanged": "value_changed", "AXTitleChanged": "title_changed",
    "AXFocusedUIElementChanged": "focus_changed", "AXWindowCreated": "window_created",
    "AXUIElementDestroyed": "window_closed",
}  # fmt: skip


def _camel(name: str) -> str:
    return "AX" + "".join(part.capitalize() for part in name.split("_"))


class Element(NamedTuple):
    """An AXUIElement."""

    pid: int
    handle: Handle


class AXValueRef:
    """An AXValue: its type, and what it holds."""

    def __init__(self, kind: int, held: Any) -> None:
        self.kind = kind
        self.held = held


class Pair(NamedTuple):
    """A CGPoint."""

    x: float
    y: float


class Extent(NamedTuple):
    """A CGSize."""

    width: float
    height: float


class Mac:
    """The Mac that is played: its apps are those of a bridge to AT-SPI."""

    def __init__(self, bridge: AtspiBridge, frameworks: dict[str, Framework]) -> None:
        self.bridge = bridge
        self.frameworks = frameworks
        self.ax = frameworks["HIServices"].values
        self.trusted = True
        self.known: dict[int, UiApp] = {}
        self.timeouts: dict[Element, float] = {}
        self.typed: list[str] = []
        self.watches: dict[Any, Any] = {}
        self.holder = 0

    def activated(self, _pid: int) -> None:
        """The window manager of the desktop decides."""

    def apps(self) -> list[UiApp]:
        return self.bridge.running_apps(2.0)

    def app(self, pid: int) -> UiApp:
        known = self.known.get(pid)
        if known is not None and self.bridge.is_alive(known):
            return known
        for app in self.apps():
            if app.pid == pid:
                self.known[pid] = app
                return app
        raise ElementGone("no such process")

    def seconds(self, element: Element) -> float:
        return self.timeouts.get(element, 6.0)

    def node(self, element: Element, want: Detail = ALL) -> UiNode:
        if not self.trusted:
            raise AccessDenied("not trusted")
        app = self.app(element.pid) if element.handle is None else None
        handle = app.key if app else element.handle
        # What an unknown app holds is hidden by whoever reads this Mac, not by what plays it.
        asked = app or UiApp(0, "", "local.played", 0.0)
        reader = self.bridge.open_reader(asked, whole=False, timeout=1.0)
        answer = reader.read([handle], want, self.seconds(element))[0]
        if isinstance(answer, UiFault):
            raise answer
        return answer

    def attribute(self, element: Element, name: str, node: UiNode | None = None) -> Any:
        if element == (0, None):
            front = next((app.pid for app in self.apps() if app.frontmost), None)
            if name != "AXFocusedApplication" or front is None:
                raise Unsupported(name)
            return Element(front, None)
        node = node or self.node(element)
        if element.handle is None:
            return self.of_app(element, node, name)
        if name == "AXNumberOfCharacters":
            return self.bridge.read_text(element.handle, 0, 0, 1.0)[1]
        role, subrole = _ROLES.get(node.role, (_camel(node.role), None))
        wrap = [Element(element.pid, child) for child in node.children]
        held: dict[str, Any] = {
            "AXRole": role, "AXSubrole": subrole, "AXTitle": node.title,
            "AXDescription": node.description, "AXIdentifier": node.identifier,
            "AXEnabled": "enabled" in node.states, "AXFocused": "focused" in node.states,
            "AXMinimized": "minimized" in node.states, "AXMain": "active" in node.states,
            "AXModal": "modal" in node.states, "AXHidden": not node.is_visible,
            "AXValue": node.value, "AXChildren": wrap,
        }  # fmt: skip
        if node.frame and name in ("AXPosition", "AXSize"):
            x, y, width, height = node.frame
            point, size = self.ax["kAXValueTypeCGPoint"], self.ax["kAXValueTypeCGSize"]
            held["AXPosition"] = AXValueRef(point, Pair(x, y))
            held["AXSize"] = AXValueRef(size, Extent(width, height))
        if name in ("AXMinValue", "AXMaxValue"):
            takes = self.bridge.accepted_value(element.handle, 1.0)
            held |= {"AXMinValue": takes.minimum, "AXMaxValue": takes.maximum}
        if name == "AXParent":
            way = self.bridge.ancestor_handles(self.app(element.pid), element.handle, 1.0)
            held[name] = Element(element.pid, way[-2] if len(way) > 1 else None)
        if name == "AXDefaultButton":
            held[name] = self.default_button(element)
        if held.get(name) is None:
            raise Unsupported(name)
        return held[name]

    def of_app(self, element: Element, node: UiNode, name: str) -> Any:
        windows = [Element(element.pid, child) for child in node.children]
        if name == "AXFocusedUIElement":
            found = self.bridge.focused_element(self.app(element.pid), 1.0)
            if found is None:
                raise Unsupported(name)
            return Element(element.pid, found)
        held = {"AXRole": "AXApplication", "AXWindows": windows, "AXChildren": windows}
        if name not in held:
            raise Unsupported(name)
        return held[name]

    def default_button(self, element: Element) -> Any:
        level = [element]
        while level:
            below: list[Element] = []
            for one in level:
                node = self.node(one, Detail.CHILDREN)
                if "default" in node.states:
                    return one
                below += [Element(one.pid, child) for child in node.children]
            level = below
        return None

    def error(self, fault: UiFault) -> int:
        name = {
            ElementGone: "kAXErrorInvalidUIElement",
            AppNotResponding: "kAXErrorCannotComplete",
            Unsupported: "kAXErrorAttributeUnsupported",
            AccessDenied: "kAXErrorAPIDisabled",
        }.get(type(fault), "kAXErrorFailure")
        return int(self.ax[name])

    # The functions of HIServices, by their names.

    def AXIsProcessTrusted(self) -> bool:  # noqa: N802
        return self.trusted

    def AXIsProcessTrustedWithOptions(self, _options: dict[Any, Any]) -> bool:  # noqa: N802
        return self.trusted

    def AXUIElementGetPid(self, element: Element, _: None) -> Any:  # noqa: N802
        return 0, element.pid

    def AXUIElementCopyElementAtPosition(self, _: Element, x: float, y: float, __: None) -> Any:  # noqa: N802
        front = Element(next(app.pid for app in self.apps() if app.frontmost), None)
        window = self.node(front).children[0]
        return 0, front._replace(handle=self.bridge.element_at(window, x, y, 1.0))

    def AXValueCreate(self, kind: int, held: Any) -> AXValueRef:  # noqa: N802
        return AXValueRef(kind, held)

    def CFRangeMake(self, start: int, count: int) -> tuple[int, int]:  # noqa: N802
        return start, count

    def CGWindowListCopyWindowInfo(self, _option: int, _window: int) -> list[dict[str, Any]]:  # noqa: N802
        order = sorted(self.apps(), key=lambda app: not app.frontmost)
        bounds = {"X": 0.0, "Y": 0.0, "Width": 100.0, "Height": 100.0}
        return [
            {
                "kCGWindowOwnerPID": app.pid, "kCGWindowNumber": app.pid, "kCGWindowLayer": 0,
                "kCGWindowName": "", "kCGWindowBounds": bounds,
            }
            for app in order
        ]  # fmt: skip

    def AXUIElementCopyParameterizedAttributeValue(  # noqa: N802
        self, element: Element, _name: str, part: AXValueRef, _: None
    ) -> Any:
        start, count = part.held
        return 0, self.bridge.read_text(element.handle, start, count, 1.0)[0]

    def AXUIElementCreateSystemWide(self) -> Element:  # noqa: N802
        return Element(0, None)

    def AXUIElementCreateApplication(self, pid: int) -> Element:  # noqa: N802
        return Element(pid, None)

    def AXUIElementSetMessagingTimeout(self, element: Element, seconds: float) -> int:  # noqa: N802
        self.timeouts[element] = seconds
        return 0

    def AXUIElementCopyAttributeValue(self, element: Element, name: str, _: None) -> Any:  # noqa: N802
        try:
            return 0, self.attribute(element, name)
        except UiFault as fault:
            return self.error(fault), None

    def AXUIElementCopyAttributeValues(  # noqa: N802
        self, element: Element, name: str, start: int, most: int, _: None
    ) -> Any:
        try:
            return 0, self.attribute(element, name)[start : start + most]
        except UiFault as fault:
            return self.error(fault), None

    def AXUIElementGetAttributeValueCount(self, element: Element, name: str, _: None) -> Any:  # noqa: N802
        return 0, len(self.attribute(element, name))

    def AXUIElementCopyMultipleAttributeValues(  # noqa: N802
        self, element: Element, names: list[str], _options: int, _: None
    ) -> Any:
        values: list[Any] = []
        try:
            node = self.node(element)
        except UiFault as fault:
            return self.error(fault), None
        for name in names:
            try:
                values.append(self.attribute(element, name, node))
            except Unsupported as fault:
                values.append(AXValueRef(self.ax["kAXValueTypeAXError"], self.error(fault)))
            except UiFault as fault:
                return self.error(fault), None
        return 0, values

    def AXUIElementCopyActionNames(self, element: Element, _: None) -> Any:  # noqa: N802
        try:
            return 0, [_camel(name) for name in self.node(element).actions]
        except UiFault as fault:
            return self.error(fault), None

    def AXUIElementPerformAction(self, element: Element, name: str) -> int:  # noqa: N802
        from iac_accessibility.model import action_name

        try:
            self.bridge.perform_action(element.handle, action_name(name), self.seconds(element))
        except UiFault as fault:
            return self.error(fault)
        return 0

    def AXUIElementIsAttributeSettable(self, element: Element, _name: str, _: None) -> Any:  # noqa: N802
        try:
            return 0, self.bridge.accepted_value(element.handle, 1.0).kind is not None
        except UiFault as fault:
            return self.error(fault), False

    def AXUIElementSetAttributeValue(self, element: Element, name: str, value: Any) -> int:  # noqa: N802
        try:
            if name == "AXFocused":
                from iac_accessibility.atspi.reading import method_call

                self.bridge._bus.call(method_call(element.handle, "Component", "GrabFocus"), 1.0)
            elif element.handle is None:
                self.bridge.request_tree(self.app(element.pid))
                return int(self.ax["kAXErrorAttributeUnsupported"])
            else:
                self.bridge.set_value(element.handle, value, self.seconds(element))
        except UiFault as fault:
            return self.error(fault)
        return 0

    def AXValueGetType(self, value: AXValueRef) -> int:  # noqa: N802
        return value.kind

    def AXValueGetValue(self, value: AXValueRef, kind: int, _: None) -> Any:  # noqa: N802
        return (True, value.held) if value.kind == kind else (False, None)

    def AXObserverCreate(self, pid: int, callback: Any, _: None) -> Any:  # noqa: N802
        return 0, types.SimpleNamespace(pid=pid, callback=callback, names=[], watch=None)

    def AXObserverAddNotification(  # noqa: N802
        self, observer: Any, _element: Element, name: str, _refcon: None
    ) -> int:
        observer.names.append(name)
        return 0

    def AXObserverGetRunLoopSource(self, observer: Any) -> Any:  # noqa: N802
        return observer

    # Run loops.

    def CFRunLoopGetCurrent(self) -> Any:  # noqa: N802
        return types.SimpleNamespace()

    def CFRunLoopAddSource(self, _loop: Any, source: Any, _mode: str) -> None:  # noqa: N802
        source.watch = self.bridge.watch_changes(self.app(source.pid), ALIVE_CHANGES)
        self.watches[id(source)] = source

    def CFRunLoopRemoveSource(self, _loop: Any, source: Any, _mode: str) -> None:  # noqa: N802
        self.watches.pop(id(source)).watch.close()

    def CFRunLoopRunInMode(self, _mode: str, seconds: float, _one: bool) -> int:  # noqa: N802
        for source in list(self.watches.values()):
            for change in source.watch.wait_for_changes(seconds):
                for name in source.names:
                    if _CHANGES.get(name) == change.kind:
                        source.callback(source, Element(source.pid, change.handle), name, None)
        if not self.watches:
            time.sleep(seconds)
        return 0

    # Keys.

    def CGEventCreateKeyboardEvent(self, _source: None, key: int, down: bool) -> Any:  # noqa: N802
        return types.SimpleNamespace(key=key, down=down, flags=0, text=None)

    def CGEventSetFlags(self, event: Any, flags: int) -> None:  # noqa: N802
        event.flags = flags

    def CGEventKeyboardSetUnicodeString(self, event: Any, length: int, text: str) -> None:  # noqa: N802
        assert length == len(text.encode("utf-16-le")) // 2 <= 20
        event.text = text

    def CGEventPostToPid(self, pid: int, event: Any) -> None:  # noqa: N802
        if not event.down:
            return
        hands = self.bridge.input_devices
        names = {code: name for name, code in KEYS.items()}
        held = "ctrl+" if event.flags & 0x100000 else ""
        if event.text is not None:
            self.typed.append(event.text)
            hands.type_text(event.text, lambda: None)
        else:
            key = names.get(event.key) or LAYOUT[event.key]
            hands.press_stroke(parse_stroke({"ctrl+down": "ctrl+end"}.get(held + key, held + key)))

    def CGEventKeyboardGetUnicodeString(  # noqa: N802
        self, event: Any, _most: int, _count: None, _text: None
    ) -> tuple[int, str]:
        typed = LAYOUT.get(event.key, "")
        return len(typed), typed.upper() if event.flags else typed

    def CGEventSourceFlagsState(self, _state: int) -> int:  # noqa: N802
        return 0
