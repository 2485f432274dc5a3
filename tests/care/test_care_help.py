"""Help, the log, and what a stranger gets wrong first: one line that says what to do."""

import json
import logging
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import pytest

from iac_base.errors import DISTRIBUTION, SetupError, pip_install
from iac_base.logs import LOGGER, start_logging
from iac_gen.cli import cli as gen
from iac_gen.entry import main as run_generator
from iac_mcp.cli.main import cli as mcp
from iac_mcp.cli.main import main

DOCS = Path(__file__).parent.parent.parent / "docs"
PROGRAMS = {"iac-mcp": mcp, "iac-gen": gen}


def commands(
    command: click.Command, context: click.Context, words: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command, click.Context]]:
    yield words, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            below = click.Context(inner, info_name=name, parent=context)
            yield from commands(inner, below, (*words, name))


def every() -> list[tuple[str, tuple[str, ...], str]]:
    return [
        (program, words, command.get_help(context))
        for program, cli in PROGRAMS.items()
        for words, command, context in commands(
            cli, click.Context(cli, info_name=program, **cli.context_settings), ()
        )
    ]


def test_every_command_shows_an_example() -> None:
    assert [
        (program, words)
        for program, words, shown in every()
        if "Examples:" not in shown and (program, words) != ("iac-gen", ())
    ] == []


def examples() -> list[str]:
    """Return the lines below "Examples:", with those that are continued put together."""
    found: list[str] = []
    for program, _, shown in every():
        for line in shown.partition("Examples:")[2].partition("\nOptions:")[0].splitlines():
            if line.strip().startswith(program):
                found.append(line.strip())
            elif found and line.startswith("          ") and "'" in line:
                found[-1] += line.strip()
    return found


def check_line(line: str) -> None:
    """Have the command line read a line; what it does not take raises."""
    words = shlex.split(line.partition(" > ")[0], comments=True)
    name = words[0].rpartition("/")[2]
    command: click.Command = PROGRAMS[name]
    context: click.Context | None = None
    rest = words[1:]
    while isinstance(command, click.Group):
        group = command.make_context(name, rest, parent=context)
        _, inner, rest = command.resolve_command(group, [*group._protected_args, *group.args])
        assert inner is not None
        command, context, name = inner, group, inner.name or ""
    command.make_context(name, rest, parent=context)


def test_every_example_is_taken_by_the_command_line() -> None:
    shown = [line.partition("   ")[0] for line in examples()]
    assert len(shown) > 40
    for line in shown:
        check_line(line)


def test_every_command_of_the_pages_is_taken_by_the_command_line() -> None:
    pages = [*DOCS.glob("*.md"), *(DOCS / "how-to").glob("*.md"), DOCS.parent / "README.md"]
    blocks = "\n".join(
        block
        for page in pages
        for kind, block in re.findall(r"```(\w*)\n(.*?)```", page.read_text(), flags=re.DOTALL)
        if kind in ("", "sh")
    )
    lines = re.findall(r"^(?:\S*/)?iac-(?:mcp|gen) .*$", blocks, flags=re.MULTILINE)
    assert len(lines) > 40
    for line in lines:
        if "..." not in line and " [" not in line:
            check_line(re.sub(r"   +.*", "", line))


def test_help_has_no_colour_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--help"]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.fixture
def quiet_after() -> Iterator[None]:
    yield
    logger = logging.getLogger(LOGGER)
    for handler in [*logger.handlers]:
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(logging.NOTSET)


@pytest.mark.usefixtures("quiet_after")
def test_the_log_goes_to_standard_error_and_the_file_never_to_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "iac.log"
    start_logging(file=path)
    start_logging(file=path)
    logging.getLogger(f"{LOGGER}.gate").debug("took %s ms", 3)
    logging.getLogger(f"{LOGGER}.gate").warning("an app said \x1b[2J")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "WARNING iac.gate: an app said" in err
    assert "\x1b" not in err
    lines = path.read_text().splitlines()
    assert len(lines) == 2
    assert lines[0].endswith("DEBUG iac.gate: took 3 ms")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    start_logging(verbose=True)
    logging.getLogger(f"{LOGGER}.gate").debug("more")
    assert "more" in capsys.readouterr().err
    assert "more" not in path.read_text()


@pytest.mark.usefixtures("quiet_after")
def test_a_log_file_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SetupError, match="cannot be written"):
        start_logging(file=tmp_path / "missing" / "iac.log")
    assert main(["--log-file", str(tmp_path), "status"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize("words", [["iac_mcp"], ["iac_mcp", "policy"], ["iac_scenario"]])
def test_a_group_without_a_command_shows_its_help_as_it_is(words: list[str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("Usage: iac-")
    assert "\nCommands:\n" in ran.stderr


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
@pytest.mark.parametrize("words", [
    ["iac_gen", "list", "--bundled"], ["iac_mcp", "tools"], ["iac_mcp", "doctor"],
    ["iac_scenario", "--help"],
])  # fmt: skip
def test_output_that_cannot_be_written_is_one_line(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ran.returncode == 1
    assert ran.stderr.endswith(": standard output: No space left on device.\n")
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.process
def test_output_that_nobody_reads_on_is_no_fault() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "iac_mcp", "tools"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as ran:
        assert ran.stdout is not None
        assert ran.stderr is not None
        ran.stdout.readline()
        ran.stdout.close()
        assert ran.stderr.read() == b""


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
