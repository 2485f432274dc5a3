"""The gate's own part of a call: validate, decide, limit, audit, clean; the executor is stubbed.

Prints the median of 1,000 reads and of 300 durable writes, and what of a write is the commit.
Bounds: 0.5 ms for a read, 1.5 ms for a durable write.
"""

import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from iac_base.files import open_state
from iac_runtime.execution.answers import AppAnswer
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.limiter import Limiter, Limits, Window
from iac_runtime.gate.opening import open_audit
from iac_runtime.gate.plans import Call, Done
from iac_runtime.policy.permissions import open_permissions
from iac_runtime.tools.catalogue import Catalogue

TOOLS: Final = Path(__file__).parent.parent / "generated" / "iac_tools"
READ: Final = Call("notes_list", {"element": "note", "limit": 5})
WRITE: Final = Call("notes_make_note", {"name": "Milk", "body": "Two bottles"})
ROWS: Final = {
    "total": 5,
    "by": "id",
    "rows": [[f"x-coredata://{n}", n, [f"Note {n}", f"x-coredata://{n}"]] for n in range(5)],
}


class Stub(Executor):
    """An executor that answers at once."""

    def execute(self, event: Any, **_more: Any) -> AppAnswer:
        if event.op == "list":
            return AppAnswer(None, ROWS, ())
        return AppAnswer({"ref": 'Application("Notes").notes.byId("x-coredata://9")'}, None, ())


def milliseconds(call: Callable[[], object], times: int) -> float:
    """Return the median of `times` calls."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return statistics.median(found) * 1000


def commit(folder: Path) -> float:
    """Return the milliseconds of one bare durable commit on the same disk."""
    base = sqlite3.connect(folder / "bare.db", isolation_level=None)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("PRAGMA synchronous = FULL")
    base.execute("CREATE TABLE rows (text)")
    return milliseconds(lambda: base.execute("INSERT INTO rows VALUES ('x')"), 300)


def main() -> int:
    """Measure; return 1 if a bound is missed."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IAC_DATA"] = folder
        limits = Limits(Window(10**6, 1.0), Window(10**6, 1.0), Window(10**6, 1.0))
        gate = Gate(
            Catalogue([TOOLS]),
            Stub(),
            "MODIFY",
            permissions=open_permissions(),
            audit=open_audit,
            limiter=Limiter(open_state(), limits),
        )

        def run(call: Call) -> None:
            assert isinstance(gate.call(call), Done)

        for call in (READ, WRITE):
            for _ in range(20):
                run(call)
        read = milliseconds(lambda: run(READ), 1000)
        write = milliseconds(lambda: run(WRITE), 300)
        bare = commit(Path(folder))
        gate.close()
    print(f"gate, a read:            {read:.3f} ms (bound 0.5)")
    print(f"gate, a durable write:   {write:.3f} ms (bound 1.5)")
    print(f"one bare commit:         {bare:.3f} ms, {bare / write:.0%} of the write")
    return 0 if read <= 0.5 and write <= 1.5 else 1


if __name__ == "__main__":
    sys.exit(main())
