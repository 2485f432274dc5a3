"""Real clients play scripted models: text, call, permission, error, retry, cancel.

Skipped where they are not installed: `nox -s agents` installs them.
"""

import json
import sys
from pathlib import Path

import pytest
from scenario_helpers import Make, Run

pytestmark = pytest.mark.process

HERE = Path(__file__).parent
SCENARIO = HERE / "agents" / "agents.toml"
SERVER = {"command": sys.executable, "args": [str(HERE / "server_program.py")]}
HELLO, CALLED, RETRIED = "Hello from the script.", "It said through.", "At the second time."


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the clients a home of their own, and Gemini's the choice of a key that it asks for."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / ".codex"))
    monkeypatch.chdir(tmp_path)
    for name in (".codex", ".gemini"):
        (tmp_path / name).mkdir()
    auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    servers = {"mcpServers": {"ours": {**SERVER, "trust": True}}}
    (tmp_path / ".gemini" / "settings.json").write_text(json.dumps({**auth, **servers}))
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"ours": SERVER}}))


def command(agents: Path, client: str, prompt: str) -> list[str]:
    """Return the words that run a client for one prompt, as its users write them."""
    program = str(agents / "node_modules" / ".bin" / client)
    if client == "claude":
        return [program, "-p", prompt, "--mcp-config", "servers.json"]
    if client == "gemini":
        return [program, "-p", prompt, "--skip-trust", "-m", "gemini-2.5-pro", "-y"]
    if client == "codex":
        provider = '{name="s",base_url="{url}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}'
        args = json.dumps(SERVER["args"])
        server = f"{{command={json.dumps(sys.executable)},args={args},required=true}}"
        settings = {
            "model_provider": '"s"', "model_providers.s": provider,
            "model_providers.s.stream_max_retries": "1", "mcp_servers.ours": server,
        }  # fmt: skip
        words = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        bypass = "--dangerously-bypass-approvals-and-sandbox"
        return [program, "exec", "-m", "gpt-5", *words, "--skip-git-repo-check", bypass, prompt]
    python, script = str(agents / "bin" / "python"), str(HERE / "agents" / "python_clients.py")
    return [python, script, client, prompt, sys.executable]


COMMANDS = ("claude", "codex", "gemini")
LATE = 'responses = [{ pattern.type = "any", response = { text = "Late", delay_ms = 60_000 } }]'
LIBRARIES = ("anthropic", "openai_chat", "openai_responses", "claude_agent_sdk")


@pytest.mark.parametrize("client", [*COMMANDS, *LIBRARIES])
@pytest.mark.parametrize(
    ("prompt", "said"), [("say hello", HELLO), ("call", CALLED), ("retry", RETRIED)]
)
def test_a_client_says_what_the_script_says(
    run: Run, agents: Path, client: str, prompt: str, said: str
) -> None:
    words = command(agents, client, prompt)
    if client == "claude":
        words += ["--allowedTools", "mcp__ours__echo"]
    ran = run("model", SCENARIO, "--", *words)
    assert (ran.status, said in ran.out) == (0, True), (ran.out, ran.err)
    if prompt == "call":
        assert "1 calls, 3 expectations met, 0 failed" in ran.err


@pytest.mark.parametrize("client", [*COMMANDS, *LIBRARIES])
def test_a_client_tells_of_an_error_of_the_service(run: Run, agents: Path, client: str) -> None:
    ran = run("model", SCENARIO, "--", *command(agents, client, "fail"))
    assert "no such key" in ran.out + ran.err


def test_a_permission_is_asked_for_and_what_is_said_reaches_the_model(
    run: Run, agents: Path
) -> None:
    ran = run("model", SCENARIO, "--", *command(agents, "claude_agent_sdk", "call but deny"))
    assert (ran.status, json.loads(ran.out)["asked"]) == (0, ["mcp__ours__echo"]), ran.err
    # Where nobody can be asked, the command line refuses by itself.
    ran = run("model", SCENARIO, "--", *command(agents, "claude", "call"))
    assert "haven't granted it yet" in ran.err


@pytest.mark.parametrize("client", LIBRARIES)
def test_a_client_cancels_while_the_model_waits(run: Run, agents: Path, client: str) -> None:
    ran = run("model", SCENARIO, "--", *command(agents, client, "wait"))
    said = json.loads(ran.out)
    assert "Too late" not in ran.out
    assert said.get("error", said.get("subtype")) in ("TimeoutError", "error_during_execution")


@pytest.mark.parametrize("client", COMMANDS)
def test_a_command_line_is_interrupted_while_the_model_waits(
    make: Make, run: Run, agents: Path, client: str
) -> None:
    # A rule that no request has reached would fail the run.
    path = make(LATE)
    ran = run("model", path, "--", "timeout", "-s", "INT", "8", *command(agents, client, "wait"))
    assert (ran.status, "Late" in ran.out) == (124, False), ran.err


def test_the_agent_sdk_parses_every_line_of_a_run(run: Run, agents: Path, tmp_path: Path) -> None:
    golden = HERE / "golden" / "formats.stream-json.txt"
    script = """
import json, sys
from claude_agent_sdk._internal.message_parser import parse_message
kinds = [type(parse_message(json.loads(line))).__name__ for line in open(sys.argv[1])]
print(len(kinds), sorted(set(kinds)))
"""
    words = (agents / "bin" / "python", "-c", script, golden)
    out = run("model", SCENARIO, "--", *map(str, words)).out
    count = len(golden.read_text().splitlines())
    assert out.strip() == (
        f"{count} ['AssistantMessage', 'ResultMessage', 'SystemMessage', 'UserMessage']"
    )
