"""Real apps on a desktop of their own, and a small bridge in memory for hostile trees."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ui_stack as stack
from ui_user import User, find_shown_app

from iac_accessibility.model import Detail, UiApp
from iac_accessibility.toolset import UiToolset


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of questions and limits is of one test only."""
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))


@pytest.fixture(scope="session")
def desk() -> Iterator[stack.Desktop]:
    """A desktop; tests that use it are skipped where its programs are not installed."""
    reason = stack.missing()
    if reason:
        pytest.skip(reason)
    with stack.desktop() as desktop:
        yield desktop


@pytest.fixture(scope="session")
def bridge(desk: stack.Desktop) -> Iterator[Any]:
    """The bridge to the apps of that desktop."""
    from iac_accessibility.atspi.bridge import AtspiBridge

    opened = AtspiBridge(desk.env["DBUS_SESSION_BUS_ADDRESS"], desk.env["DISPLAY"])
    yield opened
    opened.close()


@pytest.fixture
def toolset(bridge: Any) -> Iterator[UiToolset]:
    """The tools, with a memory of their own."""
    made = UiToolset(bridge)
    yield made
    made.session.watches.close()


Start = Callable[..., User]


@pytest.fixture
def start(desk: stack.Desktop, bridge: Any, toolset: UiToolset, tmp_path: Path) -> Iterator[Start]:
    """Start a program and return its user, once its first window has something in it."""
    processes = []

    def launch(kind: str, *arguments: str) -> User:
        if kind == "gtk":
            process = stack.gtk(desk, "--file", str(tmp_path / "out.txt"), *arguments)
        elif kind == "gtk4":
            process = stack.gtk(desk, *arguments, script="gtk4_app.py")
        elif kind == "qt":
            process = stack.qt(desk, "--file", str(tmp_path / "out.txt"), *arguments)
        else:
            process = desk.start(kind, *arguments)
        processes.append(process)
        app = stack.wait_until(
            lambda: find_shown_app(bridge, process.pid),
            lambda: f"{kind} is shown: {found(bridge, process)}\n{desk.said()}",
        )
        assert isinstance(app, UiApp)
        if kind == "gtk" and not arguments:
            # The window is active a moment before its first field has the keyboard.
            stack.wait_until(lambda: bridge.focused_element(app, 1.0), "the focus")
        return User(toolset, app, tmp_path, process)

    yield launch
    for process in processes:
        desk.end(process)


def found(bridge: Any, process: subprocess.Popen[bytes]) -> str:
    """Return what there is instead of a window to work in."""
    app = next((one for one in bridge.running_apps(2.0) if one.pid == process.pid), None)
    if app is None:
        return f"not on the bus, ended: {process.poll()}"
    return str(
        bridge.open_reader(app, whole=False, timeout=1.0).read([app.key], Detail.CHILDREN, 1.0)
    )


@pytest.fixture
def gtk(start: Start) -> User:
    """The GTK app for tests."""
    return start("gtk")


@pytest.fixture
def qt(start: Start) -> User:
    """The Qt app for tests."""
    pytest.importorskip("PySide6.QtWidgets", reason="PySide6-Essentials is not installed")
    return start("qt")
