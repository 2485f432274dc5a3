"""The XML of a dictionary becomes a `Dictionary`. Renames nothing, keeps codes byte-exact.

A file is held against the limits before the reader sees it; what cannot be seen is taken out of
its texts afterwards. Source: sdef(5); what real files contain beyond it is in
docs/dictionaries.md.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from lxml import etree

from iac_gen import model
from iac_gen.limits import MAX_BYTES, LimitError, read_file, screen_xml
from iac_gen.text import is_plain, on_one_line, sanitize_dictionary

T = TypeVar("T", bound=model.Part)

_MAX_DEPTH = 64
# Children that say nothing to a client, wherever they stand.
_SILENT = frozenset("access-group accessor cocoa documentation synonym title type xref".split())
_COLLECTORS = frozenset(
    "classes commands elements enumerations events properties responds-to-commands"
    " responds-to-events types value-types".split()
)
_ITEMS = frozenset("command event class enumeration record-type value-type".split())
_RESPONDS = ("responds-to", "responds-to-command", "responds-to-event")
XINCLUDE = ("{http://www.w3.org/2001/XInclude}include", "{http://www.w3.org/2003/XInclude}include")


def _attribute_text(node: etree._Element, name: str) -> str:
    """Return an attribute without the blanks around it (codes are read by `code`)."""
    value = node.get(name)
    return " ".join(value.split()) if value else ""


def _boolean_attribute(node: etree._Element, name: str) -> bool:
    """Return a boolean attribute; absent means no."""
    # Three real files write `optional="optional"`, the old minimised form.
    value = node.get(name)
    return value is not None and value.strip().lower() in ("yes", "true", name)


def _child_elements(node: etree._Element, depth: int = 0) -> Iterator[etree._Element]:
    """Yield child elements; the collectors of files from before 10.4 are looked through."""
    for child in node:
        if not isinstance(child.tag, str):
            continue
        if child.tag in _COLLECTORS:
            if depth < _MAX_DEPTH:
                yield from _child_elements(child, depth + 1)
        else:
            yield child


def _decode_code(code: str) -> str:
    """Return a code given in hex as its characters, `""` for hex that is none."""
    if not code.lower().startswith("0x"):
        return code
    try:
        return bytes.fromhex(code[2:]).decode("mac_roman")
    except ValueError:
        return ""


def _read_synonyms(node: etree._Element, _: str) -> tuple[model.Synonym, ...]:
    """Return the synonyms of `node`: each another name, another code, or both.

    A malformed code stays as it is written: nothing is found by it.
    """
    raw = (
        (_attribute_text(c, "name"), c.get("code") or "")
        for c in _child_elements(node)
        if c.tag == "synonym"
    )
    return tuple(model.Synonym(name, _decode_code(code) or code) for name, code in raw)


def _read_access_groups(node: etree._Element, _: str) -> tuple[str, ...]:
    return tuple(_attribute_text(c, "identifier") for c in node if c.tag == "access-group")


_SHARED: Final[Mapping[str, Callable[[etree._Element, str], Any]]] = {
    **dict.fromkeys(("id", "plural", "inherits", "description"), _attribute_text),
    **dict.fromkeys(("optional", "hidden"), _boolean_attribute),
    "synonyms": _read_synonyms,
    "access_groups": _read_access_groups,
    "line": lambda node, _: node.sourceline or 0,
}
"""Fields of the model that are read alike wherever they stand."""
_READ: Final[Mapping[type, list[tuple[str, Callable[[etree._Element, str], Any]]]]] = {
    kind: [(one.name, _SHARED[one.name]) for one in fields(kind) if one.name in _SHARED]
    for kind in model.KINDS
}


def _build_part(kind: type[T], node: etree._Element, **given: Any) -> T:
    """Return a value of the model: what is `given`, and the fields that are read alike."""
    for name, read in _READ[kind]:
        given[name] = read(node, name)
    return kind(**given)


class SdefReader:
    """Walks one document; collects what had to be left out of it."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.diagnostics: list[model.Diagnostic] = []

    def _report_loss(
        self, node: etree._Element, code: str, message: str, level: model.Severity = "error"
    ) -> None:
        """Say what is lost at `node`, or with another level what was made of it."""
        self.diagnostics.append(
            model.Diagnostic(self.file, node.sourceline or 0, code, message, level)
        )

    def _report_stray(self, node: etree._Element, place: str) -> None:
        """Say that `node` has no place there, unless it says nothing to a client."""
        if node.tag not in _SILENT:
            self._report_loss(node, "stray", f"<{etree.QName(node).localname}> {place} left out")

    def _guarded(
        self, read: Callable[..., Iterable[T]], node: etree._Element, *rest: str
    ) -> list[T]:
        """Return what `read` makes of `node`; an error that nobody foresaw costs it alone."""
        try:
            return [*read(node, *rest)]
        except Exception as error:
            what = f"<{etree.QName(node).localname}> {_attribute_text(node, 'name')}".rstrip()
            told = on_one_line(f"{type(error).__name__}: {error}", 200)
            text = f"{on_one_line(what, 80)} cannot be read: {told}; it is left out"
            self._report_loss(node, model.UNFORESEEN, text)
            return []

    def _read_code(self, node: etree._Element, size: int, what: str) -> str:
        """Return a code of `size` characters exactly as written, `""` for a malformed one."""
        raw = node.get("code") or ""
        code = _decode_code(raw)
        if model.is_code(code, size):
            return code
        if raw != raw.strip() and model.is_code(raw.strip(), size):
            text = f"{what} has the code {raw!r}; the blanks around it are left out"
            self._report_loss(node, "recovered", text, "warning")
            return raw.strip()
        self._report_loss(node, "code", f"{what} has the code {raw!r}, not {size} characters")
        return ""

    def _read_types(self, node: etree._Element, what: str) -> tuple[model.TypeRef, ...]:
        """Return the alternatives of the type of `node`: its attribute, then its children."""
        name = _attribute_text(node, "type")
        inner = self._child_types(node, what)
        if not name:
            # `list` stands beside no name only in old files: the children say of what.
            listed = inner and _boolean_attribute(node, "list")
            return (model.TypeRef("", True, items=inner),) if listed else inner
        if inner:
            text = f"{what} has its type as attribute and as children; either may be meant"
            self._report_loss(node, "type-twice", text, "note")
        return (model.TypeRef(name, _boolean_attribute(node, "list")), *inner)

    def _child_types(self, node: etree._Element, what: str) -> tuple[model.TypeRef, ...]:
        """Return the types that the children of `node` name."""
        refs = (self._read_type_ref(c, what) for c in _child_elements(node) if c.tag == "type")
        return tuple(ref for ref in refs if ref is not None)

    def _read_type_ref(self, node: etree._Element, what: str) -> model.TypeRef | None:
        inner = self._child_types(node, what)
        name = _attribute_text(node, "type")
        if not name and not inner:
            # Outside the DTD, but it can mean nothing else.
            name = _attribute_text(node, "name")
            if not name:
                self._report_loss(node, "nameless", f"a type of {what} without a name is left out")
                return None
        if name and inner:
            inner = (model.TypeRef(name), *inner)
        flags = _boolean_attribute(node, "list"), _boolean_attribute(node, "hidden")
        return model.TypeRef("" if inner else name, *flags, inner)

    def _read_access(self, node: etree._Element, what: str) -> model.Access:
        value = _attribute_text(node, "access").lower()
        if value in ("r", "w"):
            return value  # type: ignore[return-value]
        if value not in ("", "rw", "wr"):
            text = f"{what} has the access {value!r}, which is none; taken as rw"
            self._report_loss(node, "recovered", text, "warning")
        return "rw"

    def read_suites(self, root: etree._Element) -> Iterator[model.Suite | model.Include]:
        for node in _child_elements(root):
            if node.tag == "suite":
                yield from self._guarded(self._read_suite, node)
            elif node.tag in XINCLUDE:
                yield self._read_include(node)
            else:
                self._report_stray(node, "outside any suite is")

    def _read_suite(self, node: etree._Element) -> Iterator[model.Suite]:
        items = tuple(self._read_items(node))
        name, code = _attribute_text(node, "name"), node.get("code") or ""
        yield _build_part(model.Suite, node, name=name, code=code, items=items)

    def _read_include(self, node: etree._Element) -> model.Include:
        href, xpointer = _attribute_text(node, "href"), _attribute_text(node, "xpointer")
        return _build_part(model.Include, node, href=href, xpointer=xpointer)

    def _read_items(self, suite: etree._Element) -> Iterator[model.Item]:
        for node in _child_elements(suite):
            if node.tag in XINCLUDE:
                yield self._read_include(node)
            elif node.tag not in _SILENT:
                yield from self._guarded(self._read_item, node)

    def _read_item(self, node: etree._Element) -> Iterator[model.Item]:
        tag = str(node.tag)
        if tag == "class-extension":
            yield from self._read_extension(node)
            return
        if tag not in _ITEMS:
            self._report_stray(node, "is no item of a suite and is")
            return
        name = _attribute_text(node, "name")
        if not name:
            self._report_loss(node, "nameless", f"a {tag} without a name is left out")
            return
        command = tag in ("command", "event")
        what = f"{tag.replace('-', ' ')} {name}"
        code = self._read_code(node, 8 if command else 4, what)
        if tag == "value-type":
            yield _build_part(model.ValueType, node, name=name, code=code)
        elif not code:
            return
        elif command:
            yield self._read_command(node, name, code, event=tag == "event")
        elif tag == "class":
            yield self._read_class(node, name, code, extends="")
        elif tag == "enumeration":
            rows: list[model.Enumerator] = []
            for child in _child_elements(node):
                rows += self._guarded(self._read_enumerator, child, name)
            values = tuple(rows)
            yield _build_part(model.Enumeration, node, name=name, code=code, enumerators=values)
        else:
            properties = tuple(self._read_properties(node, name, what))
            yield _build_part(model.RecordType, node, name=name, code=code, properties=properties)

    def _read_command(
        self, node: etree._Element, name: str, code: str, *, event: bool
    ) -> model.SdefCommand:
        what = f"{'event' if event else 'command'} {name}"
        direct: model.SdefParameter | None = None
        parameters: list[model.SdefParameter] = []
        result: tuple[model.TypeRef, ...] | None = None
        for child in _child_elements(node):
            if child.tag == "direct-parameter":
                types = self._read_types(child, f"the direct parameter of {name}")
                target = _build_part(model.SdefParameter, child, name="", code="----", types=types)
                if direct is not None:
                    text = f"{what} has a second direct parameter; the types are merged"
                    self._report_loss(child, "repeated", text, "note")
                    target = replace(direct, types=direct.types + target.types)
                direct = target
            elif child.tag == "parameter":
                parameters += self._guarded(self._read_parameter, child, name)
            elif child.tag == "result":
                result = (result or ()) + self._read_types(child, f"the result of {name}")
            else:
                self._report_stray(child, f"is no part of {what} and is")
        return _build_part(
            model.SdefCommand, node, name=name, code=code, direct=direct,
            parameters=tuple(parameters), result=result, event=event,
        )  # fmt: skip

    def _read_parameter(self, node: etree._Element, owner: str) -> Iterator[model.SdefParameter]:
        name = _attribute_text(node, "name")
        if not name:
            self._report_loss(node, "nameless", f"a parameter of {owner} without a name")
        elif code := self._read_code(node, 4, what := f"parameter {name} of {owner}"):
            yield _build_part(
                model.SdefParameter, node, name=name, code=code, types=self._read_types(node, what)
            )

    def _read_extension(self, node: etree._Element) -> Iterator[model.SdefClass]:
        extends = _attribute_text(node, "extends")
        if extends:
            yield self._read_class(node, name="", code="", extends=extends)
        else:
            text = "a class-extension that extends nothing is left out"
            self._report_loss(node, "nameless", text)

    def _read_class(
        self, node: etree._Element, name: str, code: str, extends: str
    ) -> model.SdefClass:
        owner = name or extends
        properties: list[model.SdefProperty] = []
        elements: list[model.SdefElement] = []
        responds: list[str] = []
        for child in _child_elements(node):
            if child.tag in ("property", "contents"):
                properties += self._guarded(self._read_property, child, owner)
            elif child.tag == "element":
                elements += self._guarded(self._read_elements, child, owner)
            elif child.tag in _RESPONDS:
                verb = _attribute_text(child, "command") or _attribute_text(child, "name")
                if verb:
                    responds.append(verb)
                else:
                    text = f"{owner} responds to a command without a name"
                    self._report_loss(child, "nameless", text)
            else:
                self._report_stray(child, f"is no part of class {owner} and is")
        return _build_part(
            model.SdefClass, node, name=name, code=code, extends=extends,
            properties=tuple(properties), elements=tuple(elements), responds_to=tuple(responds),
            values=self._child_types(node, f"class {owner}"),
        )  # fmt: skip

    def _read_elements(self, node: etree._Element, owner: str) -> Iterator[model.SdefElement]:
        """Yield what `<element>` says is contained; a child type says it like the attribute."""
        # Outside the DTD, but Keynote and Acorn have it.
        kinds = [ref.name for ref in self._read_types(node, f"an element of {owner}") if ref.name]
        for kind in kinds:
            access = self._read_access(node, f"element {kind} of {owner}")
            yield _build_part(model.SdefElement, node, type=kind, access=access)
        if not kinds:
            self._report_loss(node, "nameless", f"an element of {owner} without a type")

    def _read_properties(
        self, node: etree._Element, name: str, what: str
    ) -> Iterator[model.SdefProperty]:
        for child in _child_elements(node):
            if child.tag == "property":
                yield from self._guarded(self._read_property, child, name)
            else:
                self._report_stray(child, f"is no part of {what} and is")

    def _read_property(self, node: etree._Element, owner: str) -> Iterator[model.SdefProperty]:
        contents = node.tag == "contents"
        # sdef(5): `contents` may leave out name and code; both then have these defaults.
        name = _attribute_text(node, "name") or ("contents" if contents else "")
        if not name:
            self._report_loss(node, "nameless", f"a property of {owner} without a name is left out")
            return
        what = f"property {name} of {owner}"
        code = "pcnt" if contents and not node.get("code") else self._read_code(node, 4, what)
        if code:
            types, access = self._read_types(node, what), self._read_access(node, what)
            yield _build_part(
                model.SdefProperty, node, name=name, code=code, types=types, access=access,
                contents=contents,
            )  # fmt: skip

    def _read_enumerator(self, node: etree._Element, owner: str) -> Iterator[model.Enumerator]:
        name = _attribute_text(node, "name")
        if node.tag != "enumerator":
            self._report_stray(node, f"is no part of enumeration {owner} and is")
        elif not name:
            text = f"an enumerator of {owner} without a name is left out"
            self._report_loss(node, "nameless", text)
        elif code := self._read_code(node, 4, f"enumerator {name} of {owner}"):
            yield _build_part(model.Enumerator, node, name=name, code=code)


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
    blanks = _BLANKS.match(content)
    end = content.find(b"?>")
    if blanks is None or end < 0:
        return content
    declaration = content[blanks.end() : end + 2]
    encoding = _ENCODING.search(declaration)
    if encoding is not None and encoding[1].lower() not in (b"utf-8", b"us-ascii"):
        return content
    line = _line_at(content, blanks.end())
    repairs.append((line, "blanks stand before the XML declaration; ignored"))
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
        for include in _INCLUDE.finditer(content, start, end):
            used.setdefault(include[1], include.start())
    root = next((m for start, end in parts if (m := _ROOT.search(content, start, end))), None)
    missing = [prefix for prefix in used if b"xmlns:" + prefix not in content]
    # One prefix is a slip, several are something else.
    if root is None or len(missing) != 1:
        return content
    prefix = missing[0]
    name = prefix.decode("ascii")
    text = f"the prefix {name} is not declared; taken as XInclude"
    repairs.append((_line_at(content, used[prefix]), text))
    head, tail = content[: root.end()], content[root.end() :]
    return b'%s xmlns:%s="%s"%s' % (head, prefix, _XINCLUDE_NAMESPACE, tail)


