"""The bridge to AT-SPI2."""

import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from iac_accessibility.atspi.apps import (
    APPS,
    REGISTRY,
    ScreenReader,
    has_terminal,
    is_installed,
    process_start_time,
    program_identity,
    program_names,
    read_registered_apps,
)
from iac_accessibility.atspi.events import AtspiWatch
from iac_accessibility.atspi.nodes import (
    ATSPI,
    NO_NODE,
    PROPERTIES,
    ROLES,
    ROOT_PATH,
    ElementItem,
    has_state,
    method_call,
    property_call,
    role_of,
    state_bits,
    states_of,
)
from iac_accessibility.atspi.reading import AtspiReader, action_names, read_cached_elements
from iac_accessibility.atspi.wire import BusCall, ConnectionPool
from iac_accessibility.bridge import ElementReader, parse_stroke, read_one, time_left
from iac_accessibility.model import (
    SCREEN,
    TEXT_MARGIN,
    AcceptedValue,
    ActionFailed,
    AppNotResponding,
    ChangeKind,
    Detail,
    ElementGone,
    Frame,
    Handle,
    ScreenPicture,
    UiApp,
    UiFault,
    UiNode,
    Unsupported,
    action_name,
    clean_foreign_text,
    clean_text_part,
    is_screen,
    takes_typing,
)
from iac_accessibility.risk import hidden_in

if TYPE_CHECKING:
    # Imported where keys are first given: it needs a library of its own.
    from iac_accessibility.atspi.x11 import XDisplay

_BUS_SECONDS: Final = 5.0
_MAX_DEPTH: Final = 200
_FOCUS_LIMIT: Final = 5_000
_FEW: Final = 30
_LEVELS: Final = 60
_MANY: Final = 200
"""Children of which a toolkit is asked which one it is, instead of each where it is."""

_SETTLE: Final = 0.03
_ASKS: Final = 10
_ANYWHERE: Final = 6
"""ScrollType: wherever the element comes into view."""


