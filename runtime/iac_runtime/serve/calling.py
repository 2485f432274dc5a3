"""Calling a tool for a client: in a thread, with progress, asking where a person must be asked.

A client that sent a token is told how long the call has run, and how far it says it is. Some
clients drop a call after 60 seconds without a word of their own; what would last longer, its wait
for a turn included, is ended here before that, with an answer that says how to go on.

The client is asked in its era: by `elicitation/create` in the middle of a call, or, in 2026-07-28,
by a result that asks for input and is followed by the same call with the answer. By which way a
person is asked next is the gate's to say; another way needs its word in `APPROVERS`, its place in
`caller_of` and its asker in `call_gate`.
"""

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.shared.exceptions import MCPError

from iac_base.cancellation import Cancellation
from iac_base.errors import IacError, ToolError, UnknownToolError
from iac_base.text import escaped, hidden
from iac_runtime.execution.answers import OUTCOME_UNKNOWN
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Asks, Call, Done, Refused
from iac_runtime.gate.results import MOST_SECONDS, clean, structured
from iac_runtime.policy.effects import Approver, Verdict
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.question import (
    ANSWERS,
    Question,
    ask_dialog,
    dialog_at_hand,
    form,
    input_required,
    read_answer,
    read_responses,
)
from iac_runtime.serve.routing import CLIENT_INFO, MODERN_VERSION

THREADS: Final = 80
"""Calls at once: all that the executor lets run or wait (4 and 64), and some that it answers with
BUSY at once. Without room for these, a client would wait for that answer too."""

EVERY: Final = 3.0
"""Seconds between two reports."""

_AFTER: Final = 4.0
"""Seconds for what follows the end of a call, before it is ended from here."""

PATIENCE: Final = 54.0
"""Seconds for a call: 60, less what ending a process that resists takes, and a little."""

THINKING: Final = 300.0
"""Seconds that a client has for a question in the middle of a call."""

T = TypeVar("T")


def outcome_result(outcome: Done | Refused) -> types.CallToolResult:
    """Return the result for an outcome."""
    if isinstance(outcome, Done):
        return done_result(outcome)
    facts = outcome.facts()
    return _error_result({**facts, "line": escaped(facts.get("line", ""))})


def done_result(done: Done) -> types.CallToolResult:
    """Return a result as structured content and the same as text, with the JXA line aside.

    `_meta["iac/from"]` names the app whose data it is.
    """
    if isinstance(done.value, Mapping) and done.value.get("success") is False:
        # A tool that answers with what went wrong: the model is to see it as a failure.
        return _error_result(done.value)
    content = structured(done.value, done.output, clean(done.note), done.outcome)
    meta: dict[str, Any] = {"iac/level": done.level}
    if done.app[0]:
        meta["iac/from"] = {"app": clean(done.app[1]), "bundle": done.app[0]}
    if done.line:
        meta["iac/jxa"] = escaped(done.line)
    if done.note:
        meta["iac/note"] = clean(done.note)
    if done.outcome is not None and "outcome" not in content:
        # The module closes its answers.
        meta["iac/outcome"] = clean(done.outcome.facts())
    if done.reasons:
        meta["iac/reasons"] = clean(list(done.reasons))
    text = json.dumps(content, ensure_ascii=False)
    if any(map(hidden, set(text))):
        # As it is asked for (`raw`): what is hidden in it is written out, halves of characters go.
        text = json.dumps(content)
        content = json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    shown = types.TextContent(text=text)
    return types.CallToolResult(content=[shown], structured_content=content, _meta=meta)


