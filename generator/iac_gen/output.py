"""Output: the files of a folder of tools, made from what was built and what was there.

A folder is whole in itself: modules, `catalogue.json` (tool -> module, function, offset,
levels, digest), `listing.jsonl` (a finished listing entry a line) and `tools.lock` (which key
belongs to which app, and a digest a tool). A build of some apps keeps the others.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any, Final

from iac_gen.ir import Module, ToolFunction, level_span
from iac_gen.model import GeneratorError
from iac_gen.naming import Bound, is_app_key, is_tool_name
from iac_gen.text import cleaned
from iac_runtime.tool import LEVELS, Level, highest

CLASSIFIER: Final = 4
"""Raise it with every change of `classify` that lowers a level on purpose."""


@dataclass(frozen=True, slots=True)
class Locked:
    """What the lock says of a tool; `app` is its module, `event` is empty for no command."""

    level: Level
    ceiling: Level
    app: str = ""
    event: str = ""


@dataclass(frozen=True, slots=True)
class LevelFall:
    """A tool whose level or ceiling is lower than the lock's."""

    tool: str
    before: Locked
    after: Locked

    def __str__(self) -> str:
        before, after = (level_span(row.level, row.ceiling) for row in (self.before, self.after))
        return f"{self.tool} fell from {before} to {after}"


def event_of(tool: ToolFunction) -> str:
    """Return the event by which a tool is known under any name; empty for no command."""
    return tool.event if tool.op == "command" and not tool.bind else ""


def keep_levels(
    module: Module, locked: Mapping[str, Locked], reviewed: Collection[str], classifier: int
) -> Module:
    """Return `module` with levels that must not fall kept.

    `reviewed` are the functions whose level a quirk decided; `classifier` is the version that
    wrote the lock.
    """
    if classifier != CLASSIFIER:
        return module
    names = {tool.name for tool in module.tools}
    tools = tuple(
        tool
        if tool.function in reviewed
        else _kept_level(tool, _before(tool.name, module.key, event_of(tool), locked, names))
        for tool in module.tools
    )
    return replace(module, tools=tools)


def _before(
    name: str, app: str, event: str, locked: Mapping[str, Locked], names: Set[str]
) -> Locked | None:
    """Return what the lock says of a tool: by its name, else by its event under a name now gone."""
    if name in locked or not event:
        return locked.get(name)
    former = [
        row
        for other, row in locked.items()
        if (row.app, row.event) == (app, event) and other not in names
    ]
    if not former:
        return None
    level = highest(row.level for row in former)
    ceiling = highest(row.ceiling for row in former)
    return Locked(level, ceiling, app, event)


def _kept_level(tool: ToolFunction, locked: Locked | None) -> ToolFunction:
    if locked is None:
        return tool
    level = max(tool.level, locked.level, key=LEVELS.index)
    ceiling = max(tool.ceiling, locked.ceiling, key=LEVELS.index)
    if (level, ceiling) == (tool.level, tool.ceiling):
        return tool
    words = f"{tool.level}, {tool.reason}."
    summary = f"{tool.summary.removesuffix(words).rstrip()} {level}, as it was before."
    return replace(tool, level=level, ceiling=ceiling, reason="as it was before", summary=summary)


def pending(locked: Mapping[str, Locked], now: Mapping[str, Locked]) -> list[LevelFall]:
    """Return the tools that are lower `now` than in the lock."""
    falls = []
    for name, row in now.items():
        before = _before(name, row.app, row.event, locked, now.keys())
        if before and (
            LEVELS.index(row.level) < LEVELS.index(before.level)
            or LEVELS.index(row.ceiling) < LEVELS.index(before.ceiling)
        ):
            falls.append(LevelFall(name, before, row))
    return sorted(falls, key=lambda fall: fall.tool)


FORMAT = 1
_APP_ROW = ("id", "name", "kind", "digest", "tools")
_TOOL_ROW = ("module", "function", "level", "ceiling", "digest")
HINT_LENGTH = 120
_COMMON = frozenset({"document", "window"})
RESULT_LIMIT = 100_000
"""Characters of JSON to which the runtime cuts an answer (`iac_runtime.tools.entries`)."""

