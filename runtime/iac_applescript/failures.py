"""Why a script failed, and what to do: from an error text or number and the script.

The causes are rows of failures.toml, read when something first fails.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from iac_runtime.apple_errors import APPLE_ERRORS
from iac_runtime.execution.answers import parse_error_line

_ROWS: Final = Path(__file__).with_name("failures.toml")

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

_LONGEST: Final = 4_000
"""Characters of a script that a trap is sought in, and ten times those of an error."""

_GENERAL: Final = frozenset((-2700, 0, 1))
"""Numbers that say nothing: every exception of JavaScript has the first."""

_ADDITIONS: Final = re.compile(
    r"\b(?:display(?:Dialog|Alert|Notification)|choose\w+|theClipboard|setTheClipboardTo|pathTo"
    r"|say|beep|getVolumeSettings|setVolume|currentDate|randomNumber|systemInfo)\b"
)
_CURRENT: Final = re.compile(r"(\w+)\s*=\s*Application\.currentApplication\(\)\s*;?")
_CURLY: Final = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})
_APP: Final = re.compile(r'\bapp (?=")')
_OPENED: Final = re.compile(
    r"(?mi)^\s*(?:(tell)\s+(?!.*\bto\s+\S)|(repeat)\b|(try)\s*$|(if)\b.*\bthen\s*$)"
)
_ENDED: Final = re.compile(r"(?mi)^\s*end(?:\s+(?:tell|repeat|try|if))?\s*$")
_NAMED: Final = re.compile(r"""(Application\(\s*|\b(?:application|app)\s+)(["'])([^"']+)\2""")


class FailureCause(NamedTuple):
    """One reason for a failure, as a row of failures.toml says it.

    Attributes:
        id: Its name for machines.
        message: What happened, one line.
        fixes: What to do, the likeliest first.
        words: A pattern over the error text; None for none.
        first: Whether the words decide before any number.
        numbered: Whether numbers of its own mean it too.
    """

    id: str
    message: str
    fixes: tuple[str, ...]
    words: re.Pattern[str] | None
    first: bool
    numbered: bool

    def matches_error(self, error: str) -> bool:
        """Say whether the words of an error mean this."""
        return self.words is not None and self.words.search(error) is not None


class FailureTrap(NamedTuple):
    """What error and script say together; `numbers` and `language` are empty where any fits.

    `always` is tried even where the error's words are sure; with `alone`, the fixes of the cause
    do not follow those of the trap.
    """

    id: str
    message: str
    fixes: tuple[str, ...]
    match: tuple[re.Pattern[str], ...]
    numbers: Sequence[int] = ()
    language: str = ""
    repairs: bool = True
    always: bool = False
    alone: bool = False


class FailureTable(NamedTuple):
    """All of them: in the order in which their words are tried, and by number; names of errors."""

    rows: tuple[FailureCause, ...]
    by_number: Mapping[int, FailureCause]
    numbers: Mapping[str, int]
    traps: tuple[FailureTrap, ...]


@lru_cache(maxsize=1)
def _load_causes() -> FailureTable:
    read = tomllib.loads(_ROWS.read_text(encoding="utf-8"))
    rows = []
    by_number: dict[int, FailureCause] = {}
    for row in read["cause"]:
        words = "|".join(row.get("words", ()))
        pattern = re.compile(words, re.IGNORECASE) if words else None
        first = row.get("first", False)
        known = (row["id"], row["says"], tuple(row["fixes"]), pattern, first)
        rows.append(FailureCause(*known, "numbers" in row))
        ranges = (range(low, high + 1) for low, high in row.get("ranges", ()))
        for numbers in (row.get("numbers", ()), *ranges):
            for number in numbers:
                by_number.setdefault(number, rows[-1])
    flags = re.IGNORECASE | re.MULTILINE | re.DOTALL
    traps = []
    for row in read["trap"]:
        match = tuple(re.compile(words, flags) for words in row.pop("match"))
        traps.append(
            FailureTrap(row.pop("id"), row.pop("says"), tuple(row.pop("fixes")), match, **row)
        )
    return FailureTable(tuple(rows), by_number, read["names"], tuple(traps))


class ScriptFailure(NamedTuple):
    """An explained failure.

    Attributes:
        cause: Its name for machines.
        number: The error number, if one was told.
        message: What happened, one line.
        fixes: What to do, the likeliest first.
        corrected: A script that is certainly better, or None.
        change: What was changed in it.
    """

    cause: str
    number: int | None
    message: str
    fixes: tuple[str, ...]
    corrected: str | None = None
    change: str = ""


def explain_failure(
    error: str = "",
    number: int | None = None,
    script: str = "",
    language: str = "",
    nearest_app: Callable[[str], str] = lambda _name: "",
) -> ScriptFailure:
    """Return why a script failed; `nearest_app` gives the bundle id meant by an unknown name."""
    number = find_error_number(error) if number is None else number
    cause = _find_cause(error, number)
    # Words that are sure need no look at the script.
    sure = cause is not None and cause.first and cause.numbered and cause.matches_error(error)
    trap = _find_trap(error, number, FailedScript(script, language, nearest_app), sure)
    if cause is None:
        if trap is not None:
            return ScriptFailure(trap.id, number, trap.message, trap.fixes)
        return _explain_by_number(number, error)
    repairs = script and (trap is None or trap.repairs)
    fix = suggest_fix(cause.id, FailedScript(script, language, nearest_app)) if repairs else None
    # The cause still tells which kind of error it is; why and what to do the trap knows better.
    says, fixes = cause.message, cause.fixes
    if trap is not None:
        says, fixes = trap.message, trap.fixes if trap.alone else (*trap.fixes, *cause.fixes[:2])
    change = (fix.script, fix.message) if fix else (None, "")
    return ScriptFailure(cause.id, number, says, fixes, *change)


def find_error_number(error: str) -> int | None:
    """Return the error number in a text of any form and language, or None."""
    line = parse_error_line(error)
    if line is not None:
        return line.number
    brackets = _BRACKETED.findall(error)
    if brackets:
        return _parse_number(brackets[-1])
    numbers = _SAID.findall(error)
    if numbers:
        return _parse_number(numbers[-1])
    causes = _load_causes()
    words = (word.casefold() for word in re.findall(r"[A-Za-z]{6,}", error))
    named = (causes.numbers[word] for word in words if word in causes.numbers)
    bare = (-int(digits) for digits in _NEGATIVE.findall(error))
    known = (number for number in bare if number in causes.by_number or number in APPLE_ERRORS)
    return next(chain(named, known), None)


def _parse_number(text: str) -> int:
    return int(text.replace("−", "-").replace("–", "-"))


def _find_cause(error: str, number: int | None) -> FailureCause | None:
    rows, by_number, *_ = _load_causes()
    if number is None and not error.strip():
        return next(row for row in rows if row.id == "silent")
    told = [row for row in rows if row.matches_error(error)]
    known = by_number.get(number) if number is not None and number not in _GENERAL else None
    return next((row for row in told if row.first), known or next(iter(told), None))


def _find_trap(
    error: str, number: int | None, given: "FailedScript", sure: bool
) -> FailureTrap | None:
    if not given.script:
        return None
    # Without blank lines and indents: a long run of them would make the patterns slow.
    lines = (line.strip() for line in given.script[:_LONGEST].splitlines())
    script = _APP.sub("application ", "\n".join(filter(None, lines)))
    text = f"{error[-_LONGEST // 10 :].strip()}\n---\n{script}"
    for trap in _load_causes().traps:
        if trap.numbers and number not in trap.numbers:
            continue
        if (trap.language and given.language != trap.language) or (sure and not trap.always):
            continue
        if any(words.search(text) for words in trap.match):
            return trap
    return None


def _explain_by_number(number: int | None, error: str) -> ScriptFailure:
    known = APPLE_ERRORS.get(number) if number is not None else None
    if known is not None and number not in _GENERAL:
        says = known.message.replace("{app}", "The app").replace("{reason}", "no reason is given")
        fix = known.suggestion.replace("{app}", "the app").replace("{process}", "this program")
        return ScriptFailure(known.type.casefold(), number, says, (fix,) if fix else ())
    if (number is not None and number > 0) or _DOMAIN.search(error):
        says = "The app reports an error of its own, described in the error text."
        return ScriptFailure("app_error", number, says, ("Read the error text.",))
    if "Error:" in error or number == -2700:
        says = "The script raised its own exception."
        fix = "Read the error text, then correct the script."
        return ScriptFailure("script_exception", number, says, (fix,))
    fixes = ("Check the script with validate_applescript.", "Run the script in smaller steps.")
    return ScriptFailure("unknown", number, "The cause is unknown.", fixes)


class FailedScript(NamedTuple):
    """What failed; `nearest_app` gives the bundle id that is meant by an unknown name."""

    script: str
    language: str
    nearest_app: Callable[[str], str]


class SuggestedFix(NamedTuple):
    """A better script, and what was changed, one line."""

    script: str
    message: str


def suggest_fix(cause: str, given: FailedScript) -> SuggestedFix | None:
    """Return the script with its one certain fault gone, or None where nothing is certain."""
    change = _CHANGES.get(cause)
    if change is None:
        return None
    fix = change(given)
    return fix if fix is not None and fix.script != given.script else None


def _fix_console_method(given: FailedScript) -> SuggestedFix:
    script = re.sub(r"\bconsole\.(?:error|warn|info|debug)\b", "console.log", given.script)
    return SuggestedFix(script, "uses console.log instead of a function that does not exist")


def _enable_additions(given: FailedScript) -> SuggestedFix | None:
    current = _CURRENT.search(given.script)
    enabled = "includeStandardAdditions" in given.script
    if enabled or not current or not _ADDITIONS.search(given.script):
        return _use_notes_bundle(given)
    line = f"{current.group().rstrip(';')};\n{current[1]}.includeStandardAdditions = true;"
    script = given.script[: current.start()] + line + given.script[current.end() :]
    return SuggestedFix(script, "switches Standard Additions on")


def _use_notes_bundle(given: FailedScript) -> SuggestedFix:
    """By its name JavaScript can bind the widget of Notes, which has no dictionary."""
    named = re.compile(r"""Application\(["']Notes["']\)""")
    script = named.sub('Application("com.apple.Notes")', given.script)
    return SuggestedFix(script, "names the app by its bundle id")


def _straighten_quotes(given: FailedScript) -> SuggestedFix | None:
    if not re.search("[“”„]", given.script) or '"' in given.script:
        return None
    return SuggestedFix(given.script.translate(_CURLY), "uses straight quotes")


def _add_missing_end(given: FailedScript) -> SuggestedFix | None:
    opened = [next(filter(None, m.groups())).lower() for m in _OPENED.finditer(given.script)]
    ended = len(_ENDED.findall(given.script))
    if len(opened) != ended + 1 or len(set(opened)) != 1:
        return None
    script = f"{given.script.rstrip()}\nend {opened[0]}"
    return SuggestedFix(script, f'adds the line "end {opened[0]}" at the end')


def _use_bundle_id(given: FailedScript) -> SuggestedFix | None:
    named = _NAMED.findall(given.script)
    if len({name for _, _, name in named}) != 1:
        return None
    name = named[0][2]
    bundle = given.nearest_app(name)
    if not bundle or bundle.casefold() == name.casefold():
        return None

    def bundle_reference(match: re.Match[str]) -> str:
        lead = match[1] if match[1].startswith("Application(") else f"{match[1].rstrip()} id "
        return f"{lead}{match[2]}{bundle}{match[2]}"

    script = _NAMED.sub(bundle_reference, given.script)
    return SuggestedFix(script, f"uses {bundle} instead of {name}")


def _extend_timeout(given: FailedScript) -> SuggestedFix | None:
    limited = re.search(r"(?im)with\s+timeout|^\s*on\s", given.script)
    if given.language != "applescript" or limited:
        return None
    script = f"with timeout of 300 seconds\n{given.script.strip()}\nend timeout"
    return SuggestedFix(script, "gives the app 300 seconds to answer")


_CHANGES: Final[dict[str, Callable[[FailedScript], SuggestedFix | None]]] = {
    "console_method": _fix_console_method,
    "dictionary_not_loaded": _enable_additions,
    "not_understood": _enable_additions,
    "applescript_syntax": _straighten_quotes,
    "expected_end": _add_missing_end,
    "app_not_found": _use_bundle_id,
    "timeout": _extend_timeout,
}
