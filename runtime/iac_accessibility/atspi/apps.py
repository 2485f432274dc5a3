"""Which apps are on the accessibility bus.

Windows of apps that show no tree (plain X11, Tk) are elements that can be raised, keyed, clicked: a
handle is `("screen", number)` for a window and `("screen", "pid")` for what stands for its app.
"""

import contextlib
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_accessibility.atspi.nodes import (
    ATSPI,
    ROOT_PATH,
    STATES,
    method_call,
    property_call,
)
from iac_accessibility.atspi.wire import BusCall, ConnectionPool
from iac_accessibility.bridge import InputDevices
from iac_accessibility.model import (
    SCREEN,
    Detail,
    ElementGone,
    Handle,
    ScreenWindow,
    UiApp,
    UiFault,
    UiNode,
    clean_foreign_text,
    window_node,
)

_REVERSE: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*(\.[A-Za-z0-9_-]+){2,}\Z")
_OTHER: Final = re.compile(r"[^A-Za-z0-9._-]+")
_INTERPRETER: Final = re.compile(r"(?:python|pypy|perl|ruby|node|gjs|lua|java)[0-9.]*\Z")
_SUFFIX: Final = re.compile(r"\.(?:py|pyw|pl|rb|js|lua|jar)\Z")


def process_start_time(pid: int) -> float | None:
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


def program_identity(pid: int) -> str:
    """Return the identity of the program that a process runs; empty where it cannot be read."""
    words = _program_words(pid)
    entry = _desktop_entry(words)
    if entry and _REVERSE.match(entry.id):
        return entry.id
    plain = _OTHER.sub("-", words[0]).strip("-.") if words else ""
    return f"local.{plain}" if plain else ""


def _program_words(pid: int) -> list[str]:
    """Return the name of the program that a process runs, and its arguments; empty if unknown."""
    try:
        program = os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115
    except OSError:
        return []
    name = program.rpartition("/")[2].removesuffix(" (deleted)")
    if not (name.startswith("electron") or _INTERPRETER.match(name)):
        # Its arguments say nothing of what it is, but which of its desktop entries it runs.
        several = len(_desktop_files().get(name, ())) > 1
        return [name, *(_command_words(pid)[1:] if several else ())]
    words = _command_words(pid)
    if name.startswith("electron"):
        # One program for many apps: which one it is, the folder of its code says.
        app = next((word for word in words[1:] if word.startswith("/") or ".asar" in word), "")
        return [Path(app).parent.name if app.endswith(".asar") else Path(app).name or name]
    return _without_interpreter([name, *words[1:]])


def _without_interpreter(words: list[str]) -> list[str]:
    """Return a command as that of the script where an interpreter runs one."""
    if words and _INTERPRETER.match(Path(words[0]).name):
        at = next((at for at, word in enumerate(words[1:], 1) if not word.startswith("-")), 0)
        if at and not {"-c", "-e", "-m"}.intersection(words[:at]):
            return [_SUFFIX.sub("", Path(words[at]).name), *words[at + 1 :]]
    return words


