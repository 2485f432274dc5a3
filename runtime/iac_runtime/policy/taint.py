"""What must not leave an app, and what came from one.

Properties that hold secrets: no call reads one, asks for one in a filter, or hands one on.
Values that came from an app: what a later call uses of them was perhaps chosen by a stranger.
Texts that a reader got without their hidden characters: written back they would destroy these.

Two texts are compared in the forms that `comparable_forms` returns of each: decoded until nothing
is left to decode, without blanks and characters that show nothing, without case. An encoding that
a blank broke is put together first; one that a blank ends is also read as it stands.
"""

import base64
import math
import re
import threading
import unicodedata
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from iac_base.errors import quote_text
from iac_base.secrets import is_secret
from iac_base.text import AROUND, left_out, visible_text
from iac_base.words import fold_name
from iac_runtime.language.reader import RefText
from iac_runtime.language.steps import AllElements, Event, PropertyStep
from iac_runtime.language.terms import id_property
from iac_runtime.policy.places import SYSTEM_EVENTS
from iac_runtime.policy.requests import find_specifiers_and_columns, lowercase_words
from iac_runtime.tools.tables import Tables
from iac_runtime.types import TYPES, parse_type

_ALL: Final = "properties"
"""JXA's name of the record of all properties, which cannot be asked for in part."""


_CONTENTS: Final = frozenset({"contents", "entireContents"})
"""What System Events has of all that is in a file or a window; it has to be asked for by name."""


