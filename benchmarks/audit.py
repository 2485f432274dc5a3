"""What the audit adds to a call, and what a record of many rows costs to read, verify and shorten.

    python benchmarks/audit.py [FOLDER] [--rows 1000000]

Medians of intent and outcome together, for a read and for a write, and of one bare commit of a
row on the same disk; then, in a record of that many rows, of searches by each fact alone and by
several together, of the tail, of following the chain, and the time of dropping nine tenths.
Ends with 1 where a search takes more than 0.3 s of the processor, or the chain 6 s a million rows.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from bounds import exit_status, hold_at_most

from iac_base.sqlite import open_database
from iac_base.text import clean_value
from iac_runtime.audit import Audit, AuditIntent, AuditOutcome, store
from iac_runtime.audit.reading import AuditQuery, find_calls, verify_audit
from iac_runtime.audit.store import FILE, SCHEMA, START, chain_rows
from iac_runtime.audit.upkeep import drop_rows
from iac_runtime.audit.writer import arguments_digest, intent_body
from iac_runtime.gate.limiter import Limiter, RateLimits, RateWindow
from iac_runtime.tool import LEVELS, Level

CALLS = 2_000
REPEATS = 3
ARGUMENTS = {"target": 'accounts["Work"].inbox', "properties": {"read status": True}}
LINE = 'Application("com.apple.mail").accounts["Work"].inbox.readStatus = true'
RESULT = [{"ref": f'notes.byId("x{number}")', "name": "Grüße, Milk"} for number in range(20)]
APPS = ("mail", "Notes", "finder", "Safari", "iCal", "reminders", "Music", "Photos", "TextEdit")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
STEP = timedelta(seconds=30)


Clock = Callable[[], float]


def spent(call: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    """Return the milliseconds of one call."""
    start = clock()
    call()
    return (clock() - start) * 1000


def median(
    call: Callable[[], object], times: int = CALLS, clock: Clock = time.perf_counter
) -> float:
    """Return the median milliseconds of a call."""
    return statistics.median(spent(call, clock) for _ in range(times))


def measure(name: str, call: Callable[[], object], more: str = "") -> float:
    """Print the medians of a call, by the clock and by the processor; return the latter."""
    busy = median(call, REPEATS, time.process_time)
    show(name, median(call, REPEATS), REPEATS, f", {busy:.0f} ms of the processor{more}")
    return busy


def calls(folder: Path) -> None:
    """Print what the audit adds to a call."""
    state = folder / "state"
    audit = Audit.open(state)

    def call(level: Level) -> None:
        intent = AuditIntent("mail_set", level, arguments=ARGUMENTS, line=LINE)
        audit.record_outcome(audit.record_intent(intent), AuditOutcome("done", 0.01))

    show("intent and outcome of a read", median(lambda: call("SAFE")))
    bare = open_database(folder / "bare.db", SCHEMA)
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
    longest = statistics.quantiles(writes, n=100)[-1]
    show("intent and outcome of a write", write, more=f", 99 of 100 within {longest:.1f} ms")
    show("one bare commit", commit, more=f", {commit / write:.0%} of the write")
    # Windows of the usual size that are always free, so that each call takes its place.
    limiter = Limiter(state, RateLimits(*[RateWindow(20, 1e-9)] * 3))
    show("limit of a read or write", median(lambda: limiter.reserve_places("write")))
    show("limit of a dangerous call", median(lambda: limiter.reserve_places("dangerous")))
    show("cleaning a result of 20 items", median(lambda: clean_value(RESULT)))


def written(moment: datetime) -> str:
    """Return a time as a row has it."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def made(count: int) -> Iterator[tuple[str, str, int, str, str]]:
    """Yield the parts of as many rows: calls of nine apps, in words that come seldom or often."""
    rng = random.Random(1)  # noqa: S311 (a sample)
    letters = [rng.choices("eeeettaaooiinnsshhrrddlucmfwypvbgk", k=8) for _ in range(5_000)]
    words = ["".join(word[: 3 + place % 6]) for place, word in enumerate(letters)]
    bodies = []
    for place in range(500):
        app, verb = rng.choice(APPS), rng.choice(("get", "list", "count", "set", "make", "send"))
        kind = AuditIntent(
            f"{app.lower()}_{verb}",
            LEVELS[0 if place % 10 < 6 else 1 if place % 10 < 9 else 2],
            app=f"com.apple.{app}",
            client="Claude",
            source="preset trusted",
            arguments={"target": 'folders["SHORT"]', "properties": {"name": "LONG"}},
            line=f'Application("com.apple.{app}").messages[NUMBER].name = "LONG"',
            effects=((verb, f"com.apple.{app}", "message 7", ""),),
        )
        bodies.append(intent_body(kind)[0].replace(arguments_digest(kind.arguments), "DIGEST"))
    for number in range(count // 2):
        text = " ".join(rng.choices(words, k=8))
        body = rng.choice(bodies).replace("SHORT", text[:12]).replace("LONG", text)
        body = body.replace("DIGEST", arguments_digest({"": text})).replace("NUMBER", str(number))
        session, now = f"{number // 5_000:016x}", written(BEGIN + number * STEP)
        yield now, session, number, "intent", body
        yield now, session, number, "outcome", '{"result":"done","ms":12.345}'


def fill(folder: Path, count: int) -> None:
    """Make a record of `count` rows, indexed, without waiting for the disk."""
    connection = open_database(folder / FILE, SCHEMA)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("BEGIN")
    rows = chain_rows(START, 0, made(count))
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    while store.extend_index(connection):
        pass
    connection.execute("COMMIT")
    connection.close()


def record(folder: Path, count: int) -> None:
    """Print what a record of `count` rows costs."""
    start = time.perf_counter()
    fill(folder, count)
    show(f"making {count:,} rows", (time.perf_counter() - start) * 1000, 1)
    path = folder / FILE
    print(f"{'size':<48} {path.stat().st_size / count:8.0f} bytes a row")
    third = count // 6
    since, until = (written(BEGIN + number * STEP) for number in (third, third * 2))
    slowest = 0.0
    for name, query in {
        "tail": AuditQuery(),
        "app": AuditQuery(app="com.apple.music"),
        "no such app": AuditQuery(app="com.apple.none"),
        "tool": AuditQuery(tool="notes_*"),
        "no such tool": AuditQuery(tool="none_*"),
        "level": AuditQuery(level="DANGEROUS"),
        "time": AuditQuery(until=written(BEGIN + 20 * STEP)),
        "text, often": AuditQuery(text="application"),
        "text, once": AuditQuery(text=f"messages[{third}]"),
        "text, never": AuditQuery(text="message 8 of none"),
        "app and level": AuditQuery(app="com.apple.music", level="DANGEROUS"),
        "app and no tool of it": AuditQuery(app="com.apple.music", tool="notes_*"),
        "app, tool, level, time": AuditQuery(
            "", "com.apple.mail", "", "mail_*", "SAFE", "", since, until
        ),
        "text often, tool": AuditQuery("application", tool="mail_s*"),
        "text often, no such tool": AuditQuery("application", tool="none_*"),
        "text often, time": AuditQuery("application", until=until),
        "text once, all facts": AuditQuery(
            f"messages[{third + 9}]", app="", tool="*_*", since=since, until=until
        ),
        "text of another app": AuditQuery('app":"com.apple.mail', app="com.apple.music"),
        "text never, level": AuditQuery("message 8 of none", level="SAFE"),
        "result": AuditQuery(result="TIMEOUT"),
    }.items():
        found = len(find_calls(folder, query, 20))
        busy = measure(
            f"search by {name}", partial(find_calls, folder, query, 20), f", {found} found"
        )
        # By result alone every call is read.
        slowest = slowest if name == "result" else max(slowest, busy)
    hold_at_most("the slowest search", slowest, 300, "ms")
    hold_at_most("verify", measure("verify", lambda: verify_audit(folder)) / count, 0.006, "ms/row")
    size = path.stat().st_size
    start = time.perf_counter()
    done = drop_rows(folder, written(BEGIN), keep=count // 10)
    show(f"drop of {done.rows:,} rows", (time.perf_counter() - start) * 1000, 1)
    print(
        f"{'size after it':<48} {path.stat().st_size / size:8.1%},"
        f" holds: {verify_audit(folder).is_intact}"
    )


def show(name: str, milliseconds: float, times: int = CALLS, more: str = "") -> None:
    """Print one figure."""
    print(f"{name:<48} {milliseconds:8.3f} ms (median of {times}{more})", flush=True)


def main() -> None:
    """Print the figures; the audits are made in a new folder inside the one that is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=tempfile.gettempdir(), type=Path)
    parser.add_argument("--rows", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        if chosen.rows:
            record(Path(name), chosen.rows)
        else:
            calls(Path(name))


if __name__ == "__main__":
    main()
    sys.exit(exit_status())
