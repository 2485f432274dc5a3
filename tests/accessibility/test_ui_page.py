"""docs/accessibility.md has every tool, and the tools keep the defaults that their schemas tell."""

import json
import re
from pathlib import Path
from typing import Any

from ui_calls import ROWS, answered
from ui_memory import APP, Memory, node

from iac_accessibility.model import Handle, UiNode
from iac_accessibility.toolset import UiToolset

PAGE = (Path(__file__).parents[2] / "docs" / "accessibility.md").read_text(encoding="utf-8")


def default(tool: str, argument: str) -> int:
    """Return the default that the schema tells of an argument."""
    row = ROWS[tool].input["properties"][argument]
    said = re.search(r"Default:? (\d+)", row.get("description", ""))
    return int(said[1] if said else row["default"])


def test_the_page_has_every_tool() -> None:
    assert [name for name in ROWS if f"| `{name}` |" not in PAGE] == []


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
        most = default(tool, "max_tokens")
        assert most / 3 < size / 4 <= most
    assert answer("get_ui_tree")["has_more_results"]
    found = answer("find_element", role="group", max_tokens=20_000)
    assert found["result_count"] == default("find_element", "max_results")
    assert found["has_more_results"]
