"""The gate's own part of a call: validate, decide, limit, audit, clean; answers are played again.

Medians of the processor's time of 1,000 reads and of 300 durable writes, so that a busy disk or
machine does not count (benchmarks/audit.py has the commit). Ends with 1 beyond a bound.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bounds import exit_status, hold_at_most, spin_milliseconds

from iac_base.files import open_state
from iac_runtime.execution.answers import AppAnswer
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.limiter import Limiter, RateLimits, RateWindow
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.language.steps import Event

TOOLS: Final = Path(__file__).parent.parent / "generated" / "iac_tools"
READ: Final = Call("notes_list", {"element": "note", "limit": 5})
WRITE: Final = Call("notes_make_note", {"name": "Milk", "body": "Two bottles"})
READ_SPINS: Final = 2.5
WRITE_SPINS: Final = 9.2


def replay_answers(executor: Executor) -> None:
    """Make an executor answer at once, with what it answered to the same operation before."""
    execute, kept = executor.execute, dict[tuple[str, str], AppAnswer]()

    def replay(event: Event, **more: Any) -> AppAnswer:
        key = event.op, event.command
        if key not in kept:
            kept[key] = execute(event, **more)
        return kept[key]

    vars(executor)["execute"] = replay


def spins(call: Callable[[], object], times: int) -> float:
    """Return the median of the processor's time of `times` calls."""
    found = []
    for _ in range(times):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return statistics.median(found) * 1000 / spin_milliseconds()


def main() -> int:
    """Measure; return 1 if a bound is missed."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IAC_DATA"] = folder
        gate = build_gate(GateOptions([TOOLS], simulate="", allow="MODIFY"))
        window = RateWindow(10**6, 1.0)
        gate._limiter = Limiter(open_state(), RateLimits(window, window, window))
        replay_answers(gate.executor)

        def run(call: Call) -> None:
            assert isinstance(gate.call(call), CompletedCall)

        for call in (READ, WRITE):
            for _ in range(20):
                run(call)
        hold_at_most("gate, a read", spins(lambda: run(READ), 1000), READ_SPINS, "spins")
        hold_at_most("gate, a durable write", spins(lambda: run(WRITE), 300), WRITE_SPINS, "spins")
        gate.close()
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
