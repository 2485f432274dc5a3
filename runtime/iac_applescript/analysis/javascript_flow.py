"""What the expressions of a JavaScript may be, and where their values go.

They go through variables, containers, parameters and returns. A value is a set of what it may be,
joined over every place that gives it; the script is gone through until nothing is added. What
happens to an app is judged by `AppRules`. A function that nothing is seen to call may be given
anything.
"""

from collections.abc import Callable, Iterator
from typing import Final

from iac_applescript.analysis.findings import DEEPEST, OverBudgetError, spend
from iac_applescript.analysis.javascript_scopes import (
    INERT,
    Calls,
    Function,
    Scope,
    Variable,
    joined,
)
from iac_applescript.analysis.javascript_tree import (
    ANY_TEXT,
    ANYTHING,
    DATA,
    HOLE,
    NOTHING,
    NUMBER,
    Args,
    Node,
    Site,
    Value,
    limited,
    unescaped,
)
from iac_applescript.analysis.vocabulary import HARMFUL_NAMES, KNOWN_GLOBALS

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
        outer = node.type.endswith("declaration")
        variable = (scope if outer else self.scopes[id(node)]).find(name)
        if variable is not None and name:
            self.give(variable, found)
        if "async" in node.words:
            says = "continues at another time, which IAC does not follow"
            self.add("unknown", says, "async", node)
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
        if _is_current_application(node):
            return frozenset((("js", "currentApplication"),))
        holder = self.value(node.fields["object"], scope)
        return self.member(holder, node.fields["property"].text, node, None)

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
            if _is_current_application(callee):
                return self.rules.current()
            asked = self.value(callee.fields["object"], scope)
            if callee.type == "member_expression":
                name = callee.fields["property"].text
                return self.member(asked, name, callee, self._args(given, scope))
            index = self.value(callee.fields["index"], scope)
            return self.computed(asked, index, callee, self._args(given, scope))
        return self.call(self.value(callee, scope), self._args(given, scope), node)

    def _v_new_expression(self, node: Node, scope: Scope) -> Value:
        callee = self.value(node.fields["constructor"], scope)
        given = node.fields.get("arguments")
        found = self.call(callee, self._args(given, scope) if given else Args(), node)
        return found | frozenset((("site", id(self.tree)), *(a for a in callee if a[0] == "site")))

    def _args(self, node: Node, scope: Scope) -> Args:
        if node.type == "template_string":
            site = self.site(node)
            parts = [
                self.value(kid.kids[0], scope)
                for kid in node.kids
                if kid.type == "template_substitution" and kid.kids
            ]
            written = (kid.text for kid in node.kids if kid.type == "string_fragment")
            texts: Value = frozenset(("text", unescaped(text)) for text in written)
            self.set_field(site, None, texts or DATA)
            return Args([frozenset((("site", id(node)),)), *parts])
        found = Args()
        for kid in node.kids:
            if kid.type == "spread_element":
                found.spread |= self.elements(self.value(kid.kids[0], scope))
            else:
                found.values.append(self.value(kid, scope))
        return found


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
                    unseen = DATA if handler else ANYTHING
                    self.enter(function, [], NOTHING if function.called else unseen)
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
            holder = self.value(node.fields["object"], scope)
            self.put(holder, node.fields["property"].text, value, node)
        elif node.type == "subscript_expression":
            holder = self.value(node.fields["object"], scope)
            index = self.value(node.fields["index"], scope)
            names = self.proven(index)
            if names is None and any(a[0] not in INERT | {"site"} for a in holder):
                says = "sets something whose name is put together while the script runs"
                self.add("dynamic", says, "", node)
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
        itself = node.kids[0] if node.type == "object_assignment_pattern" else node
        key = node.fields.get("key", itself)
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
        alone = [node.fields["parameter"]] if "parameter" in node.fields else []
        names = params.kids if params else alone
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


def _is_current_application(node: Node) -> bool:
    """Say whether a member is `Application.currentApplication`."""
    holder, name = node.fields["object"], node.fields.get("property")
    named = holder.type == "identifier" and holder.text == "Application"
    return named and name is not None and name.text == "currentApplication"


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
