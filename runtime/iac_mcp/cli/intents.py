"""`iac-mcp intents`: install the shortcuts by which App Intents run, list them, remove them."""

import json
import os
import plistlib
import tempfile
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from iac_base.errors import Cancellation, SetupError, ToolError, near_text, quote_text
from iac_base.text import escape_hidden
from iac_mcp.cli.common import HELP, TOOLS
from iac_runtime.execution.process import Completed
from iac_runtime.execution.shortcuts import list_shortcuts, shortcut_title, shortcuts_program
from iac_runtime.execution.workers import run_process
from iac_runtime.tools.catalogue import read_tool_folders, tool_folders
from iac_runtime.tools.lock import (
    InstalledShortcut,
    damaged_file_error,
    input_keys_of,
    installed_shortcuts,
    read_lock,
    read_part,
    read_wrappers,
    record_shortcut,
)

_NONE: Final = InstalledShortcut("", "", (), "simulated")
_SIGNED: Final = b"AEA1"
_SIGNING: Final = 60.0
_CLICK: Final = 120.0
"""Seconds that the person has for the click."""


class IntentTool(NamedTuple):
    """A tool of an App Intent: its level, the digest of its shortcuts, its own if there is one."""

    app: str
    level: str
    digest: str
    workflow: Mapping[str, Any] | None


@click.group(context_settings=HELP)
def intents() -> None:
    """Install, list and remove the shortcuts that run App Intents (actions that apps declare)."""


@intents.command("install")
@click.argument("names", nargs=-1, required=True, metavar="TOOL...")
@click.option("--yes", is_flag=True, help="Do not ask first.")
@click.option(
    "--simulate", is_flag=True, help="Install for simulated apps only; nothing is signed."
)
@TOOLS
def install_shortcuts(
    names: tuple[str, ...], yes: bool, simulate: bool, tools: tuple[Path, ...]
) -> None:
    """Add the shortcuts of TOOLs, so that clients can call them.

    The Shortcuts app opens for each one. Click Add Shortcut there.
    """
    known = intent_tools(tools)
    for name in names:
        row = known.get(name)
        if row is None:
            raise SetupError(
                f"{quote_text(name)} is no App Intent. {near_text(name, [*known])}".strip()
            )
        if row.workflow is None:
            raise SetupError(
                f"{name} cannot have a shortcut, because it needs an entity (an object of the"
                " app) or a file."
            )
        if row.app.startswith("local.") and not simulate:
            raise SetupError(
                f"{name} was built from a file without its app. Build its tools from the app."
            )
    for name in names:
        row = known[name]
        if simulate:
            _simulate_install(name, row)
            continue
        click.echo(f"{name}  {row.level}  declared by its app, not verified here")
        if not yes:
            click.confirm(
                "Let clients call this tool, as far as your policy allows?", abort=True, err=True
            )
        click.echo(f"{name}  {_install_shortcut(name, row)}")


def _simulate_install(name: str, row: IntentTool) -> None:
    assert row.workflow is not None
    if installed_shortcuts().get(name, _NONE).proof != "simulated":
        raise SetupError(
            f"{name} is already installed in Shortcuts. You can use it with simulated apps too."
        )
    ident = str(uuid.uuid5(uuid.NAMESPACE_OID, name)).upper()
    record_shortcut(
        name, InstalledShortcut(ident, row.digest, input_keys_of(row.workflow), "simulated")
    )
    click.echo(f"{name}  can be called with simulated apps (--simulate).")


@intents.command("list")
@TOOLS
def list_intents(tools: tuple[Path, ...]) -> None:
    """List App Intents: their state, level and proof.

    The state of a shortcut is installed, changed, simulated, available or none. The proof says what
    is known of the tool: declared (by its app), imported (into Shortcuts here) or ran (here).
    """
    installed = installed_shortcuts()
    for name, row in sorted(intent_tools(tools).items()):
        state = "available" if row.workflow is not None else "none"
        if name in installed:
            state = "installed" if installed[name].digest == row.digest else "changed"
        proof = installed[name].proof if name in installed else "declared"
        if proof == "simulated":
            state, proof = "simulated", "declared"
        click.echo(f"{state:<9}  {row.level:<9}  {proof:<8}  {escape_hidden(name)}")


