"""Nothing passes by accident: what fails a run, with its line, and what loosens it."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from scenario_helpers import Make, Run

HELLO = '[[responses]]\npattern = { type = "exact", text = "hello" }\nresponse = "Hi."\n'
OTHER = '[[responses]]\npattern = { type = "exact", text = "other" }\n'
TODO = '[[default_response.tool_calls]]\ntool = "TodoWrite"\ninput.todos = []\n'
SIMULATED = 'tool_execution.mode = "simulated"\n'


@pytest.mark.parametrize(("kind", "text", "said"), [
    ("unmatched", "prompts = [\n'hello', 'x']\n" + HELLO, ":2: no rule matches the prompt 'x'"),
    ("unreached", HELLO + OTHER + 'response = "b"', ":4: no prompt reached this rule"),
    ("unreached", HELLO + 'turns = [{ expect = { type = "any" }, response = "c" }]',
     ":4: no prompt reached this turn"),
    ("unchecked", HELLO.replace('response = "Hi."', ""), ":1: has neither a response nor"),
    ("unchecked", SIMULATED + TODO, ":2: TodoWrite was called, but the step has no expectation"),
    ("unjudged", SIMULATED + HELLO + TODO + "expect = { is_error = false }",
     "the expectations of TodoWrite were never judged"),
    ("error", SIMULATED + TODO.replace("TodoWrite", "Bush") + 'expect = { contains = "Bush" }',
     ":2: Bush failed, and no expectation allows that: Bush is not simulated."),
])  # fmt: skip
def test_what_nobody_meant_fails_with_its_line_and_is_allowed_by_name(
    make: Make, run: Run, kind: str, text: str, said: str
) -> None:
    words = () if text.startswith("prompts") else ("-p", "hello")
    ran = run("run", make(text), *words)
    assert (ran.status, said in ran.err) == (1, True), ran.err
    assert run("run", make(text), *words, "--allow", kind).status == 0
    allowed = run("run", make(f"allow_{kind} = true\n{text}"), *words)
    assert allowed.status == 0, allowed.err


@pytest.mark.parametrize(
    ("failure", "status"),
    [("auth_error", 1), ("rate_limit", 1), ("partial_response", 2), ("malformed_json", 0)],
)
def test_a_failure_has_the_exit_status_of_claude_code(
    make: Make, run: Run, failure: str, status: int
) -> None:
    rule = f'[[responses]]\npattern.type = "any"\nfailure = {{ type = "{failure}" }}\n'
    assert run("run", make(rule), "-p", "x").status == status


def test_an_expectation_of_a_reply_that_failed_was_never_judged(make: Make, run: Run) -> None:
    call = '[[responses.response.tool_calls]]\ntool = "x"\nexpect = { is_error = false }\n'
    path = make(f"{HELLO.replace('response', 'failure.type', 2)}".replace('"Hi."', '"auth_error"'))
    path = make(
        '[[responses]]\npattern.type = "any"\nfailure = { type = "malformed_json" }\n' + call
    )
    ran = run("run", path, "-p", "hello")
    assert (ran.status, ":6: the expectations of x were never judged" in ran.err) == (1, True)


@pytest.mark.process
def test_arguments_that_do_not_fit_reach_the_server(make: Make, run: Run, server: str) -> None:
    path = make(
        'tool_execution.mode = "real_mcp"\n'
        + server
        + """[default_response]