def find_secrets_read(
    event: Event, tables: Tables | None, extra: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the secret properties that a request would read, by JXA name.

    Args:
        event: The request, which went through `remove_secret_columns`.
        tables: Those of the app, for the types of its properties; None if there are none.
        extra: Globs over the names of further properties, in words (`account id`).
    """
    globs = tuple(extra)
    asked = find_specifiers_and_columns(event)
    steps = (step for path in asked for step in path)
    names = dict.fromkeys(one.name for one in steps if isinstance(one, PropertyStep | AllElements))
    secrets = [name for name in names if is_secret_property(name, tables, globs)]
    for path in asked:
        # Of the objects of a collection all is read at once, where a secret may be among it.
        if PropertyStep(_ALL) not in path:
            continue
        holders = [step.name for step in path if isinstance(step, AllElements)]
        term = tables.find_class(holders[-1]) if tables is not None and holders else None
        known = tables.properties(term) if tables and term else ()
        if not known or (tables and term in secret_classes(tables, globs)):
            secrets.append(f"all of {holders[-1] if holders else 'the app'}")
    return tuple(secrets)


def remove_secret_columns(event: Event, tables: Tables | None, extra: Iterable[str] = ()) -> Event:
    """Return a request for all properties of an object as one for those that are no secret.

    Any other request is returned as it is: there a secret was asked for by name.
    """
    globs = tuple(extra)
    if event.parts:
        parts = tuple(remove_secret_columns(part, tables, globs) for part in event.parts)
        return replace(event, parts=parts)
    if event.op != "properties":
        return event
    hidden = _CONTENTS if event.app.casefold() == SYSTEM_EVENTS else frozenset[str]()
    kept = tuple(
        column
        for column in event.columns
        if column.jxa not in hidden and not is_secret_property(column.jxa, tables, globs)
    )
    whole = len(kept) == len(event.columns)
    return event if whole else replace(event, op="columns", columns=kept)


@lru_cache(maxsize=256)
def secret_classes(tables: Tables, globs: tuple[str, ...]) -> frozenset[str]:
    """Return the classes among whose properties, or those of a subclass, is a secret."""
    return frozenset(
        name
        for term in tables.classes
        if any(is_secret_property(row.jxa, tables, globs) for row in tables.properties(term))
        for name, _ in tables.lineage(term)
    )


def hide_secrets(
    value: Any, secret: Callable[[str], bool], hidden: dict[str, None] | None = None
) -> Any:
    """Return a value without the fields whose name is `secret`; a yes or no is none.

    Args:
        value: Plain values.
        secret: Says whether a property of a name holds one.
        hidden: Gets the names of what was left out.
    """
    hidden = {} if hidden is None else hidden
    if isinstance(value, list):
        return [hide_secrets(part, secret, hidden) for part in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, part in value.items():
        if not isinstance(part, bool | None) and secret(str(key)):
            hidden[str(key)] = None
        else:
            kept[key] = hide_secrets(part, secret, hidden)
    return kept


def named_secret(name: str, globs: Iterable[str]) -> bool:
    """Say whether the user named a property as one that is not read."""
    words = lowercase_words(name)
    return any(fnmatchcase(words, glob.replace("_", " ").lower()) for glob in globs)


def is_secret_property(name: str, tables: Tables | None, globs: tuple[str, ...]) -> bool:
    """Say whether a property holds a secret, by its name and its type; `globs` as above."""
    if globs and named_secret(name, globs):
        return True
    harmless = tables is not None and fold_name(name) in _harmless_properties(tables)
    return _has_secret_name(name) and not harmless


_has_secret_name: Final = lru_cache(maxsize=4096)(is_secret)


@lru_cache(maxsize=256)
def _harmless_properties(tables: Tables) -> frozenset[str]:
    """Return the properties that sound like a secret but by their type hold none."""
    rows = [row for part in tables.classes.values() for row in part.properties]
    rows += [row for part in tables.records.values() for row in part.properties]
    kinds: dict[str, bool] = {}
    for row in rows:
        for name in {row.jxa, row.term}:
            if _has_secret_name(name):
                key = fold_name(name)
                kinds[key] = kinds.get(key, False) or is_secret(name, row.type)
    return frozenset(name for name, secret in kinds.items() if not secret)


MAX_REMEMBERED_CHARACTERS: Final = 16_000_000
"""Characters of results that are kept, the newest; the last one is kept whole, whatever its size.
Only calls that hold a recipient, URL, path or script are searched for."""

_PLACES: Final = 50_000
"""Places in texts that are kept, the newest."""

MIN_TEXT_LENGTH: Final = 8
"""Characters of a text that counts; a URL or an address counts at any length."""

_ADDRESS: Final = re.compile(
    r"[^\s<>,;:\"'()/?&=\\]+@[^\s<>,;:\"'()@/?&=#%\\]+\.[^\s<>,;:\"'()@/?&=#%\\.]+"
)
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s<>\"'`{}|\\^]+")
_LINK: Final = re.compile(f"{_ADDRESS.pattern}|{_URL.pattern}")
_PATH: Final = re.compile(r"~?/|file:|[^:/\n\d]+(?::[^:/\n]+){2,}:?\Z")


class ResultSource(NamedTuple):
    """Where a result came from.

    Attributes:
        tool, app: The tool that was called, and the app by its name.
        kind, reference, label: The class, the object and the property that was read; empty for
            anything else.
        tables: Those of the app, where what was read are its properties; else None.
    """

    tool: str = ""
    app: str = ""
    kind: str = ""
    reference: str = ""
    label: str = ""
    tables: Tables | None = None


class _Span(NamedTuple):
    """A text of a result: of which object, as which property, by the tool that answered it."""

    source: ResultSource
    reference: str
    label: str
    text: str


class Taint:
    """The texts of recent results of this process, and what calls carried before they came.

    A stranger's is what stood in a result before a caller named it: an app that answers with what
    a call gave it says nothing new. Ids, files and enumerators are facts of this machine, and
    accounts and mailboxes are named by their owner. Safe to share between threads.
    """

    def __init__(self, bound: int = MAX_REMEMBERED_CHARACTERS) -> None:
        self._bound = bound
        # When each result came, and its spellings once the first search came.
        self._results: OrderedDict[tuple[_Span, ...], tuple[int, str | None]] = OrderedDict()
        self._size = 0
        self._clock = 0
        # When a holder first carried a text, and what is still to be taken apart.
        self._carried: dict[tuple[str, str], int] = {}
        self._calls: deque[tuple[int, str, tuple[str, ...]]] = deque(maxlen=_CALLS)
        self._lacking: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._lock = threading.Lock()

    def remember_call(self, arguments: Any, holder: str) -> None:
        """Remember what a call carries that is about to run."""
        texts = tuple(text for text in iterate_texts(arguments) if len(text) <= _LONGEST)
        with self._lock:
            self._clock += 1
            self._calls.append((self._clock, holder, texts))

    def remember_texts(self, value: Any, source: ResultSource = ResultSource()) -> None:  # noqa: B008 (it is immutable)
        """Remember every text in a result, and where each came from."""
        spans = tuple(_iterate_spans(value, source, source.reference, source.label))
        with self._lock:
            self._clock += 1
            if spans not in self._results:
                self._size += sum(len(span.text) for span in spans)
                self._results[spans] = (self._clock, None)
            self._results.move_to_end(spans)
            while self._size > self._bound and len(self._results) > 1:
                old = self._results.popitem(last=False)[0]
                self._size -= sum(len(span.text) for span in old)
                # What stood in it may have been carried since: that clears nothing any more.
                self._carried.clear()
                self._calls.clear()

    def add_cleaned(self, value: Any, holder: str) -> None:
        """Remember where the texts of a result lack something for their reader."""
        places = (place for text in iterate_texts(value) for place in left_out(text) if place)
        with self._lock:
            self._lacking.update(dict.fromkeys((holder, place) for place in places))
            while len(self._lacking) > _PLACES:
                self._lacking.popitem(last=False)

    def lacks(self, text: str, holder: str) -> bool:
        """Say whether `text` holds a place where its reader got less than the app has."""
        if not self._lacking or left_out(text):
            return False
        text = unicodedata.normalize("NFC", text)
        parts = (
            text[start : start + size]
            for size in range(AROUND, 2 * AROUND + 1)
            for start in range(len(text) - size + 1)
        )
        return any((holder, part) in self._lacking for part in (text, *parts))

    def _results_with(
        self, needles: Sequence[str], moment: float
    ) -> list[tuple[int, tuple[_Span, ...]]]:
        """Return the results before a moment in which one of some texts stood."""
        with self._lock:
            for spans, (at, spelled) in self._results.items():
                if spelled is None:
                    # Between two stands what no needle holds: nothing matches across them.
                    forms = (form for span in spans for form in comparable_forms(span.text))
                    self._results[spans] = (at, "\0".join(forms))
            return [
                (at, spans)
                for spans, (at, spelled) in self._results.items()
                if spelled and at < moment and _holds(spelled, needles)
            ]

    def _first_carried(self, text: str, holder: str) -> float:
        """Return when a holder first carried a text, or a piece of one; infinity for never."""
        with self._lock:
            while self._calls:
                at, whose, texts = self._calls.popleft()
                if len(self._carried) > _PLACES:
                    # Less is known to be a caller's own: that is asked about once more.
                    self._carried.clear()
                for piece in (piece for given in texts for piece in argument_pieces(given)):
                    self._carried.setdefault((whose, _piece_key(piece)), at)
            return self._carried.get((holder, _piece_key(text)), math.inf)

    def _find_span(self, text: str, holder: str) -> _Span | None:
        """Return where a text stood that a stranger wrote, however either of them is spelled."""
        forms = [form.rstrip("/") for form in comparable_forms(text)]
        needles = [one for one in forms if len(one) >= MIN_TEXT_LENGTH or _LINK.fullmatch(one)]
        moment = self._first_carried(text, holder) if needles else 0
        for at, spans in self._results_with(needles, moment) if needles else ():
            for span in spans:
                if not any(_holds(form, needles) for form in comparable_forms(span.text)):
                    continue
                echo = self._first_carried(span.text, holder) < at
                if not echo and not _is_own_fact(span, needles):
                    return span
        return None

    def find_tainted_piece(self, value: str, *, whole: bool = True, holder: str = "") -> str:
        """Return the first piece of an argument that came from a result, or an empty text.

        Without `whole` a text that is no URL, address or path counts by those in it alone.
        `holder` is who makes the call: what others carried is a stranger's to it.
        """
        pieces = argument_pieces(value, whole=whole)
        return next((piece for piece in pieces if self._find_span(piece, holder)), "")

    def describe_source(self, piece: str, holder: str = "") -> str:
        """Return where a tainted piece was read: `the message "Invoice" from Ines in Mail`."""
        span = self._find_span(piece, holder)
        if span is None or not span.source.tool:
            return "an earlier result"
        source, place = span.source, f" in {span.source.app}" if span.source.app else ""
        if not source.kind:
            return f"what {source.tool} answered{place}"
        with self._lock:
            known = [
                one
                for spans in self._results
                for one in spans
                if one.reference == span.reference != "" and one.source.app == source.app
            ]
        told = {one.label: one.text for one in known if one.text}
        names = [_quote_plain(told[key]) for key in _TITLES if key in told][:1]
        names += [f"from {_quote_plain(told['sender'])}"] if "sender" in told else []
        if not names and span.label:
            return f"the {span.label} of a {source.kind}{place}"
        return f"the {' '.join((source.kind, *names))}{place}"


_CALLS: Final = 2_000
"""Calls whose texts are kept until something is searched for, the newest."""

_LONGEST: Final = 20_000
"""Characters of a text that is taken apart for what a call carries."""

_TITLES: Final = ("subject", "name", "title", "summary")

_TITLE_LENGTH: Final = 40


def _quote_plain(text: str) -> str:
    return quote_text(text.replace('"', "'"), _TITLE_LENGTH)


def _holds(text: str, needles: Iterable[str]) -> bool:
    return any(needle in text for needle in needles)


def _piece_key(text: str) -> str:
    return _comparable_form(text).rstrip("/")


_REF: Final = "ref"
"""The key of an object among its properties in a list."""


def _iterate_spans(value: Any, source: ResultSource, reference: str, label: str) -> Iterator[_Span]:
    if isinstance(value, str):
        yield _Span(source, reference, label, value)
    elif isinstance(value, Mapping):
        reference = str(value.get(_REF) or reference)
        for key, part in value.items():
            yield from _iterate_spans(part, source, reference, str(key))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _iterate_spans(part, source, reference, label)


_OWNED: Final = frozenset({"account", "accounts", "mailbox", "mailboxes"})
"""Last words of the classes that their owner named."""

_OWNER_SAYS: Final = frozenset({"address", "addresses", "name", "path", "type"})
"""Last words of what their owner set of them."""

_SAID: Final = frozenset({"boolean", "date", "file", "integer", "missing", "number"})
"""How types are read of what the app or the system says, as it does enumerators; any other may be
what somebody wrote."""

_CHOSEN: Final = re.compile(r"[.@]")
"""What an id that a sender chose has in it, if it leads anywhere."""

_QUOTED: Final = re.compile(r'(\w+)(\.byId\(|\[)"((?:[^"\\]|\\.)*)"')
"""An object in a reference, by its id or its name."""


def _is_own_fact(span: _Span, needles: Sequence[str]) -> bool:
    """Say whether nobody but the machine or its owner can have written where a text stands.

    An id can be a stranger's, as that of a mail or an invitation: no app makes one like an address.
    """
    if isinstance(span.text, RefText):
        texts = (
            text
            for holder, way, text in _QUOTED.findall(span.text)
            if (_CHOSEN.search(text) if way != "[" else not _is_owned(lowercase_words(holder)))
        )
        return not any(_holds(form, needles) for text in texts for form in comparable_forms(text))
    tables, kind = span.source.tables, span.source.kind
    row = tables.find_property(kind, span.label) if tables and kind else None
    if tables is None or row is None:
        return False
    word = row.term.rpartition(" ")[2]
    if _is_owned(kind) and word in _OWNER_SAYS:
        return True
    if row == id_property(kind, tables):
        return not _CHOSEN.search(span.text)
    if word == "path" and _PATH.match(span.text):
        return not any(map(_LINK.fullmatch, needles))
    kinds = [one.name for one in parse_type(row.type)]
    said = (
        name in tables.enums or (name in TYPES and TYPES[name].reading in _SAID) for name in kinds
    )
    return bool(kinds) and all(said)


def _is_owned(kind: str) -> bool:
    return kind.rpartition(" ")[2] in _OWNED


def iterate_texts(value: Any) -> Iterator[str]:
    """Yield the texts of a value, as deep as they lie."""
    return (span.text for span in _iterate_spans(value, ResultSource(), "", ""))


def argument_pieces(value: str, *, whole: bool = True) -> Iterator[str]:
    """Yield what of an argument can have come from a result.

    The whole, if long enough; every URL and address in it, in any encoding; of a URL also the host,
    and what its path, query and fragment carry, decoded: that is how a value leaves by a link.
    """
    forms = (value, *decoded_forms(value, str), *decoded_forms(value, remove_blanks))
    for text in dict.fromkeys(forms):
        if len(text.strip()) >= MIN_TEXT_LENGTH and (whole or _PATH.match(text.strip())):
            yield text
        yield from _ADDRESS.findall(text)
        for url in _URL.findall(text):
            yield url
            yield from (part for part in _url_pieces(url) if len(part) >= MIN_TEXT_LENGTH)


def _url_pieces(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        yield parts.hostname or ""
    except ValueError:
        return
    yield from map(unquote, parts.path.split("/"))
    for pair in parse_qsl(parts.query, keep_blank_values=True):
        yield from pair
    yield unquote(parts.fragment)


_ROUNDS: Final = 4
"""Encodings within one another that are undone."""

_ENTITY: Final = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-f]{4})|x([0-9a-f]{2})|[nrt]|(?=[^\w\s]))", re.I)
_CARRIED: Final = re.compile(r"[?=&#]([A-Za-z0-9+/_-]{8,})")
_CODED: Final = re.compile(rf"%[0-9a-fA-F]{{2}}|{_ENTITY.pattern}|\\|{_CARRIED.pattern}")
_READABLE: Final = re.compile(r"[^\x00-\x08\x0e-\x1f\x7f\ufffd]{6,}")
_HOST: Final = re.compile(r"xn--([a-z0-9-]+)")


def comparable_forms(text: str) -> tuple[str, ...]:
    """Return the forms in which a text is compared; without an encoding in it there is one."""
    forms = [text]
    for clean in (str, remove_blanks):
        if _CODED.search(clean(text)):
            forms += decoded_forms(text, clean)
    return tuple(dict.fromkeys(filter(None, map(_comparable_form, forms))))


def decoded_forms(text: str, clean: Callable[[str], str]) -> list[str]:
    """Return a text with its encodings undone, and what pieces of a query in it decode to.

    Each goes through `clean` first: without its blanks, an encoding that was split is found.
    """
    forms = [text]
    for _ in range(_ROUNDS):
        before, forms = forms, [_decode_once(clean(part)) for part in forms]
        forms += [piece for whole in forms for piece in _decode_query_pieces(whole)]
        forms = list(dict.fromkeys(forms))
        if forms == before:
            break
    return forms


def _decode_once(text: str) -> str:
    text = unquote(text)
    if _ENTITY.search(text):
        # Its table is for few texts.
        from html import unescape

        text = _ENTITY.sub(lambda entity: unescape(entity[0]), text)
    return _ESCAPE.sub(_decode_escape, text)


def _decode_escape(escape: re.Match[str]) -> str:
    number = escape[1] or escape[2]
    return chr(int(number, 16)) if number else " " if len(escape[0]) > 1 else ""


def _decode_query_pieces(text: str) -> Iterator[str]:
    """Yield what pieces of a query decode to, as far as that can be read."""
    for match in _CARRIED.finditer(text):
        piece = match[1].translate({ord("-"): "+", ord("_"): "/"})
        even = re.match(r"(?:[0-9a-fA-F]{2}){6,}", piece)
        piece = piece[: len(piece) - (len(piece) % 4 == 1)]
        content = bytes.fromhex(even[0] if even else "") + b"\0" + base64.b64decode(piece + "==")
        yield from _READABLE.findall(content.decode(errors="replace"))


def remove_blanks(text: str) -> str:
    """Return a text without blanks and characters that show nothing."""
    return "".join(visible_text(text).split())


def _comparable_form(text: str) -> str:
    plain = unicodedata.normalize("NFKC", remove_blanks(text)).casefold()
    return _HOST.sub(_decode_punycode, plain)


def _decode_punycode(label: re.Match[str]) -> str:
    try:
        return unicodedata.normalize("NFKC", label[1].encode().decode("punycode")).casefold()
    except UnicodeError:
        return label[0]
