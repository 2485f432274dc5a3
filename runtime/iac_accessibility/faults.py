"""What can go wrong behind the bridge, in the bridge's own terms.

Fault             the base
    Gone          the element or the app is no more
    Silent        the app did not answer in time
    Unsupported   this element has no such attribute, action or value
    Failed        the app answered that it could not do it
    Denied        the system does not let this process look into the app
"""

__all__ = ["Denied", "Failed", "Fault", "Gone", "Silent", "Unsupported"]


class Fault(Exception):  # noqa: N818 (it is returned as a value more often than raised)
    """An element could not be read or worked; the text is the platform's own."""


class Gone(Fault):
    """The element or its app is no more."""


class Silent(Fault):
    """The app did not answer in time."""


class Unsupported(Fault):
    """The element has no such attribute or action, or its value cannot be set."""


class Failed(Fault):
    """The app answered that it could not do it."""


class Denied(Fault):
    """The system does not let this process look into the app."""
