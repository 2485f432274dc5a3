"""A scripted model on loopback: agents that talk to a model's API play a scenario unchanged.

A request that ends with the user's words gets the rule's reply; one that ends with results of calls
gets what the reply says `then`. Which call a result belongs to is told by its id.
"""

import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from iac_scenario.checks import RunChecks
from iac_scenario.conversation import (
    CallEvent,
    Conversation,
    EndEvent,
    Event,
    FailureEvent,
    ResultEvent,
    TextEvent,
    Violation,
    call_id,
    describe_failure,
)
from iac_scenario.matching import replace_variables
from iac_scenario.model import InjectedFailure, PlayError, ScenarioScript, ScriptedReply, ToolCall
from iac_scenario.results import (
    captured_values,
    missed_expectations,
    missing_captures,
    resolve_expectations,
)
from iac_scenario.wire import FORMS, ModelReply, ModelRequest, WireForm

_LARGEST: Final = 64_000_000
"""Bytes of a request."""
_MILD: Final[Mapping[str, str]] = {
    # No request but those of the scenario, no retry that outlasts a test, and tools at hand when
    # the first prompt is answered.
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "MCP_CONNECTION_NONBLOCKING": "0",
}
_VARIABLES: Final[Mapping[str, str]] = {
    "ANTHROPIC_BASE_URL": "{url}",
    "ANTHROPIC_API_KEY": "scripted",
    "OPENAI_BASE_URL": "{url}/v1",
    "OPENAI_API_KEY": "scripted",
    "CODEX_API_KEY": "scripted",
    "GOOGLE_GEMINI_BASE_URL": "{url}",
    "GEMINI_API_KEY": "scripted",
    "NO_PROXY": "127.0.0.1",
}


def client_environment(url: str) -> dict[str, str]:
    """Return an environment in which clients find the model at `url`."""
    variables = {name: text.format(url=url) for name, text in _VARIABLES.items()}
    return {**_MILD, **os.environ, **variables}


class _DueAnswer(NamedTuple):
    """What a request leads to: what is said, or a failure; `pause` in milliseconds comes first."""

    reply: ModelReply
    failure: InjectedFailure | None
    pause: int


