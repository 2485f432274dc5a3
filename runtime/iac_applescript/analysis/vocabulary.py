"""The words of an app as a script may use them, with the level of each use.

Made from the tables of its generated module. A term is kept as AppleScript spells it, words in
lower case with one space between; a JXA name as JavaScript spells it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from iac_base.secrets import is_secret
from iac_runtime.policy.effects import STARTERS
from iac_runtime.policy.taint import is_secret_property, secret_classes
from iac_runtime.tool import Level, Property
from iac_runtime.toolkit import Tables

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
    found: dict[str, int] = {}
    for phrase in phrases:
        words = phrase.split()
        for first in words[:1]:
            found[first] = max(found.get(first, 0), len(words))
    return found


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
