"""The names of a JavaScript, what each may hold, and what their members and calls give.

Scopes, variables, records, functions; members of what the script makes, of the language, of apps. A
function that nothing is seen to call may be given anything.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from iac_applescript.analysis.findings import Findings, spend
from iac_applescript.analysis.javascript_rules import AppRules
from iac_applescript.analysis.javascript_tree import (
    ANY_TEXT,
    ANYTHING,
    DATA,
    HOLE,
    NOTHING,
    NUMBER,
    ODD,
    Args,
    Atom,
    Node,
    Site,
    Value,
    exact,
    limited,
    texts_of,
)
from iac_applescript.analysis.vocabulary import (
    CONTAINER_CALLS,
    CONTAINERS,
    HARMFUL_MEMBERS,
    HARMFUL_NAMES,
    NUMBER_MEMBERS,
)
from iac_runtime.policy.verbs import is_trash_name

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
            self.rules.throws = self.rules.throws or node.text in _TRASH or is_trash_name(node.text)
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


_DEEP: Final = frozenset("flat concat entries fromEntries values assign from Map Set".split())
"""Methods that give what is held at any depth."""

_CHOSEN_LATE: Final = frozenset(("odd", "anything", "this", "app"))
_EACH: Final = frozenset(("forEach", "some", "every"))


class Calls(Scopes):
    """Follows values through members, calls and the methods of the language."""

    def body_of(self, function: Function) -> None:
        raise NotImplementedError

    def put(self, holder: Value, name: str | None, value: Value, node: Node) -> None:
        """Set a member; without a name any of them."""
        spend(len(holder) // 2)
        if name in NEVER or any(
            atom[0] in ("odd", "js", "fn") and atom[-1] != "Progress" for atom in holder
        ):
            self.add("member", "changes what other values share", name or "", node)
        for atom in holder:
            if atom[0] == "site":
                site = self.sites[atom[1]]  # type: ignore[index]
                self.set_field(site, name, value)
                if name is None:
                    site.keyed = True
                    self.copy_into(site, value)
        if ("this",) in holder and name in self.root.names:
            self.give(self.root.names[name], value)
        if name in ("toString", "valueOf", "toJSON", "then"):
            self.call(frozenset(atom for atom in value if atom[0] == "fn"), Args([ANYTHING]), node)
        if name is not None:
            self.rules.put(holder, name, value, node)

    def computed(self, holder: Value, index: Value, node: Node, args: Args | None) -> Value:
        """Return a member whose name is reckoned, or what calling it gives."""
        names = self.proven(index)
        if names is None:
            live = [atom for atom in holder if atom[0] not in INERT | {"site", "fn"}]
            if live or not (index or holder):
                says = "a name that is put together at run time cannot be judged"
                self.add("dynamic", says, "", node)
            found = self.elements(frozenset(a for a in holder if a[0] == "site" or a[0] in INERT))
            found |= ODD if args is None else NOTHING
            return self.call(found | ODD, args, node) if args is not None else limited(found)
        parts = [self.member(holder, name, node, args, picked=True) for name in names]
        if any(atom == ("number",) for atom in index):
            each = self.elements(holder)
            parts.append(each if args is None else self.call(each, args, node))
        return limited(frozenset().union(*parts))

    def member(
        self, holder: Value, name: str, node: Node, args: Args | None, *, picked: bool = False
    ) -> Value:
        """Return what a member of a value may be, or what calling it gives."""
        if name in NEVER:
            says = HARMFUL_MEMBERS.get(name, "reaches what all values share")
            self.add("member", says, name, node)
            return ANYTHING
        spend(len(holder) // 4)
        found: Value = NOTHING
        own = False
        for atom in holder:
            kind = atom[0]
            if kind == "site":
                site = self.sites[atom[1]]  # type: ignore[index]
                site.read = True
                spend(len(found) // 64)
                hidden = site.keyed or name not in CONTAINER_CALLS
                held = site.fields.get(name, NOTHING) | (site.any if hidden else NOTHING)
                if held:
                    own = own or name in site.fields
                    found |= held if args is None else self.call(held - DATA, args, node)
            elif kind in ("fn", "class"):
                found |= DATA
            elif kind == "js" and args is None and name in CONTAINER_CALLS:
                found |= frozenset((("js", name),))
        if ("this",) in holder:
            variable = self.root.names.get(name)
            if variable is not None:
                variable.read = True
                held = variable.value
                found |= held if args is None else self.call(held, args, node)
            elif name in HARMFUL_NAMES or name == "Application":
                says = "names an app in a way that IAC does not understand"
                self.add("name", HARMFUL_NAMES.get(name, says), name, node)
        found |= self.rules.member(holder, name, node, args, picked=picked)
        if name in NUMBER_MEMBERS and not any(a[0] in ("site",) for a in holder if own):
            return limited(found | NUMBER) - DATA
        if args is not None and name in CONTAINER_CALLS and not own:
            return limited(found | self._container(holder, name, args, node))
        listed = frozenset(atom for atom in holder if atom[0] == "site")
        held = self.all_in(listed) if args is not None and listed and not found else NOTHING
        if any(atom[0] in ("app", "of", "anything", "bridge") for atom in held):
            self.add("unknown", "holds an app in a way that IAC does not understand", name, node)
            return ANYTHING
        inert = any(atom[0] in INERT or atom[0] == "js" for atom in holder)
        return limited(found | (DATA if inert or not found else NOTHING))

    def _container(self, holder: Value, name: str, args: Args, node: Node) -> Value:
        """Return what a method of an array, text, map or of a built-in object gives."""
        given = frozenset().union(args.spread, *args.values)
        functions = frozenset(atom for atom in given if atom[0] in ("fn", "class"))
        if name == "join":
            return self._join(holder, args, node)
        over: Value = frozenset(atom for atom in holder if atom[0] not in ("js",))
        held = self.elements(over)
        held |= self.elements(given - functions) if over == NOTHING else NOTHING
        if name in _DEEP:
            held = self.all_in(over | (given - functions))
        for atom in holder:
            if atom[0] == "site" and name in CONTAINERS["puts"]:
                self.set_field(self.sites[atom[1]], None, given)  # type: ignore[index]
        if name in CONTAINERS["texts"]:
            held = ANY_TEXT | (held if name == "slice" else NOTHING)
        returns = NOTHING
        if functions:
            keyed = any(a[0] == "site" and not self.sites[a[1]].ordered for a in over)  # type: ignore[index]
            first = held | (self.elements(given - functions) if name == "from" else NOTHING)
            inner = Args([first, NUMBER | held if keyed else NUMBER, over])
            if name in ("reduce", "reduceRight"):
                inner = Args([held | given - functions, held, NUMBER, over])
            elif name == "sort":
                inner = Args([held, held])
            elif name in CONTAINERS["texts"] | CONTAINERS["data"] - _EACH:
                inner = Args([ANY_TEXT], ANY_TEXT | NUMBER | DATA | held)
            elif any(a[0] in ("app", "of", "anything") for v in args.values[1:] for a in v):
                self.add("dynamic", "hands on an app as `this`", name, node)
            returns = self.call(functions, inner, node)
            if name in ("reduce", "reduceRight"):
                returns |= self.call(functions, Args([returns, held, NUMBER, over]), node)
        if name in CONTAINERS["data"]:
            return DATA | (returns if name == "parse" else NOTHING)
        if name in ("reduce", "reduceRight"):
            return returns | (given - functions)
        site, maps = self.site(node), name in ("map", "flatMap") or (name == "from" and functions)
        self.set_field(site, None, limited(returns | self.elements(returns) if maps else held))
        if name in ("Map", "Set", "Object", "fromEntries", "values", "entries"):
            site.ordered = False
        if name in ("values", "entries", "assign", "fromEntries") and any(
            a[0] in ("app", "anything") for a in given
        ):
            self.add("dynamic", "lists what cannot be read from the script", name, node)
        whole = over if name in ("sort", "reverse", "fill", "set", "add") else NOTHING
        alone = held if name in CONTAINERS["picks"] else NOTHING
        made: Value = NOTHING if name in CONTAINERS["alone"] else frozenset((("site", id(node)),))
        return limited(made | whole | alone)

    def _join(self, holder: Value, args: Args, node: Node) -> Value:
        between = exact(args.values[0]) if args.values else [","]
        found: Value = ANY_TEXT
        for atom in holder:
            site = self.sites[atom[1]] if atom[0] == "site" else None  # type: ignore[index]
            if site is not None and site.ordered and not site.any and between and len(between) == 1:
                whole: Value = frozenset((("text", ""),))
                for place, part in enumerate(site.fields.values()):
                    whole = joined(whole, frozenset((("text", between[0]),))) if place else whole
                    whole = joined(whole, part)
                found = whole if len(holder) == 1 else found | whole
        self.judge_texts(found, node)
        return found

    def call(self, callee: Value, args: Args, node: Node) -> Value:
        """Return what calling a value gives."""
        spend(len(callee))
        found: Value = NOTHING
        for atom in callee:
            kind = atom[0]
            if kind == "fn":
                function = self.functions[atom[1]]  # type: ignore[index]
                found |= self.enter(function, args.values, args.spread)
            elif kind == "class":
                site = self.sites[atom[1]]  # type: ignore[index]
                made = site.fields.get("constructor", NOTHING)
                found |= self.call(made, args, node) | frozenset((("site", atom[1]),))
            elif kind in _CHOSEN_LATE or (kind == "of" and args.values and not atom[4]):
                says = "calls a function that is chosen while the script runs"
                self.add("dynamic", says, "", node)
            elif kind not in ("site", "data", "text", "number", "chosen"):
                found |= self.rules.called(atom, args, node)
                # A path holds nothing but its text.
                if kind == "js" and atom[1] != "Path":
                    found |= self._container(callee, str(atom[1]), args, node)
        return limited(found) or DATA

    def enter(self, function: Function, given: Sequence[Value], spread: Value) -> Value:
        """Bind what a function is given, go through it if that is new, return what it gives."""
        function.called = function.called or not spread >= ANYTHING
        fresh = function.seen != self.pass_
        for place, value in enumerate(given):
            if place >= len(function.given):
                function.given.append(value)
                fresh = True
            elif not value <= function.given[place]:
                function.given[place] = limited(function.given[place] | value)
                fresh = True
        if not spread <= function.spread:
            function.spread, fresh = limited(function.spread | spread), True
        if function.busy:
            self.changed = self.changed or (fresh and function.seen != self.pass_)
        elif fresh:
            function.busy, function.seen = True, self.pass_
            self.returning.append(function)
            self.body_of(function)
            self.returning.pop()
            function.busy = False
        return function.returns or DATA
