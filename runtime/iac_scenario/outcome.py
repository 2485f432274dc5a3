"""What a call came to, in one shape for all executors."""

import json
from dataclasses import dataclass
from typing import Any

__all__ = ["NOT_GIVEN", "Outcome", "failed", "given", "textual"]

NOT_GIVEN = object()
"""Stands for a value that is not there, where null is one that is."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result: content blocks as MCP has them, whether it is an error, and its structured part.

    `executed` is False for a call that was not carried out at all (mode disabled).
    """

    content: tuple[dict[str, Any], ...]
    is_error: bool = False
    structured: Any = NOT_GIVEN
    executed: bool = True

    @property
    def text(self) -> str:
        """The text of all text blocks, joined by line ends."""
        return "\n".join(block["text"] for block in self.content if block.get("type") == "text")

    @property
    def value(self) -> Any:
        """The structured part, else the text read as JSON, else the text."""
        if self.structured is not NOT_GIVEN:
            return self.structured
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return self.text


def textual(text: str) -> Outcome:
    """Return a result that is one text."""
    return Outcome(({"type": "text", "text": text},))


def failed(text: str) -> Outcome:
    """Return an error result that says `text`."""
    return Outcome(({"type": "text", "text": text},), is_error=True)


def given(value: Any) -> Outcome:
    """Return the result that a scenario gives: a text, or a value that is shown as JSON."""
    if isinstance(value, str):
        return textual(value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    structured = value if isinstance(value, dict) else NOT_GIVEN
    return Outcome(({"type": "text", "text": text},), structured=structured)
