"""Secrets: what holds one, judged by its name and type; what is one, judged by its shape.

One rule for every use: such a property is never read, such an argument is never stored, such a line
is shown without its value, and what is recorded loses it. A shape is a pattern with a proof, by
check digits or by how random it is. All of it is linear in the text: it may come from anybody.
"""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.text import text_literal
from iac_base.words import fold_name, split_name

_PIECE: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def _passes_luhn(number: str) -> bool:
    digits = [int(digit) for digit in number if digit.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[::-2]) + sum(doubled)) % 10 == 0


def _is_iban(iban: str) -> bool:
    plain = iban.replace(" ", "")
    digits = "".join(str(int(char, 36)) for char in plain[4:] + plain[:4])
    return 15 <= len(plain) <= 34 and int(digits) % 97 == 1


def _has_three_kinds(text: str) -> bool:
    kinds = {"a" if char.islower() else "A" if char.isupper() else char.isdigit() for char in text}
    return {"a", "A", True} <= kinds


def _is_random_text(text: str) -> bool:
    """Tell random text from a path or a long word: it falls into very short pieces."""
    # Ids of objects are full of UUIDs.
    text = _UUID.sub("", text)
    pieces = _PIECE.findall(text)
    return len(text) >= 40 and _has_three_kinds(text) and len(text) < 3 * len(pieces)


def _is_mixed(text: str) -> bool:
    """Tell a key from a word: it has a digit and a letter."""
    return any(char.isdigit() for char in text) and any(char.isalpha() for char in text)


def _is_no_word(text: str) -> bool:
    """Tell what a header carries from the next word of a sentence: `Basic commands`."""
    return not (text[-8:].isalpha() and text[-8:].islower())


def _is_prefixed_key(key: str) -> bool:
    """Tell a key in the manner of `sk-live-…` from words with dashes: a part of it is long."""
    return key.startswith("sk-") or max(map(len, re.split("[_-]", key))) >= 16


def _has_random_part(text: str) -> bool:
    """Tell a key with a prefix, or what ends an address, from names: a part of it is random."""
    _, *parts = re.split(r"[^A-Za-z0-9]+", _UUID.sub("", f"-{text}"))
    whole = "".join(parts[1:])
    if whole.casefold() != whole and whole.upper() != whole:
        parts.append(whole)
    return any(
        len(part) >= 18 and _is_mixed(part) and len(part) < 4 * len(_PIECE.findall(part))
        for part in parts
    )


def _names_hook(path: str) -> bool:
    """Tell the end of a webhook's address from a page about hooks."""
    parts = path.split("/")[1:]
    return any(len(part) >= 6 and any(map(str.isdigit, part)) for part in parts)


_IN_NO_PHRASE: Final = frozenset(
    "and are because been but could did does for from had has her his its not our should than the"
    " their them these those was were which would your".split()
)
"""Short words of sentences that are not in the list that recovery phrases are drawn from."""


def _is_recovery_phrase(text: str) -> bool:
    """Tell the words of a wallet from a sentence. Source: BIP 39, its English word list."""
    words = re.findall(r"\b(?!n\b)[a-z]+", text.replace("\\n", " "))
    return _IN_NO_PHRASE.isdisjoint(words)


_DIGIT: Final = re.compile("[0-9]")

_TABLES: Final = json.loads(Path(__file__).with_name("secrets.json").read_bytes())
"""`names`: what holds a secret, in English, its words apart. `labels`: what people write before
one, by language. `fields`: what fields that are filled in are called beside, `0` for any number.
`forms`: each kind, what every text of its form has in lower case (`0` for any
digit), the form, and the function above that proves it."""

_FORMS: Final[tuple[tuple[str, str, Callable[[str], bool]], ...]] = tuple(
    (row.get("needs", ""), row["form"], globals()[f"_{row['proof']}"] if "proof" in row else bool)
    for row in _TABLES["forms"]
)
_compile_form: Final = cache(re.compile)
"""When a text first has what it needs: most are never looked for."""


REDACTED: Final = "[redacted]"

DEPTH: Final = 32
"""Levels of an argument that are looked at; what lies deeper is not stored."""

LONGEST_INTEGER: Final = 512
"""Bits of an integer that is stored as it is."""

_BINARY: Final = frozenset(("data", "raw data", "tdta"))
_SHORTEST: Final = 8
"""Characters of a text that could have the shape of a secret (`token=ab`)."""

