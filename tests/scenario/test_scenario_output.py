"""The forms of output, held against golden files: `IAC_GOLDEN=write` rewrites them."""

import json
import os
from pathlib import Path

import pytest
from scenario_helpers import Make, Run

GOLDEN = Path(__file__).with_name("golden")


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_a_form_is_what_the_golden_file_says(run: Run, form: str) -> None:
    out = run("run", GOLDEN / "formats.toml", "--output-format", form).out
    path = GOLDEN / f"formats.{form}.txt"
    if os.environ.get("IAC_GOLDEN") == "write":
        path.write_text(out, encoding="utf-8")
    assert out == path.read_text(encoding="utf-8")


def test_what_is_said_when_results_are_there_follows_them(make: Make, run: Run) -> None:
    path = make("""
        tool_execution.mode = "mock"
        [default_response]
        text = "First."
        [[default_response.tool_calls]]
        tool = "make"
        result = { id = 7, note = "task-17 made" }
        capture = { id = "$.id", task = "task-(\\\\d+)" }
        [[default_response.tool_calls]]
        tool = "use"
        input = { id = "${id}", url = "/${task}/${unknown}" }
        result = "used"
        [default_response.then]
        text = "Then ${id}."
        then = "At last."
        """)
    out = run("run", path, "-p", "x", "--output-format", "stream-json").out
    messages = [json.loads(line) for line in out.splitlines()]
    assert [message["type"] for message in messages] == [
        "system", "assistant", "assistant", "user", "assistant", "user", "assistant", "assistant",
        "result",
    ]  # fmt: skip
    used = messages[4]["message"]["content"][0]["input"]
    assert used == {"id": 7, "url": "/17/${unknown}"}
    assert (messages[-1]["result"], messages[-1]["num_turns"]) == ("At last.", 4)
