"""The way of one call through the house: the files it enters, the moves between them.

One read and one write of Notes through the gate to a worker osascript, with the policy, the limits
and the audit on. The first call of each is not counted, for it loads what it needs.
Prints the number of hand-written files entered and of moves between files (a call of a function
that lies in another file, and the return from it); ends with 1 beyond a bound.
"""

import os
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Final

from bounds import OSASCRIPT, exit_status, hold_at_most

from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.gate.plans import Call, CompletedCall

ROOT: Final = Path(__file__).parent.parent
TOOLS: Final = ROOT / "generated" / "iac_tools"
OURS: Final = tuple(str(ROOT / name) + os.sep for name in ("runtime", "generator"))
BESIDE: Final = str(ROOT / "runtime" / "iac_simulator")


CALLS: Final = {
    "read": Call("notes_list", {"element": "note", "limit": 5}),
    "write": Call("notes_make_note", {"name": "Milk", "body": "Two bottles"}),
}
BOUNDS: Final = {"read": (41, 228), "write": (59, 454)}
"""Files and moves."""


def ours(frame: FrameType) -> bool:
    """Say whether a frame is of hand-written code; the simulated Mac does not count."""
    name = frame.f_code.co_filename
    return name.startswith(OURS) and not name.startswith(BESIDE)


class Way:
    """A profile function that follows one call."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.moves = 0
        self._at: dict[int, str] = {}

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Note a call or a return."""
        if event not in ("call", "return"):
            return
        seen: FrameType | None = frame if event == "call" else frame.f_back
        while seen is not None and not ours(seen):
            seen = seen.f_back
        if seen is None:
            return
        name = seen.f_code.co_filename
        thread = threading.get_ident()
        if self._at.get(thread, name) != name:
            self.moves += 1
        self._at[thread] = name
        self.files.add(name)


def follow(gate: Gate, call: Call) -> Way:
    """Return the way of the second of two calls."""
    assert isinstance(gate.call(call), CompletedCall)
    way = Way()
    threading.setprofile(way)
    sys.setprofile(way)
    try:
        gate.call(call)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return way


def main() -> int:
    """Follow a read and a write; with `-v` name the files."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IAC_DATA"] = folder
        os.environ["IAC_OSASCRIPT"] = OSASCRIPT
        gate = build_gate(GateOptions([TOOLS], allow="MODIFY", launch=["notes"]))
        for name, call in CALLS.items():
            way = follow(gate, call)
            files, moves = BOUNDS[name]
            hold_at_most(f"{name}: files", len(way.files), files)
            hold_at_most(f"{name}: moves between files", way.moves, moves)
            if "-v" in sys.argv:
                print(*sorted(f"  {Path(file).relative_to(ROOT)}" for file in way.files), sep="\n")
        gate.close()
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
