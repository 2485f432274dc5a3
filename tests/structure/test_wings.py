"""What others import from a wing of the runtime is what the wing states."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = [
    path for name in ("runtime", "benchmarks", "docs") for path in (ROOT / name).rglob("*.py")
]
WINGS = ("audit", "policy")


def imported_names(wing: str) -> Iterator[tuple[str, str]]:
    """Yield what modules outside a wing import from it: the file, and the name behind the wing."""
    for path in PACKAGES:
        if path.parent == ROOT / "runtime" / "iac_runtime" / wing:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            if isinstance(node, ast.ImportFrom) and module == f"iac_runtime.{wing}":
                yield from ((path.name, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and module.startswith(f"iac_runtime.{wing}."):
                room = module.rpartition(".")[2]
                yield from ((path.name, f"{room}.{alias.name}") for alias in node.names)


@pytest.mark.parametrize("wing", WINGS)
def test_others_import_public_names_of_what_a_wing_states(wing: str) -> None:
    stated = importlib.import_module(f"iac_runtime.{wing}").__all__
    names = list(imported_names(wing))
    assert [row for row in names if row[1].partition(".")[0] not in stated] == []
    assert [row for row in names if row[1].rpartition(".")[2].startswith("_")] == []
