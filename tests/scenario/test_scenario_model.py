"""A scripted model and mock tools as servers of their own, asked by hand."""

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, IncompleteRead, RemoteDisconnected
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from scenario_helpers import Make, Run

from iac_scenario.conversation import Event
from iac_scenario.model import PromptPattern, ScenarioError
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


# Reading scenario files: what fits, what does not, and where it says so.


FULL = """\
name = "full"
default_model = "claude-x"
claude_version = "2.1.12"
user_name = "Ada"
session_id = "550e8400-e29b-41d4-a716-446655440000"
project_path = "/p"
launch_timestamp = "2025-01-15T10:30:00Z"
working_directory = "/work/dir"
trusted = true
permission_mode = "default"

[timeouts]
exit_hint_ms = 1
mcp_timeout_ms = 77

[default_response]
text = "Hm."
delay_ms = 1

[[responses]]
pattern = { type = "contains", text = "hello" }
response = "Hi."
max_matches = 1

[[responses]]
pattern = { type = "regex", pattern = "(?i)fix.*bug" }
[responses.response]
text = "Reading."
usage = { input_tokens = 10, output_tokens = 5 }
[[responses.response.tool_calls]]
tool = "Read"
input = { file_path = "/src/main.rs" }

[[responses]]
pattern = { type = "contains", text = "auth" }
failure = { type = "auth_error", message = "expired" }

[[responses]]
pattern = { type = "contains", text = "login" }
response = "Name?"
turns = [ { expect = { type = "any" }, response = "", failure = { type = "out_of_credits" } } ]

[tool_execution]
mode = "live"
[tool_execution.tools.Bash]
auto_approve = true
[tool_execution.tools.AskUserQuestion.answers]
"Which?" = "That"
"""


def test_a_file_of_claudeless_loads_and_says_what_changes_nothing(make: Make) -> None:
    loaded = load_scenario(make(FULL))
    scenario = loaded.scenario
    assert scenario.identity.session_id == "550e8400-e29b-41d4-a716-446655440000"
    assert scenario.rules[1].pattern == PromptPattern("regex", "(?i)fix.*bug")
    assert scenario.rules[1].reply.calls[0].input == {"file_path": "/src/main.rs"}
    assert scenario.rules[3].turns[0].failure is not None
    assert scenario.timeouts["mcp_timeout_ms"] == 77
    assert scenario.permissions.mode == "default"
    [said] = loaded.warnings
    assert said.startswith("case.toml: these fields of claudeless have no effect here: ")
    assert "claude_version (line 3), " in said
    assert "timeouts.exit_hint_ms (line 13)" in said
    assert scenario.execution.tools["AskUserQuestion"].answers == {"Which?": "That"}
    assert "default_model" not in said


def test_json_says_the_same_as_toml(make: Make) -> None:
    document = {"responses": [{"pattern": {"type": "any"}, "response": "x"}]}
    path = make(json.dumps(document), "case.json")
    assert load_scenario(path).scenario.rules[0].reply.text == "x"


