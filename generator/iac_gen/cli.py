"""The command line of the generator: `build`, `snapshot`, `show`, `list`."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import click
from platformdirs import user_data_path
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table

from iac_gen import discover, macos
from iac_gen.cli_lint import lint_command
from iac_gen.discover import Found, UsageError
from iac_gen.keys import assign
from iac_gen.load import Loaded
from iac_gen.output import OutputError, Previous
from iac_gen.pipeline import Inputs, generate, represent
from iac_gen.quirks import known_apps, load_quirks
from iac_gen.report import Report
from iac_gen.show import module_data
from iac_gen.snapshot import facts_only, write_snapshot
from iac_gen.write import read_previous, write

_PATH = click.Path(path_type=Path)
_err = Console(stderr=True, highlight=False, soft_wrap=True)


def _fail(message: str, code: int = 2) -> NoReturn:
    """Print one line and end: 1 for a failure, 2 for wrong usage."""
    click.echo(f"iac-gen: {message}", err=True)
    sys.exit(code)


def _source_options(command: Any) -> Any:
    for option in (
        click.option("--bundled", is_flag=True, help="Use the snapshots that ship with iac-gen."),
        click.option(
            "--search", multiple=True, type=_PATH, help="Look for apps in this folder too (macOS)."
        ),
        click.option(
            "--dictionary",
            "dictionaries",
            multiple=True,
            type=_PATH,
            help="An .sdef file, a snapshot, or a folder of either.",
        ),
    ):
        command = option(command)
    return command


def _find(dictionaries: Sequence[Path], search: Sequence[Path], bundled: bool) -> Found:
    if dictionaries and bundled:
        raise UsageError("give either --dictionary or --bundled")
    if dictionaries:
        return discover.from_paths(dictionaries, known_apps())
    if bundled:
        return discover.from_bundled_snapshots()
    if sys.platform == "darwin" or search:
        for folder in search:
            if not folder.is_dir():
                raise UsageError(f"{folder} is no folder; check --search")
        return discover.from_bundles(macos.installed(search))
    click.echo("iac-gen: this is not a Mac; using the bundled snapshots", err=True)
    return discover.from_bundled_snapshots()


def _default_output() -> Path:
    return user_data_path("iac", appauthor=False) / "tools"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="iac")
def cli() -> None:
    """Turn the scripting dictionaries of macOS apps into typed tools."""


@cli.command()
@click.argument("apps", nargs=-1)
@_source_options
@click.option("--output", type=_PATH, help="Folder for the tools (default: your data folder).")
@click.option("--prune", is_flag=True, help="Remove the modules of apps that are gone.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--shipped", is_flag=True, hidden=True, help="Write the package that ships.")
def build(
    apps: tuple[str, ...],
    dictionaries: tuple[Path, ...],
    search: tuple[Path, ...],
    bundled: bool,
    output: Path | None,
    prune: bool,
    as_json: bool,
    shipped: bool,
) -> None:
    """Build tool modules for APPS, or for every app that is found.

    Ends with 0 when every app was built, 1 when one was skipped, 2 for wrong usage.
    """
    if prune and apps:
        _fail("--prune needs a build of all apps; leave the names out")
    folder = output or _default_output()
    try:
        found = discover.pick(_find(dictionaries, search, bundled), apps)
        previous = read_previous(folder)
        inputs = _inputs(found, previous, whole=not apps, prune=prune, shipped=shipped)
        files, report = _generate(inputs, quiet=as_json)
        remove = [f"{key}.py" for key in report.gone] if prune else []
        if files:
            write(folder, files, remove)
    except (UsageError, OutputError) as error:
        _fail(str(error))
    if as_json:
        click.echo(json.dumps(report.data(), indent=1))
    else:
        _print(report, folder, prune)
    if report.failed:
        for one in report.failed:
            click.echo(f"iac-gen: skipped {one}", err=True)
        sys.exit(1)
    if not report.apps:
        _fail("no app with a scripting dictionary was found; see iac-gen list", 1)


def _inputs(
    found: Found,
    previous: Previous,
    *,
    whole: bool = True,
    prune: bool = False,
    shipped: bool = False,
) -> Inputs:
    quirks, faults = load_quirks()
    failed = (*found.failed, *faults)
    return Inputs(
        found.sources, discover.includes(), quirks, failed, previous, whole, prune, shipped
    )


def _generate(inputs: Inputs, quiet: bool) -> tuple[dict[str, str], Report]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed}"))
    with Progress(
        *columns, console=_err, transient=True, disable=quiet or not _err.is_terminal
    ) as progress:
        task = progress.add_task("Building", total=len(inputs.sources))

        def step(name: str) -> None:
            progress.update(task, description=f"Building {name}", advance=1)

        return generate(inputs, step)


def _print(report: Report, folder: Path, prune: bool) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("app", "name"):
        table.add_column(heading, no_wrap=True, overflow="ignore")
    for heading in ("tools", "safe", "modify", "dangerous", "tokens", "skipped"):
        table.add_column(heading, justify="right")
    for app in report.apps:
        levels = (str(app.levels[name]) for name in ("SAFE", "MODIFY", "DANGEROUS"))
        numbers = (str(app.tools), *levels, str(app.tokens), str(app.skipped))
        table.add_row(app.key, app.name, *numbers)
    console = Console(highlight=False, soft_wrap=True, markup=False)
    if report.apps:
        console.print(table)
        tools = sum(app.tools for app in report.apps)
        console.print(f"{len(report.apps)} apps or libraries, {tools} tools, in {folder}")
    for app in report.apps:
        for one in app.diagnostics:
            if one.level != "note":
                click.echo(f"iac-gen: {one}", err=True)
    if report.gone:
        keys = ", ".join(report.gone)
        console.print(
            f"Removed, because the app is gone: {keys}"
            if prune
            else f"No longer there, kept: {keys} (remove with --prune)"
        )


@cli.command()
@click.argument("paths", nargs=-1, required=True, type=_PATH)
@click.option("--output", required=True, type=_PATH, help="Folder for the snapshots.")
@click.option("--facts", is_flag=True, help="Leave the dictionary's prose out.")
@click.option("--name", help="The app's name (for one dictionary).")
@click.option("--bundle-id", help="The app's bundle id (for one dictionary).")
def snapshot(
    paths: tuple[Path, ...], output: Path, facts: bool, name: str | None, bundle_id: str | None
) -> None:
    """Write the facts of dictionaries as JSON, so that they can be built anywhere."""
    try:
        found = discover.from_paths(paths, known_apps())
        if (name or bundle_id) and len(found.sources) != 1:
            raise UsageError("--name and --bundle-id go with one dictionary")
        files = {}
        for loaded in found.sources:
            source = loaded.source
            source = replace(source, name=name or source.name, id=bundle_id or source.id)
            if facts:
                source = replace(source, dictionary=facts_only(source.dictionary))
            files[f"{source.stem}.json"] = write_snapshot(source)
        for changed in write(output, files):
            click.echo(str(output / changed))
    except (UsageError, OutputError) as error:
        _fail(str(error))
    if found.failed:
        for one in found.failed:
            click.echo(f"iac-gen: skipped {one}", err=True)
        sys.exit(1)


@cli.command()
@click.argument("apps", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Show every app that is found.")
@_source_options
def show(
    apps: tuple[str, ...],
    everything: bool,
    dictionaries: tuple[Path, ...],
    search: tuple[Path, ...],
    bundled: bool,
) -> None:
    """Print the intermediate representation of APPS as JSON."""
    if bool(apps) == everything:
        _fail("name the apps to show, or give --all")
    try:
        found = discover.pick(_find(dictionaries, search, bundled), apps)
    except UsageError as error:
        _fail(str(error))
    inputs = _inputs(found, Previous())
    identities = assign([loaded.source for loaded in inputs.sources], {})
    shown = []
    for loaded, identity in zip(inputs.sources, identities, strict=True):
        module, _, diagnostics = represent(loaded, identity.key, inputs)
        shown.append(module_data(module, diagnostics))
    click.echo(
        json.dumps(shown if everything else shown[0] if len(shown) == 1 else shown, indent=1)
    )
    if found.failed:
        for one in found.failed:
            click.echo(f"iac-gen: skipped {one}", err=True)
        sys.exit(1)


cli.add_command(lint_command)


@cli.command("list")
@_source_options
def list_(dictionaries: tuple[Path, ...], search: tuple[Path, ...], bundled: bool) -> None:
    """List the apps that are found, scriptable or why not."""
    try:
        found = _find(dictionaries, search, bundled)
    except UsageError as error:
        _fail(str(error))
    identities = assign([loaded.source for loaded in found.sources], {})
    rows = sorted(zip(identities, found.sources, strict=True), key=lambda row: row[0].key)
    for identity, loaded in rows:
        click.echo(_row(identity.key, loaded))
    for app in found.unscriptable:
        click.echo(f"-  {app.name}  {app.reason}")
    for one in found.failed:
        click.echo(f"-  {one}")


def _row(key: str, loaded: Loaded) -> str:
    source = loaded.source
    version = f" {source.version}" if source.version else ""
    return f"{key}  {source.name}{version}  {source.id}"
