"""`iac-mcp setup`, `install`, `uninstall`, `bundle`: into clients, and out of them.

Exit status: 0 done, 1 a step of setup found a problem, 2 wrong usage or a file that is left as it
is.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import click
from platformdirs import user_cache_path

from iac_base.commands import NearestChoice
from iac_base.errors import IacError, SetupError, pip_install
from iac_base.files import config_file, data_folder
from iac_base.text import escape_hidden
from iac_mcp.cli.common import NAME, TOOLS, print_json
from iac_mcp.cli.doctor import print_finding, record_version
from iac_mcp.setup import checks, interpreter
from iac_mcp.setup.checks import (
    DoctorContext,
    DoctorFinding,
    data_home,
    ok,
    problem,
    server_processes,
    warning,
)
from iac_mcp.setup.clients import (
    CLIENTS,
    Client,
    Launch,
    NotMergedError,
    client_entry,
    client_file,
    install_server,
    installed_entry,
    is_ours,
    serve_options,
    server_entries,
    settings_snippet,
    uninstall_server,
)
from iac_mcp.setup.interpreter import (
    PythonInterpreter,
    examine_python,
    launch_arguments,
    run_generator,
    server_environment,
    try_launch,
)
from iac_mcp.setup.service import agent_path
from iac_runtime.execution.mac import automation_permission, responsible_name
from iac_runtime.gate.opening import split_simulation
from iac_runtime.serve.listing import SERVE_OPTIONS, read_quickly
from iac_runtime.tools.catalogue import Catalogue, tool_folders

_ASK: Final[Mapping[str, str]] = {
    "mail": "Which mails came today, and who sent them?",
    "reminders": "What is due this week? Remind me to water the plants tomorrow at nine.",
    "notes": "Make a note with the three open points from yesterday's notes.",
    "calendar": "What is in my calendars tomorrow?",
    "finder": "Which files in Downloads are larger than 100 MB?",
    "music": "Play something calm, and tell me its name.",
}
"""What to ask an assistant first, by the app that it needs."""


@click.command()
@click.option(
    "--client",
    "keys",
    multiple=True,
    type=NearestChoice(tuple(CLIENTS)),
    help="Set up only this client.",
)
@click.option("--yes", is_flag=True, help="Use every client that is found, without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print the steps as JSON, without asking.")
@NAME
def setup(keys: tuple[str, ...], yes: bool, as_json: bool, name: str) -> int:
    """Set up everything: build tools, start the server once, and add it to clients.

    You can repeat it at any time. It first starts the server as a client would. If this fails,
    it changes no client's settings file. `iac-mcp uninstall --all` removes everything.
    """
    chosen = [CLIENTS[key] for key in keys] or _choose_clients(ask=not (yes or as_json))
    findings: list[DoctorFinding] = []
    for finding in _setup_steps(chosen, name):
        findings.append(finding)
        if not as_json:
            print_finding(finding)
    problems = any(finding.state == "problem" for finding in findings)
    if not problems:
        record_version()
    ask = [] if problems else _example_requests()
    if as_json:
        steps = [finding.facts() for finding in findings]
        print_json({"ok": not problems, "steps": steps, "ask": ask})
    elif ask:
        click.echo("\nAsk your assistant, for example:")
        for line in ask:
            click.echo(f"  {line}")
    return 1 if problems else 0


def is_client_installed(client: Client) -> bool:
    """Say whether a client is on this machine."""
    path = client_file(client, os.environ)
    # A file straight in the home folder says more than the folder does.
    return path.exists() or (path.parent != Path.home() and path.parent.is_dir())


def _choose_clients(*, ask: bool) -> list[Client]:
    """Return the clients that are found, or those of them that a person names."""
    clients = [client for client in CLIENTS.values() if is_client_installed(client)]
    if not clients:
        raise click.UsageError(
            "No client was found. Install one, such as Claude Desktop or Claude Code, and run"
            " iac-mcp setup again."
        )
    if not ask:
        return clients
    if not sys.stdin.isatty():
        raise click.UsageError("This is not a terminal. Give --yes, or name clients with --client.")
    for number, client in enumerate(clients, 1):
        click.echo(f"  {number}. {client.name}")
    everything = ",".join(map(str, range(1, len(clients) + 1)))
    answer = click.prompt("Set up which clients?", default=everything)
    numbers = [word.strip() for word in answer.split(",")]
    if not all(word.isdecimal() and 0 < int(word) <= len(clients) for word in numbers):
        raise click.UsageError(f"Write numbers from 1 to {len(clients)}, separated by commas.")
    return [clients[int(word) - 1] for word in numbers]


def _setup_steps(chosen: Sequence[Client], name: str) -> Iterator[DoctorFinding]:
    """Carry out the steps in order; one that cannot go on ends them."""
    from iac_runtime.execution.executor import Executor

    with closing(Executor()) as executor:
        around = DoctorContext(executor, name=name)
        for check in ("python", "sdk"):
            yield from (row._replace(check=check) for row in checks.CHECKS[check](around))
        if around.is_mac:
            from rich.console import Console

            # Nothing of it is shown where standard error is no terminal.
            with Console(stderr=True).status("Building tools for your apps"):
                built = _build_tools()
            yield built._replace(check="build")
        for row in checks.check_tools(around):
            yield row._replace(check="tools")
        launch = _server_launch(examine_python(), ())
        try:
            tried = try_launch(launch, "list_apps")
        except SetupError as error:
            yield problem(str(error), "iac-mcp doctor")._replace(check="start")
            return
        count = f"lists {tried.tools} tools and answers"
        yield ok(f"The server starts as a client would start it, and {count}")._replace(
            check="start"
        )
        for client in chosen:
            yield _write_client(client, launch, name)._replace(check="clients")
        if around.is_mac:
            yield from (
                row._replace(check="automation") for row in _request_permissions(chosen, around)
            )
        elif not around.examiner.installed_versions().osascript:
            for row in checks.check_osascript(around):
                yield row._replace(check="osascript")


def _server_launch(python: PythonInterpreter, options: tuple[str, ...]) -> Launch:
    """Return how a client starts the server with a Python."""
    env = server_environment(python, os.environ)
    return Launch(python.path, launch_arguments(options), env)


def _build_tools() -> DoctorFinding:
    """Build the tools of the installed apps, where the generator is installed."""
    done = run_generator("build")
    if done is None:
        return warning(
            "The generator is not installed, so IAC uses the tools that came with IAC.",
            f"{sys.executable} -m {pip_install('gen')}, then iac-mcp setup again",
        )
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    if done.status in (0, 1) and lines:
        return ok(lines[-1])
    errors = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return problem(errors[-1] if errors else "The build did not finish.", "iac-gen build")


def _write_client(client: Client, launch: Launch, name: str) -> DoctorFinding:
    """Write one client's file."""
    path = client_file(client, os.environ)
    try:
        done = install_server(client, path, name, launch)
        if done.kept:
            try_launch(launch._replace(args=(*launch.args, *done.kept)))
    except IacError as error:
        return problem(f"{client.name}: {error}", f"iac-mcp install {client.key} --print")
    state = f"has the server now ({path})" if done.changed else "had the server already"
    return ok(f"{client.name} {state}. {client.then}")


