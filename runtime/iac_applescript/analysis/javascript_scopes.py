"""The names of a JavaScript and what each may hold: scopes, variables, records, functions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from iac_applescript.analysis.budget import spend
from iac_applescript.analysis.findings import Findings
from iac_applescript.analysis.javascript_rules import AppRules
from iac_applescript.analysis.javascript_tree import Node
from iac_applescript.analysis.javascript_values import (
    ANY_TEXT,
    DATA,
    HOLE,
    NOTHING,
    NUMBER,
    Atom,
    Site,
    Value,
    limited,
    texts_of,
)
from iac_applescript.analysis.words import HARMFUL_MEMBERS
from iac_runtime.policy.places import DISCARD_ROLES, mailbox_role

FUNCTIONS: Final = frozenset(
    "function_declaration function_expression arrow_function method_definition class_static_block"
    " generator_function generator_function_declaration".split()
)
_SCOPED: Final = FUNCTIONS | frozenset(
    "program statement_block for_statement for_in_statement catch_clause switch_body class_body"
    "".split()
)
NEVER: Final = frozenset(
    "constructor prototype __proto__ __defineGetter__ __defineSetter__ __lookupGetter__"
    " __lookupSetter__ caller callee call apply bind".split()
)
"""Members that lead from any value to code or to what all values share."""


_TRASH: Final = frozenset(("trash", "trashMailbox", "junkMailbox"))
INERT: Final = frozenset(("data", "text", "number", "odd", "chosen"))

_LONGEST: Final = 4_000


@dataclass(slots=True)
class Variable:
    value: Value = NOTHING
    read: bool = False
    given: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Scope:
    parent: "Scope | None"
    names: dict[str, Variable] = field(default_factory=dict)

    def find(self, name: str) -> Variable | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None


@dataclass(slots=True)
class Function:
    node: Node
    scope: Scope
    given: list[Value] = field(default_factory=list)
    spread: Value = NOTHING
    returns: Value = NOTHING
    seen: int = 0
    called: bool = False
    busy: bool = False


class Scopes:
    """The scopes of one script, and what its variables and records hold so far."""

    def __init__(self, tree: Node, findings: Findings, rules: AppRules) -> None:
        self.tree, self.findings, self.rules = tree, findings, rules
        self.scopes: dict[int, Scope] = {}
        self.functions: dict[int, Function] = {}
        self.sites: dict[int, Site] = rules.sites
        self.pass_, self.changed = 0, False
        self.returning: list[Function] = []
        self.this_known = self.depth = 0
        self.shared = self.site(tree)
        self.declare(tree, Scope(None), Scope(None))
        self.root = self.scopes[id(tree)]

    def add(self, rule: str, says: str, text: str, node: Node) -> None:
        self.findings.add("DANGEROUS", rule, says, text, node.start)

    @staticmethod
    def name_of(node: Node) -> str:
        return node.fields["name"].text if "name" in node.fields else ""

    def declare(self, node: Node, scope: Scope, outer: Scope) -> None:
        """Make the scopes of a tree, and put into each the names that are declared there."""
        if node.type in (
            "function_declaration",
            "generator_function_declaration",
            "class_declaration",
        ):
            for where in (scope, outer):
                where.names.setdefault(self.name_of(node), Variable())
        if node.type in _SCOPED:
            scope = Scope(scope if scope.parent or scope.names or node.type != "program" else None)
            outer = scope if node.type in FUNCTIONS or node.type == "program" else outer
            self.scopes[id(node)] = scope
            if node.type in ("function_expression", "generator_function") and self.name_of(node):
                scope.names[self.name_of(node)] = Variable()
        if node.type in FUNCTIONS:
            self.functions[id(node)] = Function(node, scope)
            for key in ("parameters", "parameter"):
                if key in node.fields:
                    self.declare_names(node.fields[key], scope)
        elif node.type == "catch_clause" and "parameter" in node.fields:
            self.declare_names(node.fields["parameter"], scope)
        elif node.type in ("lexical_declaration", "variable_declaration"):
            for kid in node.kids:
                self.declare_names(kid.fields["name"], outer if node.type[0] == "v" else scope)
        elif node.type == "for_in_statement" and node.words & {"var", "let", "const"}:
            self.declare_names(node.fields["left"], outer if "var" in node.words else scope)
        elif node.type == "class" and self.name_of(node):
            scope.names.setdefault(self.name_of(node), Variable())
        elif node.text and node.type in ("property_identifier", "string"):
            self.rules.throws = (
                self.rules.throws or node.text in _TRASH or mailbox_role(node.text) in DISCARD_ROLES
            )
        for kid in node.kids:
            self.declare(kid, scope, outer)

    def declare_names(self, node: Node, scope: Scope) -> None:
        """Declare what a pattern binds."""
        if node.type in ("identifier", "shorthand_property_identifier_pattern"):
            scope.names.setdefault(node.text, Variable())
        elif node.type in ("assignment_pattern", "object_assignment_pattern"):
            self.declare_names(node.kids[0], scope)
        elif node.type == "pair_pattern":
            self.declare_names(node.fields["value"], scope)
        elif node.type not in ("member_expression", "subscript_expression"):
            for kid in node.kids:
                self.declare_names(kid, scope)

    def judge_texts(self, value: Value, node: Node) -> None:
        for text in texts_of(value):
            self.rules.text(text, node.start)

    def copy_into(self, site: Site, value: Value) -> None:
        for atom in value:
            if atom[0] == "site":
                other = self.sites[atom[1]]  # type: ignore[index]
                spend(len(other.fields))
                for name, found in list(other.fields.items()):
                    self.set_field(site, name, found)
                if other.any:
                    self.set_field(site, None, other.any)
            elif atom[0] not in ("fn", "js", "class", "this"):
                if atom[0] in ("app", "anything", "bridge"):
                    self.add(
                        "dynamic", "copies what cannot be read from the script", "...", self.tree
                    )
                self.set_field(
                    site, None, frozenset((atom,)) if atom[0] in ("anything", "of", "app") else DATA
                )

    @staticmethod
    def proven(value: Value) -> list[str] | None:
        """Return the names that a value may be as a key, or None if that is not proven."""
        if value and all(
            a[0] == "number" or (a[0] == "text" and len(a) > 1 and HOLE not in str(a[1]))
            for a in value
        ):
            return [str(a[1]) for a in value if a[0] == "text"]
        return None

    def returned(self, function: Function, value: Value) -> None:
        if not value <= function.returns:
            function.returns = limited(function.returns | value)
            self.changed = True

    def site(self, node: Node) -> Site:
        return self.sites.setdefault(id(node), Site())

    def set_field(self, site: Site, name: str | None, value: Value) -> None:
        if name == "__proto__":
            self.add("member", HARMFUL_MEMBERS[name], name, self.tree)
        before = site.any if name is None else site.fields.get(name, NOTHING)
        if value <= before:
            return
        joined = limited(before | value)
        if joined != before:
            self.changed = self.changed or site.read
            if name is None:
                site.any = joined
            else:
                site.fields[name] = joined

    def give(self, variable: Variable, value: Value) -> None:
        if not value <= variable.value:
            joined = limited(variable.value | value)
            if joined != variable.value:
                self.changed = self.changed or variable.read
                variable.value = joined
                variable.given += texts_of(value)

    def elements(self, value: Value) -> Value:
        """Return what a value may hold, one level down."""
        spend(len(value) // 4)
        found: set[Atom] = set()
        for atom in value:
            if atom[0] == "site":
                site = self.sites[atom[1]]  # type: ignore[index]
                site.read = True
                spend(len(site.fields) // 8)
                for field_ in (site.any, *site.fields.values()):
                    spend(len(field_) // 32)
                    found |= field_
            elif atom[0] == "of":
                found.add((*atom[:3], "", ""))
            elif atom[0] == "text":
                found |= ANY_TEXT
            else:
                found.add(atom)
        return limited(frozenset(found)) or DATA

    def all_in(self, value: Value) -> Value:
        """Return all that a value may hold, at any depth."""
        found = value
        while not (more := self.elements(found)) <= found:
            found = limited(found | more)
        return found


def joined(first: Value, second: Value) -> Value:
    """Return two values put together by `+`: a text keeps what is known of it around a hole."""
    if first <= NUMBER and second <= NUMBER:
        return NUMBER
    whole = [one + two for one in _spelled(first) for two in _spelled(second)]
    spend(len(whole) // 2 + sum(map(len, whole)) // 200)
    found = {("text", re.sub(f"{HOLE}+", HOLE, text)[-_LONGEST:]) for text in whole}
    return limited(frozenset(found)) or ANY_TEXT


def _spelled(value: Value) -> Iterator[str]:
    holes = False
    for atom in value:
        if atom[0] == "text" and len(atom) > 1:
            yield str(atom[1])
        elif not holes:
            holes = True
            yield HOLE
    if not value:
        yield HOLE
