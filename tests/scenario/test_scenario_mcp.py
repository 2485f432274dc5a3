"""Real servers: calls, failures, hangs, crashes, questions, both eras of the protocol."""
# ruff: noqa: E501

import json
import subprocess
import sys
from pathlib import Path

import pytest
from scenario_helpers import Make, Run

pytestmark = [pytest.mark.process, pytest.mark.sweep(3)]

MODE = '[tool_execution]\nmode = "real_mcp"\nprotocol = "{protocol}"\nvalidate = "client"\n'


@pytest.mark.sweep
@pytest.mark.parametrize("protocol", ["auto", "legacy", "2026-07-28"])
def test_calls_come_back_in_both_eras(make: Make, run: Run, server: str, protocol: str) -> None:
    path = make(
        MODE.format(protocol=protocol)
        + server
        + """
[default_response]
tool_calls = [
  { tool = "echo", input = { text = "hi" }, expect = { equals = "hi", is_error = false } },
  { tool = "mcp__ours__echo", input = { text = "hi" }, expect = { equals = "hi" } },
  { tool = "echo", input = { txt = "hi" }, expect = { contains = "do not fit", is_error = true } },
  { tool = "fail", expect = { equals = "it failed", is_error = true } },
  { tool = "facts", expect = { equals = { n = 1, l = [1, 2] }, json_path = { "$.l[*]" = [1, 2] } } },
  { tool = "lie", expect = { is_error = true, matches = "server ours to lie does not fit the outputSchema.*: 'n' is a" } },
  { tool = "unheard", expect = { contains = "MCP error -32602", is_error = true } },
  { tool = "ask", expect = { equals = "cancel" } },
  { tool = "ask", elicitations = [
      { action = "decline", message = { type = "contains", text = "age" } },
      { action = "accept", content = { name = "Ada" }, message = { type = "contains", text = "name" } },
    ], expect = { equals = "accept Ada" } },
]
"""
    )  # fmt: skip
    ran = run("run", path, "-p", "x")
    assert ran.status == 0, ran.err


@pytest.mark.usefixtures("confinement")
def test_a_tool_of_the_assistant_s_own_is_simulated_beside_a_server(
    make: Make, run: Run, server: str
) -> None:
    path = make(MODE.format(protocol="auto") + server + """
[default_response]
tool_calls = [
  { tool = "echo", input = { text = "hi" }, expect = { equals = "hi" } },
  { tool = "Bash", input = { command = "echo simulated" }, expect = { equals = "simulated" } },
]
""")  # fmt: skip
    ran = run("run", path, "-p", "x")
    assert ran.status == 0, ran.err


def test_the_answers_of_the_file_are_for_calls_without_their_own(
    make: Make, run: Run, server: str
) -> None:
    path = make(MODE.format(protocol="auto") + server + """
[[elicitations]]
action = "decline"
[[default_response.tool_calls]]
tool = "ask"
expect = { equals = "decline" }
""")  # fmt: skip
    assert run("run", path, "-p", "x").status == 0


def test_a_hang_a_crash_and_a_server_that_cannot_start_end_no_run(
    make: Make, run: Run, server: str
) -> None:
    path = make(MODE.format(protocol="auto") + server + f"""
[mcp_servers.other]
command = "{sys.executable}"
args = ["{Path(__file__).with_name("server_program.py")}"]
[mcp_servers.missing]
allow_unstarted = true
command = "/nowhere/at/all"
[mcp_servers.broken]
allow_unstarted = true
command = "{sys.executable}"
args = ["-c", "raise SystemExit('no luck')"]
[timeouts]
mcp_timeout_ms = 1500
[default_response]
tool_calls = [
  {{ tool = "mcp__ours__hang", expect = {{ contains = "did not answer within 1,500 ms", is_error = true }} }},
  {{ tool = "mcp__ours__echo", input = {{ text = "alive" }}, expect = {{ equals = "alive" }} }},
  {{ tool = "mcp__ours__crash", expect = {{ contains = "out of cheese", is_error = true }} }},
  {{ tool = "mcp__ours__echo", input = {{ text = "hi" }}, expect = {{ contains = "ended", is_error = true }} }},
  {{ tool = "mcp__other__echo", input = {{ text = "alive" }}, expect = {{ equals = "alive" }} }},
  {{ tool = "mcp__missing__x", expect = {{ contains = "No such file", is_error = true }} }},
  {{ tool = "mcp__broken__x", expect = {{ contains = "no luck", is_error = true }} }},
  {{ tool = "mcp__none__x", expect = {{ contains = "no server has that name", is_error = true }} }},
  {{ tool = "unheard", expect = {{ is_error = true }} }},
]
""")  # fmt: skip
    ran = run("run", path, "-p", "x")
    assert ran.status == 0, ran.err


