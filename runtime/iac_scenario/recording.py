"""From what a client and its servers said to a scenario that says it again.

What a server made and a later call gives back is captured; what changes from run to run becomes a
placeholder; what is secret in one place is taken out everywhere.

A program between the two passes each line on as it came, byte for byte, and notes it first: so an
answer never stands before what it answers.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final, Literal

from iac_base.files import write_whole
from iac_base.secrets import REDACTED, secrets_in, secrets_of, without_secrets
from iac_scenario.matching import generalize_value, map_leaves
from iac_scenario.mcp_servers import read_config, remote_servers
from iac_scenario.model import PlayError, StdioServer, public_name

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
        answer_table: dict[str, Any] = {"text": (answer.get("content") or {}).get("text", "")}
    else:
        answer_table = {"action": answer.get("action", "cancel")}
        if answer.get("content"):
            answer_table["content"] = answer["content"]
        if params.get("message"):
            answer_table["message"] = {"type": "exact", "text": params["message"]}
    call.answers.setdefault(kind, []).append(answer_table)


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
    response = {"tool_calls": list(_call_tables(calls, known))}
    return {
        "name": name,
        "prompts": [PROMPT],
        "tool_execution": {"mode": "real_mcp"},
        "mcp_servers": {key: server_table(servers[key], known) for key in sorted(servers)},
        "responses": [{"pattern": {"type": "exact", "text": PROMPT}, "response": response}],
    }


def _call_tables(
    calls: Sequence[RecordedCall], secrets: Collection[str]
) -> Iterator[dict[str, Any]]:
    """Yield the calls with what flows from one to another by name."""
    names: dict[str | int, str] = {}
    for number, call in enumerate(calls):
        given = _replace_captured(without_secrets(call.input, secrets), names)
        later = [leaf for after in calls[number + 1 :] for _, leaf in _leaf_paths(after.input)]
        earlier = [leaf for before in calls[: number + 1] for _, leaf in _leaf_paths(before.input)]
        captured = {
            f"value{len(names) + at + 1}": (path, leaf)
            for at, (path, leaf) in enumerate(_reused_values(call.value, set(later) - set(earlier)))
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
    result = text if call.is_error or isinstance(value, str) else value
    table["error" if call.is_error else "result"] = result
    table["expect"] = {"is_error": call.is_error}
    # With other arguments than the recorded ones, another answer is to be expected.
    if REDACTED not in json.dumps(given):
        made: dict[str | int, str] = {leaf: "<any>" for _, leaf in captured.values()}
        want = _replace_captured(result, names, made)
        table["expect"]["like"] = generalize_value(map_leaves(want, _mask_secret))
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
                before, separator, _ = value.partition(leaf)
                # What stands before it on its line tells where it is.
                lead = re.escape(before.rpartition("\n")[2][-20:])
                where = rf"{lead}(\S+)"
                hit = re.search(where, value) if separator else None
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


def placed_server(server: StdioServer, output: Path) -> StdioServer:
    """Return a server of the caller's folder as it is started from the folder of `output`."""
    here = os.path.relpath(Path.cwd() / (server.cwd or ""), output.parent.resolve())
    return replace(server, cwd=None if here == "." else here)


def server_table(server: StdioServer, secrets: Collection[str]) -> dict[str, Any]:
    """Return a server as a scenario's file names it, without secrets."""
    table: dict[str, Any] = {"command": server.command}
    if server.args:
        # A file that is there is no secret, however random its folder is called.
        table["args"] = [
            word if os.path.isfile(word) else without_secrets(word, secrets)  # noqa: PTH113
            for word in server.args
        ]
    if server.env:
        # A secret is read from the environment of whoever plays the scenario.
        shown = {k: without_secrets({k: v}, secrets)[k] for k, v in server.env.items()}
        table["env"] = {k: v if shown[k] == v else f"${{{k}}}" for k, v in server.env.items()}
    if server.cwd is not None:
        table["cwd"] = server.cwd
    return table


_PLACE: Final = "{mcp-config}"
_VARIABLE: Final = "IAC_SCENARIO_MCP_CONFIG"
_EVERY: Final = 0.3
"""Seconds between two looks at what was said."""
Side = Literal["client", "server"]


def relay_messages(command: Sequence[str], log: Path) -> int:
    """Run the server until one side ends, append JSON lines to `log`, return the server's status.

    A line of the log: `{"at": nanoseconds, "from": "client" or "server", "message": object}`.
    Raises PlayError where the server cannot be started.
    """
    try:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        raise PlayError(f"{command[0]}: {error.strerror}.") from None
    assert server.stdin is not None
    assert server.stdout is not None
    # What was said may hold secrets until they are taken out.
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb", buffering=0) as notes:
        streams = (sys.stdin.buffer, server.stdin, notes, "client")
        threading.Thread(target=_relay_stream, args=streams, daemon=True).start()
        _relay_stream(server.stdout, sys.stdout.buffer, notes, "server")
        return server.wait()


