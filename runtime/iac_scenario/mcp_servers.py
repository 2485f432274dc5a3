"""Real servers, over stdio or Streamable HTTP, through the client of the `mcp` SDK.

They are those of a file in Claude's JSON format or of the scenario, with variables replaced.
"""

import json
import logging
import math
import os
import re
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Container, Iterator, Mapping, Sequence, Set
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

import anyio
import anyio.abc

from iac_scenario.client_callbacks import (
    ClientAnswers,
    ClientCallbacks,
    hold_subscription,
    is_modern,
    is_subscription,
    send_request,
)
from iac_scenario.matching import VARIABLE, schema_validator, schema_violation
from iac_scenario.model import CallError, PlayError, StdioServer, ToolCall, public_name
from iac_scenario.protocol_checks import MAX_PAGES, ProtocolChecker
from iac_scenario.reader import build_servers, read_json_option
from iac_scenario.results import NOT_GIVEN, CallResult, error_result, text_result
from iac_scenario.schema import check_document, format_field_path
from iac_scenario.transports import open_http, open_module, open_stdio

if TYPE_CHECKING:
    import mcp_types
    from mcp import Client


_KEYS: Final = ("command", "args", "env", "cwd", "type", "url", "headers", "server")
"""What is read of a server; clients keep keys of their own beside these."""


def read_config(path: Path | str) -> dict[str, StdioServer]:
    """Return the servers of `{"mcpServers": {NAME: {"command", "args", "env"} or {"url"}}}`.

    `path` names a file, or is its text. Raises PlayError for what is not of that form.
    """
    known = _server_table(path)
    for name, value in known.items():
        if isinstance(value, dict):
            known[name] = {key: value[key] for key in _KEYS if key in value}
    faults: list[str] = []

    def add_fault(at: Sequence[str | int], fault: str) -> None:
        faults.append(f"{format_field_path(('mcpServers', *at[1:]))}: {fault}")

    check_document({"mcp_servers": known}, add_fault, lambda _: None)
    if faults:
        raise PlayError(f"--mcp-config {path}: {faults[0]}")
    return build_servers(known)


def remote_servers(path: Path) -> dict[str, Any]:
    """Return the other servers of the file, as they stand there. Raises as `read_config`."""
    return {name: value for name, value in _server_table(path).items() if _is_remote(value)}


def _server_table(path: Path | str) -> dict[str, Any]:
    document = read_json_option(path, "--mcp-config")
    table = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(table, dict):
        raise PlayError(f"--mcp-config {path}: has no object mcpServers.")
    return table


def _is_remote(value: Any) -> bool:
    return isinstance(value, dict) and "url" in value and "command" not in value


