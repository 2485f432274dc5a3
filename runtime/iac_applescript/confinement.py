"""Confining osascript to the apps that a script names, where macOS can.

A Seatbelt profile that denies by default, lets osascript start and send Apple events to the named
destinations, and nothing else: no fork, no network, no writes. Taken from the shape that public
projects use. Nothing of it was confirmed on a Mac yet, `sandbox-exec` is marked as deprecated, and
without a probe that passed nothing is confined: then the question to the user says so.
"""

import os
import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from iac_base.errors import ToolError
from iac_runtime.execution.process import Runner

__all__ = ["SANDBOX", "Confinement", "profile"]

SANDBOX: Final = "/usr/bin/sandbox-exec"
_OSASCRIPT: Final = "/usr/bin/osascript"
_BUNDLE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,200}\Z")
_PROBE_SECONDS: Final = 10.0

_PROFILE: Final = """\
(version 1)
(deny default)
(allow process-exec (literal "/usr/bin/osascript"))
(deny process-fork)
(deny network*)
(allow file-read*)
(deny file-write*)
(allow file-write-data (literal "/dev/null"))
(allow sysctl-read)
(allow mach-lookup)
(allow signal (target self))
"""

_PROBE: Final = b"""\
try
	do shell script "echo 42"
	return "not confined"
end try
return 6 * 7
"""
"""Reckons, and tries what a confined script cannot do; both in one run."""


def profile(targets: Sequence[str]) -> str:
    """Return the profile for these bundle ids.

    Raises:
        ValueError: One is no bundle id; nothing of it may enter the profile.
    """
    lines = []
    for target in targets:
        if not _BUNDLE.match(target):
            raise ValueError(f"{target[:40]!r} is no bundle id")
        lines.append(f'(allow appleevent-send (appleevent-destination "{target}"))\n')
    return _PROFILE + "".join(lines)


class Confinement:
    """Runs osascript under the profile, once it is known that this works here.

    Args:
        runner: Runs the probe.
        program: The program that confines.
        platform: The system, as `sys.platform` names it; only `darwin` has the program.
    """

    def __init__(
        self, runner: Runner, program: str = SANDBOX, platform: str = sys.platform
    ) -> None:
        self._runner = runner
        self._program = program
        # Another osascript than the system's is not what the profile lets start.
        own = os.environ.get("IAC_OSASCRIPT", _OSASCRIPT) == _OSASCRIPT
        self._works: bool | None = None if platform == "darwin" and own else False
        self._lock = threading.Lock()

    def works(self) -> bool:
        """Say whether it works here; tried when it is first asked, and known from then on."""
        with self._lock:
            if self._works is None:
                self._works = Path(self._program).exists() and self._probe()
            return self._works

    def argv(self, argv: Sequence[str], targets: Sequence[str]) -> list[str]:
        """Return the command that runs `argv` under the profile of `targets`."""
        return [self._program, "-p", profile(targets), _OSASCRIPT, *argv[1:]]

    def _probe(self) -> bool:
        argv = self.argv(["osascript", "-l", "AppleScript", "-"], ())
        try:
            done = self._runner(argv, _PROBE, _PROBE_SECONDS)
        except (OSError, ToolError):
            return False
        return done.status == 0 and done.stdout.strip() == b"42"
