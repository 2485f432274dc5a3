"""The words of the languages and of an app as a script may use them, with the level of each use.

Of both languages: what can do harm (harm.toml), and what does none (words.toml). Sources:
AppleScript Language Guide, "Keywords", "Class Reference", "Operators Reference", "Control
Statements Reference"; JavaScript for Automation Release Notes (10.10, 10.11); ECMA-262, "Global
Object", "Indexed Collections", "Text Processing". What is in no table and in no dictionary is not
understood.

Of an app: from the tables of its generated module. A term is kept as AppleScript spells it, words
in lower case with one space between; a JXA name as JavaScript spells it.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from iac_base.secrets import is_secret
from iac_runtime.policy.places import BUILT_IN, FIXED
from iac_runtime.policy.taint import is_secret_property, secret_classes
from iac_runtime.policy.verbs import STARTERS
from iac_runtime.tool import Level, Property
from iac_runtime.toolkit import Tables


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

JAVASCRIPT: Final[Mapping[str, frozenset[str]]] = {
    kind: frozenset(words.split()) for kind, words in _WORDS["javascript"].items()
}
"""Words of JavaScript by what they do."""

Use = Literal["command", "property", "class", "enum", "label"]

_CONTENTS: Final = frozenset(("body", "ctxt", "pcnt", "PCnt", "pTxt", "text"))
"""Codes of what an object is filled with: setting it loses what was there, making loses nothing."""

_ALL: Final = "pALL"
"""The code of the property that sets any of the others by a record."""

_PLAIN: Final = frozenset(
    "text integer real number boolean date point rectangle color type missing value"
    " double integer".split()
) | {"RGB color", "double integer", "bounding rectangle", "rich text", "saveable file format"}
"""Types whose values are data."""

_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9#]+|\S")


class TermUse(NamedTuple):
    """One use of a term.

    Attributes:
        use: What it is.
        term: The dictionary's term.
        level: Of a command, of setting a property, or of making a class.
        tool: The generated tool of a command, else empty.
        owner: The class of a property, else empty.
        content: Whether a property holds what a new object is filled with.
        event: The code of a command's event.
        answers: Whether a command declares a result.
        plain: Whether a property holds text, a number, a date or the like, never an object.
        secret: Whether a property is never read, or a class may have one that is not.
    """

    use: Use
    term: str
    level: Level
    tool: str = ""
    owner: str = ""
    content: bool = False
    event: str = ""
    answers: bool = False
    plain: bool = False
    secret: bool = False


class Vocabulary(NamedTuple):
    """The words of one app: `terms` by AppleScript spelling, `names` by JXA's.

    `secrets` are the names of the properties that are never read, as JavaScript spells them.
    """

    key: str
    bundle: str
    name: str
    terms: Mapping[str, tuple[TermUse, ...]]
    names: Mapping[str, tuple[TermUse, ...]]
    tables: Tables
    longest: Mapping[str, int]
    secrets: frozenset[str] = frozenset()


def longest_phrases(phrases: Iterable[str]) -> dict[str, int]:
    """Return how many words the longest phrase has that begins with a word."""
    longest: dict[str, int] = {}
    for phrase in phrases:
        words = phrase.split()
        for first in words[:1]:
            longest[first] = max(longest.get(first, 0), len(words))
    return longest


Find = Callable[[str], Vocabulary | None]


def normalize_term(term: str) -> str:
    """Return a term as it is looked up: lower case, one space between words."""
    return " ".join(term.casefold().split())


def build_vocabulary(tables: Tables, secrets: tuple[str, ...] = ()) -> Vocabulary:
    """Return the words of an app; `secrets` are the policy's globs over properties."""
    terms: dict[str, dict[TermUse, None]] = {}
    names: dict[str, dict[TermUse, None]] = {}
    for use, spellings, members in _term_uses(tables, secrets):
        for spelling in spellings:
            terms.setdefault(normalize_term(spelling), {})[use] = None
        for member in members:
            names.setdefault(member, {})[use] = None
    return Vocabulary(
        tables.key,
        tables.app.id,
        tables.app.name,
        {term: tuple(found) for term, found in terms.items()},
        {name: tuple(found) for name, found in names.items()},
        tables,
        longest_phrases(terms),
        frozenset(
            name
            for name, found in names.items()
            if any(row.secret and row.use == "property" for row in found)
        ),
    )


def _term_uses(
    tables: Tables, secrets: tuple[str, ...]
) -> Iterator[tuple[TermUse, tuple[str, ...], tuple[str, ...]]]:
    """Yield each use of a term with its spellings in AppleScript and its names in JavaScript."""
    for function, spec in tables.tools.items():
        if spec.op == "command" and not spec.bind:
            term = function.rstrip("_").replace("_", " ")
            tool = f"{tables.key}_{function.rstrip('_')}"
            # That it may start its app is counted where the app does not run.
            level = spec.level if spec.event in STARTERS else spec.ceiling
            use = TermUse("command", term, level, tool, "", False, spec.event, bool(spec.result))
            yield use, (term, spec.jxa), (spec.jxa,)
    for spec in tables.tools.values():
        for param in spec.params.values():
            if param.code and param.code != "----":
                label = TermUse("label", param.term, "SAFE")
                yield label, (param.term,), (param.jxa or param.term,)
    # What Standard Additions has are records of the script's own.
    real = tables.app.kind == "application"
    holders = secret_classes(tables, secrets) if real else frozenset[str]()
    for term, row in tables.classes.items():
        plurals = (_plural_spelling(term, row.plural), *(f"{synonym}s" for synonym in row.synonyms))
        names = (row.plural, row.jxa, row.jxa[:1].upper() + row.jxa[1:])
        yield (
            TermUse("class", term, row.make, secret=term in holders),
            (term, *row.synonyms, *plurals),
            names,
        )
        for prop in row.properties:
            yield _property_use(prop, term, tables, secrets), (prop.term,), (prop.jxa,)
    for term, record in tables.records.items():
        yield TermUse("class", term, "SAFE"), (term,), ()
        for prop in record.properties:
            use = _property_use(prop._replace(level="SAFE"), term, tables, secrets)
            yield use, (prop.term,), (prop.jxa,)
    for rows in tables.enums.values():
        for enumerator, _ in rows:
            yield TermUse("enum", enumerator, "SAFE"), (enumerator,), ()


def _property_use(row: Property, owner: str, tables: Tables, secrets: tuple[str, ...]) -> TermUse:
    level: Level = row.level if "w" in row.access else "SAFE"
    # A secret is not read either; a record of all properties may hold any that is written.
    secret = is_secret_property(row.jxa, tables, secrets)
    heavy = secret or is_secret(row.term, row.type) or (row.code == _ALL and "w" in row.access)
    level = "DANGEROUS" if heavy else level
    parts = [part.strip().removeprefix("list of ") for part in row.type.split("|")]
    return TermUse(
        "property",
        row.term,
        level,
        owner=owner,
        content=row.code in _CONTENTS,
        plain=all(part in _PLAIN or part in tables.enums for part in parts),
        secret=secret and tables.app.kind == "application",
    )


def _plural_spelling(term: str, jxa: str) -> str:
    """Return a plural in AppleScript's spelling, from JXA's."""
    if jxa.casefold() == f"{term}s".replace(" ", "").casefold():
        return f"{term}s"
    return " ".join(_CAMEL.findall(jxa)).casefold()
