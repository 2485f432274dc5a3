"""Words of both languages: what can do harm (harm.toml), and what does none (words.toml).

Sources: AppleScript Language Guide, "Keywords", "Class Reference", "Operators Reference", "Control
Statements Reference"; JavaScript for Automation Release Notes (10.10, 10.11); ECMA-262, "Global
Object", "Indexed Collections", "Text Processing". What is in no table and in no dictionary is not
understood.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from iac_runtime.policy.places import BUILT_IN, FIXED
from iac_runtime.tool import Level


def _split_entries(text: str) -> list[str]:
    return [entry for line in text.splitlines() for entry in line.split(" | ")]


def _levels_by_word(rows: Mapping[Level, str]) -> dict[str, Level]:
    return {word: level for level, words in rows.items() for word in _split_entries(words)}


def _entry_set(text: str) -> frozenset[str]:
    return frozenset(_split_entries(text))


def _camel_case_term(term: str) -> str:
    first, *rest = term.split()
    return first + "".join(map(str.capitalize, rest))


def _read_words_table(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


_TABLES: Final = _read_words_table("harm.toml")
_WORDS: Final = _read_words_table("words.toml")
_HARM: Final = _TABLES["harm"]
_COLUMNS: Final = {
    "says",
    "beyond",
    "lets",
    "runs",
    "told",
    "terms",
    "judged",
    "phrases",
    "members",
    "names",
    "texts",
}

if any(row.keys() - _COLUMNS for row in _HARM):
    raise ValueError("harm.toml has a key that nothing reads")


def _reasons_by_word(column: str) -> dict[str, str]:
    """Return the words of a column of harm.toml -> why they matter."""
    return {word: row["says"] for row in _HARM for word in row.get(column, ())}


PHRASES: Final[Mapping[str, str]] = _reasons_by_word("terms") | _reasons_by_word("phrases")
"""AppleScript: words in a row -> why."""

HARMFUL_MEMBERS: Final[Mapping[str, str]] = _reasons_by_word("members") | {
    _camel_case_term(term): why
    for term, why in (_reasons_by_word("terms") | _reasons_by_word("judged")).items()
}
"""JavaScript: members that are never read as harmless, whatever they belong to -> why."""

JUDGED: Final = _reasons_by_word("judged")
"""AppleScript: words in a row that are judged by what they are given -> why they may matter."""

HARMFUL_NAMES: Final[Mapping[str, str]] = _reasons_by_word("names")
"""JavaScript: names -> why."""

TEXTS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile("|".join(row["texts"]), re.IGNORECASE), row["says"])
    for row in _HARM
    if "texts" in row
)
"""Texts that matter where a statement does more than read: pattern -> why."""


def _flagged_reasons(column: str) -> frozenset[str]:
    return frozenset(row["says"] for row in _HARM if row.get(column))


BEYOND: Final = _flagged_reasons("beyond")
"""Reasons that name what a confined script cannot do."""

LETS: Final[Mapping[str, str]] = {row["says"]: row["lets"] for row in _HARM if "lets" in row}
"""Reasons of those for which a confined script is given a line of its profile."""

RUNS: Final = _flagged_reasons("runs")
"""Reasons that name code which runs."""

TOLD: Final = _flagged_reasons("told")
"""Reasons that name what is done to the app that is told, and to no other."""

PROMPTS: Final = (
    r"(?i)pass\s*-?(?:word|code|phrase)|kennwort|passwort|mot de passe|contrase|\bpin\b"
    r"|apple\s*id|credential|admin(?:istrator)?\s+(?:name|account)|credit\s*card|one.time\s+code"
)
"""What a dialog with a field for an answer says when it is after a secret."""

FRAMEWORKS: Final = frozenset(_TABLES["bridge"]["frameworks"])
"""Libraries of Objective-C that a script may load to look at something."""

BRIDGE_READS: Final = frozenset(_TABLES["bridge"]["reads"])
"""Names behind `$` and `ObjC` that look, whatever they are asked of."""

BRIDGE_SETS: Final = frozenset(_TABLES["bridge"]["sets"])

LEADS: Final = _entry_set(
    "path | posix path | file path | filepath | properties | original item | name extension"
    " | creator type | file type"
)
"""Properties that say what something leads to, or which app opens it; as AppleScript has them."""

UNSEEN: Final = frozenset(
    name.casefold() for name in (*FIXED.values(), *BUILT_IN.values())
) | _entry_set(
    "system preferences | loginwindow | coreservicesuiagent | usernotificationcenter"
    " | authorizationhost | coreautha | localauthenticationremoteservice | screensaverengine"
    " | securityprivacyextension | tccd | universalaccessauthwarn"
)
"""Processes that nobody scripts: they ask for consent or hold secrets."""

KEYWORDS: Final = _entry_set(_WORDS["keywords"].strip())
"""Words that join others; none of them does anything by itself."""

WEAK: Final = frozenset(("a", "index", "nd", "rd", "ref", "st", "th"))
"""Keywords that are a variable's name where the script declares it."""

COMMANDS: Final[Mapping[str, Level]] = _levels_by_word(
    {
        "SAFE": (
            "activate | copy | count | exists | exist | get | log | make | "
            "set | start log | stop log"
        ),
        "MODIFY": "close | duplicate | launch | move | open | print | reopen | run | save",
        "DANGEROUS": "delete | quit",
    }
)
"""Commands that every app is sent; `set`, `copy` and `make` are judged by what they are given."""

TERMS: Final = _entry_set(_WORDS["terms"].strip().casefold())
"""Classes and properties of values, and those that nearly every app has."""

CONSTANTS: Final = _entry_set(_WORDS["constants"].strip())

STARTS: Final = frozenset(("considering", "ignoring", "on", "repeat", "script", "tell", "try"))
"""First words of statements that last until `end`; `if`, `to` and `with` need a closer look."""

KNOWN_GLOBALS: Final = frozenset(_WORDS["known_globals"].split())

KNOWN_MEMBERS: Final = frozenset(_WORDS["known_members"].split())
"""`values` and `entries` are judged with what they are asked of: not of `Object`."""

CONTAINERS: Final[Mapping[str, frozenset[str]]] = {
    use: frozenset(names.split()) for use, names in _TABLES["containers"].items()
}
"""What methods of arrays, maps, texts and built-in objects do with what they hold."""

CONTAINER_CALLS: Final = frozenset().union(*CONTAINERS.values())

NUMBER_MEMBERS: Final = frozenset(_WORDS["number_members"].split())
"""Members that are numbers wherever the language has them."""
