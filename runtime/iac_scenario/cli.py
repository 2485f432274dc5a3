"""`iac-scenario`: play a scenario, check one, record one.

Exit status: 0 passed, 1 failed or an error of the model's service, 2 a partial reply, wrong usage
or a broken scenario.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import click

from iac_base.distribution import DISTRIBUTION
from iac_scenario.conversation import prompts_of
from iac_scenario.errors import PlayError, ScenarioError
from iac_scenario.events import Answered, Event, Noted
from iac_scenario.model import (
    MODES,
    PERMISSION_MODES,
    Mode,
    PermissionMode,
    ScenarioScript,
)
from iac_scenario.output import FORMATS, missed
from iac_scenario.play import PlaySettings, inspect, play
from iac_scenario.reader import load
from iac_scenario.timeouts import TIMEOUTS
from iac_scenario.verdict import LOOSE, findings, status_of

_FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
_MCP_CONFIG = click.option(
    "--mcp-config",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Servers, in Claude's JSON format.",
)


def _timeouts(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for every timeout."""
    for name, timeout in reversed([*TIMEOUTS.items()]):
        flag = f"--{name.replace('_', '-')}"
        command = click.option(flag, name, type=click.IntRange(min=0), help=timeout.doc)(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION)
def cli() -> None:
    """Play scripted conversations against tools: mocked, simulated or real."""


@cli.command()
@_FILE
@click.option("-p", "--prompt", "prompts", multiple=True, help="What the user says; repeatable.")
@click.option("--tool-execution-mode", "mode", type=click.Choice(MODES), help="Over the file's.")
@click.option(
    "--sandbox-root",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of the simulated tools; a temporary one without it.",
)
@click.option(
    "--allow-real-bash",
    is_flag=True,
    help="Let Bash change Git folders, start-up files and the like in a folder of yours too.",
)
@click.option("--unconfined", is_flag=True, help="Run Bash with your own rights.")
@_MCP_CONFIG
@click.option("--permission-mode", type=click.Choice(PERMISSION_MODES), help="Over the file's.")
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    type=click.Choice(list(LOOSE)),
    help="Do not fail for this; repeatable.",
)
@click.option(
    "--output-format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True
)
@_timeouts
def run(
    file: Path,
    prompts: tuple[str, ...],
    mode: Mode | None,
    sandbox_root: Path | None,
    allow_real_bash: bool,
    unconfined: bool,
    mcp_config: Path | None,
    permission_mode: PermissionMode | None,
    allowed: tuple[str, ...],
    form: str,
    **timeouts: int | None,
) -> None:
    """Play FILE. Without -p the prompts are those of the file, else lines of standard input."""
    scenario = _loaded(file)
    settings = PlaySettings(
        mode, sandbox_root, allow_real_bash, unconfined, mcp_config, permission_mode, timeouts,
        frozenset(allowed),
    )  # fmt: skip
    said = prompts or scenario.prompts or _typed()
    sys.exit(_played(scenario, said, settings, form))


@cli.command()
@_FILE
@click.option(
    "--servers/--no-servers",
    default=True,
    help="Start the servers and hold the calls against their lists.",
)
@_MCP_CONFIG
def check(file: Path, servers: bool, mcp_config: Path | None) -> None:
    """Say what is wrong with FILE without playing it; no tool is called."""
    import anyio

    scenario, warnings, secrets = load(file)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    found = [*map(str, findings(scenario)), *secrets]
    if servers:
        settings = PlaySettings(mcp_config=mcp_config)
        found += map(str, anyio.run(inspect, scenario, settings))
    for line in found:
        click.echo(line, err=True)
    rules, prompts = len(scenario.rules), prompts_of(scenario) or ()
    click.echo(f"{file}: {rules} rules, {len(prompts)} prompts, {len(found)} problems.")
    sys.exit(1 if found else 0)


