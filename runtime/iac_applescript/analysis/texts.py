"""What the texts of a script say, alone and put together: addresses, phrases, telling texts."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from iac_applescript.analysis.applescript_units import OwnDeclarations, Unit, UnitKind
from iac_applescript.analysis.findings import Findings, Scan, ScriptToken
from iac_applescript.analysis.words import PHRASES, PROMPTS, TEXTS, TOLD, UNSEEN

_HTTPS: Final = re.compile(r"(?i)https?://[^\s\"']*\Z")
_LONG_QUERY: Final = 200
_DEEPEST: Final = 3
_LONGEST_PHRASE: Final = max(phrase.count(" ") + 1 for phrase in PHRASES)
_NAMES_APP: Final = frozenset(("application", "app", "id", "named"))
_KINDS: Final[Mapping[str, UnitKind]] = {
    "string": "text",
    "word": "variable",
    "sign": "sign",
    "number": "number",
}

Spelled: TypeAlias = tuple[int, str]
"""A text of a script, and where it begins."""


def judge_text(text: str) -> str:
    """Return why a text matters where something is written, opened or run; empty if it does not."""
    return next((why for pattern, why in TEXTS if pattern.search(text)), "")


def is_web_address(text: str) -> bool:
    """Say whether a text is a plain web address with no long query."""
    return bool(_HTTPS.match(text)) and len(text.partition("?")[2]) <= _LONG_QUERY


def is_https(value: Sequence[Unit], declared: OwnDeclarations, depth: int = 0) -> bool:
    """Say whether a value begins with a web address that the script spells out."""
    units = [unit for unit in value if unit.word not in ("(", ")")]
    if not units or depth > _DEEPEST:
        return False
    first = units[0]
    if first.kind == "text":
        if len(units) == 1:
            return is_web_address(first.word)
        # What is joined goes to that address: it must be known, and cannot change where it goes.
        start = re.match(r"(?i)https?://[^/\s]+/", first.word)
        query = first.word.partition("?")[2]
        return (
            bool(start)
            and len(query) <= _LONG_QUERY
            and _is_spelled_out(units[1:], declared, depth)
        )
    if first.kind == "variable" and len(units) == 1:
        values = declared.variables.get(first.word, [])
        return bool(values) and all(
            is_https([_as_unit(token) for token in tokens], declared, depth + 1)
            for tokens in values
        )
    return False


def _is_spelled_out(units: Sequence[Unit], declared: OwnDeclarations, depth: int) -> bool:
    """Say whether parts that `&` joins are written out, or are what a person typed for it."""
    if depth > _DEEPEST or not all(unit.word == "&" for unit in units[::2]):
        return False
    parts = units[1::2]
    return len(units) == 2 * len(parts) and all(
        part.kind in ("text", "number")
        or (part.kind == "variable" and _is_known(part.word, declared, depth + 1))
        for part in parts
    )


def _is_typed(tokens: Sequence[ScriptToken], declared: OwnDeclarations) -> bool:
    """Say whether a value is what a person typed into a dialog of this script."""
    words = [token.folded for token in tokens]
    if words[:3] != ["text", "returned", "of"]:
        return False
    asks = [value[:2] for value in declared.variables.get(words[-1], [])] if len(words) == 4 else []
    if asks:
        return all([token.folded for token in value] == ["display", "dialog"] for value in asks)
    dialog = words[3:6] == ["(", "display", "dialog"]
    return words[3:] == ["result"] or (
        dialog and words[-1] == ")" and "&" not in words and words.count("(") == 1
    )


def _is_known(name: str, declared: OwnDeclarations, depth: int) -> bool:
    values = declared.variables.get(name, [])
    return bool(values) and all(
        _is_typed(tokens, declared)
        or _is_spelled_out(
            [Unit("sign", "&", (), 0), *(_as_unit(token) for token in tokens)], declared, depth
        )
        for tokens in values
    )


def _as_unit(token: ScriptToken) -> Unit:
    text = token.text if token.kind == "string" else token.folded
    return Unit(_KINDS.get(token.kind, "unknown"), text, (), token.start)


def phrases(line: Sequence[ScriptToken], findings: Findings) -> None:
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
                rule = "told" if PHRASES[said] in TOLD else "phrase"
                findings.add("DANGEROUS", rule, PHRASES[said], said, token.start)


def judge_applescript(scan: Scan, names: OwnDeclarations, findings: Findings) -> None:
    """Put into `findings` what the texts of a script say, if it does more than read.

    Parts that `&` joins count as one, and so does all that a variable is given.
    """
    acts = findings.level() != "SAFE"
    asks = any(t.kind == "word" and t.folded == "answer" for t in scan.tokens)
    parts = [names.literal(t.folded) if t.kind in ("word", "quoted") else None for t in scan.tokens]
    alone = []
    before = ""
    for place, token in enumerate(scan.tokens):
        # The name of an app is judged as a target.
        if token.kind == "string" and before not in _NAMES_APP:
            parts[place] = token.text
            alone.append((token.start, token.text))
        before = token.folded if token.kind == "word" else ""
    given = []
    for values in names.variables.values():
        strings = [token for value in values for token in value if token.kind == "string"]
        if len(strings) > 1:
            given.append((strings[0].start, "".join(token.text for token in strings)))
    found = (*given, *alone, *_joined(scan.tokens, parts, "&"))
    judge_spelled(found, findings, acts=acts, asks=asks)


def judge_spelled(
    found: Iterable[Spelled], findings: Findings, *, acts: bool, asks: bool, ui: bool = False
) -> None:
    for start, text in found:
        why = judge_text(text) if acts else ""
        if asks and re.search(PROMPTS, text):
            why = why or "asks for a password in a dialog of its own"
        if why:
            findings.add("DANGEROUS", "text", why, text, start)
        if ui and text.casefold() in UNSEEN:
            says = "touches a program that asks for consent or holds secrets"
            findings.add("DANGEROUS", "blocked", says, text, start)


def _joined(
    tokens: Sequence[ScriptToken], parts: Sequence[str | None], sign: str
) -> Iterator[Spelled]:
    """Yield the texts that a sign puts together; `parts` has what each token stands for."""
    run: list[str] = []
    start = 0
    for token, text in zip(tokens, parts, strict=True):
        if text is not None:
            start = start if run else token.start
            run.append(text)
        elif token.text not in (sign, "(", ")"):
            if len(run) > 1:
                yield start, "".join(run)
            run = []
