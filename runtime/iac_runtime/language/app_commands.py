"""The commands of an app as scripts call them.

Those that every app answers, in its dictionary or not, stand in standard.toml.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from iac_runtime.tool import Param
from iac_runtime.tools.tables import Tables


class AppCommand(NamedTuple):
    """A command: `params` by JXA name, without the direct one."""

    name: str
    event: str
    direct: Param | None
    params: Mapping[str, Param]
    result: str = ""


def _read_standard() -> Iterator[tuple[str, AppCommand]]:
    text = Path(__file__).with_name("standard.toml").read_text(encoding="utf-8")
    for name, row in tomllib.loads(text).items():
        direct = Param("", "----", row["direct"]) if "direct" in row else None
        params = {key: Param(key, *rest) for key, rest in row.get("params", {}).items()}
        yield name, AppCommand(name, row["event"], direct, params)


STANDARD: Final[Mapping[str, AppCommand]] = dict(_read_standard())
"""What every app answers, in its dictionary or not, by name."""


def command_named(tables: Tables, name: str) -> AppCommand | None:
    """Return the command of an app that JavaScript calls `name`, its standard form included."""
    standard = STANDARD.get(name) if tables.app.kind == "application" else None
    command = standard
    for spec in tables.tools.values():
        if spec.bind or spec.op == "list":
            continue
        if (spec.op if spec.op != "command" else spec.jxa) != name:
            continue
        params = {p.jxa or p.term: p for p in spec.params.values() if len(p.code) == 4}
        direct = next((p for p in params.values() if p.code == "----"), None)
        named = {key: p for key, p in params.items() if p.code != "----"}
        if standard is None:
            return AppCommand(name, spec.event, direct, named, spec.result)
        if spec.op != "command":
            # An object tool states its own parameters; the event's are those of the core suite.
            codes = {param.code for param in standard.params.values()}
            extra = {k: p for k, p in named.items() if k and p.code not in codes}
            return standard._replace(params={**standard.params, **extra})
        params = {**standard.params, **named}
        command = AppCommand(name, spec.event, direct or standard.direct, params, spec.result)
    return command