tool_calls = [
  { tool = "echo", input = { txt = "hi" }, expect.is_error = true },
  { tool = "echo", input = { txt = "hi" }, send_invalid = true, expect.is_error = true },
]
"""
    )
    ran = run("run", path, "-p", "x")
    assert (ran.status, "do not fit" in ran.out) == (0, False), ran.err
    notes = [line for line in ran.err.splitlines() if line.startswith("note: ")]
    assert notes == [
        "note: case.toml:7: echo: the arguments do not fit: 'text' is a required property"
    ]


def test_check_finds_without_playing_what_would_fail(make: Make, run: Run) -> None:
    token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    text = f"""
        prompts = ["hello", "stray"]
        [mcp_servers.a]
        command = "true"
        env = {{ TOKEN = "{token}", KEY = "${{TOKEN}}" }}
        """
    ran = run("check", make(text + HELLO + OTHER + 'response = "b"\n'), "--no-servers")
    assert ran.status == 1
    assert [line.partition(": ")[0] for line in ran.err.splitlines()] == [
        "case.toml:2", "case.toml:9", "case.toml:5",
    ], ran.err  # fmt: skip
    assert token not in ran.err
    covered = '[[responses]]\npattern = { type = "contains", text = "hell" }\nresponse = "a"\n'
    ran = run("check", make(covered + HELLO))
    assert (ran.status, ":4: responses: is never reached: the rule of line 1" in ran.err) == (
        1,
        True,
    )


@pytest.mark.process
def test_check_holds_calls_against_what_the_servers_list(make: Make, run: Run, server: str) -> None:
    path = make(
        'tool_execution.mode = "real_mcp"\n'
        + server
        + """[mcp_servers.gone]
command = "/nowhere"
[default_response]
tool_calls = [
  { tool = "mcp__ours__ecco", expect = { is_error = false } },
  { tool = "echo", input = { txt = "hi" }, expect = { is_error = false } },
  { tool = "echo", input = { text = "hi" }, expect = { is_error = false } },
  { tool = "mcp__ours__none", expect = { is_error = true } },
]
"""
    )
    ran = run("check", path)
    assert ran.status == 1
    assert [line.split(": ", 2)[-1][:34] for line in ran.err.splitlines()] == [
        "No such file or directory (/nowher"[:34],
        "the server ours lists no tool ecco",
        "the arguments do not fit: 'text' i",
    ], ran.err


CATASTROPHE = "^(a|aa)+$"


def test_a_pattern_without_end_ends(make: Make, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iac_scenario.arguments.PATTERN_SECONDS", 0.05)
    prompt = "a" * 60 + "b"
    path = make(f'[[responses]]\npattern = {{ type = "regex", pattern = "{CATASTROPHE}" }}\n')
    ran = run("run", path, "-p", prompt)
    assert (ran.status, "took too long" in ran.err) == (2, True), ran.err
    for expect in (
        f'schema = {{ properties.a = {{ pattern = "{CATASTROPHE}" }} }}',
        f"json_path = {{ \"$[?search(@, '{CATASTROPHE}')]\" = 1 }}",
    ):
        call = f'tool = "x"\nresult = {{ a = "{prompt}" }}\nexpect = {{ {expect} }}\n'
        text = f'tool_execution.mode = "mock"\n[[default_response.tool_calls]]\n{call}'
        ran = run("run", make(text), "-p", "x")
        assert (ran.status, "no verdict" in ran.err) == (1, True), ran.err


def test_a_prompt_has_a_deadline(make: Make, run: Run) -> None:
    path = make('[default_response]\ntext = "late"\ndelay_ms = 60000\n')
    ran = run("run", path, "-p", "x", "--prompt-timeout-ms", "20")
    assert (ran.status, "the prompt 'x' took more than 20 ms" in ran.err) == (1, True)


@pytest.mark.process
@pytest.mark.parametrize("signals", [1, 2])
def test_a_signal_ends_in_order_and_the_second_at_once(make: Make, signals: int) -> None:
    # Standard input is closed at the first; this server stays for all that.
    stays = """
        tool_execution.mode = "real_mcp"
        [mcp_servers.stays]
        command = "sh"
        args = ["-c", "trap '' TERM; sleep 60; sleep 60"]
        """
    call = '[[default_response.tool_calls]]\ntool = "Bash"\ninput.command = "sleep 60"\n'
    hang = '[[default_response.tool_calls]]\ntool = "x"\n'
    text = f'tool_execution.mode = "simulated"\n{call}' if signals == 1 else f"{stays}\n{hang}"
    path = make(text)
    words = [sys.executable, "-m", "iac_scenario", "run", str(path), "-p", "x", "--unconfined"]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as child:
        while len(psutil.Process(child.pid).children(recursive=True)) < 2:
            time.sleep(0.02)
        for _ in range(signals):
            os.kill(child.pid, signal.SIGINT)
            time.sleep(0.1)
        status = child.wait(30)
    assert status == (130 if signals == 1 else -signal.SIGINT)
