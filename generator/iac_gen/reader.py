"""Reader: walks the XML of one dictionary and makes the values of `model`.

Source: sdef(5); what real files contain beyond it is in docs/dictionaries.md.
"""

from collections.abc import Iterator
from dataclasses import replace

from lxml import etree

from iac_gen.model import (
    Access,
    Diagnostic,
    Enumeration,
    Enumerator,
    Include,
    Item,
    RecordType,
    SdefClass,
    SdefCommand,
    SdefElement,
    SdefParameter,
    SdefProperty,
    Severity,
    Suite,
    Synonym,
    TypeRef,
    ValueType,
)

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


_RESPONDS = ("responds-to", "responds-to-command", "responds-to-event")
_XINCLUDE = ("{http://www.w3.org/2001/XInclude}include", "{http://www.w3.org/2003/XInclude}include")


def _tag(node: etree._Element) -> str:
    return str(node.tag) if isinstance(node.tag, str) else ""


class SdefReader(Leaves):
    """Walks one document and makes the values of `model`."""

    def suites(self, root: etree._Element) -> Iterator[Suite | Include]:
        for node in self.children(root):
            if node.tag == "suite":
                items = tuple(self.items(node))
                yield Suite(
                    attribute(node, "name"),
                    node.get("code") or "",
                    items,
                    yes(node, "hidden"),
                    attribute(node, "description"),
                    line_of(node),
                )
            elif node.tag in _XINCLUDE:
                yield self.include(node)
            elif node.tag not in SILENT:
                self.tell(node, "stray", f"<{local_name(node)}> outside any suite is left out")

    def include(self, node: etree._Element) -> Include:
        return Include(attribute(node, "href"), attribute(node, "xpointer"), line_of(node))

    def items(self, suite: etree._Element) -> Iterator[Item]:
        for node in self.children(suite):
            tag = _tag(node)
            if tag in _XINCLUDE:
                yield self.include(node)
                continue
            if tag in SILENT:
                continue
            item = self.item(tag, node)
            if item is not None:
                yield item

    def item(self, tag: str, node: etree._Element) -> Item | None:
        if tag == "class-extension":
            return self.extension(node)
        if tag not in ("command", "event", "class", "enumeration", "record-type", "value-type"):
            text = f"<{local_name(node)}> is no item of a suite and is left out"
            self.tell(node, "stray", text)
            return None
        name = attribute(node, "name")
        if not name:
            self.tell(node, "nameless", f"a {tag} without a name is left out")
            return None
        if tag in ("command", "event"):
            return self.command(node, name, event=tag == "event")
        if tag == "class":
            return self.klass(node, name)
        if tag == "enumeration":
            return self.enumeration(node, name)
        if tag == "record-type":
            return self.record(node, name)
        return ValueType(
            name,
            self.code(node, 4, f"value type {name}"),
            attribute(node, "id"),
            yes(node, "hidden"),
            self.synonyms(node),
            attribute(node, "description"),
            line_of(node),
        )

    def command(self, node: etree._Element, name: str, event: bool) -> SdefCommand | None:
        what = f"{'event' if event else 'command'} {name}"
        code = self.code(node, 8, what)
        if not code:
            return None
        direct: SdefParameter | None = None
        parameters = []
        result: tuple[TypeRef, ...] | None = None
        for child in self.children(node):
            if child.tag == "direct-parameter":
                found = self.parameter(child, "", "----", name)
                if direct is not None:
                    text = f"{what} has a second direct parameter; the types are merged"
                    self.tell(child, "repeated", text, "note")
                    found = replace(direct, types=direct.types + found.types)
                direct = found
            elif child.tag == "parameter":
                label = attribute(child, "name")
                if not label:
                    self.tell(child, "nameless", f"a parameter of {name} without a name")
                    continue
                parameter_code = self.code(child, 4, f"parameter {label} of {name}")
                if parameter_code:
                    parameters.append(self.parameter(child, label, parameter_code, name))
            elif child.tag == "result":
                result = (result or ()) + self.types(child, f"the result of {name}")
            else:
                self.stray(child, what)
        return SdefCommand(
            name,
            code,
            attribute(node, "id"),
            direct,
            tuple(parameters),
            result,
            yes(node, "hidden"),
            event,
            self.synonyms(node),
            self.groups(node),
            attribute(node, "description"),
            line_of(node),
        )

    def parameter(self, node: etree._Element, name: str, code: str, owner: str) -> SdefParameter:
        what = f"parameter {name} of {owner}" if name else f"the direct parameter of {owner}"
        return SdefParameter(
            name,
            code,
            self.types(node, what),
            yes(node, "optional"),
            yes(node, "hidden"),
            attribute(node, "description"),
            line_of(node),
        )

    def extension(self, node: etree._Element) -> SdefClass | None:
        extends = attribute(node, "extends")
        if not extends:
            self.tell(node, "nameless", "a class-extension that extends nothing is left out")
            return None
        return self.class_body(node, name="", code="", extends=extends)

    def klass(self, node: etree._Element, name: str) -> SdefClass | None:
        code = self.code(node, 4, f"class {name}")
        return self.class_body(node, name, code, extends="") if code else None

    def class_body(self, node: etree._Element, name: str, code: str, extends: str) -> SdefClass:
        owner = name or extends
        properties: list[SdefProperty] = []
        elements: list[SdefElement] = []
        responds: list[str] = []
        for child in self.children(node):
            if child.tag in ("property", "contents"):
                found = self.property(child, owner)
                if found:
                    properties.append(found)
            elif child.tag == "element":
                elements += self.elements(child, owner)
            elif child.tag in _RESPONDS:
                verb = attribute(child, "command") or attribute(child, "name")
                if verb:
                    responds.append(verb)
                else:
                    self.tell(child, "nameless", f"{owner} responds to a command without a name")
            else:
                self.stray(child, f"class {owner}")
        return SdefClass(
            name,
            code,
            attribute(node, "id"),
            attribute(node, "plural"),
            attribute(node, "inherits"),
            extends,
            tuple(properties),
            tuple(elements),
            tuple(responds),
            self.inner(node, f"class {owner}"),
            yes(node, "hidden"),
            self.synonyms(node),
            attribute(node, "description"),
            line_of(node),
        )

    def elements(self, node: etree._Element, owner: str) -> Iterator[SdefElement]:
        """Yield what `<element>` says is contained; a child type says it like the attribute."""
        # Outside the DTD, but Keynote and Acorn have it.
        kinds = [ref.name for ref in self.types(node, f"an element of {owner}") if ref.name]
        for kind in kinds:
            access = self.access(node, f"element {kind} of {owner}")
            yield SdefElement(kind, access, yes(node, "hidden"), line_of(node))
        if not kinds:
            self.tell(node, "nameless", f"an element of {owner} without a type")

    def property(self, node: etree._Element, owner: str) -> SdefProperty | None:
        contents = node.tag == "contents"
        # sdef(5): `contents` may leave out name and code; both then have these defaults.
        name = attribute(node, "name") or ("contents" if contents else "")
        if not name:
            self.tell(node, "nameless", f"a property of {owner} without a name is left out")
            return None
        what = f"property {name} of {owner}"
        if contents and not node.get("code"):
            code = "pcnt"
        else:
            code = self.code(node, 4, what)
        if not code:
            return None
        return SdefProperty(
            name,
            code,
            self.types(node, what),
            self.access(node, what),
            yes(node, "hidden"),
            contents,
            self.synonyms(node),
            self.groups(node),
            attribute(node, "description"),
            line_of(node),
        )

    def enumeration(self, node: etree._Element, name: str) -> Enumeration | None:
        code = self.code(node, 4, f"enumeration {name}")
        if not code:
            return None
        values = []
        for child in self.children(node):
            if child.tag != "enumerator":
                self.stray(child, f"enumeration {name}")
                continue
            label = attribute(child, "name")
            if not label:
                self.tell(child, "nameless", f"an enumerator of {name} without a name is left out")
                continue
            what = f"enumerator {label} of {name}"
            value_code = self.code(child, 4, what)
            if not value_code:
                continue
            values.append(
                Enumerator(
                    label,
                    value_code,
                    yes(child, "hidden"),
                    self.synonyms(child),
                    attribute(child, "description"),
                    line_of(child),
                )
            )
        return Enumeration(
            name,
            code,
            attribute(node, "id"),
            tuple(values),
            yes(node, "hidden"),
            self.synonyms(node),
            attribute(node, "description"),
            line_of(node),
        )

    def record(self, node: etree._Element, name: str) -> RecordType | None:
        code = self.code(node, 4, f"record type {name}")
        if not code:
            return None
        fields = []
        for child in self.children(node):
            if child.tag == "property":
                found = self.property(child, name)
                if found:
                    fields.append(found)
            else:
                self.stray(child, f"record type {name}")
        return RecordType(
            name,
            code,
            attribute(node, "id"),
            tuple(fields),
            yes(node, "hidden"),
            attribute(node, "description"),
            line_of(node),
        )
