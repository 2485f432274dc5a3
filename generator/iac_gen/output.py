"""Output: the files of a folder of tools, made from what was built and what was there.

A folder is whole in itself: modules, `catalogue.json` (tool -> module, function, offset,
levels, digest), `listing.jsonl` (a finished listing entry a line), `search.jsonl` (the words that
tools are found by) and `tools.lock` (which key
belongs to which app, and what of its surface was reviewed). A build of some apps keeps the others.
Thousands of apps do not fit in memory: they wait packed, and a file is made when it is asked for.
"""

import hashlib
import json
import pickle
import zlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from iac_gen.ir import Module, ToolFunction
from iac_gen.model import Diagnostic, GeneratorError
from iac_gen.naming import BoundKey, is_app_key, is_tool_name
from iac_gen.render import objects_module
from iac_gen.resolve import ResolvedDictionary
from iac_gen.searching import SearchRows, read_rows, renamed_rows, search_rows
from iac_gen.surface import (
    Surface,
    SurfaceRow,
    call_facts,
    identifying_event,
    read_call_facts,
    read_level,
    read_row,
    term_rows,
)
from iac_gen.text import clean_json
from iac_runtime.tool import shortcuts_file
from iac_runtime.types import TYPES

FORMAT = 1
APP_ROW = ("id", "name", "kind", "digest", "tools")
_TOOL_ROW = ("module", "function", "level", "ceiling", "digest")
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
SEARCH = "search.jsonl"
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
            for name in data["tools"]:
                if not is_tool_name(name):
                    raise ValueError(f"{name!r} is not the name of a tool")
            lines = {json.loads(line)["name"]: line for line in listing.splitlines()}
            found: dict[str, dict[str, SurfaceRow]] = defaultdict(dict)
            for name, row in locked.get("terms", {}).items():
                found[name.partition(" ")[2].partition(".")[0]][name] = read_row(row)
            apps, held, words = {}, {}, read_rows(search)
            for key, row in data["apps"].items():
                if not is_app_key(key):
                    raise ValueError(f"{key!r} is not the key of an app")
                names = [n for n, tool in data["tools"].items() if tool["module"] == key]
                pick_keys(row, APP_ROW)
                apps[key] = AppFiles(
                    key,
                    {
                        **row,
                        "identity": locked["apps"][key]["identity"],
                        "objects": str(locked["apps"][key].get("objects", "")),
                        "wrappers": str(locked["apps"][key].get("wrappers", "")),
                    },
                    locked["apps"][key]["version"],
                    {
                        name: {
                            **pick_keys(data["tools"][name], _TOOL_ROW),
                            "event": str(locked["tools"].get(name, {}).get("event", "")),
                            "sent": read_call_facts(locked.get("sent", {}).get(name)),
                        }
                        for name in names
                    },
                    {name: lines[name] for name in names},
                    found[key] or None,
                    words.get(key, {}),
                )
                rows = {n: locked["tools"][n] for n in names if n in locked["tools"]}
                held[key] = replace(apps[key], tools=rows).reviewed_surface()
            return cls(apps, held)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise OutputError(f"was not written by a build: {error!r}") from None


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
    found: list[Diagnostic] = []
    shortcuts = modules.get(shortcuts_file(module.key), "")
    for tool in module.tools:
        entry = {**tool.listing_entry(), **_client_hints(tool, module)}
        lines[tool.name] = _listing_line(entry)
        if len(lines[tool.name]) > MAX_ENTRY:
            lines[tool.name] = _listing_line(cut := _shorten_entry(entry))
            shown, all_ = (len(one["inputSchema"]["properties"]) for one in (cut, entry))
            text = (
                f"the listing shows {shown} of {all_} parameters of {tool.name}, iac-gen show all"
            )
            found.append(Diagnostic(file, 0, "long-entry", text))
    row = {
        "id": module.app.id,
        "name": module.app.name,
        "kind": module.app.kind,
        "digest": module.digest,
        "tools": len(module.tools),
        "identity": identity,
        "objects": _short_digest(modules.get(app_modules(module.key)[1], "")),
        "wrappers": _short_digest(shortcuts) if shortcuts else "",
    }
    tools = {tool.name: _tool_row(tool, module.key, lines[tool.name]) for tool in module.tools}
    made = AppFiles(
        module.key,
        row,
        module.version,
        tools,
        lines,
        term_rows(module),
        search_rows(module, resolved),
        modules,
    )
    return made, found


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
    rest = {key: value for key, value in entry.items() if key in ("annotations", "_meta")}
    room = MAX_ENTRY - len(_listing_line({**head, **rest})) - 200
    kept: dict[str, Any] = {}
    for key in sorted(schema["properties"], key=lambda key: key not in required):
        value = schema["properties"][key]
        if len(_listing_line({key: value})) > MAX_ENTRY // 8:
            said = {"description": value["description"]} if "description" in value else {}
            value = (
                {"type": "string", **said} if "enum" in value else {**TYPES["any"].schema, **said}
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
    """Return what clients read beside the entry and show no model: size of answers, words to find.

    A client that loads tools on demand looks in names, descriptions and these words, and not in
    schemas: the classes that an object tool is for stand in its schema alone.
    """
    meta: dict[str, Any] = {}
    if tool.op in ("get", "list"):
        meta["anthropic/maxResultSizeChars"] = RESULT_LIMIT
    if tool.op in ("list", "make") and not tool.bind:
        meta[SEARCH_WORDS] = _search_hint(module)
    return {"_meta": meta} if meta else {}


def _search_hint(module: Module) -> str:
    """Return classes of an app, `HINT_LENGTH` characters at most, those that it holds first.

    Those that nearly every app has come last: they tell none apart.
    """
    held = [element.term for element in module.classes["application"].elements]
    terms = dict.fromkeys((*held, *module.classes))
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
    said = json.dumps(call_facts(tool), sort_keys=True)
    facts = f"{line}\n{tool.event}\n{tool.level}\n{tool.ceiling}\n{said}"
    return {
        "module": key,
        "function": tool.function,
        "level": tool.level,
        "ceiling": tool.ceiling,
        "digest": _short_digest(facts),
        "event": identifying_event(tool),
        "sent": call_facts(tool),
    }


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def app_modules(key: str) -> tuple[str, str, str]:
    """Return the files of an app: its tools, its objects, and of intents their shortcuts."""
    return f"{key}.py", f"{objects_module(key)}.py", shortcuts_file(key)
