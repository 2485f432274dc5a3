"""Patterns: scripts that were run for an intent, and what came of them; kept clean, and ranked.

In a kept script what is private, and what varied between successes, is a placeholder: `‹text›` or
`‹number›` instead of a literal. No reader of either language takes one, so such a script runs only
when somebody has put values in their places.
"""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from math import log
from typing import Any, Final, NamedTuple

from iac_applescript.analysis.analyser import scan_script
from iac_applescript.analysis.findings import Language, text_at
from iac_applescript.analysis.javascript_tree import node_spans
from iac_applescript.wishes import related_stems
from iac_base.script_tokens import Scan, ScriptToken
from iac_base.secrets import remove_spans, secret_spans
from iac_base.text import clean_text
from iac_base.words import split_words, stem_word
from iac_runtime.search.intent import RequestIntent, read_intent
from iac_runtime.search.lexicon import known_words, load_lexicon
from iac_runtime.search.query import read_request
from iac_runtime.tool import Level

_SLOT: Final = re.compile(r"‹(text|number)›")
_SLOTS: Final = re.compile(r"‹text›(?:[\s,+-]*‹text›)+")
_MARK: Final = re.compile(r'"‹(text|number)›"')
_LITERAL: Final = re.compile(
    r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?""", re.DOTALL
)
_PERSONAL: Final = (
    re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+"),
    re.compile(r"/Users/[^/\s\"':]+|(?<=:)Users:[^:\"]+"),
    re.compile(r"(?<![\w.])\+?\d[\d ()/-]{7,}\d(?![\w.])"),
)
"""Addresses, homes, telephone numbers."""

_LONG: Final = 80
_LONG_TEXT: Final = re.compile(rf'"(?:[^"\\]|\\.){{{_LONG + 1},}}"', re.DOTALL)
"""A text that is none of a name or a word, but what somebody wrote."""

_APP_NAMES: Final = frozenset(("application", "app", "framework"))
"""What stands before a text that says what is meant, not with what."""

_ON_SCREEN: Final = (*"button buttons item items menu menus process processes".split(),)
"""How a word ends before a text that everybody has on screen, if its words are the tools'."""

_QUOTES: Final = "\"'`/"
_WORD: Final = re.compile(r"[^\W_]+")
_QUOTED: Final = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“]*“|«[^»]*»|‘[^’]*’")
_UNREAD: Final = re.compile(r"[\"'`#\d]|--|/[/*]|\(\*")
"""What a script that cannot be read may hold a text, a number or a comment by."""


class RedactedScript(NamedTuple):
    """A script to keep, and what is the same of all that differ in their values alone.

    `script` is empty where what is private is not in literals: that is not kept. `values` are the
    words of the literals that may tell of somebody.
    """

    script: str
    shape: str
    texts: tuple[str, ...] = ()
    values: frozenset[str] = frozenset()


def private_spans(text: str) -> list[tuple[int, int]]:
    """Return where secrets and personal data stand in a text, in order."""
    personal = (row.span() for pattern in _PERSONAL for row in pattern.finditer(text))
    return sorted((*secret_spans(text), *personal))


def without_private(text: str) -> str:
    """Return a text without secrets, addresses, telephone numbers, homes and long texts."""
    long = (row.span() for row in _LONG_TEXT.finditer(text))
    return remove_spans(text, sorted((*private_spans(text), *long)))


