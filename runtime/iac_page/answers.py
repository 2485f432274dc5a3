"""What each address of the page answers: a view, or what became of a change.

It reads and writes through the doors of the command line: the gate, the policy's file, approvals,
the audit, and the generator.
"""

import contextlib
import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from iac_base.errors import InvalidParameterError, ToolError
from iac_page import calls, now, permissions, tools, updates
from iac_page.guard import PageKeys
from iac_page.marks import AppMarks, has_icons, icon_file
from iac_runtime.audit.reading import verify_audit
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall, RefusedCall
from iac_runtime.gate.results import clean_value
from iac_runtime.policy.approvals import revoke_approvals
from iac_runtime.policy.decide import explain_rules
from iac_runtime.policy.pause import resume_calls
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.policy_file import policy_path
from iac_runtime.policy.prompts import ANSWERS, write_answer
from iac_runtime.serve.status import end_server_tasks, pause_everything, stop_server_calls
from iac_runtime.serve.tool_pages import ToolSearch


class PageSources(NamedTuple):
    """What the page shows: the state folder, the gate, one for simulated apps, and its secrets.

    `fleet` is the address of a team's database, empty for this Mac alone; `approver` is the file
    of the key with which the person at this page answers for other Macs.
    """

    state: Path
    gate: Gate
    simulated_gate: Callable[[], Gate]
    keys: PageKeys
    fleet: str = ""
    approver: Path | None = None

    @property
    def marks(self) -> AppMarks:
        """The apps as a person knows them."""
        return AppMarks(tools.require_catalogue(self.gate))


Show = Callable[..., Response]
Make = Callable[[PageSources, Request, Show], Response]
Change = Callable[[PageSources, Request, Show, Mapping[str, str]], Response]


def _now_page(sources: PageSources, _request: Request, show: Show) -> Response:
    return show("now", now.now_view(sources.state, sources.gate, sources.marks))


def _post_answer(
    sources: PageSources, _request: Request, _show: Show, fields: Mapping[str, str]
) -> Response:
    given = write_answer(sources.state, fields.get("question", ""), fields.get("answer", ""))
    return _back("/now", "answered" if given else "late")


def _back(path: str, said: str) -> Response:
    return RedirectResponse(f"{path}?said={said}", 303)


def _post_pause(
    sources: PageSources, _request: Request, _show: Show, fields: Mapping[str, str]
) -> Response:
    if fields.get("how") == "resume":
        resume_calls(sources.state)
        return _back("/now", "resumed")
    pause_everything()
    return _back("/now", "paused")


def _post_stop(
    _sources: PageSources, _request: Request, _show: Show, fields: Mapping[str, str]
) -> Response:
    return _back("/now", "stopped" if stop_server_calls(_number_of(fields, "pid")) else "gone")


def _post_task_end(
    _sources: PageSources, _request: Request, _show: Show, fields: Mapping[str, str]
) -> Response:
    ended = end_server_tasks(_number_of(fields, "pid"))
    return _back("/permissions", "task_ended" if ended else "gone")


def _number_of(fields: Mapping[str, str], name: str) -> int:
    text = fields.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _undo_page(sources: PageSources, request: Request, show: Show) -> Response:
    call = _undo_call(sources, request.query_params)
    if call.arguments == {"call": 0}:
        return show("fault", {"says": "no_call"}, 404)
    return show("undo", {"review": now.review_undo(sources.gate, sources.marks, call)})


def _post_undo(
    sources: PageSources, _request: Request, show: Show, fields: Mapping[str, str]
) -> Response:
    call = _undo_call(sources, fields)
    review = now.perform_undo(sources.gate, sources.marks, call, fields.get("seen", ""))
    return show("undo", {"review": review})


def _undo_call(sources: PageSources, fields: Mapping[str, str]) -> Call:
    point, number = fields.get("point", ""), _number_of(fields, "call")
    return Call("undo_call", {"point": point} if point else {"call": number}, _person(sources))


def _post_revoke(
    sources: PageSources, _request: Request, _show: Show, fields: Mapping[str, str]
) -> Response:
    revoke_approvals(sources.gate.permissions.store, _number_of(fields, "id"))
    return _back("/permissions", "revoked")


def _permissions_page(sources: PageSources, _request: Request, show: Show) -> Response:
    catalogue = tools.require_catalogue(sources.gate)
    return show("permissions", permissions.permissions_view(sources.gate, catalogue, sources.marks))


