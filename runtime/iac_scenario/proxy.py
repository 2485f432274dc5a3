"""Stands between a client and a server on standard input and output, and notes every message.

Each line goes on as it came, byte for byte. It is noted first: so an answer never stands before
what it answers.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Literal

from iac_scenario.errors import SetupError

__all__ = ["pass_on"]

Side = Literal["client", "server"]


def pass_on(command: Sequence[str], log: Path) -> int:
    """Run the server until one side ends, append JSON lines to `log`, return the server's status.

    A line of the log: `{"at": nanoseconds, "from": "client" or "server", "message": object}`.
    Raises SetupError where the server cannot be started.
    """
    try:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        raise SetupError(f"{command[0]}: {error.strerror}.") from None
    assert server.stdin is not None
    assert server.stdout is not None
    # What was said may hold secrets until they are taken out.
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb", buffering=0) as notes:
        upward = threading.Thread(
            target=_pump, args=(sys.stdin.buffer, server.stdin, notes, "client"), daemon=True
        )
        upward.start()
        _pump(server.stdout, sys.stdout.buffer, notes, "server")
        return server.wait()


def _pump(source: IO[bytes], target: IO[bytes], notes: IO[bytes], side: Side) -> None:
    try:
        while line := source.readline():
            _note(notes, side, line)
            target.write(line)
            target.flush()
    except (BrokenPipeError, ValueError):
        # The other side is gone; the server's end is seen by its status.
        pass
    finally:
        if side == "client":
            target.close()


def _note(notes: IO[bytes], side: Side, line: bytes) -> None:
    try:
        message = json.loads(line)
    except ValueError:
        return
    entry = {"at": time.time_ns(), "from": side, "message": message}
    # One write a line: two servers never mix their lines.
    notes.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
