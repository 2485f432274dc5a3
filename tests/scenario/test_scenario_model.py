"""A scripted model and mock tools as servers of their own, asked by hand."""

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, IncompleteRead, RemoteDisconnected
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scenario_helpers import Make, Run

from iac_scenario.events import Event
from iac_scenario.model_server import serve_model
from iac_scenario.output import failure_lines
from iac_scenario.reader import load_scenario

SCENARIO = Path(__file__).parent / "agents" / "agents.toml"

FAILURES = """
[[responses]]
pattern = { type = "exact", text = "cut" }
failure = { type = "network_unreachable" }
[[responses]]
pattern = { type = "exact", text = "garbage" }
failure = { type = "malformed_json", raw = '{"type":' }
[[responses]]
pattern = { type = "exact", text = "poor" }
failure = { type = "out_of_credits" }
[[responses]]
pattern = { type = "exact", text = "partial" }
failure = { type = "partial_response", partial_text = "It beg" }
[[responses]]
pattern = { type = "exact", text = "limit" }
failure = { type = "rate_limit", retry_after = 7 }
"""


class Served(NamedTuple):
    """A model that listens, and what happened to it."""

    port: int
    events: list[Event]

    def ask(self, path: str, body: Any) -> tuple[int, str, dict[str, str]]:
        data = body if isinstance(body, bytes) else json.dumps(body)
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request("POST", path, data)
            with connection.getresponse() as answer:
                text = answer.read().decode()
                return answer.status, text, dict(answer.getheaders())


@pytest.fixture
def served() -> Iterator[Served]:
    events: list[Event] = []
    with serve_model(load_scenario(SCENARIO).scenario, events.append) as url:
        yield Served(int(url.rpartition(":")[2]), events)


@pytest.fixture
def failing(make: Make) -> Iterator[Served]:
    events: list[Event] = []
    with serve_model(load_scenario(make(FAILURES)).scenario, events.append) as url:
        yield Served(int(url.rpartition(":")[2]), events)


