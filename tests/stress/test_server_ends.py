"""A server with four calls under way ends when it is told to: children dead, the audit closed."""

import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from scripted import Scripted, until

sys.path.insert(0, str(Path(__file__).parent.parent / "server"))

from piped import Piped

from iac_runtime.audit.reading import AuditQuery, find_calls

pytestmark = [pytest.mark.stress, pytest.mark.process, pytest.mark.timeout(3600)]

TRIALS = 50
"""Of each way to end; four ways make two hundred."""

APPS = ("mail", "notes", "reminders", "calendar")
ELEMENTS = {"mail": "mailbox", "notes": "note", "reminders": "list", "calendar": "calendar"}


@pytest.mark.parametrize(
    "how", ["end of input", signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=repr
)
def test_a_busy_server_ends_and_leaves_nothing(
    osascript: Scripted, tmp_path: Path, how: Any
) -> None:
    for trial in range(TRIALS):
        data = tmp_path / f"{trial}"
        served = Piped(
            data, "--expose", "all", IAC_OSASCRIPT=str(osascript.program), SCRIPTED_START="hangs"
        )
        served.open()
        for app in APPS:
            arguments = {"element": ELEMENTS[app]}
            served.send("tools/call", {"name": f"{app}_count", "arguments": arguments})
        # The server itself is one of the processes that carry the mark.
        assert until(lambda: len(osascript.processes()) >= 1 + len(APPS), 30)
        if how != "end of input":
            served.process.send_signal(how)
            assert served.process.wait(10) == 0
        assert served.close() == 0
        assert osascript.nothing_is_left()
        entries = find_calls(data / "state", AuditQuery(), 100)
        assert sorted(entry.tool for entry in entries) == sorted(f"{app}_count" for app in APPS)
        assert not [entry for entry in entries if entry.result == "running"]
        assert "Traceback" not in served.log.read_text()