def expand_variables(server: StdioServer, places: Mapping[str, Any]) -> StdioServer:
    """Return a server with its variables replaced: `places` first, then the environment.

    Raises PlayError for a variable that is set nowhere and has no default.
    """
    known = {**os.environ, **places}

    def variable_value(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name not in known and default is None:
            of = server.command or server.url
            raise PlayError(f"The server {of} uses ${{{name}}}, which is not set.")
        return str(known.get(name, default or ""))

    def expand_text(given: str) -> str:
        return VARIABLE.sub(variable_value, given)

    return replace(
        server,
        command=expand_text(server.command),
        args=tuple(map(expand_text, server.args)),
        env={name: expand_text(given) for name, given in server.env.items()},
        cwd=None if server.cwd is None else expand_text(server.cwd),
        url=expand_text(server.url),
        headers={name: expand_text(given) for name, given in server.headers.items()},
    )


_UNFIT: Final = "does not fit the outputSchema that the tool lists"
_TAIL: Final = 6
"""Lines of a server's standard error that an error shows."""


# The SDK warns of each call of a tool that is not listed; a scenario says what it expects itself.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class ListedTool(NamedTuple):
    """A tool as its server lists it: the compiled schemas, and whether it only reads."""

    validator: Any
    is_read_only: bool
    output: Any


class ServerConnection:
    """A server from start to shutdown.

    `failure` says why it cannot be used, or is empty. `prefix` begins the names of its tools as
    clients write them; `own_names` leads from what follows it to the server's own name.
    """

    def __init__(
        self, name: str, server: StdioServer, answering: ClientAnswers, timeouts: Mapping[str, int]
    ) -> None:
        self.name = name
        self.prefix = f"mcp__{public_name(name)}__"
        self.failure = ""
        self.tools: Mapping[str, ListedTool] = {}
        self.own_names: Mapping[str, str] = {}
        self.client: Client | None = None
        self.ready = anyio.Event()
        self.key = (name, replace(server, line=0), answering.offered(), dict(timeouts))
        self._server = server
        self.side = ClientCallbacks(answering)
        self.streams: anyio.abc.TaskGroup | None = None
        self._log_level = answering.log_level
        self._start = timeouts["mcp_start_timeout_ms"] / 1000
        self._call = timeouts["mcp_timeout_ms"] / 1000
        self._stopping = timeouts["mcp_stop_timeout_ms"] / 1000
        self._forgives = answering.forgives or "protocol" in server.allowed
        self._told = 0
        self.checker = ProtocolChecker()
        self._stop = anyio.Event()
        self._errors: IO[str] = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115

    async def run_until_stopped(self) -> None:
        """Start, list, and stay until `stop`; every failure ends up in `failure`."""
        deadline = anyio.current_time() + self._start
        try:
            with anyio.CancelScope(deadline=deadline) as scope:
                async with self._open_client() as client, anyio.create_task_group() as streams:
                    self.tools = await _list_tools(client)
                    # The SDK's own says what it finds in the words of its libraries.
                    client.session.validate_tool_result = self._check_output  # type: ignore[method-assign]
                    self.own_names = {public_name(tool): tool for tool in self.tools}
                    await self._ask_for_logs(client)
                    scope.deadline = math.inf
                    self.client, self.streams = client, streams
                    self.ready.set()
                    await self._stop.wait()
                    streams.cancel_scope.cancel()
            if scope.cancelled_caught:
                self.failure = f"did not start within {self._start:g} s"
        # Whatever a foreign server provokes is that server's failure, never the run's.
        except Exception as error:
            self.failure = (
                self.failure or f"cannot be used: {_innermost_message(error, self.checker.errors)}"
            )
        finally:
            self.client = None
            self.ready.set()

    @property
    def is_usable(self) -> bool:
        """Whether another run can have it."""
        return self.client is not None and not self.checker.has_ended and not self.is_faulty

    def stop(self) -> None:
        """Let the server end."""
        self._stop.set()

    @property
    def is_faulty(self) -> bool:
        """Whether it broke the protocol, and nobody forgives that."""
        return bool(self.checker.faults) and not self._forgives

    def take_faults(self) -> list[str]:
        """Return the faults of the protocol that were not taken yet, unless they are forgiven."""
        new = [] if self._forgives else self.checker.faults[self._told :]
        self._told += len(new)
        return [f"The server {self.name} breaks the protocol: {fault}" for fault in new]

    def failure_message(self) -> str:
        """Return why it cannot be used, with the last lines that it wrote to standard error."""
        if self.is_faulty:
            return f"The server {self.name} breaks the protocol: {self.checker.faults[0]}"
        line = f"The server {self.name} {self.failure or 'ended during the session'}."
        self._errors.seek(0)
        written = "".join(deque(self._errors, _TAIL)).strip()
        return f"{line} It wrote: {written}" if written else line

    def close(self) -> None:
        """Let go of the file."""
        self._errors.close()

    def _open_client(self) -> "Client":
        from mcp import Client

        forgives = self._forgives
        if self._server.url:
            streams = open_http(self._server, self.checker, forgives=forgives)
        elif self._server.server:
            streams = open_module(self._server, self.checker, forgives=forgives)
        else:
            streams = open_stdio(
                self._server, self.checker, self._errors, self._stopping, forgives=forgives
            )
        return Client(streams, **self.side.client_options(), read_timeout_seconds=self._call)

    async def _check_output(self, name: str, result: "mcp_types.CallToolResult") -> None:
        """Hold an answer against the schema that the server listed for it. Raises CallError."""
        listed = self.tools.get(name)
        if listed is None or listed.output is None or result.is_error:
            return
        if "structured_content" not in result.model_fields_set:
            why = "has no structuredContent, though the tool lists an outputSchema"
        elif not (why := schema_violation(listed.output, result.structured_content, _UNFIT)):
            return
        raise CallError(f"The answer of the server {self.name} to {name} {why}.")

    async def _ask_for_logs(self, client: "Client") -> None:
        """Say in the old era from which level on; in the new one each request says it."""
        if self._log_level and client.server_capabilities.logging and not is_modern(client):
            params = {"level": self._log_level}
            await send_request(client, "logging/setLevel", params, None)


async def list_all_entries(client: "Client", method: str, field: str) -> list[dict[str, Any]]:
    """Return the entries of a list of the server, of all its pages."""
    entries: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    for _ in range(MAX_PAGES + 1):
        page = (await send_request(client, method, params, None)).structured
        entries += page.get(field, ())
        params = {"cursor": page.get("nextCursor")}
        if params["cursor"] is None:
            break
    return entries


async def _list_tools(client: "Client") -> dict[str, ListedTool]:
    # Through the SDK, which learns here what headers a tool's arguments go into.
    tools: dict[str, ListedTool] = {}
    cursor: str | None = None
    for _ in range(MAX_PAGES + 1):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            reads = tool.annotations is not None and tool.annotations.read_only_hint is True
            schemas = (tool.input_schema, tool.output_schema)
            given, made = (one and schema_validator(json.dumps(one)) for one in schemas)
            tools[tool.name] = ListedTool(given, reads, made)
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def _innermost_message(error: BaseException, own: Set[tuple[int, str]]) -> str:
    """Return what went wrong; an error that is the server's `own` keeps its code."""
    from mcp.shared.exceptions import MCPError

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError) and (error.code, error.error.message) in own:
        return protocol_error(error.error).text
    if isinstance(error, OSError) and error.strerror:
        name = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{name}"
    return str(error) or type(error).__name__


