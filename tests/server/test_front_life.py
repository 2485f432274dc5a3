"""The life of a server process: its output is the protocol's alone, and it ends when asked."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from talking import ENVELOPE, HANDSHAKE

PROGRAM = Path(__file__).parent / "front_program.py"

pytestmark = pytest.mark.process


class Served:
    """A server process and a client's two pipes to it."""

    def __init__(self, log: Path) -> None:
        self.log = log
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    def send(self, id_: int | None, method: str, params: Any = None) -> None:
        message = {"jsonrpc": "2.0", "method": method}
        message |= {} if id_ is None else {"id": id_}
        message |= {} if params is None else {"params": params}
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout
        heard: dict[str, Any] = json.loads(self.process.stdout.readline())
        return heard

    def open(self) -> None:
        self.send(1, "initialize", HANDSHAKE)
        assert self.hear()["id"] == 1
        self.send(None, "notifications/initialized")

    def child(self) -> int:
        found = re.search(r"child (\d+)", self.log.read_text())
        assert found
        return int(found.group(1))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    found = Served(tmp_path / "log")
    yield found
    found.process.kill()
    found.process.wait()
    for pipe in (found.process.stdin, found.process.stdout):
        with contextlib.suppress(BrokenPipeError):
            assert pipe
            pipe.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_stray_output_never_reaches_the_client(served: Served) -> None:
    served.open()
    for number in range(2, 6):
        served.send(number, "tools/call", {"name": "x"})
        assert served.hear()["id"] == number
    assert "a stray print" in served.log.read_text()
    assert "a stray write" in served.log.read_text()


@pytest.mark.sweep
@pytest.mark.parametrize("how", ["end of input", signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("busy", [False, True])
def test_the_server_ends_and_takes_its_children_with_it(
    served: Served, how: Any, busy: bool
) -> None:
    served.open()
    served.send(2, "tools/call", {"name": "x"})
    served.hear()
    child = served.child()
    if busy:
        served.send(3, "tools/call", {"name": "slow"})
        served.send(4, "ping")
        served.hear()
    assert alive(child)
    assert served.process.stdin
    if how == "end of input":
        served.process.stdin.close()
    else:
        served.process.send_signal(how)
    assert served.process.wait(timeout=20) == 0
    assert not alive(child)
    assert "closed" in served.log.read_text()


def test_calls_that_run_when_the_input_ends_are_answered(served: Served) -> None:
    for number in range(2, 12):
        served.send(number, "tools/call", {"_meta": ENVELOPE, "name": "x"})
    assert served.process.stdin
    served.process.stdin.close()
    assert served.process.stdout
    heard = [json.loads(line)["id"] for line in served.process.stdout]
    assert sorted(heard) == list(range(2, 12))


def test_a_client_that_goes_away_ends_the_server(served: Served) -> None:
    served.open()
    assert served.process.stdout
    served.process.stdout.close()
    served.send(2, "ping")
    served.send(3, "ping")
    assert served.process.wait(timeout=20) == 0


def test_a_message_that_is_too_long_is_dropped_and_the_next_is_answered(served: Served) -> None:
    served.open()
    assert served.process.stdin
    for _ in range(33):
        served.process.stdin.write(b"x" * 1024 * 1024)
    served.process.stdin.write(b"\n")
    served.send(5, "ping")
    assert served.hear()["id"] == 5
    assert "32 MB" in served.log.read_text()
