"""Load: XML to a `Dictionary`. Renames nothing, keeps codes byte-exact.

Before the reader sees a file it is held against the limits; what cannot be seen is taken out
of its texts afterwards. Source: sdef(5); what real files contain beyond it is in
docs/dictionaries.md.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from iac_gen.limits import MAX_BYTES, LimitError, read_file, screen_xml
from iac_gen.model import Diagnostic, Dictionary, Source
from iac_gen.reader import XINCLUDE, SdefReader
from iac_gen.text import is_plain, on_one_line, sanitize_dictionary

_XINCLUDE_NAMESPACE = b"http://www.w3.org/2001/XInclude"
_UNREAD = re.compile(rb"<!--|<!\[CDATA\[")
_INCLUDE = re.compile(rb"<([A-Za-z_][A-Za-z0-9_.-]{0,60}):include[\s/>]")
_ROOT = re.compile(rb"<dictionary(?=[\s/>])")
_BARE = re.compile(rb"&(?![A-Za-z_:][A-Za-z0-9_.:-]{0,60};|#[0-9]{1,8};|#[xX][0-9A-Fa-f]{1,8};)")
_BLANKS = re.compile(rb"[ \t\r\n]+(?=<\?xml[ \t\r\n])")
_ENCODING = re.compile(rb"encoding[ \t\r\n]*=[ \t\r\n]*[\"']([^\"']*)[\"']")


def repair_xml(content: bytes) -> tuple[bytes, list[tuple[int, str]]]:
    """Return `content` mended, and (line, what was recovered) for each repair.

    Meant for content that a parser has refused; an empty list says that nothing was found.
    """
    repairs: list[tuple[int, str]] = []
    content = _repair_declaration(content, repairs)
    content = _repair_ampersands(content, repairs)
    return _repair_prefixes(content, repairs), repairs


def normalize_line_ends(content: bytes) -> bytes:
    """Return `content` with every line end as a line feed, as XML 1.0 (2.11) reads it.

    The parser does so too, but counts no lines where carriage returns stand alone
    (AppleScriptKit, MacTerm): everything would be on line 1.
    """
    if b"\r" not in content:
        return content
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _line_at(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1


def _repair_declaration(content: bytes, repairs: list[tuple[int, str]]) -> bytes:
    """Blank out an XML declaration that is not at the start: without one, XML is UTF-8."""
    found = _BLANKS.match(content)
    end = content.find(b"?>")
    if found is None or end < 0:
        return content
    declaration = content[found.end() : end + 2]
    encoding = _ENCODING.search(declaration)
    if encoding is not None and encoding[1].lower() not in (b"utf-8", b"us-ascii"):
        return content
    repairs.append(
        (_line_at(content, found.end()), "blanks stand before the XML declaration; ignored")
    )
    return re.sub(rb"[^\r\n]", b" ", content[: end + 2]) + content[end + 2 :]


def _markup_spans(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of what is no comment and no CDATA section."""
    start = 0
    while opening := _UNREAD.search(content, start):
        yield start, opening.start()
        close = b"-->" if opening[0] == b"<!--" else b"]]>"
        end = content.find(close, opening.end())
        if end < 0:
            return
        start = end + len(close)
    yield start, len(content)


def _repair_ampersands(content: bytes, repairs: list[tuple[int, str]]) -> bytes:
    places = [
        m.start()
        for start, end in _markup_spans(content)
        for m in _BARE.finditer(content, start, end)
    ]
    if not places:
        return content
    parts = []
    start, line = 0, 1
    lines: dict[int, None] = {}
    for place in places:
        line += content.count(b"\n", start, place)
        lines[line] = None
        parts += [content[start:place], b"&amp;"]
        start = place + 1
    repairs += [(line, "an ampersand that begins no reference; taken as itself") for line in lines]
    return b"".join([*parts, content[start:]])


def _repair_prefixes(content: bytes, repairs: list[tuple[int, str]]) -> bytes:
    parts = list(_markup_spans(content))
    used: dict[bytes, int] = {}
    for start, end in parts:
        for found in _INCLUDE.finditer(content, start, end):
            used.setdefault(found[1], found.start())
    root = next((m for start, end in parts if (m := _ROOT.search(content, start, end))), None)
    missing = [prefix for prefix in used if b"xmlns:" + prefix not in content]
    # One prefix is a slip, several are something else.
    if root is None or len(missing) != 1:
        return content
    prefix = missing[0]
    name = prefix.decode("ascii")
    repairs.append(
        (_line_at(content, used[prefix]), f"the prefix {name} is not declared; taken as XInclude")
    )
    return b'%s xmlns:%s="%s"%s' % (
        content[: root.end()],
        prefix,
        _XINCLUDE_NAMESPACE,
        content[root.end() :],
    )


MAX_INCLUDES = 16
"""Real dictionaries have two at most."""
_TOLD = 10
"""Of one kind of finding in a file; the others are counted."""


