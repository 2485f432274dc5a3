"""The eleven tools in two steps, so that a gate can judge between them.

`prepare` checks nothing but the script's analysis and starts nothing: it says what a call needs.
`perform` carries a plan out. Arguments are valid by the tool's schema when they come here.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from iac_applescript import dictionary as installed
from iac_applescript.analysis.analyser import (
    SYSTEM_EVENTS,
    Analyser,
    Analysis,
    Language,
    reach_of,
    with_starts,
)
from iac_applescript.analysis.applescript_units import scan_applescript
from iac_applescript.analysis.findings import Reason
from iac_applescript.analysis.javascript_tokens import scan_javascript
from iac_applescript.analysis.words import BEYOND
from iac_applescript.answers import (
    REASONS,
    HitLike,
    analysis,
    done,
    explained,
    failed,
    line,
    pattern,
    suggest,
    where,
)
from iac_applescript.dictionary import view
from iac_applescript.failures import ScriptFailure, explain
from iac_applescript.patterns import RunOutcome
from iac_applescript.running import Confinement, compile_script, error_of, run_script
from iac_applescript.skills import skill_of, skills
from iac_applescript.store import PatternStore, learning_is_off
from iac_applescript.system_state import PARTS, read_state
from iac_applescript.tools import TOOLS
from iac_base.errors import SetupError, ToolError, near_text, nearest, quoted
from iac_base.text import clean
from iac_runtime.execution.process import Runner
from iac_runtime.tool import LEVELS, Level
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import Tables

__all__ = ["ROWS", "Find", "Plan", "Toolset"]

ROWS: Final = {tool.name: tool for tool in TOOLS}

DEFAULT_TIMEOUT: Final = 30.0

Result = dict[str, Any]


class Find(Protocol):
    """The search for generated tools, as `iac_runtime.search.Index.find` is."""

    def __call__(
        self, query: str, *, app: str | None = None, limit: int = 5
    ) -> Sequence[HitLike]: ...


@dataclass(frozen=True, slots=True)
class Plan:
    """A call that is ready to be judged.

    Attributes:
        tool: Its name.
        arguments: As given.
        level: What the call needs.
        targets: Bundle ids of the apps that it names, and names of those not known.
        line: The call as one readable line, for a question to a person and for the record.
        reasons: Why the level is what it is, the highest first.
        tools: Generated tools that do the same.
        confined: Whether the run is held to its targets by macOS.
        reached: Apps that it reaches beside those it tells, by bundle id or the name of a process.
        unsure: Why it cannot be told which apps it reaches; empty where it can.
    """

    tool: str
    arguments: Mapping[str, Any]
    level: Level
    line: str
    targets: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    tools: tuple[str, ...] = ()
    confined: bool = False
    reached: tuple[str, ...] = ()
    unsure: str = ""


class Toolset:
    """The tools over a catalogue and a store. Safe to share between threads."""

    def __init__(
        self,
        catalogue: Catalogue,
        state: Path,
        *,
        find: Find | None = None,
        skill_folder: Path | None = None,
        runs: Callable[[str], bool] = lambda _app: False,
        real: bool = True,
        confinement: Confinement | None = None,
    ) -> None:
        """Take what the tools look into.

        Args:
            catalogue: The dictionaries and generated tools.
            state: The folder of what is learned.
            find: The search for generated tools.
            skill_folder: The user's own guides.
            runs: Says whether the app of a bundle id runs, without starting it.
            real: Whether scripts meet this machine's apps, not simulated ones.
            confinement: Holds scripts to their apps, where it works.
        """
        self.catalogue = catalogue
        self.analyser = Analyser(catalogue)
        self.store = PatternStore(state)
        self._find = find
        self._skills = skill_folder
        self._runs = runs
        self._real = real
        self._confinement = confinement

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def prepare(self, tool: str, arguments: Mapping[str, Any]) -> Plan:
        """Return what a call needs; no app is started, and nothing of the script is run.

        Raises:
            KeyError: There is no such tool.
        """
        row = ROWS[tool]
        if tool == "get_system_state" and "windows" in (arguments.get("parts") or PARTS):
            unsure = "the windows are those of the app in front"
            return Plan(tool, arguments, row.level, tool, reached=(SYSTEM_EVENTS,), unsure=unsure)
        if tool != "execute_applescript":
            return Plan(tool, arguments, row.level, tool)
        language: Language = arguments.get("language", "applescript")
        found = with_starts(self.analyser.analyse(arguments["script"], language), self._runs)
        confined = self._confines(found)
        reach = reach_of(arguments["script"], language, found)
        return Plan(
            tool,
            arguments,
            found.level,
            line(arguments["script"], language, found, confined=confined),
            (*found.targets, *found.unknown),
            found.reasons,
            found.tools,
            confined,
            reach.processes,
            reach.unsure,
        )

    def _confines(self, found: Analysis) -> bool:
        """Say whether a run is held to its apps: not if it was asked to reach beyond events."""
        if self._confinement is None or found.unknown or not found.targets:
            return False
        if any(reason.says in BEYOND for reason in found.reasons):
            return False
        return self._confinement.works()

    def perform(self, plan: Plan, runner: Runner) -> Result:
        """Carry a plan out and return `{success, data, error}`; a failure is a result too."""
        try:
            return done(clean(_DO[plan.tool](self, plan, runner)))
        except _ScriptError as stopped:
            return failed(stopped.error, stopped.failure)
        except ToolError as error:
            return failed(error)
        except SetupError as error:
            return failed(ToolError("UNAVAILABLE", str(error)))

    def _tables(self, app: str) -> Tables:
        row = self.catalogue.find_app(app)
        if row is None:
            names = [known.name for known in self.catalogue.apps.values()]
            message = f"There is no dictionary of {quoted(app)} here."
            raise ToolError("APP_NOT_FOUND", message, near_text(app, names))
        return self.catalogue.tables(row)

    def _discover(self, _plan: Plan, _runner: Runner) -> Result:
        levels = dict.fromkeys(LEVELS, 0)
        for tool in self.catalogue.tools.values():
            levels[tool.level] += 1
        return {
            "apps": [
                {
                    "app": key,
                    "name": app.name,
                    "bundle_id": app.id,
                    "tools": sum(row.app.key == key for row in self.catalogue.tools.values()),
                }
                for key, app in sorted(self.catalogue.apps.items())
            ],
            "tools_by_level": levels,
            "skills": sorted(skills(self._skills)),
            "patterns": self.store.stats().patterns,
            "script_tools": list(ROWS),
            "next": "Ask get_smart_suggestion with what is wanted; tools come before scripts.",
        }

    def _suggest(self, plan: Plan, _runner: Runner) -> Result:
        intent, app = plan.arguments["intent"], plan.arguments.get("app", "")
        hits = self._find(intent, app=app or None, limit=5) if self._find else ()
        bundle = self._bundle(app)
        patterns = self.store.find(intent, app=bundle, limit=3)
        limit = plan.arguments.get("limit", 5)
        found = suggest(intent, app, hits, patterns, skills(self._skills), limit)
        return {"suggestions": [row.data() for row in found]}

    def _bundle(self, app: str) -> str:
        row = self.catalogue.find_app(app) if app else None
        return row.id if row else app

    def _list_apps(self, plan: Plan, _runner: Runner) -> Result:
        wanted = plan.arguments.get("filter", "").casefold()
        rows: dict[str, Result] = {
            app.id.casefold(): {"name": app.name, "bundle_id": app.id, "tools": True}
            for app in self.catalogue.apps.values()
            if app.kind == "application"
        }
        bundles = installed.scriptable()
        running = installed.running_bundles() if bundles else set()
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

    def _dictionary(self, plan: Plan, _runner: Runner) -> Result:
        given = plan.arguments
        tables = self._tables(given["app"])
        found = view(
            tables, given.get("term", ""), given.get("search", ""), int(given.get("page", 1))
        )
        return {"app": tables.app.name, "bundle_id": tables.app.id, **found.data()}

    def _skill(self, plan: Plan, _runner: Runner) -> Result:
        app = plan.arguments["app"]
        found = skill_of(app, self._skills)
        if found is None:
            known = ", ".join(sorted(skills(self._skills)))
            message = f"There is no guide of {quoted(app)}."
            hint = f"There are: {known}. get_app_dictionary shows any app."
            raise ToolError("NOT_FOUND", message, hint)
        return {
            "app": found.app,
            "name": found.name,
            "title": found.title,
            "text": found.text,
            "source": "the user's own" if found.own else "shipped",
        }

    def _validate(self, plan: Plan, runner: Runner) -> Result:
        script = plan.arguments["script"]
        language: Language = plan.arguments.get("language", "applescript")
        scan = scan_applescript if language == "applescript" else scan_javascript
        found = with_starts(self.analyser.analyse(script, language), self._runs)
        checks = ["structure", "terms of the apps whose dictionary is known"]
        faults = [fault.says for fault in scan(script).faults]
        faults += [
            f"{where(reason)}: {reason.text!r} {reason.says}"
            for reason in found.reasons
            if reason.rule in ("unknown", "shape", "target")
        ]
        # The compiler may start an app to learn its words, and a check starts none.
        compiles = self._real and shutil.which("osacompile") is not None
        if compiles and all(map(self._runs, found.targets)):
            checks.append("osacompile")
            complaint = compile_script(runner, script, language)
            # What macOS says of its own language stands above our reading of it.
            faults = [complaint] if complaint else []
        return {
            "valid": not faults,
            "problems": faults[:REASONS],
            "checks": checks,
            **analysis(found),
        }

    def _execute(self, plan: Plan, runner: Runner) -> Result:
        given = plan.arguments
        script, language = given["script"], given.get("language", "applescript")
        timeout = float(given.get("timeout", DEFAULT_TIMEOUT))
        known = [target for target in plan.targets if "." in target]

        def confine(argv: Sequence[str]) -> Sequence[str]:
            held = self._confinement if plan.confined else None
            return argv if held is None else held.argv(argv, known)

        ran = run_script(runner, script, language, timeout, confine)
        app = known[0] if known else ""
        if ran.failure is not None:
            cause = ran.failure.cause
            outcome = RunOutcome(False, cause, ran.original, ran.failure.number, ran.milliseconds)
            self._learn(given, app, language, outcome)
            failure = self._explain(ran.original, ran.failure.number, script, language)
            # The time limit is ours: its words say nothing, its number all.
            failure = ran.failure if cause == "timeout" else failure
            raise _ScriptError(error_of(failure, ran.original), failure)
        assert ran.answer is not None
        self._learn(
            given, app, language, RunOutcome(True, ran.answer.kind, "", None, ran.milliseconds)
        )
        return {
            "result": ran.answer.value,
            "kind": ran.answer.kind,
            "milliseconds": ran.milliseconds,
            "level": plan.level,
            "tools_that_do_this": list(plan.tools[:5]),
        }

    def _learn(
        self, given: Mapping[str, Any], app: str, language: str, outcome: RunOutcome
    ) -> None:
        intent = given.get("intent", "")
        if intent:
            try:
                self.store.remember(intent, app, language, given["script"], outcome)
            except (SetupError, OSError):
                # What was done stays done, though it could not be written down.
                return

    def _explain(self, error: str, number: int | None, script: str, language: str) -> ScriptFailure:
        return explain(error, number, script, language, self._nearest_app)

    def _nearest_app(self, name: str) -> str:
        names = {app.name: app.id for app in self.catalogue.apps.values()}
        close = nearest(name, names, 1)
        return names[close[0]] if close else ""

    def _analyze(self, plan: Plan, _runner: Runner) -> Result:
        given = plan.arguments
        script = given.get("script", "")
        language: Language = given.get("language", "applescript")
        found = self._explain(given.get("error", ""), given.get("number"), script, language)
        targets = self.analyser.analyse(script, language).targets if script else ()
        similar = self.store.successes_like(script, targets[0] if targets else "") if script else []
        return {
            **explained(found),
            "message": found.says,
            "similar": [
                {"intent": row.intent, "script": row.script, "successes": row.successes}
                for row in similar
            ],
        }

    def _patterns(self, plan: Plan, _runner: Runner) -> Result:
        given = plan.arguments
        app = self._bundle(given.get("app", ""))
        found = self.store.find(given["intent"], app=app, limit=given.get("limit", 3))
        return {"patterns": [pattern(row) for row in found], "note": "Advice, nothing more."}

    def _stats(self, _plan: Plan, _runner: Runner) -> Result:
        stats = self.store.stats()
        return {
            "patterns": stats.patterns,
            "successes": stats.successes,
            "failures": stats.failures,
            "learning": not learning_is_off(),
            "apps": [
                {"app": app, "successes": good, "failures": bad} for app, good, bad in stats.apps
            ],
            "fails_most": [
                {"intent": row.intent, "failures": row.failures, "error": row.error}
                for row in stats.failing
            ],
        }

    def _state(self, plan: Plan, runner: Runner) -> Result:
        return dict(read_state(runner, plan.arguments.get("parts") or PARTS))


class _ScriptError(Exception):
    """A script failed; carries the error and its explanation."""

    def __init__(self, error: ToolError, failure: ScriptFailure) -> None:
        super().__init__(error.message)
        self.error = error
        self.failure = failure


_DO: Final[Mapping[str, Callable[[Toolset, Plan, Runner], Result]]] = {
    "discover_capabilities": Toolset._discover,
    "get_smart_suggestion": Toolset._suggest,
    "list_scriptable_apps": Toolset._list_apps,
    "get_app_dictionary": Toolset._dictionary,
    "get_app_skill": Toolset._skill,
    "validate_applescript": Toolset._validate,
    "execute_applescript": Toolset._execute,
    "analyze_failure": Toolset._analyze,
    "get_workflow_pattern": Toolset._patterns,
    "get_learning_stats": Toolset._stats,
    "get_system_state": Toolset._state,
}
