"""What each view shows, as plain values for its template: calls, tools, rules, a build's changes.

The page knows nothing of dictionaries: it runs `iac-gen diff` and `iac-gen build`, as a person
would, and shows what they say. A rule is tried on the calls of the last days before it is saved.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import SetupError, ToolError, pip_install
from iac_base.files import FileContent, data_folder, read_file_content
from iac_base.files import replace_file_content as put
from iac_mcp.setup.interpreter import run_generator
from iac_runtime.audit.reading import AuditEntry, AuditQuery, count_calls, find_calls
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call
from iac_runtime.policy.decide import explain_rules
from iac_runtime.policy.facts import Decision
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.policy_file import load_policy, parse_policy, policy_path
from iac_runtime.policy.prompts import read_waiting_questions
from iac_runtime.policy.rules import describe_rule
from iac_runtime.policy.settings import Policy
from iac_runtime.search import SearchHit
from iac_runtime.serve.status import status_facts
from iac_runtime.serve.tool_pages import any_page
from iac_runtime.tool import LEVELS, Class
from iac_runtime.tools.catalogue import AppRow, Catalogue, ToolRow, tool_folders
from iac_runtime.tools.freshness import check_freshness
from iac_runtime.tools.shape import Tool
from iac_runtime.tools.tables import function_behind

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
    by_level = {level: [part.term for part in can if part.level == level] for level in LEVELS}
    return {level: terms for level, terms in by_level.items() if terms}


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
    tool = catalogue.load_tool(row)
    return {
        "row": row,
        "tool": tool,
        "given": pretty_json(_tool_example(row, catalogue)),
        "fields": _argument_fields(tool),
    }


def _argument_fields(tool: Tool) -> Iterator[View]:
    required = tool.input.get("required", ())
    for key, schema in tool.input.get("properties", {}).items():
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
    entries = _find_calls(state, AuditQuery(seq=seq), 1)
    if entries and entries[0].story:
        entries = _find_calls(state, AuditQuery(text=entries[0].story), 1) or entries
    return entries[0] if entries else None


def timeline_lanes(entries: Sequence[AuditEntry]) -> Mapping[str, list[TimelineMark]]:
    """Return app -> its calls on a timeline from the first of these calls to the last."""
    if not entries:
        return {}
    times = [datetime.fromisoformat(one.time).timestamp() for one in entries]
    first, span = min(times), (max(times) - min(times)) or 1.0
    drawn: dict[str, list[TimelineMark]] = {}
    for one, at in zip(entries, times, strict=True):
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


class UpdateReview(NamedTuple):
    """What a build would change; by default nothing, as no comparison was asked for.

    Attributes:
        wrong: Why it cannot be told; then nothing else is.
        apps: App -> changes in words.
        levels: App -> thing, level before, level after; empty for what is new or gone.
        falls: What must be accepted by name before a build writes anything.
        shown: The falls as a form gives them back.
    """

    wrong: str = ""
    apps: Mapping[str, Sequence[str]] = {}
    levels: Mapping[str, Sequence[tuple[str, str, str]]] = {}
    falls: Sequence[Mapping[str, str]] = ()
    shown: str = ""
    compared: bool = False


def updates_view(gate: Gate, app: str) -> View:
    """Return what is known without a comparison: apps that are newer than their tools."""
    assert gate.catalogue is not None
    known = sorted(gate.catalogue.apps.values(), key=lambda one: one.name.casefold())
    return {"stale": check_freshness(gate.catalogue.tool_folders).stale, "app": app, "known": known}


def review_build(app: str) -> UpdateReview:
    """Return what a build of an app would change, of all apps without one."""
    difference, wrong = _generator_json("diff", app)
    if difference is None:
        return UpdateReview(wrong)
    apps: dict[str, list[str]] = {}
    for line in difference["changes"]:
        key, _, says = line.partition(": ")
        apps.setdefault(key, []).append(says)
    falls = difference["falls"]
    return UpdateReview("", apps, difference["levels"], falls, json.dumps(falls), compared=True)


def build_accepted(
    gate: Gate, app: str, shown: str, accepted: Sequence[str]
) -> tuple[UpdateReview, str]:
    """Build, with the levels accepted that were shown; return what is left, and what was done.

    What a person accepted is what was on the page: where the dictionary has changed since, the new
    review is shown instead.
    """
    before = review_build(app)
    if before.wrong or before.shown != shown:
        return before, "" if before.wrong else "moved"
    if {one["name"] for one in before.falls} - {*accepted}:
        return before, "stopped"
    built, wrong = _generator_json("build", app, *(f"--accept-levels={name}" for name in accepted))
    if built is None:
        return UpdateReview(wrong), ""
    if built["falls"]:
        return before, "stopped"
    gate.replace_tools(Catalogue(tool_folders()))
    return UpdateReview(), "built"


def _generator_json(command: str, app: str, *options: str) -> tuple[Any, str]:
    """Return what the generator printed as JSON, else None and why."""
    folder = str(data_folder() / "tools")
    names = ("--", app) if app else ()
    text, wrong = _generator_output(command, "--json", "--output", folder, *options, *names)
    try:
        return json.loads(text), ""
    except ValueError:
        return None, wrong


def explain_levels(app: str, name: str) -> tuple[list[str], str]:
    """Return the evidence of the levels of a tool or a class, else why there is none."""
    text, wrong = _generator_output("show", "--why", app, name)
    return text.splitlines(), "" if text else wrong


def _generator_output(*arguments: str) -> tuple[str, str]:
    """Return what the generator printed, and the last line of what it said was wrong."""
    done = run_generator(*arguments)
    if done is None:
        return "", f"The program iac-gen is not installed: {pip_install('gen')}"
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return done.stdout.decode(), lines[-1] if lines else "The build ended without a result."


DAYS: Final = 30
MOST: Final = 400
"""Calls of the last days that rules are tried on, the newest."""


class RuleRow(NamedTuple):
    """A rule: what it does, in words, where it stands, how many calls it fits."""

    kind: str
    says: str
    where: str
    calls: int


class RuleDraft(NamedTuple):
    """A rule that is not in the file yet, and the calls that it would have decided."""

    wrong: str
    calls: Sequence[AuditEntry] = ()


def list_rules(state: Path, gate: Gate) -> list[RuleRow]:
    """Return the rules of the user's file with how many calls of the last days each fits."""
    policy = load_policy()
    counted: dict[str, int] = {}
    for entry in recent_calls(state):
        for source in _matching_rules(gate, policy, entry):
            counted[source] = counted.get(source, 0) + 1
    rows = [
        ("level", f"{describe_rule(one.match)} is {one.level}", one.match) for one in policy.rules
    ]
    for kind, matches in (
        ("deny", policy.all_denials),
        ("ask", policy.ask),
        ("allow", policy.allow),
    ):
        rows += [(kind, describe_rule(one), one) for one in matches]
    folder = f"{policy_path().parent}/"
    return [
        RuleRow(kind, says, one.source.removeprefix(folder), counted.get(one.source, 0))
        for kind, says, one in rows
    ]


