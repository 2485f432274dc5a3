"""The catalogue: which tools there are in the output folders, read without importing a module.

A start of the server pays for this module, so it needs little beside `json` and `pathlib`.

Folders are searched in order; an app in an earlier one hides the later one whole. A folder may
have come with somebody's repository: what it names lies in it, and nothing of it is waited for.

Modules are code: a folder of the user's own is read only if it is theirs and nobody else can write
to it; the folder that `--tools` names is the caller's word.
"""

import contextlib
import importlib
import importlib.util
import json
import os
import stat
import sys
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from importlib.machinery import SourceFileLoader
from operator import itemgetter
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final, NamedTuple, get_args

from iac_base.errors import (
    DeclaredToolError,
    SetupError,
    UnknownToolError,
    nearest_names,
    quote_text,
)
from iac_base.files import data_folder
from iac_base.words import fold_name
from iac_runtime.tool import LEVELS, Kind, Level, Schema, spec_of
from iac_runtime.tools.lock import (
    MAX_FILE,
    damaged_file_error,
    installed_shortcuts,
    leave_out,
    lock_digest,
    read_part,
)
from iac_runtime.tools.shape import Tool, import_later
from iac_runtime.tools.tables import Operation, Tables, tables_of

FORMAT: Final = 1
_KINDS: Final = get_args(Kind)


class ToolFolder(NamedTuple):
    """One output folder: its apps that no earlier folder hides, and its tools."""

    folder: Path
    apps: dict[str, dict[str, Any]]
    tools: dict[str, dict[str, Any]]
    declared: frozenset[str] = frozenset()
    """Tools of App Intents without an installed shortcut: they are listed nowhere."""


READ_FOLDERS: Final[dict[Path, None]] = {}
"""The folders whose tools were read, in order: beside them may lie rows of the field book."""


def read_tool_folders(folders: Sequence[Path]) -> list[ToolFolder]:
    """Return what lies in the output folders; an app in an earlier one hides the later one whole.

    A row that is not as a build writes it is left out, and a line of the log names it.

    Raises:
        SetupError: No folder is given, or a catalogue is missing or damaged.
    """
    if not folders:
        raise SetupError("There are no tools yet; build them with: iac-gen build")
    tool_folders: list[ToolFolder] = []
    seen: set[str] = set()
    for folder in folders:
        path = folder / "catalogue.json"
        raw = _read_catalogue(path)
        apps = _sound_rows(path, raw["apps"], _is_app)
        # A tool of an app that is left out goes with it, and is not named again.
        tools = _sound_rows(path, raw["tools"], partial(_is_tool, raw["apps"]))
        fresh = {key: row for key, row in apps.items() if key not in seen}
        intents = {key for key, row in fresh.items() if row["kind"] == "intents"}
        asked = {name for name, row in tools.items() if row["module"] in intents}
        # A folder without intents asks nothing of the state.
        on = asked & installed_shortcuts().keys() if asked else frozenset()
        declared = frozenset(asked - on)
        off = intents - {tools[name]["module"] for name in on}
        apps = {key: row for key, row in fresh.items() if key not in off}
        if declared or len(apps) < len(raw["apps"]):
            held = ((name, row) for name, row in tools.items() if name not in declared)
            tools = {name: row for name, row in held if row["module"] in apps}
        seen |= fresh.keys()
        tool_folders.append(ToolFolder(folder, apps, tools, declared))
    return tool_folders


def _sound_rows(
    path: Path, rows: Mapping[str, Any], is_sound: Callable[[str, Any], bool]
) -> dict[str, dict[str, Any]]:
    sound = {key: row for key, row in rows.items() if is_sound(key, row)}
    for key in sorted(rows.keys() - sound.keys()):
        leave_out(path, key)
    return sound


def _is_app(key: str, row: Any) -> bool:
    # The key is the name of a file beside the catalogue.
    return (
        key.isidentifier()
        and isinstance(row, dict)
        and isinstance(row.get("id"), str)
        and isinstance(row.get("name"), str)
        and row.get("kind") in _KINDS
    )


def _is_tool(apps: Container[str], _: str, row: Any) -> bool:
    return (
        isinstance(row, dict)
        and isinstance(row.get("function"), str)
        and isinstance(row.get("module"), str)
        and row["module"] in apps
        and row.get("level") in LEVELS
        and row.get("ceiling") in LEVELS
    )


