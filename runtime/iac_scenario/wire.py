"""The forms in which agents talk to a model: Anthropic's Messages, OpenAI's two, Gemini's.

Each form reads a request into a `ModelRequest`, and writes a `ModelReply` whole or as the data of
server-sent events. What a scenario does not script (sampling, caches, thinking) is passed over.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from iac_scenario.results import CallResult, text_result

Json = dict[str, Any]
_PIECE: Final = 24
"""Characters of one delta of a text."""
_REMINDER: Final = (
    "<system-reminder>", "<environment_context>", "<user_instructions>", "<session_context>",
)  # fmt: skip
"""How texts begin that a client adds to what the user says."""


class ModelReply(NamedTuple):
    """A reply of the model: calls as (id, tool, arguments); `created` in seconds of Unix time."""

    id: str
    model: str
    text: str
    calls: tuple[tuple[str, str, Any], ...]
    usage: Mapping[str, int]
    created: int
    offered: Mapping[str, Mapping[str, str]]

    def offered_name(self, tool: str) -> Mapping[str, str]:
        """Return the name of a tool, and its namespace if any, as the client offered it."""
        return self.offered.get(_plain_name(tool), {"name": tool})


class ModelRequest(NamedTuple):
    """A request: what the user said last, else the results of the calls before, by id.

    Clients spell `mcp__SERVER__TOOL` in their own ways; `offered` leads from one to theirs.
    """

    prompt: str
    results: tuple[tuple[str, CallResult], ...]
    stream: bool
    offered: Mapping[str, Mapping[str, str]]


class WireForm(NamedTuple):
    """A form: how it is read and written; an event is the name of it (or "") and its data."""

    read: Callable[[Json], ModelRequest]
    whole: Callable[[ModelReply], Json]
    stream: Callable[[ModelReply], Iterator[tuple[str, Json]]]
    error: Callable[[int, str, str], Json]
    end: str = ""


def _model_request(items: Sequence[tuple[str, str, CallResult | None]], body: Json) -> ModelRequest:
    """Judge what follows the model's last turn: ("user", text), ("result", id), ("model", "")."""
    given = body.get("input", ())
    more = (item.get("tools") or () for item in given if isinstance(item, dict))
    tools = [*(body.get("tools") or ()), *chain.from_iterable(more)]
    offered = {
        _plain_name("_".join(reversed(names.values()))): names for names in _offered_tools(tools)
    }
    last = max((at for at, item in enumerate(items) if item[0] == "model"), default=-1)
    tail = items[last + 1 :]
    prompts = [text for kind, text, _ in tail if kind == "user" and text]
    results = tuple((key, result) for _, key, result in tail if result is not None)
    return ModelRequest(prompts[-1] if prompts else "", results, bool(body.get("stream")), offered)


def _offered_tools(tools: Iterable[Json], **within: str) -> Iterator[dict[str, str]]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _offered_tools(tool.get("tools", ()), namespace=tool.get("name", ""))
        elif "functionDeclarations" in tool:
            yield from _offered_tools(tool["functionDeclarations"])
        else:
            name = tool.get("function", tool).get("name", "")
            yield {"name": name, **within}


def _plain_name(tool: str) -> str:
    return re.sub("_+", "_", tool)


def _role_kind(message: Json) -> str:
    return {"assistant": "model", "user": "user"}.get(message.get("role", ""), "system")


def _content_text(content: Any) -> str:
    """Return the text of a content, without what the client added by itself."""
    blocks = [{"text": content}] if isinstance(content, str) else content or ()
    texts = (block.get("text") or "" for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if text and not text.lstrip().startswith(_REMINDER))


def _tool_result(content: Any, *, is_error: bool = False) -> CallResult:
    if isinstance(content, list):
        # OpenAI calls a text `input_text`.
        blocks = ({**block, "type": "text"} if "text" in block else block for block in content)
        return CallResult(tuple(blocks), is_error)
    text = content if isinstance(content, str) else json.dumps(content)
    return text_result(text, is_error=is_error)


def _text_pieces(text: str) -> Iterator[str]:
    return (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))


# Anthropic's Messages, https://docs.anthropic.com/en/api/messages-streaming


def _read_messages(body: Json) -> ModelRequest:
    items: list[tuple[str, str, CallResult | None]] = []
    for message in body.get("messages", ()):
        content = message.get("content")
        if message.get("role") == "assistant":
            items.append(("model", "", None))
            continue
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_result":
                error = bool(block.get("is_error"))
                result = _tool_result(block.get("content") or "", is_error=error)
                items.append(("result", block.get("tool_use_id", ""), result))
        items.append((_role_kind(message), _content_text(content), None))
    return _model_request(items, body)


