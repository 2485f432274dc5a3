"""Calling a tool for a client: the result in the protocol's form, word of how long it takes.

Everything here runs in the thread of one call and knows no library of the protocol: the front's
own calls and those of the SDK's sessions come here alike, each with its `Peer`.

The client is asked in its era: by `elicitation/create` in the middle of a call, or, in 2026-07-28,
by a result that asks for input and is followed by the same call with the answer. By which way a
person is asked next is the gate's to say; another way needs its word in `APPROVERS`, its place in
`Peer.requester` and its asker in `call_gate`.
"""

import base64
import json
import sched
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from iac_base.errors import (
    Cancellation,
    IacError,
    InvalidParameterError,
    NextCall,
    SetupError,
    ToolError,
    UnknownToolError,
    quote_text,
)
from iac_base.secrets import redact_text, without_secrets
from iac_base.text import clean_text, escape_hidden, left_out
from iac_runtime.execution.answers import OUTCOME_UNKNOWN
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.handles import RowHandles
from iac_runtime.gate.plans import (
    Call,
    CallAnswer,
    CompletedCall,
    PendingCall,
    RefusedCall,
    ToolImage,
)
from iac_runtime.gate.results import MOST_SECONDS, clean_value, structured_content
from iac_runtime.gate.suggest import suggest_corrected_call
from iac_runtime.policy.facts import Approver, CallFacts, Decision, Verdict
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.prompts import (
    ANSWERS,
    LIFETIME,
    Question,
    ask_dialog,
    ask_page,
    elicitation_form,
    input_required_result,
    local_approvers,
    read_answer,
    read_responses,
)
from iac_runtime.serve.listing import CALL_SECONDS
from iac_runtime.serve.protocol import INVALID_PARAMS, ProtocolError
from iac_runtime.serve.row_text import concise_text
from iac_runtime.serve.status import StatusFile
from iac_runtime.tool import Level
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.checking import check_arguments
from iac_runtime.tools.own import MAX_LEVEL, META_TOOLS, OWN_TOOLS, STARTERS, call_tool_for

if TYPE_CHECKING:
    from iac_runtime.serve.tool_pages import ToolSearch


EVERY: Final = 3.0
"""Seconds between two reports."""

_AFTER: Final = 4.0
"""Seconds for what follows the end of a call, before it is ended from here."""


class RemoteClient(NamedTuple):
    """A client that a token proved.

    Attributes:
        holder, most: As `CallFacts` has them; the holder begins with one of `PROVEN`.
        asks: Whether it may put questions to a person itself.
        revoked: Is cancelled when its token is taken back.
    """

    holder: str
    most: Level
    asks: bool = True
    revoked: Cancellation = Cancellation()


PROVEN: Final = ("http:", "oauth:")
"""How the names of clients begin that a token proved; no other is called so."""


class Peer(Protocol):
    """The client of one request.

    Attributes:
        name: As it names itself.
        modern: Whether it speaks the version without a handshake.
        declared: Whether it said that it can ask a person.
        views: Whether it shows views beside results.
        tasks: Whether it takes a handle of a call that goes on.
        remote: What its token proved; None for a program of this user.
    """

    name: str
    modern: bool
    declared: bool
    views: bool
    tasks: bool
    remote: "RemoteClient | None"

    def report(self, seconds: float, said: str) -> None:
        """Tell how long the request has run; without a token of the client's, nothing."""

    def elicit(
        self, params: Mapping[str, Any], cancel: Cancellation, seconds: float
    ) -> Verdict | tuple[str, Mapping[str, Any] | None]:
        """Send `elicitation/create`; return the action and the content, or why there are none."""
        ...


