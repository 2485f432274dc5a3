"""Why a script failed, and what to do: from an error text or number and the script."""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from iac_applescript.failures.mending import Given, mended
from iac_applescript.failures.rows import CAUSES, SYMBOLS, Cause
from iac_runtime.apple_errors import APPLE_ERRORS
from iac_runtime.execution.answers import parse_error_line

__all__ = ["Failure", "explain", "number_in"]

_BRACKETED: Final = re.compile(
    r"[(（]\s*(?:error |fehler |erreur |os?status |エラー)?([-−–]?\d{1,6})[.\s]*[)）]", re.I
)
_SAID: Final = re.compile(
    r"(?:error(?: number| code)?|errornumber|errnum|number|status|code|fehler(?:nummer)?|erreur"
    r"|errore|erro|fout|エラー(?:番号)?|错误(?:码)?)\W{0,12}([-−–]\d{2,6}|1002\b)",
    re.I,
)
_NEGATIVE: Final = re.compile(r"(?<![\w.])[-−–](\d{2,6})(?![\w.])")
_DOMAIN: Final = re.compile(r"\((?:[A-Za-z]\w*\.)+\w+ error -?\d+")
"""An error that is numbered by the app itself: `(com.apple.Shortcuts error 1.)`."""

_GENERAL: Final = frozenset((-2700, 0, 1))
"""Numbers that say nothing: every exception of JavaScript has the first."""

_BY_NUMBER: Final = {number: cause for cause in reversed(CAUSES) for number in cause.numbers}
_SILENT: Final = next(cause for cause in CAUSES if cause.id == "silent")


class Failure(NamedTuple):
    """An explained failure.

    Attributes:
        cause: Its name for machines.
        number: The error number, if one was told.
        says: What happened, one line.
        fixes: What to do, the likeliest first.
        corrected: A script that is certainly better, or None.
        change: What was changed in it.
    """

    cause: str
    number: int | None
    says: str
    fixes: tuple[str, ...]
    corrected: str | None = None
    change: str = ""


def explain(
    error: str = "",
    number: int | None = None,
    script: str = "",
    language: str = "",
    nearest_app: Callable[[str], str] = lambda _name: "",
) -> Failure:
    """Return why a script failed; `nearest_app` gives the bundle id meant by an unknown name."""
    number = number_in(error) if number is None else number
    cause = _cause(error, number)
    if cause is None and not error.strip() and number is None:
        cause = _SILENT
    if cause is None:
        return _by_table(number, error)
    found = mended(cause.id, Given(script, language, nearest_app)) if script else None
    return Failure(
        cause.id,
        number,
        cause.says,
        cause.fixes,
        found.script if found else None,
        found.says if found else "",
    )


def number_in(error: str) -> int | None:
    """Return the error number in a text of any form and language, or None."""
    line = parse_error_line(error)
    if line is not None:
        return line.number
    brackets = _BRACKETED.findall(error)
    if brackets:
        return _int(brackets[-1])
    said = _SAID.findall(error)
    if said:
        return _int(said[-1])
    for word in re.findall(r"[A-Za-z]{6,}", error):
        if word.casefold() in SYMBOLS:
            return SYMBOLS[word.casefold()]
    for digits in _NEGATIVE.findall(error):
        if -int(digits) in _BY_NUMBER or -int(digits) in APPLE_ERRORS:
            return -int(digits)
    return None


def _int(text: str) -> int:
    return int(text.replace("−", "-").replace("–", "-"))


def _cause(error: str, number: int | None) -> Cause | None:
    for cause in CAUSES:
        if cause.first and cause.words and re.search(cause.words, error, re.I):
            return cause
    if number is not None and number not in _GENERAL and number in _BY_NUMBER:
        return _BY_NUMBER[number]
    for cause in CAUSES:
        if cause.words and re.search(cause.words, error, re.I):
            return cause
    return None


def _by_table(number: int | None, error: str) -> Failure:
    known = APPLE_ERRORS.get(number) if number is not None else None
    if known is not None and number not in _GENERAL:
        says = known.message.replace("{app}", "The app").replace("{reason}", "no reason is given")
        fix = known.suggestion.replace("{app}", "the app").replace("{process}", "this program")
        return Failure(known.type.casefold(), number, says, (fix,) if fix else ())
    if (number is not None and number > 0) or _DOMAIN.search(error):
        says = "The app reports an error of its own; its words say which."
        return Failure("app_error", number, says, ("Read the words of the error.",))
    if "Error:" in error or number == -2700:
        says = "The script threw an exception of its own."
        return Failure("script_exception", number, says, ("Read its words; mend the script.",))
    fixes = ("Check the script with validate_applescript.", "Run it in smaller steps.")
    return Failure("unknown", number, "The reason is not known.", fixes)
