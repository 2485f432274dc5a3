"""`iac-mcp`: serve the tools over MCP, call one, list them.

Exit status: 0 done, 1 refused or failed, 2 wrong usage or set-up.
"""

import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from iac_runtime.catalogue import Catalogue
from iac_runtime.errors import IacError, SetupError, ToolError, UnknownToolError
from iac_runtime.execution.executor import DEFAULT_TIMEOUT, Executor
from iac_runtime.folders import tool_folders
from iac_runtime.gate import Call, Gate, Refused
from iac_runtime.levels import LEVELS
from iac_runtime.results import clean, structured
from iac_runtime.simulation import HOME, simulation
from iac_runtime.tool import Level

__all__ = ["cli", "main"]

_TOOLS = click.option(
    "--tools",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="A folder of generated tools to look in first.",
)
_SIMULATE = click.option(
    "--simulate",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[STATE]",
    help="Use simulated apps; STATE is a file that keeps their state.",
)
_ALLOW = click.option(
    "--allow",
    type=click.Choice(LEVELS, case_sensitive=False),
    default="SAFE",
    show_default=True,
    help="The highest level that runs.",
)
_READ_ONLY = click.option(
    "--read-only", is_flag=True, help="Only tools that never change anything."
)
_TIMEOUT = click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=DEFAULT_TIMEOUT,
    show_default=True,
    help="Seconds for one call.",
)


def _open(tools: tuple[Path, ...], simulate: str | None, allow: Level, timeout: float) -> Gate:
    catalogue = Catalogue(tool_folders(tools))
    if simulate is None:
        return Gate(catalogue, Executor(timeout=timeout), allow)
    world = simulation(catalogue, Path(simulate) if simulate else None)
    return Gate(catalogue, Executor(world, timeout=timeout), allow, home=HOME)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="iac")
def cli() -> None:
    """Tools of macOS apps over MCP."""


@cli.command()
@_TOOLS
@_SIMULATE
@_READ_ONLY
@_ALLOW
@_TIMEOUT
def serve(
    tools: tuple[Path, ...], simulate: str | None, read_only: bool, allow: Level, timeout: float
) -> None:
    """Serve the tools over MCP on standard input and output."""
    gate = _open(tools, simulate, allow, timeout)
    # The SDK is heavy; no other command needs it.
    from iac_runtime.server import serve as run

    run(gate, read_only=read_only, version=_version())


@cli.command()
@click.argument("tool")
@click.argument("arguments", default="{}", metavar="[JSON]")
@_TOOLS
@_SIMULATE
@_READ_ONLY
@_ALLOW
@_TIMEOUT
@click.option("--dry-run", is_flag=True, help="Print the line of JXA and send nothing.")
def call(
    tool: str,
    arguments: str,
    tools: tuple[Path, ...],
    simulate: str | None,
    read_only: bool,
    allow: Level,
    timeout: float,
    dry_run: bool,
) -> int:
    """Call TOOL with arguments as a JSON object and print the result as JSON."""
    given = _arguments(arguments)
    gate = _open(tools, simulate, "SAFE" if read_only else allow, timeout)
    outcome = gate.call(Call(tool, given), dry_run=dry_run)
    if isinstance(outcome, Refused):
        _complain(str(outcome.error))
        _complain(f"It would have run: {outcome.line}")
        return 1
    if dry_run:
        click.echo(clean(outcome.line))
        return 0
    content = structured(outcome.value, outcome.output, clean(outcome.note))
    click.echo(json.dumps(content, ensure_ascii=False, indent=2))
    return 0


@cli.command("tools")
@click.option("--app", metavar="KEY", help="Only the tools of one app.")
@_TOOLS
def list_tools(app: str | None, tools: tuple[Path, ...]) -> None:
    """List the tools: name, level, and the highest level that arguments can reach."""
    catalogue = Catalogue(tool_folders(tools))
    found = catalogue.find_app(app) if app else None
    if app and found is None:
        raise SetupError(
            f"There are no tools of {app}; those of: {', '.join(sorted(catalogue.apps))}."
        )
    for name, row in sorted(catalogue.tools.items()):
        if found is None or row.app == found:
            reach = row.level if row.level == row.ceiling else f"{row.level} to {row.ceiling}"
            click.echo(f"{name}  {reach}")


def _arguments(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"The arguments are no JSON ({error}); give one object.") from None
    if not isinstance(given, dict):
        raise click.UsageError('The arguments must be one JSON object, as in {"element": "note"}.')
    return given


def _version() -> str:
    try:
        return metadata.version("iac")
    except metadata.PackageNotFoundError:
        return ""


def _complain(text: str) -> None:
    click.echo(" ".join(str(clean(text)).split()), err=True)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit status; a fault is one line on standard error."""
    try:
        status = cli.main(arguments, prog_name="iac-mcp", standalone_mode=False)
    except UnknownToolError as error:
        _complain(str(error))
        return 2
    except ToolError as error:
        _complain(str(error))
        return 1
    except (IacError, click.ClickException) as error:
        text = error.format_message() if isinstance(error, click.ClickException) else str(error)
        _complain(f"iac-mcp: {text}")
        return 2
    except (KeyboardInterrupt, click.Abort):
        return 130
    return status if isinstance(status, int) else 0


if __name__ == "__main__":
    sys.exit(main())
