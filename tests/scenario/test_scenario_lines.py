"""Command lines that people write, interpreted and run by bash on the same files."""
# ruff: noqa: E501

import os
import shutil
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_scenario.errors import ToolError
from iac_scenario.sandbox import Sandbox
from iac_scenario.shell.commands import Answer, Place
from iac_scenario.shell.run import SAFE, run_line

FILES = {
    "a.txt": "one\ntwo\nThree\nfour two\n",
    "b.txt": "10\n9\n10\n2\n",
    "data.csv": "id,name,age\n1,ada,36\n2,bob,7\n3,cyd,36\n",
    "src/main.py": "import os\n# TODO: x\ndef main():\n    print('hi')\n",
    "src/lib/util.py": "def util():\n    return 1  # TODO\n",
    "docs/read me.md": "# Title\n\nSome text\n",
    "log.txt": "INFO start\nERROR bad thing\nWARN hmm\nERROR worse\nINFO end\n",
    "noeol": "x\ny",
    ".hidden": "h\n",
    "empty": "",
}
LINES = (Path(__file__).parent / "shell_lines.txt").read_text().removesuffix("\n").split("\n---\n")
GROUPS = {name: list(lines) for name, lines in groupby(sorted(LINES), lambda line: line[:3])}
UNORDERED = ("find", "grep -r", "ls -R")
"""Lines whose order is the file system's, where no sort follows."""


def fill(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def interpreted(folder: Path, line: str) -> Answer:
    sandbox = Sandbox(folder, "/box")
    try:
        return run_line(Place(sandbox, lambda: datetime(2025, 1, 15, tzinfo=UTC)), line)
    finally:
        sandbox.close()


def content(folder: Path) -> dict[str, bytes | None]:
    found = ((path, str(path.relative_to(folder))) for path in folder.rglob("*"))
    return {name: path.read_bytes() if path.is_file() else None for path, name in found}


def has_gnu() -> bool:
    if shutil.which("sort") is None or shutil.which("bash") is None:
        return False
    return b"GNU" in subprocess.run(["sort", "--version"], capture_output=True, check=False).stdout


@pytest.mark.skipif(not has_gnu(), reason="is held against bash and the GNU tools")
@pytest.mark.parametrize("lines", GROUPS.values(), ids=[f"{name}…" for name in GROUPS])
def test_a_line_prints_leaves_and_answers_what_it_does_in_bash(
    tmp_path: Path, lines: list[str]
) -> None:
    for number, line in enumerate(lines):
        ours, theirs = tmp_path / f"{number}", tmp_path / f"{number}-bash"
        fill(ours)
        fill(theirs)
        real = subprocess.run(
            ["bash", "-c", line], cwd=theirs, capture_output=True, check=False,
            stdin=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(theirs)},
        )  # fmt: skip
        answer = interpreted(ours, line)
        out, wanted = answer.out.decode(), real.stdout.decode().replace(str(theirs), "/box")
        if line.startswith(UNORDERED) and "sort" not in line:
            out, wanted = "\n".join(sorted(out.split("\n"))), "\n".join(sorted(wanted.split("\n")))
        assert (line, out, answer.status) == (line, wanted, real.returncode)
        assert (line, bool(answer.errors)) == (line, bool(real.stderr))
        assert content(ours) == content(theirs), line


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("echo $(ls)", "substitutions ($() are not interpreted"),
        ("echo $((1+1))", "substitutions ($() are not interpreted"),
        ('echo "$1"', "variables of the form $1"),
        ("echo ${X%y}", "variables of the form ${"),
        ("X=rm; $X a.txt", "a variable in the place of a command"),
        ("for f in *.txt; do echo $f; done", "for: not one of the commands"),
        ("if true; then ls; fi", "if: not one of the commands"),
        ("ls | xargs curl", "curl: not one of the commands"),
        ("ls | xargs -I{} bash -c {}", "bash: not one of the commands"),
        ("cat <<EOF\n$(ls)\nEOF", "substitutions"),
        ("cat <<", "a word is missing after <<"),
        ("cat 3<<EOF", "3: not one"),
        ("cat 0<<EOF", "a numbered stream"),
        ("[[ a == a* ]]", "patterns in [["),
        ("!", "a command is missing after !"),
    ],
)
def test_what_would_mean_more_is_refused_before_anything_runs(
    tmp_path: Path, line: str, said: str
) -> None:
    fill(tmp_path)
    if line.startswith("cat 3"):
        line = line.replace("cat ", "", 1)
    with pytest.raises(ToolError) as caught:
        interpreted(tmp_path, f"touch made; {line}")
    assert said in str(caught.value)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "line",
    [
        "sed 's/a/b/w made' a.txt", "sed '1e touch made' a.txt", "sed 's/a/touch made/e' a.txt",
        "sed 'w made' a.txt", "sed 'r /etc/passwd' a.txt", "sed '2{p}' a.txt", "sed s/a/b a.txt",
        "sed 's/\\(/x/' a.txt", "sed 's/a/\\1/' a.txt b.txt data.csv", "sed -n '1,p' a.txt", "sed",
        "sed 's//x/' a.txt", "sed '1~2d' a.txt", "sed -i 1d", "sed 'y/ab/c/' a.txt", "sed 'p x' a.txt",
        "sed '1,2c x' a.txt", "sed 's/o/\\U&/' a.txt", "sed 's' a.txt",
        "find . -delete", "find . -exec rm {} +", "find . -name", "find . '(' -name x", "find . -type q",
        "find . ')'", "find . -size 1x", "uniq a.txt made", "sort -k x a.txt", "sort -k0 a.txt",
        "cut a.txt", "cut -f1 -c1 a.txt", "cut -f0 a.txt", "cut -d,, -f1 a.txt", "cut -fx a.txt",
        "tr", "tr a", "tr z-a x", "tr '[:nope:]' x", "tr a ''", "seq", "seq a", "seq 1 0 2", "seq 9999999",
        "grep '[[:nope:]]' a.txt", "grep -P '(' a.txt", "grep '[a' a.txt", "grep 'a\\' a.txt",
        "echo x > ~root", "echo $PWD > ../made", "Y=../made; echo x > $Y", "Y='a b'; echo x > $Y",
        "cp a.txt /tmp/made", "cd ~/..", "cat < $HOME/../x", "diff a.txt", "xargs -n x < a.txt",
        "echo \"'\" | xargs", "head --lines", "head --lines --bytes=1", "sort --nope a.txt",
        "basename a b c", "test 1 -nt 2", "exit x", "echo {1..99999}", "echo {1..999}{1..999}",
        "cd a b", "tail -n x a.txt", "printf '%y' 1", "printf '%99999d' 1",
    ],
)  # fmt: skip
def test_what_cannot_be_done_here_fails_by_its_status(tmp_path: Path, line: str) -> None:
    folder = tmp_path / "box"
    fill(folder)
    before = content(folder)
    try:
        answer = interpreted(folder, line)
    except ToolError:
        return
    assert answer.status
    if not line.startswith("echo {"):
        assert answer.errors
    after = content(folder)
    assert {name: data for name, data in after.items() if name in before} == before
    assert not list(tmp_path.rglob("made"))


