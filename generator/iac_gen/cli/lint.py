"""The command line of lint."""

import dataclasses
import difflib
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from iac_gen import discover
from iac_gen.cli.common import fail
from iac_gen.discover import UsageError
from iac_gen.doors import clean
from iac_gen.lint.linter import RULES, Finding, lint
from iac_gen.quirks import known_apps

__all__ = ["COMMANDS", "lint_command"]


@click.command("lint")
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH..."
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option(
    "--rule", "names", multiple=True, metavar="NAME", help="Only this rule; may be repeated."
)
def lint_command(paths: tuple[Path, ...], as_json: bool, names: tuple[str, ...]) -> None:
    """Say what is odd or wrong in the dictionaries at PATH (files, snapshots, folders).

    Ends with 0 when there is no error, 1 when there is one or a file could not be read, 2 for
    wrong usage.
    """
    for name in names:
        if name not in RULES:
            near = difflib.get_close_matches(name, RULES, 3, 0.4)
            hint = f"nearest: {', '.join(near)}" if near else f"there are {', '.join(RULES)}"
            fail(f"no rule is called {name}; {hint}")
    rules = {name: rule for name, rule in RULES.items() if not names or name in names}
    try:
        loaded_all, unread = discover.read(
            discover.from_paths(paths, known_apps()), as_written=True
        )
    except UsageError as error:
        fail(str(error))
    includes = discover.includes()
    found: list[Finding] = []
    for loaded in loaded_all:
        found += lint(loaded.source, includes, loaded.diagnostics, rules)
    if as_json:
        rows = [dataclasses.asdict(one) for one in found]
        failed = [dataclasses.asdict(one) for one in unread]
        click.echo(json.dumps({"findings": rows, "failed": failed}, indent=1))
    else:
        for one in found:
            click.echo(clean(str(one)))
    for diagnostic in unread:
        click.echo(f"iac-gen: skipped {clean(str(diagnostic))}", err=True)
    click.echo(f"iac-gen: {_total(found, len(loaded_all))}", err=True)
    if unread or any(one.severity == "error" for one in found):
        sys.exit(1)


def _total(found: Sequence[Finding], dictionaries: int) -> str:
    counts = Counter(one.severity for one in found)
    parts = [_many(counts[level], level) for level in ("error", "warning", "note") if counts[level]]
    listed = f" ({', '.join(parts)})" if parts else ""
    total = _many(len(found), "finding")
    return f"{total}{listed} in {_many(dictionaries, 'dictionary', 'dictionaries')}"


def _many(number: int, word: str, plural: str = "") -> str:
    return f"{number} {word if number == 1 else plural or f'{word}s'}"


COMMANDS: Final = {"lint": lint_command}