def _presets_page(sources: PageSources, _request: Request, show: Show) -> Response:
    return show("prompts", {"prompts": permissions.prompts_by_preset(sources.state, sources.gate)})


def _post_app_state(
    sources: PageSources, _request: Request, _show: Show, fields: Mapping[str, str]
) -> Response:
    row = tools.require_catalogue(sources.gate).apps.get(fields.get("app", ""))
    if row is None:
        raise InvalidParameterError("This page has no such app.")
    permissions.set_app_state(row.id, fields.get("state", ""), fields.get("span", "always"))
    return _back("/permissions", "set")


def _post_preset(
    _sources: PageSources, _request: Request, _show: Show, fields: Mapping[str, str]
) -> Response:
    permissions.set_preset(fields.get("preset", ""))
    return _back("/permissions", "set")


def _app_page(sources: PageSources, request: Request, show: Show) -> Response:
    row = tools.require_catalogue(sources.gate).apps.get(request.path_params["key"])
    if row is None:
        return show("fault", {"says": "no_app"}, 404)
    return show("app", {**tools.app_view(sources.gate, row), "mark": sources.marks.find(row.id)})


def _icon_file(sources: PageSources, request: Request, show: Show) -> Response:
    row = tools.require_catalogue(sources.gate).apps.get(request.path_params["key"])
    found = icon_file(row) if row is not None and has_icons() else None
    if found is None:
        return show("fault", {"says": "no_app"}, 404)
    return FileResponse(found, media_type="image/png", headers={"cache-control": "max-age=86400"})


def _tool_page(sources: PageSources, request: Request, show: Show) -> Response:
    values = tools.tool_view(sources.gate, request.path_params["name"])
    return show("tool", {**values, "tried": None})


def _post_trial(
    sources: PageSources, request: Request, show: Show, fields: Mapping[str, str]
) -> Response:
    values = tools.tool_view(sources.gate, request.path_params["name"])
    values["given"] = fields.get("arguments", "")
    try:
        call = _read_call(sources, values["row"].name, values["given"])
        tried = _trial_view(sources, call, fields.get("how", "dry"))
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


def _trial_view(sources: PageSources, call: Call, how: str) -> dict[str, Any]:
    gate = sources.gate
    if how == "judge":
        facts, decision = gate.judge_plan(gate.plan_call(call), call.caller)
        looked = [
            {"where": match.source, "kind": kind, "fails": fails}
            for kind, match, fails in explain_rules(facts, gate.permissions.policy, decision.level)
        ]
        return {"decision": decision, "line": facts.line, "looked": looked}
    if how == "dry":
        done = gate.call(call, dry_run=True)
        if isinstance(done, CompletedCall):
            return {"line": done.line}
        return _outcome_view(sources, done, call)
    gate = sources.simulated_gate() if how == "simulated" else gate
    return _outcome_view(sources, gate.call(call), call, how)


def _outcome_view(
    sources: PageSources,
    outcome: CompletedCall | RefusedCall | PendingCall,
    call: Call,
    how: str = "",
) -> dict[str, Any]:
    if isinstance(outcome, CompletedCall):
        return {"value": clean_value(outcome.value), "line": outcome.line, "note": outcome.note}
    if isinstance(outcome, RefusedCall):
        return {"refused": outcome}
    card = now.question_card(outcome.question, sources.marks)
    given = json.dumps(dict(call.arguments), ensure_ascii=False, indent=2)
    return {"asks": outcome, "card": card, "call": given, "how": how}


def _post_verdict(
    sources: PageSources, request: Request, show: Show, fields: Mapping[str, str]
) -> Response:
    """Carry on a call that was asked about on this page."""
    values = tools.tool_view(sources.gate, request.path_params["name"])
    values["given"] = fields.get("arguments", "")
    how = fields.get("how", "")
    try:
        call = _read_call(sources, values["row"].name, values["given"])
        verdict = ANSWERS.get(fields.get("answer", ""), "decline")
        gate = sources.simulated_gate() if how == "simulated" else sources.gate
        again = call._replace(token=fields.get("token", ""), verdict=verdict)
        tried = _outcome_view(sources, gate.call(again), call, how)
    except ToolError as error:
        tried = {"wrong": f"{error.message} {error.suggestion}".strip()}
    return show("tool", {**values, "tried": tried})


