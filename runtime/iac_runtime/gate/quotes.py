"""Replies and forwards keep the original that they are of, whatever text they are given.

An app that answers a reply with its own quote loses it when a text is set: so the text is sent with
the quote, built from the original. A reply in a window takes no text at all, and is sent empty; a
forward loses its attachments with the original: there a text is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from iac_base.errors import ToolError
from iac_runtime.execution.answers import AppAnswer
from iac_runtime.gate.plans import ToolContext
from iac_runtime.language.steps import Event, PropertyStep, RefValue
from iac_runtime.language.text import format_reference

_TEXT: Final = "content"
_MOST: Final = 1000
"""Replies that are remembered."""

_KEPT: Final[Mapping[str, str]] = {
    "window": "The reply has a window, in which a person writes: it takes no text and would be sent"
    " empty.",
    "unread": "The original could not be read, and a text would replace it.",
    "refused": "A text would remove the forwarded message and its attachments.",
}
_HELP: Final[Mapping[str, str]] = {
    "window": "Begin the reply again with opening_window: false.",
    "unread": "Begin the reply again, or leave the text to a person.",
    "refused": "Send it without a text, or make a new message.",
}


class QuotedOriginals:
    """What is known of the replies and forwards of a session: the quote, or why no text goes."""

    def __init__(self, _context: ToolContext | None = None) -> None:
        self._known: dict[str, tuple[str, str]] = {}

    def remember(
        self, event: Event, way: str, reference: str, execute: Callable[[Event], AppAnswer]
    ) -> None:
        """Remember a reply or forward that was made; of a reply the original is read.

        Args:
            event: The one that made it.
            way: What a text for it is: `quoted`, with the original, or `refused`.
            reference: What was made.
            execute: Sends an event.
        """
        quote = ""
        if way == "quoted" and dict(event.named).get("openingWindow") is True:
            way = "window"
        elif way == "quoted" and isinstance(event.direct, RefValue):
            steps = (*event.direct.steps, PropertyStep(_TEXT))
            read = Event(event.app, event.kind, "get", "", target=steps, writes=False)
            try:
                lines = str(execute(read).value or "").strip().splitlines()
            except ToolError:
                # The reply was made: only a text for it would do harm.
                way, lines = "unread", []
            quote = "".join(f"\n> {line}".rstrip() for line in lines)
        while len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[reference] = (way, quote)

    def with_quote(self, event: Event) -> Event:
        """Return a write with the quote below a text that it sets.

        Raises:
            ToolError: What it sets a text of takes none.
        """
        way, quote = self._known.get(format_reference(event.target), ("", ""))
        if not way or _TEXT not in dict(event.named):
            return event
        if way != "quoted":
            raise ToolError("NOT_SUPPORTED", _KEPT[way], _HELP[way])

        named = dict(event.named)
        if quote and quote not in str(named[_TEXT]):
            named[_TEXT] = f"{named[_TEXT]}\n{quote}"
        return replace(event, named=tuple(named.items()))

    def close(self) -> None:
        """End with the gate; nothing is open."""
