"""What each script tool does; its row in `tools` leads here.

Arguments fit the tool's schema when they come here. A tool that only looks something up is a `Work`
under `looks_up`; one that reaches apps plans its call itself.
"""

import contextlib
import logging
import shutil
from collections.abc import Sequence
from typing import Any, Final

from iac_applescript import dictionary
from iac_applescript.analysis.analyser import (
    SYSTEM_EVENTS,
    Analysis,
    Language,
    Reach,
    reach_of,
    scanned,
    with_starts,
)
from iac_applescript.analysis.findings import merged
from iac_applescript.analysis.words import LETS, RUNS
from iac_applescript.answers import (
    KNOWN,
    LEARNED,
    REASONS,
    Result,
    ScriptError,
    analysis,
    explained,
    kept_script,
    line,
    pattern,
    suggest,
    where,
    worst_lines,
)
from iac_applescript.library import own_scripts
from iac_applescript.library_search import find_scripts
from iac_applescript.patterns import RunOutcome
from iac_applescript.running import compile_script, error_of, run_script
from iac_applescript.skills import skill_of, skills
from iac_applescript.slots import numbered
from iac_applescript.sources import Chosen, chosen
from iac_applescript.store import PatternStore, learning_is_off
from iac_applescript.system_state import PARTS, read_state
from iac_applescript.tools import TOOLS
from iac_applescript.toolset import Arguments, ScriptToolset, looks_up, open_toolset
from iac_base.errors import SetupError, ToolError, quoted
from iac_base.logs import LOGGER
from iac_runtime.execution.process import Runner
from iac_runtime.gate.plans import Call, Plan, ToolContext
from iac_runtime.policy.dataflow import texts_in
from iac_runtime.policy.effects import OWN, Effect, Raised, Verb
from iac_runtime.policy.escalation import from_results
from iac_runtime.tool import LEVELS, highest
from iac_runtime.tools.shape import Tool

DEFAULT_TIMEOUT: Final = 30.0


@looks_up
def discover(toolset: ScriptToolset, _given: Arguments, _run: Runner) -> Result:
    catalogue = toolset.catalogue
    levels = dict.fromkeys(LEVELS, 0)
    for tool in catalogue.tools.values():
        levels[tool.level] += 1
    return {
        "apps": [
            {
                "app": key,
                "name": app.name,
                "bundle_id": app.id,
                "tools": sum(row.app.key == key for row in catalogue.tools.values()),
            }
            for key, app in sorted(catalogue.apps.items())
        ],
        "tools_by_level": levels,
        "skills": sorted(skills(toolset.skill_folder)),
        "patterns": toolset.store.stats().patterns,
        "script_tools": [tool.name for tool in TOOLS],
        "next": "Call get_smart_suggestion with what you want to do; prefer tools to scripts.",
    }


@looks_up
def suggest_ways(toolset: ScriptToolset, given: Arguments, _run: Runner) -> Result:
    intent, app = given["intent"], given.get("app", "")
    hits = toolset.find(intent, app=app or None, limit=5) if toolset.find else ()
    patterns = []
    with contextlib.suppress(SetupError):
        patterns = toolset.store.find(intent, app=toolset.bundle_of(app), limit=3)
    kept = find_scripts(intent, _name_of(toolset, given), 2)
    guides = skills(toolset.skill_folder)
    scripts = [(row, kept_script(row, toolset.analyser)["level"]) for row in kept]
    found = suggest(intent, app, hits, patterns, guides, given.get("limit", 5), scripts)
    if found:
        return {"suggestions": [row.data() for row in found]}
    note = "No tool or pattern does this. get_app_dictionary shows what an app can do."
    return {"suggestions": [], "note": note}


@looks_up
def list_apps(toolset: ScriptToolset, given: Arguments, _run: Runner) -> Result:
    wanted = given.get("filter", "").casefold()
    rows: dict[str, Result] = {
        app.id.casefold(): {"name": app.name, "bundle_id": app.id, "tools": True}
        for app in toolset.catalogue.apps.values()
        if app.kind == "application"
    }
    bundles = dictionary.scriptable()
    running = dictionary.running_bundles() if bundles else set()
    for bundle in bundles:
        row = rows.setdefault(
            bundle.id.casefold(), {"name": bundle.name, "bundle_id": bundle.id, "tools": False}
        )
        row["path"] = str(bundle.path)
        row["running"] = str(bundle.path) in running
    found = [
        row
        for row in sorted(rows.values(), key=lambda row: row["name"].casefold())
        if wanted in row["name"].casefold() or wanted in row["bundle_id"].casefold()
    ]
    return {"apps": found[:200], "count": len(found)}


@looks_up
def show_dictionary(toolset: ScriptToolset, given: Arguments, _run: Runner) -> Result:
    tables = toolset.tables_of(given["app"])
    page = int(given.get("page", 1))
    found = dictionary.view(tables, given.get("term", ""), given.get("search", ""), page)
    return {"app": tables.app.name, "bundle_id": tables.app.id, **found.data()}


