"""Mutants of what decides: gate, policy, limits, redaction, paths and audit (`nox -s mutate`).

A mutant is a small change of the code; tests that pass all the same do not hold that line. Each
that survives is killed by a new test, or listed in `mutants.toml` with why it is no change.
mutmut wants packages at the top of a folder, so the session works on a copy that is laid out so.

    python tests/mutation.py FOLDER [--only GLOB ...] [--tests GLOB ...] [--children N]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
LISTED: Final = Path(__file__).with_name("mutants.toml")
PACKAGES: Final = (
    "runtime/*", "generator/iac_gen", "templates/iac_templates", "generated/iac_tools",
)  # fmt: skip
MUTATED: Final = (
    "iac_base/files.py", "iac_base/secrets.py", "iac_runtime/audit/*", "iac_runtime/gate/gate.py",
    "iac_runtime/gate/limiter.py", "iac_runtime/language/references.py", "iac_runtime/policy/*",
)  # fmt: skip
TESTS: Final = (
    "tests/base/test_*.py", "tests/runtime/test_policy_*.py", "tests/runtime/test_audit*.py",
    "tests/runtime/test_limiter.py", "tests/runtime/test_gate_*.py",
    "tests/runtime/test_outcomes.py", "tests/runtime/test_runtime_gate.py",
    "tests/runtime/test_runtime_paths.py",
)  # fmt: skip
"""They run again and again in one process, so those that need a process of their own stay out."""

APART: Final = ("tests/runtime/test_policy_decide.py::test_a_rule_says_where_it_was_registered",)
"""They tell who called, and between stands what switches the mutants."""

SURVIVED: Final = 0
UNTESTED: Final = 33
"""mutmut's exit codes of a mutant: the tests passed; no test comes by."""


class Mutant(NamedTuple):
    """A mutant that no test noticed: its function, the line and what became of it."""

    name: str
    function: str
    was: str
    now: str
    fate: str


def lay_out(folder: Path, only: Sequence[str], tests: Sequence[str]) -> None:
    """Copy the tree as mutmut wants it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    copied = [path for glob in PACKAGES for path in ROOT.glob(glob) if path.is_dir()]
    for path in (*copied, ROOT / "tests", ROOT / "generated", ROOT / "docs"):
        target = folder / path.name
        shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    listed = "".join(f"    {name}\n" for name in sorted(path.name for path in copied))
    globs = "".join(f"    {glob}\n" for glob in only or MUTATED)
    words = "-m\n    not process and not property and not stress\n    -p\n    no:xdist\n"
    words += "".join(f"    --deselect\n    {name}\n" for name in APART)
    (folder / "setup.cfg").write_text(
        f"[mutmut]\nsource_paths =\n{listed}only_mutate =\n{globs}"
        f"also_copy =\n    generated/\n    docs/\n"
        f"pytest_add_cli_args =\n    {words}"
        f"pytest_add_cli_args_test_selection =\n"
        + "".join(
            f"    {path.relative_to(ROOT)}\n"
            for glob in tests or TESTS
            for path in sorted(ROOT.glob(glob))
        )
        + "mutate_only_covered_lines = false\nuse_git_change_detection = false\n"
    )


_SHOW: Final = """
import json, sys
from mutmut.mutation.diff_apply import get_diff_for_mutant as diff
print(json.dumps([diff(name) for name in json.load(sys.stdin)]))
"""


def unnoticed(folder: Path) -> Iterator[Mutant]:
    """Yield the mutants that no test noticed, as the last run left them."""
    fates: dict[str, int] = {}
    for meta in sorted((folder / "mutants").rglob("*.meta")):
        codes = json.loads(meta.read_text())["exit_code_by_key"]
        fates |= {name: code for name, code in codes.items() if code in (SURVIVED, UNTESTED)}
    # Asked for in one process: `mutmut show` begins one for each.
    shown = subprocess.run(
        [sys.executable, "-c", _SHOW],
        cwd=folder,
        input=json.dumps([*fates]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    for (name, code), text in zip(fates.items(), json.loads(shown.stdout), strict=True):
        lines = [line for line in text.splitlines() if not line.startswith(("---", "+++"))]
        was = " ".join(line[1:].strip() for line in lines if line.startswith("-"))
        now = " ".join(line[1:].strip() for line in lines if line.startswith("+"))
        function = name.partition("__mutmut_")[0]
        yield Mutant(name, function, was, now, "no test" if code else "survived")


def known() -> dict[tuple[str, str, str], str]:
    """Return the reasons of `mutants.toml`, by function, line and change."""
    rows = tomllib.loads(LISTED.read_text(encoding="utf-8")).get("mutant", [])
    return {(row["function"], row["was"], row["now"]): row["why"] for row in rows}


def main() -> int:
    """Run; return 1 if a mutant survives that nobody gave a reason for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--tests", nargs="*", default=[])
    parser.add_argument("--children", default=str(os.cpu_count()))
    given = parser.parse_args()
    run = [sys.executable, "-m", "mutmut"]
    lay_out(given.folder, given.only, given.tests)
    done = subprocess.run([*run, "run", "--max-children", given.children], cwd=given.folder)
    if done.returncode:
        return done.returncode
    reasons = known()
    left = [
        mutant
        for mutant in unnoticed(given.folder)
        if (mutant.function, mutant.was, mutant.now) not in reasons
    ]
    for mutant in left:
        print(f"{mutant.fate}: {mutant.name}\n  - {mutant.was}\n  + {mutant.now}")
    print(f"{len(left)} mutants that no test notices, {len(reasons)} known to be equal")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
