"""What a stranger gets wrong first: each program says in one line what is wrong, and what to do."""

import json
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from iac_base.errors import DISTRIBUTION, pip_install
from iac_gen.entry import main as run_generator
from iac_mcp.cli.main import main


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("iac-fleet", "hosts --nope"), ("iac-fleet", "nonsense"), ("iac-gen", "show --nope"),
        ("iac-gen", "nonsense"), ("iac-mcp", "doctor --nope"), ("iac-mcp", "nonsense"),
        ("iac-scenario", "nonsense"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line_in_every_program(program: str, said: str) -> None:
    command = [str(Path(sys.executable).with_name(program)), *said.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{program}: ")
    if "nonsense" in said:
        assert "There is no command called nonsense." in line


def test_help_is_shown_where_an_option_would_swallow_the_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["iac-gen", "show", "--why", "X", "--help"])
    with pytest.raises(SystemExit):
        run_generator()
    assert "Usage: iac-gen show" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["install", "claude"], "There is no client called claude. Nearest: claude-code"),
        (["setup", "--client", "claude"], "There is no client called claude. Nearest: claude-code"),
        (["policy", "decisions", "--revoke", "9"], "There is no decision 9."),
        (["serve", "--http", "127.0.0.1"], "--http --host 127.0.0.1"),
        (["serve", "--host", "0.0.0.0"], "--host needs --http"),
    ],
)
def test_the_error_names_what_was_meant(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tool", "given", "says"),
    [
        ("notes_get", {"target": "notes[99]"}, "There is no notes[99]; Notes has 3 notes."),
        ("notes_get", {"target": "folders[0].notes[99]"},
         "There is no folders[0].notes[99]; folders[0] has 2 notes."),
        ("notes_get", {"target": 'notes["Nowhere"]'}, 'There is no notes["Nowhere"] in Notes.'),
        ("notes_list", {"element": "note", "limit": -1}, "limit must be 0 or more, not -1."),
    ],
)  # fmt: skip
def test_a_call_says_how_many_there_are_and_what_is_allowed(
    tool: str, given: Mapping[str, Any], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["call", tool, json.dumps(given), "--simulate"]) == 1
    assert capsys.readouterr().err.startswith(says)


@pytest.mark.parametrize(
    ("told", "command"),
    [
        (None, "pip install 'iac-for-mac[gen]'"),
        ({"url": "file:///src/iac", "dir_info": {"editable": True}},
         "pip install -e '/src/iac[gen]'"),
        ({"url": "file:///src/iac", "dir_info": {}},
         "pip install 'iac-for-mac[gen] @ file:///src/iac'"),
        ({"url": "https://example.org/iac", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
         "pip install 'iac-for-mac[gen] @ git+https://example.org/iac@abc'"),
    ],
)  # fmt: skip
def test_more_of_it_is_installed_from_where_it_came(
    told: Mapping[str, Any] | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            return json.dumps(told) if told and name == "direct_url.json" else None

    monkeypatch.setattr(metadata, "distribution", {DISTRIBUTION: Installed()}.__getitem__)
    assert pip_install("gen") == command