@looks_up
def show_skill(toolset: ScriptToolset, given: Arguments, _run: Runner) -> Result:
    app = given["app"]
    found = skill_of(app, toolset.skill_folder)
    if found is None:
        known = ", ".join(sorted(skills(toolset.skill_folder)))
        message = f"There is no guide for {quoted(app)}."
        hint = f"Guides exist for: {known}. For any app, call get_app_dictionary."
        raise ToolError("NOT_FOUND", message, hint)
    return {
        "app": found.app,
        "name": found.name,
        "title": found.title,
        "text": found.text,
        "source": "the user's own" if found.own else "shipped with IAC",
    }


@looks_up
def validate(toolset: ScriptToolset, given: Arguments, run: Runner) -> Result:
    script, language = given["script"], _language(given)
    found = with_starts(toolset.analyser.analyse(script, language), toolset.runs)
    checks = ["structure", "terms of the apps whose dictionary is known"]
    faults = [fault.says for fault in scanned(script, language).faults]
    faults += [
        f"{where(reason)}: {reason.text!r} {reason.says}"
        for reason in found.reasons
        if reason.rule in ("unknown", "shape", "target")
    ]
    # The compiler may start an app to learn its words, and a check starts none.
    compiles = toolset.real and shutil.which("osacompile") is not None
    if compiles and all(map(toolset.runs, found.targets)):
        checks.append("osacompile")
        complaint = compile_script(run, script, language)
        # What macOS says of its own language stands above our reading of it.
        faults = [complaint] if complaint else []
    return {
        "valid": not faults,
        "problems": faults[:REASONS],
        "checks": checks,
        **analysis(found),
    }


