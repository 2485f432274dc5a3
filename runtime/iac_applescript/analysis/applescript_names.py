"""What an AppleScript calls its own: its names, what they may hold, and the texts that they spell.

Scopes are not told apart: a name may hold all that it is given anywhere. What nobody can tell from
the text is a hole in a spelled text, and one that only a person can fill is another.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Final, TypeAlias

from iac_applescript.analysis.findings import spend
from iac_runtime.language import applescript_tree as tree
from iac_runtime.language.applescript_tree import SyntaxNode

Possible: TypeAlias = SyntaxNode | None
"""What a value may be; None stands for anything."""

HOLE: Final = "\0"
"""In a spelled text: what is known when the script runs."""

TYPED: Final = "\1"
"""In a spelled text: what a person types for it."""

GIVEN: Final = "\3"
"""In a spelled text: an argument, which the call shows."""

NAMED: Final = "\2"
"""In a spelled text: the name of an object."""

ARGUMENT: Final = tree.Name(0, GIVEN)
"""What the script is given when it is run."""

_DEEPEST: Final = 6
_MOST: Final = 24
"""Texts that one expression is followed to."""

_SIGNS: Final = {
    "quote": '"', "return": "\n", "linefeed": "\n", "space": " ", "tab": "\t",
}  # fmt: skip
_VALUES: Final = frozenset(
    "currentDate offset round randomNumber count date theClipboard systemInfo timeToGMT".split()
)
"""Commands that answer plain values."""


_FIELDS: Final[dict[type, tuple[str, ...]]] = {
    kind: tuple(row.name for row in fields(kind) if row.type not in ("int", "str"))
    for kind in vars(tree).values()
    if isinstance(kind, type) and issubclass(kind, SyntaxNode)
}


def child_nodes(value: object, found: list[SyntaxNode]) -> list[SyntaxNode]:
    """Add the parts of a node, or of what one holds, and return them."""
    for part in (
        value
        if isinstance(value, tuple)
        else value.values()
        if isinstance(value, dict)
        else [getattr(value, name) for name in _FIELDS.get(type(value), ())]
    ):
        if isinstance(part, SyntaxNode):
            found.append(part)
        elif isinstance(part, tuple | dict):
            child_nodes(part, found)
    return found


def iterate_nodes(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield a node and all that is in it, each before its parts."""
    waiting = [node]
    while waiting:
        spend(0.125)
        yield (one := waiting.pop())
        waiting += reversed(child_nodes(one, []))


def inner_node(node: SyntaxNode) -> SyntaxNode:
    """Return a node without the parentheses around it, and without a coercion."""
    while True:
        if isinstance(node, tree.Grouped):
            node = node.inner
        elif isinstance(node, tree.ReferenceTo):
            node = node.target
        elif isinstance(node, tree.OperatorForm) and node.operator == "as":
            node = node.operands[0]
        elif isinstance(node, tree.CommandCall) and node.term == "get" and node.direct:
            node = node.direct
        else:
            return node


def container(node: SyntaxNode) -> Possible:
    """Return what a node is of; None for what is told, and for what is of nothing."""
    if isinstance(node, tree.Member | tree.ElementForm | tree.Place):
        return node.within
    return None


def chain(node: Possible) -> Iterator[SyntaxNode]:
    """Yield an object, what it is of, what that is of, and so on."""
    while node is not None:
        spend(0.1)
        yield (node := inner_node(node))
        node = container(node)


def property_term(node: Possible) -> str:
    """Return the property that a node is; empty for another node."""
    if isinstance(node, tree.Member) and isinstance(node.name, tree.TermName):
        return node.name.term.casefold()
    return ""


def class_term(node: Possible) -> str:
    """Return the class that a node names; empty for another node."""
    if isinstance(node, tree.ElementForm):
        return node.term or class_term(node.within)
    return node.term if isinstance(node, tree.TermName) and node.use == "class" else ""


def pattern_names(pattern: SyntaxNode) -> Iterator[str]:
    """Yield the names that a parameter declares."""
    yield from (node.name for node in iterate_nodes(pattern) if isinstance(node, tree.Name))


