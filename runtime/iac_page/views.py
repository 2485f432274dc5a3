"""What each view shows, as plain values for its template."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import SetupError, ToolError
from iac_runtime.audit.reading import AuditEntry, AuditQuery, count_calls, find_calls
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call
from iac_runtime.policy.facts import Decision
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.prompts import read_waiting_questions
from iac_runtime.search import SearchHit
from iac_runtime.serve.status import status_facts
from iac_runtime.serve.tool_pages import any_page
from iac_runtime.tool import LEVELS, Class
from iac_runtime.tools.catalogue import AppRow, Catalogue, ToolRow
from iac_runtime.tools.shape import Tool

View = dict[str, Any]
PAGE: Final = 100
"""Calls on one page of the table."""

_DAYS: Final = 30
_WIDTH: Final = 720
_HEIGHT: Final = 120
_NAMES: Final = 160
"""Where the calls of a timeline begin, beside the names of the apps."""

_LANE: Final = 20


class ChartBar(NamedTuple):
    """A bar of a chart, in units of its drawing."""

    x: float
    y: float
    width: float
    height: float
    label: str
    calls: int


class TimelineMark(NamedTuple):
    """A call on the timeline, in units of its drawing."""

    x: float
    y: float
    call: AuditEntry


def now_view(state: Path) -> View:
    """Return what runs, and what waits for an answer."""
    facts = status_facts()
    running = _find_calls(state, AuditQuery(result="running", since=_days_ago(1)), PAGE)[::-1]
    return {**facts, "running": running, "asked": list(read_waiting_questions(state))}


def apps_view(catalogue: Catalogue) -> View:
    """Return the apps with how many of their tools need which level."""
    counted: dict[str, dict[str, int]] = {key: dict.fromkeys(LEVELS, 0) for key in catalogue.apps}
    for row in catalogue.tools.values():
        counted[row.app.key][row.level] += 1
    rows = sorted(catalogue.apps.values(), key=lambda one: one.name.casefold())
    return {"apps": [{"app": one, "levels": counted[one.key]} for one in rows]}


def app_view(gate: Gate, row: AppRow) -> View:
    """Return the tools and classes of an app, and what the policy makes of each tool."""
    catalogue = _require_catalogue(gate)
    tools = [one for one in catalogue.tools.values() if one.app.key == row.key]
    classes = [
        {"name": name, "row": one, "set": _settable_properties(one)}
        for name, one in sorted(catalogue.load_tables(row).classes.items())
    ]
    shown = [
        {
            "row": one,
            "tool": catalogue.load_tool(one),
            "decision": _example_decision(gate, one, catalogue),
        }
        for one in tools
    ]
    return {"app": row, "tools": shown, "classes": classes}


def _settable_properties(row: Class) -> Mapping[str, list[str]]:
    """Return level -> the properties of a class that can be set at it."""
    can = [part for part in row.properties if part.access != "r"]
    found = {level: [part.term for part in can if part.level == level] for level in LEVELS}
    return {level: terms for level, terms in found.items() if terms}


def _example_decision(gate: Gate, row: ToolRow, catalogue: Catalogue) -> Decision | None:
    """Return what is done with the example of a tool, None where it cannot be told."""
    try:
        plan = gate.plan_call(Call(row.name, _tool_example(row, catalogue)))
        return gate.judge_plan(plan, _page_requester(gate))[1]
    except (ToolError, SetupError):
        return None


def _tool_example(row: ToolRow, catalogue: Catalogue) -> Mapping[str, Any]:
    """Return the example that a model is shown of a tool."""
    hit = SearchHit(row.name, 0, "", "command", "", (), row.level)
    return any_page(catalogue, hit).example


def _page_requester(gate: Gate) -> Requester:
    return Requester("iac-mcp open", gate.permissions.policy.approvers)


def tool_view(gate: Gate, name: str) -> View:
    """Return the page of a tool. Raises UnknownToolError."""
    catalogue = _require_catalogue(gate)
    row = catalogue.find_row(name)
    found = catalogue.load_tool(row)
    return {
        "row": row,
        "tool": found,
        "given": pretty_json(_tool_example(row, catalogue)),
        "fields": _argument_fields(found),
    }


def _argument_fields(found: Tool) -> Iterator[View]:
    required = found.input.get("required", ())
    for key, schema in found.input.get("properties", {}).items():
        kinds = [schema, *schema.get("anyOf", ())]
        kind = " or ".join(str(one["type"]) for one in kinds if "type" in one)
        says = schema.get("description", "")
        values = schema.get("enum", ())
        yield {"key": key, "kind": kind, "says": says, "required": key in required,
               "choices": ", ".join(map(str, values))}  # fmt: skip


def calls_view(state: Path, asked: Mapping[str, str]) -> View:
    """Return the calls that fit what a form asks, the newest first, and charts."""
    names = ("text", "app", "tool", "client", "level", "result", "decision", "since", "until")
    given: dict[str, Any] = {name: asked.get(name, "").strip() for name in names}
    before = asked.get("before", "")
    query = AuditQuery(**given, before=int(before) if before.isdecimal() else 0)
    shown = _find_calls(state, query, PAGE)[::-1]
    older = {**asked, "before": shown[-1].seq} if len(shown) == PAGE else None
    counted = _call_counts(state)
    return {"calls": shown, "asked": asked, "older": older, "levels": LEVELS,
            "lanes": timeline_lanes(shown), "days": bars_by_day(counted),
            "by_app": bars_by_app(counted)}  # fmt: skip


def find_call(state: Path, seq: int) -> AuditEntry | None:
    """Return one call with its whole story."""
    found = _find_calls(state, AuditQuery(seq=seq), 1)
    if found and found[0].story:
        found = _find_calls(state, AuditQuery(text=found[0].story), 1) or found
    return found[0] if found else None


def timeline_lanes(found: Sequence[AuditEntry]) -> Mapping[str, list[TimelineMark]]:
    """Return app -> its calls on a timeline from the first of these calls to the last."""
    if not found:
        return {}
    times = [datetime.fromisoformat(one.time).timestamp() for one in found]
    first, span = min(times), (max(times) - min(times)) or 1.0
    drawn: dict[str, list[TimelineMark]] = {}
    for one, at in zip(found, times, strict=True):
        row = drawn.setdefault(one.app or "–", [])
        y = list(drawn).index(one.app or "–") * _LANE + _LANE / 2
        row.append(TimelineMark(_NAMES + (at - first) / span * (_WIDTH - _NAMES - 8), y, one))
    return drawn


def bars_by_day(counted: Mapping[tuple[str, str], int]) -> list[ChartBar]:
    """Return a bar for each of the last days."""
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=_DAYS - 1 - at) for at in range(_DAYS)]
    sums = dict.fromkeys(days, 0)
    for (day, _), number in counted.items():
        at = date.fromisoformat(day)
        if at in sums:
            sums[at] += number
    most, width = max(sums.values(), default=0) or 1, _WIDTH / _DAYS
    return [
        ChartBar(at * width + 1, _HEIGHT - tall, width - 2, tall, day.isoformat(), number)
        for at, (day, number) in enumerate(sums.items())
        for tall in (_HEIGHT * number / most,)
    ]


def bars_by_app(counted: Mapping[tuple[str, str], int]) -> list[ChartBar]:
    """Return a bar for each of the apps that were called most."""
    sums: dict[str, int] = {}
    for (_, name), number in counted.items():
        sums[name] = sums.get(name, 0) + number
    top = sorted(sums.items(), key=lambda one: -one[1])[:8]
    most = top[0][1] if top else 1
    return [
        ChartBar(0, at * 24, 420 * number / most, 18, name, number)
        for at, (name, number) in enumerate(top)
    ]


def _call_counts(state: Path) -> Mapping[tuple[str, str], int]:
    try:
        return count_calls(state, _days_ago(_DAYS))
    except SetupError:
        return {}


def _days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).date().isoformat()


def _find_calls(state: Path, query: AuditQuery, limit: int) -> list[AuditEntry]:
    try:
        return find_calls(state, query, limit)
    except SetupError:
        return []


def pretty_json(value: Any) -> str:
    """Return a value as JSON that people read."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def _require_catalogue(gate: Gate) -> Catalogue:
    assert gate.catalogue is not None
    return gate.catalogue
