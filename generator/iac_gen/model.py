"""A dictionary as it is written: terms and codes unchanged, order kept.

Shapes follow sdef(5). `load_dictionary` and `snapshot` make these values, `resolve_dictionary`
merges them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args


class GeneratorError(Exception):
    """What was asked for cannot be done; the text is one line for the user."""


Access: TypeAlias = Literal["r", "w", "rw"]
Kind: TypeAlias = Literal["application", "addition", "intents"]
"""Whose terms they are: an app's, a scripting addition's, or those of an app's intents."""


def is_code(code: str, size: int) -> bool:
    """Say whether `code` is `size` characters of MacRoman."""
    try:
        return len(code.encode("mac_roman")) == size
    except UnicodeEncodeError:
        return False


@dataclass(frozen=True, slots=True)
class TypeRef:
    """One alternative of a type: `name` as written, or a list of `items` where it is nested."""

    name: str
    list: bool = False
    hidden: bool = False
    items: tuple["TypeRef", ...] = ()


@dataclass(frozen=True, slots=True)
class Synonym:
    """Another name, another code, or both."""

    name: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Described:
    """What every suite and every term with a code has."""

    name: str
    code: str
    hidden: bool = field(default=False, kw_only=True)
    description: str = field(default="", kw_only=True)
    line: int = field(default=0, kw_only=True)


@dataclass(frozen=True, slots=True)
class SdefParameter(Described):
    """A parameter of a command; the direct one has an empty `name`.

    `default` is the value that its description states, where only facts are kept of that.
    """

    types: tuple[TypeRef, ...]
    optional: bool = False
    default: str = ""
    minimum: float | None = None
    maximum: float | None = None
    offered: bool = False
    """An App Intent's: the app offers the values, so that it is no free text."""


Calls: TypeAlias = Literal["simple", "entity", "unsupported"]


@dataclass(frozen=True, slots=True)
class IntentFacts:
    """What App Intents metadata says of an action beyond what a command has.

    `type` is its Swift type, `protocols` the system's without their prefix, `schemas` the
    assistant's (`reader.DeletePages`). `opens` says that the app comes to the front. `calls` is
    what a call needs: plain values, an entity of the app, or a value of a type that nobody knows.
    `left_out` says why it is no tool, `said` the level of the app's words where those are gone.
    """

    type: str = ""
    protocols: tuple[str, ...] = ()
    schemas: tuple[str, ...] = ()
    opens: bool = False
    calls: Calls = "simple"
    left_out: str = ""
    said: Literal["", "MODIFY", "DANGEROUS"] = ""


@dataclass(frozen=True, slots=True)
class SdefCommand(Described):
    """A command, or with `event` an event that the app sends and nobody calls."""

    id: str = ""
    direct: SdefParameter | None = None
    parameters: tuple[SdefParameter, ...] = ()
    result: tuple[TypeRef, ...] | None = None
    event: bool = False
    synonyms: tuple[Synonym, ...] = ()
    access_groups: tuple[str, ...] = ()
    intent: IntentFacts | None = None


@dataclass(frozen=True, slots=True)
class SdefProperty(Described):
    """A property of a class, a field of a record, or with `contents` what a class contains."""

    types: tuple[TypeRef, ...]
    access: Access = "rw"
    contents: bool = False
    synonyms: tuple[Synonym, ...] = ()
    access_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SdefElement:
    """A class of objects that the owner contains, named as written (a name, an id or a code)."""

    type: str
    access: Access = "rw"
    hidden: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class SdefClass(Described):
    """A class, or with `extends` a class-extension (`name` is then empty)."""

    id: str = ""
    plural: str = ""
    inherits: str = ""
    extends: str = ""
    properties: tuple[SdefProperty, ...] = ()
    elements: tuple[SdefElement, ...] = ()
    responds_to: tuple[str, ...] = ()
    values: tuple[TypeRef, ...] = ()
    synonyms: tuple[Synonym, ...] = ()


@dataclass(frozen=True, slots=True)
class Enumerator(Described):
    """A value of an enumeration."""

    synonyms: tuple[Synonym, ...] = ()


