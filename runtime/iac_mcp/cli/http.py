"""`iac-mcp clients` and `iac-mcp service`: who may come in over HTTP, and the server at log-in.

Exit status: 0 done, 2 wrong usage or what cannot be done here.
"""

import os

import click

from iac_base.text import escape_hidden
from iac_mcp.cli.common import HELP
from iac_mcp.cli.install import checked_options
from iac_mcp.http import clients as known
from iac_mcp.setup import service as launchd
from iac_mcp.setup.interpreter import examine_python


@click.group(context_settings=HELP)
def clients() -> None:
    """Add, list and revoke clients of `iac-mcp serve --http` on this machine."""


@clients.command()
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice([*known.SCOPES]),
    default="write",
    show_default=True,
    help="The highest level of its calls: read (SAFE), write (MODIFY), dangerous (DANGEROUS).",
)
def add(name: str, scope: str) -> None:
    """Add the client NAME, and print its token; the token is not shown again.

    The scope is an upper limit, not an approval: calls that require approval still require it.
    """
    token = known.add_client(name, known.SCOPES[scope])
    click.echo(token)
    click.echo(
        f"This is the token of {name}; it is not shown again. The client sends it as:"
        " Authorization: Bearer TOKEN",
        err=True,
    )


@clients.command("list")
def list_clients() -> None:
    """List the clients, their scopes, and the days on which they got their tokens."""
    rows = known.read_clients()
    for row in rows:
        click.echo(f"{row.name}  {row.scope}  since {escape_hidden(row.made)}")
    if not rows:
        click.echo("There are no clients; add one with: iac-mcp clients add NAME", err=True)


@clients.command()
@click.argument("name")
def revoke(name: str) -> None:
    """Revoke the token of the client NAME, and end its open sessions."""
    known.revoke_client(name)
    click.echo(f"{name} is revoked; its sessions end within two seconds.")


@click.group(context_settings=HELP)
def service() -> None:
    """Run `iac-mcp serve --http` on this Mac whenever you are logged in (launchd)."""


@service.command()
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[-- SERVE OPTIONS]")
@click.option("--print", "only_print", is_flag=True, help="Print the agent's file; change nothing.")
@click.option(
    "--python", default="", metavar="PATH", help="Use another Python that has IAC installed."
)
def install(options: tuple[str, ...], only_print: bool, python: str) -> None:
    """Install the service (a launchd agent) and start it.

    Options after -- go to `iac-mcp serve --http`.
    """
    plist = launchd.agent_plist(examine_python(python), checked_options(options), os.environ)
    if only_print:
        click.echo(plist.decode(), nl=False)
        return
    click.echo(f"The service is installed: {launchd.install_agent(plist)}")


@service.command()
def status() -> None:
    """Say whether the service is installed and running."""
    click.echo(launchd.agent_status())


@service.command()
def uninstall() -> None:
    """End the service and remove its agent. Logs and clients stay."""
    gone = launchd.uninstall_agent()
    click.echo("The service is removed." if gone else "The service is not installed.")
