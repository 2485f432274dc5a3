"""`doctor`: every check in order; none of them changes anything or starts an app."""

from collections.abc import Iterator
from typing import Final

from iac_runtime.care import checks_around, checks_here, checks_mac
from iac_runtime.care.findings import Check, Finding, Place

__all__ = ["CHECKS", "examined"]

CHECKS: Final = (
    Check("python", checks_here.python),
    Check("sdk", checks_here.sdk),
    Check("tools", checks_here.tools),
    Check("fresh", checks_here.fresh),
    Check("state", checks_here.state),
    Check("policy", checks_here.policy),
    Check("osascript", checks_mac.osascript),
    Check("automation", checks_mac.automation),
    Check("accessibility", checks_mac.accessibility),
    Check("clients", checks_around.clients),
    Check("servers", checks_around.servers),
)


def examined(place: Place) -> Iterator[Finding]:
    """Yield what every check finds, as soon as it does.

    A check that fails for a reason of its own is a problem of its line, not of the others.
    """
    for check in CHECKS:
        try:
            yield from check.look(place)
        except Exception as error:
            says = f"This could not be looked at: {type(error).__name__}: {error}"
            yield Finding(check.name, "problem", says, "Report it, with this line.")
