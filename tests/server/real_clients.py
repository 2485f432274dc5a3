"""Real clients of the real server: in this process on the SDK's server, or over its two pipes."""

import json
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

import anyio
import warm
from mcp import Client, StdioServerParameters

from iac_gen.output import read_rows, word_lines
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.serve.http_sdk import build_server
from iac_runtime.serve.listing import Choice, Listings
from iac_runtime.serve.protocol import ServerIdentity
from iac_runtime.serve.rebuild import LazyGate
from iac_runtime.serve.stdio import server_identity

TOOLS = Path(__file__).parent.parent.parent / "generated" / "iac_tools"
ERAS = ("auto", "legacy")

# Without the committed tools, which every server finds after its own.
_PROGRAM = """\
import sys
from iac_mcp import entry
from iac_runtime.tools import catalogue
catalogue.shipped_folder = lambda: None
sys.exit(entry.main())
"""

Question = Callable[[Client], Awaitable[None]]


def write_tools(folder: Path, apps: Collection[str], **words: str) -> Path:
    """Write an output folder of some committed apps, as a build would.

    `words` are tools that are described otherwise; built again, a folder is another.
    """
    catalogue = json.loads((TOOLS / "catalogue.json").read_bytes())
    lock = json.loads((TOOLS / "tools.lock").read_bytes())
    folder.mkdir(exist_ok=True)
    lines, tools = b"", {}
    for line in (TOOLS / "listing.jsonl").read_bytes().splitlines():
        entry = json.loads(line)
        row = catalogue["tools"][entry["name"]]
        if row["module"] not in apps:
            continue
        if entry["name"] in words:
            line = json.dumps({**entry, "description": words[entry["name"]]}).encode()
        tools[entry["name"]] = row
        lines += line + b"\n"
    for app in apps:
        shutil.copy(TOOLS / f"{app}.py", folder)
    chosen = {key: row for key, row in catalogue["apps"].items() if key in apps}
    rows = read_rows((TOOLS / "words.jsonl").read_text(encoding="utf-8"))
    (folder / "words.jsonl").write_text("".join(word_lines(rows[key] for key in chosen)))
    (folder / "listing.jsonl").write_bytes(lines)
    (folder / "catalogue.json").write_text(
        json.dumps({**catalogue, "apps": chosen, "tools": tools}), encoding="utf-8"
    )
    (folder / "tools.lock").write_text(
        json.dumps({**lock, "tools": {name: lock["tools"][name] for name in tools}}),
        encoding="utf-8",
    )
    return folder


def backing_of(folder: Path, *, gate: Gate | None = None, **choice: Any) -> LazyGate:
    """Return what lies behind the front of a server on simulated apps; close it."""
    lines = Listings([folder], Choice(**choice))
    lines()
    return LazyGate(lines, lambda: build_gate(GateOptions([folder], "")), gate)


def build_sdk_server(backing: LazyGate, identity: ServerIdentity, patience: float = 54.0) -> Any:
    """Return the server of the SDK, as over HTTP, of what lies behind a front."""
    methods = backing.open_methods(patience)
    return build_server(methods, backing.lines, identity, backing.changes)


def ask(target: Any, question: Question, mode: str = "auto", **more: Any) -> None:
    """Ask a server through a client of an era."""

    async def main() -> None:
        with anyio.fail_after(60):
            async with Client(target, mode=mode, **more) as client:
                await question(client)

    anyio.run(main)


def ask_tools(folder: Path, question: Question, mode: str = "auto", **choice: Any) -> None:
    """Ask a server on simulated apps, in this process, about the tools of a folder."""
    backing = backing_of(folder, **choice)
    try:
        ask(build_sdk_server(backing, server_identity(), 54.0), question, mode)
    finally:
        backing.close()


def program(
    folder: Path, data: Path, *options: str, first: str = "", **environ: str
) -> StdioServerParameters:
    """Return how `iac-mcp serve` is started on the tools of a folder, after the code `first`."""
    command, *rest = warm.command(first + _PROGRAM, "serve", "--tools", str(folder), *options)
    return StdioServerParameters(
        command=command,
        args=rest,
        env={
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "IAC_DATA": str(data),
            # So that the server's lines count as covered too.
            **{key: value for key, value in os.environ.items() if key.startswith("COVERAGE_")},
            **environ,
        },
    )


def facts_of(result: Any) -> Any:
    """Return the one JSON object in the text of a result."""
    return json.loads(result.content[0].text)
