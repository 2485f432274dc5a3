"""Synthetic keys on Linux, through the registry of AT-SPI (X11).

Source: at-spi2-core, DeviceEventController.xml and atspi-types.h (key synthesis types).
"""

from typing import Final

from iac_accessibility.atspi.names import ATSPI
from iac_accessibility.atspi.reading import method
from iac_accessibility.atspi.wire import Call, Pool
from iac_accessibility.faults import Fault
from iac_accessibility.model import Handle

__all__ = ["select_all", "type_text"]

_PRESS, _RELEASE, _SYM, _STRING = 0, 1, 3, 4
_CONTROL_KEYCODE: Final = 37
"""Left Control on a PC keyboard under X11."""
_DELETE: Final = 0xFFFF


def _key(number: int, text: str, kind: int) -> Call:
    interface = ATSPI + "DeviceEventController"
    path = "/org/a11y/atspi/registry/deviceeventcontroller"
    body = (number, text, kind)
    return Call(ATSPI + "Registry", path, interface, "GenerateKeyboardEvent", "isu", body)


def select_all(bus: Pool, handle: Handle, timeout: float) -> None:
    """Select what the element holds, by its own interface or else with Control-A."""
    try:
        (count,) = bus.call(method(handle, "Text", "GetNSelections"), timeout)
        call = (
            method(handle, "Text", "SetSelection", "iii", 0, 0, -1)
            if count
            else method(handle, "Text", "AddSelection", "ii", 0, -1)
        )
        done = bus.call(call, timeout)
        if done[0]:
            return
    except Fault:
        pass
    bus.call(_key(_CONTROL_KEYCODE, "", _PRESS), timeout)
    try:
        bus.call(_key(ord("a"), "", _SYM), timeout)
    finally:
        bus.call(_key(_CONTROL_KEYCODE, "", _RELEASE), timeout)


def type_text(bus: Pool, text: str, timeout: float) -> None:
    """Type over what is selected; an empty text deletes it."""
    bus.call(_key(0, text, _STRING) if text else _key(_DELETE, "", _SYM), timeout)
