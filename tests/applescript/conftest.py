"""Fixtures of the script tools: the committed dictionaries, a store of its own, real processes."""

import sys
from pathlib import Path

import pytest
from script_calls import in_turns

from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_applescript.toolset import ScriptToolset
from iac_runtime.execution.workers import run_process
from iac_runtime.search.index import Index
from iac_runtime.tools.catalogue import Catalogue

RECORDED = Path(__file__).with_name("recorded_osascript.py")


@pytest.fixture(scope="session")
def catalogue(generated: Path) -> Catalogue:
    return Catalogue([generated])


@pytest.fixture(scope="session")
def analyser(catalogue: Catalogue) -> ScriptAnalyzer:
    return ScriptAnalyzer(catalogue)


@pytest.fixture(scope="session")
def index(catalogue: Catalogue) -> Index:
    return Index(catalogue)


@pytest.fixture
def toolset(catalogue: Catalogue, index: Index, tmp_path: Path):
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    found = ScriptToolset(
        catalogue,
        state,
        in_turns(run_process),
        find=index.find,
        skill_folder=tmp_path / "skills",
        runs=lambda _app: True,
    )
    yield found
    found.close()


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An osascript with recorded answers for AppleScript and the simulator for JavaScript."""
    program = tmp_path / "osascript"
    program.write_text(
        f"#!{sys.executable} -I\nimport sys\nsys.path[:0] = {sys.path!r}\n"
        + RECORDED.read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    program.chmod(0o755)
    answers = tmp_path / "answers.json"
    answers.write_text("{}", encoding="utf-8")
    monkeypatch.setenv("IAC_OSASCRIPT", str(program))
    monkeypatch.setenv("RECORDED_ANSWERS", str(answers))
    return answers
