"""What fails a run besides a missed expectation, and what of it is seen without playing.

Nothing passes by accident: a prompt without a rule, a rule without a prompt, a server that is not
there and an error that nobody expected fail a run, unless the scenario allows them where they stand
(`allow_unmatched` and the like) or the caller does (`--allow`).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from iac_scenario.conversation import (
    Conversation,
    EndEvent,
    Event,
    FailureEvent,
    ResultEvent,
    Violation,
    compile_pattern,
)
from iac_scenario.matching import BUILT_IN, fitting_input, schema_validator, schema_violation
from iac_scenario.model import (
    ResponseRule,
    ScenarioProblem,
    ScenarioScript,
    ScriptedReply,
    StdioServer,
    ToolCall,
    Turn,
    reply_chain,
    scenario_calls,
    scenario_replies,
)
from iac_scenario.permissions import call_mode, is_scripted_call
from iac_scenario.results import CallResult, shorten_value

LOOSE: Final[Mapping[str, str]] = {
    "unmatched": "a prompt that no rule matches",
    "unreached": "a rule or turn that no prompt reaches",
    "unjudged": "an expectation of a call that is never made",
    "unstarted": "a server that does not start",
    "protocol": "a server that breaks the protocol",
    "unchecked": "a step of real calls without any expectation",
    "error": "an error that no `is_error` of its call expects",
}
"""What `--allow` takes and `allow_…` loosens."""
_EXPECTS_ERRORS: Final = frozenset(("is_error", "error"))


class RunChecks:
    """Judges one run as it goes on."""

    def __init__(self, scenario: ScenarioScript) -> None:
        self._scenario = scenario
        self._made: set[int] = set()

    def _unless_allowed(self, kind: str, line: int, text: str, *parts: Any) -> Iterator[Violation]:
        if not any(kind in part.allowed for part in (self._scenario, *parts)):
            yield Violation(kind, self._scenario.path.name, line, text)

    def unmatched_prompt(self, prompt: str, number: int) -> Iterator[Violation]:
        """Judge a prompt, the first being 1, that no rule matches."""
        own = self._scenario.prompts[number - 1 : number] == (prompt,)
        line = self._scenario.prompt_lines[number - 1] if own else 0
        text = f"no rule matches the prompt {shorten_value(prompt)!r}"
        yield from self._unless_allowed("unmatched", line, text)

    def check_result(
        self, call: ToolCall, outcome: CallResult, *, scripted: bool
    ) -> Iterator[Violation]:
        """Judge the answer of a call; `call` is the scenario's own."""
        self._made.add(id(call))
        expected = scripted or any(check.kind in _EXPECTS_ERRORS for check in call.expect)
        if outcome.is_error and not expected:
            text = f"{call.tool} failed, and no expectation allows that"
            text += f": {shorten_value(outcome.text)}"
            yield from self._unless_allowed("error", call.line, text, call)

    def unchecked_calls(
        self, line: int, calls: Iterable[ToolCall], *parts: Any
    ) -> Iterator[Violation]:
        """Judge the real calls of one reply together."""
        real = list(calls)
        if real and not any(call.expect or call.capture for call in real):
            text = f"{real[0].tool} was called, but the step has no expectation"
            yield from self._unless_allowed("unchecked", real[0].line or line, text, *parts)

    def server_fault(self, kind: str, name: str, text: str) -> Iterator[Violation]:
        """Judge a server that is `unstarted`, or breaks the `protocol`."""
        server = self._scenario.servers.get(name) or StdioServer()
        yield from self._unless_allowed(kind, server.line, text, server)

    def remaining_violations(self, conversation: Conversation) -> Iterator[Violation]:
        """Judge what is left when the last prompt was answered."""
        left = [*conversation.unreached_rules()]
        for part in left:
            yield from self.unreached_part(part)
        idle = {id(reply) for part in left for reply in _part_replies(part)}
        for reply in scenario_replies(self._scenario):
            for call in reply.calls if id(reply) not in idle else ():
                if call.expect and id(call) not in self._made:
                    text = f"the expectations of {call.tool} were never judged"
                    yield from self._unless_allowed("unjudged", call.expect[0].line, text)
        yield from self.empty_parts()

    def empty_parts(self) -> Iterator[Violation]:
        """Judge rules and turns that say nothing."""
        for rule in self._scenario.rules:
            parts: tuple[ResponseRule | Turn, ...] = (rule, *rule.turns)
            for each in parts:
                if not each.speaks:
                    text = "has neither a response nor a failure"
                    yield from self._unless_allowed("unchecked", each.line, text, each)

    def unreached_part(self, part: ResponseRule | Turn) -> Iterator[Violation]:
        """Judge a rule or turn that no prompt has reached."""
        kind = "rule" if isinstance(part, ResponseRule) else "turn"
        text = f"no prompt reached this {kind}"
        yield from self._unless_allowed("unreached", part.line, text, part)


