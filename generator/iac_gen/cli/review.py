"""The commands that say what a build would change: check, diff."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from iac_gen import discover
from iac_gen.cli.common import (
    PATH,
    default_output,
    end_with,
    fail,
    find,
    inputs_of,
    run,
    source_options,
)
from iac_gen.compare import changes, differences
from iac_gen.discover import UsageError
from iac_gen.doors import clean
from iac_gen.hygiene import on_one_line
from iac_gen.output import CATALOGUE, LISTING, LOCK, OutputError, Previous
from iac_gen.write import read_files, read_previous, unfinished

__all__ = ["COMMANDS"]


@click.command()
@click.argument("apps", nargs=-1)
@source_options
@click.option("--output", type=PATH, help="The folder to check (default: your data folder).")
@click.option("--shipped", is_flag=True, hidden=True, help="Check the package that ships.")
def check(
    apps: tuple[str, ...],
    dictionaries: tuple[Path, ...],
    search: tuple[Path, ...],
    bundled: bool,
    output: Path | None,
    shipped: bool,
) -> None:
    """Fail when a build would change the folder, with the difference and what mends it."""

    folder = output or default_output()
    waiting = unfinished(folder)
    if waiting:
        click.echo(f"iac-gen: {on_one_line(waiting, 1000)}", err=True)
    try:
        found = discover.pick(find(dictionaries, search, bundled), apps)
        previous = read_previous(folder)
        inputs = replace(inputs_of(found, previous, whole=not apps), shipped=shipped)
        files, report = run(inputs, quiet=True)
        differing = differences(read_files(folder, files), files, str(folder))
    except (UsageError, OutputError) as error:
        fail(str(error))
    for text in differing:
        click.echo(text)
    for fall in report.falls:
        click.echo(f"A level fell: {fall}")
    for key in report.gone:
        click.echo(f"No longer there: {key}")
    again = " ".join(["iac-gen build", *sys.argv[2:]])
    end_with(report.failed)
    if report.falls:
        fail(f"levels fell and are not accepted; if they are meant: {again} --accept-levels", 1)
    if differing:
        count = "1 file is" if len(differing) == 1 else f"{len(differing)} files are"
        fail(f"{count} not what a build gives; mend it with: {again}", 1)
    if report.gone:
        fail(f"apps are gone; remove their modules with: {again} --prune", 1)
    if waiting:
        sys.exit(1)


@click.command()
@click.argument("apps", nargs=-1)
@source_options
@click.option("--output", type=PATH, help="The folder to compare (default: your data folder).")
def diff(
    apps: tuple[str, ...],
    dictionaries: tuple[Path, ...],
    search: tuple[Path, ...],
    bundled: bool,
    output: Path | None,
) -> None:
    """Say in words what a build would change: tools, levels, parameters."""

    folder = output or default_output()
    waiting = unfinished(folder)
    if waiting:
        click.echo(f"iac-gen: {on_one_line(waiting, 1000)}", err=True)
    try:
        found = discover.pick(find(dictionaries, search, bundled), apps)
        previous = read_previous(folder)
        files, report = run(inputs_of(found, previous, whole=not apps), quiet=True)
        if files:
            new = Previous.read(*(files[name] for name in (CATALOGUE, LISTING, LOCK)))
            kept = {key: app for key, app in new.apps.items() if key not in report.gone}
            for line in changes(previous.apps, kept):
                click.echo(clean(line))
    except (UsageError, OutputError) as error:
        fail(str(error))
    for fall in report.falls:
        click.echo(f"A level fell: {fall}")
    end_with(report.failed)


COMMANDS: Final = {"check": check, "diff": diff}
