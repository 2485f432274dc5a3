"""What a server has loaded when it has answered: a start pays for each module, whatever the clock.

`python tests/server/test_loaded_modules.py --write` rewrites the lists, and fails if any differed.
"""

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import pytest
from piped import SERVE, Piped

LISTS: Final = Path(__file__).with_name("loaded_modules.json")
"""Step -> the modules that it loads beside those of the steps before."""

DEAR: Final = frozenset(
    "asyncio dataclasses email http importlib.metadata inspect logging sqlite3 ssl subprocess"
    " tempfile tomllib xml".split()
)
"""Modules of the standard library that cost milliseconds; the cheap ones differ by version."""

HOOK: Final = """
import json, os, signal, sys

def write_modules(*_):
    with open(os.environ["IAC_TEST_MODULES"] + ".part", "w") as file:
        json.dump(sorted(sys.modules), file)
    os.replace(file.name, os.environ["IAC_TEST_MODULES"])

signal.signal(signal.SIGUSR1, write_modules)
"""

STEPS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "tools/list": ("tools/list", {}),
    "read_tool": (
        "tools/call",
        {
            "name": "read_tool",
            "arguments": {"name": "notes_list", "arguments": {"element": "note"}},
        },
    ),
    "find_tools": ("tools/call", {"name": "find_tools", "arguments": {"query": "unread mail"}}),
}


class Cold(Piped):
    """A server in a Python that has loaded nothing yet."""

    def command(self, *options: str) -> list[str]:
        return [*SERVE, *options]


def load_steps(folder: Path) -> dict[str, list[str]]:
    """Start a server in `folder`, take the steps, and return what each loaded."""
    (folder / "sitecustomize.py").write_text(HOOK)
    listed = folder / "modules.json"
    server = Cold(
        folder / "data", "--simulate", PYTHONPATH=str(folder), IAC_TEST_MODULES=str(listed)
    )
    try:
        server.open()
        found: dict[str, list[str]] = {}
        before: set[str] = set()
        for step, (method, params) in STEPS.items():
            assert "error" not in server.ask(method, params)
            loaded = {name for name in read_modules(server, listed) if counts(name)}
            found[step] = sorted(loaded - before)
            before |= loaded
        return found
    finally:
        server.close()


def read_modules(server: Cold, listed: Path) -> list[str]:
    """Return the names of the modules that the server has loaded by now."""
    listed.unlink(missing_ok=True)
    server.process.send_signal(signal.SIGUSR1)
    until = time.monotonic() + 20
    while not listed.exists():
        assert time.monotonic() < until, "the server does not say what it has loaded"
        time.sleep(0.01)
    names: list[str] = json.loads(listed.read_text())
    return names


def counts(name: str) -> bool:
    """Say whether a module is ours, a library, or a dear one of Python."""
    if name.startswith("iac_"):
        return True
    foreign = name not in sys.stdlib_module_names and name.isidentifier() and name[0] != "_"
    return name in DEAR or (foreign and name != "sitecustomize")


@pytest.mark.skipif(os.name != "posix", reason="needs a signal")
def test_an_answer_loads_what_it_needs_and_no_more(tmp_path: Path) -> None:
    """What is new is to be worth its time at every start; then `--write` takes it up."""
    now, listed = load_steps(tmp_path), json.loads(LISTS.read_text())
    for step in STEPS:
        assert sorted({*now[step]} - {*listed[step]}) == [], f"new at {step}"
        assert sorted({*listed[step]} - {*now[step]}) == [], f"gone from {step}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        now = json.dumps(load_steps(Path(name)), indent=1) + "\n"
    differs = not LISTS.exists() or LISTS.read_text() != now
    if differs and "--write" in sys.argv:
        LISTS.write_text(now)
    sys.exit(differs)
