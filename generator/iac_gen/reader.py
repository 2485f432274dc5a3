"""Reader: walks the XML of one dictionary and makes the values of `model`.

Source: sdef(5); what real files contain beyond it is in docs/dictionaries.md.
"""

from collections.abc import Iterator
from dataclasses import replace

from lxml import etree

from iac_gen.leaves import SILENT, Leaves, attribute, line_of, local_name, yes
from iac_gen.model import (
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
    TypeRef,
    ValueType,
)

__all__ = ["Reader"]

_RESPONDS = ("responds-to", "responds-to-command", "responds-to-event")
_XINCLUDE = ("{http://www.w3.org/2001/XInclude}include", "{http://www.w3.org/2003/XInclude}include")


def _tag(node: etree._Element) -> str:
    return str(node.tag) if isinstance(node.tag, str) else ""


class Reader(Leaves):
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

    def command(self, node: etree._Element, name: str, event: bool) -> Command | None:
        what = f"{'event' if event else 'command'} {name}"
        code = self.code(node, 8, what)
        if not code:
            return None
        direct: Parameter | None = None
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
        return Command(
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

    def parameter(self, node: etree._Element, name: str, code: str, owner: str) -> Parameter:
        what = f"parameter {name} of {owner}" if name else f"the direct parameter of {owner}"
        return Parameter(
            name,
            code,
            self.types(node, what),
            yes(node, "optional"),
            yes(node, "hidden"),
            attribute(node, "description"),
            line_of(node),
        )

    def extension(self, node: etree._Element) -> Class | None:
        extends = attribute(node, "extends")
        if not extends:
            self.tell(node, "nameless", "a class-extension that extends nothing is left out")
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
                elements += self.elements(child, owner)
            elif child.tag in _RESPONDS:
                verb = attribute(child, "command") or attribute(child, "name")
                if verb:
                    responds.append(verb)
                else:
                    self.tell(child, "nameless", f"{owner} responds to a command without a name")
            else:
                self.stray(child, f"class {owner}")
        return Class(
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

    def elements(self, node: etree._Element, owner: str) -> Iterator[Element]:
        """Yield what `<element>` says is contained; a child type says it like the attribute."""
        # Outside the DTD, but Keynote and Acorn have it.
        kinds = [ref.name for ref in self.types(node, f"an element of {owner}") if ref.name]
        for kind in kinds:
            access = self.access(node, f"element {kind} of {owner}")
            yield Element(kind, access, yes(node, "hidden"), line_of(node))
        if not kinds:
            self.tell(node, "nameless", f"an element of {owner} without a type")

    def property(self, node: etree._Element, owner: str) -> Property | None:
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
        return Property(
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
