"""Output: the files of a folder of tools, made from what was built and what was there.

A folder is whole in itself: modules, `catalogue.json` (tool -> module, function, levels),
`listing.jsonl` (a finished listing entry a line), `words.jsonl` (what tools are found by, an app a
line) and `tools.lock` (which key belongs to which app, and what of its surface was reviewed). A
build of some apps keeps the others. Thousands of apps do not fit in memory: they wait packed, and a
file is made when it is asked for.

An app's update may call a thing by another name and mean the same: the Apple event carries codes.
So a reviewed level is held for the codes: of an event, of class and property, of enumeration and
enumerator.
"""

import hashlib
import json
import pickle
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from iac_base.words import fold_name, stem_words
from iac_gen.ir import Module, ToolFunction, level_span
from iac_gen.model import Diagnostic, GeneratorError
from iac_gen.naming import BoundKey, app_modules, is_app_key, is_tool_name
from iac_gen.resolve import ResolvedDictionary
from iac_gen.text import clean_json
from iac_runtime.tool import LEVELS, Level, Property, at_most, highest, shortcuts_file
from iac_runtime.types import TYPES

FACTS: Final[Mapping[str, tuple[str, ...]]] = {
    "class": ("parent",),
    "property": ("type", "access"),
    "field": ("type", "access"),
    "element": ("access",),
}
"""Kind -> what `Row.facts` hold; a tool's are the result, the parameters and what is bound."""


class SurfaceRow(NamedTuple):
    """A thing: its codes, the levels of what can be done with it, and JSON-ready facts.

    A class has the levels of making and deleting, a property that of setting where it can be set,
    a tool level and ceiling. Without codes a thing is known by its name.
    """

    codes: tuple[str, ...]
    levels: tuple[Level, ...] = ()
    facts: tuple[Any, ...] = ()


Surface: TypeAlias = Mapping[str, SurfaceRow]
"""`property mail.message.subject`, kind and full name -> row."""


AcceptedLevels: TypeAlias = Mapping[str, tuple[Level, ...]]
"""The full name of a tool, a class or a property -> the levels that it may have at least: those of
the tool's level and ceiling, of making and deleting; one where both are the same."""


class LevelFall(NamedTuple):
    """A thing whose level is lower than the reviewed one; `name` is what accepts it."""

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.name} fell from {self.before} to {self.after}"


def identifying_event(tool: ToolFunction) -> str:
    """Return the event by which a tool is known under any name; empty for no command."""
    return tool.event if tool.op == "command" and not tool.bind else ""


def call_facts(tool: ToolFunction) -> tuple[Any, ...]:
    """Return the facts of a tool: what its calls are made of, words aside."""
    params = {p.key: [p.row.code, p.row.type] for p in tool.parameters}
    return (tool.result, params, dict(tool.bind))


def term_rows(module: Module) -> dict[str, SurfaceRow]:
    """Return the rows of everything in the tables of a module."""
    key, rows = module.key, dict[str, SurfaceRow]()
    for name, row in module.classes.items():
        rows[f"class {key}.{name}"] = SurfaceRow(
            (row.code,), (row.make, row.delete), (row.inherits,)
        )
        rows.update(_property_rows(f"property {key}.{name}", row.code, row.properties))
        for element in row.elements:
            codes = (row.code, module.classes[element.term].code)
            rows[f"element {key}.{name}.{element.term}"] = SurfaceRow(codes, (), (element.access,))
    for name, record in module.records.items():
        rows[f"record {key}.{name}"] = SurfaceRow((record.code,))
        rows.update(_property_rows(f"field {key}.{name}", record.code, record.properties))
    for name, values in module.enums.items():
        code = module.enum_codes[name]
        rows[f"enumeration {key}.{name}"] = SurfaceRow((code,))
        for term, value in values:
            rows[f"enumerator {key}.{name}.{term}"] = SurfaceRow((code, value))
    return rows


def _property_rows(
    owner: str, code: str, properties: tuple[Property, ...]
) -> Iterator[tuple[str, SurfaceRow]]:
    for row in properties:
        levels = () if row.access == "r" else (row.level,)
        yield f"{owner}.{row.term}", SurfaceRow((code, row.code), levels, (row.type, row.access))


def names_by_codes(surface: Surface) -> Mapping[tuple[str, ...], list[str]]:
    """Return kind and codes -> names, of what has codes."""
    names: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, row in sorted(surface.items()):
        if row.codes:
            names[name.partition(" ")[0], *row.codes].append(name)
    return names


