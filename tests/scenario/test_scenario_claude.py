"""`claude` on PATH: a program that drives the client is tested without it."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scenario_helpers import Make, Ran, Run

TALK = """
tool_execution.mode = "simulated"
[[responses]]
pattern = { type = "exact", text = "write" }
[responses.response]
text = "I write."
then = "Done."
tool_calls = [{ tool = "Write", input = { file_path = "a.txt", content = "1" } }]
[[responses]]
pattern = { type = "contains", text = "login" }
response = "Who?"
turns = [{ expect = { type = "any" }, response = "Welcome." }]
"""

Claude = Callable[..., Ran]


@pytest.fixture
def claude(make: Make, run: Run, tmp_path: Path) -> Claude:
    """Run `claude` as it is found on a PATH, in a folder of its own."""
    run("install-claude", tmp_path / "bin", make(TALK))
    (tmp_path / "here").mkdir()

    def ran(*words: str, given: str = "", **variables: str) -> Ran:
        path = os.pathsep.join((str(tmp_path / "bin"), os.environ["PATH"]))
        done = subprocess.run(
            ["claude", *words], cwd=tmp_path / "here", input=given, capture_output=True, text=True,
            env={**os.environ, "PATH": path, **variables}, check=False, timeout=60,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout, done.stderr)

    return ran


@pytest.mark.process
def test_a_program_finds_claude_and_its_work(claude: Claude, tmp_path: Path) -> None:
    ran = claude("-p", "write", "--model", "opus", "--append-system-prompt", "- be brief",
                 "--allowedTools", "Read", "Write", "--max-budget-usd", "1")  # fmt: skip
    assert ran == (0, "Done.\n", "")
    assert (tmp_path / "here" / "a.txt").read_text() == "1"
    refused = claude("-p", "write", "--allowedTools", "Bash(git status) Read", "--verbose",
                     "--output-format", "stream-json", "--model", "opus")  # fmt: skip
    lines = [*map(json.loads, refused.out.splitlines())]
    assert (lines[0]["model"], lines[0]["permissionMode"]) == ("opus", "default")
    assert lines[0]["cwd"] == str(tmp_path / "here")
    [denied] = lines[-1]["permission_denials"]
    assert denied["tool_name"] == "Write"
    accepted = claude("write", "--permission-mode", "acceptEdits", "--output-format", "json")
    assert json.loads(accepted.out)["permission_denials"] == []


@pytest.mark.process
def test_sessions_go_on_and_are_in_the_index(claude: Claude, tmp_path: Path) -> None:
    first = json.loads(claude("-p", "--output-format", "json", given="login").out)
    second = json.loads(claude("-p", "login", "--output-format", "json").out)
    assert first["session_id"] != second["session_id"]
    assert claude("-p", "Ada", "--resume", first["session_id"]).out == "Welcome.\n"
    own = "550e8400-e29b-41d4-a716-446655440000"
    forked = claude("-p", "Ada", "--resume", second["session_id"], "--session-id", own)
    assert forked.out == "Welcome.\n"
    [index] = (tmp_path / "bin" / "config" / "projects").glob("*/sessions-index.json")
    entries = {one["sessionId"]: one for one in json.loads(index.read_text())["entries"]}
    assert entries.keys() == {first["session_id"], second["session_id"], own}
    assert entries[first["session_id"]]["messageCount"] == 4
    assert entries[own]["firstPrompt"] == "login"
    claude("-p", "login")
    assert claude("-c", "-p", "Ada").out == "Welcome.\n"
    other = {"CLAUDE_CONFIG_DIR": str(tmp_path / "other")}
    assert claude("-p", "login", "--no-session-persistence", **other).status == 0
    assert "No conversation found to continue" in claude("-c", "-p", "x", **other).err


@pytest.mark.process
def test_messages_and_requests_of_a_program_come_on_standard_input(claude: Claude) -> None:
    def said(content: Any) -> dict[str, Any]:
        return {"type": "user", "message": {"role": "user", "content": content}}

    begin = {"type": "control_request", "request_id": "r1", "request": {"subtype": "initialize"}}
    given = "\n".join(
        map(json.dumps, [begin, said("login"), said([{"type": "text", "text": "A"}])])
    )
    words = ("--output-format", "stream-json", "--input-format", "stream-json", "--verbose")
    ran = claude(*words, "--replay-user-messages", given=given)
    lines = [*map(json.loads, ran.out.splitlines())]
    assert lines[0]["response"]["request_id"] == "r1"
    assert [line["result"] for line in lines if line["type"] == "result"] == ["Who?", "Welcome."]
    assert [line["type"] for line in lines].count("user") == 2
    for wrong in ("{", "[" * 100_000):
        ran = claude(*words, given=wrong)
        assert ran.err.startswith("Error parsing streaming input line")
        assert (ran.err.count("\n"), len(ran.err) < 2_000) == (1, True)
    # Half a character, as a prompt has it that was cut in the middle.
    ran = claude(*words, given=json.dumps(said("login \ud83d")))
    assert json.loads(ran.out.splitlines()[-1])["result"] == "Who?"


@pytest.mark.process
def test_who_names_the_scenario_as_claudeless_does_needs_no_verbose(
    claude: Claude, make: Make
) -> None:
    words, path = ("-p", "login", "--output-format", "stream-json"), str(make(TALK))
    for ran in (claude(*words, "--scenario", path), claude(*words, CLAUDELESS_SCENARIO=path)):
        assert (ran.status, json.loads(ran.out.splitlines()[-1])["result"]) == (0, "Who?")


@pytest.mark.process
def test_settings_and_servers_are_files_or_texts(claude: Claude, tmp_path: Path) -> None:
    own = tmp_path / "here" / ".claude"
    own.mkdir()
    (own / "settings.json").write_text('{"permissions": {"deny": ["Write"]}}')
    servers = '{"mcpServers": {"a": {"command": "x"}}}'
    words, written = ("-p", "--mcp-config", servers, "write"), tmp_path / "here" / "a.txt"
    told = ("--setting-sources", "user")
    for more in ((), (*told, "--settings", '{"permissions": {"deny": ["Write"]}}')):
        assert "the rule Write denies it" in claude(*words, *more).err
    assert not written.exists()
    assert claude(*words, *told).err == ""
    assert written.exists()


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-p", "x", "--frobnicate"), "error: unknown option '--frobnicate'"),
        (("-p", "x", "--permission-mode", "free"), "error: Invalid value for '--permission-mode'"),
        (("mcp", "list"), "error: `claude mcp` is not simulated; only prompts are."),
        (("-p",), "Error: Input must be provided either through stdin"),
        (
            ("-p", "x", "--input-format", "stream-json"),
            "Error: --input-format=stream-json requires",
        ),
        (
            ("-p", "x", "--output-format", "stream-json"),
            "Error: When using --print, --output-format=stream-json requires --verbose",
        ),
        (("-p", "x", "--resume", "550e8400-e29b-41d4-a716-446655440000"), "No conversation found"),
        (("-p", "never said"), "no rule matches the prompt 'never said'"),
        (("-p", "x", "--setting-sources", "all"), "Invalid setting source: all"),
        (
            ("-p", "x", "--settings", '{"permissions": {"allow": 5}}'),
            "settings: permissions.allow must be a list of texts.",
        ),
        (("-p", "x", "--settings", '{"permissions": {"defaultMode": []}}'), "[] is not one of"),
        (
            ("-p", "x", "--settings", '{"hooks": {"UserPromptSubmit": [5]}}'),
            "settings: hooks.UserPromptSubmit must be a list of objects.",
        ),
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_1(
    claude: Claude, words: tuple[str, ...], told: str
) -> None:
    ran = claude(*words)
    assert (ran.status, told in ran.err, ran.err.count("\n")) == (1, True, 1), ran.err


@pytest.mark.process
def test_turns_and_failures_end_a_run(claude: Claude) -> None:
    ran = claude("-p", "write", "--max-turns", "1")
    assert (ran.status, ran.out) == (1, "Error: Reached maximum number of turns (1)\n")
    assert claude("-p", "write", "--max-turns", "2").out == "Done.\n"
    failed = claude("-p", "x", "--failure", "rate-limit", "--output-format", "json")
    assert (failed.status, json.loads(failed.out)["api_error_status"]) == (1, 429)
    assert claude("--version").out.endswith("(Claude Code)\n")
