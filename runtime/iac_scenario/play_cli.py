"""How the command lines play: events are printed, reports written, signals end a run in order."""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import anyio
import click

from iac_scenario.checks import exit_status
from iac_scenario.conversation import Event, FailureEvent, NoteEvent, ResultEvent
from iac_scenario.model import LoadedScenario, ScenarioScript
from iac_scenario.output import (
    FORMATS,
    RunRecorder,
    failure_lines,
    github_annotations,
    write_report,
)
from iac_scenario.player import PlaySettings, play_scenario
from iac_scenario.reader import load_scenario


def play_prompts(
    scenario: ScenarioScript,
    prompts: Iterable[str],
    settings: PlaySettings,
    form: str,
    reports: Sequence[Path] = (),
) -> int:
    """Play the prompts, print what happens, and return the exit status."""
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
            summary = f"{len(answers)} calls, {checks - unmet} expectations met, {unmet} failed."
            click.echo(summary, err=True)
        kept = [event for event in events if not (served and isinstance(event, FailureEvent))]
        return exit_status(kept)

    return print_event, print_summary


def _handle_signal(_number: int, _frame: object) -> None:
    """End in order at the first signal; the second ends the process at once."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt


def read_prompts() -> Iterator[str]:
    """Yield the lines of standard input; empty ones are no prompts."""
    for line in sys.stdin.buffer:
        if prompt := line.decode("utf-8", "replace").rstrip("\r\n"):
            yield prompt


def load_with_warnings(file: Path) -> LoadedScenario:
    """Read a scenario and print what is to be said about it."""
    loaded = load_scenario(file)
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    return loaded