_HARMLESS: Final = re.compile(
    r"(?!(?i:.*(?:bearer|basic)))(?:(?:[A-Z]?[a-z]{1,15}|[A-Z]{1,9})(?:[_.,()\[\] ]{1,2}|\Z)){1,6}"
)
"""Names of apps and tools, few plain words: without a digit or a mark nothing tells of a secret."""

_SHORTEST_KNOWN: Final = 6
"""Characters of a variable's value that can be looked for everywhere without finding words."""

# What holds a secret, by its name.

_NAMES: Final = frozenset(tuple(name.split()) for name in _TABLES["names"].split("|"))
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
    whole = _fold_label(term)
    if _ENDS.search(whole) or _PASS.search(whole) or whole.endswith(_foreign_labels().ends):
        return True
    return any(
        tuple(words[start : start + count]) in _NAMES
        for start in range(len(words))
        for count in range(1, _LONGEST + 1)
    )


@lru_cache(maxsize=4096)
def is_secret_field(name: str) -> bool:
    """Say whether a field that is filled in holds a secret, by what it is called.

    More does than `is_secret` knows: on a button, or in a dictionary, "PIN" may be another word.
    """
    # Words in one: `ccNumber`.
    words = name if " " in name else f"{name} / {' '.join(split_name(name))}"
    plain = words if words.isascii() else unicodedata.normalize("NFC", words)
    return _secret_fields().search(plain.casefold()) is not None or is_secret(name)


@cache
def _secret_fields() -> re.Pattern[str]:
    """Return what fields are called, in any spelling: `cc-number`, `CC_NUMBER`."""
    forms: list[str] = []
    for language, names in _TABLES["fields"].items():
        words = re.sub("[ -]", r"[\\s_-]?", names.casefold()).replace("0", "[0-9]+")
        # Compounds end with them, but in English none do.
        begin = r"(?<![^\W_])" if language == "en" else ""
        forms.append(
            words if language in ("ja", "zh", "ko", "th") else rf"{begin}(?:{words})(?![^\W_])"
        )
    return re.compile("|".join(forms))


def _fold_label(text: str) -> str:
    return fold_name(unicodedata.normalize("NFC", text))


class _ForeignLabels(NamedTuple):
    """What secrets are called in the languages of macOS.

    Attributes:
        ends: As they are compared; compounds end with them.
        lasts: Their last words.
        told: A secret behind one in a language that is written without spaces.
    """

    ends: tuple[str, ...]
    lasts: frozenset[str]
    told: re.Pattern[str]


@cache
def _foreign_labels() -> _ForeignLabels:
    table = _TABLES["labels"]
    labels = "|".join(table.values()).split("|")
    lasts = (re.split(r"[\s'-]", label)[-1] for label in labels)
    unspaced = "|".join(table[language] for language in ("ja", "zh", "ko"))
    return _ForeignLabels(
        tuple(map(_fold_label, labels)),
        frozenset(map(_fold_label, lasts)),
        re.compile(rf"(?:{unspaced})(?:\s?(?:は|が|是|为|為|는|은)\s?|(?=[0-9]))([!-~]{{4,}})"),
    )


# What is a secret, by the name that stands before it.

_COPULAS: Final = "is|was|ist|war|lautet|est|es|era|è|é|är|er|on|to|jest|je"
_BLANK: Final = r"(?:\s|\\{1,2}(?:[nrt]|u000[9ad]))"
"""As it is, or as it is written in a literal, or in a text that is shown."""

_NAMED: Final = re.compile(
    # `password: x`, `"api key" = x`, `\"token\": x`, `env['SECRET'] := x`, `password "x"`,
    # `**Password**: x`, `password%3Dx`, `<password>x`, `<td>Password</td><td>x`.
    r"""(?:(?P<mark>\\{0,3}["'])(?P<quoted>[^"'\\\n]{1,64}+)(?P=mark)"""
    r"""|(?<![\w-])(?P<plain>[\w\u0300-\u036f\u0900-\u0e7f-]++))"""
    r"""(?:\]?[*`]{0,3}\s{0,9}(?P<sign>=>|:=|[:=\uff1a\uff1d]|%3[ADad])(?!=)[*`]{0,3}"""
    r"""(?:\s|&nbsp;){0,9}"""
    # A tag may name the next value, and is not passed.
    rf"""|(?=(?P<tag>>|\s?(?:</?\w[^<>]{{0,40}}>{_BLANK}{{0,9}}){{1,4}})[^\s<])"""
    rf"""|\s{{1,9}}(?:(?:{_COPULAS})\s{{1,9}})?(?=\\{{0,3}}["'])|\s(?P<of>of\s))"""
)
_OF: Final = re.compile(r"""[^"'\n]{1,80}?\sto\s{1,9}(?=\\{0,3}["'])""")
"""`set password of account 1 to "x"`, behind `of`."""

