"""At which level of reality a call is carried out, and what can be said without playing."""

from collections.abc import Iterator

from iac_scenario.arguments import BUILT_IN
from iac_scenario.errors import Problem
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


def calls_of(scenario: ScenarioScript) -> Iterator[ToolCall]:
    """Yield every call that a scenario names."""
    replies: list[ScriptedReply] = [scenario.default] if scenario.default is not None else []
    for rule in scenario.rules:
        replies += [rule.reply, *(turn.reply for turn in rule.turns)]
    for reply in replies:
        yield from reply.calls
        if reply.then is not None:
            replies.append(reply.then)


def findings(scenario: ScenarioScript) -> Iterator[Problem]:
    """Yield what is allowed by the format and will hardly be meant."""
    file = scenario.path.name
    covered = 0
    for entry in scenario.rules:
        if covered:
            said = f"is never reached: the rule of line {covered} takes every prompt."
            yield Problem(file, entry.line, "responses", said)
        if entry.pattern.kind == "any" and entry.max_matches is None:
            covered = covered or entry.line
    for call in calls_of(scenario):
        mode = mode_of(call, scenario, None)
        if mode == "disabled" and call.expect:
            said = "has expectations, but the mode disabled runs no call."
            yield Problem(file, call.line, call.tool, said)
        if mode == "mock" and call.result is None and call.error is None and call.failure is None:
            yield Problem(file, call.line, call.tool, "has no result for the mode mock.")
        if mode == "simulated" and call.tool not in BUILT_IN:
            said = f"is not simulated. Simulated: {', '.join(BUILT_IN)}."
            yield Problem(file, call.line, call.tool, said)
