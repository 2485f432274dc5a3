"""The script tools: what a client is told of each, and what it does.

Arguments fit the tool's schema when they come here. A tool that only looks something up is a `Work`
under `lookup_tool`; one that reaches apps plans its call itself.
"""

import contextlib
import logging
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from iac_applescript import dictionary
from iac_applescript.analysis.analyser import (
    SYSTEM_EVENTS,
    ProcessReach,
    ScriptAnalysis,
    include_app_starts,
    scan_script,
    script_reach,
)
from iac_applescript.analysis.constructs import find_known_traps
from iac_applescript.analysis.findings import Language, merge_effects
from iac_applescript.analysis.vocabulary import LETS, RUNS
from iac_applescript.dictionary import field_skill, find_skill, load_skills
from iac_applescript.library import find_scripts, own_scripts, read_shelf_wish
from iac_applescript.patterns import FoundPattern, RunOutcome, number_placeholders
from iac_applescript.recording import (
    BridgeLog,
    Recording,
    explain_commit,
    join_rows,
    judge_changes,
    record_run,
)
from iac_applescript.results import (
    KNOWN,
    LEARNED,
    REASONS,
    Result,
    ScriptError,
    analysis_fields,
    explain_nothing,
    explanation_fields,
    format_place,
    pattern_fields,
    rank_suggestions,
    saved_script_fields,
    summarize_script,
    worst_lines,
)
from iac_applescript.running import (
    PARTS,
    StatePart,
    compile_script,
    failure_to_error,
    read_state,
    run_script,
)
from iac_applescript.store import PatternStore, is_learning_off
from iac_applescript.toolset import (
    DEFAULT_TIMEOUT,
    Arguments,
    ScriptToolset,
    lookup_tool,
    open_toolset,
)
from iac_applescript.wishes import find_absent_app, index_tool
from iac_applescript.wrapping import ChosenScript, choose_script
from iac_base.errors import NextCall, SetupError, ToolError, quote_text
from iac_base.logs import LOGGER
from iac_runtime.policy.facts import OWN_APP
from iac_runtime.policy.taint import iterate_texts
from iac_runtime.tool import LEVELS, Toolset, highest, limits, tool
from iac_runtime.toolkit import (
    Call,
    CallFacts,
    Effect,
    Plan,
    RaisedLevel,
    Runner,
    TargetDescription,
    Tool,
    ToolContext,
    Verb,
    find_tainted_texts,
    toolset_tools,
)


@lookup_tool
def list_capabilities(toolset: ScriptToolset, _given: Arguments, _run: Runner) -> Result:
    catalogue = toolset.catalogue
    levels = dict.fromkeys(LEVELS, 0)
    for row in catalogue.tools.values():
        levels[row.level] += 1
    patterns = 0
    with contextlib.suppress(SetupError):
        patterns = toolset.store.read_stats().patterns
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
        "skills": sorted(load_skills(toolset.skill_folder)),
        "patterns": patterns,
        "script_tools": [tool.name for tool in toolset_tools(("applescript",))],
        "next": "Call get_smart_suggestion with what you want to do; prefer tools to scripts.",
    }


@lookup_tool
def suggest_ways(toolset: ScriptToolset, given: Arguments, _run: Runner) -> Result:
    intent, app = given["intent"], given.get("app", "")
    wish = read_shelf_wish(intent)
    absent, named = ("", "") if app else find_absent_app(wish.request, toolset.catalogue)
    kept = find_scripts(intent, absent or _app_name(toolset, given), 2)
    if absent and not (kept or named):
        absent, kept = "", find_scripts(intent, "", 2)
    # What another app does is no answer for one that has no tools.
    found = toolset.find(intent, app=app or None, limit=5) if toolset.find and not absent else ()
    hits = [(hit, wish.score_offer(index_tool(hit, toolset.catalogue))[0]) for hit in found]
    patterns = []
    with contextlib.suppress(SetupError):
        patterns = toolset.store.find_patterns(intent, app=toolset.app_bundle_id(app), limit=3)
    guides = load_skills(toolset.skill_folder) if wish.share == 1 or app else {}
    analyze = toolset.analyser.analyze_script
    scripts = [(row, analyze(row.script.script, row.script.language).level) for row in kept]
    limit = given.get("limit", 5)
    ways = rank_suggestions(intent, app or named, hits, patterns, guides, limit, scripts)
    note = {} if ways else {"note": explain_nothing(named)}
    return {"suggestions": [row.to_dict() for row in ways], **note}