CATALOGUE = "catalogue.json"
LISTING = "listing.jsonl"
LOCK = "tools.lock"


class OutputError(GeneratorError):
    """The files of an output folder are not what a build left there."""


@dataclass(frozen=True, slots=True)
class AppFiles:
    """What one app contributes: rows of the catalogue and lines of the listing by tool."""

    key: str
    row: Mapping[str, Any]
    version: str
    tools: Mapping[str, Mapping[str, Any]]
    lines: Mapping[str, str]
    source: str | None = None

    def renamed(self, names: Mapping[str, str]) -> "AppFiles":
        """Return the same app with its tools called by the values of `names`."""
        lines = {
            new: _line({**json.loads(self.lines[old]), "name": new}) for old, new in names.items()
        }
        tools = {new: self.tools[old] for old, new in names.items()}
        return replace(self, tools=tools, lines=lines)

    @property
    def tokens(self) -> int:
        """Approximate tokens of the listing: bytes divided by four."""
        return sum(len(line.encode()) for line in self.lines.values()) // 4


@dataclass(frozen=True, slots=True)
class Previous:
    """What an earlier build left in the folder."""

    apps: Mapping[str, AppFiles] = field(default_factory=dict)
    locked: Mapping[str, Locked] = field(default_factory=dict)
    classifier: int = CLASSIFIER

    def bound(self) -> dict[str, Bound]:
        """Return identity -> key as `tools.lock` binds them."""
        return {
            str(app.row["identity"]): Bound(key, app.version, str(app.row["digest"]))
            for key, app in self.apps.items()
        }

    @classmethod
    def read(cls, catalogue: str, listing: str, lock: str) -> "Previous":
        """Read the three files back.

        Raises:
            OutputError: One of them is no such file or they do not fit.
        """
        try:
            data = json.loads(catalogue)
            locked = json.loads(lock)
            if data["format"] != FORMAT or locked["format"] != FORMAT:
                raise OutputError(f"was written in another format than {FORMAT}")
            for name in data["tools"]:
                if not is_tool_name(name):
                    raise ValueError(f"{name!r} is no name of a tool")
            lines = {json.loads(line)["name"]: line for line in listing.splitlines()}
            apps = {}
            for key, row in data["apps"].items():
                if not is_app_key(key):
                    raise ValueError(f"{key!r} is no key of an app")
                names = [n for n, tool in data["tools"].items() if tool["module"] == key]
                _picked(row, _APP_ROW)
                apps[key] = AppFiles(
                    key,
                    {**row, "identity": locked["apps"][key]["identity"]},
                    locked["apps"][key]["version"],
                    {
                        name: {
                            **_picked(data["tools"][name], _TOOL_ROW),
                            "event": locked["tools"].get(name, {}).get("event", ""),
                        }
                        for name in names
                    },
                    {name: lines[name] for name in names},
                )
            levels = {
                name: Locked(
                    _level(row["level"]),
                    _level(row["ceiling"]),
                    str(data["tools"].get(name, {}).get("module", "")),
                    str(row.get("event", "")),
                )
                for name, row in locked["tools"].items()
            }
            return cls(apps, levels, int(locked["classifier"]))
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise OutputError(f"was not left by a build: {error!r}") from None


def _level(text: str) -> Level:
    if text not in LEVELS:
        raise KeyError(text)
    return text


