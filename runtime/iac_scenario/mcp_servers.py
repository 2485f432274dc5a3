"""Real servers over stdio, through the client of the `mcp` SDK."""

import json
import logging
import math
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

import anyio

from iac_scenario.arguments import misfit, validator_of
from iac_scenario.conversation import matcher
from iac_scenario.errors import CallError
from iac_scenario.model import Elicited, StdioServer, ToolCall, public
from iac_scenario.results import NOT_GIVEN, CallResult, failed

if TYPE_CHECKING:
    import mcp_types
    from mcp import Client
    from mcp.client.session import ElicitationFnT

_TAIL: Final = 6
"""Lines of a server's standard error that an error shows."""
_PAGES: Final = 1000


# The SDK warns of each call of a tool that is not listed; a scenario says what it expects itself.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class Listed(NamedTuple):
    """A tool as its server lists it: the compiled schema, and whether it only reads."""

    validator: Any
    reads: bool


class ServerConnection:
    """A server from start to shutdown.

    `failure` says why it cannot be used, or is empty. `prefix` begins the names of its tools as
    clients write them; `own_names` leads from what follows it to the server's own name.
    """

    def __init__(
        self, name: str, server: StdioServer, protocol: str, timeouts: Mapping[str, int]
    ) -> None:
        self.name = name
        self.prefix = f"mcp__{public(name)}__"
        self.failure = ""
        self.tools: Mapping[str, Listed] = {}
        self.own_names: Mapping[str, str] = {}
        self.client: Client | None = None
        self.answers: tuple[Elicited, ...] = ()
        self.ready = anyio.Event()
        self._server = server
        self._protocol = protocol
        self._start = timeouts["mcp_start_timeout_ms"] / 1000
        self._call = timeouts["mcp_timeout_ms"] / 1000
        self._stop = anyio.Event()
        self._errors: IO[str] = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115

    async def live(self) -> None:
        """Start, list, and stay until `stop`; every failure ends up in `failure`."""
        deadline = anyio.current_time() + self._start
        try:
            with anyio.CancelScope(deadline=deadline) as scope:
                async with self._connected() as client:
                    self.tools = await _listed(client)
                    self.own_names = {public(tool): tool for tool in self.tools}
                    scope.deadline = math.inf
                    self.client = client
                    self.ready.set()
                    await self._stop.wait()
            if scope.cancelled_caught:
                self.failure = f"did not start within {self._start:g} s"
        # Whatever a foreign server provokes is that server's failure, never the run's.
        except Exception as error:
            self.failure = self.failure or f"cannot be used: {_innermost(error)}"
        finally:
            self.client = None
            self.ready.set()

    def stop(self) -> None:
        """Let the server end."""
        self._stop.set()

    def unusable(self) -> str:
        """Return why it cannot be used, with the last lines that it wrote to standard error."""
        line = f"The server {self.name} {self.failure or 'ended during the session'}."
        self._errors.seek(0)
        written = "".join(deque(self._errors, _TAIL)).strip()
        return f"{line} It wrote: {written}" if written else line

    def close(self) -> None:
        """Let go of the file."""
        self._errors.close()

    def _connected(self) -> "Client":
        from mcp import Client
        from mcp.client.stdio import StdioServerParameters, stdio_client

        parameters = StdioServerParameters(
            command=self._server.command,
            args=list(self._server.args),
            env=dict(self._server.env),
            cwd=self._server.cwd,
        )
        return Client(
            stdio_client(parameters, errlog=self._errors),  # type: ignore[arg-type]
            mode=self._protocol,
            elicitation_callback=self._elicited(),
            read_timeout_seconds=self._call,
        )

    def _elicited(self) -> "ElicitationFnT":
        from mcp_types import ElicitResult

        async def answer(context: Any, params: "mcp_types.ElicitRequestParams") -> ElicitResult:  # noqa: ARG001
            for given in self.answers:
                if given.message is None or matcher(given.message)(params.message):
                    content = dict(given.content or {}) if given.action == "accept" else None
                    return ElicitResult(action=given.action, content=content)
            # What `claude -p` does, where nobody can be asked.
            return ElicitResult(action="cancel")

        return answer


async def _listed(client: "Client") -> dict[str, Listed]:
    found: dict[str, Listed] = {}
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            hints = tool.annotations
            reads = hints is not None and hints.read_only_hint is True
            found[tool.name] = Listed(validator_of(json.dumps(tool.input_schema)), reads)
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def _innermost(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, OSError) and error.strerror:
        name = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{name}"
    return str(error) or type(error).__name__


