"""The only door to a platform's accessibility interface."""

from collections.abc import Collection, Sequence
from typing import Protocol

from iac_accessibility.faults import Fault
from iac_accessibility.model import App, Change, ChangeKind, Handle, Node, Settable, Want

__all__ = ["Bridge", "Reader", "Watch"]


class Reader(Protocol):
    """Reads elements of one app, for the length of one call; may hold what it read in bulk."""

    def read(self, handles: Sequence[Handle], want: Want, timeout: float) -> list[Node | Fault]:
        """Return one node or fault per handle, in order, within `timeout` seconds.

        An element that was not reached in that time is a `Silent`.
        """
        ...


class Watch(Protocol):
    """Collects changes from when it was made until it is closed."""

    def wait(self, seconds: float) -> list[Change]:
        """Return what has come in since the last call; wait for the first up to `seconds`."""
        ...

    def close(self) -> None:
        """End it; a second time does nothing."""
        ...


class Bridge(Protocol):
    """A platform. Every method may be called from any thread; timeouts are in seconds.

    All but `close` raise a `Fault`; times run from the call.
    """

    free: Want
    """What is read without costing more, and so is always read."""

    def apps(self, timeout: float) -> list[App]:
        """Return the running apps that have an interface."""
        ...

    def installed(self, name: str) -> bool:
        """Say whether an app of that name or id is on this machine, running or not."""
        ...

    def alive(self, app: App) -> bool:
        """Say whether the process of `app` still runs, and is not another one of its pid."""
        ...

    def root(self, app: App, timeout: float) -> Handle:
        """Return the app's own element, whose children are its windows (and menu bar).

        Raises:
            Denied: The app was asked, and this process may not look into it.
            Gone, Silent: The app has ended, or does not answer.
        """
        ...

    def reader(self, app: App, *, whole: bool, timeout: float) -> Reader:
        """Return a reader; `whole` says that most of the app is going to be read."""
        ...

    def ancestors(self, app: App, handle: Handle, timeout: float) -> list[Handle]:
        """Return the way to an element: its window first, itself last."""
        ...

    def focused(self, app: App, timeout: float) -> Handle | None:
        """Return the app's element that has the keyboard, or None."""
        ...

    def settable(self, handle: Handle, timeout: float) -> Settable:
        """Return what the element takes as its value."""
        ...

    def is_default(self, handle: Handle, window: Handle, timeout: float) -> bool:
        """Say whether Return presses this element of the window."""
        ...

    def perform(self, handle: Handle, action: str, timeout: float) -> None:
        """Carry out one of the element's own actions, by the name that `Node.actions` has."""
        ...

    def set_value(self, handle: Handle, value: str | float | bool, timeout: float) -> None:
        """Set the value of an element; of the kind that `settable` says."""
        ...

    def type_text(self, app: App, handle: Handle, text: str, timeout: float) -> None:
        """Focus the element, select what it holds, and type `text` with synthetic keys."""
        ...

    def watch(self, app: App, kinds: Collection[ChangeKind]) -> Watch:
        """Begin to collect changes in the app."""
        ...

    def wake(self, app: App) -> str:
        """Ask an app that builds its tree on demand to build it.

        Returns:
            What was done, as a clause: "accessibility was switched on in Chromium"; empty where
            there is nothing to do.
        """
        ...

    def close(self) -> None:
        """Let go of the platform."""
        ...
