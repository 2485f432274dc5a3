"""What the command lines share: `help`, `completion`, the nearest names for a misspelt one."""

import os
from pathlib import Path

import click

from iac_base.errors import near_text


class CommandGroup(click.Group):
    """A group that has the commands `help` and `completion` beside its own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), "completion", "help"})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        shared = {"completion": _completion_command, "help": _help_command}
        return super().get_command(ctx, cmd_name) or shared.get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[:1] == ["help"] and args[1:]:
            args = [*args[1:], "--help"]
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            near = near_text(name, self.list_commands(ctx))
            raise click.UsageError(f"There is no command called {name}. {near}", ctx)
        return super().resolve_command(ctx, args)


class NearestChoice(click.Choice[str]):
    """A choice whose error names what is nearest."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            what = "choice" if param is None else param.opts[0].lstrip("-")
            near = near_text(value, self.choices)
            raise click.UsageError(f"There is no {what} called {value}. {near}", ctx)
        return super().convert(value, param, ctx)


@click.command("help", short_help="`help` shows all commands, and `help COMMAND` explains one.")
@click.pass_context
def _help_command(ctx: click.Context) -> None:
    """Show all commands, or help for one command."""
    click.echo(ctx.find_root().get_help())


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")), required=False)
@click.pass_context
def _completion_command(ctx: click.Context, shell: str | None) -> None:
    """Print the lines that turn on completion in SHELL (default: your shell)."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell or Path(os.environ.get("SHELL", "")).name)
    if kind is None:
        raise click.UsageError("Give the name of your shell: bash, zsh or fish.")
    root = ctx.find_root()
    program = str(root.info_name)
    variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
    click.echo(kind(root.command, {}, program, variable).source())
