"""Real servers, through the client of the `mcp` SDK."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from iac_scenario.arguments import refuse_misfit
from iac_scenario.errors import ToolError
from iac_scenario.executors.sessions import Session, Times
from iac_scenario.model import Elicited, Server, ToolCall
from iac_scenario.naming import public
from iac_scenario.outcome import NOT_GIVEN, Outcome, failed

if TYPE_CHECKING:
    import mcp_types

__all__ = ["RealMcp", "connected"]


class RealMcp:
    """Calls the tools of servers that are running."""

    def __init__(
        self, sessions: Mapping[str, Session], elicitations: Sequence[Elicited], timeout: float
    ) -> None:
        self._sessions = sessions
        self._elicitations = tuple(elicitations)
        self._timeout = timeout

    def reads(self, call: ToolCall) -> bool:
        """What the server's listing says."""
        try:
            session, name = self._found(call.tool)
        except ToolError:
            return False
        listed = session.tools.get(name)
        return listed is not None and listed.reads

    def qualified(self, tool: str) -> str:
        """Return `mcp__SERVER__TOOL` for a bare name that one server has, else the name."""
        try:
            session, name = self._found(tool)
        except ToolError:
            return tool
        return f"{session.prefix}{public(name)}"

    async def run(self, call: ToolCall) -> Outcome:
        """Check the arguments against the listing, then ask the server."""
        try:
            session, name = self._found(call.tool)
            listed = session.tools.get(name)
            if listed is not None:
                refuse_misfit(listed.validator, name, call.input)
            elif not isinstance(call.input, dict):
                raise ToolError(f"{name}: the arguments must be a table.")
            session.answers = call.elicitations + self._elicitations
            return await self._asked(session, name, call.input)
        except ToolError as error:
            return failed(str(error))

    async def _asked(self, session: Session, name: str, arguments: dict[str, Any]) -> Outcome:
        import mcp_types as types
        from mcp.shared.exceptions import MCPError

        if session.client is None:
            raise ToolError(_unusable(session))
        try:
            # Its time limit was given to the client; it holds for each round of a call.
            result = await session.client.call_tool(name, arguments)
        except MCPError as error:
            if error.code == types.REQUEST_TIMEOUT:
                raise ToolError(self._late(session, name)) from None
            if error.code == types.CONNECTION_CLOSED:
                raise ToolError(_ended(session)) from None
            raise ToolError(f"MCP error {error.code}: {error.message}") from None
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream):
            raise ToolError(_ended(session)) from None
        # The answer did not fit the protocol, or not the schema that the server listed.
        except Exception as error:
            said = (str(error).splitlines() or [type(error).__name__])[0]
            raise ToolError(
                f"The answer of the server {session.name} is malformed: {said}"
            ) from None
        return _outcome(result)

    def _late(self, session: Session, name: str) -> str:
        milliseconds = round(self._timeout * 1000)
        return f"{name}: the server {session.name} did not answer within {milliseconds:,} ms."

    def _found(self, tool: str) -> tuple[Session, str]:
        """Return the server and the server's own name of a tool."""
        if not self._sessions:
            raise ToolError(f"{tool}: no server is configured; pass --mcp-config.")
        if tool.startswith("mcp__"):
            return self._qualified(tool)
        having = [session for session in self._sessions.values() if tool in session.tools]
        if len(having) == 1:
            return having[0], tool
        if having:
            names = ", ".join(f"{session.prefix}{tool}" for session in having)
            raise ToolError(f"{tool}: several servers have it: {names}.")
        if len(self._sessions) == 1:
            return next(iter(self._sessions.values())), tool
        broken = [session for session in self._sessions.values() if session.failure]
        if broken:
            raise ToolError(_unusable(broken[0]))
        raise ToolError(f"{tool}: no server has a tool of that name.")

    def _qualified(self, tool: str) -> tuple[Session, str]:
        fitting = [
            session for session in self._sessions.values() if tool.startswith(session.prefix)
        ]
        if not fitting:
            known = ", ".join(self._sessions)
            raise ToolError(f"{tool}: no server of that name. Servers: {known}.")
        # Of two servers a and a__b, the longer name is meant.
        session = max(fitting, key=lambda found: len(found.prefix))
        name = tool.removeprefix(session.prefix)
        return session, session.own_names.get(name, name)


def _outcome(result: "mcp_types.CallToolResult") -> Outcome:
    structured = result.structured_content
    return Outcome(
        tuple(
            {"type": "text", "text": block.text}
            if block.type == "text"
            else block.model_dump(mode="json", by_alias=True, exclude_none=True)
            for block in result.content
        ),
        is_error=bool(result.is_error),
        structured=NOT_GIVEN if structured is None else structured,
    )


def _ended(session: Session) -> str:
    return _with_stderr(session, f"The server {session.name} ended during the session.")


def _unusable(session: Session) -> str:
    return _with_stderr(session, f"The server {session.name} {session.failure or 'has ended'}.")


def _with_stderr(session: Session, line: str) -> str:
    written = session.stderr()
    return f"{line} It wrote: {written}" if written else line


@asynccontextmanager
async def connected(
    servers: Mapping[str, Server],
    protocol: str,
    times: Times,
    elicitations: Sequence[Elicited],
) -> AsyncIterator[RealMcp]:
    """Start all servers at once and shut them down at the end; one that fails stops no other."""
    sessions = {name: Session(name, server, protocol, times) for name, server in servers.items()}
    try:
        async with anyio.create_task_group() as group:
            for session in sessions.values():
                group.start_soon(session.live)
            for session in sessions.values():
                await session.ready.wait()
            try:
                yield RealMcp(sessions, elicitations, times.call)
            finally:
                for session in sessions.values():
                    session.stop()
    finally:
        for session in sessions.values():
            session.close()
