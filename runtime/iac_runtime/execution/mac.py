"""How things stand with an app and with this Mac: running, permission, the responsible process.

AEDeterminePermissionToAutomateTarget (CoreServices, AppleEvents.h) through ctypes. The structure
is packed as the header packs it (2 bytes). It answers for the process that macOS holds responsible
for this one, which osascript shares. Only a Mac can confirm this module; the probe page says how.

A permission belongs to the process that is responsible for the one that sends the event: the app
from which the whole tree was started. macOS knows it; the call that says so is private
(`responsibility_get_pid_responsible_for_pid`, libSystem), so where it is missing the process tree
is read instead. A child of Claude Desktop's helper `disclaimer` is responsible for itself. That
both give the name which System Settings shows, only a Mac can confirm.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import Any, Final, Literal, NamedTuple

Permitted = Literal["yes", "no", "would ask", "unknown"]
YesNo = Literal["yes", "no", "unknown"]

_SOMEONE: Final = "the program that started this one"
_DISCLAIMER: Final = "disclaimer"
_LAUNCHD: Final = 1

_FRAMEWORK: Final = "/System/Library/Frameworks/CoreServices.framework/CoreServices"
_BUNDLE_ID: Final = int.from_bytes(b"bund", "big")
_ANY: Final = int.from_bytes(b"****", "big")

_MEANING: Final[dict[int, Permitted]] = {0: "yes", -1743: "no", -1744: "would ask"}
"""What a status of the call means; -600 (it does not run) leaves it unknown."""


class _Descriptor(ctypes.Structure):
    """AEDesc: a type code and a handle."""

    _pack_ = 2
    _layout_ = "ms"
    _fields_ = (("type", ctypes.c_uint32), ("data", ctypes.c_void_p))


def automation_permission(bundle_id: str, *, asking: bool = False) -> Permitted:
    """Say whether events to the app are allowed; "unknown" where this is no Mac.

    With `asking` macOS asks the person, where it was never asked, and the answer is waited for.
    """
    if sys.platform != "darwin":
        return "unknown"
    try:
        return _MEANING.get(
            _ask_permission(ctypes.CDLL(_FRAMEWORK), bundle_id, asking=asking), "unknown"
        )
    except (OSError, AttributeError):
        return "unknown"


def _ask_permission(library: Any, bundle_id: str, *, asking: bool = False) -> int:
    name = bundle_id.encode()
    target = _Descriptor()
    make = library.AECreateDesc
    make.argtypes = (ctypes.c_uint32, ctypes.c_char_p, ctypes.c_long, ctypes.c_void_p)
    make.restype = ctypes.c_int16
    determine = library.AEDeterminePermissionToAutomateTarget
    determine.argtypes = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_ubyte)
    determine.restype = ctypes.c_int32
    dispose = library.AEDisposeDesc
    dispose.argtypes = (ctypes.c_void_p,)
    dispose.restype = ctypes.c_int16
    failed = make(_BUNDLE_ID, name, len(name), ctypes.byref(target))
    if failed:
        return int(failed)
    try:
        return int(determine(ctypes.byref(target), _ANY, _ANY, asking))
    finally:
        dispose(ctypes.byref(target))


@dataclass(frozen=True, slots=True)
class Version:
    """The version of macOS (empty elsewhere), and the path of the osascript, None if none."""

    macos: str
    osascript: str | None


@dataclass(frozen=True, slots=True)
class AppState:
    """How things stand with an app.

    Attributes:
        bundle_id: The app.
        installed: Whether the system knows an app of this bundle id.
        scriptable: Whether its dictionary could be loaded.
        running: Whether it runs.
        permitted: Whether macOS lets this process send it events.
        reason: One line on what stands in the way of a call; empty if nothing does.
    """

    bundle_id: str
    installed: YesNo
    scriptable: YesNo
    running: YesNo
    permitted: Permitted
    reason: str


def app_state(facts: Any, bundle_id: str, failure: str = "") -> AppState:
    """Return the state of an app.

    Args:
        facts: The harness's record `[[name, true, false or null], ...]`; anything else is
            taken for unknown.
        failure: Why there are no facts, one line.
    """
    fields = facts.get("record") if isinstance(facts, dict) else None
    found = {
        str(field[0]): field[1]
        for field in (fields if isinstance(fields, list) else [])
        if isinstance(field, list) and len(field) == 2
    }
    installed = _yes_or_no(found.get("installed"))
    scriptable, running = _yes_or_no(found.get("scriptable")), _yes_or_no(found.get("running"))
    may = automation_permission(bundle_id)
    reason = failure or _obstacle_reason(installed, scriptable, running, may)
    return AppState(bundle_id, installed, scriptable, running, may, reason)


def _yes_or_no(value: Any) -> YesNo:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown"


def _obstacle_reason(installed: YesNo, scriptable: YesNo, running: YesNo, may: Permitted) -> str:
    if installed == "no":
        return "It is not installed."
    if scriptable == "no":
        return "Its scripting dictionary could not be loaded."
    if may == "no":
        return "macOS does not allow it to be controlled: Privacy & Security > Automation."
    if running == "no":
        return "It is not running; app_launch starts it."
    if may == "would ask":
        return "macOS will ask for permission at the first call."
    return ""


class RunningProcess(NamedTuple):
    """A process: its number, its name, and the path of its program (empty where not readable)."""

    pid: int
    name: str
    path: str


def responsible_process(chain: Sequence[RunningProcess]) -> RunningProcess | None:
    """Return the responsible process of `chain[0]`; None for an empty chain.

    Args:
        chain: A process, its parent, the parent's parent, and so on.

    Responsibility is inherited from parent to child, so it is the outermost app that counts, not
    the nearest: an editor, not the `Python.app` that a framework's interpreter runs in. Without
    an app above (a launch agent, SSH) the process answers for itself.
    """
    heirs: list[RunningProcess] = []
    for process in chain:
        if process.pid == _LAUNCHD:
            break
        if PurePosixPath(process.path).name == _DISCLAIMER or process.name == _DISCLAIMER:
            return heirs[-1] if heirs else process
        heirs.append(process)
    apps = [process for process in heirs if _outer_bundle(process.path)]
    if apps:
        return apps[-1]
    return heirs[0] if heirs else None


def shown_name(process: RunningProcess) -> str:
    """Return the name under which System Settings lists a process: its app's, else its file's."""
    bundle = _outer_bundle(process.path)
    return bundle or PurePosixPath(process.path).name or process.name


@cache
def responsible_name() -> str:
    """Return who must be allowed, as macOS will show it; off the Mac, words that say who."""
    return (
        resolve_responsible(os.getpid(), _ask_responsible, process_chain)
        if sys.platform == "darwin"
        else _SOMEONE
    )


def resolve_responsible(
    pid: int,
    ask: Callable[[int], int | None],
    parents: Callable[[int], Sequence[RunningProcess]],
) -> str:
    """Return the shown name of who is responsible for `pid`.

    Args:
        ask: What macOS says: the process responsible for one, or None.
        parents: A process and those above it, nearest first; empty where they cannot be read.
    """
    asked = ask(pid)
    if asked is not None:
        found = next(iter(parents(asked)), None)
    else:
        found = responsible_process(parents(pid))
    return (shown_name(found) if found is not None else "") or _SOMEONE


def _outer_bundle(path: str) -> str:
    """Return the name of the outermost app that `path` lies in; empty for none."""
    for part in PurePosixPath(path).parts:
        if part.endswith(".app") and part != ".app":
            return part.removesuffix(".app")
    return ""


def _ask_responsible(pid: int) -> int | None:
    try:
        ask = ctypes.CDLL(None).responsibility_get_pid_responsible_for_pid
    except (AttributeError, OSError):
        return None
    ask.argtypes, ask.restype = [ctypes.c_int], ctypes.c_int
    answer = int(ask(pid))
    return answer if answer > 0 else None


def process_chain(pid: int) -> list[RunningProcess]:
    """Return a process of this machine and those above it, nearest first; empty if it is gone."""
    import psutil

    try:
        process = psutil.Process(pid)
        rows = [process, *process.parents()]
        # The program of another user's process (login, sshd) cannot be read.
        facts = [row.as_dict(("pid", "name", "exe"), ad_value="") for row in rows]
    except psutil.Error:
        return []
    return [RunningProcess(row["pid"], row["exe"] and row["name"], row["exe"]) for row in facts]
