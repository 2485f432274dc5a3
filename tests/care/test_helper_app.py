"""The program of IAC.app, compiled with stand-ins for what only a Mac has."""

import plistlib
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HELPER = Path(__file__).parents[2] / "distribution/helper"
STAND_IN = """
#define _GNU_SOURCE
#include <spawn.h>
#include <stdint.h>
#include <unistd.h>
#define POSIX_SPAWN_SETEXEC 0
extern char **environ;
static char ***_NSGetEnviron(void) { return &environ; }
static int _NSGetExecutablePath(char *path, uint32_t *room) {
    ssize_t end = readlink("/proc/self/exe", path, *room - 1);
    path[end] = 0;
    return 0;
}
int responsibility_spawnattrs_setdisclaim(posix_spawnattr_t *a, int on) { return on != 1; }
static int spawn(pid_t *pid, const char *path, void *f, posix_spawnattr_t *a, char **v, char **e) {
    return pid ? posix_spawn(pid, path, f, a, v, e) : execve(path, v, e);
}
#define posix_spawn spawn
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled program; a Mac's own headers are empty files here."""
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("needs Linux and a C compiler")
    folder = tmp_path_factory.mktemp("helper")
    (folder / "mach-o").mkdir()
    for name in ("crt_externs.h", "mach-o/dyld.h"):
        (folder / name).touch()
    (folder / "mac.h").write_text(STAND_IN)
    source, built = str(HELPER / "helper.c"), folder / "IAC"
    command = ["cc", "-Wall", "-I", str(folder), "-include", str(folder / "mac.h")]
    subprocess.run([*command, "-o", str(built), source], check=True)
    return built


@pytest.mark.process
def test_the_server_has_the_clients_pipe_and_its_status_is_handed_on(program: Path) -> None:
    told = "import sys, os; print(sys.stdin.read(), os.environ.get('IAC_HELPER')); sys.exit(7)"
    done = subprocess.run(
        [program, sys.executable, "-c", told], input=b"hello", capture_output=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (7, [b"hello", b"None"])
    missing = subprocess.run([program, "/not/there"], capture_output=True, text=True, check=False)
    assert (missing.returncode, "cannot start /not/there" in missing.stderr) == (1, True)
    bare = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (bare.returncode, "name iac-mcp" in bare.stderr) == (2, True)


@pytest.mark.process
def test_the_server_ends_with_its_helper(program: Path) -> None:
    code = "import time; print('up', flush=True); time.sleep(60)"
    begun = time.monotonic()
    with subprocess.Popen([program, sys.executable, "-c", code], stdout=subprocess.PIPE) as helper:
        assert helper.stdout
        helper.stdout.readline()
        helper.send_signal(signal.SIGTERM)
        assert helper.wait(10) == 128 + signal.SIGTERM
    assert time.monotonic() - begun < 30


def test_the_app_says_why_it_controls_others_and_that_it_has_no_window() -> None:
    said = plistlib.loads((HELPER / "Info.plist").read_bytes())
    assert (said["CFBundleName"], said["LSUIElement"]) == ("IAC", True)
    assert said["NSAppleEventsUsageDescription"]
    assert said["CFBundleIdentifier"] in (HELPER / "build.sh").read_text()