class McpExecutor:
    """Calls the tools of servers that are running."""

    def __init__(
        self,
        sessions: Mapping[str, ServerConnection],
        timeouts: Mapping[str, int],
        *,
        refuses: bool = False,
    ) -> None:
        self._sessions = sessions
        self._refuses = refuses
        # What the servers list does not change; a name is looked up several times a call.
        self._found = cache(self._find_tool)
        self._timeout_ms = timeouts["mcp_timeout_ms"]
        self._late = timeouts["notification_timeout_ms"] / 1000

    def is_read_only(self, call: ToolCall) -> bool:
        """What the server's listing says; requests of the protocol act through tools only."""
        if call.request:
            return call.request != "tools/call"
        try:
            session, name = self._found(call.tool)
        except CallError:
            return False
        listed = session.tools.get(name)
        return listed is not None and listed.is_read_only

    def qualify_name(self, tool: str) -> str:
        """Return `mcp__SERVER__TOOL` for a bare name that one server has, else the name."""
        try:
            session, name = self._found(tool)
        except CallError:
            return tool
        return f"{session.prefix}{public_name(name)}"

    def take_faults(self) -> Iterator[tuple[str, str]]:
        """Yield the servers and their faults of the protocol that were not taken yet."""
        for name, session in self._sessions.items():
            for fault in session.take_faults():
                yield name, fault

    def protocol_checkers(self) -> dict[str, ProtocolChecker]:
        """Return what is known of each connection, also when it is over."""
        return {name: session.checker for name, session in self._sessions.items()}

    def has_ended(self, server: str) -> bool:
        """Whether a server is of no use any more."""
        session = self._sessions[server]
        return session.checker.has_ended or session.is_faulty

    def failed_servers(self) -> dict[str, str]:
        """Return the servers that cannot be used though they keep to the protocol, and why."""
        broken = (each for each in self._sessions.values() if each.failure and not each.is_faulty)
        return {each.name: each.failure_message() for each in broken}

    def listing_mismatch(self, call: ToolCall) -> str:
        """Return what the listings say against a call, or nothing."""
        try:
            session, name = self._find_target(call)
        except CallError as error:
            return str(error)
        if session.failure or call.send_invalid or call.request:
            return ""
        if (listed := session.tools.get(name)) is None:
            return f"the server {session.name} lists no tool {name}."
        return schema_violation(listed.validator, call.input)

    async def run(self, call: ToolCall) -> CallResult:
        """Check the arguments against the listing, then ask the server."""
        try:
            session, name = self._find_target(call)
            listed = None if call.request else session.tools.get(name)
            checked = listed is not None and not call.send_invalid
            note = schema_violation(listed.validator, call.input) if listed and checked else ""
            if self._refuses and note:
                return error_result(f"{name}: {note}")
            if not isinstance(call.input, dict):
                raise CallError(f"{name}: the arguments must be a table.")
        except CallError as error:
            return error_result(str(error))
        session.side.call = call
        limit = call.cancel_after_ms
        outcome = error_result(f"{name}: cancelled after {limit or 0:,} ms.")
        with anyio.move_on_after(math.inf if limit is None else limit / 1000):
            try:
                outcome = await self._send_call(session, name, call)
            except CallError as error:
                outcome = error_result(str(error))
        if note:
            outcome = replace(outcome, note=f"{call.tool}: {note}")
        return await session.side.with_notifications(call, outcome, self._late)

    def connected_clients(self, *, but: Container[str] = ()) -> "dict[str, Client]":
        """Return the clients of servers. Raises PlayError for one that cannot be used."""
        clients = {}
        for name, session in self._sessions.items():
            if name in but:
                continue
            if session.client is None:
                raise PlayError(session.failure_message())
            clients[name] = session.client
        return clients

    def _find_target(self, call: ToolCall) -> tuple[ServerConnection, str]:
        """Return the server of a call, and the server's own name of the tool or the request."""
        if not call.request:
            return self._found(call.tool)
        session = self._sessions.get(call.server)
        if not call.server and len(self._sessions) == 1:
            session = next(iter(self._sessions.values()))
        if session is None:
            known = ", ".join(self._sessions) or "none"
            raise CallError(f"{call.request}: name its server. Servers: {known}.")
        return session, call.request

    async def _send_call(self, session: ServerConnection, name: str, call: ToolCall) -> CallResult:
        import mcp_types as types
        from mcp.shared.exceptions import MCPError

        client, heard = session.client, session.side.handle_progress
        if client is None or session.streams is None:
            raise CallError(session.failure_message())
        try:
            # Its time limit was given to the client; it holds for each round of a call.
            if not call.request:
                result = await client.call_tool(name, call.input, progress_callback=heard)
            elif is_subscription(client, call.request):
                await session.streams.start(hold_subscription, client, call.input)
                return CallResult((), structured={})
            else:
                return await send_request(client, call.request, call.input, heard)
        except MCPError as error:
            # The server's own errors may have the codes that the SDK takes for these two.
            if (error.code, error.error.message) in session.checker.errors:
                return protocol_error(error.error)
            if error.code == types.REQUEST_TIMEOUT:
                limit = f"{self._timeout_ms:,} ms"
                text = f"{name}: the server {session.name} did not answer within {limit}."
                raise CallError(text) from None
            if error.code == types.CONNECTION_CLOSED:
                raise CallError(session.failure_message()) from None
            return protocol_error(error.error)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream):
            raise CallError(session.failure_message()) from None
        except CallError:
            raise
        # The answer did not fit the protocol.
        except Exception as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise CallError(
                f"The answer of the server {session.name} is malformed: {reason}"
            ) from None
        return _call_result(result)

    def _find_tool(self, tool: str) -> tuple[ServerConnection, str]:
        """Return the server and the server's own name of a tool."""
        if not self._sessions:
            raise CallError(f"{tool}: no server is configured; pass --mcp-config.")
        if tool.startswith("mcp__"):
            return self._find_qualified(tool)
        having = [session for session in self._sessions.values() if tool in session.tools]
        if len(having) == 1:
            return having[0], tool
        if having:
            names = ", ".join(f"{session.prefix}{tool}" for session in having)
            raise CallError(f"{tool}: several servers have a tool with that name: {names}.")
        if len(self._sessions) == 1:
            return next(iter(self._sessions.values())), tool
        broken = [session for session in self._sessions.values() if session.failure]
        if broken:
            raise CallError(broken[0].failure_message())
        raise CallError(f"{tool}: no server has a tool with that name.")

    def _find_qualified(self, tool: str) -> tuple[ServerConnection, str]:
        sessions = self._sessions.values()
        fitting = [session for session in sessions if tool.startswith(session.prefix)]
        if not fitting:
            known = ", ".join(self._sessions)
            raise CallError(f"{tool}: no server has that name. Servers: {known}.")
        # Of two servers a and a__b, the longer name is meant.
        session = max(fitting, key=lambda candidate: len(candidate.prefix))
        name = tool.removeprefix(session.prefix)
        return session, session.own_names.get(name, name)


