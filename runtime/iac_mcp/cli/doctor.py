"""`iac-mcp doctor`, `status`, `upgrade`: the installation, what runs, what a version changes.

Exit status of doctor and upgrade: 0 without a problem (warnings are none), 1 with one.
"""

import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Final

import click

from iac_base.errors import SetupError
from iac_base.files import open_state, write_whole
from iac_base.text import escape_hidden
from iac_mcp.cli.common import NAME, TOOLS, print_json
from iac_mcp.setup.checks import CHECKS, DoctorContext, DoctorFinding, run_checks
from iac_runtime.execution.workers import run_process
from iac_runtime.version import VERSION

_SAFE: Final = ("iac-gen build", "iac-mcp install ", "chmod 700 ")
"""Commands that `--fix` carries out: what they change can be changed back."""

_PROGRAMS: Final = {"iac-gen": "iac_gen", "iac-mcp": "iac_mcp"}
_SECONDS: Final = 900.0

_COLOURS: Final = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--app", "apps", multiple=True, metavar="APP", help="Check only this app.")
@click.option("--fix", is_flag=True, help="Carry out the suggested fixes that are safe.")
@NAME
@TOOLS
def doctor(
    as_json: bool, apps: tuple[str, ...], fix: bool, name: str, tools: tuple[Path, ...]
) -> int:
    """Check the installation and suggest fixes.

    It changes something only with --fix, starts no app, and causes no macOS prompts. It checks the
    permissions of the program that you run it in. A client has permissions of its own.

    --fix builds tools, adds the server to clients and makes the state folder private.
    """
    from iac_runtime.execution.executor import Executor

    findings: list[DoctorFinding] = []
    with closing(Executor()) as executor:
        for finding in run_checks(DoctorContext(executor, tools, apps, name)):
            findings.append(finding)
            if not as_json:
                print_finding(finding)
    if fix and not as_json:
        findings = [row for row in findings if not (row.mend and _apply_fix(row.mend))]
    problems = sum(finding.state == "problem" for finding in findings)
    warnings = sum(finding.state == "warning" for finding in findings)
    if as_json:
        print_json({"ok": not problems, "findings": [finding.facts() for finding in findings]})
    else:
        click.echo(f"{_count_text(problems, 'problem')}, {_count_text(warnings, 'warning')}.")
    return 1 if problems else 0


def print_finding(finding: DoctorFinding) -> None:
    """Print a finding, and below it what mends it."""
    state = click.style(f"{finding.state:<8}", fg=_COLOURS[finding.state])
    # click leaves colours out where there is no terminal; see no-color.org for the variable.
    colour = False if os.environ.get("NO_COLOR") else None
    click.echo(f"{state} {finding.check:<13} {escape_hidden(finding.says)}", color=colour)
    if finding.mend:
        click.echo(f"{'':<22} {escape_hidden(finding.mend)}")


def _apply_fix(mend: str) -> bool:
    """Carry out a command that is advised, where it is safe; say whether that mended it."""
    words = shlex.split(mend) if mend.startswith(_SAFE) and "|" not in mend else []
    if not words or "--print" in words:
        return False
    program = _PROGRAMS.get(words[0])
    argv = [sys.executable, "-m", program, *words[1:]] if program else words
    done = run_process(argv, b"", _SECONDS)
    lines = (done.stdout or done.stderr).decode("utf-8", "replace").strip().splitlines()
    state = "fixed" if done.status == 0 else "not fixed"
    click.echo(escape_hidden(f"{state}: {mend}{': ' + lines[-1] if lines else ''}"))
    return done.status == 0


