"""Every approval prompt that docs/questions.md prints says what a person needs, in few lines."""

import re
from pathlib import Path

import pytest

from iac_runtime.policy.prompts import LINE_LIMIT
from iac_runtime.tools.catalogue import Catalogue

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "questions.md").read_text("utf-8")
PROMPTS = re.findall(r"## (\d+)\. `(\w+)`\n\n```text\n(.*?)\n```", PAGE, re.DOTALL)
APPS = {app.key: app.name for app in Catalogue([ROOT / "generated" / "iac_tools"]).apps.values()}

WITHOUT_NAME = re.compile(
    r"\b(this Mac|the Trash|a page|the web|a draft|a recipient|JavaScript|AppleScript|quit \w+"
    r"|a note in|a reminder in|a plan)\b|\d"
)
"""Deeds whose object has no name."""

BAD_GRAMMAR = re.compile(
    r"\bdo something\b|\bdo what\b|\b(in|of|to|the|a|an|on) \1\b"
    r"|\ban (?!https)[bcdfghjklmnpqrstvwxz]|\ba [aeio]\w"
    r"|wants to (?:the|an?|in|of|with|on)\b"
    r"|\b(?:with|to|of|from|as|the|an?)[.:;]?$|\w {2,}\w|\bNone\b|\bnull\b|Arguments:"
    r"|\w+_\w+ (?:for|to|which)|\{\w*\}|\\u0000"
)


def test_there_are_a_hundred_of_all_kinds() -> None:
    assert len(PROMPTS) >= 100
    assert [int(number) for number, _, _ in PROMPTS] == list(range(1, len(PROMPTS) + 1))
    tools = {tool for _, tool, _ in PROMPTS}
    assert {"run_plan", "undo_call", "execute_applescript", "click", "app_quit"} <= tools
    assert {app for app in APPS if any(tool.startswith(app) for tool in tools)} >= {
        "mail", "notes", "reminders", "calendar", "finder", "safari", "google_chrome", "music",
        "numbers", "textedit", "shortcuts", "system_events", "standard_additions",
    }  # fmt: skip


@pytest.mark.parametrize(("number", "tool", "text"), PROMPTS)
def test_a_prompt_has_action_object_app_undo_and_reason_in_eight_lines(
    number: str, tool: str, text: str
) -> None:
    lines = text.splitlines()
    assert len(lines) <= LINE_LIMIT == 8, number
    assert re.match(r"Claude wants to [a-z]+ \S", lines[0])
    assert '"' in lines[0] or WITHOUT_NAME.search(lines[0]), lines[0]
    app = next((name for key, name in APPS.items() if tool.startswith(f"{key}_")), "")
    known = [app] if app else [*APPS.values(), "Memory"]
    assert "this Mac" in text or any(name in lines[0] for name in known), lines[0]
    assert any(line.startswith("Reason: ") for line in lines)
    assert any(re.match(r"Can(not| it) be undone|Undo: ", line) for line in lines)
    assert re.match(rf"(MODIFY|DANGEROUS): {tool}\b", lines[-1])


@pytest.mark.parametrize(("number", "tool", "text"), PROMPTS)
def test_a_prompt_is_written_as_a_person_writes(number: str, tool: str, text: str) -> None:
    sentences = re.sub(r'"[^"]*"', '"…"', "\n".join(text.splitlines()[:-1]))
    for line in sentences.splitlines():
        assert not BAD_GRAMMAR.search(line), (number, line)
