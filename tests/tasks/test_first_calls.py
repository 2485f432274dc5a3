"""Everyday requests: the example that `find_tools` answers with is the call, as it stands."""

import json
import tomllib
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from player import Played, dated, play, world

from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.serve.http_sdk import build_server
from iac_runtime.serve.listing import Choice, Listings
from iac_runtime.serve.rebuild import LazyGate
from iac_runtime.serve.stdio import server_identity

ROWS = dated(tomllib.loads(Path(__file__).with_name("first_calls.toml").read_text("utf-8")))
BUDGETS = {
    "task": {"calls": 2, "tokens": 700, "questions": 1},
    "plan": {"calls": 2, "tokens": 700, "questions": 1},
}


def play_row(row: dict[str, Any], folder: Path, generated: Path) -> Played:
    """Play a request, or a plan, on a server in this process."""
    state = folder / "world.json"
    state.write_text(json.dumps(world()), "utf-8")
    if "use" in row:
        page = f"$1.{row['use']}"
        given: dict[str, Any] = {"name": f"{page}.name", "arguments": f"{page}.example"}
        calls = [["find_tools", {"query": row["words"]}], [f"{page}.call_with", given]]
    else:
        given = {"name": "run_plan", "arguments": {"program": row["program"]}}
        calls = [["find_tools", {"query": "run_plan"}], [row.get("door", "write_tool"), given]]
    task = {**row, "plan": calls, "budget": BUDGETS["task" if "use" in row else "plan"]}
    lines = Listings([generated], Choice())
    with closing(
        LazyGate(lines, partial(build_gate, GateOptions([generated], str(state))))
    ) as back:
        server = build_server(back.open_methods(54.0), lines, server_identity())
        return anyio.run(play, task, server, state)


@pytest.mark.parametrize("row", [*ROWS["task"], *ROWS["plan"]], ids=lambda row: row["words"][:50])
def test_the_first_call_does_what_was_asked(
    row: dict[str, Any], tmp_path: Path, generated: Path
) -> None:
    played = play_row(row, tmp_path, generated)
    assert (played.wrong, played.said) == ([], [])
