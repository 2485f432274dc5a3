"""Where the values of a JavaScript go: through variables, containers, parameters and returns.

A value is a set of what it may be, joined over every place that gives it; the script is gone
through until nothing is added. What happens to an app is judged by `AppRules`.
A function that nothing is seen to call may be given anything.
"""

from collections.abc import Iterator
from typing import Final

from iac_applescript.analysis.javascript_expressions import Expressions
from iac_applescript.analysis.javascript_scopes import INERT, Function, Scope, Variable, joined
from iac_applescript.analysis.javascript_tree import Node
from iac_applescript.analysis.javascript_values import (
    ANY_TEXT,
    ANYTHING,
    DATA,
    HOLE,
    NOTHING,
    NUMBER,
    Value,
    limited,
)
from iac_applescript.analysis.words import HARMFUL_NAMES, KNOWN_GLOBALS

_MOST_PASSES: Final = 12


class ScriptFlow(Expressions):
    """One script, gone through until what its values may be is complete."""

    def read(self) -> None:
        """Go through the script; what is found is that of the last time."""
        for self.pass_ in range(1, _MOST_PASSES + 1):
            self.changed = False
            self.findings.restart()
            known = len(self.rules.apps)
            self._children(self.tree, self.root)
            for function in list(self.functions.values()):
                if function.seen != self.pass_:
                    handler = self.name_of(function.node) == "run"
                    self.enter(
                        function, [], NOTHING if function.called else DATA if handler else ANYTHING
                    )
            grown = 0 < self.this_known < len(self.sites)
            self.changed = self.changed or grown or known != len(self.rules.apps)
            if not self.changed:
                break
        else:
            self.add("nesting", "goes round in ways that were not followed", "", self.tree)
        for variables in (scope.names.values() for scope in self.scopes.values()):
            for variable in variables:
                if len(variable.given) > 1:
                    self.rules.text("".join(variable.given).replace(HOLE, ""), self.tree.start)

    def _v_update_expression(self, node: Node, scope: Scope) -> Value:
        self.bind(node.kids[0], NUMBER, scope)
        return NUMBER

    def _v_assignment_expression(self, node: Node, scope: Scope) -> Value:
        left, right = node.fields["left"], node.fields["right"]
        found = self.value(right, scope)
        self.rules.appends = left.type == "member_expression" and any(
            _reads(part, left) for part in _parts(right)
        )
        self.bind(left, found, scope)
        self.rules.appends = False
        return found

    def _v_augmented_assignment_expression(self, node: Node, scope: Scope) -> Value:
        found, sign = self.value(node.fields["right"], scope), next(iter(node.words), "")
        if sign == "+=":
            # What stands before it grows with each turn: only the end is known.
            before = self.value(node.fields["left"], scope)
            numbers = before <= NUMBER and found <= NUMBER
            ends = joined(ANY_TEXT, found)
            self.judge_texts(ends, node)
            found = NUMBER if numbers else ends
        elif sign not in ("&&=", "||=", "??="):
            found = NUMBER
        self.bind(node.fields["left"], found, scope)
        return found

    def _v_variable_declarator(self, node: Node, scope: Scope) -> Value:
        if "value" in node.fields:
            self.bind(node.fields["name"], self.value(node.fields["value"], scope), scope)
        return DATA

    def _v_for_in_statement(self, node: Node, scope: Scope) -> Value:
        inner = self.scopes[id(node)]
        over = self.value(node.fields["right"], scope)
        each = self.elements(over) if "of" in node.words else ANY_TEXT
        self.bind(node.fields["left"], each, inner)
        return self.value(node.fields["body"], inner)

    def _v_catch_clause(self, node: Node, _scope: Scope) -> Value:
        inner = self.scopes[id(node)]
        if "parameter" in node.fields:
            thrown = self.shared.fields.get("throw", NOTHING) | DATA
            self.bind(node.fields["parameter"], thrown, inner)
        return self.value(node.fields["body"], inner)

    def _v_throw_statement(self, node: Node, scope: Scope) -> Value:
        self.set_field(self.shared, "throw", self.value(node.kids[0], scope))
        return DATA

    def _v_return_statement(self, node: Node, scope: Scope) -> Value:
        found = self.value(node.kids[0], scope) if node.kids else DATA
        if self.returning:
            self.returned(self.returning[-1], found)
        return found

    def bind(self, node: Node, value: Value, scope: Scope) -> None:
        """Give a value to a name, a member or a pattern."""
        if node.type in ("identifier", "shorthand_property_identifier_pattern"):
            variable = scope.find(node.text)
            if variable is None:
                if node.text in KNOWN_GLOBALS or node.text in HARMFUL_NAMES:
                    self.add("name", "changes a name of the language", node.text, node)
                variable = self.root.names.setdefault(node.text, Variable())
            self.give(variable, value)
        elif node.type == "member_expression":
            self.put(
                self.value(node.fields["object"], scope), node.fields["property"].text, value, node
            )
        elif node.type == "subscript_expression":
            holder = self.value(node.fields["object"], scope)
            index = self.value(node.fields["index"], scope)
            names = self.proven(index)
            if names is None and any(a[0] not in INERT | {"site"} for a in holder):
                self.add(
                    "dynamic",
                    "sets something whose name is put together while the script runs",
                    "",
                    node,
                )
            for name in names or (None,):
                self.put(holder, name, value, node)
        elif node.type in ("assignment_pattern", "object_assignment_pattern"):
            self.bind(node.kids[0], limited(value | self.value(node.kids[1], scope)), scope)
        elif node.type == "object_pattern":
            for kid in node.kids:
                self._bind_field(kid, value, scope)
        elif node.type == "array_pattern":
            each = self.elements(value)
            for kid in node.kids:
                self.bind(kid, each, scope)
        elif node.type == "rest_pattern":
            self.bind(node.kids[0], value, scope)
        elif node.type in ("parenthesized_expression", "array", "object"):
            for kid in node.kids:
                self.bind(kid, self.elements(value), scope)
        else:
            self.add("unknown", "sets something that IAC does not understand", node.type, node)

    def _bind_field(self, node: Node, value: Value, scope: Scope) -> None:
        if node.type == "rest_pattern":
            self.bind(node.kids[0], value, scope)
            return
        target = node.fields.get("value", node)
        key = node.fields.get(
            "key", node.kids[0] if node.type == "object_assignment_pattern" else node
        )
        if key.type == "computed_property_name":
            found = self.computed(value, self.value(key.kids[0], scope), node, None)
        else:
            found = self.member(value, key.text, node, None)
        self.bind(target, found, scope)

    def body_of(self, function: Function) -> None:
        node, scope = function.node, function.scope
        given = [value | function.spread for value in function.given]
        rest = function.spread or DATA
        params = node.fields.get("parameters")
        names = (
            params.kids
            if params
            else [node.fields["parameter"]]
            if "parameter" in node.fields
            else []
        )
        for place, name in enumerate(names):
            if name.type == "rest_pattern":
                site = self.site(name)
                self.set_field(site, None, frozenset().union(rest, *given[place:]))
                self.bind(name, frozenset((("site", id(name)),)), scope)
            else:
                self.bind(name, given[place] if place < len(given) else rest, scope)
        body = node.fields.get("body", node)
        if body is node:
            self._children(node, scope)
        elif body.type == "statement_block":
            self._children(body, self.scopes[id(body)])
        else:
            self.returned(function, self.value(body, scope))


def _parts(node: Node) -> Iterator[Node]:
    """Yield what `+` puts together in an expression."""
    if node.type == "binary_expression" and "+" in node.words:
        for kid in node.kids:
            yield from _parts(kid)
    else:
        yield node


def _reads(node: Node, member: Node) -> bool:
    """Say whether an expression reads the very member: the same name of the same variable."""
    read = node.fields.get("function", node)
    names = [
        (at.fields["object"], at.fields["property"].text)
        for at in (read, member)
        if at.type == "member_expression"
    ]
    if len(names) != 2:
        return False
    (one, first), (two, second) = names
    return first == second and one.type == two.type == "identifier" and one.text == two.text
