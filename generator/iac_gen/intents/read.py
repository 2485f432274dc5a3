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
from iac_gen.naming import unique_name
from iac_gen.phrases import plural_noun
from iac_gen.text import MAX_ENUMERATOR, on_one_line, sanitize_dictionary
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
# What is filled in, with the word that leads to it: `Stop on ${applicationName}`.
_BLANK: Final = re.compile(r"(?: (?:at|by|for|from|in|of|on|to|using|with))? *\$\{[^}]*\} *")


def _no_text(_table: str, _key: str) -> str:
    return ""


class MetadataPart(NamedTuple):
    """A file of metadata. `owner` is the app that it belongs to, `format` what version.json says.

    Each is empty where nobody knows.
    """

    file: str
    content: bytes
    owner: str = ""
    format: str = ""


def read_part(path: Path, owner: str = "") -> MetadataPart:
    """Return the file at `path`. Raises LoadError: it cannot be read."""
    try:
        content = read_file(path)
    except LimitError as error:
        raise LoadError(Diagnostic(str(path), 0, error.code, str(error), "error")) from None
    beside = path.with_name("version.json")
    said = facts.read_small_object(beside) if path.name == FILE else {}
    return MetadataPart(str(path), content, owner, facts.text_at(said, "version"))


def read_intents(
    parts: Sequence[MetadataPart], owner: str = "", words: Words | None = None
) -> tuple[Dictionary, list[Diagnostic]]:
    """Return the intents of one app: those of its own files, and of others those that name it.

    Copies in extensions merge with the app's by their identifier; the first one counts. `words`
    resolve the titles that are keys.

    Raises:
        LoadError: A file is no JSON, too large, or holds no such metadata.
    """
    reader = _IntentsReader(parts[0].file, words or _no_text)
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.content)
        reader.take_file(part, owner)
    dictionary = Dictionary(parts[0].file, digest.hexdigest(), "", (reader.build_suite(),))
    clean, removed = sanitize_dictionary(dictionary)
    return clean, [*reader.found, *removed]


def term_from_identifier(identifier: str, what: str = "") -> str:
    """Return the words of an identifier, without those that only say `what` it is."""
    whole = " ".join(split_name(identifier.rpartition(".")[2])) or identifier.lower()
    for ending in facts.KINDS["endings"].get(what, ()):
        if (rest := whole.removesuffix(f" {ending}")) != whole:
            return rest
    return whole


