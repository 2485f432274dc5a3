"""What an executor is: something that carries a call out and answers an outcome."""

from typing import Protocol

from iac_scenario.model import ToolCall
from iac_scenario.outcome import Outcome

__all__ = ["Executor"]


class Executor(Protocol):
    """A level of reality."""

    def reads(self, call: ToolCall, /) -> bool:
        """Whether the call is known to change nothing."""
        ...

    async def run(self, call: ToolCall, /) -> Outcome:
        """Carry a call out. What goes wrong is an error outcome, never an exception."""
        ...
