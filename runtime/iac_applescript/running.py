"""Running a script through osascript and checking one with osacompile: the text goes by stdin."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from iac_applescript.answers import Answer, read_answer
from iac_applescript.failures.explain import Failure, explain
from iac_base.errors import ErrorType, ToolError
from iac_runtime.apple_errors import APPLE_ERRORS
from iac_runtime.execution.process import Completed, Runner

__all__ = ["LANGUAGES", "Ran", "compile_script", "error_of", "osascript", "run_script"]

LANGUAGES: Final = {"applescript": "AppleScript", "javascript": "JavaScript"}
_COMPILE_SECONDS: Final = 20.0

_TYPES: Final[dict[str, ErrorType]] = {
    "automation_denied": "PERMISSION_DENIED",
    "accessibility_denied": "PERMISSION_DENIED",
    "keystrokes_denied": "PERMISSION_DENIED",
    "silent": "PERMISSION_DENIED",
    "app_not_found": "APP_NOT_FOUND",
    "app_not_running": "APP_NOT_RUNNING",
    "cancelled": "USER_CANCELLED",
    "timeout": "TIMEOUT",
    "not_found": "NOT_FOUND",
    "index_out_of_range": "NOT_FOUND",
}


class Ran(NamedTuple):
    """What came of a run: an answer or a failure, and how long it took."""

    answer: Answer | None
    failure: Failure | None
    original: str
    milliseconds: float


def osascript() -> str:
    """Return the program: the environment's IAC_OSASCRIPT, else osascript."""
    return os.environ.get("IAC_OSASCRIPT") or "osascript"


def run_script(
    runner: Runner,
    script: str,
    language: str,
    timeout: float,
    confine: Callable[[Sequence[str]], Sequence[str]] = list,
) -> Ran:
    """Run a script.

    Args:
        runner: Runs osascript.
        script, language: What to run.
        timeout: Seconds.
        confine: Makes the command one that is confined; the command itself if left out.

    Raises:
        ToolError: osascript could not be started, the call was cancelled, or the answer is too
            large.
    """
    argv = [osascript(), "-l", LANGUAGES[language], "-s", "s", "-"]
    begun = time.monotonic()
    try:
        done = runner(confine(argv), script.encode("utf-8", "replace"), timeout)
    except OSError as error:
        message = f"{argv[0]} could not be started ({error.strerror or error})."
        raise ToolError("UNAVAILABLE", message, "Scripts run on a Mac only.") from error
    spent = round((time.monotonic() - begun) * 1000, 1)
    return _ran(done, script, language, timeout, spent)


def _ran(done: Completed, script: str, language: str, timeout: float, spent: float) -> Ran:
    if done.cancelled:
        raise ToolError("USER_CANCELLED", "The call was cancelled.", "Look whether it was done.")
    if done.too_large:
        raise ToolError("EXECUTION_ERROR", "The script gave too much.", "Return less of it.")
    words = done.stderr.decode("utf-8", "replace")
    if done.timed_out:
        failure = explain("", -1712, script, language)
        return Ran(None, failure, f"stopped after {timeout:g} seconds", spent)
    if done.status != 0:
        original = words.strip()[-2000:]
        # What a script logs goes to the same stream: the last line is osascript's own.
        return Ran(None, explain(_last(original), None, script, language), original, spent)
    return Ran(read_answer(done.stdout.decode("utf-8", "replace"), language), None, "", spent)


def _last(text: str) -> str:
    """Return the error itself: from the last line that names one to the end."""
    for mark in ("execution error:", "syntax error:"):
        place = text.rfind(mark)
        if place >= 0:
            return text[text.rfind("\n", 0, place) + 1 :]
    return text


def error_of(failure: Failure, original: str = "") -> ToolError:
    """Return a failure as the error of a call."""
    known = APPLE_ERRORS.get(failure.number) if failure.number is not None else None
    kind = _TYPES.get(failure.cause) or (known.type if known else "EXECUTION_ERROR")
    return ToolError(
        kind,
        failure.says,
        " ".join(failure.fixes[:2]),
        number=failure.number,
        original=original,
    )


def compile_script(runner: Runner, script: str, language: str) -> str:
    """Return what osacompile complains of, empty if nothing. It looks terms up and runs nothing.

    Raises:
        OSError: osacompile could not be started.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="iac-compile-") as folder:
        argv = ["osacompile", "-l", LANGUAGES[language], "-o", f"{folder}/script.scpt", "-"]
        done = runner(argv, script.encode("utf-8", "replace"), _COMPILE_SECONDS)
    if done.status == 0 and not done.timed_out:
        return ""
    return done.stderr.decode("utf-8", "replace").strip()[-1000:] or "osacompile gave no reason."