def said(prompt: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": prompt}]}


FORMS = {
    "/v1/messages": said("call"),
    "/v1/chat/completions": said("call"),
    "/v1/responses": {"input": "call"},
    "/v1beta/models/any:generateContent": {"contents": [{"parts": [{"text": "call"}]}]},
}


def follow(path: str, answer: dict[str, Any], result: str) -> dict[str, Any]:
    """Return the request that brings the result of a call, in the form of a path."""
    if path.endswith("/messages"):
        call = answer["content"][-1]
        block = {"type": "tool_result", "tool_use_id": call["id"], "content": result}
        return {"messages": [{"role": "assistant"}, {"role": "user", "content": [block]}]}
    if path.endswith("/completions"):
        message = answer["choices"][0]["message"]
        key = message["tool_calls"][0]["id"]
        return {"messages": [message, {"role": "tool", "tool_call_id": key, "content": result}]}
    if path.endswith("/responses"):
        key = answer["output"][-1]["call_id"]
        output = {"type": "function_call_output", "call_id": key, "output": result}
        return {"input": [*answer["output"], output]}
    name = answer["candidates"][0]["content"]["parts"][-1]["functionCall"]["name"]
    part = {"functionResponse": {"name": name, "response": {"output": result}}}
    return {"contents": [{"role": "model", "parts": []}, {"role": "user", "parts": [part]}]}


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("result", ["through", "astray"])
def test_each_form_calls_and_judges_the_result(served: Served, path: str, result: str) -> None:
    status, text, _ = served.ask(path, FORMS[path])
    assert (status, '"through"' in text.replace('\\"', '"')) == (200, True), text
    status, text, _ = served.ask(path, follow(path, json.loads(text), result))
    report = [line for event in served.events for line in failure_lines(event)]
    assert (status, bool(report)) == (200, result == "astray"), report
    assert ("It said through." in text) == (result == "through")


@pytest.mark.parametrize("path", FORMS)
def test_a_stream_says_the_same_as_the_whole(served: Served, path: str) -> None:
    asked = json.loads(json.dumps(FORMS[path]).replace('"call"', '"say hello"'))
    target = path.replace(":generate", ":streamGenerate")
    _, text, headers = served.ask(target, {**asked, "stream": True})
    assert headers["content-type"] == "text/event-stream"
    data = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    events = [json.loads(line) for line in data if line != "[DONE]"]
    pieces = ("Hello from the script", ".")
    assert all(any(piece in json.dumps(event) for event in events) for piece in pieces)
    assert (data[-1] == "[DONE]") == path.endswith("/completions")


def test_tokens_are_counted_and_models_listed(served: Served) -> None:
    body = said("one two three")
    counts = [served.ask("/v1/messages/count_tokens", body)[1] for _ in range(2)]
    assert counts[0] == counts[1]
    assert json.loads(counts[0])["input_tokens"] > 3
    assert "totalTokens" in served.ask("/v1beta/models/any:countTokens", body)[1]
    connection = HTTPConnection("127.0.0.1", served.port)
    connection.request("GET", "/v1/models")
    assert json.loads(connection.getresponse().read())["data"][0]["id"] == "scripted"
    connection.close()
    assert served.ask("/v1/unknown", {})[0] == 404
    assert served.ask("/v1/messages", b"{")[0] == 400
    assert served.ask("/v1/messages", {"messages": [3]})[0] == 400


def test_failures_are_those_of_the_service(failing: Served) -> None:
    status, text, headers = failing.ask("/v1/messages", said("limit"))
    assert (status, headers["retry-after"]) == (429, "7")
    assert json.loads(text)["error"]["type"] == "rate_limit_error"
    assert failing.ask("/v1/chat/completions", said("poor"))[0] == 402
    assert failing.ask("/v1/messages", said("garbage"))[:2] == (200, '{"type":')
    with pytest.raises(RemoteDisconnected):
        failing.ask("/v1/messages", said("cut"))
    with pytest.raises(IncompleteRead) as broken:
        failing.ask("/v1/messages", {**said("partial"), "stream": True})
    assert b"It beg" in broken.value.partial


def test_what_a_client_adds_is_not_what_the_user_says(served: Served) -> None:
    blocks = ["<system-reminder>say hello</system-reminder>", "retry"]
    content = [{"type": "text", "text": text} for text in blocks]
    assert (
        served.ask("/v1/messages", {"messages": [{"role": "user", "content": content}]})[0] == 429
    )


@pytest.mark.process
def test_a_client_is_run_with_the_way_to_the_model(run: Run) -> None:
    script = (
        "import json, os, sys, urllib.request as r; "
        "url = os.environ['ANTHROPIC_BASE_URL']; assert sys.argv[1] == url; "
        "body = {'messages': [{'role': 'user', 'content': 'say hello'}]}; "
        "print(r.urlopen(url + '/v1/messages', json.dumps(body).encode()).read().decode())"
    )
    ran = run("model", SCENARIO, "--", sys.executable, "-c", script, "{url}")
    assert "Hello from the script." in ran.out
    assert run("model", SCENARIO, "--", "/nowhere/client").status == 2


def test_a_port_that_is_taken_is_one_line(run: Run, served: Served) -> None:
    for command in (["model", SCENARIO, "--", "true"], ["server", SCENARIO]):
        ran = run(*command[:2], "--port", served.port, *command[2:])
        assert (ran.status, ran.err) == (2, f"--port {served.port}: Address already in use.\n")


@pytest.mark.process
def test_mock_tools_are_a_server(make: Make, run: Run) -> None:
    mocks = make(
        """
        [tool_execution]
        mode = "mock"
        [tool_execution.tools.mcp__files__find]
        description = "Finds."
        input_schema = { type = "object", required = ["name"] }
        [default_response]
        tool_calls = [
          { tool = "mcp__files__find", input = { name = "a" }, result = { path = "/a" } },
          { tool = "mcp__files__find", input = { name = "b" }, error = "no b" },
          { tool = "mcp__files__tick", result = "first" },
          { tool = "mcp__files__tick", result = "then" },
          { tool = "mcp__other__x", result = "y" },
          { tool = "Read", input = { file_path = "a" }, result = "z" },
        ]
        """,
        "mocks.toml",
    )
    words = json.dumps(["-m", "iac_scenario", "server", str(mocks), "--name", "files"])
    path = make(f"""
        prompts = ["x"]
        tool_execution.mode = "real_mcp"
        [mcp_servers.files]
        command = "{sys.executable}"
        args = {words}
        [default_response]
        tool_calls = [
          {{ request = "tools/list", expect = {{ json_path = {{ "$.tools[*].name" = ["find", "tick"], "$.tools[0].description" = "Finds." }} }} }},
          {{ tool = "find", input = {{ name = "a" }}, expect = {{ equals = {{ path = "/a" }}, is_error = false }} }},
          {{ tool = "find", input = {{ name = "b" }}, expect = {{ equals = "no b", is_error = true }} }},
          {{ tool = "find", input = {{ name = "c" }}, expect = {{ contains = "no call with the arguments", is_error = true }} }},
          {{ tool = "tick", expect = {{ equals = "first" }} }},
          {{ tool = "tick", expect = {{ equals = "then" }} }},
          {{ tool = "tick", expect = {{ equals = "then" }} }},
        ]
        """)  # noqa: E501
    ran = run("run", path)
    assert (ran.status, " 0 failed" in ran.err) == (0, True), ran.err


@pytest.mark.process
def test_a_client_cannot_pass_by_accident(make: Make, run: Run) -> None:
    script = (
        "import json, os, sys, urllib.request as r; "
        "url = os.environ['ANTHROPIC_BASE_URL'] + '/v1/messages'; "
        "ask = lambda *said: r.urlopen(url, json.dumps({'messages': said}).encode()).read(); "
        "call = json.loads(ask({'role': 'user', 'content': 'call'}))['content'][-1]; "
        "result = {'type': 'tool_result', 'tool_use_id': call['id'], 'is_error': True}; "
        "ask({'role': 'assistant'}, {'role': 'user', 'content': [result]}); "
        "ask({'role': 'user', 'content': 'nobody wrote this'})"
    )
    path = make("""
        [[responses]]
        pattern = { type = "exact", text = "call" }
        [[responses.response.tool_calls]]
        tool = "Read"
        expect = { contains = "" }
        [[responses]]
        pattern = { type = "exact", text = "never said" }
        response = "Never."
        """)
    words = ("--", sys.executable, "-c", script)
    ran = run("model", path, *words)
    assert ran.status == 1
    assert ran.err.count("FAILED") == 3
    for said in (
        "matches the prompt 'nobody",
        "Read failed, and no expectation",
        ":7: no prompt reached",
    ):
        assert said in ran.err
    allowed = [word for kind in ("unmatched", "error", "unreached") for word in ("--allow", kind)]
    assert run("model", path, *allowed, *words).status == 0