def redact_script(script: str, language: Language, level: Level) -> RedactedScript:
    """Return a script as it is kept, without comments; a DANGEROUS one is told by its values."""
    marked = _SLOT.sub(r'"\g<0>"', script)
    scan = scan_script(marked, language)
    if scan.faults:
        kept = "" if private_spans(marked) or _UNREAD.search(marked) else marked
        return RedactedScript(kept, without_private(marked))
    comments = _comment_edits(marked, scan, language)
    spans = private_spans(marked)
    literals = _literal_spans(marked, scan, language)
    private = {
        at
        for at, (start, end) in enumerate(literals)
        if end - start > _LONG + 2
        or _MARK.fullmatch(marked[start:end])
        or any(a < end and b > start for a, b in spans)
    }
    held = [*literals, *(row[:2] for row in comments)]
    outside = [row for row in spans if not any(a <= row[0] and row[1] <= b for a, b in held)]
    code = [(token.start, token.start + len(token.text)) for token in scan.tokens]
    if any(a < end and b > start for a, b in outside for start, end in code):
        return RedactedScript("", without_private(marked))
    texts = tuple(_literal_text(marked[start:end]) for start, end in literals)
    free, personal = set[int](), set[int]()
    for at, (start, _) in enumerate(literals):
        near, far = _words_before(scan, start)
        is_app = near in _APP_NAMES or (near == "id" and far in _APP_NAMES)
        if level != "DANGEROUS" and near not in (*_APP_NAMES, "id"):
            free.add(at)
        by_capital = not (far if near == "byname" else near).endswith(_ON_SCREEN)
        told = len(texts[at]) < 4 and marked[start] not in _QUOTES
        if not (is_app or told) and _value_words(texts[at], by_capital=by_capital):
            personal.add(at)
            # One name for another makes no other deed.
            if all(word[0].isupper() for word in _WORD.findall(texts[at])):
                free.add(at)
    shape = _put_placeholders(marked, literals, private | free, comments)
    lines = (line.strip() for line in _SLOT.sub("‹›", shape).splitlines())
    kept = _put_placeholders(marked, literals, private | personal, comments).strip()
    values = frozenset[str]().union(*(_value_words(texts[at]) for at in private | personal))
    return RedactedScript(kept, "\n".join(filter(None, lines)), texts, values)


def widen_placeholders(before: str, now: str, language: Language) -> str:
    """Return a kept script with a slot wherever another success of its shape had another value."""
    old, new = (_SLOT.sub(r'"\g<0>"', text) for text in (before, now))
    ours, theirs = (
        _literal_spans(text, scan_script(text, language), language) for text in (old, new)
    )
    if len(ours) != len(theirs):
        return before
    differ = {
        at
        for at, ((a, b), (c, d)) in enumerate(zip(ours, theirs, strict=True))
        if old[a:b] != new[c:d] or _MARK.fullmatch(old[a:b])
    }
    return _put_placeholders(old, ours, differ, ())


def number_placeholders(script: str) -> tuple[str, tuple[str, ...]]:
    """Return a kept script with its slots numbered, and their names: its parameters."""
    names: list[str] = []

    def name_placeholder(match: re.Match[str]) -> str:
        names.append(f"{match[1]} {len(names) + 1}")
        return f"‹{names[-1]}›"

    return _SLOT.sub(name_placeholder, script), tuple(names)


def without_placeholders(script: str) -> str:
    """Return a kept script without its slots, for the words in it."""
    return _SLOT.sub(" ", script)


def _literal_spans(script: str, scan: Scan, language: Language) -> list[tuple[int, int]]:
    starts = (token.start for token in scan.tokens if token.kind in ("string", "number"))
    matches = (_LITERAL.match(script, start) for start in starts)
    spans = [row.span() for row in matches if row]
    if language == "applescript":
        return spans
    whole = node_spans(script, "template_string", "regex")
    return sorted((*whole, *(row for row in spans if not any(a < row[0] < b for a, b in whole))))


def _comment_edits(script: str, scan: Scan, language: Language) -> list[tuple[int, int, str]]:
    """Return where comments stand, and what is left of each: what ends or continues a line."""
    spans: Sequence[tuple[int, int]] = scan.comments
    if language == "javascript":
        spans = node_spans(script, "comment", "html_comment", "hash_bang_line")
    edits = []
    for start, end in spans:
        first = len(script[:start].rstrip(" \t"))
        after = script[end : end + 1]
        ends_line = after in ("", "\n", "\r")
        alone = ends_line and script[first - 1 : first] in ("", "\n", "\r")
        left = "" if ends_line or after.isspace() else " "
        if script[start] == "¬":
            left = " ¬\n"
        elif language == "javascript" and "\n" in script[start:end] and not alone:
            left = "\n"
        edits.append((first, end + alone, left))
    return edits


def _words_before(scan: Scan, start: int) -> tuple[str, str]:
    """Return the last two words or signs before a place, the nearest first."""
    tokens: Sequence[ScriptToken] = scan.tokens
    at = bisect_left(tokens, start, key=lambda token: token.start)
    return text_at(tokens, at - 1).casefold(), text_at(tokens, at - 2).casefold()


