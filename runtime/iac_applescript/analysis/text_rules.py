"""What matters in an AppleScript wherever it stands: words in a row, raw codes, telling texts."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from iac_applescript.analysis.addresses import judge_text
from iac_applescript.analysis.danger_rows import PHRASES, PROMPTS
from iac_applescript.analysis.declared import Declared
from iac_applescript.analysis.findings import Findings
from iac_applescript.analysis.tokens import Scan, Token

__all__ = ["joined", "phrases", "texts"]

_LONGEST_PHRASE: Final = max(phrase.count(" ") + 1 for phrase in PHRASES)
_NAMES_APP: Final = frozenset(("application", "app", "id", "named"))


def phrases(line: Sequence[Token], findings: Findings) -> None:
    words = [t for t in line if not (t.kind == "word" and t.folded == "the")]
    for place, token in enumerate(words):
        if token.kind == "raw":
            says = "uses a raw code, which hides what it does"
            findings.add("DANGEROUS", "raw", says, token.text, token.start)
        if token.kind != "word":
            continue
        said = ""
        for following in words[place : place + _LONGEST_PHRASE]:
            if following.kind != "word":
                break
            said = f"{said} {following.folded}".lstrip()
            if said in PHRASES:
                findings.add("DANGEROUS", "phrase", PHRASES[said], said, token.start)


def texts(scan: Scan, names: Declared, findings: Findings) -> None:
    """Look at the texts of a script that does more than read; parts joined by `&` count as one."""
    level = findings.level()
    asks = any(t.kind == "word" and t.folded == "answer" for t in scan.tokens)
    for start, text in joined(scan.tokens, names):
        why = judge_text(text) if level != "SAFE" else ""
        if why:
            findings.add("DANGEROUS", "text", why, text, start)
        if asks and re.search(PROMPTS, text):
            says = "asks for a password in a dialog of its own"
            findings.add("DANGEROUS", "text", says, text, start)


def joined(tokens: Sequence[Token], names: Declared) -> Iterable[tuple[int, str]]:
    """Yield the texts of a script with their places: each, those that `&` joins, and all that is
    given to a variable one after another."""
    for values in names.variables.values():
        parts = [token for value in values for token in value if token.kind == "string"]
        if len(parts) > 1:
            yield parts[0].start, "".join(part.text for part in parts)
    run: list[str] = []
    start, before = 0, ""
    for token in (*tokens, Token("end", "", 0)):
        # The name of an app is judged as a target.
        text = token.text if token.kind == "string" and before not in _NAMES_APP else None
        before = token.folded if token.kind == "word" else ""
        if token.kind in ("word", "quoted"):
            text = names.literal(token.folded)
        if text is not None:
            if token.kind == "string":
                yield token.start, token.text
            start = start if run else token.start
            run.append(text)
        elif token.text in ("&", "(", ")"):
            continue
        else:
            if len(run) > 1:
                yield start, "".join(run)
            run = []
