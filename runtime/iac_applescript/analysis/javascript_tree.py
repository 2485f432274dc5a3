"""JavaScript as a tree, parsed by tree-sitter with its maintained grammar.

The parser is imported when the first script is judged. What it cannot parse, and what
JavaScriptCore reads in its own way, is a fault.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Any, Final

from iac_base.errors import SetupError, missing_packages
from iac_base.script_tokens import (
    MAX_SCRIPT,
    Kind,
    Scan,
    ScanFault,
    ScriptToken,
    hidden_in,
)

_DEEPEST: Final = 120
_HTML: Final = re.compile(r"<!--|-->")
_ESCAPE: Final = re.compile(
    r"\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([0-7]{1,3})|(\r\n|.))",
    re.DOTALL,
)
_CONTROL: Final = dict(zip("nrtbfv0", "\n\r\t\b\f\v\0", strict=True))
_LEAVES: Final[dict[str, Kind]] = {
    "string": "string",
    "number": "number",
    "regex": "regex",
    "string_fragment": "template",
    "identifier": "word",
    "property_identifier": "word",
    "private_property_identifier": "word",
    "shorthand_property_identifier": "word",
    "shorthand_property_identifier_pattern": "word",
    "statement_identifier": "word",
}
_NAMES: Final = frozenset(kind for kind, leaf in _LEAVES.items() if leaf == "word")
_PROCESSES: Final = frozenset(
    ("applicationProcesses", "deskAccessoryProcesses", "processes", "ApplicationProcess", "Process")
)
_MARKED: Final = frozenset(("operator", "kind"))
"""Fields whose unnamed word matters."""


class _TooDeepError(Exception):
    """A tree is deeper than it is followed."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = start


@dataclass(slots=True)
class Node:
    """A node: `text` only of leaves, of a string its value; `fields` by the grammar's names."""

    type: str
    start: int
    text: str = ""
    kids: list["Node"] = field(default_factory=list)
    fields: dict[str, "Node"] = field(default_factory=dict)
    words: frozenset[str] = frozenset()

    def all(self) -> Iterator["Node"]:
        """Yield this node and all below it."""
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.kids))


@cache
def _parser() -> Any:
    needed = ("tree_sitter", "tree_sitter_javascript")
    if missing := missing_packages("JavaScript for Automation", "scripts", needed):
        raise SetupError(missing)
    import tree_sitter
    import tree_sitter_javascript

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_javascript.language()))


def parse(script: str) -> tuple[Node, list[ScanFault]]:
    """Return the tree of a script and what cannot be read of it.

    Raises SetupError where the parser is not installed, so that no script runs unread.
    """
    empty = Node("program", 0)
    if len(script) > MAX_SCRIPT:
        return empty, [ScanFault(f"the script is longer than {MAX_SCRIPT} characters", 0)]
    faults = hidden_in(script)
    # JavaScriptCore takes these for comments that run to the end of the line.
    faults += [
        ScanFault("a comment is written as in HTML", found.start())
        for found in _HTML.finditer(script)
    ]
    data = script.encode("utf-8", "replace")
    root = _parser().parse(data).root_node
    if root.has_error:
        faults.append(ScanFault("this is not valid JavaScript", _error_at(root)))
        return empty, faults

    # The parser counts bytes.
    places: Sequence[int] = range(len(data) + 1)
    if len(data) != len(script):
        sizes = (len(char.encode("utf-8", "replace")) for char in script)
        places = [*chain.from_iterable([at] * size for at, size in enumerate(sizes)), len(script)]

    cursor = root.walk()

    def build(depth: int) -> Node:
        raw = cursor.node
        kind = raw.type
        node = Node(kind, places[raw.start_byte])
        leaf = kind in _LEAVES
        if leaf or kind == "regex":
            text = script[places[raw.start_byte] : places[raw.end_byte]]
            node.text = unescaped(text[1:-1] if kind == "string" else text)
            if kind in _NAMES and "\\" in text:
                faults.append(ScanFault("a name contains an escape sequence", node.start))
            if kind == "string" or kind in _NAMES:
                return node
        if depth > _DEEPEST:
            raise _TooDeepError(node.start)
        if cursor.goto_first_child():
            words = []
            while True:
                name = cursor.field_name
                child = cursor.node
                if child.is_named:
                    if child.type not in ("comment", "html_comment"):
                        made = build(depth + 1)
                        node.kids.append(made)
                        if name:
                            node.fields.setdefault(name, made)
                elif name in _MARKED or child.type in ("async", "get", "set", "static", "*"):
                    words.append(child.type)
                if not cursor.goto_next_sibling():
                    break
            cursor.goto_parent()
            if words:
                node.words = frozenset(words)
            # A line may end behind `get`: JavaScriptCore reads a getter, the grammar a field.
            named = node.fields["property"].text if kind == "field_definition" else ""
            if named in ("get", "set", "static", "async") and len(node.kids) == 1:
                faults.append(
                    ScanFault("a field may run code when it is read (a getter)", node.start)
                )
        elif not leaf:
            node.text = script[places[raw.start_byte] : places[raw.end_byte]]
        return node

    try:
        return build(0), faults
    except _TooDeepError as deep:
        return empty, [*faults, ScanFault("is nested too deeply", deep.start)]


