"""Small scripts with the result that a Mac gives: read by the analysis, run by the simulator."""

import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_runtime.tools.catalogue import shipped_folder
from iac_runtime.tools.tables import Tables
from iac_simulator import Simulator
from iac_simulator.osascript import load_tables

Case = dict[str, Any]

LANGUAGE, APPS = (
    tomllib.loads(Path(__file__).with_name(f"{kind}_cases.toml").read_text("utf-8"))["case"]
    for kind in ("language", "app")
)

SYNTAX: Final = -2741
UNREAD: Final = {"fault", "handler", "nesting", "shape", "unknown"}
"""Rules of reasons that say that a statement was not read."""

UNDEFINED: Final = (-1708, -1728, -2753)
"""Numbers of errors about a name that means nothing; the analysis says the same."""

OPAQUE: Final = ("«", "using terms from")
"""Forms of which the analysis says that they hide what they do."""


def case_id(case: Case) -> str:
    return f"{case['topic']}: {case['name']}"


@pytest.mark.parametrize(("cases", "least"), [(LANGUAGE, 150), (APPS, 60)])
def test_each_case_has_a_name_and_one_outcome(cases: list[Case], least: int) -> None:
    for case in cases:
        assert case.keys() in (
            {"topic", "name", "script", "result"}, {"topic", "name", "script", "error"},
        ), case_id(case)  # fmt: skip
        assert isinstance(case.get("result", ""), str)
        assert isinstance(case.get("error", 1), int)
    assert len(cases) >= least
    assert Counter(map(case_id, cases)).most_common(1)[0][1] == 1


@pytest.mark.parametrize("case", [*LANGUAGE, *APPS], ids=case_id)
def test_the_analysis_reads_it(case: Case, analyser: ScriptAnalyzer) -> None:
    reasons = analyser.analyze_script(case["script"], "applescript").reasons
    unread = {reason.rule for reason in reasons} & UNREAD
    if case.get("error") in UNDEFINED or any(form in case["script"] for form in OPAQUE):
        unread -= {"unknown"}
    assert case.get("error") == SYNTAX or not unread


@pytest.fixture(scope="module")
def tables() -> list[Tables]:
    folder = shipped_folder()
    assert folder is not None
    return load_tables([folder])


@pytest.mark.parametrize("case", [*LANGUAGE, *APPS], ids=case_id)
def test_the_simulator_gives_what_a_mac_does(case: Case, tables: list[Tables]) -> None:
    done = Simulator(tables)(["osascript", "-s", "s", "-"], case["script"].encode(), 20)
    said = done.stderr.decode().strip()
    number = re.search(r"\((-?\d+)\)$", said)
    given = int(number[1]) if number else done.stdout.decode().rstrip("\n")
    assert given == case.get("result", case.get("error")), said


@pytest.mark.parametrize(("script", "rule"), [
    ("my nowhere:3 height:4", "unknown"),
    ('on greet given person:p : (do shell script "ls")\nend greet', "handler"),
    ('on greet given person:p, "b"\nend greet', "handler"),
    ("on areaOf:w height\nend areaOf:", "handler"),
    ("set {x, {y of z}} to {1, {2}}\nget z", "unknown"),
    ("1 isn't2", "unknown"),
])  # fmt: skip
def test_what_is_near_a_form_is_not_read(script: str, rule: str, analyser: ScriptAnalyzer) -> None:
    reasons = analyser.analyze_script(script, "applescript").reasons
    assert rule in {reason.rule for reason in reasons}
