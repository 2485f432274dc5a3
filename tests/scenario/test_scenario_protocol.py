"""What a scenario asks of a server beside calls, over stdio and HTTP, in both eras."""
# ruff: noqa: E501

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scenario_helpers import Make, Run

from iac_scenario.contract import contract_changes
from iac_scenario.matching import generalize_value, matches_placeholders

PROGRAM = str(Path(__file__).with_name("server_program.py"))

CALLS = """
[default_response]
tool_calls = [
  { request = "resources/list", capture = { next = "$.nextCursor" }, expect = { json_path = { "$.resources[*].name" = "a" } } },
  { request = "resources/list", input = { cursor = "${next}" }, expect = { json_path = { "$.resources[*].name" = "b" }, not = { contains = "nextCursor" } } },
  { request = "resources/read", input = { uri = "ours:///a" }, expect = { json_path = { "$.contents" = [{ uri = "ours:///a", text = "the text of ours:///a" }] }, content_types = ["text"] } },
  { request = "no/such", server = "ours", expect = { is_error = true, json_path = { "$.code" = -32601 } } },
  { tool = "tell", expect = { equals = "told", notifications = [{ method = "notifications/progress", params = { progress = 1, message = "step 1" } }, "notifications/progress"] } },
  { tool = "make", capture = { id = "Made (\\\\S+)" }, expect = { like = "Made <uuid> at <timestamp>." } },
  { tool = "make", input = { as = "json" }, capture = { other = "$.id" }, expect = { like = { id = "<uuid>", at = "<timestamp>", note = { "$json" = "null" }, number = 3 } } },
  { tool = "use", input = { id = "${id}" }, expect = { equals = "Used ${id}.", within_ms = 20_000 } },
  { tool = "hang", cancel_after_ms = 200, expect = { contains = "cancelled after 200 ms", is_error = true } },
  { tool = "echo", input = { text = "still there" }, expect = { matches = ["^still", "there$"] } },
]
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server over Streamable HTTP that wants a token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, PROGRAM, "--port", str(port)]) as server:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
        server.terminate()


def scenario(table: str, protocol: str) -> str:
    head = f'prompts = ["x"]\n[tool_execution]\nmode = "real_mcp"\nprotocol = "{protocol}"\n'
    return f"{head}[mcp_servers.ours]\n{table}\n{CALLS.replace('{{', '{')}"


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize("protocol", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("over", ["stdio", "http"])
def test_both_eras_over_both_transports(
    make: Make, run: Run, address: str, protocol: str, over: str
) -> None:
    table = f'command = "{sys.executable}"\nargs = ["{PROGRAM}"]'
    if over == "http":
        table = f'url = "{address}"\nheaders = {{ Authorization = "Bearer open-sesame" }}'
    ran = run("run", make(scenario(table, protocol)))
    assert (ran.status, " 0 failed" in ran.err) == (0, True), ran.err


@pytest.mark.process
def test_without_the_token_the_server_is_not_there(make: Make, run: Run, address: str) -> None:
    ran = run("run", make(scenario(f'url = "{address}"', "auto")))
    assert ran.status == 1
    assert "The server ours cannot be used: " in ran.err


def test_what_is_not_so_is_told(make: Make, run: Run) -> None:
    path = make("""
        prompts = ["x"]
        tool_execution.mode = "mock"
        [[default_response.tool_calls]]
        tool = "t"
        result = "a uuid"
        capture = { id = "nothing (.)" }
        [default_response.tool_calls.expect]
        like = "a <uuid>"
        matches = ["^a", "z$"]
        content_types = ["image"]
        notifications = ["notifications/progress"]
        not = { contains = "uuid", is_error = true }
        """)
    ran = run("run", path)
    assert ran.status == 1
    for line in (
        "FAILED t: like (line 9)\n  expected: a <uuid>\n  got:      a uuid",
        "FAILED t: matches (line 10)\n  expected: z$",
        'FAILED t: content_types (line 11)\n  expected: ["image"]\n  got:      ["text"]',
        "FAILED t: notifications (line 12)\n  expected: notifications/progress\n  got:      []",
        "FAILED t: not contains (line 13)\n  expected: not uuid\n  got:      a uuid",
        "FAILED t: capture (line 4)\n  expected: id = nothing (.)",
    ):
        assert line in ran.err
    assert "not is_error" not in ran.err


@pytest.mark.parametrize(("field", "said"), [
    ('expect = { matches = "(" }', "is not a regular expression"),
    ('expect = { not = { json_path = { "$[" = 1 } } }', "is not a JSONPath"),
    ("expect = { notifications = [{ params = {} }] }", "tables with a method"),
    ('capture = { a = "$[" }', "is not a JSONPath"),
    ('request = "ping"', "needs the field tool or request, and only one of them"),
])  # fmt: skip
def test_a_mistake_has_its_line(make: Make, run: Run, field: str, said: str) -> None:
    path = make(f'[[default_response.tool_calls]]\ntool = "t"\n{field}\n')
    ran = run("check", path)
    assert (ran.status, said in ran.err) == (2, True), ran.err


def test_a_placeholder_is_what_changes_or_itself() -> None:
    text = "at 2026-01-02T03:04:05Z in /tmp/x/y.txt 550e8400-e29b-41d4-a716-446655440000 12 ms"
    made = generalize_value(text)
    assert made == "at <timestamp> in <path> <uuid> <number> ms"
    assert matches_placeholders(made, text)
    assert matches_placeholders(made, made)
    assert not matches_placeholders(made, text.replace("in", "out"))
    assert matches_placeholders({"n": "<number>", "x": [1]}, {"n": 3, "x": [1.0]})
    assert not matches_placeholders({"n": True}, {"n": 1})


TOOL = {
    "name": "t", "description": "d", "annotations": {"readOnlyHint": True},
    "inputSchema": {"type": "object",
     "properties": {"a": {"type": "string"}, "b": {"type": "integer", "enum": [1, 2]}},
     "required": ["a"]},
}  # fmt: skip


@pytest.mark.parametrize(("path", "value", "said"), [
    ("description", "other", "s tool t: has another description"),
    ("annotations.readOnlyHint", False, "BREAKS s tool t: readOnlyHint was True, and is now False"),
    ("inputSchema.required", ["a", "b"], "BREAKS s tool t, input b: is needed now"),
    ("inputSchema.required", [], "s tool t, input a: is no longer needed"),
    ("inputSchema.properties.b.type", "number", "s tool t, input b: its type is now number"),
    ("inputSchema.properties.a.type", "integer", "BREAKS s tool t, input a: its type is now"),
    ("inputSchema.properties.b.enum", [1], "BREAKS s tool t, input b: its enum is now 1"),
    ("inputSchema.properties.b.enum", [1, 2, 3], "s tool t, input b: its enum is now 1 or 2"),
    ("inputSchema.properties.c", {}, "s tool t, input c: is new"),
    ("inputSchema.additionalProperties", False, "BREAKS s tool t, input: takes no other"),
    ("inputSchema.properties.a.maxLength", 3, "BREAKS s tool t, input a: has another maxL"),
    ("outputSchema", {"type": "object"}, "s tool t, output: says now what it returns"),
])  # fmt: skip
def test_a_change_is_told_in_words(path: str, value: object, said: str) -> None:
    changed = json.loads(json.dumps(TOOL))
    *way, last = path.split(".")
    at = changed
    for key in way:
        at = at[key]
    at[last] = value
    (change,) = contract_changes({"s": {"tools": {"t": TOOL}}}, {"s": {"tools": {"t": changed}}})
    assert str(change).startswith(said)


def test_what_callers_get_may_narrow_and_not_widen() -> None:
    def found(before: object, after: object) -> list[bool]:
        sides = ({"s": {"tools": {"t": {"outputSchema": side}}}} for side in (before, after))
        return [change.breaks for change in contract_changes(*sides)]

    one, two = ({"properties": {"a": {"type": kind}}} for kind in ("string", ["string", "null"]))
    assert (found(one, two), found(two, one)) == ([True], [False])
    assert found({**one, "required": ["a"]}, one) == [True]


@pytest.mark.process
def test_a_snapshot_is_written_and_held_against_the_server(run: Run, tmp_path: Path) -> None:
    config, contract = tmp_path / "servers.json", tmp_path / "contract.json"
    servers = {"ours": {"command": sys.executable, "args": [PROGRAM]}}
    config.write_text(json.dumps({"mcpServers": servers}))
    words = ("snapshot", contract, "--mcp-config", config)
    assert run(*words) == (0, "", "")
    found = json.loads(contract.read_text())
    assert list(found["ours"]["resources"]) == ["ours:///a", "ours:///b"]
    found["ours"]["tools"]["gone"] = found["ours"]["tools"].pop("echo")
    contract.write_text(json.dumps(found))
    ran = run(*words)
    assert (ran.status, ran.out) == (
        1, "ours tool echo: is new\nBREAKS ours tool gone: is gone\n"
    )  # fmt: skip
    assert run(*words, "--update").status == 0
    assert run(*words).out == ""
