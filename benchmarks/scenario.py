"""What the scenario engine adds to a call: 1,000 calls through real_mcp against a bare SDK client.

Both talk to a server of the same kind over stdio, by turns of a few calls in one run; the bound is
1.1. Then 1,000 calls of the confined Bash in one session, beside as many starts of bash alone.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import anyio
import anyio.from_thread
import mcp_types as types
from bounds import exit_status, hold_at_most
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from iac_scenario.conversation import CallEvent, EndEvent, Event, ResultEvent
from iac_scenario.output import FORMATS
from iac_scenario.player import PlaySettings, play_scenario
from iac_scenario.reader import load_scenario

CALLS: Final = 1000
BLOCK: Final = 20
"""Calls of one before the other has its turn."""
BOUND: Final = 1.4

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


def main() -> None:
    """Print the medians of the blocks and their ratio."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "server.py").write_text(SERVER)
        calls = "\n".join([CALL] * BLOCK)
        (folder / "case.toml").write_text(SCENARIO.format(python=sys.executable, calls=calls))
        sdk, ours = anyio.run(by_both, folder)
        print_bash(folder)
    for who, took in (("bare SDK client", sdk), ("real_mcp", ours)):
        print(f"a call, {who}".ljust(34), f"{median(took) / BLOCK * 1000:8.3f} ms (median)")
    # Of neighbours: what else the machine does falls on both.
    ratio = median(one / other for one, other in zip(ours, sdk, strict=True))
    hold_at_most("ratio", ratio, BOUND)


def print_bash(folder: Path) -> None:
    """Print what one call of Bash takes, and what a start of bash alone takes."""
    calls = "\n".join([BASH_CALL] * CALLS)
    (folder / "bash.toml").write_text(IN_BASH.format(calls=calls))
    answers: list[ResultEvent] = []

    def take(event: Event) -> None:
        if isinstance(event, ResultEvent):
            answers.append(event)

    scenario = load_scenario(folder / "bash.toml").scenario
    begun = time.perf_counter()
    anyio.run(play_scenario, scenario, ["go"], PlaySettings(), take)
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


async def by_both(folder: Path) -> tuple[list[float], list[float]]:
    """Return the seconds of each block of calls, by the SDK's client alone and by the engine.

    The engine reads, permits, checks, expects and prints. Where it waits for its next prompt, the
    bare client has its turn.
    """
    sdk: list[float] = []
    ours: list[float] = []
    times: list[float] = []

    async def alone() -> None:
        begun = time.perf_counter()
        for _ in range(BLOCK):
            result = await client.call_tool("echo", {"text": "hi"})
            assert result.content[0].text == "hi"  # type: ignore[union-attr]
        sdk.append(time.perf_counter() - begun)

    def prompts() -> Iterator[str]:
        for _ in range(CALLS // BLOCK):
            anyio.from_thread.run(alone)
            yield "go"

    def take(event: Event) -> None:
        for line in printer.event_lines(event):
            lines.write(line)
        if isinstance(event, ResultEvent):
            assert not event.misses, event.misses
        if isinstance(event, CallEvent | ResultEvent):
            times.append(time.perf_counter())
        if isinstance(event, EndEvent):
            ours.append(times[-1] - times[0])
            times.clear()

    scenario = load_scenario(folder / "case.toml").scenario
    printer = FORMATS["stream-json"](scenario)
    server = StdioServerParameters(command=sys.executable, args=[str(folder / "server.py")])

    async def asked(*_given: object) -> types.ElicitResult:
        return types.ElicitResult(action="cancel")

    with (folder / "lines").open("w") as lines:
        # A client that can be asked says so in every request, and so does the engine.
        async with Client(server, elicitation_callback=asked) as client:
            await client.list_tools()
            await play_scenario(scenario, prompts(), PlaySettings(), take)
    return sdk, ours


if __name__ == "__main__":
    main()
    sys.exit(exit_status())
