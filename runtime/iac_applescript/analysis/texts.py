"""What the texts of a script say, alone and put together: addresses, phrases, telling texts."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from iac_applescript.analysis.applescript_names import (
    GIVEN,
    HOLE,
    TYPED,
    ScriptNames,
    is_known,
    iterate_nodes,
)
from iac_applescript.analysis.findings import Findings
from iac_applescript.analysis.vocabulary import PHRASES, PROMPTS, TEXTS, TOLD, UNSEEN
from iac_base.script_tokens import Scan, ScriptToken
from iac_runtime.language import applescript_tree as tree

_HTTPS: Final = re.compile(r"(?i)https?://[^\s\"']*\Z")
_LONG_QUERY: Final = 200
DATA_FILE: Final = re.compile(
    r"(?i)[^:/]*\.(?:csv|docx?|gif|heic|html?|ics|jpe?g|json|key|log|m4a|md|mov|mp3|mp4|numbers|pages"
    r"|pdf|png|pptx|rtf|tiff?|tsv|txt|vcf|wav|xlsx|xml)\Z"
)
"""How the names of files end that hold data alone."""

_OWN_PLACE: Final = re.compile(
    "/Users/[^/]+/(?:Desktop|Documents|Downloads|Movies|Music|Pictures|Public)/"
)

_LONGEST_PHRASE: Final = max(phrase.count(" ") + 1 for phrase in PHRASES)
_NAMES_APP: Final = frozenset(("application", "app", "id", "named"))
Spelled: TypeAlias = tuple[int, str]
"""A text of a script, and where it begins."""


def judge_text(text: str) -> str:
    """Return why a text matters where something is written, opened or run; empty if it does not."""
    return next((why for pattern, why in TEXTS if pattern.search(text)), "")


def is_web_address(text: str) -> bool:
    """Say whether a text is a plain web address with no long query."""
    return bool(_HTTPS.match(text)) and len(text.partition("?")[2]) <= _LONG_QUERY


def opens_page(texts: Iterable[str]) -> bool:
    """Say whether each text is a web address that the script spells out, but for what is typed."""
    for text in texts:
        host = re.match(rf"(?i)https?://[^/\s{HOLE}{TYPED}]+(?:/|\Z)", text)
        known = host is not None or TYPED not in text
        if (
            not is_known(text)
            or GIVEN in text
            or not known
            or not is_web_address(text.replace(TYPED, ""))
        ):
            return False
    return True


def is_data_path(path: str) -> bool:
    """Say whether a path, whose unknown parts are holes, is such a file as `is_data_file` tells."""
    inside = _OWN_PLACE.match(path) is not None and ".." not in path
    return inside and DATA_FILE.search(path) is not None


_BEGIN: Final = frozenset(phrase.partition(" ")[0] for phrase in PHRASES)


_RAW_TYPE: Final = re.compile(r"«class [\w ]{4}»")


def is_type_code(tokens: Sequence[ScriptToken], at: int) -> bool:
    """Say whether a raw code only names the type of a value: `as «class utf8»`."""
    before = tokens[at - 1].folded if at else ""
    return before == "as" and bool(_RAW_TYPE.fullmatch(tokens[at].text))


def judge_phrases(line: Sequence[ScriptToken], findings: Findings) -> None:
    words = [t for t in line if not (t.kind == "word" and t.folded == "the")]
    for place, token in enumerate(words):
        if token.kind == "raw" and not is_type_code(words, place):
            says = "uses a raw code, which hides what it does"
            findings.add("DANGEROUS", "raw", says, token.text, token.start)
        if token.kind != "word" or token.folded not in _BEGIN:
            continue
        phrase = ""
        for following in words[place : place + _LONGEST_PHRASE]:
            if following.kind != "word":
                break
            phrase = f"{phrase} {following.folded}".lstrip()
            if phrase in PHRASES:
                rule = "told" if PHRASES[phrase] in TOLD else "phrase"
                findings.add("DANGEROUS", rule, PHRASES[phrase], phrase, token.start)


def judge_script_texts(scan: Scan, names: ScriptNames, findings: Findings) -> None:
    """Put into `findings` what the texts of a script say, if it does more than read.

    Parts that `&` joins count as one, and so does all that a variable is given.
    """
    acts = findings.highest_level() != "SAFE"
    asks = any(t.kind == "word" and t.folded == "answer" for t in scan.tokens)
    parts = [
        names.literal_value(t.folded) if t.kind in ("word", "quoted") else None for t in scan.tokens
    ]
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
        strings = [
            (node.start, node.value)
            for value in values
            if value is not None
            for node in iterate_nodes(value)
            if isinstance(node, tree.Value) and isinstance(node.value, str)
        ]
        if len(strings) > 1:
            given.append((strings[0][0], "".join(text for _, text in strings)))
    spelled = (*given, *alone, *_joined_texts(scan.tokens, parts, "&"))
    judge_spelled(spelled, findings, acts=acts, asks=asks)


def judge_spelled(
    spelled: Iterable[Spelled], findings: Findings, *, acts: bool, asks: bool, ui: bool = False
) -> None:
    for start, text in spelled:
        why = judge_text(text) if acts else ""
        if asks and re.search(PROMPTS, text):
            why = why or "asks for a password in a dialog of its own"
        if why:
            findings.add("DANGEROUS", "text", why, text, start)
        if ui and text.casefold() in UNSEEN:
            says = "touches a program that asks for consent or holds secrets"
            findings.add("DANGEROUS", "blocked", says, text, start)


def _joined_texts(
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
