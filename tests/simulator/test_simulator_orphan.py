"""A server that is killed leaves no osascript behind that goes on with its work."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from iac_runtime.execution.executor import load_harness, request_bytes
from iac_runtime.language.request import Column, Event
from iac_runtime.language.steps import AllElements

SERVER = """
import subprocess, sys, time
argv = [sys.executable, "-m", "iac_simulator.osascript", "-l", "JavaScript", "-e", sys.argv[1]]
child = subprocess.Popen(argv, stdin=subprocess.PIPE)
child.stdin.write(open(sys.argv[2], "rb").read())
child.stdin.close()
print(child.pid, flush=True)
time.sleep(600)
"""


def test_what_a_killed_server_started_ends_between_two_events(tmp_path: Path) -> None:
    faults, log, request = (tmp_path / name for name in ("f.json", "events", "request"))
    faults.write_text(json.dumps({"fault": [{"times": 0, "delay": 0.5}]}))
    columns = tuple(Column(name, name) for name in ("name", "body", "id") * 40)
    wanted = Event(
        "com.apple.Notes", "application", "columns", "coregetd", target=(AllElements("notes"),),
        columns=columns, writes=False,
    )  # fmt: skip
    request.write_bytes(request_bytes(wanted, "mark"))
    environment = {
        **os.environ, "IAC_SIMULATOR_FAULTS": str(faults), "IAC_SIMULATOR_EVENTS": str(log),
    }  # fmt: skip
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, load_harness(), str(request)],
        stdout=subprocess.PIPE,
        env=environment,
    )
    with server:
        assert server.stdout is not None
        child = psutil.Process(int(server.stdout.readline()))
        while not log.exists() or not log.read_text():
            assert child.is_running()
        server.send_signal(signal.SIGKILL)
    # Two minutes of events were still to come.
    psutil.wait_procs([child], timeout=30)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    assert len(log.read_text().splitlines()) < len(columns)
