"""Checks of what is installed here: Python, the SDK, tools, the state folder, the policy."""

import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Final

from iac_runtime.care.findings import Finding, Place
from iac_runtime.care.freshness import freshness
from iac_runtime.care.interpreter import framework_program
from iac_runtime.care.signature import better, judged, signature
from iac_runtime.catalogue import Catalogue
from iac_runtime.errors import SetupError
from iac_runtime.folders import tool_folders
from iac_runtime.policy.file import load_policy, policy_path
from iac_runtime.policy.settings import Flags, read_settings
from iac_runtime.state import open_state

__all__ = ["fresh", "policy", "python", "sdk", "state", "tools"]

_SDK: Final = (2, 3)


def python(place: Place) -> Iterator[Finding]:
    """Look at the Python that runs this, and whether macOS will let it control apps."""
    said = f"{platform.python_version()} at {sys.executable}"
    if not place.is_mac:
        yield Finding("python", "ok", said)
        return
    program = framework_program(sys.base_prefix, os.path.realpath(sys.executable))
    verdict, words = judged(signature(program, place.run, place.system))
    mend = ""
    if verdict == "problem":
        other = better(place.run, place.system) or "a Python of python.org"
        mend = f"Make an environment with {other}, install IAC in it, then iac-mcp install again."
    yield Finding("python", verdict, f"{said}. {words}", mend)


def sdk(_place: Place) -> Iterator[Finding]:
    """Look at the version of the MCP SDK."""
    try:
        version = metadata.version("mcp")
    except metadata.PackageNotFoundError:
        yield Finding("sdk", "problem", "The MCP SDK is not installed.", _pip("mcp>=2.3,<3"))
        return
    parts = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if parts[:1] == _SDK[:1] and parts >= _SDK:
        yield Finding("sdk", "ok", f"mcp {version}")
    else:
        says = f"mcp {version} is not one that this server was made for (2.3 or newer, below 3)."
        yield Finding("sdk", "problem", says, _pip("mcp>=2.3,<3"))


def _pip(what: str) -> str:
    return f"{sys.executable} -m pip install '{what}'"


def tools(place: Place) -> Iterator[Finding]:
    """Look whether there are tools, and whether every folder of them can be read."""
    try:
        catalogue = Catalogue(tool_folders(place.tools))
    except SetupError as error:
        yield Finding("tools", "problem", str(error), "iac-gen build")
        return
    levels = [row.level for row in catalogue.tools.values()]
    split = ", ".join(f"{levels.count(level)} {level}" for level in ("SAFE", "MODIFY", "DANGEROUS"))
    yield Finding("tools", "ok", f"{len(levels)} tools of {len(catalogue.apps)} apps: {split}")


def fresh(place: Place) -> Iterator[Finding]:
    """Look for apps that were installed or updated since their tools were built."""
    try:
        shelves = Catalogue(tool_folders(place.tools)).shelves
    except SetupError:
        return  # `tools` has said so.
    found = freshness(shelves, place.folders)
    for app in found.stale:
        yield Finding("fresh", "warning", app.line.partition(";")[0] + ".", app.command)
    if not found.fresh and not found.without and not found.stale:
        yield Finding("fresh", "ok", "No installed app to compare the tools with")
    elif not found.stale:
        more = f"; scriptable apps without tools: {found.without}" if found.without else ""
        yield Finding("fresh", "ok", f"Installed apps whose tools fit: {found.fresh}{more}")


def state(_place: Place) -> Iterator[Finding]:
    """Look whether the state folder is safe and can be written."""
    try:
        folder = open_state()
    except SetupError as error:
        yield Finding("state", "problem", str(error), _mend_of(error))
        return
    if os.access(folder, os.W_OK | os.X_OK):
        yield Finding("state", "ok", str(folder))
    else:
        yield Finding("state", "problem", f"{folder} cannot be written.", f"chmod 700 '{folder}'")


def policy(place: Place) -> Iterator[Finding]:
    """Look whether the policy and the settings are right."""
    path = policy_path()
    try:
        found = load_policy()
        settings = read_settings(Flags(), place.environ, found)
    except SetupError as error:
        yield Finding("policy", "problem", str(error), "iac-mcp policy edit")
        return
    where = str(path) if path.exists() else "no file, so defaults hold"
    reads = ", read-only" if settings.read_only.value else ""
    yield Finding("policy", "ok", f"preset {settings.preset.value}{reads} ({where})")


def _mend_of(error: SetupError) -> str:
    """Return the command that an error ends with, else its own words."""
    return str(error).rpartition(": ")[2] if ": " in str(error) else "See the line before."
