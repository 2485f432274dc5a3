"""Calling a tool for a client: the result in the protocol's form, word of how long it takes.

Everything here runs in the thread of one call and knows no library of the protocol: the front's
own calls and those of the SDK's sessions come here alike, each with its `Peer`.

A client that sent a token is told how long the call has run, and how far it says it is. Some
clients drop a call after 60 seconds without a word of their own; what would last longer, its wait
for a turn included, is ended here before that, with an answer that says how to go on.

The client is asked in its era: by `elicitation/create` in the middle of a call, or, in 2026-07-28,
by a result that asks for input and is followed by the same call with the answer. By which way a
person is asked next is the gate's to say; another way needs its word in `APPROVERS`, its place in
`Peer.requester` and its asker in `call_gate`.
"""

import json
import sched
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol

from iac_base.cancellation import Cancellation
from iac_base.errors import IacError, ToolError, UnknownToolError
from iac_base.text import clean_text, escaped, hidden
from iac_runtime.execution.answers import OUTCOME_UNKNOWN
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Asks, Call, Done, Refused
from iac_runtime.gate.results import MOST_SECONDS, clean, structured
from iac_runtime.policy.effects import Approver, Verdict
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.question import (
    ANSWERS,
    ask_dialog,
    dialog_at_hand,
    form,
    input_required,
    read_answer,
    read_responses,
)
from iac_runtime.serve.messages import INVALID_PARAMS, ProtocolError
from iac_runtime.serve.pages import ToolSearch, through_door
from iac_runtime.serve.status import StatusFile
from iac_runtime.tools.catalogue import Catalogue

EVERY: Final = 3.0
"""Seconds between two reports."""

_AFTER: Final = 4.0
"""Seconds for what follows the end of a call, before it is ended from here."""

PATIENCE: Final = 54.0
"""Seconds for a call: 60, less what ending a process that resists takes, and a little."""

THINKING: Final = 300.0
"""Seconds that a client has for a question in the middle of a call."""

FIND: Final = "find_tools"

Result = dict[str, Any]
Method = Callable[[Mapping[str, Any], "Peer", Cancellation], Result]
"""Answers a request of the protocol: its parameters, who sent it, and what ends it."""


class Peer(Protocol):
    """The client of one request.

    Attributes:
        name: As it names itself.
        modern: Whether it speaks the version without a handshake.
        declared: Whether it said that it can ask a person.
    """

    name: str
    modern: bool
    declared: bool

    def report(self, seconds: float, said: str) -> None:
        """Tell how long the request has run; without a token of the client's, nothing."""

    def elicit(
        self, params: Mapping[str, Any], cancel: Cancellation, seconds: float
    ) -> Verdict | tuple[str, Mapping[str, Any] | None]:
        """Send `elicitation/create`; return the action and the content, or why there are none."""
        ...


def requester(peer: Peer) -> Requester:
    """Return who sent a request, and by what ways a person can be asked there, in order."""
    able: dict[Approver, bool] = {"client": peer.declared, "dialog": dialog_at_hand()}
    return Requester(
        peer.name,
        tuple(way for way, is_able in able.items() if is_able),
        unable=tuple(way for way, is_able in able.items() if not is_able),
    )


def outcome_result(outcome: Done | Refused) -> Result:
    """Return the result for an outcome."""
    if isinstance(outcome, Done):
        return done_result(outcome)
    facts = outcome.facts()
    return _error_result({**facts, "line": escaped(facts.get("line", ""))})


def done_result(done: Done) -> Result:
    """Return a result as structured content and the same as text, with the JXA line aside.

    `_meta["iac/from"]` names the app whose data it is.
    """
    if isinstance(done.value, Mapping) and done.value.get("success") is False:
        # A tool that answers with what went wrong: the model is to see it as a failure.
        return _error_result(done.value)
    content = structured(done.value, done.output, clean(done.note))
    meta: dict[str, Any] = {"iac/level": done.level}
    if done.app[0]:
        meta["iac/from"] = {"app": clean(done.app[1]), "bundle": done.app[0]}
    if done.line:
        meta["iac/jxa"] = escaped(done.line)
    if done.note:
        meta["iac/note"] = clean(done.note)
    if done.reasons:
        meta["iac/reasons"] = clean(list(done.reasons))
    text = json.dumps(content, ensure_ascii=False)
    if any(map(hidden, set(text))):
        # As it is asked for (`raw`): what is hidden in it is written out, halves of characters go.
        text = json.dumps(content)
        content = json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    shown = [text_content(text)]
    return {"_meta": meta, "content": shown, "isError": False, "structuredContent": content}


