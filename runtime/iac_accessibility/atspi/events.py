"""Changes in an AT-SPI app: signals on a connection of their own, read by one thread.

Source: at-spi2-core, Event.xml (interfaces Event.Object and Event.Window; `siiv(so)` or with
properties), and the registry's RegisterEvent.
"""

import contextlib
import threading
import time
from collections.abc import Collection
from typing import Any, Final

from jeepney import HeaderFields, MessageType
from jeepney.bus_messages import MatchRule, message_bus
from jeepney.low_level import Message

from iac_accessibility.atspi.nodes import ATSPI
from iac_accessibility.atspi.wire import BusCall, connect_bus
from iac_accessibility.bridge import ChangeQueue
from iac_accessibility.model import AppNotResponding, ChangeKind, UiApp, UiEvent, clean_foreign_text

_WINDOW_KINDS: Final[dict[str, ChangeKind]] = {
    "Create": "window_created",
    "Destroy": "window_closed",
}
_STATES: Final = frozenset(("checked", "enabled", "expanded", "selected", "sensitive", "pressed"))
_REGISTERED: Final[dict[ChangeKind, tuple[str, ...]]] = {
    "value_changed": (
        *("object:text-changed", "object:property-change:accessible-value"),
        "object:property-change",
    ),
    "title_changed": ("object:property-change:accessible-name", "object:property-change"),
    "focus_changed": ("object:state-changed:focused",),
    "state_changed": tuple(f"object:state-changed:{name}" for name in sorted(_STATES)),
    "selection_changed": ("object:selection-changed", "object:text-selection-changed"),
    "window_created": ("window:create", "object:children-changed"),
    "window_closed": ("window:destroy", "object:children-changed"),
    "element_created": ("object:children-changed",),
    "element_destroyed": ("object:children-changed",),
}

_KINDS: Final[dict[str, ChangeKind]] = {
    "TextChanged": "value_changed",
    "PropertyChange:accessible-value": "value_changed",
    "PropertyChange:accessible-name": "title_changed",
    "StateChanged:focused": "focus_changed",
    **dict.fromkeys(("SelectionChanged", "TextSelectionChanged"), "selection_changed"),
    **{f"StateChanged:{name}": "state_changed" for name in _STATES},
}
"""Member of a signal, with its first argument where that matters -> what happened."""


class AtspiWatch(ChangeQueue):
    """Collects the changes of one app until it is closed."""

    def __init__(self, address: str, app: UiApp, kinds: Collection[ChangeKind]) -> None:
        super().__init__()
        self._app: Any = app.key
        self._kinds = frozenset(kinds)
        self._began = time.monotonic()
        self._connection = connect_bus(address, 2.0)
        self._register_events()
        self._thread = threading.Thread(target=self._run, name="atspi-watch", daemon=True)
        self._thread.start()

    def _register_events(self) -> None:
        for interface in ("Object", "Window"):
            rule = MatchRule(
                type="signal", sender=self._app[0], interface=f"{ATSPI}Event.{interface}"
            )
            self._connection.send_and_get_reply(message_bus.AddMatch(rule), timeout=2.0)
        names = {name for kind in self._kinds for name in _REGISTERED[kind]}
        for name in sorted(names):
            registry = ATSPI + "Registry"
            call = BusCall(
                *(registry, "/org/a11y/atspi/registry", registry, "RegisterEvent", "sass"),
                (name, [], self._app[0]),
            )
            self._connection.send_and_get_reply(call.to_message(), timeout=2.0)

    def _run(self) -> None:
        while not self.closed:
            try:
                message = self._connection.receive(timeout=0.1)
            except TimeoutError:
                continue
            except (OSError, ValueError):
                break
            change = self._to_event(message)
            if change is not None:
                self.add(change)

    def _to_event(self, message: Message) -> UiEvent | None:
        if message.header.message_type is not MessageType.signal:
            return None
        fields = message.header.fields
        member = fields.get(HeaderFields.member, "")
        window = fields.get(HeaderFields.interface, "").endswith("Window")
        handle = (fields.get(HeaderFields.sender, ""), fields.get(HeaderFields.path, ""))
        if window:
            kind, detail = _WINDOW_KINDS.get(member), ""
        else:
            kind, detail, handle = self._object_event(member, message.body, handle)
        if kind is None or kind not in self._kinds:
            return None
        return UiEvent(kind, handle, time.monotonic() - self._began, detail)

    def _object_event(
        self, member: str, body: tuple[Any, ...], handle: tuple[str, str]
    ) -> tuple[ChangeKind | None, str, tuple[str, str]]:
        minor, first, value = str(body[0]), body[1], body[3]
        if member == "ChildrenChanged":
            return self._children_event(minor, value, handle)
        kind, detail = _KINDS.get(member) or _KINDS.get(f"{member}:{minor}"), ""
        if kind == "title_changed" and isinstance(value[1], str):
            detail = clean_foreign_text(value[1])
        elif kind == "state_changed":
            detail = minor if first else f"not {minor}"
        return (None if kind == "focus_changed" and not first else kind), detail, handle

    def _children_event(
        self, minor: str, value: Any, handle: tuple[str, str]
    ) -> tuple[ChangeKind | None, str, tuple[str, str]]:
        added = minor.startswith("add")
        child = tuple(value[1]) if isinstance(value[1], tuple) else handle
        if handle == self._app:
            return ("window_created" if added else "window_closed"), "", child
        return ("element_created" if added else "element_destroyed"), "", child

    def close(self) -> None:
        """End the thread, and close the connection."""
        if self.closed:
            return
        super().close()
        self._thread.join(2.0)
        with contextlib.suppress(OSError, AppNotResponding):
            self._connection.close()
