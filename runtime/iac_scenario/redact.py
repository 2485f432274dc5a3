"""Takes secrets out of what was recorded: by the key they stand under, by form, by being known."""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

__all__ = ["HIDDEN", "is_secret_name", "redacted", "secrets_of"]

HIDDEN: Final = "[redacted]"

_NAMES: Final = re.compile(
    r"(?i)(pass(word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|credential|authorization|cookie|session[_-]?key)s?$"
)
_FORMS: Final = re.compile(
    r"""(?x)
    \b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9]{16,}        # model vendors, Stripe
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_\w{20,}
    | \bglpat-[\w-]{16,} | \bxox[abprs]-[\w-]{10,} | \bnpm_[A-Za-z0-9]{30,}
    | \bpypi-[\w-]{30,} | \bAKIA[0-9A-Z]{16}\b | \bAIza[\w-]{30,}
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}                         # JSON web tokens
    | (?<=://)[^/\s:@]+:[^/\s@]+(?=@)                              # user:password@ in addresses
    | -----BEGIN[A-Z ]*PRIVATE\ KEY-----.*?(?:-----END[A-Z ]*PRIVATE\ KEY-----|\Z)
    """,
    re.DOTALL,
)
_BEARER: Final = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
_SHORTEST: Final = 6


def is_secret_name(name: str) -> bool:
    """Whether a key or variable of that name holds a secret."""
    return _NAMES.search(name) is not None


def secrets_of(environment: Mapping[str, str]) -> set[str]:
    """Return the values of variables whose names say that they are secret."""
    return {
        value
        for name, value in environment.items()
        if is_secret_name(name) and len(value) >= _SHORTEST
    }


def redacted(value: Any, secrets: Collection[str]) -> Any:
    """Return a value without its secrets; what is no secret stays as it was."""
    if isinstance(value, str):
        return _text(value, secrets)
    if isinstance(value, list):
        return [redacted(item, secrets) for item in value]
    if isinstance(value, dict):
        return {
            key: HIDDEN
            if is_secret_name(key) and isinstance(item, str) and item
            else redacted(item, secrets)
            for key, item in value.items()
        }
    return value


def _text(text: str, secrets: Collection[str]) -> str:
    # Longer ones first: one secret may be part of another.
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    text = _FORMS.sub(HIDDEN, text)
    return _BEARER.sub(lambda found: f"{found[1]} {HIDDEN}", text)