@intents.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="TOOL...")
def remove_shortcuts(names: tuple[str, ...]) -> None:
    """Stop clients from calling TOOLs. Delete the shortcuts yourself in the Shortcuts app."""
    for name in names:
        if name not in installed_shortcuts():
            raise SetupError(
                f"{quote_text(name)} is not installed. {near_text(name, installed_shortcuts())}"
            )
        record_shortcut(name, None)
        click.echo(
            f"{name} can no longer be called. Delete {quote_text(shortcut_title(name))} in"
            " Shortcuts."
        )


def intent_tools(tools: Sequence[Path]) -> dict[str, IntentTool]:
    """Return the tools of App Intents, by name.

    Raises:
        SetupError: A folder is not as it was written.
    """
    intent_rows: dict[str, IntentTool] = {}
    for held in read_tool_folders(tool_folders(tools)):
        path = held.folder / "catalogue.json"
        raw = json.loads(read_part(path))
        try:
            lock = read_lock(held.folder)["tools"]
            made: dict[str, tuple[str, Mapping[str, Mapping[str, Any]]]] = {}
            for name in sorted(held.declared | held.tools.keys()):
                row = raw["tools"][name]
                app = raw["apps"][row["module"]]
                if app["kind"] != "intents":
                    continue
                if row["module"] not in made:
                    made[row["module"]] = read_wrappers(held.folder, row["module"])
                digest, workflows = made[row["module"]]
                workflow = workflows.get(lock[name]["event"])
                intent_rows[name] = IntentTool(app["id"], row["level"], digest, workflow)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged_file_error(path) from error
    return intent_rows


def _install_shortcut(name: str, row: IntentTool) -> str:
    """Sign a shortcut and open it for the person's click; return how that ended."""
    assert row.workflow is not None
    title = shortcut_title(name)
    before = _list_shortcuts()
    now = installed_shortcuts().get(name)
    if now is not None and now.digest == row.digest and now.uuid in before:
        return "is installed."
    with tempfile.TemporaryDirectory(prefix="iac-") as folder:
        plain = Path(folder) / "plain.shortcut"
        signed = Path(folder) / f"{title}.shortcut"
        plain.write_bytes(plistlib.dumps(dict(row.workflow), fmt=plistlib.FMT_BINARY))
        argv = [
            shortcuts_program(),
            "sign",
            "-m",
            "people-who-know-me",
            "-i",
            str(plain),
            "-o",
            str(signed),
        ]
        done = _run_command(argv, b"", _SIGNING)
        # The status of the signer says nothing.
        if not (signed.is_file() and signed.read_bytes().startswith(_SIGNED)):
            reason = quote_text(done.stderr.decode("utf-8", "replace").strip(), 200)
            raise SetupError(f"{name} could not be signed; sign in to iCloud first. {reason}")
        opener = [shortcuts_program(), "open"] if os.environ.get("IAC_SHORTCUTS") else ["open"]
        _run_command([*opener, str(signed)], b"", _SIGNING)
        ends = time.monotonic() + _CLICK
        while not (new := [key for key, held in _list_shortcuts().items()
                           if held == title and key not in before]):  # fmt: skip
            if time.monotonic() > ends:
                raise SetupError(
                    f"{quote_text(title)} was not added within {_CLICK:g} seconds. Try again, and"
                    " click Add Shortcut."
                )
            time.sleep(1.0)
    record_shortcut(name, InstalledShortcut(new[0], row.digest, input_keys_of(row.workflow)))
    old = (
        " Delete the older shortcut of this name in Shortcuts." if title in before.values() else ""
    )
    return (
        f"is installed.{old} Clients see it when they start again. macOS may ask when it first"
        " runs."
    )


def _list_shortcuts() -> dict[str, str]:
    try:
        return list_shortcuts(_run_command)
    except ToolError as error:
        raise SetupError(str(error)) from error


def _run_command(
    argv: Sequence[str],
    stdin: bytes,
    timeout: float,
    *,
    apps: Collection[str] = (),  # noqa: ARG001 (no app is told anything)
    cancel: Cancellation | None = None,
) -> Completed:
    try:
        return run_process(argv, stdin, timeout, cancel=cancel)
    except OSError as error:
        raise SetupError(f"{argv[0]} could not be started; shortcuts need a Mac.") from error
