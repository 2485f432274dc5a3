"""The command line of the generator: which command is in which module.

A command's module is imported when the command runs: a build that finds nothing changed has to
be over before it could have loaded the rest.
"""

from importlib import import_module
from typing import Final

import click

from iac_base.distribution import DISTRIBUTION
from iac_gen.cli.examples import with_examples

__all__ = ["cli"]

_COMMANDS: Final = {
    "build": "build",
    "check": "review",
    "diff": "review",
    "lint": "lint",
    "list": "show",
    "show": "show",
    "snapshot": "show",
    "verify-names": "verify",
}


class _Commands(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"iac_gen.cli.{_COMMANDS[cmd_name]}")
        command: click.Command = module.COMMANDS[cmd_name]
        return with_examples(command, cmd_name)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION)
def cli() -> None:
    """Turn the scripting dictionaries of macOS apps into typed tools."""