_TOLD: Final = re.compile(
    r"(?:(?<=\s)|(?<=\\[nrt])|(?<=\\u000[9ad]))"
    r"(?=[^\s0-9]{0,60}+[0-9]|[^\sa-z]{0,60}+(?:[a-z]{1,60}+[^\sa-z]{1,60}+){2})"
)
"""Where a word begins that may be no word: it has a digit, or capitals inside."""

_LEADS: Final = re.compile(rf"(\s(?:{_COPULAS})|\s[-–—]|\)?\s?[:\uff1a]|){_BLANK}{{1,3}}\Z")
"""What stands between a label and a value: `the password is hunter2`, `Password - hunter2`,
`password hunter2` in a table or a file, `Password for the router: hunter2`."""

_STOPS: Final = re.compile(r"[.,;:!?\n\"'<>{}=|\uff1a]")
_LONGEST_WORD: Final = 200
_NEAR: Final = 6
"""Words between a label and the mark before its value."""

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
_LABEL_WORD: Final = re.compile(r"[\w\u0300-\u036f\u0900-\u0e7f-]+")
_NO_LABEL: Final = re.compile(r"[^\w\u0300-\u0e7f'’ -]")
_NAME: Final = 64
"""Characters of the end of a name that are looked at."""

_HEADERS: Final = ("authorization", "cookie")
"""Names whose value after a colon is the rest of the line."""

_LITERAL: Final = re.compile(
    # To the end of the line where the closing mark is missing.
    r"""(?P<open>")(?:[^"\\]++|\\.)*+(?P<close>")|(?P<open1>')(?:[^'\\]++|\\.)*+(?P<close1>')"""
    r"""|(?P<open2>\\{1,3}["'])[^"'\\\n]*+(?P<close2>(?P=open2))?|(?P<open3>["'])[^\n]*+""",
    re.DOTALL,
)
_ARGUMENT: Final = re.compile(r"""(?=\S)(?:"(?:[^"\\]++|\\.)*+"|'[^']*+')?\S*""", re.DOTALL)
_RUN: Final = re.compile(r"""[^\s,;&"'(){}\[\]]+""")
_TAGGED: Final = re.compile(r"[^<\n]+")
_PROSE: Final = re.compile(
    # A word without the marks of the sentence that it ends.
    r"""[^\s"']*[^\s"'.,;:!?)}\[\]]"""
)
_MORE: Final = re.compile(r"""(?:[ \t]+[^\s"'.,;:(<\\]++(?=[\s"'.,;<\\]|\Z)){1,24}""")
_BEFORE: Final = re.compile(r"""(?:^|[\n"'])[^\n,;!?(){}="'<>]{0,60}\Z""")
"""A line up to a label: what stands behind the label is its value to the end of the line."""

_CODES: Final = re.compile(
    r"(?:[\s,;]+(?:[0-9]{1,2}[.)] )?[A-Za-z-]*[0-9][\w-]*(?=[\s,;<]|\Z)){1,30}"
)
"""The next codes of a list, in lines of their own too."""

_EMPTY: Final = re.compile(
    r"(?:Bearer )?(?:\[redacted(?:\].*)?|[.…*•\s_-]*+|\$(?:[A-Z][A-Z0-9_]*|\{\w+\}?)"
    r"|<[\w -]*>|\{\{[^{}]*\}\}|%\w)"
)
"""What stands in the place of a value."""

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
    return remove_spans(text, secret_spans(text))


