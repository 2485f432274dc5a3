"""Read: App Intents metadata becomes a `Dictionary`: actions are commands, entities are classes.

Identifiers are the codes, character for character; their words are the terms. The file can be
forged: what is not as it should be in a row is as good as absent, what has no plain identifier
costs itself, a kind or a number that nobody knows becomes `any`, and each is told. Shapes:
docs/intents.md.
"""

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias, TypeVar

from iac_base.words import split_name
from iac_gen import model
from iac_gen.limits import MAX_BYTES, LimitError, read_file
from iac_gen.merge import APPLICATION
from iac_gen.model import UNFORESEEN, Diagnostic, Dictionary, IntentFacts, Severity, TypeRef
from iac_gen.naming import is_bundle_id, plural_noun, unique_name
from iac_gen.text import MAX_ENUMERATOR, on_one_line, sanitize_dictionary
from iac_gen.xml import LoadError, load_error
from iac_runtime.types import SPELLINGS, TYPES

T = TypeVar("T")
JsonObject: TypeAlias = Mapping[str, Any]

KINDS: Final[JsonObject] = tomllib.loads(
    (files("iac_gen.intents") / "kinds.toml").read_text("utf-8")
)
IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")
SAID: Final = 500
"""Characters that are kept of one text of the app."""
_SMALL: Final = 64 * 1024
_FOREGROUND: Final = 2 | 8
_OPENING: Final = frozenset(KINDS["opens"])

SYSTEM: Final = ("/System/", "/Library/Apple/")
"""What nobody but macOS can write to."""


def action_owner(named: str, owner: str, file: str) -> str:
    """Return whose an action is that names an app, empty for none, in a file of `owner`.

    A file of macOS may name any app, another one only what its own vendor makes: else whoever
    writes a file would give Notes an action.
    """
    if not is_bundle_id(named):
        return owner
    vendor = owner.split(".")[:2]
    own = len(vendor) == 2 and vendor != ["com", "apple"] and named.split(".")[:2] == vendor
    return named if own or file.startswith(SYSTEM) else owner


def attributed_apps(content: bytes) -> set[str]:
    """Return the bundle ids to which the actions of a file are attributed; none for no such file.

    An empty id stands for the app that the file lies in.
    """
    try:
        data = read_json(content, "")
    except LoadError:
        return set()
    actions = as_object(data.get("actions")).values()
    return {text_at(as_object(row), "attributionBundleIdentifier") for row in actions}


def read_json(content: bytes, file: str) -> JsonObject:
    """Return the metadata in `content`. Raises LoadError: it holds none."""

    def fail(code: str, message: str) -> NoReturn:
        raise load_error(file, 0, code, message)

    if len(content) > MAX_BYTES:
        fail("size", f"has {len(content)} bytes; the limit is {MAX_BYTES}")
    try:
        data = json.loads(content.decode("utf-8"))
    except RecursionError:
        fail("json", "is nested too deeply")
    except UnicodeDecodeError as error:
        fail("read", f"cannot be read: {error.reason}")
    except ValueError as error:
        fail("json", f"is not JSON: {on_one_line(str(error), 80)}")
    if not isinstance(data, dict) or not isinstance(data.get("actions"), dict):
        fail("format", "contains no App Intents metadata, because it has no actions")
    return data


def read_small_object(path: Path) -> JsonObject:
    """Return the object in a small JSON file beside the metadata; an empty one for none."""
    try:
        return as_object(json.loads(read_file(path, _SMALL)))
    except (LimitError, ValueError, RecursionError):
        return {}


def as_object(value: Any) -> JsonObject:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_objects(value: Any) -> list[JsonObject]:
    """Return the objects of a list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def text_at(row: JsonObject, key: str) -> str:
    """Return the text under a key; empty for none."""
    value = row.get(key)
    return value if isinstance(value, str) else ""


def as_texts(value: Any) -> list[str]:
    """Return the texts of a list."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def as_mapping(value: Any) -> dict[str, Any]:
    """Return a flat list of keys and values as a mapping."""
    flat = value if isinstance(value, list) else []
    both = zip(flat[::2], flat[1::2], strict=False)
    return {key: item for key, item in both if isinstance(key, str)}


