"""What the script tools share: dictionaries, the store of what was learned, the way to osascript.

Planning a call starts nothing: it says what the call needs, so that a gate can judge it first.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from iac_applescript.analysis.analyser import ScriptAnalysis, ScriptAnalyzer
from iac_applescript.analysis.findings import LevelReason
from iac_applescript.analysis.vocabulary import BEYOND, LETS
from iac_applescript.failures import ScriptFailure, explain_failure
from iac_applescript.results import Result, ScriptError, failure_result, success_result
from iac_applescript.running import Confinement
from iac_applescript.store import PatternStore
from iac_applescript.wishes import ToolHit
from iac_base.errors import (
    Cancellation,
    NextCall,
    SetupError,
    ToolError,
    near_text,
    nearest_names,
    quote_text,
)
from iac_base.files import open_state
from iac_base.script_tokens import ScriptPlace
from iac_runtime.toolkit import (
    Call,
    CallFacts,
    Catalogue,
    Completed,
    Effect,
    Index,
    Perform,
    Plan,
    RaisedLevel,
    RunInTurns,
    Runner,
    Tables,
    Taint,
    TargetDescription,
    Tool,
    ToolContext,
    ToolResult,
    clean_result,
)

DEFAULT_TIMEOUT: Final = 30.0
"""Seconds of a script whose call names none."""

Arguments: TypeAlias = Mapping[str, Any]
Work: TypeAlias = "Callable[[ScriptToolset, Arguments, Runner], Result]"
"""Does what a call asks for; what osascript it needs, it runs by the runner. May raise ToolError,
ScriptError and SetupError: each is an answer too."""


class FindTools(Protocol):
    """The search for generated tools, as `iac_runtime.search.Index.find` is."""

    def __call__(
        self, query: str, *, app: str | None = None, limit: int = 5
    ) -> Sequence[ToolHit]: ...


class ScriptToolset:
    """What the tools look into and run by. Safe to share between threads.

    Args:
        catalogue: The dictionaries and generated tools.
        state: The folder of what is learned.
        run: Runs osascript.
        secrets: The policy's globs over properties that are never read.
        find: The search for generated tools.
        skill_folder: The user's own guides.
        runs: Says whether the app of a bundle id runs, without starting it.
        real: Whether scripts meet this machine's apps, not simulated ones.
        confinement: Holds scripts to their apps, where it works.
        taint: Remembers what was left out of the texts that a script read.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        state: Path,
        run: RunInTurns,
        *,
        secrets: Sequence[str] = (),
        find: FindTools | None = None,
        skill_folder: Path | None = None,
        runs: Callable[[str], bool] = lambda _app: False,
        real: bool = True,
        confinement: Confinement | None = None,
        taint: Taint | None = None,
    ) -> None:
        self.catalogue = catalogue
        self.analyser = ScriptAnalyzer(catalogue, tuple(secrets))
        self.store = PatternStore(state)
        self.run = run
        self.find = find
        self.skill_folder = skill_folder
        self.runs = runs
        self.real = real
        self.confinement = confinement
        self.taint = taint or Taint()

    def close(self) -> None:
        """Close what was learned."""
        self.store.close()

    def plan_call(
        self,
        tool: Tool,
        call: Call,
        work: Work,
        effects: tuple[Effect, ...] = (),
        *,
        line: str = "",
        deed: str = "",
        raised: tuple[RaisedLevel, ...] = (),
        turns: Collection[str] = (),
        lines: tuple[TargetDescription, ...] = (),
        pin: str = "",
        secrets: tuple[str, ...] = (),
    ) -> Plan:
        """Return the plan of a call that does `work`.

        Args:
            tool, call, work, effects: What is called, and what that does.
            line, deed, raised: As the facts have them; the line is the tool's name if left out.
            turns: Bundle ids of the apps that are told one thing at a time.
            lines: The lines of a script that a person should see.
            pin: The digest of a script that is not in the arguments.
            secrets: What a script reads that no setting allows to read.
        """

        def perform(cancel: Cancellation | None) -> ToolResult:
            def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
                return self.run(argv, stdin, timeout, apps=turns, cancel=cancel)

            result = ToolResult(self._run_work(work, call.arguments, run))
            return clean_result(result, call, self.taint, way="")

        says = line or tool.name
        told = (tool.name, effects, call.arguments)
        facts = CallFacts(
            *told, line=says, deed=deed, raised=raised, shown=lines, pin=pin, secrets=secrets
        )
        return Plan(tool, facts, perform)

    def _run_work(self, work: Work, given: Arguments, run: Runner) -> Result:
        """Return `{success, data, error}`; a failure is an answer too."""
        try:
            return success_result(work(self, given, run))
        except ScriptError as stopped:
            if stopped.error.type == "STALE":
                # Nothing was sent: what it does is looked at and asked about again.
                raise stopped.error from None
            return failure_result(stopped.error, stopped.failure)
        except ToolError as error:
            return failure_result(error)
        except SetupError as error:
            return failure_result(ToolError("UNAVAILABLE", str(error)))

    def resolve_app(self, name: str) -> tuple[str, str]:
        """Return bundle id and name of a target; the id is empty for an app that is not known."""
        row = self.catalogue.find_app(name)
        if row is not None:
            return row.id, row.name
        return name if "." in name else "", name

    def app_tables(self, app: str) -> Tables:
        """Return the dictionary of an app.

        Raises:
            ToolError: There is none; the nearest apps are named.
        """
        row = self.catalogue.named_app(app)
        if row is None and (found := self.analyser.find_vocabulary(app)):
            return found.tables
        if row is None:
            names = [known.name for known in self.catalogue.apps.values()]
            message = f"IAC knows no dictionary for {quote_text(app)}."
            error = ToolError("APP_NOT_FOUND", message, near_text(app, names))
            error.next = NextCall("list_scriptable_apps")
            raise error
        return self.catalogue.load_tables(row)

    def app_bundle_id(self, app: str) -> str:
        """Return the bundle id of an app; what was given where it is not known."""
        row = self.catalogue.find_app(app) if app else None
        return row.id if row else app

    def explain_failure(
        self, error: str, number: int | None, script: str, language: str
    ) -> ScriptFailure:
        """Return why a script failed; a misspelled app is looked for among those known."""
        names = {app.name: app.id for app in self.catalogue.apps.values()}

        def nearest_app(name: str) -> str:
            return next((names[close] for close in nearest_names(name, names, 1)), "")

        return explain_failure(error, number, script, language, nearest_app)

    def is_confined(self, analysis: ScriptAnalysis) -> bool:
        """Say whether a run is held to its apps: not if it was asked to reach beyond events.

        One that names no app is held to none.
        """
        beyond = (row for row in analysis.reasons if row.message in BEYOND)
        if self.confinement is None or analysis.unknown:
            return False
        if any(row.level == "DANGEROUS" or row.message not in LETS for row in beyond):
            return False
        return self.confinement.is_working()

    def add_confinement_reason(self, analysis: ScriptAnalysis) -> ScriptAnalysis:
        """Return an analysis that counts it where nothing holds an AppleScript to its apps."""
        if analysis.bounds is not None or analysis.level != "MODIFY":
            return analysis
        if self.confinement is None or not self.confinement.is_broken():
            return analysis
        says = "is not limited to its apps, because macOS does not confine scripts on this machine"
        why = LevelReason("DANGEROUS", "held", says, "", ScriptPlace(1, 1, 0))
        return analysis._replace(level="DANGEROUS", reasons=(why, *analysis.reasons))


def lookup_tool(work: Work) -> Perform:
    """Return the `perform` of a tool that reaches no app: `work` does all of it."""

    @wraps(work)
    def perform(tool: Tool, call: Call, context: ToolContext) -> Plan:
        return context.get_or_create(open_toolset).plan_call(tool, call, work)

    return perform


def open_toolset(context: ToolContext) -> ScriptToolset:
    """Return the toolset over a gate's catalogue and this user's state.

    Raises:
        SetupError: The state folder is not safe.
    """
    catalogue, executor = context.catalogue, context.executor
    assert catalogue is not None
    return ScriptToolset(
        catalogue,
        open_state(),
        executor.run,
        secrets=context.permissions.policy.secrets,
        find=Index(catalogue).find,
        runs=lambda app: executor.test_app(app).running == "yes",
        real=executor.installed_versions().osascript is not None,
        confinement=Confinement(executor.run),
        taint=context.permissions.taint,
    )
