"""A program that audits calls from several threads until it is killed.

It prints `session call` for each intent once that is acknowledged as durable. With a second
argument it stops after that many calls a thread, and closes.
"""

import os
import sys
import threading
from pathlib import Path

from iac_runtime.audit.writer import Audit, AuditIntent, AuditOutcome


def work(audit: Audit, number: int, calls: int | None) -> None:
    done = 0
    while calls is None or done < calls:
        done += 1
        write = done % 3 > 0
        level = "MODIFY" if write else "SAFE"
        arguments = {"target": f"notes[{done}]", "properties": {"body": "x" * (done % 500)}}
        call = audit.record_intent(
            AuditIntent("notes_set", level, client=f"t{number}", arguments=arguments)
        )
        if write:
            # One write of less than a page of the pipe is never mixed with another thread's.
            os.write(1, f"{call}\n".encode())
        audit.record_outcome(call, AuditOutcome("done", 0.001))


def main() -> None:
    audit = Audit.open(Path(sys.argv[1]))
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else None
    threads = [threading.Thread(target=work, args=(audit, n, calls)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    audit.close()


if __name__ == "__main__":
    main()
