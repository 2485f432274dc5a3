"""What can be said of a scenario without playing it: rules that nothing reaches, checks in vain."""

from collections.abc import Iterator

from iac_scenario.arguments import BUILT_IN
from iac_scenario.errors import Problem
from iac_scenario.model import Scenario
from iac_scenario.modes import calls_of, mode_of

__all__ = ["findings"]


def findings(scenario: Scenario) -> Iterator[Problem]:
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