def _read_catalogue(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(read_part(path))
    except FileNotFoundError:
        raise SetupError(f"{path} is missing; build it again: iac-gen build") from None
    except (OSError, ValueError, RecursionError) as error:
        raise damaged_file_error(path) from error
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise SetupError(f"{path} is of another version; build it again: iac-gen build")
    if not all(isinstance(raw.get(part), dict) for part in ("apps", "tools")):
        raise damaged_file_error(path)
    return raw


def listed_lines(path: Path, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield each of `names` with its line of a listing, unless that is gone or cut off.

    Raises:
        SetupError: It cannot be read, or no line of it is sound.
    """
    try:
        lines = {_tool_name(line): line for line in read_part(path).splitlines()}
    except OSError as error:
        raise damaged_file_error(path) from error
    if {*lines} <= {""}:
        raise damaged_file_error(path)
    for name in names:
        if name in lines:
            yield name, lines[name]
        else:
            leave_out(path, name)


def _tool_name(line: bytes) -> str:
    # The value of its first key; all of a line is read only of the tools that are asked for.
    start, *parts = line.split(b'"', 4)
    whole = (
        len(parts) == 4 and start == b"{" and parts[0] == b"name" and parts[3].rstrip()[-1:] == b"}"
    )
    return parts[2].decode("ascii", "replace") if whole else ""


@lru_cache(maxsize=8)
def line_places(path: Path, _changed: tuple[int, int]) -> dict[str, int]:
    """Return where the line of each tool begins in a listing, which may not fit in memory."""
    places, at = dict[str, int](), 0
    # A pipe is not waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        for line in iter(partial(file.readline, MAX_FILE), b""):
            places[_tool_name(line)] = at
            at += len(line)
    return places


PACKAGE = "iac_tools"


class AppRow(NamedTuple):
    """An app of the catalogue; `key` is the prefix of its tools."""

    key: str
    id: str
    name: str
    kind: Kind
    folder: Path


class ToolRow(NamedTuple):
    """A tool of the catalogue."""

    name: str
    app: AppRow
    module: str
    function: str
    level: Level
    ceiling: Level


class Catalogue:
    """The tools of several output folders.

    Raises:
        SetupError: No folder is given, or a catalogue is missing or damaged.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.apps: dict[str, AppRow] = {}
        self.tools: dict[str, ToolRow] = {}
        self._found: dict[str, Tool] = {}
        self.tool_folders = read_tool_folders(folders)
        for tool_folder in self.tool_folders:
            self._add_folder(tool_folder)

    def _add_folder(self, tool_folder: ToolFolder) -> None:
        READ_FOLDERS[tool_folder.folder] = None
        for key, row in tool_folder.apps.items():
            self.apps[key] = AppRow(key, row["id"], row["name"], row["kind"], tool_folder.folder)
        for name, row in tool_folder.tools.items():
            app = self.apps[row["module"]]
            found = (row["module"], row["function"], row["level"], row["ceiling"])
            self.tools[name] = ToolRow(name, app, *found)

    def find_row(self, name: str) -> ToolRow:
        """Return the tool called `name`.

        Raises:
            UnknownToolError: There is none; the error has the nearest names.
        """
        row = self.tools.get(name)
        if row is None:
            raise self.unknown_tool_error(name, self.tools)
        return row

    def unknown_tool_error(self, name: str, known: Iterable[str]) -> UnknownToolError:
        """Return the error for a name that no tool has which can be called; `known` are those."""
        declared = any(name in one.declared for one in self.tool_folders)
        return (
            DeclaredToolError(name)
            if declared
            else UnknownToolError(name, nearest_names(name, known))
        )

    def find_app(self, name: str) -> AppRow | None:
        """Return the app with this key, name or bundle id, in any case; its dictionary first."""
        wanted = fold_name(name)
        for app in (*self.dictionaries, *self.apps.values()):
            if wanted in (fold_name(app.key), fold_name(app.name), fold_name(app.id)):
                return app
        return None

    def named_app(self, name: str) -> AppRow | None:
        """Return the app that is called `name` in some language, with its maker, or formerly."""
        if (found := self.find_app(name)) is not None:
            return found
        # Needed by names that no app has here, and by no other.
        from iac_runtime.tools.app_names import bare_name, is_name_of

        bare = self.find_app(bare_name(name))
        some = [bare] if bare else [app for app in self.dictionaries if is_name_of(name, app.id)]
        return some[0] if len(some) == 1 else None

    @property
    def dictionaries(self) -> list[AppRow]:
        """The apps whose tools are of a dictionary, and not of App Intents."""
        return [app for app in self.apps.values() if app.kind != "intents"]

    def meant_app(self, name: str) -> AppRow | None:
        """Return the app that somebody means: also by a part of its name that no other app has."""
        found = self.named_app(name)
        said = set(name.casefold().split())
        if found is not None or not said:
            return found
        some = [app for app in self.apps.values() if said <= set(app.name.casefold().split())]
        return some[0] if len(some) == 1 else None

    def read_listing(self) -> list[dict[str, Any]]:
        """Return the finished entries of tools/list, in the order of their names.

        Raises:
            SetupError: A listing cannot be read.
        """
        entries: list[dict[str, Any]] = []
        for one in self.tool_folders:
            path = one.folder / "listing.jsonl"
            for name, line in listed_lines(path, one.tools):
                try:
                    entry = json.loads(line)
                    if entry["name"] == name and isinstance(entry["inputSchema"], dict):
                        entries.append(entry)
                        continue
                except (KeyError, ValueError, RecursionError):
                    pass
                leave_out(path, name)
        return sorted(entries, key=itemgetter("name"))

    def load_tables(self, app: AppRow) -> Tables:
        """Return the tables of an app, importing its module on first need."""
        return module_tables(load_module(app.folder, app.key))

    def find_unbuilt_tables(self, name: str) -> Tables | None:
        """Return the tables of an app without tools, built of its dictionary if it has one.

        An app whose key is another's here is left out: what is said of a key is said of one app.
        """
        # A build is a process, which is started above the tools.
        building = importlib.import_module("iac_runtime.execution.unbuilt")
        tables: Tables | None = building.find_unbuilt_tables(name)
        return None if tables is None or tables.key in self.apps else tables

    def load_tool(self, row: ToolRow) -> Tool:
        """Return the tool of a row with what it does, importing its module on first need.

        Raises:
            SetupError: The module does not hold what the catalogue says.
        """
        tool = self._found.get(row.name)
        if tool is None:
            module = load_module(row.app.folder, row.module)
            tool = self._found[row.name] = find_tool(module, row.function, row.name)
        # The lock as it is now: what was allowed for good ends when the tool is built anew.
        return tool._replace(digest=lock_digest(row.app.folder, row.name))

    def load_operation(self, name: str) -> Operation:
        """Return what a tool does in its app. Raises as `find` and `tool` do."""
        operation = self.load_tool(self.find_row(name)).operation
        assert operation is not None
        return operation


_STAMPS: dict[str, tuple[Path, tuple[int, int]]] = {}
_IMPORTING = threading.RLock()


@lru_cache(maxsize=1024)
def module_tables(module: ModuleType) -> Tables:
    """Return the tables of an imported module; they are read once."""
    try:
        return tables_of(module)
    except (AttributeError, TypeError, ValueError) as error:
        raise damaged_file_error(Path(module.__file__ or module.__name__)) from error


@lru_cache(maxsize=4096)
def find_tool(module: ModuleType, function: str, name: str) -> Tool:
    """Return the tool that `function` of `module` is, called `name`."""
    tables = module_tables(module)
    if tables.app.kind == "intents" and name not in installed_shortcuts():
        raise DeclaredToolError(name)
    written = getattr(module, function, None)
    spec = spec_of(written or str)
    schemas: Schema | None = getattr(module, "SCHEMAS", {}).get(function)
    if spec is None or schemas is None:
        raise SetupError(
            f"{module.__file__} has no tool {quote_text(function)}; build it again: iac-gen build"
        )
    output = json.loads(schemas.output) if schemas.output else None
    return Tool(
        name,
        (written.__doc__ or "").partition("\n")[0],
        json.loads(schemas.input),
        output=output,
        level=spec.level,
        ceiling=spec.ceiling or spec.level,
        perform=import_later("iac_runtime.gate.intents:plan_intent") if spec.intent else None,
        operation=Operation(name, tables, spec, output),
    )


class _SourceLoader(SourceFileLoader):
    """Runs the source that was reviewed: byte code beside it is neither read nor written."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(read_part(Path(path)), path)
        return code


def load_module(folder: Path, key: str) -> ModuleType:
    """Import the module `key` of an output folder.

    One that `import iac_tools.<key>` would give is taken under that name, so that the library and
    the server share it; any other gets a name of its own for its folder.

    Raises:
        SetupError: The file is missing or cannot be imported.
    """
    path = (folder / f"{key}.py").resolve()
    public = f"{PACKAGE}.{key}"
    try:
        spec = importlib.util.find_spec(public)
    except ModuleNotFoundError:
        spec = None
    if spec is not None and spec.origin and Path(spec.origin).resolve() == path:
        name = public
    else:
        import hashlib

        digest = hashlib.sha256(str(path.parent).encode()).hexdigest()[:10]
        name = f"{PACKAGE}_{digest}.{key}"
    with _IMPORTING:
        return _import_module(name, path)


def forget_changed() -> None:
    """Forget the modules whose files are not as they were imported; who needs one imports it."""
    with _IMPORTING:
        for name, (path, stamp) in list(_STAMPS.items()):
            if file_stamp(path) == stamp:
                continue
            sys.modules.pop(name, None)
            del _STAMPS[name]
            module_tables.cache_clear()
            find_tool.cache_clear()
            if not name.startswith(f"{PACKAGE}."):
                continue
            # Its byte code is told apart by whole seconds and the size; a build may be quicker.
            with contextlib.suppress(OSError, NotImplementedError):
                Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        importlib.invalidate_caches()


def file_stamp(path: Path) -> tuple[int, int]:
    """Return what changes with a file: its time and size, zeros where there is none."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _import_module(name: str, path: Path) -> ModuleType:
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded
    _STAMPS[name] = path, file_stamp(path)
    try:
        if name.startswith(f"{PACKAGE}."):
            return importlib.import_module(name)
        loader = _SourceLoader(name, str(path))
        spec = importlib.util.spec_from_file_location(name, path, loader=loader)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    except Exception as error:
        sys.modules.pop(name, None)
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SetupError(
            f"{path} cannot be imported ({reason}); build it again: iac-gen build"
        ) from error
    return module


def check_own(folder: Path) -> None:
    """Refuse a folder that is not this user's or that others can write to.

    Raises:
        SetupError: One line with the way out.
    """
    status = folder.stat()
    if status.st_uid != os.geteuid():
        raise SetupError(
            f"{folder} belongs to another user, so it is not read; remove it, or"
            f" make yourself its owner."
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SetupError(
            f"{folder} can be written by other users, so it is not read; run chmod go-w on it."
        )


def shipped_folder() -> Path | None:
    """Return the folder of the modules that came with the package, found without importing it."""
    spec = importlib.util.find_spec("iac_tools")
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def _own_tools() -> Path | None:
    base = data_folder()
    tools = base / "tools"
    if not tools.is_dir():
        return None
    check_own(base)
    check_own(tools)
    return tools


def user_folders() -> list[str]:
    """Return the folder of the user's own modules if it is there and safe, else nothing."""
    try:
        own = _own_tools()
    except (SetupError, OSError):
        return []
    return [str(own)] if own else []


def tool_folders(chosen: Sequence[Path] = ()) -> list[Path]:
    """Return the output folders to search, in order: chosen, the user's own, shipped.

    Raises:
        SetupError: A chosen folder is not there, or the user's own is not safe.
    """
    for folder in chosen:
        if not (folder / "catalogue.json").is_file():
            raise SetupError(
                f"{folder} has no tools (no catalogue.json); "
                f"build them with: iac-gen build --output {folder}"
            )
    found = [*chosen]
    own = _own_tools()
    if own is not None and (own / "catalogue.json").is_file():
        found.append(own)
    shipped = shipped_folder()
    if shipped is not None and (shipped / "catalogue.json").is_file():
        found.append(shipped)
    return found
