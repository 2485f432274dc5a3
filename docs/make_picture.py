"""Writes docs/picture.svg, a recording of a terminal: `python docs/make_picture.py`.

The commands are run in a terminal of their own, on simulated apps, and answered as a person would.
"""

import io
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

PICTURE: Final = Path(__file__).with_name("picture.svg")
_WIDTH: Final = 92
_SESSION: Final = (
    ("iac-mcp call notes_count element=note", ""),
    ("iac-mcp call notes_make_note name=Milk body='Two bottles'", "y\n"),
    ("iac-mcp call mail_delete target='inbox.messages[1]'", "n\n"),
)
"""What is typed, and the answer to the approval prompt."""

# As rich has it, without the fonts that it would fetch from elsewhere.
_FORMAT: Final = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: Menlo, Consolas, monospace; font-size: {char_height}px;
line-height: {line_height}px; }}
.{unique_id}-title {{ display: none; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def recorded() -> list[tuple[str, str]]:
    """Run the session, and return each command with what the terminal showed."""
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "IAC_DATA": home, "NO_COLOR": "1", "COLUMNS": str(_WIDTH), "TZ": "UTC"}
        return [(line, _ran(line, answer, env)) for line, answer in _SESSION]


def _ran(line: str, answer: str, env: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "iac_mcp", *shlex.split(line)[1:], "--simulate"]
    with subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=env):
        os.close(theirs)
        os.write(ours, answer.encode())
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:
            pass  # How Linux says that the other end is closed.
    os.close(ours)
    text = shown.decode().replace("\r\n", "\n")
    # The answer was typed ahead: its echo stands first, and belongs behind the prompt.
    text = text.removeprefix(answer)
    return re.sub(r"(\(y/n[^)]*\)|Enter = no\)):? ?", rf"\1 {answer}", text, count=1)


def svg(session: list[tuple[str, str]]) -> str:
    """Return the picture of a session."""
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), highlight=False)
    for line, shown in session:
        console.print(Text(f"$ {line}", style="bold"))
        console.print(Text(shown.rstrip(), overflow="fold"), "")
    return console.export_svg(title="", code_format=_FORMAT, unique_id="iac")


if __name__ == "__main__":
    PICTURE.write_text(svg(recorded()), "utf-8")
