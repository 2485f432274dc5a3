"""A server for the official conformance suite: our front, the suite's catalogue.

    python tests/conformance/fixture_server.py

Over standard input and output, as the product serves; `bridge.py` carries it over HTTP. The front
answers what it answers of itself: handshakes, the tool list, who listens, what is refused. What
leads behind it is of the suite's own making (sampling, logging), and is the SDK's.
"""

import json
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from fixture_data import IDENTITY, LINES, TASK_TOOLS
from fixture_tasks import task_methods

from iac_runtime.serve.protocol import refused_reason
from iac_runtime.serve.stdio import Router, claim_stdio
from iac_runtime.serve.workers import RequestPool

sys.path.append(str(Path(__file__).parents[1] / "server"))

OURS: Final = ("initialize", "ping", "server/discover", "subscriptions/listen", "tools/list")
REPLAYED: Final = "replayed"
"""The id under which the SDK is told of a handshake that the front has answered."""


class SuiteRouter(Router):
    """The front, with sessions of the SDK behind it."""

    def __init__(self, write: Any) -> None:
        from fixture_tools import BUS
        from sdk_sessions import OPTIONS, SdkSessions

        lists = {"tools/list": lambda: LINES, "resources/list": list}
        super().__init__(IDENTITY, lists, RequestPool(task_methods, IDENTITY, write), write)

        def write_answer(line: bytes) -> None:
            if json.loads(line).get("id") != REPLAYED:
                write(line)

        self._sessions = SdkSessions(build, write_answer, OPTIONS)
        BUS.subscribe(lambda _event: self.notify_changed())

    def _handle_message(self, message: Mapping[str, Any]) -> None:
        from sdk_sessions import era_of

        method, era = message.get("method"), era_of(message)
        asked = method is not None and "id" in message
        if (
            method in OURS
            or is_task_message(message)
            or (asked and refused_reason(str(method), message.get("params") or {}))
        ):
            super()._handle_message(message)
        else:
            self._sessions.feed(era, json.dumps(message).encode())
        if method == "initialize":
            self._sessions.feed(era, json.dumps({**message, "id": REPLAYED}).encode())


def is_task_message(message: Mapping[str, Any]) -> bool:
    """Say whether a message belongs to the tools whose calls may become tasks."""
    method, params = message.get("method") or "", message.get("params") or {}
    return method.startswith("tasks/") or (
        method == "tools/call" and params.get("name") in TASK_TOOLS
    )


def build() -> Any:
    """Return the SDK's server with the handlers that the suite wants."""
    import mcp_types as types
    from fixture_data import PROMPT_ROUND, PROMPTS, RESOURCES, TEMPLATE, TOOLS
    from fixture_tools import BUS, call_tool, next_round
    from mcp.server.caching import CacheHint
    from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
    from mcp.server.subscriptions import ListenHandler
    from mcp.shared.exceptions import MCPError

    from iac_runtime.serve.http_sdk import ExtendedServer, RequestSlots, handle_request
    from iac_runtime.serve.protocol import LIST_TTL_MS

    async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(row) for row in TOOLS])

    async def list_resources(_ctx: Any, _params: Any) -> types.ListResourcesResult:
        rows = [
            types.Resource(uri=uri, name=uri, mime_type=row["mimeType"])
            for uri, row in RESOURCES.items()
        ]
        return types.ListResourcesResult(resources=rows)

    async def list_templates(_ctx: Any, _params: Any) -> types.ListResourceTemplatesResult:
        row = types.ResourceTemplate(uri_template=TEMPLATE, name="template")
        return types.ListResourceTemplatesResult(resource_templates=[row])

    async def read_resource(
        _ctx: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = params.uri
        before, after = TEMPLATE.split("{id}")
        if uri.startswith(before) and uri.endswith(after):
            id_ = uri[len(before) : -len(after)]
            text = json.dumps({"id": id_, "templateTest": True, "data": f"Data for ID: {id_}"})
            row = {"mimeType": "application/json", "text": text}
        elif uri in RESOURCES:
            row = RESOURCES[uri]
        else:
            raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
        return types.ReadResourceResult.model_validate({"contents": [{**row, "uri": uri}]})

    async def accept(_ctx: Any, _params: Any) -> types.EmptyResult:
        return types.EmptyResult()

    async def list_prompts(_ctx: Any, _params: Any) -> types.ListPromptsResult:
        rows = [
            types.Prompt(
                name=name,
                description="A prompt of the conformance suite.",
                arguments=[types.PromptArgument(name=key, required=True) for key in keys],
            )
            for name, keys in PROMPTS.items()
        ]
        return types.ListPromptsResult(prompts=rows)

    async def get_prompt(ctx: Any, params: types.GetPromptRequestParams) -> Any:
        if params.name == PROMPT_ROUND and (asked := next_round(ctx, params, PROMPT_ROUND)):
            return asked
        contents = prompt_contents(params.name, params.arguments or {})
        messages = [{"role": "user", "content": content} for content in contents]
        return types.GetPromptResult.model_validate({"messages": messages})

    async def complete(_ctx: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        values = [word for word in ("paris", "test") if word.startswith(params.argument.value)]
        return types.CompleteResult(completion=types.Completion(values=values))

    slots = RequestSlots(80)
    tasks = {
        name: partial(handle_request, method, slots) for name, method in task_methods().items()
    }

    async def call_any(ctx: Any, params: types.CallToolRequestParams) -> Any:
        call = tasks["tools/call"] if params.name in TASK_TOOLS else call_tool
        return await call(ctx, params)

    server = ExtendedServer(
        IDENTITY.name,
        version=IDENTITY.version,
        instructions=IDENTITY.instructions,
        cache_hints={"tools/list": CacheHint(ttl_ms=LIST_TTL_MS)},
        on_list_tools=list_tools,
        on_call_tool=call_any,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=accept,
        on_unsubscribe_resource=accept,
        on_subscriptions_listen=ListenHandler(BUS),
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=accept,
    )
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        server.add_request_handler(method, types.RequestParams, tasks[method])
    security = RequestStateSecurity(keys=["a key of the conformance tests!!"])
    server.middleware.append(RequestStateBoundary(security, default_audience=IDENTITY.name))
    return server


def prompt_contents(name: str, arguments: dict[str, str]) -> list[dict[str, Any]]:
    """Return the contents of a prompt's messages."""
    from fixture_data import IMAGE

    def text(words: str) -> dict[str, Any]:
        return {"type": "text", "text": words}

    if name == "test_prompt_with_arguments":
        pairs = ", ".join(f"{key}='{value}'" for key, value in arguments.items())
        return [text(f"Prompt with arguments: {pairs}")]
    if name == "test_prompt_with_embedded_resource":
        resource = {
            "uri": arguments["resourceUri"],
            "mimeType": "text/plain",
            "text": "Embedded resource content for testing.",
        }
        embedded = {"type": "resource", "resource": resource}
        return [embedded, text("Please process the embedded resource above.")]
    if name == "test_prompt_with_image":
        return [IMAGE, text("Please analyze the image above.")]
    return [text("This is a simple prompt for testing.")]


if __name__ == "__main__":
    wire = claim_stdio()
    router = SuiteRouter(wire.write)
    for line in wire:
        router.handle_line(line)
