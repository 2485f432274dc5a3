"""`iac-mcp install`, `uninstall`, `bundle`: into clients, and out of them.

Exit status: 0 done, 2 wrong usage or a file that is left as it is.
"""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from iac_base.commands import NearestChoice
from iac_base.text import escape_hidden
from iac_mcp.cli.common import NAME, TOOLS
from iac_mcp.cli.setup import is_client_installed, remove_all
from iac_mcp.cli.upgrade import record_version
from iac_mcp.setup import interpreter
from iac_mcp.setup.clients import (
    CLIENTS,
    Client,
    Launch,
    NotMergedError,
    client_entry,
    client_file,
    installed_entry,
    serve_options,
    settings_snippet,
)
from iac_mcp.setup.clients import install_server as put
from iac_mcp.setup.clients import uninstall_server as take
from iac_mcp.setup.interpreter import PythonInterpreter, examine_python, launch_arguments
from iac_mcp.setup.trial import try_launch
from iac_runtime.serve.options import SERVE_OPTIONS, read_quickly

_PATHS: Final = ("--tools", "--policy", "--log-file", "--simulate", "--cert", "--key")
"""Options of `serve` whose value is a path: a client starts the server in a folder of its own."""

_LONGEST_NAME: Final = 17
"""Characters of a server's name: with it, mcp__NAME__TOOL fits the 64 that clients take."""


@click.command()
@click.argument("client", required=False, type=NearestChoice(tuple(CLIENTS)))
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[-- SERVE OPTIONS]")
@click.option(
    "--print",
    "only_print",
    is_flag=True,
    help="Print the entry to paste into the client's file; change nothing.",
)
@click.option(
    "--python", default="", metavar="PATH", help="Use another Python that has IAC installed."
)
@NAME
def install(
    client: str | None, options: tuple[str, ...], only_print: bool, python: str, name: str
) -> int:
    """Add the server to the settings file of CLIENT (default: the only client that is found).

    The rest of the file stays, and a copy of the old file is kept as *.before-iac. Options after --
    go to `iac-mcp serve`. Without such options, those of an earlier install stay.
    """
    if re.fullmatch(rf"(?!\d)[A-Za-z0-9_-]{{1,{_LONGEST_NAME}}}", name) is None:
        raise click.UsageError(
            f"--name {name!r}: write at most {_LONGEST_NAME} letters, digits, - and _; clients put"
            " it before the names of the tools."
        )
    chosen = CLIENTS[client] if client else _only_client()
    path = client_file(chosen, os.environ)
    found = examine_python(python)
    env = dict(found.env)
    if os.environ.get("IAC_DATA"):
        env["IAC_DATA"] = str(Path(os.environ["IAC_DATA"]).absolute())
    launch = Launch(found.path, launch_arguments(checked_options(options)), env)
    old = None
    with suppress(NotMergedError):  # Told below, with what to paste.
        old = None if options else installed_entry(chosen, path, name)
    whole = launch._replace(args=(*launch.args, *(serve_options(old) if old else ())))
    if only_print:
        click.echo(settings_snippet(chosen, name, client_entry(chosen, whole)))
        click.echo(f"\nPaste it into {path}. {chosen.then}", err=True)
        return 0
    # Nothing is written that does not start.
    try_launch(whole)
    try:
        done = put(chosen, path, name, launch, keep_options=not options)
    except NotMergedError as error:
        if error.snippet:
            click.echo(error.snippet)
        raise
    if not done.changed:
        click.echo(f"{chosen.name} already has the server: {path}")
    else:
        saved = f" The old file is {done.backup}." if done.backup else ""
        click.echo(f'{chosen.name} now has the server "{name}" in {path}.{saved}')
    record_version()
    if done.kept:
        click.echo(f"Kept options: {escape_hidden(' '.join(done.kept))}.")
    _warn_unsuitable_python(found)
    click.echo(chosen.then)
    return 0


def _only_client() -> Client:
    """Return the client of this user, where there is one only."""
    found = [key for key in CLIENTS if is_client_installed(CLIENTS[key])]
    if len(found) == 1:
        return CLIENTS[found[0]]
    names = ", ".join(found or CLIENTS)
    raise click.UsageError(
        f"{'Several clients were' if found else 'No client was'} found; name one of: {names}."
    )


def checked_options(options: Sequence[str]) -> tuple[str, ...]:
    """Return options of `serve` with absolute paths; wrong ones would show in the client only."""
    if options and read_quickly(list(options)) is None:
        known = " ".join(option.flag for option in SERVE_OPTIONS)
        raise click.UsageError(
            f"iac-mcp serve does not accept {' '.join(options)}. It accepts: {known}"
        )
    return tuple(_absolute_paths(options))


def _absolute_paths(options: Sequence[str]) -> list[str]:
    made: list[str] = []
    for word in options:
        flag, equals, value = word.partition("=")
        if equals and flag in _PATHS and value:
            made.append(f"{flag}={Path(value).expanduser().absolute()}")
        elif made and made[-1] in _PATHS and not word.startswith("-"):
            made.append(str(Path(word).expanduser().absolute()))
        else:
            made.append(word)
    return made


def _warn_unsuitable_python(found: PythonInterpreter) -> None:
    """Say if macOS will not let this Python control apps, and which one it lets."""
    state, says = interpreter.judge_signature(interpreter.read_signature(found.real))
    if state == "ok":
        return
    click.echo(f"{found.real}: {says}", err=True)
    other = interpreter.find_better_python() if state == "problem" else None
    if other:
        click.echo(
            f"This Python works: {other}. Create an environment with it, install IAC there, and"
            f" pass"
            " its Python with --python.",
            err=True,
        )


@click.command()
@click.argument("client", required=False, type=NearestChoice(tuple(CLIENTS)))
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Remove everything: clients' entries, tools, state and cache.",
)
@click.option("--yes", is_flag=True, help="With --all: remove without asking.")
@NAME
def uninstall(client: str | None, everything: bool, yes: bool, name: str) -> int:
    """Remove the server from CLIENT's file; the rest of the file stays.

    If nothing else has changed, the file is exactly as it was before `install`.
    """
    if everything:
        if client:
            raise click.UsageError("Give a client or --all, not both.")
        return remove_all(yes=yes)
    chosen = CLIENTS[client] if client else _only_client()
    path = client_file(chosen, os.environ)
    words = {
        "absent": f'There is no server "{name}" in {path}; nothing was changed.',
        "taken out": f'"{name}" was taken out of {path}.',
        "as before": f"{path} is exactly as it was before.",
        "file removed": f"{path} contained nothing else and was removed.",
    }
    click.echo(words[take(chosen, path, name)])
    return 0


@click.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("iac.mcpb"),
    show_default=True,
    help="The file to write.",
)
@TOOLS
def bundle(output: Path, tools: tuple[Path, ...]) -> int:
    """Write a bundle (.mcpb) that Claude Desktop installs with a double click.

    It contains the server and your tools, but no settings. Claude Desktop runs it with uv, which
    downloads the dependencies.
    """
    from iac_mcp.setup.bundle import write_bundle
    from iac_runtime.tools.folders import tool_folders

    size, apps = write_bundle(output, tool_folders(tools))
    click.echo(f"{output}: {apps} apps, {size // 1024} kB. Open it with Claude Desktop.")
    return 0