@dataclass(slots=True)
class ScriptNames:
    """The script's own names, in lower case.

    Attributes:
        variables: Name -> what it is given, anywhere.
        handlers: Names that are called -> their declaration.
        scripts: Names of script objects.
        properties: Names of properties, of the script or of a script object.
        terms: Words of a dictionary that are set like a name -> what they are given.
        grown: Names of lists that get an item by itself, and of what they may share it with.
    """

    variables: dict[str, list[Possible]] = field(default_factory=dict)
    handlers: dict[str, tree.Handler] = field(default_factory=dict)
    scripts: set[str] = field(default_factory=set)
    properties: set[str] = field(default_factory=set)
    grown: set[str] = field(default_factory=set)
    terms: dict[str, list[Possible]] = field(default_factory=dict)
    _named: dict[str, list[Possible]] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)
    _joining: set[int] = field(default_factory=set)
    _possible: dict[int, list[Possible]] = field(default_factory=dict)
    _spelled: dict[int, list[str]] = field(default_factory=dict)

    # ---- what is declared

    def give(self, name: str, value: Possible) -> None:
        self.variables.setdefault(name, []).append(value)

    def collect(self, script: tree.Script) -> None:
        """Note all names of a script."""
        calls: list[tree.HandlerCall] = []
        for node in iterate_nodes(script):
            match node:
                case tree.Assign(target=target, value=value):
                    self._assign(target, value)
                case tree.Repeat(form="in", variable=name, values=values):
                    self.give(name, tree.ElementForm(node.start, "item", "some", (), values[0]))
                case tree.Repeat(form="from", variable=name):
                    self.give(name, tree.Value(node.start, 1))
                case tree.Try(names=names):
                    for _, name in names:
                        self.give(name, None)
                case tree.Declare(kind=kind, names=names, value=value):
                    for name in names:
                        self.variables.setdefault(name, [])
                        if kind == "property":
                            self.properties.add(name)
                            self.give(name, value)
                case tree.Handler(name=name):
                    self.handlers[name] = node
                case tree.HandlerCall():
                    calls.append(node)
                case tree.Script(name=name) if node is not script:
                    self.scripts.add(name)
                    self.give(name, node)
                case _:
                    pass
        for call in calls:
            self._give_arguments(call)
        run = self.handlers.get("run")
        for name in (name for row in run.parameters for name in pattern_names(row)) if run else ():
            self.variables.setdefault(name, [ARGUMENT])
        for handler in self.handlers.values():
            for name in (name for row in handler.parameters for name in pattern_names(row)):
                # What nothing is seen to call may be given anything.
                self.variables.setdefault(name, [None])
        shared = list(self.grown)
        for name in shared:
            for value in self.variables.get(name, ()):
                held = (
                    {n.name for n in iterate_nodes(value) if isinstance(n, tree.Name)}
                    if value
                    else set()
                )
                fresh = (held & self.variables.keys()) - self.grown
                self.grown.update(fresh)
                shared += fresh

    def _assign(self, target: SyntaxNode, value: Possible) -> None:
        target = inner_node(target)
        match target:
            case tree.Name(name=name) | tree.Member(name=tree.Name(name=name)):
                self.give(name, value)
            case tree.Member(name=tree.TermName(term=term), within=None):
                self.terms.setdefault(term.casefold(), []).append(value)
            case tree.ListOf(items=items):
                given = inner_node(value) if value else None
                same = isinstance(given, tree.ListOf) and len(given.items) == len(items)
                parts = (
                    given.items if isinstance(given, tree.ListOf) and same else (None,) * len(items)
                )
                for item, part in zip(items, parts, strict=True):
                    self._assign(item, part)
            case tree.RecordOf(fields=rows):
                for _, item in rows:
                    self._assign(item, None)
            case tree.Place() | tree.ElementForm() | tree.Member():
                *_, root = chain(target)
                if isinstance(root, tree.Name):
                    self.grown.add(root.name)
            case _:
                pass

    def _give_arguments(self, call: tree.HandlerCall) -> None:
        handler = self.handlers.get(call.name)
        if handler is None:
            return
        same = len(handler.parameters) == len(call.arguments) and not handler.labels
        for place, parameter in enumerate(handler.parameters):
            if isinstance(parameter, tree.Name):
                self.give(parameter.name, call.arguments[place] if same else None)
            else:
                for name in pattern_names(parameter):
                    self.give(name, None)

    # ---- what it may be

    def possible_values(self, node: Possible, depth: int = 0) -> list[Possible]:
        """Return what a value may be, through names, lists and parentheses."""
        if node is None or depth > _DEEPEST:
            return [None]
        if id(node) not in self._possible:
            found = self._find_possible(inner_node(node), depth)
            if self._open:
                return found
            self._possible[id(node)] = found
        return self._possible[id(node)]

    def _find_possible(self, node: SyntaxNode, depth: int) -> list[Possible]:
        spend(1)
        if isinstance(node, tree.Name) and node.name in self.variables:
            if node.name in self._named:
                return self._named[node.name]
            if node.name in self._open:
                return [None]
            spend(len(self.variables[node.name]) / 8)
            values = self.variables[node.name] or [None]
            self._open.add(node.name)
            found = [one for value in values for one in self.possible_values(value, depth + 1)]
            self._open.discard(node.name)
            if not self._open:
                self._named[node.name] = found
            return found
        if container(node) is None and (given := self.terms.get(property_term(node))):
            key = f"\0{property_term(node)}"
            if key in self._open:
                return [None]
            self._open.add(key)
            found = [one for value in given for one in self.possible_values(value, depth + 1)]
            self._open.discard(key)
            return found
        if property_term(node) == "contents":
            return self.possible_values(container(node), depth + 1)
        if isinstance(node, tree.ElementForm) and node.term == "item" and node.within:
            return self._items_of(node, depth)
        return [node]

    def _items_of(self, node: tree.ElementForm, depth: int) -> list[Possible]:
        root = inner_node(node.within) if node.within else None
        items: list[Possible] = []
        if isinstance(root, tree.Name) and root.name in self.grown:
            items.append(None)
        for owner in self.possible_values(node.within, depth + 1):
            if isinstance(owner, tree.ListOf):
                items += [
                    one for part in owner.items for one in self.possible_values(part, depth + 1)
                ]
            else:
                items.append(owner if owner == ARGUMENT or _is_choice(owner) else node)
        return items

    def literal_value(self, name: str) -> str | None:
        """Return the text of a variable that is set once, to a text; else None."""
        values = self.variables.get(name, [])
        value = values[0] if len(values) == 1 else None
        known = isinstance(value, tree.Value) and isinstance(value.value, str)
        return value.value if known and isinstance(value, tree.Value) else None

    def is_script_object(self, node: Possible) -> bool:
        """Say whether a node stands for the script, or for a script object of it."""
        node = inner_node(node) if node else None
        if not isinstance(node, tree.Name):
            return False
        values = self.variables.get(node.name, [])
        objects = bool(values) and all(
            isinstance(row, tree.Script)
            or (isinstance(row, tree.Name) and row.name in self.scripts)
            for row in values
        )
        return node.name in ("me", "current application") or objects

    def is_own_value(self, node: Possible, depth: int = 0) -> bool:
        """Say whether a value is surely data of the script's own, no object of an app."""
        spend(1)
        if node is None or depth > _DEEPEST:
            return False
        match node:
            case tree.Grouped(inner=inner):
                return self.is_own_value(inner, depth + 1)
            case tree.Value() | tree.RecordOf() | tree.ListOf():
                return True
            case tree.OperatorForm(operator="as", operands=(_, tree.TermName(term=term))):
                return term in ("list", "text", "string", "record", "integer", "number", "real")
            case tree.OperatorForm():
                return True
            case tree.CommandCall(term=term):
                return term in _VALUES
            case tree.ElementForm(term="date", form="index", within=None):
                return True
            case tree.Name(name=name):
                values = self.variables.get(name, [])
                return bool(values) and all(self.is_own_value(v, depth + 1) for v in values)
            case _:
                return False

    # ---- what it spells

    def spell_texts(self, node: Possible, depth: int = 0) -> list[str]:
        """Return the texts that a value may be, with holes where they are not known."""
        if id(node) in self._spelled:
            return self._spelled[id(node)]
        found = self._find_texts(node, depth)
        if not self._joining and not self._open:
            self._spelled[id(node)] = found
        return found

    def _find_texts(self, node: Possible, depth: int) -> list[str]:
        spend(0.5)
        texts: list[str] = []
        for value in self.possible_values(node, depth):
            match value:
                case tree.Value(value=bool(told)):
                    texts.append(str(told).lower())
                case tree.Value(value=told) if told is not None:
                    texts.append(str(told))
                case tree.TermName(term=term) if term in _SIGNS:
                    texts.append(_SIGNS[term])
                case tree.OperatorForm(operator="&", operands=parts):
                    texts += self._join(id(value), parts, depth)
                case tree.Member() if self._is_typed(value):
                    texts.append(TYPED)
                case tree.Member() if property_term(value) in ("name", "displayed name"):
                    texts.append(NAMED)
                case tree.Name(name="\3"):
                    texts.append(GIVEN)
                case _:
                    texts.append(HOLE)
        return [*dict.fromkeys(texts)][:_MOST]

    def _join(self, joined: int, parts: tuple[SyntaxNode, ...], depth: int) -> list[str]:
        """Return the texts that parts give; a hole for a text that grows by itself."""
        if joined in self._joining or depth > _DEEPEST * 4:
            return [HOLE]
        self._joining.add(joined)
        try:
            return join_texts([self.spell_texts(part, depth + 1) for part in parts])
        finally:
            self._joining.discard(joined)

    def _is_typed(self, node: tree.Member) -> bool:
        """Say whether a value is what a person typed into a dialog of this script."""
        if property_term(node) != "text returned":
            return False
        if isinstance(node.within, tree.Name) and node.within.name == "result":
            return True
        return all(
            isinstance(one, tree.CommandCall)
            and one.term == "displayDialog"
            and all(map(is_known, self.spell_texts(one.direct)))
            for one in self.possible_values(node.within)
        )

    def is_spelled_out(self, node: Possible) -> bool:
        """Say whether a text is written out in the script, or what a person typed for it."""
        return node is not None and all(map(is_known, self.spell_texts(node)))


def is_known(text: str) -> bool:
    """Say whether a spelled text has no part that is only known when the script runs."""
    return HOLE not in text and NAMED not in text


def _is_choice(node: Possible) -> bool:
    return isinstance(node, tree.CommandCall) and node.term.startswith("choose")


def join_texts(parts: Sequence[Sequence[str]]) -> list[str]:
    """Return the texts that one of each part gives; a hole where there are too many."""
    size = 1
    for part in parts:
        size *= len(part)
    spend(size / 4)
    return ["".join(row) for row in product(*parts)] if size <= _MOST else [HOLE]
