"""At which level of reality a call is carried out."""

from collections.abc import Iterator

from iac_scenario.arguments import BUILT_IN
from iac_scenario.model import Mode, ScenarioScript, ScriptedReply, ToolCall


def call_mode(call: ToolCall, scenario: ScenarioScript, wanted: Mode | None) -> Mode:
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


def scenario_replies(scenario: ScenarioScript) -> Iterator[ScriptedReply]:
    """Yield every reply that a scenario has, each before what follows it."""
    firsts = [scenario.default, *(rule.reply for rule in scenario.rules)]
    firsts += [turn.reply for rule in scenario.rules for turn in rule.turns]
    for reply in firsts:
        yield from reply_chain(reply)


def reply_chain(reply: ScriptedReply | None) -> Iterator[ScriptedReply]:
    """Yield a reply and what is said after each result."""
    while reply is not None:
        yield reply
        reply = reply.then


def scenario_calls(scenario: ScenarioScript) -> Iterator[ToolCall]:
    """Yield every call that a scenario names."""
    for reply in scenario_replies(scenario):
        yield from reply.calls
