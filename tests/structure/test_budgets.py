"""How much code each package may have: what is added is taken out elsewhere.

Counted are lines of code: no blank lines, comments or docstrings, so that documenting is free. Data
files are counted by their lines. `python tests/structure/test_budgets.py --lower` writes what is
there where that is less; a larger budget is written by hand, with a reason in the commit.
"""

import ast
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
BUDGETS: Final = Path(__file__).with_name("budgets.toml")
DATA: Final = (".toml", ".json", ".js", ".jinja", ".sql", ".css", ".html")
"""Suffixes of files that are counted as data; what the generator wrote is not hand-written."""


def count_code_lines(source: str) -> int:
    """Return how many lines of a module hold code."""
    lines = {
        number
        for number, line in enumerate(source.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    }
    for node in ast.walk(ast.parse(source)):
        # Docstrings, those of attributes too: a text that stands alone does nothing.
        if isinstance(node, ast.Expr) and _is_text(node.value):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def package_of(path: str) -> str | None:
    """Return the budget that a committed file belongs to; None where it has none."""
    top, _, rest = path.partition("/")
    if top in ("generator", "runtime", "templates") and rest:
        return rest.partition("/")[0]
    return top if top in ("benchmarks", "docs", "tests") and rest else None


def count_packages() -> dict[str, dict[str, int]]:
    """Return what is there: `code` and `data` -> package -> lines."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    code: Counter[str] = Counter()
    data: Counter[str] = Counter()
    for name in filter(None, listed.stdout.split("\0")):
        package, path = package_of(name), ROOT / name
        if package is None or not path.is_file():
            continue
        if path.suffix == ".py":
            code[package] += count_code_lines(path.read_text(encoding="utf-8"))
        elif path.suffix in DATA and package not in ("benchmarks", "docs", "tests"):
            data[package] += len(path.read_text(encoding="utf-8").splitlines())
    return {"code": dict(sorted(code.items())), "data": dict(sorted(data.items()))}


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a checkout")
def test_no_package_grows_beyond_its_budget() -> None:
    budgets = tomllib.loads(BUDGETS.read_text())
    beyond = [
        f"{package} has {lines:,} lines of {kind}, {lines - budgets[kind].get(package, 0):,} more"
        for kind, packages in count_packages().items()
        for package, lines in packages.items()
        if lines > budgets[kind].get(package, 0)
    ]
    assert beyond == []


def test_documenting_is_free() -> None:
    source = '"""A module."""\n\n# Why.\nA = 1  # one\n"""What it is."""\n\n'
    source += 'def f():\n    """Do."""\n'
    assert count_code_lines(source) == 2


def lower_budgets() -> None:
    """Write what is there where it is less than the budget, or has none."""
    budgets = tomllib.loads(BUDGETS.read_text()) if BUDGETS.exists() else {}
    text = BUDGETS.read_text().partition("[code]")[0] if BUDGETS.exists() else ""
    for kind, packages in count_packages().items():
        rows = {
            package: min(lines, budgets.get(kind, {}).get(package, lines))
            for package, lines in packages.items()
        }
        text += f"[{kind}]\n" + "".join(f"{key} = {lines}\n" for key, lines in rows.items()) + "\n"
    BUDGETS.write_text(text.rstrip() + "\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--lower"]:
        sys.exit(f"usage: {sys.argv[0]} --lower")
    lower_budgets()
