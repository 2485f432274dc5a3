"""Playing scenarios: rules, turns, failures, and the forms of output."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from scenario_helpers import Make, Run

from iac_scenario.confinement import find_bubblewrap

EXAMPLE = """
    [tool_execution]
    mode = "mock"

    [[responses]]
    pattern = { type = "contains", text = "list files" }
    [responses.response]
    text = "Here are the files:"
    [[responses.response.tool_calls]]
    tool = "Bash"
    input = { command = "ls" }
    result = "file1.txt\\nfile2.txt"
"""

RULES = """
    [[responses]]
    pattern = { type = "exact", text = "hello" }
    response = "once"
    max_matches = 1
    [[responses]]
    pattern = { type = "exact", text = "hello" }
    response = "again"
    [[responses]]
    pattern = { type = "regex", pattern = "(?i)fix.*bug" }
    response = "regex"
    [[responses]]
    pattern = { type = "glob", pattern = "*.tx?" }
    response = "glob"
    [[responses]]
    pattern = { type = "contains", text = "login" }
    response = "name?"
    turns = [
        { expect = { type = "any" }, response = "password?" },
        { expect = { type = "contains", text = "secret" }, response = "welcome" },
    ]
    [default_response]
    text = "default"
"""


def prompts(*said: str) -> list[str]:
    return [word for prompt in said for word in ("-p", prompt)]


def test_rules_match_in_order_and_as_often_as_they_may(make: Make, run: Run) -> None:
    said = ("hello", "hello", "please FIX the bug", "a.txt", "a.txt.gz", "Hello")
    ran = run("run", make(RULES), *prompts(*said))
    assert ran.out.split() == ["once", "again", "regex", "glob", "default", "default"]


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (("login", "ada", "secret", "hello"), ["name?", "password?", "welcome", "once"]),
        # A turn that does not fit ends the sequence, and the rules hold again.
        (("login", "ada", "hello", "secret"), ["name?", "password?", "once", "default"]),
        (("login", "login", "login"), ["name?", "password?", "name?"]),
    ],
)
def test_turns_follow_each_other(
    make: Make, run: Run, said: tuple[str, ...], heard: list[str]
) -> None:
    assert run("run", make(RULES), *prompts(*said)).out.split() == heard


def test_prompts_come_from_the_file_or_line_by_line(
    make: Make, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"hello\r\n\na.txt"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert run("run", make(RULES)).out.split() == ["once", "glob"]
    own = make('prompts = ["a.txt"]\n' + RULES.replace("\n    ", "\n"))
    assert run("run", own).out.split() == ["glob"]
    assert run("run", own, "-p", "x").out.split() == ["default"]


def test_two_runs_are_the_same_bytes_and_a_seed_makes_other_ids(make: Make, run: Run) -> None:
    path = make(EXAMPLE)
    words = ("run", path, "-p", "list files", "-p", "list files", "--output-format", "stream-json")
    first = run(*words).out
    assert run(*words).out == first
    ids = [json.loads(line)["uuid"] for line in first.splitlines()]
    assert len(ids) == len(set(ids)) == 9
    seeded = make("seed = 7\n" + EXAMPLE.replace("\n    ", "\n"))
    assert run("run", seeded, *words[2:]).out != first


@pytest.mark.parametrize(("failure", "kind", "message"), [
    ('type = "network_unreachable"', "unknown", "The network cannot be reached."),
    ('type = "connection_timeout", after_ms = 5', "unknown", "No answer within 5 ms."),
    ('type = "auth_error", message = "expired"', "authentication_failed", "expired"),
    ('type = "rate_limit", retry_after = 9', "rate_limit", "Try again in 9 s."),
    ('type = "out_of_credits"', "billing_error", "credit balance"),
    ('type = "tool_error", message = "no"', "unknown", "no"),
])  # fmt: skip
def test_a_failure_of_the_service(
    make: Make, run: Run, failure: str, kind: str, message: str
) -> None:
    path = make(f'[[responses]]\npattern = {{ type = "any" }}\nfailure = {{ {failure} }}\n')
    assert message in run("run", path, "-p", "x").out
    out = run("run", path, "-p", "x", "--output-format", "stream-json").out
    _, said, result = map(json.loads, out.splitlines())
    assert (said["error"], said["message"]["model"]) == (kind, "<synthetic>")
    assert result["is_error"]
    assert message in result["result"]


def test_expectations_that_are_not_met_say_what_came(make: Make, run: Run) -> None:
    path = make("""
        [tool_execution]
        mode = "mock"
        [[default_response.tool_calls]]
        tool = "facts"
        result = { n = 1, rows = [{ name = "a" }, { name = "b" }] }
        [default_response.tool_calls.expect]
        is_error = false
        contains = ["rows", "name"]
        equals = { n = 1.0, rows = [{ name = "a" }, { name = "b" }] }
        json_path = { "$.n" = 1, "$.rows[*].name" = ["a", "b"], "$.rows[?@.name=='b'].name" = "b" }
        schema = { type = "object", required = ["n"] }
        [[default_response.tool_calls]]
        tool = "facts"
        result = "plain"
        [default_response.tool_calls.expect]
        is_error = true
        contains = "other"
        equals = "Plain"
        json_path = { "$.n" = 1 }
        schema = { type = "object" }
        """)
    ran = run("run", path, "-p", "x")
    assert ran.status == 1
    assert "2 calls, 5 expectations met, 5 failed." in ran.err
    assert "FAILED facts: equals (line 19)\n  expected: Plain\n  got:      plain\n" in ran.err
    assert "expected: an error\n  got:      no error: plain" in ran.err
    assert "$.n = 1\n  got:      nothing at that path" in ran.err


def test_true_is_not_one(make: Make, run: Run) -> None:
    path = make("""
        tool_execution.mode = "mock"
        [[default_response.tool_calls]]
        tool = "t"
        result = { n = true }
        expect = { json_path = { "$.n" = 1 } }
        """)
    assert run("run", path, "-p", "x").status == 1


def test_without_a_mode_nothing_runs_and_no_expectation_is_met(make: Make, run: Run) -> None:
    path = make("""
        [default_response]
        text = "Calling."
        [[default_response.tool_calls]]
        tool = "t"
        result = "r"
        expect = { contains = "r" }
        """)
    ran = run("run", path, "-p", "x", "--output-format", "stream-json")
    assert (ran.status, "tool_result" in ran.out, "tool_use" in ran.out) == (1, False, True)
    assert "not executed: the mode is disabled" in ran.err
    assert run("run", path, "-p", "x", "--tool-execution-mode", "mock").status == 0


def test_a_call_can_fail_by_the_file_by_its_tool_or_for_want_of_a_result(
    make: Make, run: Run
) -> None:
    path = make("""
        tool_execution.mode = "mock"
        tool_execution.tools.Down.error = "is down"
        tool_execution.tools.Fixed.result = "always this"
        [default_response]
        tool_calls = [
            { tool = "A", expect = { contains = "no result", is_error = true } },
            { tool = "A", error = "own", expect = { equals = "own", is_error = true } },
            { tool = "Down", result = "x", expect = { equals = "is down", is_error = true } },
            { tool = "Fixed", expect = { equals = "always this" } },
            { tool = "A", failure = { type = "tool_error", message = "boo" } },
            { tool = "A", failure = { type = "malformed_json", raw = "<" } },
            { tool = "A",failure = { type = "rate_limit" }, expect = { contains = "60 s" } },
        ]
        """)
    ran = run("run", path, "-p", "x")
    assert ran.status == 0, ran.err
    assert "Error: boo\n" in ran.out
    assert "<\n" in ran.out


@pytest.mark.usefixtures("confinement")
def test_time_moves_by_scripted_delays_only(make: Make, run: Run) -> None:
    path = make("""
        launch_timestamp = "2025-01-15T10:30:00Z"
        [tool_execution]
        mode = "simulated"
        [default_response]
        delay_ms = 2
        tool_calls = [{ tool = "Bash", input = { command = "date +%H:%M:%S.%6N" } }]
        """)
    ran = run("run", path, "-p", "x", "-p", "y")
    assert ran.out.split() == ["10:30:00.002000", "10:30:00.004000"]
    result = json.loads(run("run", path, "-p", "x", "--output-format", "json").out)
    assert result["duration_ms"] == 2


def test_a_time_comes_from_flag_then_file_then_environment(
    make: Make, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def duration(path: object, *words: str) -> int:
        ran = run("run", path, "-p", "x", "--output-format", "json", *words)
        found = json.loads(ran.out)["duration_ms"]
        assert isinstance(found, int)
        return found

    bare, own = make("", "bare.toml"), make("timeouts.response_delay_ms = 2", "own.toml")
    monkeypatch.setenv("IAC_SCENARIO_RESPONSE_DELAY_MS", "3")
    assert duration(own, "--response-delay-ms", "1") == 1
    assert duration(own) == 2
    assert duration(bare) == 3
    monkeypatch.setenv("IAC_SCENARIO_RESPONSE_DELAY_MS", "soon")
    ran = run("run", bare, "-p", "x")
    assert (ran.status, "whole number of milliseconds" in ran.err) == (2, True)


def test_wrong_usage_is_status_two(make: Make, run: Run) -> None:
    assert run("run").status == 2
    assert run("run", make(""), "--tool-execution-mode", "dream").status == 2
    assert run("nonsense").status == 2
    assert run("--help").status == 0


@pytest.mark.usefixtures("confinement")
def test_a_result_without_text_prints_nothing(make: Make, run: Run) -> None:
    path = make("""
        tool_execution.mode = "mock"
        [default_response]
        text = "Done."
        tool_calls = [{ tool = "Bash", input = { command = "touch x" }, result = "" }]
        """)
    assert run("run", path, "-p", "x").out == "Done.\n"


@pytest.mark.parametrize(("words", "said"), [
    (["run"], "Missing argument 'FILE'."), (["nope"], "There is no command called nope."),
    (["run", "x.toml", "--output-format", "xml"], "Invalid value for '--output-format'"),
    (["run", "x.toml", "--mcp-config", "none.json"], "'none.json' does not exist."),
    (["run", "x.toml", "--mcp-timeout-ms", "-1"], "Invalid value for '--mcp-timeout-ms'"),
])  # fmt: skip
def test_wrong_usage_is_one_line(run: Run, words: list[str], said: str) -> None:
    ran = run(*words)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("iac-scenario: ")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


# Nothing passes by accident: what fails a run, with its line, and what loosens it.


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
     ":2: Bush failed, and no expectation allows that: "),
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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '[default_response]\ntool_calls = [{ tool = "Read", input = { file_path = "a" } }]\n',
            ":3: Read was called, but the step has no expectation.",
        ),
        (
            '[permissions]\ndeny = ["Read(./a*)"]\n[default_response]\ntool_calls = ['
            '{ tool = "Read", input = { file_path = "a" }, expect = { contains = "x" } }]\n',
            ":5: Read: Read was refused: the rule Read(./a*) denies it",
        ),
        (
            '[[responses]]\npattern = { type = "any" }\n',
            ":2: has neither a response nor a failure.",
        ),
        (
            "[default_response]\ntool_calls = ["
            '{ tool = "Bash", input = { command = "ls" }, expect = { contains = "x" } }]\n',
            ":3: Bash: Bash, Grep and Glob need bubblewrap (bwrap)",
        ),
    ],
)
def test_check_finds_what_a_run_fails_on(
    make: Make, run: Run, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    path = make(f'tool_execution.mode = "simulated"\n{text}')
    if "bwrap" in told:
        monkeypatch.setattr("shutil.which", lambda *_, **__: None)
        find_bubblewrap.cache_clear()
    ran = run("check", path)
    assert (ran.status, told in ran.err) == (1, True), ran.err
    assert run("run", path, "-p", "go").status == 1
    find_bubblewrap.cache_clear()


@pytest.mark.parametrize("word", ["run", "check"])
def test_a_broken_configuration_is_an_error_in_every_mode(make: Make, run: Run, word: str) -> None:
    config = make('{"mcpServers": {"a": {"comand": "x"}}}', "servers.json")
    path = make('[default_response]\ntext = "hi"\n')
    ran = run(word, path, "--mcp-config", config, *(["-p", "go"] if word == "run" else []))
    assert ran.status == 2
    assert "mcpServers.a: needs the field command" in ran.err


CATASTROPHE = "^(a|aa)+$"


def test_a_pattern_without_end_ends(make: Make, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iac_scenario.matching.PATTERN_SECONDS", 0.05)
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


@pytest.mark.sweep
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
