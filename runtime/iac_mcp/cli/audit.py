"""`iac-mcp audit`: look at the calls that were made, verify the record, hand it on, shorten it."""

import json
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from iac_base.files import PRIVATE, open_replacement, open_state
from iac_base.text import escape_hidden
from iac_mcp.cli.common import HELP, OUTPUT, print_json, report_write_errors
from iac_runtime.tool import LEVELS

if TYPE_CHECKING:
    from iac_runtime.audit.reading import AuditEntry

_AGE: Final = re.compile(r"(\d{1,6})([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def _parse_time(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Return a time as the audit writes it, in UTC."""
    if value is None:
        return None
    age = _AGE.fullmatch(value)
    try:
        if age:
            return _format_time(datetime.now(UTC) - timedelta(**{_UNITS[age[2]]: int(age[1])}))
        moment = datetime.fromisoformat(value)
        return _format_time(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{value!r} is not a time; write 2026-03-01, 2026-03-01T12:00 or 30d."
        ) from None


def _format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_LIMIT = click.option(
    "-n",
    "--limit",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Show at most this many calls.",
)
_JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, one call per line, even on a terminal."
)


@click.group(context_settings=HELP)
def audit() -> None:
    """Show, verify, export and shorten the audit log."""


@audit.command()
@_LIMIT
@_JSON
def tail(limit: int, as_json: bool) -> None:
    """Show the latest calls."""
    _show_entries(_find_calls(limit), as_json=as_json)


@audit.command()
@click.argument("text", default="")
@click.option("--app", default="", help="Only calls to the app with this bundle id.")
@click.option("--tool", default="", help="Only calls of this tool; * and ? are wildcards.")
@click.option("--client", default="", help="Only calls of this client.")
@click.option(
    "--level",
    type=click.Choice(LEVELS, case_sensitive=False),
    help="Only calls that need this level.",
)
@click.option(
    "--result", default="", help="Only calls with this result: done, TIMEOUT, interrupted, ..."
)
@click.option(
    "--simulated/--real", default=None, help="Only calls to simulated apps, or only to real ones."
)
@click.option(
    "--since",
    callback=_parse_time,
    metavar="TIME",
    help="Only calls since this time (UTC), or within this age, such as 30d.",
)
@click.option(
    "--until",
    callback=_parse_time,
    metavar="TIME",
    help="Only calls before this time (UTC), or older than this age, such as 30d.",
)
@_LIMIT
@_JSON
def search(limit: int, as_json: bool, **query: Any) -> None:
    """Show the latest calls that contain TEXT and match the options."""
    asked = {name: value for name, value in query.items() if value is not None}
    _show_entries(_find_calls(limit, **asked), as_json=as_json)


def _find_calls(limit: int, **query: Any) -> "list[AuditEntry]":
    from iac_runtime.audit.reading import AuditQuery, find_calls

    return find_calls(open_state(), AuditQuery(**query), limit)


@audit.command()
@click.argument("row", type=click.IntRange(1))
def show(row: int) -> None:
    """Show everything about one call, by its number."""
    entries = _find_calls(1, seq=row)
    if not entries:
        raise click.UsageError(
            f"Row {row} is not a call; iac-mcp audit tail lists the latest calls."
        )
    if entries[0].story:
        entries = _find_calls(1, text=entries[0].story)
    print_json(entries[0].to_json_object())