def _error_result(facts: Mapping[str, Any]) -> Result:
    """Return a failure: one JSON object in the text, and no structured content."""
    text = json.dumps(clean(dict(facts)), ensure_ascii=False)
    return {"content": [text_content(text)], "isError": True}


def text_content(text: str) -> dict[str, str]:
    """Return a text as the protocol's content."""
    return {"text": text, "type": "text"}


def failure_result(error: Exception) -> Result:
    """Return the result for an exception of a call.

    Raises:
        ProtocolError: No tool has the name, which is an error of the protocol.
    """
    if isinstance(error, UnknownToolError):
        raise ProtocolError(INVALID_PARAMS, str(clean(str(error)))) from None
    if isinstance(error, ToolError):
        return _error_result(error.facts())
    if isinstance(error, IacError):
        return _error_result({"type": "UNAVAILABLE", "message": str(error), "retryable": False})
    message = f"The call failed inside iac: {type(error).__name__}: {error}."
    return _error_result({"type": "EXECUTION_ERROR", "message": message, "retryable": False})


class Deadline:
    """Watches over the calls of one request.

    Args:
        peer: Whom to tell.
        tool: The tool's name, for what is told.
        patience: Seconds for one call of the gate.
        every: Seconds between two reports.
    """

    def __init__(
        self, peer: Peer, tool: str, patience: float = PATIENCE, every: float = EVERY
    ) -> None:
        self._peer = peer
        self._tool = tool
        self._patience = patience
        self._every = every
        self._began = time.monotonic()
        self._over = False

    def allow(self, seconds: Any) -> None:
        """Wait longer for a call that asks for more time; what is no time changes nothing."""
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if number and self._patience < seconds <= MOST_SECONDS:
            self._patience = seconds + _AFTER

    @contextmanager
    def kept(self, cancel: Cancellation, *, patient: bool = False) -> Iterator[Cancellation]:
        """Report while the block runs, and end what takes too long; yield what ends the block.

        Args:
            cancel: Ends the whole request.
            patient: Whether the block may take any time, for a person is asked in it.
        """
        inner = Cancellation()
        most = float("inf") if patient else self._patience
        until = time.monotonic() + most

        def look() -> float | None:
            left = until - time.monotonic()
            if left <= 0:
                self._over = True
                inner.cancel()
                return None
            self._report(inner)
            return min(self._every, left)

        with cancel.watched(inner.cancel), _looking(look, min(self._every, most)):
            yield inner

    def _report(self, cancel: Cancellation) -> None:
        seconds = time.monotonic() - self._began
        said = f"{self._tool}: running for {seconds:.0f} seconds"
        self._peer.report(round(seconds, 1), f"{said}; {cancel.word}" if cancel.word else said)

    def meaning(self, error: ToolError) -> ToolError:
        """Return what to say of an error: of one that is due to the end that was made, another."""
        if not self._over or error.type != "USER_CANCELLED":
            return error
        said = f"The call was not over after {self._patience:g} seconds, and was ended."
        way = "Ask for less: a limit, a filter, fewer properties, or one object."
        if error.suggestion == OUTCOME_UNKNOWN:
            way = OUTCOME_UNKNOWN
        elif not error.suggestion:
            way = "Nothing was sent, for the app was busy. Call again when other calls have ended."
        return ToolError(
            "TIMEOUT",
            said,
            way,
            retryable=way != OUTCOME_UNKNOWN,
            app=error.app,
            command=error.command or self._tool,
        )


_clock: Final = sched.scheduler(time.monotonic)
_sooner: Final = threading.Event()
_only: Final = threading.Lock()
"""One thread looks after all blocks; held for good once it runs."""


