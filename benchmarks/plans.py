"""Twenty everyday tasks, as a plan and as plain calls: calls, questions and tokens side by side.

    python benchmarks/plans.py [MESSAGES]

Each task runs on simulated apps of its own: once as `run_plan`, once as the calls that its program
makes, with what follows one another of one tool sent together as doors take it (`calls`, 20 at
most). With a number the inbox has so many messages. Every question is answered with yes. Tokens are
a quarter of the characters of what the model writes (name and arguments) and reads (results);
what tools there are is not counted, nor thinking between calls, which plain calls have more of.
"""

import json
import os
import sys
import tempfile
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_plans.check import read_program
from iac_plans.interpreter import FrozenWorld, run_program, to_program_value
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.batch import BatchError
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall
from iac_runtime.policy.permissions import Requester, open_permissions
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.checking import to_json_types
from iac_runtime.tools.own import added_tools
from iac_simulator import Simulator
from iac_simulator.simulator import demo_state

ROOT: Final = Path(__file__).parent.parent
TASKS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["task"]
CATALOGUE: Final = Catalogue([ROOT / "generated" / "iac_tools"])
ASKED: Final = Requester("benchmark", ("client",))
TOGETHER: Final = 20
MESSAGES: Final = int(sys.argv[1]) if len(sys.argv) > 1 else 0


class Cost(NamedTuple):
    """What a way of doing a task takes."""

    calls: int = 0
    questions: int = 0
    characters: int = 0

    @property
    def tokens(self) -> int:
        return self.characters // 4


class Desk:
    """A gate on simulated apps, and what was spent there."""

    def __init__(self) -> None:
        state = demo_state()
        inbox = state["mail"]["inbox"]["messages"]
        inbox += [{**inbox[at % 3], "id": 1000 + at} for at in range(len(inbox), MESSAGES)]
        simulator = Simulator(
            [CATALOGUE.load_tables(app) for app in CATALOGUE.apps.values()], state
        )
        permissions = open_permissions(home="/Users/me")
        self.gate = Gate(
            CATALOGUE,
            Executor(simulator),
            home="/Users/me",
            permissions=permissions,
            added=added_tools,
        )
        self.cost = Cost()

    def call(self, call: Call) -> Any:
        """Carry out a call, with yes for its question."""
        asked, outcome = 0, self.gate.call(call)
        while isinstance(outcome, PendingCall):
            asked += 1
            try:
                outcome = self.gate.call(call._replace(token=outcome.token, verdict="once"))
            except BatchError as error:
                self._spend(call, asked, error.facts())
                raise
        assert isinstance(outcome, CompletedCall), outcome
        self._spend(call, asked, outcome.value)
        return outcome.value

    def _spend(self, call: Call, asked: int, answer: Any) -> None:
        sent = json.dumps([call.tool, call.calls or call.arguments], default=str)
        size = len(sent) + len(json.dumps(answer, default=str))
        calls, questions, characters = self.cost
        self.cost = Cost(calls + 1, questions + asked, characters + size)


def as_plan(program: str) -> tuple[Any, Cost]:
    """Return the result of a task as a plan, and what it took."""
    desk = Desk()
    return desk.call(Call("run_plan", {"program": program.strip()}, ASKED))["result"], desk.cost


def as_calls(program: str) -> tuple[Any, Cost]:
    """Return the result of a task as plain calls, and what they took."""
    used, made = read_program(program, CATALOGUE), []
    play = Desk()

    def answer(app: str, function: str, args: Any, named: Any) -> Any:
        name = used.functions[app][function]
        operation = CATALOGUE.load_operation(name)
        given = {**dict(zip(operation.spec.params, args, strict=False)), **named}
        arguments = {key: to_json_types(value) for key, value in given.items() if value is not None}
        made.append((name, arguments))
        return to_program_value(play.call(Call(name, arguments, ASKED)))

    result = run_program(program, used, answer, FrozenWorld(datetime.now(UTC), "x"))
    desk = Desk()
    while made:
        name = made[0][0]
        together = 1
        while together < min(len(made), TOGETHER) and made[together][0] == name:
            together += 1
        group, made = [arguments for _, arguments in made[:together]], made[together:]
        call = Call(name, group[0], ASKED)
        try:
            desk.call(call._replace(arguments={}, calls=tuple(group)) if together > 1 else call)
        except BatchError as error:
            # What was not done is sent again.
            made = [(name, arguments) for arguments in group[error.failed - 1 :]] + made
    return result, desk.cost


def main() -> int:
    """Play all tasks, and print a row for each and the sums."""
    print(f"{'':62}{'plan':>22}{'calls':>22}")
    print(f"{'task':62}{'calls  asked tokens':>22}{'calls  asked tokens':>22}")
    sums = [Cost(), Cost()]
    for task in TASKS:
        (one, plan), (two, calls) = as_plan(task["program"]), as_calls(task["program"])
        assert one == two, task["says"]
        print(f"{task['says'][:60]:62}", end="")
        for at, cost in enumerate((plan, calls)):
            print(f"{cost.calls:9}{cost.questions:6}{cost.tokens:7}", end="")
            sums[at] = Cost(*map(sum, zip(sums[at], cost, strict=True)))
        print()
    print(f"{f'all {len(TASKS)}':62}", end="")
    print("".join(f"{cost.calls:9}{cost.questions:6}{cost.tokens:7}" for cost in sums))
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IAC_DATA"] = folder
        sys.exit(main())
