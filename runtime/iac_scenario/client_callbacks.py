"""The client's side of a connection to a server, beside calls of tools.

It answers what a server asks (elicitation, sampling, roots), keeps what it sends, and sends any
request of the protocol. Imports the SDK when a server is used; no other mode needs it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.abc

from iac_scenario.conversation import compile_pattern
from iac_scenario.matching import replace_variables
from iac_scenario.model import (
    ElicitationAnswer,
    SamplingAnswer,
    ScenarioScript,
    ToolCall,
    scenario_calls,
)
from iac_scenario.results import CallResult, missed_expectations

if TYPE_CHECKING:
    import mcp_types
    from mcp import Client
    from mcp.client.session import IncomingMessage


Scripted = TypeVar("Scripted", ElicitationAnswer, SamplingAnswer)
_READING: Final = 0.6
"""Seconds until a scripted person says no."""

_LISTENING: Final = ("resources/subscribe", "subscriptions/listen")


@dataclass(frozen=True, slots=True)
class ClientAnswers:
    """How servers are met: the era of the protocol, and what they are answered."""

    protocol: str
    elicitations: tuple[ElicitationAnswer, ...] = ()
    sampling: tuple[SamplingAnswer, ...] = ()
    roots: tuple[str, ...] = ()
    log_level: str | None = None
    samples: bool = False
    """Whether any call answers sampling; servers are told of a model only then."""
    refuses: bool = False
    """Whether arguments that do not fit are answered here, and not sent."""
    forgives: bool = False
    """Whether a server that breaks the protocol is used all the same."""

    def offered(self) -> "ClientAnswers":
        """Return what a server is told when it starts; the rest may differ from run to run."""
        samples = bool(self.samples or self.sampling)
        return replace(self, elicitations=(), sampling=(), samples=samples, refuses=False)


def client_answers(scenario: ScenarioScript, places: Mapping[str, Any]) -> ClientAnswers:
    """Return how a scenario meets its servers."""
    return ClientAnswers(
        scenario.execution.protocol,
        scenario.elicitations,
        scenario.sampling,
        tuple(replace_variables(list(scenario.roots), places)),
        scenario.execution.log_level,
        samples=any(call.sampling for call in scenario_calls(scenario)),
        refuses=scenario.execution.validate == "client",
        forgives="protocol" in scenario.allowed,
    )


class ClientCallbacks:
    """What one connection answers and hears; `call` is the one that goes on."""

    def __init__(self, answering: ClientAnswers) -> None:
        self._news = anyio.Event()
        self.begin_run(answering)

    def begin_run(self, answering: ClientAnswers) -> None:
        """Forget what was heard, and answer in another way from now on."""
        self.call: ToolCall | None = None
        self._answering = answering
        self._heard: list[dict[str, Any]] = []

    def client_options(self) -> dict[str, Any]:
        """Return the arguments of the SDK's client that make it answer and hear."""
        given = self._answering
        options: dict[str, Any] = {
            "mode": given.protocol,
            "log_level": given.log_level,
            "elicitation_callback": self._handle_elicitation,
            "message_handler": self._handle_message,
        }
        if given.offered().samples:
            options["sampling_callback"] = self._handle_sampling
        if given.roots:
            options["list_roots_callback"] = self._handle_list_roots
        return options

    async def with_notifications(
        self, call: ToolCall, outcome: CallResult, seconds: float
    ) -> CallResult:
        """Return the result with what was heard; notifications that are expected are waited for."""
        expected = [check for check in call.expect if check.kind == "notifications"]
        if not expected and not self._heard:
            return outcome
        with anyio.move_on_after(seconds if expected else 0):
            while True:
                outcome = replace(outcome, heard=tuple(self._heard))
                if not missed_expectations(expected, outcome):
                    break
                await self._news.wait()
        self._heard.clear()
        return outcome

    async def handle_progress(
        self, progress: float, total: float | None, message: str | None
    ) -> None:
        """Ask for progress; each notification is heard like any other."""

    def _record_message(self, method: str, params: Any) -> None:
        dumped = params.model_dump(mode="json", by_alias=True, exclude_none=True) if params else {}
        self._heard.append({"method": method, "params": dumped})
        self._news.set()
        self._news = anyio.Event()

    async def _handle_message(self, message: "IncomingMessage") -> None:
        if not isinstance(message, Exception):
            self._record_message(message.method, message.params)

    async def _handle_elicitation(
        self, _context: Any, params: "mcp_types.ElicitRequestParams"
    ) -> "mcp_types.ElicitResult":
        from mcp_types import ElicitResult

        self._record_message("elicitation/create", params)
        own = self.call.elicitations if self.call is not None else ()
        given = _matching_answer((*own, *self._answering.elicitations), params.message)
        if given is None:
            # What `claude -p` does, where nobody can be asked.
            return ElicitResult(action="cancel")
        if given.action != "accept":
            # A person takes that long, and servers do not believe one who says no at once.
            await anyio.sleep(_READING)
        form = given.action == "accept" and params.mode != "url"
        content = dict(given.content or {}) if form else None
        return ElicitResult(action=given.action, content=content)

    async def _handle_sampling(
        self, _context: Any, params: "mcp_types.CreateMessageRequestParams"
    ) -> "mcp_types.CreateMessageResult | mcp_types.ErrorData":
        from mcp_types import INVALID_REQUEST, CreateMessageResult, ErrorData, TextContent

        self._record_message("sampling/createMessage", params)
        own = self.call.sampling if self.call is not None else ()
        last = params.messages[-1].content if params.messages else ()
        blocks = last if isinstance(last, Sequence) else (last,)
        text = "\n".join(getattr(block, "text", "") for block in blocks)
        given = _matching_answer((*own, *self._answering.sampling), text)
        if given is None or given.error is not None:
            reason = str(given.error) if given else "The scenario has no answer for this request."
            return ErrorData(code=INVALID_REQUEST, message=reason)
        return CreateMessageResult(
            role="assistant",
            content=TextContent(text=given.text),
            model="scripted",
            stop_reason="endTurn",
        )

    async def _handle_list_roots(self, _context: Any) -> "mcp_types.ListRootsResult":
        from mcp_types import ListRootsResult

        self._record_message("roots/list", None)
        roots = [{"uri": _root_uri(root)} for root in self._answering.roots]
        return ListRootsResult.model_validate({"roots": roots})


