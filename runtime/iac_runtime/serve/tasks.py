"""Calls that take long, for clients of the extension of tasks: a handle, then the result.

A call that ends within seconds is answered as ever. Another goes on in a thread of its own, and
its client asks for it by `tasks/get`. What it then wants to know of a person is answered by
`tasks/update`, which sends the same call again with the answers.
Source: MCP extension io.modelcontextprotocol/tasks (SEP-2663).
"""

import secrets
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final

from iac_base.errors import Cancellation
from iac_runtime.policy.facts import Verdict
from iac_runtime.serve.call import Method, Peer, Result, read_requester
from iac_runtime.serve.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    TASK_EXTENSION,
    ProtocolError,
    method_not_found,
    modern_result,
    one_line_error,
)

__all__ = ["DIRECT_SECONDS", "TaskCalls", "missing_tasks"]

DIRECT_SECONDS: Final = 8.0
"""Seconds for which a client waits for the result itself, before it gets a handle."""

KEPT_SECONDS: Final = 3_600
"""Seconds from its beginning for which a task can be asked for."""

POLL_MS: Final = 1_000

MOST_TASKS: Final = 64
MOST_WORKING: Final = 8
"""Tasks of one client that are kept, and those of them at work; with so many, a call is answered
when it has ended, however long it takes."""


class TaskCalls:
    """The method tools/call where a client takes tasks, and the methods of tasks.

    Args:
        call: Answers tools/call.
        direct: Seconds before a client gets a handle.
    """

    def __init__(self, call: Method, direct: float) -> None:
        self._call, self._direct = call, direct
        self._tasks: dict[str, _Task] = {}
        self._lock = threading.Lock()

    def call_tool(self, params: Mapping[str, Any], peer: Peer, cancel: Cancellation) -> Result:
        """Return the result of a call, or a handle of the task that it has become."""
        task = _Task(self._call, params, peer)
        answer = task.begin_round(params)
        with cancel.on_cancel(task.cancel.cancel):
            with suppress(TimeoutError):
                return answer.result(self._direct)
            if cancel.is_cancelled or not self._keep(task):
                return answer.result()
        return {"resultType": "task", **task.facts()}

    def get_task(self, params: Mapping[str, Any], peer: Peer, _cancel: Cancellation) -> Result:
        """Return how far a task is, with its result or its questions."""
        task = self._find(params, peer, "tasks/get")
        return {**task.facts(), **task.outcome()}

    def update_task(self, params: Mapping[str, Any], peer: Peer, _cancel: Cancellation) -> Result:
        """Take answers to a task's questions; it goes on when it has all."""
        self._find(params, peer, "tasks/update").take_responses(params, peer)
        return {}

    def cancel_task(self, params: Mapping[str, Any], peer: Peer, _cancel: Cancellation) -> Result:
        """Ask a task to end; one that has ended stays as it is."""
        self._find(params, peer, "tasks/cancel").stop()
        return {}

    def _keep(self, task: "_Task") -> bool:
        with self._lock:
            self._drop_old()
            mine = [row for row in self._tasks.values() if row.owner == task.owner]
            working = sum(row.outcome()["status"] == "working" for row in mine)
            if len(mine) >= MOST_TASKS or working >= MOST_WORKING:
                return False
            self._tasks[task.id], task.is_kept = task, True
            return True

    def _drop_old(self) -> None:
        """Forget tasks whose time is over, and those of a token that was taken back."""
        for old in [*self._tasks.values()]:
            if old.age > KEPT_SECONDS or old.revoked.is_cancelled:
                old.cancel.cancel()
                del self._tasks[old.id]

    def _find(self, params: Mapping[str, Any], peer: Peer, method: str) -> "_Task":
        if not peer.modern:
            raise method_not_found(method)
        if not peer.tasks:
            raise missing_tasks()
        with self._lock:
            self._drop_old()
            task = self._tasks.get(params["taskId"])
        # Whose it is not hears nothing of it.
        if task is None or task.owner != read_requester(peer).token_client:
            raise ProtocolError(INVALID_PARAMS, "There is no task with this taskId.")
        return task