def _count_text(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the status as JSON.")
def status(as_json: bool) -> int:
    """Show your running servers, the results of their calls, and paused clients."""
    from iac_runtime.policy.approvals import describe_unshown, paused_clients, unshown
    from iac_runtime.serve.status import running_servers, status_facts

    if as_json:
        print_json(status_facts())
        return 0
    servers = running_servers()
    for server in servers:
        facts = server.facts()
        client = f" for {server.client}" if server.client else ""
        up = timedelta(seconds=facts["uptime"])
        click.echo(escape_hidden(f"{server.pid}{client}, surface {server.surface}, up {up}"))
        levels = ", ".join(f"{count} {level}" for level, count in server.tools.items())
        click.echo(escape_hidden(f"  {_count_text(server.apps, 'app')}, tools: {levels or 'none'}"))
        calls = f"{_count_text(server.calls, 'call')}, {_count_text(server.errors, 'error')}"
        workers = ", ".join(f"{app} {state}" for app, state in server.workers.items())
        click.echo(escape_hidden(f"  {calls}{'; workers: ' + workers if workers else ''}"))
        for task in facts["tasks"]:
            left = f"{task['left']} of {task['of']} left until {task['until']}"
            click.echo(escape_hidden(f"  task: {left}: {task['covers']}"))
    if not servers:
        click.echo("No server is running.")
    for row in paused_clients(open_state()):
        click.echo(f"{row.description} End this pause with: {row.lift}")
    for one in unshown(open_state()):
        click.echo(describe_unshown(one))
    return 0


_CHECKED: Final = ("tools", "fresh", "clients", "servers")
_HERE: Final = Path(__file__).resolve().parent
_PLACES: Final = (_HERE.parent / "CHANGELOG.md", _HERE.parents[2] / "CHANGELOG.md")
"""Where the changes are: in an installed package, or in a checkout."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the changes and findings as JSON.")
@NAME
def upgrade(as_json: bool, name: str) -> int:
    """Show what this version changes, then check tools, clients and servers.

    The changes are those since the version that last ran setup, install or upgrade here.
    """
    from iac_runtime.execution.executor import Executor

    before = recorded_version()
    text = next((path.read_text("utf-8") for path in _PLACES if path.is_file()), "")
    changes = dict(changes_since(text, before)) if before else {}
    with closing(Executor()) as executor:
        around = DoctorContext(executor, name=name)
        checked = [row._replace(check=key) for key in _CHECKED for row in CHECKS[key](around)]
    problems = any(row.state == "problem" for row in checked)
    if as_json:
        findings = [row.facts() for row in checked]
        facts = {"from": before or None, "to": VERSION, "changes": changes, "findings": findings}
        print_json({"ok": not problems, **facts})
    else:
        since = f"You last used version {before}." if before else "No earlier version is recorded."
        click.echo(f"This is version {VERSION}. {since}")
        width = min(shutil.get_terminal_size().columns, 100)
        for version, entries in changes.items():
            click.echo(f"\n{version}")
            for entry in entries:
                click.echo(textwrap.fill(entry, width, initial_indent="- ", subsequent_indent="  "))
        click.echo()
        for row in checked:
            print_finding(row)
    record_version()
    return 1 if problems else 0


def recorded_version() -> str:
    """Return the version that was last used here, empty if none is recorded."""
    try:
        return (open_state() / "version").read_text("utf-8").strip()
    except (OSError, UnicodeError, SetupError):
        return ""


def record_version() -> None:
    """Keep the version of this program as the one that was last used."""
    write_whole(open_state() / "version", f"{VERSION}\n", mode=0o600)


def changes_since(text: str, version: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each newer version of a changelog with its entries, the newest first.

    What is not released yet counts as newer than every version before this one.
    """
    for title, body in re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", text, re.MULTILINE):
        newest = VERSION if title == "Unreleased" else title.split()[0]
        if _version_parts(version) < _version_parts(newest) <= _version_parts(VERSION):
            entries = re.split(r"^- ", re.sub(r"^###.*\n", "", body, flags=re.M), flags=re.M)
            yield title, [" ".join(entry.split()) for entry in entries if entry.strip()]


def _version_parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
