"""The commands that show what there is: snapshot, show, list."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from iac_gen import discover
from iac_gen.cli.common import (
    PATH,
    end_with,
    fail,
    find,
    inputs_of,
    source_options,
)
from iac_gen.diagnostics import Diagnostic
from iac_gen.discover import UsageError
from iac_gen.load import LoadError
from iac_gen.output import OutputError, Previous
from iac_gen.pipeline import Job, jobs, represent_job, spread
from iac_gen.quirks import known_apps
from iac_gen.raws import Raw
from iac_gen.show import module_data
from iac_gen.snapshot import facts_only, write_snapshot
from iac_gen.unbound import unbound
from iac_gen.write import write

__all__ = ["COMMANDS"]


@click.command()
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option("--output", required=True, type=PATH, help="Folder for the snapshots.")
@click.option("--facts", is_flag=True, help="Leave the dictionary's prose out.")
@click.option("--name", help="The app's name (for one dictionary).")
@click.option("--bundle-id", help="The app's bundle id (for one dictionary).")
def snapshot(
    paths: tuple[Path, ...], output: Path, facts: bool, name: str | None, bundle_id: str | None
) -> None:
    """Write the facts of dictionaries as JSON, so that they can be built anywhere."""
    files: dict[str, str] = {}
    try:
        found = discover.from_paths(paths, known_apps())
        if (name or bundle_id) and len(found.sources) != 1:
            raise UsageError("--name and --bundle-id go with one dictionary")
        loaded, failed = discover.read(found)
        for one in loaded:
            source = one.source
            source = replace(source, name=name or source.name, id=bundle_id or source.id)
            if facts:
                source = replace(source, dictionary=facts_only(source.dictionary))
            files[f"{source.stem}.json"] = write_snapshot(source)
        for changed in write(output, files):
            click.echo(str(output / changed))
    except (UsageError, OutputError) as error:
        fail(str(error))
    end_with(failed)


@click.command()
@click.argument("apps", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Show every app that is found.")
@click.option("--unbound", "only_unbound", is_flag=True, help="List what nothing was made from.")
@source_options
def show(
    apps: tuple[str, ...],
    everything: bool,
    only_unbound: bool,
    dictionaries: tuple[Path, ...],
    search: tuple[Path, ...],
    bundled: bool,
) -> None:
    """Print the intermediate representation of APPS as JSON."""

    if bool(apps) == everything:
        fail("name the apps to show, or give --all")
    try:
        found = discover.pick(find(dictionaries, search, bundled), apps)
    except UsageError as error:
        fail(str(error))
    inputs = inputs_of(found, Previous())
    wanted = jobs(inputs.sources, inputs.previous)
    failed: list[Diagnostic] = []
    shown: list[str] = []
    for outcome in spread(_unbound_of if only_unbound else _data_of, wanted, inputs):
        if isinstance(outcome, Diagnostic):
            failed.append(outcome)
        else:
            shown.append(outcome)
    if only_unbound:
        click.echo("".join(shown), nl=False)
    elif everything or len(shown) != 1:
        rows = ",\n".join(shown)
        click.echo(f"[{rows}]")
    else:
        click.echo(shown[0])
    end_with(failed)


def _data_of(job: Job) -> str | Diagnostic:
    try:
        made = represent_job(job)
    except LoadError as error:
        return error.diagnostic
    return json.dumps(module_data(made.module, made.diagnostics))


def _unbound_of(job: Job) -> str | Diagnostic:
    try:
        made = represent_job(job)
    except LoadError as error:
        return error.diagnostic
    rows = unbound(made.resolved, made.diagnostics)
    return "".join(f"{job.identity.key}: {row}\n" for row in rows)


@click.command("list")
@source_options
def list_(dictionaries: tuple[Path, ...], search: tuple[Path, ...], bundled: bool) -> None:
    """List the apps that are found, scriptable or why not."""

    try:
        found = find(dictionaries, search, bundled)
    except UsageError as error:
        fail(str(error))
    failed: list[Diagnostic] = []
    for job in jobs(found.sources, Previous()):
        assert isinstance(job.source, Raw)
        raw = job.source
        try:
            raw.read()
        except LoadError as error:
            failed.append(error.diagnostic)
            continue
        version = f" {raw.version}" if raw.version else ""
        click.echo(f"{job.identity.key}  {raw.name}{version}  {raw.id}")
    for one in failed:
        click.echo(f"-  {one}")
    for app in found.unscriptable:
        click.echo(f"-  {app.name}  {app.reason}")


COMMANDS: Final = {"list": list_, "show": show, "snapshot": snapshot}
