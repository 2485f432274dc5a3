"""Carrying out a request: one osascript, one constant script, one JSON in, one JSON out."""

import json
import os
import secrets
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_runtime.errors import ToolError
from iac_runtime.execution.appleerrors import describe, script_error, silent_failure
from iac_runtime.execution.process import Completed, Runner, run_process
from iac_runtime.request import Event, event_json

__all__ = ["DEFAULT_TIMEOUT", "Answer", "Executor"]

DEFAULT_TIMEOUT: Final = 30.0
"""Seconds. Below the 60 after which some clients give up on a call."""

HARNESS: Final = Path(__file__).parent / "jxa" / "harness.js"
_OUTCOME: Final = "Whether the app did it is not known: look before you try again."
_NOT_A_MAC: Final = (
    "This is not a Mac. To try it with simulated apps, use connect(simulate=True) or --simulate."
)


class Answer(NamedTuple):
    """What the harness answered: a tagged value or a list, and remarks on what is missing."""

    value: Any
    listing: dict[str, Any] | None
    notes: tuple[str, ...]


class Executor:
    """Runs requests, one process each; safe to share between threads.

    Args:
        runner: How a process is run; a simulator passes itself.
        program: The osascript to run; the environment's IAC_OSASCRIPT if left out.
        timeout: Seconds until the process group is killed.
    """

    def __init__(
        self,
        runner: Runner = run_process,
        program: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        self._runner = runner
        self._program = program or os.environ.get("IAC_OSASCRIPT") or "osascript"
        self._timeout = timeout

    def execute(self, event: Event, *, app: str, tool: str) -> Answer:
        """Send one request and return the answer; `app` and `tool` are names for errors.

        Raises:
            ToolError: It failed; the error has been told apart by number.
        """
        mark = secrets.token_hex(8)
        request = json.dumps(event_json(event, mark)).encode()
        argv = [self._program, "-l", "JavaScript", str(HARNESS)]
        try:
            done = self._runner(argv, request, self._timeout)
        except OSError as error:
            raise ToolError(
                "UNAVAILABLE",
                f"{self._program} could not be started: {error.strerror or error}.",
                "Check IAC_OSASCRIPT." if sys.platform == "darwin" else _NOT_A_MAC,
                app=app,
                tool=tool,
            ) from error
        if done.timed_out:
            raise ToolError(
                "TIMEOUT",
                f"{app} did not answer within {self._timeout:g} seconds.",
                _OUTCOME if event.writes else "It may show a dialog; look, or allow more time.",
                retryable=not event.writes,
                app=app,
                tool=tool,
            )
        answer = _framed(done.stdout, mark)
        if answer is None:
            raise _broken(done, app, tool, writes=event.writes)
        if not answer.get("ok"):
            message = str(answer.get("message", ""))
            raise describe(answer.get("number"), message, app=app, tool=tool, writes=event.writes)
        notes = tuple(str(note) for note in answer.get("notes") or ())
        return Answer(answer.get("value"), answer.get("list"), notes)


def _framed(stdout: bytes, mark: str) -> dict[str, Any] | None:
    """Return the answer between the marks, whatever else was printed."""
    text = stdout.decode("utf-8", "replace")
    _, opening, rest = text.partition(f"<iac:{mark}>")
    body, closing, _ = rest.rpartition(f"</iac:{mark}>")
    if not opening or not closing:
        return None
    try:
        answer = json.loads(body)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _broken(done: Completed, app: str, tool: str, *, writes: bool) -> ToolError:
    """Return the error for a process that left no answer."""
    stderr = done.stderr.decode("utf-8", "replace")
    found = script_error(stderr, app=app, tool=tool, writes=writes)
    if found is not None:
        return found
    if done.status == 1 and not stderr.strip() and not done.stdout.strip():
        return silent_failure(app, tool)
    how = (
        f"was ended by signal {-done.status}"
        if done.status < 0
        else f"ended with status {done.status}"
    )
    return ToolError(
        "EXECUTION_ERROR",
        f"osascript {how} and gave no answer.",
        _OUTCOME if writes else "Call again; if it stays so, the app may not take these values.",
        retryable=not writes,
        app=app,
        tool=tool,
        original=stderr.strip()[-500:],
    )
