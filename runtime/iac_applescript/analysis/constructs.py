"""What the field book warns of in a script, by its constructs: no text or comment counts.

A script is spelled token by token with a space between them, in lower case where it is AppleScript,
whose statements end with a line. Texts stand in quotes and have no spaces: a pattern that has one
never fits inside of them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from iac_applescript.analysis.findings import Language
from iac_applescript.analysis.javascript_tree import iterate_written
from iac_base.script_tokens import MAX_SCRIPT, scan_applescript
from iac_runtime.tools.field import field_rows

_SPACES: Final = re.compile(r"\s")
_SPELLINGS: Final[Mapping[str, str]] = {"end": "\n", "string": '"{}"'}
"""How tokens of AppleScript are spelled that are not written as they are."""


def find_known_traps(
    script: str, language: Language, apps: Iterable[str]
) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the field book that warn of what a script does to these apps."""
    spelled = spell_script(script, language)
    told = {row["id"]: row for app in ("", *apps) for row in field_rows(app, "lint")}
    for row in told.values():
        pattern = row["warn"].get(language)
        if pattern and re.search(rf"(?<!\S)(?:{pattern})", spelled, re.DOTALL):
            yield row


def spell_script(script: str, language: Language) -> str:
    """Return a script as the patterns of the field book read it; empty for one that is too long."""
    if len(script) > MAX_SCRIPT:
        return ""
    if language == "javascript":
        return " ".join(_SPACES.sub("␣", part) for part in iterate_written(script))
    parts = (
        _SPELLINGS.get(one.kind, "{}").format(_SPACES.sub("␣", one.folded))
        for one in scan_applescript(script).tokens
    )
    return re.sub(r" ?\n[ \n]*", "\n", " ".join(parts))
