"""Read: App Intents metadata becomes a `Dictionary`: actions are commands, entities are classes.

Identifiers are the codes, character for character; their words are the terms. The file can be
forged: what has no plain identifier costs itself, a kind or a number that nobody knows becomes
`any`, and each is told. Shapes: docs/intents.md.
"""

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

from iac_base.words import split_name
from iac_gen import model
from iac_gen.limits import MAX_BYTES, LimitError, read_file
from iac_gen.load import LoadError
from iac_gen.merge import APPLICATION
from iac_gen.model import Diagnostic, Dictionary, IntentFacts, Severity, TypeRef
from iac_gen.naming import unique
from iac_gen.text import MAX_ENUMERATOR, on_one_line, screened
from iac_runtime.types import SPELLINGS, TYPES

Table: TypeAlias = Mapping[str, Any]
Words: TypeAlias = Mapping[tuple[str, str], str]
"""(table, key) -> the text that a person reads."""

KINDS: Final[Table] = tomllib.loads((files("iac_gen.intents") / "kinds.toml").read_text("utf-8"))
MAX_ITEMS: Final = 20_000
"""Actions, parameters, values and properties of one app; all of a Mac together have fewer."""

_PROTOCOL: Final = "com.apple.link.systemProtocol."
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")
_CASE: Final = re.compile(r"[!-~](?:[ -~]{0,126}[!-~])?")
# A key of a table of strings, and not words: `CREATE_FOLDER_TITLE`.
_KEY: Final = re.compile(r"[A-Z0-9]+([_.-][A-Z0-9]+)+")
_FOREGROUND: Final = 2 | 8
_SAID: Final = 500
"""Characters that are kept of one text of the app."""


class Part(NamedTuple):
    """A file of metadata. `owner` is the app that it belongs to, empty where nobody knows."""

    file: str
    content: bytes
    owner: str = ""


def part_of(path: Path, owner: str = "") -> Part:
    """Return the file at `path`. Raises LoadError: it cannot be read."""
    try:
        return Part(str(path), read_file(path), owner)
    except LimitError as error:
        raise LoadError(Diagnostic(str(path), 0, error.code, str(error), "error")) from None


def read_intents(
    parts: Sequence[Part], owner: str = "", words: Words | None = None
) -> tuple[Dictionary, list[Diagnostic]]:
    """Return the intents of one app: those of its own files, and of others those that name it.

    Copies in extensions merge with the app's by their identifier; the first one counts. `words`
    resolve the titles that are keys.

    Raises:
        LoadError: A file is no JSON, too large, or holds no such metadata.
    """
    reader = _Reader(parts[0].file, words or {})
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.content)
        reader.take(part, owner)
    dictionary = Dictionary(parts[0].file, digest.hexdigest(), "", (reader.suite(),))
    clean, removed = screened(dictionary)
    return clean, [*reader.found, *removed]


def attributed(content: bytes) -> set[str]:
    """Return the bundle ids to which the actions of a file are attributed; none for no such file.

    An empty id stands for the app that the file lies in.
    """
    try:
        data = _json(content, "")
    except LoadError:
        return set()
    actions = _table(data.get("actions")).values()
    return {_text(_table(row), "attributionBundleIdentifier") for row in actions}


def _json(content: bytes, file: str) -> Table:
    def fail(code: str, message: str) -> NoReturn:
        raise LoadError(Diagnostic(file, 0, code, message, "error"))

    if len(content) > MAX_BYTES:
        fail("size", f"is {len(content)} bytes; {MAX_BYTES} are the limit")
    try:
        data = json.loads(content.decode("utf-8"))
    except RecursionError:
        fail("json", "is nested too deeply")
    except UnicodeDecodeError as error:
        fail("read", f"cannot be read: {error.reason}")
    except ValueError as error:
        fail("json", f"is no JSON: {on_one_line(str(error), 80)}")
    if not isinstance(data, dict) or not isinstance(data.get("actions"), dict):
        fail("format", "holds no App Intents metadata: it has no actions")
    return data


def _table(value: Any) -> Table:
    return value if isinstance(value, dict) else {}


