"""`iac-mcp`: serve the tools over MCP, call one, list them.

Exit status: 0 done, 1 refused or failed, 2 wrong usage or set-up.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from iac_base.commands import CommandGroup
from iac_base.errors import IacError, SetupError, ToolError, UnknownToolError
from iac_base.text import escape_hidden
from iac_mcp import start_server
from iac_mcp.cli.common import ARGUMENTS, HELP, TOOLS, print_json, with_examples
from iac_runtime.gate.plans import Call, CompletedCall, RefusedCall, call_with_prompts
from iac_runtime.gate.results import clean_value, structured_content
from iac_runtime.policy.facts import Verdict
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.prompts import ALWAYS, Question, ask_dialog, can_show_dialog
from iac_runtime.serve.listing import CALL_OPTIONS, SERVE_OPTIONS, ServeOption
from iac_runtime.tool import LEVELS
from iac_runtime.tools.catalogue import Catalogue, tool_folders
from iac_runtime.tools.own import entry_places
from iac_runtime.version import VERSION

if TYPE_CHECKING:
    from iac_runtime.gate.gate import Gate


def table_options(
    rows: Sequence[ServeOption],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a command the options of a table, as texts."""

    def decorate_command(command: Callable[..., Any]) -> Callable[..., Any]:
        for row in reversed(rows):
            more: dict[str, Any] = {"help": row.help}
            if row.kind == "flag":
                more["is_flag"] = True
            else:
                more |= {"metavar": row.metavar, "multiple": row.kind == "values", "type": str}
            if row.kind == "maybe":
                more |= {"is_flag": False, "flag_value": "", "default": None}
            command = click.option(row.flag, **more)(command)
        return command

    return decorate_command


_LATER: Final = {
    "audit": "audit",
    "patterns": "iac_applescript.cli_patterns",
    "bundle": "install",
    "clients": "http",
    "doctor": "doctor",
    "install": "install",
    "intents": "intents",
    "plans": "plans",
    "policy": "policy",
    "probe": "probe",
    "service": "http",
    "setup": "install",
    "status": "doctor",
    "uninstall": "install",
    "upgrade": "doctor",
    **entry_places("iac.commands"),
}
"""Commands with a module of their own, imported when they are asked for."""


