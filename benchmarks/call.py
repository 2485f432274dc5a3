"""What a call costs on the simulated apps: through the gate, and the simulator's share of it."""

import statistics
import time

import iac_runtime
from iac_tools import mail, notes

CALLS = 300


def main() -> None:
    """Print medians of calls of three kinds, in one run."""
    with iac_runtime.connect(simulate=True):
        calls = (
            ("get one property", lambda: mail.get("inbox.unreadCount")),
            (
                "count with a filter",
                lambda: mail.count("message", of="inbox", where={"read status": False}),
            ),
            ("list three columns", lambda: notes.list("note", properties=["name", "body"])),
        )
        for name, call in calls:
            call()
            times = []
            for _ in range(CALLS):
                start = time.perf_counter()
                call()
                times.append(time.perf_counter() - start)
            print(f"{name:<24} {statistics.median(times) * 1000:8.2f} ms (median of {CALLS})")


if __name__ == "__main__":
    main()