class RealMcp:
    """Calls the tools of servers that are running."""

    def __init__(
        self,
        sessions: Mapping[str, ServerConnection],
        elicitations: Sequence[Elicited],
        timeout_ms: int,
    ) -> None:
        self._sessions = sessions
        self._elicitations = tuple(elicitations)
        self._timeout_ms = timeout_ms

    def reads(self, call: ToolCall) -> bool:
        """What the server's listing says."""
        try:
            session, name = self._found(call.tool)
        except CallError:
            return False
        listed = session.tools.get(name)
        return listed is not None and listed.reads

    def qualified(self, tool: str) -> str:
        """Return `mcp__SERVER__TOOL` for a bare name that one server has, else the name."""
        try:
            session, name = self._found(tool)
        except CallError:
            return tool
        return f"{session.prefix}{public(name)}"

    def unstarted(self) -> dict[str, str]:
        """Return the servers that cannot be used, and why."""
        broken = (session for session in self._sessions.values() if session.failure)
        return {session.name: session.unusable() for session in broken}

    def fault(self, call: ToolCall) -> str:
        """Return what the listings say against a call, or nothing."""
        try:
            session, name = self._found(call.tool)
        except CallError as error:
            return str(error)
        listed = session.tools.get(name)
        if session.failure or call.send_invalid:
            return ""
        if listed is None:
            return f"the server {session.name} lists no tool {name}."
        return misfit(listed.validator, call.input)

    async def run(self, call: ToolCall) -> CallResult:
        """Check the arguments against the listing, then ask the server."""
        note = ""
        try:
            session, name = self._found(call.tool)
            listed = session.tools.get(name)
            if listed is not None and not call.send_invalid:
                note = misfit(listed.validator, call.input)
            if call.validate and note:
                return failed(f"{name}: {note}")
            if not isinstance(call.input, dict):
                raise CallError(f"{name}: the arguments must be a table.")
            session.answers = call.elicitations + self._elicitations
            answer = await self._asked(session, name, call.input)
        except CallError as error:
            answer = failed(str(error))
        return replace(answer, note=f"{call.tool}: {note}" if note else "")

    async def _asked(
        self, session: ServerConnection, name: str, arguments: dict[str, Any]
    ) -> CallResult:
        import mcp_types as types
        from mcp.shared.exceptions import MCPError

        if session.client is None:
            raise CallError(session.unusable())
        try:
            # Its time limit was given to the client; it holds for each round of a call.
            result = await session.client.call_tool(name, arguments)
        except MCPError as error:
            if error.code == types.REQUEST_TIMEOUT:
                limit = f"{self._timeout_ms:,} ms"
                raise CallError(
                    f"{name}: the server {session.name} did not answer within {limit}."
                ) from None
            if error.code == types.CONNECTION_CLOSED:
                raise CallError(session.unusable()) from None
            raise CallError(f"MCP error {error.code}: {error.message}") from None
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream):
            raise CallError(session.unusable()) from None
        # The answer did not fit the protocol, or not the schema that the server listed.
        except Exception as error:
            said = (str(error).splitlines() or [type(error).__name__])[0]
            raise CallError(
                f"The answer of the server {session.name} is malformed: {said}"
            ) from None
        return _outcome(result)

    def _found(self, tool: str) -> tuple[ServerConnection, str]:
        """Return the server and the server's own name of a tool."""
        if not self._sessions:
            raise CallError(f"{tool}: no server is configured; pass --mcp-config.")
        if tool.startswith("mcp__"):
            return self._qualified(tool)
        having = [session for session in self._sessions.values() if tool in session.tools]
        if len(having) == 1:
            return having[0], tool
        if having:
            names = ", ".join(f"{session.prefix}{tool}" for session in having)
            raise CallError(f"{tool}: several servers have it: {names}.")
        if len(self._sessions) == 1:
            return next(iter(self._sessions.values())), tool
        broken = [session for session in self._sessions.values() if session.failure]
        if broken:
            raise CallError(broken[0].unusable())
        raise CallError(f"{tool}: no server has a tool of that name.")

    def _qualified(self, tool: str) -> tuple[ServerConnection, str]:
        fitting = [
            session for session in self._sessions.values() if tool.startswith(session.prefix)
        ]
        if not fitting:
            known = ", ".join(self._sessions)
            raise CallError(f"{tool}: no server of that name. Servers: {known}.")
        # Of two servers a and a__b, the longer name is meant.
        session = max(fitting, key=lambda found: len(found.prefix))
        name = tool.removeprefix(session.prefix)
        return session, session.own_names.get(name, name)


def _outcome(result: "mcp_types.CallToolResult") -> CallResult:
    structured = result.structured_content
    return CallResult(
        tuple(
            {"type": "text", "text": block.text}
            if block.type == "text"
            else block.model_dump(mode="json", by_alias=True, exclude_none=True)
            for block in result.content
        ),
        is_error=bool(result.is_error),
        structured=NOT_GIVEN if structured is None else structured,
    )


@asynccontextmanager
async def connected(
    servers: Mapping[str, StdioServer],
    protocol: str,
    timeouts: Mapping[str, int],
    elicitations: Sequence[Elicited],
) -> AsyncIterator[RealMcp]:
    """Start all servers at once and shut them down at the end; one that fails stops no other."""
    sessions = {
        name: ServerConnection(name, server, protocol, timeouts) for name, server in servers.items()
    }
    try:
        async with anyio.create_task_group() as group:
            for session in sessions.values():
                group.start_soon(session.live)
            for session in sessions.values():
                await session.ready.wait()
            try:
                yield RealMcp(sessions, elicitations, timeouts["mcp_timeout_ms"])
            finally:
                for session in sessions.values():
                    session.stop()
    finally:
        for session in sessions.values():
            session.close()
