"""Sessions that go on, hooks, settings, and the tools that talk with the user."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from scenario_helpers import Make, Run

TALK = """
[[responses]]
pattern = { type = "exact", text = "login" }
response = "Who?"
turns = [
  { expect = { type = "any" }, response = "Password?" },
  { expect = { type = "exact", text = "secret" }, response = "Welcome." },
]
"""


def test_a_session_goes_on_where_it_ended(make: Make, run: Run, tmp_path: Path) -> None:
    path, kept = make(TALK), ("--config-dir", tmp_path / "config")
    first = run("run", path, "-p", "login", *kept)
    assert (first.status, first.out) == (1, "Who?\n")
    [transcript] = (tmp_path / "config" / "projects" / "-sandbox").glob("*.jsonl")
    second = run("run", path, "-p", "Ada", *kept, "--resume", transcript.stem)
    assert second.out == "Password?\n"
    third = run("run", path, "-p", "secret", *kept, "--continue")
    assert (third.status, third.out) == (0, "Welcome.\n")
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    said = [
        line["message"]["content"]
        if line["type"] == "user"
        else line["message"]["content"][0]["text"]
        for line in lines
    ]
    assert said == ["login", "Who?", "Ada", "Password?", "secret", "Welcome."]
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    assert run("run", path, "-p", "login", *kept).out == "Who?\n"
    unknown = "550e8400-e29b-41d4-a716-446655440000"
    ran = run("run", path, "-p", "x", *kept, "--resume", unknown)
    assert (ran.status, f"No conversation found with session ID: {unknown}" in ran.err) == (2, True)


def test_what_was_captured_is_there_when_a_session_goes_on(
    make: Make, run: Run, tmp_path: Path
) -> None:
    path = make("""
        tool_execution.mode = "mock"
        prompts = ["a", "b"]
        [[responses]]
        pattern.text = "a"
        pattern.type = "exact"
        response.tool_calls = [{ tool = "x", result = { id = "7" }, capture = { id = "$.id" } }]
        [[responses]]
        pattern.text = "b"
        pattern.type = "exact"
        response.tool_calls = [{ tool = "y", input = { id = "${id}" }, result = "ok" }]
        """)
    kept = ("--config-dir", tmp_path / "config", "--output-format", "stream-json")
    run("run", path, "-p", "a", *kept)
    ran = run("run", path, *kept, "--continue")
    assert ran.status == 0, ran.err
    assert '"input":{"id":"7"}' in ran.out


def test_a_failure_is_in_the_transcript(make: Make, run: Run, tmp_path: Path) -> None:
    rule = '[[responses]]\npattern.type = "any"\nfailure = { type = "rate_limit" }\n'
    assert run("run", make(rule), "-p", "x", "--config-dir", tmp_path / "c").status == 1
    [transcript] = (tmp_path / "c").glob("projects/*/*.jsonl")
    line = json.loads(transcript.read_text().splitlines()[-1])
    assert (line["isApiErrorMessage"], line["error"]) == (True, "rate_limit")
    assert line["message"]["model"] == "<synthetic>"


def test_the_user_is_asked_and_plans_are_approved(make: Make, run: Run, tmp_path: Path) -> None:
    path = make("""
        tool_execution.mode = "simulated"
        [tool_execution.tools.AskUserQuestion.answers]
        "Which?" = "B"
        [permissions]
        mode = "plan"
        answer = "allow"
        [default_response]
        tool_calls = [
          { tool = "AskUserQuestion", input = { questions = [
              { question = "Which?", options = [{ label = "A" }, { label = "B" }] },
              { question = "How?", options = [{ label = "So" }] },
            ] }, expect = { json_path = { "$.answers" = { "Which?" = "B", "How?" = "So" } } } },
          { tool = "AskUserQuestion", approve = false, input = { questions = [] }, expect = { is_error = true, contains = "declined" } },
          { tool = "Write", input = { file_path = "a", content = "1" }, expect = { is_error = true } },
          { tool = "ExitPlanMode", approve = false, input = { plan = "# No" }, expect = { is_error = true } },
          { tool = "ExitPlanMode", input = { plan = "# Do it" }, expect = { contains = "approved" } },
          { tool = "Write", input = { file_path = "a", content = "1" }, expect = { is_error = false } },
          { tool = "EnterPlanMode", expect = { is_error = false } },
          { tool = "Write", input = { file_path = "a", content = "1" }, expect = { is_error = true } },
          { tool = "TodoWrite", input = { todos = [{ content = "Buy", status = "pending", activeForm = "Buying" }] }, expect = { json_path = { "$.oldTodos" = [], "$.newTodos[0].activeForm" = "Buying" } } },
          { tool = "TodoWrite", input = { todos = [{ content = "Buy", status = "soon", activeForm = "Buying" }] }, expect = { is_error = true, contains = "expected one of" } },
        ]
        """)  # noqa: E501
    ran = run("run", path, "-p", "x", "--config-dir", tmp_path / "c")
    assert ran.status == 0, ran.err
    [plan] = (tmp_path / "c" / "plans").iterdir()
    assert re.fullmatch(r"[a-z]+-[a-z]+-[a-z]+\.md", plan.name)
    assert plan.read_text() == "# Do it"
    [todos] = (tmp_path / "c" / "todos").iterdir()
    assert json.loads(todos.read_text()) == [
        {"content": "Buy", "status": "pending", "activeForm": "Buying"}
    ]


HOOK = """
import json, sys
told = json.load(sys.stdin)
with open(LOG, "a") as log:
    log.write(told["hook_event_name"] + " " + told.get("tool_name", "") + chr(10))
