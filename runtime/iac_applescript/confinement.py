"""Confining osascript to the apps that a script names, where macOS can.

A Seatbelt profile that denies by default, lets osascript start and send Apple events to the named
destinations, and nothing else: no fork, no network, no writes. Taken from the shape that public
projects use. Nothing of it was confirmed on a Mac yet, `sandbox-exec` is marked as deprecated, and
without a probe that passed nothing is confined: then the question to the user says so.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from iac_runtime.execution.process import Runner

__all__ = ["SANDBOX", "confined", "probe", "profile"]

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


def confined(argv: Sequence[str], targets: Sequence[str]) -> list[str]:
    """Return the command that runs `argv` under the profile of `targets`."""
    return [SANDBOX, "-p", profile(targets), _OSASCRIPT, *argv[1:]]


def probe(runner: Runner) -> bool:
    """Say whether confinement works here: a calculation runs, a shell command does not."""
    if not Path(SANDBOX).exists():
        return False
    argv = ["osascript", "-l", "AppleScript", "-"]
    try:
        good = runner(confined(argv, ()), b"return 6 * 7", _PROBE_SECONDS)
        bad = runner(confined(argv, ()), b'do shell script "echo 42"', _PROBE_SECONDS)
    except OSError:
        return False
    return good.status == 0 and good.stdout.strip() == b"42" and bad.status != 0
