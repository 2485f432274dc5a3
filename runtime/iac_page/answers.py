"""What each address of the page answers: a view, or what became of a change.

It reads and writes through the doors of the command line: the gate, the policy's file, approvals,
the audit, and the generator.
"""

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from iac_base.errors import InvalidParameterError, ToolError
from iac_page import views
from iac_page.guard import PageKeys
from iac_runtime.audit.reading import verify_audit
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall, RefusedCall
from iac_runtime.gate.results import clean_value
from iac_runtime.policy.decide import explain_rules
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.policy_file import policy_path
from iac_runtime.policy.prompts import ANSWERS, write_answer
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


Show = Callable[..., Response]
Make = Callable[[PageSources, Request, Show], Response]
Change = Callable[[PageSources, Request, Show, Mapping[str, str]], Response]


def _now_page(sources: PageSources, request: Request, show: Show) -> Response:
    values = {**views.now_view(sources.state), "said": request.query_params.get("said", "")}
    return show("now_part" if "part" in request.query_params else "now", values)


def _post_answer(
    sources: PageSources, _request: Request, _show: Show, fields: Mapping[str, str]
) -> Response:
    given = write_answer(sources.state, fields.get("question", ""), fields.get("answer", ""))
    return RedirectResponse(f"/now?said={'answered' if given else 'late'}", 303)


def _apps_page(sources: PageSources, _request: Request, show: Show) -> Response:
    assert sources.gate.catalogue is not None
    return show("apps", views.apps_view(sources.gate.catalogue))


def _app_page(sources: PageSources, request: Request, show: Show) -> Response:
    assert sources.gate.catalogue is not None
    row = sources.gate.catalogue.apps.get(request.path_params["key"])
    if row is None:
        return show("fault", {"says": "no_app"}, 404)
    return show("app", views.app_view(sources.gate, row))


def _tool_page(sources: PageSources, request: Request, show: Show) -> Response:
    return show(
        "tool", {**views.tool_view(sources.gate, request.path_params["name"]), "tried": None}
    )


def _post_trial(
    sources: PageSources, request: Request, show: Show, fields: Mapping[str, str]
) -> Response:
    values = views.tool_view(sources.gate, request.path_params["name"])
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
    return Call(name, arguments, _page_requester(sources))


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
        return {"line": done.line} if isinstance(done, CompletedCall) else _outcome_view(done, call)
    return _outcome_view(
        (sources.simulated_gate() if how == "simulated" else gate).call(call), call, how
    )


def _outcome_view(
    outcome: CompletedCall | RefusedCall | PendingCall, call: Call, how: str = ""
) -> dict[str, Any]:
    if isinstance(outcome, CompletedCall):
        return {"value": clean_value(outcome.value), "line": outcome.line, "note": outcome.note}
    if isinstance(outcome, RefusedCall):
        return {"refused": outcome}
    return {"asks": outcome, "call": views.pretty_json(dict(call.arguments)), "how": how}


def _post_verdict(
    sources: PageSources, request: Request, show: Show, fields: Mapping[str, str]
) -> Response:
    """Carry on a call that was asked about on this page."""
    values = views.tool_view(sources.gate, request.path_params["name"])
    values["given"] = fields.get("arguments", "")
    how = fields.get("how", "")
    try:
        call = _read_call(sources, values["row"].name, values["given"])
        verdict = ANSWERS.get(fields.get("answer", ""), "decline")
        gate = sources.simulated_gate() if how == "simulated" else sources.gate
        again = call._replace(token=fields.get("token", ""), verdict=verdict)
        tried = _outcome_view(gate.call(again), call, how)
    except ToolError as error:
        tried = {"wrong": f"{error.message} {error.suggestion}".strip()}
    return show("tool", {**values, "tried": tried})


def _page_requester(sources: PageSources) -> Requester:
    ways = sources.gate.permissions.policy.approvers
    return Requester("iac-mcp open", tuple(way for way in ways if way == "page"))


def _search_page(sources: PageSources, request: Request, show: Show) -> Response:
    wanted = request.query_params.get("q", "")
    pages: dict[str, Any] = {"tools": [], "more": {}}
    catalogue = sources.gate.catalogue
    if wanted and catalogue is not None:
        search = ToolSearch(lambda: catalogue, read_only=sources.gate.read_only)
        try:
            pages |= search.find_pages({"query": wanted})
        except ToolError as error:
            pages["note"] = error.message
    return show("search", {"wanted": wanted, "found": pages, "note": pages.get("note", "")})