def _relay_stream(source: IO[bytes], target: IO[bytes], notes: IO[bytes], side: Side) -> None:
    try:
        while line := source.readline():
            _log_message(notes, side, line)
            target.write(line)
            target.flush()
    except (BrokenPipeError, ValueError):
        # The other side is gone; the server's end is seen by its status.
        pass
    finally:
        if side == "client":
            target.close()


def _log_message(notes: IO[bytes], side: Side, line: bytes) -> None:
    try:
        message = json.loads(line)
    except ValueError:
        return
    entry = {"at": time.time_ns(), "from": side, "message": message}
    # One write a line: two servers never mix their lines.
    notes.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")


def record_client(command: Sequence[str], config: Path, output: Path) -> tuple[int, int]:
    """Run a client with recorded servers; return its status and the number of calls.

    The client gets the path of the other configuration wherever `config` or `{mcp-config}` is
    among its arguments, and in IAC_SCENARIO_MCP_CONFIG. Raises PlayError where it cannot start.
    """
    servers = {key: server for key, server in read_config(config).items() if server.command}
    with TemporaryDirectory(prefix="iac-scenario-") as name:
        folder = Path(name)
        logs = {server: folder / f"{number}.jsonl" for number, server in enumerate(servers)}
        proxied = folder / "servers.json"
        table = {key: _proxy_server(server, logs[key]) for key, server in servers.items()}
        # A remote server cannot be recorded; the client has it all the same.
        proxied.write_text(json.dumps({"mcpServers": {**remote_servers(config), **table}}))
        words = [word.replace(_PLACE, str(proxied)) for word in command]
        words = [str(proxied) if word == str(config) else word for word in words]
        try:
            client = subprocess.Popen(words, env={**os.environ, _VARIABLE: str(proxied)})
        except OSError as error:
            raise PlayError(f"{command[0]}: {error.strerror}.") from None
        with _save_continuously(logs, servers, output) as count:
            status = client.wait()
    return status, count[0]


def record_server(command: Sequence[str], output: Path) -> tuple[int, int]:
    """Stand in a server's place on standard input and output; then as `record_client`."""
    name = Path(command[0]).stem
    servers = {name: StdioServer(command[0], tuple(command[1:]))}
    with TemporaryDirectory(prefix="iac-scenario-") as folder:
        logs = {name: Path(folder, "log.jsonl")}
        with _save_continuously(logs, servers, output) as count:
            status = relay_messages(command, logs[name])
    return status, count[0]


@contextmanager
def _save_continuously(
    logs: Mapping[str, Path], servers: Mapping[str, StdioServer], output: Path
) -> Iterator[list[int]]:
    """Write the scenario anew whenever a call was answered, so that no end of it loses any.

    Yields a list that holds the number of its calls at the end.
    """
    count = [-1]
    ended = threading.Event()

    def write_changes() -> None:
        answered = (recorded_calls(key, _read_entries(log)) for key, log in logs.items())
        recorded = [*chain.from_iterable(answered)]
        if len(recorded) != count[0]:
            count[0] = _write_scenario(recorded, servers, output)

    def write_repeatedly() -> None:
        while not ended.wait(_EVERY):
            # What cannot be written is told at the end.
            with suppress(PlayError):
                write_changes()

    keeper = threading.Thread(target=write_repeatedly, daemon=True)
    keeper.start()
    try:
        yield count
    finally:
        ended.set()
        keeper.join()
    write_changes()


def _proxy_server(server: StdioServer, log: Path) -> dict[str, Any]:
    words = ["-m", "iac_scenario", "proxy", str(log), "--", server.command, *server.args]
    table: dict[str, Any] = {"command": sys.executable, "args": words, "env": dict(server.env)}
    return table if server.cwd is None else {**table, "cwd": server.cwd}


def _read_entries(log: Path) -> list[dict[str, Any]]:
    """Return the entries that are whole; the last line may still be written."""
    if not log.is_file():
        return []
    return [json.loads(line) for line in log.read_bytes().rpartition(b"\n")[0].splitlines()]


def _write_scenario(
    calls: list[RecordedCall], servers: Mapping[str, StdioServer], output: Path
) -> int:
    """Write the scenario at once or not at all, and return how many calls it has."""
    given = {name: value for server in servers.values() for name, value in server.env.items()}
    secrets = secrets_of({**os.environ, **given})
    # The servers ran where the client did, and must again.
    placed = {key: placed_server(server, output) for key, server in servers.items()}
    calls = sorted(calls, key=lambda call: call.at)
    table = scenario_document(output.stem, calls, placed, secrets)
    text = json.dumps(table, ensure_ascii=False, indent=2) + "\n"
    try:
        write_whole(output, text if output.suffix == ".json" else _as_toml(table))
    except OSError as error:
        raise PlayError(f"--output {output}: {error.strerror}.") from None
    return len(calls)


def _as_toml(table: dict[str, Any]) -> str:
    import tomlkit

    # TOML has no null.
    whole = map_leaves(table, lambda leaf: {"$json": "null"} if leaf is None else leaf)
    return tomlkit.dumps(whole)
