"""What a call does, as a verb: by its event, by its words, and by what its values bring about.

A command is known by its code, else by its first words. What it is given counts by what becomes of
it there: a property that marks for deletion deletes, an address that runs something is no page, a
formula can fetch, and a button does what stands on it. These rules know names and values alone, so
that requests and the statements of scripts are told alike.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from iac_base.interface import pressed_verb, typed_verb
from iac_base.text import visible_text
from iac_base.words import split_name
from iac_runtime.language.steps import Event
from iac_runtime.policy.facts import LOADING_CLASSES, READ_VERBS, VERBS, Verb
from iac_runtime.policy.places import DISCARD_ROLES, is_executable, mailbox_role, parse_file_url
from iac_runtime.tool import Level

_DATA: Final = json.loads(Path(__file__).with_suffix(".json").read_bytes())


def _index_verbs(table: str, between: str = " ") -> dict[str, Verb]:
    known: dict[str, Verb] = {verb: verb for verb in VERBS}
    rows: dict[str, str] = _DATA[table]
    return {word: known[verb] for verb, words in rows.items() for word in words.split(between)}


_ACTIVATE: Final = "miscactv"
"""The event that shows an app, or starts it."""

EVENT_VERBS: Final[dict[str, Verb]] = _index_verbs("codes")
"""What an event does, by its eight characters."""

_BY_WORD: Final[dict[str, Verb]] = {**_index_verbs("words"), **_index_verbs("phrases", ", ")}
_BY_SCHEME: Final[dict[str, Verb]] = {
    # A verb is a word of a call, and no scheme.
    scheme: verb
    for scheme, verb in _index_verbs("schemes").items()
    if scheme not in VERBS
}
_BY_OP: Final[dict[str, Verb]] = _index_verbs("operations")

STARTERS: Final = frozenset(("miscactv", "ascrnoop", "aevtoapp", "aevtrapp"))
"""Events that are sent to start an app or to show it: activate, launch, run, reopen."""


@lru_cache(maxsize=4096)
def command_verb(code: str, name: str, level: Level, *, answers: bool) -> Verb:
    """Return what a command does.

    Args:
        code: The eight characters of its event.
        name: Its name in any spelling; its first words count where the code is not known.
        level: What the reviewed tables say that it needs. What they call SAFE looks, whatever it is
            called; what they do not cannot be looking.
        answers: Whether it declares a result.
    """
    words = split_name(name) or [""]
    phrases = [*(" ".join(words[:size]) for size in (3, 2)), words[0]]
    spoken: list[Verb] = [_BY_WORD[one] for one in phrases if one in _BY_WORD]
    verb: Verb = EVENT_VERBS[code] if code in EVENT_VERBS else spoken[0] if spoken else "unknown"
    if level == "SAFE":
        return verb if verb in READ_VERBS else "read" if answers else "view"
    return "unknown" if verb in READ_VERBS else verb


def request_verb(event: Event, level: Level, *, answers: bool) -> Verb:
    """Return what a request does that needs `level`, by the tables of its app or as planned."""
    if event.code == _ACTIVATE and level != "SAFE":
        return "start"
    if event.op == "command":
        return command_verb(event.code, event.command, level, answers=answers)
    verb = _BY_OP.get(event.op, "read")
    return "view" if level == "SAFE" and verb == "change" else verb


class Consequence(NamedTuple):
    """What a value of a call brings about beyond its command.

    Attributes:
        verb: What is done by it.
        cause: Which rule says so: `to-trash`, `moved`, `marks-deleted`, `link`, `formula`, `code`,
            `later`, `pressed`, `service`.
        evidence: The value or the name that the rule found.
        name: The property that holds it, in words; empty where it is none.
    """

    verb: Verb
    cause: str
    evidence: str
    name: str = ""


class Deed(NamedTuple):
    """A call, or a statement of a script, as far as it is known what it is given.

    Attributes:
        verb: What its command does.
        command: Its name in words; empty where it is an operation.
        kind: The class that it makes, or of what it is done to, as a term; may be empty.
        fields: The properties that it gives a value: the name in words, and the value; None for an
            object, or for one that is not written out.
        direct: The texts and paths that it is given without a name.
        trash: The trash that it moves something to, by its name; empty for none.
        is_move: Whether it moves or copies.
        pressed: The titles of what it presses, and the keys, as `command+q`.
        named: The names of the parameters that it is given.
    """

    verb: Verb
    command: str = ""
    kind: str = ""
    fields: Sequence[tuple[str, str | bool | float | None]] = ()
    direct: Sequence[str] = ()
    trash: str = ""
    is_move: bool = False
    pressed: Sequence[str] = ()
    named: Sequence[str] = ()


def find_consequences(deed: Deed) -> Iterator[Consequence]:
    """Yield what the values of a deed bring about beyond its command."""
    if deed.trash and deed.is_move:
        yield Consequence("delete", "to-trash", deed.trash)
    loads = deed.kind.rpartition(" ")[2] in LOADING_CLASSES
    for name, value in deed.fields:
        if name in HOLDERS and value is None:
            moved = Consequence("move", "moved", "", name)
            yield Consequence("delete", "to-trash", deed.trash, name) if deed.trash else moved
        elif found := property_consequence(name, value):
            yield found
        if loads and URL_NAME.search(name):
            yield Consequence("open", "link", str(value), name)
            # What is not written out may be any address.
            does: Verb = link_verb(value) if isinstance(value, str) else "unknown"
            if does != "open":
                yield Consequence(does, "link", str(value), name)
    for text in deed.direct if deed.verb == "open" else ():
        path = text if text.startswith("/") else f"/{text}"
        yield Consequence("run" if is_executable(path) else link_verb(text), "link", text)
    if deed.verb == "create" and _ACTS_LATER.search(deed.kind):
        yield Consequence("install", "later", deed.kind)
    for title in deed.pressed:
        if pressed := typed_verb(title) if "+" in title else pressed_verb(title):
            yield Consequence(pressed, "pressed", title)
    if deed.verb == "unknown" and (said := _find_service(deed)):
        yield Consequence("send", "service", said)


def combine_verbs(deed: Deed, consequences: Iterable[Consequence]) -> tuple[Verb, ...]:
    """Return all that a deed does: what it brings about, and its own verb where that says more."""
    found = list(consequences)
    known = {row.name for row in found}
    more = deed.verb == "change" and any(name not in known for name, _ in deed.fields)
    own: list[Verb] = [deed.verb] if more or deed.verb == "create" or not found else []
    return tuple(dict.fromkeys((*own, *(row.verb for row in found))))


HOLDERS: Final = frozenset("mailbox folder container playlist list calendar group".split())
"""Properties of an object that hold what it lies in."""

DANGEROUS_CAUSES: Final = {
    "to-trash": "Anything moved to {} is thrown away.",
    "marks-deleted": "Setting {} deletes it.",
    "code": "What {} holds runs later by itself.",
    "formula": "The formula {} asks the web or another program.",
}
"""Causes that make a call DANGEROUS, whatever its command needs, and what a person is told."""

_MARKS: Final = re.compile(r"\b(?:deleted|trashed|discarded|in trash)(?: status| flag)?\Z")
_FALSE: Final = ("", "0", "false", "no", "none")
_CODE: Final = re.compile(r"\b(?:scripts?|java ?script|apple ?script|macro|command)\Z")
_FETCHES: Final = re.compile(
    r"\A\s*=.*\b(?:image|webservice|filterxml|import(?:xml|html|data|feed|range)|stock|stockh"
    r"|currency|currencyh|currencyconvert|rtd|dde|call|register\.id|sql\.request)\s*\(|\A\s*[=+@-]\s*\w+\|'",
    re.IGNORECASE | re.DOTALL,
)
"""Formulas that ask the web or another program: of Numbers, Excel and others."""


def property_consequence(name: str, value: object) -> Consequence | None:
    """Return what setting a property brings about, by its name in words and its value."""
    text = "?" if value is None else str(value)
    if _MARKS.search(name):
        marks = text.strip().lower() not in _FALSE
        return Consequence("delete", "marks-deleted", name, name) if marks else None
    if _CODE.search(name) and not isinstance(value, bool) and text.strip():
        return Consequence("run", "code", name, name)
    if isinstance(value, str) and _FETCHES.search(value):
        return Consequence("run", "formula", value, name)
    return None


URL_NAME: Final = re.compile(
    r"\b(url|uri|link|href|web ?site|web ?page|home ?page|webloc|address of page)\b"
)
"""Names of properties and parameters that hold an address of the web."""

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def link_scheme(text: str) -> str:
    """Return the scheme of a text that has the form of an address, in lower case; else nothing."""
    plain = text.strip()
    scheme = None if re.search(r"\s", plain) else _SCHEME.match(plain)
    name = scheme.group()[:-1].lower() if scheme else ""
    known = name in _BY_SCHEME or name.startswith("x-apple")
    return name if scheme and (known or plain.startswith("//", scheme.end())) else ""


def link_verb(url: str) -> Verb:
    """Return what opening an address does: it opens a page or a file, or runs something.

    An address without a known scheme is a page. One of an app's own scheme tells that app to act.
    """
    plain = "".join(visible_text(url).split())
    scheme = _SCHEME.match(plain)
    if scheme is None:
        return "open"
    name = scheme.group()[:-1].lower()
    other: Verb = "open" if "." in name or name == "localhost" else "run"
    if name == "file":
        return "run" if is_executable((parse_file_url(plain) or "").rstrip("/")) else "open"
    # A host with its port has the form of a scheme.
    return _BY_SCHEME.get(name, other)


def is_trash_name(name: str) -> bool:
    """Say whether a folder or a mailbox of this name throws away what is put into it."""
    return mailbox_role(name) in DISCARD_ROLES


_ACTS_LATER: Final = re.compile(
    r"\b(?:login item|folder action|launch agent|launch daemon|workflow)\Z"
)
_TO_MODEL: Final = re.compile(
    r"\b(?:prompt|model|engine|temperature|chat|conversation|completion|(?:target|source)"
    r" language)\b"
)
_ASKS_MODEL: Final = re.compile(r"\b(?:chat|gpt|llm|ai|translate|translation|completion)\b")


def _find_service(deed: Deed) -> str:
    """Return what says that a command hands its text to a model or a service; else nothing."""
    if _ASKS_MODEL.search(deed.command):
        return deed.command
    return next((name for name in deed.named if _TO_MODEL.search(name)), "")
