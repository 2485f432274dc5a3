"""What all tools of one server share: the bridge, the memory of paths, and how apps are found."""

import time
from dataclasses import dataclass, field
from typing import Final

from iac_accessibility.apps import find_app
from iac_accessibility.bridge import Bridge, Reader
from iac_accessibility.errors import UiError, from_fault
from iac_accessibility.faults import Fault, Gone
from iac_accessibility.marks import Book
from iac_accessibility.model import App, Node, Want
from iac_accessibility.roles import TEXT_ROLES

__all__ = ["Session", "hides_values", "one"]

_OPEN_TEXTS: Final = frozenset(
    ("com.apple.Terminal", "com.googlecode.iterm2", "com.apple.systempreferences")
)
"""Entries of the blocklist whose texts may be read: they hold no secrets by trade."""

_SHOWN_ROLES: Final = TEXT_ROLES | {"static_text", "cell", "row", "link", "list_item", "tree_item"}
APP_SECONDS: Final = 2.0


@dataclass(slots=True)
class Session:
    """The bridge and what is remembered between calls. Safe to share between threads."""

    bridge: Bridge
    book: Book = field(default_factory=Book)
    _listed: dict[int, App] = field(default_factory=dict)

    def app(self, wanted: str | int) -> App:
        """Return the running app that is meant.

        One that is meant by its process id and was listed before is not looked for again while
        that process runs; whether it is in front is then as it was.

        Raises:
            UiError: There is not exactly one, or the apps cannot be listed.
        """
        known = self._listed.get(wanted) if isinstance(wanted, int) else None
        if known is not None and self.bridge.alive(known):
            return known
        return find_app(wanted, self.apps(), self.bridge.installed)

    def apps(self) -> list[App]:
        """Return the running apps, with a `UiError` where they cannot be listed."""
        try:
            apps = self.bridge.apps(APP_SECONDS)
        except Fault as fault:
            raise from_fault(fault, None) from None
        # Of several with one process id, the first is meant.
        self._listed = {app.pid: app for app in reversed(apps)}
        return apps

    def forget(self, app: App) -> None:
        """Look for the app anew the next time: what the bridge knew it by is gone."""
        self._listed.pop(app.pid, None)

    def open(self, app: App, seconds: float, *, whole: bool) -> tuple[Reader, Node]:
        """Return a reader and the app's own element with its children.

        Raises:
            UiError: The app has ended, does not answer, or may not be looked into.
        """
        end = time.monotonic() + seconds
        try:
            # An app that does not answer is to cost less than the whole time of the call.
            root = self.bridge.root(app, min(seconds, 1.0))
            reader = self.bridge.reader(app, whole=whole, timeout=max(end - time.monotonic(), 0.05))
            left = max(end - time.monotonic(), 0.05)
            return reader, one(reader, root, Want.CHILDREN, min(left, 1.0))
        except Fault as fault:
            if isinstance(fault, Gone):
                self.forget(app)
            raise from_fault(fault, app) from None

    def check_alive(self, app: App) -> None:
        """Raise if the process has ended or its id belongs to another one now."""
        if not self.bridge.alive(app):
            raise UiError(
                "APP_NOT_RUNNING",
                f"{app.name} (process {app.pid}) has ended.",
                "Call list_windows to see what runs now.",
                reason="app_gone",
                app=app.name,
            )


def one(reader: Reader, handle: object, want: Want, seconds: float) -> Node:
    """Return one element; its fault is raised."""
    answer = reader.read([handle], want, seconds)[0]
    if isinstance(answer, Fault):
        raise answer
    return answer


def hides_values(app: App, node: Node) -> bool:
    """Say whether a value is hidden because of its app: a password manager, or an unknown one."""
    if node.role not in _SHOWN_ROLES:
        return False
    # Needed here only, and not light.
    from iac_runtime.policy.blocklist import blocked

    found = blocked(app.id)
    return found is not None and found.entry.removesuffix(".*") not in _OPEN_TEXTS
