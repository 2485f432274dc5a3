"""What others import from a package or a wing of the runtime is what it states."""

import importlib
import re
from pathlib import Path

import pytest

RUNTIME = Path(__file__).parents[2] / "runtime"


STATING = ("iac_applescript", "iac_applescript.analysis", "iac_base", "iac_fleet", "iac_page")
STATING += ("iac_plans", "iac_runtime.audit", "iac_runtime.policy", "iac_scenario")


@pytest.mark.parametrize("wing", STATING)
def test_others_import_public_names_of_what_a_wing_states(wing: str) -> None:
    """A room of the wing is stated as a whole."""
    stated = importlib.import_module(wing).__all__
    imports = re.compile(rf"from {re.escape(wing)}(?:\.(\w+))? import (\([^)]*\)|[^#\n]*)")
    home = RUNTIME.joinpath(*wing.split("."))
    for path in RUNTIME.rglob("*.py"):
        for room, text in imports.findall(path.read_text("utf-8")) if path.parent != home else ():
            names = re.findall(r"\w+", re.sub(r" as \w+", "", text))
            assert ({room} if room else {*names}) <= {*stated}, path
            assert not any(name.startswith("_") for name in names), path
