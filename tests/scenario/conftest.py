"""What the tests of the scenario engine share: files, the command line in this process, servers."""

import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent

import pytest
from scenario_helpers import Make, Ran, Run

from iac_scenario.bash import BashSession
from iac_scenario.cli import main
from iac_scenario.model import CallError
from iac_scenario.sandbox import Sandbox

SERVERS = Path(os.environ.get("IAC_NODE_SERVERS", "~/.cache/iac-servers")).expanduser()
"""Where `npm install --prefix` and a virtual environment have put the official servers."""

AGENTS = Path(os.environ.get("IAC_AGENTS", "~/.cache/iac-agents")).expanduser()
"""Where `nox -s agents` has put the clients of Anthropic, OpenAI and Google."""

PROGRAM = Path(__file__).with_name("server_program.py")


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write a scenario and return its path."""

    def written(text: str, name: str = "case.toml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return written


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process."""

    def ran(*words: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["iac-scenario", *map(str, words)])
        status = main()
        captured = capfd.readouterr()
        return Ran(status, captured.out, captured.err)

    return ran


@pytest.fixture
def server() -> str:
    """The table of a server of ours that answers, fails, hangs, asks and crashes as told."""
    return f'[mcp_servers.ours]\ncommand = "{sys.executable}"\nargs = ["{PROGRAM}"]\n'


@pytest.fixture(scope="session")
def node_servers() -> Path:
    """The folder of the official servers; skipped where they or node are missing."""
    folder = SERVERS / "node_modules" / "@modelcontextprotocol"
    if shutil.which("node") is None:
        pytest.skip("needs node")
    if not (folder / "server-everything").is_dir():
        pytest.skip(f"needs the official servers under {SERVERS} (nox -s servers)")
    return folder


@pytest.fixture(scope="session")
def python_servers() -> Path:
    """The folder of the programs of the official servers from PyPI; skipped where they miss."""
    if not (SERVERS / "bin" / "mcp-server-git").is_file():
        pytest.skip(f"needs mcp-server-git under {SERVERS}/bin (nox -s servers)")
    return SERVERS / "bin"


@pytest.fixture(scope="session")
def agents() -> Path:
    """The folder of the clients: node_modules/.bin, and bin of a Python; skipped without them."""
    if not (AGENTS / "node_modules" / ".bin" / "claude").exists():
        pytest.skip(f"needs clients of models under {AGENTS} (nox -s agents)")
    return AGENTS


@pytest.fixture(scope="session")
def confinement(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where Bash cannot be confined, with the reason."""
    sandbox = Sandbox(tmp_path_factory.mktemp("box"))
    try:
        BashSession(sandbox, lambda: datetime.now(UTC)).run("true", 20)
    except CallError as error:
        pytest.skip(str(error))
    finally:
        sandbox.close()
