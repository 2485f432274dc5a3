"""The SDK alone on one connection: what our front is compared with."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import NotificationOptions
from mcp.shared.message import SessionMessage

OPTIONS = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)


class SdkSession:
    """A session of a server of the SDK, in a thread and a loop of its own.

    Args:
        build: Makes the server, in the thread.
        write: Is given each message that the server sends.
        options: Which notifications of changes the server declares.
    """

    def __init__(
        self,
        build: Callable[[], Any],
        write: Callable[[bytes], None],
        options: NotificationOptions = OPTIONS,
    ) -> None:
        self._build, self._write, self._options = build, write, options
        self._running: Future[tuple[asyncio.AbstractEventLoop, Any]] = Future()
        self._thread = threading.Thread(target=lambda: anyio.run(self._serve), daemon=True)

    def feed(self, line: bytes) -> None:
        """Send a message to the server; the first one starts it."""
        if self._thread.ident is None:
            self._thread.start()
        loop, incoming = self._running.result(30)
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        asyncio.run_coroutine_threadsafe(incoming.send(SessionMessage(message)), loop).result(30)

    def close(self) -> None:
        """End the server."""
        if self._thread.ident is not None:
            loop, incoming = self._running.result(30)
            loop.call_soon_threadsafe(incoming.close)
            self._thread.join(30)

    async def _serve(self) -> None:
        server = self._build()
        send, incoming = anyio.create_memory_object_stream[Any](1_000)
        outgoing, sent = anyio.create_memory_object_stream[Any](1_000)
        self._running.set_result((asyncio.get_running_loop(), send))
        async with anyio.create_task_group() as both:
            both.start_soon(self._pass_on, sent)
            options = server.create_initialization_options(self._options)
            await server.run(incoming, outgoing, options)

    async def _pass_on(self, sent: Any) -> None:
        async with sent:
            async for item in sent:
                found = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._write(found.encode())


class SdkSessions:
    """A session for each era, begun when it is first fed: the SDK serves one on a connection."""

    def __init__(
        self,
        build: Callable[[], Any],
        write: Callable[[bytes], None],
        options: NotificationOptions = OPTIONS,
    ) -> None:
        self._by_era = {era: SdkSession(build, write, options) for era in ("legacy", "modern")}

    def feed(self, era: str, line: bytes) -> None:
        """Send a message to the session of an era."""
        self._by_era[era].feed(line)

    def close(self) -> None:
        """End both."""
        for session in self._by_era.values():
            session.close()


def era_of(message: Any) -> str:
    """Return the era of a message, by its envelope."""
    meta = (message.get("params") or {}).get("_meta") or {}
    return "modern" if "io.modelcontextprotocol/protocolVersion" in meta else "legacy"
