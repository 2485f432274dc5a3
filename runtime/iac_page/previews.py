"""An object that a question names, as a small preview: its kind, its name, and what else is known.

The line is that of `gate.targets`: kind, name in quotes, then label and value each. No value in it
can hold a quote. A line of another form is shown as it is.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

_PARTS: Final = re.compile(r'(?:"[^"]*"|[^",]|,(?! ))+')
_HEAD: Final = re.compile(r'(?:\d+\. )?(?P<kind>[^"]*?) ?(?:"(?P<name>[^"]*)")?')
_FACT: Final = re.compile(r'(?P<label>[^"\d][^"]*?) (?P<value>"[^"]*"(?:, "[^"]*")*|\d.*|yes|no)')

_TEXTS: Final = ("plaintext", "body", "content", "text", "note", "notes")
"""Labels of long texts, which get a line of their own."""

_SYMBOLS: Final[Mapping[str, str]] = {
    "message": "mail",
    "note": "note",
    "event": "event",
    "reminder": "check",
    "to do": "check",
    "file": "file",
    "document": "file",
    "folder": "folder",
    "person": "person",
    "track": "music",
    "tab": "web",
    "window": "web",
}
"""The last word or words of a kind -> the symbol of its preview."""


class Preview(NamedTuple):
    """An object: `facts` are labels and values, `text` is the beginning of what it says."""

    symbol: str
    kind: str
    name: str
    facts: Sequence[tuple[str, str]] = ()
    text: str = ""


def read_preview(line: str) -> Preview:
    """Return the preview of one line of a question."""
    first, *rest = [part.strip() for part in _PARTS.findall(line.strip())] or [""]
    head = _HEAD.fullmatch(first)
    if head is None or not head["name"]:
        return Preview("thing", "", line.strip())
    facts, text = [], ""
    for part in rest:
        found = _FACT.fullmatch(part)
        label, value = (found["label"], found["value"].strip('"')) if found else ("", part)
        if label in _TEXTS:
            # A note begins with its own name.
            text = value.removeprefix(head["name"]).strip()
        else:
            facts.append((label, value))
    kind = head["kind"]
    symbol = next((symbol for word, symbol in _SYMBOLS.items() if kind.endswith(word)), "thing")
    return Preview(symbol, kind, head["name"], facts, text)
