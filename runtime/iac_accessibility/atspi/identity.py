"""Which program a process is: what stands for a bundle id on Linux.

A desktop file that starts the same program names it (`org.xfce.mousepad`); a program without one
is `local.<program>`. Whether a name is right is decided by the file that runs, never by what the
app says of itself. Source: Desktop Entry Specification 1.5, proc(5).
"""

import os
import re
import shlex
import shutil
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["identity", "is_installed", "started"]

_REVERSE: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*(\.[A-Za-z0-9_-]+){2,}\Z")
_OTHER: Final = re.compile(r"[^A-Za-z0-9._-]+")


def started(pid: int) -> float | None:
    """Return when a process began, in clock ticks since the machine did; None if there is none."""
    try:
        # Asked several times in each call, and a Path takes longer than the answer.
        with open(f"/proc/{pid}/stat", errors="replace") as file:  # noqa: PTH123
            text = file.read()
    except OSError:
        return None
    # The second field is the program's name, in parentheses, and may hold any character.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else float(fields[19])


def identity(pid: int) -> str:
    """Return the identity of the program that a process runs; empty where it cannot be read."""
    try:
        program = os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115
    except OSError:
        return ""
    name = program.rpartition("/")[2].removesuffix(" (deleted)")
    known = _desktop_files().get(name)
    if known:
        return known
    plain = _OTHER.sub("-", name).strip("-.")
    return f"local.{plain}" if plain else ""


def is_installed(name: str) -> bool:
    """Say whether there is a program of that name, or a desktop file of that name or id."""
    if shutil.which(name) or shutil.which(name.lower()):
        return True
    wanted = name.casefold()
    ids = _desktop_files().values()
    return any(wanted in (known.casefold(), known.rpartition(".")[2].casefold()) for known in ids)


@cache
def _desktop_files() -> dict[str, str]:
    """Return program name -> the reverse name of its desktop entry."""
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local/share")
    shared = os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    found: dict[str, str] = {}
    # System folders first: a file in the home folder cannot rename a program of the system.
    for folder in (*shared.split(":"), home):
        for file in sorted(Path(folder, "applications").glob("*.desktop")):
            if _REVERSE.match(file.stem):
                program = _program(file)
                if program:
                    found.setdefault(program, file.stem)
    return found


def _program(file: Path) -> str:
    try:
        lines = file.read_text(errors="replace").splitlines()
        command = next((line[5:] for line in lines if line.startswith("Exec=")), "")
        words = shlex.split(command)
    except (OSError, ValueError):
        return ""
    return Path(words[0]).name if words else ""
