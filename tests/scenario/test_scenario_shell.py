"""The safe commands, and the real shell in its confinement."""
# ruff: noqa: E501

import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenario_helpers import Make, Run

from iac_scenario.bash import Limits, RealBash
from iac_scenario.errors import SetupError, ToolError
from iac_scenario.sandbox import Sandbox
from iac_scenario.shell.commands import Place
from iac_scenario.shell.lines import parse
from iac_scenario.shell.run import run_line


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("one\ntwo\nThree\n")
    (root / "b.txt").write_text("10\n9\n10\n")
    (root / "sub" / "c.md").write_text("# c\n")
    (root / ".hidden").write_text("h")
    sandbox = Sandbox(root, "/box")
    yield Place(sandbox, lambda: datetime(2025, 1, 15, tzinfo=UTC))
    sandbox.close()


@pytest.mark.parametrize(
    "line",
    [
        "ls", "ls -a1 sub", "ls -R", "cat a.txt b.txt", "cat -n a.txt", "cat < a.txt",
        "head -n 1 a.txt b.txt", "head -2 a.txt", "tail -n 1 a.txt", "tail -n +2 a.txt",
        "wc -l < a.txt", "grep -n o a.txt", "grep -i t a.txt", "grep -vc o a.txt",
        "grep -o 't.' a.txt", "grep -l one a.txt b.txt", "grep -r one .", "grep -h 1 a.txt b.txt",
        "grep none a.txt", "grep -q one a.txt", "grep -w on a.txt", "grep -F . a.txt",
        "grep -E 'one|two' a.txt", "sort b.txt", "sort -n b.txt", "sort -rn b.txt", "sort -u b.txt",
        "sort b.txt | uniq", "sort b.txt | uniq -c", "sort b.txt | uniq -d", "sort b.txt | uniq -u",
        "echo a  'b  c' \"d\"", "echo -n x; echo y", "echo -e 'a\\tb'", "printf '%s-%d\\n' a 1 b 2",
        "echo *.txt", "echo 'a'*.txt", "echo '*'.txt", "echo no*thing", "echo .h*", "echo s*/*",
        "cat a.txt | sort -r | head -n 1", "false && echo no || echo yes", "true",
        "test -f a.txt && echo f", "[ -d sub ] && echo d", "test ! -e none && echo n",
        "[ 3 -gt 2 ] && echo gt", "[ a = b ] || echo ne", "test -s .hidden && echo s",
        "mkdir -p x/y && touch x/y/z && ls x/y", "cp a.txt d.txt && cat d.txt", "cp -r sub e && ls e",
        "mv a.txt sub && ls sub", "rm a.txt && ls", "rm -rf sub && ls", "rm -f none",
        "echo 1 > n; echo 2 >> n; cat n", "cat none 2> err; wc -l < err", "cat none 2>/dev/null || echo no",
        "echo out > /dev/null", "echo x | tee n | wc -c; cat n", "echo x | tee -a n n > /dev/null; cat n",
        "cd sub && ls; cd ..; ls -d sub", "basename /a/b.txt .txt", "dirname /a/b.txt", "dirname a",
        "find sub -name '*.md'", "find . -type d", "find . -maxdepth 1 -iname 'A*'", "mkdir n && rmdir n && ls",
        "echo a # not this", "echo a\\ b", "echo one\necho two", "echo a &&\necho b", "wc -c a.txt", ": ; echo b",
        "cat none > both 2>&1; wc -l < both", "[ x ] && echo t", "[ -z '' ] && echo z",
        "[ -n a ] && echo n", "[ 1 -le 1 ] && [ 1 -ge 1 ] && [ 1 -ne 2 ] && [ 1 -eq 1 ] && echo all",
    ],
)  # fmt: skip
def test_a_line_does_what_a_shell_does(place: Place, tmp_path: Path, line: str) -> None:
    """Held against bash on the same files; -R, find and grep -r by sorted lines."""
    twin = tmp_path / "twin"
    shutil.copytree(place.sandbox.root, twin)
    real = subprocess.run(
        ["bash", "-c", line], cwd=twin, capture_output=True, text=True, check=False,
        env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    answer = run_line(place, line)
    ours, theirs = answer.out.decode().splitlines(), real.stdout.splitlines()
    if line.startswith(("find", "grep -r", "ls -R")):
        ours, theirs = sorted(ours), sorted(theirs)
    if line.startswith("wc") or "wc -" in line or "uniq -c" in line:
        ours, theirs = [row.split() for row in ours], [row.split() for row in theirs]  # type: ignore[misc]
    assert ours == theirs
    assert (answer.status == 0) == (real.returncode == 0)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("curl http://x", "curl: not one of the commands"),
        ("ls && curl x", "curl: not one"),
        ("echo `ls`", "substitutions"),
        ('echo "`ls`"', "substitutions"),
        ("(ls)", "subshells"),
        ("ls &", "background jobs"),
        ("echo 'a", "a quote (') is not closed"),
        ('echo "a', 'a quote (") is not closed'),
        ("echo a\\", "ends with a backslash"),
        ("| ls", "a command is missing before |"),
        ("ls && && ls", "a command is missing before &&"),
        ("ls &&", "a command is missing"),
        ("ls >", "a file name is missing after >"),
        ("x" * 100_001, "more than 100,000 characters"),
    ],
)
def test_what_is_not_interpreted_is_refused_before_anything_runs(
    place: Place, line: str, said: str
) -> None:
    with pytest.raises(ToolError) as caught:
        run_line(place, f"touch made; {line}" if not line.startswith("|") else line)
    assert said in str(caught.value)
    assert place.sandbox.entry(("made",)) is None