def find_level_falls(
    old: Surface, new: Surface, accepted: AcceptedLevels = MappingProxyType({})
) -> list[LevelFall]:
    """Return what is lower in `new` than in `old`, and than what a team accepted, by name.

    What has the same name and codes is compared with itself. What is new in one of them is
    compared with everything that had the name or the codes.
    """
    falls = []
    changed = sorted((name, row) for name, row in new.items() if old.get(name) != row)
    coded = names_by_codes(old) if changed else {}
    for name, row in changed:
        kind, _, shown = name.partition(" ")
        was = [old[name]] if name in old else []
        if not was or was[0].codes != row.codes:
            was += [old[one] for one in coded.get((kind, *row.codes), ())]
        before: tuple[Level, ...] = tuple(
            highest(one.levels[place] for one in was if len(one.levels) > place)
            for place in range(len(row.levels))
        )
        least = accepted.get(shown) or before
        least = (least[:1] + least[-1:])[: len(before)]
        pairs = zip(before, least, row.levels, strict=True)
        if any(not (at_most(was, level) or at_most(low, level)) for was, low, level in pairs):
            falls.append(
                LevelFall(shown, levels_in_words(kind, before), levels_in_words(kind, row.levels))
            )
    return falls


def levels_in_words(kind: str, levels: tuple[Level, ...]) -> str:
    """Return the levels of a thing in words, empty where it has none."""
    if kind == "class":
        return f"make {levels[0]}, delete {levels[1]}"
    return level_span(levels[0], levels[-1]) if levels else ""


def read_row(value: Any) -> SurfaceRow:
    """Return the row that was written as `value`.

    Raises:
        KeyError, TypeError, ValueError: It is none.
    """
    codes, levels, facts = value
    known_levels: tuple[Level, ...] = tuple(read_level(one) for one in levels)
    return SurfaceRow(tuple(map(str, codes)), known_levels, tuple(facts))


def read_call_facts(value: Any) -> tuple[Any, ...]:
    """Return the facts of a tool that were written as `value`; none where there are none."""
    if not value:
        return ()
    result, params, bound = value
    return (result, {key: [code, kind] for key, (code, kind) in params.items()}, dict(bound))


def read_level(text: str) -> Level:
    """Return the level that `text` names, or raise KeyError."""
    if text not in LEVELS:
        raise KeyError(text)
    return text


WORDS_FORMAT: Final = 1
_LEVELS: Final = (". SAFE", ". MODIFY", ". DANGEROUS")
_TOLD: Final = 40
"""Stems of a dictionary's own descriptions that a row takes."""

SearchRows: TypeAlias = Mapping[str, Any]
"""An app as it is found: `key`, `name`, the object tools by operation, and rows. A row is
[kind, tool or term, element, name, owned, purpose, told, properties]; words are stems."""


def search_rows(module: Module, resolved: ResolvedDictionary) -> SearchRows:
    """Return the words of an app; object tools have no row, they are found through the classes."""
    told: dict[str, str] = {fold_name(one.name): one.description for one in resolved.commands}
    rows: list[list[Any]] = []
    free = False
    objects = {}
    for tool in module.tools:
        if tool.op != "command" and not tool.bind:
            objects[tool.op] = tool.name
            element = tool.input_schema()["properties"].get("element", {})
            free = free or (tool.op == "make" and "enum" not in element)
            continue
        purpose = tool.summary
        for level in _LEVELS:
            purpose = purpose.split(level)[0]
        bound = tool.bind.get("element", "")
        element = bound if isinstance(bound, str) else ""
        name = tool.function.rstrip("_").replace("_", " ")
        words = (name, element, purpose, told.get(fold_name(tool.term), "") if tool.term else "")
        rows.append([tool.op, tool.name, element, *map(_sorted_stems, words), []])
    described = {one.name: one for one in resolved.classes}
    contained = {element.term for one in module.classes.values() for element in one.elements}
    for term, row in module.classes.items():
        use = "held" if term in contained else "made" if free else "class"
        kind = "class" if term == "application" else use
        owned = " ".join(prop.term for prop in row.properties)
        source = described.get(term)
        texts = [source.description, *(p.description for p in source.properties)] if source else []
        properties = [[prop.term, prop.access] for prop in row.properties]
        words = (term, owned, "", " ".join(texts))
        rows.append([kind, term, term, *map(_sorted_stems, words), properties])
    return {"key": module.key, "name": module.app.name, "tools": objects, "rows": rows}


