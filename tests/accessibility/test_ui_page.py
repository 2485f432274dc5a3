"""docs/accessibility.md says of each tool what its schemas say."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ui_calls import ROWS, answered
from ui_memory import APP, Memory, node

from iac_accessibility.model import Handle, UiNode
from iac_accessibility.toolset import UiToolset

PAGE = (Path(__file__).parents[2] / "docs" / "accessibility.md").read_text(encoding="utf-8")
TOOLS_PART = PAGE.partition("## The tools\n")[2].partition("\n## ")[0]
SECTIONS = dict(re.findall(r"### (\w+)\n(.*?)(?=\n### |\Z)", TOOLS_PART, re.S))
EVERYWHERE = {"app", "notes"}
"""What the answers of all tools have, told once."""


def arguments(tool: str) -> dict[str, tuple[str, str]]:
    """Return argument -> default and meaning, from the tool's table."""
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| ?(.*?) ?\|$", SECTIONS[tool], re.M)
    return {name: (default, meaning) for name, default, meaning in rows}


def examples(tool: str) -> list[Any]:
    """Return the call and the answer of the worked example."""
    return [json.loads(text) for text in re.findall(r"```json\n(.*?)```", SECTIONS[tool], re.S)]


def test_every_tool_has_its_section() -> None:
    assert list(SECTIONS) == list(ROWS)


@pytest.mark.parametrize("tool", ROWS)
def test_the_arguments_and_their_defaults_are_those_of_the_schema(tool: str) -> None:
    schema, told = ROWS[tool].input, arguments(tool)
    assert list(told) == list(schema["properties"])
    needed = [name for name, (default, _) in told.items() if default == "required"]
    assert needed == schema.get("required", [])
    for name, row in schema["properties"].items():
        default, meaning = told[name]
        if name == "timeout":
            assert float(default) == ROWS[tool].timeout
        elif said := re.search(r"Default:? (.*)\.", row["description"]):
            assert default == said[1]
        for bound in ("minimum", "maximum"):
            if bound in row and name != "timeout":
                assert f"{row[bound]:g}" in meaning
        if tool == "get_ui_tree":
            for word in row.get("items", {}).get("enum", ()):
                assert f"`{word}`" in meaning


@pytest.mark.parametrize("tool", ROWS)
def test_the_answer_is_told_whole(tool: str) -> None:
    needed = set((ROWS[tool].output or {})["required"]) - EVERYWHERE
    assert [name for name in needed if f"`{name}`" not in SECTIONS[tool]] == []


@pytest.mark.parametrize("tool", ROWS)
def test_the_example_is_a_call_and_an_answer_of_the_tool(tool: str) -> None:
    call, answer = examples(tool)
    Draft202012Validator(ROWS[tool].input).validate(call)
    Draft202012Validator(ROWS[tool].output or {}).validate(answer)


@pytest.mark.parametrize("tool", ROWS)
def test_the_errors_that_are_named_are_in_the_table(tool: str) -> None:
    table = PAGE.partition("| reason | type |")[2].partition("\n\n")[0]
    named = re.search(r"^Common errors: (.*)$", SECTIONS[tool], re.M)
    assert named is not None
    reasons = re.findall(r"`(\w+)`", named[1])
    assert reasons
    assert [reason for reason in reasons if not re.search(rf"\b{reason}\b", table)] == []


def test_defaults_are_what_the_tools_do() -> None:
    def endless(handle: Handle) -> UiNode:
        if handle == "app":
            return node("app", "application", "", "0")
        below = [f"{handle}.{n}" for n in range(30)] if len(str(handle)) < 9 else []
        return node(str(handle), "group", f"Group {handle}", *below)

    toolset = UiToolset(Memory(endless))

    def answer(tool: str, **more: Any) -> dict[str, Any]:
        return answered(toolset, tool, {"app": APP.pid, **more})

    asked = {"get_ui_tree": {}, "find_element": {"role": "group", "max_results": 200}}
    for tool, given in asked.items():
        size = len(json.dumps(answer(tool, **given), ensure_ascii=False).encode())
        most = int(arguments(tool)["max_tokens"][0].partition(";")[0])
        assert most / 3 < size / 4 <= most
    assert answer("get_ui_tree")["has_more_results"]
    found = answer("find_element", role="group", max_tokens=20_000)
    assert found["result_count"] == int(arguments("find_element")["max_results"][0])
    assert found["has_more_results"]