def _value_words(text: str, *, by_capital: bool = True) -> set[str]:
    """Return the words of a text that no tool knows, or that begin as a name does."""
    return {
        word.casefold()
        for word in _WORD.findall(text)
        if (by_capital and word[0].isupper() and len(word) > 1) or not _is_known(word)
    }


def _is_known(word: str) -> bool:
    """Say whether the tools know a word; a single letter tells nothing."""
    letter = len(word) == 1 and word.isascii() and word.isalpha()
    return letter or {*map(stem_word, split_words(word))} <= _plain_stems()


@lru_cache(maxsize=1)
def _plain_stems() -> frozenset[str]:
    apps = " ".join(app for area in load_lexicon().areas.values() for app in area.apps)
    return known_words().union(map(stem_word, split_words(apps)))


def hide_values(text: str, values: Collection[str], *, by_capital: bool = True) -> str:
    """Return a text with a slot for each word that is probably a value.

    Two of three tell it: it is among `values`, no tool knows it, it has a capital in a sentence.
    """

    def hide_word(match: re.Match[str]) -> str:
        word = match[0]
        named = by_capital and word[0].isupper() and match.start() > 0
        told = (word.casefold() in values, not _is_known(word), named)
        return "‹text›" if sum(told) > 1 else word

    return _SLOTS.sub("‹text›", _WORD.sub(hide_word, text))


def _literal_text(literal: str) -> str:
    return literal[1:-1] if literal[0] in _QUOTES else literal


def _put_placeholders(
    script: str,
    literals: Sequence[tuple[int, int]],
    slots: set[int],
    comments: Sequence[tuple[int, int, str]] = (),
) -> str:
    """Return a script with slots in the place of some literals, and without comments."""
    edits = [*comments]
    for at in slots:
        start, end = literals[at]
        mark = _MARK.fullmatch(script[start:end])
        kind = mark[1] if mark else "text" if script[start] in _QUOTES else "number"
        edits.append((start, end, f"‹{kind}›"))
    parts, done = list[str](), 0
    for start, end, text in sorted(edits):
        if start >= done:
            parts += (script[done:start], text)
            done = end
    return "".join((*parts, script[done:]))


MAX_INTENT: Final = 300
MAX_STORED: Final = 8_000
MAX_ERROR: Final = 400

_NOISE: Final = frozenset(
    "set to of get tell end if then else repeat with in from the and or not whose where is as by"
    " first last every item return on error try my it its true false const let var function"
    " application app id name properties new at make run given".split()
)


_FIT: Final = 0.7
"""How well a word stands for another of its group."""


_IN_SCRIPT: Final = 0.5
"""What a word is worth that only the script has, not the intent."""

_APP: Final = 0.35
_RATE: Final = 0.3
_AGE: Final = 0.1
_DAYS: Final = 60.0
_UNSAID: Final = 0.25
"""How much words of the stored intent that were not asked for count against it."""


class RunOutcome(NamedTuple):
    """What came of one run.

    Attributes:
        ok: Whether it worked.
        kind: The kind of the result: text, number, list, object, nothing.
        error: The error text; empty when it worked.
        number: Its number, if there is one.
        milliseconds: How long it took.
    """

    ok: bool
    kind: str = ""
    error: str = ""
    number: int | None = None
    milliseconds: float = 0.0


class ScriptPattern(NamedTuple):
    """What is known of one script for one intent; times are UTC, ISO 8601.

    Attributes:
        script: With slots for what is private or varies (`slots`); empty where that is no literal.
        level: What running it needed.
        effects: What it did, a line each: verb, app, class.
        provenance: Where it is from: it was learned here, or imported.
    """

    id: int
    digest: str
    intent: str
    app: str
    language: str
    script: str
    kind: str
    error: str
    number: int | None
    milliseconds: float
    successes: int
    failures: int
    first: str
    last: str
    level: Level = "DANGEROUS"
    effects: str = ""
    provenance: str = "learned"

    @property
    def is_trusted(self) -> bool:
        """Whether it may be offered: it worked here; one approval is not enough if DANGEROUS."""
        return bool(self.script) and self.successes >= (2 if self.level == "DANGEROUS" else 1)

    @property
    def success_rate(self) -> float:
        """The share of runs that worked, held back while there are few: (s + 1) / (n + 2)."""
        return (self.successes + 1) / (self.successes + self.failures + 2)


