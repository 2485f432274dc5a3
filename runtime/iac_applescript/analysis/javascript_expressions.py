"""What an expression of a JavaScript may be."""

from collections.abc import Callable
from typing import Final

from iac_applescript.analysis.budget import DEEPEST, OverBudgetError, spend
from iac_applescript.analysis.javascript_calls import Calls
from iac_applescript.analysis.javascript_scopes import Scope, joined
from iac_applescript.analysis.javascript_tree import Node, unescaped
from iac_applescript.analysis.javascript_values import (
    ANY_TEXT,
    ANYTHING,
    DATA,
    NOTHING,
    NUMBER,
    Args,
    Site,
    Value,
    limited,
)
from iac_applescript.analysis.words import HARMFUL_NAMES, KNOWN_GLOBALS

_SHADOWED: Final = frozenset(("self", "window", "require", "Library"))
"""Names of the engine that a script's own variable takes the place of."""

_COARSE: Final = 4
"""The pass from which on texts that grow are no longer told apart."""

_UNREADABLE: Final = frozenset(
    "with_statement await_expression yield_expression import import_statement export_statement"
    " meta_property jsx_element jsx_self_closing_element decorator ERROR".split()
)


class Expressions(Calls):
    """Evaluates expressions, each to all that it may be."""

    def bind(self, node: Node, value: Value, scope: Scope) -> None:
        raise NotImplementedError

    def value(self, node: Node, scope: Scope) -> Value:
        """Return what an expression may be."""
        spend(1)
        self.depth += 1
        if self.depth > DEEPEST:
            raise OverBudgetError
        method: Callable[[Node, Scope], Value] | None = getattr(self, "_v_" + node.type, None)
        if node.type in _UNREADABLE:
            self.add("unknown", "is a kind of expression that IAC does not follow", node.type, node)
        if method is not None:
            found = method(node, scope)
        else:
            found = self._children(node, self.scopes.get(id(node), scope))
        self.depth -= 1
        return found

    def _children(self, node: Node, scope: Scope) -> Value:
        found = NOTHING
        for kid in node.kids:
            if kid.type == "function_declaration":
                self.value(kid, scope)
        for kid in node.kids:
            if kid.type != "function_declaration":
                found = self.value(kid, scope)
        return found or DATA

    def _v_string(self, node: Node, _scope: Scope) -> Value:
        self.rules.text(node.text, node.start)
        return frozenset((("text", node.text),))

    def _v_number(self, _node: Node, _scope: Scope) -> Value:
        return NUMBER

    def _v_regex(self, _node: Node, _scope: Scope) -> Value:
        return DATA

    def _v_template_string(self, node: Node, scope: Scope) -> Value:
        found: Value = frozenset((("text", ""),))
        for kid in node.kids:
            if kid.type == "template_substitution":
                part = self.value(kid.kids[0], scope) if kid.kids else DATA
            else:
                part = frozenset((("text", unescaped(kid.text)),))
            found = joined(found, part)
        self.judge_texts(found, node)
        return found if self.pass_ < _COARSE or len(node.kids) == 1 else ANY_TEXT

    def _v_identifier(self, node: Node, scope: Scope) -> Value:
        name, variable = node.text, scope.find(node.text)
        if name in HARMFUL_NAMES and not (variable and name in _SHADOWED):
            if name in ("$", "ObjC"):
                return frozenset((("bridge", name),))
            self.add("name", HARMFUL_NAMES[name], name, node)
            return ANYTHING
        if variable is not None:
            variable.read = True
            return variable.value
        if name in ("Application", "Automation", "ObjectSpecifier", "Path"):
            if name != "Path":
                self.add("target", "names an app that is chosen while the script runs", name, node)
            return frozenset((("js", name),))
        if name in KNOWN_GLOBALS:
            return NUMBER if name in ("NaN", "Infinity") else frozenset((("js", name),))
        self.add("unknown", "was not understood", name, node)
        return ANYTHING

    def _v_undefined(self, _node: Node, _scope: Scope) -> Value:
        return DATA

    _v_true = _v_null = _v_undefined

    def _v_false(self, _node: Node, _scope: Scope) -> Value:
        # What it is wherever a text is wanted; an option that is false says what is not done.
        return frozenset((("text", "false"),))

    def _v_shorthand_property_identifier(self, node: Node, scope: Scope) -> Value:
        return self._v_identifier(node, scope)

    def _v_this(self, _node: Node, _scope: Scope) -> Value:
        self.this_known = len(self.sites)
        spend(self.this_known // 8)
        return frozenset((("this",), *(("site", at) for at in self.sites)))

    _v_super = _v_this

    def _v_parenthesized_expression(self, node: Node, scope: Scope) -> Value:
        return self.value(node.kids[0], scope)

    def _v_ternary_expression(self, node: Node, scope: Scope) -> Value:
        self.value(node.fields["condition"], scope)
        parts = (self.value(node.fields[key], scope) for key in ("consequence", "alternative"))
        return limited(frozenset().union(*parts))

    def _v_binary_expression(self, node: Node, scope: Scope) -> Value:
        left, right = node.fields["left"], node.fields["right"]
        if left.type == "private_property_identifier":
            return DATA
        first, second = self.value(left, scope), self.value(right, scope)
        sign = next(iter(node.words), "")
        if sign in ("&&", "||", "??"):
            return limited(first | second)
        if sign == "+":
            found = joined(first, second)
            self.judge_texts(found, node)
            return found if self.pass_ < _COARSE or found <= NUMBER else ANY_TEXT
        return (
            NUMBER if sign in ("-", "*", "/", "%", "**", "|", "&", "^", "<<", ">>", ">>>") else DATA
        )

    def _v_unary_expression(self, node: Node, scope: Scope) -> Value:
        self.value(node.kids[0], scope)
        if "delete" in node.words:
            return DATA
        return NUMBER if node.words & {"-", "+", "~"} else DATA

    def _v_arguments(self, node: Node, scope: Scope) -> Value:
        return self._children(node, scope)

    def _v_array(self, node: Node, scope: Scope) -> Value:
        site = self.site(node)
        for place, kid in enumerate(node.kids):
            if kid.type == "spread_element":
                self.set_field(site, None, self.elements(self.value(kid.kids[0], scope)))
                site.ordered = False
            else:
                self.set_field(site, str(place), self.value(kid, scope))
        return frozenset((("site", id(node)),))

    def _v_object(self, node: Node, scope: Scope) -> Value:
        site = self.site(node)
        for kid in node.kids:
            if kid.type == "pair":
                key = self._key(kid.fields["key"], scope)
                found = self.value(kid.fields["value"], scope)
                for name in key or (None,):
                    self.set_field(site, name, found)
            elif kid.type == "spread_element":
                self.copy_into(site, self.value(kid.kids[0], scope))
            elif kid.type == "method_definition":
                self._method(site, kid, scope)
            else:
                self.set_field(site, kid.text, self.value(kid, scope))
        return frozenset((("site", id(node)),))

    def _key(self, node: Node, scope: Scope) -> list[str]:
        """Return the names that a key may be; none if that is not proven."""
        if node.type != "computed_property_name":
            return [node.text]
        return self.proven(self.value(node.kids[0], scope)) or []

    def _method(self, site: Site, node: Node, scope: Scope) -> None:
        name = node.fields["name"]
        keys = self._key(name, scope)
        function = self.functions[id(node)]
        found: Value = frozenset((("fn", id(node)),))
        if node.words & {"get", "set"} or not keys:
            self.enter(function, [], ANYTHING)
            found |= function.returns
        for key in keys or (None,):
            if key in ("toString", "valueOf", "toJSON", "then"):
                self.enter(function, [], ANYTHING)
            self.set_field(site, key, found)

    def _v_function_declaration(self, node: Node, scope: Scope) -> Value:
        found: Value = frozenset((("fn", id(node)),))
        name = self.name_of(node)
        variable = (
            scope.find(name)
            if node.type.endswith("declaration")
            else self.scopes[id(node)].find(name)
        )
        if variable is not None and name:
            self.give(variable, found)
        if "async" in node.words:
            self.add(
                "unknown",
                "continues at another time, which IAC does not follow",
                "async",
                node,
            )
        return found

    _v_generator_function_declaration = _v_function_declaration

    _v_function_expression = _v_generator_function = _v_arrow_function = _v_function_declaration

    def _v_class_declaration(self, node: Node, scope: Scope) -> Value:
        site, body = self.site(node), node.fields["body"]
        inner = self.scopes[id(body)]
        for kid in node.kids:
            if kid.type == "class_heritage":
                self.copy_into(site, self.value(kid.kids[0], scope))
        for kid in body.kids:
            if kid.type == "method_definition":
                self._method(site, kid, inner)
            elif kid.type == "field_definition":
                given = self.value(kid.fields["value"], inner) if "value" in kid.fields else DATA
                for name in self._key(kid.fields["property"], inner) or (None,):
                    self.set_field(site, name, given)
            else:
                self.enter(self.functions[id(kid)], [], NOTHING)
        self.copy_into(self.shared, frozenset((("site", id(node)),)))
        found: Value = frozenset((("site", id(node)), ("class", id(node))))
        if variable := scope.find(self.name_of(node)):
            self.give(variable, found)
        return found

    _v_class = _v_class_declaration

    def _v_member_expression(self, node: Node, scope: Scope) -> Value:
        holder, name = node.fields["object"], node.fields["property"].text
        if (
            holder.type == "identifier"
            and holder.text == "Application"
            and name == "currentApplication"
        ):
            return frozenset((("js", "currentApplication"),))
        return self.member(self.value(holder, scope), name, node, None)

    def _v_subscript_expression(self, node: Node, scope: Scope) -> Value:
        holder = self.value(node.fields["object"], scope)
        return self.computed(holder, self.value(node.fields["index"], scope), node, None)

    def _v_call_expression(self, node: Node, scope: Scope) -> Value:
        callee, given = node.fields["function"], node.fields["arguments"]
        if callee.type == "identifier" and callee.text == "Application":
            return self.rules.application(self._args(given, scope), node)
        while callee.type == "parenthesized_expression":
            callee = callee.kids[0]
        if callee.type in ("member_expression", "subscript_expression"):
            holder = callee.fields["object"]
            if callee.type == "member_expression":
                name = callee.fields["property"].text
                if (
                    holder.type == "identifier"
                    and holder.text == "Application"
                    and name == "currentApplication"
                ):
                    return self.rules.current()
                asked = self.value(holder, scope)
                return self.member(asked, name, callee, self._args(given, scope))
            asked = self.value(holder, scope)
            index = self.value(callee.fields["index"], scope)
            return self.computed(asked, index, callee, self._args(given, scope))
        return self.call(self.value(callee, scope), self._args(given, scope), node)

    def _v_new_expression(self, node: Node, scope: Scope) -> Value:
        callee = self.value(node.fields["constructor"], scope)
        given = (
            self._args(node.fields["arguments"], scope) if "arguments" in node.fields else Args()
        )
        found = self.call(callee, given, node)
        return found | frozenset((("site", id(self.tree)), *(a for a in callee if a[0] == "site")))

    def _args(self, node: Node, scope: Scope) -> Args:
        if node.type == "template_string":
            site = self.site(node)
            parts = [
                self.value(kid.kids[0], scope)
                for kid in node.kids
                if kid.type == "template_substitution" and kid.kids
            ]
            self.set_field(
                site,
                None,
                frozenset(
                    ("text", unescaped(kid.text))
                    for kid in node.kids
                    if kid.type == "string_fragment"
                )
                or DATA,
            )
            return Args([frozenset((("site", id(node)),)), *parts])
        found = Args()
        for kid in node.kids:
            if kid.type == "spread_element":
                found.spread |= self.elements(self.value(kid.kids[0], scope))
            else:
                found.values.append(self.value(kid, scope))
        return found