def _rows(value: Any) -> list[Table]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _text(row: Table, key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _pairs(value: Any) -> dict[str, Any]:
    """Return a flat list of keys and values as a mapping."""
    flat = value if isinstance(value, list) else []
    both = zip(flat[::2], flat[1::2], strict=False)
    return {key: item for key, item in both if isinstance(key, str)}


def _constant(value: Any) -> Any:
    """Return the constant in `{"int": {"wrapper": 1}}`; None for none."""
    held = _table(next(iter(_table(value).values()), None)).get("wrapper")
    if isinstance(held, int | float) and not (abs(held) < 2**53 and math.isfinite(held)):
        return None
    return held if isinstance(held, bool | int | float | str) else None


def term_of(identifier: str, what: str = "") -> str:
    """Return the words of an identifier, without those that only say `what` it is."""
    whole = " ".join(split_name(identifier.rpartition(".")[2])) or identifier.lower()
    for ending in KINDS["endings"].get(what, ()):
        if (rest := whole.removesuffix(f" {ending}")) != whole:
            return rest
    return whole


class _Reader:
    """Takes the files of an app one after the other, then makes the suite."""

    def __init__(self, file: str, words: Words) -> None:
        self.found: list[Diagnostic] = []
        self._file, self._words = file, words
        self._actions: dict[str, Table] = {}
        self._entities: dict[str, Table] = {}
        self._enums: dict[str, Table] = {}
        self._queries: list[Table] = []
        self._phrases: dict[str, list[Table]] = {}
        self._terms: dict[tuple[str, str], str] = {}
        self._taken: tuple[set[str], set[str]] = (set(), set())
        self._records: set[str] = set()
        self._room = MAX_ITEMS

    def take(self, part: Part, owner: str) -> None:
        """Take what a file has for the app `owner`; all of it where nobody is named."""
        data = _json(part.content, part.file)
        for key, row in data["actions"].items():
            whose = _text(_table(row), "attributionBundleIdentifier") or part.owner
            if part.owner and owner and whose != owner:
                continue
            if self._plain(key, "action"):
                if key in self._actions and self._actions[key].get("parameters") != _table(row).get(
                    "parameters"
                ):
                    self._tell("copy", f"action {key} has other parameters in another file")
                self._actions.setdefault(key, _table(row))
        for key, row in _table(data.get("entities")).items():
            if self._plain(key, "entity"):
                self._entities.setdefault(key, _table(row))
        for row in _rows(data.get("enums")):
            if self._plain(name := _text(row, "identifier"), "enumeration"):
                self._enums.setdefault(name, row)
        self._queries += map(_table, _table(data.get("queries")).values())
        for row in _rows(data.get("autoShortcuts")):
            self._phrases.setdefault(_text(row, "actionIdentifier"), []).append(row)

    def suite(self) -> model.Suite:
        """Return everything that was taken."""
        # First the names that types refer to, so that no order of a file decides them.
        for what, rows in (("entity", self._entities), ("enum", self._enums)):
            for key in sorted(rows):
                self._term(what, key)
        enums = [self._enumeration(key, row) for key, row in sorted(self._enums.items())]
        commands = [self._command(key, row) for key, row in sorted(self._actions.items())]
        classes = [self._class(key, row) for key, row in sorted(self._entities.items())]
        known = {*self._entities}
        elsewhere = [key for what, key in self._terms if what == "entity" and key not in known]
        classes += [model.SdefClass(self._terms["entity", key], key) for key in elsewhere]
        lasting = [
            row.name
            for row in classes
            if _table(self._entities.get(row.code)).get("transient") is not True
        ]
        application = model.SdefClass(
            APPLICATION,
            "capp",
            elements=tuple(model.SdefElement(name, "r") for name in sorted(lasting)),
        )
        records = [self._record(name) for name in sorted(self._records)]
        items = (application, *classes, *enums, *records, *commands)
        return model.Suite("App Intents", "intn", items=items)

    def _tell(self, code: str, message: str, level: Severity = "note") -> None:
        self.found.append(Diagnostic(self._file, 0, code, message, level))

    def _plain(self, name: str, what: str) -> bool:
        """Say whether an identifier is one, and whether there is room for what it names."""
        if _IDENTIFIER.fullmatch(name) is None:
            shown = on_one_line(ascii(name), 60)
            self._tell("name", f"{what} {shown} has no plain identifier; it is left out", "error")
            return False
        self._room -= 1
        if self._room == 0:
            self._tell("count", f"has more than {MAX_ITEMS} items; the rest is left out", "error")
        return self._room > 0

    def _term(self, what: str, key: str) -> str:
        """Return the term of an action, an entity or an enumeration; each has its own."""
        if (what, key) not in self._terms:
            term = term_of(key, what)
            if term in (*TYPES, *SPELLINGS, *KINDS["records"], APPLICATION):
                term = f"{term} {what}"
            taken = self._taken[what == "action"]
            found = unique(term.replace(" ", "_"), taken)
            taken.add(found)
            self._terms[what, key] = found.replace("_", " ")
        return self._terms[what, key]

    def _said(self, value: Any) -> str:
        """Return the text of a title or a description; empty where only its key is known."""
        row = _table(value)
        key = _text(row, "key")
        text = self._words.get((_text(row, "table") or "Localizable", key)) or key
        if text == key and _KEY.fullmatch(key):
            text = _text(row, "defaultValue")
        return " ".join(text.split())[:_SAID]

    def _types(self, value: Any, where: str) -> tuple[TypeRef, ...]:
        """Return a value type; one that nobody knows is `any`, and is told."""
        kind, wrapped = next(iter(_table(value).items()), ("", None))
        held = _table(_table(wrapped).get("wrapper"))
        if kind == "array":
            inner = self._types(held.get("memberValueType"), where)
            return (TypeRef("", True, items=inner),)
        name = self._named(kind, held)
        if name is None:
            text = f"{where} has a type that nobody knows: {on_one_line(ascii(kind), 40)}"
            code = held.get("typeIdentifier")
            known = f" {code}" if isinstance(code, int) and abs(code) < 1000 else ""
            self._tell("unknown-kind", f"{text}{known}; any value goes", "warning")
            return (TypeRef("any"),)
        if name in KINDS["records"]:
            self._records.add(name)
        elif name[:1].isupper():
            name = self._term("entity", name)
        return (TypeRef(name),)

    def _named(self, kind: str, held: Table) -> str | None:
        """Return our type, or the identifier of an entity of the system's; None for unknown."""
        if kind in ("primitive", "intents"):
            code = held.get("typeIdentifier")
            # True is no 1 here.
            return KINDS[kind].get(str(code)) if type(code) is int else None
        if kind == "measurement":
            return str(KINDS[kind].get(str(held.get("unitType")), "measurement"))
        if kind == "entity":
            name = _text(held, "typeName")
            if name in KINDS["values"]:
                return str(KINDS["values"][name])
            known = name in self._entities or _IDENTIFIER.fullmatch(name) is not None
            return self._term("entity", name) if known else None
        if kind == "linkEnumeration":
            name = _text(held, "identifier")
            if name in self._enums:
                return self._term("enum", name)
            # A value is stored as the identifier of its case, whoever declares the cases.
            return "text" if _IDENTIFIER.fullmatch(name) else None
        return None

    def _enumeration(self, key: str, row: Table) -> model.Enumeration:
        values = []
        for case in _rows(row.get("cases")):
            name = _text(case, "identifier")
            if _CASE.fullmatch(name) is None:
                shown = on_one_line(ascii(name), 60)
                text = f"a case of {key} has no plain identifier: {shown}; it is left out"
                self._tell("name", text, "error")
                continue
            said = self._said(_table(case.get("displayRepresentation")).get("title"))
            values.append(model.Enumerator(name, name, description=said))
        said = self._said(row.get("displayTypeName"))
        return model.Enumeration(
            self._term("enum", key), key, description=said, enumerators=tuple(values)
        )

    def _class(self, key: str, row: Table) -> model.SdefClass:
        rows = []
        for prop in _rows(row.get("properties")):
            name = _text(prop, "identifier")
            if self._plain(name, f"a property of {key}"):
                kinds = self._types(prop.get("valueType"), f"property {name} of {key}")
                said = self._said(prop.get("title"))
                rows.append(model.SdefProperty(term_of(name), name, kinds, "r", description=said))
        asked = [self._said(one) for one in self._asked(key)]
        said = ". ".join(filter(None, (self._said(row.get("displayTypeName")), *asked)))
        return model.SdefClass(
            self._term("entity", key), key, properties=tuple(rows), description=said
        )

    def _asked(self, key: str) -> Iterator[Any]:
        """Yield the titles of what the queries of an entity look for."""
        for query in self._queries:
            if _text(query, "entityType") == key:
                yield from (one.get("localizedTitle") for one in _rows(query.get("parameters")))

    @staticmethod
    def _record(name: str) -> model.RecordType:
        fields = KINDS["records"][name].items()
        rows = (model.SdefProperty(key, key, (TypeRef(kind),)) for key, kind in fields)
        return model.RecordType(name, name, properties=tuple(rows))

    def _command(self, key: str, row: Table) -> model.SdefCommand:
        parameters: list[model.SdefParameter] = []
        for one in _rows(row.get("parameters")):
            if self._plain(_text(one, "name"), f"a parameter of {key}"):
                parameters.append(self._parameter(key, one))
        answer = row.get("outputType")
        result = self._types(answer, f"the answer of {key}") if answer else None
        protocols = [one.removeprefix(_PROTOCOL) for one in _texts(row.get("systemProtocols"))]
        known = [one for one in protocols if _IDENTIFIER.fullmatch(one)]
        facts = IntentFacts(
            type=_identifier(_text(row, "fullyQualifiedTypeName")),
            protocols=tuple(sorted({*known})),
            schemas=tuple(sorted(_schemas(row))),
            needs=tuple(sorted(_needs(row))),
            opens=_opens(row),
            calls=self._calls(parameters),
            left_out=_left_out(row, known),
        )
        if facts.left_out:
            self._tell("left-out", f"action {key}: {facts.left_out}; no tool is made of it")
        if row.get("deprecationMetadata"):
            self._tell("deprecated", f"action {key} is deprecated")
        return model.SdefCommand(
            self._term("action", key),
            key,
            hidden=bool(facts.left_out),
            description=self._told(key, row),
            parameters=tuple(parameters),
            result=result,
            intent=facts,
        )

    def _told(self, key: str, row: Table) -> str:
        """Return what the app says of an action: title, description, summary, phrases, words."""
        about = _table(row.get("descriptionMetadata"))
        texts = [self._said(row.get("title")), self._said(about.get("descriptionText"))]
        texts += [" ".join(re.sub(r"\$\{|\}", "", one).split()) for one in _summaries(row)]
        for shortcut in self._phrases.get(key, ()):
            texts += [self._said(shortcut.get("shortTitle"))]
            for phrase in _rows(shortcut.get("phraseTemplates")):
                texts.append(re.sub(r" *\$\{[^}]*\} *", " ", self._said(phrase)).strip())
        texts += map(self._said, _rows(about.get("searchKeywords")))
        kept = dict.fromkeys(text.rstrip(".") for text in texts if text)
        return ". ".join(kept)[: 4 * _SAID]

    def _parameter(self, owner: str, row: Table) -> model.SdefParameter:
        name = _text(row, "name")
        kinds = self._types(row.get("valueType"), f"parameter {name} of {owner}")
        more = _pairs(row.get("typeSpecificMetadata"))
        default = _constant(more.get("LNValueTypeSpecificMetadataKeyDefaultValue"))
        flag = kinds == (TypeRef("boolean"),)
        stated = ("false", "true")[bool(default)] if flag else str(default)
        if default is None or len(stated) > MAX_ENUMERATOR:
            stated = ""
        said = self._said(row.get("parameterDescription")) or self._said(row.get("title"))
        return model.SdefParameter(
            term_of(name),
            name,
            kinds,
            row.get("isOptional") is True or default is not None,
            stated,
            _number(more.get("LNValueTypeMetadataKeyNumberLowerBound")),
            _number(more.get("LNValueTypeMetadataKeyNumberUpperBound")),
            row.get("dynamicOptionsSupport") in (1, 2),
            description=said,
        )

    def _calls(self, parameters: Sequence[model.SdefParameter]) -> model.Calls:
        """Return what a call needs at least: what is optional needs nothing."""
        held = {one for row in parameters if not row.optional for one in _leaves(row.types)}
        if "any" in held:
            return "unsupported"
        entities = {term for (what, _), term in self._terms.items() if what == "entity"}
        return "entity" if held & entities else "simple"


def _leaves(types: Sequence[TypeRef]) -> Iterator[str]:
    for one in types:
        yield from _leaves(one.items) if one.items else (one.name,)


def _identifier(text: str) -> str:
    return text if _IDENTIFIER.fullmatch(text) else ""


def _number(value: Any) -> float | None:
    found = _constant(value)
    return float(found) if type(found) in (int, float) else None


def _summaries(row: Table) -> Iterator[str]:
    """Yield the sentences in the tree of a parameter summary, each once."""
    todo: list[Any] = [row.get("actionConfiguration")]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            if text := _text(one, "formatString"):
                yield text[:_SAID]
            todo += one.values()
        elif isinstance(one, list):
            todo += one


def _schemas(row: Table) -> Iterator[str]:
    for one in _rows(row.get("assistantDefinedSchemas")):
        name = f"{_text(one, 'domain')}.{_text(one, 'name')}"
        if _IDENTIFIER.fullmatch(name):
            yield name


def _needs(row: Table) -> Iterator[str]:
    for one in _rows(row.get("requiredCapabilities")):
        yield on_one_line(f"{_text(one, 'domain')} {_text(one, 'key')}", 120)


def _opens(row: Table) -> bool:
    modes = row.get("supportedModes")
    return row.get("openAppWhenRun") is True or (
        type(modes) is int and 0 <= modes < 2**32 and bool(modes & _FOREGROUND)
    )


def _left_out(row: Table, protocols: Sequence[str]) -> str:
    """Return why no tool is made of an action; empty where one is."""
    for protocol in protocols:
        if protocol in KINDS["no_tool"]:
            return str(KINDS["no_tool"][protocol])
    platforms = _table(row.get("availabilityAnnotations")).keys()
    if platforms and not platforms & {"LNPlatformNameWildcard", "LNPlatformNameMACOS"}:
        return "it is not for macOS"
    shown = _table(row.get("visibilityMetadata"))
    if shown.get("assistantOnly") is True:
        return "it is for the assistant alone"
    if row.get("isDiscoverable") is False or shown.get("isDiscoverable") is False:
        return "it is not offered to people"
    return ""