def _command_words(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return []
    return text.split("\0")[:-1]


def program_names(pid: int) -> list[str]:
    """Return what else people call the app of a process: its program, its desktop entry's name."""
    words = _program_words(pid)
    entry = _desktop_entry(words) or ()
    names = [*words[:1], *(Path(word).name for word in _command_words(pid)[:1]), *entry[:2]]
    return list(dict.fromkeys(filter(None, names)))


def has_terminal(pid: int) -> bool:
    """Say whether a process, or one that it started, holds the master of a terminal open."""
    waiting, seen = [pid], 0
    while waiting and seen < _PROCESSES:
        seen += 1
        one = waiting.pop()
        folder = f"/proc/{one}"
        try:
            for number in os.listdir(f"{folder}/fd"):  # noqa: PTH208
                with contextlib.suppress(OSError):
                    if os.readlink(f"{folder}/fd/{number}") in _MASTERS:  # noqa: PTH115
                        return True
            for thread in os.listdir(f"{folder}/task"):  # noqa: PTH208
                with open(f"{folder}/task/{thread}/children") as file:  # noqa: PTH123
                    waiting += map(int, file.read().split())
        except OSError:
            continue
    return False


_PROCESSES: Final = 200
_MASTERS: Final = ("/dev/ptmx", "/dev/pts/ptmx")


def is_installed(name: str) -> bool:
    """Say whether there is a program of that name, or a desktop file of that name or id."""
    if shutil.which(name) or shutil.which(name.lower()):
        return True
    wanted = name.casefold()
    return any(
        wanted in (one.id.casefold(), one.id.rpartition(".")[2].casefold(), one.name.casefold())
        for entries in _desktop_files().values()
        for one in entries
    )


class DesktopEntry(NamedTuple):
    """What a desktop file says of a program; `arguments` are those that are not filled in."""

    id: str
    name: str
    arguments: frozenset[str]


def _desktop_entry(words: Sequence[str]) -> DesktopEntry | None:
    """Return the desktop entry that a command runs; one program may have several."""
    fit = [
        one for one in _desktop_files().get("".join(words[:1]), ()) if one.arguments <= {*words[1:]}
    ]
    # Of those that fit equally well, the first.
    return max(
        fit, key=lambda one: (len(one.arguments), bool(_REVERSE.match(one.id))), default=None
    )


@cache
def _desktop_files() -> dict[str, list[DesktopEntry]]:
    """Return program name -> its desktop entries."""
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local/share")
    shared = os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    entries: dict[str, list[DesktopEntry]] = {}
    for folder in shared.split(":"):
        _add_entries(folder, entries)
    # A file in the home folder cannot rename a program of the system.
    own: dict[str, list[DesktopEntry]] = {}
    _add_entries(home, own)
    return own | entries


def _add_entries(folder: str, entries: dict[str, list[DesktopEntry]]) -> None:
    for file in sorted(Path(folder, "applications").glob("*.desktop")):
        try:
            lines = file.read_text(errors="replace").splitlines()
            words = shlex.split(next((line[5:] for line in lines if line.startswith("Exec=")), ""))
        except (OSError, ValueError):
            continue
        shown = next((line[5:] for line in lines if line.startswith("Name=")), "")
        while words and (Path(words[0]).name == "env" or "=" in words[0]):
            del words[0]
        if words := _without_interpreter(words):
            said = frozenset(word for word in words[1:] if not word.startswith("%"))
            entry = DesktopEntry(file.stem, clean_foreign_text(shown), said)
            entries.setdefault(Path(words[0]).name, []).append(entry)


REGISTRY: Final = ATSPI + "Registry"
APPS: Final = (REGISTRY, ROOT_PATH)
_SHARE: Final = 0.5
_WINDOWS: Final = 50


def read_registered_apps(pool: ConnectionPool, timeout: float) -> list[UiApp]:
    """Return the apps that are registered.

    Raises:
        UiFault: The registry does not answer.
    """
    (refs,) = pool.call(method_call(APPS, "Accessible", "GetChildren"), timeout)
    asked = [
        call
        for ref in refs
        for call in (
            property_call(ref, "Accessible", "Name"),
            _pid_of(ref[0]),
            method_call(ref, "Accessible", "GetChildren"),
        )
    ]
    # A frozen app must not hide the others, nor cost more than its share.
    share = min(timeout, _SHARE)
    about = pool.call_all(asked, share)
    apps: list[UiApp] = []
    windows: list[tuple[Handle, Handle]] = []
    for ref, name, pid, below in zip(refs, about[::3], about[1::3], about[2::3], strict=True):
        if isinstance(pid, UiFault):
            continue
        began = process_start_time(pid[0])
        if began is None:
            continue
        shown = "" if isinstance(name, UiFault) else clean_foreign_text(name[0][1])
        app = UiApp(pid[0], shown, program_identity(pid[0]), began, key=tuple(ref))
        names = [shown] if shown else [*program_names(pid[0]), str(pid[0])]
        apps.append(app._replace(name=names[0]))
        if not isinstance(below, UiFault):
            windows += [(app.key, window) for window in below[0][:_WINDOWS]]
    asked = [method_call(window, "Accessible", "GetState") for _, window in windows]
    states = pool.call_all(asked, share)
    active = {
        key
        for (key, _), state in zip(windows, states, strict=True)
        if not isinstance(state, UiFault) and state[0][0] >> STATES["active"] & 1
    }
    return [app._replace(frontmost=app.key in active) for app in apps]


def _pid_of(bus: str) -> BusCall:
    return BusCall(
        *("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus"),
        *("GetConnectionUnixProcessID", "s", (bus,)),
    )


class ScreenReader:
    """Reads windows of the screen."""

    def __init__(self, hands: InputDevices) -> None:
        self._hands = hands

    def read(
        self,
        handles: Sequence[Handle],
        want: Detail,  # noqa: ARG002
        timeout: float,  # noqa: ARG002
    ) -> list[UiNode | UiFault]:
        """Return one node or fault per handle."""
        windows = self._hands.list_windows()
        front = self._hands.front_window()
        return [self._screen_node(handle, windows, front) for handle in handles]

    def _screen_node(
        self, handle: Any, windows: Sequence[ScreenWindow], front: ScreenWindow | None
    ) -> UiNode | UiFault:
        if isinstance(handle[1], str):
            own = tuple((SCREEN, one.number) for one in windows if str(one.pid) == handle[1])
            states = frozenset(("enabled", "visible"))
            return UiNode(handle, "application", "", "", states, own, len(own))
        for one in windows:
            if one.number == handle[1]:
                return window_node(one, active=front is not None and front.number == one.number)
        return ElementGone("the window is gone")
