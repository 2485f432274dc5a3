"""Requests that lead behind the front, each answered in a thread of its own.

What is sent is what the SDK would have sent, byte for byte; a test compares the two. A client may
cancel a request (it is then not answered), and be asked a question in the middle of one.
"""

import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from iac_base.errors import Cancellation
from iac_runtime.serve.protocol import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    ProtocolError,
    Sender,
    ServerIdentity,
    error_message,
    is_elicited,
    method_not_found,
    modern_result,
    notification_message,
    one_line_error,
    refusal_message,
    request_message,
    result_message,
    with_server_info,
)

if TYPE_CHECKING:
    from iac_runtime.policy.facts import Verdict
    from iac_runtime.serve.call import Method, RemoteClient


THREADS: Final = 80
"""Requests at work at once: all calls that the executor lets run or wait (4 and 64), and some that
it answers with BUSY at once. Without room for these, a client would wait for that answer too."""

_ROOM: Final = 1_000
"""Requests at work or waiting; a client that sends more is not read on."""

_OPENING: Final = 5.0
"""Seconds that opening what lies behind may take on a busy machine."""

_OURS: Final = "iac-"
"""How the ids of our own requests begin."""


class RequestPool:
    """Answers requests; `take`, `cancel`, `heard` and `close` are for the front's thread.

    Args:
        methods: Opens what lies behind; called once, in a thread, on first need.
        identity: What the server says of itself.
        write: Sends one message to the client.
    """

    def __init__(
        self,
        methods: "Callable[[], Mapping[str, Method]]",
        identity: ServerIdentity,
        write: Callable[[bytes], None],
    ) -> None:
        self.write = write
        self._open = methods
        self._identity = identity
        self._methods: Mapping[str, Method] | None = None
        self._opening = threading.Lock()
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._threads = 0
        self._room = threading.Semaphore(_ROOM)
        self._changed = threading.Condition()
        self._running: dict[str | int, _PooledRequest] = {}
        self._asked: dict[str, queue.SimpleQueue[Any]] = {}
        self._questions = 0
        self.failure: BaseException | None = None
        """Why nothing can be answered; every request is then answered with it."""

    def prepare(self) -> None:
        """Begin to open what lies behind; returns at once."""
        if not self._threads:
            self._queue_work(self._open_quietly)

    def submit(
        self, method: str, id_: str | int, params: Mapping[str, Any], sender: Sender
    ) -> None:
        """Answer a request in a while."""
        self._room.acquire()
        request = _PooledRequest(self, id_, sender)
        with self._changed:
            self._running[request_key(id_)] = request
        self._queue_work(partial(self._answer_request, request, method, params))

    def cancel_request(self, id_: str | int) -> bool:
        """End a request that is no longer wanted; say whether it was at work here."""
        with self._changed:
            request = self._running.pop(request_key(id_), None)
        if request is None:
            return False
        request.unwanted = True
        request.cancel.cancel()
        return True

    def deliver_reply(self, message: Mapping[str, Any]) -> bool:
        """Take the client's answer to a question of ours; say whether it is one."""
        id_ = message.get("id")
        if not (isinstance(id_, str) and id_.startswith(_OURS)):
            return False
        waiting = self._asked.get(id_)
        if waiting is not None:
            waiting.put(message)
        return True

    def send_question(self, method: str, params: Any) -> "tuple[str, queue.SimpleQueue[Any]]":
        """Send a request to the client; return its id, and where the answer arrives."""
        with self._changed:
            self._questions += 1
            id_ = f"{_OURS}{self._questions}"
            waiting = self._asked[id_] = queue.SimpleQueue()
        self.write(request_message(id_, method, params))
        return id_, waiting

    def drop_question(self, id_: str) -> None:
        """Wait for the answer to a question no longer."""
        self._asked.pop(id_, None)

    def close(self, grace: float) -> bool:
        """End; what still runs after `grace` seconds is cancelled. Say whether all has ended."""
        if grace:
            # What was asked while it was being opened is still answered.
            self._wait_until(lambda: not self._running or self._is_open(), _OPENING)
        self._wait_until(lambda: not self._running, grace)
        with self._changed:
            left = list(self._running.values())
        for request in left:
            request.closed = True
            request.cancel.cancel()
        return self._wait_until(lambda: not self._running, 0.3)

    def _wait_until(self, done: Callable[[], bool], seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(done, seconds)

    def _is_open(self) -> bool:
        return self._methods is not None or self.failure is not None

    def _queue_work(self, work: Callable[[], None]) -> None:
        self._work.put(work)
        if not self._idle.acquire(blocking=False) and self._threads < THREADS:
            self._threads += 1
            threading.Thread(target=self._work_loop, name="iac-call", daemon=True).start()

    def _work_loop(self) -> None:
        while True:
            self._work.get()()
            self._idle.release()

    def _open_quietly(self) -> None:
        with suppress(BaseException):
            self._open_methods()

    def _open_methods(self) -> "Mapping[str, Method]":
        with self._opening:
            if self.failure is not None:
                raise self.failure
            if self._methods is None:
                try:
                    self._methods = self._open()
                except BaseException as error:
                    self.failure = error
                    os.write(2, f"iac-mcp: {one_line_error(error)}\n".encode(errors="replace"))
                    raise
                with self._changed:
                    self._changed.notify_all()
            return self._methods

    def _answer_request(
        self, request: "_PooledRequest", method: str, params: Mapping[str, Any]
    ) -> None:
        try:
            answer = self._open_methods().get(method)
            if answer is None:
                raise method_not_found(method)
            result = answer(params, request, request.cancel)
            if request.modern:
                result = with_server_info(modern_result(result, method), self._identity)
            line = result_message(request.id, result)
        except ProtocolError as error:
            line = refusal_message(request.id, error)
        except BaseException as error:
            line = error_message(request.id, one_line_error(error))
        if request.closed:
            line = error_message(request.id, "Connection closed", CONNECTION_CLOSED)
        if not request.unwanted:
            self.write(line)
        with self._changed:
            if self._running.get(request_key(request.id)) is request:
                del self._running[request_key(request.id)]
            self._changed.notify_all()
        self._room.release()


class _PooledRequest:
    """A request at work: the `Peer` of who answers it, and what ends it.

    Attributes:
        unwanted: The client cancelled it, and hears no more of it.
        closed: The connection ended before it did.
    """

    def __init__(self, owner: RequestPool, id_: str | int, sender: Sender) -> None:
        self._owner = owner
        self._token = sender.token
        self.id = id_
        self.name, self.modern, self.declared = sender.name, sender.modern, sender.declared
        self.views, self.tasks = sender.views, sender.tasks
        self.remote: RemoteClient | None = None
        self.cancel = Cancellation()
        self.unwanted = self.closed = False

    def report(self, seconds: float, said: str) -> None:
        if self._token is None or self.unwanted:
            return
        told = {"progressToken": self._token, "progress": seconds, "message": said}
        self._owner.write(notification_message("notifications/progress", told))

    def elicit(
        self, params: Mapping[str, Any], cancel: Cancellation, seconds: float
    ) -> "Verdict | tuple[str, Mapping[str, Any] | None]":
        id_, waiting = self._owner.send_question("elicitation/create", params)
        begun = time.monotonic()
        with cancel.on_cancel(partial(waiting.put, None)):
            try:
                message = waiting.get(timeout=seconds)
            except queue.Empty:
                message = None
        self._owner.drop_question(id_)
        if message is None:
            gone = {"requestId": id_, "reason": "The approval prompt is no longer open."}
            self._owner.write(notification_message("notifications/cancelled", gone))
            return "timeout" if time.monotonic() - begun >= seconds else "error"
        return parse_elicitation(message)


def parse_elicitation(
    message: Mapping[str, Any],
) -> "Verdict | tuple[str, Mapping[str, Any] | None]":
    """Return the action and the content of a client's answer, or why there are none."""
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        return "unable" if error.get("code") == METHOD_NOT_FOUND else "error"
    if not isinstance(result, dict) or not is_elicited(result):
        return "error"
    return result["action"], result.get("content")


def request_key(id_: str | int) -> str | int:
    """Return an id as it is compared: a client may give a number back as text."""
    try:
        return int(id_)
    except ValueError:
        return id_
