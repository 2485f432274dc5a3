"""`iac-mcp upgrade`: what this version changes, and whether tools and clients fit it.

Exit status: 0 without a problem, 1 with one.
"""

import re
import shutil
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import click

from iac_base.errors import SetupError
from iac_base.files import open_state, write_whole
from iac_mcp.cli.common import NAME, print_json
from iac_mcp.cli.doctor import print_finding
from iac_mcp.setup.checks import CHECKS
from iac_mcp.setup.findings import DoctorContext
from iac_runtime.version import VERSION

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
        found = [row._replace(check=key) for key in _CHECKED for row in CHECKS[key](around)]
    problems = any(row.state == "problem" for row in found)
    if as_json:
        findings = [row.facts() for row in found]
        said = {"from": before or None, "to": VERSION, "changes": changes, "findings": findings}
        print_json({"ok": not problems, **said})
    else:
        since = f"You last used version {before}." if before else "No earlier version is recorded."
        click.echo(f"This is version {VERSION}. {since}")
        width = min(shutil.get_terminal_size().columns, 100)
        for version, entries in changes.items():
            click.echo(f"\n{version}")
            for entry in entries:
                click.echo(textwrap.fill(entry, width, initial_indent="- ", subsequent_indent="  "))
        click.echo()
        for row in found:
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
