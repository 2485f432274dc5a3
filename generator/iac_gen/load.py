"""Load: XML to a `Dictionary`. Renames nothing, keeps codes byte-exact.

Before the reader sees a file it is held against the limits; what cannot be seen is taken out
of its texts afterwards. Source: sdef(5); what real files contain beyond it is in
docs/dictionaries.md.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from iac_gen.diagnostics import Diagnostic
from iac_gen.hygiene import is_plain, on_one_line, screened
from iac_gen.limits import MAX_BYTES, LimitError, read_file, screen_xml
from iac_gen.mend import mend, with_lines
from iac_gen.model import Dictionary, Source
from iac_gen.reader import Reader

__all__ = ["MAX_BYTES", "MAX_INCLUDES", "LoadError", "Loaded", "load", "parse"]

MAX_INCLUDES = 16
"""Real dictionaries have two at most."""

_XINCLUDE = ("{http://www.w3.org/2001/XInclude}include", "{http://www.w3.org/2003/XInclude}include")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A dictionary that was read, and what was left out of it."""

    source: Source
    diagnostics: tuple[Diagnostic, ...] = ()


class LoadError(Exception):
    """A file that is no dictionary; `diagnostic` has the place and the reason."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


def load(path: Path, *, as_written: bool = False) -> tuple[Dictionary, list[Diagnostic]]:
    """Read the dictionary at `path` (a regular file of at most 4 MiB); see `parse`.

    Raises:
        LoadError: The file cannot be read, is no XML, is over a limit, or holds no dictionary.
    """
    try:
        content = read_file(path, MAX_BYTES)
    except LimitError as error:
        raise LoadError(_error(str(path), error.line, error.code, str(error))) from None
    return parse(content, str(path), as_written=as_written)


def parse(
    content: bytes, file: str, *, as_written: bool = False
) -> tuple[Dictionary, list[Diagnostic]]:
    """Return the dictionary in `content` and what was left out of it.

    Its texts are clean (`hygiene.screened`), but with `as_written` (for lint) as they stand.

    Raises:
        LoadError: No XML, over a limit (see `limits`), or no dictionary in it.
    """
    if not content.strip():
        raise LoadError(_error(file, 0, "empty", "is empty; a dictionary is an XML file"))
    try:
        if len(content) > MAX_BYTES:
            raise LimitError("size", f"is {len(content)} bytes; {MAX_BYTES} are the limit")
        root, mended = _tree(content)
    except LimitError as error:
        raise LoadError(_error(file, error.line, error.code, str(error))) from None
    line = root.sourceline or 0
    if root.tag != "dictionary":
        tag = on_one_line(str(root.tag), 64)
        raise LoadError(_error(file, line, "root", f"holds <{tag}>, not a <dictionary>"))
    recovered = [Diagnostic(file, place, "recovered", text) for place, text in mended]
    refused = [*recovered, *_refuse_includes(root, file)]
    reader = Reader(file)
    suites = tuple(reader.suites(root))
    if not suites:
        raise LoadError(_error(file, line, "empty", "declares no suite"))
    digest = hashlib.sha256(content).hexdigest()
    dictionary = Dictionary(file, digest, root.get("title") or "", suites)
    found = [*refused, *reader.diagnostics]
    if as_written or is_plain(content):
        return dictionary, found
    clean, told = screened(dictionary)
    return clean, [*found, *told]


def _tree(content: bytes) -> tuple[etree._Element, list[tuple[int, str]]]:
    """Return the root of a document within the limits, and (line, what) was mended in it.

    Raises:
        LimitError: It is over one, or no XML even when mended.
    """
    # UTF-16 holds zero bytes, and line ends of its own.
    text = content if b"\0" in content else with_lines(content)
    try:
        return _screened_tree(text), []
    except LimitError as error:
        if error.code != "xml":
            raise
        again, told = mend(text)
        if not told:
            raise
        return _screened_tree(again), told


def _screened_tree(content: bytes) -> etree._Element:
    screen_xml(content)
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, recover=False
    )
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        # Some of libxml2's messages end in a line break.
        reason = on_one_line((error.msg or "not well-formed").split(", line")[0])
        text = f"is no well-formed XML: {reason}"
        raise LimitError("xml", text, error.lineno or 0) from None


def _refuse_includes(root: etree._Element, file: str) -> Iterator[Diagnostic]:
    """Take out the includes that no dictionary needs, and tell each.

    What is left names a file in a map of known ones (`includes`); nothing opens it.
    """
    for count, node in enumerate(list(root.iter(*_XINCLUDE)), 1):
        href = node.get("href") or ""
        plain = unquote(href)
        if node.get("parse", "xml") != "xml":
            reason = "an include of text is refused"
        elif ".." in plain.split("/") or "\\" in plain:
            reason = f"an include that leaves its folder is refused: {on_one_line(href, 80)}"
        elif count > MAX_INCLUDES:
            reason = f"more than {MAX_INCLUDES} includes; this one is left out"
        else:
            continue
        parent = node.getparent()
        if parent is not None:
            parent.remove(node)
        yield _error(file, node.sourceline or 0, "include", reason)


def _error(file: str, line: int, code: str, message: str) -> Diagnostic:
    return Diagnostic(file, line, code, message, "error")
