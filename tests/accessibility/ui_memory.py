"""A bridge to apps that exist in memory only: as large, as slow and as twisted as a test wants."""

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from iac_accessibility.bridge import parse_stroke
from iac_accessibility.model import (
    VALUE_LIMIT,
    AcceptedValue,
    AppNotResponding,
    ChangeKind,
    Detail,
    ElementGone,
    Frame,
    Handle,
    Scalar,
    ScreenPicture,
    UiApp,
    UiEvent,
    UiFault,
    UiNode,
    clean_foreign_text,
)
from iac_accessibility.risk import hidden_in, mark_secret

LIVE = frozenset(("visible", "enabled", "showing"))
APP = UiApp(100, "Memory", "com.example.Memory", 1.0, frontmost=True, key="app")


class Memory:
    """A bridge whose elements are made when they are asked for.

    Args:
        grow: Handle -> node with its children; it may raise a fault.
        hangs: Handles that never answer; reading one costs the whole time.
        slow: Seconds that each read of an element takes.
    """

    free = Detail.IDENTIFIER

    def __init__(
        self,
        grow: Callable[[Handle], UiNode],
        *,
        hangs: Collection[Handle] = (),
        slow: float = 0.0,
        apps: Sequence[UiApp] = (APP,),
    ) -> None:
        self.grow = grow
        self.hangs = set(hangs)
        self.slow = slow
        self.running = list(apps)
        self.done: list[tuple[str, Handle, Any]] = []
        self.values: dict[Handle, Scalar] = {}
        self.takes = AcceptedValue("text")
        self.default: Handle = None
        self.woken = 0

    def running_apps(self, timeout: float) -> list[UiApp]:
        return list(self.running)

    def is_installed(self, name: str) -> bool:
        return name == "Calendar"

    def is_alive(self, app: UiApp) -> bool:
        return any((one.pid, one.started) == (app.pid, app.started) for one in self.running)

    def app_element(self, app: UiApp, timeout: float) -> Handle:
        self.one("app", timeout)
        return "app"

    def one(self, handle: Handle, timeout: float) -> UiNode:
        if handle in self.hangs:
            time.sleep(timeout)
            raise AppNotResponding("hangs")
        time.sleep(self.slow)
        node = self.grow(handle)
        if handle in self.values:
            node = node._replace(value=self.values[handle])
        cleaned = {
            name: clean_foreign_text(text, VALUE_LIMIT)
            for name in ("title", "label", "value")
            if isinstance(text := getattr(node, name), str)
        }
        return mark_secret(
            node._replace(total=node.total or len(node.children), **cleaned),
            hides=hidden_in(self.running[0].id),
        )

    def open_reader(self, app: UiApp, *, whole: bool, timeout: float) -> "Memory":
        return self

    def read(
        self, handles: Sequence[Handle], want: Detail, timeout: float
    ) -> list[UiNode | UiFault]:
        end = time.monotonic() + timeout
        answers: list[UiNode | UiFault] = []
        for handle in handles:
            left = end - time.monotonic()
            try:
                answers.append(
                    self.one(handle, left) if left > 0 else AppNotResponding("not reached")
                )
            except UiFault as fault:
                answers.append(fault)
        return answers

    def ancestor_handles(self, app: UiApp, handle: Handle, timeout: float) -> list[Handle]:
        def look(at: Handle, way: list[Handle]) -> list[Handle]:
            for child in self.grow(at).children:
                if child == handle:
                    return [*way, child]
                if len(way) < 5 and (found := look(child, [*way, child])):
                    return found
            return []

        found = look("app", [])
        if not found:
            raise ElementGone("nowhere")
        return found

    def focused_element(self, app: UiApp, timeout: float) -> Handle | None:
        return None

    def read_children(
        self, handle: Handle, start: int, most: int, timeout: float
    ) -> tuple[list[Handle], int]:
        every = self.one(handle, timeout).children
        return list(every[start : start + most]), len(every)

    def read_text(self, handle: Handle, start: int, most: int, timeout: float) -> tuple[str, int]:
        value = str(self.one(handle, timeout).value)
        return value[start : start + most], len(value)

    def take_picture(self, app: UiApp, frame: Frame, timeout: float) -> ScreenPicture:
        size = (int(frame.width), int(frame.height))
        return ScreenPicture(size, bytes((200, 150, 100, 0)) * (size[0] * size[1]), "BGRX", frame)

    def accepted_value(self, handle: Handle, timeout: float) -> AcceptedValue:
        return self.takes

    def is_default(self, handle: Handle, window: Handle, timeout: float) -> bool:
        return handle == self.default

    def perform_action(self, handle: Handle, action: str, timeout: float) -> None:
        self.done.append(("perform", handle, action))

    def set_value(self, handle: Handle, value: str | float | bool, timeout: float) -> None:
        self.done.append(("set", handle, value))
        self.values[handle] = value

    select_all_keys = parse_stroke("ctrl+a")
    text_end_keys = parse_stroke("ctrl+end")

    @property
    def input_devices(self) -> Any:
        raise AppNotResponding("nothing here has keys")

    def other_names(self, app: UiApp) -> Sequence[str]:
        return ()

    def runs_input(self, app: UiApp) -> bool:
        return False

    def answers_late(self, app: UiApp, timeout: float) -> bool:
        return False

    def grab_focus(self, handle: Handle, timeout: float) -> None:
        self.done.append(("focus", handle, None))

    def has_focus(self, handle: Handle, timeout: float) -> bool:
        return True

    def insert_text(self, handle: Handle, text: str, timeout: float) -> None:
        self.set_value(handle, (self.full_text(handle, timeout) or "") + text, timeout)

    def select_all(self, handle: Handle, timeout: float) -> bool:
        return False

    def select_child(self, handle: Handle, index: int, timeout: float) -> None:
        self.done.append(("select", handle, index))

    def scroll_to(self, handle: Handle, timeout: float) -> bool:
        self.done.append(("scroll", handle, None))
        return True

    def full_text(self, handle: Handle, timeout: float) -> str | None:
        value = self.one(handle, timeout).value
        return value if isinstance(value, str) else ""

    def watch_changes(self, app: UiApp, kinds: Collection[ChangeKind]) -> "Quiet":
        return Quiet()

    def request_tree(self, app: UiApp) -> str:
        self.woken += 1
        return "it was asked"

    def close(self) -> None:
        self.running.clear()


class Quiet:
    """A watch that tells of one change over and over, then of nothing."""

    def __init__(self) -> None:
        self.told = False

    def wait_for_changes(self, seconds: float) -> list[UiEvent]:
        if self.told:
            time.sleep(seconds)
            return []
        self.told = True
        return [UiEvent("value_changed", "w", 0.1), UiEvent("value_changed", "w", 0.2)]

    def close(self) -> None:
        self.told = True


def tree(rows: dict[str, UiNode]) -> Callable[[Handle], UiNode]:
    """Return a `grow` for a tree that is given whole."""

    def grow(handle: Handle) -> UiNode:
        try:
            return rows[str(handle)]
        except KeyError:
            raise ElementGone("gone") from None

    return grow


def node(handle: str, role: str, title: str = "", *children: str, **more: Any) -> UiNode:
    """Return a visible, enabled element."""
    states = LIVE | frozenset(more.pop("states", ()))
    return UiNode(handle, role, title, states=states, children=children, **more)
