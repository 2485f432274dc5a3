"""`iac-mcp probe`: answers to the open questions about JXA, from a Mac, as JSON to send back.

One process a script, each with a deadline. Nothing personal stays in the answers: the home folder,
the names of the user and of the computer are replaced.
"""

import contextlib
import json
import os
import platform
import re
import sys
import time
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import click

from iac_base.errors import SetupError
from iac_base.files import write_whole
from iac_mcp.cli.common import HELP, OUTPUT, report_write_errors
from iac_runtime.execution.answers import parse_error_line
from iac_runtime.execution.mac import automation_permission, responsible_name
from iac_runtime.execution.process import Completed, Runner
from iac_runtime.execution.workers import run_process
from iac_runtime.tools.catalogue import Catalogue, tool_folders
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_runtime.version import VERSION

ROWS: Final = range(1, 16)
"""The rows of the list in docs/mac.md."""

_FORMAT: Final = 1
"""Of the report; a reader can tell by it what to expect."""

_SECONDS: Final = 20.0
_MOST: Final = 20_000
_SHORTEST: Final = 3

APPS: Final = {
    "com.apple.finder": "Finder",
    "com.apple.systemevents": "System Events",
    "com.apple.TextEdit": "TextEdit",
}
"""The apps that events are sent to: bundle id -> name."""

_COLLISION: Final = "Which wins if a command and a property have the same name"
_UNANSWERED: Final[Mapping[int, tuple[str, str]]] = {
    # What to ask is found in the tables of the apps that there are.
    9: (_COLLISION, "No app with tools has a command and a property of the same name."),
    10: (
        "What is sent if a command's direct parameter is a record",
        "Every command that could test this changes something.",
    ),
}

_DEBUGGED: Final = ("/usr/bin/env", "AEDebugSends=1")
_CHANNELLED: Final = ("/bin/sh", "-c", 'exec "$@" 3<&0 4>&1', "sh")


class Probe(NamedTuple):
    """One script in one process.

    Attributes:
        id: The row of the list, and what of it this asks.
        question: What is not known, in a few words.
        script: The JavaScript. What it prints is the answer.
        app: The bundle id that it sends events to; then it is run only if that app is running.
        form: How osascript prints: `h` for people, `s` as source.
        debug: Let the system print the events that are sent.
        scratch: It makes a document in TextEdit and closes it unsaved.
        stdin: What it can read; with `channel` as descriptor 3, and 4 is its standard output.
    """

    id: str
    question: str
    script: str
    app: str = ""
    form: Literal["h", "s"] = "h"
    debug: bool = False
    scratch: bool = False
    stdin: str = ""
    channel: bool = False

    @property
    def row(self) -> int:
        """The row of the list that this helps to answer."""
        return int(self.id.partition(".")[0])


