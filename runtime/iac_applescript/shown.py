"""The answers of the tools as plain values, and a script as one line for a question."""

from typing import Any, Final

from iac_applescript.analysis.analyser import Analysis
from iac_applescript.analysis.findings import Reason
from iac_applescript.failures.explain import Failure
from iac_applescript.learning.ranking import Found
from iac_base.errors import ToolError
from iac_base.text import clean, clean_text

__all__ = ["REASONS", "analysis", "done", "explained", "failed", "line", "pattern", "where"]

REASONS: Final = 12
"""Reasons that are told at most."""

Result = dict[str, Any]


def done(data: Result) -> Result:
    return {"success": True, "data": data, "error": {}}


def failed(error: ToolError, failure: Failure | None = None) -> Result:
    facts = {
        key: value
        for key, value in error.facts().items()
        if key in ("type", "message", "suggestion", "number", "original")
    }
    if failure is not None:
        facts |= explained(failure)
    return {"success": False, "data": {}, "error": clean(facts)}


def explained(failure: Failure) -> Result:
    found: Result = {"cause": failure.cause, "fixes": list(failure.fixes)}
    if failure.number is not None:
        found["number"] = failure.number
    if failure.corrected is not None:
        found |= {"corrected": failure.corrected, "change": failure.change}
    return found


def analysis(found: Analysis) -> Result:
    return {
        "level": found.level,
        "targets": list(found.targets),
        "unknown_apps": list(found.unknown),
        "tools_that_do_this": list(found.tools[:5]),
        "reasons": [
            {
                "level": reason.level,
                "says": reason.says,
                "text": reason.text,
                "line": reason.place.line,
                "column": reason.place.column,
            }
            for reason in found.reasons[:REASONS]
        ],
    }


def pattern(found: Found) -> Result:
    row = found.pattern
    return {
        "id": row.id,
        "intent": row.intent,
        "app": row.app,
        "language": row.language,
        "script": row.script,
        "successes": row.successes,
        "failures": row.failures,
        "last": row.last,
        "why": found.why,
    }


def where(reason: Reason) -> str:
    return f"line {reason.place.line}, column {reason.place.column}"


def line(script: str, language: str, found: Analysis, *, confined: bool) -> str:
    """Return a script as one line for a question: what, to whom, the worst of it, the text."""
    names = {"applescript": "AppleScript", "javascript": "JavaScript"}
    whom = ", ".join((*found.targets, *(f"{name} (not known)" for name in found.unknown)))
    count = len(script.splitlines()) or 1
    said = f"{names[language]}, {count} {'line' if count == 1 else 'lines'}"
    said += f", to {whom}" if whom else ", to no app"
    why = "; ".join(dict.fromkeys(f"{r.text} {r.says}".strip() for r in found.reasons[:3]))
    held = "held to these apps by macOS" if confined else "not held to these apps by macOS"
    shown = clean_text(" ".join(script.split()), 200)
    return clean_text(f"{said} ({held}){': ' + why if why else ''} | {shown}", 700)
