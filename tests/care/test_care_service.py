"""The launchd agent: what its file says, and what launchctl is told."""

import os
import plistlib
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from iac_base.errors import SetupError
from iac_mcp.cli.main import main
from iac_mcp.setup import service
from iac_mcp.setup.interpreter import PythonInterpreter
from iac_runtime.execution.process import Completed

PYTHON = PythonInterpreter("/opt/py/bin/python3", (3, 12, 1), {}, "/opt/py/real")


class Launchctl:
    """Stands in for launchctl: notes what it is told, and answers with what it is given."""

    def __init__(self, **answers: Completed) -> None:
        self.told: list[Sequence[str]] = []
        self._answers = answers

    def __call__(self, argv: Sequence[str], _stdin: bytes, _timeout: float) -> Completed:
        self.told.append(argv[1:])
        return self._answers.get(argv[1], Completed(b"", b"", 0))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_the_agent_says_what_launchd_needs_and_no_more(home: Path) -> None:
    said = plistlib.loads(
        service.agent_plist(PYTHON, ("--port", "8800"), {"PATH": "/bin", "X": "y"})
    )
    logs = home / "Library" / "Logs" / "iac"
    assert said == {
        "Label": "iac-for-mac.server",
        "ProgramArguments": [*("/opt/py/bin/python3", "-P", "-m", "iac_mcp", "serve", "--http"),
         *("--log-file", str(logs / "server.log"), "--port", "8800")],
        "RunAtLoad": True, "KeepAlive": {"SuccessfulExit": False}, "ThrottleInterval": 30,
        "ProcessType": "Interactive", "LimitLoadToSessionType": "Aqua",
        "StandardOutPath": str(logs / "start.log"), "StandardErrorPath": str(logs / "start.log"),
        "WorkingDirectory": "/", "Umask": 0o077, "SoftResourceLimits": {"NumberOfFiles": 8192},
    }  # fmt: skip
    again = service.agent_plist(PYTHON, ("--log-file", "/l"), {"IAC_DATA": "/data"})
    assert plistlib.loads(again)["EnvironmentVariables"] == {"IAC_DATA": "/data"}
    assert plistlib.loads(again)["ProgramArguments"].count("--log-file") == 1


def test_it_is_installed_looked_at_and_removed(home: Path) -> None:
    run, mine = Launchctl(), f"gui/{os.getuid()}/{service.LABEL}"
    assert "not installed" in service.agent_status(run, "darwin")
    path = service.install_agent(service.agent_plist(PYTHON, (), {}), run, "darwin")
    assert path == home / "Library" / "LaunchAgents" / "iac-for-mac.server.plist"
    # launchd refuses a file that others can write to.
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert run.told == [["bootout", mine], ["bootstrap", f"gui/{os.getuid()}", str(path)]]
    running = Completed(b"gui = {\n\tpid = 4711\n\tstate = running\n}\n", b"", 0)
    assert "running, pid 4711" in service.agent_status(Launchctl(print=running), "darwin")
    ended = Completed(b"\tlast exit code = 2\n", b"", 0)
    assert "ended with 2" in service.agent_status(Launchctl(print=ended), "darwin")
    assert "not loaded" in service.agent_status(Launchctl(print=Completed(b"", b"", 113)), "darwin")
    assert service.uninstall_agent(run, "darwin")
    assert not path.exists()
    assert not service.uninstall_agent(run, "darwin")
    refuses = Launchctl(bootstrap=Completed(b"", b"Bootstrap failed: 5\n", 5))
    with pytest.raises(SetupError, match="Bootstrap failed: 5"):
        service.install_agent(b"", refuses, "darwin")


@pytest.mark.skipif(sys.platform == "darwin", reason="launchd is there")
def test_without_launchd_one_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["install"], ["status"], ["uninstall"]):
        assert main(["service", *words]) == 2
        said = capsys.readouterr()
        assert said.err.count("\n") == 1
        assert "A service needs a Mac" in said.err
    assert main(["service", "install", "--print", "--", "--port", "1"]) == 0
    arguments = plistlib.loads(capsys.readouterr().out.encode())["ProgramArguments"]
    assert Path(arguments[0]).is_absolute()
