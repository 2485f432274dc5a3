"""What a call does on the hard profile, held against the same call on the friendly one."""

import json
from typing import NamedTuple

from unguarded import unguarded

from iac_base.errors import ToolError
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.field import field_rows
from iac_simulator import Simulator, difference, parse_profile
from iac_simulator.simulator import demo_state
from iac_simulator.world import default_world

PROFILES = ("friendly", "hard")
PATIENCE = 30
"""Seconds that a call may take at most, those of the simulated apps."""

TOLD = ("hint", "question", "refusal", "postcondition")
"""Uses of a row by which people are told of it."""


class Played(NamedTuple):
    """How a call went: its state, what was said, what it took, and what changed in the end."""

    state: str
    said: str
    seconds: float
    fewer: int
    differences: int


def open_app(simulator: Simulator, app: str, later: float = 0) -> None:
    """Have an app's world made; after `later` seconds, what happens of itself by then is done."""
    script = f"delay({later}); Application({json.dumps(app)}).{'name' if later else 'running'}()"
    simulator(["osascript", "-l", "JavaScript", "-e", script], b"", 1e9)


def play_calls(catalogue: Catalogue, profile: str, *calls: str) -> Played:
    """Call tools as their modules show, on newly made apps; return how the last one went."""
    row = catalogue.find_row(calls[-1])
    apps = [app for app in catalogue.apps.values() if app.key == row.module]
    tables = {app.key: catalogue.load_tables(app) for app in apps}
    worlds = {key: demo_state().get(key) or default_world(of) for key, of in tables.items()}
    simulator = Simulator([*tables.values()], worlds, faults=parse_profile(profile))
    gate = unguarded(catalogue, simulator)
    for app in apps:
        open_app(simulator, app.id)
    before, start, state, said = simulator.state(), simulator.waited, "", ""
    for name in calls:
        before, start = simulator.state(), simulator.waited
        try:
            done = gate.call(Call(name, dict(catalogue.load_operation(name).spec.example)))
            assert isinstance(done, CompletedCall)
            outcome = done.outcome
            state, said = (outcome.state, outcome.says) if outcome else ("", "")
            said = f"{said} {done.note}"
        except ToolError as error:
            state, said = "failed", str(error)
    seconds = simulator.waited - start
    for app in apps:
        open_app(simulator, app.id, later=1000)
    added, removed, changed = map(len, difference(before, simulator.state()))
    return Played(state, said, seconds, removed - added, added + removed + changed)


def find_faults(app: str, friendly: Played, hard: Played) -> list[str]:
    """Return what is wrong with how a call went on the hard profile; nothing for what is right."""
    rows = (row for use in TOLD for row in field_rows(app, use))
    known = any(row[key] in hard.said for row in rows for key in ("happens", "safe") if key in row)
    faults = []
    if hard.state != friendly.state and not (known or hard.state == "confirmed"):
        faults.append(f"{hard.state or 'a plain answer'} ({hard.said}), no known case is named")
    in_vain = friendly.differences and not hard.differences
    if hard.state == "confirmed" and in_vain and not known:
        faults.append("confirmed, and nothing changed")
    if hard.fewer > max(friendly.fewer, 0):
        faults.append("an object is lost")
    if hard.seconds > PATIENCE:
        faults.append(f"{hard.seconds:.0f} s")
    return faults