def execute(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Plan the run of a script: its level is what its analysis says."""
    toolset = context.kept(open_toolset)
    given = chosen(call.arguments, context.home, again=bool(call.token))
    script, language = given.script, given.language
    found = with_starts(toolset.analyser.analyse(script, language), toolset.runs)
    found = toolset.held(found)
    confined = toolset.confines(found)
    told = (*found.targets, *found.unknown)
    raised = (
        Raised("script", f"{reason.says} ({reason.text})", "SAFE")
        for reason in found.reasons[:5]
        if found.level != "SAFE"
    )
    tokens = scanned(script, language).tokens if found.level != "SAFE" else ()
    literals = [token.text for token in tokens if token.kind in ("string", "template")]
    literals += texts_in(given.arguments)
    return toolset.plan(
        tool,
        call,
        lambda toolset, asked, run: _run(toolset, asked, given, run, found, confined=confined),
        _effects(toolset, found, reach_of(script, language, found)),
        line=line(given, found, confined=confined),
        raised=(*raised, *from_results(literals, context.permissions.taint)),
        turns=[app for app, _ in map(toolset.app, told) if app],
        lines=tuple(worst_lines(script, found)),
        pin=given.digest,
        secrets=found.secrets,
    )


def _effects(toolset: ScriptToolset, found: Analysis, reach: Reach) -> tuple[Effect, ...]:
    """Return what a script does: each statement, and what is not known of the others.

    What it needs as a whole, its effects need: the highest level of theirs is that of the script.
    """
    level, noted = found.level, list(found.effects)
    verb: Verb = "read" if level == "SAFE" else "unknown"
    for app, name in map(toolset.app, reach.processes):
        doubt = "" if app else f"IAC does not know {name}"
        worked = (row for row in found.effects if row.app == SYSTEM_EVENTS)
        noted += (row._replace(app=app, name=name, flow=(), doubt=doubt) for row in worked)
    for app, name in map(toolset.app, (*found.targets, *found.unknown)):
        done = [row for row in noted if app and row.app == app]
        # What was not understood may be done to an app that is told.
        if not done or (reach.unsure and level == "DANGEROUS" and all(row.looks for row in done)):
            doubt = "" if app else f"IAC does not know {name}"
            noted.append(Effect(verb, app, name, level=level, doubt=doubt))
    runs = any(reason.says in RUNS and reason.rule != "text" for reason in found.reasons)
    if runs and all(row.verb != "run" for row in noted):
        noted.append(Effect("run", OWN, "osascript", level="DANGEROUS"))
    if reach.unsure:
        noted.append(Effect(verb, level=level, doubt=reach.unsure))
    elif not noted:
        noted.append(Effect(verb, OWN, "osascript", level=level))
    if highest(row.level for row in noted) != level:
        # A reason that is no statement's raises what changes something; else what may.
        if all(row.looks for row in noted):
            noted += [row._replace(verb="unknown") for row in noted]
        noted = [row if row.looks else row._replace(level=level) for row in noted]
    return merged(noted)


def _run(
    toolset: ScriptToolset,
    asked: Arguments,
    given: Chosen,
    run: Runner,
    found: Analysis,
    *,
    confined: bool,
) -> Result:
    script, language = given.script, given.language
    timeout = float(asked.get("timeout", DEFAULT_TIMEOUT))
    readable = asked.get("output") == "text"
    known = [target for target in (*found.targets, *found.unknown) if "." in target]

    def confine(argv: Sequence[str]) -> Sequence[str]:
        held = toolset.confinement if confined else None
        lets = [LETS[row.says] for row in found.reasons if row.says in LETS]
        return argv if held is None else held.argv(argv, known, dict.fromkeys(lets))

    limits = (timeout, confine, found.asked, given.arguments)
    ran = run_script(run, script, language, *limits, readable=readable)
    failure, answer = ran.failure, ran.answer
    if failure is not None:
        outcome = RunOutcome(False, failure.cause, ran.original, failure.number, ran.milliseconds)
    else:
        assert answer is not None
        outcome = RunOutcome(True, answer.kind, "", None, ran.milliseconds)
    app, intent = known[0] if known else "", asked.get("intent", "")
    _learn(toolset.store, intent, app, given, outcome, found.level, found.effects)
    if failure is not None:
        if failure.cause != "timeout":
            # The time limit is ours: its words say nothing, its number all.
            failure = toolset.explain(ran.original, failure.number, script, language)
        raise ScriptError(error_of(failure, ran.original), failure)
    assert answer is not None
    return {
        "result": answer.value,
        "kind": answer.kind,
        "milliseconds": ran.milliseconds,
        "level": found.level,
        "tools_that_do_this": list(found.tools[:5]),
    }


def _learn(store: PatternStore, intent: str, app: str, given: Chosen, *came: Any) -> None:
    try:
        if intent:
            store.remember(intent, app, given.language, given.script, *came)
    except Exception:
        # What was done stays done, though it could not be written down.
        log = logging.getLogger(f"{LOGGER}.state")
        log.warning("the run of a script could not be stored as a pattern", exc_info=True)


def _language(given: Arguments) -> Language:
    found: Language = given.get("language", "applescript")
    return found


@looks_up
def analyse_failure(toolset: ScriptToolset, given: Arguments, _run: Runner) -> Result:
    script, language = given.get("script", ""), _language(given)
    found = toolset.explain(given.get("error", ""), given.get("number"), script, language)
    similar = []
    if script:
        targets = toolset.analyser.analyse(script, language).targets
        similar = toolset.store.successes_like(script, targets[0] if targets else "")
    return {
        **explained(found),
        "message": found.says,
        "similar": [
            {
                "intent": row.intent,
                "script": numbered(row.script)[0],
                "successes": row.successes,
                "level": row.level,
            }
            for row in similar
        ],
    }


@looks_up
def find_patterns(toolset: ScriptToolset, given: Arguments, _run: Runner) -> Result:
    app = toolset.bundle_of(given.get("app", ""))
    limit = given.get("limit", 3)
    found = toolset.store.find(given["intent"], app=app, limit=10)
    # What never worked here is no advice; an import is, and says that it was not tried.
    rows = [
        (row.score + LEARNED, pattern(row))
        for row in found
        if row.score >= KNOWN and (row.pattern.trusted or row.pattern.provenance == "import")
    ]
    kept = find_scripts(given["intent"], _name_of(toolset, given), limit)
    rows += [(row.score, kept_script(row, toolset.analyser)) for row in kept]
    rows.sort(key=lambda row: -row[0])
    notes = ["This is only advice. Replace each ‹…› with a value; otherwise the script cannot run."]
    notes += own_scripts()[1]
    return {"patterns": [row for _, row in rows[:limit]], "note": " ".join(notes)}


def _name_of(toolset: ScriptToolset, given: Arguments) -> str:
    return toolset.app(given["app"])[1] if given.get("app") else ""


@looks_up
def show_stats(toolset: ScriptToolset, _given: Arguments, _run: Runner) -> Result:
    stats = toolset.store.stats()
    return {
        "patterns": stats.patterns,
        "successes": stats.successes,
        "failures": stats.failures,
        "learning": not learning_is_off(),
        "apps": [{"app": app, "successes": good, "failures": bad} for app, good, bad in stats.apps],
        "fails_most": [
            {"intent": row.intent, "failures": row.failures, "error": row.error}
            for row in stats.failing
        ],
    }


def show_state(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Plan a look at the Mac; windows are asked of System Events."""
    parts = call.arguments.get("parts") or PARTS
    effects = [Effect("read", OWN, "this Mac", "state")]
    if "windows" in parts:
        doubt = "reads the windows of the app in front, whichever it is"
        effects += [Effect("read", SYSTEM_EVENTS, "System Events"), Effect("read", doubt=doubt)]
    return context.kept(open_toolset).plan(
        tool,
        call,
        lambda _toolset, _given, run: dict(read_state(run, parts)),
        tuple(effects),
    )
