"""What the texts of a JavaScript say, alone and put together, where something is done with them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from iac_applescript.analysis.addresses import is_web_address, judge_text
from iac_applescript.analysis.danger_rows import PROMPTS, UNSEEN
from iac_applescript.analysis.findings import Findings
from iac_applescript.analysis.javascript_shape import Shape
from iac_applescript.analysis.tokens import Token

__all__ = ["is_address", "judge_texts"]

_ENDS: Final = frozenset((";", ",", "}", ")", "]"))
_ASKS: Final = "asks for a password in a dialog of its own"


def is_address(shape: Shape, place: int) -> bool:
    """Say whether a plain web address stands here, and nothing is done with it."""
    if place + 1 >= len(shape.tokens):
        return False
    token, after = shape.tokens[place : place + 2]
    ends = after.kind in ("word", "end") or (after.kind == "sign" and after.text in _ENDS)
    return token.kind == "string" and is_web_address(token.text) and ends


def judge_texts(shape: Shape, given: Mapping[str, Token], findings: Findings, *, ui: bool) -> None:
    """Put into `findings` what the texts of a script say.

    Args:
        shape: The script.
        given: Variables: all texts that each is given, as one.
        findings: Gets the reasons.
        ui: Whether the script reaches elements of the screen.
    """
    asks = any(t.kind == "word" and t.text == "defaultAnswer" for t in shape.tokens)
    for start, text in (*_alone(shape), *_joined(shape.tokens, given)):
        if why := judge_text(text) or (_ASKS if asks and re.search(PROMPTS, text) else ""):
            findings.add("DANGEROUS", "text", why, text, start)
        if ui and text.casefold() in UNSEEN:
            says = "touches a program that asks for consent or holds secrets"
            findings.add("DANGEROUS", "blocked", says, text, start)


def _alone(shape: Shape) -> Iterator[tuple[int, str]]:
    for place, token in enumerate(shape.tokens):
        # The name of an app is judged as a target.
        named = shape.text(place - 1) == "(" and shape.text(place - 2) == "Application"
        if token.kind in ("string", "template") and not named:
            yield token.start, token.text


def _joined(tokens: Sequence[Token], given: Mapping[str, Token]) -> Iterator[tuple[int, str]]:
    """Yield texts that are joined by `+`, or one after another given to a name."""
    for whole in given.values():
        yield whole.start, whole.text
    run: list[str] = []
    start = 0
    for place, token in enumerate(tokens):
        text_ = _part(tokens, place, given)
        if text_ is not None:
            start = start if run else token.start
            run.append(text_)
        elif token.text not in ("+", "(", ")"):
            if len(run) > 1:
                yield start, "".join(run)
            run = []


def _part(tokens: Sequence[Token], place: int, given: Mapping[str, Token]) -> str | None:
    token = tokens[place]
    if token.kind == "string":
        return token.text
    beside = "+" in [other.text for other in tokens[max(place - 1, 0) : place + 2]]
    whole = given.get(token.text) if token.kind == "word" and beside else None
    return whole.text if whole is not None else None
