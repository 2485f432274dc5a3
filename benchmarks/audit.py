"""What the audit adds to a call, and how much of it is the commit.

Medians of intent and outcome together, for a read and for a write, and of one bare commit of a
row on the same disk.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from iac_base.sqlite import open_database
from iac_base.text import clean
from iac_runtime.audit import Audit, AuditIntent, AuditOutcome
from iac_runtime.audit.store import SCHEMA
from iac_runtime.gate.limiter import Limiter, Limits, Window
from iac_runtime.tool import Level

CALLS = 2_000
ARGUMENTS = {"target": 'accounts["Work"].inbox', "properties": {"read status": True}}
LINE = 'Application("com.apple.mail").accounts["Work"].inbox.readStatus = true'
RESULT = [{"ref": f'notes.byId("x{number}")', "name": "Grüße, Milk"} for number in range(20)]


def spent(call: Callable[[], object]) -> float:
    """Return the milliseconds of one call."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def median(call: Callable[[], object]) -> float:
    """Return the median milliseconds of a call."""
    return statistics.median(spent(call) for _ in range(CALLS))


def main(folder: Path) -> None:
    """Print the medians; the audit is made in a new folder inside `folder`."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        state = Path(name) / "state"
        audit = Audit.open(state)

        def call(level: Level) -> None:
            intent = AuditIntent("mail_set", level, arguments=ARGUMENTS, line=LINE)
            audit.outcome(audit.intent(intent), AuditOutcome("done", 0.01))

        show("intent and outcome of a read", median(lambda: call("SAFE")))
        bare = open_database(Path(name) / "bare.db", SCHEMA)
        bare.execute("CREATE TABLE bare (body TEXT)")
        writes, commits = [], []
        # In turns, so that both meet the disk in the same state.
        for _ in range(CALLS):
            writes.append(spent(lambda: call("MODIFY")))
            bare.execute("BEGIN IMMEDIATE")
            bare.execute("INSERT INTO bare VALUES (?)", ("x" * 600,))
            commits.append(spent(lambda: bare.execute("COMMIT")))
        bare.close()
        audit.close()
        write, commit = statistics.median(writes), statistics.median(commits)
        show("intent and outcome of a write", write)
        show("one bare commit", commit, f", {commit / write:.0%} of the write")
        # Windows of the usual size that are always free, so that each call takes its place.
        limiter = Limiter(state, Limits(*[Window(20, 1e-9)] * 3))
        show("limit of a read or write", median(lambda: limiter.take("write")))
        show("limit of a dangerous call", median(lambda: limiter.take("dangerous")))
        show("cleaning a result of 20 items", median(lambda: clean(RESULT)))


def show(name: str, milliseconds: float, more: str = "") -> None:
    """Print one figure."""
    print(f"{name:<32} {milliseconds:8.3f} ms (median of {CALLS}{more})")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir()))