def anthropic_message(spoken: ModelReply) -> Json:
    """Return a reply as Anthropic's API and Claude Code's stream have it."""
    content: list[Json] = [{"type": "text", "text": spoken.text}] if spoken.text else []
    content += (
        {"type": "tool_use", "id": key, **spoken.offered_name(tool), "input": arguments}
        for key, tool, arguments in spoken.calls
    )
    usage = {"input_tokens": 0, "output_tokens": 0, **spoken.usage}
    reason = "tool_use" if spoken.calls else "end_turn"
    return {
        "id": spoken.id, "type": "message", "role": "assistant", "model": spoken.model,
        "content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def _stream_message(spoken: ModelReply) -> Iterator[tuple[str, Json]]:
    whole = anthropic_message(spoken)
    begun = {**whole, "content": [], "stop_reason": None}
    events: list[Json] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            start: Json = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": text} for text in _text_pieces(block["text"])]
        else:
            start = {**block, "input": {}}
            text = json.dumps(block["input"])
            kind = {"type": "input_json_delta"}
            deltas = [{**kind, "partial_json": part} for part in _text_pieces(text)]
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += ({"type": "content_block_delta", "index": index, "delta": d} for d in deltas)
        events.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": whole["usage"]})
    events.append({"type": "message_stop"})
    return ((event["type"], event) for event in events)


# OpenAI's Chat Completions, https://platform.openai.com/docs/api-reference/chat


def _read_chat(body: Json) -> ModelRequest:
    items: list[tuple[str, str, CallResult | None]] = []
    for message in body.get("messages", ()):
        if message.get("role") == "tool":
            result = _tool_result(_content_text(message.get("content")))
            items.append(("result", message.get("tool_call_id", ""), result))
        else:
            items.append((_role_kind(message), _content_text(message.get("content")), None))
    return _model_request(items, body)


def _chat_object(spoken: ModelReply, kind: str, **choice: Any) -> Json:
    choices = [{"index": 0, "finish_reason": None, **choice}]
    return {
        "id": spoken.id, "object": kind, "created": spoken.created, "model": spoken.model,
        "choices": choices,
    }  # fmt: skip


def _chat_calls(spoken: ModelReply) -> list[Json]:
    return [
        {"index": index, "id": key, "type": "function",
         "function": {**spoken.offered_name(tool), "arguments": json.dumps(arguments)}}
        for index, (key, tool, arguments) in enumerate(spoken.calls)
    ]  # fmt: skip


def _whole_chat(spoken: ModelReply) -> Json:
    message: Json = {"role": "assistant", "content": spoken.text or None}
    if spoken.calls:
        message["tool_calls"] = _chat_calls(spoken)
    reason = "tool_calls" if spoken.calls else "stop"
    whole = _chat_object(spoken, "chat.completion", message=message, finish_reason=reason)
    return {**whole, "usage": _token_counts(spoken, "prompt_tokens", "completion_tokens")}


def _stream_chat(spoken: ModelReply) -> Iterator[tuple[str, Json]]:
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += ({"content": text} for text in _text_pieces(spoken.text))
    deltas += ({"tool_calls": [call]} for call in _chat_calls(spoken))
    for delta in deltas:
        yield "", _chat_object(spoken, "chat.completion.chunk", delta=delta)
    reason = "tool_calls" if spoken.calls else "stop"
    last = _chat_object(spoken, "chat.completion.chunk", delta={}, finish_reason=reason)
    yield "", {**last, "usage": _token_counts(spoken, "prompt_tokens", "completion_tokens")}


def _token_counts(spoken: ModelReply, read: str, written: str, total: str = "total_tokens") -> Json:
    into, out = (spoken.usage.get(f"{side}_tokens", 0) for side in ("input", "output"))
    return {read: into, written: out, total: into + out}


# OpenAI's Responses, https://platform.openai.com/docs/api-reference/responses-streaming


def _read_responses(body: Json) -> ModelRequest:
    given = body.get("input", ())
    given = [{"role": "user", "content": given}] if isinstance(given, str) else given
    items: list[tuple[str, str, CallResult | None]] = []
    for item in given:
        if str(item.get("type")).endswith("_call_output"):
            items.append(("result", item.get("call_id", ""), _tool_result(item.get("output", ""))))
        elif item.get("role") in ("user", "system", "developer"):
            items.append((_role_kind(item), _content_text(item.get("content")), None))
        else:
            items.append(("model", "", None))
    return _model_request(items, body)


def _response_object(spoken: ModelReply, status: str, output: list[Json]) -> Json:
    usage = {
        **_token_counts(spoken, "input_tokens", "output_tokens"),
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {
        "id": spoken.id, "object": "response", "created_at": spoken.created, "status": status,
        "model": spoken.model, "output": output, "parallel_tool_calls": True,
        "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None,
        "usage": usage,
    }  # fmt: skip


def _output_items(spoken: ModelReply) -> list[Json]:
    items: list[Json] = []
    if spoken.text:
        part = {"type": "output_text", "text": spoken.text, "annotations": []}
        items.append({"type": "message", "role": "assistant", "content": [part]})
    for key, tool, arguments in spoken.calls:
        call = {"call_id": key, **spoken.offered_name(tool)}
        if isinstance(arguments, str):
            items.append({"type": "custom_tool_call", **call, "input": arguments})
        else:
            text = json.dumps(arguments)
            items.append({"type": "function_call", **call, "arguments": text})
    frame = {"status": "completed"}
    return [{"id": f"{spoken.id}_{at}", **frame, **item} for at, item in enumerate(items)]


def _stream_response(spoken: ModelReply) -> Iterator[tuple[str, Json]]:
    output = _output_items(spoken)
    events: list[Json] = []
    for kind in ("created", "in_progress"):
        events.append({"type": f"response.{kind}", "response": _response_object(spoken, kind, [])})
        events[-1]["response"]["status"] = "in_progress"
    for index, item in enumerate(output):
        where = {"output_index": index}
        begun = {**item, "status": "in_progress"}
        at = {**where, "item_id": item["id"]}
        if item["type"] == "message":
            begun["content"] = []
            part, within = item["content"][0], {**at, "content_index": 0}
            inner: list[Json] = [
                {"type": "response.content_part.added", **within, "part": {**part, "text": ""}}
            ]
            for text in _text_pieces(spoken.text):
                delta = {"delta": text, "logprobs": []}
                inner.append({"type": "response.output_text.delta", **within, **delta})
            done = {"text": spoken.text, "logprobs": []}
            inner.append({"type": "response.output_text.done", **within, **done})
            inner.append({"type": "response.content_part.done", **within, "part": part})
        else:
            field = "arguments" if item["type"] == "function_call" else "input"
            kind, begun[field] = f"response.{item['type']}_{field}", ""
            inner = [{"type": f"{kind}.delta", **at, "delta": x} for x in _text_pieces(item[field])]
            inner.append({"type": f"{kind}.done", **at, "name": item["name"], field: item[field]})
        events.append({"type": "response.output_item.added", **where, "item": begun})
        events += inner
        events.append({"type": "response.output_item.done", **where, "item": item})
    whole = _response_object(spoken, "completed", output)
    events.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(events):
        yield event["type"], {**event, "sequence_number": number}


# Gemini, https://ai.google.dev/api/generate-content


def _read_gemini(body: Json) -> ModelRequest:
    items: list[tuple[str, str, CallResult | None]] = []
    for content in body.get("contents", ()):
        parts = content.get("parts", ())
        if content.get("role") == "model":
            items.append(("model", "", None))
            continue
        for part in parts:
            if (answer := part.get("functionResponse")) is not None:
                given = answer.get("response", {})
                error = "error" in given
                output = given.get("error" if error else "output", given)
                key = answer.get("id") or answer.get("name", "")
                items.append(("result", key, _tool_result(output, is_error=error)))
        items.append(("user", _content_text(parts), None))
    return _model_request(items, body)


def _gemini_response(spoken: ModelReply, parts: Sequence[Json], **ended: str) -> Json:
    content = {"role": "model", "parts": list(parts)}
    names = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")
    return {
        "candidates": [{"content": content, "index": 0, **ended}],
        "usageMetadata": _token_counts(spoken, *names),
        "modelVersion": spoken.model,
        "responseId": spoken.id,
    }


def _gemini_parts(spoken: ModelReply) -> list[Json]:
    calls = [
        {"functionCall": {"id": key, **spoken.offered_name(tool), "args": arguments}}
        for key, tool, arguments in spoken.calls
    ]
    return [*({"text": text} for text in _text_pieces(spoken.text)), *calls]


def _stream_gemini(spoken: ModelReply) -> Iterator[tuple[str, Json]]:
    *parts, last = _gemini_parts(spoken) or [{"text": ""}]
    for part in parts:
        yield "", _gemini_response(spoken, [part])
    yield "", _gemini_response(spoken, [last], finishReason="STOP")


_GOOGLE: Final = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}

FORMS: Final[Mapping[str, WireForm]] = {
    "/messages": WireForm(
        _read_messages, anthropic_message, _stream_message,
        lambda _, kind, said: {"type": "error", "error": {"type": kind, "message": said}},
    ),
    "/chat/completions": WireForm(
        _read_chat, _whole_chat, _stream_chat,
        lambda _, kind, said: {"error": {"type": kind, "code": kind, "message": said}},
        "data: [DONE]\n\n",
    ),
    "/responses": WireForm(
        _read_responses,
        lambda spoken: _response_object(spoken, "completed", _output_items(spoken)),
        _stream_response,
        lambda _, kind, said: {"error": {"type": kind, "code": kind, "message": said}},
    ),
    ":generateContent": WireForm(
        _read_gemini,
        lambda spoken: _gemini_response(spoken, _gemini_parts(spoken), finishReason="STOP"),
        _stream_gemini,
        lambda status, _, said: {
            "error": {"code": status, "message": said, "status": _GOOGLE.get(status, "INTERNAL")}
        },
    ),
}  # fmt: skip
"""The end of the address to the form; `:streamGenerateContent` is the last one, streamed."""