def last_value(script: str) -> tuple[int, int] | None:
    """Return where the expression stands whose value a script gives; None if it ends otherwise."""
    data = script.encode("utf-8", "replace")
    last = next(iter(_parser().parse(data).root_node.named_children[-1:]), None)
    if last is None or last.type != "expression_statement":
        return None
    value = last.named_children[0]
    begin, end = (
        len(data[:at].decode("utf-8", "replace")) for at in (value.start_byte, value.end_byte)
    )
    return begin, end


def _error_at(root: Any) -> int:
    node = root
    while True:
        bad = next((kid for kid in node.children if kid.has_error or kid.is_missing), None)
        if bad is None or bad.is_error or bad.is_missing:
            return len(root.text[: (bad or node).start_byte].decode("utf-8", "replace"))
        node = bad


def scan_javascript(script: str) -> Scan:
    """Return the words, numbers and texts of a script in order, and what cannot be read of it."""
    tree, faults = parse(script)
    tokens = [
        ScriptToken(_LEAVES[node.type], node.text, node.start, node.text.casefold())
        for node in tree.all()
        if node.type in _LEAVES
    ]
    return Scan((*tokens, ScriptToken("end", "", len(script))), tuple(faults))


def iterate_written(script: str) -> Iterator[str]:
    """Yield what is written in a script, part by part: texts whole, and no comments."""
    stack = [_parser().parse(script.encode("utf-8", "replace")).root_node]
    while stack:
        node = stack.pop()
        if node.children and node.type not in ("string", "template_string", "regex"):
            stack.extend(reversed(node.children))
        elif node.type not in ("comment", "html_comment"):
            yield node.text.decode()


def node_spans(script: str, *kinds: str) -> list[tuple[int, int]]:
    """Return where the outermost nodes of some kinds stand, in characters."""
    data = script.encode("utf-8", "replace")
    spans, stack = [], [_parser().parse(data).root_node]
    while stack:
        node = stack.pop()
        if node.type in kinds:
            ends = (data[:at].decode("utf-8") for at in (node.start_byte, node.end_byte))
            start, end = map(len, ends)
            spans.append((start, end))
        else:
            stack.extend(node.children)
    return sorted(spans)


def processes_in(tree: Node) -> list[str]:
    """Return the names of the processes that a script goes through; empty if not written out."""
    found: list[str] = []
    mentioned = elements = 0
    for node in tree.all():
        if not (node.text or node.fields):
            continue
        mentioned += node.text in _PROCESSES
        elements += node.text == "uiElements"
        holder, given = node.fields.get("object"), node.fields.get("index")
        if node.type == "call_expression" and node.fields["function"].type == "member_expression":
            asked, given = node.fields["function"], next(iter(node.fields["arguments"].kids), None)
            holder = asked.fields["object"] if asked.fields["property"].text == "byName" else None
        named = holder is not None and "property" in holder.fields
        if named and given is not None and given.type == "string":
            assert holder is not None
            found += [given.text] if holder.fields["property"].text in _PROCESSES else []
    # A process is an interface element of System Events too.
    unnamed = mentioned > len(found) or (elements and not mentioned)
    return [*found, ""] if unnamed else found


def unescaped(text: str) -> str:
    """Return what a text stands for."""
    return _ESCAPE.sub(_plain, text) if "\\" in text else text


def _plain(found: re.Match[str]) -> str:
    for group in (1, 2, 3):
        if found[group]:
            code = int(found[group], 16)
            return chr(code) if code < 0x110000 else "\ufffd"
    if found[4] and found[4] != "0":
        return chr(int(found[4], 8))
    char = found[4] or found[5]
    return "" if char in ("\n", "\r", "\r\n") else _CONTROL.get(char, char)