def _read_probes() -> Iterator[Probe]:
    """Yield the scripts of `probe.toml`; in each of the `forms` that their group wants."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    for group in tomllib.loads(text)["group"]:
        row, before, scripts = group.pop("row"), group.pop("before", ""), group.pop("scripts")
        forms: list[Literal["h", "s"]] = [*group.pop("forms", "h")]
        for name, script in scripts.items():
            for form in forms:
                ident = f"{row}.{name}" if forms == ["h"] else f"{row}.{name}-{form}"
                yield Probe(ident, script=before + script, form=form, **group)


PROBES: Final = tuple(_read_probes())


class PersonalDetails(NamedTuple):
    """What must not be sent on: the home folder, and names of the user and the computer."""

    home: str = ""
    names: tuple[str, ...] = ()


_NOBODY: Final = PersonalDetails()


def redact_person(text: str, person: PersonalDetails) -> str:
    """Return `text` without the person in it; names shorter than three letters are left."""
    home = person.home.rstrip("/")
    if home:
        text = text.replace(home, "~").replace(home.replace(" ", "%20"), "~")
    for name in sorted(person.names, key=len, reverse=True):
        if len(name) >= _SHORTEST:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "<name>", text, flags=re.IGNORECASE)
    return text


def collision_probes(apps: Iterable[Tables], most: int = 5) -> Iterator[Probe]:
    """Yield questions about commands that have the name of a property; they send no event."""
    for tables in apps:
        commands = {spec.jxa for spec in tables.tools.values() if spec.op == "command"}
        for place, term in _reachable_classes(tables):
            for prop in tables.properties(term):
                if prop.jxa in commands and most > 0:
                    most -= 1
                    chain = f"{place}[{json.dumps(prop.jxa)}]"
                    script = (
                        f"var a = Application({json.dumps(tables.app.id)}); "
                        f"typeof {chain} + ' ' + Automation.getDisplayString({chain})"
                    )
                    yield Probe(f"9.{tables.key}-{prop.jxa}", _COLLISION, script)


def _reachable_classes(tables: Tables) -> Iterator[tuple[str, str]]:
    if APPLICATION in tables.classes:
        yield "a", APPLICATION
        for element in tables.elements(APPLICATION):
            row = tables.classes.get(element.term)
            if row is not None:
                yield f"a[{json.dumps(row.plural)}][0]", element.term


def run_probes(
    runner: Runner,
    program: Sequence[str],
    rows: Iterable[int] = ROWS,
    *,
    more: Sequence[Probe] = (),
    scratch: bool = False,
    leave: Collection[str] = (),
    person: PersonalDetails = _NOBODY,
    timeout: float = _SECONDS,
) -> Iterator[dict[str, Any]]:
    """Yield an answer for each script of `rows`, in the order of the rows.

    Args:
        runner: Runs one process.
        program: The osascript to ask, with what stands before its own arguments.
        more: Scripts beyond the table: for row 9.
        scratch: Whether documents may be made in TextEdit.
        leave: Bundle ids of apps that no event is sent to.
        person: Whom to leave out.
        timeout: Seconds for one script.

    An answer is `{id, row, question, script, arguments, status, stdout, stderr, seconds}`, with
    `value` where what was printed is JSON, `error` `{number, text}` where osascript's error line
    says one, `timed_out` where it was killed; or `{id, row, question, unmeasured}` with the
    reason.

    Raises:
        OSError: The program cannot be started.
    """

    @cache
    def is_running(app: str) -> bool:
        """Say whether an app is running; it is asked about once, without an event."""
        script = f"String(Application({json.dumps(app)}).running())"
        done = runner([*program, "-l", "JavaScript", "-e", script], b"", timeout)
        return done.stdout.strip() == b"true"

    wanted = set(rows)
    probes = sorted((*PROBES, *more), key=lambda probe: probe.row)
    for row in sorted(wanted):
        asked = [probe for probe in probes if probe.row == row]
        for probe in asked:
            answer = {"id": probe.id, "row": row, "question": probe.question}
            if probe.scratch and not scratch:
                reason = "This test makes a document in TextEdit. To run it, use --textedit."
                yield {**answer, "unmeasured": reason}
            elif probe.app in leave:
                reason = f"macOS would ask whether {APPS[probe.app]} may be controlled."
                yield {**answer, "unmeasured": reason}
            elif probe.app and not is_running(probe.app):
                yield {**answer, "unmeasured": f"{APPS[probe.app]} is not running."}
            else:
                yield {**answer, **_run_probe(probe, runner, program, timeout, person)}
        if not asked and row in _UNANSWERED:
            question, reason = _UNANSWERED[row]
            yield {"id": str(row), "row": row, "question": question, "unmeasured": reason}


def _run_probe(
    probe: Probe, runner: Runner, program: Sequence[str], timeout: float, person: PersonalDetails
) -> dict[str, Any]:
    arguments = ["-l", "JavaScript", "-s", probe.form, "-e", probe.script]
    # The runner gives a process our environment and three descriptors; others add to it.
    before = _DEBUGGED if probe.debug else _CHANNELLED if probe.channel else ()
    start = time.monotonic()
    done = runner([*before, *program, *arguments], probe.stdin.encode(), timeout)
    seconds = time.monotonic() - start
    return {
        "script": probe.script,
        "arguments": arguments[:-2],
        **_probe_outcome(done, person),
        "seconds": round(seconds, 3),
    }


def _probe_outcome(done: Completed, person: PersonalDetails) -> dict[str, Any]:
    stdout, stderr = (
        redact_person(stream.decode("utf-8", "backslashreplace")[:_MOST], person)
        for stream in (done.stdout, done.stderr)
    )
    facts: dict[str, Any] = {"status": done.status, "stdout": stdout, "stderr": stderr}
    with contextlib.suppress(ValueError, RecursionError):
        facts["value"] = json.loads(stdout)
    line = parse_error_line(stderr) if done.status else None
    if line is not None:
        facts["error"] = {"number": line.number, "text": line.text}
    if done.timed_out:
        facts["timed_out"] = True
    return facts


_WHOSE: Final = (
    "Which program the prompt of macOS names, and whether control is allowed (no prompt appears)"
)


@click.command(context_settings=HELP)
@click.argument("rows", nargs=-1, type=click.IntRange(ROWS[0], ROWS[-1]), metavar="[ROW]...")
@click.option("--simulate", is_flag=True, help="Use simulated apps, to see sample answers.")
@click.option(
    "--textedit",
    is_flag=True,
    help="Also make documents in TextEdit and close them without saving. First open TextEdit"
    " without a document.",
)
@OUTPUT
def probe(rows: tuple[int, ...], simulate: bool, textedit: bool, output: Path | None) -> None:
    """Answer the open questions about JXA (JavaScript for Automation) on this Mac, as JSON.

    ROW is the number of a question in docs/mac.md. The command only reads. If Finder and System
    Events are running, it sends them events, and macOS may ask you to allow that. Your home
    folder and your name are replaced. Still, check the file before you send it.
    """
    if not simulate and sys.platform != "darwin":
        raise SetupError("This is not a Mac. Use --simulate to see sample answers.")
    program = (
        [sys.executable, "-m", "iac_simulator.osascript"]
        if simulate
        else [os.environ.get("IAC_OSASCRIPT") or "osascript"]
    )
    who = personal_details()
    wanted = sorted(set(rows)) or list(ROWS)
    more = list(collision_probes(_all_tables())) if 9 in wanted else []
    try:
        answers = [
            *run_probes(run_process, program, wanted, more=more, scratch=textedit, person=who)
        ]
    except OSError as error:
        raise SetupError(f"{program[0]} cannot be started: {error.strerror}.") from error
    if 12 in wanted:
        answers.append(automation_answer(who, simulate=simulate))
        answers.sort(key=lambda answer: answer["row"])
    report = {
        "probe": _FORMAT,
        "iac": VERSION,
        "simulated": simulate,
        "macos": platform.mac_ver()[0],
        "machine": platform.machine(),
        "python": platform.python_version(),
        "answers": answers,
    }
    text = json.dumps(report, ensure_ascii=False, indent=1) + "\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        with report_write_errors(output):
            write_whole(output, text)
        click.echo(
            f"{len(answers)} answers were written to {output}. Read them before you send the file."
        )


def personal_details() -> PersonalDetails:
    """Return the person whose Mac this is."""
    import getpass
    import pwd

    try:
        row = pwd.getpwuid(os.getuid())
        names = [getpass.getuser(), row.pw_name, row.pw_gecos.partition(",")[0]]
    except (KeyError, OSError):
        names = []
    host = platform.node()
    return PersonalDetails(str(Path.home()), tuple({*names, host, host.partition(".")[0]} - {""}))


def _all_tables() -> Iterator[Tables]:
    catalogue = Catalogue(tool_folders())
    return (catalogue.load_tables(app) for app in catalogue.dictionaries)


def automation_answer(person: PersonalDetails, *, simulate: bool) -> dict[str, Any]:
    """Return the answer to row 12: who would ask for control, and of what it is allowed."""
    row = {"id": "12", "row": 12, "question": _WHOSE}
    if simulate or sys.platform != "darwin":
        return {**row, "unmeasured": "Only macOS knows."}
    process = redact_person(responsible_name(), person)
    allowed = {name: automation_permission(app) for app, name in APPS.items()}
    return {**row, "value": {"process": process, "allowed": allowed}}
