"""Running the stand-in as a program: real processes, real descriptors, files in a folder."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

JAR = """from iac_runtime.tool import App, Class, Element, Property
__all__ = ['APP']
APP = App('com.example.Jar', 'Jar')
NAME = Property('name', 'pnam', 'name', 'text', 'rw', 'SAFE')
COINS = (Element('coin', 'rw'),)
CLASSES = {
    'application': Class('capp', 'application', 'all', None, 'SAFE', 'SAFE', (), COINS),
    'coin': Class('coin', 'coin', 'coins', None, 'SAFE', 'SAFE', (NAME,)),
}
ENUMS = {}
RECORDS = {}
SCHEMAS = {}
"""


CATALOGUE = {
    "format": 1,
    "tools": {},
    "apps": {"jar": {"id": "com.example.Jar", "name": "Jar", "kind": "application"}},
}


def jar(folder: Path) -> Path:
    """Write a folder of tools with one app, Jar, which holds coins."""
    folder.mkdir()
    (folder / "jar.py").write_text(JAR, "utf-8")
    (folder / "catalogue.json").write_text(json.dumps(CATALOGUE), "utf-8")
    return folder


def started(
    tools: Path, *args: str, passed: Sequence[int] = (), engine: str = "quickjs", **settings: str
) -> Any:
    """Start the program in a session of its own; `settings` are IAC_SIMULATOR_ variables."""
    oracle = str(Path(__file__).with_name("javascript_core.py"))
    program = [oracle] if engine == "jsc" else ["-m", "iac_simulator.osascript"]
    variables = {f"IAC_SIMULATOR_{name.upper()}": value for name, value in settings.items()}
    paths = {"IAC_SIMULATOR_TOOLS": str(tools), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, *program, "-l", "JavaScript", *args],
        env={**os.environ, **paths, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=passed,
        start_new_session=True,
    )
