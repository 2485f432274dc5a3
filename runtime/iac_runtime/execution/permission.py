"""Whether macOS lets this process send events to an app, asked without a prompt.

AEDeterminePermissionToAutomateTarget (CoreServices, AppleEvents.h) through ctypes. The structure
is packed as the header packs it (2 bytes). It answers for the process that macOS holds responsible
for this one, which osascript shares. Only a Mac can confirm this module; the probe page says how.
"""

import ctypes
import sys
from typing import Any, Final, Literal

__all__ = ["Permitted", "meaning", "permitted"]

Permitted = Literal["yes", "no", "would ask", "unknown"]

_FRAMEWORK: Final = "/System/Library/Frameworks/CoreServices.framework/CoreServices"
_BUNDLE_ID: Final = int.from_bytes(b"bund", "big")
_ANY: Final = int.from_bytes(b"****", "big")

_MEANING: Final[dict[int, Permitted]] = {0: "yes", -1743: "no", -1744: "would ask"}


class _Descriptor(ctypes.Structure):
    """AEDesc: a type code and a handle."""

    _pack_ = 2
    _layout_ = "ms"
    _fields_ = (("type", ctypes.c_uint32), ("data", ctypes.c_void_p))


def meaning(status: int) -> Permitted:
    """Return what a status of the call means; -600 (it does not run) leaves it unknown."""
    return _MEANING.get(status, "unknown")


def permitted(bundle_id: str) -> Permitted:
    """Say whether events to the app are allowed; "unknown" where this is no Mac."""
    if sys.platform != "darwin":
        return "unknown"
    try:
        return meaning(_ask(ctypes.CDLL(_FRAMEWORK), bundle_id))
    except (OSError, AttributeError):
        return "unknown"


def _ask(library: Any, bundle_id: str) -> int:
    name = bundle_id.encode()
    target = _Descriptor()
    make = library.AECreateDesc
    make.argtypes = (ctypes.c_uint32, ctypes.c_char_p, ctypes.c_long, ctypes.c_void_p)
    make.restype = ctypes.c_int16
    determine = library.AEDeterminePermissionToAutomateTarget
    determine.argtypes = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_ubyte)
    determine.restype = ctypes.c_int32
    dispose = library.AEDisposeDesc
    dispose.argtypes = (ctypes.c_void_p,)
    dispose.restype = ctypes.c_int16
    failed = make(_BUNDLE_ID, name, len(name), ctypes.byref(target))
    if failed:
        return int(failed)
    try:
        return int(determine(ctypes.byref(target), _ANY, _ANY, False))
    finally:
        dispose(ctypes.byref(target))
