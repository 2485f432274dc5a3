"""Carrying out a request: a turn, one exchange with the harness, one answer or one error.

    lock of the app -> one of few slots -> worker, or a process of its own -> answer

A request is data; the harness is a constant script, and nothing of a request becomes source text
or an argument of a program.
"""

import contextlib
import json
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from iac_base.errors import Cancellation, InvalidParameterError, ToolError
from iac_base.files import open_state
from iac_runtime.apple_errors import APP_ERROR, APPLE_ERRORS
from iac_runtime.execution.answers import (
    AppAnswer,
    ExchangeReply,
    SentCall,
    answer_from_reply,
    parse_process_output,
)
from iac_runtime.execution.locks import (
    DEFAULT_TIMEOUT,
    ExecutionLimits,
    ExecutionLocks,
    NoTurnError,
)
from iac_runtime.execution.process import Completed, Grace, Runner
from iac_runtime.execution.workers import WorkerPool, run_process
from iac_runtime.language.steps import Event, Step, Whose
from iac_runtime.language.text import event_json

if TYPE_CHECKING:
    from iac_runtime.execution.mac import AppState, Version

_ROOMS: Final = ("loop", "requests", "lists", "plans", "rows", "values", "raw", "bytes")
_NUMBERS: Final = {
    role: [number for number, row in APPLE_ERRORS.items() if row.harness == role]
    for role in ("stop", "unfiltered")
}
_DELAY: Final = "sysodela"
"""The event that does nothing but wait, for the seconds of its direct parameter."""

_LAST_GRACE: Final = 0.2
"""Seconds between TERM and KILL once the executor is closed."""

_OVER: Final = 3.0
"""Seconds in which a cancelled call is expected to be over."""

_NOT_A_MAC: Final = (
    "This is not a Mac. To try it with simulated apps, use connect(simulate=True) or --simulate."
)


@cache
def load_harness() -> str:
    """Return the script that carries out requests: its rooms, joined."""
    folder = Path(__file__).parent / "jxa"
    return "\n".join((folder / f"{room}.js").read_text("ascii") for room in _ROOMS)