def test_a_value_does_not_grow_without_end(tmp_path: Path) -> None:
    line = "X=aaaaaaaaaa" + "; X=$X$X" * 40
    assert "more than 1,000,000 characters" in interpreted(tmp_path, line).errors[0]


_WORDS = st.sampled_from(
    [
        *SAFE, "exit", "export", "a.txt", "src", "-n", "-k2", "-t,", "-f1", "*.txt", "{a,b}", "$X", '"$X"',
        "~", "..", "/etc/passwd", "../x", "s/a/b/", "2p", "'$p'", "1,3", "-i", "-1", "+2", "''", "--",
        "[a-", "'[[:digit:]]'", "'\\('", "!", "-o", "5", "'%s\\n'", "x*", "-I{}", "{1..3}", "-0", "a-z",
        "X=1", "-c", "-name", "-type", "f", "none", "-E", "|", "&&", "||", ";", "\n", ">", ">>", "2>&1",
        "<", "<<<", "> ../x", "&>", "|&",
    ]
)  # fmt: skip


@pytest.mark.property
@given(st.lists(_WORDS, min_size=1, max_size=10))
def test_any_line_of_known_words_ends_and_stays_inside(
    tmp_path_factory: pytest.TempPathFactory, words: list[str]
) -> None:
    top = tmp_path_factory.mktemp("line")
    fill(top / "box")
    with suppress(ToolError):
        interpreted(top / "box", " ".join(words))
    assert [path.name for path in top.iterdir()] == ["box"]
    shutil.rmtree(top)