def secret_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return where secrets stand in a text, by their shape or by what names them, in order."""
    if len(text) < _SHORTEST or _HARMLESS.fullmatch(text):
        return ()
    return (_find_spans if len(text) > _OFTEN else _often_found_spans)(text)


def _find_spans(text: str) -> tuple[tuple[int, int], ...]:
    # All are sought in the same text, or one that goes could take the name of the next along.
    return tuple(sorted((*_spans_by_shape(text), *_spans_by_name(text))))


_OFTEN: Final = 200
"""Characters of a text that comes again and again: a line, a reason, the name of a client."""

_often_found_spans: Final = lru_cache(maxsize=1024)(_find_spans)


def _spans_by_shape(text: str) -> Iterator[tuple[int, int]]:
    """Yield where texts stand that have the shape of a secret."""
    folded = text.casefold() + "0" * bool(_DIGIT.search(text))
    for needs, form, proof in _FORMS:
        if needs in folded:
            shape = _compile_form(form)
            group = "secret" if "secret" in shape.groupindex else 0
            yield from (m.span(group) for m in shape.finditer(text) if proof(m[0]))


def _spans_by_name(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the values stand that a name or an option tells of; they may overlap."""
    end = 0
    for match in _NAMED.finditer(text):
        name = match["quoted"] or match["plain"][-_NAME:]
        named = match.end() >= end and _names_secret(text, match.start(), name)
        if named and not _ends_there(text, match) and (span := _named_span(text, match, name)):
            yield span
            end = span[1]
    for match in _TOLD.finditer(text):
        value = _PROSE.match(text, match.start(), match.start() + _LONGEST_WORD)
        if value and _is_told(text[max(0, value.start() - _NAME) : value.start()], value[0]):
            yield value.span()
    if not text.isascii():
        yield from (match.span(1) for match in _foreign_labels().told.finditer(text))
    for match in _ANSWER.finditer(text) if "nswer" in text else ():
        begin, stop = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
        asks = _HIDDEN.search(text, begin, stop if stop >= 0 else len(text))
        if asks and (span := _value_span(text, match.end(), _RUN)) and span[0] < span[1]:
            yield span
    if " -" not in text and "--" not in text:
        return
    options = (match for match in _OPTION.finditer(text) if is_secret(match["name"]))
    for match in (*options, *_PROGRAM_OPTION.finditer(text)):
        if span := _secret_span(_ARGUMENT.match(text, match.end())):
            yield span


def _ends_there(text: str, match: re.Match[str]) -> bool:
    """Say whether the mark behind a name ends the text that it stands in: `"Password:"`."""
    end = match.end()
    mark = text[end : end + 1 + text.startswith("\\", end)]
    begin = max(text.rfind("\n", 0, match.start()) + 1, match.start() - 1000)
    before = text[begin : match.start()]
    return mark[-1:] in ('"', "'") and match["plain"] is not None and before.count(mark) % 2 == 1


@lru_cache(maxsize=4096)
def _ends_label(name: str) -> tuple[bool, bool, bool]:
    """Say whether a name tells of a secret, or can end one, in other languages and in English."""
    short = name.casefold().endswith(_SHORT) and split_name(name)[-1] in _SHORT
    named = short or _sounds_secret(name)
    english = name.lower().removesuffix("s") in _LASTS
    return named, _fold_label(name) in _foreign_labels().lasts, english


def _names_secret(text: str, start: int, name: str) -> bool:
    named, foreign, english = _ends_label(name)
    if named or not (foreign or english):
        return named
    before = _NO_LABEL.split(text[max(0, start - 30) : start])[-1]
    if foreign and _fold_label(before + name).endswith(_foreign_labels().ends):
        return True
    if not english:
        return False
    # `API key: x`: the name has words before the last one.
    words = split_name(before)[-2:]
    tails = (" ".join(words[at:]) for at in range(len(words)))
    return any(_sounds_secret(f"{tail} {name}") and not _sounds_secret(tail) for tail in tails)


def _is_told(before: str, value: str) -> bool:
    """Say whether what stands before a word says that it is a secret."""
    mixed = len(value) >= 4 and _is_mixed(value)
    if not mixed and not (len(value) >= 3 and value.isdigit()):
        return False
    lead = _LEADS.search(before, max(0, len(before) - 12))
    if lead is None:
        return False
    words = _STOPS.split(before[: lead.start()])[-1]
    if not mixed and words.casefold().endswith("tokens"):
        return False
    ends = [match.span() for match in _LABEL_WORD.finditer(words)]
    ends = ends[-_NEAR:] if lead[1] and mixed else ends[-1:]
    return any(_names_secret(words, start, words[start:end]) for start, end in ends)


