"""Plays every task on the real server, a process each, and prints the table (`nox -s tasks`)."""

import json
import sys
import tempfile
from pathlib import Path

import anyio
from mcp import StdioServerParameters
from player import Played, play, read_tasks, table, world

TOOLS = Path(__file__).parents[2] / "generated" / "iac_tools"


async def main(words: list[str]) -> int:
    """Return 1 if a task was not reached, or cost more than it may."""
    every: list[Played] = []
    for task in read_tasks():
        if words and not any(word in task["words"] for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            state = Path(folder) / "world.json"
            state.write_text(json.dumps(world()), "utf-8")
            server = StdioServerParameters(
                command=str(Path(sys.executable).with_name("iac-mcp")),
                args=["serve", "--tools", str(TOOLS), f"--simulate={state}"],
                env={"IAC_DATA": folder, "TZ": "UTC"},
            )
            with anyio.fail_after(60):
                every.append(await play(task, server, state))
    print(table(every))
    return int(any(one.wrong for one in every))


if __name__ == "__main__":
    sys.exit(anyio.run(main, sys.argv[1:]))
