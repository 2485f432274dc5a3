"""Every command of every page runs in a fresh home, and prints what the page shows after it."""

import os
import re
import select
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import warm
from markdown_it import MarkdownIt
from markdown_it.token import Token

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent.parent
BIN = Path(sys.executable).parent
GIVEN = tomllib.loads(Path(__file__).with_name("pages.toml").read_text())
COMMAND = re.compile(r"(?:\$ )?(?:\S*/bin/)?(iac-(?:mcp|gen|scenario|fleet|osascript)\b.*)")
MADE = ("CHANGELOG.md", "docs/gallery.md", "docs/questions.md")
TERMINAL = (sys.executable, "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)")
WAIT = 120
"""Seconds for a command, and for the first lines of one that stays."""


class Block(NamedTuple):
    """The commands of a block of a page, and the lines that the page shows after them."""

    commands: list[str]
    shown: list[str]


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks with commands; what they print stands in them, or in a block of text."""
    found: Block | None = None
    for fence in fences(page):
        language = fence.info.split(" ")[0]
        lines = fence.content.splitlines()
        prompted = any(line.startswith("$ ") for line in lines)
        matches = [COMMAND.match(line) for line in lines if prompted <= line.startswith("$ ")]
        # Where a block names no language, words after a gap explain.
        commands = [
            match[1] if language else re.split(" {3,}", match[1])[0] for match in matches if match
        ]
        if language in ("sh", "") and commands:
            if found:
                yield found
            rest = [line for line in lines if prompted and line and not line.startswith("$ ")]
            found = Block(commands, rest)
        elif language == "text" and found:
            found.shown.extend(lines)
        elif found:
            yield found
            found = None
    if found:
        yield found


def fences(page: Path) -> list[Token]:
    return [each for each in MarkdownIt().parse(page.read_text()) if each.type == "fence"]


def named() -> list[str]:
    every = [
        path
        for at in (".", "docs", "docs/clients", "docs/how-to")
        for path in ROOT.glob(f"{at}/*.md")
    ]
    names = sorted(str(path.relative_to(ROOT)) for path in every)
    return [name for name in names if name not in MADE and any(blocks(ROOT / name))]


def beginning(table: Mapping[str, Any], command: str, otherwise: Any) -> Any:
    fitting = [key for key in table if command.startswith(key)]
    return table[max(fitting, key=len)] if fitting else otherwise


def environment(home: Path) -> dict[str, str]:
    folder = home / "bin"
    folder.mkdir()
    warm.program(folder, "iac-mcp", warm.IAC_MCP)
    warm.program(folder, "iac-gen", warm.IAC_GEN)
    return {
        "HOME": str(home), "PATH": f"{folder}:{BIN}:/usr/bin:/bin", "LANG": "C.UTF-8",
        "COLUMNS": "200", "EDITOR": "true", "PYTHONDONTWRITEBYTECODE": "1",
        "IAC_OSASCRIPT": str(BIN / "iac-osascript"),
        "IAC_SIMULATOR_STATE": str(home / "world.json"),
    }  # fmt: skip


def stays(command: str, folder: Path, env: Mapping[str, str], said: str) -> str:
    """Run a program until it says what is looked for, then end it."""
    child = subprocess.Popen(
        ("bash", "-c", f"exec {command}"),
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert child.stdout
    heard, until = b"", time.monotonic() + WAIT
    with child.stdout:
        while said.encode() not in heard and time.monotonic() < until:
            if select.select([child.stdout], [], [], 0.2)[0]:
                piece = os.read(child.stdout.fileno(), 65536)
                heard += piece
                if not piece:
                    break
        child.terminate()
        child.wait(WAIT)
    assert said.encode() in heard, heard.decode()
    return heard.decode()


def runs(command: str, folder: Path, env: Mapping[str, str], given: str, status: int) -> str:
    """Run a command; one that is given an answer has a terminal."""
    done = subprocess.run(
        (*(TERMINAL if given else ()), "bash", "-c", command),
        cwd=folder,
        env=env,
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=WAIT,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stdout) == (status, False), done.stdout
    return done.stdout


@pytest.mark.sweep
@pytest.mark.parametrize("name", named())
def test_a_page_does_what_it_says(name: str, tmp_path: Path) -> None:
    told = GIVEN.get(name, {})
    folder, env = tmp_path / "work", environment(tmp_path)
    folder.mkdir()
    for file, text in told.get("files", {}).items():
        own = [each.content for each in fences(ROOT / name) if each.info == text]
        (folder / file).write_text(own[0] if own else text)
    for command in told.get("before", ()):
        runs(command.replace("{tree}", str(ROOT)), folder, env, "", 0)
    for block in blocks(ROOT / name):
        printed = ""
        for written in block.commands:
            command = written
            for words, others in told.get("replaced", {}).items():
                command = command.replace(words, others)
            if beginning(told.get("skipped", {}), command, None) is not None:
                continue
            if (said := beginning(told.get("lasting", {}), command, None)) is not None:
                printed += stays(command, folder, env, said)
                continue
            given = beginning(told.get("answers", {}), command, "")
            status = beginning(told.get("status", {}), command, 0)
            printed += runs(command, folder, env, given, status)
        for line in block.shown if printed else ():
            pattern = ".*".join(map(re.escape, line.strip().split("…")))
            assert re.search(pattern, printed), f"{line}\nis not in:\n{printed}"


def test_what_is_told_of_pages_is_used() -> None:
    """Nothing is skipped, replaced or answered that no page says."""
    for name, told in GIVEN.items():
        commands = [each for block in blocks(ROOT / name) for each in block.commands]
        for kind, inside in (("replaced", True), ("skipped", False), ("lasting", False)):
            for words in told.get(kind, {}):
                fits = [words in each if inside else each.startswith(words) for each in commands]
                assert any(fits), f"{name}: {kind}: {words}"