@dataclass(frozen=True, slots=True)
class LoadedDictionary:
    """A dictionary that was read, and what was left out of it."""

    source: Source
    diagnostics: tuple[Diagnostic, ...] = ()


class LoadError(Exception):
    """A file that is no dictionary; `diagnostic` has the place and the reason."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


def load_dictionary(path: Path, *, as_written: bool = False) -> tuple[Dictionary, list[Diagnostic]]:
    """Read the dictionary at `path` (a regular file of at most 4 MiB); see `parse_dictionary`.

    Raises:
        LoadError: The file cannot be read, is no XML, is over a limit, or holds no dictionary.
    """
    try:
        content = read_file(path, MAX_BYTES)
    except LimitError as error:
        raise LoadError(_error_diagnostic(str(path), error.line, error.code, str(error))) from None
    return parse_dictionary(content, str(path), as_written=as_written)


def parse_dictionary(
    content: bytes, file: str, *, as_written: bool = False
) -> tuple[Dictionary, list[Diagnostic]]:
    """Return the dictionary in `content` and what was left out of it.

    Its texts are clean (`text.screened`), but with `as_written` (for lint) as they stand.

    Raises:
        LoadError: No XML, over a limit (see `limits`), or no dictionary in it.
    """
    if not content.strip():
        raise LoadError(
            _error_diagnostic(file, 0, "empty", "is empty; a dictionary is an XML file")
        )
    try:
        if len(content) > MAX_BYTES:
            raise LimitError("size", f"has {len(content)} bytes; the limit is {MAX_BYTES}")
        root, mended = _parse_tree(content)
    except LimitError as error:
        raise LoadError(_error_diagnostic(file, error.line, error.code, str(error))) from None
    line = root.sourceline or 0
    if root.tag != "dictionary":
        tag = on_one_line(str(root.tag), 64)
        raise LoadError(
            _error_diagnostic(file, line, "root", f"contains <{tag}> instead of <dictionary>")
        )
    recovered = [Diagnostic(file, place, "recovered", text) for place, text in mended]
    refused = [*recovered, *_refuse_includes(root, file)]
    reader = SdefReader(file)
    suites = tuple(reader.read_suites(root))
    if not suites:
        raise LoadError(_error_diagnostic(file, line, "empty", "declares no suite"))
    digest = hashlib.sha256(content).hexdigest()
    dictionary = Dictionary(file, digest, root.get("title") or "", suites)
    found = [*refused, *reader.diagnostics]
    if as_written or is_plain(content):
        return dictionary, found
    clean, removed = sanitize_dictionary(dictionary)
    return clean, [*found, *removed]


def _parse_tree(content: bytes) -> tuple[etree._Element, list[tuple[int, str]]]:
    """Return the root of a document within the limits, and (line, what) was mended in it.

    Raises:
        LimitError: It is over one, or no XML even when mended.
    """
    # UTF-16 holds zero bytes, and line ends of its own.
    text = content if b"\0" in content else normalize_line_ends(content)
    try:
        return _parse_screened_tree(text), []
    except LimitError as error:
        if error.code != "xml":
            raise
        again, repairs = repair_xml(text)
        if not repairs:
            raise
        return _parse_screened_tree(again), repairs


def _parse_screened_tree(content: bytes) -> etree._Element:
    screen_xml(content)
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, recover=False
    )
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        # Some of libxml2's messages end in a line break.
        reason = on_one_line((error.msg or "not well-formed").split(", line")[0])
        text = f"is not well-formed XML: {reason}"
        raise LimitError("xml", text, error.lineno or 0) from None


def _refuse_includes(root: etree._Element, file: str) -> Iterator[Diagnostic]:
    """Take out the includes that no dictionary needs, and tell each.

    What is left names a file in a map of known ones (`includes`); nothing opens it.
    """
    refused: list[tuple[int, str]] = []
    for count, node in enumerate(list(root.iter(*XINCLUDE)), 1):
        href = node.get("href") or ""
        plain = unquote(href)
        if node.get("parse", "xml") != "xml":
            reason = "an include of plain text is refused"
        elif ".." in plain.split("/") or "\\" in plain:
            reason = f"an include that leaves its folder is refused: {on_one_line(href, 80)}"
        elif count > MAX_INCLUDES:
            reason = f"there are more than {MAX_INCLUDES} includes; this one is left out"
        else:
            continue
        parent = node.getparent()
        if parent is not None:
            parent.remove(node)
        refused.append((node.sourceline or 0, reason))
    yield from (
        _error_diagnostic(file, line, "include", reason) for line, reason in refused[:_TOLD]
    )
    if len(refused) > _TOLD:
        line, _ = refused[_TOLD]
        yield _error_diagnostic(
            file, line, "include", f"{len(refused) - _TOLD} more includes are refused"
        )


def _error_diagnostic(file: str, line: int, code: str, message: str) -> Diagnostic:
    return Diagnostic(file, line, code, message, "error")