def protocol_error(error: "mcp_types.ErrorData") -> CallResult:
    """Return an error of the protocol as a result, its value the error itself."""
    value = error.model_dump(mode="json", by_alias=True, exclude_none=True)
    text = f"MCP error {error.code}: {error.message}"
    return text_result(text, is_error=True, structured=value)


def _call_result(result: "mcp_types.CallToolResult") -> CallResult:
    structured = NOT_GIVEN if result.structured_content is None else result.structured_content
    content = tuple(
        {"type": "text", "text": block.text}
        if block.type == "text"
        else block.model_dump(mode="json", by_alias=True, exclude_none=True)
        for block in result.content
    )
    return CallResult(content, bool(result.is_error), structured)


class ServerPool:
    """Servers that run from their first use until the pool is closed."""

    def __init__(self, group: anyio.abc.TaskGroup) -> None:
        self._group = group
        self.sessions: list[ServerConnection] = []

    async def connect(
        self,
        servers: Mapping[str, StdioServer],
        answering: ClientAnswers,
        timeouts: Mapping[str, int],
    ) -> dict[str, ServerConnection]:
        """Return the servers, those that do not run yet started at once; none stops another."""
        chosen = {}
        for name, server in servers.items():
            new = ServerConnection(name, server, answering, timeouts)
            same = (old for old in self.sessions if old.is_usable and old.key == new.key)
            if (session := next(same, new)) is new:
                self.sessions.append(new)
                self._group.start_soon(new.run_until_stopped)
            else:
                new.close()
                session.side.begin_run(answering)
            chosen[name] = session
        for session in chosen.values():
            await session.ready.wait()
        return chosen


@asynccontextmanager
async def open_server_pool() -> AsyncIterator[ServerPool]:
    """Yield a pool, and shut its servers down at the end."""
    pool = None
    try:
        async with anyio.create_task_group() as group:
            pool = ServerPool(group)
            try:
                yield pool
            finally:
                for session in pool.sessions:
                    session.stop()
    finally:
        for session in pool.sessions if pool is not None else ():
            session.close()


@asynccontextmanager
async def connect_servers(
    servers: Mapping[str, StdioServer],
    answering: ClientAnswers,
    timeouts: Mapping[str, int],
    pool: ServerPool | None = None,
) -> AsyncIterator[McpExecutor]:
    """Start servers and shut them down at the end; those of a pool stay."""
    async with open_server_pool() if pool is None else nullcontext(pool) as used:
        sessions = await used.connect(servers, answering, timeouts)
        yield McpExecutor(sessions, timeouts, refuses=answering.refuses)