def _sorted_stems(text: str) -> str:
    """Return the stems of a text, sorted: what a vendor wrote is nothing to read."""
    return " ".join(sorted([*dict.fromkeys(stem_words(text[:2_000]))][:_TOLD]))


def renamed_rows(app: SearchRows, names: Mapping[str, str]) -> SearchRows:
    """Return the rows of an app whose tools are called by the values of `names`."""
    tools = {op: names.get(name, name) for op, name in app["tools"].items()}
    rows = [[kind, names.get(name, name), *rest] for kind, name, *rest in app["rows"]]
    return {**app, "tools": tools, "rows": rows}


def read_rows(text: str) -> dict[str, SearchRows]:
    """Return the apps of `words.jsonl` by their keys. Raises ValueError and KeyError."""
    lines = (line for line in text.splitlines() if line.startswith('{"key"'))
    return {app["key"]: app for app in map(json.loads, lines)}


def word_lines(apps: Iterable[SearchRows]) -> Iterator[str]:
    """Yield the lines of `words.jsonl`: a head, and an app a line."""
    yield json.dumps({"format": WORDS_FORMAT, "name": "words"}) + "\n"
    yield from map(_json_line, apps)


def _json_line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True) + "\n"


FORMAT = 1
APP_ROW = ("id", "name", "kind", "digest", "tools")
TOOL_ROW = ("module", "function", "level", "ceiling")
HINT_LENGTH = 120
SEARCH_WORDS = "anthropic/searchHint"
_COMMON = frozenset({"document", "window"})
RESULT_LIMIT = 100_000
"""Characters of JSON to which the runtime cuts an answer (`iac_runtime.tools.entries`)."""

MAX_ENTRY = 8_000
"""Bytes of an entry of a listing, about 2,000 tokens; the longest of real apps has 1,500."""

CATALOGUE = "catalogue.json"
LISTING = "listing.jsonl"
LOCK = "tools.lock"
WORDS = "words.jsonl"
FIELD = "field.json"
"""Rows of the field book that are yours or your team's; there only where you have some."""

_OPEN = 64
"""Apps that stay unpacked: those of a usual build."""


class OutputError(GeneratorError):
    """The files of an output folder are not what a build left there."""


@dataclass(frozen=True, slots=True)
class AppFiles:
    """What one app contributes: rows of the catalogue and lines of the listing by tool.

    `terms` are the rows of its classes, properties, ... None where an earlier lock has none yet;
    `words` are what it is found by, empty where an earlier build left none.
    """

    key: str
    row: Mapping[str, Any]
    version: str
    tools: Mapping[str, Mapping[str, Any]]
    lines: Mapping[str, str]
    terms: Surface | None
    words: SearchRows
    modules: Mapping[str, str] = field(default_factory=dict)

    def with_tool_names(self, names: Mapping[str, str]) -> "AppFiles":
        """Return the same app with its tools called by the values of `names`."""
        lines = {
            new: _listing_line({**json.loads(self.lines[old]), "name": new})
            for old, new in names.items()
        }
        tools = {new: self.tools[old] for old, new in names.items()}
        words = renamed_rows(self.words, names) if self.words else {}
        return replace(self, tools=tools, lines=lines, words=words)

    def reviewed_surface(self) -> dict[str, SurfaceRow]:
        """Return everything of the app that is reviewed: tools and terms."""
        rows = {f"tool {name}": _reviewed_row(row) for name, row in self.tools.items()}
        return {**rows, **(self.terms or {})}

    @property
    def tokens(self) -> int:
        """Approximate tokens of the listing: bytes divided by four."""
        return sum(len(line.encode()) for line in self.lines.values()) // 4


class PackedApp(NamedTuple):
    """What one app contributes, compressed: `tools` are names, `modules` name -> text."""

    key: str
    tools: tuple[str, ...]
    files: bytes
    modules: Mapping[str, bytes]


MaybePackedApp: TypeAlias = AppFiles | PackedApp


def pack_app(app: AppFiles) -> PackedApp:
    """Return `app` as small as it gets; `unpack_app` takes all of it back but the modules."""
    modules = {name: zlib.compress(text.encode()) for name, text in app.modules.items()}
    rest = zlib.compress(pickle.dumps(replace(app, modules={})))
    return PackedApp(app.key, tuple(app.tools), rest, modules)


