"""Recording a session between a client and a server, and playing it again."""

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from scenario_helpers import Run

from iac_base.secrets import REDACTED, secrets_of, without_secrets
from iac_scenario.model import StdioServer
from iac_scenario.recording import placed_server, recorded_calls, scenario_document

PROGRAM = str(Path(__file__).with_name("server_program.py"))
TOKEN = "ghp_" + "a1" * 18

CLIENT = """
import json, sys
import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import ElicitResult

async def answer(context, params):
    return ElicitResult(action="accept", content={"name": "Ada"})

async def main():
    servers = json.load(open(sys.argv[1]))["mcpServers"]
    assert servers["far"]["url"] == "https://example.com/mcp"
    entry = servers["ours"]
    server = StdioServerParameters(command=entry["command"], args=entry["args"], env=entry["env"])
    async with Client(server, mode=sys.argv[2], elicitation_callback=answer) as client:
        for name, given in (
            ("echo", {"text": "hi"}), ("echo", {"text": "my key is %s"}), ("fail", {}), ("ask", {}),
            ("echo", {"text": "it is 2025-01-01 10:00:00"}), ("facts", {}),
        ):
            await client.call_tool(name, given)
        for given in ({}, {"as": "json", "password": "hunter2-xyz", "nothing": None}):
            result = await client.call_tool("make", given)
            text = result.content[0].text
            key = json.loads(text)["id"] if given else text.split()[1]
            await client.call_tool("use", {"id": key})
        await client.call_tool("echo", {"text": "hunter2-xyz again"})
        # It is written as it goes: what was answered a moment ago is there.
        await anyio.sleep(1)
        assert open(sys.argv[3]).read().count("is_error") >= 11

anyio.run(main)
"""


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("ending", ["toml", "json"])
def test_a_recorded_session_plays_again(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, mode: str, ending: str
) -> None:
    client = tmp_path / "client.py"
    client.write_text(CLIENT % TOKEN)
    config = tmp_path / "servers.json"
    env = {"API_TOKEN": "very-secret-value", "LANGUAGE": "en"}
    entry = {"command": sys.executable, "args": [PROGRAM], "env": env}
    far = {"type": "http", "url": "https://example.com/mcp"}
    config.write_text(json.dumps({"mcpServers": {"ours": entry, "far": far}}))
    output = tmp_path / f"session.{ending}"
    words = ("record", "--mcp-config", config, "-o", output, "--")
    ran = run(*words, sys.executable, client, config, mode, output)
    assert (ran.status, "11 calls recorded" in ran.err) == (0, True), ran.err
    text = output.read_text()
    assert TOKEN not in text
    assert "very-secret-value" not in text
    assert "${API_TOKEN}" in text
    assert "2025-01-01 10:00:00" in text
    assert "hunter2-xyz" not in text
    assert "Made <any> at <timestamp>" in text
    monkeypatch.setenv("API_TOKEN", "another")
    for played in ("real_mcp", "mock"):
        again = run("run", output, "--tool-execution-mode", played)
        assert again.status == 0, again.err
        assert "21 expectations met, 0 failed" in again.err
    assert run("check", output).status == 0


@pytest.mark.slow
@pytest.mark.process
def test_without_a_configuration_it_stands_in_the_place_of_a_server(tmp_path: Path) -> None:
    output = tmp_path / "recorded.toml"
    script = dedent(f"""
        import anyio
        from mcp import Client
        from mcp.client.stdio import StdioServerParameters
        async def main():
            words = ["-m", "iac_scenario", "record", "-o", {str(output)!r}, "--", {sys.executable!r}, {PROGRAM!r}]
            async with Client(StdioServerParameters(command={sys.executable!r}, args=words)) as client:
                await client.call_tool("echo", {{"text": "through"}})
        anyio.run(main)
    """)  # noqa: E501
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, capture_output=True)
    assert 'like = "through"' in output.read_text()


def test_a_recorded_server_is_found_from_where_the_scenario_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server, below = StdioServer("python", ("a.py",)), StdioServer("python", cwd="below")
    assert placed_server(server, Path("a.toml")).cwd is None
    assert placed_server(server, Path("tests/a.toml")).cwd == ".."
    assert placed_server(below, Path("tests/a.toml")).cwd == "../below"
    assert placed_server(below, Path("a.toml")).cwd == "below"


def test_what_cannot_be_recorded_is_one_line(tmp_path: Path, run: Run) -> None:
    config = tmp_path / "servers.json"
    config.write_text('{"mcpServers": {}}')
    ran = run("record", "--mcp-config", config, "--", "/nowhere/client")
    assert (ran.status, ran.err) == (2, "/nowhere/client: No such file or directory.\n")
    ran = run("record", "--", "/nowhere/server")
    assert (ran.status, ran.err) == (2, "/nowhere/server: No such file or directory.\n")
    words = ("record", "--mcp-config", config, "-o", tmp_path / "no" / "x.toml", "--", "true")
    assert run(*words).status == 2


@pytest.mark.parametrize("secret", [
    TOKEN, "sk-ant-api03-" + "x" * 24, "AKIAABCDEFGHIJKLMNOP", "xoxb-123456789012",
    "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJ", "glpat-" + "x" * 20, "sk_live_" + "x" * 20,
    "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
])  # fmt: skip
def test_secrets_are_known_by_their_form(secret: str) -> None:
    assert secret not in json.dumps(without_secrets({"a": [f"x {secret} y"]}, ()))


def test_secrets_are_known_by_their_key_and_by_being_known() -> None:
    known = secrets_of({"DB_PASSWORD": "hunter22", "HOME": "/home/me", "TOKEN": "ab"})
    assert known == {"hunter22"}
    value = {"password": "p", "note": "it is hunter22", "header": "Bearer abcdefghij", "n": 1}
    assert without_secrets(value, known) == {
        "password": REDACTED, "note": f"it is {REDACTED}", "header": f"Bearer {REDACTED}", "n": 1,
    }  # fmt: skip
    assert without_secrets("postgres://me:pw1@host/db", ()) == f"postgres://{REDACTED}@host/db"
    assert without_secrets("nothing here", ()) == "nothing here"


def test_a_call_without_an_answer_is_left_out() -> None:
    call = {"id": 1, "method": "tools/call", "params": {"name": "a", "arguments": {}}}
    entries = [
        {"at": 1, "from": "client", "message": call},
        {"at": 2, "from": "client", "message": {**call, "id": 2}},
        {"at": 3, "from": "server", "message": {"id": 2, "error": {"code": -1, "message": "no"}}},
        {"at": 4, "from": "server", "message": [1]},
    ]
    calls = recorded_calls("s", entries)
    assert [(call.at, call.text) for call in calls] == [(2, "MCP error -1: no")]
    made = scenario_document("n", calls, {}, ())
    assert made["responses"][0]["response"]["tool_calls"][0]["error"] == "MCP error -1: no"
