"""Scenarios of the accessibility tools: a client, `iac-mcp serve`, and a real app on a desktop.

The first word of a file's name is the app that it needs. The app writes to `out.txt` in the
scenario's sandbox.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import ui_stack as stack

from iac_runtime.tools.own import toolset_tools
from iac_scenario.cli import main
from iac_scenario.model import scenario_calls
from iac_scenario.reader import load_scenario

pytestmark = pytest.mark.process

FILES = sorted((Path(__file__).parent.parent / "scenarios" / "accessibility").glob("*.toml"))


@pytest.mark.sweep
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_passes(
    path: Path,
    desk: stack.Desktop,
    start: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    app = path.stem.partition("_")[0]
    if app == "qt":
        pytest.importorskip("PySide6.QtWidgets", reason="PySide6-Essentials is not installed")
    if app != "none":
        start(app)
    monkeypatch.setenv("IAC_BIN", str(Path(sys.executable).parent))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", desk.env["DBUS_SESSION_BUS_ADDRESS"])
    monkeypatch.setenv("DISPLAY", desk.env["DISPLAY"])
    words = ["iac-scenario", "run", str(path), "--sandbox-root", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    status = main()
    said = capfd.readouterr().err
    assert status == 0, said
    assert " 0 failed." in said


def test_every_tool_has_a_scenario() -> None:
    called = {call.tool for path in FILES for call in scenario_calls(load_scenario(path).scenario)}
    assert {tool.name for tool in toolset_tools(("accessibility",))} <= called
