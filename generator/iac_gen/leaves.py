"""Leaves: what the items of a dictionary have in common: codes, types, synonyms, access.

Source: sdef(5); what real files contain beyond it is in docs/dictionaries.md.
"""

from collections.abc import Iterator

from lxml import etree

from iac_gen.diagnostics import Diagnostic, Severity
from iac_gen.model import Access, Synonym, TypeRef

__all__ = ["SILENT", "Leaves", "attribute", "line_of", "local_name", "yes"]

_MAX_DEPTH = 64
# Children that say nothing to a client, wherever they stand.
SILENT = frozenset(
    {"access-group", "accessor", "cocoa", "documentation", "synonym", "title", "type", "xref"}
)
_COLLECTORS = frozenset(
    {
        "classes",
        "commands",
        "elements",
        "enumerations",
        "events",
        "properties",
        "responds-to-commands",
        "responds-to-events",
        "types",
        "value-types",
    }
)


def line_of(node: etree._Element) -> int:
    """Return the line that `node` begins on, 0 where it is not known."""
    return node.sourceline or 0


def attribute(node: etree._Element, name: str) -> str:
    """Return an attribute without the blanks around it (codes are read by `code`)."""
    return " ".join((node.get(name) or "").split())


def yes(node: etree._Element, name: str) -> bool:
    """Return a boolean attribute; absent means no."""
    # Three real files write `optional="optional"`, the old minimised form.
    return (node.get(name) or "").strip().lower() in ("yes", "true", name)


def _decoded(code: str) -> str:
    """Return a code given in hex as its characters, `""` for hex that is none."""
    if not code.lower().startswith("0x"):
        return code
    try:
        return bytes.fromhex(code[2:]).decode("mac_roman")
    except ValueError:
        return ""


def _bytes(code: str) -> int:
    """Return the length of a code in MacRoman, -1 where it has none."""
    try:
        return len(code.encode("mac_roman"))
    except UnicodeEncodeError:
        return -1


def local_name(node: etree._Element) -> str:
    """Return the tag of `node` without its namespace."""
    return etree.QName(node).localname


class Leaves:
    """Reads the small parts of one document; collects what had to be left out."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.diagnostics: list[Diagnostic] = []

    def tell(
        self, node: etree._Element, code: str, message: str, level: Severity = "error"
    ) -> None:
        """Say what is lost at `node`, or with another level what was made of it."""
        self.diagnostics.append(Diagnostic(self.file, line_of(node), code, message, level))

    def stray(self, node: etree._Element, owner: str) -> None:
        """Say that `node` has no place in `owner`, unless it says nothing to a client."""
        if node.tag not in SILENT:
            self.tell(node, "stray", f"<{local_name(node)}> is no part of {owner} and is left out")

    def children(self, node: etree._Element, depth: int = 0) -> Iterator[etree._Element]:
        """Yield child elements; the collectors of files from before 10.4 are looked through."""
        for child in node:
            if not isinstance(child.tag, str):
                continue
            if child.tag in _COLLECTORS:
                if depth < _MAX_DEPTH:
                    yield from self.children(child, depth + 1)
            else:
                yield child

    def code(self, node: etree._Element, size: int, what: str) -> str:
        """Return a code of `size` characters exactly as written, `""` for a malformed one."""
        raw = node.get("code") or ""
        code = _decoded(raw)
        if _bytes(code) == size:
            return code
        if raw != raw.strip() and _bytes(raw.strip()) == size:
            text = f"{what} has the code {raw!r}; the blanks around it are left out"
            self.tell(node, "recovered", text, "warning")
            return raw.strip()
        self.tell(node, "code", f"{what} has the code {raw!r}, not {size} characters")
        return ""

    def types(self, node: etree._Element, what: str) -> tuple[TypeRef, ...]:
        """Return the alternatives of the type of `node`: its attribute, then its children."""
        name = attribute(node, "type")
        inner = self.inner(node, what)
        if not name:
            # `list` stands beside no name only in old files: the children say of what.
            return (TypeRef("", True, items=inner),) if inner and yes(node, "list") else inner
        if inner:
            text = f"{what} has its type as attribute and as children; either may be meant"
            self.tell(node, "type-twice", text, "note")
        return (TypeRef(name, yes(node, "list")), *inner)

    def inner(self, node: etree._Element, what: str) -> tuple[TypeRef, ...]:
        """Return the types that the children of `node` name."""
        found = (self.type_ref(c, what) for c in self.children(node) if c.tag == "type")
        return tuple(ref for ref in found if ref is not None)

    def type_ref(self, node: etree._Element, what: str) -> TypeRef | None:
        inner = self.inner(node, what)
        name = attribute(node, "type")
        if not name and not inner:
            # Outside the DTD, but it can mean nothing else.
            name = attribute(node, "name")
            if not name:
                self.tell(node, "nameless", f"a type of {what} without a name is left out")
                return None
        if name and inner:
            inner = (TypeRef(name), *inner)
        return TypeRef("" if inner else name, yes(node, "list"), yes(node, "hidden"), inner)

    def synonyms(self, node: etree._Element) -> tuple[Synonym, ...]:
        """Return the synonyms of `node`: each another name, another code, or both.

        A malformed code stays as it is written: nothing is found by it.
        """
        found = []
        for child in self.children(node):
            if child.tag == "synonym":
                raw = child.get("code") or ""
                found.append(Synonym(attribute(child, "name"), _decoded(raw) or raw))
        return tuple(found)

    def groups(self, node: etree._Element) -> tuple[str, ...]:
        return tuple(attribute(c, "identifier") for c in node if c.tag == "access-group")

    def access(self, node: etree._Element, what: str) -> Access:
        value = attribute(node, "access").lower()
        if value in ("r", "w"):
            return value  # type: ignore[return-value]
        if value not in ("", "rw", "wr"):
            text = f"{what} has the access {value!r}, which is none; taken as rw"
            self.tell(node, "recovered", text, "warning")
        return "rw"
