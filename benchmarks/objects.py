"""What the typed objects cost over the functions: the import, and a read.

    python benchmarks/objects.py [APP]

Prints milliseconds of the processor for the imports, and microseconds of one read either way (the
least of five rounds, on a simulated app).
"""

import importlib.util
import os
import py_compile
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import iac_runtime
from iac_tools import notes


def spent(work: Callable[[], Any]) -> float:
    """Return the seconds of the processor that `work` takes."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def least(work: Callable[[], Any], calls: int = 300) -> float:
    """Return microseconds of one call, the least of five rounds."""

    def all_of_them() -> None:
        for _ in range(calls):
            work()

    return min(spent(all_of_them) for _ in range(5)) / calls * 1e6


def main(key: str) -> None:
    """Print the figures; `key` is the app whose objects are imported."""
    importlib.import_module(f"iac_tools.{key}")
    # As after a first import; the environment may keep bytecode from being written.
    for name in ("iac_runtime.objects", f"iac_tools.{key}_objects"):
        found = importlib.util.find_spec(name)
        assert found is not None
        assert found.origin is not None
        py_compile.compile(found.origin)
    room = spent(lambda: importlib.import_module("iac_runtime.objects"))
    layer = spent(lambda: importlib.import_module(f"iac_tools.{key}_objects"))
    print(f"import of iac_runtime.objects: {room * 1000:.1f} ms")
    print(f"import of the objects of {key}: {layer * 1000:.1f} ms")
    with iac_runtime.connect(simulate=True):
        note = notes.app.notes[0]
        note.name()
        answer = notes.get("notes[0].name")
        # The same answer at once, so that only what lies before and behind the call is measured.
        notes.get = lambda *_, **__: answer  # type: ignore[assignment]
        from iac_runtime.tool import spec_of

        notes.get.__iac_tool__ = spec_of(notes.list)  # type: ignore[attr-defined]
        read = least(note.name, 5000)
        call = least(lambda: notes.get("notes[0].name"), 5000)
    print(f"read of a property: {read:.1f} us, call of the function: {call:.1f} us")
    print(f"more for the object: {read - call:.1f} us")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as data:
        # Every call is recorded, and these not among the user's own.
        os.environ["IAC_DATA"] = data
        main(sys.argv[1] if len(sys.argv) > 1 else "system_events")
