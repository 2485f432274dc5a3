"""What the texts of a script say, alone and put together: addresses, phrases, telling texts."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from iac_applescript.analysis.applescript_units import (
    ScriptDeclarations,
    Unit,
    UnitKind,
    is_type_code,
    split_outside_brackets,
)
from iac_applescript.analysis.findings import Findings, spend
from iac_applescript.analysis.vocabulary import PHRASES, PROMPTS, TEXTS, TOLD, UNSEEN
from iac_base.script_tokens import Scan, ScriptToken

_HTTPS: Final = re.compile(r"(?i)https?://[^\s\"']*\Z")
_LONG_QUERY: Final = 200
_DEEPEST: Final = 5
_DATA_FILE: Final = re.compile(
    r"(?i)[^:/]*\.(?:csv|docx?|gif|heic|html?|ics|jpe?g|json|key|log|m4a|md|mov|mp3|mp4|numbers|pages"
    r"|pdf|png|pptx|rtf|tiff?|tsv|txt|vcf|wav|xlsx|xml)\Z"
)
"""How the names of files end that hold data alone."""

_OWN_PLACE: Final = re.compile(
    "/Users/[^/]+/(?:Desktop|Documents|Downloads|Movies|Music|Pictures|Public)/"
)

_OWN_FOLDER: Final = re.compile(
    "path (?P<to>to )?(?(to)|of )"
    "(?:desktop|documents|downloads|movies|music|pictures|public|temporary items)"
    "(?(to)(?: folder)?| folder)(?: (?(to)from|of) user domain)?"
)
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


def possible_values(
    value: Sequence[Unit], names: ScriptDeclarations, depth: int = 0
) -> list[list[Unit]]:
    """Return what a value may be, through variables and lists; an empty one stands for anything."""
    units = strip_parentheses(value)
    words = [unit.word for unit in units]
    spend(4 + len(units) // 4)
    if depth > _DEEPEST or not units:
        return [[]]
    if len(units) == 1 and units[0].kind == "variable":
        values = names.variables.get(words[0], [()])
        return [
            one
            for tokens in values
            for one in possible_values(tokens_to_units(tokens), names, depth + 1)
        ]
    if words[:2] == ["contents", "of"]:
        return possible_values(units[2:], names, depth + 1)
    link = next((i for i, word in enumerate(words[:4]) if word in ("of", "in")), 0)
    if link and "item" in words[:link] and all(unit.kind != "text" for unit in units[:link]):
        items: list[list[Unit]] = [[]] if names.grown & set(words) else []
        for owner in possible_values(units[link + 1 :], names, depth + 1):
            listed = [unit.word for unit in (owner[:1] + owner[-1:])] == ["{", "}"]
            parts: list[Sequence[Unit]]
            parts = [owner if starts_with_phrase(owner, "choose") else ()]
            parts = split_outside_brackets(owner[1:-1], ",") if listed else parts
            items += [one for part in parts for one in possible_values(part, names, depth + 1)]
        return items
    return [units]


def strip_parentheses(units: Sequence[Unit]) -> list[Unit]:
    """Return units without the parentheses around all of them."""
    while len(units) > 1 and units[0].word == "(" and units[-1].word == ")":
        spend(len(units) // 16)
        depth = 0
        for place, unit in enumerate(units):
            depth += (unit.word == "(") - (unit.word == ")") if unit.kind == "sign" else 0
            if not depth and place < len(units) - 1:
                return list(units)
        units = units[1:-1]
    return list(units)


def starts_with_phrase(units: Sequence[Unit], *phrases: str) -> bool:
    """Say whether units begin with the words of a phrase, however they are cut up."""
    spend(len(units) // 16)
    words = " ".join(unit.word for unit in units if unit.kind != "text")
    return any(f"{words} ".startswith(f"{phrase} ") for phrase in phrases)


def is_literal_address(value: Sequence[Unit], names: ScriptDeclarations) -> bool:
    """Say whether a value begins with a web address that the script spells out."""
    return all(_is_literal_address_form(units, names) for units in possible_values(value, names))


def _is_literal_address_form(
    value: Sequence[Unit], names: ScriptDeclarations, depth: int = 0
) -> bool:
    units = [unit for unit in value if unit.kind != "sign" or unit.word not in ("(", ")")]
    if not units:
        return False
    first = units[0]
    if first.kind == "variable" and len(units) > 1 and depth < _DEEPEST:
        heads = possible_values([first], names, depth)
        return all(
            head and _is_literal_address_form([*head, *units[1:]], names, depth + 1)
            for head in heads
        )
    if first.kind != "text":
        return False
    if len(units) == 1:
        return is_web_address(first.word)
    # What is joined goes to that address: it must be known, and cannot change where it goes.
    start = re.match(r"(?i)https?://[^/\s]+/", first.word)
    query = first.word.partition("?")[2]
    return bool(start) and len(query) <= _LONG_QUERY and _is_spelled_out(units[1:], names, 0)


def _is_spelled_out(units: Sequence[Unit], names: ScriptDeclarations, depth: int) -> bool:
    """Say whether parts that `&` joins are written out, or are what a person typed for it."""
    parts = units[1::2]
    return (
        depth <= _DEEPEST
        and len(units) == 2 * len(parts)
        and all(unit.word == "&" for unit in units[::2])
        and all(
            part.kind in ("text", "number")
            or (part.kind == "variable" and _is_known_part(part, names, depth + 1))
            for part in parts
        )
    )


def _is_known_part(part: Unit, names: ScriptDeclarations, depth: int) -> bool:
    join = Unit("sign", "&", (), 0)
    return all(
        units and (_is_typed_by_user(units, names) or _is_spelled_out([join, *units], names, depth))
        for units in possible_values([part], names, depth)
    )


def is_spelled_out(value: Sequence[Unit], names: ScriptDeclarations) -> bool:
    """Say whether a text is written out in the script, or what a person typed for it."""
    return _is_spelled_out([Unit("sign", "&", (), 0), *strip_parentheses(value)], names, 0)


def is_data_path(path: str) -> bool:
    """Say whether a path, whose unknown parts are holes, is such a file as `is_data_file` tells."""
    inside = _OWN_PLACE.match(path) is not None and ".." not in path
    return inside and _DATA_FILE.search(path) is not None


def is_data_file(value: Sequence[Unit], names: ScriptDeclarations) -> bool:
    """Say whether a value is a file of the user's folders that nothing runs.

    It lies where a person keeps documents, and its name ends as data does; what a person picks in
    a dialog is one.
    """
    values = possible_values(_strip_place_words(value), names)
    return all(_is_data_file(units, names) for units in values)


def _is_data_file(value: Sequence[Unit], names: ScriptDeclarations) -> bool:
    joined = split_outside_brackets(_strip_place_words(value), "&")
    parts = [_strip_place_words(part) for part in joined]
    if not parts or any(".." in u.word or "::" in u.word for p in parts for u in p):
        return False
    if starts_with_phrase(parts[0], "choose file name"):
        return len(parts) == 1
    last = parts[-1]
    named = [unit.word for unit in last[:2]] == ["name", "of"] and len(last) == 3
    ends = len(last) == 1 and last[0].kind == "text" and _DATA_FILE.search(last[0].word)
    return len(parts) > 1 and bool(named or ends) and _is_in_own_folder(parts[0], names)


def _is_in_own_folder(value: Sequence[Unit], names: ScriptDeclarations, depth: int = 0) -> bool:
    """Say whether a value is a folder where a person keeps documents, or begins with one."""
    if depth > _DEEPEST or any(".." in unit.word or "::" in unit.word for unit in value):
        return False
    first, *rest = split_outside_brackets(_strip_place_words(value), "&") or ([],)
    if rest:
        return _is_in_own_folder(first, names, depth + 1)
    units = _strip_place_words(first)
    if len(units) == 1 and units[0].kind == "variable":
        told = possible_values(units, names, depth)
        return bool(told) and all(_is_in_own_folder(one, names, depth + 1) for one in told)
    return _is_own_folder(units, names, depth)


def _strip_place_words(units: Sequence[Unit]) -> list[Unit]:
    """Return a place without the words that make it a file or a text."""
    place_units = strip_parentheses(units)
    while starts_with_phrase(place_units, "file", "posix", "alias", "the", "my"):
        words = [unit.word for unit in place_units[:3]]
        cut = 1 if words[0] in ("file", "alias", "the", "my", "posix file") else 0
        cut = 2 if words[:2] == ["posix", "file"] or words[:2] == ["posix path", "of"] else cut
        cut = 3 if words == ["posix", "path", "of"] else cut
        if not cut:
            break
        place_units = strip_parentheses(place_units[cut:])
    place = next((i for i, unit in enumerate(place_units) if unit.word == "as"), len(place_units))
    return strip_parentheses(place_units[:place]) if len(place_units) - place == 2 else place_units


def is_own_folder(value: Sequence[Unit], names: ScriptDeclarations, depth: int = 0) -> bool:
    """Say whether a value is a folder where a person keeps documents, or one in it."""
    values = possible_values(value, names, depth)
    return all(_is_own_folder(units, names, depth) for units in values)


def _is_own_folder(value: Sequence[Unit], names: ScriptDeclarations, depth: int = 0) -> bool:
    units = _strip_place_words(value)
    if not units or depth > _DEEPEST:
        return False
    if units[0].kind == "variable" and len(units) == 1:
        return is_own_folder(units, names, depth + 1)
    if starts_with_phrase(units, "choose folder"):
        return True
    if starts_with_phrase(units, "make new folder at"):
        at = next(i for i, unit in enumerate(units) if unit.word == "at") + 1
        end = next((i for i, u in enumerate(units) if u.word.startswith("with")), len(units))
        return _is_own_folder(units[at:end], names, depth + 1)
    words = " ".join(unit.word for unit in units)
    return bool(_OWN_FOLDER.fullmatch(words)) and all(unit.kind != "text" for unit in units)


def _is_typed_by_user(units: Sequence[Unit], names: ScriptDeclarations) -> bool:
    """Say whether a value is what a person typed into a dialog of this script."""
    words = [unit.word for unit in units]
    if words[:3] != ["text", "returned", "of"]:
        return False
    if len(words) == 4 and words[3] in names.variables:
        asked = possible_values(units[3:], names)
        return all(starts_with_phrase(one, "display dialog") for one in asked)
    dialog = words[3:6] == ["(", "display", "dialog"]
    return words[3:] == ["result"] or (
        dialog and words[-1] == ")" and "&" not in words and words.count("(") == 1
    )


_BEGIN: Final = frozenset(phrase.partition(" ")[0] for phrase in PHRASES)


def tokens_to_units(tokens: Sequence[ScriptToken]) -> list[Unit]:
    """Return a variable's value as units, each word by itself."""
    words = (token.text if token.kind == "string" else token.folded for token in tokens)
    return [
        Unit(_KINDS.get(token.kind, "unknown"), word, (), token.start)
        for token, word in zip(tokens, words, strict=True)
    ]


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


def judge_script_texts(scan: Scan, names: ScriptDeclarations, findings: Findings) -> None:
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
        strings = [token for value in values for token in value if token.kind == "string"]
        if len(strings) > 1:
            given.append((strings[0].start, "".join(token.text for token in strings)))
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
