"""The forms of output: text for people, json and stream-json as Claude's own client prints them."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from iac_scenario.events import Answered, Called, Ended, Event, ReplyFailed, Said, Violation
from iac_scenario.model import SessionIdentity
from iac_scenario.results import shown

# One for all lines: json.dumps would make one for each.
_compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def missed(event: Event) -> Iterator[str]:
    """Yield the report of every expectation that a call missed, and of all else that fails."""
    if isinstance(event, Violation):
        yield str(event)
    elif isinstance(event, Answered):
        for miss in event.misses:
            where = f" (line {miss.line})" if miss.line else ""
            yield f"FAILED {event.tool}: {miss.kind}{where}"
            yield f"  expected: {miss.expected}"
            yield f"  got:      {miss.got}"


class Text:
    """The assistant's texts and the results of its calls."""

    def lines(self, event: Event) -> Iterator[str]:
        """Yield texts as they are; errors are marked."""
        if isinstance(event, Said) and event.text:
            yield event.text
        elif isinstance(event, Answered) and event.outcome.executed:
            text = event.outcome.text or _blocks(event)
            if text:
                yield f"Error: {text}" if event.outcome.is_error else text
        elif isinstance(event, ReplyFailed):
            yield from _partial(event)
            yield f"API Error: {event.told.message}"


class Json:
    """One object a prompt, in the shape of Claude's own result, with the calls added."""

    def __init__(self, identity: SessionIdentity) -> None:
        self._identity = identity
        self._turns = 0
        self._begin()

    def _begin(self) -> None:
        self._text = ""
        self._failure: ReplyFailed | None = None
        self._calls: dict[str, dict[str, Any]] = {}

    def lines(self, event: Event) -> Iterator[str]:
        """Yield the object when its prompt has ended."""
        match event:
            case Said():
                self._text = event.text
            case Called():
                self._calls[event.id] = {
                    "id": event.id, "name": event.tool, "input": event.input,
                }  # fmt: skip
            case Answered():
                self._calls[event.id] |= _answer(event)
            case ReplyFailed():
                self._failure = event
            case Ended():
                self._turns += 1
                yield _compact(self._result(event))
                self._begin()

    def _result(self, event: Ended) -> dict[str, Any]:
        failure = self._failure
        usage = {"input_tokens": 0, "output_tokens": 0, **event.usage}
        return {
            "type": "result",
            "subtype": "success" if failure is None else "error_during_execution",
            "is_error": failure is not None,
            "duration_ms": event.duration_ms,
            "num_turns": 1 + bool(self._calls),
            "result": self._text if failure is None else f"API Error: {failure.told.message}",
            "session_id": self._identity.session_id,
            "model": self._identity.model,
            "usage": usage,
            "tool_calls": list(self._calls.values()),
        }


def _answer(event: Answered) -> dict[str, Any]:
    if not event.outcome.executed:
        return {"executed": False}
    return {
        "is_error": event.outcome.is_error,
        "content": list(event.outcome.content),
        "failed_expectations": [
            {"kind": miss.kind, "line": miss.line, "expected": miss.expected, "got": miss.got}
            for miss in event.misses
        ],
    }


class Stream:
    """Content blocks as they come, numbered from 0 in each reply, then results."""

    def __init__(self) -> None:
        self._index = 0

    def lines(self, event: Event) -> Iterator[str]:
        """Yield one JSON object a line."""
        match event:
            case Said():
                yield from self._block({"type": "text"}, {"type": "text_delta", "text": event.text})
            case Called():
                start = {"type": "tool_use", "id": event.id, "name": event.tool}
                delta = {"type": "input_json_delta", "partial_json": _compact(event.input)}
                yield from self._block(start, delta)
            case Answered() if event.outcome.executed:
                yield _compact({
                    "type": "tool_result",
                    "tool_use_id": event.id,
                    "is_error": event.outcome.is_error,
                    "content": list(event.outcome.content),
                })  # fmt: skip
            case ReplyFailed():
                yield from self._failed(event)
            case Ended():
                self._index = 0

    def _block(self, start: Mapping[str, Any], delta: Mapping[str, Any]) -> Iterator[str]:
        index = self._index
        self._index += 1
        yield _compact({"type": "content_block_start", "index": index, "content_block": start})
        yield _compact({"type": "content_block_delta", "index": index, "delta": delta})
        yield _compact({"type": "content_block_stop", "index": index})

    def _failed(self, event: ReplyFailed) -> Iterator[str]:
        """Yield what arrives of a broken reply, then the error as the Messages API streams it."""
        if event.failure.kind == "malformed_json":
            yield from _partial(event)
            return
        for text in _partial(event):
            # A reply that breaks off has no end of its block.
            delta = {"type": "text_delta", "text": text}
            yield from list(self._block({"type": "text"}, delta))[:2]
        error = {"type": event.told.kind, "message": event.told.message}
        yield _compact({"type": "error", "error": error})


def _partial(event: ReplyFailed) -> Iterator[str]:
    for key in ("partial_text", "raw"):
        if key in event.failure.facts:
            yield event.failure.facts[key]


def _blocks(event: Answered) -> str:
    blocks = (block for block in event.outcome.content if block.get("type") != "text")
    return "\n".join(map(shown, blocks))


FORMATS: Final[Mapping[str, Callable[[SessionIdentity], Text | Json | Stream]]] = {
    "text": lambda _identity: Text(),
    "json": Json,
    "stream-json": lambda _identity: Stream(),
}
