"""Our own server played by scenarios: tests/scenarios, over `iac-mcp serve` and simulated apps."""

import json
import re
import sys
from pathlib import Path

import pytest
import warm
from scenario_helpers import Run

from iac_scenario.model import scenario_calls
from iac_scenario.reader import load_scenario

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "tests" / "scenarios"
FILES = sorted(FOLDER.glob("*.toml"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our programs: those beside the interpreter of the tests, the server started warm."""
    folder = tmp_path_factory.mktemp("bin")
    for path in Path(sys.executable).parent.glob("iac-*"):
        (folder / path.name).symlink_to(path)
    (folder / "iac-mcp").unlink()
    warm.program(folder, "iac-mcp", warm.IAC_MCP)
    return folder


@pytest.fixture(autouse=True)
def programs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scenarios find our programs in a folder of their own."""
    monkeypatch.setenv("IAC_BIN", str(folder))


@pytest.mark.sweep
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_passes(run: Run, path: Path) -> None:
    ran = run("run", path)
    assert ran.status == 0, ran.err
    assert " 0 failed." in ran.err


@pytest.mark.parametrize("mode", ["disabled", "mock", "simulated"])
def test_without_the_server_its_expectations_fail_and_the_run_goes_on(run: Run, mode: str) -> None:
    ran = run("run", FOLDER / "mail.toml", "--tool-execution-mode", mode)
    assert (ran.status, "Traceback" in ran.err) == (1, False)
    assert "3 calls, 0 expectations met" in ran.err


def test_every_app_and_every_type_of_error_has_a_scenario() -> None:
    catalogue = json.loads((ROOT / "generated" / "iac_tools" / "catalogue.json").read_text())
    called = " ".join(
        call.tool for path in FILES for call in scenario_calls(load_scenario(path).scenario)
    )
    assert [app for app in catalogue["apps"] if f"{app}_" not in called] == []
    text = "".join(path.read_text() for path in FILES)
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    types = [row.split("|")[1].strip() for row in page.splitlines() if row.startswith("| ")]
    named = [name for row in types if row.isupper() for name in re.findall(r"[A-Z_]{4,}", row)]
    # An unknown tool is an error of the protocol: its scenario expects -32602.
    assert [name for name in named if name not in text and name != "UNKNOWN_TOOL"] == []