def unpack_app(app: MaybePackedApp) -> AppFiles:
    """Return an app that may be packed, without its modules."""
    return _unpickle_app(app.files) if isinstance(app, PackedApp) else app


@lru_cache(_OPEN)
def _unpickle_app(content: bytes) -> AppFiles:
    app: AppFiles = pickle.loads(zlib.decompress(content))  # noqa: S301 - packed by this build
    return app


@dataclass(frozen=True, slots=True)
class PreviousBuild:
    """What an earlier build left in the folder; `locked` is the reviewed surface of each app."""

    apps: Mapping[str, AppFiles] = field(default_factory=dict)
    locked: Mapping[str, Surface] = field(default_factory=dict)

    def bound_keys(self) -> dict[str, BoundKey]:
        """Return identity -> key as `tools.lock` binds them."""
        return {
            str(app.row["identity"]): BoundKey(key, app.version, str(app.row["digest"]))
            for key, app in self.apps.items()
        }

    @classmethod
    def read(cls, catalogue: str, listing: str, lock: str, search: str) -> "PreviousBuild":
        """Read the four files back.

        Raises:
            OutputError: One of them is no such file or they do not fit.
        """
        try:
            data = json.loads(catalogue)
            locked = json.loads(lock)
            if data["format"] != FORMAT or locked["format"] != FORMAT:
                raise OutputError(f"was written in another format than {FORMAT}; build it again")
            named: dict[str, list[str]] = defaultdict(list)
            for name, tool in data["tools"].items():
                if not is_tool_name(name):
                    raise ValueError(f"{name!r} is not the name of a tool")
                named[tool["module"]].append(name)
            lines = {json.loads(line)["name"]: line for line in listing.splitlines()}
            terms: dict[str, dict[str, SurfaceRow]] = defaultdict(dict)
            for name, row in locked.get("terms", {}).items():
                terms[name.partition(" ")[2].partition(".")[0]][name] = read_row(row)
            apps, surfaces, words = {}, {}, read_rows(search)
            for key, row in data["apps"].items():
                if not is_app_key(key):
                    raise ValueError(f"{key!r} is not the key of an app")
                names = named[key]
                pick_keys(row, APP_ROW)
                bound = locked["apps"][key]
                identity = {"identity": bound["identity"]}
                identity |= {part: str(bound.get(part, "")) for part in ("objects", "wrappers")}
                tools = {name: _read_tool_row(name, data, locked) for name in names}
                kept = {name: lines[name] for name in names}
                reviewed = (terms[key] or None, words.get(key, {}))
                apps[key] = AppFiles(
                    key, {**row, **identity}, bound["version"], tools, kept, *reviewed
                )
                rows = {n: locked["tools"][n] for n in names if n in locked["tools"]}
                surfaces[key] = replace(apps[key], tools=rows).reviewed_surface()
            return cls(apps, surfaces)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise OutputError(f"was not written by a build: {error!r}") from None