def constant_value(value: Any) -> Any:
    """Return the constant in `{"int": {"wrapper": 1}}`; None for none."""
    inner = as_object(next(iter(as_object(value).values()), None)).get("wrapper")
    if isinstance(inner, int | float) and not (abs(inner) < 2**53 and math.isfinite(inner)):
        return None
    return inner if isinstance(inner, bool | int | float | str) else None


def number_value(value: Any) -> float | None:
    """Return a constant that is a number."""
    constant = constant_value(value)
    return float(constant) if type(constant) in (int, float) else None


def summary_sentences(row: JsonObject) -> Iterator[str]:
    """Yield the sentences in the tree of a parameter summary, each once."""
    todo: list[Any] = [row.get("actionConfiguration")]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            if sentence := text_at(one, "formatString"):
                yield sentence[:SAID]
            todo += one.values()
        elif isinstance(one, list):
            todo += one


def schema_names(row: JsonObject) -> Iterator[str]:
    """Yield `domain.name` of the schemas of an assistant that an action is of."""
    for one in as_objects(row.get("assistantDefinedSchemas")):
        name = f"{text_at(one, 'domain')}.{text_at(one, 'name')}"
        if IDENTIFIER.fullmatch(name):
            yield name


def required_capabilities(row: JsonObject) -> Iterator[str]:
    """Yield what a Mac must have switched on for an action to exist."""
    for one in as_objects(row.get("requiredCapabilities")):
        yield on_one_line(f"{text_at(one, 'domain')} {text_at(one, 'key')}", 120)


def opens_app(row: JsonObject, protocols: Sequence[str]) -> bool:
    """Say whether an action brings its app to the front."""
    modes = row.get("supportedModes")
    front = type(modes) is int and 0 <= modes < 2**32 and bool(modes & _FOREGROUND)
    placed = not _OPENING.isdisjoint(protocols)
    return front or placed or row.get("openAppWhenRun") is True


def left_out_reason(row: JsonObject, protocols: Sequence[str]) -> str:
    """Return why no tool is made of an action; empty where one is."""
    for protocol in protocols:
        if protocol in KINDS["no_tool"]:
            return str(KINDS["no_tool"][protocol])
    platforms = as_object(row.get("availabilityAnnotations")).keys()
    if platforms and not platforms & {"LNPlatformNameWildcard", "LNPlatformNameMACOS"}:
        return "it is not for macOS"
    shown = as_object(row.get("visibilityMetadata"))
    if shown.get("assistantOnly") is True:
        return "only Siri and Apple's assistant may use it"
    if row.get("isDiscoverable") is False or shown.get("isDiscoverable") is False:
        return "the app does not offer it to users"
    return ""


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
        raise load_error(str(path), 0, error.code, str(error)) from None
    beside = path.with_name("version.json")
    version = read_small_object(beside) if path.name == FILE else {}
    return MetadataPart(str(path), content, owner, text_at(version, "version"))


def read_intents(
    parts: Sequence[MetadataPart], owner: str = "", words: Words | None = None
) -> tuple[Dictionary, list[Diagnostic]]:
    """Return the intents of one app: those of its own files, and of others those that name it.

    Copies in extensions merge with the app's by their identifier; the first one counts. `words`
    resolve the titles that are keys.

    Raises:
        LoadError: A file is no JSON, too large, or holds no such metadata.
    """
    reader = _IntentsReader(parts[0].file, words or (lambda _table, _key: ""))
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
    for ending in KINDS["endings"].get(what, ()):
        if (rest := whole.removesuffix(f" {ending}")) != whole:
            return rest
    return whole


