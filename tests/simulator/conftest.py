"""Scripts against the invented Diary, and the tables of the committed modules."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from javascript_core import JavaScriptCore, load_library, own_words
from simulated_diary import ADDITION, DIARY, NOW, WORLD, Script

from iac_runtime.tools.tables import Tables
from iac_simulator import Simulator, errors, host
from iac_simulator.osascript import load_tables


@pytest.fixture(params=["quickjs", "jsc"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test on the product's engine, then on JavaScriptCore, where there is one."""
    if request.param == "jsc":
        load_library()
        monkeypatch.setattr(host, "Engine", JavaScriptCore)
        monkeypatch.setattr(errors, "_jsc_wording", own_words)
    return str(request.param)


@pytest.fixture
def script() -> Script:
    return Script(Simulator([DIARY, ADDITION], {"diary": WORLD, "@now": NOW}))


@pytest.fixture
def with_world() -> Callable[[dict[str, Any]], Script]:
    def build(world: dict[str, Any]) -> Script:
        return Script(Simulator([DIARY, ADDITION], {"diary": world}))

    return build


@pytest.fixture(scope="session")
def shipped(generated: Path) -> list[Tables]:
    """The tables of the committed modules."""
    return load_tables([generated])