def _request_permissions(
    chosen: Sequence[Client], around: DoctorContext
) -> Iterator[DoctorFinding]:
    """Have macOS ask for each running app, in the name of this terminal; say what the rest do."""
    for client in chosen:
        if not client.terminal:
            yield ok(
                f"macOS asks once per app, at the first call, whether {client.name} may control it."
                " It may name a program that the client starts: python, uv or IAC. Click Allow."
            )
    if not any(client.terminal for client in chosen):
        return
    apps = [app for app in Catalogue(tool_folders(())).apps.values() if app.kind == "application"]
    for app in apps:
        state = around.examiner.test_app(app.id, 10)
        if state.running != "yes" or state.permitted != "would ask":
            continue
        click.echo(f"macOS now asks whether {responsible_name()} may control {app.name}.", err=True)
        if automation_permission(app.id, asking=True) == "yes":
            yield ok(f"{app.name} can be controlled")
        else:
            says = f"macOS does not allow control of {app.name}."
            yield warning(says, f"iac-mcp doctor --app {app.key}")


def _example_requests() -> list[str]:
    apps = Catalogue(tool_folders(())).apps
    return [line for key, line in _ASK.items() if key in apps][:3]


def remove_all(*, yes: bool) -> int:
    """Take the server out of every client, and remove what it keeps; the policy stays.

    Raises:
        UsageError: Nobody can be asked.
        SetupError: A server is running.
    """
    if agent_path().exists():
        raise SetupError("The service is installed; remove it first: iac-mcp service uninstall")
    own = data_home(os.environ)
    running = [row.pid for row in server_processes() if row.home == own]
    if running:
        pids = ", ".join(map(str, running))
        raise SetupError(f"Servers are running ({pids}); quit their clients first.")
    known = [(client, client_file(client, os.environ)) for client in CLIENTS.values()]
    ours = [
        (client, path, name)
        for client, path in known
        for name, said in (server_entries(client, path) if path.exists() else {}).items()
        if is_ours(said)
    ]
    cache = user_cache_path("iac", appauthor=False)
    folders = [data_folder() / "state", data_folder() / "tools", cache]
    folders = [folder for folder in folders if folder.is_dir() and not folder.is_symlink()]
    if not ours and not folders:
        click.echo("There is nothing to remove.")
        return 0
    for client, path, name in ours:
        click.echo(f'the server "{name}" of {client.name}, in {path}')
    for folder in folders:
        click.echo(f"{folder}, with its contents")
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("This is not a terminal. To remove everything, give --yes.")
        click.confirm("Remove all of this?", abort=True)
    for client, path, name in ours:
        uninstall_server(client, path, name)
    for folder in folders:
        shutil.rmtree(folder)
    for folder in (data_folder(), config_file().parent):
        with suppress(OSError):  # It is not empty, or was never there.
            folder.rmdir()
    kept = f" Your policy file stays: {config_file()}." if config_file().exists() else ""
    click.echo(f"Removed.{kept} To remove the package itself: pip uninstall iac-for-mac")
    return 0


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
    program = examine_python(python)
    launch = _server_launch(program, checked_options(options))
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
        done = install_server(chosen, path, name, launch, keep_options=not options)
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
    _warn_unsuitable_python(program)
    click.echo(chosen.then)
    return 0


