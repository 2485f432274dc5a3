"""While a call runs: word of it every few seconds, and its end before the client gives up.

A client that sent a token is told how long the call has run, and how far it says it is. Some
clients drop a call after 60 seconds without a word of their own; what would last longer, its wait
for a turn included, is ended here before that, with an answer that says how to go on.
"""

import time
from typing import Any, Final

import anyio
from mcp.shared.exceptions import MCPError

from iac_runtime.errors import ToolError
from iac_runtime.execution.appleerrors import OUTCOME_UNKNOWN
from iac_runtime.execution.cancellation import Cancellation

__all__ = ["EVERY", "PATIENCE", "Vigil"]

EVERY: Final = 3.0
"""Seconds between two reports."""

PATIENCE: Final = 54.0
"""Seconds for a call: 60, less what ending a process that resists takes, and a little."""


class Vigil:
    """Watches over the calls of one request.

    Args:
        context: The SDK's context of the request.
        tool: The tool's name, for what is told.
        patience: Seconds for one call of the gate.
        every: Seconds between two reports.
    """

    def __init__(
        self, context: Any, tool: str, patience: float = PATIENCE, every: float = EVERY
    ) -> None:
        self._context = context
        self._tool = tool
        self._patience = patience
        self._every = every
        self._began = time.monotonic()
        self._over = False

    async def keep(self, cancel: Cancellation) -> None:
        """Report, and cancel what takes too long; runs beside a call until it is cancelled."""
        with anyio.move_on_after(self._patience):
            await self.tell(cancel)
        self._over = True
        cancel.cancel()

    async def tell(self, cancel: Cancellation) -> None:
        """Report, for as long as it takes; runs beside a question to a person.

        Without a token of the client's, the session sends nothing.
        """
        while True:
            await anyio.sleep(self._every)
            seconds = time.monotonic() - self._began
            said = f"{self._tool}: running for {seconds:.0f} seconds"
            if cancel.word:
                said += f"; {cancel.word}"
            try:
                await self._context.session.report_progress(round(seconds, 1), None, said)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError, MCPError):
                # The client is going; the call's own end says so.
                await anyio.sleep_forever()

    def meaning(self, error: ToolError) -> ToolError:
        """Return what to say of an error: of one that is due to the end that was made, another."""
        if not self._over or error.type != "USER_CANCELLED":
            return error
        said = f"The call was not over after {self._patience:g} seconds, and was ended."
        way = "Ask for less: a limit, a filter, fewer properties, or one object."
        if error.suggestion == OUTCOME_UNKNOWN:
            way = OUTCOME_UNKNOWN
        elif not error.suggestion:
            way = "Nothing was sent, for the app was busy. Call again when other calls have ended."
        return ToolError(
            "TIMEOUT",
            said,
            way,
            retryable=way != OUTCOME_UNKNOWN,
            app=error.app,
            command=error.command or self._tool,
        )
