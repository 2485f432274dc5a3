"""`iac-mcp join`: a Mac comes into its team's fleet with the file that it was given."""

import os
import sys
from pathlib import Path

import click

from iac_base.errors import SetupError, pip_install
from iac_base.files import open_state


@click.command("join")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--key", help="Your team's public key: accept only a file that it signed.")
def join_fleet(file: Path, key: str | None) -> None:
    """Let this Mac join its team's fleet with the enrolment FILE, which can be used once.

    From then on this Mac uses the team's policy and sends its audit log to the team's database.

    \b
    Examples:
      iac-mcp join studio.enrolment
    """
    try:
        from iac_fleet import database, enrol, forward, versions
    except ModuleNotFoundError as error:
        raise SetupError(f"join needs the package {error.name}: {pip_install('fleet')}") from None
    from iac_runtime.audit.store import FORWARDED

    state = open_state()
    trusted = (key,) if key else enrol.managed_keys()
    if not trusted and versions.settings_path().exists():
        # A Mac goes to no other team by a file that names that team's key itself.
        trusted = tuple(filter(None, (versions.read_settings().key,)))
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise SetupError(f"{file} cannot be read. Give an enrolment file.") from None
    found = enrol.read_enrolment(text, trusted)
    settings = enrol.use_enrolment(found)
    if not (state / FORWARDED).exists():
        forward.save_progress(state, settings, 0)
    click.echo(f"{settings.host} has joined the fleet. The team's key is {settings.key}.")
    with database.open_connection(settings.database) as connection:
        if news := versions.adopt_version(connection, settings, state):
            click.echo(news)
    if found.service and sys.platform == "darwin":
        from iac_fleet.service import FORWARDER, forwarder_plist
        from iac_mcp.setup.interpreter import examine_python
        from iac_mcp.setup.service import install_agent

        plist = forwarder_plist(examine_python(), os.environ)
        click.echo(f"The service is installed: {install_agent(plist, agent=FORWARDER)}")
    else:
        click.echo("Now run: iac-fleet forward")
