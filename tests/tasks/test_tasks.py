"""Two tasks, played in this process; `nox -s tasks` plays all of them on servers of their own."""

import json
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio
from player import play, read_tasks, world

from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.serve.http_sdk import build_server
from iac_runtime.serve.listing import Choice, Listings
from iac_runtime.serve.rebuild import LazyGate
from iac_runtime.serve.stdio import server_identity

TASKS = {task["words"]: task for task in read_tasks()}
CHOSEN = (
    "Which events are there? (asked the wrong way, mended by the answer)",
    "I have bought milk.",
)


def test_a_task_is_reached_within_its_budget(tmp_path: Path, generated: Path) -> None:
    for words in CHOSEN:
        state = tmp_path / f"{len(words)}.json"
        state.write_text(json.dumps(world()), "utf-8")
        lines = Listings([generated], Choice())
        options = GateOptions([generated], str(state))
        with closing(LazyGate(lines, partial(build_gate, options))) as backing:
            server = build_server(backing.open_methods(54.0), lines, server_identity())
            played = anyio.run(play, TASKS[words], server, state)
        assert played.wrong == []


def test_each_task_says_what_it_may_cost() -> None:
    assert len(TASKS) >= 20
    for task in TASKS.values():
        assert task["budget"].keys() == {"calls", "tokens", "questions"}
        assert task["budget"]["calls"] == len(task["plan"])
