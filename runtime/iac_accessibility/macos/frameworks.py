"""The frameworks of macOS that the bridge uses, as PyObjC has them, and the calls of elements.

Imported by name, because they have no type stubs and exist on a Mac only. Every name that is used
of them is checked against PyObjC's own metadata by a test; what that cannot vouch for (selectors
that answer with objects) is a list in that test.
Source: HIServices, AXError.h and AXUIElement.h. Only a Mac can confirm how apps use the numbers.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from types import FunctionType
from typing import Any, Final, ParamSpec, TypeVar

from iac_accessibility.model import (
    AccessDenied,
    ActionFailed,
    AppNotResponding,
    ElementGone,
    UiFault,
    Unsupported,
)

AppKit: Final[Any] = import_module("AppKit")
CoreFoundation: Final[Any] = import_module("CoreFoundation")
HIServices: Final[Any] = import_module("HIServices")
Quartz: Final[Any] = import_module("Quartz")
objc: Final[Any] = import_module("objc")

C = TypeVar("C")
P = ParamSpec("P")
R = TypeVar("R")


def in_autorelease_pool(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function inside an autorelease pool.

    Only the main thread of an app has one by itself; without, what is handed out on a thread of
    ours stays until the thread ends. Source: Apple, "Using Autorelease Pool Blocks", Threads.
    """

    @wraps(function)
    def call_in_pool(*given: P.args, **named: P.kwargs) -> R:
        with objc.autorelease_pool():
            return function(*given, **named)

    return call_in_pool


def pool_methods(kind: type[C]) -> type[C]:
    """Return a class whose methods are each inside an autorelease pool."""
    for name, method in [*vars(kind).items()]:
        if isinstance(method, FunctionType):
            setattr(kind, name, in_autorelease_pool(method))
    return kind


_FAULTS: Final[dict[int, type[UiFault]]] = {
    HIServices.kAXErrorInvalidUIElement: ElementGone,
    HIServices.kAXErrorCannotComplete: AppNotResponding,
    HIServices.kAXErrorAttributeUnsupported: Unsupported,
    HIServices.kAXErrorActionUnsupported: Unsupported,
    HIServices.kAXErrorNotificationUnsupported: Unsupported,
    HIServices.kAXErrorParameterizedAttributeUnsupported: Unsupported,
    HIServices.kAXErrorNoValue: Unsupported,
    HIServices.kAXErrorNotImplemented: Unsupported,
    HIServices.kAXErrorAPIDisabled: AccessDenied,
}


def raise_for_error(error: int) -> None:
    """Raise what an error number means."""
    if error != HIServices.kAXErrorSuccess:
        raise _FAULTS.get(error, ActionFailed)(f"AXError {error}")


def with_timeout(element: Any, seconds: float) -> Any:
    """Return the element, with the time that its app has to answer."""
    # 0 would mean the system's default, 6 seconds.
    HIServices.AXUIElementSetMessagingTimeout(element, max(seconds, 0.02))
    return element


def read_attribute(element: Any, name: str) -> Any:
    """Return the value of an attribute.

    Raises:
        UiFault: The element has none, is gone, or its app does not answer.
    """
    error, value = HIServices.AXUIElementCopyAttributeValue(element, name, None)
    raise_for_error(error)
    return value


def read_attributes(element: Any, names: Sequence[str]) -> list[Any]:
    """Return the values of attributes in one exchange, None for those that it does not have.

    Raises:
        UiFault: The element is gone, or its app does not answer.
    """
    error, values = HIServices.AXUIElementCopyMultipleAttributeValues(element, names, 0, None)
    raise_for_error(error)
    return [None if _is_error(value) else value for value in values]


def _is_error(value: Any) -> bool:
    """Say whether a value stands for an attribute that could not be read."""
    return (
        isinstance(value, HIServices.AXValueRef)
        and HIServices.AXValueGetType(value) == HIServices.kAXValueTypeAXError
    )


def secure_input_enabled() -> bool:
    """Say whether a process has the keyboard to itself, as password fields do.

    Source: CarbonEventsCore.h, IsSecureEventInputEnabled; Technical Note TN2150. PyObjC has no
    wrapper of that framework.
    """
    functions: dict[str, Any] = {}
    bundle = AppKit.NSBundle.bundleWithIdentifier_("com.apple.HIToolbox")
    objc.loadBundleFunctions(bundle, functions, [("IsSecureEventInputEnabled", b"Z")])
    return bool(functions["IsSecureEventInputEnabled"]())
