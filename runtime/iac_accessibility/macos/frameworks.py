"""The frameworks of macOS that the bridge uses, as PyObjC has them.

Imported by name, because they have no type stubs and exist on a Mac only. Every name that is used
of them is checked against PyObjC's own metadata by a test; what that cannot vouch for (selectors
that answer with objects) is a list in that test.
"""

from importlib import import_module
from typing import Any, Final

__all__ = ["AppKit", "CoreFoundation", "HIServices", "Quartz", "objc"]

AppKit: Final[Any] = import_module("AppKit")
CoreFoundation: Final[Any] = import_module("CoreFoundation")
HIServices: Final[Any] = import_module("HIServices")
Quartz: Final[Any] = import_module("Quartz")
objc: Final[Any] = import_module("objc")
