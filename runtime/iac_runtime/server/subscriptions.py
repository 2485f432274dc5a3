"""Changes over the protocol of 2026-07-28, which a client hears where it listens for them."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any, Final

from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from iac_runtime.surface.changes import Changes
from iac_runtime.surface.lines import Lines

__all__ = ["listen_handler"]

_EVENTS: Final = (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged())


class _Bus(InMemorySubscriptionBus):
    """A bus that hears of changes from whatever thread has seen them."""

    def __init__(self, changes: Changes, lines: Lines) -> None:
        super().__init__()
        self._changes = changes
        self._lines = lines

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Register a listener of the loop that runs; it is called there."""
        loop = asyncio.get_running_loop()

        def tell() -> None:
            # The loop is closed once the session has ended.
            with contextlib.suppress(RuntimeError):
                for event in (*_EVENTS, *self._updates()):
                    loop.call_soon_threadsafe(listener, event)

        leave, unhear = super().subscribe(listener), self._changes.subscribe(tell)

        def stop() -> None:
            leave()
            unhear()

        return stop

    def _updates(self) -> list[ServerEvent]:
        """Return the resources that depend on the tools; only what is subscribed is sent."""
        rows = [json.loads(line) for line in self._lines.resources()]
        return [ResourceUpdated(uri=row["uri"]) for row in rows if "/apps" in row["uri"]]


def listen_handler(changes: Changes, lines: Lines) -> Any:
    """Return the handler of subscriptions/listen."""
    return ListenHandler(_Bus(changes, lines))
