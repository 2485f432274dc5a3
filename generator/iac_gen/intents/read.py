"""Read: App Intents metadata becomes a `Dictionary`: actions are commands, entities are classes.

Identifiers are the codes, character for character; their words are the terms. The file can be
forged: what has no plain identifier costs itself, a kind or a number that nobody knows becomes
`any`, and each is told. Shapes: docs/intents.md.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from iac_base.words import split_name
from iac_gen import model
from iac_gen.intents import facts
from iac_gen.limits import LimitError, read_file
from iac_gen.load import LoadError
from iac_gen.merge import APPLICATION
from iac_gen.model import Diagnostic, Dictionary, IntentFacts, Severity, TypeRef
from iac_gen.naming import unique
from iac_gen.phrases import plural_noun
from iac_gen.text import MAX_ENUMERATOR, on_one_line, screened
from iac_runtime.types import SPELLINGS, TYPES

Words: TypeAlias = Callable[[str, str], str]
"""(table, key) -> the text that a person reads, empty where there is none.

Without a table the key is the identifier of an action.
"""

MAX_ITEMS: Final = 20_000
"""Actions, parameters, values and properties of one app; all of a Mac together have fewer."""

_PROTOCOL: Final = "com.apple.link.systemProtocol."
FILE: Final = "extract.actionsdata"
_FORMAT: Final = "3.0"
"""Of every file that was read, from Xcode 15.2 to 27.2."""
_DEEPEST: Final = 4
"""Lists in lists; real files have a list of values."""
_CASE: Final = re.compile(r"[!-~](?:[ -~]{0,126}[!-~])?")
# A key of a table of strings, and not words: `CREATE_FOLDER_TITLE`.
_KEY: Final = re.compile(r"[A-Z0-9]+([_.-][A-Z0-9]+)+")


def _no_words(_table: str, _key: str) -> str:
    return ""


class MetadataPart(NamedTuple):
    """A file of metadata. `owner` is the app that it belongs to, `format` what version.json says.

    Each is empty where nobody knows.
    """

    file: str
    content: bytes
    owner: str = ""
    format: str = ""


def part_of(path: Path, owner: str = "") -> MetadataPart:
    """Return the file at `path`. Raises LoadError: it cannot be read."""
    try:
        content = read_file(path)
    except LimitError as error:
        raise LoadError(Diagnostic(str(path), 0, error.code, str(error), "error")) from None
    beside = path.with_name("version.json")
    said = facts.read_plain(beside) if path.name == FILE else {}
    return MetadataPart(str(path), content, owner, facts.text(said, "version"))


def read_intents(
    parts: Sequence[MetadataPart], owner: str = "", words: Words | None = None
) -> tuple[Dictionary, list[Diagnostic]]:
    """Return the intents of one app: those of its own files, and of others those that name it.

    Copies in extensions merge with the app's by their identifier; the first one counts. `words`
    resolve the titles that are keys.

    Raises:
        LoadError: A file is no JSON, too large, or holds no such metadata.
    """
    reader = _Reader(parts[0].file, words or _no_words)
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.content)
        reader.take(part, owner)
    dictionary = Dictionary(parts[0].file, digest.hexdigest(), "", (reader.suite(),))
    clean, removed = screened(dictionary)
    return clean, [*reader.found, *removed]


def term_of(identifier: str, what: str = "") -> str:
    """Return the words of an identifier, without those that only say `what` it is."""
    whole = " ".join(split_name(identifier.rpartition(".")[2])) or identifier.lower()
    for ending in facts.KINDS["endings"].get(what, ()):
        if (rest := whole.removesuffix(f" {ending}")) != whole:
            return rest
    return whole


class _Reader:
    """Takes the files of an app one after the other, then makes the suite."""

    def __init__(self, file: str, words: Words) -> None:
        self.found: list[Diagnostic] = []
        self._file, self._words = file, words
        self._actions: dict[str, facts.Table] = {}
        self._entities: dict[str, facts.Table] = {}
        self._enums: dict[str, facts.Table] = {}
        self._queries: list[facts.Table] = []
        self._phrases: dict[str, list[facts.Table]] = {}
        self._terms: dict[tuple[str, str], str] = {}
        self._taken: tuple[set[str], set[str]] = (set(), set())
        self._records: set[str] = set()
        self._room = MAX_ITEMS

    def take(self, part: MetadataPart, owner: str) -> None:
        """Take what a file has for the app `owner`; all of it where nobody is named."""
        data = facts.read_json(part.content, part.file)
        if part.format not in ("", _FORMAT) or data.get("version", 1) != 1:
            shown = on_one_line(f"{part.format or data.get('version')}", 40)
            text = f"has the format {shown}, which is not known; what is known of it is read"
            self._tell("format", text, "warning")
        for key, row in data["actions"].items():
            named = facts.text(facts.table(row), "attributionBundleIdentifier")
            if owner and (facts.whose(named, part.owner, part.file) != owner):
                continue
            if self._plain(key, "action"):
                kept = self._actions.setdefault(key, facts.table(row))
                if kept.get("parameters") != facts.table(row).get("parameters"):
                    self._tell("copy", f"action {key} has other parameters in another file")
        for key, row in facts.table(data.get("entities")).items():
            if self._plain(key, "entity"):
                self._entities.setdefault(key, facts.table(row))
        for row in facts.rows(data.get("enums")):
            if self._plain(name := facts.text(row, "identifier"), "enumeration"):
                self._enums.setdefault(name, row)
        self._queries += map(facts.table, facts.table(data.get("queries")).values())
        for row in facts.rows(data.get("autoShortcuts")):
            self._phrases.setdefault(facts.text(row, "actionIdentifier"), []).append(row)

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
        classes += [self._class(key, {}) for key in elsewhere]
        lasting = [
            row.name
            for row in classes
            if facts.table(self._entities.get(row.code)).get("transient") is not True
        ]
        application = model.SdefClass(
            APPLICATION,
            "capp",
            elements=tuple(model.SdefElement(name, "r") for name in sorted(lasting)),
        )
        records = [self._record(name) for name in sorted(self._records)]
        items: tuple[model.Item, ...] = (application, *classes, *enums, *records, *commands)
        return model.Suite("App Intents", "intn", items=items)

    def _tell(self, code: str, message: str, level: Severity = "note") -> None:
        self.found.append(Diagnostic(self._file, 0, code, message, level))

    def _plain(self, name: str, what: str) -> bool:
        """Say whether an identifier is one, and whether there is room for what it names."""
        if facts.IDENTIFIER.fullmatch(name) is None:
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
            if term in (*TYPES, *SPELLINGS, *facts.KINDS["records"], APPLICATION):
                term = f"{term} {what}"
            taken = self._taken[what == "action"]
            found = unique(term.replace(" ", "_"), taken)
            taken.add(found)
            self._terms[what, key] = found.replace("_", " ")
        return self._terms[what, key]

    def _said(self, value: Any) -> str:
        """Return the text of a title or a description; empty where only its key is known."""
        row = facts.table(value)
        key = facts.text(row, "key")
        text = self._words(facts.text(row, "table") or "Localizable", key) or key
        if text == key and _KEY.fullmatch(key):
            text = facts.text(row, "defaultValue")
        return " ".join(text.split())[: facts.SAID]

    def _types(self, value: Any, where: str, depth: int = 0) -> tuple[TypeRef, ...]:
        """Return a value type; one that nobody knows is `any`, and is told."""
        kind, wrapped = next(iter(facts.table(value).items()), ("", None))
        held = facts.table(facts.table(wrapped).get("wrapper"))
        if kind == "array" and depth < _DEEPEST:
            inner = self._types(held.get("memberValueType"), where, depth + 1)
            return (TypeRef("", True, items=inner),)
        name = self._named(kind, held)
        if name is None:
            text = f"{where} has a type that nobody knows: {on_one_line(ascii(kind), 40)}"
            code = held.get("typeIdentifier")
            known = f" {code}" if isinstance(code, int) and abs(code) < 1000 else ""
            self._tell("unknown-kind", f"{text}{known}; any value goes", "warning")
            return (TypeRef("any"),)
        if name in facts.KINDS["records"]:
            self._records.add(name)
        elif name[:1].isupper():
            name = self._term("entity", name)
        return (TypeRef(name),)

    def _named(self, kind: str, held: facts.Table) -> str | None:
        """Return our type, or the identifier of an entity of the system's; None for unknown."""
        if kind in ("primitive", "intents"):
            code = held.get("typeIdentifier")
            # True is no 1 here.
            return facts.KINDS[kind].get(str(code)) if type(code) is int else None
        if kind == "measurement":
            return str(facts.KINDS[kind].get(str(held.get("unitType")), "measurement"))
        if kind == "entity":
            name = facts.text(held, "typeName")
            if name in facts.KINDS["values"]:
                return str(facts.KINDS["values"][name])
            known = name in self._entities or facts.IDENTIFIER.fullmatch(name) is not None
            return self._term("entity", name) if known else None
        if kind == "linkEnumeration":
            name = facts.text(held, "identifier")
            if name in self._enums:
                return self._term("enum", name)
            # A value is stored as the identifier of its case, whoever declares the cases.
            return "text" if facts.IDENTIFIER.fullmatch(name) else None
        return None

    def _enumeration(self, key: str, row: facts.Table) -> model.Enumeration:
        values = []
        for case in facts.rows(row.get("cases")):
            name = facts.text(case, "identifier")
            if _CASE.fullmatch(name) is None:
                shown = on_one_line(ascii(name), 60)
                text = f"a case of {key} has no plain identifier: {shown}; it is left out"
                self._tell("name", text, "error")
                continue
            said = self._said(facts.table(case.get("displayRepresentation")).get("title"))
            values.append(model.Enumerator(name, name, description=said))
        said = self._said(row.get("displayTypeName"))
        return model.Enumeration(
            self._term("enum", key), key, description=said, enumerators=tuple(values)
        )

    def _class(self, key: str, row: facts.Table) -> model.SdefClass:
        rows = []
        for prop in facts.rows(row.get("properties")):
            name = facts.text(prop, "identifier")
            if self._plain(name, f"a property of {key}"):
                kinds = self._types(prop.get("valueType"), f"property {name} of {key}")
                said = self._said(prop.get("title"))
                rows.append(model.SdefProperty(term_of(name), name, kinds, "r", description=said))
        asked = [self._said(one) for one in self._asked(key)]
        said = ". ".join(filter(None, (self._said(row.get("displayTypeName")), *asked)))
        return model.SdefClass(
            self._term("entity", key),
            key,
            plural=plural_noun(self._term("entity", key)),
            properties=tuple(rows),
            description=said,
        )

    def _asked(self, key: str) -> Iterator[Any]:
        """Yield the titles of what the queries of an entity look for."""
        for query in self._queries:
            if facts.text(query, "entityType") == key:
                asked = facts.rows(query.get("parameters"))
                yield from (one.get("localizedTitle") for one in asked)

    @staticmethod
    def _record(name: str) -> model.RecordType:
        fields = facts.KINDS["records"][name].items()
        rows = (model.SdefProperty(key, key, (TypeRef(kind),)) for key, kind in fields)
        return model.RecordType(name, name, properties=tuple(rows))

    def _command(self, key: str, row: facts.Table) -> model.SdefCommand:
        parameters = [
            self._parameter(key, one)
            for one in facts.rows(row.get("parameters"))
            if self._plain(facts.text(one, "name"), f"a parameter of {key}")
        ]
        answer = row.get("outputType")
        result = self._types(answer, f"the answer of {key}") if answer else None
        protocols = [one.removeprefix(_PROTOCOL) for one in facts.texts(row.get("systemProtocols"))]
        known = [one for one in protocols if facts.IDENTIFIER.fullmatch(one)]
        known_facts = IntentFacts(
            type=facts.identifier(facts.text(row, "fullyQualifiedTypeName")),
            protocols=tuple(sorted({*known})),
            schemas=tuple(sorted(facts.schemas(row))),
            opens=facts.opens(row),
            calls=self._calls(parameters),
            left_out=facts.left_out(row, known),
        )
        for need in facts.needs(row):
            self._tell("needs", f"action {key} is there only where a Mac has {need} switched on")
        if row.get("deprecationMetadata"):
            self._tell("deprecated", f"action {key} is deprecated")
        return model.SdefCommand(
            self._term("action", key),
            key,
            hidden=bool(known_facts.left_out),
            description=self._told(key, row),
            parameters=tuple(parameters),
            result=result,
            intent=known_facts,
        )

    def _told(self, key: str, row: facts.Table) -> str:
        """Return what the app says of an action: title, description, summary, phrases, words."""
        about = facts.table(row.get("descriptionMetadata"))
        # The table without a name has the actions themselves.
        title = self._said(row.get("title")) or self._words("", key)
        texts = [title, self._said(about.get("descriptionText"))]
        texts += [" ".join(re.sub(r"\$\{|\}", "", one).split()) for one in facts.summaries(row)]
        for shortcut in self._phrases.get(key, ()):
            texts += [self._said(shortcut.get("shortTitle"))]
            for phrase in facts.rows(shortcut.get("phraseTemplates")):
                texts.append(re.sub(r" *\$\{[^}]*\} *", " ", self._said(phrase)).strip())
        texts += map(self._said, facts.rows(about.get("searchKeywords")))
        kept = dict.fromkeys(text.rstrip(".") for text in texts if text)
        return ". ".join(kept)[: 4 * facts.SAID]

    def _parameter(self, owner: str, row: facts.Table) -> model.SdefParameter:
        name = facts.text(row, "name")
        kinds = self._types(row.get("valueType"), f"parameter {name} of {owner}")
        more = facts.pairs(row.get("typeSpecificMetadata"))
        default = facts.constant(more.get("LNValueTypeSpecificMetadataKeyDefaultValue"))
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
            facts.number(more.get("LNValueTypeMetadataKeyNumberLowerBound")),
            facts.number(more.get("LNValueTypeMetadataKeyNumberUpperBound")),
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
