"""Diary, a small app of our own: its world, its output folder, and a gate on it."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from simulated import run_tool, simulate_apps

from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.tool import Level, spec_of
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator.scenario import FaultScenario

WORLD: dict[str, Any] = {
    "name": "Diary", "today": {"ref": 'journals.byId("j1")'},
    "journals": [{"id": "j1", "name": "Work", "owner": "me",
      "entries": [{"id": "e1", "name": "Monday", "body": "Rain", "isPrivate": False, "words": 1},
       {"id": "e2", "name": "Tuesday", "body": "Sun", "isPrivate": True, "words": 1}]},
     {"id": "j2", "name": "Home", "owner": "me", "entries": []}],
    "@results": {"diarfind": []},
}  # fmt: skip

SOURCE = Path(__file__).with_name("diary.py").read_text()


def load(name: str) -> ModuleType:
    module = ModuleType(name)
    sys.modules[name] = module
    exec(compile(SOURCE, name, "exec"), module.__dict__)
    return module


DIARY = load("iac_test.diary")


def write_output(folder: Path) -> Path:
    """Write Diary as an output folder, as a build would."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "diary.py").write_text(SOURCE, encoding="utf-8")
    tools: dict[str, Any] = {}
    lines: list[str] = []
    for function in DIARY.__all__:
        spec = spec_of(getattr(DIARY, function))
        if spec is None:
            continue
        schemas = DIARY.SCHEMAS[function]
        name = f"diary_{function}"
        entry = {
            "name": name,
            "description": getattr(DIARY, function).__doc__,
            "inputSchema": json.loads(schemas.input),
            "annotations": {"readOnlyHint": spec.ceiling == "SAFE"},
        }
        if schemas.output:
            entry["outputSchema"] = json.loads(schemas.output)
        line = json.dumps(entry) + "\n"
        tools[name] = {
            "module": "diary", "function": function, "level": spec.level, "ceiling": spec.ceiling,
        }  # fmt: skip
        lines.append(line)
    apps = {
        "diary": {
            "id": "com.example.Diary", "name": "Diary", "kind": "application", "digest": "0",
            "tools": len(tools),
        }
    }  # fmt: skip
    (folder / "catalogue.json").write_text(
        json.dumps({"format": 1, "apps": apps, "tools": tools}), encoding="utf-8"
    )
    (folder / "listing.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def gate_of(
    catalogue: Catalogue,
    world: dict[str, Any],
    allow: Level = "DANGEROUS",
    *,
    faults: FaultScenario | None = None,
    **more: Any,
) -> Gate:
    simulator = simulate_apps(catalogue, {"diary": world}, faults=faults)
    gate = Gate(catalogue, Executor(simulator), allow, home="/Users/me", **more)
    gate.simulator = simulator  # type: ignore[attr-defined]
    return gate


def call(gate: Gate, tool: str, **arguments: Any) -> Any:
    return run_tool(gate, tool, **arguments).value
