"""A desktop of its own for tests: X server, session bus, window manager, accessibility bus.

Everything lives in one private folder and ends with it. What the buses activate themselves are
orphans; they are found by that folder in their environment. The session bus knows one service, the
accessibility bus, and there is no system bus: a keyring that the machine has would be started, and
ask for a password in a window that holds the keyboard.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

APPS = Path(__file__).parent / "apps"
PROGRAMS = ("Xvfb", "dbus-daemon", "openbox")
LAUNCHER = Path("/usr/libexec/at-spi-bus-launcher")
BUS = """<busconfig>
  <type>session</type>
  <listen>unix:dir={folder}</listen>
  <auth>EXTERNAL</auth>
  <servicedir>{folder}</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""
SERVICE = f"[D-BUS Service]\nName=org.a11y.Bus\nExec={LAUNCHER}\n"
GTK_PYTHON = "/usr/bin/python3"
TOKENS = 12.0
"""Most tokens that an element may take in a tree, in the mean."""

PATIENCE = 90.0
"""Seconds that a condition is waited for; a test that fails says so after that."""


def missing() -> str:
    """Return what is not installed, as the reason for a skip; empty if all is there."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if not LAUNCHER.exists():
        lacking.append("at-spi2-core")
    try:
        import jeepney  # noqa: F401
    except ImportError:
        lacking.append("jeepney")
    if not lacking and subprocess.run([GTK_PYTHON, "-c", "import gi"], check=False).returncode:
        lacking.append("python3-gi")
    return f"not installed: {', '.join(lacking)}" if lacking else ""


def has_gtk4() -> bool:
    """Say whether the system's Python can show a GTK 4 window."""
    code = "import gi; gi.require_version('Gtk', '4.0')"
    done = subprocess.run([GTK_PYTHON, "-c", code], capture_output=True, check=False)
    return done.returncode == 0


def wait_until(condition: Callable[[], object], what: str | Callable[[], str]) -> object:
    """Return the first true value of `condition`; `what` says what was waited for."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited in vain: {what if isinstance(what, str) else what()}")


@dataclass
class Desktop:
    """A running desktop; `env` is what a program needs to appear on it."""

    folder: Path
    env: dict[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *command: str, **extra: str) -> subprocess.Popen[bytes]:
        """Start a program on the desktop."""
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                command,
                env={**self.env, **extra},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def said(self) -> str:
        """Return the last lines that the desktop's programs wrote."""
        return "\n".join((self.folder / "log").read_text("utf-8", "replace").splitlines()[-20:])

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """End a program and all that it started in its group."""
        for number in (signal.SIGCONT, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                break
        process.wait()
        if process in self.processes:
            self.processes.remove(process)

    def close(self) -> None:
        """End everything, what the buses activated too."""
        for process in reversed(list(self.processes)):
            self.end(process)
        mark = f"XDG_RUNTIME_DIR={self.folder}".encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                ours = mark in (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if ours:
                try:
                    os.kill(int(entry.name), signal.SIGKILL)
                except ProcessLookupError:
                    continue


@contextmanager
def desktop() -> Iterator[Desktop]:
    """Start a desktop, and end it after the block."""
    folder = Path(tempfile.mkdtemp(prefix="iac-desk-"))
    folder.chmod(0o700)
    keep = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
    env = {
        **keep, "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder),
        "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={folder}/none", "GDK_BACKEND": "x11",
        "QT_QPA_PLATFORM": "xcb", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1", "LC_ALL": "C.UTF-8",
        "LIBGL_ALWAYS_SOFTWARE": "1", "GSETTINGS_BACKEND": "memory",
    }  # fmt: skip
    desk = Desktop(folder, env)
    try:
        env["DISPLAY"] = f":{_display(desk)}"
        env["DBUS_SESSION_BUS_ADDRESS"] = _session_bus(desk)
        desk.start("openbox", "--sm-disable")
        yield desk
    finally:
        desk.close()
        shutil.rmtree(folder, ignore_errors=True)


def _display(desk: Desktop) -> str:
    read, write = os.pipe()
    process = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x1024x24", "-nolisten", "tcp"],
        pass_fds=(write,),
        env=desk.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    desk.processes.append(process)
    os.close(write)
    with os.fdopen(read) as pipe:
        return pipe.readline().strip()


def _session_bus(desk: Desktop) -> str:
    config = desk.folder / "bus.conf"
    config.write_text(BUS.format(folder=desk.folder))
    (desk.folder / "org.a11y.Bus.service").write_text(SERVICE)
    process = subprocess.Popen(
        ["dbus-daemon", f"--config-file={config}", "--nofork", "--print-address=1"],
        env=desk.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    desk.processes.append(process)
    assert process.stdout is not None
    with process.stdout as pipe:
        return pipe.readline().decode().strip()


def gtk(desk: Desktop, *arguments: str, script: str = "gtk_app.py") -> subprocess.Popen[bytes]:
    """Start the GTK app for tests."""
    return desk.start(GTK_PYTHON, str(APPS / script), *arguments)


def qt(desk: Desktop, *arguments: str) -> subprocess.Popen[bytes]:
    """Start the Qt app for tests, with the interpreter that runs them."""
    return desk.start(sys.executable, str(APPS / "qt_app.py"), *arguments)


def chromium(desk: Desktop, profile: Path, page: str = "") -> subprocess.Popen[bytes]:
    """Start a browser on the page for tests, or on another one."""
    return desk.start(
        *("chromium", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        # Otherwise it asks the keyring of the machine.
        *("--password-store=basic", f"--user-data-dir={profile}"),
        page or f"file://{APPS / 'page.html'}",
    )


def tokens(answer: dict[str, Any]) -> float:
    """Return the tokens that an element takes in a tree, in the mean; four bytes are a token."""
    size: int = len(answer["tree"].encode())
    count: int = answer["result_count"]
    return size / 4 / count
