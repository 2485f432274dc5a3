"""One trial: kill a program that audits, start again, and say what is missing."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

from iac_runtime.audit.reading import AuditQuery, find_calls, verify_audit
from iac_runtime.audit.writer import Audit, AuditIntent, AuditOutcome

WORKER = Path(__file__).with_name("audit_worker.py")


def rows_of(folder: Path, sql: str, *values: object) -> list[tuple]:
    """Read the database as it is, past our own reading."""
    connection = sqlite3.connect(folder / "audit.db")
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


def trial(folder: Path, rng: random.Random, *, at_work: bool) -> tuple[int, list[str]]:
    """Kill a worker within a second of its start, or of its first call if `at_work`.

    Returns:
        How many intents were acknowledged, and what is wrong, a line each.
    """
    worker = subprocess.Popen([sys.executable, str(WORKER), str(folder)], stdout=subprocess.PIPE)
    assert worker.stdout is not None
    lines = [worker.stdout.readline()] if at_work else []
    threading.Timer(rng.random(), os.kill, (worker.pid, signal.SIGKILL)).start()
    lines += worker.stdout
    acknowledged = [int(line) for line in lines if line.endswith(b"\n")]
    worker.wait()
    worker.stdout.close()

    after = Audit.open(folder)
    after.record_outcome(
        after.record_intent(AuditIntent("probe", "MODIFY")), AuditOutcome("done", 0.0)
    )
    after.close()
    wrong = list(verify_audit(folder).faults)
    # The probe's run is the last; where the worker got so far, its own is the one before.
    sessions = [
        row[0] for row in rows_of(folder, "SELECT session FROM rows WHERE event = 'opened'")
    ]
    session = sessions[-2] if len(sessions) > 1 else ""
    found = rows_of(folder, "SELECT call, event FROM rows WHERE session = ?", session)
    intents = {call for call, event in found if event == "intent"}
    ended = {call for call, event in found if event in ("outcome", "interrupted")}
    wrong += [
        f"call {call} was acknowledged and is lost" for call in acknowledged if call not in intents
    ]
    wrong += [f"call {call} has no outcome and no mark" for call in intents - ended]
    for (body,) in rows_of(folder, "SELECT body FROM rows"):
        json.loads(body)
    check = rows_of(folder, "PRAGMA integrity_check")
    wrong += [str(row) for row in check if row != ("ok",)]
    wrong += [
        f"{entry.seq} still runs" for entry in find_calls(folder, AuditQuery(result="running"), 9)
    ]
    return len(acknowledged), wrong
