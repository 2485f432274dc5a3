"""The Bash of a scenario: what lasts in a session, what is refused, its limits and its escapes."""
# ruff: noqa: E501

import os
import shutil
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
from scenario_helpers import Make, Run

from iac_scenario import confinement as confinement_module
from iac_scenario.bash import BashLimits, BashResult, BashSession
from iac_scenario.model import CallError
from iac_scenario.sandbox import Sandbox

pytestmark = pytest.mark.process

SECRET = "the-secret-of-another"
LIMITS = BashLimits(output=10_000, processes=8, file=1_000_000)


def now() -> datetime:
    return datetime(2025, 1, 15, 10, 30, tzinfo=UTC)


class World:
    """A sandbox among files that must stay unread and unwritten."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.root = top / "root"
        (self.root / "sub").mkdir(parents=True)
        (self.root / "a.txt").write_text("one\n")
        (self.root / "out").symlink_to(top)
        (self.root / "leak").symlink_to(top / "secret")
        (top / "secret").write_text(SECRET)
        (top / "root_evil").mkdir()
        (top / "root_evil" / "secret").write_text(SECRET)
        self.session = self.opened()

    def opened(self, **options: Any) -> BashSession:
        return BashSession(Sandbox(self.root, "/box"), now, limits=LIMITS, **options)

    def run(self, line: str, timeout: float = 20) -> BashResult:
        return self.session.run(line, timeout)

    def said(self, line: str) -> str:
        result = self.run(line)
        assert (result.errors, result.stopped) == (b"", ""), result
        return result.out.decode()

    def outside(self) -> dict[str, str]:
        paths = (path for path in self.top.rglob("*") if not path.is_relative_to(self.root))
        return {str(path): path.read_text() if path.is_file() else "" for path in paths}


@pytest.fixture
def world(tmp_path: Path, confinement: None) -> World:
    return World(tmp_path / "world")


@pytest.fixture(params=["confined", "unconfined"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> BashSession:
    """A session with narrow limits; confined only where it can be."""
    if request.param == "confined":
        request.getfixturevalue("confinement")
    (tmp_path / "root").mkdir()
    unconfined = request.param == "unconfined"
    return BashSession(
        Sandbox(tmp_path / "root", "/box"), now, unconfined=unconfined, limits=LIMITS
    )


def test_a_line_prints_writes_and_ends_with_its_status(
    session: BashSession, tmp_path: Path
) -> None:
    result = session.run("echo a > made; cat made; echo b >&2; exit 3", 20)
    assert result[:4] == (b"a\nb\n", b"", 3, "")
    assert (tmp_path / "root" / "made").read_text() == "a\n"


def test_the_folder_lasts_and_nothing_else_does(session: BashSession) -> None:
    session.run("mkdir 'd e'; cd 'd e'; export A=x; B=y; f() { echo z; }; cd sub 2>/dev/null", 20)
    result = session.run('pwd; printf "%s|" "$A" "$B" "$1" "$#" "$(type -t f)"', 20)
    assert result.out.splitlines()[0].endswith(b"/d e")
    assert result.out.endswith(b"|||0||")
    session.run("cd ..; exit 1", 20)
    assert session.run("cd 'd e'; echo ${PWD##*/}", 20).out == b"d e\n"
    session.run('rmdir "$PWD"', 20)
    assert session.run("ls -d .", 20).out == b".\n"


def test_a_hard_link_is_not_written_through(world: World) -> None:
    os.link(world.top / "secret", world.root / "twin")
    session = world.opened(guarded=True)
    session.run("ln a.txt own; echo two >> own; cat a.txt > b.txt", 20)
    assert (world.root / "b.txt").read_text() == "one\ntwo\n"
    for line in ("echo x > twin", "ln twin more; echo x > more", "mv twin a; echo x > a"):
        session.run(line, 20)
    assert (world.top / "secret").read_text() == SECRET
    assert (world.root / "twin").samefile(world.top / "secret")


def test_a_folder_elsewhere_does_not_last(world: World) -> None:
    result = world.run("cd /usr && pwd")
    assert (result.out, result.notice) == (b"/usr\n", "Shell cwd was reset to /box")
    assert world.said("pwd") == "/box\n"
    world.run(f"cd {world.root}/sub")
    assert world.said("pwd") == f"{world.root}/sub\n"


def test_a_line_is_one_of_bash(world: World) -> None:
    assert (
        world.said("for i in 1 2; do echo $((i*2)) $(echo $i); done | awk '{print $1+$2}'")
        == "3\n6\n"
    )
    assert world.said("f() { echo $1; }; f x; [[ ab == a* ]] && echo y") == "x\ny\n"
    if shutil.which("git"):
        said = world.said(
            "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m m && git log --format=%s"
        )
        assert said == "m\n"


def test_the_clock_of_a_line_is_the_session_s(world: World) -> None:
    assert world.said("date -u +%FT%T; date +%Y").split() == ["2025-01-15T10:30:00", "2025"]
    assert (
        world.said("date -d 2001-02-03 +%F; date --date=2001-02-03 +%F").split()
        == ["2001-02-03"] * 2
    )


def test_errors_are_bash_s_own(world: World) -> None:
    assert world.run("none").out == b"/bin/bash: line 1: none: command not found\n"
    result = world.run("echo 'a")
    assert (result.status, b"unexpected EOF" in result.out) == (2, True)
    assert world.run("touch made; ls && && ls").status == 2
    assert not (world.root / "made").exists()


@pytest.mark.parametrize(
    ("line", "said"), [("a\0b", "NUL"), ("x" * 100_001, "more than 100,000 characters")]
)
def test_a_line_that_is_refused(world: World, line: str, said: str) -> None:
    with pytest.raises(CallError, match=said):
        world.run(line)


def test_the_environment_is_empty_but_for_four(world: World) -> None:
    names = {row.partition("=")[0] for row in world.said("/usr/bin/env").splitlines()}
    assert names - {"PWD", "SHLVL", "OLDPWD", "_"} == {"HOME", "LANG", "PATH", "TERM"}
    assert world.said("echo $HOME $TERM") == "/box dumb\n"


@pytest.mark.sweep
@pytest.mark.parametrize(("line", "said"), [
    ("sleep 60", "more than 0.7 s"), ("setsid sleep 60 & sleep 60", "more than 0.7 s"),
    ("trap '' TERM INT HUP; while :; do :; done", "more than 0.7 s"),
    ("exec >/dev/null 2>&1; sleep 60", "more than 0.7 s"), ("yes", "more than 10,000 bytes"),
    ("yes >&2", "more than 10,000 bytes"), ("cat /dev/zero", "more than 10,000 bytes"),
    ("for i in $(seq 40); do sleep 60 & done; wait", "more than 8 processes"),
])  # fmt: skip
def test_a_call_is_stopped_at_its_limits(session: BashSession, line: str, said: str) -> None:
    result = session.run(line, 0.7 if "0.7" in said else 30)
    assert said in result.stopped
    assert len(result.out) <= 10_000
    assert session.run("echo on", 20).out == b"on\n"


@pytest.mark.skipif(os.getuid() == 0, reason="the system holds root to no number of processes")
def test_a_fork_bomb_ends_with_its_call(world: World) -> None:
    result = world.run("bomb() { bomb | bomb & }; bomb; sleep 20")
    assert "8 processes" in result.stopped
    assert_nothing_runs("bomb")


def test_sizes_of_files_and_memory_are_bounded(world: World) -> None:
    assert world.run("head -c 2000000 /dev/zero > big").status
    assert (world.root / "big").stat().st_size <= LIMITS.file
    assert world.run("head -c 200000000 /dev/zero > /tmp/big").status
    small = BashSession(Sandbox(world.root), now, limits=LIMITS._replace(memory=200_000_000))
    assert small.run("x=$(printf '%0300000000d' 1)", 20).status


def assert_nothing_runs(mark: str) -> None:
    # The system counts no processes of root: thousands that were ended still take their time.
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        lines = [
            " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])
        ]
        if not any(mark in line for line in lines):
            return
        time.sleep(0.05)
    raise AssertionError(f"{mark} still runs")


@pytest.mark.parametrize(
    "line",
    [
        "sleep MARK &", "nohup sleep MARK >/dev/null 2>&1 &", "setsid sleep MARK >/dev/null 2>&1 &",
        "(setsid nohup sleep MARK </dev/null >/dev/null 2>&1 &) ; disown -a", "coproc sleep MARK",
        "exec sleep MARK", "trap '' HUP; sleep MARK & sleep MARK",
        "python3 -c 'import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0: time.sleep(MARK)'",
    ],
)  # fmt: skip
def test_nothing_outlives_its_call(world: World, line: str) -> None:
    # A worker's title may hold the name of its test, so the line is finished here.
    world.run(line.replace("MARK", "98761"), 1)
    assert_nothing_runs("98761")


# Harmless all of them, should the confinement fail one day.
ESCAPES = [
    # By name.
    "cat ../secret", "cat {top}/secret", "cat {top}/root_evil/secret", "cat /box/../secret", "cd ..; cat secret",
    "cd {top} && cat secret", "cat sub/../../secret", "cat {top}//root/../secret", "cat ~/../secret",
    "cat $HOME/../secret", "cat < ../secret", "cat $(echo ..)/secret", "cat .*/secret", "cat /*/*/secret",
    "grep -r {secret} / 2>/dev/null | head -c 500", "find / -name secret -exec cat {{}} + 2>/dev/null",
    "sed -n p {top}/secret", "source {top}/secret", "awk '{{print}}' {top}/secret", "cp {top}/secret in; cat in",
    "tar -cf - {top} 2>/dev/null | tar -xOf - 2>/dev/null", "diff a.txt {top}/secret",
    # By links.
    "cat leak", "cat out/secret", "ln -s {top}/secret l; cat l", "ln -s {top} d; cat d/secret",
    "ln {top}/secret h; cat h", "ln -s / r; cat r{top}/secret", "cp -L leak in; cat in", "cd out && cat secret",
    "ln -s ../secret sub/l; cat sub/l", "readlink -f leak | xargs cat", "echo x > leak", "echo x > out/made",
    # By writing.
    "echo x > ../made", "echo x > {top}/made", "echo x >> {top}/secret", "touch {top}/root_evil/made",
    "mkdir -p {top}/made", "rm -rf {top}/*", "rm -f /box/../secret", "mv a.txt ..", "cp a.txt {top}/made",
    "tee {top}/made < a.txt", "sed 's/o/0/w {top}/made' a.txt", "sed -i s/t/x/ {top}/secret", "dd of={top}/made < a.txt",
    "ls {top}/*evil && echo {secret}", "chmod 777 {top}/secret", "truncate -s 0 {top}/secret", "touch /made",
    "touch /usr/made", "touch /etc/made", "touch /dev/made", "echo x > /bin/made", "mkfifo {top}/made",
    # By /proc, descriptors and other processes.
    "cat /proc/1/environ /proc/self/environ /proc/*/environ", "cat /proc/*/root{top}/secret", "cat /proc/*/cwd/../secret",
    "ls -l /proc/*/fd; cat /proc/*/fd/* </dev/null & sleep 0.2", "for f in /proc/self/fd/*; do cat $f/../secret; done",
    "test -w /proc/sys/kernel/panic && echo {secret}", "test -w /proc/sysrq-trigger && echo {secret}", "kill -CONT {pid} && echo {secret}", "kill -0 {pid} && echo {secret}",
    "cat /proc/{pid}/environ", "ps -e | grep -c pytest | grep -v 0", "strace -p {pid}", "chroot /proc/1/root cat {top}/secret",
    # By the kernel.
    "unshare -Urm sh -c 'mount --bind / /tmp; cat /tmp{top}/secret'", "mount -t tmpfs none /box/sub && echo {secret}", "umount /box && echo {secret}",
    "mount -o remount,rw /usr && touch /usr/made", "nsenter -t 1 -a cat {top}/secret", "mknod disk b 8 0 && cat disk",
    "cat /dev/sda /dev/vda /dev/mem", "su -c 'cat {top}/secret'", "sudo cat {top}/secret", "modprobe x", "test -w /usr && echo {secret}",
    # By variables that another program reads.
    "export LD_PRELOAD=/box/evil.so BASH_ENV=/box/evil PATH=/box; cat {top}/secret", "export HOME={top}; cat ~/secret",
    # By the network.
    "exec 3<>/dev/tcp/127.0.0.1/{port} && echo {secret}",
    "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}))\" 2>/dev/null && echo {secret}",
]  # fmt: skip


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_there_are_as_many_escapes_as_before() -> None:
    assert len(set(ESCAPES)) >= 65


@pytest.mark.sweep
@pytest.mark.parametrize("line", ESCAPES)
def test_nothing_outside_is_read_or_written(world: World, port: int, line: str) -> None:
    before = world.outside()
    names = {"top": world.top, "secret": SECRET, "pid": os.getpid(), "port": port}
    command = line.format(**names)
    result = world.run(command, 5)
    printed = (result.out + result.errors).replace(command.encode(), b"").decode("utf-8", "replace")
    # Bash shows the line that it could not read.
    assert SECRET not in printed
    assert str(os.environ.get("PYTEST_CURRENT_TEST", "x")) not in printed
    assert world.outside() == before
    for place in ("/made", "/usr/made", "/etc/made", "/dev/made", "/bin/made"):
        assert not Path(place).exists()
    # The next call stands where it should, whatever this one has left.
    assert SECRET not in world.run(f"cat {world.top}/secret").out.decode()


def test_what_is_seen_of_the_system_is_little(world: World) -> None:
    assert set(world.said("ls /").split()) <= {
        "bin", "box", "dev", "etc", "lib", "lib32", "lib64", "proc", "sbin", "tmp", "usr", world.top.parts[1],
    }  # fmt: skip
    assert world.said("ls /etc").split() in ([], ["alternatives"])
    assert len(world.said("ls -d /proc/[0-9]*").split()) <= 5


def test_what_runs_by_itself_is_not_changed_in_a_folder_that_stays(world: World) -> None:
    (world.root / ".git" / "hooks").mkdir(parents=True)
    (world.root / ".git" / "config").write_text("old")
    world.session = world.opened(guarded=True)
    assert b"Read-only" in world.run("echo new > .git/config").out
    assert world.run("echo x > .git/hooks/pre-commit; rm -rf .git").status
    result = world.run("echo 'evil' > .zshrc; mkdir -p sub/.GIT; ln -s x .mcp.json; echo done")
    assert result.out == b"done\n"
    assert result.notice.count("is never written") == 3
    names = {path.name for path in world.root.rglob("*")}
    assert not names & {".zshrc", ".GIT", ".mcp.json"}
    assert {name.partition(".refused-")[0] for name in names} >= {".zshrc", ".GIT", ".mcp.json"}
    assert (world.root / ".git" / "config").read_text() == "old"
    world.run("mkdir r; cp -r .git r/kept", 20)
    world.session = world.opened(guarded=False)
    world.run("git init -q r2; echo x > .zshrc; mv .git sub")
    assert (world.root / ".zshrc").exists()
    # What was there before and is moved stays what it is.
    world.session = world.opened(guarded=True)
    assert world.said("mv sub other && ls other/.git/config") == "other/.git/config\n"


STATE = "for at in /proc/self/fd/*; do [[ ${at##*/} -lt 3 || ! -f $at ]] || {}; done"
"""Does something with the file in which Bash leaves what the next call needs."""


@pytest.mark.parametrize("writes", [
    r"printf '\0' >&${at##*/}", r"printf '\0\0\0' > $at", r": > $at",
    r"printf 'begun\0/box\0declare\0' > $at; kill -9 $$",
    r"printf 'begun\0/box/%0150000d\0' 1 > $at; kill -9 $$",
    r"printf 'begun\0/box\0A=%060000d' 1 | sed 's/0/€/g' > $at; kill -9 $$",
])  # fmt: skip
def test_what_a_command_writes_to_an_inherited_descriptor_ends_no_session(
    session: BashSession, writes: str
) -> None:
    assert session.run(STATE.replace("{}", f"{{ {writes}; echo on; }}"), 20).out in (b"on\n", b"")
    assert session.run("cat a 2>/dev/null; echo $((1 + 1))", 20)[:4] == (b"2\n", b"", 0, "")


def scenario(make: Make, *lines: str) -> Path:
    calls = ", ".join(f'{{ tool = "Bash", input = {{ command = "{line}" }} }}' for line in lines)
    return make(f'tool_execution.mode = "simulated"\n[default_response]\ntool_calls = [{calls}]\n')


@pytest.mark.usefixtures("confinement")
def test_calls_of_a_run_are_one_session(make: Make, run: Run) -> None:
    ran = run(
        "run", scenario(make, "mkdir d; cd d", "pwd", "cat ${SANDBOX_ROOT}/none; exit 4"), "-p", "x"
    )
    assert ran.out.splitlines()[:2] == ["(Bash completed with no output)", "/sandbox/d"]
    assert "Error: Exit code 4\ncat:" in ran.out


def test_without_confinement_the_tool_is_refused_and_the_run_goes_on(
    make: Make, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scenario(make, "echo hi")
    confinement_module.find_bubblewrap.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = run("run", path, "-p", "x")
    confinement_module.find_bubblewrap.cache_clear()
    assert ran.out.startswith("Error: Bash, Grep and Glob need bubblewrap (bwrap)")
    assert "Install it, or give the call a `result`" in ran.out
    assert len(ran.out.splitlines()) == 1
    (tmp_path / "bwrap").write_text(
        "#!/bin/sh\ncase $1 in --help) ;; *) echo 'bwrap: No permissions' >&2; exit 1;; esac\n"
    )
    (tmp_path / "bwrap").chmod(0o755)
    ran = run("run", path, "-p", "x")
    confinement_module.find_bubblewrap.cache_clear()
    assert ran.out.startswith("Error: Bash cannot run in a sandbox here: bwrap: No permissions.")
    assert run("run", path, "-p", "x", "--unconfined").out.startswith(
        "Error: bash cannot be started"
    )
    monkeypatch.setenv("PATH", os.defpath)
    assert run("run", path, "-p", "x", "--unconfined").out == "hi\n"


def test_the_profile_of_a_mac_names_the_folder_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its form only: what Seatbelt makes of it, a Mac has to say."""
    monkeypatch.setattr(confinement_module, "ON_MAC", True)
    seatbelt = tmp_path / "sandbox-exec"
    monkeypatch.setattr(confinement_module, "SEATBELT", str(seatbelt))
    session = BashSession(Sandbox(tmp_path, "/box"), now, guarded=True)
    with pytest.raises(CallError, match="sandbox-exec to run in a sandbox"):
        session.run("true", 5)
    # Writes down what it is given, then runs the command without any confinement.
    seatbelt.write_text(
        f"#!{sys.executable}\nimport os, sys\nopen({str(tmp_path / 'given')!r}, 'w').write('\\n'.join(sys.argv))\nos.execvp(sys.argv[7], sys.argv[7:])\n"
    )
    seatbelt.chmod(0o755)
    assert session.run("pwd; cat <<E\nx\nE", 20).out.decode() == f"{tmp_path}\nx\n"
    given = (tmp_path / "given").read_text()
    assert f"FOLDER={tmp_path}" in given
    assert "(deny default)" in given
    assert "(deny network*)" in given
    assert "[gG][iI][tT]" in given
    profile = given[given.index("(version 1)") : given.index("\nbash\n")]
    assert profile.count("(") == profile.count(")")
    session.close()
