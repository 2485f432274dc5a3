"""One server over stdio: started, listed, kept open, its standard error kept in a file."""

import logging
import math
import tempfile
from collections import deque
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

import anyio
from jsonschema import Draft202012Validator

from iac_scenario.model import Elicited, Server
from iac_scenario.naming import public
from iac_scenario.patterns import matcher

if TYPE_CHECKING:
    import mcp_types as types
    from mcp import Client
    from mcp.client.session import ElicitationFnT

__all__ = ["Listed", "Session", "Times"]

_TAIL: Final = 6
"""Lines of a server's standard error that an error shows."""
_PAGES: Final = 1000


# The SDK warns of each call of a tool that is not listed; a scenario says what it expects itself.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class Times(NamedTuple):
    """Seconds a server has to start and to answer a call."""

    start: float
    call: float


class Listed(NamedTuple):
    """A tool as its server lists it: its name, the compiled schema, whether it only reads."""

    name: str
    validator: Any
    reads: bool


class Session:
    """A server from start to shutdown.

    `failure` says why it cannot be used, or is empty. `prefix` begins the names of its tools as
    clients write them; `own_names` leads from what follows it to the server's own name.
    """

    def __init__(self, name: str, server: Server, protocol: str, times: Times) -> None:
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
        self._times = times
        self._stop = anyio.Event()
        self._errors: IO[str] = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115

    async def live(self) -> None:
        """Start, list, and stay until `stop`; every failure ends up in `failure`."""
        deadline = anyio.current_time() + self._times.start
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
                self.failure = f"did not start within {self._times.start:g} s"
        # Whatever a foreign server provokes is that server's failure, never the run's.
        except Exception as error:
            self.failure = self.failure or f"cannot be used: {_innermost(error)}"
        finally:
            self.client = None
            self.ready.set()

    def stop(self) -> None:
        """Let the server end."""
        self._stop.set()

    def stderr(self) -> str:
        """Return the last lines that the server wrote to standard error."""
        self._errors.seek(0)
        return "".join(deque(self._errors, _TAIL)).strip()

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
            read_timeout_seconds=self._times.call,
        )

    def _elicited(self) -> "ElicitationFnT":
        from mcp_types import ElicitResult

        async def answer(context: Any, params: "types.ElicitRequestParams") -> ElicitResult:  # noqa: ARG001
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
            found[tool.name] = Listed(tool.name, Draft202012Validator(tool.input_schema), reads)
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