@lookup_tool
def list_apps(toolset: ScriptToolset, given: Arguments, _run: Runner) -> Result:
    wanted = given.get("filter", "").casefold()
    rows: dict[str, Result] = {
        app.id.casefold(): {"name": app.name, "bundle_id": app.id, "tools": True}
        for app in toolset.catalogue.apps.values()
        if app.kind == "application"
    }
    bundles = dictionary.find_scriptable_apps()
    running = dictionary.running_bundles() if bundles else set()
    for bundle in bundles:
        row = rows.setdefault(
            bundle.id.casefold(), {"name": bundle.name, "bundle_id": bundle.id, "tools": False}
        )
        row["path"] = str(bundle.path)
        row["running"] = str(bundle.path) in running
    listed = [
        row
        for row in sorted(rows.values(), key=lambda row: row["name"].casefold())
        if wanted in row["name"].casefold() or wanted in row["bundle_id"].casefold()
    ]
    return {"apps": listed[:200], "count": len(listed)}


@lookup_tool
def show_dictionary(toolset: ScriptToolset, given: Arguments, _run: Runner) -> Result:
    tables = toolset.app_tables(given["app"])
    page = int(given.get("page", 1))
    part = dictionary.dictionary_page(tables, given.get("term", ""), given.get("search", ""), page)
    return {"app": tables.app.name, "bundle_id": tables.app.id, **part.to_dict()}


@lookup_tool
def show_skill(toolset: ScriptToolset, given: Arguments, _run: Runner) -> Result:
    app = given["app"]
    guide = find_skill(app, toolset.skill_folder) or field_skill(app, toolset.app_bundle_id(app))
    if guide is None:
        known = ", ".join(sorted(load_skills(toolset.skill_folder)))
        message = f"There is no guide for {quote_text(app)}."
        hint = f"Guides exist for: {known}. For any app, call get_app_dictionary."
        error = ToolError("NOT_FOUND", message, hint)
        error.next = NextCall("list_scriptable_apps")
        if (row := toolset.catalogue.named_app(app)) is not None:
            error.next = NextCall("get_app_dictionary", {"app": row.name})
        raise error
    return {
        "app": guide.app,
        "name": guide.name,
        "title": guide.title,
        "text": guide.whole_text,
        "source": "the user's own" if guide.own else "shipped with IAC",
    }


@lookup_tool
def validate_script(toolset: ScriptToolset, given: Arguments, run: Runner) -> Result:
    script, language = given["script"], _script_language(given)
    analysis = include_app_starts(toolset.analyser.analyze_script(script, language), toolset.runs)
    checks = ["structure", "terms of the apps whose dictionary is known"]
    faults = [fault.message for fault in scan_script(script, language).faults]
    faults += [
        f"{format_place(reason)}: {reason.text!r} {reason.message}"
        for reason in analysis.reasons
        if reason.rule in ("unknown", "shape", "target")
    ]
    # The compiler may start an app to learn its words, and a check starts none.
    compiles = toolset.real and shutil.which("osacompile") is not None
    if compiles and all(map(toolset.runs, analysis.targets)):
        checks.append("osacompile")
        complaint = compile_script(run, script, language)
        # What macOS says of its own language stands above our reading of it.
        faults = [complaint] if complaint else []
    return {
        "valid": not faults,
        "problems": faults[:REASONS],
        "checks": checks,
        "known_traps": [
            f"{row['act']}: {row['happens']} {row.get('safe', '')}".strip()
            for row in find_known_traps(script, language, analysis.targets)
        ],
        **analysis_fields(analysis),
    }


