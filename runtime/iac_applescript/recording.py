"""Recording a JavaScript: it reads what it needs, and what it would change is kept.

The bridge runs the script. What it would send that changes something comes back as lines of
JavaScript, one a change, in order, with real values and with objects as they are named for good;
these lines are judged as a script is. A person is asked about them, and they are what an approval
commits: the script runs again, and sends all of it at its end, if it comes to the very same lines.
"""

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from iac_applescript.analysis.analyser import JavaScriptBounds, ScriptAnalysis, ScriptAnalyzer
from iac_applescript.analysis.findings import LevelReason, merge_effects
from iac_applescript.analysis.vocabulary import BEYOND, RUNS
from iac_applescript.running import ScriptRun, run_script
from iac_applescript.toolset import DEFAULT_TIMEOUT, ScriptToolset
from iac_applescript.wrapping import ChosenScript
from iac_base.errors import ToolError, quote_text
from iac_base.text import clean_text
from iac_runtime.policy.wording import plural_of
from iac_runtime.tool import highest
from iac_runtime.toolkit import (
    Call,
    CallFacts,
    Completed,
    Effect,
    Runner,
    TargetDescription,
    ToolContext,
)

_UNREAD: Final = frozenset(("fault", "nesting", "target", "unknown"))
"""Rules of reasons after which it is not known what a script asks of apps."""

_NAMED: Final = 5
"""Objects of a row that are named."""

_SHOWN: Final = 160
_VERBS: Final = {"create": "make", "unknown": "change", "view": "show"}


class RecordedChange(NamedTuple):
    """One change: a line of JavaScript, the name of its object, if any, and what it is given."""

    line: str
    name: str
    given: str = ""

    @property
    def shown(self) -> str:
        """The change as a person is shown it."""
        if not self.name:
            return clean_text(self.line, _SHOWN)
        given = f" ({clean_text(self.given, _SHOWN)})" if self.given else ""
        return f"{quote_text(self.name, 60)}{given}"


class Recording(NamedTuple):
    """What a script would change, in order; `why` says why it was not recorded.

    `ran` is the run: where nothing would be changed, it is all that the script does.
    """

    changes: tuple[RecordedChange, ...] = ()
    why: str = ""
    ran: ScriptRun | None = None

    @property
    def digest(self) -> str:
        """The SHA-256 (hex) of the changes."""
        return hashlib.sha256(json.dumps(self.changes).encode()).hexdigest()


def why_not_recorded(analysis: ScriptAnalysis, runs: Callable[[str], bool]) -> str:
    """Return why a script is asked about before it reads; empty where it can be recorded."""
    for reason in analysis.reasons:
        sent = reason.rule == "command" or (reason.rule == "member" and reason.message not in RUNS)
        if reason.rule in _UNREAD or (reason.message in BEYOND | RUNS and not sent):
            return f"it {reason.message}"
    stopped = next((app for app in analysis.targets if not runs(app)), "")
    return f"{stopped} is not running" if stopped else ""


