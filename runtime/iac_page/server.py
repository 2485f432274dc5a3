"""The page's server: its addresses on loopback, and what each answers.

It reads and writes through the doors of the command line: the gate, the policy's file, approvals
and the audit. Nothing of it is loaded unless `iac-mcp open` runs.
"""

import asyncio
import contextlib
import hashlib
import json
import socket
import tomllib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode

import uvicorn
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from iac_base.errors import IacError, InvalidParameterError, SetupError, ToolError
from iac_base.files import open_state
from iac_base.text import escaped
from iac_page import rules, views
from iac_page.guard import PageGuard, PageKeys
from iac_runtime.audit.reading import row_lines, verified
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import GateOptions, open_gate
from iac_runtime.gate.plans import Asks, Call, Done, Refused
from iac_runtime.gate.results import clean
from iac_runtime.policy.decide import looked_at
from iac_runtime.policy.file import policy_path
from iac_runtime.policy.page import answer, close_page, open_page, waiting
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.question import ANSWERS
from iac_runtime.serve.pages import ToolSearch

HERE: Final = Path(__file__).parent
MOST: Final = 200_000
"""Bytes of a form."""

_LOOK: Final = 0.5
"""Seconds between two looks at what changed."""

_CHECK: Final = 5.0


class PageSources(NamedTuple):
    """What the page shows: the state folder, the gate, one for simulated apps, and its secrets."""

    state: Path
    gate: Gate
    simulated: Callable[[], Gate]
    keys: PageKeys


def serve(options: GateOptions, port: int, idle: float, tell: Callable[[str], None]) -> None:
    """Serve the page on loopback until nobody looked for `idle` seconds.

    Raises:
        SetupError: The tools, the policy or the state cannot be used, or the port is taken.
    """
    state = open_state()
    keys = PageKeys()
    with contextlib.ExitStack() as stack:
        gate = stack.enter_context(closing(open_gate(options)))
        made: list[Gate] = []

        def simulated() -> Gate:
            if not made:
                made.append(open_gate(options._replace(simulate="")))
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
        app = make_app(PageSources(state, gate, simulated, keys), at)
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
        server = uvicorn.Server(config)

        async def run() -> None:
            serving = asyncio.create_task(server.serve([listener]))
            tell(f"http://127.0.0.1:{at}/enter?token={keys.entry}")
            while not serving.done():
                await asyncio.wait({serving}, timeout=min(_CHECK, idle))
                server.should_exit = server.should_exit or keys.idle() > idle
            await serving

        open_page(state)
        stack.callback(close_page, state)
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(run())


def make_app(sources: PageSources, port: int) -> PageGuard:
    """Return the page as an application; `port` is where it is reached."""
    show = partial(_show, _environment(sources.keys))
    addresses = {
        "/": lambda *_: RedirectResponse("/now", 303),
        "/now": _now,
        "/apps": _apps,
        "/apps/{key}": _app,
        "/tools/{name}": _tool,
        "/search": _search,
        "/calls": _calls,
        "/calls/{seq:int}": _call,
        "/chain": _chain,
        "/rules": _rules,
    }
    routes = [
        Route(path, _endpoint(make, sources, show), methods=["GET"])
        for path, make in addresses.items()
    ]
    changes = {
        "/now": _answer,
        "/tools/{name}": _try,
        "/tools/{name}/answer": _weigh,
        "/rules": _rule,
    }
    routes += [
        Route(path, _form(make, sources, show), methods=["POST"]) for path, make in changes.items()
    ]
    routes += [
        Route("/events", partial(_events, sources)),
        Route("/calls.jsonl", partial(_export, sources)),
    ]
    app = Starlette(routes=[*routes, Mount("/static", StaticFiles(directory=HERE / "static"))])
    return PageGuard(app, sources.keys, port)


