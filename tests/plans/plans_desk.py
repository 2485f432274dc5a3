"""A gate on simulated apps, with the tools of plans."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simulated import permissions_under, run_tool, shipped_catalogue, simulate_apps

from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall
from iac_runtime.policy.permissions import Requester
from iac_runtime.tools.own import added_tools

ROOT = Path(__file__).parents[2]
CATALOGUE = shipped_catalogue()
ASKED = Requester("Claude", ("client",))


class Desk:
    """A gate on a simulated Mac; questions are kept, and answered with yes."""

    def __init__(self, state: Any = None, policy: str = "", **more: Any) -> None:
        self.simulator = simulate_apps(CATALOGUE, state)
        self.gate = Gate(
            CATALOGUE,
            Executor(self.simulator),
            home="/Users/me",
            permissions=permissions_under(policy),
            added=added_tools,
            **more,
        )
        self.questions: list[str] = []

    def ask(self, tool: str, **arguments: Any) -> Any:
        return self.gate.call(Call(tool, arguments, ASKED))

    def answer(self, asked: PendingCall, tool: str, **arguments: Any) -> Any:
        self.questions.append(asked.question.text)
        return self.gate.call(Call(tool, arguments, ASKED, token=asked.token, verdict="once"))

    def run(self, tool: str, **arguments: Any) -> Any:
        outcome = self.ask(tool, **arguments)
        while isinstance(outcome, PendingCall):
            outcome = self.answer(outcome, tool, **arguments)
        assert isinstance(outcome, CompletedCall), outcome
        return outcome.value

    def meanwhile(self, tool: str, **arguments: Any) -> None:
        """Change the world behind the gate's back."""
        other = Gate(CATALOGUE, Executor(self.simulator), "DANGEROUS", home="/Users/me")
        run_tool(other, tool, **arguments)

    def before_each(self, look: Callable[[Any], None]) -> None:
        """Have `look` called with each request before it is sent."""
        execute = self.gate.executor.execute

        def first(event: Any, **more: Any) -> Any:
            look(event)
            return execute(event, **more)

        self.gate.executor.execute = first  # type: ignore[method-assign]

    def plan(self, program: str) -> Any:
        return self.run("run_plan", program=program)["result"]

    def read(self, tool: str, **arguments: Any) -> Any:
        return json.loads(json.dumps(self.run(tool, **arguments)))