def _only_client(server: str = "") -> Client:
    """Return the client of this user, where there is one only; `server`: that has this server."""
    keys = [key for key in CLIENTS if is_client_installed(CLIENTS[key])]
    if server:
        having = [key for key in keys if _has_server(CLIENTS[key], server)]
        if keys and not having:
            raise click.UsageError(f'No client has a server "{server}".')
        keys = having
    if len(keys) == 1:
        return CLIENTS[keys[0]]
    names = ", ".join(keys or CLIENTS)
    raise click.UsageError(
        f"{'Several clients were' if keys else 'No client was'} found; name one of: {names}."
    )


def _has_server(client: Client, server: str) -> bool:
    with suppress(SetupError):  # What cannot be read is named, so that a person looks at it.
        return installed_entry(client, client_file(client, os.environ), server) is not None
    return True


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
            made.append(f"{flag}={_absolute_value(flag, value)}")
        elif made and made[-1] in _PATHS and not word.startswith("-"):
            made.append(_absolute_value(made[-1], word))
        else:
            made.append(word)
    return made


def _absolute_value(flag: str, value: str) -> str:
    profile, path = split_simulation(value) if flag == "--simulate" else ("", value)
    return ":".join(filter(None, (profile, path and str(Path(path).expanduser().absolute()))))


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
            " pass its Python with --python.",
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
    chosen = CLIENTS[client] if client else _only_client(name)
    path = client_file(chosen, os.environ)
    words = {
        "absent": f'There is no server "{name}" in {path}; nothing was changed.',
        "taken out": f'"{name}" was taken out of {path}.',
        "as before": f"{path} is exactly as it was before.",
        "file removed": f"{path} contained nothing else and was removed.",
    }
    click.echo(words[uninstall_server(chosen, path, name)])
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
    from iac_runtime.tools.catalogue import tool_folders

    size, apps = write_bundle(output, tool_folders(tools))
    click.echo(f"{output}: {apps} apps, {size // 1024} kB. Open it with Claude Desktop.")
    return 0