class AtspiBridge:
    """Apps on the accessibility bus of this session.

    Args:
        session: Address of the session bus; the environment's own where it is left out.
        display: Name of the X display, likewise.

    Raises:
        Silent: There is no session bus, or no accessibility bus on it.
    """

    free = Detail.NOTHING
    select_all_keys = parse_stroke("ctrl+a")
    text_end_keys = parse_stroke("ctrl+end")

    def __init__(self, session: str = "SESSION", display: str | None = None) -> None:
        self._display_name = display
        self._hands: XDisplay | None = None
        self._session = ConnectionPool(session, 1)
        self._bus = ConnectionPool(self._accessibility_address())
        self._cache: ConnectionPool | None = None
        self._caching = Lock()
        # Browsers and Qt apps register only where somebody is there to read them.
        self._set_status("IsEnabled")

    def _accessibility_address(self) -> str:
        call = BusCall("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress")
        try:
            address: str = self._session.call(call, _BUS_SECONDS)[0]
        except UiFault as fault:
            raise AppNotResponding(str(fault)) from None
        return address

    def _set_status(self, name: str) -> None:
        body = ("org.a11y.Status", name, ("b", True))
        path = "/org/a11y/bus"
        self._session.call(BusCall("org.a11y.Bus", path, PROPERTIES, "Set", "ssv", body), 1.0)

    def close(self) -> None:
        """Close all connections."""
        if self._hands is not None:
            self._hands.close()
        self._leave_cache()
        self._session.close()
        self._bus.close()

    def running_apps(self, timeout: float) -> list[UiApp]:
        """Return the apps that are registered, and those that show windows but no tree."""
        apps = read_registered_apps(self._bus, timeout)
        known = {app.pid for app in apps}
        try:
            hands = self.input_devices
            shown = dict.fromkeys(hands.window_pids())
        except UiFault:
            return apps
        for pid in shown.keys() - known - {0}:
            began = process_start_time(pid)
            if began is not None:
                names = program_names(pid)
                named = clean_foreign_text(names[0]) if names else str(pid)
                key = (SCREEN, str(pid))
                apps.append(
                    UiApp(pid, named, program_identity(pid), began, hands.is_front(pid), key)
                )
        return apps

    def is_installed(self, name: str) -> bool:
        """Say whether a program or desktop file of that name is there."""
        return is_installed(name)

    def is_alive(self, app: UiApp) -> bool:
        """Say whether the process still runs, and runs the program that it ran."""
        return process_start_time(app.pid) == app.started and program_identity(app.pid) == app.id

    def app_element(self, app: UiApp, timeout: float) -> Handle:
        """Return the app's own element, having asked it for its role."""
        if is_screen(app.key):
            return app.key
        self._bus.call(method_call(app.key, "Accessible", "GetRole"), timeout)
        return app.key

    def open_reader(self, app: UiApp, *, whole: bool, timeout: float) -> ElementReader:
        """Return a reader; with `whole` it holds what the toolkit hands out at once."""
        if is_screen(app.key):
            return ScreenReader(self.input_devices)
        if not whole:
            return AtspiReader(self._bus, {}, hides=hidden_in(app.id))
        bus: Any = app.key
        items = self._read_cache(bus[0], timeout)
        return AtspiReader(self._bus, items, hides=hidden_in(app.id))

    def _read_cache(self, bus: str, timeout: float) -> dict[Handle, ElementItem]:
        """Return what a toolkit hands out at once, over a connection that acts do not use.

        GTK does so only after somebody listens for changes of children.
        """
        with self._caching:
            if self._cache is None:
                self._cache = ConnectionPool(self._bus.address, 1)
            cache = self._cache
        call = BusCall(
            *(REGISTRY, "/org/a11y/atspi/registry", REGISTRY, "RegisterEvent", "sass"),
            ("object:children-changed", [], ""),
        )
        try:
            cache.call(call, timeout)
        except UiFault:
            return {}
        return read_cached_elements(cache, bus, timeout)

    def _leave_cache(self) -> None:
        """End the connection that reads at once.

        GTK 3 tells whoever has its cache of every key, and waits for an answer. In a dialog that
        an action runs it never gets one, and hangs for good.
        """
        with self._caching:
            cache, self._cache = self._cache, None
        if cache is not None:
            cache.close()

    def ancestor_handles(self, app: UiApp, handle: Handle, timeout: float) -> list[Handle]:
        """Return the way from the window to the element."""
        if is_screen(handle):
            return [handle]
        end = time.monotonic() + timeout
        way = [handle]
        while len(way) < _MAX_DEPTH:
            try:
                call = property_call(way[-1], "Accessible", "Parent")
                answer = self._bus.call(call, time_left(end, 0.0))
            except Unsupported as fault:
                # GTK 3 keeps the place of what it destroyed for a while, with nothing there.
                raise ElementGone(str(fault)) from None
            parent = tuple(answer[0][1])
            if parent == app.key or parent == APPS or parent in way:
                break
            way.append(parent)
        return way[::-1]

    def focused_element(self, app: UiApp, timeout: float) -> Handle | None:
        """Return the innermost element with the keyboard, looked for in the active window."""
        if is_screen(app.key):
            return None
        end = time.monotonic() + timeout
        reader = self.open_reader(app, whole=True, timeout=timeout)
        level: list[Handle] = [app.key]
        focused: Handle | None = None
        seen: set[Handle] = set(level)
        while level and len(seen) < _FOCUS_LIMIT:
            left = end - time.monotonic()
            if left <= 0:
                raise AppNotResponding("the focus was not found in time")
            below: list[Handle] = []
            for node in reader.read(level, Detail.CHILDREN, left):
                if not isinstance(node, UiNode) or (node.handle != app.key and not node.is_visible):
                    continue
                if "focused" in node.states:
                    focused = node.handle
                below += node.children
            level = [handle for handle in below if handle not in seen]
            seen.update(level)
        return focused

    def read_children(
        self, handle: Handle, start: int, most: int, timeout: float
    ) -> tuple[list[Handle], int]:
        """Return children from a number on, one call each: a long list of all takes seconds."""
        (count,) = self._bus.call(property_call(handle, "Accessible", "ChildCount"), timeout)
        total = max(int(count[1]), 0)
        places = range(start, min(start + most, total))
        calls = [method_call(handle, "Accessible", "GetChildAtIndex", "i", at) for at in places]
        answers = self._bus.call_all(calls, timeout)
        references = [tuple(one[0]) for one in answers if not isinstance(one, UiFault)]
        return [ref for ref in references if ref[1] != NO_NODE], total

    def read_text(self, handle: Handle, start: int, most: int, timeout: float) -> tuple[str, int]:
        """Return a part of a text; Qt hands out nothing where more is asked for than there is."""
        (count,) = self._bus.call(property_call(handle, "Text", "CharacterCount"), timeout)
        total = max(int(count[1]), 0)
        end = min(start + most, total)
        if start >= end:
            return "", total
        first, last = max(start - TEXT_MARGIN, 0), min(end + TEXT_MARGIN, total)
        (text,) = self._bus.call(method_call(handle, "Text", "GetText", "ii", first, last), timeout)
        return clean_text_part(text, start - first, end - first).replace("\ufffc", ""), total

    def take_picture(self, app: UiApp, frame: Frame, timeout: float) -> ScreenPicture:  # noqa: ARG002
        """Return what the X server shows there; it answers at once."""
        # Needed for pictures only, and not light.
        from iac_accessibility.atspi.x11 import capture_window

        return capture_window(app.pid, frame)

    def accepted_value(self, handle: Handle, timeout: float) -> AcceptedValue:
        """Return what the element takes, by the interfaces that it has."""
        if is_screen(handle):
            return AcceptedValue(None)
        calls = [method_call(handle, "Accessible", name) for name in ("GetInterfaces", "GetState")]
        calls += [property_call(handle, "Value", name) for name in ("MinimumValue", "MaximumValue")]
        interfaces, states, low, high = self._bus.call_all(calls, timeout)
        if isinstance(interfaces, UiFault):
            raise interfaces
        names = {name.removeprefix(ATSPI) for name in interfaces[0]}
        bits = 0 if isinstance(states, UiFault) else state_bits(states[0])
        if "Value" in names:
            return AcceptedValue("number", _property_number(low), _property_number(high))
        if "EditableText" in names and not has_state(bits, "read_only"):
            return AcceptedValue("text")
        return AcceptedValue(None)

    def is_default(self, handle: Handle, window: Handle, timeout: float) -> bool:  # noqa: ARG002
        """Say whether the element is its window's default; the toolkit says so itself."""
        return not is_screen(handle) and self._has_state(handle, "default", timeout)

    def perform_action(self, handle: Handle, action: str, timeout: float) -> None:
        """Carry out an action."""
        if is_screen(handle):
            raise Unsupported(f"no action {action}")
        self._leave_cache()
        (rows,) = self._bus.call(method_call(handle, "Action", "GetActions"), timeout)
        (role,) = self._bus.call(method_call(handle, "Accessible", "GetRole"), timeout)
        (words,) = self._bus.call(method_call(handle, "Accessible", "GetState"), timeout)
        item = ElementItem(role, "", state_bits(words))
        of_text = takes_typing(role_of(item), states_of(item.states))
        for number, name in enumerate(action_names(self._bus, handle, rows, timeout)):
            if action_name(name, of_text=of_text) == action:
                call = method_call(handle, "Action", "DoAction", "i", number)
                return self._call_or_fail(call, "the app refused the action", timeout)
        raise Unsupported(f"no action {action}")

    def set_value(self, handle: Handle, value: str | float | bool, timeout: float) -> None:
        """Set a text or a number."""
        if isinstance(value, str):
            call = method_call(handle, "EditableText", "SetTextContents", "s", value)
        else:
            body = (ATSPI + "Value", "CurrentValue", ("d", float(value)))
            key: Any = handle
            call = BusCall(key[0], key[1], PROPERTIES, "Set", "ssv", body)
        self._call_or_fail(call, "the app refused the value", timeout)

    @property
    def input_devices(self) -> "XDisplay":
        """Keys, pointer and windows of the X display."""
        if self._hands is None:
            try:
                from iac_accessibility.atspi.x11 import XDisplay
            except ImportError:
                raise AppNotResponding("keys and clicks need the package python-xlib") from None
            self._hands = XDisplay(self._display_name)
        return self._hands

    def other_names(self, app: UiApp) -> Sequence[str]:
        """Return the program's name, that of its desktop entry, and the titles of its windows."""
        names = program_names(app.pid)
        with suppress(UiFault):
            names += [one.title for one in self.input_devices.list_windows() if one.pid == app.pid]
        return names

    def runs_input(self, app: UiApp) -> bool:
        """Say whether it holds a terminal open: what is typed there is run."""
        return has_terminal(app.pid)

    def answers_late(self, app: UiApp, timeout: float) -> bool:
        """Say whether it is GTK 3, which runs a dialog inside of an action."""
        if is_screen(app.key):
            return False
        names = ("ToolkitName", "Version")
        calls = [property_call(app.key, "Application", name) for name in names]
        answers = self._bus.call_all(calls, timeout)
        toolkit, version = ("" if isinstance(one, UiFault) else str(one[0][1]) for one in answers)
        return toolkit == "gtk" and version.startswith("3.")

    def grab_focus(self, handle: Handle, timeout: float) -> None:
        """Ask for the keyboard."""
        self._bus.call(method_call(handle, "Component", "GrabFocus"), timeout)

    def has_focus(self, handle: Handle, timeout: float) -> bool:
        """Say whether the element or one of the two levels below it has the keyboard."""
        if self._has_state(handle, "focused", timeout):
            return True
        level = [handle]
        reader = AtspiReader(self._bus, {})
        for _ in range(2):
            answers = reader.read(level, Detail.CHILDREN, timeout)
            nodes = [one for one in answers if isinstance(one, UiNode)]
            if any("focused" in node.states for node in nodes):
                return True
            level = [child for node in nodes for child in node.children][:_FEW]
        return False

    def insert_text(self, handle: Handle, text: str, timeout: float) -> None:
        """Put a text in at the end, by EditableText."""
        count = self._text_length(handle, timeout)
        # GTK counts the text in bytes, Qt in UTF-16 units.
        units = self._toolkit_name(handle, timeout) == "Qt"
        size = len(text.encode("utf-16-le")) // 2 if units else len(text.encode())
        call = method_call(handle, "EditableText", "InsertText", "isi", count, text, size)
        self._call_or_fail(call, "the app refused the text", timeout)

    def select_all(self, handle: Handle, timeout: float) -> bool:
        """Select what a text holds."""
        (count,) = self._bus.call(method_call(handle, "Text", "GetNSelections"), timeout)
        size = self._text_length(handle, timeout)
        how: tuple[Any, ...] = ("SetSelection", "iii", 0) if count else ("AddSelection", "ii")
        return bool(self._bus.call(method_call(handle, "Text", *how, 0, size), timeout)[0])

    def full_text(self, handle: Handle, timeout: float) -> str | None:
        """Return the whole text; None where it is a secret, or the element has none."""
        try:
            (number,) = self._bus.call(method_call(handle, "Accessible", "GetRole"), timeout)
            if ROLES[number : number + 1] == ("secure_text_field",):
                return None
            count = self._text_length(handle, timeout)
            call = method_call(handle, "Text", "GetText", "ii", 0, count)
            return str(self._bus.call(call, timeout)[0]) if count else ""
        except (Unsupported, ActionFailed):
            return None

    def _text_length(self, handle: Handle, timeout: float) -> int:
        (count,) = self._bus.call(property_call(handle, "Text", "CharacterCount"), timeout)
        return int(count[1])

    def _toolkit_name(self, handle: Any, timeout: float) -> str:
        call = property_call((handle[0], ROOT_PATH), "Application", "ToolkitName")
        return str(self._bus.call(call, timeout)[0][1])

    def _call_or_fail(self, call: BusCall, why: str, timeout: float) -> None:
        """Raise where the app answers that it did not do it."""
        answer = self._bus.call(call, timeout)
        if answer and answer[0] is False:
            raise ActionFailed(why)

    def select_child(self, handle: Handle, index: int, timeout: float) -> None:
        """Select a child by its place."""
        call = method_call(handle, "Selection", "SelectChild", "i", index)
        self._call_or_fail(call, "the app refused the selection", timeout)

    def scroll_to(self, handle: Handle, timeout: float) -> bool:
        """Bring an element into view; False where its toolkit does not do that."""
        if is_screen(handle):
            return False
        try:
            call = method_call(handle, "Component", "ScrollTo", "u", _ANYWHERE)
            answer = self._bus.call(call, timeout)
        except (Unsupported, ActionFailed):
            return False
        return bool(answer and answer[0])

    def element_at(self, window: Handle, x: float, y: float, timeout: float) -> Handle | None:
        """Return the innermost element of a window at a point; of one without a tree itself.

        Of elements that overlap the last is drawn above the others; only browsers know better,
        since pages say themselves what lies above. GTK answers with the first of them.
        """
        if is_screen(window):
            return window
        end = time.monotonic() + timeout
        if self._toolkit_name(window, timeout) in ("Chromium", "Gecko"):
            return self._settled_element_at(window, x, y, end)
        reader = AtspiReader(self._bus, {})
        want = Detail.CHILDREN | Detail.FRAME
        node = read_one(reader, window, want, timeout)

        def read_all(handles: Sequence[Handle]) -> list[UiNode]:
            read = reader.read(handles, want, time_left(end))
            return [one for one in read if isinstance(one, UiNode)]

        for _ in range(_LEVELS):
            if node.role == "web_area":
                return self._settled_element_at(node.handle, x, y, end)
            if node.total > _MANY:
                below = self._named_element_at(node.handle, x, y, end)
                if below in (None, node.handle):
                    break
                node = read_one(reader, below, want, time_left(end))
                continue
            children = read_all(node.children)
            # GTK has a page inside of its tab, which lies elsewhere or is not shown.
            children += read_all(
                [page for one in children if one.role == "tab" for page in one.children]
            )
            at = [one for one in children if one.covers(x, y)]
            if not at:
                break
            node = at[-1]
        return node.handle

    def _settled_element_at(self, handle: Handle, x: float, y: float, end: float) -> Handle | None:
        """Return what a browser says twice: its first answer is of the last frame, or a guess."""
        before = self._named_element_at(handle, x, y, end)
        for _ in range(_ASKS):
            time.sleep(_SETTLE)
            now = self._named_element_at(handle, x, y, end)
            if now == before:
                break
            before = now
        return before

    def _named_element_at(self, handle: Handle, x: float, y: float, end: float) -> Handle | None:
        """Return what the toolkit itself says lies at a point."""
        call = method_call(handle, "Component", "GetAccessibleAtPoint", "iiu", int(x), int(y), 0)
        (reference,) = self._bus.call(call, time_left(end))
        return None if reference[1] == NO_NODE else tuple(reference)

    def _has_state(self, handle: Handle, state: str, timeout: float) -> bool:
        (words,) = self._bus.call(method_call(handle, "Accessible", "GetState"), timeout)
        return has_state(state_bits(words), state)

    def watch_changes(self, app: UiApp, kinds: Collection[ChangeKind]) -> AtspiWatch:
        """Begin to collect changes in the app."""
        return AtspiWatch(self._bus.address, app, kinds)

    def request_tree(self, app: UiApp) -> str:
        """Read of the app's windows what only a reader of interfaces asks for.

        Chromium builds its tree once relations and texts are asked for (tried with Chromium 156);
        the switch of the session makes it go on for the pages that are opened later.
        """
        if is_screen(app.key):
            return ""
        self._set_status("ScreenReaderEnabled")
        (windows,) = self._bus.call(method_call(app.key, "Accessible", "GetChildren"), 1.0)
        asked = ("GetAttributes", "GetRelationSet", "GetInterfaces")
        calls = [
            method_call(window, "Accessible", name) for window in windows[:20] for name in asked
        ]
        calls += [method_call(window, "Text", "GetText", "ii", 0, 100) for window in windows[:20]]
        self._bus.call_all(calls, 1.0)
        return f"{app.name} builds its tree on demand, so it was asked for it"


def _property_number(answer: tuple[Any, ...] | UiFault) -> float | None:
    return None if isinstance(answer, UiFault) else float(answer[0][1])
