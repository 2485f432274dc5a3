"""`iac-mcp patterns`: look at what was learned from scripts, forget it, hand it on, take it in."""

import json
import sys
from pathlib import Path

import click

from iac_applescript.patterns import ScriptPattern, pattern_from_json, pattern_to_json
from iac_applescript.store import PatternStore
from iac_base.errors import SetupError
from iac_base.files import open_state
from iac_base.text import escape_hidden

LARGEST = 64 * 1024 * 1024
"""Bytes of a file that is taken in."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def patterns() -> None:
    """Show, forget, export and import what was learned from scripts."""


@patterns.command("list")
@click.argument("intent", default="")
@click.option("--app", default="", help="Show only patterns for the app with this bundle id.")
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True)
def list_patterns(intent: str, app: str, limit: int) -> None:
    """List patterns: the latest, or those for INTENT."""
    store = PatternStore(open_state())
    if intent:
        rows = [match.pattern for match in store.find_patterns(intent, app=app, limit=limit)]
    else:
        rows = [row for row in store.all_patterns() if not app or row.app == app][:limit]
    for row in rows:
        runs = row.successes + row.failures
        told = f"{row.successes}/{runs}  {row.level:<9}  {row.provenance:<7}  {row.app or '-'}"
        click.echo(f"{row.id:>6}  {told}  {escape_hidden(row.intent)}")
    if not rows and sys.stdout.isatty():
        click.echo("No patterns yet.")


@patterns.command()
@click.argument("number", type=int)
def show(number: int) -> None:
    """Show the pattern NUMBER as JSON."""
    click.echo(json.dumps(pattern_to_json(_load_pattern(number)), indent=2))


@patterns.command()
@click.argument("numbers", type=int, nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Forget all patterns.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def forget(numbers: tuple[int, ...], everything: bool, yes: bool) -> None:
    """Forget the patterns NUMBERS, or all."""
    if everything == bool(numbers):
        raise click.UsageError("Give the numbers of the patterns, or --all.")
    if not yes:
        click.confirm("Forget these patterns? You cannot undo this.", abort=True, err=True)
    count = PatternStore(open_state()).forget_patterns(None if everything else numbers)
    click.echo(f"Patterns forgotten: {count}." if count else "There were no patterns to forget.")


@patterns.command("export")
def export_patterns() -> None:
    """Print every pattern as a line of JSON."""
    for row in PatternStore(open_state()).all_patterns():
        click.echo(json.dumps(pattern_to_json(row)))


@patterns.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def import_patterns(file: Path) -> None:
    """Import the patterns in FILE: all of them, or none."""
    rows = _read_patterns(file)
    count = PatternStore(open_state()).add_patterns(rows)
    click.echo(f"Patterns imported: {count}.")


def _load_pattern(number: int) -> ScriptPattern:
    pattern = PatternStore(open_state()).get(number)
    if pattern is None:
        raise SetupError(f"There is no pattern {number}. Run iac-mcp patterns list to see all.")
    return pattern


def _read_patterns(file: Path) -> list[ScriptPattern]:
    rows = []
    try:
        if file.stat().st_size > LARGEST:
            raise SetupError(f"{file} is larger than the limit of {LARGEST} bytes.")
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{file} is not readable text.") from error
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            rows.append(pattern_from_json(json.loads(line)))
        except (ValueError, RecursionError) as error:
            reason = "is not JSON" if isinstance(error, json.JSONDecodeError) else error
            raise SetupError(f"{file}, line {number}: {reason}. Nothing was imported.") from error
    return rows