def execute_script(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Plan the run of a script: its level is what its analysis says."""
    toolset = context.get_or_create(open_toolset)
    given = choose_script(call.arguments, context.home, again=bool(call.token))
    script, language = given.script, given.language
    analysis = include_app_starts(toolset.analyser.analyze_script(script, language), toolset.runs)
    analysis = toolset.add_confinement_reason(analysis)
    return _plan_run(tool, call, toolset, given, analysis, context)


def _plan_run(
    tool: Tool,
    call: Call,
    toolset: ScriptToolset,
    given: ChosenScript,
    analysis: ScriptAnalysis,
    context: ToolContext,
    recording: Recording | None = None,
) -> Plan:
    """Return the plan of a run; one of a JavaScript is recorded before a person is asked."""
    script, language = given.script, given.language
    reach = script_reach(script, language, analysis)
    table: tuple[TargetDescription, ...] = ()
    unseen = analysis
    if recording is not None:
        analysis, table = judge_changes(analysis, recording, toolset.analyser)
        reach = ProcessReach(reach.processes, "")
    confined = toolset.is_confined(analysis)
    told = (*analysis.targets, *analysis.unknown)
    raised = (
        RaisedLevel("script", f"Line {reason.place.line} {reason.message}.", "SAFE")
        for reason in analysis.reasons[:5]
        if analysis.level != "SAFE"
    )
    sent = "\n".join(change.line for change in recording.changes) if recording else script
    tokens = scan_script(sent, language).tokens if analysis.level != "SAFE" else ()
    literals = [token.text for token in tokens if token.kind in ("string", "template")]
    literals += iterate_texts(given.arguments)

    def look(facts: CallFacts) -> Plan:
        """Return the plan of what the script would change; as it was where that is not known."""
        found = record_run(toolset, call, given, context, facts)
        if not found.why:
            return _plan_run(tool, call, toolset, given, unseen, context, found)
        why = TargetDescription("What it changes", f"not known before it runs: {found.why}")
        first = _plan_run(tool, call, toolset, given, unseen, context)
        return replace(first, facts=replace(facts, shown=join_rows((why, *facts.shown))))

    plan = toolset.plan_call(
        tool,
        call,
        lambda toolset, asked, run: _run_planned(
            toolset, asked, given, run, analysis, recording, confined=confined
        ),
        _script_effects(toolset, analysis, reach),
        line=summarize_script(given, analysis, confined=confined),
        deed=f"run {_LANGUAGES[language]} that can {{deeds}}",
        raised=(
            *raised,
            *find_tainted_texts(literals, context.permissions.taint, call.caller.token_client),
        ),
        turns=[app for app, _ in map(toolset.resolve_app, told) if app],
        lines=table or tuple(worst_lines(script, analysis)),
        pin=given.digest + recording.digest if recording else given.digest,
        secrets=analysis.secrets,
    )
    return replace(plan, look=look, seen_first=True) if language == "javascript" else plan


_LANGUAGES: Final = {"applescript": "an AppleScript", "javascript": "a script in JavaScript"}


def _script_effects(
    toolset: ScriptToolset, analysis: ScriptAnalysis, reach: ProcessReach
) -> tuple[Effect, ...]:
    """Return what a script does: each statement, and what is not known of the others.

    What it needs as a whole, its effects need: the highest level of theirs is that of the script.
    """
    level, noted = analysis.level, list(analysis.effects)
    verb: Verb = "read" if level == "SAFE" else "unknown"
    for app, name in map(toolset.resolve_app, reach.processes):
        doubt = "" if app else f"IAC does not know {name}"
        worked = (row for row in analysis.effects if row.app == SYSTEM_EVENTS)
        noted += (row._replace(app=app, name=name, flow=(), doubt=doubt) for row in worked)
    for app, name in map(toolset.resolve_app, (*analysis.targets, *analysis.unknown)):
        done = [row for row in noted if app and row.app == app]
        # What was not understood may be done to an app that is told.
        if not done or (
            reach.unsure and level == "DANGEROUS" and all(row.is_read_only for row in done)
        ):
            doubt = "" if app else f"IAC does not know {name}"
            noted.append(Effect(verb, app, name, level=level, doubt=doubt))
    runs = any(reason.message in RUNS and reason.rule != "text" for reason in analysis.reasons)
    if runs and all(row.verb != "run" for row in noted):
        noted.append(Effect("run", OWN_APP, "osascript", level="DANGEROUS"))
    if reach.unsure:
        noted.append(Effect(verb, level=level, doubt=reach.unsure))
    elif not noted:
        noted.append(Effect(verb, OWN_APP, "osascript", level=level))
    if highest(row.level for row in noted) != level:
        # A reason that is no statement's raises what changes something; else what may.
        if all(row.is_read_only for row in noted):
            noted += [row._replace(verb="unknown") for row in noted]
        noted = [row if row.is_read_only else row._replace(level=level) for row in noted]
    return merge_effects(noted)


def _run_planned(
    toolset: ScriptToolset,
    asked: Arguments,
    given: ChosenScript,
    run: Runner,
    analysis: ScriptAnalysis,
    recording: Recording | None = None,
    *,
    confined: bool,
) -> Result:
    script, language = given.script, given.language
    timeout = float(asked.get("timeout", DEFAULT_TIMEOUT))
    readable = asked.get("output") == "text"
    known = [target for target in (*analysis.targets, *analysis.unknown) if "." in target]

    def confine_command(argv: Sequence[str]) -> Sequence[str]:
        confiner = toolset.confinement if confined else None
        lets = [LETS[row.message] for row in analysis.reasons if row.message in LETS]
        if confiner is None:
            return argv
        return confiner.confined_command(argv, known, dict.fromkeys(lets))

    bounds, log = analysis.bounds, None
    if recording is not None and recording.changes and bounds is not None:
        lines = tuple(row[:2] for row in recording.changes)
        run = log = BridgeLog(run, bounds._replace(lines=lines), "commit")
        bounds = log.bounds
    if recording is not None and recording.ran and not (recording.changes or readable):
        # All that it does is done: it reads.
        ran = recording.ran
    else:
        limits = (timeout, confine_command, bounds, given.arguments)
        ran = run_script(run, script, language, *limits, readable=readable)
    failure, answer = ran.failure, ran.answer
    if failure is not None:
        outcome = RunOutcome(False, failure.cause, ran.original, failure.number, ran.milliseconds)
    else:
        assert answer is not None
        outcome = RunOutcome(True, answer.kind, "", None, ran.milliseconds)
    app, intent = known[0] if known else "", asked.get("intent", "")
    _remember_run(toolset.store, intent, app, given, outcome, analysis)
    if failure is not None:
        if failure.cause != "timeout":
            # The time limit is ours: its words say nothing, its number all.
            failure = toolset.explain_failure(ran.original, failure.number, script, language)
        error = failure_to_error(failure, ran.original)
        raise ScriptError(explain_commit(log.told, error) if log else error, failure)
    assert answer is not None
    return {
        "result": answer.value,
        "kind": answer.kind,
        "milliseconds": ran.milliseconds,
        "level": analysis.level,
        "tools_that_do_this": list(analysis.tools[:5]),
    }


def _remember_run(
    store: PatternStore,
    intent: str,
    app: str,
    given: ChosenScript,
    outcome: RunOutcome,
    analysis: ScriptAnalysis,
) -> None:
    run = (intent, app, given.language, given.script, outcome, analysis.level, analysis.effects)
    try:
        if intent:
            store.remember_run(*run, given.arguments)
    except Exception:
        # What was done stays done, though it could not be written down.
        text = "the run of a script could not be stored as a pattern"
        logging.getLogger(f"{LOGGER}.state").warning(text, exc_info=True)


def _script_language(given: Arguments) -> Language:
    language: Language = given.get("language", "applescript")
    return language


@lookup_tool
def explain_error(toolset: ScriptToolset, given: Arguments, _run: Runner) -> Result:
    script, language = given.get("script", ""), _script_language(given)
    failure = toolset.explain_failure(given.get("error", ""), given.get("number"), script, language)
    similar = []
    if script:
        targets = toolset.analyser.analyze_script(script, language).targets
        with contextlib.suppress(SetupError):
            similar = toolset.store.successes_like(script, targets[0] if targets else "")
    return {
        **explanation_fields(failure),
        "message": failure.message,
        "similar": [
            {
                "intent": row.intent,
                "script": number_placeholders(row.script)[0],
                "successes": row.successes,
                "level": row.level,
            }
            for row in similar
        ],
    }


@lookup_tool
def find_patterns(toolset: ScriptToolset, given: Arguments, _run: Runner) -> Result:
    app = toolset.app_bundle_id(given.get("app", ""))
    limit = given.get("limit", 3)
    matches: list[FoundPattern] = []
    notes = ["This is only advice. Replace each ‹…› with a value; otherwise the script cannot run."]
    try:
        matches = toolset.store.find_patterns(given["intent"], app=app, limit=10)
    except SetupError as error:
        notes.append(f"What was learned is left out. {error}")
    # What never worked here is no advice; an import is, and says that it was not tried.
    rows = [
        (row.score + LEARNED, pattern_fields(row))
        for row in matches
        if row.score >= KNOWN and (row.pattern.is_trusted or row.pattern.provenance == "import")
    ]
    kept = find_scripts(given["intent"], _app_name(toolset, given), limit)
    rows += [(row.score, saved_script_fields(row, toolset.analyser)) for row in kept]
    rows.sort(key=lambda row: -row[0])
    notes += own_scripts()[1]
    return {"patterns": [row for _, row in rows[:limit]], "note": " ".join(notes)}


def _app_name(toolset: ScriptToolset, given: Arguments) -> str:
    return toolset.resolve_app(given["app"])[1] if given.get("app") else ""


@lookup_tool
def show_stats(toolset: ScriptToolset, _given: Arguments, _run: Runner) -> Result:
    stats = toolset.store.read_stats()
    return {
        "patterns": stats.patterns,
        "successes": stats.successes,
        "failures": stats.failures,
        "learning": not is_learning_off(),
        "apps": [{"app": app, "successes": good, "failures": bad} for app, good, bad in stats.apps],
        "fails_most": [
            {"intent": row.intent, "failures": row.failures, "error": row.error}
            for row in stats.failing
        ],
    }


def show_state(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Plan a look at the Mac; windows are asked of System Events."""
    parts = call.arguments.get("parts") or PARTS
    effects = [Effect("read", OWN_APP, "this Mac", "state")]
    if "windows" in parts:
        doubt = "reads the windows of the app in front, whichever it is"
        effects += [Effect("read", SYSTEM_EVENTS, "System Events"), Effect("read", doubt=doubt)]
    return context.get_or_create(open_toolset).plan_call(
        tool, call, lambda _toolset, _given, run: dict(read_state(run, parts)), tuple(effects)
    )


SCRIPTS: Final = Toolset(
    (__name__,),
    offers="iac_applescript.library:offer_scripts",
    guides="iac_applescript.dictionary:load_skills",
)

AppName = Annotated[
    str,
    "The app's key, name or bundle id, as list_scriptable_apps shows them.",
    limits(maxLength=200),
]
Intent = Annotated[
    str,
    "What the user wants, in a few words, without names or private content.",
    limits(minLength=1, maxLength=400),
]
ScriptText = Annotated[str, "The script.", limits(minLength=1, maxLength=65536)]
ScriptLanguage = Annotated[
    Literal["applescript", "javascript"], "The script's language. Default: applescript."
]
ResultLimit = Annotated[int, limits(minimum=1, maximum=10), "The highest number of results."]
OpenObject = Annotated[dict[str, Any], limits(additionalProperties=True)]
JsonValue = Annotated[str, limits(maxLength=8000)] | float | bool | list[str] | OpenObject


class ScriptFault(TypedDict, total=False):
    """What went wrong, and what to do next."""

    type: str
    message: str
    suggestion: str
    number: int
    cause: str
    fixes: list[str]
    corrected: str
    change: str
    original: str


class ScriptToolAnswer(TypedDict):
    """What each script tool answers."""

    success: Annotated[bool, "Whether the call succeeded."]
    data: Annotated[dict[str, Any], "The answer. Empty after a failure."]
    error: Annotated[ScriptFault, "What went wrong, and what to do next. Empty after a success."]
    next: NotRequired[dict[str, Any]]


_script_tool = partial(tool, level="SAFE", answer=ScriptToolAnswer)


@_script_tool(plan=list_capabilities, words="capabilities overview scripts")
def discover_capabilities() -> None:
    """Say what is possible here: apps, tools by level, guides, and what was learned from
    earlier scripts. Call this first in a new conversation.
    """


@_script_tool(
    plan=suggest_ways,
    words="advise approach automate best recommend suggest way",
    example={"intent": "make a reminder from a mail", "app": "Mail"},
)
def get_smart_suggestion(
    intent: Intent, app: AppName | None = None, limit: ResultLimit | None = None
) -> None:
    """Say the best way to do something: a tool, a script that worked before, or advice from a
    guide. Call this before you write a script.
    """


@_script_tool(
    plan=list_apps,
    words="applescript apps automated programs scriptable scripted understand",
    example={"filter": "mail"},
)
def list_scriptable_apps(filter: Annotated[str, limits(maxLength=100)] | None = None) -> None:
    """List the apps that scripts can control: name, bundle id, path, whether the app is running,
    and whether it has tools.

    Args:
        filter: Only apps whose name or bundle id contains this.
    """


@_script_tool(
    plan=show_dictionary,
    words="classes commands dictionary properties scripting sdef terms understand",
    example={"app": "Notes", "term": "note"},
)
def get_app_dictionary(
    app: AppName,
    term: Annotated[str, limits(maxLength=100)] | None = None,
    search: Annotated[str, limits(maxLength=100)] | None = None,
    page: Annotated[int, limits(minimum=1, maximum=1000)] | None = None,
) -> None:
    """Show an app's dictionary: an overview, a group (own, standard or classes), or a term: a
    class, command, property or enumeration. Or search for words.

    Args:
        term: The name of a group, class, command, property or enumeration.
        search: Words to search the terms for.
        page: Which page.
    """


@_script_tool(
    plan=show_skill, words="app automate guide scripting tips traps tricks", example={"app": "Mail"}
)
def get_app_skill(app: AppName) -> None:
    """Get the guide for scripting an app: advice, common mistakes and tested examples."""


@_script_tool(
    plan=validate_script,
    words="check compile correct dangerous safe script syntax test valid validate",
    example={"script": 'tell application "Notes" to count notes'},
)
def validate_applescript(script: ScriptText, language: ScriptLanguage | None = None) -> None:
    """Check a script without running it: syntax, terms, effects, and the apps that it names.
    The answer says which checks were made.
    """


@_script_tool(
    ceiling="DANGEROUS",
    plan=execute_script,
    words="automate bit code evaluate execute javascript jxa osascript run script",
    example={"script": 'tell application "Notes" to count notes', "intent": "count the notes"},
    open_world=True,
)
def execute_applescript(
    script: ScriptText | None = None,
    script_path: Annotated[str, limits(minLength=1, maxLength=1000)] | None = None,
    saved: Annotated[str, limits(minLength=1, maxLength=200)] | None = None,
    language: ScriptLanguage | None = None,
    timeout: Annotated[float, limits(minimum=1, maximum=300)] | None = None,
    arguments: Annotated[list[JsonValue], limits(maxItems=20)] | OpenObject | None = None,
    output: Literal["json", "text"] | None = None,
    intent: Intent | None = None,
) -> None:
    """Run AppleScript or JavaScript for Automation, if no tool does the task. Give a text, a
    file or a saved script. IAC analyses it first. It requires approval, unless IAC can
    prove that it only reads. Call get_smart_suggestion first.

    Args:
        script_path: Without script: the path of the file to run, in a folder for scripts.
        saved: Without script: the name or library id of the saved script to run.
        timeout: The time limit in seconds. Default: 30.
        arguments: Values for the script's run handler: a list of JSON values. For a
            saved script, an object gives its parameters by name; otherwise it is one value.
        output: Return the result as a JSON value (the default) or as text.
    """


@_script_tool(
    plan=explain_error,
    words="applescript cause code debug error explain fail failed failing fix mean number"
    " osascript script why work wrong",
    example={"number": -1728, "script": 'tell application "Notes" to get note 99'},
)
def analyze_failure(
    error: Annotated[str, limits(maxLength=8000)] | None = None,
    number: int | None = None,
    script: ScriptText | None = None,
    language: ScriptLanguage | None = None,
) -> None:
    """Explain why a script failed: the cause, the fixes to try in order, and similar scripts
    that worked. If the fix is certain, you also get a corrected script.

    Args:
        error: The error text.
        number: The error number, if you know nothing else.
    """


@_script_tool(
    plan=find_patterns,
    words="again before done earlier last library pattern saved script time worked",
    example={"intent": "export the selected photos"},
)
def get_workflow_pattern(
    intent: Intent, app: AppName | None = None, limit: ResultLimit | None = None
) -> None:
    """Get scripts for a task: those that worked here, and those of the library, with the
    call that runs each. Runs none of them.
    """


@_script_tool(plan=show_stats, words="failed learned often scripts statistics succeeded")
def get_learning_stats() -> None:
    """Show what IAC learned from scripts: number of patterns, success by app, failures."""


@_script_tool(
    plan=show_state,
    words="app appearance apps battery displays front mac machine network once running state"
    " system volume wifi",
    example={"parts": ["front_app", "battery"]},
)
def get_system_state(parts: list[StatePart] | None = None) -> None:
    """Show the Mac's state: front app, running apps, windows, volume, battery, network,
    appearance, displays. If a part cannot be read, the answer says why.

    Args:
        parts: The parts to show. Default: all.
    """
