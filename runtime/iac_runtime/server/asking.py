"""The ladder of a question: the client, else a dialog of this Mac, else a refusal.

The client is asked in its era: by `elicitation/create` in the middle of a call, or, in 2026-07-28,
by a result that asks for input and is followed by the same call with the answer.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from iac_runtime.execution.cancellation import Cancellation
from iac_runtime.front.answers import MODERN_VERSION
from iac_runtime.gate import Gate
from iac_runtime.plans import Asks, Call, Done, Refused
from iac_runtime.policy.desk import Caller
from iac_runtime.policy.dialog import ask_dialog, dialog_at_hand
from iac_runtime.policy.elicit import form, input_required, read_answer, read_responses
from iac_runtime.policy.model import Approver
from iac_runtime.policy.question import ANSWERS, Question, Verdict
from iac_runtime.server.progress import Vigil
from iac_runtime.server.threads import in_thread

__all__ = ["call_gate", "caller_of"]

_CLIENT: Final = "io.modelcontextprotocol/clientInfo"


def caller_of(context: Any, gate: Gate) -> Caller:
    """Return who sent a request, and by what way a person can be asked there."""
    approvers = gate.desk.policy.approvers
    ways: list[Approver] = []
    if _declared(context):
        ways.append("client")
    if dialog_at_hand():
        ways.append("dialog")
    return Caller(_name(context), next((way for way in ways if way in approvers), None))


async def call_gate(
    gate: Gate,
    call: Call,
    context: Any,
    params: Any,
    limiter: anyio.CapacityLimiter,
    vigil: Vigil,
) -> Done | Refused | Asks | types.InputRequiredResult:
    """Carry out a call; a person is asked where the policy wants it.

    Raises:
        IacError: As `Gate.call`.
    """
    modern = context.protocol_version >= MODERN_VERSION
    if modern and params.request_state:
        verdict = read_responses(
            _plain(params.input_responses), tuple(ANSWERS), declared=_declared(context)
        )
        call = call._replace(token=params.request_state, verdict=verdict)
    outcome = await in_thread(partial(_call, gate, call), limiter, vigil.keep)
    if not isinstance(outcome, Asks):
        return outcome
    if call.caller.asks_by == "client":
        if modern:
            return types.InputRequiredResult.model_validate(
                input_required(outcome.question, outcome.token)
            )
        said = await _elicit(context, outcome.question)
    elif call.caller.asks_by == "dialog":
        said = await in_thread(partial(_dialog, outcome.question), limiter, vigil.tell)
    else:
        return outcome
    answered = call._replace(token=outcome.token, verdict=said)
    return await in_thread(partial(_call, gate, answered), limiter, vigil.keep)


def _call(gate: Gate, call: Call, cancel: Cancellation) -> Done | Refused | Asks:
    return gate.call(call, cancel=cancel)


def _dialog(question: Question, _cancel: Cancellation) -> Verdict:
    return ask_dialog(question)


async def _elicit(context: Any, question: Question) -> Verdict:
    asked = form(question)
    try:
        found = await context.session.elicit_form(
            asked["message"], asked["requestedSchema"], context.request_id
        )
    except (MCPError, anyio.ClosedResourceError):
        return "unanswered"
    return read_answer(found.action, found.content, question.answers, declared=True)


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
    info = (context.meta or {}).get(_CLIENT)
    return str(info.get("name", "")) if isinstance(info, Mapping) else ""


def _plain(responses: Any) -> Mapping[str, Any] | None:
    if responses is None:
        return None
    return {
        key: part.model_dump(by_alias=True) if hasattr(part, "model_dump") else part
        for key, part in responses.items()
    }