class _LazyCommands(CommandGroup):
    """A group whose commands of `_LATER` are imported when they are run or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_LATER})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _LATER:
            home, _, function = _LATER[cmd_name].partition(":")
            module = import_module(home if "." in home else f"iac_mcp.cli.{home}")
            found = getattr(module, function or cmd_name.replace("-", "_"))
            return with_examples(found, cmd_name)
        command = super().get_command(ctx, cmd_name)
        return with_examples(command, cmd_name) if command is not None else None


@click.group(cls=_LazyCommands, context_settings=HELP)
@click.version_option(VERSION)
@click.option("-v", "--verbose", is_flag=True, help="Show more detail on standard error.")
@click.option("--log-file", metavar="FILE", help="Also write the log to this file.")
def cli(verbose: bool, log_file: str | None) -> None:
    """Let AI assistants use macOS apps as tools, over MCP (Model Context Protocol).

    \b
    Examples:
      iac-mcp setup                        everything in one command
      iac-mcp install claude-desktop       let Claude Desktop start the server
      iac-mcp doctor                       check the installation, suggest fixes
      iac-mcp -v call notes_count '{"element": "note"}'
    """
    from iac_base.logs import start_logging

    start_logging(verbose=verbose, file=log_file)


class _ServeCommand(click.Command):
    """`serve`, which says where an address goes: other servers take it after `--http`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        over_http = any(word.partition("=")[0] == "--http" for word in args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if not over_http:
                raise
            text = error.message.rstrip(".")
            raise click.UsageError(
                f"{text}. Give an address as: --http --host 127.0.0.1 --port 8722", ctx
            ) from None


@cli.command(cls=_ServeCommand)
@table_options(SERVE_OPTIONS)
def serve(**raw: Any) -> int:
    """Serve the tools over MCP on standard input and output, or over HTTP.

    \b
    Examples:
      iac-mcp serve                        a few tools that find and call the rest
      iac-mcp serve --pin notes,finder     and the tools of these apps beside them
      iac-mcp serve --expose 'mail_*'      the tools of Mail alone
      iac-mcp serve --simulate             with simulated apps, on any machine
      iac-mcp serve --http                 on 127.0.0.1, to clients with tokens
    """
    return start_server(raw)


@cli.command()
@click.argument("tool")
@ARGUMENTS
@table_options(CALL_OPTIONS)
@click.option(
    "--dry-run", is_flag=True, help="Print the script (JXA) that would run; send nothing."
)
def call(tool: str, arguments: dict[str, Any], dry_run: bool, **raw: Any) -> int:
    """Call TOOL and print the result as JSON. Give arguments as one JSON object, or as NAME=VALUE.

    \b
    Examples:
      iac-mcp call notes_list element=note limit=3
      iac-mcp call notes_list '{"element": "note", "limit": 3}'
      iac-mcp call --dry-run mail_set '{"target": "inbox.messages[0]",
                                        "properties": {"read status": true}}'
    """
    from iac_runtime.gate.opening import build_gate, read_options
    from iac_runtime.serve.call import unwrap_call_tool
    from iac_runtime.serve.tool_pages import ToolSearch

    with closing(build_gate(read_options(raw))) as gate:
        catalogue = gate.catalogue
        if tool == "find_tools" and catalogue is not None:
            search = ToolSearch(lambda: catalogue, read_only=gate.read_only)
            print_json(search.find_pages(arguments))
            return 0
        asked = unwrap_call_tool(Call(tool, arguments, Requester("iac-mcp call")))
        if dry_run:
            tried = gate.call(asked, dry_run=True)
            assert isinstance(tried, CompletedCall)
            click.echo(escape_hidden(tried.line))
            return 0
        return _run_call(gate, asked)


def _run_own_call(
    tool: str, arguments: Mapping[str, Any], client: str, raw: Mapping[str, Any]
) -> int:
    """Carry out a call of a command that is a tool too."""
    from iac_runtime.gate.opening import build_gate, read_options

    with closing(build_gate(read_options(raw))) as gate:
        return _run_call(gate, Call(tool, arguments, Requester(client)))


def _run_call(gate: "Gate", asked: Call) -> int:
    """Carry out a call for the person who typed it, and print what came of it."""
    # Where the call was typed, else by a dialog.
    terminal = ask_terminal if terminal_at_hand() else None
    dialog = ask_dialog if can_show_dialog() else None
    answer = call_with_prompts(gate, asked, {"terminal": terminal, "dialog": dialog})
    if isinstance(answer, RefusedCall):
        return _report_refusal(answer)
    print_json(
        structured_content(answer.value, answer.output, clean_value(answer.note), answer.outcome)
    )
    return 0


@cli.command()
@click.argument("which", default="", metavar="[CALL]")
@click.option("--last", type=click.IntRange(1, 50), help="Undo this many of the newest calls.")
@click.option(
    "--since", metavar="TIME", help="Undo everything since this time, such as 2026-03-09T14:30."
)
@click.option("--client", metavar="NAME", help="Undo only calls of this client.")
@click.option("--point", metavar="NAME", help="Undo everything after this restore point.")
@table_options(CALL_OPTIONS)
def undo(
    which: str,
    last: int | None,
    since: str | None,
    client: str | None,
    point: str | None,
    **raw: Any,
) -> int:
    """Undo what a call changed (default: the last call). Later changes stay.

    \b
    Examples:
      iac-mcp undo                         the last call
      iac-mcp undo 12                      call 12, as `iac-mcp history` numbers it
      iac-mcp undo --point before-cleanup   all after a restore point
    """
    if which and not (which.isdecimal() and int(which)):
        raise click.UsageError(
            f"{which} is not the number of a call; iac-mcp history lists the calls."
        )
    given = {"call": int(which or 0), "last": last, "since": since, "client": client}
    given = {key: value for key, value in {**given, "point": point}.items() if value}
    return _run_own_call("undo_call", given, "iac-mcp undo", raw)


@cli.command()
@click.argument("which", default="", metavar="[CALL]")
@click.option("-n", "--last", type=click.IntRange(1, 1000), default=20, show_default=True)
@table_options(CALL_OPTIONS)
def history(which: str, last: int, **raw: Any) -> int:
    """Show the changes of the last week, and which can be undone, as JSON.

    \b
    Examples:
      iac-mcp history -n 5
      iac-mcp history 12                   one call, with the copy of what it deleted
    """
    if which and not (which.isdecimal() and int(which)):
        raise click.UsageError(
            f"{which} is not the number of a call; leave it out to see the calls."
        )
    given = {"call": int(which)} if which else {"last": last}
    return _run_own_call("history", given, "iac-mcp history", raw)


def _report_refusal(refused: RefusedCall) -> int:
    """Say why a call did not run: to the person at a terminal, or to the program that reads it."""
    _print_error(refused.person if terminal_at_hand() else str(refused.error))
    if refused.line:
        _print_error(f"It would have run: {refused.line}")
    return 1


def terminal_at_hand() -> bool:
    """Say whether a person can be asked here: both ends are a terminal, nothing is piped."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_terminal(question: Question) -> Verdict:
    """Put a question on standard error until it is answered; the end of the input is none."""
    click.echo(f"\n{question.text}\n", err=True)
    words: dict[str, Verdict] = dict.fromkeys(("y", "yes"), "once")
    words |= dict.fromkeys(("n", "no", ""), "decline")
    choice = "y = yes, n = no"
    if ALWAYS in question.answers:
        words |= dict.fromkeys(("a", "always"), "always")
        choice += ", a = always"
    while True:
        click.echo(f"Run it? ({choice}; Enter = no) ", err=True, nl=False)
        given = sys.stdin.readline()
        if not given:
            click.echo(err=True)
            return "cancel"
        verdict = words.get(given.strip().casefold())
        if verdict is not None:
            return verdict


@cli.command("tools")
@click.argument("name", default="", metavar="[TOOL]")
@click.option("--app", metavar="KEY", help="Only the tools of one app.")
@click.option(
    "--level",
    type=click.Choice(LEVELS, case_sensitive=False),
    help="Only tools whose calls can have this level.",
)
@TOOLS
def list_tools(name: str, app: str | None, level: str | None, tools: tuple[Path, ...]) -> None:
    """List the tools with levels and purposes, or show the page of TOOL."""
    from iac_runtime.serve.tool_pages import any_page, any_purpose

    catalogue = Catalogue(tool_folders(tools))
    if name:
        print_json(any_page(catalogue, name)._asdict())
        return
    chosen = catalogue.named_app(app) if app else None
    if app and chosen is None:
        known = ", ".join(sorted(catalogue.apps))
        raise SetupError(f"There are no tools for {app}; there are tools for: {known}.")
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for row in sorted(catalogue.tools.values()):
        if (chosen and row.app != chosen) or (level and row.ceiling != level):
            continue
        reach = row.level if row.level == row.ceiling else f"{row.level} to {row.ceiling}"
        click.echo(f"{row.name}  {reach}  {any_purpose(catalogue, row.name)}"[:width])


def _print_error(text: str) -> None:
    click.echo(escape_hidden(" ".join(text.split())), err=True)


# A group without a command shows its help; before click 8.2 that was no error.
_HELP: Final[tuple[type[Exception], ...]] = tuple(
    filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)])
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit status; a fault is one line on standard error."""
    try:
        status = cli.main(arguments, prog_name="iac-mcp", standalone_mode=False)
    except UnknownToolError as error:
        _print_error(str(error))
        return 2
    except ToolError as error:
        _print_error(str(error))
        return 1
    except (IacError, click.ClickException) as error:
        text = error.format_message() if isinstance(error, click.ClickException) else str(error)
        if isinstance(error, _HELP):
            click.echo(text, err=True)
        else:
            _print_error(f"iac-mcp: {text}")
        return 2
    except (KeyboardInterrupt, click.Abort):
        return 130
    except OSError as error:
        # What could not be printed must not be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            _print_error(f"iac-mcp: {error.filename or 'standard output'}: {error.strerror}.")
        return 1
    return status if isinstance(status, int) else 0
