"""The names of a JavaScript, what each is given, and the texts that it spells out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from iac_applescript.analysis.findings import spend
from iac_applescript.analysis.javascript_tree import Node, unescaped

FUNCTIONS: Final = frozenset(
    "function_declaration function_expression arrow_function method_definition generator_function"
    " generator_function_declaration".split()
)

_PAIRS: Final = frozenset(("reduce", "reduceRight", "sort", "toSorted"))
"""Methods of lists that hand two of what is in them to a function."""

_NUMBER: Final = Node("number", 0)
_NOTHING: Final = Node("undefined", 0)

_DEEPEST: Final = 24
_MOST_TEXTS: Final = 24
_LONGEST: Final = 4_000

_FOLDERS: Final[Mapping[str, str]] = {
    f"{name.lower()}{after}": name
    for name in ("Desktop", "Documents", "Downloads", "Movies", "Music", "Pictures")
    for after in ("", " folder")
}
"""The folders where a person keeps documents, as `pathTo` names them."""

HOLE: Final = "\0"
"""Stands in a text for a part that is not written out."""


class Names:
    """The names of a script, and what each is given anywhere in it."""

    def __init__(self, tree: Node) -> None:
        self.given: dict[str, list[Node]] = {}
        self.declared: set[str] = set()
        self.keys: set[str] = set()
        self.unknown: set[str] = set()
        self.each: set[str] = set()
        self.unused: set[int] = set()
        self._texts: dict[int, list[str] | None] = {}
        calls: dict[str, list[Node]] = {}
        functions: list[tuple[str, Node]] = []
        for node in tree.all():
            spend(1)
            parts = node.fields
            if node.type == "expression_statement":
                self.unused.add(id(node.kids[0].fields.get("function")))
            if node.type == "variable_declarator":
                self._give(parts["name"], parts.get("value", _NOTHING))
                if "value" in parts and parts["value"].type in FUNCTIONS:
                    functions.append((parts["name"].text, parts["value"]))
            elif node.type.endswith("assignment_expression"):
                self._give(parts["left"], parts["right"])
            elif node.type.endswith("assignment_pattern"):
                self._give(node.kids[0], node.kids[1])
            elif node.type == "update_expression":
                self._give(node.kids[0], _NUMBER)
            elif node.type == "for_in_statement":
                each = parts["right"] if "of" in node.words else None
                self._give(parts["left"], each, each=True)
            elif node.type == "catch_clause" and "parameter" in parts:
                self._give(parts["parameter"], None)
            elif node.type == "call_expression":
                callee = parts["function"]
                if callee.type == "identifier":
                    calls.setdefault(callee.text, []).append(parts["arguments"])
                if "object" in callee.fields:
                    self._give_callbacks(callee, parts["arguments"].kids)
            elif node.type in ("pair", "method_definition", "field_definition"):
                key = parts.get("key") or parts.get("name") or parts["property"]
                self.keys.add(key.text)
            if node.type in FUNCTIONS or node.type.startswith("class"):
                name = parts["name"].text if "name" in parts else ""
                self.declared.add(name)
                functions.append((name, node))
        for name, function in functions:
            for place, parameter in enumerate(_parameters(function)):
                self.declared |= {one.text for one in _names_in(parameter)}
                for given in calls.get(name, ()) if name else ():
                    self._give(parameter, given.kids[place] if place < len(given.kids) else None)

    def _give_callbacks(self, callee: Node, given: Sequence[Node]) -> None:
        """Give what a list hands to a function: what is in it, then where that stands."""
        called = callee.fields["property"].text if "property" in callee.fields else ""
        both = called in _PAIRS
        for function in given:
            if called == "forEach" and "body" in function.fields:
                self.unused.add(id(function.fields["body"].fields.get("function")))
            for place, name in enumerate(
                _parameters(function) if function.type in FUNCTIONS else ()
            ):
                each = callee.fields["object"] if place == 0 or both else _NUMBER
                self._give(name, each, each=True)

    def _give(self, target: Node, value: Node | None, *, each: bool = False) -> None:
        """Note what a name is given; `each` stands for what is in a list."""
        inside = each or target.type not in ("identifier", "assignment_pattern")
        values = [value]
        if inside and value is not None and value.type in ("array", "object"):
            values = [*value.kids] if value.type == "array" and each else [None]
        for name in _names_in(target):
            self.declared.add(name.text)
            self.each |= {name.text} if each else set()
            for one in values:
                if one is None or one.type == "spread_element":
                    self.unknown.add(name.text)
                elif one is not _NOTHING:
                    self.given.setdefault(name.text, []).append(one)

    def values(self, node: Node) -> Sequence[Node] | None:
        """Return all that a name is given; None where that is not known."""
        return None if node.text in self.unknown else self.given.get(node.text)

    def is_number(self, node: Node, depth: int = 0) -> bool:
        """Say whether an index is a number."""
        if node.type == "identifier" and depth < _DEEPEST:
            values = self.values(node)
            return bool(values) and all(self.is_number(one, depth + 1) for one in values or ())
        inner = "object" in node.fields and node.fields.get("property", node).text == "length"
        return inner or (
            node.type in ("number", "unary_expression", "update_expression", "binary_expression")
            and not ("+" in node.words and self.texts(node))
        )

    def texts(self, node: Node, depth: int = 0) -> list[str] | None:
        """Return the texts that an expression may be, parts that are not known as holes.

        None where nothing of it is known.
        """
        spend(1)
        if id(node) in self._texts or depth > _DEEPEST:
            return self._texts.get(id(node))
        self._texts[id(node)] = None
        found = self._texts[id(node)] = self._find_texts(node, depth)
        return found

    def _find_texts(self, node: Node, depth: int) -> list[str] | None:
        kind, parts = node.type, node.fields
        if kind in ("string", "true", "false"):
            return [node.text or kind]
        if kind == "template_string":
            return self._joined(node.kids, depth)
        if kind == "string_fragment":
            return [unescaped(node.text)]
        if kind in ("template_substitution", "parenthesized_expression") and node.kids:
            return self.texts(node.kids[0], depth + 1)
        if kind == "binary_expression" and "+" in node.words:
            return self._joined((parts["left"], parts["right"]), depth)
        if kind == "ternary_expression":
            both = [self.texts(parts[way], depth + 1) for way in ("consequence", "alternative")]
            return [*(both[0] or [HOLE]), *(both[1] or [HOLE])]
        if kind == "call_expression" and parts["arguments"].kids:
            called = parts["function"].fields.get("property", parts["function"]).text
            first = self.texts(parts["arguments"].kids[0], depth + 1) or [""]
            if called == "pathTo":
                folder = _FOLDERS.get(first[0])
                return [f"/Users/{HOLE}/{folder}"] if folder else None
            return first if called in ("Path", "String") else None
        if kind == "identifier" and (values := self.values(node)):
            found: list[str] = []
            for value in values[:_MOST_TEXTS]:
                found += self.texts(value, depth + 1) or [HOLE]
            more = [HOLE] if len(values) > _MOST_TEXTS else []
            return [*found[:_MOST_TEXTS], *more]
        return None

    def _joined(self, parts: Iterable[Node], depth: int) -> list[str]:
        found = [""]
        for part in parts:
            ends = self.texts(part, depth + 1) or [HOLE]
            found = [(one + end)[:_LONGEST] for one in found for end in ends][:_MOST_TEXTS]
            spend(sum(map(len, found)) // 50)
        return found

    def exact(self, node: Node | None) -> list[str] | None:
        """Return the texts that an expression is; None if it may be another."""
        found = self.texts(node) if node is not None else None
        return found if found and not any(HOLE in text for text in found) else None


def _parameters(function: Node) -> Sequence[Node]:
    many, one = function.fields.get("parameters"), function.fields.get("parameter")
    return many.kids if many else [one] if one else ()


def _names_in(target: Node) -> Iterator[Node]:
    """Yield the variables that are given a value by a name or a pattern."""
    if target.type in ("identifier", "shorthand_property_identifier_pattern"):
        yield target
    elif target.type not in ("member_expression", "subscript_expression"):
        kids = target.kids[:1] if target.type.endswith("assignment_pattern") else target.kids
        for kid in (target.fields["value"],) if target.type == "pair_pattern" else kids:
            yield from _names_in(kid)
