"""The command that asks JXA whether our names are its own: verify-names."""

import sys
from pathlib import Path
from typing import Final

import click

from iac_gen import discover
from iac_gen.cli.common import PATH, end_with, fail, find, inputs_of, source_options
from iac_gen.diagnostics import Diagnostic
from iac_gen.discover import UsageError
from iac_gen.hygiene import on_one_line
from iac_gen.load import LoadError
from iac_gen.output import Previous
from iac_gen.pipeline import Job, jobs, represent_job, spread
from iac_gen.reflect import NoReflectionError, ReflectionError, reflect
from iac_gen.verify import Names, differences, names_of

__all__ = ["COMMANDS"]

# By name, because the generator never imports the simulator; and not out of the folder that the
# command happens to be run in.
_SIMULATOR: Final = (sys.executable, "-P", "-m", "iac_simulator.osascript")


@click.command("verify-names")
@click.argument("apps", nargs=-1)
@source_options
@click.option("--osascript", "program", metavar="PROGRAM", help="The osascript to ask.")
@click.option("--simulate", is_flag=True, help="Ask the simulator, where there is no Mac.")
@click.option("--tools", type=PATH, help="With --simulate: the folder of tools to simulate.")
def verify_names(
    apps: tuple[str, ...],
    dictionaries: tuple[Path, ...],
    search: tuple[Path, ...],
    bundled: bool,
    program: str | None,
    simulate: bool,
    tools: Path | None,
) -> None:
    """Compare our JavaScript names with those that JXA's reflection prints; no app is started."""
    if simulate and program:
        fail("give either --osascript or --simulate")
    if tools and not simulate:
        fail("--tools goes with --simulate")
    if not simulate and not program and sys.platform != "darwin":
        fail("this is not a Mac; give --simulate, or --osascript with a program that stands in")
    simulated = {"IAC_SIMULATOR_TOOLS": str(tools)} if tools else {}
    asked = _SIMULATOR if simulate else (program or "osascript",)
    try:
        found = discover.pick(find(dictionaries, search, bundled), apps)
    except UsageError as error:
        fail(str(error))
    inputs = inputs_of(found, Previous())
    failed: list[Diagnostic] = []
    wrong = parameters = 0
    for outcome in spread(_names, jobs(inputs.sources, inputs.previous), inputs):
        if isinstance(outcome, Diagnostic):
            failed.append(outcome)
            continue
        key, names = outcome
        try:
            rows = differences(names, reflect(names, asked, environment=simulated))
        except ReflectionError as error:
            if names.kind == "addition" and isinstance(error, NoReflectionError):
                # An addition is reached through osascript itself, which has no dictionary.
                click.echo(f"{key}: {names.count()} names of an addition are not compared")
                continue
            failed.append(Diagnostic(names.app, 0, "reflection", str(error), "error"))
            continue
        for row in rows:
            click.echo(on_one_line(f"{key}: {row}", 500))
        click.echo(f"{key}: {names.count()} names, {len(rows)} differ")
        wrong += len(rows)
        parameters += names.parameters
    if parameters:
        click.echo(f"Reflection shows no parameters: {parameters} names are not compared.")
    end_with(failed)
    if wrong:
        sys.exit(1)


def _names(job: Job) -> tuple[str, Names] | Diagnostic:
    try:
        made = represent_job(job)
    except LoadError as error:
        return error.diagnostic
    return job.identity.key, names_of(made.resolved)


COMMANDS: Final = {"verify-names": verify_names}
