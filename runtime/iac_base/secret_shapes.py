"""What a secret looks like: patterns, each with a proof by check digits or by how random it is."""

import re
from collections.abc import Callable
from typing import Final

_PIECE: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def _accept_any(_found: str) -> bool:
    return True


def _passes_luhn(found: str) -> bool:
    digits = [int(digit) for digit in found if digit.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[::-2]) + sum(doubled)) % 10 == 0


def _is_iban(found: str) -> bool:
    plain = found.replace(" ", "")
    digits = "".join(str(int(char, 36)) for char in plain[4:] + plain[:4])
    return 15 <= len(plain) <= 34 and int(digits) % 97 == 1


def _is_random_text(found: str) -> bool:
    """Tell random text from a path or a long word: it falls into very short pieces."""
    # Ids of objects are full of UUIDs.
    found = _UUID.sub("", found)
    pieces = _PIECE.findall(found)
    kinds = {"a" if char.islower() else "A" if char.isupper() else char.isdigit() for char in found}
    return len(found) >= 40 and {"a", "A", True} <= kinds and len(found) < 3 * len(pieces)


def _is_hex_key(found: str) -> bool:
    return any(char.isdigit() for char in found) and any(char.isalpha() for char in found)


def _is_prefixed_key(found: str) -> bool:
    """Tell a key in the manner of `sk-live-…` from words with dashes: a part of it is long."""
    return found.startswith("sk-") or max(map(len, re.split("[_-]", found))) >= 16


SHAPES: Final[tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...]] = tuple(
    (re.compile(shape), proof)
    for proof, *shapes in (
        (
            _accept_any,
            # A key whose end is missing ends with the text.
            r"(?s)-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
            r"(?:-----END[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
            r"(?i)\b(?:bearer|basic)\s++(?P<secret>[\w.~+/=-]{8,})",
            # The prefixes by which issuers mark their keys: GitHub, GitLab, Slack, Stripe, AI
            # vendors, Google, AWS, npm, PyPI, Hugging Face, SendGrid.
            r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|[rs]k_(?:live|test)_|AIza|ya29\."
            r"|(?:AKIA|ASIA)(?=[A-Z0-9]{12})|npm_|pypi-|hf_|SG\.)[\w./+=-]{10,}",
            # DER in base64, as keys and certificates are written without their frame.
            r"\bMII[A-Za-z0-9+/]{37,}={0,2}",
            # JSON in base64: the parts of a web token.
            r"\beyJ[\w-]{8,}(?:\.[\w-]*)*",
            # name:password@ in addresses; the name may be missing, the password may hold an @.
            r"(?<=://)[^\s/@:\"]*+:[^\s/\"]+(?=@)",
            # What a query or the part behind it gives under a name that is a word elsewhere.
            r"(?i)(?<=[?&#])(?:auth|code|key|pass|pw|session|sid|sig|signature)"
            r"=(?P<secret>[^&#\s\"']{4,})",
            r"\b(?:echo|printf)\s{1,9}(?P<secret>[^\n|;&]{1,200}?)\s{0,9}\|\s{0,9}sudo\b"
            r"[^\n|;&]{0,80}?\s-S\b",
        ),
        (_is_prefixed_key, r"\b(?:sk-[\w./+=-]{12,}|[spr]k[_-][\w-]{16,})"),
        (_passes_luhn, r"(?<![\w.-])[2-6](?:[ -]?[0-9]){12,18}(?![\w-])"),
        (_is_iban, r"(?<!\w)[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)"),
        (_is_hex_key, r"(?<![0-9A-Za-z])[0-9A-Fa-f]{32,}+(?![0-9A-Za-z])"),
        (_is_random_text, r"(?<![\w+/=-])[A-Za-z0-9+/_-]{40,}={0,2}"),
    )
    for shape in shapes
)
