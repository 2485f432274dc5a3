"""What `benchmarks/serve.py` compares with: `serve_peers.py bare|sdk|stub FILE`.

FILE holds the answers of the bare loop, or the entries to list, one JSON text a line. Everything
but `sys` is imported by the peer that needs it, for the imports are what is measured.
"""

import sys
from collections.abc import Iterable
from typing import Any


def bare(path: str) -> None:
    """Answer from finished bytes, with the standard library alone."""
    import json

    with open(path, "rb") as file:  # noqa: PTH123 (pathlib would be measured)
        finished = dict(zip(("initialize", "tools/list", "tools/call"), file, strict=False))
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            continue
        head = b'{"jsonrpc":"2.0","id":%d,"result":' % message["id"]
        sys.stdout.buffer.write(head + finished[message["method"]][:-1] + b"}\n")
        sys.stdout.buffer.flush()


def sdk(path: str) -> None:
    """The SDK's low-level server with the same tools, as its documentation shows it."""
    import anyio
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    tools = [types.Tool.model_validate(row) for row in rows(path)]

    async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_ctx: Any, _params: Any) -> types.CallToolResult:
        text = types.TextContent(text='{"result": 1}')
        return types.CallToolResult(content=[text], structured_content={"result": 1})

    server: Server[Any] = Server("sdk", on_list_tools=list_tools, on_call_tool=call_tool)

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(run)


def stub(path: str) -> None:
    """Our front and our handlers, with a gate that answers at once."""
    import json
    from types import SimpleNamespace

    from iac_runtime.serve.stdio import serve_stdio, server_identity

    lines = [json.dumps(row).encode() for row in rows(path)]

    def methods() -> Any:
        from iac_runtime.gate.plans import CompletedCall
        from iac_runtime.serve.methods import build_methods

        policy = SimpleNamespace(approvers=("client",))
        gate = SimpleNamespace(
            call=lambda *_args, **_more: CompletedCall(1, "", "SAFE", output={"type": "object"}),
            close=lambda: None,
            permissions=SimpleNamespace(policy=policy),
            read_only=False,
            catalogue=None,
        )
        listing: Any = Listing(lines)
        return build_methods(gate, listing).by_name()

    serve_stdio(server_identity(), {"tools/list": lambda: lines}, methods)


class Listing:
    """The lines of a fixture in the place of those of output folders."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines

    def __call__(self) -> list[bytes]:
        """Return the finished lines."""
        return self._lines

    def prompt_lines(self) -> list[bytes]:
        """Return nothing: only tools are listed."""
        return []

    resource_lines = templates = prompt_lines


def rows(path: str) -> list[dict[str, Any]]:
    """Return the entries of a file."""
    import json

    def lines() -> Iterable[bytes]:
        with open(path, "rb") as file:  # noqa: PTH123
            yield from file

    return [json.loads(line) for line in lines()]


if __name__ == "__main__":
    {"bare": bare, "sdk": sdk, "stub": stub}[sys.argv[1]](sys.argv[2])
