"""Plays tasks on real apps through `iac-mcp serve`, a desktop each (`nox -s ax-tasks`).

    run.py [FOLDER|FILE]            plays the tasks that have a plan, and prints the table
    run.py hold FOLDER|FILE ID      starts one task and holds its session for a player
    run.py call TOOL [ARGUMENTS]    a call of that player; a picture is written to a file
    run.py done                     ends it: the check is run, the row goes to results.jsonl
    run.py table FILE               the table of such rows

Without a folder it is that of IAC_AX_TASKS, else this one. A task is one JSON object on a line of
a `.jsonl` file: `id`, `app`, `request` (what a person asks for), `setup`, `start` and `check` (text
for bash; the check ends with 0 when the task is done) and, for the first form, `plan`: calls in
which `@some text` stands for the id on the newest line of an answer that has that text. `$WORLD`
is the task's folder, `$HOME` is in it. Scores are effects on disk alone; who plays sees the request
and what the server answers, nothing else.
"""

import asyncio
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[2]
sys.path[:0] = [str(HERE.parent), str(ROOT / "tests" / "accessibility")]

import anyio  # noqa: E402
import ui_stack as stack  # noqa: E402
from mcp import Client, StdioServerParameters  # noqa: E402
from player import Played, agreeing, counted, table  # noqa: E402

SHOWN: Final = 15.0
"""Seconds in which an app shows a window."""

SETTLED: Final = 3.0
"""Seconds in which what the last call did is on disk."""

SOCKET: Final = Path(os.environ.get("IAC_AX_SOCKET", f"/tmp/iac-ax-{os.getuid()}"))
_NAMED: Final = re.compile(r"(?m)^[ +~]*(?:\d+: )?(e\d+) .*$")


def read_tasks(place: Path) -> list[dict[str, Any]]:
    """Return the tasks of a folder or a file."""
    files = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
    return [json.loads(line) for line in lines if line.strip()]


class World:
    """The desktop and the folder of one task."""

    def __init__(self, desk: stack.Desktop, task: Mapping[str, Any]) -> None:
        self.desk, self.task = desk, task
        home = desk.folder / "home"
        home.mkdir()
        desk.env |= {
            "WORLD": str(desk.folder),
            "HOME": str(home),
            "APPS": str(stack.APPS),
            "PYTHON": sys.executable,
            "QT_ACCESSIBILITY": "1",
            "GSK_RENDERER": "cairo",
        }

    def run(self, part: str) -> int:
        """Run a part of the task; return its status."""
        command = ["bash", "-c", f'cd "$HOME"\n{self.task.get(part, "")}']
        with (self.desk.folder / "log").open("ab") as log:
            done = subprocess.run(
                command, env=self.desk.env, stdout=log, stderr=log, timeout=60, check=False
            )
        return done.returncode

    def start(self) -> None:
        """Start the app."""
        self.desk.start("bash", "-c", f'cd "$HOME"\n{self.task["start"]}')

    def is_done(self) -> bool:
        """Run the check until it holds, for a short while."""
        end = time.monotonic() + SETTLED
        while self.run("check"):
            if time.monotonic() > end:
                return False
            time.sleep(0.3)
        return True


@asynccontextmanager
async def session(task: Mapping[str, Any], played: Played) -> AsyncIterator[tuple[World, Client]]:
    """Start the desktop, the app and a server, and hold a session with it; `played` counts."""
    with stack.desktop() as desk:
        world = World(desk, task)
        if world.run("setup"):
            played.wrong.append("the setup failed")
        if not world.run("check"):
            played.wrong.append("it was done before it began")
        world.start()
        server = StdioServerParameters(
            command=str(Path(sys.executable).with_name("iac-mcp")),
            args=["serve", "--toolset", "accessibility"],
            env={**desk.env, "IAC_DATA": str(desk.folder / "data")},
        )
        able = agreeing(played)
        async with Client(server, **able) as client:
            end = time.monotonic() + SHOWN
            while time.monotonic() < end:
                shown = await client.call_tool("list_windows", {})
                rows = (shown.structured_content or {}).get("windows", ())
                if any(row["frontmost"] for row in rows):
                    break
                await anyio.sleep(0.3)
            await anyio.sleep(1.0)
            yield world, client


async def call(client: Client, played: Played, tool: str, given: Mapping[str, Any]) -> Any:
    """Make a call that counts; return its result and its text."""
    result = await client.call_tool(tool, dict(given))
    return result, counted(played, given, result)


