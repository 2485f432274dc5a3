"""Quirks: what is known about an app and its dictionary does not say, as data with a reason.

One TOML file per app under `quirks/`, one for the standard suites (`standard.toml`), and
`apps.toml`, which maps file stems that the world knows to name and bundle id. Files of others name
their app, and their levels can only raise: whoever writes one has not reviewed the rest.
"""

import keyword
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final, NamedTuple

from iac_base.positions import PositionedDocument, TextError, read_toml
from iac_gen.classify import LevelVerdict
from iac_gen.field import (
    FACT_KEYS,
    FACT_LISTS,
    FACT_NEEDED,
    FACT_TABLES,
    Fact,
    fact_fault,
    read_fact,
    unknown_terms,
)
from iac_gen.model import Diagnostic
from iac_gen.resolve import ResolvedDictionary
from iac_runtime.tool import LEVELS, at_most
from iac_runtime.types import TYPES

_KEY = re.compile(r"[a-z][a-z0-9_]{0,62}")
_FOLDER: Final = files("iac_gen") / "quirks"


class _KeyShape(NamedTuple):
    """What a key takes, in words, and whether a value is one."""

    words: str
    is_valid: Callable[[Any], bool]


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(one, str) for one in values)


def _is_range(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and [type(one) in (int, float) for one in value] == [True, True]
        and value[0] < value[1]
    )


def _is_params(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(one, str)
        or (
            isinstance(one, Mapping)
            and {"type"} <= one.keys() <= {"type", "doc", "range"}
            and _are_texts(one[key] for key in one if key != "range")
            and _is_range(one.get("range", (0, 1)))
        )
        for one in value.values()
    )


_TEXT = _KeyShape("a text", lambda value: isinstance(value, str))
_FLAG = _KeyShape("true or false", lambda value: isinstance(value, bool))
_TEXTS = _KeyShape("a list of texts", lambda value: isinstance(value, list) and _are_texts(value))
_TABLE = _KeyShape("a table", lambda value: isinstance(value, Mapping))
_SENTENCES = _KeyShape(
    "a table of texts", lambda value: isinstance(value, Mapping) and _are_texts(value.values())
)
_PARAMS = _KeyShape("a table of types, or of { type, doc }", _is_params)


class QuirkKind(NamedTuple):
    """A table of a quirk file: what its keys take (`why` is everyone's) and which it needs.

    `about` finds what a row is about in a dictionary: the key under which `Decisions` has it,
    None where there is no such thing. `fault` says what is wrong with a row whose keys are right.
    """

    keys: Mapping[str, _KeyShape]
    needed: tuple[str, ...]
    about: Callable[[ResolvedDictionary, Mapping[str, Any]], Hashable | None]
    fault: Callable[[Mapping[str, Any]], str] = lambda _: ""


def _quirk_command(resolved: ResolvedDictionary, row: Mapping[str, Any]) -> str | None:
    for command in resolved.commands:
        if row.get("code", command.code) == command.code and (
            row.get("name", command.name) == command.name
        ):
            return command.name
    return None


def _quirk_property(resolved: ResolvedDictionary, row: Mapping[str, Any]) -> tuple[str, str] | None:
    key = (row["class"], row["name"])
    owners = (one for one in resolved.classes if one.name == key[0])
    return key if any(prop.name == key[1] for one in owners for prop in one.properties) else None


def _fact_id(resolved: ResolvedDictionary, row: Mapping[str, Any]) -> str | None:
    return None if unknown_terms(resolved, row) else str(row["id"])


_COMMAND_TEXTS: Final = dict.fromkeys("code name level doc direct".split(), _TEXT)
_PROPERTY_KEYS: Final = ("class", "name", "level", "type")
_RECIPE_TEXTS: Final = dict.fromkeys("name tool result doc".split(), _TEXT)
QUIRK_KINDS: Final[Mapping[str, QuirkKind]] = {
    "command": QuirkKind(
        {**_COMMAND_TEXTS, "hide": _FLAG, "params": _SENTENCES}, (), _quirk_command
    ),
    "property": QuirkKind(dict.fromkeys(_PROPERTY_KEYS, _TEXT), ("class", "name"), _quirk_property),
    "recipe": QuirkKind(
        {**_RECIPE_TEXTS, "bind": _TABLE, "params": _PARAMS, "optional": _TEXTS},
        ("name", "tool", "doc"),
        lambda _, row: str(row["name"]),
    ),
    "fact": QuirkKind(
        {
            **dict.fromkeys(FACT_KEYS, _TEXT),
            **dict.fromkeys(FACT_LISTS, _TEXTS),
            **dict.fromkeys(FACT_TABLES, _TABLE),
        },
        FACT_NEEDED,
        _fact_id,
        fact_fault,
    ),
    "left": QuirkKind({"ids": _TEXTS}, ("ids",), lambda *_: "left"),
}
"""A new kind of quirk is a row here, and a look at `Decisions` where it is applied."""


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
    doc: str
    params: Mapping[str, tuple[str, str]]
    optional: frozenset[str]
    line: int
    bind: Mapping[str, Any] = field(default_factory=dict)
    result: str = ""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The least and the most that a parameter takes, where the app's words state both."""


