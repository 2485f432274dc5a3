"""The events of the demo, event by event, against a table that names where each shape is public."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call
from iac_runtime.serve.call import unwrap_call_tool
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator import Simulator

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((Path(__file__).parent / "demo_events.json").read_text("utf-8"))


def session() -> list[Call]:
    """Return the calls of docs/demo.py that reach an app, by the tools' own names."""
    spec = importlib.util.spec_from_file_location("demo", ROOT / "docs" / "demo.py")
    assert spec is not None
    assert spec.loader is not None
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    calls = [unwrap_call_tool(Call(tool, arguments)) for _, tool, arguments in demo.SESSION]
    return [call for call in calls if call.tool not in ("list_apps", "find_tools")]


def sent(generated: Path) -> dict[str, list[dict[str, Any]]]:
    catalogue = Catalogue([generated])
    simulator = Simulator([catalogue.load_tables(app) for app in catalogue.apps.values()])
    gate = Gate(catalogue, Executor(simulator), "MODIFY", home="/Users/me")
    found: dict[str, list[dict[str, Any]]] = {}
    for call in session():
        before = len(simulator.events)
        try:
            # What is read around a write is no event of its own in the table.
            gate.call(call._replace(confirm=False))
        except ToolError:
            pytest.fail(f"{call.tool} failed")
        found[call.tool] = [
            {"app": e.app, "event": e.event, "direct": e.direct, "params": dict(e.params)}
            for e in simulator.events[before:]
        ]
    return found


def test_the_demo_sends_the_events_of_the_table(generated: Path) -> None:
    expected = {
        row["tool"]: [{k: v for k, v in event.items() if k != "source"} for event in row["events"]]
        for row in GOLDEN
    }
    assert sent(generated) == expected


def test_every_shape_has_a_public_source() -> None:
    assert [e for row in GOLDEN for e in row["events"] if not e["source"].strip()] == []