@audit.command()
@click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Append the anchor to this file.",
)
@click.option("--syslog", is_flag=True, help="Send the anchor to the system's log.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def anchor(file: Path | None, syslog: bool, command: tuple[str, ...]) -> None:
    """Store an anchor (the hash of the last row) elsewhere, to detect a rollback later.

    COMMAND, written after --, gets the anchor as a line of JSON on standard input.
    """
    from iac_runtime.audit import upkeep as anchors

    if [file is not None, syslog, bool(command)].count(True) != 1:
        raise click.UsageError(
            "Choose where to store the anchor: --file PATH, --syslog, or -- COMMAND."
        )
    state = open_state()
    if file is not None and file.resolve().is_relative_to(state.resolve()):
        raise click.UsageError(
            "A program that changes the audit log can change a file in this folder too; choose"
            " another folder."
        )
    head = anchors.append_anchor(state, _format_time(datetime.now(UTC)))
    if file is not None:
        with report_write_errors(file):
            anchors.append_to_file(file, head.json_line)
    elif syslog:
        anchors.send_to_syslog(head.json_line)
    else:
        anchors.send_to_command(command, head.json_line)
    click.echo(f"Stored an anchor of row {head.row}.")


@audit.command()
@click.option(
    "--anchor",
    "anchors",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also check the log against each anchor in this file.",
)
def verify(anchors: Path | None) -> int:
    """Verify the audit log's chain of hashes; exit with 1 if it or an anchor fails."""
    from iac_runtime.audit.reading import verify_audit
    from iac_runtime.audit.upkeep import find_anchor_fault, read_anchors

    kept, others = read_anchors(anchors) if anchors else ({}, 0)
    verified = verify_audit(open_state(), {one.row for one in kept.values()})
    for fault in verified.faults:
        click.echo(fault)
    for name in verified.kept:
        click.echo(f"An earlier audit log was damaged; it is kept as {escape_hidden(name)}.")
    if others:
        click.echo(f"{others} lines of {anchors} are not anchors and were skipped.")
    judged = {number: find_anchor_fault(one, verified) for number, one in kept.items()}
    failed = [number for number, meaning in judged.items() if meaning]
    if failed:
        one = kept[failed[0]]
        more = f" ({len(failed)} of {len(kept)} anchors fail)" if failed[1:] else ""
        place = f"Anchor in line {failed[0]}, row {one.row} of {one.time}"
        click.echo(f"{place}: {judged[failed[0]]}{more}.")
    elif kept:
        gone = sum(one.row <= verified.drop.through for one in kept.values())
        of_them = f", {gone} of them for rows that were dropped since" if gone else ""
        click.echo(f"{len(kept)} anchors match{of_them}.")
    places = f"{verified.rows} rows, {verified.first} to {verified.last}"
    click.echo(f"{places}: the chain is {'intact' if verified.is_intact else 'broken'}.")
    return 0 if verified.is_intact and not failed else 1


@audit.command()
@OUTPUT
def export(output: Path | None) -> None:
    """Print every row as a line of JSON, with its hash."""
    from iac_runtime.audit.reading import row_lines

    lines = row_lines(open_state())
    if output is None:
        for line in lines:
            click.echo(line)
        return
    click.echo(f"{_write_lines(output, lines)} rows in {output}", err=True)


@audit.command()
@click.option(
    "--before",
    callback=_parse_time,
    metavar="TIME",
    help="Drop rows before this time (UTC), or older than this age, such as 30d.",
)
@click.option("--keep", type=click.IntRange(0), help="Keep only this many of the newest rows.")
@click.option("--yes", is_flag=True, help="Do not ask first.")
def drop(before: str | None, keep: int | None, yes: bool) -> None:
    """Remove old rows permanently. You can still verify the rest."""
    if before is None and keep is None:
        raise click.UsageError("Choose the rows to drop: --before TIME, --keep NUMBER, or both.")
    if not yes:
        click.confirm("You cannot undo this. Drop the rows?", abort=True, err=True)
    from iac_runtime.audit.upkeep import drop_rows as run

    now = _format_time(datetime.now(UTC))
    done = run(open_state(), now, before=before or "", keep=keep)
    what = f"{done.rows} rows dropped" if done.rows else "There was nothing to drop"
    click.echo(what + (f"; {done.freed / 1e6:.1f} MB freed." if done.freed else "."))
    if done.held:
        click.echo(
            "Another program is still reading the audit log; the file shrinks when that program"
            " ends."
        )


def _write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write a file whole or not at all, for its owner alone; return the number of lines."""
    count = 0
    with report_write_errors(path), open_replacement(path, mode=PRIVATE) as file:
        for count, line in enumerate(lines, 1):  # noqa: B007
            file.write(f"{line}\n".encode("ascii"))
    return count


def _show_entries(entries: "list[AuditEntry]", *, as_json: bool) -> None:
    if as_json or not sys.stdout.isatty():
        for entry in entries:
            click.echo(json.dumps(entry.to_json_object()))
        return
    if not entries:
        click.echo("No call fits.")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("", "time (UTC)", "client", "tool", "level", "decision", "result", "ms", "line")
    for entry in entries:
        cells = _entry_cells(entry)
        # As texts, or brackets in a line would be read as markup.
        lines = ("; ".join(cell.splitlines()) for cell in cells)
        table.add_row(*(Text(escape_hidden(line), overflow="fold") for line in lines))
    Console().print(table)


def _entry_cells(entry: "AuditEntry") -> tuple[str, ...]:
    return (
        str(entry.seq),
        entry.time[:19].replace("T", " "),
        entry.client,
        entry.tool,
        entry.level,
        "\n".join(
            (
                *(f"{way}: {said or 'asked'}" for way, said in entry.asked),
                " by ".join(filter(None, (entry.decision, entry.source))),
            )
        ),
        f"{entry.result}, simulated" if entry.simulated else entry.result,
        "" if entry.ms is None else f"{entry.ms:.0f}",
        "\n".join((entry.line, *(" ".join(filter(None, effect)) for effect in entry.effects))),
    )
