"""What an earlier version left behind is read by this one: modules, policy, answers, log, undo.

`418d6adc.zip` is the data folder of a user of that commit. Its own programs wrote it, over apps
that `iac-osascript` played: `iac-gen build --bundled notes shortcuts`, `plans add --pin`,
`clients add`, then a client that made notes (one answer was "Always allow", one was no), set a
restore point, changed a note, deleted one and ran a script; at the end `audit anchor`. It lies in
an archive, so that nothing that goes over the sources formats it or gives it newer names.
"""

import json
import os
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from iac_gen.cli import cli
from iac_mcp.cli.main import main

ARCHIVE = Path(__file__).with_name("418d6adc.zip")
CHANGED = "x-coredata://demo/ICNote/p4"

Run = Callable[..., str]


@pytest.fixture
def data(tmp_path: Path, generated: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of that user, and the apps as they were then."""
    folder = tmp_path / "data"
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(folder)
        for row in archive.infolist():
            (folder / row.filename).chmod(row.external_attr >> 16)
    for private in (folder, folder / "state"):
        private.chmod(0o700)
    monkeypatch.setenv("IAC_DATA", str(folder))
    monkeypatch.setenv("IAC_OSASCRIPT", str(Path(sys.executable).with_name("iac-osascript")))
    monkeypatch.setenv("IAC_SIMULATOR_STATE", str(folder / "apps.json"))
    monkeypatch.setenv("IAC_SIMULATOR_TOOLS", str(generated))
    return folder


@pytest.fixture
def run(data: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `iac-mcp` over that folder, and return what it printed."""

    def run(*words: str, status: int = 0) -> str:
        ended = main(list(words))
        printed = capsys.readouterr()
        assert ended == status, printed.err
        return printed.out

    return run


def make_recent(data: Path) -> None:
    """Let the changes be of today: those of more than a week are forgotten."""
    with sqlite3.connect(data / "state" / "history.db") as database:
        for table in ("calls", "points"):
            database.execute(f"UPDATE {table} SET at = ?", (time.time() - 60,))
    database.close()


def test_the_modules_are_listed_called_and_explained(run: Run) -> None:
    assert len(run("tools", "--app", "notes").splitlines()) == 30
    page = json.loads(run("tools", "shortcuts_run"))
    assert page["level"] == "DANGEROUS"
    assert "name" in run("call", "--dry-run", "notes_list", '{"element": "note"}')
    assert json.loads(run("call", "notes_count", "element=note")) == {"result": 4}


def test_a_program_imports_the_modules_and_their_typed_objects(data: Path) -> None:
    (data / "tools").rename(data / "iac_tools")
    program = (
        "import iac_tools\n"
        f"assert iac_tools.__file__.startswith({str(data)!r})\n"
        "from iac_tools import notes\n"
        "print(notes.count('note'), notes.app.notes.count(), notes.app.notes[0].name())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(data)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("4 4 Butter\n", "")


def test_a_build_goes_on_from_the_levels_that_were_kept(data: Path) -> None:
    lock = data / "tools" / "tools.lock"
    row = '"notes_list": {"digest": "01656fd9e261ff7f", "level": "'
    kept = lock.read_text(encoding="utf-8")
    assert row in kept
    build = ["build", "--bundled", "notes", "shortcuts", "--output", str(data / "tools")]
    lock.write_text(kept.replace(f"{row}SAFE", f"{row}MODIFY"), encoding="utf-8")
    fallen = CliRunner().invoke(cli, build)
    assert (fallen.exit_code, "notes_list fell from MODIFY" in fallen.output) == (1, True)
    lock.write_text(kept, encoding="utf-8")
    assert CliRunner().invoke(cli, build).exit_code == 0


CALLS: list[tuple[str, dict[str, Any], str, str]] = [
    ("calendar_delete", {"target": "calendars[0]"}, "ask", "DANGEROUS always requires approval"),
    ("finder_list", {"element": "file"}, "ask", "preset private"),
    ("finder_move", {"target": "~/Documents/a", "to": "~/Desktop"}, "deny", "line 23"),
    ("finder_move", {"target": "~/Documents/a", "to": "~/Documents/Archive"}, "ask", "private"),
    ("mail_send", {"target": "outgoingMessages[0]"}, "deny", "line 19"),
    ("notes_list", {"element": "note"}, "allow", "preset private"),
    ("notes_make_note", {"name": "Allowed oats"}, "allow", "line 54"),
    ("notes_make_note", {"name": "Oats"}, "ask", "preset private"),
    ("safari_open_url", {"url": "https://www.example.com"}, "allow", "line 49"),
    ("terminal_list", {"element": "window"}, "deny", "line 15"),
]


@pytest.mark.parametrize(("tool", "arguments", "action", "source"), CALLS)
def test_the_policy_decides_as_it_did(
    run: Run, tool: str, arguments: dict[str, Any], action: str, source: str
) -> None:
    words = ("policy", "check", tool, json.dumps(arguments), "--json")
    decided = json.loads(run(*words, status=int(action == "deny")))
    assert (decided["action"], source in decided["source"]) == (action, True), decided


def test_an_answer_that_was_given_for_always_still_counts(run: Run) -> None:
    assert "make notes with name, body in Notes" in run("policy", "decisions")
    made = json.loads(run("call", "notes_make_note", "name=Oats", "body=A sack"))
    assert made["outcome"]["state"] == "confirmed"


def test_the_audit_log_holds_and_goes_on(data: Path, run: Run) -> None:
    assert "38 rows" in run("audit", "verify", "--anchor", str(data / "anchors.jsonl"))
    assert "the user, asked by claude-ai" in run("audit", "search", "notes_delete")
    assert "claude-ai" in run("audit", "export")
    run("call", "notes_count", "element=note")
    assert "intact" in run("audit", "verify", "--anchor", str(data / "anchors.jsonl"))


def test_a_change_of_then_is_undone_and_a_copy_is_shown(data: Path, run: Run) -> None:
    make_recent(data)
    assert [row["call"] for row in json.loads(run("history"))["calls"]] == [4, 3, 2, 1]
    assert "A book for Ines" in run("history", "4")
    run("undo", "3", "--allow", "MODIFY")
    assert "Shopping list" in run("call", "notes_get", f'target=notes.byId("{CHANGED}")')


def test_patterns_plans_and_clients_are_there(run: Run) -> None:
    assert "read the name of the first note" in run("patterns", "list")
    assert run("plans", "list").startswith("* rename_first(name)")
    assert run("clients", "list").startswith("studio  read")
