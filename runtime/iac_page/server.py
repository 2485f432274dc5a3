"""The page's server: its addresses on loopback, and what each answers.

Nothing of it is loaded unless `iac-mcp open` runs.
"""

import asyncio
import contextlib
import hashlib
import socket
import tomllib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import uvicorn
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from iac_base.errors import IacError, SetupError
from iac_base.files import open_state
from iac_base.text import escape_hidden
from iac_page import views
from iac_page.answers import CHANGES, VIEWS, Change, Make, PageSources, Show
from iac_page.guard import PageGuard, PageKeys
from iac_runtime.audit.reading import row_lines
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.policy.prompts import close_page, open_page, paragraphs, read_waiting_questions

HERE: Final = Path(__file__).parent
MOST: Final = 200_000
"""Bytes of a form."""

_LOOK: Final = 0.5
"""Seconds between two looks at what changed."""

_CHECK: Final = 5.0


def serve_page(
    options: GateOptions,
    port: int,
    idle: float,
    tell: Callable[[str], None],
    fleet: str = "",
    approver: Path | None = None,
) -> None:
    """Serve the page on loopback until nobody looked for `idle` seconds.

    `fleet` is the address of a team's database, whose record a view of its own shows; `approver`
    is the file of a key to answer other Macs with.

    Raises:
        SetupError: The tools, the policy or the state cannot be used, or the port is taken.
    """
    state = open_state()
    keys = PageKeys()
    with contextlib.ExitStack() as stack:
        gate = stack.enter_context(closing(build_gate(options)))
        made: list[Gate] = []

        def simulated() -> Gate:
            if not made:
                made.append(build_gate(options._replace(simulate="")))
                stack.callback(made[0].close)
            return made[0]

        listener = stack.enter_context(socket.socket())
        try:
            listener.bind(("127.0.0.1", port))
            # Whoever is told the address may come before the server runs.
            listener.listen()
        except OSError as error:
            raise SetupError(f"Port {port} cannot be used: {error.strerror}.") from None
        at = listener.getsockname()[1]
        app = make_app(PageSources(state, gate, simulated, keys, fleet, approver), at)
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
        server = uvicorn.Server(config)

        async def run() -> None:
            serving = asyncio.create_task(server.serve([listener]))
            tell(f"http://127.0.0.1:{at}/enter?token={keys.entry}")
            while not serving.done():
                await asyncio.wait({serving}, timeout=min(_CHECK, idle))
                server.should_exit = server.should_exit or keys.idle_seconds() > idle
            await serving

        open_page(state)
        stack.callback(close_page, state)
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(run())


def make_app(sources: PageSources, port: int) -> PageGuard:
    """Return the page as an application; `port` is where it is reached."""
    show = partial(_render_page, _template_environment(sources.keys, fleet=bool(sources.fleet)))
    routes = [
        Route(path, _view_endpoint(make, sources, show), methods=["GET"])
        for path, make in VIEWS.items()
    ]
    routes += [
        Route(path, _form_endpoint(make, sources, show), methods=["POST"])
        for path, make in CHANGES.items()
    ]
    routes += [
        Route("/events", partial(_event_stream, sources)),
        Route("/calls.jsonl", partial(_export_audit, sources)),
    ]
    app = Starlette(routes=[*routes, Mount("/static", StaticFiles(directory=HERE / "static"))])
    return PageGuard(app, sources.keys, port)


def _template_environment(keys: PageKeys, *, fleet: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("iac_page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # What apps and dictionaries say is data: what is hidden in it shows as an escape.
        finalize=lambda one: (
            one if isinstance(one, Markup) or not isinstance(one, str) else escape_value(one)
        ),
    )
    environment.globals["t"] = tomllib.loads((HERE / "texts.toml").read_text(encoding="utf-8"))
    environment.globals["form_token"] = keys.form
    environment.globals["fleet"] = fleet
    environment.filters["json"] = views.pretty_json
    environment.filters["query"] = urlencode
    environment.filters["told"] = lambda question: paragraphs(question.text)
    return environment


def escape_value(value: object) -> object:
    """Return a text with all that is hidden in it written out, lines kept; other values as is."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return "\n".join(map(escape_hidden, value.split("\n")))


def _render_page(
    environment: Environment, name: str, values: Mapping[str, Any], status: int = 200
) -> Response:
    return HTMLResponse(environment.get_template(f"{name}.html").render(values, here=name), status)


def _view_endpoint(make: Make, sources: PageSources, show: Show) -> Callable[[Request], Any]:
    async def answer_view(request: Request) -> Response:
        try:
            return await run_in_threadpool(make, sources, request, show)
        except IacError as error:
            return show("fault", {"says": str(error)}, 404)

    return answer_view


def _form_endpoint(change: Change, sources: PageSources, show: Show) -> Callable[[Request], Any]:
    async def answer_form(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST:
                return show("fault", {"says": "too_large"}, 413)
        rows = parse_qsl(body.decode(errors="replace"), keep_blank_values=True)
        # A browser ends the lines of a text as the mail of old did.
        fields = {name: value.replace("\r\n", "\n") for name, value in rows}
        if not _is_same_secret(fields.get("form", ""), sources.keys.form):
            return show("fault", {"says": "other_form"}, 403)
        try:
            return await run_in_threadpool(change, sources, request, show, fields)
        except IacError as error:
            return show("fault", {"says": str(error)}, 400)

    return answer_form


def _is_same_secret(given: str, wanted: str) -> bool:
    return hashlib.sha256(given.encode()).digest() == hashlib.sha256(wanted.encode()).digest()


async def _export_audit(sources: PageSources, _request: Request) -> Response:
    lines = (f"{line}\n" for line in row_lines(sources.state))
    return StreamingResponse(lines, media_type="application/jsonl")


async def _event_stream(sources: PageSources, request: Request) -> Response:
    """Say when what the first view shows has changed, as server-sent events."""

    async def watch_changes() -> AsyncIterator[str]:
        sources.keys.watching += 1
        try:
            before = ""
            while not await request.is_disconnected():
                after = await run_in_threadpool(_state_stamp, sources.state)
                yield "data: changed\n\n" if after != before else ": still here\n\n"
                before = after
                await asyncio.sleep(_LOOK)
        finally:
            sources.keys.watching -= 1

    return StreamingResponse(watch_changes(), media_type="text/event-stream")


def _state_stamp(state: Path) -> str:
    parts = [one.id for one in read_waiting_questions(state)]
    for path in (*state.glob("servers/*.json"), state / "audit.db-wal"):
        with contextlib.suppress(OSError):
            status = path.stat()
            parts.append(f"{path.name} {status.st_mtime_ns} {status.st_size}")
    return " ".join(parts)
