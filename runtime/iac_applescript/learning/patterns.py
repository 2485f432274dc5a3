"""A pattern: a script that was run for an intent, and what came of it; its words; its JSON form."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from iac_base.secrets import REDACTED, is_secret, redact_text
from iac_base.text import clean_text
from iac_runtime.search.request import split, stem

__all__ = [
    "Outcome",
    "Pattern",
    "cleaned",
    "digest_of",
    "indexed_words",
    "pattern_from_json",
    "pattern_to_json",
    "without_personal",
]

MAX_INTENT: Final = 300
MAX_STORED: Final = 8_000
MAX_ERROR: Final = 400

_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
_HOME: Final = re.compile(r"/Users/[^/\s\"':]+|(?<=:)Users:[^:\"]+")
_PHONE: Final = re.compile(r"(?<![\w.])\+?\d[\d ()/-]{7,}\d(?![\w.])")
_LONG_TEXT: Final = re.compile(r'"(?:[^"\\]|\\.){81,}"', re.DOTALL)
_ASSIGNED: Final = re.compile(
    r"(?P<lead>\b(?:set|property|let|const|var)\s+(?:the\s+)?\|?(?P<name>[\w .]{1,60}?)\|?"
    r'\s*(?:\bto\b|:|=)\s*)"(?:[^"\\]|\\.)*"',
    re.IGNORECASE,
)
_NOISE: Final = frozenset(
    "set to of get tell end if then else repeat with in from the and or not whose where is as by"
    " first last every item return on error try my it its true false const let var function"
    " application app id name properties new at make run given".split()
)


class Outcome(NamedTuple):
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


class Pattern(NamedTuple):
    """What is known of one script for one intent; times are UTC, ISO 8601."""

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

    @property
    def rate(self) -> float:
        """The share of runs that worked, held back while there are few: (s + 1) / (n + 2)."""
        return (self.successes + 1) / (self.successes + self.failures + 2)


def without_personal(text: str) -> str:
    """Return a text without secrets, addresses, telephone numbers, user names and long texts."""
    text = _ASSIGNED.sub(_without_value, redact_text(text))
    text = _LONG_TEXT.sub('"[long text]"', text)
    text = _ADDRESS.sub("[address]", text)
    text = _HOME.sub(lambda m: "/Users/me" if m[0].startswith("/") else "Users:me", text)
    return _PHONE.sub("[number]", text)


def cleaned(text: str, limit: int) -> str:
    """Return a text as it is stored: cleaned, without what is secret or personal, cut."""
    return clean_text(without_personal(clean_text(text)), limit)


def _without_value(found: re.Match[str]) -> str:
    return f'{found["lead"]}"{REDACTED}"' if is_secret(found["name"]) else found.group()


def digest_of(intent: str, language: str, script: str) -> str:
    """Return what tells patterns apart: two spellings of an intent are one."""
    said = " ".join(sorted({stem(word) for word in split(intent)}))
    lines = "\n".join(line.strip() for line in script.splitlines() if line.strip())
    return hashlib.sha256(f"{said}\0{language}\0{lines}".encode()).hexdigest()[:32]


def indexed_words(intent: str, app: str, script: str) -> tuple[str, str]:
    """Return the words of what was wanted and of what is done, as stems."""
    said = [stem(word) for word in (*split(intent), *split(app.rpartition(".")[2]))]
    done = [stem(word) for word in split(re.sub(r'"(?:[^"\\]|\\.)*"', " ", script))]
    kept = dict.fromkeys(word for word in done if word not in _NOISE and not word.isdecimal())
    return " ".join(said), " ".join(list(kept)[:80])


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


def pattern_to_json(pattern: Pattern) -> dict[str, Any]:
    """Return a pattern as a line of an export holds it."""
    return {name: getattr(pattern, name) for name in _FIELDS}


def pattern_from_json(row: Any) -> Pattern:
    """Return the pattern of a line of an export, cleaned as anything that is stored.

    Raises:
        ValueError: It is no pattern; the text names the field.
    """
    if not isinstance(row, dict):
        raise ValueError("is no object")  # noqa: TRY004 (what a file holds, not a type of ours)
    _known(row)
    for name, kind in _FIELDS.items():
        value = row.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"has no {name} of the right type")  # noqa: TRY004
    if row["language"] not in ("applescript", "javascript"):
        raise ValueError("has an unknown language")
    if row["successes"] < 0 or row["failures"] < 0:
        raise ValueError("counts less than nothing")
    intent = cleaned(row["intent"], MAX_INTENT)
    script = cleaned(row["script"], MAX_STORED)
    return Pattern(
        0,
        digest_of(intent, row["language"], script),
        intent,
        clean_text(row["app"], 100),
        row["language"],
        script,
        clean_text(row["kind"], 40),
        cleaned(row["error"], MAX_ERROR),
        row["number"],
        float(row["milliseconds"]),
        min(row["successes"], 1_000_000),
        min(row["failures"], 1_000_000),
        clean_text(row["first"], 40),
        clean_text(row["last"], 40),
    )


def _known(row: Iterable[str]) -> None:
    unknown = sorted(set(row) - set(_FIELDS))
    if unknown:
        raise ValueError(f"has an unknown field {unknown[0][:40]!r}")
