"""Secrets out of what is stored: by a parameter's name, by its type, by the shape of a text."""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from iac_runtime.language.text import text_literal
from iac_runtime.secrecy import is_secret

__all__ = ["REDACTED", "digest", "redact", "redact_text", "shorten"]

REDACTED: Final = "[redacted]"

DEPTH: Final = 32
"""Levels of an argument that are looked at; what lies deeper is not stored."""

LONGEST_INTEGER: Final = 512
"""Bits of an integer that is stored as it is."""

_BINARY: Final = frozenset(("data", "raw data", "tdta"))
_SHORTEST: Final = 8
"""Characters of a text that could have the shape of a secret (`token=ab`)."""

_LITERAL: Final = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
_ASSIGNED: Final = re.compile(
    # The value is only looked at, for it may hold the next name (`url=https://x/?token=y`).
    r"""(?:(?<!\\)"(?P<quoted>[^"\\\n]{1,64})"|(?P<plain>\b[A-Za-z][\w-]{0,63}))"""
    rf"""\]?\s{{0,9}}[:=](?!=)\s{{0,9}}(?=(?P<value>{_LITERAL}|[^\s,;&"'(){{}}\[\]]+))"""
)
_OPTION: Final = re.compile(r"(?P<lead>--(?P<name>[a-z][a-z-]{0,40})\s{1,9})(?P<value>[^\s-]\S*)")


_PIECE: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def _always(_found: str) -> bool:
    return True


def _luhn(found: str) -> bool:
    digits = [int(digit) for digit in found if digit.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[::-2]) + sum(doubled)) % 10 == 0


def _random(found: str) -> bool:
    """Tell random text from a path or a long word: it falls into very short pieces."""
    # Ids of objects are full of UUIDs.
    found = _UUID.sub("", found)
    pieces = _PIECE.findall(found)
    kinds = {"a" if char.islower() else "A" if char.isupper() else char.isdigit() for char in found}
    return len(found) >= 40 and {"a", "A", True} <= kinds and len(found) < 3 * len(pieces)


def _hex(found: str) -> bool:
    return any(char.isdigit() for char in found) and any(char.isalpha() for char in found)


