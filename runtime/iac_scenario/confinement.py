"""What confines Bash, Grep and Glob: bubblewrap on Linux, Seatbelt on a Mac, or nothing.

With bubblewrap there are the scenario's folder (writable), the system's programs (read-only) and a
/tmp that lasts for one call; no network, no other process, no variable of the caller. On a Mac a
Seatbelt profile does the same as far as it can. All that a Mac does otherwise is here.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from iac_scenario.model import CallError
from iac_scenario.sandbox import PROTECTED, Sandbox

ON_MAC: Final = sys.platform == "darwin"
SEATBELT: Final = "/usr/bin/sandbox-exec"
WAY_OUT: Final = 'give the call a `result` and its tool the mode "mock"'
_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives")
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_PROFILE: Final = Path(__file__).with_name("bash_session.sb").read_text(encoding="utf-8")
"""What a Mac's Seatbelt allows."""


class BashConfinement:
    """None: programs run with the caller's own rights.

    `home` is the sandbox as Bash sees it, `start` the folder that a program begins in, `variables`
    are its own. Where it `is_watched`, protected files are looked at before and after each call.
    """

    is_watched = False

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.home = self.start = sandbox.root
        self.variables = {"PATH": os.environ.get("PATH", os.defpath)}

    def close(self) -> None:
        """Remove what it kept beside the sandbox."""

    def words(self, _protected: Sequence[tuple[str, ...]], _program: str = "", /) -> list[str]:
        """Return the words before a command; the program is one that need not be the system's."""
        return []


class BubblewrapConfinement(BashConfinement):
    """Namespaces of Linux, which show the folder at another path than its own too."""

    def __init__(self, sandbox: Sandbox, *, guarded: bool) -> None:
        super().__init__(sandbox)
        self.home, self.start, self.is_watched = sandbox.mount, "/", guarded
        self.variables = {"PATH": _PATH}

    def words(self, protected: Sequence[tuple[str, ...]], program: str = "") -> list[str]:
        root, mount = self._sandbox.root, self._sandbox.mount
        bubblewrap, sealing = find_bubblewrap()
        shared = [word for path in _SYSTEM if Path(path).exists() for word in _bind_options(path)]
        fixed = [at for at in map("/".join, protected) if not Path(root, at).is_symlink()]
        # Seen at its own path too: a scenario may name it by ${SANDBOX_ROOT}.
        own = [
            word
            for top in dict.fromkeys((root, mount))
            for word in (
                *("--bind", root, top),
                *(each for at in fixed for each in ("--ro-bind", f"{root}/{at}", f"{top}/{at}")),
            )
        ]
        return [
            bubblewrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
            *shared, "--proc", "/proc", "--dev", "/dev", *sealing, "--tmpfs", "/tmp",  # noqa: S108
            *(_bind_options(program) if program else ()),
            # Root could write into /proc/sys without any capability.
            *own, *(word for top in ("/proc", "/dev", "/") for word in ("--remount-ro", top)),
            "--chdir", mount,
        ]  # fmt: skip


class SeatbeltConfinement(BashConfinement):
    """A profile of macOS, which guards protected files by itself."""

    def __init__(self, sandbox: Sandbox, *, guarded: bool) -> None:
        super().__init__(sandbox)
        self._guarded = guarded
        # Bash writes here-documents there; under bubblewrap each call has a /tmp of its own.
        self._scratch = TemporaryDirectory(prefix="iac-scenario-")
        self.variables = {"LANG": "en_US.UTF-8", "TMPDIR": self._scratch.name, "PATH": _PATH}

    def close(self) -> None:
        self._scratch.cleanup()

    def words(self, _protected: Sequence[tuple[str, ...]], program: str = "") -> list[str]:
        scratch = os.path.realpath(self._scratch.name)
        if not Path(SEATBELT).exists():
            raise CallError(
                f"Bash, Grep and Glob need {SEATBELT} to run in a sandbox. Without it, {WAY_OUT}."
            )
        tops = (self.home, scratch, program)
        above = {str(path) for top in tops if top for path in Path(top).parents}
        names = "|".join(
            "".join(f"[{sign}{sign.upper()}]" if sign.isalpha() else rf"\{sign}" for sign in name)
            for name in sorted(PROTECTED)
        )
        guard = f'(deny file-write* (regex #"/({names})(/|$)"))' if self._guarded else ""
        literals = " ".join(f"(literal {json.dumps(path)})" for path in sorted(above))
        shown = f"(literal {json.dumps(program)})" if program else ""
        profile = _PROFILE.format(above=literals, guard=guard, program=shown)
        places = ("-D", f"FOLDER={self.home}", "-D", f"SCRATCH={scratch}")
        return [SEATBELT, *places, "-p", profile]


def choose_confinement(sandbox: Sandbox, *, unconfined: bool, guarded: bool) -> BashConfinement:
    """Return what confines programs here; `guarded` keeps Git folders and the like as they are."""
    if unconfined:
        return BashConfinement(sandbox)
    kind = SeatbeltConfinement if ON_MAC else BubblewrapConfinement
    return kind(sandbox, guarded=guarded)


def clock_option(seconds: float) -> str:
    """Return the option with which the system's `date` shows another time."""
    return f"-r {seconds:.0f}" if ON_MAC else f"-d @{seconds:.6f}"


@lru_cache(maxsize=1)
def find_bubblewrap() -> tuple[str, Sequence[str]]:
    """Return the program, and the options of newer ones that confine more closely."""
    program = shutil.which("bwrap")
    if program is None:
        raise CallError(
            "Bash, Grep and Glob need bubblewrap (bwrap) to run in a sandbox, and it is not"
            f" installed. Install it, or {WAY_OUT}."
        )
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    sealing = []
    if "--disable-userns" in done.stdout:
        sealing += ["--unshare-user", "--disable-userns"]
    if "--size" in done.stdout:
        sealing += ["--size", "100000000"]
    return program, sealing


def _bind_options(path: str) -> Sequence[str]:
    if (link := Path(path)).is_symlink():
        return ("--symlink", str(link.readlink()), path)
    return ("--ro-bind", path, path)
