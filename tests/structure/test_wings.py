"""What others import from a wing of the runtime is what the wing states."""

import importlib
import re
from pathlib import Path

import pytest

RUNTIME = Path(__file__).parents[2] / "runtime"


@pytest.mark.parametrize("wing", ["audit", "policy"])
def test_others_import_public_names_of_what_a_wing_states(wing: str) -> None:
    """A room of the wing is stated as a whole."""
    stated = importlib.import_module(f"iac_runtime.{wing}").__all__
    imports = re.compile(rf"from iac_runtime\.{wing}(?:\.(\w+))? import (\([^)]*\)|.*)")
    for path in RUNTIME.rglob("*.py"):
        for room, text in (
            imports.findall(path.read_text("utf-8")) if path.parent.name != wing else ()
        ):
            names = re.findall(r"\w+", re.sub(r" as \w+", "", text))
            assert ({room} if room else {*names}) <= {*stated}, path
            assert not any(name.startswith("_") for name in names), path