def _matching_answer(answers: Sequence[Scripted], text: str) -> Scripted | None:
    for given in answers:
        if given.message is None or compile_pattern(given.message)(text):
            return given
    return None


def _root_uri(root: str) -> str:
    return root if "://" in root else Path(root).absolute().as_uri()


def is_modern(client: "Client") -> bool:
    """Whether the connection has the protocol without a handshake."""
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    return client.protocol_version in MODERN_PROTOCOL_VERSIONS


def is_subscription(client: "Client", method: str) -> bool:
    """Whether a request opens a stream of notifications, instead of being answered once."""
    return method in _LISTENING and is_modern(client)


async def hold_subscription(
    client: "Client", params: Mapping[str, Any], *, task_status: anyio.abc.TaskStatus[None]
) -> None:
    """Hold a stream of notifications open until the connection ends; they are heard as all are."""
    uris = [params["uri"]] if "uri" in params else params.get("resourceSubscriptions", ())
    async with client.listen(
        tools_list_changed=bool(params.get("toolsListChanged")),
        prompts_list_changed=bool(params.get("promptsListChanged")),
        resources_list_changed=bool(params.get("resourcesListChanged")),
        resource_subscriptions=uris,
    ) as events:
        task_status.started()
        async for _ in events:
            pass


async def send_request(client: "Client", method: str, params: Any, progressed: Any) -> CallResult:
    """Send a request and return its result. Raises what the SDK raises."""
    import mcp_types as types
    from pydantic import TypeAdapter

    session = client.session
    if method == "resources/read":
        answer: Any = await client.read_resource(params.get("uri", ""), cache_mode="bypass")
    elif method == "prompts/get":
        answer = await client.get_prompt(params.get("name", ""), params.get("arguments"))
    elif method == "tools/call" and "task" in params:
        # The SDK takes no task for an answer to a call.
        answer = await session._dispatcher.send_raw_request(method, dict(params), {})
    else:
        request = types.Request[Any, Any](method=method, params=params or None)
        adapter: Any = TypeAdapter(dict[str, Any])
        answer = await session.send_request(request, adapter, progress_callback=progressed)
    if not isinstance(answer, dict):
        answer = answer.model_dump(mode="json", by_alias=True, exclude_unset=True)
    answer.pop("_meta", None)
    return CallResult(tuple(_content_blocks(answer)), bool(answer.get("isError")), answer)


def _content_blocks(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the content of a result: what a resource or a prompt holds, else all of it as JSON."""
    if isinstance(answer.get("content"), list):
        return list(answer["content"])
    if "messages" in answer:
        return [message["content"] for message in answer["messages"]]
    if "contents" in answer:
        return [
            {"type": "text", "text": item["text"]}
            if "text" in item
            else {"type": "resource", "resource": item}
            for item in answer["contents"]
        ]
    return [{"type": "text", "text": json.dumps(answer, ensure_ascii=False)}]