class _IntentsReader:
    """Takes the files of an app one after the other, then makes the suite."""

    def __init__(self, file: str, words: Words) -> None:
        self.found: list[Diagnostic] = []
        self._file, self._words = file, words
        self._actions: dict[str, JsonObject] = {}
        self._entities: dict[str, JsonObject] = {}
        self._enums: dict[str, JsonObject] = {}
        self._queries: list[JsonObject] = []
        self._phrases: dict[str, list[JsonObject]] = {}
        self._terms: dict[tuple[str, str], str] = {}
        self._taken: tuple[set[str], set[str]] = (set(), set())
        self._records: set[str] = set()
        self._room = MAX_ITEMS

    def take_file(self, part: MetadataPart, owner: str) -> None:
        """Take what a file has for the app `owner`; all of it where nobody is named."""
        data = read_json(part.content, part.file)
        if part.format not in ("", _FORMAT) or data.get("version", 1) != 1:
            shown = on_one_line(f"{part.format or data.get('version')}", 40)
            text = f"has the format {shown}, which is not known; what is known of it is read"
            self._report("format", text, "warning")
        for key, row in data["actions"].items():
            named = text_at(as_object(row), "attributionBundleIdentifier")
            if owner and (action_owner(named, part.owner, part.file) != owner):
                continue
            if self._is_usable(key, "action"):
                kept = self._actions.setdefault(key, as_object(row))
                if kept.get("parameters") != as_object(row).get("parameters"):
                    self._report("copy", f"action {key} has other parameters in another file")
        for key, row in as_object(data.get("entities")).items():
            if self._is_usable(key, "entity"):
                self._entities.setdefault(key, as_object(row))
        for row in as_objects(data.get("enums")):
            if self._is_usable(name := text_at(row, "identifier"), "enumeration"):
                self._enums.setdefault(name, row)
        self._queries += map(as_object, as_object(data.get("queries")).values())
        for row in as_objects(data.get("autoShortcuts")):
            self._phrases.setdefault(text_at(row, "actionIdentifier"), []).append(row)

    def build_suite(self) -> model.Suite:
        """Return everything that was taken."""
        # First the names that types refer to, so that no order of a file decides them.
        for what, rows in (("entity", self._entities), ("enum", self._enums)):
            for key in sorted(rows):
                self._unique_term(what, key)
        enums = self._guarded("enumeration", self._build_enumeration, self._enums)
        commands = self._guarded("action", self._build_command, self._actions)
        classes = self._guarded("entity", self._build_class, self._entities)
        known = {*self._entities}
        elsewhere = [key for what, key in self._terms if what == "entity" and key not in known]
        classes += [self._build_class(key, {}) for key in elsewhere]
        passing = {key for key, row in self._entities.items() if row.get("transient") is True}
        lasting = sorted(row.name for row in classes if row.code not in passing)
        elements = tuple(model.SdefElement(name, "r") for name in lasting)
        application = model.SdefClass(APPLICATION, "capp", elements=elements)
        records = [self._build_record(name) for name in sorted(self._records)]
        items: tuple[model.Item, ...] = (application, *classes, *enums, *records, *commands)
        return model.Suite("App Intents", "intn", items=items)

    def _report(self, code: str, message: str, level: Severity = "note") -> None:
        self.found.append(Diagnostic(self._file, 0, code, message, level))

    def _guarded(
        self, what: str, build: Callable[[str, JsonObject], T], rows: Mapping[str, JsonObject]
    ) -> list[T]:
        """Return what `build` makes of each row; an error that nobody foresaw costs its row."""
        made = []
        for key, row in sorted(rows.items()):
            try:
                made.append(build(key, row))
            except Exception as error:
                told = on_one_line(f"{type(error).__name__}: {error}", 200)
                text = f"{what} {key} cannot be read: {told}; it is left out"
                self._report(UNFORESEEN, text, "error")
        return made

    def _is_usable(self, name: str, what: str) -> bool:
        """Say whether an identifier is one, and whether there is room for what it names."""
        if IDENTIFIER.fullmatch(name) is None:
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
            if term in (*TYPES, *SPELLINGS, *KINDS["records"], APPLICATION):
                term = f"{term} {what}"
            taken = self._taken[what == "action"]
            name = unique_name(term.replace(" ", "_"), taken)
            taken.add(name)
            self._terms[what, key] = name.replace("_", " ")
        return self._terms[what, key]

    def _localized_text(self, value: Any) -> str:
        """Return the text of a title or a description; empty where only its key is known."""
        row = as_object(value)
        key = text_at(row, "key")
        text = self._words(text_at(row, "table") or "Localizable", key) or key
        if text == key and _KEY.fullmatch(key):
            text = text_at(row, "defaultValue")
        return " ".join(text.split())[:SAID]

    def _value_types(self, value: Any, where: str, depth: int = 0) -> tuple[TypeRef, ...]:
        """Return a value type; one that nobody knows is `any`, and is told."""
        kind, wrapped = next(iter(as_object(value).items()), ("", None))
        facts = as_object(as_object(wrapped).get("wrapper"))
        if kind == "array" and depth < _DEEPEST:
            inner = self._value_types(facts.get("memberValueType"), where, depth + 1)
            return (TypeRef("", True, items=inner),)
        name = self._named_type(kind, facts)
        if name is None:
            text = f"{where} has a type that nobody knows: {on_one_line(ascii(kind), 40)}"
            code = facts.get("typeIdentifier")
            known = f" {code}" if isinstance(code, int) and abs(code) < 1000 else ""
            self._report("unknown-kind", f"{text}{known}; any value goes", "warning")
            return (TypeRef("any"),)
        if name in KINDS["records"]:
            self._records.add(name)
        elif name[:1].isupper():
            name = self._unique_term("entity", name)
        return (TypeRef(name),)

    def _named_type(self, kind: str, facts: JsonObject) -> str | None:
        """Return our type, or the identifier of an entity of the system's; None for unknown."""
        if kind in ("primitive", "intents"):
            code = facts.get("typeIdentifier")
            # True is no 1 here.
            return KINDS[kind].get(str(code)) if type(code) is int else None
        if kind == "measurement":
            return str(KINDS[kind].get(str(facts.get("unitType")), "measurement"))
        if kind == "entity":
            name = text_at(facts, "typeName")
            if name in KINDS["values"]:
                return str(KINDS["values"][name])
            known = name in self._entities or IDENTIFIER.fullmatch(name) is not None
            return self._unique_term("entity", name) if known else None
        if kind == "linkEnumeration":
            name = text_at(facts, "identifier")
            if name in self._enums:
                return self._unique_term("enum", name)
            # A value is stored as the identifier of its case, whoever declares the cases.
            return "text" if IDENTIFIER.fullmatch(name) else None
        return None

    def _build_enumeration(self, key: str, row: JsonObject) -> model.Enumeration:
        values = []
        for case in as_objects(row.get("cases")):
            name = text_at(case, "identifier")
            if _CASE.fullmatch(name) is None:
                shown = on_one_line(ascii(name), 60)
                text = f"a case of {key} has no plain identifier: {shown}; it is left out"
                self._report("name", text, "error")
                continue
            title = self._localized_text(as_object(case.get("displayRepresentation")).get("title"))
            values.append(model.Enumerator(name, name, description=title))
        title = self._localized_text(row.get("displayTypeName"))
        return model.Enumeration(
            self._unique_term("enum", key), key, description=title, enumerators=tuple(values)
        )

    def _build_class(self, key: str, row: JsonObject) -> model.SdefClass:
        rows = []
        for prop in as_objects(row.get("properties")):
            name = text_at(prop, "identifier")
            if self._is_usable(name, f"a property of {key}"):
                kinds = self._value_types(prop.get("valueType"), f"property {name} of {key}")
                title = self._localized_text(prop.get("title"))
                term = term_from_identifier(name)
                rows.append(model.SdefProperty(term, name, kinds, "r", description=title))
        asked = [self._localized_text(one) for one in self._query_titles(key)]
        title = ". ".join(filter(None, (self._localized_text(row.get("displayTypeName")), *asked)))
        term = self._unique_term("entity", key)
        return model.SdefClass(
            term, key, plural=plural_noun(term), properties=tuple(rows), description=title
        )

    def _query_titles(self, key: str) -> Iterator[Any]:
        """Yield the titles of what the queries of an entity look for."""
        for query in self._queries:
            if text_at(query, "entityType") == key:
                asked = as_objects(query.get("parameters"))
                yield from (one.get("localizedTitle") for one in asked)

    @staticmethod
    def _build_record(name: str) -> model.RecordType:
        fields = KINDS["records"][name].items()
        rows = (model.SdefProperty(key, key, (TypeRef(kind),)) for key, kind in fields)
        return model.RecordType(name, name, properties=tuple(rows))

    def _build_command(self, key: str, row: JsonObject) -> model.SdefCommand:
        parameters = [
            self._build_parameter(key, one)
            for one in as_objects(row.get("parameters"))
            if self._is_usable(text_at(one, "name"), f"a parameter of {key}")
        ]
        answer = row.get("outputType")
        result = self._value_types(answer, f"the answer of {key}") if answer else None
        protocols = [one.removeprefix(_PROTOCOL) for one in as_texts(row.get("systemProtocols"))]
        known = [one for one in protocols if IDENTIFIER.fullmatch(one)]
        swift = text_at(row, "fullyQualifiedTypeName")
        known_facts = IntentFacts(
            type=swift if IDENTIFIER.fullmatch(swift) else "",
            protocols=tuple(sorted({*known})),
            schemas=tuple(sorted(schema_names(row))),
            opens=opens_app(row, known),
            calls=self._call_requirement(parameters),
            left_out=left_out_reason(row, known),
        )
        for need in required_capabilities(row):
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

    def _all_texts(self, key: str, row: JsonObject) -> str:
        """Return what the app says of an action: title, description, summary, phrases, words."""
        about = as_object(row.get("descriptionMetadata"))
        # The table without a name has the actions themselves.
        title = self._localized_text(row.get("title")) or self._words("", key)
        texts = [title, self._localized_text(about.get("descriptionText"))]
        texts += [" ".join(re.sub(r"\$\{|\}", "", one).split()) for one in summary_sentences(row)]
        for shortcut in self._phrases.get(key, ()):
            texts += [self._localized_text(shortcut.get("shortTitle"))]
            for phrase in as_objects(shortcut.get("phraseTemplates")):
                texts.append(_BLANK.sub(" ", self._localized_text(phrase)).strip())
        texts += map(self._localized_text, as_objects(about.get("searchKeywords")))
        kept = dict.fromkeys(text.rstrip(".") for text in texts if text)
        return ". ".join(kept)[: 4 * SAID]

    def _build_parameter(self, owner: str, row: JsonObject) -> model.SdefParameter:
        name = text_at(row, "name")
        kinds = self._value_types(row.get("valueType"), f"parameter {name} of {owner}")
        more = as_mapping(row.get("typeSpecificMetadata"))
        default = constant_value(more.get("LNValueTypeSpecificMetadataKeyDefaultValue"))
        flag = kinds == (TypeRef("boolean"),)
        stated = ("false", "true")[bool(default)] if flag else str(default)
        if default is None or len(stated) > MAX_ENUMERATOR:
            stated = ""
        description = self._localized_text(row.get("parameterDescription")) or self._localized_text(
            row.get("title")
        )
        return model.SdefParameter(
            term_from_identifier(name),
            name,
            kinds,
            row.get("isOptional") is True or default is not None,
            stated,
            number_value(more.get("LNValueTypeMetadataKeyNumberLowerBound")),
            number_value(more.get("LNValueTypeMetadataKeyNumberUpperBound")),
            row.get("dynamicOptionsSupport") in (1, 2),
            description=description,
        )

    def _call_requirement(self, parameters: Sequence[model.SdefParameter]) -> model.Calls:
        """Return what a call needs at least: what is optional needs nothing."""
        required = {one for row in parameters if not row.optional for one in _leaf_names(row.types)}
        if "any" in required:
            return "unsupported"
        entities = {term for (what, _), term in self._terms.items() if what == "entity"}
        return "entity" if required & entities else "simple"


def _leaf_names(types: Sequence[TypeRef]) -> Iterator[str]:
    for one in types:
        yield from _leaf_names(one.items) if one.items else (one.name,)
