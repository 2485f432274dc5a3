"""The sample repository of a team: its page says what its commands print."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parent.parent.parent / "docs" / "team"
TOKENS = re.compile(r" +\d+(?= +\d+\n)|(?<=about )\d+")
BLOCK = re.compile(r"(?<=```console\n).*?(?=```\n)", re.DOTALL)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of the sample, as a repository whose branch is main."""
    folder = tmp_path / "team"
    shutil.copytree(SAMPLE, folder)
    run("git init -q -b main", folder)
    return folder


def run(command: str, folder: Path) -> str:
    """Return what a command prints, its errors too."""
    whose = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")
    people = {f"GIT_{one}": "Ines" for one in whose}
    environment = {
        **os.environ, **people, "XDG_CACHE_HOME": str(folder.parent / "cache"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, env=environment, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.stdout


def as_run(page: str, folder: Path) -> str:
    """Return the page with what its commands print."""

    def printed(block: re.Match[str]) -> str:
        commands = [line for line in block[0].splitlines() if line.startswith("$ ")]
        return "".join(f"{line}\n{run(line[2:], folder)}" for line in commands)

    return BLOCK.sub(printed, page)


@pytest.mark.process
def test_the_page_of_the_sample_says_what_its_commands_print(repository: Path) -> None:
    page = (SAMPLE / "README.md").read_text(encoding="utf-8")
    # How many tokens words have is no word of the page.
    ran, said = (TOKENS.sub("N", text) for text in (as_run(page, repository), page))
    assert ran == said, f"run: python {__file__}"


def test_the_workflow_of_the_sample_compares_annotates_and_checks() -> None:
    text = (SAMPLE / ".github" / "workflows" / "tools.yml").read_text(encoding="utf-8")
    commands = re.findall(r"iac-gen (\w+) .* --format (\w+)", text)
    assert commands == [("diff", "github"), ("diff", "markdown"), ("check", "github")]


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as name:
        copy = Path(name) / "team"
        shutil.copytree(SAMPLE, copy)
        run("git init -q -b main", copy)
        written = as_run((SAMPLE / "README.md").read_text(encoding="utf-8"), copy)
        (SAMPLE / "README.md").write_text(written, encoding="utf-8")