def _named_span(text: str, match: re.Match[str], name: str) -> tuple[int, int] | None:
    """Return where the value stands that a name tells of, by the mark between them."""
    start, sign, pattern = match.end(), match["sign"], _RUN
    if match["tag"] and match["quoted"]:
        return None
    if match["of"]:
        to = _OF.match(text, start)
        return to and _value_span(text, to.end(), _RUN)
    if match["tag"]:
        return _value_span(text, match.end("tag"), _TAGGED)
    if sign == ":" and name.casefold().endswith(_HEADERS):
        pattern = _LINE
    elif sign in (":", "\uff1a") or text[start - 1 : start].isspace():
        pattern = _PROSE
    span = _value_span(text, start, pattern)
    if span is None or pattern is not _PROSE or text[span[0] - 1] in "\"'":
        return span
    if name.casefold().endswith("tokens") and text[slice(*span)].isdigit():
        # So many of a model's: `max_tokens: 20000`.
        return None
    if "\n" in text[match.start() : start] and _MORE.match(text, span[1]):
        # The next paragraph, and not a value.
        return None
    if _BEFORE.search(text, max(0, match.start() - 2 * _NAME), match.start()) and (
        more := _MORE.match(text, span[1])
    ):
        span = span[0], more.end()
    if name.endswith("s") and (more := _CODES.match(text, span[1])):
        span = span[0], more.end()
    return span


def _value_span(text: str, start: int, plain: re.Pattern[str]) -> tuple[int, int] | None:
    """Return where the value that begins at `start` stands, without its marks."""
    if literal := _LITERAL.match(text, start):
        opening = next(filter(None, literal.group("open", "open1", "open2", "open3")))
        closing = next(filter(None, literal.group("close", "close1", "close2")), "")
        span = literal.start() + len(opening), literal.end() - len(closing)
        return None if _EMPTY.fullmatch(text, *span) else span
    return _secret_span(plain.match(text, start))


def _secret_span(match: re.Match[str] | None) -> tuple[int, int] | None:
    if match is None or match[0] in _NO_SECRETS or _EMPTY.fullmatch(match[0]):
        return None
    return match.span()


def remove_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
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
        The arguments, and their secrets, for `redact_text`: elsewhere nothing may tell of them.
    """
    found: list[str] = []
    kept: dict[str, Any] = {}
    for name, value in arguments.items():
        kind = (types or {}).get(name, "text")
        if is_secret(name, kind) or kind in _BINARY:
            found.extend(_text_leaves(value))
            kept[name] = REDACTED
        else:
            kept[name] = _redact_value(value, (), found)
    return kept, tuple(dict.fromkeys(found))


def without_secrets(value: Any, secrets: Collection[str] = ()) -> Any:
    """Return a value without its secrets and the given ones; the rest stays as it was."""
    return _redact_value(value, secrets, [])


def secrets_in(value: Any) -> set[str]:
    """Return the secrets of a value that a name or a shape tells of, to take them out elsewhere."""
    found: list[str] = []
    _redact_value(value, (), found)
    return {secret for secret in found if len(secret) >= _SHORTEST_KNOWN and secret != REDACTED}


def secrets_of(environment: Mapping[str, str]) -> set[str]:
    """Return the values of variables whose names say that they are secret."""
    return {
        value
        for name, value in environment.items()
        if is_secret(name) and len(value) >= _SHORTEST_KNOWN
    }


def _redact_value(value: Any, secrets: Collection[str], found: list[str], depth: int = 0) -> Any:
    """Return a value without its secrets, which are added to those `found`, and the given ones."""
    if isinstance(value, str):
        if secrets:
            return redact_text(value, secrets)
        spans = secret_spans(value)
        told = (value[start:end] for start, end in spans)
        found += (secret for secret in told if len(secret) >= _SHORTEST_KNOWN)
        return remove_spans(value, spans)
    if depth > DEPTH:
        return "[deeper]"
    if isinstance(value, Mapping):
        fields: dict[str, Any] = {}
        for key, part in value.items():
            secret = is_secret(str(key)) and _can_be_secret(part)
            found += _text_leaves(part) if secret else ()
            kept = REDACTED if secret else _redact_value(part, secrets, found, depth + 1)
            fields[redact_text(str(key))] = kept
        return fields
    if isinstance(value, list | tuple):
        parts = [_redact_value(part, secrets, found, depth + 1) for part in value]
        label = value[0] if len(parts) in (2, 3) else None
        # The name of a property, its type, its value; a label and what it is of.
        if isinstance(label, str) and len(label) <= _NAME and is_secret(label):
            parts[-1] = REDACTED if _can_be_secret(parts[-1]) else parts[-1]
        make: Callable[[list[Any]], Any] = getattr(type(value), "_make", type(value))
        return make(parts)
    return _json_scalar(value)


def _can_be_secret(value: Any) -> bool:
    """Say whether a value under the name of a secret is one: a yes or no is none."""
    return not isinstance(value, bool | None) and value != ""


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
    if isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _text_leaves(part, depth + 1)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(_json_scalar(value))