def _part_replies(part: ResponseRule | Turn) -> Iterator[ScriptedReply]:
    for answered in (part, *(part.turns if isinstance(part, ResponseRule) else ())):
        yield from reply_chain(answered.reply)


def exit_status(events: Iterable[Event]) -> int:
    """Return the exit status of a run: 1 failed or an error result, 2 a partial one, else 0."""
    partial = 0
    for event in events:
        if isinstance(event, Violation) or (isinstance(event, ResultEvent) and event.misses):
            return 1
        if isinstance(event, EndEvent) and event.max_turns:
            return 1
        if isinstance(event, FailureEvent) and event.failure.kind != "malformed_json":
            if event.failure.kind != "partial_response":
                return 1
            partial = 2
    return partial


def static_problems(scenario: ScenarioScript) -> Iterator[ScenarioProblem]:
    """Yield what will fail the run, or hardly be meant, as far as the file alone says it."""
    file = scenario.path.name
    yield from _prompt_problems(scenario) if scenario.prompts else _shadowed_rules(scenario)
    yield from map(_as_problem, _unchecked_parts(scenario))
    for call in scenario_calls(scenario):
        mode, reason = call_mode(call, scenario, None), ""
        if mode == "disabled" and call.expect:
            reason = "has expectations, but the mode disabled runs no call"
        if mode == "mock" and not (call.is_answered or is_scripted_call(call, scenario, None)):
            listed = call.tool == "Bash" and not isinstance(
                scenario.execution.allow_real_bash, bool
            )
            why = ", and is not named by allow_real_bash" if listed else ""
            reason = f"has no result for the mode mock{why}"
        if mode == "simulated" and call.tool not in BUILT_IN:
            reason = f"is not simulated. Simulated: {', '.join(BUILT_IN)}"
        elif mode == "simulated" and not any(one.kind in _EXPECTS_ERRORS for one in call.expect):
            schema = BUILT_IN[call.tool]
            given = fitting_input(schema, call.input)
            reason = schema_violation(schema_validator(json.dumps(schema)), given)
        if reason:
            yield ScenarioProblem(file, call.line, call.tool, f"{reason}.")


def _prompt_problems(scenario: ScenarioScript) -> Iterator[ScenarioProblem]:
    """Hold the scenario's own prompts against its rules, which needs no call."""
    verdict, conversation = RunChecks(scenario), Conversation(scenario)
    violations: list[Violation] = []
    for number, prompt in enumerate(scenario.prompts, 1):
        if not conversation.next_reply(prompt).matched:
            violations += verdict.unmatched_prompt(prompt, number)
    for part in conversation.unreached_rules():
        violations += verdict.unreached_part(part)
    yield from map(_as_problem, violations)


def _as_problem(violation: Violation) -> ScenarioProblem:
    return ScenarioProblem(violation.file, violation.line, "", f"{violation.text}.")


def _unchecked_parts(scenario: ScenarioScript) -> Iterator[Violation]:
    verdict = RunChecks(scenario)
    parts: list[ResponseRule | Turn] = []
    for rule in scenario.rules:
        parts += (rule, *rule.turns)
    for line, reply in [(0, scenario.default), *((part.line, part.reply) for part in parts)]:
        calls = [call for each in reply_chain(reply) for call in each.calls]
        real = (call for call in calls if not is_scripted_call(call, scenario, None))
        yield from verdict.unchecked_calls(line, real, *filter(None, [reply]))
    yield from verdict.empty_parts()


def _shadowed_rules(scenario: ScenarioScript) -> Iterator[ScenarioProblem]:
    """Yield rules that an earlier one leaves nothing to, whatever the prompts are."""
    before: list[ResponseRule] = []
    for rule in scenario.rules:
        pattern = rule.pattern
        for other in before:
            kinds = {pattern.kind, other.pattern.kind}
            known = pattern.kind == "exact" or kinds == {"contains"}
            takes = other.pattern.kind == "any" or other.pattern == pattern
            if takes or (known and compile_pattern(other.pattern)(pattern.text)):
                reason = f"is never reached: the rule of line {other.line} takes every such prompt."
                yield ScenarioProblem(scenario.path.name, rule.line, "responses", reason)
                break
        if rule.max_matches is None:
            before.append(rule)