def _read_tool_row(name: str, data: Mapping[str, Any], locked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what catalogue and lock say of a tool."""
    reviewed = locked["tools"].get(name, {})
    facts = {part: str(reviewed.get(part, "")) for part in ("event", "digest")}
    call = read_call_facts(locked.get("sent", {}).get(name))
    return {**pick_keys(data["tools"][name], TOOL_ROW), **facts, "sent": call}


def _reviewed_row(row: Mapping[str, Any]) -> SurfaceRow:
    """Return the row of a tool, without a code where it is known by its name."""
    event = row.get("event", "")
    levels = (read_level(row["level"]), read_level(row["ceiling"]))
    return SurfaceRow((event,) if event else (), levels, tuple(row.get("sent", ())))


def pick_keys(row: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return what `row` has under `keys`; a KeyError says which of them it lacks."""
    return {key: row[key] for key in keys}


def app_files(
    module: Module,
    resolved: ResolvedDictionary,
    identity: str,
    modules: Mapping[str, str],
    file: str = "",
) -> tuple[AppFiles, list[Diagnostic]]:
    """Return what a built module contributes, and which entries had to be cut."""
    lines: dict[str, str] = {}
    diagnostics: list[Diagnostic] = []
    shortcuts = modules.get(shortcuts_file(module.key), "")
    for tool in module.tools:
        title = {"title": f"{module.app.name}: {tool.function.replace('_', ' ').strip()}"}
        entry = {**tool.listing_entry(), **title, **_client_hints(tool, module)}
        lines[tool.name] = _listing_line(entry)
        if len(lines[tool.name]) > MAX_ENTRY:
            lines[tool.name] = _listing_line(cut := _shorten_entry(entry))
            shown, all_ = (len(one["inputSchema"]["properties"]) for one in (cut, entry))
            text = (
                f"the listing shows {shown} of {all_} parameters of {tool.name}, iac-gen show all"
            )
            diagnostics.append(Diagnostic(file, 0, "long-entry", text))
    row = {
        **module.app._asdict(),
        "digest": module.digest,
        "tools": len(module.tools),
        "identity": identity,
        "objects": _short_digest(modules.get(app_modules(module.key)[1], "")),
        "wrappers": _short_digest(shortcuts) if shortcuts else "",
    }
    tools = {tool.name: _tool_row(tool, module.key, lines[tool.name]) for tool in module.tools}
    words = search_rows(module, resolved)
    rows = (tools, lines, term_rows(module), words, modules)
    return AppFiles(module.key, row, module.version, *rows), diagnostics


def _shorten_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of at most `MAX_ENTRY` bytes: what is required first, long choices unsaid.

    The page of the tool, which the description names, has the whole schema, and the gate takes
    what is left out too.
    """
    schema = entry["inputSchema"]
    required = schema.get("required", ())
    way = f"Cut; the whole schema is at iac://tools/{entry['name']}"
    description = f"{entry['description']} {way}"
    head = {"name": entry["name"], "description": description}
    rest = {key: value for key, value in entry.items() if key in ("annotations", "title", "_meta")}
    room = MAX_ENTRY - len(_listing_line({**head, **rest})) - 200
    kept: dict[str, Any] = {}
    for key in sorted(schema["properties"], key=lambda key: key not in required):
        value = schema["properties"][key]
        if len(_listing_line({key: value})) > MAX_ENTRY // 8:
            text = {"description": value["description"]} if "description" in value else {}
            value = (
                {"type": "string", **text} if "enum" in value else {**TYPES["any"].schema, **text}
            )
        # A required key is written twice.
        room -= len(_listing_line({key: value})) + len(key) + 4
        if room < 0:
            break
        kept[key] = value
    properties = {key: kept[key] for key in schema["properties"] if key in kept}
    cut = {"type": "object", "properties": properties}
    if needed := [key for key in required if key in kept]:
        cut["required"] = needed
    return {**head, "inputSchema": {**cut, "additionalProperties": False}, **rest}


def _client_hints(tool: ToolFunction, module: Module) -> dict[str, Any]:
    """Return what clients read beside the entry and show no model: whose words the entry has,
    size of answers, words to find.

    A client that loads tools on demand looks in names, descriptions and these words, and not in
    schemas: the classes that an object tool is for stand in its schema alone.
    """
    meta: dict[str, Any] = {"iac/wording": "app"} if tool.app_words else {}
    if tool.op in ("get", "list"):
        meta["anthropic/maxResultSizeChars"] = RESULT_LIMIT
    if tool.op in ("list", "make") and not tool.bind:
        meta[SEARCH_WORDS] = _search_hint(module)
    return {"_meta": meta} if meta else {}


def _search_hint(module: Module) -> str:
    """Return classes of an app, `HINT_LENGTH` characters at most, those that it holds first.

    Those that nearly every app has come last: they tell none apart.
    """
    contained = [element.term for element in module.classes["application"].elements]
    terms = dict.fromkeys((*contained, *module.classes))
    words = ""
    for term in sorted(terms, key=lambda term: term in _COMMON):
        longer = f"{words}, {term}" if words else term
        if term != "application" and len(longer) <= HINT_LENGTH:
            words = longer
    return words


def _listing_line(value: Mapping[str, Any]) -> str:
    # The words of a listing reach a model: the same cleaning as in the module's schemas.
    return json.dumps(clean_json(value), separators=(",", ":"), ensure_ascii=True)


def _tool_row(tool: ToolFunction, key: str, line: str) -> dict[str, Any]:
    call = json.dumps(call_facts(tool), sort_keys=True)
    facts = f"{line}\n{tool.event}\n{tool.level}\n{tool.ceiling}\n{call}"
    return {
        "module": key,
        **{name: getattr(tool, name) for name in ("function", "level", "ceiling")},
        "digest": _short_digest(facts),
        "event": identifying_event(tool),
        "sent": call_facts(tool),
    }


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