def _person(sources: PageSources) -> Requester:
    """Return who calls here: the person at the page, who is asked on it."""
    ways = sources.gate.permissions.policy.approvers
    return Requester("iac-mcp open", tuple(way for way in ways if way == "page"))


_FOUND: Final = 8
"""Calls and apps that a search shows."""


def _search_page(sources: PageSources, request: Request, show: Show) -> Response:
    wanted = request.query_params.get("q", "").strip()
    pages: dict[str, Any] = {"tools": []}
    marks, found, near = sources.marks, [], False
    if wanted:
        catalogue = tools.require_catalogue(sources.gate)
        search = ToolSearch(lambda: catalogue, read_only=sources.gate.read_only)
        # What cannot be searched for finds nothing.
        with contextlib.suppress(ToolError):
            pages |= search.find_pages({"query": wanted})
        query, words = calls.read_query({"q": wanted}, marks)
        entries, near = calls.search_audit(sources.state, query, words)
        found = list(calls.call_lines(entries[:_FOUND], marks))
    folded = wanted.casefold()
    apps = [mark for mark in marks.names() if folded and folded in mark.name.casefold()]
    values = {"wanted": wanted, "found": pages}
    return show("search", {**values, "apps": apps[:_FOUND], "calls": found, "near": near})


def _history_page(sources: PageSources, request: Request, show: Show) -> Response:
    asked = {name: value for name, value in request.query_params.items() if name in _HISTORY}
    kept = now.kept_calls(sources.gate)
    return show("history", calls.history_view(sources.state, asked, sources.marks, kept))


def _charts_page(sources: PageSources, _request: Request, show: Show) -> Response:
    return show("charts", calls.charts_view(sources.state, sources.marks))


def _call_page(sources: PageSources, request: Request, show: Show) -> Response:
    entry = calls.find_call(sources.state, request.path_params["seq"])
    if entry is None:
        return show("fault", {"says": "no_call"}, 404)
    (line,) = calls.call_lines([entry], sources.marks, now.kept_calls(sources.gate))
    return show("call", {"call": entry, "shown": line})


def _chain_page(sources: PageSources, _request: Request, show: Show) -> Response:
    return show("chain", {"found": verify_audit(sources.state)})


def _rules_page(sources: PageSources, request: Request, show: Show) -> Response:
    asked = {name: request.query_params.get(name, "") for name in _RULE}
    if any(asked.values()):
        text = permissions.compose_rule(asked)
        draft = permissions.try_rule(sources.state, sources.gate, text)
        return _rules_response(sources, show, text, draft, asked=asked)
    seq = request.query_params.get("from_call", "")
    entry = calls.find_call(sources.state, int(seq)) if seq.isdecimal() else None
    text = permissions.rule_from_call(entry) if entry else ""
    return _rules_response(sources, show, text, None)


def _post_rule(
    sources: PageSources, _request: Request, show: Show, fields: Mapping[str, str]
) -> Response:
    text = fields.get("rule", "")
    draft = permissions.try_rule(sources.state, sources.gate, text)
    if fields.get("how") == "save" and not draft.wrong:
        permissions.save_rule(text)
        return _rules_response(sources, show, "", None, kept=True)
    return _rules_response(sources, show, text, draft)


def _rules_response(
    sources: PageSources,
    show: Show,
    text: str,
    draft: permissions.RuleDraft | None,
    *,
    kept: bool = False,
    asked: Mapping[str, str] | None = None,
) -> Response:
    path = policy_path()
    rows = permissions.list_rules(sources.state, sources.gate)
    catalogue = tools.require_catalogue(sources.gate)
    apps = [(mark.name, catalogue.apps[mark.key].id) for mark in sources.marks.names()]
    lines = calls.call_lines(draft.calls if draft else (), sources.marks)
    values = {"path": path, "exists": path.exists(), "rules": rows, "text": text, "apps": apps}
    values |= {"asked": asked or dict.fromkeys(_RULE, ""), "would": list(lines)}
    return show("rules", {**values, "draft": draft, "kept": kept})


def _changes_page(sources: PageSources, request: Request, show: Show) -> Response:
    app = request.query_params.get("app", "")
    wanted = "compare" in request.query_params
    review = updates.review_build(app) if wanted else updates.UpdateReview()
    values = {**updates.updates_view(sources.gate, app), "review": review, "done": ""}
    return show("changes", values)


