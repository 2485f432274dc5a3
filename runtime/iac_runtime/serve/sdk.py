"""The sessions of the SDK behind the front: one thread, one event loop, at most one per era.

The SDK decides the era of a connection by its first request and refuses the other; so each era
gets a connection of its own, and both share the server object behind them.
"""

import contextlib
import json
import os
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from iac_runtime.serve.messages import INVALID_REQUEST, Era, error_message, one_line_error
from iac_runtime.serve.plain import is_request

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Event

    from anyio.abc import TaskGroup
    from anyio.streams.memory import MemoryObjectSendStream
    from mcp.server.lowlevel import Server

_IMPORT: Final = 5.0
"""Seconds that importing the SDK may take on a busy machine."""

_ROOM: Final = 1_000
"""Messages that wait for a session; a client that sends more is not read on."""


class Sessions:
    """A `Backend` on the SDK; `feed`, `replay` and `close` are for the front's thread.

    Args:
        build: Makes the server; called in the sessions' thread on first need.
        write: Sends one message to the client.
        options: The SDK's options of the notifications that the server can send.
    """

    def __init__(
        self,
        build: "Callable[[], Server[Any]]",
        write: Callable[[bytes], None],
        options: Callable[[], Any] = lambda: None,
    ) -> None:
        self._build = build
        self._write = write
        self._options = options
        self._eras: set[Era] = set()
        self._pending: list[tuple[Era, bytes] | None] = []
        self._room = threading.Semaphore(_ROOM)
        self._lock = threading.Lock()
        self._wake: Callable[[], object] | None = None
        self._thread: threading.Thread | None = None
        self._replayed: set[str | int] = set()
        self._asked: set[tuple[Era, Any]] = set()
        self._grace = 0.0
        self._running = threading.Event()
        self.failure: BaseException | None = None
        """What ended the sessions before their time; every request is then answered with it."""

    def prepare(self) -> None:
        """Begin to import the SDK, in the sessions' thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run_sessions, name="iac-sdk", daemon=True)
            self._thread.start()

    def has_started(self, era: Era) -> bool:
        """Say whether a message was handed to the session of an era."""
        return era in self._eras

    def replay_handshake(self, line: bytes) -> None:
        """Hand the client's `initialize` to the legacy session; the front has answered it."""
        self._replayed.add(json.loads(line)["id"])
        self.feed_message("legacy", line)

    def feed_message(self, era: Era, line: bytes) -> None:
        """Hand a message to the session of an era."""
        self._eras.add(era)
        self._enqueue_message((era, line))

    def close(self, grace: float) -> None:
        """End the sessions; what still runs after `grace` seconds is cancelled."""
        if self._thread is None:
            return
        self._grace = grace
        self._enqueue_message(None)
        if grace:
            # What was asked while the SDK was being imported is still answered.
            self._running.wait(_IMPORT)
        self._thread.join(grace + 0.3)

    def _enqueue_message(self, item: tuple[Era, bytes] | None) -> None:
        self.prepare()
        while item is not None and not self._room.acquire(timeout=0.5):
            if self.failure is not None:
                break
        with self._lock:
            self._pending.append(item)
            wake = self._wake
        if self.failure is not None:
            self._refuse_pending(self.failure)
        elif wake is not None:
            wake()

    def _take_pending(self) -> list[tuple[Era, bytes] | None]:
        with self._lock:
            items, self._pending = self._pending, []
        for item in items:
            if item is not None:
                self._room.release()
        return items

    def _run_sessions(self) -> None:
        import anyio

        try:
            anyio.run(self._serve_sessions)
        except BaseException as error:
            self.failure = error
            os.write(2, f"iac-mcp: {one_line_error(error)}\n".encode(errors="replace"))
            with self._lock:
                asked, self._asked = self._asked, set()
            for _, id_ in asked:
                self._write(error_message(id_, one_line_error(error)))
            self._refuse_pending(error)
        finally:
            self._running.set()

    def _refuse_pending(self, error: BaseException) -> None:
        """Answer the requests that wait for sessions which are not there."""
        for item in self._take_pending():
            message = _parse_message(item[1]) if item is not None else None
            id_ = getattr(getattr(message, "message", None), "id", None)
            if id_ is not None and id_ not in self._replayed:
                self._write(error_message(id_, one_line_error(error)))

    async def _serve_sessions(self) -> None:
        import asyncio

        import anyio

        server = self._build()
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            self._wake = partial(_wake_loop, loop, arrived)
        arrived.set()
        self._running.set()
        async with anyio.create_task_group() as group:
            await self._dispatch_messages(group, server, arrived)
            # What was asked has had its time in `_settle`.
            group.cancel_scope.cancel()

    async def _dispatch_messages(
        self, group: "TaskGroup", server: "Server[Any]", arrived: "Event"
    ) -> None:
        """Hand messages to the sessions, in order, until the input ends; then end their input."""
        import anyio

        inputs: dict[Era, MemoryObjectSendStream[Any]] = {}
        try:
            while True:
                await arrived.wait()
                arrived.clear()
                # All are noted before the first wait: a session may end in it.
                for item in [self._track_request(item) for item in self._take_pending()]:
                    if item is None:
                        await self._await_answers(arrived)
                        return
                    era, message = item
                    if era not in inputs:
                        inputs[era], incoming = anyio.create_memory_object_stream[Any](_ROOM)
                        group.start_soon(self._connect_session, era, server, incoming, arrived)
                    await inputs[era].send(message)
        finally:
            for stream in inputs.values():
                stream.close()

    def _track_request(self, item: tuple[Era, bytes] | None) -> tuple[Era, Any] | None:
        """Parse a message; a request is remembered until it is answered, or cancelled."""
        if item is None:
            return None
        era, message = item[0], _parse_message(item[1])
        if isinstance(message, ValueError):
            self._reject_line(item[1])
        request: Any = getattr(message, "message", None)
        method = getattr(request, "method", None)
        if method == "notifications/cancelled":
            self._asked.discard((era, (request.params or {}).get("requestId")))
        elif method is not None and hasattr(request, "id"):
            self._asked.add((era, request.id))
        return era, message

    def _reject_line(self, line: bytes) -> None:
        """Answer a request that the SDK cannot read, and would pass over."""
        try:
            message = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return
        if isinstance(message, dict) and is_request(message):
            self._write(
                error_message(message["id"], "This request cannot be read.", INVALID_REQUEST)
            )

    async def _await_answers(self, arrived: "Event") -> None:
        """Wait until what was asked is answered: a session drops it when its input ends."""
        import anyio

        with anyio.move_on_after(self._grace):
            while self._asked:
                await arrived.wait()
                arrived.clear()

    async def _connect_session(
        self, era: Era, server: "Server[Any]", incoming: Any, arrived: "Event"
    ) -> None:
        import anyio

        outgoing, sent = anyio.create_memory_object_stream[Any](_ROOM)
        options = server.create_initialization_options(self._options())
        async with anyio.create_task_group() as both:
            both.start_soon(self._pass_answers, era, sent, arrived)
            await server.run(incoming, outgoing, options)

    async def _pass_answers(self, era: Era, sent: Any, arrived: "Event") -> None:
        async with sent:
            async for item in sent:
                message = item.message
                if not hasattr(message, "method"):
                    id_ = getattr(message, "id", None)
                    self._asked.discard((era, id_))
                    arrived.set()
                    if era == "legacy" and id_ in self._replayed:
                        # The answer to a handshake that the front has answered.
                        self._replayed.discard(id_)
                        continue
                self._write(message.model_dump_json(by_alias=True, exclude_unset=True).encode())


def _wake_loop(loop: "AbstractEventLoop", arrived: "Event") -> None:
    # The loop is closed once the sessions have ended.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(arrived.set)


def _parse_message(line: bytes) -> Any:
    """Return a line as the SDK's transport would hand it on: a message, or what was wrong."""
    import mcp_types as types
    from mcp.shared.message import SessionMessage

    try:
        text = line.decode("utf-8", "replace")
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError as error:
        return error
