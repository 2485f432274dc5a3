"""What a build would change: the page runs `iac-gen`, as a person would, and shows what it says."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from iac_base.errors import pip_install
from iac_base.files import data_folder
from iac_mcp.setup.interpreter import run_generator
from iac_page.calls import View
from iac_runtime.gate.gate import Gate
from iac_runtime.tools.catalogue import Catalogue, tool_folders
from iac_runtime.tools.freshness import check_freshness


class UpdateReview(NamedTuple):
    """What a build would change; by default nothing, as no comparison was asked for.

    Attributes:
        wrong: Why it cannot be told; then nothing else is.
        apps: App -> changes in words.
        levels: App -> thing, level before, level after; empty for what is new or gone.
        falls: What must be accepted by name before a build writes anything.
        shown: The falls as a form gives them back.
    """

    wrong: str = ""
    apps: Mapping[str, Sequence[str]] = {}
    levels: Mapping[str, Sequence[tuple[str, str, str]]] = {}
    falls: Sequence[Mapping[str, str]] = ()
    shown: str = ""
    compared: bool = False


def updates_view(gate: Gate, app: str) -> View:
    """Return what is known without a comparison: apps that are newer than their tools."""
    assert gate.catalogue is not None
    known = sorted(gate.catalogue.apps.values(), key=lambda one: one.name.casefold())
    return {"stale": check_freshness(gate.catalogue.tool_folders).stale, "app": app, "known": known}


def review_build(app: str) -> UpdateReview:
    """Return what a build of an app would change, of all apps without one."""
    difference, wrong = _generator_json("diff", app)
    if difference is None:
        return UpdateReview(wrong)
    apps: dict[str, list[str]] = {}
    for line in difference["changes"]:
        key, _, says = line.partition(": ")
        apps.setdefault(key, []).append(says)
    falls = difference["falls"]
    return UpdateReview("", apps, difference["levels"], falls, json.dumps(falls), compared=True)


def build_accepted(
    gate: Gate, app: str, shown: str, accepted: Sequence[str]
) -> tuple[UpdateReview, str]:
    """Build, with the levels accepted that were shown; return what is left, and what was done.

    What a person accepted is what was on the page: where the dictionary has changed since, the new
    review is shown instead.
    """
    before = review_build(app)
    if before.wrong or before.shown != shown:
        return before, "" if before.wrong else "moved"
    if {one["name"] for one in before.falls} - {*accepted}:
        return before, "stopped"
    built, wrong = _generator_json("build", app, *(f"--accept-levels={name}" for name in accepted))
    if built is None:
        return UpdateReview(wrong), ""
    if built["falls"]:
        return before, "stopped"
    gate.replace_tools(Catalogue(tool_folders()))
    return UpdateReview(), "built"


def _generator_json(command: str, app: str, *options: str) -> tuple[Any, str]:
    """Return what the generator printed as JSON, else None and why."""
    folder = str(data_folder() / "tools")
    names = ("--", app) if app else ()
    text, wrong = _generator_output(command, "--json", "--output", folder, *options, *names)
    try:
        return json.loads(text), ""
    except ValueError:
        return None, wrong


def explain_levels(app: str, name: str) -> tuple[list[str], str]:
    """Return the evidence of the levels of a tool or a class, else why there is none."""
    text, wrong = _generator_output("show", "--why", app, name)
    return text.splitlines(), "" if text else wrong


def _generator_output(*arguments: str) -> tuple[str, str]:
    """Return what the generator printed, and the last line of what it said was wrong."""
    done = run_generator(*arguments)
    if done is None:
        return "", f"The program iac-gen is not installed: {pip_install('gen')}"
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return done.stdout.decode(), lines[-1] if lines else "The build ended without a result."
