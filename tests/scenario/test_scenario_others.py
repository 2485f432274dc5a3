"""Servers that no one here wrote, each with every feature it has: the files of foreign/."""

import subprocess
from pathlib import Path

import pytest
from scenario_helpers import Run

pytestmark = pytest.mark.process

FOREIGN = Path(__file__).with_name("foreign")


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize("name", ["everything", "filesystem", "memory"])
def test_a_server_from_npm_is_played(
    run: Run, node_servers: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("NODE_SERVERS", str(node_servers))
    ran = run("run", FOREIGN / f"{name}.toml")
    assert (ran.status, " 0 failed" in ran.err) == (0, True), ran.err


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["git", "time"])
def test_a_server_from_pypi_is_played(
    run: Run, python_servers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("PY_SERVERS", str(python_servers))
    settings = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(("git", "init", "-q", tmp_path), check=True)
    words = ("commit", "-q", "--allow-empty", "-m", "First")
    subprocess.run(("git", "-C", tmp_path, *settings, *words), check=True)
    for key in ("name", "email"):
        subprocess.run(("git", "-C", tmp_path, "config", f"user.{key}", "a@b"), check=True)
    ran = run("run", FOREIGN / f"{name}.toml", "--sandbox-root", tmp_path)
    assert (ran.status, " 0 failed" in ran.err) == (0, True), ran.err
