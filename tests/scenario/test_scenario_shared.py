"""Servers in the process of a run, and servers that the scenarios of a pytest session share."""

import sys
from pathlib import Path

import pytest
from scenario_helpers import Make, Run

pytest_plugins = ["pytester"]

SERVER = """
from mcp.server import MCPServer

server = MCPServer("notes")
made = []


@server.tool()
def add(text: str) -> int:
    made.append(text)
    return len(made)


def make_server():
    made.clear()
    return server


number = 7
"""
PLAY = """
prompts = ["go"]
[tool_execution]
mode = "real_mcp"
[mcp_servers.notes]
{server}
[[responses]]
pattern = {{ type = "any" }}
[[responses.response.tool_calls]]
tool = "add"
input = {{ text = "milk" }}
expect = {{ matches = "^{count}$" }}
"""
COUNTER = """
import sys, os
from notes import server
with open({log!r}, "a") as log:
    log.write("started ")
server.run()
"""


@pytest.fixture(autouse=True)
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "notes", raising=False)


@pytest.mark.parametrize("name", ["notes:server", "notes:make_server"])
def test_a_server_that_is_an_object_of_python(make: Make, run: Run, name: str) -> None:
    make(SERVER, "notes.py")
    case = make(PLAY.format(server=f'server = "{name}"', count=1))
    assert run("run", case).status == 0
    assert run("check", case).status == 0
    # An object lasts as long as the process; a function makes another one.
    assert run("run", case).status == (name == "notes:server")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere:server", "No module named 'nowhere'"),
        ("notes:none", "has no attribute 'none'"),
        ("notes:number", "is not a server of the package mcp"),
        ("notes", "is not a server of the package mcp"),
    ],
)
def test_a_name_that_leads_to_no_server(make: Make, run: Run, name: str, told: str) -> None:
    make(SERVER, "notes.py")
    ran = run("run", make(PLAY.format(server=f'server = "{name}"', count=1)))
    assert ran.status == 1
    assert told in ran.err
    assert "Traceback" not in ran.err


def test_two_modules_of_one_name_are_not_mixed_up(make: Make, run: Run) -> None:
    text = PLAY.format(server='server = "notes:make_server"', count=1)
    make(SERVER, "a/notes.py")
    make(SERVER, "b/notes.py")
    assert run("run", make(text, "a/case.toml")).status == 0
    ran = run("run", make(text, "b/case.toml"))
    assert ran.status == 1
    assert "this process has another module of that name" in ran.err


@pytest.mark.process
def test_scenarios_of_a_session_can_share_servers(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("shared")
    log = pytester.path / "log"
    (folder / "notes.py").write_text(SERVER)
    (folder / "main.py").write_text(COUNTER.format(log=str(log)))
    server = f'command = "{sys.executable}"\nargs = ["main.py"]'
    for count in (1, 2, 3):
        (folder / f"case{count}.toml").write_text(PLAY.format(server=server, count=count))
    words = ("-p", "iac_scenario.plugin", "-p", "no:cacheprovider", "--scenario", str(folder))
    pytester.runpytest(*words, "--scenario-share-servers").assert_outcomes(passed=3)
    assert log.read_text().split() == ["started"]
    pytester.runpytest(*words).assert_outcomes(passed=1, failed=2)
    assert len(log.read_text().split()) == 4


@pytest.mark.process
def test_a_shared_server_that_ended_is_started_again(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("ended")
    program = Path(__file__).with_name("server_program.py")
    text = PLAY.format(server=f'command = "{sys.executable}"\nargs = ["{program}"]', count="milk")
    text = text.replace('"add"', '"echo"')
    crash = text.replace('"echo"', '"crash"').replace('matches = "^milk$"', "is_error = true")
    (folder / "a.toml").write_text(crash)
    (folder / "b.toml").write_text(text)
    words = ("-p", "iac_scenario.plugin", "-p", "no:cacheprovider", "--scenario", str(folder))
    pytester.runpytest(*words, "--scenario-share-servers").assert_outcomes(passed=2)


@pytest.mark.process
def test_how_a_shared_server_ends_can_fail_the_session(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("late")
    (folder / "notes.py").write_text(SERVER)
    stubborn = "import signal, time\nfrom notes import server\nsignal.signal(signal.SIGTERM,"
    stubborn += " lambda *_: None)\nserver.run()\nwhile True: time.sleep(1)\n"
    (folder / "main.py").write_text(stubborn)
    server = f'command = "{sys.executable}"\nargs = ["main.py"]'
    text = PLAY.format(server=server, count=1) + "[timeouts]\nmcp_stop_timeout_ms = 100\n"
    (folder / "case.toml").write_text(text)
    words = ("-p", "iac_scenario.plugin", "-p", "no:cacheprovider", "--scenario", str(folder))
    result = pytester.runpytest(*words, "--scenario-share-servers")
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["FAILED The server notes breaks the protocol: it did not end*"])
