"""Shortcuts: running one that was installed for an App Intent, and telling how that ended.

Its status proves nothing: a question that nobody answered, a dropped input and a missing grant all
end with 0. Its answer is taken where its first line is what the input had as the call.
"""

import json
import os
import plistlib
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

from iac_base.errors import Cancellation, ErrorType, ToolError, quote_text
from iac_base.files import read_bounded
from iac_runtime.execution.process import Completed, RunInTurns
from iac_runtime.language.steps import IntentRequest
from iac_runtime.tool import CALL

ShortcutState: TypeAlias = Literal[
    "absent", "replaced", "waits", "locked", "silent", "failed", "no program"
]
"""How a run stands that gave no answer: the shortcut is not there; there is another one of its
name, as after a second import; somebody is asked, or the app is starting; the screen is locked, so
that nobody sees a question; it ended without a word; it said an error; there is no Shortcuts here.
"""

_TYPES: Final[Mapping[ShortcutState, ErrorType]] = {
    "absent": "UNAVAILABLE",
    "replaced": "UNAVAILABLE",
    "waits": "TIMEOUT",
    "locked": "TIMEOUT",
    "silent": "UNKNOWN",
    "failed": "EXECUTION_ERROR",
    "no program": "UNAVAILABLE",
}
_INSTALL: Final = "Ask the user to run: iac-mcp intents install {}"
_WAYS: Final[Mapping[ShortcutState, str]] = {
    "absent": _INSTALL,
    "replaced": _INSTALL,
    "waits": (
        "Ask the user to look at the Mac's screen: macOS asks for permission there before the"
        " first run. The Mac must be awake, and an app can take 12 seconds to start."
    ),
    "locked": "Ask the user to unlock the Mac and to answer what macOS asks there.",
    "silent": "Check whether it was done before you call again. The user may have dismissed a"
    " prompt.",
    "failed": "Check whether it was done before you call again.",
    "no program": "App Intents need a Mac with macOS 12 or later.",
}
_LISTED: Final = re.compile(r"(.*) \(([0-9A-Fa-f-]{36})\)")
_ANSWER: Final = 4 * 1024 * 1024
_LOOK: Final = 3.0
_LISTING: Final = 20.0
"""Seconds for the list of shortcuts; a cold start takes up to 12."""


class ShortcutError(ToolError):
    """A shortcut gave no answer; `state` says how it stands."""

    def __init__(self, state: ShortcutState, message: str, tool: str, original: str = "") -> None:
        way = _WAYS[state].format(tool)
        super().__init__(_TYPES[state], message, way, command=tool, original=original)
        self.state = state


def shortcuts_program() -> str:
    """Return the program: the environment's IAC_SHORTCUTS, else `shortcuts`."""
    return os.environ.get("IAC_SHORTCUTS") or "shortcuts"


def shortcut_title(tool: str) -> str:
    """Return what the shortcut of a tool is called."""
    return f"IAC {tool}"


def list_shortcuts(run: RunInTurns) -> dict[str, str]:
    """Return the shortcuts of this user, identifier -> name.

    Raises:
        ShortcutError: They could not be listed.
        OSError: There is no such program.
    """
    done = run([shortcuts_program(), "list", "--show-identifiers"], b"", _LISTING)
    if done.status or done.timed_out:
        raise ShortcutError("failed", "The shortcuts could not be listed.", "", _error_text(done))
    rows = map(_LISTED.fullmatch, done.stdout.decode("utf-8", "replace").splitlines())
    return {row[2].upper(): row[1] for row in rows if row}


def run_shortcut(
    run: RunInTurns,
    uuid: str,
    request: IntentRequest,
    tool: str,
    seconds: float,
    cancel: Cancellation | None = None,
) -> str:
    """Run the shortcut of a tool, and return its answer as text.

    Raises:
        ShortcutError: It gave none; what it did is not known.
    """
    call = os.urandom(16).hex()
    with tempfile.TemporaryDirectory(prefix="iac-") as name:
        # Shortcuts goes by the ending: it drops a .json without a word.
        given, answer = Path(name) / "input.txt", Path(name) / "answer.txt"
        given.write_text(json.dumps({**request.parameters, CALL: call}), "utf-8")
        argv = [shortcuts_program(), "run", uuid, "-i", str(given), "-o", str(answer)]
        try:
            done = run(argv, b"", seconds, apps=(request.app,), cancel=cancel)
            if done.cancelled:
                raise ToolError("USER_CANCELLED", "The call was cancelled.", command=tool)
            if done.timed_out:
                said = f"The shortcut did not end within {seconds:g} seconds, so IAC stopped it."
                raise ShortcutError("locked" if _is_locked(run) else "waits", said, tool)
            if done.status:
                raise _run_error(run, uuid, tool, done)
        except OSError as error:
            said = f"{shortcuts_program()} could not be started: {error.strerror or error}."
            raise ShortcutError("no program", said, tool) from error
        try:
            text = read_bounded(answer, _ANSWER)[0].decode("utf-8", "replace")
        except OSError:
            text = ""
    head, _, rest = text.partition("\n")
    if head.strip() != call:
        raise ShortcutError("silent", "The shortcut ended and gave no answer.", tool, text[:500])
    return rest.removesuffix("\n")


def _is_locked(run: RunInTurns) -> bool:
    """Say whether the screen is locked, as the registry of devices has it; no when not known."""
    try:
        done = run(["/usr/sbin/ioreg", "-a", "-n", "Root", "-d", "1"], b"", _LOOK)
        return plistlib.loads(done.stdout).get("IOConsoleLocked") is True
    except Exception:  # plistlib lets through whatever its parser raises
        return False


def _run_error(run: RunInTurns, uuid: str, tool: str, done: Completed) -> ShortcutError:
    """Return the error of a run that failed: its shortcut may not be there, or not any more."""
    known = list_shortcuts(run)
    if uuid in known:
        said = f"The shortcut failed: {quote_text(_error_text(done), 200)}"
        return ShortcutError("failed", said, tool, _error_text(done))
    title = shortcut_title(tool)
    if title in known.values():
        said = f"The shortcut {quote_text(title)} was replaced by another one of the same name."
        return ShortcutError("replaced", said, tool)
    return ShortcutError("absent", f"The shortcut {quote_text(title)} no longer exists.", tool)


def _error_text(done: Completed) -> str:
    return done.stderr.decode("utf-8", "replace").strip()
