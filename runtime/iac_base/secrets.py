"""Secrets: what holds one, judged by its name and type; what is one, judged by its shape.

One rule for every use: such a property is never read, such an argument is never stored, such a line
is shown without its value, and what is recorded loses it. A shape is a pattern with a proof, by
check digits or by how random it is. All of it is linear in the text: it may come from anybody.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from iac_base.text import text_literal
from iac_base.words import split_name

_PIECE: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def _accept_any(_text: str) -> bool:
    return True


def _passes_luhn(number: str) -> bool:
    digits = [int(digit) for digit in number if digit.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[::-2]) + sum(doubled)) % 10 == 0


def _is_iban(iban: str) -> bool:
    plain = iban.replace(" ", "")
    digits = "".join(str(int(char, 36)) for char in plain[4:] + plain[:4])
    return 15 <= len(plain) <= 34 and int(digits) % 97 == 1


def _is_random_text(text: str) -> bool:
    """Tell random text from a path or a long word: it falls into very short pieces."""
    # Ids of objects are full of UUIDs.
    text = _UUID.sub("", text)
    pieces = _PIECE.findall(text)
    kinds = {"a" if char.islower() else "A" if char.isupper() else char.isdigit() for char in text}
    return len(text) >= 40 and {"a", "A", True} <= kinds and len(text) < 3 * len(pieces)


def _is_hex_key(key: str) -> bool:
    return any(char.isdigit() for char in key) and any(char.isalpha() for char in key)


def _is_prefixed_key(key: str) -> bool:
    """Tell a key in the manner of `sk-live-…` from words with dashes: a part of it is long."""
    return key.startswith("sk-") or max(map(len, re.split("[_-]", key))) >= 16


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


REDACTED: Final = "[redacted]"

DEPTH: Final = 32
"""Levels of an argument that are looked at; what lies deeper is not stored."""

LONGEST_INTEGER: Final = 512
"""Bits of an integer that is stored as it is."""

_BINARY: Final = frozenset(("data", "raw data", "tdta"))
_SHORTEST: Final = 8
"""Characters of a text that could have the shape of a secret (`token=ab`)."""

_SHORTEST_KNOWN: Final = 6
"""Characters of a variable's value that can be looked for everywhere without finding words."""

# What holds a secret, by its name.

_NAMES: Final = frozenset(
    tuple(name.split())
    for name in (
        "authorization|bearer|cookie|credential|cvc|cvv|otp|passcode|passphrase|passwd|password"
        "|pwd|secret|token|access key|api key|card number|decryption key|encryption key|license key"
        "|one time code|pin code|private key|recovery key|security code|session key|signing key"
        "|verification code"
    ).split("|")
)
_JOINED: Final = frozenset("".join(words) for words in _NAMES if len(words) > 1)
_LASTS: Final = frozenset(words[-1] for words in _NAMES if len(words) > 1)
_LONGEST: Final = max(map(len, _NAMES))
_ENDS: Final = re.compile(
    # `dbpassword`, `authtoken`, `SessionKEY`.
    r"(?:password|passwd|passphrase|secret|token|apikey|accesskey|privatekey|sessionkey|credential"
    r"|authorization|cookie)s?\Z"
)
_PASS: Final = re.compile(r"(?<!by)(?<!com)(?<!over)(?<!sur)(?<!tres)(?<!under)pass\Z")
"""`DB_PASS`, `smtppass`; not `compass`."""

_NO_LETTER: Final = re.compile(r"[^a-z0-9]+")
OPEN_TYPES: Final = frozenset(("boolean", "date", "point", "rectangle"))
"""Types that cannot hold a secret: "require password to wake" is a yes or no."""

_SECURE: Final = frozenset(("password", "secure text", "secure text field", "AXSecureTextField"))


def is_secret(term: str, type: str = "text") -> bool:
    """Say whether a property, parameter, field or variable holds a secret.

    Args:
        term: Its name, in any spelling: `API key`, `apiKey`, `api_key`, `MYAPIKEY`.
        type: Its type as the tables write it (`text`, `boolean`, `text | missing value`), or the
            role of an accessibility element.
    """
    kinds = {kind.strip() for kind in type.split("|")} - {"missing value"}
    if kinds & _SECURE:
        return True
    if kinds and kinds <= OPEN_TYPES:
        return False
    return _sounds_secret(term)


@lru_cache(maxsize=4096)
def _sounds_secret(term: str) -> bool:
    words = split_name(term)
    words = [word.removesuffix("s") if not word.endswith("ss") else word for word in words]
    if not _JOINED.isdisjoint(words) or any(map(_ENDS.search, words)):
        return True
    whole = _NO_LETTER.sub("", term.casefold())
    if _ENDS.search(whole) or _PASS.search(whole):
        return True
    return any(
        tuple(words[start : start + count]) in _NAMES
        for start in range(len(words))
        for count in range(1, _LONGEST + 1)
    )


# What is a secret, by its shape.