class Executor:
    """Carries out requests; safe to share between threads.

    Args:
        runner: Something in this process that stands for osascript (a simulator): one run a call,
            no locks, for its apps are nobody else's. It cannot be ended from outside, so a
            cancelled call returns when its run does.
        program: The osascript to run; the environment's IAC_OSASCRIPT if left out.
        timeout: Seconds for one call.
        limits: The other settings; `timeout` goes before the one in it.
        workers: Whether a worker is kept for each app; otherwise each call is a process.
        state: The folder for locks; this user's state folder if left out.
    """

    def __init__(
        self,
        runner: Runner | None = None,
        program: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        *,
        limits: ExecutionLimits | None = None,
        workers: bool = True,
        state: Path | None = None,
    ) -> None:
        self._runner = runner
        self._program = program or os.environ.get("IAC_OSASCRIPT") or "osascript"
        self._limits = replace(limits or ExecutionLimits(), timeout=timeout)
        self._grace = Grace(self._limits.grace)
        self._argv = (self._program, "-l", "JavaScript", "-e", load_harness())
        self._state = state
        self._locks: ExecutionLocks | None = None
        self._lock = threading.Lock()
        self._change = threading.Condition(self._lock)
        self._under_way: set[Cancellation] = set()
        self._closed = False
        self._slow: set[tuple[str, tuple[Step, ...]]] = set()
        """The app and the collection of each filter that took the app too long."""
        self._workers: WorkerPool | None = None
        if workers and runner is None:
            self._workers = WorkerPool(self._argv, self._limits, self._grace)
        # Also at the end of the interpreter, and when nobody has the executor any more.
        self._end_workers: Callable[[], object] = (
            weakref.finalize(self, self._workers.close) if self._workers else lambda: None
        )

    def execute(
        self,
        event: Event,
        *,
        app: str,
        command: str,
        timeout: float | None = None,
        cancel: Cancellation | None = None,
    ) -> AppAnswer:
        """Send one request and return the answer.

        The app has `timeout` seconds from the moment that it is the call's turn; for the turn the
        call waits no longer than that. A read is sent a second time if the error's row allows it.

        Args:
            app, command: The names of the app and of the tool, for errors.
            timeout: Seconds; those of the executor if left out.
            cancel: Ends the call from another thread.

        Raises:
            ToolError: It failed; the error has been told apart by number.
            SetupError: The state folder is not as it must be.
        """
        seconds = self._limits.timeout if timeout is None else timeout
        call = SentCall(app, command, event.writes, seconds)
        if (
            event.code == _DELAY
            and isinstance(event.direct, int | float)
            and event.direct >= seconds
        ):
            raise InvalidParameterError(
                f"A call can take at most {seconds:g} seconds, and this one would wait for"
                f" {event.direct:g}.",
                "Wait in several shorter calls.",
            )
        wanted = cancel or Cancellation()
        with self._track_call(wanted, call), self._hold_turns((event.app,), call, wanted):
            return self._send_with_retry(event, call, wanted)

    def run(
        self,
        argv: Sequence[str],
        stdin: bytes,
        timeout: float,
        *,
        apps: Collection[str] = (),
        cancel: Cancellation | None = None,
    ) -> Completed:
        """Run another osascript, of somebody's own script, in the turns of the apps it names.

        Args:
            argv: The command; its program is replaced by the executor's own `osascript`.
            stdin: What it reads.
            timeout: Seconds until its processes are ended.
            apps: Bundle ids. Of more than three the first in order have their turns: each takes
                a place among the calls, and there are four.
            cancel: Ends it from another thread.

        Raises:
            ToolError: No turn could be had, or the executor was closed.
            OSError: The program cannot be started.
        """
        call = SentCall(", ".join(apps), "script", writes=True, timeout=timeout)
        command = (self._program, *argv[1:]) if argv[0] == "osascript" else tuple(argv)
        wanted = cancel or Cancellation()
        with self._track_call(wanted, call), self._hold_turns(sorted(apps)[:3], call, wanted):
            return self._run_command(command, stdin, timeout, wanted)

    @property
    def timeout(self) -> float:
        """The seconds that a call has where it does not say otherwise."""
        return self._limits.timeout

    @property
    def simulated(self) -> bool:
        """Whether requests go to something in this process and reach no app."""
        return self._runner is not None

    @property
    def simulation(self) -> Runner | None:
        """What stands for osascript in this process; None where requests go to apps."""
        return self._runner

    def wait(self, seconds: float, cancel: Cancellation | None = None) -> None:
        """Give the apps time; those of a runner that has a clock of its own take none of ours."""
        let_pass = getattr(self._runner, "wait", None) or (cancel or Cancellation()).wait
        let_pass(seconds)

    def installed_versions(self) -> "Version":
        """Return the versions that requests meet."""
        import platform
        import shutil

        from iac_runtime.execution.mac import Version

        found = None if self._runner is not None else shutil.which(self._program)
        return Version(platform.mac_ver()[0], found)

    def test_app(self, bundle_id: str, timeout: float = 10.0) -> "AppState":
        """Say how things stand with an app, without an event to it, a prompt or a launch.

        It takes no turn, so that it answers while a call to the app hangs.

        Args:
            bundle_id: The app's bundle id.
            timeout: Seconds.
        """
        from iac_runtime.execution.mac import app_state

        event = Event(bundle_id, "application", "test", "", writes=False)
        call = SentCall(bundle_id, "test", writes=False, timeout=timeout)
        try:
            wanted = Cancellation()
            with self._track_call(wanted, call):
                mark = _new_mark()
                request = request_bytes(event, mark)
                reply = self._send_in_process(request, mark, timeout, wanted, call)
            return app_state(answer_from_reply(reply, call).value, bundle_id)
        except ToolError as error:
            return app_state(None, bundle_id, str(error))

    def close(self) -> None:
        """Cancel the calls under way, wait until they are over, and end the workers.

        Nobody is given long: who closes may be about to be killed.
        """
        self._grace.cut_short(_LAST_GRACE)
        with self._change:
            self._closed = True
            under_way = tuple(self._under_way)
        for wanted in under_way:
            wanted.cancel()
        if self._runner is None:
            with self._change:
                self._change.wait_for(lambda: not self._under_way, _OVER)
        self._end_workers()

    def worker_states(self) -> dict[str, str]:
        """Return the state of each app's worker, by bundle id; one at work is not among them."""
        return self._workers.worker_states() if self._workers is not None else {}

    @contextlib.contextmanager
    def _track_call(self, wanted: Cancellation, call: SentCall) -> Iterator[None]:
        """Make a call known to `close`."""
        with self._change:
            if self._closed:
                closed = "The connection to the apps was closed."
                raise call.make_error("UNAVAILABLE", closed, "Connect again.")
            self._under_way.add(wanted)
        try:
            yield
        finally:
            with self._change:
                self._under_way.discard(wanted)
                self._change.notify_all()

    @contextlib.contextmanager
    def _hold_turns(
        self, apps: Sequence[str], call: SentCall, cancel: Cancellation
    ) -> Iterator[None]:
        """Hold the turns of apps, one after the other; those of a runner are nobody else's."""
        with contextlib.ExitStack() as exit_stack:
            if self._runner is None:
                locks = self._open_locks()
                try:
                    for app in apps:
                        deadline = time.monotonic() + call.timeout
                        exit_stack.enter_context(locks.hold_turn(app, deadline, cancel))
                except NoTurnError as error:
                    raise _no_turn_error(error, call, cancelled=cancel.is_cancelled) from None
            yield

    def _open_locks(self) -> ExecutionLocks:
        with self._lock:
            if self._locks is None:
                folder = (self._state or open_state()) / "locks"
                limits = self._limits
                self._locks = ExecutionLocks(folder, limits.running, limits.waiting, limits.share)
            return self._locks

    def _send_with_retry(self, event: Event, call: SentCall, cancel: Cancellation) -> AppAnswer:
        begun, deadline = time.monotonic(), time.monotonic() + call.timeout
        filters = event.op in ("list", "count") and isinstance((None, *event.target)[-1], Whose)
        collection = (event.app, event.target[:-1])
        if filters and collection in self._slow:
            event = replace(event, filter_here="slow")
        # What is dear the harness decides itself, in the time that there is.
        filtered = filters and not event.filter_here and "column" not in event.costs
        until = begun + call.timeout / 2 if filtered else deadline
        try:
            return self._send_once(event, call, until, cancel)
        except ToolError as error:
            if filtered and error.type == "TIMEOUT" and error.number is None:
                # An app may look at one object after the other; whole columns are quicker then.
                self._slow.add(collection)
                event = replace(event, filter_here="slow")
                return self._send_once(event, call, deadline, cancel)
            if error.number is None or event.writes:
                raise
            retry = APPLE_ERRORS.get(error.number, APP_ERROR).retry
            if retry == "never" or (retry == "launch" and not event.may_launch):
                raise
        if retry == "launch":
            launch = Event(event.app, event.kind, "launch", "ascrnoop")
            self._send_once(launch, call, deadline, cancel)
        return self._send_once(event, call, deadline, cancel)

    def _send_once(
        self, event: Event, call: SentCall, deadline: float, cancel: Cancellation
    ) -> AppAnswer:
        mark = _new_mark()
        request = request_bytes(event, mark)
        reply: ExchangeReply | None = None
        if self._workers is not None:
            with _wrap_start_errors(self._program, call):
                reply = self._workers.send_request(
                    event.app, request + b"\n", mark, deadline, cancel
                )
        if reply is None:
            seconds = max(0.0, deadline - time.monotonic())
            reply = self._send_in_process(request, mark, seconds, cancel, call)
        return answer_from_reply(reply, call)

    def _send_in_process(
        self, request: bytes, mark: str, seconds: float, cancel: Cancellation, call: SentCall
    ) -> ExchangeReply:
        """Carry out a request in a process of its own, or in one run of the runner."""
        if self._runner is not None and cancel.is_cancelled:
            return ExchangeReply("cancelled", sent=False)
        with _wrap_start_errors(self._program, call):
            return parse_process_output(
                self._run_command(self._argv, request, seconds, cancel), mark
            )

    def _run_command(
        self, argv: Sequence[str], stdin: bytes, seconds: float, cancel: Cancellation
    ) -> Completed:
        if self._runner is not None:
            return self._runner(argv, stdin, seconds)
        return run_process(
            argv, stdin, seconds, cancel=cancel, grace=self._grace, cap=self._limits.answer
        )


