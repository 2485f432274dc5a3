"""Command lines that people write: in a session they do what bash does on the same files."""
# ruff: noqa: E501

import os
import shutil
import subprocess
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iac_scenario.bash import BashResult, BashSession
from iac_scenario.permissions import UnclearLineError, parse_commands
from iac_scenario.sandbox import Sandbox

FILES = {
    "a.txt": "one\ntwo\nThree\nfour two\n", "b.txt": "10\n9\n10\n2\n",
    "data.csv": "id,name,age\n1,ada,36\n2,bob,7\n3,cyd,36\n",
    "src/main.py": "import os\n# TODO: x\ndef main():\n    print('hi')\n",
    "src/lib/util.py": "def util():\n    return 1  # TODO\n",
    "docs/read me.md": "# Title\n\nSome text\n",
    "log.txt": "INFO start\nERROR bad thing\nWARN hmm\nERROR worse\nINFO end\n", "noeol": "x\ny",
    ".hidden": "h\n", "empty": "",
}  # fmt: skip
LINES = (Path(__file__).parent / "shell_lines.txt").read_text().removesuffix("\n").split("\n---\n")
GROUPS = {name: list(lines) for name, lines in groupby(sorted(LINES), lambda line: line[:3])}
UNORDERED = ("find", "grep -r", "ls -R")
"""Lines whose order is the file system's, where no sort follows."""


def fill(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def in_session(folder: Path, line: str) -> BashResult:
    sandbox = Sandbox(folder, "/box")
    try:
        return BashSession(sandbox, lambda: datetime(2025, 1, 15, tzinfo=UTC)).run(line, 20)
    finally:
        sandbox.close()


def content(folder: Path) -> dict[str, bytes | None]:
    found = ((path, str(path.relative_to(folder))) for path in folder.rglob("*"))
    return {name: path.read_bytes() if path.is_file() else None for path, name in found}


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.timeout(300)
@pytest.mark.parametrize("lines", GROUPS.values(), ids=[f"{name}…" for name in GROUPS])
@pytest.mark.usefixtures("confinement")
def test_a_line_prints_leaves_and_answers_what_it_does_in_bash(
    tmp_path: Path, lines: list[str]
) -> None:
    for number, line in enumerate(lines):
        ours, theirs = tmp_path / f"{number}", tmp_path / f"{number}-bash"
        fill(ours)
        fill(theirs)
        real = subprocess.run(
            ["bash", "-c", line, "/bin/bash"], cwd=theirs, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(theirs)},
        )  # fmt: skip
        answer = in_session(ours, line)
        out, wanted = answer.out.decode(), real.stdout.decode().replace(str(theirs), "/box")
        if line.startswith(UNORDERED) and "sort" not in line:
            out, wanted = "\n".join(sorted(out.split("\n"))), "\n".join(sorted(wanted.split("\n")))
        assert (line, out, answer.status) == (line, wanted, real.returncode)
        assert content(ours) == content(theirs), line


# Every command is one that Bash does not find, and Bash says which it looked for.
REPORT = "PATH=; command_not_found_handle() { printf '%s\\n' \"${1:-empty}\" >&9; }\n"
PIECES = st.sampled_from(
    [
        "aa", "bb", "cc", "'d d'", '"e"', "a\\a", "\\", "$?", "x*", "{aa,bb}", "2", "#", "!", "=", "A=1",
        " ", " ", " ", "\n", ";", "&&", "||", "|", "|&", "&", ">", ">>", "2>&1", "<", "<<E", "<<-'E'", "\nE\n",
        "<<<", "&>", "(", ")", "$(aa)", "`bb`", "'", '"', "\\\n", "\t", "{", "}", "if", "[[", "]]", "$", "é",
    ]
)  # fmt: skip


@pytest.mark.process
@given(st.lists(PIECES, max_size=9).map("".join))
@example("aa <<E\nx\nE\nbb")
@example("aa \\\n bb && cc")
def test_bash_runs_no_command_that_the_rules_do_not_see(
    tmp_path_factory: pytest.TempPathFactory, line: str
) -> None:
    try:
        seen = {seen.words[0].text for seen in parse_commands(line)}
    except UnclearLineError:
        return
    top = tmp_path_factory.mktemp("line")
    with (top / "report").open("wb") as report:
        words = ["bash", "-c", f'exec 9>&{report.fileno()}; {REPORT}eval "$1"', "bash", line]
        subprocess.run(
            words, cwd=top, pass_fds=(report.fileno(),), stdin=subprocess.DEVNULL,
            capture_output=True, check=False, timeout=20,
        )  # fmt: skip
    ran = (top / "report").read_text().split("\n")[:-1]
    assert set(ran) <= {text or "empty" for text in seen}, line
    shutil.rmtree(top)
