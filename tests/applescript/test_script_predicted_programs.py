"""What an AppleScript sends is what was predicted: programs that people wrote, mutated, run."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from script_cases import read_cases
from test_script_predicted import READS

from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_applescript.library import shipped_scripts
from iac_base.script_tokens import scan_applescript
from iac_runtime.policy.verbs import STARTERS
from iac_runtime.tool import LEVELS
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator.simulator import Simulator, demo_state

EXAMPLES = 20_000 if os.environ.get("IAC_HYPOTHESIS") == "stress" else 300
BY_WHAT_IS_GIVEN = frozenset(
    "aevtodoc aevtquit coresave coremove coreclon rdwrread rdwrwrit rdwropen GURLGURL".split()
)
"""Events whose level is judged by what they are given, in the analysis and by the tools."""

PROGRAMS = [
    case.script
    for name in ("harmless", "harmless_more", "changing")
    for case in read_cases(f"{name}.txt")
    if case.language == "applescript"
] + [row.script for row in shipped_scripts() if row.language == "applescript"]


@pytest.fixture(scope="module")
def simulator(catalogue: Catalogue) -> Simulator:
    tables = [catalogue.load_tables(app) for app in catalogue.apps.values()]
    return Simulator(tables, demo_state())


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Return a program with some of its words, texts and lines changed for those of another."""
    script = draw(st.sampled_from(PROGRAMS))
    other = draw(st.sampled_from(PROGRAMS))
    for _ in range(draw(st.integers(0, 4))):
        tokens = [t for t in scan_applescript(script).tokens if t.kind != "end"]
        given = [t for t in scan_applescript(other).tokens if t.kind != "end"]
        if not tokens or not given:
            break
        one = draw(st.sampled_from(tokens))
        same = [t for t in given if t.kind == one.kind] or given
        size = len(one.text) + 2 * (one.kind == "string")
        put = draw(st.sampled_from(same))
        text = other[put.start : put.start + len(put.text) + 2 * (put.kind == "string")]
        script = script[: one.start] + text + script[one.start + size :]
    if draw(st.booleans()):
        lines, more = script.splitlines(), other.splitlines()
        lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(more)))
        script = "\n".join(lines)
    return script


@settings(max_examples=EXAMPLES, deadline=None)
@given(script=programs())
def test_no_event_is_above_the_verdict(
    script: str, analyser: ScriptAnalyzer, catalogue: Catalogue, simulator: Simulator
) -> None:
    found = analyser.analyze_script(script, "applescript")
    if found.level == "DANGEROUS":
        return
    simulator.events.clear()
    simulator(["osascript", "-"], script.encode(), 5)
    levels = {
        (tables.app.id, tool.event): tool.level
        for tables in map(catalogue.load_tables, catalogue.apps.values())
        for tool in tables.tools.values()
        if tool.op == "command" and not tool.bind
    }
    for event in simulator.events:
        if event.event in STARTERS:
            continue
        needed = levels.get((event.app, event.event), "MODIFY")
        needed = "DANGEROUS" if event.event == "coredelo" else needed
        needed = "SAFE" if event.event in READS else needed
        if event.event not in BY_WHAT_IS_GIVEN:
            assert LEVELS.index(needed) <= LEVELS.index(found.level), (event, script)
        if event.event not in READS and needed != "SAFE":
            assert found.level != "SAFE", (event, script)
