"""The suite's server over HTTP as `iac-mcp serve --http` serves: same guards, same transport.

    python tests/conformance/fixture_http.py

The suite has no token, so one is put into its requests before anything looks at them. Prints the
address; ends with its standard input.
"""

import asyncio
import os
import socket
import sys
import tempfile
from typing import Any

import uvicorn
from fixture_server import build

from iac_mcp.http.clients import LocalTokenVerifier, add_client
from iac_mcp.http.serve import http_config, make_app, read_http_settings


async def serve(listener: socket.socket) -> None:
    """Serve until standard input ends."""
    token = add_client("suite", "DANGEROUS")
    settings = read_http_settings({}, {}, listener.getsockname()[1])
    inner = make_app(build(), settings, LocalTokenVerifier())

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            bearer = (b"authorization", f"Bearer {token}".encode())
            scope = {**scope, "headers": [*scope["headers"], bearer]}
        await inner(scope, receive, send)

    server = uvicorn.Server(http_config(app, settings))
    running = asyncio.create_task(server.serve([listener]))
    print(settings.url, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await running


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, socket.socket() as bound:
        os.environ["IAC_DATA"] = folder
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        asyncio.run(serve(bound))