class _IntentsReader:
    """Takes the files of an app one after the other, then makes the suite."""

    def __init__(self, file: str, words: Words) -> None:
        self.found: list[Diagnostic] = []
        self._file, self._words = file, words
        self._actions: dict[str, facts.JsonObject] = {}
        self._entities: dict[str, facts.JsonObject] = {}
        self._enums: dict[str, facts.JsonObject] = {}
        self._queries: list[facts.JsonObject] = []
        self._phrases: dict[str, list[facts.JsonObject]] = {}
        self._terms: dict[tuple[str, str], str] = {}
        self._taken: tuple[set[str], set[str]] = (set(), set())
        self._records: set[str] = set()
        self._room = MAX_ITEMS

    def take_file(self, part: MetadataPart, owner: str) -> None:
        """Take what a file has for the app `owner`; all of it where nobody is named."""
        data = facts.read_json(part.content, part.file)
        if part.format not in ("", _FORMAT) or data.get("version", 1) != 1:
            shown = on_one_line(f"{part.format or data.get('version')}", 40)
            text = f"has the format {shown}, which is not known; what is known of it is read"
            self._report("format", text, "warning")
        for key, row in data["actions"].items():
            named = facts.text_at(facts.as_object(row), "attributionBundleIdentifier")
            if owner and (facts.action_owner(named, part.owner, part.file) != owner):
                continue
            if self._is_usable(key, "action"):
                kept = self._actions.setdefault(key, facts.as_object(row))
                if kept.get("parameters") != facts.as_object(row).get("parameters"):
                    self._report("copy", f"action {key} has other parameters in another file")
        for key, row in facts.as_object(data.get("entities")).items():
            if self._is_usable(key, "entity"):
                self._entities.setdefault(key, facts.as_object(row))
        for row in facts.as_objects(data.get("enums")):
            if self._is_usable(name := facts.text_at(row, "identifier"), "enumeration"):
                self._enums.setdefault(name, row)
        self._queries += map(facts.as_object, facts.as_object(data.get("queries")).values())
        for row in facts.as_objects(data.get("autoShortcuts")):
            self._phrases.setdefault(facts.text_at(row, "actionIdentifier"), []).append(row)

    def build_suite(self) -> model.Suite:
        """Return everything that was taken."""
        # First the names that types refer to, so that no order of a file decides them.
        for what, rows in (("entity", self._entities), ("enum", self._enums)):
            for key in sorted(rows):
                self._unique_term(what, key)
        enums = [self._build_enumeration(key, row) for key, row in sorted(self._enums.items())]
        commands = [self._build_command(key, row) for key, row in sorted(self._actions.items())]
        classes = [self._build_class(key, row) for key, row in sorted(self._entities.items())]
        known = {*self._entities}
        elsewhere = [key for what, key in self._terms if what == "entity" and key not in known]
        classes += [self._build_class(key, {}) for key in elsewhere]
        lasting = [
            row.name
            for row in classes
            if facts.as_object(self._entities.get(row.code)).get("transient") is not True
        ]
        application = model.SdefClass(
            APPLICATION,
            "capp",
            elements=tuple(model.SdefElement(name, "r") for name in sorted(lasting)),
        )
        records = [self._build_record(name) for name in sorted(self._records)]
        items: tuple[model.Item, ...] = (application, *classes, *enums, *records, *commands)
        return model.Suite("App Intents", "intn", items=items)

    def _report(self, code: str, message: str, level: Severity = "note") -> None:
        self.found.append(Diagnostic(self._file, 0, code, message, level))

    def _is_usable(self, name: str, what: str) -> bool:
        """Say whether an identifier is one, and whether there is room for what it names."""
        if facts.IDENTIFIER.fullmatch(name) is None:
            shown = on_one_line(ascii(name), 60)
            self._report("name", f"{what} {shown} has no plain identifier; it is left out", "error")
            return False
        self._room -= 1
        if self._room == 0:
            self._report("count", f"has more than {MAX_ITEMS} items; the rest is left out", "error")
        return self._room > 0

    def _unique_term(self, what: str, key: str) -> str:
        """Return the term of an action, an entity or an enumeration; each has its own."""
        if (what, key) not in self._terms:
            term = term_from_identifier(key, what)
            if term in (*TYPES, *SPELLINGS, *facts.KINDS["records"], APPLICATION):
                term = f"{term} {what}"
            taken = self._taken[what == "action"]
            found = unique_name(term.replace(" ", "_"), taken)
            taken.add(found)
            self._terms[what, key] = found.replace("_", " ")
        return self._terms[what, key]

    def _localized_text(self, value: Any) -> str:
        """Return the text of a title or a description; empty where only its key is known."""
        row = facts.as_object(value)
        key = facts.text_at(row, "key")
        text = self._words(facts.text_at(row, "table") or "Localizable", key) or key
        if text == key and _KEY.fullmatch(key):
            text = facts.text_at(row, "defaultValue")
        return " ".join(text.split())[: facts.SAID]

    def _value_types(self, value: Any, where: str, depth: int = 0) -> tuple[TypeRef, ...]:
        """Return a value type; one that nobody knows is `any`, and is told."""
        kind, wrapped = next(iter(facts.as_object(value).items()), ("", None))
        held = facts.as_object(facts.as_object(wrapped).get("wrapper"))
        if kind == "array" and depth < _DEEPEST:
            inner = self._value_types(held.get("memberValueType"), where, depth + 1)
            return (TypeRef("", True, items=inner),)
        name = self._named_type(kind, held)
        if name is None:
            text = f"{where} has a type that nobody knows: {on_one_line(ascii(kind), 40)}"
            code = held.get("typeIdentifier")
            known = f" {code}" if isinstance(code, int) and abs(code) < 1000 else ""
            self._report("unknown-kind", f"{text}{known}; any value goes", "warning")
            return (TypeRef("any"),)
        if name in facts.KINDS["records"]:
            self._records.add(name)
        elif name[:1].isupper():
            name = self._unique_term("entity", name)
        return (TypeRef(name),)

    def _named_type(self, kind: str, held: facts.JsonObject) -> str | None:
        """Return our type, or the identifier of an entity of the system's; None for unknown."""
        if kind in ("primitive", "intents"):
            code = held.get("typeIdentifier")
            # True is no 1 here.
            return facts.KINDS[kind].get(str(code)) if type(code) is int else None
        if kind == "measurement":
            return str(facts.KINDS[kind].get(str(held.get("unitType")), "measurement"))
        if kind == "entity":
            name = facts.text_at(held, "typeName")
            if name in facts.KINDS["values"]:
                return str(facts.KINDS["values"][name])
            known = name in self._entities or facts.IDENTIFIER.fullmatch(name) is not None
            return self._unique_term("entity", name) if known else None
        if kind == "linkEnumeration":
            name = facts.text_at(held, "identifier")
            if name in self._enums:
                return self._unique_term("enum", name)
            # A value is stored as the identifier of its case, whoever declares the cases.
            return "text" if facts.IDENTIFIER.fullmatch(name) else None
        return None

    def _build_enumeration(self, key: str, row: facts.JsonObject) -> model.Enumeration:
        values = []
        for case in facts.as_objects(row.get("cases")):
            name = facts.text_at(case, "identifier")
            if _CASE.fullmatch(name) is None:
                shown = on_one_line(ascii(name), 60)
                text = f"a case of {key} has no plain identifier: {shown}; it is left out"
                self._report("name", text, "error")
                continue
            said = self._localized_text(
                facts.as_object(case.get("displayRepresentation")).get("title")
            )
            values.append(model.Enumerator(name, name, description=said))
        said = self._localized_text(row.get("displayTypeName"))
        return model.Enumeration(
            self._unique_term("enum", key), key, description=said, enumerators=tuple(values)
        )

    def _build_class(self, key: str, row: facts.JsonObject) -> model.SdefClass:
        rows = []
        for prop in facts.as_objects(row.get("properties")):
            name = facts.text_at(prop, "identifier")
            if self._is_usable(name, f"a property of {key}"):
                kinds = self._value_types(prop.get("valueType"), f"property {name} of {key}")
                said = self._localized_text(prop.get("title"))
                rows.append(
                    model.SdefProperty(
                        term_from_identifier(name), name, kinds, "r", description=said
                    )
                )
        asked = [self._localized_text(one) for one in self._query_titles(key)]
        said = ". ".join(filter(None, (self._localized_text(row.get("displayTypeName")), *asked)))
        return model.SdefClass(
            self._unique_term("entity", key),
            key,
            plural=plural_noun(self._unique_term("entity", key)),
            properties=tuple(rows),
            description=said,
        )

    def _query_titles(self, key: str) -> Iterator[Any]:
        """Yield the titles of what the queries of an entity look for."""
        for query in self._queries:
            if facts.text_at(query, "entityType") == key:
                asked = facts.as_objects(query.get("parameters"))
                yield from (one.get("localizedTitle") for one in asked)

    @staticmethod
    def _build_record(name: str) -> model.RecordType:
        fields = facts.KINDS["records"][name].items()
        rows = (model.SdefProperty(key, key, (TypeRef(kind),)) for key, kind in fields)
        return model.RecordType(name, name, properties=tuple(rows))

    def _build_command(self, key: str, row: facts.JsonObject) -> model.SdefCommand:
        parameters = [
            self._build_parameter(key, one)
            for one in facts.as_objects(row.get("parameters"))
            if self._is_usable(facts.text_at(one, "name"), f"a parameter of {key}")
        ]
        answer = row.get("outputType")
        result = self._value_types(answer, f"the answer of {key}") if answer else None
        protocols = [
            one.removeprefix(_PROTOCOL) for one in facts.as_texts(row.get("systemProtocols"))
        ]
        known = [one for one in protocols if facts.IDENTIFIER.fullmatch(one)]
        known_facts = IntentFacts(
            type=facts.plain_identifier(facts.text_at(row, "fullyQualifiedTypeName")),
            protocols=tuple(sorted({*known})),
            schemas=tuple(sorted(facts.schema_names(row))),
            opens=facts.opens_app(row, known),
            calls=self._call_requirement(parameters),
            left_out=facts.left_out_reason(row, known),
        )
        for need in facts.required_capabilities(row):
            self._report("needs", f"action {key} is there only where a Mac has {need} switched on")
        if row.get("deprecationMetadata"):
            self._report("deprecated", f"action {key} is deprecated")
        return model.SdefCommand(
            self._unique_term("action", key),
            key,
            hidden=bool(known_facts.left_out),
            description=self._all_texts(key, row),
            parameters=tuple(parameters),
            result=result,
            intent=known_facts,
        )

    def _all_texts(self, key: str, row: facts.JsonObject) -> str:
        """Return what the app says of an action: title, description, summary, phrases, words."""
        about = facts.as_object(row.get("descriptionMetadata"))
        # The table without a name has the actions themselves.
        title = self._localized_text(row.get("title")) or self._words("", key)
        texts = [title, self._localized_text(about.get("descriptionText"))]
        texts += [
            " ".join(re.sub(r"\$\{|\}", "", one).split()) for one in facts.summary_sentences(row)
        ]
        for shortcut in self._phrases.get(key, ()):
            texts += [self._localized_text(shortcut.get("shortTitle"))]
            for phrase in facts.as_objects(shortcut.get("phraseTemplates")):
                texts.append(_BLANK.sub(" ", self._localized_text(phrase)).strip())
        texts += map(self._localized_text, facts.as_objects(about.get("searchKeywords")))
        kept = dict.fromkeys(text.rstrip(".") for text in texts if text)
        return ". ".join(kept)[: 4 * facts.SAID]

    def _build_parameter(self, owner: str, row: facts.JsonObject) -> model.SdefParameter:
        name = facts.text_at(row, "name")
        kinds = self._value_types(row.get("valueType"), f"parameter {name} of {owner}")
        more = facts.as_mapping(row.get("typeSpecificMetadata"))
        default = facts.constant_value(more.get("LNValueTypeSpecificMetadataKeyDefaultValue"))
        flag = kinds == (TypeRef("boolean"),)
        stated = ("false", "true")[bool(default)] if flag else str(default)
        if default is None or len(stated) > MAX_ENUMERATOR:
            stated = ""
        said = self._localized_text(row.get("parameterDescription")) or self._localized_text(
            row.get("title")
        )
        return model.SdefParameter(
            term_from_identifier(name),
            name,
            kinds,
            row.get("isOptional") is True or default is not None,
            stated,
            facts.number_value(more.get("LNValueTypeMetadataKeyNumberLowerBound")),
            facts.number_value(more.get("LNValueTypeMetadataKeyNumberUpperBound")),
            row.get("dynamicOptionsSupport") in (1, 2),
            description=said,
        )

    def _call_requirement(self, parameters: Sequence[model.SdefParameter]) -> model.Calls:
        """Return what a call needs at least: what is optional needs nothing."""
        held = {one for row in parameters if not row.optional for one in _leaf_names(row.types)}
        if "any" in held:
            return "unsupported"
        entities = {term for (what, _), term in self._terms.items() if what == "entity"}
        return "entity" if held & entities else "simple"


def _leaf_names(types: Sequence[TypeRef]) -> Iterator[str]:
    for one in types:
        yield from _leaf_names(one.items) if one.items else (one.name,)
