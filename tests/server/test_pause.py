"""The person's switch: all calls stop and are refused until they go on, in servers that run."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import warm
from piped import Piped
from talking import ENVELOPE, HANDSHAKE

pytestmark = pytest.mark.process

COUNT = {
    "name": "read_tool",
    "arguments": {"name": "notes_count", "arguments": {"element": "note"}},
}
# Writes that wait for their turn, a second and a quarter each.
SLOW = {
    "name": "write_tool",
    "arguments": {"name": "notes_make_note", "calls": [{"name": "One"}] * 20},
}


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Piped]:
    limits = 'preset = "trusted"\nrate_limit = 0.8\n' if "under_way" in request.node.name else ""
    (tmp_path / "policy.toml").write_text(limits)
    found = Piped(tmp_path, "--simulate")
    found.ask("initialize", HANDSHAKE)
    found.notify("notifications/initialized")
    yield found
    found.close()


def run_policy(server: Piped, *words: str) -> str:
    env = {**os.environ, "IAC_DATA": str(server.log.parent)}
    argv = warm.command(warm.IAC_MCP, "policy", *words)
    return subprocess.run(argv, env=env, check=True, capture_output=True, text=True).stdout


def text_of(answer: dict[str, Any]) -> str:
    return str(answer["result"]["content"][0]["text"])


def test_a_pause_refuses_every_call_until_it_is_lifted(server: Piped) -> None:
    assert not server.ask("tools/call", COUNT)["result"].get("isError")
    assert "All calls are paused." in run_policy(server, "pause")
    refused = server.ask("tools/call", COUNT)
    assert refused["result"]["isError"]
    assert "The user has paused all calls" in text_of(refused)
    assert "Calls run again." in run_policy(server, "resume")
    assert not server.ask("tools/call", COUNT)["result"].get("isError")


def test_a_pause_ends_the_calls_under_way(server: Piped) -> None:
    slow = server.send("tools/call", SLOW)
    time.sleep(2)
    began = time.monotonic()
    run_policy(server, "pause")
    said = text_of(server.wait(slow)[slow])
    assert '"not_sent"' in said
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("how", ["pause", "rule"])
def test_a_call_that_waits_for_a_person_is_held_to_what_was_forbidden_meanwhile(
    server: Piped, how: str
) -> None:
    policy = server.log.parent / "policy.toml"
    rules = 'approvers = ["client"]\n[[ask]]\napp = "Notes"\n'
    policy.write_text(rules)
    abilities = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    make = {"name": "notes_make_note", "arguments": {"name": "Mine"}}
    call = {"name": "write_tool", "arguments": make, "_meta": {**ENVELOPE, **abilities}}
    asked = server.ask("tools/call", call)["result"]
    assert asked["resultType"] == "input_required"
    time.sleep(1)
    if how == "pause":
        run_policy(server, "pause")
    else:
        policy.write_text(f'{rules}[[deny]]\napp = "Notes"\nwhy = "Paused by a rule."\n')
    accepted = {"action": "accept", "content": {"answer": "Allow once"}}
    again = {"inputResponses": {"approval": accepted}, "requestState": asked["requestState"]}
    refused = server.ask("tools/call", {**call, **again})
    assert refused["result"]["isError"]
    assert "aused" in text_of(refused)


def test_a_rule_that_is_saved_holds_for_the_next_call_of_a_running_server(server: Piped) -> None:
    assert not server.ask("tools/call", COUNT)["result"].get("isError")
    policy = server.log.parent / "policy.toml"
    policy.write_text('[[deny]]\napp = "Notes"\nwhy = "Mine."\n')
    assert "Mine." in text_of(server.ask("tools/call", COUNT))
    policy.write_text("[[deny]]\nap = 1\n")
    assert "Mine." in text_of(server.ask("tools/call", COUNT))
    policy.write_text("")
    assert not server.ask("tools/call", COUNT)["result"].get("isError")