class BridgeLog:
    """Runs osascript, and takes what the bridge tells off the log.

    Attributes:
        told: What it told last.
    """

    def __init__(self, run: Runner, bounds: JavaScriptBounds, mode: str = "record") -> None:
        self._run = run
        self._mark = secrets.token_hex(16)
        self.bounds = bounds._replace(mode=mode, mark=self._mark)
        self.told: Mapping[str, Any] = {}

    def __call__(self, argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        done = self._run(argv, stdin, timeout)
        kept = []
        for line in done.stderr.decode("utf-8", "replace").splitlines(keepends=True):
            before, mark, told = line.partition(self._mark)
            if mark and not before:
                self.told = json.loads(told)
            else:
                kept.append(line)
        return done._replace(stderr="".join(kept).encode())


def record_script(
    run: Runner, script: str, timeout: float, bounds: JavaScriptBounds, given: Sequence[Any]
) -> Recording:
    """Run a script that sends nothing which changes something, and return what it would change."""
    log = BridgeLog(run, bounds)
    try:
        ran = run_script(log, script, "javascript", timeout, asked=log.bounds, given=given)
    except ToolError as error:
        return Recording(why=error.message)
    if "lines" not in log.told:
        failed = ran.failure.message if ran.failure else "its end was not reached"
        why = log.told.get("why")
        return Recording(why=f"it needs {why} while it runs" if why else failed)
    return Recording(tuple(RecordedChange(*row) for row in log.told["lines"]), ran=ran)


def record_run(
    toolset: ScriptToolset, call: Call, given: ChosenScript, context: ToolContext, facts: CallFacts
) -> Recording:
    """Record a script that a call runs, where the apps that it reads may be read unasked."""
    analysis = toolset.analyser.analyze_script(given.script, given.language)
    apps = [toolset.resolve_app(app) for app in analysis.targets]
    reads = tuple(Effect("read", *app) for app in apps)
    asks = replace(facts, effects=reads, raised=(), shown=(), pin="", secrets=())
    why, bounds = why_not_recorded(analysis, toolset.runs), analysis.bounds
    if bounds is None or why:
        return Recording(why=why)
    if context.permissions.judge_call(asks).action != "allow":
        return Recording(why="reading its apps needs an approval of its own")

    def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        turns = [app for app, _ in apps]
        return toolset.run(argv, stdin, timeout, apps=turns, cancel=call.cancel)

    seconds = float(call.arguments.get("timeout", DEFAULT_TIMEOUT))
    return record_script(run, given.script, seconds, bounds, given.arguments)


def judge_changes(
    analysis: ScriptAnalysis, recording: Recording, analyser: ScriptAnalyzer
) -> tuple[ScriptAnalysis, tuple[TargetDescription, ...]]:
    """Return an analysis as the recorded changes have it, and the table of them for a person."""
    reasons: dict[tuple[str, str], LevelReason] = {}
    effects: list[Effect] = []
    hidden: dict[str, None] = {}
    table: dict[tuple[str, str, str], list[RecordedChange]] = {}
    for change in recording.changes:
        found = analyser.analyze_script(change.line, "javascript")
        for reason in found.reasons:
            if reason.rule != "language":
                reasons.setdefault((reason.rule, reason.message), reason)
        done = [row for row in found.effects if row.verb != "read"]
        effects += done or [row._replace(verb="unknown") for row in found.effects]
        hidden |= dict.fromkeys(found.secrets)
        main = (done or [*found.effects] or [Effect("unknown")])[0]
        table.setdefault((main.verb, main.name, main.kind), []).append(change)
    told = {row.app for row in effects}
    reads = (row for row in analysis.effects if row.app not in told)
    effects += (row._replace(verb="read", level="SAFE", flow=()) for row in reads)
    levels = [row.level for row in reasons.values()] + [row.level for row in effects]
    judged = analysis._replace(
        level=highest(levels),
        reasons=tuple(sorted(reasons.values(), key=lambda row: row.level)),
        effects=merge_effects(effects),
        secrets=(*analysis.secrets, *hidden),
    )
    return judged, join_rows(_table_rows(table))


def join_rows(rows: Iterable[TargetDescription]) -> tuple[TargetDescription, ...]:
    """Return all rows as one: a question has few lines, and each kind of change stands there."""
    every = tuple(rows)
    says = (f"{row.reference}: {row.description}" for row in every[1:])
    return tuple(row._replace(description="; ".join((row.description, *says))) for row in every[:1])


def _table_rows(
    table: Mapping[tuple[str, str, str], Sequence[RecordedChange]],
) -> Iterator[TargetDescription]:
    for (verb, app, kind), changes in table.items():
        thing = kind or "change"
        count = f"{len(changes)} {thing if len(changes) == 1 else plural_of(thing)}"
        named = [change.shown for change in changes[:_NAMED]]
        more = f" and {len(changes) - _NAMED} more" if len(changes) > _NAMED else ""
        does = _VERBS.get(verb, verb)
        yield TargetDescription(count, f"{does} in {app}: {', '.join(named)}{more}")


def explain_commit(told: Mapping[str, Any], error: ToolError) -> ToolError:
    """Return what came of a commit that failed: what was done, and what takes it back.

    Nothing was sent where the script came to other changes than were approved (`STALE`).
    """
    if "changed" in told or "why" in told:
        changed = quote_text(str(told.get("changed") or told["why"]), _SHOWN)
        message = f"What the script changes is not what was shown. Nothing was sent: {changed}."
        return ToolError("STALE", message, "Call again. It requires approval again.")
    if "done" not in told:
        return error
    back = [line for line in told["undo"] if line]
    lost = len(told["undo"]) - len(back)
    says = f"{told['done']} of {told['of']} changes were made; then this one failed:"
    message = f"{says} {clean_text(told['failed'], _SHOWN)}. {error.message}"
    undo = f"To take back what was done, run this JavaScript: {'; '.join(back)}" if back else ""
    beyond = f"{lost} of them cannot be taken back so." if lost else ""
    hint = " ".join(filter(None, (undo, beyond))) or error.suggestion
    return ToolError(error.type, message, hint, number=error.number, original=error.original)