async def by_plan(task: Mapping[str, Any]) -> Played:
    """Play a task by the calls that are written down for it."""
    played = Played(f"{task['id']}: {task['request']}")
    said: list[str] = []
    async with session(task, played) as (world, client):
        for tool, given in task["plan"]:
            result, text = await call(client, played, tool, _filled(given, said))
            shown = result.structured_content or {}
            said.append(
                "\n".join([shown.get("tree", ""), *shown.get("changes", ()), *_rows(shown)])
            )
            if result.is_error and not text:
                played.wrong.append(f"{tool} failed")
        if not world.is_done():
            played.wrong.append("the check does not hold")
    return played


def _rows(shown: Mapping[str, Any]) -> list[str]:
    return [
        f"{row.get('id')} {row['role']} {row.get('title')}" for row in shown.get("elements", ())
    ]


def _filled(value: Any, said: list[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _filled(part, said) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, said) for part in value]
    if not (isinstance(value, str) and value.startswith("@")):
        return value
    for text in reversed(said):
        for found in _NAMED.finditer(text):
            if value[1:] in found[0]:
                return found[1]
    raise LookupError(f"no answer had a line with {value[1:]}")


async def hold(task: Mapping[str, Any]) -> None:
    """Hold a session for a player who calls from other processes, until he is done."""
    played = Played(task["id"])
    over = asyncio.Event()
    async with session(task, played) as (world, client):

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked = json.loads(await reader.readline())
            if asked == "done":
                if not await asyncio.to_thread(world.is_done):
                    played.wrong.append("the check does not hold")
                with Path("results.jsonl").open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(played)) + "\n")
                writer.write(b"noted\n")
                over.set()
            elif asked == "tools":
                rows = [one.model_dump(by_alias=True) for one in (await client.list_tools()).tools]
                kept = ("name", "description", "inputSchema")
                writer.write(
                    "".join(json.dumps({k: r[k] for k in kept}) + "\n" for r in rows).encode()
                )
            else:
                result, text = await call(client, played, *asked)
                writer.write(text.encode() + b"\n")
                for number, part in enumerate(result.content):
                    if part.type == "image":
                        file_ = world.desk.folder / f"see{played.calls}-{number}.png"
                        file_.write_bytes(base64.b64decode(part.data))
                        writer.write(f"picture: {file_}\n".encode())
            await writer.drain()
            writer.close()

        SOCKET.unlink(missing_ok=True)
        # Answers may be longer than a line may be by default; requests are not.
        listening = await asyncio.start_unix_server(answer, str(SOCKET))
        print(
            f"{task['request']}\n(app: {task['app']}; python {Path(__file__)} tools | call | done)"
        )
        sys.stdout.flush()
        async with listening:
            await over.wait()
            await asyncio.sleep(0.2)
    SOCKET.unlink(missing_ok=True)


async def ask(what: Any) -> str:
    """Return what the session that is held answers."""
    with anyio.fail_after(60):
        # It may still be starting.
        while not SOCKET.exists():
            await anyio.sleep(0.3)
    reader, writer = await asyncio.open_unix_connection(str(SOCKET), limit=1 << 26)
    writer.write(json.dumps(what).encode() + b"\n")
    text = (await reader.read()).decode()
    writer.close()
    return text


def rows_of(file: Path) -> list[Played]:
    """Return what is in a file of results."""
    return [Played(**json.loads(line)) for line in file.read_text("utf-8").splitlines()]


async def main(words: list[str]) -> int:
    """Return 1 if a task was not reached."""
    match words:
        case ["hold", place, wanted]:
            await hold(next(one for one in read_tasks(Path(place)) if one["id"] == wanted))
            return 0
        case ["call", tool, *rest]:
            print(await ask([tool, json.loads(rest[0]) if rest else {}]))
            return 0
        case ["done" | "tools" as what]:
            print(await ask(what))
            return 0
        case ["table", file]:
            every = rows_of(Path(file))
        case _:
            place = Path(words[0] if words else os.environ.get("IAC_AX_TASKS", HERE))
            tasks = [one for one in read_tasks(place) if "plan" in one]
            every = []
            for task in tasks:
                if reason := stack.missing() or _lacking(task):
                    print(f"{task['id']}: left out, {reason}")
                    continue
                with anyio.fail_after(120):
                    every.append(await by_plan(task))
    print(table(every))
    calls = sorted(one.calls for one in every)
    tokens = sorted(one.tokens for one in every)
    if every:
        print(f"median {calls[len(calls) // 2]} calls, {tokens[len(tokens) // 2]} tokens")
    return int(any(one.wrong for one in every))


def _lacking(task: Mapping[str, Any]) -> str:
    missing = [one for one in task.get("needs_programs", ()) if shutil.which(one) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
