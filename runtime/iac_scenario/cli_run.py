"""The command `run`, and how what happens is printed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from iac_scenario.errors import ScenarioError
from iac_scenario.events import Event, FailureEvent, NoteEvent, ResultEvent
from iac_scenario.model import MODES, PERMISSION_MODES, ScenarioScript
from iac_scenario.output import FORMATS, failure_lines
from iac_scenario.play import PlaySettings, play_scenario
from iac_scenario.reader import load_scenario
from iac_scenario.report import RunRecorder, github_annotations, write_report
from iac_scenario.session import latest_session
from iac_scenario.timeouts import TIMEOUTS
from iac_scenario.verdict import LOOSE, exit_status

ANY_FILE: Final = click.Path(path_type=Path, dir_okay=False)
FOUND_FILE: Final = click.Path(path_type=Path, dir_okay=False, exists=True)
ANY_FOLDER: Final = click.Path(path_type=Path, file_okay=False)
FILE = click.argument("file", type=ANY_FILE)
MCP_CONFIG = click.option(
    "--mcp-config",
    type=FOUND_FILE,
    help="A file that lists the MCP servers, in Claude's JSON format.",
)

ALLOW = click.option(
    "--allow",
    "allowed",
    multiple=True,
    type=click.Choice(list(LOOSE)),
    help="Do not fail for this reason; repeatable.",
)


def _timeout_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for every timeout."""
    for name, timeout in reversed([*TIMEOUTS.items()]):
        flag = f"--{name.replace('_', '-')}"
        command = click.option(flag, name, type=click.IntRange(min=0), help=timeout.doc)(command)
    return command


@click.command()
@FILE
@click.option("-p", "--prompt", "prompts", multiple=True, help="What the user says; repeatable.")
@click.option(
    "--tool-execution-mode",
    "mode",
    type=click.Choice(MODES),
    help="How tools run. Overrides the file.",
)
@click.option(
    "--sandbox-root",
    type=ANY_FOLDER,
    help="The folder in which simulated tools work (default: a temporary folder).",
)
@click.option(
    "--allow-real-bash",
    is_flag=True,
    help="Let Bash change Git folders, start-up files and the like in your folder.",
)
@click.option(
    "--unconfined",
    is_flag=True,
    help="Run Bash, Grep and Glob without a sandbox, with your own rights.",
)
@MCP_CONFIG
@click.option(
    "--permission-mode",
    type=click.Choice(PERMISSION_MODES),
    help="Which calls require approval. Overrides the file.",
)
@ALLOW
@click.option(
    "--config-dir",
    type=ANY_FOLDER,
    envvar="IAC_SCENARIO_CONFIG_DIR",
    help="Store sessions in this folder, as Claude Code does: projects, todos, plans.",
)
@click.option("--session-id", type=click.UUID, help="The session's id. Overrides the file.")
@click.option("-r", "--resume", type=click.UUID, help="Continue the session with this id.")
@click.option("-c", "--continue", "continued", is_flag=True, help="Continue the last session.")
@click.option(
    "--settings",
    multiple=True,
    type=FOUND_FILE,
    help="A settings.json of Claude Code (permissions, variables, hooks); repeatable.",
)
@click.option(
    "--report",
    "reports",
    multiple=True,
    type=ANY_FILE,
    help="Write a page with the timeline, or JUnit XML if the name ends in .xml; repeatable.",
)
@click.option("--watch", is_flag=True, help="Run again whenever a file of the scenario changes.")
@click.option(
    "--output-format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True
)
@_timeout_options
def run(file: Path, prompts: tuple[str, ...], form: str, continued: bool, **options: Any) -> None:
    """Play the scenario in FILE. Without -p, prompts come from the file, or from standard input."""
    if options.pop("watch"):
        _watch_files(file, options["mcp_config"])
    reports = options.pop("reports")
    scenario = load_with_warnings(file)
    chosen, resumed = options.pop("session_id"), options.pop("resume")
    if continued:
        if options["config_dir"] is None:
            raise click.UsageError("--continue needs --config-dir.")
        resumed = latest_session(options["config_dir"])
    if (known := resumed or chosen) is not None:
        identity = replace(scenario.identity, session_id=str(known))
        scenario = replace(scenario, identity=identity)
    timeouts = {name: options.pop(name) for name in TIMEOUTS}
    options["allowed"] = frozenset(options["allowed"])
    settings = PlaySettings(**options, timeouts=timeouts, resumed=resumed is not None)
    said = prompts or scenario.prompts or _read_prompts()
    sys.exit(_play_prompts(scenario, said, settings, form, reports))


