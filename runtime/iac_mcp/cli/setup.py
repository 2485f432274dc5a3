"""`iac-mcp setup` and `iac-mcp uninstall --all`: everything at once, and everything away again.

Exit status: 0 done, 1 a step found a problem, 2 wrong usage.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import click
from platformdirs import user_cache_path

from iac_base.commands import NearestChoice
from iac_base.errors import IacError, SetupError
from iac_base.files import config_file, data_folder
from iac_mcp.cli.common import NAME, print_json
from iac_mcp.cli.doctor import print_finding
from iac_mcp.cli.upgrade import record_version
from iac_mcp.setup import checks
from iac_mcp.setup.clients import (
    CLIENTS,
    Client,
    Launch,
    client_file,
    install_server,
    is_ours,
    server_entries,
)
from iac_mcp.setup.clients import uninstall_server as take_out
from iac_mcp.setup.findings import (
    DoctorContext,
    DoctorFinding,
    data_home,
    ok,
    problem,
    server_processes,
    warning,
)
from iac_mcp.setup.interpreter import examine_python, launch_arguments, run_generator
from iac_mcp.setup.service import agent_path
from iac_mcp.setup.trial import try_launch
from iac_runtime.execution.mac import automation_permission, responsible_name
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.folders import tool_folders

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
    found: list[DoctorFinding] = []
    for finding in _setup_steps(chosen, name):
        found.append(finding)
        if not as_json:
            print_finding(finding)
    problems = any(finding.state == "problem" for finding in found)
    if not problems:
        record_version()
    ask = [] if problems else _example_requests()
    if as_json:
        steps = [finding.facts() for finding in found]
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
    found = [client for client in CLIENTS.values() if is_client_installed(client)]
    if not found:
        raise click.UsageError(
            f"No client was found. Name one with --client: {', '.join(CLIENTS)}."
        )
    if not ask:
        return found
    if not sys.stdin.isatty():
        raise click.UsageError("This is not a terminal. Give --yes, or name clients with --client.")
    for number, client in enumerate(found, 1):
        click.echo(f"  {number}. {client.name}")
    everything = ",".join(map(str, range(1, len(found) + 1)))
    said = click.prompt("Set up which clients?", default=everything)
    numbers = [word.strip() for word in said.split(",")]
    if not all(word.isdecimal() and 0 < int(word) <= len(found) for word in numbers):
        raise click.UsageError(f"Write numbers from 1 to {len(found)}, separated by commas.")
    return [found[int(word) - 1] for word in numbers]


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
        found = examine_python()
        data = os.environ.get("IAC_DATA")
        env = {**found.env, **({"IAC_DATA": str(Path(data).absolute())} if data else {})}
        launch = Launch(found.path, launch_arguments(()), env)
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


def _build_tools() -> DoctorFinding:
    """Build the tools of the installed apps, where the generator is installed."""
    done = run_generator("build")
    if done is None:
        return warning("The generator is not installed, so IAC uses the tools that came with IAC.",
                       "pip install 'iac-for-mac[gen]', then iac-mcp setup again")  # fmt: skip
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    if done.status in (0, 1) and lines:
        return ok(lines[-1])
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return problem(said[-1] if said else "The build did not finish.", "iac-gen build")


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
            says = f"macOS asks once per app, at the first call: {client.name} wants to control it."
            yield ok(says)
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
            yield warning(
                f"macOS does not allow control of {app.name}.", f"iac-mcp doctor --app {app.key}"
            )


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
        take_out(client, path, name)
    for folder in folders:
        shutil.rmtree(folder)
    for folder in (data_folder(), config_file().parent):
        with suppress(OSError):  # It is not empty, or was never there.
            folder.rmdir()
    kept = f" Your policy file stays: {config_file()}." if config_file().exists() else ""
    click.echo(f"Removed.{kept} To remove the package itself: pip uninstall iac-for-mac")
    return 0