def _error_result(facts: Mapping[str, Any]) -> types.CallToolResult:
    """Return a failure: one JSON object in the text, and no structured content."""
    text = json.dumps(clean(dict(facts)), ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def failure_result(error: Exception) -> types.CallToolResult:
    """Return the result for an exception of a call.

    Raises:
        MCPError: No tool has the name, which is an error of the protocol.
    """
    if isinstance(error, UnknownToolError):
        raise MCPError(types.INVALID_PARAMS, str(clean(str(error)))) from None
    if isinstance(error, ToolError):
        return _error_result(error.facts())
    if isinstance(error, IacError):
        return _error_result({"type": "UNAVAILABLE", "message": str(error), "retryable": False})
    message = f"The call failed inside iac: {type(error).__name__}: {error}."
    return _error_result({"type": "EXECUTION_ERROR", "message": message, "retryable": False})


def _tamed(call: Callable[[Cancellation], T], cancel: Cancellation) -> T:
    """Carry out a call; one that wants to end the program ends itself alone."""
    try:
        return call(cancel)
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(f"the call raised {type(error).__name__}") from error


async def _in_thread(
    call: Callable[[Cancellation], T],
    limiter: anyio.CapacityLimiter,
    beside: Callable[[Cancellation], Awaitable[object]] | None = None,
) -> T:
    """Run a call in a thread; when the client cancels it, its process is ended, then the thread.

    Args:
        call: What to run.
        limiter: How many threads there may be.
        beside: Runs beside the call until that is over; it may cancel it, and does not raise.

    Raises:
        Exception: What the call raised, as itself.
    """
    cancel = Cancellation()

    async def watch() -> None:
        try:
            if beside is not None:
                await beside(cancel)
            await anyio.sleep_forever()
        finally:
            cancel.cancel()

    outcome: list[T] = []
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        try:
            # Shielded: it returns when the thread is done, which the watcher hastens.
            outcome.append(await anyio.to_thread.run_sync(_tamed, call, cancel, limiter=limiter))
        except Exception as error:
            # It must leave the group as itself, not in an exception group.
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return outcome[0]


class Deadline:
    """Watches over the calls of one request.

    Args:
        context: The SDK's context of the request.
        tool: The tool's name, for what is told.
        patience: Seconds for one call of the gate.
        every: Seconds between two reports.
    """

    def __init__(
        self, context: Any, tool: str, patience: float = PATIENCE, every: float = EVERY
    ) -> None:
        self._context = context
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

    async def keep(self, cancel: Cancellation) -> None:
        """Report, and cancel what takes too long; runs beside a call until it is cancelled."""
        with anyio.move_on_after(self._patience):
            await self.tell(cancel)
        self._over = True
        cancel.cancel()

    async def tell(self, cancel: Cancellation) -> None:
        """Report, for as long as it takes; runs beside a question to a person.

        Without a token of the client's, the session sends nothing.
        """
        while True:
            await anyio.sleep(self._every)
            seconds = time.monotonic() - self._began
            said = f"{self._tool}: running for {seconds:.0f} seconds"
            if cancel.word:
                said += f"; {cancel.word}"
            try:
                await self._context.session.report_progress(round(seconds, 1), None, said)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError, MCPError):
                # The client is going; the call's own end says so.
                await anyio.sleep_forever()

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


def caller_of(context: Any) -> Requester:
    """Return who sent a request, and by what ways a person can be asked there, in order."""
    able: dict[Approver, bool] = {"client": _declared(context), "dialog": dialog_at_hand()}
    return Requester(
        _name(context),
        tuple(way for way, is_able in able.items() if is_able),
        unable=tuple(way for way, is_able in able.items() if not is_able),
    )


async def call_gate(
    gate: Gate,
    call: Call,
    context: Any,
    params: Any,
    limiter: anyio.CapacityLimiter,
    deadline: Deadline,
) -> Done | Refused | types.InputRequiredResult:
    """Carry out a call; a person is asked where the policy wants it, by one way after the other.

    Raises:
        IacError: As `Gate.call`.
    """
    modern = context.protocol_version >= MODERN_VERSION
    if modern and params.request_state:
        verdict = read_responses(
            _plain(params.input_responses), tuple(ANSWERS), declared=_declared(context)
        )
        call = call._replace(token=params.request_state, verdict=verdict)
    while True:
        outcome = await _in_thread(partial(_call, gate, call), limiter, deadline.keep)
        if not isinstance(outcome, Asks):
            return outcome
        if outcome.way != "client":
            ask = partial(_by_dialog, outcome.question)
            said = await _in_thread(ask, limiter, deadline.tell)
        elif modern:
            question = input_required(outcome.question, outcome.token)
            return types.InputRequiredResult.model_validate(question)
        else:
            said = await _elicit(context, outcome.question, deadline)
        call = call._replace(token=outcome.token, verdict=said)


def _call(gate: Gate, call: Call, cancel: Cancellation) -> Done | Refused | Asks:
    return gate.call(call, cancel=cancel)


def _by_dialog(question: Question, _cancel: Cancellation) -> Verdict:
    return ask_dialog(question)


async def _elicit(context: Any, question: Question, deadline: Deadline) -> Verdict:
    asked = form(question)
    said: Verdict = "timeout"
    async with anyio.create_task_group() as group:
        group.start_soon(deadline.tell, Cancellation())
        with anyio.move_on_after(THINKING):
            try:
                found = await context.session.elicit_form(
                    asked["message"], asked["requestedSchema"], context.request_id
                )
                said = read_answer(found.action, found.content, question.answers, declared=True)
            except MCPError as error:
                said = "unable" if error.error.code == types.METHOD_NOT_FOUND else "error"
            except (ValueError, anyio.ClosedResourceError, anyio.BrokenResourceError):
                # What it answered is not of the protocol, or it is going.
                said = "error"
        group.cancel_scope.cancel()
    return said


def _declared(context: Any) -> bool:
    capabilities = context.session.client_capabilities
    elicitation = getattr(capabilities, "elicitation", None)
    if elicitation is None:
        return False
    # One that names kinds must name forms; an empty object stands for forms.
    return elicitation.form is not None or elicitation.url is None


def _name(context: Any) -> str:
    params = context.session.client_params
    if params is not None:
        return str(params.client_info.name)
    info = (context.meta or {}).get(CLIENT_INFO)
    return str(info.get("name", "")) if isinstance(info, Mapping) else ""


def _plain(responses: Any) -> Mapping[str, Any] | None:
    if responses is None:
        return None
    return {
        key: part.model_dump(by_alias=True) if hasattr(part, "model_dump") else part
        for key, part in responses.items()
    }
