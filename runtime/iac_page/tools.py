"""An app's tools and classes, and the page of a tool on which a call can be tried."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from iac_base.errors import SetupError, ToolError
from iac_page.calls import View
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call
from iac_runtime.policy.facts import Decision
from iac_runtime.policy.permissions import Requester
from iac_runtime.search import SearchHit
from iac_runtime.serve.tool_pages import any_page
from iac_runtime.tool import LEVELS, Class
from iac_runtime.tools.catalogue import AppRow, Catalogue, ToolRow
from iac_runtime.tools.shape import Tool


def require_catalogue(gate: Gate) -> Catalogue:
    """Return the tools of the page's gate, which always has some."""
    assert gate.catalogue is not None
    return gate.catalogue


def app_view(gate: Gate, row: AppRow) -> View:
    """Return the tools and classes of an app, and what the policy makes of each tool."""
    catalogue = require_catalogue(gate)
    tools = [one for one in catalogue.tools.values() if one.app.key == row.key]
    classes = [
        {"name": name, "row": one, "set": _settable_properties(one)}
        for name, one in sorted(catalogue.load_tables(row).classes.items())
    ]
    shown = [
        {
            "row": one,
            "tool": catalogue.load_tool(one),
            "decision": _example_decision(gate, one, catalogue),
        }
        for one in tools
    ]
    return {"app": row, "tools": shown, "classes": classes}


def _settable_properties(row: Class) -> Mapping[str, list[str]]:
    """Return level -> the properties of a class that can be set at it."""
    can = [part for part in row.properties if part.access != "r"]
    by_level = {level: [part.term for part in can if part.level == level] for level in LEVELS}
    return {level: terms for level, terms in by_level.items() if terms}


def _example_decision(gate: Gate, row: ToolRow, catalogue: Catalogue) -> Decision | None:
    """Return what is done with the example of a tool, None where it cannot be told."""
    try:
        plan = gate.plan_call(Call(row.name, _tool_example(row, catalogue)))
        return gate.judge_plan(plan, _page_requester(gate))[1]
    except (ToolError, SetupError):
        return None


def _tool_example(row: ToolRow, catalogue: Catalogue) -> Mapping[str, Any]:
    """Return the example that a model is shown of a tool."""
    hit = SearchHit(row.name, 0, "", "command", "", (), row.level)
    return any_page(catalogue, hit).example


def _page_requester(gate: Gate) -> Requester:
    return Requester("iac-mcp open", gate.permissions.policy.approvers)


def tool_view(gate: Gate, name: str) -> View:
    """Return the page of a tool. Raises UnknownToolError."""
    catalogue = require_catalogue(gate)
    row = catalogue.find_row(name)
    tool = catalogue.load_tool(row)
    return {
        "row": row,
        "tool": tool,
        "given": json.dumps(_tool_example(row, catalogue), ensure_ascii=False, indent=2),
        "fields": _argument_fields(tool),
    }


def _argument_fields(tool: Tool) -> Iterator[View]:
    required = tool.input.get("required", ())
    for key, schema in tool.input.get("properties", {}).items():
        kinds = [schema, *schema.get("anyOf", ())]
        kind = " or ".join(str(one["type"]) for one in kinds if "type" in one)
        says = schema.get("description", "")
        values = schema.get("enum", ())
        yield {"key": key, "kind": kind, "says": says, "required": key in required,
               "choices": ", ".join(map(str, values))}  # fmt: skip
