"""The command line of the generator: which command is in which module.

A command's module is imported when the command runs: a build that finds nothing changed has to
be over before it could have loaded the rest.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

import click

EXAMPLES: Final[Mapping[str, str]] = {
    "build": "iac-gen build\n"
    "iac-gen build notes com.omnigroup.OmniFocus4\n"
    "iac-gen build OmniFocus --output src/mytools\n"
    "iac-gen build --dictionary snapshots --output tools",
    "check": "iac-gen check\niac-gen check --dictionary snapshots --output src/mytools",
    "diff": "iac-gen diff mail",
    "lint": "iac-gen lint App.sdef",
    "list": "iac-gen list",
    "show": "iac-gen show notes\niac-gen show --unbound mail",
    "snapshot": "iac-gen snapshot App.sdef --facts --output snapshots",
    "verify-names": "iac-gen verify-names finder",
}
"""One example a line."""


def with_examples(command: click.Command, name: str) -> click.Command:
    """Return a command whose help ends with its examples."""
    if name in EXAMPLES:
        lines = "\n".join(f"  {line}" for line in EXAMPLES[name].splitlines())
        command.epilog = f"\b\nExamples:\n{lines}"
    return command


_COMMANDS: Final = {
    "build": "build",
    "check": "build",
    "diff": "build",
    "lint": "show",
    "list": "show",
    "show": "show",
    "snapshot": "show",
    "verify-names": "show",
}


class _GeneratorCommands(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"iac_gen.cli.{_COMMANDS[cmd_name]}")
        command: click.Command = module.COMMANDS[cmd_name]
        return with_examples(command, cmd_name)


@click.group(cls=_GeneratorCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="iac")
def cli() -> None:
    """Turn the scripting dictionaries of macOS apps into typed tools."""
