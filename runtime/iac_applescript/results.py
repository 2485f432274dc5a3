"""What the tools answer: plain values, a line for a question, and what to use for an intent."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from iac_applescript.analysis.analyser import ScriptAnalysis, ScriptAnalyzer
from iac_applescript.analysis.findings import LevelReason
from iac_applescript.dictionary import Skill
from iac_applescript.failures import ScriptFailure
from iac_applescript.library import FoundScript, saved_script_call
from iac_applescript.patterns import FoundPattern, number_placeholders
from iac_applescript.wishes import ToolHit
from iac_applescript.wrapping import ChosenScript
from iac_base.errors import ToolError, quote_text
from iac_base.text import clean_text, clean_value
from iac_base.words import fold_name, stem_words
from iac_runtime.toolkit import TargetDescription

REASONS: Final = 12
"""Reasons that are told at most."""

_SHOWN: Final = 200
"""Characters of a line that a person is shown."""

Result: TypeAlias = dict[str, Any]


GOOD_TOOL: Final = 0.75
"""From this score on a tool is thought to do what is wanted; 0.3 where an app is named. Measured:
of 60 wishes that nothing serves, 6 have a tool above it."""

_LEAST: Final = 0.55
"""Below this a tool is left out, whatever the search for tools says of it."""

_GENERAL: Final = 0.15
"""What an operation on any object loses: a tool for just this comes first."""

_SEARCH: Final = 0.1
"""What the score of the search for tools counts, beside how a tool serves the wish."""


SAME: Final = 0.9
"""From this score on a pattern was stored for what is asked now."""

_IN_APP: Final = 0.3

KNOWN: Final = 0.48
"""Below this score a pattern is for something else. Measured: of 60 wishes that nothing serves,
none is above it among 200 patterns, one among 100,000."""

_RISK: Final = 0.05
"""What a script loses that is DANGEROUS: one that does the same with less comes first."""

_PROVEN: Final = 4

LEARNED: Final = 0.3
"""What it adds that a script worked here, against one of the library."""


class ScriptError(Exception):
    """A script failed: the error, and why."""

    def __init__(self, error: ToolError, failure: ScriptFailure) -> None:
        super().__init__(error.message)
        self.error = error
        self.failure = failure


def success_result(data: Result) -> Result:
    return {"success": True, "data": data, "error": {}}


def failure_result(error: ToolError, failure: ScriptFailure | None = None) -> Result:
    told = error.facts()
    named = ("type", "message", "suggestion", "number", "original")
    facts = {key: value for key, value in told.items() if key in named}
    if failure is not None:
        facts |= explanation_fields(failure)
    then = {"next": told["next"]} if "next" in told else {}
    return {"success": False, "data": {}, "error": clean_value(facts), **then}


def explanation_fields(failure: ScriptFailure) -> Result:
    fields: Result = {"cause": failure.cause, "fixes": list(failure.fixes)}
    if failure.number is not None:
        fields["number"] = failure.number
    if failure.corrected is not None:
        fields |= {"corrected": failure.corrected, "change": failure.change}
    return fields


def analysis_fields(analysis: ScriptAnalysis) -> Result:
    return {
        "level": analysis.level,
        "targets": list(analysis.targets),
        "unknown_apps": list(analysis.unknown),
        "tools_that_do_this": list(analysis.tools[:5]),
        "reasons": [
            {
                "level": reason.level,
                "says": reason.message,
                "text": reason.text,
                "line": reason.place.line,
                "column": reason.place.column,
            }
            for reason in analysis.reasons[:REASONS]
        ],
    }


def pattern_fields(match: FoundPattern) -> Result:
    row = match.pattern
    script, parameters = number_placeholders(row.script)
    told = "id intent app language level provenance successes failures last".split()
    return {
        **{name: getattr(row, name) for name in told},
        "effects": row.effects.splitlines(),
        "script": script,
        "parameters": list(parameters),
        "why": match.why if row.successes + row.failures else "imported, not run here yet",
    }


def saved_script_fields(match: FoundScript, analyser: ScriptAnalyzer) -> Result:
    """Return a kept script beside patterns: what it needs and does, and the call that runs it."""
    row, told = match.script, saved_script_call(match, analyser)
    did = analyser.analyze_script(row.script, row.language).effects
    effects = dict.fromkeys(" ".join(filter(None, effect.audit_row()[:2])) for effect in did)
    return {
        **told,
        "language": row.language,
        "provenance": "library" if row.source == "library" else row.source,
        "effects": list(effects),
        "script": row.script,
        "parameters": [
            f"{name}, {one.format_description()}" for name, one in row.parameters.items()
        ],
        "why": match.why,
    }


def format_place(reason: LevelReason) -> str:
    return f"line {reason.place.line}, column {reason.place.column}"


def summarize_script(given: ChosenScript, analysis: ScriptAnalysis, *, confined: bool) -> str:
    """Return a script as one line for a question: what, to whom, the worst of it, the text."""
    script = given.script
    names = {"applescript": "AppleScript", "javascript": "JavaScript"}
    whom = ", ".join((*analysis.targets, *(f"{name} (not known)" for name in analysis.unknown)))
    count = len(script.splitlines()) or 1
    head = f"{names[given.language]}, {count} {'line' if count == 1 else 'lines'}"
    if given.source:
        head = f"{clean_text(given.source, 200)} (SHA-256 {given.digest}), {head}"
    head += f", to {whom}" if whom else ", to no app"
    why = "; ".join(dict.fromkeys(f"{r.text} {r.message}".strip() for r in analysis.reasons[:3]))
    confinement = f"{'' if confined else 'not '}limited to these apps by macOS"
    shown = " ".join(script.split())
    if len(shown) > 200:
        worst = (f"{row.reference}: {row.description}" for row in worst_lines(script, analysis))
        shown = "; ".join(worst) or shown
    shown = clean_text(shown, 200)
    return clean_text(f"{head} ({confinement}){': ' + why if why else ''} | {shown}", 700)


def worst_lines(script: str, analysis: ScriptAnalysis) -> Iterator[TargetDescription]:
    """Yield the lines of a script that give it its level, by their numbers."""
    rows = re.split(r"\r\n?|\n", script)
    worst: dict[int, list[LevelReason]] = {}
    for row in analysis.reasons:
        if row.level == analysis.level:
            worst.setdefault(row.place.line, []).append(row)
    for number, reasons in sorted(worst.items()):
        # Of a line that is longer than is shown, the part that does it.
        at = max(reasons[0].place.column - 40, 0)
        text = rows[number - 1]
        text = text if len(text) <= _SHOWN else f"{'…' * bool(at)}{text[at : at + _SHOWN]}"
        yield TargetDescription(f"line {number}", clean_text(text.strip(), _SHOWN))


class Suggestion(NamedTuple):
    """One way to do it: `kind` is tool, pattern, script or skill."""

    kind: str
    use: str
    why: str
    score: float
    script: str = ""
    level: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; what is empty is left out."""
        return {name: value for name, value in self._asdict().items() if value != ""}


