"""What a Mac answers about App Intents: three actions that only read, end to end.

They are those of the apps that lie on it: the first three that are SAFE, need no argument, and have
a shortcut. The person clicks Add Shortcut for each.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from iac_base.errors import IacError, ToolError
from iac_mcp.cli.intents import intent_tools
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.shortcuts import ShortcutError
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.policy.permissions import Requester
from iac_runtime.tools.catalogue import Catalogue

Fact = dict[str, Any]

_MOST: Final = 3
_SECONDS: Final = 30.0


def ran(intents: str = "installed") -> list[Fact]:
    """Return the facts: what was built, how each installation ended, and what each run gave.

    A value that an app answers is a person's own: of it the kind alone is kept.
    """
    with tempfile.TemporaryDirectory(prefix="iac-") as name:
        folder = Path(name) / "tools"
        built = _run("iac_gen", "build", "--intents", intents, "--output", str(folder))
        found: list[Fact] = [{"id": "intents.build", "status": built.returncode}]
        if not (folder / "catalogue.json").is_file():
            return found
        chosen = harmless(folder)
        facts = [(one, _installed(folder, one)) for one in chosen]
        found += [fact for _, fact in facts]
        found += [_called(folder, one) for one, fact in facts if fact["status"] == 0]
        for one, fact in facts:
            if fact["status"] == 0:
                _run("iac_mcp", "intents", "remove", one)
        return found


def harmless(folder: Path) -> list[str]:
    """Return the tools that are tried: they read, and take nothing that must be given."""
    entries = map(json.loads, (folder / "listing.jsonl").read_text("utf-8").splitlines())
    free = {one["name"] for one in entries if not one["inputSchema"].get("required")}
    known = intent_tools([folder]).items()
    safe = (name for name, row in known if row.level == "SAFE" and row.workflow is not None)
    return sorted(name for name in safe if name in free)[:_MOST]


def _installed(folder: Path, tool: str) -> Fact:
    given = ("intents", "install", "--yes", "--tools", str(folder), tool)
    done = _run("iac_mcp", *given)
    said = done.stderr.strip()[:300]
    return {"id": f"intents.install.{tool}", "status": done.returncode, "said": said}


def _called(folder: Path, tool: str) -> Fact:
    gate = Gate(Catalogue([folder]), Executor(timeout=_SECONDS))
    fact: Fact = {"id": f"intents.run.{tool}"}
    try:
        done = gate.call(Call(tool, {}, Requester(preapproved_level="SAFE")))
        value = type(done.value).__name__ if isinstance(done, CompletedCall) else ""
        return {**fact, "answer": type(done).__name__, "value": value}
    except ShortcutError as error:
        return {**fact, "state": error.state, "error": error.original[:300]}
    except (ToolError, IacError) as error:
        return {**fact, "error": str(error)[:300]}
    finally:
        gate.close()


def _run(module: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