def request_bytes(event: Event, mark: str) -> bytes:
    """Return a request as the harness reads it: JSON, ASCII; `mark` frames or names the answer."""
    return json.dumps({**event_json(event, mark), "numbers": _NUMBERS}).encode()


def _new_mark() -> str:
    """Return what frames or names an answer; nothing that an app prints can guess it."""
    return os.urandom(8).hex()


@contextlib.contextmanager
def _wrap_start_errors(program: str, call: SentCall) -> Iterator[None]:
    """Turn the failure to start the program into an error of the call."""
    try:
        yield
    except OSError as error:
        absent = isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError)
        way = "Check IAC_OSASCRIPT." if sys.platform == "darwin" else _NOT_A_MAC
        if not absent:
            way = "Nothing was sent. Call again when this machine is less busy."
        message = f"{program} could not be started: {error.strerror or error}."
        raise call.make_error("UNAVAILABLE", message, way, retryable=not absent) from error


def _no_turn_error(error: NoTurnError, call: SentCall, *, cancelled: bool) -> ToolError:
    """Return the error for a call that was never sent."""
    if cancelled:
        return call.make_error("USER_CANCELLED", "The call was cancelled before it was sent.")
    message = (
        "Too many calls are waiting."
        if error.full
        else f"{call.app} was busy with other calls for {call.timeout:g} seconds."
    )
    way = "Nothing was sent. Call again when other calls have finished."
    return call.make_error("BUSY", message, way, retryable=True)
