"""`iac-mcp setup` and `uninstall --all`, in a home folder of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from iac_mcp.cli.main import main

pytestmark = pytest.mark.process


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    def call(*arguments: str) -> tuple[int, str, str]:
        status = main(list(arguments))
        return status, *capsys.readouterr()

    return call


def test_setup_writes_every_client_that_is_found_and_everything_goes_again(
    run, home: Path, desktop: Path
) -> None:
    codex = home / ".codex" / "config.toml"
    codex.parent.mkdir()
    before = '# mine\nmodel = "x"\n'
    codex.write_text(before)
    status, out, _ = run("setup", "--yes", "--json")
    assert status == 0
    said = json.loads(out)
    assert said["ok"]
    assert any("starts as a client would start it" in step["says"] for step in said["steps"])
    assert len(said["ask"]) == 3
    assert "iac" in json.loads(desktop.read_text())["mcpServers"]
    assert "[mcp_servers.iac]" in codex.read_text()
    assert run("setup", "--yes", "--client", "codex")[1].count("had the server already") == 1
    assert run("uninstall", "--all")[0] == 2
    assert "iac" in codex.read_text()
    status, out, _ = run("uninstall", "--all", "--yes")
    assert status == 0
    assert codex.read_text() == before
    assert not desktop.exists()
    data = Path(os.environ["IAC_DATA"])
    assert not data.exists()


def test_what_else_lies_in_the_data_folder_stays(run, home: Path, desktop: Path) -> None:
    data = Path(os.environ["IAC_DATA"])
    (data / "tools").mkdir(parents=True)
    (data / "policy.toml").write_text("undo = 'off'\n")
    (data / "letters.txt").write_text("mine")
    assert run("uninstall", "--all", "--yes")[0] == 0
    assert sorted(path.name for path in data.iterdir()) == ["letters.txt", "policy.toml"]


def test_without_clients_and_without_a_person_nothing_is_changed(run, home: Path) -> None:
    status, _, err = run("setup", "--yes")
    assert status == 2
    assert "Install one, such as Claude Desktop" in err
    (home / ".codex").mkdir()
    status, _, err = run("setup")
    assert status == 2
    assert "--yes" in err
    assert not (home / ".codex" / "config.toml").exists()


def test_nothing_is_installed_that_does_not_start(run, desktop: Path) -> None:
    status, _, err = run("install", "claude-desktop", "--", "--pin", "nonsense")
    assert status == 2
    assert "There are no tools for nonsense" in err
    assert not desktop.exists()


@pytest.mark.parametrize("words", [("help",), ("help", "setup"), ("help", "audit")])
def test_help_is_a_command(run, words: tuple[str, ...]) -> None:
    status, out, _ = run(*words)
    assert status == 0
    assert "Usage: iac-mcp" in out


def test_a_tool_has_a_page_and_arguments_are_written_as_people_do(run) -> None:
    page = json.loads(run("tools", "notes_make_note")[1])
    assert page["level"] == "MODIFY"
    assert page["schema"]["required"]
    given = ("element=note", "limit=2", 'properties=["name"]', "--simulate")
    status, out, _ = run("call", "notes_list", *given)
    assert status == 0
    assert len(json.loads(out)["result"]) == 2
    dangerous = run("tools", "--app", "notes", "--level", "dangerous")[1]
    assert "notes_delete" in dangerous
    assert "notes_list" not in dangerous


def test_doctor_fixes_what_is_safe_to_fix(run, home: Path, desktop: Path) -> None:
    run("install", "claude-desktop")
    said = json.loads(desktop.read_text())
    said["mcpServers"]["iac"]["command"] = "/nowhere/python"
    desktop.write_text(json.dumps(said))
    status, out, _ = run("doctor")
    assert status == 1
    assert "/nowhere/python" in out
    status, out, _ = run("doctor", "--fix")
    assert "fixed: iac-mcp install claude-desktop" in out
    assert status == 0
    assert "/nowhere/python" not in run("doctor")[1]


@pytest.mark.parametrize("program", ["iac_gen", "iac_mcp"])
def test_a_misspelt_command_is_told_with_the_nearest(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", program, "compleTion"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Nearest: completion" in done.stderr