def test_a_server_that_never_answers_is_given_up(make: Make, run: Run) -> None:
    path = make(MODE.format(protocol="auto") + f"""
[mcp_servers.mute]
command = "{sys.executable}"
args = ["-c", "import time; time.sleep(60)"]
[[default_response.tool_calls]]
tool = "x"
expect = {{ contains = "did not start within 0.3 s", is_error = true }}
""")  # fmt: skip
    ran = run("run", path, "-p", "x", "--mcp-start-timeout-ms", "300", "--allow", "unstarted")
    assert ran.status == 0, ran.err


def test_a_name_that_two_servers_have_must_be_qualified(
    make: Make, run: Run, server: str, tmp_path: Path
) -> None:
    config = tmp_path / "servers.json"
    word = str(Path(__file__).with_name("server_program.py"))
    entry = {"command": "${PY:-" + sys.executable + "}", "args": [word], "timeout": 5}
    others = {"type": "http", "url": "https://example.com/mcp", "headers": {"A": "b"}}
    entry |= {"autoApprove": ["echo"], "envFile": ".env"}
    config.write_text(json.dumps({"mcpServers": {"two.x": entry, "far": others}}))
    path = make(MODE.format(protocol="auto") + server + """
[permissions]
mode = "plan"
deny = ["mcp__ours"]
[default_response]
tool_calls = [
  { tool = "echo", input = { text = "a" }, expect = { contains = "haven't granted it", is_error = true } },
  { tool = "mcp__ours__echo", input = { text = "a" }, expect = { contains = "denied", is_error = true } },
  { tool = "mcp__two_x__echo", input = { text = "only reads" }, expect = { equals = "only reads" } },
  { tool = "mcp__two_x__fail", expect = { contains = "haven't granted it", is_error = true } },
]
""")  # fmt: skip
    ran = run("run", path, "-p", "x", "--mcp-config", config, "--allow", "unstarted")
    assert ran.status == 0, ran.err
    free = make(path.read_text().replace('mode = "plan"\ndeny = ["mcp__ours"]', ""))
    assert "several servers have a tool with that name: mcp__ours__echo, mcp__two_x__echo" in run(
        "run", free, "-p", "x", "--mcp-config", config
    ).out  # fmt: skip


def test_without_servers_a_call_says_what_is_missing(make: Make, run: Run) -> None:
    path = make(MODE.format(protocol="auto") + '[[default_response.tool_calls]]\ntool = "x"\n')
    assert "pass --mcp-config" in run("run", path, "-p", "x").out


@pytest.mark.parametrize(("text", "said"), [
    (None, "servers.json"), ("{", "is not JSON"), ("[]", "has no object mcpServers"),
    ('{"mcpServers": {"a": {"url": "http://x", "command": "y"}}}', "only one of them"),
    ('{"mcpServers": {"a": {}}}', "mcpServers.a: needs the field command"),
    ('{"mcpServers": {"a": {"command": 3}}}', "mcpServers.a.command: must be a text"),
    ('{"mcpServers": {"a": {"command": "${NOT_SET_HERE}"}}}', "${NOT_SET_HERE}"),
])  # fmt: skip
def test_a_configuration_that_cannot_be_used(
    make: Make, run: Run, tmp_path: Path, text: str | None, said: str
) -> None:
    config = tmp_path / "servers.json"
    if text is not None:
        config.write_text(text)
    path = make(
        'tool_execution.mcp_config = "servers.json"\n'
        'tool_execution.mode = "real_mcp"\n[[default_response.tool_calls]]\ntool = "x"\n'
    )
    ran = run("run", path, "-p", "x")
    assert (ran.status, said in ran.err, "Traceback" in ran.err) == (2, True, False), ran.err


@pytest.mark.slow
def test_a_reader_that_stops_reading_ends_the_run_and_its_servers(make: Make, server: str) -> None:
    calls = '[[default_response.tool_calls]]\ntool = "echo"\ninput = { text = "hi" }\n' * 20
    path = make(MODE.format(protocol="auto") + server + calls)
    words = [sys.executable, "-m", "iac_scenario", "run", str(path), "-p", "x", "-p", "y"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == b"hi\n"
        child.stdout.close()
        told = child.stderr.read()
    assert (child.returncode, told) == (1, b"")
