"""What a server does against the protocol is told at once, with its line and its bytes."""

import json
import sys
import threading
import time
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
from scenario_helpers import Make, Run

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.process]

FAULTS: Final = Path(__file__).with_name("protocol_faults.toml")
TABLE: Final[dict[str, dict[str, Any]]] = tomllib.loads(FAULTS.read_text())
BAD: Final = Path(__file__).with_name("bad_server.py")
TEXT: Final = """\
tool_execution.mode = "real_mcp"
[mcp_servers.bad]
command = "{python}"
args = ["{program}", "{faults}", "{name}"]
{more}
[[responses]]
pattern = {{ type = "exact", text = "go" }}
[[responses.response.tool_calls]]
tool = "echo"
expect = {{ is_error = {error} }}
"""


def scenario(name: str, more: str = "", error: str = "false", faults: Path = FAULTS) -> str:
    return TEXT.format(
        python=sys.executable, program=BAD, faults=faults, name=name, more=more, error=error
    )


@pytest.mark.parametrize("name", TABLE)
def test_each_fault_is_told_at_once(make: Make, run: Run, name: str) -> None:
    path = make(scenario(name))
    begun = time.monotonic()
    ran = run(
        "run",
        path,
        "-p",
        "go",
        "--mcp-stop-timeout-ms",
        "300" if "ends" in TABLE[name] else "20000",
    )
    took = time.monotonic() - begun
    assert (ran.status, "The server bad breaks the protocol: " in ran.err) == (1, True), ran.err
    assert TABLE[name]["told"] in ran.err
    assert not [
        word for word in ("pydantic", "validation error", "did not answer") if word in ran.err
    ]
    assert took < 15, "nothing waits for a time-out"


def test_a_fault_can_be_allowed_and_the_server_is_used(make: Make, run: Run) -> None:
    allowed = run("run", make(scenario("text-between-messages")), "-p", "go", "--allow", "protocol")
    assert (allowed.status, allowed.out) == (0, "hi\n"), allowed.err
    path = make(scenario("text-between-messages", "allow_protocol = true"))
    assert run("run", path, "-p", "go").status == 0


def test_an_expected_error_does_not_hide_a_fault(make: Make, run: Run) -> None:
    ran = run("run", make(scenario("text-between-messages", error="true")), "-p", "go")
    assert (ran.status, ran.err.count("is text, not a message")) == (1, 1), ran.err


def test_check_and_the_plugin_tell_faults_too(
    make: Make, run: Run, pytester: pytest.Pytester
) -> None:
    ran = run("check", make(scenario("tool-twice")))
    assert (ran.status, "lists 'a' a second time" in ran.err) == (1, True), ran.err
    pytester.path.joinpath("case.toml").write_text(scenario("two-answers"))
    result = pytester.runpytest_subprocess("--scenario", "case.toml", "-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*line 5 (* bytes) answers the request 4 a second time*"])


@pytest.mark.parametrize("code", [-32000, -32001, -32603])
def test_an_error_of_the_server_keeps_its_code_and_message(
    make: Make, run: Run, tmp_path: Path, code: int
) -> None:
    faults = tmp_path / "faults.toml"
    faults.write_text(
        f"[own]\npatch.result = 'GONE'\npatch.error = {{ code = {code}, message = 'no disk' }}\n"
    )
    ran = run("run", make(scenario("own", error="true", faults=faults)), "-p", "go")
    assert (ran.status, ran.out) == (0, f"Error: MCP error {code}: no disk\n"), ran.err
    faults.write_text(faults.read_text() + 'at = "tools/list"\n')
    ran = run("run", make(scenario("own", error="true", faults=faults)), "-p", "go")
    assert f"cannot be used: MCP error {code}: no disk" in ran.err


def test_a_server_that_needs_a_signal_to_end_is_a_note(
    make: Make, run: Run, tmp_path: Path
) -> None:
    faults = tmp_path / "faults.toml"
    faults.write_text("[own]\nends = ['input']\n")
    ran = run("run", make(scenario("own", faults=faults)), "-p", "go", "--mcp-stop-timeout-ms", 100)
    assert ran.status == 0, ran.err
    assert "note: The server bad did not end within 0.1 s after the end of its input." in ran.err


class TwoTools(BaseHTTPRequestHandler):
    """A server over HTTP that lists one tool twice."""

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        tool = {"name": "echo", "inputSchema": {"type": "object"}}
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "bad", "version": "1"},
            },
            "tools/list": {"tools": [tool, tool]},
        }
        answer = {"jsonrpc": "2.0", "id": given.get("id"), "result": results.get(given["method"])}
        if answer["result"] is None:
            answer |= {"error": {"code": -32601, "message": "Method not found"}}
            answer.pop("result")
        body = b"" if "id" not in given else json.dumps(answer).encode()
        self.send_response(200 if body else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def test_a_fault_over_http_is_told_at_once(make: Make, run: Run) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), TwoTools) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        text = scenario("none").replace("[mcp_servers.bad]\n", "[mcp_servers.bad]\n#", 1)
        lines = [line for line in text.splitlines() if not line.startswith(("#command", "args"))]
        at = lines.index("[mcp_servers.bad]") + 1
        lines.insert(at, f'url = "http://127.0.0.1:{server.server_port}/mcp"')
        begun = time.monotonic()
        ran = run("run", make("\n".join(lines)), "-p", "go")
        server.shutdown()
    assert (ran.status, "lists 'echo' a second time" in ran.err) == (1, True), ran.err
    assert time.monotonic() - begun < 15