MAX_INCLUDES = 16
"""Real dictionaries have two at most."""
_TOLD = 10
"""Of one kind of finding in a file; the others are counted."""


@dataclass(frozen=True, slots=True)
class LoadedDictionary:
    """A dictionary that was read, and what was left out of it."""

    source: model.Source
    diagnostics: tuple[model.Diagnostic, ...] = ()


class LoadError(Exception):
    """A file that is no dictionary; `diagnostic` has the place and the reason."""

    def __init__(self, diagnostic: model.Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


def load_error(file: str, line: int, code: str, message: str) -> LoadError:
    """Return the error that a file is no dictionary."""
    return LoadError(model.Diagnostic(file, line, code, message, "error"))


def load_dictionary(
    path: Path, *, as_written: bool = False
) -> tuple[model.Dictionary, list[model.Diagnostic]]:
    """Read the dictionary at `path` (a regular file of at most 4 MiB); see `parse_dictionary`.

    Raises:
        LoadError: The file cannot be read, is no XML, is over a limit, or holds no dictionary.
    """
    try:
        content = read_file(path, MAX_BYTES)
    except LimitError as error:
        raise load_error(str(path), error.line, error.code, str(error)) from None
    return parse_dictionary(content, str(path), as_written=as_written)


def parse_dictionary(
    content: bytes, file: str, *, as_written: bool = False
) -> tuple[model.Dictionary, list[model.Diagnostic]]:
    """Return the dictionary in `content` and what was left out of it.

    Its texts are clean (`sanitize_dictionary`), but with `as_written` (for lint) as they stand.

    Raises:
        LoadError: No XML, over a limit (see `limits`), or no dictionary in it.
    """
    if not content.strip():
        raise load_error(file, 0, "empty", "is empty; a dictionary is an XML file")
    try:
        if len(content) > MAX_BYTES:
            raise LimitError("size", f"has {len(content)} bytes; the limit is {MAX_BYTES}")
        root, mended = _parse_tree(content)
    except LimitError as error:
        raise load_error(file, error.line, error.code, str(error)) from None
    line = root.sourceline or 0
    if root.tag != "dictionary":
        tag = on_one_line(str(root.tag), 64)
        raise load_error(file, line, "root", f"contains <{tag}> instead of <dictionary>")
    recovered = [model.Diagnostic(file, place, "recovered", text) for place, text in mended]
    refused = [*recovered, *_refuse_includes(root, file)]
    reader = SdefReader(file)
    suites = tuple(reader.read_suites(root))
    if not suites:
        raise load_error(file, line, "empty", "declares no suite")
    digest = hashlib.sha256(content).hexdigest()
    dictionary = model.Dictionary(file, digest, root.get("title") or "", suites)
    diagnostics_of_file = [*refused, *reader.diagnostics]
    if as_written or is_plain(content):
        return dictionary, diagnostics_of_file
    clean, removed = sanitize_dictionary(dictionary)
    return clean, [*diagnostics_of_file, *removed]


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


def _refuse_includes(root: etree._Element, file: str) -> Iterator[model.Diagnostic]:
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
    told = refused[:_TOLD]
    if len(refused) > _TOLD:
        told.append((refused[_TOLD][0], f"{len(refused) - _TOLD} more includes are refused"))
    yield from (model.Diagnostic(file, line, "include", text, "error") for line, text in told)
