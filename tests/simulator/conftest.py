"""Scripts against the invented Diary, and the tables of the committed modules."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from simulated_diary import ADDITION, DIARY, NOW, WORLD, Script

from iac_runtime.tools.tables import Tables
from iac_simulator import MissingEngineError, Simulator, engine_jsc
from iac_simulator.engine import ENGINES
from iac_simulator.osascript import load_tables


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine; JavaScriptCore is skipped, with the way to install it, where it is missing."""
    name: str = request.param
    if name == "jsc":
        try:
            engine_jsc.load_library()
        except MissingEngineError as missing:
            pytest.skip(str(missing))
    return name


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
