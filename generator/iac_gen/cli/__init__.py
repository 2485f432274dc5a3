"""The command line of the generator: which command is in which module.

A command's module is imported when the command runs: a build that finds nothing changed has to
be over before it could have loaded the rest.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

import click

from iac_base.commands import CommandGroup
from iac_base.errors import DISTRIBUTION

__all__ = ["cli"]

_COMMANDS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "build": ("build", (
        "iac-gen build",
        "iac-gen build notes com.omnigroup.OmniFocus4",
        "iac-gen build OmniFocus --output src/mytools",
        "iac-gen build --dictionary snapshots --output tools",
    )),
    "check": ("build", (
        "iac-gen check", "iac-gen check --dictionary snapshots --output src/mytools",
    )),
    "diff": ("build", ("iac-gen diff mail",)),
    "lint": ("show", ("iac-gen lint App.sdef",)),
    "list": ("show", ("iac-gen list",)),
    "show": ("show", ("iac-gen show notes", "iac-gen show --unbound mail",
        "iac-gen show --why mail message.subject")),
    "snapshot": ("show", ("iac-gen snapshot App.sdef --facts --output snapshots",)),
    "templates": ("show", ("iac-gen templates --write ours",
        "iac-gen build --templates ours --output src/mytools")),
    "verify-names": ("show", ("iac-gen verify-names finder",)),
}  # fmt: skip
"""Command -> the module that it is in, and examples for its help."""


class _GeneratorCommands(CommandGroup):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, examples = _COMMANDS[cmd_name]
        function = f"{cmd_name.replace('-', '_')}_command"
        command: click.Command = getattr(import_module(f"iac_gen.cli.{module}"), function)
        lines = "\n".join(f"  {line}" for line in examples)
        command.epilog = f"\b\nExamples:\n{lines}"
        return command


@click.group(cls=_GeneratorCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION)
def cli() -> None:
    """Turn the scripting dictionaries of macOS apps into typed tools."""
