"""Mend: repairs XML that has exactly one reading, so that the file need not be lost.

Three faults qualify: an XInclude prefix that is never declared (RadiantPlayer), blanks before
the XML declaration, an ampersand that begins no reference. A mismatched tag has several
readings and is left alone. Line numbers stay as they were.
"""

import re
from collections.abc import Iterator

__all__ = ["mend", "with_lines"]

_XINCLUDE = b"http://www.w3.org/2001/XInclude"
_UNREAD = re.compile(rb"<!--|<!\[CDATA\[")
_INCLUDE = re.compile(rb"<([A-Za-z_][A-Za-z0-9_.-]{0,60}):include[\s/>]")
_ROOT = re.compile(rb"<dictionary(?=[\s/>])")
_BARE = re.compile(rb"&(?![A-Za-z_:][A-Za-z0-9_.:-]{0,60};|#[0-9]{1,8};|#[xX][0-9A-Fa-f]{1,8};)")
_BLANKS = re.compile(rb"[ \t\r\n]+(?=<\?xml[ \t\r\n])")
_ENCODING = re.compile(rb"encoding[ \t\r\n]*=[ \t\r\n]*[\"']([^\"']*)[\"']")


def mend(content: bytes) -> tuple[bytes, list[tuple[int, str]]]:
    """Return `content` mended, and (line, what was recovered) for each repair.

    Meant for content that a parser has refused; an empty list says that nothing was found.
    """
    told: list[tuple[int, str]] = []
    content = _declaration(content, told)
    content = _ampersands(content, told)
    return _prefixes(content, told), told


def with_lines(content: bytes) -> bytes:
    """Return `content` with every line end as a line feed, as XML 1.0 (2.11) reads it.

    The parser does so too, but counts no lines where carriage returns stand alone
    (AppleScriptKit, MacTerm): everything would be on line 1.
    """
    if b"\r" not in content:
        return content
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _line(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1


def _declaration(content: bytes, told: list[tuple[int, str]]) -> bytes:
    """Blank out an XML declaration that is not at the start: without one, XML is UTF-8."""
    found = _BLANKS.match(content)
    end = content.find(b"?>")
    if found is None or end < 0:
        return content
    declaration = content[found.end() : end + 2]
    encoding = _ENCODING.search(declaration)
    if encoding is not None and encoding[1].lower() not in (b"utf-8", b"us-ascii"):
        return content
    told.append((_line(content, found.end()), "blanks stand before the XML declaration; ignored"))
    return re.sub(rb"[^\r\n]", b" ", content[: end + 2]) + content[end + 2 :]


def _read(content: bytes) -> Iterator[tuple[int, int]]:
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


def _ampersands(content: bytes, told: list[tuple[int, str]]) -> bytes:
    places = [
        m.start() for start, end in _read(content) for m in _BARE.finditer(content, start, end)
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
    told += [(line, "an ampersand that begins no reference; taken as itself") for line in lines]
    return b"".join([*parts, content[start:]])


def _prefixes(content: bytes, told: list[tuple[int, str]]) -> bytes:
    parts = list(_read(content))
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
    told.append(
        (_line(content, used[prefix]), f"the prefix {name} is not declared; taken as XInclude")
    )
    return b'%s xmlns:%s="%s"%s' % (content[: root.end()], prefix, _XINCLUDE, content[root.end() :])