@dataclass(frozen=True, slots=True)
class QuirkDecisions:
    """What quirks decided for one app.

    `rows` maps a table and what a row of it is about (the name of a command, class and name of a
    property) to the keys that were given. `shown` are the commands that the dictionary hides
    and a quirk shows.
    """

    rows: Mapping[tuple[str, Hashable], Mapping[str, Any]] = field(default_factory=dict)
    recipes: tuple[Recipe, ...] = ()
    shown: frozenset[str] = frozenset()

    def values_for(self, table: str, about: Hashable) -> Mapping[str, Any]:
        """Return what was decided about one thing, empty where nothing was."""
        return self.rows.get((table, about), {})

    def level_for(self, table: str, about: Hashable) -> LevelVerdict | None:
        """Return the level that was decided about one thing, its reason and the quirk's place."""
        row = self.values_for(table, about)
        if "level" not in row:
            return None
        return LevelVerdict(row["level"], row["reason"], row["place"], row["raises"])


@dataclass(frozen=True, slots=True)
class QuirkFile:
    """A parsed file: the bundle id it is for (empty for all) and its rows by table.

    The levels of one that `raises` count only where they are higher.
    """

    file: str
    app: str
    rows: tuple[tuple[str, int, Mapping[str, Any]], ...]
    raises: bool = False


def known_apps() -> dict[str, KnownApp]:
    """Return the file stems of `quirks/apps.toml`, in lower case."""
    text = (_FOLDER / "apps.toml").read_text(encoding="utf-8")
    return {stem.lower(): KnownApp(**row) for stem, row in read_toml(text).value.items()}


@cache
def load_field_book(app: str = "") -> tuple[list[QuirkFile], list[Diagnostic]]:
    """Read the files of the field book, all or those that name an app; `read_facts` makes facts."""
    return load_quirks(files("iac_gen") / "field", "field", app)


def read_facts(files: Iterable[QuirkFile]) -> list[Fact]:
    """Return the facts of files of the field book, or of quirk files."""
    return [
        read_fact(file.app, f"{file.file}:{line}", row)
        for file in files
        for table, line, row in file.rows
        if table == "fact"
    ]


def load_quirks(
    folder: Traversable = _FOLDER, place: str = "quirks", naming: str = ""
) -> tuple[list[QuirkFile], list[Diagnostic]]:
    """Read every quirk file; a row that is not understood is left out with a diagnostic.

    Files in which `naming` does not stand are not parsed, which takes most of the time.
    """
    paths = {path.name: path for path in folder.iterdir() if path.name.endswith(".toml")}
    texts = {name: paths[name].read_bytes() for name in sorted(paths.keys() - {"apps.toml"})}
    wanted = {f"{place}/{name}": text for name, text in texts.items() if naming.encode() in text}
    return _read_files(wanted)


def read_quirks(files: Mapping[str, bytes]) -> tuple[list[QuirkFile], list[Diagnostic]]:
    """Read the quirk files of others: path -> content."""
    return _read_files(files, theirs=True)


def _read_files(
    files: Mapping[str, bytes], *, theirs: bool = False
) -> tuple[list[QuirkFile], list[Diagnostic]]:
    quirks: list[QuirkFile] = []
    diagnostics: list[Diagnostic] = []
    for place, content in files.items():
        file, faults = _read_file(place, content)
        diagnostics += faults
        if file and theirs and not file.app:
            text = 'names no app; begin with app = "com.example.App"'
            diagnostics.append(Diagnostic(place, 1, "quirk", text, "error"))
        elif file:
            quirks.append(replace(file, raises=theirs))
    return quirks, diagnostics


@lru_cache(maxsize=64)
def _read_file(place: str, content: bytes) -> tuple[QuirkFile | None, list[Diagnostic]]:
    """Return a file, None for one that cannot be read, and what is wrong in it."""
    faults: list[Diagnostic] = []

    def add_problem(line: int, text: str) -> None:
        faults.append(Diagnostic(place, line, "quirk", text, "error"))

    try:
        document = read_toml(content.decode())
    except (TextError, UnicodeDecodeError) as error:
        add_problem(getattr(error, "line", 0), f"is not TOML: {error}")
        return None, faults
    app = document.value.pop("app", "")
    if not isinstance(app, str):
        add_problem(document.line_of(("app",)), "the value of app is not text")
        return None, faults
    rows: list[tuple[str, int, Mapping[str, Any]]] = []
    for table, line, row in _document_rows(document):
        if fault := _row_fault(table, row):
            add_problem(line, fault)
        else:
            rows.append((table, line, row))
    return QuirkFile(place, app, tuple(rows)), faults


def _document_rows(document: PositionedDocument) -> Iterator[tuple[str, int, Any]]:
    """Yield the rows of all tables with the line of their header."""
    for table, entries in document.value.items():
        # What stands in single brackets, or is no table at all, is told like a row.
        for position, row in enumerate(entries if isinstance(entries, list) else [None]):
            yield table, document.line_of((table, position)), row


