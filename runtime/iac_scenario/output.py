"""The forms of output: text for people, json and stream-json as Claude Code's `-p` prints them.

Lines of stream-json are messages of the Claude Agent SDK: system/init, assistant with one block
each, user with a result of a tool, result. `json` is the result alone.
"""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from iac_scenario.arguments import BUILT_IN
from iac_scenario.events import Answered, Called, Ended, Event, ReplyFailed, Said, Violation
from iac_scenario.model import ScenarioScript
from iac_scenario.modes import calls_of
from iac_scenario.results import shown
from iac_scenario.wire import Spoken, message

# One for all lines: json.dumps would make one for each.
_compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
_MODES: Final = {
    "accept-edits": "acceptEdits", "bypass-permissions": "bypassPermissions", "dont-ask": "dontAsk",
}  # fmt: skip


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
            if text := answer_text(event):
                yield f"Error: {text}" if event.outcome.is_error else text
        elif isinstance(event, ReplyFailed):
            yield from _partial(event)
            yield f"API Error: {event.told.message}"


class Stream:
    """Messages as they come; ids are the same in every run."""

    def __init__(self, scenario: ScenarioScript) -> None:
        self._scenario = scenario
        self._session = scenario.identity.session_id
        # The session's id with last digits that count.
        self._space = str(uuid.UUID(self._session))[:24]
        self._lines = self._messages = 0
        self._begin()

    def _begin(self) -> None:
        self._texts: list[str] = []
        self._calls: dict[str, Called] = {}
        self._denials: list[dict[str, Any]] = []
        self._missed: list[dict[str, Any]] = []
        self._failure: ReplyFailed | None = None

    def lines(self, event: Event) -> Iterator[str]:
        """Yield one JSON object a line."""
        return map(_compact, self.messages(event))

    def messages(self, event: Event) -> Iterator[dict[str, Any]]:
        """Yield the messages that an event leads to."""
        if not self._lines:
            yield self._message("system", self._init())
        match event:
            case Said():
                self._messages += 1
                self._texts.append(event.text)
                if event.text:
                    yield self._assistant(event.text)
            case Called():
                self._calls[event.id] = event
                yield self._assistant("", event)
            case Answered():
                yield from self._answered(event)
            case ReplyFailed():
                self._messages += 1
                self._failure = event
                self._texts.append(_said(event))
                yield self._assistant(_said(event))
            case Ended():
                yield self._message("result", self._result(event))
                self._begin()

    def _message(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        self._lines += 1
        own = f"{self._space}{self._lines:012x}"
        return {"type": kind, **fields, "session_id": self._session, "uuid": own}

    def _init(self) -> dict[str, Any]:
        scenario = self._scenario
        named = {call.tool for call in calls_of(scenario) if not call.request}
        mode = scenario.permissions.mode or "default"
        return {
            "subtype": "init",
            "cwd": scenario.identity.working_directory or "/sandbox",
            "tools": [*BUILT_IN, *sorted(named - BUILT_IN.keys())],
            "mcp_servers": [{"name": name, "status": "pending"} for name in scenario.servers],
            "model": scenario.identity.model,
            "permissionMode": _MODES.get(mode, mode),
            "slash_commands": [],
            "apiKeySource": "none",
            "claude_code_version": "scripted",
            "output_style": "default",
            "agents": [],
            "skills": [],
            "plugins": [],
        }

    def _assistant(self, text: str, call: Called | None = None) -> dict[str, Any]:
        key = f"msg_{self._session[:8]}_{self._messages}"
        calls = () if call is None else ((call.id, call.tool, call.input),)
        model = self._scenario.identity.model if self._failure is None else "<synthetic>"
        said = message(Spoken(key, model, text, calls, {}, 0, {}))
        # As in the client, which prints a block before it knows how the message ends.
        said["stop_reason"] = None
        fields: dict[str, Any] = {"message": said, "parent_tool_use_id": None}
        if self._failure is not None:
            fields["error"] = self._failure.told.word
        return self._message("assistant", fields)

    def _answered(self, event: Answered) -> Iterator[dict[str, Any]]:
        outcome, call = event.outcome, self._calls[event.id]
        for miss in event.misses:
            self._missed.append({"tool": event.tool, **miss._asdict()})
        if outcome.denied:
            self._denials.append(
                {"tool_name": event.tool, "tool_use_id": event.id, "tool_input": call.input}
            )
        if outcome.executed:
            block = {
                "type": "tool_result",
                "tool_use_id": event.id,
                "content": _content(outcome.content),
                "is_error": outcome.is_error,
            }
            said = {"role": "user", "content": [block]}
            yield self._message("user", {"message": said, "parent_tool_use_id": None})

    def _result(self, event: Ended) -> dict[str, Any]:
        failure = self._failure
        tokens = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens",
                  "output_tokens")  # fmt: skip
        found: dict[str, Any] = {
            "subtype": "success",
            "is_error": failure is not None,
            "api_error_status": failure and failure.told.status,
            "duration_ms": event.duration_ms,
            "duration_api_ms": event.duration_ms,
            "num_turns": max(len(self._texts), 1),
            "result": next(filter(None, reversed(self._texts)), ""),
            "stop_reason": "end_turn" if failure is None else "stop_sequence",
            "total_cost_usd": 0,
            "usage": {name: event.usage.get(name, 0) for name in tokens},
            "modelUsage": {},
            "permission_denials": self._denials,
        }
        return {**found, "failed_expectations": self._missed} if self._missed else found


class Json(Stream):
    """The result of each prompt, and nothing else."""

    def lines(self, event: Event) -> Iterator[str]:
        """Yield one JSON object a prompt."""
        return (_compact(each) for each in self.messages(event) if each["type"] == "result")


def _said(event: ReplyFailed) -> str:
    """Return what the client says of a failure, after what had arrived."""
    code = f"{event.told.status} " if event.told.status else ""
    return "\n".join((*_partial(event), f"API Error: {code}{event.told.message}"))


def _content(blocks: tuple[dict[str, Any], ...]) -> str | list[dict[str, Any]]:
    """Return the content of a result as the Messages API has it; one text is a text."""
    if len(blocks) == 1 and blocks[0].get("type") == "text":
        return str(blocks[0]["text"])
    return [_block(block) for block in blocks]


def _block(block: dict[str, Any]) -> dict[str, Any]:
    if block.get("type") == "text":
        return {"type": "text", "text": block["text"]}
    if block.get("type") == "image":
        source = {"type": "base64", "media_type": block.get("mimeType"), "data": block.get("data")}
        return {"type": "image", "source": source}
    return {"type": "text", "text": _compact(block)}


def _partial(event: ReplyFailed) -> Iterator[str]:
    for key in ("partial_text", "raw"):
        if key in event.failure.facts:
            yield event.failure.facts[key]


def answer_text(event: Answered) -> str:
    """Return the text of a result, else its other blocks, shortened."""
    others = (block for block in event.outcome.content if block.get("type") != "text")
    return event.outcome.text or "\n".join(map(shown, others))


FORMATS: Final[Mapping[str, Callable[[ScenarioScript], Text | Stream]]] = {
    "text": lambda _scenario: Text(),
    "json": Json,
    "stream-json": Stream,
}
