"""`iac-mcp plans`: programs over the tools that are kept by a name."""

from pathlib import Path
from typing import Any

import click

from iac_base.errors import SetupError
from iac_base.text import escape_hidden
from iac_mcp.cli.common import ARGUMENTS, HELP, TOOLS
from iac_mcp.cli.main import call, table_options
from iac_plans import store
from iac_plans.check import read_program
from iac_plans.interpreter import check_program, load_sandbox
from iac_plans.tools import RehearsalTimes
from iac_runtime.serve.listing import CALL_OPTIONS
from iac_runtime.tools.catalogue import Catalogue, tool_folders


@click.group(context_settings=HELP)
def plans() -> None:
    """Show, run, add and remove saved plans (short programs that call tools)."""


@plans.command("list")
@TOOLS
def list_plans(tools: tuple[Path, ...]) -> None:
    """List the plans: your own, and those in folders of tools."""
    pinned = store.read_pinned()
    for name, row in sorted(store.load_plans(tool_folders(tools)).items()):
        mark = "*" if name in pinned else " "
        click.echo(
            f"{mark} {name}({', '.join(row.input['properties'])})  {escape_hidden(row.purpose)}"
        )


@plans.command()
@click.argument("name")
@TOOLS
def show(name: str, tools: tuple[Path, ...]) -> None:
    """Show the file of the plan NAME."""
    click.echo(store.find_plan(name, tool_folders(tools)).path.read_text("utf-8"), nl=False)


@plans.command()
@click.argument("name")
@ARGUMENTS
@click.option(
    "--rehearse",
    is_flag=True,
    help="Only try the plan: change nothing, and print what it would do.",
)
@table_options(CALL_OPTIONS)
@click.pass_context
def run(
    ctx: click.Context, /, name: str, arguments: dict[str, Any], rehearse: bool, **raw: Any
) -> int:
    """Run the plan NAME with its arguments; you approve once."""
    given = {"plan": name, "arguments": arguments}
    tool = "rehearse_plan" if rehearse else "run_plan"
    status: int = ctx.invoke(call, tool=tool, arguments=given, dry_run=False, **raw)
    return status


@plans.command()
@click.argument("what")
@click.option("--pin", is_flag=True, help="List each plan as a tool.")
@TOOLS
def add(what: str, pin: bool, tools: tuple[Path, ...]) -> None:
    """Check and save plans. WHAT is a Python file with plans, or the name of a saved plan."""
    folders = tool_folders(tools)
    path = Path(what)
    file = path.suffix == ".py" or path.is_file()
    plans_kept = store.read_plans(path) if file else [store.find_plan(what, folders)]
    load_sandbox()
    for row in plans_kept:
        _check_plan(row, Catalogue(folders))
    if file:
        plans_kept = store.save_plans(path)
    for row in plans_kept:
        changed = pin and store.pin_plan(row)
        click.echo(f"{row.name} is saved{', and listed as a tool' if changed else ''}.")


def _check_plan(row: store.SavedPlan, catalogue: Catalogue) -> None:
    check_program(
        row.source, read_program(row.source, catalogue), RehearsalTimes().frozen_for(row.name)
    )


@plans.command()
@click.argument("name")
@click.option("--unpin", is_flag=True, help="Keep the plan, but no longer list it as a tool.")
@TOOLS
def remove(name: str, unpin: bool, tools: tuple[Path, ...]) -> None:
    """Remove the plan NAME and its file."""
    if unpin:
        if not store.pin_plan(None, name):
            raise SetupError(f"{name} is not listed as a tool.")
        click.echo(f"{name} is no longer listed as a tool.")
        return
    for gone in store.remove_plan(store.find_plan(name, tool_folders(tools))):
        click.echo(f"{gone} is removed.")
