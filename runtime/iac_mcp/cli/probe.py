"""`iac-mcp probe`: what only a Mac can answer, as JSON to send back."""

import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import click

from iac_base.errors import SetupError
from iac_base.files import write_whole
from iac_mcp.cli.common import HELP, OUTPUT, writing
from iac_mcp.setup.probe import APPS, FORMAT, ROWS, Person, Probe, answers, collisions, redacted
from iac_runtime.execution.mac import permitted, responsible_name
from iac_runtime.execution.streams import run_process
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.folders import tool_folders
from iac_runtime.version import VERSION

__all__ = ["probe"]

_WHOSE = "Whose name stands in the prompt, and is control allowed? (macOS is asked, nobody else)"


@click.command(context_settings=HELP)
@click.argument("rows", nargs=-1, type=click.IntRange(ROWS[0], ROWS[-1]), metavar="[ROW]...")
@click.option("--simulate", is_flag=True, help="Ask the simulator, to see what it is like.")
@click.option(
    "--textedit",
    is_flag=True,
    help="Also make scratch documents in TextEdit and close them unsaved; open it first, with no"
    " document.",
)
@OUTPUT
def probe(rows: tuple[int, ...], simulate: bool, textedit: bool, output: Path | None) -> None:
    """Answer the open questions about JXA on this Mac (or those of the ROWs) as JSON.

    It only reads. Finder and System Events are asked, if they run, so macOS may ask you whether
    that is allowed. Your home folder and your name are replaced; look through it all the same.
    """
    if not simulate and sys.platform != "darwin":
        raise SetupError("This is not a Mac. To see what the probe is like, use --simulate.")
    program = (
        [sys.executable, "-m", "iac_simulator.osascript"]
        if simulate
        else [os.environ.get("IAC_OSASCRIPT") or "osascript"]
    )
    person = _person()
    wanted = sorted(set(rows)) or list(ROWS)
    more = _collisions() if 9 in wanted else []
    try:
        found = [*answers(run_process, program, wanted, more=more, scratch=textedit, person=person)]
    except OSError as error:
        raise SetupError(f"{program[0]} cannot be started: {error.strerror}.") from error
    if 12 in wanted:
        found.append(_whose(person, simulate=simulate))
        found.sort(key=lambda answer: answer["row"])
    report = {
        "probe": FORMAT,
        "iac": VERSION,
        "simulated": simulate,
        "macos": platform.mac_ver()[0],
        "machine": platform.machine(),
        "python": platform.python_version(),
        "answers": found,
    }
    text = json.dumps(report, ensure_ascii=False, indent=1) + "\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        with writing(output):
            write_whole(output, text)
        click.echo(f"{len(found)} answers in {output}. Look through it before you send it.")


def _person() -> Person:
    import getpass
    import pwd

    try:
        row = pwd.getpwuid(os.getuid())
        names = [getpass.getuser(), row.pw_name, row.pw_gecos.partition(",")[0]]
    except (KeyError, OSError):
        names = []
    host = platform.node()
    return Person(str(Path.home()), tuple({*names, host, host.partition(".")[0]} - {""}))


def _collisions() -> list[Probe]:
    catalogue = Catalogue(tool_folders())
    return list(collisions(catalogue.tables(app) for app in catalogue.apps.values()))


def _whose(person: Person, *, simulate: bool) -> dict[str, Any]:
    row = {"id": "12", "row": 12, "question": _WHOSE}
    if simulate or sys.platform != "darwin":
        return {**row, "unmeasured": "Only macOS knows."}
    process = redacted(responsible_name(), person)
    allowed = {name: permitted(app) for app, name in APPS.items()}
    return {**row, "value": {"process": process, "allowed": allowed}}