def rank_suggestions(
    intent: str,
    app: str,
    hits: Sequence[tuple[ToolHit, float]],
    patterns: Sequence[FoundPattern],
    skills: Mapping[str, Skill],
    limit: int = 5,
    scripts: Sequence[tuple[FoundScript, str]] = (),
) -> list[Suggestion]:
    """Return the ways to do something, best first: a tool before a script that does the same."""
    floor = _IN_APP if app else GOOD_TOOL
    told = [
        (
            hit,
            round(
                score + _SEARCH * hit.score - (_GENERAL if hit.tool.endswith(f"_{hit.op}") else 0),
                3,
            ),
        )
        for hit, score in hits
        if score + 2 * _SEARCH * hit.score >= floor
    ]
    suggestions = [
        Suggestion("tool", hit.tool, f"a tool does this: {hit.why}", score)
        for hit, score in sorted(told, key=lambda row: -row[1])[:3]
        if app or score >= _LEAST
    ]
    suggestions += [
        Suggestion(
            "pattern",
            f"pattern {row.pattern.id}: {row.pattern.intent}",
            f"{row.why}; {row.pattern.level}",
            # What worked here for just this comes before a tool that might do it.
            round(row.score + (_PROVEN if row.score >= SAME else 0), 3),
            number_placeholders(row.pattern.script)[0],
            row.pattern.level,
        )
        for row in patterns
        if row.pattern.is_trusted and row.score >= KNOWN
    ]
    suggestions += [
        Suggestion(
            "script",
            f"saved script {row.script.name}: {row.script.purpose}",
            f"execute_applescript runs it, get_workflow_pattern shows it; {level}; {row.why}",
            round(row.score - (_RISK if level == "DANGEROUS" else 0), 3),
            level=level,
        )
        for row, level in scripts
    ]
    suggestions += _guide_suggestions(intent, app, skills)
    # A pattern that is DANGEROUS comes last, however well it fits.
    suggestions.sort(
        key=lambda row: ((row.kind, row.level) == ("pattern", "DANGEROUS"), -row.score)
    )
    return suggestions[:limit]


def explain_nothing(app: str) -> str:
    """Return what to do where nothing does what is wanted, of the app that it names, if any."""
    told = f"There are no tools for {quote_text(app)} here. " if app else ""
    return told + (
        "No tool, script or guide does this, and none that is like it is meant. If an app of this"
        " Mac can do it, list_scriptable_apps names the app and get_app_dictionary shows how."
        " Otherwise tell the user that it cannot be done here."
    )


def _guide_suggestions(intent: str, app: str, skills: Mapping[str, Skill]) -> list[Suggestion]:
    words = set(stem_words(intent))
    wanted = fold_name(app)
    suggestions = []
    for skill in skills.values():
        if app:
            named = wanted in (fold_name(skill.name), fold_name(skill.app))
        else:
            named = not words.isdisjoint(stem_words(skill.title.partition(":")[0]))
        if not named:
            continue
        for line in skill.text.splitlines():
            shared = words & set(stem_words(line)) if line.startswith("- ") else set()
            if shared:
                score = round(0.2 + len(shared) / (len(words) + 2), 3)
                why = f"the guide of {skill.name} says so"
                suggestions.append(Suggestion("skill", line[2:], why, score))
    return sorted(suggestions, key=lambda row: -row.score)[:2]
