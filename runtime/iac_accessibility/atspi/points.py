"""Which AT-SPI element lies at a point, and bringing one into view."""

import time
from typing import Any, Final

from iac_accessibility.atspi.items import NO_NODE, ROOT_PATH
from iac_accessibility.atspi.reading import AtspiReader, method_call, property_call
from iac_accessibility.atspi.wire import ConnectionPool
from iac_accessibility.bridge import read_one
from iac_accessibility.model import ActionFailed, Detail, Handle, UiNode, Unsupported

_LEVELS: Final = 60
_MANY: Final = 200
"""Children of which a toolkit is asked which one it is, instead of each where it is."""

_SETTLE: Final = 0.03
_ASKS: Final = 10
_ANYWHERE: Final = 6
"""ScrollType: wherever the element comes into view."""


def element_at(
    bus: ConnectionPool, window: Handle, x: float, y: float, timeout: float
) -> Handle | None:
    """Return the innermost element of a window at a point.

    Of elements that overlap the last is drawn above the others; only browsers know better, since
    pages say themselves what lies above. GTK answers with the first of them.
    """
    end = time.monotonic() + timeout
    key: Any = window
    named = bus.call(property_call((key[0], ROOT_PATH), "Application", "ToolkitName"), timeout)
    if named[0][1] in ("Chromium", "Gecko"):
        return _settled(bus, window, x, y, end)
    reader = AtspiReader(bus, {})
    want = Detail.CHILDREN | Detail.FRAME
    node = read_one(reader, window, want, timeout)
    for _ in range(_LEVELS):
        left = max(end - time.monotonic(), 0.05)
        if node.role == "web_area":
            return _settled(bus, node.handle, x, y, end)
        if node.total > _MANY:
            below = _asked(bus, node.handle, x, y, left)
            if below in (None, node.handle):
                break
            node = read_one(reader, below, want, left)
            continue
        children = reader.read(node.children, want, left)
        at = [one for one in children if isinstance(one, UiNode) and one.covers(x, y)]
        if not at:
            break
        node = at[-1]
    return node.handle


def _settled(bus: ConnectionPool, handle: Handle, x: float, y: float, end: float) -> Handle | None:
    """Return what a browser answers twice: the first answer is of its last frame, or a guess."""
    before = _asked(bus, handle, x, y, max(end - time.monotonic(), 0.05))
    for _ in range(_ASKS):
        time.sleep(_SETTLE)
        now = _asked(bus, handle, x, y, max(end - time.monotonic(), 0.05))
        if now == before:
            break
        before = now
    return before


def _asked(
    bus: ConnectionPool, handle: Handle, x: float, y: float, timeout: float
) -> Handle | None:
    call = method_call(handle, "Component", "GetAccessibleAtPoint", "iiu", int(x), int(y), 0)
    found = tuple(bus.call(call, timeout)[0])
    return None if found[1] == NO_NODE else found


def scroll_to(bus: ConnectionPool, handle: Handle, timeout: float) -> bool:
    """Bring an element into view; False where its toolkit does not do that."""
    try:
        answer = bus.call(method_call(handle, "Component", "ScrollTo", "u", _ANYWHERE), timeout)
    except (Unsupported, ActionFailed):
        return False
    return bool(answer and answer[0])