_SHAPES: Final[tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...]] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]+-----)?"), _always),
    # The prefixes by which issuers mark their keys: GitHub, GitLab, Slack, Stripe, AI vendors,
    # Google, AWS, npm, PyPI, Hugging Face, SendGrid.
    (
        re.compile(
            r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|[rs]k_(?:live|test)_|sk-|AIza|ya29\."
            r"|(?:AKIA|ASIA)(?=[A-Z0-9]{12})|npm_|pypi-|hf_|SG\.)[\w./+=-]{12,}"
        ),
        _always,
    ),
    # DER in base64, as keys and certificates are written without their frame.
    (re.compile(r"\bMII[A-Za-z0-9+/]{37,}={0,2}"), _always),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"), _always),
    (re.compile(r"(?<=\b[Bb]earer )[\w.~+/=-]{8,}|(?<=\b[Bb]asic )[\w.~+/=-]{8,}"), _always),
    (re.compile(r"(?<=://)[^\s/@:\"']{1,256}:[^\s/@\"']{1,256}(?=@)"), _always),
    (re.compile(r"(?<![\w.-])[2-6](?:[ -]?[0-9]){12,18}(?![\w-])"), _luhn),
    (re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{32,}(?![0-9A-Za-z])"), _hex),
    (re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{40,}={0,2}"), _random),
)


def redact(
    arguments: Mapping[str, Any], types: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the arguments without secrets, and the secrets that were found by name or type.

    A value under a name that tells of a secret goes as a whole. Texts elsewhere lose the parts
    that have the shape of one: keys with a known prefix, tokens, private keys, card numbers,
    passwords in addresses and assignments, long random text.
    """
    secrets: list[str] = []
    kept: dict[str, Any] = {}
    for name, value in arguments.items():
        kind = (types or {}).get(name, "text")
        if is_secret(name, kind) or kind in _BINARY:
            secrets.extend(_leaves(value))
            kept[name] = REDACTED
        else:
            kept[name] = _redacted(value, secrets)
    return kept, tuple(dict.fromkeys(secrets))


def _redacted(value: Any, secrets: list[str], depth: int = 0) -> Any:
    if isinstance(value, str):
        return redact_text(value)
    if depth > DEPTH:
        return "[deeper]"
    if isinstance(value, Mapping):
        fields: dict[str, Any] = {}
        for key, part in value.items():
            name = str(key)
            # A yes or no is no secret, whatever its name.
            if is_secret(name) and not isinstance(part, bool | None):
                secrets.extend(_leaves(part))
                fields[redact_text(name)] = REDACTED
            else:
                fields[redact_text(name)] = _redacted(part, secrets, depth + 1)
        return fields
    if isinstance(value, list | tuple):
        return [_redacted(part, secrets, depth + 1) for part in value]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    """Return what JSON can hold, and SQLite's reading of JSON too."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int):
        if value.bit_length() > LONGEST_INTEGER:
            return f"[integer of {value.bit_length()} bits]"
        return REDACTED if redact_text(str(value)) != str(value) else value
    return f"[{type(value).__name__}]"


def _leaves(value: Any, depth: int = 0) -> Iterator[str]:
    if depth > DEPTH:
        return
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _leaves(part, depth + 1)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part, depth + 1)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(_scalar(value))


def redact_text(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return a text without what has the shape of a secret, and without the given ones."""
    # A secret that holds another goes first, or its ends would stay.
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        literal = text_literal(secret)
        text = text.replace(literal, f'"{REDACTED}"')
        if len(secret) >= 4:
            text = text.replace(literal[1:-1], REDACTED).replace(secret, REDACTED)
        elif secret.isdigit():
            text = re.sub(rf"\b{secret}\b", REDACTED, text)
    if len(text) < _SHORTEST:
        return text
    for shape, proof in _SHAPES:
        text = shape.sub(lambda found, proof=proof: _out(found, proof), text)  # type: ignore[misc]
    if ":" in text or "=" in text:
        text = _values_out(text)
    if "--" in text:
        text = _OPTION.sub(_option_out, text)
    return text


def _out(found: re.Match[str], proof: Callable[[str], bool]) -> str:
    return REDACTED if proof(found.group()) else found.group()


def _values_out(text: str) -> str:
    parts: list[str] = []
    end = 0
    for found in _ASSIGNED.finditer(text):
        value, (start, stop) = found["value"], found.span("value")
        known = value in ("true", "false", "null", REDACTED)
        if start < end or known or not is_secret(found["quoted"] or found["plain"]):
            continue
        quote = value[0] if value[0] in "\"'" else ""
        parts += (text[end:start], quote, REDACTED, quote)
        end = stop
    return "".join((*parts, text[end:]))


def _option_out(found: re.Match[str]) -> str:
    return f"{found['lead']}{REDACTED}" if is_secret(found["name"]) else found.group()


def digest(arguments: Mapping[str, Any]) -> str:
    """Return the SHA-256 of redacted arguments as hexadecimal digits.

    Of the redacted ones, for the digest of a short secret can be guessed.
    """
    text = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def shorten(value: Any, text: int = 1_000, items: int = 50, total: int = 16_384) -> Any:
    """Return a value cut for the store: its texts, its lists, and the whole in characters.

    What is missing is said in its place; a digest is made of the whole before.
    """
    cut = _short(value, text, items)
    size = len(json.dumps(cut))
    return cut if size <= total else f"[{size} characters]"


def _short(value: Any, text: int, items: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= text else f"{value[:text]}… [{len(value)} characters]"
    if isinstance(value, list | tuple):
        kept = [_short(part, text, items) for part in value[:items]]
        return kept if len(value) <= items else [*kept, f"… [{len(value)} items]"]
    if isinstance(value, Mapping):
        return {str(key)[:200]: _short(part, text, items) for key, part in value.items()}
    return value