@pytest.mark.parametrize(
    "line",
    [
        "ls --nope", "head -n x a.txt", "cat ../../etc/passwd", "cat /etc/passwd", "cp a.txt",
        "cp sub x", "cp -r sub sub/x", "mv none x", "mv a.txt b.txt none", "rm sub", "rm", "mkdir",
        "mkdir sub", "ls none", "cd none", "cd a.txt", "echo x > sub", "echo x > ../x", "cat < none",
        "grep", "grep -E '(' a.txt", "grep x none", "find -delete", "find none", "printf", "printf '%y' 1",
        "date yesterday", "basename", "dirname", "test 1 -foo 2", "[ a", "echo a >&3", "cp . sub",
        "head -n", "tail -z a.txt", "test", "cat > .git", "rmdir sub",
    ],
)  # fmt: skip
def test_what_fails_says_so_by_its_status(place: Place, line: str) -> None:
    answer = run_line(place, line)
    assert answer.status != 0
    assert line == "test" or answer.errors
    assert not (Path(place.sandbox.root).parent / "x").exists()


@given(st.text("ab $'\"\\|&;<>()*\n#12", max_size=20))
def test_any_line_is_read_or_refused(line: str) -> None:
    try:
        pipelines = parse(line)
    except ToolError:
        return
    assert all(pipeline.commands for pipeline in pipelines)


def test_only_a_real_shell_is_asked_for_by_name(make: Make, run: Run, tmp_path: Path) -> None:
    path = make("""
        tool_execution.mode = "simulated"
        [default_response]
        tool_calls = [{ tool = "Bash", input = { command = "for i in 1 2; do echo $i; done" } }]
        """)
    assert "--allow-real-bash" in run("run", path, "-p", "x").out
    assert run("run", path, "-p", "x", "--unconfined").out == "1\n2\n"


def test_without_bubblewrap_a_real_shell_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox = Sandbox(tmp_path)
    with pytest.raises(SetupError, match="bubblewrap"):
        RealBash(sandbox)
    with pytest.raises(ToolError, match="cannot be started"):
        RealBash(sandbox, confined=False).run("true", (), 5)


@pytest.fixture(params=[True, False], ids=["confined", "unconfined"])
def bash(request: pytest.FixtureRequest, tmp_path: Path) -> RealBash:
    """A real shell with narrow limits; confined only where namespaces may be made."""
    if request.param and not _may_confine():
        pytest.skip("needs bubblewrap and the right to make namespaces")
    limits = Limits(output=10_000, processes=8)
    return RealBash(Sandbox(tmp_path, "/box"), confined=request.param, limits=limits)


def _may_confine() -> bool:
    words = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    return shutil.which("bwrap") is not None and not subprocess.run(words, check=False).returncode


@pytest.mark.process
def test_a_real_shell_runs_in_the_sandbox(bash: RealBash, tmp_path: Path) -> None:
    ended = bash.run("echo a > made; cat made; echo b >&2; exit 3", (), 20)
    assert (ended.out, ended.errors, ended.status, ended.stopped) == (b"a\n", b"b\n", 3, "")
    assert (tmp_path / "made").read_text() == "a\n"


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sleep 60", "more than 0.7 s"),
        ("setsid sleep 60 & sleep 60", "more than 0.7 s"),
        ("yes", "more than 10,000 bytes"),
        ("for i in $(seq 40); do sleep 60 & done; wait", "more than 8 processes"),
    ],
)
def test_a_real_shell_is_stopped_at_its_limits(bash: RealBash, command: str, said: str) -> None:
    timeout = 0.7 if "0.7" in said else 30
    ended = bash.run(command, (), timeout)
    assert said in ended.stopped
    assert len(ended.out) <= 10_000


@pytest.mark.process
def test_the_confinement_shows_nothing_else(tmp_path: Path) -> None:
    if not _may_confine():
        pytest.skip("needs bubblewrap and the right to make namespaces")
    (tmp_path / "secret").write_text("s")
    (tmp_path / "root").mkdir()
    bash = RealBash(Sandbox(tmp_path / "root", "/box"))
    command = (
        f"cat {tmp_path}/secret; touch /usr/x; ls /home /root; env | grep -c . ; pwd; ls /proc"
    )
    ended = bash.run(command, (), 20)
    assert b"/box" in ended.out
    assert ended.errors.count(b"No such file") == 3
    assert b"Read-only" in ended.errors
    with pytest.raises(ToolError, match="NUL"):
        bash.run("a\0b", (), 1)
