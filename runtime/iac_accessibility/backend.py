"""Which bridge this machine has."""

import sys
from importlib.util import find_spec

from iac_accessibility.bridge import Bridge
from iac_accessibility.errors import UiError
from iac_accessibility.faults import Silent
from iac_base.distribution import pip_install

__all__ = ["open_bridge"]


def open_bridge() -> Bridge:
    """Return the bridge of this platform.

    Raises:
        UiError: The extra is not installed, or nothing answers here.
    """
    if sys.platform == "darwin":
        if find_spec("HIServices") is None:
            raise _lacking("macos")
        from iac_accessibility.macos.bridge import MacBridge

        return MacBridge()
    if sys.platform != "linux":
        raise UiError(
            "UNAVAILABLE",
            f"There are no accessibility tools for {sys.platform}.",
            "They work on macOS and Linux.",
            reason="no_interface",
        )
    if find_spec("jeepney") is None:
        raise _lacking("linux")
    from iac_accessibility.atspi.bridge import AtspiBridge

    try:
        return AtspiBridge()
    except Silent as fault:
        raise UiError(
            "UNAVAILABLE",
            f"This session has no accessibility bus: {fault}.",
            "Install at-spi2-core, and start this program inside a desktop session.",
            reason="no_interface",
        ) from None


def _lacking(extra: str) -> UiError:
    return UiError(
        "UNAVAILABLE",
        "The accessibility tools need a library that is not installed.",
        f"Install it with: {pip_install(extra)}",
        reason="no_interface",
    )