def _watch_files(file: Path, config: Path | None) -> NoReturn:
    """Play again and again, in a process each time; Ctrl-C ends it."""
    from iac_scenario.first import server_files

    words = [word for word in sys.argv[1:] if word != "--watch"]
    while True:
        named = {file.resolve(), *([config.resolve()] if config else [])}
        with suppress(ScenarioError):
            scenario = load_scenario(file).scenario
            named |= {*server_files(scenario.servers, file.parent.resolve())}
        watched = {
            *named,
            *(
                path
                for path in file.parent.glob("*")
                if path.suffix in (".json", ".md", ".toml", ".txt")
            ),
        }
        before = _modification_times(watched)
        subprocess.run([sys.executable, "-m", "iac_scenario", *words], check=False)
        click.echo(f"Watching {len(watched)} files. Press Ctrl-C to stop.", err=True)
        while _modification_times(watched) == before:
            time.sleep(0.2)


def _modification_times(paths: Iterable[Path]) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns if path.exists() else 0 for path in paths}


def _play_prompts(
    scenario: ScenarioScript,
    prompts: Iterable[str],
    settings: PlaySettings,
    form: str,
    reports: Sequence[Path],
) -> int:
    import anyio

    take, ended = event_handlers(form, scenario)
    recorder = RunRecorder(scenario)

    def record_event(event: Event) -> None:
        recorder.record_event(event)
        take(event)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _handle_signal)
    anyio.run(play_scenario, scenario, prompts, settings, record_event)
    for path in reports:
        write_report(path, [recorder])
    return ended()


def event_handlers(
    form: str, scenario: ScenarioScript, *, out: bool = True, served: bool = False
) -> tuple[Callable[[Event], None], Callable[[], int]]:
    """Return what prints events, and what says at the end how they went.

    A scripted failure is what a client is `served`, and no failure of the run then.
    """
    printer = FORMATS[form](scenario)
    events: list[Event] = []

    def print_event(event: Event) -> None:
        for line in printer.event_lines(event) if out else ():
            click.echo(line)
        for line in failure_lines(event):
            click.echo(line, err=True)
        if isinstance(event, NoteEvent):
            click.echo(f"note: {event.text}", err=True)
        if "GITHUB_ACTIONS" in os.environ:
            for line in github_annotations(event, scenario.path):
                click.echo(line, err=True)
        events.append(event)

    def print_summary() -> int:
        answers = [event for event in events if isinstance(event, ResultEvent)]
        unmet = sum(len(answer.misses) for answer in answers)
        if checks := sum(answer.checks for answer in answers):
            said = f"{len(answers)} calls, {checks - unmet} expectations met, {unmet} failed."
            click.echo(said, err=True)
        kept = [event for event in events if not (served and isinstance(event, FailureEvent))]
        return exit_status(kept)

    return print_event, print_summary


def _handle_signal(_number: int, _frame: object) -> None:
    """End in order at the first signal; the second ends the process at once."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt


def _read_prompts() -> Iterator[str]:
    """Yield the lines of standard input; empty ones are no prompts."""
    for line in sys.stdin.buffer:
        if prompt := line.decode("utf-8", "replace").rstrip("\r\n"):
            yield prompt


def load_with_warnings(file: Path) -> ScenarioScript:
    scenario, warnings, _ = load_scenario(file)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    return scenario


# A group without a command shows its help; before click 8.2 that was no error.