def _why_page(sources: PageSources, request: Request, show: Show) -> Response:
    app = tools.require_catalogue(sources.gate).apps.get(request.path_params["key"])
    if app is None:
        return show("fault", {"says": "no_app"}, 404)
    name = request.path_params["name"]
    lines, wrong = updates.explain_levels(app.key, name)
    return show("why", {"app": app, "name": name, "lines": lines, "wrong": wrong})


def _post_accept(
    sources: PageSources, _request: Request, show: Show, fields: Mapping[str, str]
) -> Response:
    app = fields.get("app", "")
    accepted = [name.partition(" ")[2] for name in fields if name.startswith("accept ")]
    review, outcome = updates.build_accepted(sources.gate, app, fields.get("shown", ""), accepted)
    values = {**updates.updates_view(sources.gate, app), "review": review, "done": outcome}
    return show("changes", values)


def _fleet_page(sources: PageSources, request: Request, show: Show) -> Response:
    # Needs psycopg, which a page of one Mac does without.
    from iac_fleet import database, forward, verify

    if not sources.fleet:
        return show("fault", {"says": "no_fleet"}, 404)
    asked = {name: value for name in _ASKED if (value := request.query_params.get(name, ""))}
    with database.open_connection(sources.fleet) as connection:
        wanted, alarms = request.query_params.get("check"), None
        if wanted:
            found = verify.check_new_rows(connection, 24.0, sources.state, anew=wanted != "new")
            alarms = found.alarms
        hosts = database.list_hosts(connection)
        values = {
            "hosts": [{**one, "fresh": calls.is_recent(one["seen"])} for one in hosts],
            "by_level": calls.bars_by_level(
                database.count_by_level(connection, calls.days_ago(calls.DAYS))
            ),
            "calls": database.find_calls(connection, asked, calls.PAGE),
            "questions": [
                (row, _text_digest(row.text)) for row in forward.waiting_questions(connection)
            ],
            "answers": sources.approver is not None,
        }
    return show("fleet", {**values, "asked": asked, "alarms": alarms})


def _text_digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _post_approval(
    sources: PageSources, _request: Request, show: Show, fields: Mapping[str, str]
) -> Response:
    from iac_fleet import database, forward, versions

    if not sources.fleet or sources.approver is None:
        return show("fault", {"says": "no_fleet"}, 404)
    signer = versions.read_key(sources.approver)
    with database.open_connection(sources.fleet) as connection:
        host, ident = fields.get("host", ""), fields.get("question", "")
        question = forward.find_question(connection, host, ident)
        if _text_digest(question.text) != fields.get("seen"):
            return show("fault", {"says": "other_question"}, 409)
        forward.submit_answer(connection, signer, question, fields.get("answer", ""))
    return RedirectResponse("/fleet", 303)


_ASKED: Final = ("host", "app", "tool", "client", "level", "decision", "since", "until", "text")
_HISTORY: Final = (
    "q", "app", "tool", "client", "level", "result", "decision", "since", "until", "before"
)  # fmt: skip
_RULE: Final = ("action", "app", "level", "tool", "client", "from", "to", "why")

VIEWS: Final[Mapping[str, Make]] = {
    "/": lambda *_: RedirectResponse("/now", 303),
    "/now": _now_page,
    "/undo": _undo_page,
    "/history": _history_page,
    "/history/charts": _charts_page,
    "/history/{seq:int}": _call_page,
    "/chain": _chain_page,
    "/permissions": _permissions_page,
    "/permissions/prompts": _presets_page,
    "/apps/{key}": _app_page,
    "/icons/{key}": _icon_file,
    "/tools/{name}": _tool_page,
    "/why/{key}/{name}": _why_page,
    "/rules": _rules_page,
    "/changes": _changes_page,
    "/search": _search_page,
    "/fleet": _fleet_page,
}
CHANGES: Final[Mapping[str, Change]] = {
    "/now": _post_answer,
    "/pause": _post_pause,
    "/stop": _post_stop,
    "/tasks": _post_task_end,
    "/undo": _post_undo,
    "/approvals": _post_revoke,
    "/apps": _post_app_state,
    "/preset": _post_preset,
    "/tools/{name}": _post_trial,
    "/tools/{name}/answer": _post_verdict,
    "/changes": _post_accept,
    "/rules": _post_rule,
    "/fleet": _post_approval,
}
"""Addresses of views, and of forms that change something -> what answers there."""