# What is a secret, by the name that stands before it.

_NAMED: Final = re.compile(
    # `password: x`, `"api key" = x`, `\"token\": x`, `env['SECRET'] := x`, `password "x"`.
    r"""(?:(?P<mark>\\?["'])(?P<quoted>[^"'\\\n]{1,64}+)(?P=mark)|(?<![\w-])(?P<plain>[\w-]++))"""
    r"""(?:\]?\s{0,9}(?P<sign>=>|:=|[:=])(?!=)\s{0,9}|\s{1,9}(?:(?:to|is)\s{1,9})?(?=\\?["']))"""
)
_OPTION: Final = re.compile(r"(?:--|(?<![\w-])-)(?P<name>[A-Za-z][\w-]{0,40}+)\s{1,9}+(?!-)")
_PROGRAM_OPTION: Final = re.compile(
    # Programs whose short options take a password or name:password, or that take it last.
    r"\b(?:(?:sshpass|mysql\w{0,9}|mariadb\w{0,9}|7z)\b[^\n|;&]{0,80}?\s-p"
    r"|(?:un)?zip\b[^\n|;&]{0,80}?\s-P|redis-cli\b[^\n|;&]{0,80}?\s-a"
    r"|security\b[^\n|;&]{0,200}?\s-w|openssl\b[^\n|;&]{0,80}?\s-[kK]"
    r"|networksetup\s-setairportnetwork\s\S+\s(?:\S+|\\?[\"'][^\"'\\]+\\?[\"'])"
    r"|curl\b[^\n|;&]{0,200}?\s(?:-u|-U|--user|--proxy-user))[\s=]{0,9}(?=[^\s-])"
)
_ANSWER: Final = re.compile(r"""(?i)\bdefault ?answer["']?\s{0,9}:?\s{0,9}(?=["'])""")
_HIDDEN: Final = re.compile(r"(?i)\bhidden ?answer|pass(?:word|phrase|code)|secret|\btoken")
_SHORT: Final = ("pin", "pw")
_NAME: Final = 64
"""Characters of the end of a name that are looked at."""

_HEADERS: Final = ("authorization", "cookie")
"""Names whose value after a colon is the rest of the line."""

_LITERAL: Final = re.compile(
    # To the end of the line where the closing mark is missing.
    r"""(?P<open>")(?:[^"\\]++|\\.)*+(?P<close>")|(?P<open1>')(?:[^'\\]++|\\.)*+(?P<close1>')"""
    r"""|(?P<open2>\\["'])[^"'\\\n]*+(?P<close2>(?P=open2))?|(?P<open3>["'])[^\n]*+""",
    re.DOTALL,
)
_ARGUMENT: Final = re.compile(r"""(?=\S)(?:"(?:[^"\\]++|\\.)*+"|'[^']*+')?\S*""", re.DOTALL)
_RUN: Final = re.compile(r"""[^\s,;&"'(){}\[\]]+""")
_LINE: Final = re.compile(r"""[^\r\n"'\\]+""")
_NO_SECRETS: Final = frozenset(("true", "false", "null", REDACTED))


def redact_text(text: str, secrets: Collection[str] = ()) -> str:
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
    return _remove_spans(text, secret_spans(text))


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Return where secrets stand in a text, by their shape or by what names them, in order."""
    # All are sought in the same text, or one that goes could take the name of the next along.
    return sorted((*_spans_by_shape(text), *_spans_by_name(text)))


def _spans_by_shape(text: str) -> Iterator[tuple[int, int]]:
    """Yield where texts stand that have the shape of a secret."""
    for shape, proof in SHAPES:
        for match in shape.finditer(text):
            if proof(match.group()):
                yield match.span("secret") if "secret" in shape.groupindex else match.span()


def _spans_by_name(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the values stand that a name or an option tells of; they may overlap."""
    end = 0
    for match in _NAMED.finditer(text):
        name = match["quoted"] or match["plain"][-_NAME:]
        named = match.end() >= end and _names_secret(text, match.start(), name)
        if named and not _ends_there(text, match):
            rest = match["sign"] == ":" and name.casefold().endswith(_HEADERS)
            if span := _value_span(text, match.end(), _LINE if rest else _RUN):
                yield span
                end = span[1]
    for match in _ANSWER.finditer(text):
        begin, stop = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
        asks = _HIDDEN.search(text, begin, stop if stop >= 0 else len(text))
        if asks and (span := _value_span(text, match.end(), _RUN)) and span[0] < span[1]:
            yield span
    if "-" not in text:
        return
    for match in _OPTION.finditer(text):
        if is_secret(match["name"]) and (span := _secret_span(_ARGUMENT.match(text, match.end()))):
            yield span
    for match in _PROGRAM_OPTION.finditer(text):
        if span := _secret_span(_ARGUMENT.match(text, match.end())):
            yield span