def clean_for_storage(text: str, limit: int) -> str:
    """Return a text as it is stored: cleaned, without what is secret or personal, cut."""
    return clean_text(without_private(clean_text(text)), limit)


def pattern_digest(intent: str, language: str, shape: str, texts: Sequence[str] = ()) -> str:
    """Return what tells patterns apart: two spellings of an intent are one.

    Words of the intent that are values of the script vary with them, and do not count.
    """
    values = {stem_word(word) for text in texts for word in split_words(text)}
    stems = " ".join(sorted(_intent_stems(intent) - values))
    return hashlib.sha256(f"{stems}\0{language}\0{shape}".encode()).hexdigest()[:32]


def _intent_stems(intent: str) -> frozenset[str]:
    return frozenset(map(stem_word, split_words(without_placeholders(intent))))


def indexed_words(intent: str, app: str, script: str) -> tuple[str, str]:
    """Return the words of what was wanted and of what is done, as stems."""
    intent_stems = [
        stem_word(word)
        for word in split_words(f"{without_placeholders(intent)} {app.rpartition('.')[2]}")
    ]
    script = re.sub(r'"(?:[^"\\]|\\.)*"', " ", without_placeholders(script))
    done = [stem_word(word) for word in split_words(script)]
    kept = dict.fromkeys(word for word in done if word not in _NOISE and not word.isdecimal())
    return " ".join(intent_stems), " ".join(list(kept)[:80])


def normalize_pattern(pattern: ScriptPattern, arguments: Sequence[str] = ()) -> ScriptPattern:
    """Return a pattern as it is stored: each text cleaned and cut, without what is personal.

    `arguments` are what the script was given: what they say is taken out of the other texts.
    """
    script = clean_text(pattern.script)
    language: Language = "javascript" if pattern.language == "javascript" else "applescript"
    redacted = redact_script(script, language, pattern.level)
    values = redacted.values.union(*map(_value_words, arguments))
    intent = hide_values(clean_for_storage(pattern.intent, MAX_INTENT), values)
    error = _QUOTED.sub("‹text›", clean_text(pattern.error))
    return pattern._replace(
        digest=pattern_digest(intent, pattern.language, redacted.shape, redacted.texts),
        intent=intent,
        app=clean_text(pattern.app, 100),
        script=redacted.script if len(redacted.script) <= MAX_STORED else "",
        kind=clean_text(pattern.kind, 40),
        error=clean_for_storage(hide_values(error, values, by_capital=False), MAX_ERROR),
        milliseconds=round(float(pattern.milliseconds), 1),
        successes=min(pattern.successes, 1_000_000),
        failures=min(pattern.failures, 1_000_000),
        first=clean_text(pattern.first, 40),
        last=clean_text(pattern.last, 40),
        effects=clean_text(pattern.effects, MAX_ERROR),
    )


_FIELDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "intent": str,
    "app": str,
    "language": str,
    "script": str,
    "kind": str,
    "error": str,
    "number": (int, type(None)),
    "milliseconds": (int, float),
    "successes": int,
    "failures": int,
    "first": str,
    "last": str,
}
_SHOWN: Final = ("level", "effects", "provenance")
"""Fields that an export tells, and an import does not take over."""


def pattern_to_json(pattern: ScriptPattern) -> dict[str, Any]:
    """Return a pattern as a line of an export holds it."""
    return {name: getattr(pattern, name) for name in (*_FIELDS, *_SHOWN)}


def pattern_from_json(row: Any) -> ScriptPattern:
    """Return the pattern of a line of an export, cleaned as anything that is stored.

    It starts without trust: its counts are none, its level is the highest, until it runs here.

    Raises:
        ValueError: It is no pattern; the text names the field.
    """
    if not isinstance(row, dict):
        raise ValueError("is not an object")  # noqa: TRY004 (what a file holds, not a type of ours)
    for unknown in sorted(set(row) - {*_FIELDS, *_SHOWN})[:1]:
        raise ValueError(f"has an unknown field {unknown[:40]!r}")
    for name, kind in _FIELDS.items():
        value = row.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"has no {name} of the right type")  # noqa: TRY004
    if row["language"] not in ("applescript", "javascript"):
        raise ValueError("has an unknown language")
    if row["successes"] < 0 or row["failures"] < 0:
        raise ValueError("has a negative count")
    told: dict[str, Any] = {name: row[name] for name in _FIELDS}
    told |= {"successes": 0, "failures": 0}
    return normalize_pattern(ScriptPattern(0, "", **told, provenance="import"))


