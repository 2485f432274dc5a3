"""The written samples of scripts."""

import re
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent


class Case(NamedTuple):
    """A script and its language."""

    language: str
    script: str


def read_cases(name: str) -> list[Case]:
    """Return the cases of a file; a line `--- LANGUAGE` stands before each but the first."""
    text = (_HERE / name).read_text(encoding="utf-8")
    parts = re.split(r"(?m)^--- (applescript|javascript)\n", "--- applescript\n" + text)[1:]
    return [
        Case(language, script.rstrip("\n"))
        for language, script in zip(parts[::2], parts[1::2], strict=True)
    ]
