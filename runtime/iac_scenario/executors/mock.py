"""The results that the scenario itself gives."""

from iac_scenario.arguments import READERS
from iac_scenario.model import ToolCall
from iac_scenario.outcome import Outcome, failed, given

__all__ = ["Disabled", "Mock"]


class Mock:
    """Answers each call with its own `result` or `error`."""

    def reads(self, call: ToolCall) -> bool:
        """Only the tools of Claude's own are known."""
        return call.tool in READERS

    async def run(self, call: ToolCall) -> Outcome:
        """Return what the file gives, or an error that it gives nothing."""
        if call.error is not None:
            return failed(call.error)
        if call.result is None:
            return failed(f"The scenario gives no result for this call of {call.tool}.")
        return given(call.result)


class Disabled:
    """Carries nothing out."""

    def reads(self, _call: ToolCall, /) -> bool:
        """Nothing happens, so nothing is asked."""
        return True

    async def run(self, _call: ToolCall, /) -> Outcome:
        """Return an outcome that is none."""
        return Outcome((), executed=False)
