"""The file format as one table: the reader, the JSON schema and the reference page come from it.

The table itself, and how a type is written there, is in `schema.toml`.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from iac_scenario.model import MODES, PERMISSION_MODES

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
    modes = {
        "MODES": "|".join(MODES),
        "PERMISSION_MODES": "|".join((*PERMISSION_MODES, "delegate")),
    }
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