class ScriptedModel:
    """The state of a scripted model, for requests of any form; `take` gets what happens."""

    def __init__(self, scenario: ScenarioScript, take: Callable[[Event], None]) -> None:
        self._scenario = scenario
        self._take = take
        self._conversation = Conversation(scenario)
        self._verdict = RunChecks(scenario)
        self._lock = threading.Lock()
        self._places: dict[str, Any] = {"SCENARIO_DIR": str(scenario.path.parent.resolve())}
        self._open: dict[str, tuple[ToolCall, ScriptedReply]] = {}
        self._prompt = ""
        self._prompts = self._calls = self._replies = 0
        moment = datetime.fromisoformat(scenario.identity.launch_timestamp)
        self._created = int(moment.timestamp())

    def next_answer(self, ask: ModelRequest) -> _DueAnswer:
        """Return what comes next, and judge the results that came with the request."""
        with self._lock:
            replies = [*filter(None, [self._check_result(*result) for result in ask.results])]
            if ask.results:
                reply = (replies[-1].then if replies else None) or ScriptedReply()
                return self._build_answer(ask, reply, None)
            self._prompt, self._prompts, self._calls = ask.prompt, self._prompts + 1, 0
            step = self._conversation.next_reply(ask.prompt)
            if not step.matched:
                self._emit_violations(self._verdict.unmatched_prompt(ask.prompt, self._prompts))
            return self._build_answer(ask, step.reply, step.failure)

    def _check_result(self, key: str, result: Any) -> ScriptedReply | None:
        """Judge one result; clients without ids name the tool."""
        named = next((k for k, (call, _) in self._open.items() if call.tool == key), key)
        if named not in self._open:
            return None
        call, reply = self._open.pop(named)
        kept = captured_values(call.capture, result)
        self._places |= kept
        missed = missed_expectations(resolve_expectations(call.expect, self._places), result)
        missed += missing_captures(call, kept, result)
        checks = len(call.expect) + len(call.capture)
        self._take(ResultEvent(named, call.tool, result, tuple(missed), checks))
        self._emit_violations(self._verdict.check_result(call, result, scripted=False))
        return reply

    def check_remaining(self) -> None:
        """Judge what no request has asked for."""
        self._emit_violations(self._verdict.remaining_violations(self._conversation))

    def _emit_violations(self, violations: Iterator[Violation]) -> None:
        for violation in violations:
            self._take(violation)

    def _build_answer(
        self, ask: ModelRequest, reply: ScriptedReply, failure: InjectedFailure | None
    ) -> _DueAnswer:
        identity = self._scenario.identity
        self._replies += 1
        if failure is not None:
            self._take(FailureEvent(failure, describe_failure(failure)))
        else:
            reply = replace(reply, text=replace_variables(reply.text, self._places))
            self._take(TextEvent(reply.text))
        calls = []
        for call in reply.calls if failure is None else ():
            key = call_id(identity, self._prompts, self._calls)
            self._calls += 1
            self._open[key] = call, reply
            given = replace_variables(call.input, self._places)
            self._take(CallEvent(key, call.tool, given))
            calls.append((key, call.tool, given))
        pause = reply.delay_ms or 0
        if not calls:
            self._take(EndEvent(self._prompt, pause, reply.usage))
        key = f"msg_{identity.session_id[:8]}_{self._replies}"
        text = reply.text if failure is None else str(failure.facts.get("partial_text", ""))
        spoken = ModelReply(
            key, identity.model, text, tuple(calls), reply.usage, self._created, ask.offered
        )
        return _DueAnswer(spoken, failure, pause)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: ScriptedModel
    names: tuple[str, ...]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hang up, which is how they cancel."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride] as typeshed has it

    def do_HEAD(self) -> None:
        self._send_bytes(200, b"")

    def do_GET(self) -> None:
        """List the models, in the form of all three vendors at once."""
        models = [
            {"id": name, "object": "model", "type": "model", "display_name": name, "created": 0,
             "created_at": "2025-01-01T00:00:00Z", "owned_by": "scenario", "slug": name}
            for name in self.server.names
        ]  # fmt: skip
        path = urlsplit(self.path).path
        if path.endswith("/models"):
            self._send_json(200, {"object": "list", "data": models, "has_more": False})
        elif "/models/" in path:
            self._send_json(200, models[0])
        else:
            self._send_error(404, "not_found_error", path)

    def do_POST(self) -> None:
        body = self._read_body()
        path = urlsplit(self.path).path
        if body is None:
            return
        if path.endswith(("/count_tokens", "/input_tokens", ":countTokens")):
            # An estimate that is the same for the same request, as the real ones are.
            count = len(json.dumps(body)) // 4
            name = "totalTokens" if path.endswith(":countTokens") else "input_tokens"
            self._send_json(200, {name: count})
            return
        streamed = path.endswith(":streamGenerateContent")
        path = path.replace(":streamGenerateContent", ":generateContent")
        form = next((form for end, form in FORMS.items() if path.endswith(end)), None)
        if form is None:
            self._send_error(404, "not_found_error", path)
            return
        try:
            ask = form.read(body)
        except (AttributeError, TypeError, KeyError) as error:
            self._send_json(400, form.error(400, "invalid_request_error", f"Malformed: {error}"))
            return
        self._send_answer(form, ask, stream=ask.stream or streamed)

    def _send_answer(self, form: WireForm, ask: ModelRequest, *, stream: bool) -> None:
        spoken, failure, pause = self.server.model.next_answer(ask)
        kind = None if failure is None else failure.kind
        facts = {} if failure is None else failure.facts
        if self._is_gone(pause + facts.get("after_ms", 0)):
            return
        error = None if failure is None else describe_failure(failure)
        if error is not None and error.status is not None:
            headers = {}
            if kind == "rate_limit":
                headers["retry-after"] = str(facts.get("retry_after", 60))
            self._send_json(error.status, form.error(error.status, *error[:2]), headers)
        elif kind in ("network_unreachable", "connection_timeout"):
            self._break_connection()
        elif kind == "malformed_json":
            self._send_bytes(200, str(facts.get("raw", "{")).encode())
        elif stream or kind == "partial_response":
            self._send_stream(form, spoken, broken=kind is not None)
        else:
            self._send_json(200, form.whole(spoken))

    def _send_stream(self, form: WireForm, spoken: ModelReply, *, broken: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        text = spoken.text
        for name, data in form.stream(spoken):
            event = f"event: {name}\n" if name else ""
            self._send_chunk(f"{event}data: {json.dumps(data)}\n\n")
            if broken and (not text or text[-8:] in json.dumps(data, ensure_ascii=False)):
                self._break_connection()
                return
        self._send_chunk(form.end)
        self._send_chunk("", last=True)

    def _send_chunk(self, text: str, *, last: bool = False) -> None:
        data = text.encode()
        if data or last:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _is_gone(self, pause: int) -> bool:
        """Wait, and say whether the client hung up meanwhile."""
        end = time.monotonic() + pause / 1000
        while (left := end - time.monotonic()) > 0:
            readable, _, _ = select.select([self.connection], [], [], min(left, 0.5))
            if readable:
                with suppress(OSError):
                    if self.connection.recv(1, socket.MSG_PEEK):
                        time.sleep(min(left, 0.05))
                        continue
                self.close_connection = True
                return True
        return False

    def _break_connection(self) -> None:
        """End the connection in the middle of whatever it carries."""
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _read_body(self) -> dict[str, Any] | None:
        length = self.headers.get("content-length", "")
        if not length.isdigit() or int(length) > _LARGEST:
            self.close_connection = True
            self._send_error(411, "invalid_request_error", "Its length?")
            return None
        try:
            body = json.loads(self.rfile.read(int(length)) or b"{}")
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self._send_error(400, "invalid_request_error", "No JSON.")
            return None
        return body

    def _send_error(self, status: int, kind: str, message: str) -> None:
        self._send_json(status, {"error": {"type": kind, "message": message}})

    def _send_json(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        self._send_bytes(status, json.dumps(value).encode(), headers)

    def _send_bytes(
        self, status: int, data: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the events tell what happens."""


def run_client(command: Sequence[str], url: str) -> int:
    """Run a client that finds the model at `url`, and return its status; without one, wait.

    Raises PlayError where it cannot be started.
    """
    if not command:
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
        return 0
    words = [word.replace("{url}", url) for word in command]
    try:
        return subprocess.run(words, env=client_environment(url), check=False).returncode
    except OSError as error:
        raise PlayError(f"{command[0]}: {error.strerror}.") from None


@contextmanager
def serve_model(
    scenario: ScenarioScript, take: Callable[[Event], None], port: int = 0
) -> Iterator[str]:
    """Serve the scenario's model on 127.0.0.1 and yield its address; judge the whole at the end.

    Raises PlayError for a port that cannot be had.
    """
    try:
        server = _Server(("127.0.0.1", port), _Handler)
    except OSError as error:
        raise PlayError(f"--port {port}: {error.strerror}.") from None
    server.model = ScriptedModel(scenario, take)
    server.names = (scenario.identity.model,)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    server.model.check_remaining()
