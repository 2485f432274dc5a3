"""Clients that are written in other languages list our tools and call one, over stdio."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import npm
import pytest

SERVE = (sys.executable, "-m", "iac_mcp", "serve", "--expose", "mail", "--simulate")
CLIENT = Path(__file__).with_name("sdk_client.mjs")

pytestmark = pytest.mark.process


def package(name: str) -> tuple[str, Path]:
    """Return node and the folder of a package, or skip the test."""
    node, folder = npm.node(), npm.installed(name)
    if node is None or folder is None:
        pytest.skip(f"needs node and {name}: nox -s conformance installs them")
    return node, folder


def run(tmp_path: Path, *command: str) -> Any:
    """Run a client and return what it printed, which is one JSON text."""
    env = {**os.environ, "IAC_DATA": str(tmp_path)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=env, timeout=100
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def inspector(tmp_path: Path, *options: str) -> Any:
    """Run the command line of the inspector."""
    node, folder = package(npm.INSPECTOR)
    name = npm.INSPECTOR.rpartition("@")[0]
    launcher = folder / "node_modules" / name / "clients" / "launcher" / "build" / "index.js"
    return run(tmp_path, node, str(launcher), "--cli", *SERVE, *options)


def test_the_inspector_lists_the_tools(tmp_path: Path) -> None:
    listed = inspector(tmp_path, "--method", "tools/list")
    names = [tool["name"] for tool in listed["tools"]]
    assert {"mail_count", "mail_send", "list_apps"} <= set(names)


def test_the_inspector_calls_a_tool(tmp_path: Path) -> None:
    call = ("--method", "tools/call", "--tool-name", "mail_count")
    called = inspector(tmp_path, *call, "--tool-arg", "element=mailbox")
    assert called["structuredContent"] == {"result": 2}


def test_the_sdk_of_another_language_lists_and_calls(tmp_path: Path) -> None:
    node, folder = package(npm.SDK)
    found = run(tmp_path, node, str(CLIENT), str(folder), *SERVE)
    assert found["server"] == "iac"
    assert "mail_count" in found["tools"]
    assert found["called"]["structuredContent"] == {"result": 2}
    assert found["refused"]["isError"]
    assert found["unknown"] == -32602
