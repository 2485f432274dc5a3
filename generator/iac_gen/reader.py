"""Reader: walks the XML of one dictionary and makes the values of `model`.

Source: sdef(5); what real files contain beyond it is in docs/dictionaries.md.
"""

from collections.abc import Iterator

from lxml import etree

from iac_gen.diagnostics import Diagnostic
from iac_gen.model import (
    Access,
    Class,
    Command,
    Element,
    Enumeration,
    Enumerator,
    Include,
    Item,
    Parameter,
    Property,
    RecordType,
    Suite,
    Synonym,
    TypeRef,
    ValueType,
)

__all__ = ["Reader"]

_MAX_DEPTH = 64
_XINCLUDE = ("{http://www.w3.org/2001/XInclude}include", "{http://www.w3.org/2003/XInclude}include")
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


def _tag(node: etree._Element) -> str:
    return str(node.tag) if isinstance(node.tag, str) else ""


def _line(node: etree._Element) -> int:
    return node.sourceline or 0


def _get(node: etree._Element, name: str) -> str:
    """Return an attribute without the blanks around it (codes are read by `code`)."""
    return " ".join((node.get(name) or "").split())


def _yes(node: etree._Element, name: str) -> bool:
    # Three real files write `optional="optional"`, the old minimised form.
    return (node.get(name) or "").strip().lower() in ("yes", "true", name)


