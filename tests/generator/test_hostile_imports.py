"""What importing a generated module does: it reads modules, and nothing else at all."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from dictionaries import HOSTILE
from making import build
from test_doors import app_that_says

ROOT = Path(__file__).parent.parent.parent
# A fresh interpreter reports every audit event but those of the importer itself. What modules
# share is imported first: the contract and `typing` are ours and Python's, not generated.
AUDIT = r"""
import collections.abc, importlib, json, os, sys, typing
import iac_runtime.tool
sys.path.insert(0, sys.argv[1])
found = []
reading = os.O_ACCMODE

def hook(event, arguments):
    if event == "import" or event == "marshal.loads" or event == "os.listdir":
        return
    if event in ("compile", "exec"):
        where = getattr(arguments[-1], "co_filename", arguments[-1])
        if str(where).endswith(".py"):
            return
    if event == "open":
        path, _, flags = arguments
        name = os.fsdecode(path) if isinstance(path, (str, bytes)) else str(path)
        if name.endswith((".py", ".pyc")) and not (flags & reading):
            return
    if event == "sys._getframe":
        # How `NamedTuple`, `TypeVar` and the like find the module that they stand in.
        return
    found.append([event, repr(arguments)[:200]])

sys.addaudithook(hook)
for name in sys.argv[2].split(","):
    importlib.import_module(name)
done = list(found)
print(json.dumps(done))
"""


def events(folder: Path, *names: str) -> list[list[str]]:
    """Return what importing modules from `folder` does beside reading them."""
    # What objects of apps are made from is ours, and looks at itself where it is imported.
    begins = f"import sys\nsys.path[:0] = {paths()!r}\nimport iac_runtime.objects\n"
    ran = subprocess.run(
        [sys.executable, "-B", "-I", "-c", f"{begins}{AUDIT}", str(folder), ",".join(names)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return list(json.loads(ran.stdout))


def paths() -> list[str]:
    return [str(ROOT / "runtime")]


@pytest.mark.process
def test_importing_every_committed_module_only_reads_modules(generated: Path) -> None:
    names = [path.stem for path in sorted(generated.glob("*.py")) if path.stem != "__init__"]
    assert len(names) > 10
    assert events(generated, *names) == []


@pytest.mark.slow
@pytest.mark.process
def test_importing_modules_of_hostile_text_only_reads_modules(tmp_path: Path) -> None:
    names = []
    for number, text in enumerate(HOSTILE):
        files = build(app_that_says(text))
        (key,) = (name for name in files if f"{name[:-3]}_objects.py" in files)
        (tmp_path / f"hostile_{number}.py").write_text(files[key])
        names.append(f"hostile_{number}")
    assert events(tmp_path, *names) == []


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize(("text", "event"), [
    ("open('/etc/hosts')", "open"), ("import os; os.system('true')", "os.system"),
    ("exec('1')", "compile"), ("import socket; socket.socket()", "socket.__new__"),
])  # fmt: skip
def test_the_audit_sees_what_a_module_must_not_do(tmp_path: Path, text: str, event: str) -> None:
    (tmp_path / "bad.py").write_text(f"{text}\n")
    assert event in [one for one, _ in events(tmp_path, "bad")]