@dataclass(frozen=True, slots=True)
class Enumeration(Described):
    """A closed set of values."""

    id: str = ""
    enumerators: tuple[Enumerator, ...] = ()
    synonyms: tuple[Synonym, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordType(Described):
    """A record with named fields."""

    id: str = ""
    properties: tuple[SdefProperty, ...] = ()


@dataclass(frozen=True, slots=True)
class ValueType(Described):
    """A simple type known by its code alone."""

    id: str = ""
    synonyms: tuple[Synonym, ...] = ()


@dataclass(frozen=True, slots=True)
class Include:
    """An `xi:include`, unexpanded."""

    href: str
    xpointer: str = ""
    line: int = 0


Declaration: TypeAlias = SdefCommand | SdefClass | Enumeration | RecordType | ValueType
Item: TypeAlias = Declaration | Include


@dataclass(frozen=True, slots=True)
class Suite(Described):
    """A suite and what it declares, in order."""

    items: tuple[Item, ...] = ()


Term: TypeAlias = Declaration | Enumerator | SdefElement | SdefParameter | SdefProperty
Part: TypeAlias = Term | Include | Suite
"""What has a line of its own in a dictionary."""

KINDS: Final[Mapping[type[Part], str]] = {
    kind: re.sub(r"\B(?=[A-Z])", " ", kind.__name__.removeprefix("Sdef")).lower()
    for kind in get_args(Part)
}
"""What sdef(5) calls each, in words: `command`, `record type`."""


class _Inheriting(Protocol):
    @property
    def inherits(self) -> str | None: ...


def class_lineage(name: str, rows: Mapping[str, _Inheriting]) -> Iterator[str]:
    """Yield a class and what it inherits from, as far as it is declared; each once."""
    seen: set[str] = set()
    while name in rows and name not in seen:
        yield name
        seen.add(name)
        name = rows[name].inherits or ""


Find: TypeAlias = Callable[[str], str]
"""A name, id, synonym or code -> the term that it means, `""` for none."""


def make_finder(rows: Iterable[SdefClass | Enumeration | RecordType | ValueType]) -> Find:
    """Return how to find a row: by name, id, synonym, name in other case, code, in that order.

    A synonym may give a name, a code or both (sdef(5)); terms are compared without case, as
    AppleScript does.
    """
    known = {row.name: row for row in rows}
    exact = {name: name for name in known}
    loose = {name.lower(): name for name in reversed(known)}
    coded = {row.code: name for name, row in reversed(known.items())}
    for spelling, name in {row.id: name for name, row in known.items() if row.id}.items():
        exact.setdefault(spelling, name)
    for name, row in known.items():
        for synonym in getattr(row, "synonyms", ()):
            if synonym.name:
                exact.setdefault(synonym.name, name)
            if synonym.code:
                coded.setdefault(synonym.code, name)

    def find_row(term: str) -> str:
        name = exact.get(term) or loose.get(term.lower())
        # A code that ends in blanks has lost them as an attribute with blanks around it.
        return name or (coded.get(term.ljust(4), "") if len(term) <= 4 else "")

    return find_row


@dataclass(frozen=True, slots=True)
class Dictionary:
    """A whole dictionary. `digest` is the sha256 of the file's bytes, in hex."""

    file: str
    digest: str
    title: str = ""
    suites: tuple[Suite | Include, ...] = ()

    def declared_items(self) -> Iterator[Item]:
        """Yield the items of all suites in order; includes of whole suites are not among them."""
        for suite in self.suites:
            if isinstance(suite, Suite):
                yield from suite.items

    def own_items(self) -> Iterator[Declaration]:
        """Yield what the file itself declares, in order; what a hidden suite holds is hidden."""
        for suite in self.suites:
            if isinstance(suite, Suite):
                for item in suite.items:
                    if not isinstance(item, Include):
                        yield replace(item, hidden=True) if suite.hidden else item


def with_field(value: Any, name: str, new: object) -> Any:
    """Return `value` with the field `name` of everything in it as `new`."""
    if isinstance(value, tuple):
        return tuple(with_field(item, name, new) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {}
    for one in fields(value):
        old = getattr(value, one.name)
        now = new if one.name == name else with_field(old, name, new)
        if now is not old:
            changed[one.name] = now
    return replace(value, **changed) if changed else value


def source_identity(bundle_id: str, kind: Kind) -> str:
    """Return what tells the sources of all apps apart."""
    return f"{bundle_id}/intents" if kind == "intents" else bundle_id


@dataclass(frozen=True, slots=True)
class Source:
    """A dictionary and the app that it belongs to.

    `stem` is the file name of the bundle or dictionary without suffix; `id` the bundle id,
    `local.<key>` where none is known. An app's intents are a second source of it, of the kind
    `intents`.
    """

    dictionary: Dictionary
    name: str
    id: str
    stem: str
    version: str = ""
    kind: Kind = "application"
    known: bool = True

    @property
    def identity(self) -> str:
        """What the lock binds a key to, and a file of quirks names: an app may have two sources."""
        return source_identity(self.id, self.kind)

    @property
    def digest(self) -> str:
        """The sha256 of the dictionary's file, in hex."""
        return self.dictionary.digest


Severity = Literal["note", "warning", "error"]
UNFORESEEN: Final = "unforeseen"
"""The code of what an error that nobody foresaw cost: a part of a dictionary, else its app."""


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """One finding: an `error` cost something (an item or a file), a `warning` may have.

    `line` is 1-based, 0 where the input has no lines. `code` is a stable short name.
    """

    file: str
    line: int
    code: str
    message: str
    level: Severity = "warning"

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.level}: {self.message} [{self.code}]"
