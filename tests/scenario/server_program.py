"""A server for tests: answers, fails, hangs, asks, crashes and lies as its tools are named."""

import asyncio
import json
import os
import sys
import uuid
from datetime import UTC, datetime
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ANY = {"type": "object"}
NAMES: dict[str, dict[str, Any]] = {
    "echo": TEXT, "fail": ANY, "hang": ANY, "crash": ANY, "ask": ANY, "lie": ANY, "facts": ANY,
    "make": ANY, "use": ANY, "tell": ANY,
}  # fmt: skip


async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=name,
                input_schema=schema,
                output_schema={**ANY, "required": ["n"]} if name in ("lie", "facts") else None,
                annotations=types.ToolAnnotations(read_only_hint=name == "echo"),
            )
            for name, schema in NAMES.items()
        ]
    )


def text(said: str, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=said)], is_error=is_error)


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
    given = params.arguments or {}
    match params.name:
        case "echo":
            return text(given["text"])
        case "fail":
            return text("it failed", is_error=True)
        case "hang":
            await asyncio.sleep(60)
        case "crash":
            print("out of cheese", file=sys.stderr, flush=True)
            os._exit(7)
        case "ask":
            return await asked(ctx, params)
        case "lie":
            return types.CallToolResult(content=[], structured_content={"m": 1})
        case "make":
            key, now = str(uuid.uuid4()), datetime.now(UTC).isoformat()
            made = {"id": key, "at": now, "note": None, "number": 3}
            return text(json.dumps(made) if given.get("as") == "json" else f"Made {key} at {now}.")
        case "use":
            return text(f"Used {given['id']}.")
        case "tell":
            for step in (1, 2):
                await ctx.session.report_progress(step, 2, f"step {step}")
            return text("told")
        case "facts":
            return types.CallToolResult(
                content=[types.TextContent(text='{"n": 1}')],
                structured_content={"n": 1, "l": [1, 2]},
            )
    raise MCPError(code=types.INVALID_PARAMS, message=f"no tool {params.name}")


async def asked(ctx: Any, params: types.CallToolRequestParams) -> Any:
    form = {"type": "object", "properties": {"name": {"type": "string"}}}
    if ctx.protocol_version < "2026-07-28":
        answer = await ctx.session.elicit_form("What is your name?", form, ctx.request_id)
    elif params.input_responses is None:
        request = types.ElicitRequest(
            params=types.ElicitRequestFormParams(
                message="What is your name?", requested_schema=form
            )
        )
        return types.InputRequiredResult(input_requests={"name": request}, request_state="s")
    else:
        answer = params.input_responses["name"]
    return text(f"{answer.action} {(answer.content or {}).get('name', '')}".strip())


async def list_resources(_ctx: Any, params: Any) -> types.ListResourcesResult:
    """Two pages of one resource each."""
    second = params is not None and params.cursor == "second"
    name = "b" if second else "a"
    return types.ListResourcesResult(
        resources=[types.Resource(uri=f"ours:///{name}", name=name)],
        next_cursor=None if second else "second",
    )


async def read_resource(_ctx: Any, params: types.ReadResourceRequestParams) -> Any:
    content = types.TextResourceContents(uri=params.uri, text=f"the text of {params.uri}")
    return types.ReadResourceResult(contents=[content])


async def main() -> None:
    server = Server(
        "ours", version="1", on_list_tools=list_tools, on_call_tool=call_tool,
        on_list_resources=list_resources, on_read_resource=read_resource,
    )  # fmt: skip
    if sys.argv[1:2] == ["--port"]:
        await over_http(server, int(sys.argv[2]))
        return
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


async def over_http(server: Any, port: int) -> None:
    """Serve those who have the token."""
    import uvicorn

    app = server.streamable_http_app()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        if scope["type"] == "http" and headers.get(b"authorization") != b"Bearer open-sesame":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"no token"})
            return
        await app(scope, receive, send)

    config = uvicorn.Config(guarded, "127.0.0.1", port, log_level="error")
    await uvicorn.Server(config).serve()


asyncio.run(main())
