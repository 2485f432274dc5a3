"""At which level of reality a call is carried out."""

from collections.abc import Iterator

from iac_scenario.arguments import BUILT_IN
from iac_scenario.model import Mode, ScenarioScript, ScriptedReply, ToolCall


def mode_of(call: ToolCall, scenario: ScenarioScript, wanted: Mode | None) -> Mode:
    """Return the mode of a call: the caller's wish, else its tool's, else the file's.

    `live` becomes one of the others; so does real_mcp for a tool of Claude's own, which no server
    has.
    """
    execution = scenario.execution
    setting = execution.tools.get(call.tool)
    mode = wanted or (setting.mode if setting is not None else None) or execution.mode
    if mode == "live" and (call.result is not None or call.error is not None):
        return "mock"
    if mode in ("live", "real_mcp"):
        return "simulated" if call.tool in BUILT_IN else "real_mcp"
    return mode


def replies_of(scenario: ScenarioScript) -> Iterator[ScriptedReply]:
    """Yield every reply that a scenario has."""
    if scenario.default is not None:
        yield scenario.default
    for rule in scenario.rules:
        yield rule.reply
        yield from (turn.reply for turn in rule.turns)


def calls_of(scenario: ScenarioScript) -> Iterator[ToolCall]:
    """Yield every call that a scenario names."""
    for reply in replies_of(scenario):
        yield from reply.calls
