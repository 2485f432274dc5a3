"""What a server has loaded when it has answered: a start pays for each module, whatever the clock.

`python tests/server/test_loaded_modules.py --write` rewrites the lists, and fails if any differed.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import pytest
from piped import SERVE, Piped

LISTS: Final = Path(__file__).with_name("loaded_modules.json")
"""Step -> the modules that a server has loaded that answers it first."""

DEAR: Final = frozenset(
    "asyncio dataclasses email http importlib.metadata inspect logging sqlite3 ssl tempfile"
    " tomllib xml".split()
)
"""Modules of the standard library that cost milliseconds; the cheap ones differ by version."""

BESIDE: Final = frozenset({"psutil", "sitecustomize"})
"""Not counted: what a timer loads for the status file, and the hook."""

HOOK: Final = """
import json, os, sys

write = os.write

def write_and_keep(descriptor, data):
    # Before the answer is out: what follows a listing begins only then.
    if b'"id":"valid-' in bytes(data[:200]):
        with open(os.environ["IAC_TEST_MODULES"], "w") as file:
            json.dump(sorted(sys.modules), file)
    return write(descriptor, data)

os.write = write_and_keep
"""

STEPS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "tools/list": ("tools/list", {}),
    "read_tool": ("tools/call",
     {"name": "read_tool", "arguments": {"name": "notes_list", "arguments": {"element": "note"}}}),
    "find_tools": ("tools/call", {"name": "find_tools", "arguments": {"query": "unread mail"}}),
}  # fmt: skip


class Cold(Piped):
    """A server in a Python that has loaded nothing yet."""

    def command(self, *options: str) -> list[str]:
        return [*SERVE, *options]


def loaded_modules(folder: Path, method: str, params: dict[str, Any]) -> list[str]:
    """Return what a new server has loaded when it sends its first answer after the handshake."""
    (folder / "sitecustomize.py").write_text(HOOK)
    kept = folder / "modules.json"
    server = Cold(folder / "data", "--simulate", PYTHONPATH=str(folder), IAC_TEST_MODULES=str(kept))
    try:
        server.open()
        assert "error" not in server.ask(method, params)
    finally:
        server.close()
    return list(filter(counts, json.loads(kept.read_text())))


def counts(name: str) -> bool:
    """Say whether a module is ours, a library, or a dear one of Python."""
    if name.startswith("iac_"):
        return True
    foreign = name not in sys.stdlib_module_names and name.isidentifier() and name[0] != "_"
    return name in DEAR or (foreign and name not in BESIDE)


@pytest.mark.sweep
@pytest.mark.parametrize("step", STEPS)
def test_an_answer_loads_what_it_needs_and_no_more(tmp_path: Path, step: str) -> None:
    """What is new is to be worth its time at every start; then `--write` takes it up."""
    now, listed = loaded_modules(tmp_path, *STEPS[step]), json.loads(LISTS.read_text())[step]
    assert sorted({*now} - {*listed}) == []
    assert sorted({*listed} - {*now}) == []


if __name__ == "__main__":
    found = {}
    for step, (method, params) in STEPS.items():
        with tempfile.TemporaryDirectory() as name:
            found[step] = loaded_modules(Path(name), method, params)
    now = json.dumps(found, indent=1) + "\n"
    differs = not LISTS.exists() or LISTS.read_text() != now
    if differs and "--write" in sys.argv:
        LISTS.write_text(now)
    sys.exit(differs)
