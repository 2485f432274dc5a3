"""The file format as one table: the reader, the JSON schema and the reference page come from it.

The table itself, and how a type is written there, is in `schema.toml`. A parsed file is held
against it: all that is wrong is found, not the first. Timeouts are fields of it too.
"""

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.positions import Path as Where
from iac_scenario.model import MODES, PERMISSION_MODES, PlayError

ROOT: Final = "scenario"
"""The table that a file as a whole is."""


class FieldFormat(NamedTuple):
    """A field: its types, what it means, what holds without it, whether it does anything."""

    types: tuple[str, ...]
    doc: str
    default: str = ""
    required: bool = False
    honoured: bool = True


class TableFormat(NamedTuple):
    """A table of fields, and a sentence about it; of the fields in `one_of` it has exactly one."""

    doc: str
    fields: Mapping[str, FieldFormat]
    one_of: tuple[str, ...] = ()


def _read_tables() -> Iterator[tuple[str, TableFormat]]:
    modes = {"MODES": "|".join(MODES), "PERMISSION_MODES": "|".join(PERMISSION_MODES)}
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    for name, table in tomllib.loads(text).items():
        fields: dict[str, FieldFormat] = {}
        for key, row in table["fields"].items():
            kind = row.pop("type")
            known = modes.get(kind.removeprefix("one of "))
            types = (f"one of {known}",) if known else tuple(kind.split(" or "))
            fields[key] = FieldFormat(types, **row)
        yield name, TableFormat(table["doc"], fields, tuple(table.get("one_of", ())))


TABLES: Final[Mapping[str, TableFormat]] = dict(_read_tables())

ELSEWHERE: Final[Mapping[str, str]] = {
    "on": "pattern",
    "say": "text under response",
    "then": "turns",
    "max": "max_matches",
    "default": "default_response",
    "tools": "tool_calls under response, or tools under tool_execution",
    "call": "tool",
    "approve": "auto_approve",
    "claude": "fields of the file itself (session_id, default_model, launch_timestamp)",
    "mcpServers": "mcp_servers",
}
"""Fields of newer claudeless files and of Claude's own, and what says the same here."""


Say = Callable[[Where, str], None]
Note = Callable[[Where], None]

_SHAPES: Final = {"table": ("a table", dict), "map": ("a table", dict), "list": ("a list", list)}

_PLAIN: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "text": ("a text", lambda value: isinstance(value, str)),
    "integer": ("a whole number from 0", lambda value: type(value) is int and value >= 0),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "any": ("anything", lambda _value: True),
}


def check_document(document: Any, wrong: Say, ignored: Note) -> None:
    """Report to `wrong` what does not fit the format, to `ignored` what changes nothing here."""
    _check_table(ROOT, document, (), wrong, ignored)


def format_field_path(path: Where) -> str:
    """Return a path as people write it: `responses[0].pattern`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def _check_table(name: str, value: dict[str, Any], path: Where, wrong: Say, ignored: Note) -> None:
    fields = TABLES[name].fields
    for key, item in value.items():
        here = (*path, key)
        if key not in fields:
            wrong(here, _unknown_field_message(key, fields))
        else:
            if not fields[key].honoured:
                ignored(here)
            _check_field(fields[key].types, item, here, wrong, ignored)
    for key, field in fields.items():
        if field.required and key not in value:
            wrong(path, f"needs the field {key}.")
    if (one_of := TABLES[name].one_of) and sum(key in value for key in one_of) != 1:
        wrong(path, f"needs the field {' or '.join(one_of)}, and only one of them.")


def _unknown_field_message(key: str, fields: Mapping[str, FieldFormat]) -> str:
    near = get_close_matches(key, fields, 3, 0.6)
    if near:
        return f"unknown field. Nearest: {', '.join(near)}."
    if key in ELSEWHERE:
        return f"unknown field. Use {ELSEWHERE[key]} instead."
    known = sorted(name for name, field in fields.items() if field.honoured)
    return f"unknown field. Known: {', '.join(known)}."


def _check_field(
    types: tuple[str, ...], value: Any, path: Where, wrong: Say, ignored: Note
) -> None:
    for kind in types:
        if _matches_type(kind, value):
            _check_members(kind, value, path, wrong, ignored)
            return
    wrong(path, f"must be {' or '.join(map(_describe_type, types))}, not {_describe_value(value)}.")


def _matches_type(kind: str, value: Any) -> bool:
    head, _, rest = kind.partition(" ")
    if head in _SHAPES:
        return isinstance(value, _SHAPES[head][1])
    if head == "one":
        return isinstance(value, str) and value in rest.removeprefix("of ").split("|")
    return _PLAIN[kind][1](value)


def _check_members(kind: str, value: Any, path: Where, wrong: Say, ignored: Note) -> None:
    head, _, rest = kind.partition(" ")
    if head == "table":
        _check_table(rest, value, path, wrong, ignored)
    elif head in ("list", "map"):
        for key, item in enumerate(value) if head == "list" else value.items():
            _check_field((rest.removeprefix("of "),), item, (*path, key), wrong, ignored)


def _describe_type(kind: str) -> str:
    head, _, rest = kind.partition(" ")
    if head in _SHAPES:
        return _SHAPES[head][0]
    if head == "one":
        return f"one of {', '.join(rest.removeprefix('of ').split('|'))}"
    return _PLAIN[kind][0]


def _describe_value(value: Any) -> str:
    for described, form in _SHAPES.values():
        if isinstance(value, form):
            return described
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


TIMEOUTS: Final = {
    name: field for name, field in TABLES["timeouts"].fields.items() if field.honoured
}
"""Times in milliseconds, as `schema.toml` has them."""


def resolve_timeouts(
    flags: Mapping[str, int | None], scenario: Mapping[str, int]
) -> dict[str, int]:
    """Return every timeout in milliseconds: flag, else scenario, else environment, else default.

    The variable is IAC_SCENARIO_ and the name in capitals. Raises PlayError for one that is no
    whole number of milliseconds.
    """
    milliseconds = {}
    for name, timeout in TIMEOUTS.items():
        given = [value for value in (flags.get(name), scenario.get(name)) if value is not None]
        variable = f"IAC_SCENARIO_{name.upper()}"
        text = os.environ.get(variable, timeout.default)
        if not given and not (text.isascii() and text.isdigit()):
            raise PlayError(f"{variable}={text!r}: give a whole number of milliseconds.")
        milliseconds[name] = given[0] if given else int(text)
    return milliseconds