def _environment(keys: PageKeys) -> Environment:
    found = Environment(
        loader=PackageLoader("iac_page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # What apps and dictionaries say is data: what is hidden in it shows as an escape.
        finalize=lambda one: (
            one if isinstance(one, Markup) or not isinstance(one, str) else seen(one)
        ),
    )
    found.globals["t"] = tomllib.loads((HERE / "texts.toml").read_text(encoding="utf-8"))
    found.globals["form_token"] = keys.form
    found.filters["json"] = views.pretty
    found.filters["query"] = urlencode
    return found


def seen(value: object) -> object:
    """Return a text with all that is hidden in it written out, lines kept; other values as is."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return "\n".join(map(escaped, value.split("\n")))


def _show(found: Environment, name: str, values: Mapping[str, Any], status: int = 200) -> Response:
    return HTMLResponse(found.get_template(f"{name}.html").render(values, here=name), status)


Show = Callable[..., Response]
Make = Callable[[PageSources, Request, Show], Response]
Change = Callable[[PageSources, Request, Show, Mapping[str, str]], Response]


def _endpoint(make: Make, sources: PageSources, show: Show) -> Callable[[Request], Any]:
    async def answered(request: Request) -> Response:
        try:
            return await run_in_threadpool(make, sources, request, show)
        except IacError as error:
            return show("fault", {"says": str(error)}, 404)

    return answered


def _form(change: Change, sources: PageSources, show: Show) -> Callable[[Request], Any]:
    async def answered(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST:
                return show("fault", {"says": "The form is too large."}, 413)
        rows = parse_qsl(body.decode(errors="replace"), keep_blank_values=True)
        # A browser ends the lines of a text as the mail of old did.
        fields = {name: value.replace("\r\n", "\n") for name, value in rows}
        if not _same(fields.get("form", ""), sources.keys.form):
            return show("fault", {"says": "This form is of another page; load it again."}, 403)
        try:
            return await run_in_threadpool(change, sources, request, show, fields)
        except IacError as error:
            return show("fault", {"says": str(error)}, 400)

    return answered


def _same(given: str, wanted: str) -> bool:
    return hashlib.sha256(given.encode()).digest() == hashlib.sha256(wanted.encode()).digest()


def _now(sources: PageSources, request: Request, show: Show) -> Response:
    part = "part" in request.query_params
    said = request.query_params.get("said", "")
    values = {**views.now(sources.state), "said": said}
    return show("now_part" if part else "now", values)


def _answer(
    sources: PageSources, _request: Request, _show: Show, fields: Mapping[str, str]
) -> Response:
    given = answer(sources.state, fields.get("question", ""), fields.get("answer", ""))
    return RedirectResponse(f"/now?said={'answered' if given else 'late'}", 303)


def _apps(sources: PageSources, _request: Request, show: Show) -> Response:
    assert sources.gate.catalogue is not None
    return show("apps", views.apps(sources.gate.catalogue))


def _app(sources: PageSources, request: Request, show: Show) -> Response:
    assert sources.gate.catalogue is not None
    row = sources.gate.catalogue.apps.get(request.path_params["key"])
    if row is None:
        return show("fault", {"says": "There is no such app here."}, 404)
    return show("app", views.app(sources.gate, row))


def _tool(sources: PageSources, request: Request, show: Show) -> Response:
    return show("tool", {**views.tool(sources.gate, request.path_params["name"]), "tried": None})


def _try(sources: PageSources, request: Request, show: Show, fields: Mapping[str, str]) -> Response:
    values = views.tool(sources.gate, request.path_params["name"])
    values["given"] = fields.get("arguments", "")
    try:
        call = _read_call(sources, values["row"].name, values["given"])
        tried = _tried(sources, call, fields.get("how", "dry"))
    except ToolError as error:
        tried = {"wrong": f"{error.message} {error.suggestion}".strip()}
    return show("tool", {**values, "tried": tried})


def _read_call(sources: PageSources, name: str, text: str) -> Call:
    try:
        arguments = json.loads(text or "{}")
    except ValueError as error:
        raise InvalidParameterError(f"The arguments are not valid JSON: {error}.") from None
    if not isinstance(arguments, dict):
        raise InvalidParameterError("The arguments are not a JSON object.")
    return Call(name, arguments, _person(sources))


def _tried(sources: PageSources, call: Call, how: str) -> dict[str, Any]:
    gate = sources.gate
    if how == "judge":
        facts, decision = gate.judge(gate.plan(call), call.caller)
        looked = [
            {"where": match.source, "kind": kind, "fails": fails}
            for kind, match, fails in looked_at(facts, gate.permissions.policy, decision.level)
        ]
        return {"decision": decision, "line": facts.line, "looked": looked}
    if how == "dry":
        done = gate.call(call, dry_run=True)
        return {"line": done.line} if isinstance(done, Done) else _said(done, call)
    return _said((sources.simulated() if how == "simulated" else gate).call(call), call, how)


def _said(outcome: Done | Refused | Asks, call: Call, how: str = "") -> dict[str, Any]:
    if isinstance(outcome, Done):
        return {"value": clean(outcome.value), "line": outcome.line, "note": outcome.note}
    if isinstance(outcome, Refused):
        return {"refused": outcome}
    return {"asks": outcome, "call": views.pretty(dict(call.arguments)), "how": how}


def _weigh(
    sources: PageSources, request: Request, show: Show, fields: Mapping[str, str]
) -> Response:
    """Carry on a call that was asked about on this page."""
    values = views.tool(sources.gate, request.path_params["name"])
    values["given"] = fields.get("arguments", "")
    how = fields.get("how", "")
    try:
        call = _read_call(sources, values["row"].name, values["given"])
        said = ANSWERS.get(fields.get("answer", ""), "decline")
        gate = sources.simulated() if how == "simulated" else sources.gate
        again = call._replace(token=fields.get("token", ""), verdict=said)
        tried = _said(gate.call(again), call, how)
    except ToolError as error:
        tried = {"wrong": f"{error.message} {error.suggestion}".strip()}
    return show("tool", {**values, "tried": tried})


def _person(sources: PageSources) -> Requester:
    ways = sources.gate.permissions.policy.approvers
    return Requester("iac-mcp open", tuple(way for way in ways if way == "page"))


def _search(sources: PageSources, request: Request, show: Show) -> Response:
    wanted = request.query_params.get("q", "")
    found: dict[str, Any] = {"tools": [], "more": {}}
    catalogue = sources.gate.catalogue
    if wanted and catalogue is not None:
        search = ToolSearch(lambda: catalogue, read_only=sources.gate.read_only)
        try:
            found |= search.find({"query": wanted})
        except ToolError as error:
            found["note"] = error.message
    return show("search", {"wanted": wanted, "found": found, "note": found.get("note", "")})


def _calls(sources: PageSources, request: Request, show: Show) -> Response:
    return show("calls", views.calls(sources.state, dict(request.query_params)))


def _call(sources: PageSources, request: Request, show: Show) -> Response:
    found = views.call(sources.state, request.path_params["seq"])
    return show("call", {"call": found}, 200 if found else 404)


def _chain(sources: PageSources, _request: Request, show: Show) -> Response:
    return show("chain", {"found": verified(sources.state)})


def _rules(sources: PageSources, request: Request, show: Show) -> Response:
    seq = request.query_params.get("from", "")
    entry = views.call(sources.state, int(seq)) if seq.isdecimal() else None
    text = rules.from_call(entry) if entry else ""
    return _with_rules(sources, show, text, None)


def _rule(
    sources: PageSources, _request: Request, show: Show, fields: Mapping[str, str]
) -> Response:
    text = fields.get("rule", "")
    draft = rules.try_rule(sources.state, sources.gate, text)
    if fields.get("how") == "save" and not draft.wrong:
        rules.save_rule(text)
        return _with_rules(sources, show, "", None, kept=True)
    return _with_rules(sources, show, text, draft)


def _with_rules(
    sources: PageSources,
    show: Show,
    text: str,
    draft: rules.RuleDraft | None,
    *,
    kept: bool = False,
) -> Response:
    path = policy_path()
    found = rules.rules(sources.state, sources.gate)
    values = {"path": path, "exists": path.exists(), "rules": found, "text": text}
    return show("rules", {**values, "draft": draft, "kept": kept})


async def _export(sources: PageSources, _request: Request) -> Response:
    lines = (f"{line}\n" for line in row_lines(sources.state))
    return StreamingResponse(lines, media_type="application/jsonl")


async def _events(sources: PageSources, request: Request) -> Response:
    """Say when what the first view shows has changed, as server-sent events."""

    async def changes() -> AsyncIterator[str]:
        sources.keys.watching += 1
        try:
            before = ""
            while not await request.is_disconnected():
                after = await run_in_threadpool(_stamp, sources.state)
                yield "data: changed\n\n" if after != before else ": still here\n\n"
                before = after
                await asyncio.sleep(_LOOK)
        finally:
            sources.keys.watching -= 1

    return StreamingResponse(changes(), media_type="text/event-stream")


def _stamp(state: Path) -> str:
    found = [one.id for one in waiting(state)]
    for path in (*state.glob("servers/*.json"), state / "audit.db-wal"):
        with contextlib.suppress(OSError):
            status = path.stat()
            found.append(f"{path.name} {status.st_mtime_ns} {status.st_size}")
    return " ".join(found)
