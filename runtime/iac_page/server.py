"""The page's server: its addresses on loopback, and what each answers.

Nothing of it is loaded unless `iac-mcp open` runs.
"""

import asyncio
import contextlib
import hashlib
import json
import socket
import time
import tomllib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import closing
from datetime import datetime
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
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import iac_runtime
from iac_base.errors import IacError, SetupError
from iac_base.files import open_state
from iac_base.text import escape_hidden
from iac_page.answers import CHANGES, VIEWS, Change, Make, PageSources, Show
from iac_page.calls import day_words
from iac_page.guard import PageGuard, PageKeys
from iac_page.marks import has_icons
from iac_runtime.audit.reading import row_lines
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.policy.pause import pause_path, paused_since
from iac_runtime.policy.prompts import ALWAYS, ONCE, close_page, open_page, read_waiting_questions

HERE: Final = Path(__file__).parent
TOKENS: Final = Path(iac_runtime.__file__).parent / "serve" / "tokens.css"
"""The look that the page shares with the views in chat clients."""

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
        # What the person does here goes on while everything else is paused.
        gate.permissions.pause = None
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
        Route(path, _form_endpoint(change, sources, show), methods=["POST"])
        for path, change in CHANGES.items()
    ]
    routes += [
        Route("/events", partial(_event_stream, sources)),
        Route("/calls.jsonl", partial(_export_audit, sources)),
        Route("/static/tokens.css", lambda _request: FileResponse(TOKENS)),
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
    texts = tomllib.loads((HERE / "texts.toml").read_text(encoding="utf-8"))
    drawn = tomllib.loads((HERE / "symbols.toml").read_text(encoding="utf-8"))
    for kind, rows in drawn.items():
        environment.globals[kind] = {name: Markup(inside) for name, inside in rows.items()}  # noqa: S704 (ours)
    environment.globals |= {"t": texts, "form_token": keys.form, "fleet": fleet}
    environment.globals |= {"once": ONCE, "always": ALWAYS}
    environment.globals |= {"icons": has_icons(), "zone": time.strftime("%Z")}
    environment.filters |= {
        "json": lambda value: json.dumps(value, ensure_ascii=False, indent=2),
        "query": urlencode,
        "number": lambda value: f"{value:,.0f}",
        "clock": lambda at: f"{at:%H:%M}",
        "moment": lambda at: f"{at.astimezone():%Y-%m-%d %H:%M:%S}",
        "local": lambda text: f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}",
        "day": lambda day: day_words(day, texts["days"]),
        "of_epoch": lambda seconds: datetime.fromtimestamp(seconds).astimezone(),
        "clock_of": lambda seconds: time.strftime("%H:%M", time.localtime(seconds)),
    }
    return environment


def escape_value(value: object) -> object:
    """Return a text with all that is hidden in it written out, lines kept; other values as is."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return "\n".join(map(escape_hidden, value.split("\n")))


def _render_page(
    environment: Environment,
    request: Request,
    state: Path,
    stamp: str,
    name: str,
    values: Mapping[str, Any],
    status: int = 200,
) -> Response:
    """Return a view: what it shows, and what every view needs of the request and the state."""
    known = {
        "said": request.query_params.get("said", ""),
        "part_only": "part" in request.query_params,
        "paused": paused_since(state),
        "stamp": stamp,
    }
    template = environment.get_template(f"{name}.html")
    return HTMLResponse(template.render({**known, **values, "here": name}), status)


def _view_endpoint(make: Make, sources: PageSources, show: Show) -> Callable[[Request], Any]:
    async def answer_view(request: Request) -> Response:
        # Before anything is read: what changes meanwhile is told to who watches.
        shown = partial(show, request, sources.state, _state_stamp(sources.state))
        try:
            return await run_in_threadpool(make, sources, request, shown)
        except IacError as error:
            return shown("fault", {"says": str(error)}, 404)

    return answer_view


def _form_endpoint(change: Change, sources: PageSources, show: Show) -> Callable[[Request], Any]:
    async def answer_form(request: Request) -> Response:
        shown = partial(show, request, sources.state, _state_stamp(sources.state))
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST:
                return shown("fault", {"says": "too_large"}, 413)
        rows = parse_qsl(body.decode(errors="replace"), keep_blank_values=True)
        # A browser ends the lines of a text as the mail of old did.
        fields = {name: value.replace("\r\n", "\n") for name, value in rows}
        if not _is_same_secret(fields.get("form", ""), sources.keys.form):
            return shown("fault", {"says": "other_form"}, 403)
        try:
            return await run_in_threadpool(change, sources, request, shown, fields)
        except IacError as error:
            return shown("fault", {"says": str(error)}, 400)

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
            before = request.query_params.get("since", "")
            while not await request.is_disconnected():
                after = await run_in_threadpool(_state_stamp, sources.state)
                yield "data: changed\n\n" if after != before else ": still here\n\n"
                before = after
                await asyncio.sleep(_LOOK)
        finally:
            sources.keys.watching -= 1

    return StreamingResponse(watch_changes(), media_type="text/event-stream")


def _state_stamp(state: Path) -> str:
    """Return a digest that changes with what the views show."""
    parts = [one.id for one in read_waiting_questions(state)]
    changed = (*state.glob("servers/*.json"), state / "audit.db-wal", pause_path(state))
    for path in changed:
        with contextlib.suppress(OSError):
            status = path.stat()
            parts.append(f"{path.name} {status.st_mtime_ns} {status.st_size}")
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()
