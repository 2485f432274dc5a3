"""Load: XML to a `Dictionary`. Renames nothing, drops nothing, keeps codes byte-exact.

Source: sdef(5); what real files contain beyond it is in docs/dictionaries.md.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from iac_gen.diagnostics import Diagnostic
from iac_gen.model import Dictionary, Source
from iac_gen.reader import Reader

__all__ = ["MAX_BYTES", "LoadError", "Loaded", "load", "parse"]

MAX_BYTES = 4 * 1024 * 1024


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


def load(path: Path) -> tuple[Dictionary, list[Diagnostic]]:
    """Read the dictionary at `path` (a regular file of at most 4 MiB).

    Raises:
        LoadError: The file cannot be read, is no XML, or holds no dictionary.
    """
    try:
        if not path.is_file():
            raise LoadError(_error(path, 0, "missing", "is no file; check the path"))
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise LoadError(_error(path, 0, "size", f"is {size} bytes; {MAX_BYTES} are the limit"))
        content = path.read_bytes()
    except OSError as error:
        raise LoadError(_error(path, 0, "read", f"cannot be read: {error.strerror}")) from None
    return parse(content, str(path))


def parse(content: bytes, file: str) -> tuple[Dictionary, list[Diagnostic]]:
    """Return the dictionary in `content` and what was left out of it.

    Raises:
        LoadError: No XML, or no dictionary in it.
    """
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, recover=False
    )
    if not content.strip():
        raise LoadError(_error(file, 0, "empty", "is empty; a dictionary is an XML file"))
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        # Some of libxml2's messages end in a line break.
        reason = " ".join((error.msg or "not well-formed").split(", line")[0].split())
        line = error.lineno or 0
        raise LoadError(_error(file, line, "xml", f"is no well-formed XML: {reason}")) from None
    subset = root.getroottree().docinfo.internalDTD
    if subset is not None and any(subset.iterentities()):
        raise LoadError(_error(file, 1, "entity", "declares XML entities, which are not accepted"))
    if root.tag != "dictionary":
        raise LoadError(
            _error(file, root.sourceline or 0, "root", f"holds <{root.tag!s}>, not a <dictionary>")
        )
    reader = Reader(file)
    suites = tuple(reader.suites(root))
    if not suites:
        raise LoadError(_error(file, root.sourceline or 0, "empty", "declares no suite"))
    digest = hashlib.sha256(content).hexdigest()
    return Dictionary(file, digest, root.get("title") or "", suites), reader.diagnostics


def _error(file: Path | str, line: int, code: str, message: str) -> Diagnostic:
    return Diagnostic(str(file), line, code, message, "error")
