"""The repository itself: old Pythons get one line, documents point at what is there."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from iac_base.errors import DISTRIBUTION

ROOT = Path(__file__).parent.parent.parent
FIRST = (
    "noxfile.py",
    "generator/iac_gen/__init__.py",
    "generator/iac_gen/entry.py",
)
OLD = "import sys; sys.version_info = (3, 9, 6, 'final', 0); "


@pytest.mark.parametrize("file", FIRST)
def test_what_an_old_python_meets_first_parses_there(file: str) -> None:
    ast.parse((ROOT / file).read_text(), feature_version=(3, 9))


@pytest.mark.parametrize("code", [
    "exec(open('noxfile.py').read())", "from iac_gen.entry import main; main()",
])  # fmt: skip
def test_an_old_python_gets_one_clear_line(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OLD + code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "3.11 or newer; this is 3.9" in done.stderr


def pages() -> list[Path]:
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_pages_that_docstrings_name_exist() -> None:
    for folder in ("generator", "runtime", "templates"):
        for file in (ROOT / folder).rglob("*.py"):
            for name in re.findall(r"docs/[a-z0-9/_-]+\.md", file.read_text()):
                assert (ROOT / name).is_file(), f"{file}: {name}"


def test_sessions_that_documents_name_exist() -> None:
    sessions = set(re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(), re.M))
    for page in pages():
        named = re.findall(r"nox -s ([\w-]*\w)", page.read_text())
        assert {name.replace("-", "_") for name in named} <= sessions, page


INSTALLED = re.compile(
    r"""(?:\bpip install(?: -[\w-]+)*|\buv (?:tool install|add)|\bpipx install|\buvx) """
    r"""['"`]?([A-Za-z][\w-]*)"""
)
WITH_EXTRA = re.compile(r"(?<![\w./-])([A-Za-z][\w-]*)\[(?:gen|simulator|linux|macos|dev)[],]")


def texts() -> dict[str, str]:
    """Return every page, module, test and script of the repository by its path."""
    listed = subprocess.run(
        ["git", "ls-files", "*.md", "*.py", "*.toml", ".ci", "*.yml"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    own = str(Path(__file__).relative_to(ROOT))
    return {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in listed.stdout.splitlines()
        if name != own and (ROOT / name).is_file()
    }


def test_whoever_installs_it_gets_this_package_and_no_stranger() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION != "iac"
    extras = project["optional-dependencies"]
    known = {re.split(r"[^\w-]", row)[0] for rows in extras.values() for row in rows}
    known |= {re.split(r"[^\w-]", row)[0] for row in project["dependencies"]}
    known |= {DISTRIBUTION, "pip", "build", "nox"}
    found = 0
    for name, text in texts().items():
        for row in INSTALLED.findall(text):
            assert row in known, f"{name} installs {row}"
            found += row == DISTRIBUTION
        for row in WITH_EXTRA.findall(text):
            assert row in {DISTRIBUTION, "pyright"}, f"{name} speaks of {row}"
            found += 1
    assert found >= 6


def test_no_page_installs_from_an_index() -> None:
    index = re.compile(rf"(?:install|add|uvx|run)(?: -[\w-]+)* ['\"]?{DISTRIBUTION}(?!\S* @ git\+)")
    found = {page.name: index.findall(page.read_text(encoding="utf-8")) for page in pages()}
    assert {name: rows for name, rows in found.items() if rows and name != "CHANGELOG.md"} == {}


def test_ci_runs_what_a_newcomer_is_told_to_run() -> None:
    readme = (ROOT / "README.md").read_text()
    told = re.search(r"^git clone .+ iac && cd iac && (.+)\n(.+)\n", readme, re.MULTILINE)
    assert told is not None
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert told[1] in lines
    # Once where the programs are hidden that a newcomer does not have.
    assert [line for line in lines if line.startswith(f'PATH="$work/path" {told[2]} ')]