def recent_calls(state: Path) -> list[AuditEntry]:
    """Return the newest calls of the last days, the newest first."""
    since = (datetime.now(UTC) - timedelta(days=DAYS)).isoformat(timespec="seconds")
    try:
        return find_calls(state, AuditQuery(since=since), MOST)[::-1]
    except SetupError:
        return []


def try_rule(state: Path, gate: Gate, text: str) -> RuleDraft:
    """Return which calls of the last days a rule more would have decided, or what is wrong."""
    try:
        before, after = _parse_policies(text)
    except SetupError as error:
        return RuleDraft(str(error))
    known = {one.source for one in _all_matches(before)}
    fits = [
        entry
        for entry in recent_calls(state)
        if any(source not in known for source in _matching_rules(gate, after, entry))
    ]
    return RuleDraft("", fits)


def save_rule(text: str) -> Path:
    """Add a rule to the user's file, which is replaced only if it is right. Raises SetupError."""
    path = policy_path()
    _parse_policies(text)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = read_file_content(path)
    # The file may be a link into a folder of settings, and stays one.
    put(file, _append_rule(file, text).encode())
    return path


def rule_from_call(entry: AuditEntry) -> str:
    """Return a rule that denies a call like this one, to begin with."""
    app = f'app = "{entry.app}"\n' if entry.app and '"' not in entry.app else ""
    return f'[[deny]]\ntool = "{entry.tool}"\n{app}why = "…"\n'


def _parse_policies(text: str) -> tuple[Policy, Policy]:
    file = read_file_content(policy_path())
    before = _read_policy_text(file)
    return parse_policy(before, "policy.toml"), parse_policy(
        _append_rule(file, text), "policy.toml"
    )


def _append_rule(file: FileContent, text: str) -> str:
    before = _read_policy_text(file)
    return f"{before.rstrip()}\n\n{text.strip()}\n" if before.strip() else f"{text.strip()}\n"


def _read_policy_text(file: FileContent) -> str:
    try:
        return (file.content or b"").decode()
    except UnicodeDecodeError:
        raise SetupError(f"{file.path} is not UTF-8. Save it as UTF-8.") from None


def _all_matches(policy: Policy) -> Iterator[Any]:
    yield from (one.match for one in policy.rules)
    yield from (*policy.all_denials, *policy.ask, *policy.allow)


def _matching_rules(gate: Gate, policy: Policy, entry: AuditEntry) -> Iterator[str]:
    """Yield where the rules stand that fit a call, as far as its record tells."""
    # Planning a call of another tool may look at the screen.
    known = gate.catalogue.tools if gate.catalogue else {}
    if not isinstance(entry.arguments, Mapping) or entry.tool not in known:
        return
    try:
        plan = gate.plan_call(Call(_performed_tool(gate, entry.tool), entry.arguments))
        facts = replace(plan.facts, tool=entry.tool)
        asker = Requester(entry.client, policy.approvers)
        facts, decision = gate.judge_plan(replace(plan, facts=facts), asker)
    except (ToolError, SetupError):
        return
    for _kind, match, fails in explain_rules(facts, policy, decision.level):
        if not fails:
            yield match.source


def _performed_tool(gate: Gate, tool: str) -> str:
    """Return the tool whose arguments are in the record of a call: of a recipe the one behind it.

    Raises ToolError.
    """
    assert gate.catalogue is not None
    operation, row = gate.catalogue.load_operation(tool), gate.catalogue.find_row(tool)
    if not operation.spec.bind:
        return tool
    function = function_behind(operation)
    rows = gate.catalogue.tools.values()
    return next((one.name for one in rows if (one.app, one.function) == (row.app, function)), tool)
