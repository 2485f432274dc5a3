"""Finding tools of apps that are not among the committed ones, from their own dictionaries."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.process
def test_requests_over_other_apps_are_served(corpus: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    build = [str(Path(sys.executable).with_name("iac-gen")), "build"]
    build += ["--dictionary", str(corpus / "sdef"), "--output", str(tools)]
    assert subprocess.run(build, capture_output=True, check=False).returncode == 0
    command = [sys.executable, str(ROOT / "benchmarks" / "search.py")]
    command += [str(ROOT / "tests" / "search" / "others.jsonl"), str(tools)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