@pytest.mark.parametrize(("text", "said"), [
    ('nmae = "x"', "case.toml:1: nmae: unknown field. Nearest: name."),
    ('[[responses]]\n\npattern = { type = "any" }\n\nsay = "x"',
     "case.toml:5: responses[0].say: unknown field. Use text under response instead."),
    ("[[responses]]\nresponse = 'x'", "case.toml:1: responses[0]: needs the field pattern."),
    ("[tool_execution]\nmode = 'mocked'",
     "case.toml:2: tool_execution.mode: must be one of disabled, mock, simulated, real_mcp,"
     " live, not 'mocked'."),
    ("[timeouts]\nmcp_timeout_ms = true", "must be a whole number from 0, not True."),
    ("[timeouts]\nmcp_timeout_ms = -1", "must be a whole number from 0, not -1."),
    ("session_id = 'x'", "case.toml:1: session_id: 'x' is not a UUID."),
    ("launch_timestamp = '2025-01-15T10:30:00'", "is not a time with an offset"),
    ("launch_timestamp = 'soon'", "is not a time with an offset"),
    ("working_directory = 'here'", "is not an absolute path"),
    ("[[responses]]\npattern = { type = 'regex', pattern = '(' }",
     "case.toml:2: responses[0].pattern.pattern: is not a regular expression"),
    ("[[responses]]\npattern = { type = 'exact' }", "of type exact needs the field text."),
    ("[default_response]\n[[default_response.tool_calls]]\ntool = 'x'\n"
     "[default_response.tool_calls.expect]\nschema = { type = 7 }",
     "case.toml:5: default_response.tool_calls[0].expect.schema: is not a JSON schema"),
    ("[default_response]\n[[default_response.tool_calls]]\ntool = 'x'\n"
     "expect = { json_path = { '$[' = 1 } }", "is not a JSONPath"),
    ("[default_response]\n[[default_response.tool_calls]]\ntool = 'x'\n"
     "expect = { schema = 3 }", "must be a JSON schema, a table."),
    ("a = ", "case.toml:1: is not TOML"), ("\n\nx = 1\nx = 2", "case.toml:4: is not TOML"),
    ("prompts = ['a', 3]", "case.toml:1: prompts[1]: must be a text, not 3."),
    ("name = ['" + "long" * 40 + "']", "must be a text, not a list."),
    ("zzzz = 1", "unknown field. Known: allow_error, allow_protocol"),
])  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(make: Make, run: Run, text: str, said: str) -> None:
    ran = run("check", make(text))
    assert ran.status == 2
    assert said in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(("name", "data", "said"), [
    ("case.json", b"[1]", "must be one JSON object"),
    ("case.json", b'{"name": }', "case.json:1: is not JSON"),
    ("case.json", b'{"name": "\\ud800"}', "half of a character"),
    ("case.json", b"[" * 100_000, "nested too deeply"),
    ("case.toml", b"\n\xff", "case.toml:2: is not UTF-8 text."),
])  # fmt: skip
def test_a_file_that_is_no_document(
    tmp_path: Path, run: Run, name: str, data: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(data)
    ran = run("check", tmp_path / name)
    assert (ran.status, said in ran.err) == (2, True), ran.err


def test_a_file_that_is_not_there(tmp_path: Path, run: Run) -> None:
    assert "there is no such file" in run("check", tmp_path / "none.toml").err


def test_all_problems_are_said_at_once(make: Make) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(make("naame = 1\nsed = 2\nprompts = 3"))
    assert [problem.line for problem in caught.value.problems] == [1, 2, 3]


def test_included_files_stand_for_their_content(make: Make, tmp_path: Path) -> None:
    make("Plan\n", "parts/plan.md")
    make('{"a": [1]}', "parts/input.json")
    outside = tmp_path.parent / f"{tmp_path.name}-else.txt"
    outside.write_text("else")
    path = make(
        f"""
        [[default_response.tool_calls]]
        tool = "Write"
        input = {{ content = {{ "$file" = "parts/plan.md" }}, all = [{{ "$file" = "{outside}" }}] }}
        result = {{ "$file" = "parts/input.json" }}
        """
    )
    default = load_scenario(path).scenario.default
    assert default is not None
    assert default.calls[0].input == {"content": "Plan\n", "all": ["else"]}
    assert default.calls[0].result == {"a": [1]}


@pytest.mark.parametrize(("value", "said"), [
    ('"none.txt"', "there is no such file"), ('"../secret.txt"', "outside the scenario's folder"),
    ('"link.txt"', "outside the scenario's folder"), ('"broken.json"', "is not JSON"),
    ('"bytes.txt"', "is not UTF-8"), ("3", "must be a path, and must be the only key"),
    ('"a\\u0000b"', "null"),
])  # fmt: skip
def test_an_include_that_cannot_be(
    make: Make, tmp_path: Path, run: Run, value: str, said: str
) -> None:
    secret = tmp_path.parent / "secret.txt"
    secret.write_text("secret")
    (tmp_path / "link.txt").symlink_to(secret)
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "bytes.txt").write_bytes(b"\xff")
    ran = run("check", make(f'[default_response]\ntext = {{ "$file" = {value} }}\n'))
    assert ran.status == 2
    assert said in ran.err
    assert "case.toml:2: default_response.text.$file" in ran.err


def test_check_warns_of_what_will_hardly_be_meant(make: Make, run: Run) -> None:
    ran = run("check", make("""
        [[responses]]
        pattern = { type = "any" }
        [[responses.response.tool_calls]]
        tool = "x"
        expect = { is_error = false }
        [[responses]]
        pattern = { type = "exact", text = "late" }
        """))  # fmt: skip
    assert ran.status == 1
    assert "case.toml:7: responses: is never reached: the rule of line 2" in ran.err
    assert "the mode disabled runs no call" in ran.err


@pytest.mark.parametrize("kind", ["allow", "ask", "deny"])
def test_a_rule_that_is_none_breaks_the_file(make: Make, run: Run, kind: str) -> None:
    ran = run("run", make(f'[permissions]\n{kind} = ["Read", "Bash(rm *"]\n'), "-p", "x")
    assert ran.status == 2
    assert f"case.toml:2: permissions.{kind}: 'Bash(rm *' is not a rule" in ran.err


@pytest.mark.parametrize(("pattern", "prompt", "other"), [
    ("^(?<verb>fix|mend) it$", "mend it", "it"), ("^[[:alpha:]_]+$", "ab_c", "a1"),
    ("[^[:digit:]]", "1a", "12"), (r"end\z", "the end", "end of it"), (r"\[[a\]]", "[a", "]a"),
    ("(?i)fix.*bug", "FIX a bug", "fix"), ("a[[]b", "a[b", "ab"), (r"(?<=x)y", "xy", "y"),
])  # fmt: skip
def test_expressions_of_claudeless_mean_what_they_meant(
    make: Make, run: Run, pattern: str, prompt: str, other: str
) -> None:
    rule = f"pattern = {{ type = 'regex', pattern = '{pattern}' }}"
    path = make(f'default_response = "no"\n[[responses]]\n{rule}\nresponse = "yes"\n')
    ran = run("run", path, "-p", prompt, "-p", other)
    assert (ran.status, ran.out, ran.err) == (0, "yes\nno\n", "")


def test_check_warns_of_calls_that_their_mode_cannot_answer(make: Make, run: Run) -> None:
    text = '[tool_execution]\nmode = "%s"\n[[default_response.tool_calls]]\ntool = "mcp__a__b"\n'
    assert "has no result for the mode mock" in run("check", make(text % "mock")).err
    assert "is not simulated" in run("check", make(text % "simulated")).err


KEY = st.text("ab\n\"'\\é.#=[]", min_size=1, max_size=4)
VALUE = st.recursive(
    st.booleans() | st.integers() | st.text("ab\n\"'\\#]}=,", max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY, inner, max_size=3),
    max_leaves=10,
)
