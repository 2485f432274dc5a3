"""Texts of AT-SPI elements: read whole, put in at the end, selected."""

from typing import Any

from iac_accessibility.atspi.items import ROLES, ROOT_PATH
from iac_accessibility.atspi.reading import method_call, property_call
from iac_accessibility.atspi.wire import ConnectionPool
from iac_accessibility.model import ActionFailed, Handle, Unsupported


def insert_text(bus: ConnectionPool, handle: Handle, text: str, timeout: float) -> None:
    """Put a text in at the end, by EditableText."""
    count = _text_length(bus, handle, timeout)
    key: Any = handle
    named = bus.call(property_call((key[0], ROOT_PATH), "Application", "ToolkitName"), timeout)
    # GTK counts the text in bytes, Qt in UTF-16 units.
    size = len(text.encode("utf-16-le")) // 2 if named[0][1] == "Qt" else len(text.encode())
    call = method_call(handle, "EditableText", "InsertText", "isi", count, text, size)
    answer = bus.call(call, timeout)
    if answer and answer[0] is False:
        raise ActionFailed("the app refused the text")


def select_all(bus: ConnectionPool, handle: Handle, timeout: float) -> bool:
    """Select what a text holds."""
    (count,) = bus.call(method_call(handle, "Text", "GetNSelections"), timeout)
    size = _text_length(bus, handle, timeout)
    call = (
        method_call(handle, "Text", "SetSelection", "iii", 0, 0, size)
        if count
        else method_call(handle, "Text", "AddSelection", "ii", 0, size)
    )
    return bool(bus.call(call, timeout)[0])


def full_text(bus: ConnectionPool, handle: Handle, timeout: float) -> str | None:
    """Return the whole text; None where it is a secret, or the element has none."""
    try:
        (number,) = bus.call(method_call(handle, "Accessible", "GetRole"), timeout)
        if ROLES[number : number + 1] == ("secure_text_field",):
            return None
        count = _text_length(bus, handle, timeout)
        if count == 0:
            return ""
        call = method_call(handle, "Text", "GetText", "ii", 0, count)
        return str(bus.call(call, timeout)[0])
    except (Unsupported, ActionFailed):
        return None


def _text_length(bus: ConnectionPool, handle: Handle, timeout: float) -> int:
    answer = bus.call(property_call(handle, "Text", "CharacterCount"), timeout)
    return int(answer[0][1])
