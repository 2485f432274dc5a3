"""The way of one call through the house, counted in a real server.

A client calls over MCP: a list, a make, whether an app runs, and a delete that its person approves.
The server's own functions are followed from the line that comes to the line that goes, in all of
its threads: the hand-written files that are entered, the moves between them (a call of a function
that lies in another file, and the return from it), and how often what should be done once is done.
The shortest of three counts; the call before them loads what is needed. Simulated apps answer, in
processes of their own. Ends with 1 beyond a bound; with `-v` the files are named.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Final

from bounds import OSASCRIPT, exit_status, hold_at_most

ROOT: Final = Path(__file__).parent.parent
OURS: Final = tuple(str(ROOT / name) + os.sep for name in ("runtime", "generator"))
BESIDE: Final = str(ROOT / "runtime" / "iac_simulator")

CALLS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "list": ("notes_list", {"element": "note", "limit": 5}),
    "make": ("notes_make_note", {"name": "Milk", "body": "Two bottles"}),
    "running": ("app_running", {"app": "notes"}),
    "delete": ("notes_delete", {"target": "notes[0]"}),
}
COUNTED: Final = {
    "references parsed": ("read_syntax", "syntax.py"),
    "effects derived": ("request_effects", "effects.py"),
    "policy asked": ("decide_by_layers", "decide.py"),
}
"""What a call does once: a function and the file that it lies in."""

BOUNDS: Final[Mapping[str, tuple[int, int, int, int, int]]] = {
    "list": (42, 246, 1, 1, 1),
    "make": (65, 738, 4, 1, 2),
    "running": (35, 172, 0, 1, 1),
    "delete": (62, 840, 2, 2, 3),
}
"""Files, moves, and what is counted. A reference that an app answers with is parsed, too; what a
delete names is shown to its person by a read, which has effects and a judgement of its own. What a
person approved is judged again, for a rule may be new."""


WHAT: Final = ("files", "moves between files", *COUNTED)


class Way:
    """A profile function that follows the calls of a server, between two signals."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begin()

    def _begin(self) -> None:
        self.files: set[str] = set()
        self.moves = 0
        self.counts: Counter[str] = Counter()
        self._at: dict[int, str] = {}

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Note a call or a return."""
        if event not in ("call", "return"):
            return
        seen: FrameType | None = frame if event == "call" else frame.f_back
        while seen is not None and not is_handwritten(seen):
            seen = seen.f_back
        if seen is None:
            return
        name = seen.f_code.co_filename
        if event == "call" and seen is frame:
            self.counts[f"{frame.f_code.co_name} {Path(name).name}"] += 1
        thread = threading.get_ident()
        if self._at.get(thread, name) != name:
            self.moves += 1
        self._at[thread] = name
        self.files.add(name)

    def write(self, _number: int, _frame: object) -> None:
        """Write what was counted, and begin anew."""
        done = {"files": sorted(self.files), "moves": self.moves, "counts": self.counts}
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(done))
        part.replace(self._path)
        self._begin()


def is_handwritten(frame: FrameType) -> bool:
    """Say whether a frame is of hand-written code; the simulated Mac does not count."""
    name = frame.f_code.co_filename
    return name.startswith(OURS) and not name.startswith(BESIDE)


def serve_followed(path: Path) -> None:
    """Serve over stdio, followed; the signal USR1 writes what was counted to `path`."""
    from iac_mcp.entry import main

    way = Way(path)
    signal.signal(signal.SIGWINCH, way.write)
    threading.setprofile(way)
    sys.setprofile(way)
    sys.argv = ["iac-mcp", "serve"]
    main()


class Client:
    """A client of the followed server, whose person approves what is asked."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "way.json"
        named = {"IAC_DATA": str(folder / "data"), "IAC_OSASCRIPT": OSASCRIPT}
        self._server = subprocess.Popen(
            [sys.executable, __file__, "--serve", str(self._path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **named},
        )
        shape = {"name": "way", "version": "1"}
        asks = {"elicitation": {}}
        hello = {"protocolVersion": "2025-11-25", "capabilities": asks, "clientInfo": shape}
        self._ask("initialize", hello)
        self._send({"method": "notifications/initialized"})

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._server.stdin.flush()

    def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        assert self._server.stdout is not None
        self._send({"id": 1, "method": method, "params": params})
        while line := self._server.stdout.readline():
            message = json.loads(line)
            if message.get("method") == "elicitation/create":
                # An answer that comes at once is nobody's.
                time.sleep(1.2)
                agreed = {"action": "accept", "content": {"answer": "Allow once"}}
                self._send({"id": message["id"], "result": agreed})
            elif message.get("id") == 1:
                return message["result"]
        raise SystemExit("the server ended")

    def follow(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool four times; return what was counted of the shortest but for the first.

        What the server does by the clock beside a call is not its way.
        """
        counted = []
        self._read_counts()
        for _ in range(4):
            result = self._ask("tools/call", {"name": tool, "arguments": arguments})
            if result.get("isError"):
                raise SystemExit(f"{tool} failed: {result['content']}")
            counted.append(self._read_counts())
        return min(counted[1:], key=lambda count: count["moves"])

    def _read_counts(self) -> dict[str, Any]:
        """Return what was counted since this was asked last."""
        self._path.unlink(missing_ok=True)
        self._server.send_signal(signal.SIGWINCH)
        while not self._path.exists():
            time.sleep(0.01)
        counts: dict[str, Any] = json.loads(self._path.read_text())
        return counts

    def close(self) -> None:
        """End the server."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(timeout=30)


def main() -> int:
    """Follow the calls, and hold their figures to the bounds."""
    if "--serve" in sys.argv:
        serve_followed(Path(sys.argv[-1]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        client = Client(Path(folder))
        for name, (tool, arguments) in CALLS.items():
            way = client.follow(tool, arguments)
            counts = (
                way["counts"].get(f"{function} {file}", 0) for function, file in COUNTED.values()
            )
            figures = (len(way["files"]), way["moves"], *counts)
            for what, figure, bound in zip(WHAT, figures, BOUNDS[name], strict=True):
                hold_at_most(f"{name}: {what}", figure, bound)
            if "-v" in sys.argv:
                print(
                    *sorted(f"  {Path(file).relative_to(ROOT)}" for file in way["files"]), sep="\n"
                )
        client.close()
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
