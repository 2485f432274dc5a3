"""How a server is reached: a process, HTTP or an object here, each read by a checker first.

The SDK's own transport drops what it cannot parse, so that a line of text ends in a time-out. Here
the first fault ends the stream at once, unless the caller forgives faults.
"""

import json
import operator
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import IO, Any, Final

import anyio
import anyio.abc

from iac_scenario.model import PlayError, StdioServer
from iac_scenario.protocol_checks import ProtocolChecker

_GONE: Final = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)
_KILLED: Final = 2.0
"""Seconds that a server has to end after SIGTERM."""
_UNHEARD: Final = 0.5
"""Seconds that one has to end after the end of its input, if it was never ready."""
_DRAINED: Final = 1.0


@asynccontextmanager
async def open_stdio(
    server: StdioServer,
    checker: ProtocolChecker,
    errors: IO[str],
    limit: float,
    *,
    forgives: bool,
) -> AsyncIterator[Any]:
    """Start a server and yield its streams; at the end it has `limit` seconds to end by itself."""
    from mcp.client.stdio import get_default_environment

    process = await anyio.open_process(
        [server.command, *server.args],
        env=get_default_environment() | dict(server.env),
        cwd=server.cwd,
        stderr=errors,
        start_new_session=True,
    )
    incoming, received = anyio.create_memory_object_stream[Any]()
    outgoing, taken = anyio.create_memory_object_stream[Any]()
    output, stdin, read = process.stdout, process.stdin, anyio.Event()
    assert output is not None
    assert stdin is not None

    async def read_line(line: bytes, *, ended: bool = True) -> None:
        for message in checker.check_line(line, ended=ended):
            # A session that is gone hears nothing, but what comes is still judged.
            with suppress(*_GONE):
                if forgives or not checker.faults:
                    await _pass_on(message, incoming)
        if checker.faults and not forgives:
            await incoming.aclose()

    async def read_output() -> None:
        rest = b""
        with suppress(*_GONE):
            async for chunk in output:
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    await read_line(line)
        if rest:
            await read_line(rest, ended=False)
        checker.has_ended = True
        await incoming.aclose()
        read.set()

    async def write_input() -> None:
        with suppress(*_GONE):
            async for item in taken:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                checker.note_sent(json.loads(text))
                await stdin.send(f"{text}\n".encode())
            return
        await incoming.aclose()

    async with taken, incoming, anyio.create_task_group() as group:
        group.start_soon(read_output)
        group.start_soon(write_input)
        try:
            yield received, outgoing
        finally:
            with anyio.CancelScope(shield=True):
                received.close()
                outgoing.close()
                await _end_process(process, checker, limit if checker.has_answered else _UNHEARD)
                # A child of the server may hold its output open.
                with anyio.move_on_after(_DRAINED):
                    await read.wait()
            group.cancel_scope.cancel()


async def _end_process(process: anyio.abc.Process, checker: ProtocolChecker, limit: float) -> None:
    """End a server as the life cycle says: the end of its input, SIGTERM, then SIGKILL."""
    if process.stdin is not None:
        with suppress(*_GONE):
            await process.stdin.aclose()
    late = f"did not end within {limit:g} s after the end of its input"
    if await _has_ended(process, limit):
        return
    _signal_group(process.pid, signal.SIGTERM)
    if not (ended := await _has_ended(process, _KILLED)):
        _signal_group(process.pid, signal.SIGKILL)
        await _has_ended(process, _KILLED)
    # The life cycle knows servers that need SIGTERM, but none that ignore it too.
    if checker.has_answered and ended:
        checker.notes.append(late)
    elif checker.has_answered:
        checker.faults.append(f"it {late}, nor within {_KILLED:g} s after SIGTERM.")


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


async def _has_ended(process: anyio.abc.Process, seconds: float) -> bool:
    # `wait` waits for the pipes too, which a child of the server may hold open.
    with anyio.move_on_after(seconds):
        while process.returncode is None:
            await anyio.sleep(0.01)
    return process.returncode is not None


@asynccontextmanager
async def open_http(
    server: StdioServer, checker: ProtocolChecker, *, forgives: bool
) -> AsyncIterator[Any]:
    """Connect to a server over Streamable HTTP and yield the streams."""
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async with (
        create_mcp_http_client(headers=dict(server.headers)) as http,
        streamable_http_client(server.url, http_client=http) as streams,
        _relay_messages(*streams, checker, forgives=forgives) as relayed,
    ):
        yield relayed


@asynccontextmanager
async def open_module(
    server: StdioServer, checker: ProtocolChecker, *, forgives: bool
) -> AsyncIterator[Any]:
    """Run a server of the SDK in this process and yield the streams."""
    from mcp.client._memory import InMemoryTransport

    async with (
        InMemoryTransport(import_server(server.server, Path(server.cwd or ""))) as streams,
        _relay_messages(*streams, checker, forgives=forgives) as relayed,
    ):
        yield relayed


def import_server(name: str, folder: Path) -> Any:
    """Return the server that MODULE:OBJECT names, or that a function there makes.

    The module may lie in `folder`. Raises PlayError for a name that leads to no server.
    """
    from mcp.server import MCPServer, Server

    module_name, _, names = name.partition(":")
    sys.path.insert(0, place := str(folder.resolve()))
    try:
        own = PathFinder.find_spec(module_name.partition(".")[0], [place])
        module = import_module(module_name)
        found = operator.attrgetter(names)(module) if names else None
    except AttributeError as error:
        raise PlayError(f"{name}: {error}.") from None
    finally:
        sys.path.remove(place)
    loaded = sys.modules[module_name.partition(".")[0]].__spec__
    if own is not None and loaded is not None and own.origin != loaded.origin:
        text = f"{name}: this process has another module of that name"
        raise PlayError(f"{text}, {loaded.origin}.")
    server = found() if callable(found) and not isinstance(found, MCPServer | Server) else found
    if not isinstance(server, MCPServer | Server):
        text = f"{name} is not a server of the package mcp"
        raise PlayError(f"{text}. Name a module and an object, as in app:server.")
    return server


@asynccontextmanager
async def _relay_messages(
    source: Any, target: Any, checker: ProtocolChecker, *, forgives: bool
) -> AsyncIterator[Any]:
    incoming, received = anyio.create_memory_object_stream[Any]()
    outgoing, taken = anyio.create_memory_object_stream[Any]()

    async def relay(source: Any, target: Any, check: Callable[[Any], None]) -> None:
        with suppress(*_GONE):
            async for item in source:
                if not isinstance(item, Exception):
                    check(item.message.model_dump(mode="json", by_alias=True, exclude_unset=True))
                if checker.faults and not forgives:
                    break
                await target.send(item)
        await target.aclose()

    async with incoming, received, outgoing, taken, anyio.create_task_group() as group:
        group.start_soon(relay, source, incoming, checker.check_message)
        group.start_soon(relay, taken, target, checker.note_sent)
        try:
            yield received, outgoing
        finally:
            group.cancel_scope.cancel()


async def _pass_on(message: Mapping[str, Any], incoming: Any) -> None:
    from mcp.shared.message import SessionMessage
    from mcp_types.jsonrpc import jsonrpc_message_adapter
    from pydantic import ValidationError

    # What does not parse was told as a fault.
    with suppress(ValidationError):
        parsed = jsonrpc_message_adapter.validate_python(message, by_name=False)
        await incoming.send(SessionMessage(parsed))