class Reader:
    """Walks one document; collects what had to be left out."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.diagnostics: list[Diagnostic] = []

    def drop(self, node: etree._Element, code: str, message: str) -> None:
        self.diagnostics.append(Diagnostic(self.file, _line(node), code, message, "error"))

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

    def suites(self, root: etree._Element) -> Iterator[Suite | Include]:
        for node in self.children(root):
            if node.tag == "suite":
                items = tuple(self.items(node))
                yield Suite(
                    _get(node, "name"),
                    node.get("code") or "",
                    items,
                    _yes(node, "hidden"),
                    _get(node, "description"),
                    _line(node),
                )
            elif node.tag in _XINCLUDE:
                yield self.include(node)
            elif node.tag != "documentation":
                self.drop(node, "stray", f"<{_tag(node)}> outside any suite is left out")

    def include(self, node: etree._Element) -> Include:
        return Include(_get(node, "href"), _get(node, "xpointer"), _line(node))

    def items(self, suite: etree._Element) -> Iterator[Item]:
        for node in self.children(suite):
            tag = _tag(node)
            if tag in _XINCLUDE:
                yield self.include(node)
                continue
            if tag in ("cocoa", "documentation", "access-group", "synonym", "xref"):
                continue
            item = self.item(tag, node)
            if item is not None:
                yield item

    def item(self, tag: str, node: etree._Element) -> Item | None:
        if tag == "class-extension":
            return self.extension(node)
        if tag not in ("command", "event", "class", "enumeration", "record-type", "value-type"):
            self.drop(node, "stray", f"<{tag}> is no item of a suite and is left out")
            return None
        name = _get(node, "name")
        if not name:
            self.drop(node, "nameless", f"a {tag} without a name is left out")
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
            _get(node, "id"),
            _yes(node, "hidden"),
            self.synonyms(node),
            _get(node, "description"),
            _line(node),
        )

    def code(self, node: etree._Element, size: int, what: str) -> str:
        """Return a code of `size` characters exactly as written, `""` for a malformed one."""
        raw = node.get("code") or ""
        code = raw
        if raw.lower().startswith("0x"):
            try:
                code = bytes.fromhex(raw[2:]).decode("mac_roman")
            except ValueError:
                code = ""
        try:
            length = len(code.encode("mac_roman"))
        except UnicodeEncodeError:
            length = -1
        if length != size:
            self.drop(node, "code", f"{what} has the code {raw!r}, not {size} characters")
            return ""
        return code

    def types(self, node: etree._Element) -> tuple[TypeRef, ...]:
        """Return the alternatives of the type of `node`: its attribute, then its children."""
        found = []
        if node.get("type"):
            found.append(TypeRef(_get(node, "type"), _yes(node, "list")))
        found.extend(self.type_ref(child) for child in node if child.tag == "type")
        return tuple(found)

    def type_ref(self, node: etree._Element) -> TypeRef:
        inner = tuple(self.type_ref(child) for child in node if child.tag == "type")
        return TypeRef(_get(node, "type"), _yes(node, "list"), _yes(node, "hidden"), inner)

    def synonyms(self, node: etree._Element) -> tuple[Synonym, ...]:
        return tuple(
            Synonym(_get(child, "name"), child.get("code") or "")
            for child in node
            if child.tag == "synonym"
        )

    def groups(self, node: etree._Element) -> tuple[str, ...]:
        return tuple(_get(c, "identifier") for c in node if c.tag == "access-group")

    def access(self, node: etree._Element) -> Access:
        value = _get(node, "access")
        if value in ("r", "w"):
            return value  # type: ignore[return-value]
        return "rw"

    def command(self, node: etree._Element, name: str, event: bool) -> Command | None:
        code = self.code(node, 8, f"{'event' if event else 'command'} {name}")
        if not code:
            return None
        direct = None
        parameters = []
        result = None
        for child in self.children(node):
            if child.tag == "direct-parameter":
                direct = self.parameter(child, "", "----")
            elif child.tag == "parameter":
                label = _get(child, "name")
                if not label:
                    self.drop(child, "nameless", f"a parameter of {name} without a name")
                    continue
                parameter_code = self.code(child, 4, f"parameter {label} of {name}")
                if parameter_code:
                    parameters.append(self.parameter(child, label, parameter_code))
            elif child.tag == "result":
                result = self.types(child)
        return Command(
            name,
            code,
            _get(node, "id"),
            direct,
            tuple(parameters),
            result,
            _yes(node, "hidden"),
            event,
            self.synonyms(node),
            self.groups(node),
            _get(node, "description"),
            _line(node),
        )

    def parameter(self, node: etree._Element, name: str, code: str) -> Parameter:
        return Parameter(
            name,
            code,
            self.types(node),
            _yes(node, "optional"),
            _yes(node, "hidden"),
            _get(node, "description"),
            _line(node),
        )

    def extension(self, node: etree._Element) -> Class | None:
        extends = _get(node, "extends")
        if not extends:
            self.drop(node, "nameless", "a class-extension that extends nothing is left out")
            return None
        return self.class_body(node, name="", code="", extends=extends)

    def klass(self, node: etree._Element, name: str) -> Class | None:
        code = self.code(node, 4, f"class {name}")
        return self.class_body(node, name, code, extends="") if code else None

    def class_body(self, node: etree._Element, name: str, code: str, extends: str) -> Class:
        owner = name or extends
        properties: list[Property] = []
        elements: list[Element] = []
        responds: list[str] = []
        for child in self.children(node):
            if child.tag in ("property", "contents"):
                found = self.property(child, owner)
                if found:
                    properties.append(found)
            elif child.tag == "element":
                kind = _get(child, "type")
                if kind:
                    line = _line(child)
                    elements.append(Element(kind, self.access(child), _yes(child, "hidden"), line))
                else:
                    self.drop(child, "nameless", f"an element of {owner} without a type")
            elif child.tag in ("responds-to", "responds-to-command"):
                responds.append(_get(child, "command") or _get(child, "name"))
        return Class(
            name,
            code,
            _get(node, "id"),
            _get(node, "plural"),
            _get(node, "inherits"),
            extends,
            tuple(properties),
            tuple(elements),
            tuple(responds),
            tuple(self.type_ref(child) for child in node if child.tag == "type"),
            _yes(node, "hidden"),
            self.synonyms(node),
            _get(node, "description"),
            _line(node),
        )

    def property(self, node: etree._Element, owner: str) -> Property | None:
        contents = node.tag == "contents"
        # sdef(5): `contents` may leave out name and code; both then have these defaults.
        name = _get(node, "name") or ("contents" if contents else "")
        if not name:
            self.drop(node, "nameless", f"a property of {owner} without a name is left out")
            return None
        if contents and not node.get("code"):
            code = "pcnt"
        else:
            code = self.code(node, 4, f"property {name} of {owner}")
        if not code:
            return None
        return Property(
            name,
            code,
            self.types(node),
            self.access(node),
            _yes(node, "hidden"),
            contents,
            self.synonyms(node),
            self.groups(node),
            _get(node, "description"),
            _line(node),
        )

    def enumeration(self, node: etree._Element, name: str) -> Enumeration | None:
        code = self.code(node, 4, f"enumeration {name}")
        if not code:
            return None
        values = []
        for child in self.children(node):
            if child.tag != "enumerator":
                continue
            label = _get(child, "name")
            value_code = self.code(child, 4, f"enumerator {label} of {name}")
            if not label or not value_code:
                continue
            values.append(
                Enumerator(
                    label,
                    value_code,
                    _yes(child, "hidden"),
                    self.synonyms(child),
                    _get(child, "description"),
                    _line(child),
                )
            )
        return Enumeration(
            name,
            code,
            _get(node, "id"),
            tuple(values),
            _yes(node, "hidden"),
            self.synonyms(node),
            _get(node, "description"),
            _line(node),
        )

    def record(self, node: etree._Element, name: str) -> RecordType | None:
        code = self.code(node, 4, f"record type {name}")
        if not code:
            return None
        fields = [
            found
            for child in self.children(node)
            if child.tag == "property" and (found := self.property(child, name))
        ]
        return RecordType(
            name,
            code,
            _get(node, "id"),
            tuple(fields),
            _yes(node, "hidden"),
            _get(node, "description"),
            _line(node),
        )