class _Task:
    """A call, and what has become of it; the `Peer` of who answers it too.

    Attributes:
        owner: The client that a token proved, whose task it is.
        cancel: Ends the call.
        revoked: Is cancelled when the token of who began it is taken back.
        is_kept: Whether its client has a handle, and hears no more of its request.
    """

    modern, tasks = True, True

    def __init__(self, call: Method, params: Mapping[str, Any], peer: Peer) -> None:
        self.id = secrets.token_urlsafe(16)
        self.owner = read_requester(peer).token_client
        self.name, self.declared = peer.name, peer.declared
        self.views, self.remote = peer.views, peer.remote
        self.cancel = Cancellation()
        self.revoked = peer.remote.revoked if peer.remote else Cancellation()
        self._call, self._params, self._peer = call, params, peer
        self._begun = self._updated = time.time()
        self._round, self._message = 0, ""
        self._answer: Future[Result] = Future()
        self._responses: dict[str, Any] = {}
        self._stopped = self.is_kept = False
        self._lock = threading.RLock()

    @property
    def age(self) -> float:
        """Seconds since it began."""
        return time.time() - self._begun

    def begin_round(self, params: Mapping[str, Any]) -> "Future[Result]":
        """Send the call, in a thread of its own; return where its result arrives."""
        self._round, self._responses, self._answer = self._round + 1, {}, Future()
        args = self._answer, params
        threading.Thread(target=self._send_call, args=args, name="iac-task", daemon=True).start()
        return self._answer

    def _send_call(self, answer: "Future[Result]", params: Mapping[str, Any]) -> None:
        try:
            with self.revoked.on_cancel(self.cancel.cancel):
                result = self._call(params, self, self.cancel)
        except BaseException as error:
            self._updated = time.time()
            answer.set_exception(error)
        else:
            self._updated = time.time()
            answer.set_result(result)

    def stop(self) -> None:
        """End the call, unless it has ended."""
        with self._lock:
            self._stopped |= not self._answer.done() or bool(self._asked())
        self.cancel.cancel()

    def take_responses(self, params: Mapping[str, Any], peer: Peer) -> None:
        """Take answers to what is asked; others are passed over."""
        responses = params["inputResponses"]
        with self._lock:
            asked = self._asked()
            # It goes on with the rights of who answers, as a call that is sent again would.
            self.remote, self.declared = peer.remote, peer.declared
            self._responses |= {key: responses[key] for key in asked if key in responses}
            if not asked or self._asked():
                return
            given = {key.partition(".")[2]: answer for key, answer in self._responses.items()}
            state = self._answer.result().get("requestState")
            more = {} if state is None else {"requestState": state}
            self.begin_round({**self._params, "inputResponses": given, **more})

    def _asked(self) -> dict[str, Any]:
        """Return what is not yet answered; a key names its round, for none may come twice."""
        if self._stopped or not self._answer.done() or self._answer.exception():
            return {}
        requests = self._answer.result().get("inputRequests", {})
        keys = {f"{self._round}.{key}": row for key, row in requests.items()}
        return {key: row for key, row in keys.items() if key not in self._responses}

    def facts(self) -> dict[str, Any]:
        """Return what is said of a task whatever has become of it."""
        said = {"statusMessage": self._message} if self._message else {}
        return {
            "taskId": self.id,
            "status": self.outcome()["status"],
            **said,
            "createdAt": _timestamp(self._begun),
            "lastUpdatedAt": _timestamp(self._updated),
            "ttlMs": KEPT_SECONDS * 1000,
            "pollIntervalMs": POLL_MS,
        }

    def outcome(self) -> dict[str, Any]:
        """Return the status, and what belongs to it."""
        with self._lock:
            answer, asked = self._answer, self._asked()
        if not answer.done():
            return {"status": "working"}
        if asked:
            return {"status": "input_required", "inputRequests": asked}
        if error := answer.exception():
            code = error.code if isinstance(error, ProtocolError) else INTERNAL_ERROR
            return {"status": "failed", "error": {"code": code, "message": one_line_error(error)}}
        result = answer.result()
        # One that ended before it could be stopped has its result.
        if self._stopped and ("inputRequests" in result or result.get("isError")):
            return {"status": "cancelled"}
        return {"status": "completed", "result": modern_result(result, "tools/call")}

    def report(self, seconds: float, said: str) -> None:
        """Keep word of how long it takes; while the client waits, tell it."""
        self._message = said
        if not self.is_kept:
            self._peer.report(seconds, said)

    def elicit(
        self, params: Mapping[str, Any], cancel: Cancellation, seconds: float
    ) -> Verdict | tuple[str, Mapping[str, Any] | None]:
        """Ask nobody: in the newer era, a result asks."""
        del params, cancel, seconds
        return "unable"


def missing_tasks() -> ProtocolError:
    """Return the error for a client that takes no tasks, where there is no other way."""
    text = f"The client must declare the extension {TASK_EXTENSION}."
    extensions: dict[str, Any] = {TASK_EXTENSION: {}}
    return ProtocolError(
        MISSING_CAPABILITY, text, {"requiredCapabilities": {"extensions": extensions}}
    )


def _timestamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
