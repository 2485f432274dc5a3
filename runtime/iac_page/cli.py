"""`iac-mcp open`: the page in a browser."""

import os
import webbrowser
from pathlib import Path

import click

from iac_base.distribution import pip_install
from iac_base.errors import SetupError
from iac_runtime.gate.opening import GateOptions


@click.command("open")
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Default: any free one.")
@click.option(
    "--idle",
    type=click.FloatRange(1),
    default=15.0,
    show_default=True,
    metavar="MINUTES",
    help="Minutes until it ends by itself when nobody looks.",
)
@click.option("--simulate", is_flag=True, help="Try calls on simulated apps only.")
@click.option("--fleet", is_flag=True, help="Show the record of your team's Macs too.")
@click.option(
    "--key",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="With --fleet: your private key, to answer for other Macs.",
)
def open_page(
    no_browser: bool, port: int, idle: float, simulate: bool, fleet: bool, key: Path | None
) -> None:
    """Open a page that shows what assistants may do, what they did, and what waits for you.

    \b
    Examples:
      iac-mcp open                         in your browser
      iac-mcp open --no-browser            print the address
      iac-mcp open --fleet                 with the record of your team's Macs
    """
    try:
        from iac_page.server import serve
    except ModuleNotFoundError as error:
        raise SetupError(f"The page needs {error.name}: {pip_install('page')}") from None

    def tell(address: str) -> None:
        if no_browser or not webbrowser.open(address):
            click.echo(f"Open {address}")
            click.echo("The address works once. The page ends with Ctrl-C, or when nobody looks.")
        else:
            click.echo(
                "The page is open in your browser. It ends with Ctrl-C, or when nobody looks."
            )

    database = _fleet_address() if fleet else ""
    serve(GateOptions(simulate="" if simulate else None), port, idle * 60, tell, database, key)


def _fleet_address() -> str:
    try:
        from iac_fleet import database  # noqa: F401
        from iac_fleet.settings import read_settings
    except ModuleNotFoundError as error:
        raise SetupError(f"The fleet needs {error.name}: {pip_install('fleet')}") from None
    return os.environ.get("IAC_FLEET_DATABASE") or read_settings().database
