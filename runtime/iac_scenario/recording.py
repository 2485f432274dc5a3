"""From what a client and its servers said to a scenario that says it again.

What a server made and a later call gives back is captured; what changes from run to run becomes a
placeholder; what is secret in one place is taken out everywhere.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from iac_base.secrets import REDACTED, secrets_in, without_secrets
from iac_scenario.likeness import generalize_value, map_leaves
from iac_scenario.model import StdioServer, public_name

PROMPT: Final = "replay"
"""The prompt that a recorded scenario answers."""

_METHODS: Final = ("tools/call", "resources/read", "prompts/get", "completion/complete")
_QUESTIONS: Final = {"elicitation/create": "elicitations", "sampling/createMessage": "sampling"}
_NAMED: Final = re.compile(r"(?:\A|_|-)(?:id|key|uuid|cursor|handle)\Z|(?:Id|Key|Uuid|Cursor)\Z")
"""The end of a name under which servers keep what they make."""
_SHORTEST: Final = 4
"""Characters of a text that is looked for inside of others."""


@dataclass(slots=True)
class RecordedCall:
    """A call as it was made, what came of it, and what the server asked during it."""

    server: str
    method: str
    params: dict[str, Any]
    at: int
    text: str = ""
    value: Any = None
    is_error: bool = False
    done: bool = False
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def input(self) -> Any:
        """What the scenario gives as the call's input."""
        return self.params.get("arguments") or {} if self.method == "tools/call" else self.params


def recorded_calls(server: str, entries: Iterable[Mapping[str, Any]]) -> list[RecordedCall]:
    """Return the calls of one server's log that were answered, in the order they were made."""
    calls: list[RecordedCall] = []
    open_calls: dict[Any, RecordedCall] = {}
    questions: dict[Any, Mapping[str, Any]] = {}
    waiting: RecordedCall | None = None
    for entry in entries:
        message, side = entry["message"], entry["from"]
        if not isinstance(message, dict):
            continue
        method, params = message.get("method"), message.get("params") or {}
        key = message.get("id")
        if side == "client" and method in _METHODS:
            if waiting is not None and "inputResponses" in params:
                for name, answer in params["inputResponses"].items():
                    _note_answer(waiting, questions.get(name, {}), answer)
                call, waiting = waiting, None
            else:
                given = {name: value for name, value in params.items() if name != "_meta"}
                call = RecordedCall(server, method, given, entry["at"])
                calls.append(call)
            open_calls[key] = call
        elif side == "server" and method in _QUESTIONS:
            questions[key] = message
        elif side == "client" and key in questions and "result" in message and open_calls:
            last = list(open_calls.values())[-1]
            _note_answer(last, questions.pop(key), message["result"])
        elif side == "server" and key in open_calls and ("result" in message or "error" in message):
            call = open_calls.pop(key)
            result = message.get("result") or {}
            if result.get("resultType") == "input_required":
                questions = result.get("inputRequests") or {}
                waiting = call
            else:
                _finish_call(call, message)
    return [call for call in calls if call.done]


def _note_answer(call: RecordedCall, question: Mapping[str, Any], answer: Any) -> None:
    kind = _QUESTIONS.get(question.get("method", ""))
    params = question.get("params") or {}
    if kind is None or not isinstance(answer, dict):
        return
    if kind == "sampling":
        found: dict[str, Any] = {"text": (answer.get("content") or {}).get("text", "")}
    else:
        found = {"action": answer.get("action", "cancel")}
        if answer.get("content"):
            found["content"] = answer["content"]
        if params.get("message"):
            found["message"] = {"type": "exact", "text": params["message"]}
    call.answers.setdefault(kind, []).append(found)


def _finish_call(call: RecordedCall, message: Mapping[str, Any]) -> None:
    call.done = True
    if "error" in message:
        error = call.value = message["error"]
        call.is_error = True
        call.text = f"MCP error {error.get('code')}: {error.get('message')}"
        return
    result = message["result"]
    call.is_error = bool(result.get("isError"))
    if call.method != "tools/call":
        call.value = {key: item for key, item in result.items() if key != "_meta"}
        return
    blocks = result.get("content") or ()
    call.text = "\n".join(block.get("text", "") for block in blocks if block.get("type") == "text")
    call.value = result.get("structuredContent")
    if call.value is None:
        try:
            call.value = json.loads(call.text)
        except (ValueError, RecursionError):
            call.value = call.text


def scenario_document(
    name: str,
    calls: Sequence[RecordedCall],
    servers: Mapping[str, StdioServer],
    secrets: Collection[str],
) -> dict[str, Any]:
    """Return the scenario as the tables of its file."""
    known = set(secrets).union(*(secrets_in((call.params, call.value)) for call in calls))
    return {
        "name": name,
        "prompts": [PROMPT],
        "tool_execution": {"mode": "real_mcp"},
        "mcp_servers": {
            key: _recorded_server(server, known) for key, server in sorted(servers.items())
        },
        "responses": [
            {
                "pattern": {"type": "exact", "text": PROMPT},
                "response": {"tool_calls": list(_call_tables(calls, known))},
            }
        ],
    }