def _row_fault(table: str, row: Any) -> str:
    """Return what is wrong with a row, empty where nothing is."""
    kind = QUIRK_KINDS.get(table)
    if kind is None:
        return f"[[{table}]] is not a table of a quirk file; there are {', '.join(QUIRK_KINDS)}"
    if not isinstance(row, Mapping):
        return f"{table} is not a list of tables; write [[{table}]]"
    unknown = row.keys() - kind.keys.keys() - {"why"}
    if unknown:
        return f"[[{table}]] has no key {sorted(unknown)[0]}"
    for key, value in row.items():
        shape = kind.keys.get(key, _TEXT)
        if not shape.is_valid(value):
            return f"[[{table}]] has {key} = {value!r}; it takes {shape.words}"
    if table != "fact" and not row.get("why"):
        return f"[[{table}]] gives no reason; add why"
    missing = [key for key in kind.needed if key not in row]
    if missing:
        return f"[[{table}]] needs the key {missing[0]}"
    if fault := kind.fault(row):
        return fault
    if table == "command" and "code" not in row and "name" not in row:
        return "[[command]] names no command; add name or code"
    if table == "property" and not row.keys() & {"level", "type"}:
        return "[[property]] says nothing; add level or type"
    if row.get("level", "SAFE") not in LEVELS:
        return f"{row['level']} is not a level; there are {', '.join(LEVELS)}"
    if row.get("type", "text") not in TYPES:
        return f"{row['type']} is not a type; there are {', '.join(TYPES)}"
    keys = [row["name"], *row.get("params", ())] if table == "recipe" else []
    keys += [row["direct"]] if "direct" in row else []
    bad = [key for key in keys if _KEY.fullmatch(key) is None or keyword.iskeyword(key)]
    return f"[[{table}]] names {bad[0]!r}, which is not a Python name" if bad else ""


def apply_quirks(
    resolved: ResolvedDictionary, quirks: list[QuirkFile]
) -> tuple[ResolvedDictionary, QuirkDecisions, list[Diagnostic]]:
    """Return `resolved` without hidden commands made visible or hidden by quirks, and decisions.

    A row of the app's own file that matches nothing is an error.
    """
    rows: dict[tuple[str, Hashable], dict[str, Any]] = {}
    recipes: list[Recipe] = []
    diagnostics: list[Diagnostic] = []
    source = resolved.source
    # The codes of intents are names, which may be those of events and mean something else.
    common = {""} if source.kind != "intents" else set()
    mine = [quirk for quirk in quirks if quirk.app in {*common, source.identity}]
    for quirk in sorted(mine, key=lambda one: (one.raises, one.app)):
        for table, line, row in quirk.rows:
            about = QUIRK_KINDS[table].about(resolved, row)
            if table == "recipe":
                recipes.append(_read_recipe(row, line))
            elif about is not None:
                rows[table, about] = _combine_rows(rows.get((table, about), {}), row, quirk, line)
            elif quirk.app:
                what = row.get("code") or row.get("name") or row.get("id")
                if table == "fact":
                    what = f"{what}: {unknown_terms(resolved, row)[0]}"
                text = f"[[{table}]] {what} matches nothing in {resolved.source.name}"
                diagnostics.append(Diagnostic(quirk.file, line, "quirk-unused", text, "error"))
    decisions = QuirkDecisions(rows, tuple(recipes))
    commands = tuple(
        replace(one, hidden=decisions.values_for("command", one.name).get("hide", one.hidden))
        for one in resolved.commands
    )
    both = zip(resolved.commands, commands, strict=True)
    shown = frozenset(old.name for old, new in both if old.hidden and not new.hidden)
    return replace(resolved, commands=commands), replace(decisions, shown=shown), diagnostics


def _combine_rows(
    before: Mapping[str, Any], row: Mapping[str, Any], quirk: QuirkFile, line: int
) -> dict[str, Any]:
    """Return what rows about one thing come to: a later one goes before an earlier one."""
    if "level" not in row:
        return {**before, **row}
    reviewed = before.get("level")
    if quirk.raises and reviewed and at_most(row["level"], reviewed):
        return {**before, **{key: value for key, value in row.items() if key != "level"}}
    raises = quirk.raises and not reviewed
    level = {
        "reason": _reason_clause(row["why"]),
        "place": f"{quirk.file}:{line}",
        "raises": raises,
    }
    return {**before, **row, **level}


def _reason_clause(why: str) -> str:
    """Return a sentence as the end of another one: `SAFE, reads only, the name is no verb`."""
    text = why.rstrip(". ").replace(";", ",")
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def _read_recipe(row: Mapping[str, Any], line: int) -> Recipe:
    params = {
        key: (value, "") if isinstance(value, str) else (value["type"], value.get("doc", ""))
        for key, value in row.get("params", {}).items()
    }
    given = {key: value for key, value in row.items() if key != "why"}
    given["ranges"] = {
        key: value["range"]
        for key, value in row.get("params", {}).items()
        if isinstance(value, Mapping) and "range" in value
    }
    optional = frozenset(row.get("optional", ()))
    return Recipe(**{**given, "params": params, "optional": optional, "line": line})
