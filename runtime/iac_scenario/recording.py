"""From the messages of a session to the document of a scenario that plays it again."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from iac_scenario.model import Server
from iac_scenario.naming import public
from iac_scenario.redact import redacted

__all__ = ["PROMPT", "Recorded", "document", "recorded"]

PROMPT: Final = "replay"
"""The prompt that a recorded scenario answers."""

_CHANGING: Final = re.compile(
    r"""(?x)
    \d{4}-\d\d-\d\d[T\ ]\d\d:\d\d | \b\d\d:\d\d:\d\d\b             # times
    | \b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}- | \b[0-9a-fA-F]{16,}\b
    | \b\d{10,}\b | /tmp/ | \b\d+(?:\.\d+)?\ ?(?:ms|seconds)\b
    """
)
"""What will be another text next time: then the text itself is not expected."""


@dataclass(slots=True)
class Recorded:
    """A call as it was made, what came of it, and what the server asked during it."""

    server: str
    tool: str
    input: Any
    at: int
    text: str = ""
    is_error: bool = False
    done: bool = False
    elicitations: list[dict[str, Any]] = field(default_factory=list)


def recorded(server: str, entries: Iterable[Mapping[str, Any]]) -> list[Recorded]:
    """Return the calls of one server's log that were answered, in the order they were made."""
    calls: list[Recorded] = []
    open_calls: dict[Any, Recorded] = {}
    questions: dict[Any, str] = {}
    waiting: Recorded | None = None
    for entry in entries:
        message, side = entry["message"], entry["from"]
        if not isinstance(message, dict):
            continue
        method, params = message.get("method"), message.get("params") or {}
        key = message.get("id")
        if side == "client" and method == "tools/call":
            if waiting is not None and "inputResponses" in params:
                _note_rounds(waiting, questions, params["inputResponses"])
                call, waiting = waiting, None
            else:
                call = Recorded(
                    server, params.get("name", ""), params.get("arguments") or {}, entry["at"]
                )
                calls.append(call)
            open_calls[key] = call
        elif side == "server" and method == "elicitation/create":
            questions[key] = params.get("message", "")
        elif side == "client" and key in questions and "result" in message and open_calls:
            last = list(open_calls.values())[-1]
            last.elicitations.append(_elicited(questions.pop(key), message["result"]))
        elif side == "server" and key in open_calls and ("result" in message or "error" in message):
            call = open_calls.pop(key)
            result = message.get("result") or {}
            if result.get("resultType") == "input_required":
                asked = result.get("inputRequests") or {}
                questions = {
                    name: (request.get("params") or {}).get("message", "")
                    for name, request in asked.items()
                }
                waiting = call
            else:
                _finish(call, message)
    return [call for call in calls if call.done]


def _note_rounds(call: Recorded, questions: Mapping[Any, str], answers: Mapping[str, Any]) -> None:
    for name, answer in answers.items():
        if isinstance(answer, dict) and "action" in answer:
            call.elicitations.append(_elicited(questions.get(name, ""), answer))


def _elicited(question: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"action": answer.get("action", "cancel")}
    if answer.get("content"):
        found["content"] = answer["content"]
    if question:
        found["message"] = {"type": "exact", "text": question}
    return found


def _finish(call: Recorded, message: Mapping[str, Any]) -> None:
    call.done = True
    if "error" in message:
        error = message["error"]
        call.is_error = True
        call.text = f"MCP error {error.get('code')}: {error.get('message')}"
        return
    result = message["result"]
    call.is_error = bool(result.get("isError"))
    call.text = "\n".join(
        block.get("text", "")
        for block in result.get("content") or ()
        if block.get("type") == "text"
    )


def document(
    name: str, calls: Iterable[Recorded], servers: Mapping[str, Server], secrets: Collection[str]
) -> dict[str, Any]:
    """Return the scenario as the tables of its file."""
    return {
        "name": name,
        "prompts": [PROMPT],
        "tool_execution": {"mode": "real_mcp"},
        "mcp_servers": {key: _server(server, secrets) for key, server in sorted(servers.items())},
        "responses": [
            {
                "pattern": {"type": "exact", "text": PROMPT},
                "response": {"tool_calls": [_call(call, secrets) for call in calls]},
            }
        ],
    }


def _call(call: Recorded, secrets: Collection[str]) -> dict[str, Any]:
    text = redacted(call.text, secrets)
    given = redacted(call.input, secrets)
    table: dict[str, Any] = {
        "tool": f"mcp__{public(call.server)}__{public(call.tool)}",
        "input": given,
        "error" if call.is_error else "result": text,
        "expect": {"is_error": call.is_error},
    }
    # With other arguments than the recorded ones, another text is to be expected.
    if text == call.text and given == call.input and _CHANGING.search(text) is None:
        table["expect"]["equals"] = text
    if call.elicitations:
        table["elicitations"] = redacted(call.elicitations, secrets)
    return table


def _server(server: Server, secrets: Collection[str]) -> dict[str, Any]:
    table: dict[str, Any] = {"command": server.command}
    if server.args:
        table["args"] = [redacted(word, secrets) for word in server.args]
    if server.env:
        # A secret is read from the environment of whoever plays the scenario.
        table["env"] = {
            name: value if redacted({name: value}, secrets)[name] == value else f"${{{name}}}"
            for name, value in server.env.items()
        }
    if server.cwd is not None:
        table["cwd"] = server.cwd
    return table