def _ends_there(text: str, match: re.Match[str]) -> bool:
    """Say whether the mark behind a name ends the text that it stands in: `"Password:"`."""
    mark = text[match.end() : match.end() + 1]
    before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    return mark in ('"', "'") and match["plain"] is not None and before.count(mark) % 2 == 1


@lru_cache(maxsize=4096)
def _ends_in_short_word(name: str) -> bool:
    return (split_name(name) or [""])[-1] in _SHORT


def _names_secret(text: str, start: int, name: str) -> bool:
    if _sounds_secret(name) or _ends_in_short_word(name):
        return True
    if name.lower().removesuffix("s") not in _LASTS:
        return False
    # `API key: x`: the name has words before the last one.
    words = split_name(text[max(0, start - 30) : start])[-2:]
    tails = (" ".join(words[at:]) for at in range(len(words)))
    return any(_sounds_secret(f"{tail} {name}") and not _sounds_secret(tail) for tail in tails)


def _value_span(text: str, start: int, plain: re.Pattern[str]) -> tuple[int, int] | None:
    """Return where the value that begins at `start` stands, without its marks."""
    if literal := _LITERAL.match(text, start):
        opening = next(filter(None, literal.group("open", "open1", "open2", "open3")))
        closing = next(filter(None, literal.group("close", "close1", "close2")), "")
        return literal.start() + len(opening), literal.end() - len(closing)
    return _secret_span(plain.match(text, start))


def _secret_span(match: re.Match[str] | None) -> tuple[int, int] | None:
    return None if match is None or match[0] in _NO_SECRETS else match.span()


def _remove_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text without some parts, given in order; what overlaps goes as one."""
    parts: list[str] = []
    done = 0
    for start, end in spans:
        if end > done and text[start:end] != REDACTED:
            if start >= done:
                parts += (text[done:start], REDACTED)
            done = end
    return "".join((*parts, text[done:]))


# Out of values.


def redact_arguments(
    arguments: Mapping[str, Any], types: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the arguments as JSON can hold them, without secrets, and the secrets that were found.

    A value under a name that tells of a secret goes as a whole. Texts elsewhere lose the parts
    that have the shape of one: keys with a known prefix, tokens, private keys, card numbers,
    passwords in addresses and assignments, long random text.

    Returns:
        The arguments, and the secrets that a name or type told of, for `redact_text`.
    """
    secrets: list[str] = []
    kept: dict[str, Any] = {}
    for name, value in arguments.items():
        kind = (types or {}).get(name, "text")
        if is_secret(name, kind) or kind in _BINARY:
            secrets.extend(_text_leaves(value))
            kept[name] = REDACTED
        else:
            kept[name] = _redact_value(value, secrets)
    return kept, tuple(dict.fromkeys(secrets))


def without_secrets(value: Any, secrets: Collection[str] = ()) -> Any:
    """Return a value without its secrets and the given ones; the rest stays as it was."""
    if isinstance(value, str):
        return redact_text(value, secrets)
    if isinstance(value, list):
        return [without_secrets(item, secrets) for item in value]
    if isinstance(value, dict):
        return {
            key: REDACTED
            if is_secret(str(key)) and not isinstance(item, bool | None) and item != ""
            else without_secrets(item, secrets)
            for key, item in value.items()
        }
    return value


def secrets_in(value: Any) -> set[str]:
    """Return the secrets of a value that a name or a shape tells of, to take them out elsewhere."""
    if isinstance(value, str):
        spans = (*_spans_by_shape(value), *_spans_by_name(value))
        secrets = {value[start:end] for start, end in spans}
    elif isinstance(value, Mapping):
        secrets = set[str]()
        for key, item in value.items():
            secret = is_secret(str(key)) and not isinstance(item, bool | None)
            secrets.update(_text_leaves(item) if secret else secrets_in(item))
    elif isinstance(value, list | tuple):
        secrets = set[str]().union(*map(secrets_in, value))
    else:
        return set()
    return {secret for secret in secrets if len(secret) >= _SHORTEST_KNOWN and secret != REDACTED}


def secrets_of(environment: Mapping[str, str]) -> set[str]:
    """Return the values of variables whose names say that they are secret."""
    return {
        value
        for name, value in environment.items()
        if is_secret(name) and len(value) >= _SHORTEST_KNOWN
    }


def _redact_value(value: Any, secrets: list[str], depth: int = 0) -> Any:
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
                secrets.extend(_text_leaves(part))
                fields[redact_text(name)] = REDACTED
            else:
                fields[redact_text(name)] = _redact_value(part, secrets, depth + 1)
        return fields
    if isinstance(value, list | tuple):
        return [_redact_value(part, secrets, depth + 1) for part in value]
    return _json_scalar(value)


def _json_scalar(value: Any) -> Any:
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


def _text_leaves(value: Any, depth: int = 0) -> Iterator[str]:
    if depth > DEPTH:
        return
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _text_leaves(part, depth + 1)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _text_leaves(part, depth + 1)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(_json_scalar(value))