class PatternCandidate(NamedTuple):
    """A pattern that has some of the words: those of its intent and those of its script."""

    pattern: ScriptPattern
    intent_stems: frozenset[str]
    script_stems: frozenset[str]


class FoundPattern(NamedTuple):
    """A pattern that was found; `score` is about 0 to 2; `why` is one line."""

    pattern: ScriptPattern
    score: float
    why: str


def query_words(intent: str) -> Mapping[str, Mapping[str, float]]:
    """Return the words of an intent, each with what may stand for it and how well."""
    known: Callable[[str], bool] = known_words().__contains__
    request = read_request(intent, known, lambda _word: ())
    weighed: dict[str, dict[str, float]] = {}
    for term in request.terms:
        options = weighed[term.stem] = dict(term.options)
        for other in related_stems(term.stem):
            options[other] = max(options.get(other, 0.0), _FIT)
    return weighed


def rank_patterns(
    words: Mapping[str, Mapping[str, float]],
    candidates: Sequence[PatternCandidate],
    counts: Mapping[str, int],
    total: int,
    app: str = "",
    same: frozenset[str] = frozenset(),
    wanted: RequestIntent | None = None,
) -> list[FoundPattern]:
    """Return the candidates, best first.

    Args:
        words: What is asked for, as `query_words` gives it.
        candidates: What to order.
        counts: How many patterns have each word.
        total: How many patterns there are.
        app: The bundle id that is wanted; empty for any.
        same: The stems of the intent as it was said: a pattern of just these was stored for it.
        wanted: Which way it goes: what was stored for the other way is not meant.
    """

    def word_worth(word: str) -> float:
        return log(1 + total / (1 + counts.get(word, 0)))

    now = datetime.now(UTC)
    asked = sum(word_worth(word) for word in words)
    ranked = []
    for pattern, wanted_stems, done in candidates:
        covered, matched = _match_words(words, wanted_stems, done, word_worth)
        share = covered / (asked or 1)
        unsaid = sum(word_worth(word) for word in wanted_stems - matched) / (
            sum(map(word_worth, wanted_stems)) or 1
        )
        score = share * (1 - _UNSAID * unsaid) + share * _RATE * (pattern.success_rate - 0.5)
        score += _AGE * share / (1 + _days_since(pattern.last, now) / _DAYS)
        if wanted:
            score += wanted.agreement(read_intent(pattern.intent.casefold()))
        if app and app.casefold() == pattern.app.casefold():
            score += _APP * max(share, 0.2)
        told = _intent_stems(pattern.intent)
        beside = same - told
        if same >= told and not beside & _plain_stems() and (not beside or "‹" in pattern.intent):
            score = max(score, 1.0 + _RATE * (pattern.success_rate - 0.5))
        why = f"worked {pattern.successes} of {pattern.successes + pattern.failures} times"
        if matched:
            why += f"; shares {', '.join(sorted(matched)[:5])}"
        ranked.append(FoundPattern(pattern, round(score, 4), why))
    # What is DANGEROUS comes last, however well it fits.
    ranked.sort(
        key=lambda row: (
            row.pattern.level == "DANGEROUS",
            -row.score,
            -row.pattern.successes,
            row.pattern.id,
        )
    )
    return [row for row in ranked if row.score > 0.05]


def _match_words(
    words: Mapping[str, Mapping[str, float]],
    said: frozenset[str],
    done: frozenset[str],
    worth: Callable[[str], float],
) -> tuple[float, set[str]]:
    covered, matched = 0.0, set[str]()
    for options in words.values():
        best, which = 0.0, ""
        for option, fit in options.items():
            place = 1.0 if option in said else _IN_SCRIPT if option in done else 0.0
            value = fit * place * worth(option)
            if value > best:
                best, which = value, option
        covered += best
        if which:
            matched.add(which)
    return covered, matched


def _days_since(moment: str, now: datetime) -> float:
    try:
        return max((now - datetime.fromisoformat(moment)).total_seconds() / 86400, 0.0)
    except (ValueError, TypeError):
        return 365.0
