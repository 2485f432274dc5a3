"""What the scenario engine adds to a call: 1,000 calls through real_mcp against a bare SDK client.

Both talk to the same server over stdio, in turn, in one run; the bound is 1.1. Then 1,000 calls of
the confined Bash in one session, beside as many starts of bash alone.
"""

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from iac_scenario.events import Answered, Called, Event
from iac_scenario.output import FORMATS
from iac_scenario.play import PlaySettings, play
from iac_scenario.reader import load

CALLS: Final = 1000
ROUNDS: Final = 5
BOUND: Final = 1.1

SERVER: Final = """
import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

async def listed(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema=SCHEMA)])

async def called(ctx, params):
    return types.CallToolResult(content=[types.TextContent(text=params.arguments["text"])])

async def main():
    server = Server("echo", version="1", on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())

anyio.run(main)
"""

SCENARIO: Final = """
tool_execution.mode = "real_mcp"
permissions = {{ mode = "default", allow = ["mcp__echo__*"], deny = ["Bash(rm *)"] }}
[mcp_servers.echo]
command = "{python}"
args = ["server.py"]
[[responses]]
pattern = {{ type = "any" }}
[responses.response]
tool_calls = [
{calls}
]
"""
IN_BASH: Final = """
tool_execution.mode = "simulated"
default_response = {{ tool_calls = [
{calls}
] }}
"""
BASH_CALL: Final = (
    '  { tool = "Bash", input = { command = "echo hi" }, expect = { equals = "hi" } },'
)
CALL: Final = '  { tool = "mcp__echo__echo", input = { text = "hi" }, expect = { equals = "hi" } },'


class Took(NamedTuple):
    """Seconds of a whole session (start, list, calls, shutdown), and of its calls alone."""

    session: float
    calls: float


def main() -> None:
    """Print the best of some rounds and their ratios; the rounds of both take turns."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "server.py").write_text(SERVER)
        calls = "\n".join([CALL] * CALLS)
        (folder / "case.toml").write_text(SCENARIO.format(python=sys.executable, calls=calls))
        rounds = [
            (anyio.run(by_sdk, folder), anyio.run(by_scenario, folder)) for _ in range(ROUNDS)
        ]
        print_bash(folder)
    both = tuple(zip(*rounds, strict=True))
    for field in Took._fields:
        # The least is what the machine can do when others leave it alone.
        sdk, ours = (min(getattr(took, field) for took in side) for side in both)
        print(f"{field}, bare SDK client".ljust(34), f"{sdk * 1000:8.0f} ms (best of {ROUNDS})")
        print(f"{field}, real_mcp".ljust(34), f"{ours * 1000:8.0f} ms (best of {ROUNDS})")
        bound = f"(bound: {BOUND})" if field == "session" else ""
        print(f"{field}, ratio".ljust(34), f"{ours / sdk:8.2f} {bound}")


def print_bash(folder: Path) -> None:
    """Print what one call of Bash takes, and what a start of bash alone takes."""
    calls = "\n".join([BASH_CALL] * CALLS)
    (folder / "bash.toml").write_text(IN_BASH.format(calls=calls))
    answers: list[Answered] = []

    def take(event: Event) -> None:
        if isinstance(event, Answered):
            answers.append(event)

    scenario = load(folder / "bash.toml").scenario
    begun = time.perf_counter()
    anyio.run(play, scenario, ["go"], PlaySettings(), take)
    ours = time.perf_counter() - begun
    if any(answer.misses for answer in answers):
        print("Bash cannot run here:", answers[0].outcome.text)
        return
    begun = time.perf_counter()
    for _ in range(CALLS):
        subprocess.run(["/bin/bash", "-c", "echo hi"], stdout=subprocess.DEVNULL, check=True)
    alone = time.perf_counter() - begun
    print("Bash, a call".ljust(34), f"{ours / CALLS * 1000:8.1f} ms (of {CALLS:,})")
    print("bash alone, a start".ljust(34), f"{alone / CALLS * 1000:8.1f} ms (of {CALLS:,})")


async def by_sdk(folder: Path) -> Took:
    """The same calls by the SDK's client, by hand."""
    server = StdioServerParameters(command=sys.executable, args=[str(folder / "server.py")])
    begun = time.perf_counter()
    async with Client(server) as client:
        await client.list_tools()
        start = time.perf_counter()
        for _ in range(CALLS):
            result = await client.call_tool("echo", {"text": "hi"})
            assert result.content[0].text == "hi"  # type: ignore[union-attr]
        end = time.perf_counter()
    return Took(time.perf_counter() - begun, end - start)


async def by_scenario(folder: Path) -> Took:
    """The calls by the engine: read, permitted, checked, expected and printed."""
    times: list[float] = []
    lines: list[str] = []

    def take(event: Event) -> None:
        lines.extend(printer.lines(event))
        if isinstance(event, Answered):
            assert not event.misses, event.misses
        if isinstance(event, Called | Answered):
            times.append(time.perf_counter())

    begun = time.perf_counter()
    scenario = load(folder / "case.toml").scenario
    printer = FORMATS["stream-json"](scenario)
    await play(scenario, ["go"], PlaySettings(), take)
    assert len(times) == 2 * CALLS
    assert len(lines) == 2 + 2 * CALLS
    return Took(time.perf_counter() - begun, times[-1] - times[0])


if __name__ == "__main__":
    main()