def _picked(row: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return what `row` has under `keys`; a KeyError says which of them it lacks."""
    return {key: row[key] for key in keys}


def app_files(module: Module, identity: str, source: str) -> AppFiles:
    """Return what a built module contributes."""
    lines = {tool.name: _line({**tool.entry(), **_hints(tool, module)}) for tool in module.tools}
    row = {
        "id": module.app.id,
        "name": module.app.name,
        "kind": module.app.kind,
        "digest": module.digest,
        "tools": len(module.tools),
        "identity": identity,
    }
    tools = {tool.name: _row(tool, module.key, lines[tool.name]) for tool in module.tools}
    return AppFiles(module.key, row, module.version, tools, lines, source)


def _hints(tool: ToolFunction, module: Module) -> dict[str, Any]:
    """Return what clients read beside the entry and show no model: size of answers, words to find.

    A client that loads tools on demand looks in names, descriptions and these words, and not in
    schemas: the classes that an object tool is for stand in its schema alone.
    """
    meta: dict[str, Any] = {}
    if tool.op in ("get", "list"):
        meta["anthropic/maxResultSizeChars"] = RESULT_LIMIT
    if tool.op in ("list", "make") and not tool.bind:
        meta["anthropic/searchHint"] = _words(module)
    return {"_meta": meta} if meta else {}


def _words(module: Module) -> str:
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


def _line(value: Mapping[str, Any]) -> str:
    # The words of a listing reach a model: the same cleaning as in the module's schemas.
    return json.dumps(cleaned(value), separators=(",", ":"), ensure_ascii=True)


def _row(tool: ToolFunction, key: str, line: str) -> dict[str, Any]:
    facts = f"{line}\n{tool.event}\n{tool.level}\n{tool.ceiling}"
    return {
        "module": key,
        "function": tool.function,
        "level": tool.level,
        "ceiling": tool.ceiling,
        "digest": hashlib.sha256(facts.encode()).hexdigest()[:16],
        "event": event_of(tool),
    }


def assemble(
    apps: Iterable[AppFiles], package: str, previous: Previous, *, accept: bool
) -> tuple[dict[str, str], list[LevelFall]]:
    """Return all files of the folder, and the levels that fell; `package` is `__init__.py`.

    Modules of apps that were kept from an earlier build have no source and stay as they are.
    The lock keeps the old level of a tool whose level fell, unless it is to `accept` the new.
    """
    ordered = sorted(apps, key=lambda app: app.key)
    files = {f"{app.key}.py": app.source for app in ordered if app.source is not None}
    files["__init__.py"] = package
    offset = 0
    listing: list[str] = []
    tools: dict[str, dict[str, Any]] = {}
    for app in ordered:
        for name, line in app.lines.items():
            row = app.tools[name]
            where = {**_picked(row, ("module", "function")), "offset": offset}
            tools[name] = {**where, **_picked(row, ("level", "ceiling", "digest"))}
            listing.append(f"{line}\n")
            offset += len(line.encode()) + 1
    files[LISTING] = "".join(listing)
    catalogued = {app.key: _picked(app.row, _APP_ROW) for app in ordered}
    files[CATALOGUE] = _document({"apps": catalogued, "tools": tools})
    locked = {
        app.key: {
            **_picked(app.row, ("identity", "name")),
            "version": app.version,
            "digest": app.row["digest"],
        }
        for app in ordered
    }
    now = {
        name: Locked(row["level"], row["ceiling"], row["module"], row["event"])
        for app in ordered
        for name, row in app.tools.items()
    }
    falls = pending(previous.locked, now)
    kept = {} if accept else {fall.tool: fall.before for fall in falls}
    rows = {
        name: {
            "digest": row["digest"],
            "level": kept.get(name, now[name]).level,
            "ceiling": kept.get(name, now[name]).ceiling,
            **({"event": now[name].event} if now[name].event else {}),
        }
        for name, row in tools.items()
    }
    classifier = previous.classifier if kept else CLASSIFIER
    files[LOCK] = _document({"apps": locked, "tools": rows}, classifier=classifier)
    return files, falls


def _document(tables: Mapping[str, Mapping[str, Any]], **facts: int) -> str:
    """Return JSON with a row a line, so that a change is a line of a diff."""
    parts = [f'"{name}": {value}' for name, value in {"format": FORMAT, **facts}.items()]
    for name, rows in tables.items():
        body = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
        parts.append(f'"{name}": {{\n{body}\n}}')
    return "{" + ",\n".join(parts) + "}\n"
