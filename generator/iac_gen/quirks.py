"""Quirks: what is known about an app and its dictionary does not say, as data with a reason.

One TOML file per app under `quirks/`, one for the standard suites (`standard.toml`), and
`apps.toml`, which maps file stems that the world knows to name and bundle id.
"""

import keyword
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from iac_gen.model import Diagnostic, SdefCommand
from iac_gen.resolve import Resolved
from iac_runtime.tool import Level

_KEYS = {
    "command": {"code", "name", "level", "doc", "direct", "hide", "why"},
    "property": {"class", "name", "level", "why"},
    "recipe": {"name", "tool", "bind", "params", "optional", "result", "doc", "why"},
}
_NEEDED = {
    "command": (),
    "property": ("class", "name", "level"),
    "recipe": ("name", "tool", "doc"),
}
_KEY = re.compile(r"[a-z][a-z0-9_]{0,62}")
_LEVELS = ("SAFE", "MODIFY", "DANGEROUS")


@dataclass(frozen=True, slots=True)
class KnownApp:
    """What the world knows about a file stem."""

    name: str
    id: str
    kind: str = "application"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A named shortcut: the tool `tool` with `bind` fixed; `params` key -> (type, words)."""

    name: str
    tool: str
    bind: Mapping[str, Any]
    params: Mapping[str, tuple[str, str]]
    optional: frozenset[str]
    result: str
    doc: str
    line: int


@dataclass(frozen=True, slots=True)
class Decisions:
    """What quirks decided for one app; keys are command names and (class, property).

    `shown` are the commands that the dictionary hides and a quirk shows.
    """

    levels: Mapping[str, tuple[Level, str]] = field(default_factory=dict)
    docs: Mapping[str, str] = field(default_factory=dict)
    directs: Mapping[str, str] = field(default_factory=dict)
    setters: Mapping[tuple[str, str], tuple[Level, str]] = field(default_factory=dict)
    recipes: tuple[Recipe, ...] = ()
    shown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class QuirkFile:
    """A parsed file: the bundle id it is for (empty for all) and its rows by table."""

    file: str
    app: str
    rows: tuple[tuple[str, int, Mapping[str, Any]], ...]


def known_apps(folder: Traversable | None = None) -> dict[str, KnownApp]:
    """Return the file stems of `quirks/apps.toml`, in lower case."""
    text = ((folder or _folder()) / "apps.toml").read_text(encoding="utf-8")
    return {stem.lower(): KnownApp(**row) for stem, row in tomllib.loads(text).items()}


def _folder() -> Traversable:
    return files("iac_gen") / "quirks"


def load_quirks(folder: Traversable | None = None) -> tuple[list[QuirkFile], list[Diagnostic]]:
    """Read every quirk file; a row that is not understood is left out with a diagnostic."""
    found: list[QuirkFile] = []
    diagnostics: list[Diagnostic] = []
    for path in sorted((folder or _folder()).iterdir(), key=lambda p: p.name):
        if not path.name.endswith(".toml") or path.name == "apps.toml":
            continue
        place = f"quirks/{path.name}"
        try:
            text = path.read_text(encoding="utf-8")
            data = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            diagnostics.append(Diagnostic(place, 0, "quirk", f"is no TOML: {error}", "error"))
            continue
        app = data.pop("app", "")
        if not isinstance(app, str):
            diagnostics.append(Diagnostic(place, 0, "quirk", "app is no text", "error"))
            continue
        rows: list[tuple[str, int, Mapping[str, Any]]] = []
        for table, line, row in _rows(data, text):
            fault = _fault(table, row)
            if fault:
                diagnostics.append(Diagnostic(place, line, "quirk", fault, "error"))
            else:
                rows.append((table, line, row))
        found.append(QuirkFile(place, app, tuple(rows)))
    return found, diagnostics


def _rows(data: Mapping[str, Any], text: str) -> list[tuple[str, int, Any]]:
    """Return the rows of all tables with the line of their header (tomllib gives none)."""
    rows = []
    lines = text.splitlines()
    for table, entries in data.items():
        starts = [
            n
            for n, line in enumerate(lines, 1)
            if re.match(rf"\s*(\[+\s*)?{re.escape(table)}\s*(\]|=)", line)
        ]
        # What stands in single brackets, or is no table at all, is told like a row.
        for position, row in enumerate(entries if isinstance(entries, list) else [None]):
            rows.append((table, starts[position] if position < len(starts) else 0, row))
    return rows


def _fault(table: str, row: Any) -> str:
    """Return what is wrong with a row, empty where nothing is."""
    if table not in _KEYS:
        return f"[[{table}]] is no table of a quirk file; there are {', '.join(_KEYS)}"
    if not isinstance(row, Mapping):
        return f"{table} is no list of tables; write [[{table}]]"
    unknown = row.keys() - _KEYS[table]
    if unknown:
        return f"[[{table}]] has no key {sorted(unknown)[0]}"
    odd = [key for key in row if not _fits(key, row[key])]
    if odd:
        return (
            f"[[{table}]] has {odd[0]} = {row[odd[0]]!r}; it takes {_SHAPES.get(odd[0], _TEXT)[0]}"
        )
    if not row.get("why"):
        return f"[[{table}]] gives no reason; add why"
    missing = [key for key in _NEEDED[table] if key not in row]
    if missing:
        return f"[[{table}]] needs the key {missing[0]}"
    if table == "command" and "code" not in row and "name" not in row:
        return "[[command]] names no command; add name or code"
    if row.get("level", "SAFE") not in _LEVELS:
        return f"{row['level']} is no level; there are {', '.join(_LEVELS)}"
    keys = [row["name"], *row.get("params", ())] if table == "recipe" else []
    keys += [row["direct"]] if "direct" in row else []
    bad = [key for key in keys if _KEY.fullmatch(key) is None or keyword.iskeyword(key)]
    return f"[[{table}]] names {bad[0]!r}, which is no name of Python" if bad else ""


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_params(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(one, str)
        or (
            isinstance(one, Mapping)
            and {"type"} <= one.keys() <= {"type", "doc"}
            and all(isinstance(text, str) for text in one.values())
        )
        for one in value.values()
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


_TEXT: tuple[str, Callable[[Any], bool]] = ("a text", _is_text)
_SHAPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "bind": ("a table", lambda value: isinstance(value, Mapping)),
    "hide": ("true or false", lambda value: isinstance(value, bool)),
    "optional": ("a list of texts", _is_texts),
    "params": ("a table of types, or of { type, doc }", _is_params),
}


def _fits(key: str, value: Any) -> bool:
    return _SHAPES.get(key, _TEXT)[1](value)


def apply(
    resolved: Resolved, quirks: list[QuirkFile]
) -> tuple[Resolved, Decisions, list[Diagnostic]]:
    """Return `resolved` without hidden commands made visible or hidden by quirks, and decisions.

    A row of the app's own file that matches nothing is an error.
    """
    levels: dict[str, tuple[Level, str]] = {}
    docs: dict[str, str] = {}
    directs: dict[str, str] = {}
    setters: dict[tuple[str, str], tuple[Level, str]] = {}
    recipes: list[Recipe] = []
    hidden: dict[str, bool] = {}
    diagnostics: list[Diagnostic] = []
    properties = {(row.name, prop.name) for row in resolved.classes for prop in row.properties}
    mine = [quirk for quirk in quirks if quirk.app in ("", resolved.source.id)]
    for quirk in sorted(mine, key=lambda one: one.app):
        for table, line, row in quirk.rows:
            matched = True
            if table == "command":
                command = _command(resolved, row)
                matched = command is not None
                if command is not None:
                    if "level" in row:
                        levels[command.name] = (row["level"], _reason(row["why"]))
                    if "doc" in row:
                        docs[command.name] = row["doc"]
                    if "direct" in row:
                        directs[command.name] = row["direct"]
                    if "hide" in row:
                        hidden[command.name] = bool(row["hide"])
            elif table == "property":
                key = (row["class"], row["name"])
                matched = key in properties
                setters[key] = (row["level"], _reason(row["why"]))
            else:
                recipes.append(_recipe(row, line))
            if not matched and quirk.app:
                what = row.get("code") or row.get("name")
                text = f"[[{table}]] {what} matches nothing in {resolved.source.name}"
                diagnostics.append(Diagnostic(quirk.file, line, "quirk-unused", text, "error"))
    commands = tuple(
        replace(command, hidden=hidden.get(command.name, command.hidden))
        for command in resolved.commands
    )
    shown = frozenset(
        command.name
        for command in resolved.commands
        if command.hidden and not hidden.get(command.name, True)
    )
    decisions = Decisions(levels, docs, directs, setters, tuple(recipes), shown)
    return replace(resolved, commands=commands), decisions, diagnostics


def _reason(why: str) -> str:
    """Return a sentence as the end of another one: `SAFE, reads only, the name is no verb`."""
    text = why.rstrip(". ").replace(";", ",")
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def _command(resolved: Resolved, row: Mapping[str, Any]) -> SdefCommand | None:
    for command in resolved.commands:
        if row.get("code", command.code) == command.code and (
            row.get("name", command.name) == command.name
        ):
            return command
    return None


def _recipe(row: Mapping[str, Any], line: int) -> Recipe:
    params = {
        key: (value, "") if isinstance(value, str) else (value["type"], value.get("doc", ""))
        for key, value in row.get("params", {}).items()
    }
    return Recipe(
        row["name"],
        row["tool"],
        row.get("bind", {}),
        params,
        frozenset(row.get("optional", ())),
        row.get("result", ""),
        row["doc"],
        line,
    )