@cli.command()
@click.option(
    "--mcp-config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The configuration that COMMAND, a client, is given; its servers are recorded.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("recorded.toml"),
    show_default=True,
    help="The scenario to write.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def record(mcp_config: Path | None, output: Path, command: tuple[str, ...]) -> None:
    """Record what a client and a server say as a scenario; secrets are left out.

    With --mcp-config, COMMAND is a client: where that file stands in COMMAND (or {mcp-config}), it
    gets one whose servers are recorded. Without it, COMMAND is a server, and this command stands
    in its place on standard input and output.
    """
    from iac_scenario.record import record_client, record_server

    if mcp_config is not None:
        status, count = record_client(command, mcp_config, output)
    else:
        status, count = record_server(command, output)
    click.echo(f"{output}: {count} calls recorded.", err=True)
    sys.exit(status)


@cli.command()
@_FILE
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0 takes a free one.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def model(file: Path, port: int, command: tuple[str, ...]) -> None:
    """Serve FILE as a model on 127.0.0.1, for agents that talk to Anthropic, OpenAI or Gemini.

    With COMMAND, run that client: variables such as ANTHROPIC_BASE_URL lead it to the model, and
    the status says whether the expectations were met. Without it, serve until interrupted.
    """
    from iac_scenario.model_server import run_client, serving

    scenario = _loaded(file)
    take, ended = _taking("text", scenario, out=not command)
    with serving(scenario, take, port) as url:
        click.echo(f"A scripted model listens on {url}", err=True)
        status = run_client(command, url)
    sys.exit(ended() or status)


@cli.command()
@_FILE
@click.option("--name", help="Only the tools that clients call mcp__NAME__…")
@click.option("--port", type=click.IntRange(0, 65535), help="Serve on 127.0.0.1 over HTTP.")
def server(file: Path, name: str | None, port: int | None) -> None:
    """Serve the mock tools of FILE as a server of MCP, over stdio."""
    from iac_scenario.mock_server import serve

    serve(_loaded(file), name, port)


@cli.command()
@click.argument("contract", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--mcp-config",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    required=True,
    help="The servers, in Claude's JSON format.",
)
@click.option("--update", is_flag=True, help="Write CONTRACT anew.")
def snapshot(contract: Path, mcp_config: Path, update: bool) -> None:
    """Write what servers offer to CONTRACT, or say what changed since it was written.

    The status is 1 where a change breaks callers.
    """
    import anyio

    from iac_scenario.contract import compared, taken

    found = anyio.run(taken, mcp_config)
    status = 0
    for change in compared(contract, found, update=update):
        click.echo(change)
        status = status or int(change.breaks and not update)
    sys.exit(status)


@cli.command(hidden=True)
@click.argument("log", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def proxy(log: Path, command: tuple[str, ...]) -> None:
    """Stand between a client and a server and write what they say to LOG."""
    from iac_scenario.record import pass_on

    sys.exit(pass_on(command, log))


def _played(
    scenario: ScenarioScript, prompts: Iterable[str], settings: PlaySettings, form: str
) -> int:
    import anyio

    take, ended = _taking(form, scenario)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    anyio.run(play, scenario, prompts, settings, take)
    return ended()


def _taking(
    form: str, scenario: ScenarioScript, *, out: bool = True
) -> tuple[Callable[[Event], None], Callable[[], int]]:
    """Return what prints events, and what says at the end how they went."""
    printer = FORMATS[form](scenario)
    events: list[Event] = []

    def take(event: Event) -> None:
        for line in printer.lines(event) if out else ():
            click.echo(line)
        for line in missed(event):
            click.echo(line, err=True)
        if isinstance(event, Noted):
            click.echo(f"note: {event.text}", err=True)
        events.append(event)

    def ended() -> int:
        answers = [event for event in events if isinstance(event, Answered)]
        unmet = sum(len(answer.misses) for answer in answers)
        if checks := sum(answer.checks for answer in answers):
            said = f"{len(answers)} calls, {checks - unmet} expectations met, {unmet} failed."
            click.echo(said, err=True)
        return status_of(events)

    return take, ended


def _interrupted(_number: int, _frame: object) -> None:
    """End in order at the first signal; the second ends the process at once."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt


def _typed() -> Iterator[str]:
    """Yield the lines of standard input; empty ones are no prompts."""
    for line in sys.stdin.buffer:
        if prompt := line.decode("utf-8", "replace").rstrip("\r\n"):
            yield prompt


def _loaded(file: Path) -> ScenarioScript:
    scenario, warnings, _ = load(file)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    return scenario


# A group without a command shows its help; before click 8.2 that was no error.
_HELP: Final[tuple[type[Exception], ...]] = tuple(
    filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)])
)


def main() -> int:
    """Run the command line and return its status."""
    try:
        cli.main(prog_name="iac-scenario", standalone_mode=False)
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        text = error.format_message()
        if not isinstance(error, _HELP):
            text = f"iac-scenario: {' '.join(text.split())}"
        click.echo(text, err=True)
        return 2
    except (ScenarioError, PlayError) as error:
        click.echo(str(error), err=True)
        return 2
    except SystemExit as status:
        return int(status.code or 0)
    except OSError as error:
        # What could not be printed must not be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            said = f"{error.filename or 'standard output'}: {error.strerror}."
            click.echo(f"iac-scenario: {said}", err=True)
        return 1
    except BaseExceptionGroup as group:
        return _told(group)
    return 0


def _told(group: BaseExceptionGroup[BaseException]) -> int:
    """Report what the caller can mend, which a task group wraps; the rest goes on up."""
    known, other = group.split((PlayError, KeyboardInterrupt))
    if known is None or other is not None:
        raise group
    click.echo(str(known.exceptions[0]) or "Interrupted.", err=True)
    return 2