class Deadline:
    """Watches over the calls of one request.

    Args:
        peer: Whom to tell.
        tool: The tool's name, for what is told.
        patience: Seconds for one call of the gate.
        every: Seconds between two reports.
    """

    def __init__(
        self, peer: Peer, tool: str, patience: float = CALL_SECONDS, every: float = EVERY
    ) -> None:
        self._peer = peer
        self._tool = tool
        self._patience = patience
        self._every = every
        self._began = time.monotonic()
        self._over = False

    def allow_longer(self, seconds: Any) -> None:
        """Wait longer for a call that asks for more time; what is no time changes nothing."""
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if number and self._patience < seconds <= MOST_SECONDS:
            self._patience = seconds + _AFTER

    @contextmanager
    def with_progress(
        self, cancel: Cancellation, *, patient: bool = False
    ) -> Iterator[Cancellation]:
        """Report while the block runs, and end what takes too long; yield what ends the block.

        Args:
            cancel: Ends the whole request.
            patient: Whether the block may take any time, for a person is asked in it.
        """
        inner = Cancellation()
        most = float("inf") if patient else self._patience
        until = time.monotonic() + most

        def check_time() -> float | None:
            left = until - time.monotonic()
            if left <= 0:
                self._over = True
                inner.cancel()
                return None
            self._report_progress(inner)
            return min(self._every, left)

        with cancel.on_cancel(inner.cancel), _call_repeatedly(check_time, min(self._every, most)):
            yield inner

    def _report_progress(self, cancel: Cancellation) -> None:
        seconds = time.monotonic() - self._began
        text = f"{self._tool}: running for {seconds:.0f} seconds"
        self._peer.report(round(seconds, 1), f"{text}; {cancel.word}" if cancel.word else text)

    def explain_error(self, error: ToolError) -> ToolError:
        """Return what to say of an error: of one that is due to the end that was made, another."""
        if not self._over or error.type != "USER_CANCELLED":
            return error
        message = f"The call did not finish in {self._patience:g} seconds, and was stopped."
        way = "Ask for less: a limit, a filter, fewer properties, or one object."
        if error.suggestion == OUTCOME_UNKNOWN:
            way = OUTCOME_UNKNOWN
        elif not error.suggestion:
            way = "Nothing was sent, because the app was busy. Call again a little later."
        return ToolError(
            "TIMEOUT",
            message,
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
def _call_repeatedly(look: Callable[[], float | None], first: float) -> Iterator[None]:
    """Call `look` (not raising) after `first` seconds, and after those that it returned.

    It is called in another thread, one at a time, and never after the block.
    """
    lock, running = threading.Lock(), True

    event: sched.Event | None = None

    def call_again() -> None:
        nonlocal event
        with lock:
            seconds = look() if running else None
            event = None if seconds is None else _clock.enter(seconds, 0, call_again)

    event = _clock.enter(first, 0, call_again)
    if _only.acquire(blocking=False):
        threading.Thread(target=_run_clock, name="iac-clock", daemon=True).start()
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


def _run_clock() -> None:
    while True:
        _sooner.clear()
        _sooner.wait(_clock.run(blocking=False))


THINKING: Final = 300.0
"""Seconds that a client has for a question in the middle of a call."""

FIND: Final = "find_tools"

Result = dict[str, Any]
Handle = Callable[[str], str]
"""Names a reference in the text of a result."""

Method = Callable[[Mapping[str, Any], Peer, Cancellation], Result]
"""Answers a request of the protocol: its parameters, who sent it, and what ends it."""


def call_requester(peer: Peer) -> Requester:
    """Return who sent a request, and by what ways a person can be asked there, in order."""
    able: dict[Approver, bool] = {"client": peer.declared, **local_approvers()}
    return read_requester(peer)._replace(
        ways=tuple(way for way, is_able in able.items() if is_able),
        unable=tuple(way for way, is_able in able.items() if not is_able),
    )


def read_requester(peer: Peer) -> Requester:
    """Return who sent a request where nobody can be asked about it."""
    if peer.remote is not None:
        holder = peer.remote.holder
        return Requester(holder, token_client=holder, max_level=peer.remote.most)
    # Rules of a policy name clients that a token proved: no other may call itself so.
    claims = peer.name.strip().casefold().startswith(PROVEN)
    return Requester(f"local {peer.name}" if claims else peer.name)


def outcome_result(outcome: CompletedCall | RefusedCall) -> Result:
    """Return the result for an outcome."""
    if isinstance(outcome, CompletedCall):
        return done_result(outcome)
    facts = outcome.facts()
    return _error_result({**facts, "line": escape_hidden(facts.get("line", ""))})


def done_result(done: CompletedCall, handle: Handle | None = None) -> Result:
    """Return a result as structured content and as text, with the JXA line aside.

    The text of what an app answered is short where `handle` names references, else the same.
    `_meta["iac/from"]` names the app whose data it is.
    """
    if isinstance(done.value, Mapping) and done.value.get("success") is False:
        # A tool that answers with what went wrong: the model is to see it as a failure.
        return _error_result(done.value)
    note = redact_text(clean_text(done.note)) if done.note else ""
    content = structured_content(done.value, done.output, note, done.outcome)
    meta: dict[str, Any] = {"iac/level": done.level}
    if done.app[0]:
        meta["iac/from"] = {"app": clean_value(done.app[1]), "bundle": done.app[0]}
    if done.line:
        meta["iac/jxa"] = escape_hidden(redact_text(done.line))
    if note:
        meta["iac/note"] = note
    if done.repairs:
        meta["iac/repairs"] = without_secrets(clean_value(list(done.repairs)))
    if done.outcome is not None and "outcome" not in content:
        # The module closes its answers.
        meta["iac/outcome"] = clean_value(done.outcome.facts())
    if done.reasons:
        meta["iac/reasons"] = without_secrets(clean_value(list(done.reasons)))
    if handle is not None and done.app[0]:
        text = concise_text(content, handle)
    else:
        text = json.dumps(content, ensure_ascii=False)
    if left_out(text):
        # As it is asked for (`raw`): what is hidden in it is written out, halves of characters go.
        text, whole = json.dumps(json.loads(text)), json.dumps(content)
        content = json.loads(whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    shown = [text_content(text), *map(image_content, done.images)]
    return {"_meta": meta, "content": shown, "isError": False, "structuredContent": content}


def _error_result(facts: Mapping[str, Any]) -> Result:
    """Return a failure: one JSON object in the text, and no structured content."""
    # What is to be called next is no text: it is called as it stands.
    told = {key: part if key == "next" else without_secrets(part) for key, part in facts.items()}
    text = json.dumps(clean_value(told), ensure_ascii=False)
    return {"content": [text_content(text)], "isError": True}


def text_content(text: str) -> dict[str, str]:
    """Return a text as the protocol's content."""
    return {"text": text, "type": "text"}


def image_content(image: ToolImage) -> dict[str, str]:
    """Return a picture as the protocol's content."""
    data = base64.b64encode(image.data).decode("ascii")
    return {"data": data, "mimeType": image.mime, "type": "image"}


def failure_result(error: Exception) -> Result:
    """Return the result for an exception of a call."""
    if isinstance(error, ToolError):
        return _error_result(error.facts())
    if isinstance(error, IacError):
        return _error_result({"type": "UNAVAILABLE", "message": str(error), "retryable": False})
    message = f"The call failed because of an error in IAC: {type(error).__name__}: {error}."
    return _error_result({"type": "EXECUTION_ERROR", "message": message, "retryable": False})


def unwrap_call_tool(call: Call) -> Call:
    """Return the call that a call of a door stands for; any other is returned as it is.

    Raises:
        ToolError: The door's own arguments are wrong.
    """
    most = MAX_LEVEL.get(call.tool)
    if most is None:
        return call
    call = check_meta_call(call)
    given = call.arguments
    name, inner, calls = given["name"], given.get("arguments", {}), given.get("calls", [])
    if name in META_TOOLS:
        error = InvalidParameterError(
            f"{call.tool} cannot call {quote_text(name)}.", f"Call {name} directly."
        )
        error.next = NextCall(name, inner)
        raise error
    if calls and inner:
        error = InvalidParameterError(
            "You gave both arguments and calls.",
            "Give only calls, a list with the arguments of each call.",
        )
        every = calls if inner in calls else [inner, *calls]
        error.next = NextCall(call.tool, {"name": name, "calls": every})
        raise error
    return call._replace(tool=name, arguments=inner, most=most, calls=tuple(calls))


def check_meta_call(call: Call) -> Call:
    """Return a call of a tool that a surface answers itself, in the schema's own spelling.

    Raises:
        InvalidParameterError: The arguments do not fit.
    """
    tool = META_TOOLS[call.tool]
    try:
        return call._replace(arguments=check_arguments(call.arguments, tool.input))
    except InvalidParameterError:
        # Needed by what does not fit as it came, and by no other.
        from iac_runtime.gate.repair import repair_arguments, repair_call_tool

        repair = repair_call_tool if call.tool in MAX_LEVEL else repair_arguments
        given, notes = repair(call.arguments, tool)
        try:
            checked = check_arguments(given, tool.input)
        except InvalidParameterError as error:
            suggest_corrected_call(error, given, tool, check_arguments)
            raise error from None
        return call._replace(arguments=checked, repairs=notes)


class CallMethod:
    """The method tools/call, on a gate with a catalogue.

    Args:
        gate: Carries out calls.
        catalogue: Returns the tools as they are now.
        status: Counts the calls.
        patience: Seconds after which a call is ended.
        finds: Whether `find_tools` is listed; else no failure names it as the next call.
    """

    def __init__(
        self,
        gate: Gate,
        catalogue: Callable[[], Catalogue],
        status: StatusFile | None = None,
        patience: float = CALL_SECONDS,
        *,
        finds: bool = True,
    ) -> None:
        self._finds = finds
        self._gate = gate
        self._handles = gate.handles = gate.handles or RowHandles()
        self._catalogue = catalogue
        self._search: ToolSearch | None = None
        self._status = status
        self._patience = patience
        self._named: set[str] = set()
        self._waiting: dict[str, tuple[float, PendingCall]] = {}

    def __call__(self, params: Mapping[str, Any], peer: Peer, cancel: Cancellation) -> Result:
        """Return the result of tools/call; one that fails says of what.

        Raises:
            ProtocolError: There is no such tool.
        """
        status = self._status
        named = status is not None and peer.name and peer.remote is None
        if status is not None and named and peer.name not in self._named:
            self._named.add(peer.name)
            status.update_fields(client=clean_text(peer.name, 100))
        result = self._call_tool(params, peer, cancel)
        if status is not None:
            status.count_call(failed=bool(result.get("isError")))
        return result

    def _call_tool(self, params: Mapping[str, Any], peer: Peer, cancel: Cancellation) -> Result:
        call = Call(params["name"], params.get("arguments") or {}, call_requester(peer))
        deadline = Deadline(peer, call.tool, self._patience)
        try:
            if call.tool == FIND:
                call = check_meta_call(call)
                found = self._find_tools(call.arguments)
                return done_result(CompletedCall(found, "", "SAFE", repairs=call.repairs))
            call = unwrap_call_tool(call)
            call = self._gate.with_meant_tool(call)
            deadline.allow_longer(call.arguments.get("timeout"))
            return self._through_gate(call, peer, params, deadline, cancel)
        except ToolError as error:
            if isinstance(error, UnknownToolError) and error.name == params["name"]:
                raise ProtocolError(INVALID_PARAMS, str(clean_value(str(error)))) from None
            if error.next is not None and error.next.tool == FIND and not self._finds:
                error.next = NextCall("list_apps") if isinstance(error, UnknownToolError) else None
            error.next = self.as_call_tool(error.next, params["name"], call.tool)
            return failure_result(deadline.explain_error(error))
        except Exception as error:
            return failure_result(error)
        except (SystemExit, KeyboardInterrupt) as error:
            # A call that wants to end the program ends itself alone.
            return failure_result(RuntimeError(f"the call raised {type(error).__name__}"))

    def _through_gate(
        self,
        call: Call,
        peer: Peer,
        params: Mapping[str, Any],
        deadline: Deadline,
        cancel: Cancellation,
    ) -> Result:
        """Carry out a call; a person is asked where the policy wants it, one way after the other.

        Raises:
            IacError: As `Gate.call`.
        """
        outcome: CallAnswer | None = None
        if peer.modern and params.get("requestState"):
            state, given = params["requestState"], params.get("inputResponses")
            # Another process may have asked, a while ago.
            since, pending = self._waiting.pop(state, (0.0, None))
            took = time.monotonic() - since
            said = read_responses(given, tuple(ANSWERS), declared=peer.declared, seconds=took)
            if pending is not None and pending.call.asks_same(call):
                with deadline.with_progress(cancel) as inner:
                    outcome = self._gate.answer(pending, said, cancel=inner)
            call = call._replace(token=state, verdict=said)
        if outcome is None:
            with deadline.with_progress(cancel) as inner:
                outcome = self._gate.call(call, cancel=inner)
        while isinstance(outcome, PendingCall):
            self._forget_old_questions()
            self._waiting[outcome.token] = time.monotonic(), outcome
            if outcome.way == "client" and peer.modern:
                return input_required_result(outcome.question, outcome.token)
            try:
                with deadline.with_progress(cancel, patient=True) as inner:
                    said = _ask_person(outcome, peer, inner)
            finally:
                self._waiting.pop(outcome.token, None)
            if cancel.is_cancelled:
                raise ToolError("USER_CANCELLED", "The call was cancelled.", command=call.tool)
            with deadline.with_progress(cancel) as inner:
                outcome = self._gate.answer(outcome, said, cancel=inner)
        if isinstance(outcome, RefusedCall):
            following = self.as_call_tool(outcome.next, params["name"], call.tool)
            outcome = replace(outcome, next=following)
        if isinstance(outcome, RefusedCall) or call.arguments.get("detail") == "full":
            return outcome_result(outcome)
        app, holder = outcome.app[0], call.caller.token_client
        value = outcome.value
        if isinstance(value, Mapping) and value.get("success") is False and "next" in value:
            following = self.as_call_tool(NextCall(**value["next"]), params["name"], call.tool)
            assert following is not None
            outcome = replace(outcome, value={**value, "next": following._asdict()})
        return done_result(outcome, lambda text: self._handles.handle_of(text, app, holder))

    def pending_questions(self, holder: str) -> list[Question]:
        """Return the questions of a client (`Requester.token_client`) that wait for a person."""
        self._forget_old_questions()
        waiting = [pending for _, pending in list(self._waiting.values())]
        return [row.question for row in waiting if row.call.caller.token_client == holder]

    def _forget_old_questions(self) -> None:
        now = time.monotonic()
        for token, (since, _) in list(self._waiting.items()):
            if now - since > LIFETIME:
                self._waiting.pop(token, None)

    def _find_tools(self, arguments: Mapping[str, Any]) -> Any:
        if self._search is None:
            # Heavy, and most calls search nothing.
            from iac_runtime.serve.tool_pages import ToolSearch

            read_only = self._gate.read_only
            self._search = ToolSearch(
                self._catalogue, read_only=read_only, decided=self._judge_example
            )
        return self._search.find_pages(arguments)

    def as_call_tool(self, call: NextCall | None, used: str, name: str) -> NextCall | None:
        """Return a next call as a client makes it that came by the door `used` to `name`."""
        if call is None or used not in MAX_LEVEL or call.tool in META_TOOLS:
            return call
        door, own = used, OWN_TOOLS.get(call.tool)
        if own is not None and (own.always or (self._gate.read_only and call.tool in STARTERS)):
            return call
        if own is not None:
            door = call_tool_for(own.level, acts=own.ceiling != "SAFE")
        elif call.tool != name:
            judged = self._judge_example(call.tool, call.arguments)
            door = self._gate.call_tool_of(*judged) if judged else used
        several = call.arguments.keys() == {"calls"}
        given = call.arguments if several else {"arguments": call.arguments}
        return NextCall(door, {"name": call.tool, **given})

    def _judge_example(
        self, name: str, example: Mapping[str, Any]
    ) -> tuple[CallFacts, Decision] | None:
        """Return what is known of a generated tool's call; others may look at a screen."""
        if name not in self._catalogue().tools:
            return None
        try:
            return self._gate.judge_plan(self._gate.plan_call(Call(name, example)), Requester())
        except (ToolError, SetupError):
            return None


def _ask_person(asks: PendingCall, peer: Peer, cancel: Cancellation) -> Verdict:
    if asks.way == "page":
        return ask_page(asks.question, cancel)
    if asks.way != "client":
        return ask_dialog(asks.question)
    begun = time.monotonic()
    answer = peer.elicit(elicitation_form(asks.question), cancel, THINKING)
    if isinstance(answer, str):
        return answer
    took = time.monotonic() - begun
    return read_answer(*answer, asks.question.answers, declared=True, seconds=took)