@contextmanager
def _looking(look: Callable[[], float | None], first: float) -> Iterator[None]:
    """Call `look` (not raising) after `first` seconds, and after those that it returned.

    It is called in another thread, one at a time, and never after the block.
    """
    lock, running = threading.Lock(), True

    event: sched.Event | None = None

    def again() -> None:
        nonlocal event
        with lock:
            seconds = look() if running else None
            event = None if seconds is None else _clock.enter(seconds, 0, again)

    event = _clock.enter(first, 0, again)
    if _only.acquire(blocking=False):
        threading.Thread(target=_tick, name="iac-clock", daemon=True).start()
    elif _clock.queue[:1] == [event]:
        _sooner.set()
    try:
        yield
    finally:
        with lock:
            running = False
            # It may be at work already.
            with suppress(ValueError):
                if event is not None:
                    _clock.cancel(event)


def _tick() -> None:
    while True:
        _sooner.clear()
        _sooner.wait(_clock.run(blocking=False))


class Calls:
    """The method tools/call, on a gate with a catalogue.

    Args:
        gate: Carries out calls.
        catalogue: Returns the tools as they are now.
        status: Counts the calls.
        patience: Seconds after which a call is ended.
    """

    def __init__(
        self,
        gate: Gate,
        catalogue: Callable[[], Catalogue],
        status: StatusFile | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._gate = gate
        self._search = ToolSearch(catalogue, read_only=gate.read_only)
        self._status = status
        self._patience = patience
        self._named: set[str] = set()

    def __call__(self, params: Mapping[str, Any], peer: Peer, cancel: Cancellation) -> Result:
        """Return the result of tools/call; one that fails says of what.

        Raises:
            ProtocolError: There is no such tool.
        """
        status = self._status
        if status is not None and peer.name and peer.name not in self._named:
            self._named.add(peer.name)
            status.update(client=clean_text(peer.name, 100))
        result = self._answer(params, peer, cancel)
        if status is not None:
            status.count(failed=bool(result.get("isError")))
        return result

    def _answer(self, params: Mapping[str, Any], peer: Peer, cancel: Cancellation) -> Result:
        call = Call(params["name"], params.get("arguments") or {}, requester(peer))
        deadline = Deadline(peer, call.tool, self._patience)
        try:
            if call.tool == FIND:
                return done_result(Done(self._search.find(call.arguments), "", "SAFE"))
            call = through_door(call)
            deadline.allow(call.arguments.get("timeout"))
            return _through_gate(self._gate, call, peer, params, deadline, cancel)
        except ToolError as error:
            return failure_result(deadline.meaning(error))
        except Exception as error:
            return failure_result(error)
        except (SystemExit, KeyboardInterrupt) as error:
            # A call that wants to end the program ends itself alone.
            return failure_result(RuntimeError(f"the call raised {type(error).__name__}"))


def _through_gate(
    gate: Gate,
    call: Call,
    peer: Peer,
    params: Mapping[str, Any],
    deadline: Deadline,
    cancel: Cancellation,
) -> Result:
    """Carry out a call; a person is asked where the policy wants it, by one way after the other.

    Raises:
        IacError: As `Gate.call`.
    """
    if peer.modern and params.get("requestState"):
        said = read_responses(params.get("inputResponses"), tuple(ANSWERS), declared=peer.declared)
        call = call._replace(token=params["requestState"], verdict=said)
    while True:
        with deadline.kept(cancel) as inner:
            outcome = gate.call(call, cancel=inner)
        if not isinstance(outcome, Asks):
            return outcome_result(outcome)
        if outcome.way == "client" and peer.modern:
            return input_required(outcome.question, outcome.token)
        with deadline.kept(cancel, patient=True) as inner:
            said = _asked(outcome, peer, inner)
        if cancel.cancelled:
            raise ToolError("USER_CANCELLED", "The call was cancelled.", command=call.tool)
        call = call._replace(token=outcome.token, verdict=said)


def _asked(asks: Asks, peer: Peer, cancel: Cancellation) -> Verdict:
    if asks.way != "client":
        return ask_dialog(asks.question)
    found = peer.elicit(form(asks.question), cancel, THINKING)
    if isinstance(found, str):
        return found
    return read_answer(*found, asks.question.answers, declared=True)