def _call_tables(
    calls: Sequence[RecordedCall], secrets: Collection[str]
) -> Iterator[dict[str, Any]]:
    """Yield the calls with what flows from one to another by name."""
    names: dict[str | int, str] = {}
    for number, call in enumerate(calls):
        given = _replace_captured(without_secrets(call.input, secrets), names)
        later = [leaf for after in calls[number + 1 :] for _, leaf in _leaf_paths(after.input)]
        said = [leaf for before in calls[: number + 1] for _, leaf in _leaf_paths(before.input)]
        captured = {
            f"value{len(names) + at + 1}": (path, leaf)
            for at, (path, leaf) in enumerate(_reused_values(call.value, set(later) - set(said)))
            if leaf not in names
        }
        yield _call_table(call, given, names, captured, secrets)
        names |= {leaf: name for name, (_, leaf) in captured.items()}


def _call_table(
    call: RecordedCall,
    given: Any,
    names: Mapping[str | int, str],
    captured: Mapping[str, tuple[str, str | int]],
    secrets: Collection[str],
) -> dict[str, Any]:
    text, value = without_secrets(call.text, secrets), without_secrets(call.value, secrets)
    if call.method == "tools/call":
        name = public_name(call.params.get("name", ""))
        table: dict[str, Any] = {"tool": f"mcp__{public_name(call.server)}__{name}", "input": given}
    else:
        table = {"request": call.method, "server": call.server, "input": given}
    table["error" if call.is_error else "result"] = (
        text if call.is_error or isinstance(value, str) else value
    )
    table["expect"] = {"is_error": call.is_error}
    # With other arguments than the recorded ones, another answer is to be expected.
    if REDACTED not in json.dumps(given):
        made: dict[str | int, str] = {leaf: "<any>" for _, leaf in captured.values()}
        want = value if not call.is_error and not isinstance(value, str) else text
        want = _replace_captured(want, names, made)
        want = generalize_value(map_leaves(want, _mask_secret))
        exact = want in (text, value)
        table["expect"]["equals" if exact else "like"] = want
    if captured:
        table["capture"] = {name: path for name, (path, _) in captured.items()}
    for kind, answers in call.answers.items():
        table[kind] = without_secrets(answers, secrets)
    return table


def _mask_secret(leaf: Any) -> Any:
    return leaf.replace(REDACTED, "<any>") if isinstance(leaf, str) else leaf


def _replace_captured(
    value: Any, names: Mapping[str | int, str], made: Mapping[str | int, str] | None = None
) -> Any:
    """Return a value with `${NAME}` for what was captured, and a placeholder for what is now."""
    stand_ins = {**{leaf: f"${{{name}}}" for leaf, name in names.items()}, **(made or {})}

    def replace_leaf(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int):
            return value
        if value in stand_ins:
            return stand_ins[value]
        if isinstance(value, str):
            for leaf, stand_in in stand_ins.items():
                if isinstance(leaf, str) and len(leaf) >= _SHORTEST:
                    value = value.replace(leaf, stand_in)
        return value

    return map_leaves(value, replace_leaf)


def _reused_values(value: Any, later: Collection[Any]) -> Iterator[tuple[str, str | int]]:
    """Yield where in a result stands what the server made and the client gives back later."""
    if isinstance(value, str):
        for leaf in later:
            if isinstance(leaf, str) and len(leaf) >= _SHORTEST and generalize_value(leaf) != leaf:
                before, found, _ = value.partition(leaf)
                # What stands before it on its line tells where it is.
                lead = re.escape(before.rpartition("\n")[2][-20:])
                where = rf"{lead}(\S+)"
                hit = re.search(where, value) if found else None
                if hit is not None and hit[1] == leaf:
                    yield where, leaf
        return
    for path, leaf in _leaf_paths(value):
        named = _NAMED.search(re.split(r"'\]|\['", path)[-2]) if path.endswith("']") else None
        changes = isinstance(leaf, str) and generalize_value(leaf) != leaf
        if leaf in later and (named or changes):
            yield path, leaf


def _leaf_paths(value: Any, path: str = "$") -> Iterator[tuple[str, str | int]]:
    """Yield the texts and whole numbers of a value, with their JSONPaths."""
    if isinstance(value, dict):
        for key, item in value.items():
            if "'" not in key and "\\" not in key:
                yield from _leaf_paths(item, f"{path}['{key}']")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaf_paths(item, f"{path}[{index}]")
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield path, value


def _recorded_server(server: StdioServer, secrets: Collection[str]) -> dict[str, Any]:
    table: dict[str, Any] = {"command": server.command}
    if server.args:
        # A file that is there is no secret, however random its folder is called.
        table["args"] = [
            word if os.path.isfile(word) else without_secrets(word, secrets)  # noqa: PTH113
            for word in server.args
        ]
    if server.env:
        # A secret is read from the environment of whoever plays the scenario.
        table["env"] = {
            name: value
            if without_secrets({name: value}, secrets)[name] == value
            else f"${{{name}}}"
            for name, value in server.env.items()
        }
    if server.cwd is not None:
        table["cwd"] = server.cwd
    return table
