"""Prove imports: modules are imported, and their tools called, before they are written.

The interpreter in which that happens has the standard library and our packages alone (`bare`).
Each process of a build has one for all its modules.
"""

import atexit
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final

import iac_runtime.tool
from iac_gen import bare
from iac_gen.keep import kept
from iac_gen.model import Diagnostic

_PACKAGES: Final = Path(iac_runtime.tool.__file__).parent.parent


def prove_imports(key: str, files: Mapping[str, str], keep: Path | None = None) -> list[Diagnostic]:
    """Return what fails when the modules among the files of an app are imported and called.

    In the folder `keep`, the answer is kept by the content of the modules and of what they import.
    """
    given = json.dumps([row for row in files.items() if row[0].endswith(".py")])
    made_of = f"{_digest_of_contract()}\0{given}"
    answer = kept(keep, f"{key}.proof", made_of, lambda: _ask(given))
    return [Diagnostic(f"{key}.py", 0, "proof", fault, "error") for fault in json.loads(answer)]


@cache
def _digest_of_contract() -> str:
    """Return a digest of what modules import, and of the interpreter that they are proved in."""
    contract = ("tool.py", "types.py", "types.json", "objects/*.py")
    found = (_PACKAGES.joinpath("iac_runtime").glob(pattern) for pattern in contract)
    digest = hashlib.sha256(sys.version.encode())
    for file in (Path(bare.__file__), *sorted(chain.from_iterable(found))):
        digest.update(file.read_bytes())
    return digest.hexdigest()


_running: Final[dict[int, "_BareInterpreter"]] = {}
"""The interpreter of this process; after a fork also that of the process before."""


def _ask(line: str) -> str:
    """Return the faults of an app's modules, both as JSON."""
    process = os.getpid()
    if process not in _running:
        _running[process] = _BareInterpreter()
    try:
        return _running[process].ask(line)
    except BaseException:
        # After a deadline the next answer would be that to this line.
        _running.pop(process).end()
        raise


class _BareInterpreter:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", bare.__file__, str(_PACKAGES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(self.end)

    def ask(self, line: str) -> str:
        """Send a line and return the answer. Raises RuntimeError: the interpreter ended."""
        given, answers = self._process.stdin, self._process.stdout
        assert given is not None
        assert answers is not None
        given.write(f"{line}\n".encode())
        given.flush()
        if answer := answers.readline():
            return answer.decode()
        raise RuntimeError("the interpreter in which modules are proved ended")

    def end(self) -> None:
        """End it, if it runs."""
        atexit.unregister(self.end)
        self._process.kill()
        with suppress(OSError):
            self._process.__exit__(None, None, None)
