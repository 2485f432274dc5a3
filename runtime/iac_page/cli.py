"""`iac-mcp open`: the page in a browser."""

import os
import webbrowser
from pathlib import Path

import click

from iac_base.errors import SetupError, pip_install
from iac_runtime.gate.opening import GateOptions

_ENDS = "To end the page, press Ctrl-C. It also ends if nobody uses it for a while."


@click.command("open")
@click.option("--no-browser", is_flag=True, help="Print the page's address, and open no browser.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The page's port. Default: any free port.",
)
@click.option(
    "--idle",
    type=click.FloatRange(1),
    default=15.0,
    show_default=True,
    metavar="MINUTES",
    help="End the page after so many minutes in which nobody uses it.",
)
@click.option("--simulate", is_flag=True, help="Run the calls that you try on simulated apps only.")
@click.option("--fleet", is_flag=True, help="Also show the audit logs of your team's Macs.")
@click.option(
    "--key",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="With --fleet: the file of your private key, to answer prompts of other Macs.",
)
def open_page(
    no_browser: bool, port: int, idle: float, simulate: bool, fleet: bool, key: Path | None
) -> None:
    """Open a page that shows what assistants may do, what they did, and which prompts wait.

    \b
    Examples:
      iac-mcp open                         in your browser
      iac-mcp open --no-browser            print the address
      iac-mcp open --fleet                 with the audit logs of your team's Macs
    """
    try:
        from iac_page.server import serve_page
    except ModuleNotFoundError as error:
        raise SetupError(
            f"The page needs the package {error.name}: {pip_install('page')}"
        ) from None

    def show_address(address: str) -> None:
        if no_browser or not webbrowser.open(address):
            click.echo(f"Open {address}")
            click.echo(f"You can open this address once. {_ENDS}")
        else:
            click.echo(f"The page is open in your browser. {_ENDS}")

    database = _fleet_address() if fleet else ""
    serve_page(
        GateOptions(simulate="" if simulate else None), port, idle * 60, show_address, database, key
    )


def _fleet_address() -> str:
    try:
        from iac_fleet import database  # noqa: F401
        from iac_fleet.versions import read_settings
    except ModuleNotFoundError as error:
        raise SetupError(
            f"--fleet needs the package {error.name}: {pip_install('fleet')}"
        ) from None
    return os.environ.get("IAC_FLEET_DATABASE") or read_settings().database
