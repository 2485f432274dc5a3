"""Programs of ours started with all that is not ours already loaded, which costs most of a start.

On Linux one process for all tests of a worker imports what is not ours and forks for each program.
Ours is imported in the fork, so a program begins as it does anywhere. What is started in its stead
hands over its pipes, its environment and its folder, and ends as the program does; where it is
ended, so is the program.
"""

import atexit
import json
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__)
IAC_GEN = "from iac_gen.entry import main\nmain()\n"
IAC_MCP = "import sys\nfrom iac_mcp import entry\nsys.exit(entry.main())\n"


def command(code: str, *arguments: str) -> list[str]:
    """Return the command that runs `python -c code arguments`."""
    if sys.platform != "linux":
        return [sys.executable, "-c", code, *arguments]
    return [sys.executable, "-IS", str(HERE), "ask", _place(), code, *arguments]


def program(folder: Path, name: str, code: str) -> Path:
    """Write a program into a folder that runs `python -c code` with its arguments."""
    file = folder / name
    line = " ".join(map(shlex.quote, command(code)))
    file.write_text(f'#!/bin/sh\nexec {line} "$@"\n')
    file.chmod(0o755)
    return file


@cache
def _place() -> str:
    """Start the process that forks, and return where it listens."""
    folder = tempfile.TemporaryDirectory(prefix="warm")
    place = str(Path(folder.name) / "socket")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen(64)
        # It ends with its stdin, however this process ends. A fork is known by its environment
        # at the start, which is to be no test's.
        server = subprocess.Popen(
            [sys.executable, str(HERE), "serve", str(listening.fileno())],
            env={key: os.environ[key] for key in ("HOME", "LANG", "PATH") if key in os.environ},
            stdin=subprocess.PIPE,
            pass_fds=[listening.fileno()],
        )

    def end() -> None:
        assert server.stdin is not None
        server.stdin.close()
        server.wait()
        folder.cleanup()

    atexit.register(end)
    return place


def ask(place: str, *arguments: str) -> int:
    """Have a fork made that takes the place of this process; return its exit code."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(place)
        told = json.dumps([arguments, dict(os.environ), os.getcwd()]).encode()  # noqa: PTH109
        socket.send_fds(connection, [len(told).to_bytes(8)], [0, 1, 2])
        connection.sendall(told)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        answer = connection.recv(8)
    return int.from_bytes(answer) if answer else 1


def serve(listening: socket.socket) -> Any:
    """Fork for all who ask; what this returns is the work of a fork."""
    import anyio  # noqa: F401
    import black  # noqa: F401
    import click  # noqa: F401
    import jinja2  # noqa: F401
    import jsonschema  # noqa: F401
    import lxml.etree  # noqa: F401
    import mcp.server.lowlevel  # noqa: F401
    import mcp_types  # noqa: F401
    import psutil  # noqa: F401

    # No fork that has ended is left lying about: tests count what is left.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while select.select([listening, 0], [], [])[0] == [listening]:
        connection, _ = listening.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listening.close()
            return keep(connection)
        connection.close()
    return None


def keep(connection: socket.socket) -> Any:
    """Fork once more for the work; end it with who asked, and tell him how it ended."""
    size, pipes, _, _ = socket.recv_fds(connection, 8, 3)
    told = b""
    while len(told) < int.from_bytes(size):
        told += connection.recv(1 << 16)
    ended, ends = os.pipe()
    child = os.fork()
    if child == 0:
        connection.close()
        for number, pipe in enumerate(pipes):
            os.dup2(pipe, number)
            os.close(pipe)
        return json.loads(told)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2, *pipes):
        os.dup2(nothing, number)
    os.close(ends)
    if ended not in select.select([ended, connection], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    connection.sendall((code if code >= 0 else 128 - code).to_bytes(8))
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "ask":
        sys.exit(ask(*sys.argv[2:]))
    work = serve(socket.socket(fileno=int(sys.argv[2])))
    if work is not None:
        (code, *rest), environ, folder = work
        os.environ.clear()
        os.environ.update(environ)
        os.chdir(folder)
        sys.path[:0] = filter(None, environ.get("PYTHONPATH", "").split(os.pathsep))
        sys.argv = ["-c", *rest]
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