def _calls_page(sources: PageSources, request: Request, show: Show) -> Response:
    return show("calls", views.calls_view(sources.state, dict(request.query_params)))


def _call_page(sources: PageSources, request: Request, show: Show) -> Response:
    entry = views.find_call(sources.state, request.path_params["seq"])
    return show("call", {"call": entry}, 200 if entry else 404)


def _chain_page(sources: PageSources, _request: Request, show: Show) -> Response:
    return show("chain", {"found": verify_audit(sources.state)})


def _rules_page(sources: PageSources, request: Request, show: Show) -> Response:
    seq = request.query_params.get("from", "")
    entry = views.find_call(sources.state, int(seq)) if seq.isdecimal() else None
    text = views.rule_from_call(entry) if entry else ""
    return _rules_response(sources, show, text, None)


def _post_rule(
    sources: PageSources, _request: Request, show: Show, fields: Mapping[str, str]
) -> Response:
    text = fields.get("rule", "")
    draft = views.try_rule(sources.state, sources.gate, text)
    if fields.get("how") == "save" and not draft.wrong:
        views.save_rule(text)
        return _rules_response(sources, show, "", None, kept=True)
    return _rules_response(sources, show, text, draft)


def _rules_response(
    sources: PageSources,
    show: Show,
    text: str,
    draft: views.RuleDraft | None,
    *,
    kept: bool = False,
) -> Response:
    path = policy_path()
    rows = views.list_rules(sources.state, sources.gate)
    values = {"path": path, "exists": path.exists(), "rules": rows, "text": text}
    return show("rules", {**values, "draft": draft, "kept": kept})


def _changes_page(sources: PageSources, request: Request, show: Show) -> Response:
    app = request.query_params.get("app", "")
    wanted = "compare" in request.query_params
    review = views.review_build(app) if wanted else views.UpdateReview()
    return show("changes", {**views.updates_view(sources.gate, app), "review": review, "said": ""})


def _why_page(sources: PageSources, request: Request, show: Show) -> Response:
    assert sources.gate.catalogue is not None
    app = sources.gate.catalogue.apps.get(request.path_params["key"])
    if app is None:
        return show("fault", {"says": "no_app"}, 404)
    name = request.path_params["name"]
    lines, wrong = views.explain_levels(app.key, name)
    return show("why", {"app": app, "name": name, "lines": lines, "wrong": wrong})


def _post_accept(
    sources: PageSources, _request: Request, show: Show, fields: Mapping[str, str]
) -> Response:
    app = fields.get("app", "")
    accepted = [name.partition(" ")[2] for name in fields if name.startswith("accept ")]
    review, outcome = views.build_accepted(sources.gate, app, fields.get("shown", ""), accepted)
    values = {**views.updates_view(sources.gate, app), "review": review, "said": outcome}
    return show("changes", values)


def _fleet_page(sources: PageSources, request: Request, show: Show) -> Response:
    # Needs psycopg, which a page of one Mac does without.
    from iac_fleet import database, forward

    if not sources.fleet:
        return show("fault", {"says": "no_fleet"}, 404)
    asked = {name: value for name in _ASKED if (value := request.query_params.get(name, ""))}
    with database.open_connection(sources.fleet) as connection:
        alarms = (
            database.check_chains(connection, 24.0)[1] if "check" in request.query_params else None
        )
        values = {
            "hosts": database.list_hosts(connection),
            "calls": database.find_calls(connection, asked, views.PAGE),
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

VIEWS: Final[Mapping[str, Make]] = {
    "/": lambda *_: RedirectResponse("/now", 303),
    "/now": _now_page,
    "/apps": _apps_page,
    "/apps/{key}": _app_page,
    "/tools/{name}": _tool_page,
    "/why/{key}/{name}": _why_page,
    "/search": _search_page,
    "/calls": _calls_page,
    "/calls/{seq:int}": _call_page,
    "/chain": _chain_page,
    "/changes": _changes_page,
    "/rules": _rules_page,
    "/fleet": _fleet_page,
}
CHANGES: Final[Mapping[str, Change]] = {
    "/now": _post_answer,
    "/tools/{name}": _post_trial,
    "/tools/{name}/answer": _post_verdict,
    "/changes": _post_accept,
    "/rules": _post_rule,
    "/fleet": _post_approval,
}
"""Addresses of views, and of forms that change something -> what answers there."""
