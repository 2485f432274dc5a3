"""Quirks: what is known about an app and its dictionary does not say, as data with a reason.

One TOML file per app under `quirks/`, one for the standard suites (`standard.toml`), and
`apps.toml`, which maps file stems that the world knows to name and bundle id.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from iac_gen.diagnostics import Diagnostic
from iac_gen.model import Command
from iac_gen.resolve import Resolved
from iac_runtime.tool import Level

__all__ = ["Decisions", "Known", "QuirkFile", "Recipe", "apply", "known_apps", "load_quirks"]

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
_LEVELS = ("SAFE", "MODIFY", "DANGEROUS")


@dataclass(frozen=True, slots=True)
class Known:
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
    """What quirks decided for one app; keys are command names and (class, property)."""

    levels: Mapping[str, tuple[Level, str]] = field(default_factory=dict)
    docs: Mapping[str, str] = field(default_factory=dict)
    directs: Mapping[str, str] = field(default_factory=dict)
    setters: Mapping[tuple[str, str], tuple[Level, str]] = field(default_factory=dict)
    recipes: tuple[Recipe, ...] = ()


@dataclass(frozen=True, slots=True)
class QuirkFile:
    """A parsed file: the bundle id it is for (empty for all) and its rows by table."""

    file: str
    app: str
    rows: tuple[tuple[str, int, Mapping[str, Any]], ...]


def known_apps(folder: Traversable | None = None) -> dict[str, Known]:
    """Return the file stems of `quirks/apps.toml`, in lower case."""
    text = ((folder or _folder()) / "apps.toml").read_text(encoding="utf-8")
    return {stem.lower(): Known(**row) for stem, row in tomllib.loads(text).items()}


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
        text = path.read_text(encoding="utf-8")
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            diagnostics.append(Diagnostic(place, 0, "quirk", f"is no TOML: {error}", "error"))
            continue
        rows: list[tuple[str, int, Mapping[str, Any]]] = []
        for table, line, row in _rows(data, text):
            fault = _fault(table, row)
            if fault:
                diagnostics.append(Diagnostic(place, line, "quirk", fault, "error"))
            else:
                rows.append((table, line, row))
        found.append(QuirkFile(place, str(data.get("app", "")), tuple(rows)))
    return found, diagnostics


def _rows(data: Mapping[str, Any], text: str) -> list[tuple[str, int, Mapping[str, Any]]]:
    """Return the rows of all tables with the line of their header (tomllib gives none)."""
    rows = []
    lines = text.splitlines()
    for table, entries in data.items():
        if not isinstance(entries, list):
            continue
        starts = [n for n, line in enumerate(lines, 1) if line.strip() == f"[[{table}]]"]
        for position, row in enumerate(entries):
            rows.append((table, starts[position] if position < len(starts) else 0, row))
    return rows


def _fault(table: str, row: Mapping[str, Any]) -> str:
    if table not in _KEYS:
        return f"[[{table}]] is no table of a quirk file; there are {', '.join(_KEYS)}"
    unknown = row.keys() - _KEYS[table]
    if unknown:
        return f"[[{table}]] has no key {sorted(unknown)[0]}"
    if not row.get("why"):
        return f"[[{table}]] gives no reason; add why"
    missing = [key for key in _NEEDED[table] if key not in row]
    if missing:
        return f"[[{table}]] needs the key {missing[0]}"
    if table == "command" and "code" not in row and "name" not in row:
        return "[[command]] names no command; add name or code"
    if row.get("level", "SAFE") not in _LEVELS:
        return f"{row['level']} is no level; there are {', '.join(_LEVELS)}"
    return ""


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
    decisions = Decisions(levels, docs, directs, setters, tuple(recipes))
    return replace(resolved, commands=commands), decisions, diagnostics


def _reason(why: str) -> str:
    """Return a sentence as the end of another one: `SAFE, reads only, the name is no verb`."""
    text = why.rstrip(". ").replace(";", ",")
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def _command(resolved: Resolved, row: Mapping[str, Any]) -> Command | None:
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