"""
JUDGE = """
name = told.get("tool_input", {}).get("file_path")
if told["hook_event_name"] == "PreToolUse" and name == "no":
    sys.exit("not that one") if False else (print("not that one", file=sys.stderr), sys.exit(2))
if told["hook_event_name"] == "PreToolUse" and name == "old":
    print(json.dumps({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"file_path": "new", "content": "2"}}}))
if told["hook_event_name"] == "UserPromptSubmit" and told["prompt"] == "bad":
    print(json.dumps({"decision": "block", "reason": "not asked"}))
if told["hook_event_name"] == "Stop" and not told["stop_hook_active"]:
    print(json.dumps({"decision": "block", "reason": "more"}))
"""  # noqa: E501


def hooked(tmp_path: Path, events: str, more: str = "") -> str:
    """Return settings whose one program hooks into these events."""
    log, program = tmp_path / "log", tmp_path / "hook.py"
    program.write_text(f"LOG = {str(log)!r}\n{HOOK}{more}")
    hook = {"type": "command", "command": shlex.join([sys.executable, str(program)])}
    rows = {event: [{"matcher": "Write|startup", "hooks": [hook]}] for event in events.split()}
    return json.dumps({"hooks": rows, "permissions": {"defaultMode": "dontAsk"}})


@pytest.mark.process
def test_hooks_see_block_change_and_go_on(make: Make, run: Run, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(
        hooked(
            tmp_path, "SessionStart UserPromptSubmit PreToolUse PostToolUse Stop SessionEnd", JUDGE
        )
    )
    path = make("""
        tool_execution.mode = "simulated"
        settings = { "$file" = "settings.json" }
        prompts = ["good", "bad"]
        [[responses]]
        pattern = { type = "exact", text = "good" }
        [responses.response]
        tool_calls = [
          { tool = "Write", input = { file_path = "no", content = "1" }, expect = { contains = "hook.py]: not that one", is_error = true } },
          { tool = "Write", input = { file_path = "old", content = "1" }, expect = { contains = "/sandbox/new" } },
          { tool = "Write", input = { file_path = "x", content = "1" }, expect = { contains = "in don't ask mode", is_error = true } },
          { tool = "Read", input = { file_path = "new" }, expect = { contains = "2" } },
        ]
        [[responses]]
        pattern = { type = "exact", text = "more" }
        response = "And more."
        """)  # noqa: E501
    ran = run("run", path)
    assert ran.status == 0, ran.err
    assert ran.out.endswith("And more.\n")
    assert "note: the prompt was not sent: not asked" in ran.err
    assert (tmp_path / "log").read_text().split("\n") == [
        "SessionStart ", "UserPromptSubmit ", "PreToolUse Write", "PreToolUse Write",
        "PostToolUse Write", "PreToolUse Write", "Stop ", "Stop ", "UserPromptSubmit ",
        "SessionEnd ", "",
    ]  # fmt: skip


@pytest.mark.process
def test_settings_come_in_order_and_bad_hooks_are_noted(
    make: Make, run: Run, tmp_path: Path
) -> None:
    names = []
    for name, command in (("global", "echo $NAME >> $CLAUDE_PROJECT_DIR/log"), ("own", "exit 3")):
        file = tmp_path / f"{name}.json"
        hook = {"type": "command", "command": command}
        deny = {"deny": ["Bash(rm *)"] if name == "own" else ["Read(./x)"]}
        text = {"env": {"NAME": name}, "hooks": {"SessionStart": [{"hooks": [hook]}]}}
        file.write_text(json.dumps({**text, "permissions": deny}))
        names += ["--settings", file]
    path = make("""
        tool_execution.mode = "simulated"
        [default_response]
        tool_calls = [
          { tool = "Read", input = { file_path = "log" }, expect = { contains = "own" } },
          { tool = "Read", input = { file_path = "x" }, expect = { is_error = true, contains = "denied by your permission settings" } },
          { tool = "Bash", input = { command = "rm x" }, expect = { is_error = true, contains = "with command rm x has been denied" } },
        ]
        """)  # noqa: E501
    ran = run("run", path, "-p", "x", *names)
    assert ran.status == 0, ran.err
    assert "note: hook SessionStart (exit 3): status 3" in ran.err
    broken = make('settings = { permissions = { defaultMode = "free" } }\n')
    assert "permissions.defaultMode: 'free' is not one of" in run("run", broken, "-p", "x").err
