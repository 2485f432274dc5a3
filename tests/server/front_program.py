"""A server on the fixture, for tests of its life: it prints, starts a child, and can be slow."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from talking import IDENTITY, LINES, fixture_server, notifications

from iac_runtime.serve.front import serve_stdio

CHILD = "import os, time; os.write(1, b'from the child\\n'); time.sleep(600)"


def main() -> None:
    child: list[subprocess.Popen[bytes]] = []

    def build() -> Any:
        print("a stray print", flush=True)
        os.write(1, b"a stray write\n")
        child.append(subprocess.Popen([sys.executable, "-c", CHILD]))
        sys.stderr.write(f"child {child[0].pid}\n")
        sys.stderr.flush()
        server = fixture_server()
        entry = server.get_request_handler("tools/call")

        async def slow(ctx: Any, params: Any) -> Any:
            import anyio

            if params.name == "slow":
                await anyio.sleep(600)
            return await entry.handler(ctx, params)

        import mcp_types as types

        server.add_request_handler("tools/call", types.CallToolRequestParams, slow)
        return server

    def close() -> None:
        for process in child:
            process.kill()
            process.wait()
        sys.stderr.write(f"closed {time.monotonic()}\n")

    serve_stdio(IDENTITY, lambda: LINES, build, close, notifications)


main()
