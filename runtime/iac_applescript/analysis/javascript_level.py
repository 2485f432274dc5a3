"""What the names and texts of a JavaScript say that it may do: a prediction, in one walk.

Values are not followed. A name stands for all that it is given anywhere in the script, what a
function is given for anything. The bridge (`mediator.js`) decides when the script runs, on real
values: a name that is not noted here, or an address, path or recipient that is not spelled out,
ends the script there. Nothing stands before Objective-C: there, what is not known is dangerous.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from iac_applescript.analysis import statement_effects as effects
from iac_applescript.analysis import vocabulary as language
from iac_applescript.analysis.findings import Findings, spend
from iac_applescript.analysis.javascript_tree import Node, unescaped
from iac_applescript.analysis.nested import RUNS_TEXT
from iac_applescript.analysis.statement_rules import describe_deed_danger
from iac_applescript.analysis.texts import is_data_path, is_web_address, judge_spelled
from iac_applescript.analysis.vocabulary import Find, TermUse, Use, Vocabulary
from iac_base.secrets import is_secret
from iac_base.words import split_name
from iac_runtime.policy.verbs import Deed, is_trash_name
from iac_runtime.tool import Level, highest
from iac_runtime.toolkit import Verb

_WORDS: Final = language.JAVASCRIPT
_OWN: Final = _WORDS["functions"] | _WORDS["values"]
_FIXED: Final = language.KNOWN_GLOBALS | language.HARMFUL_NAMES.keys()
_VERBS: Final = frozenset(language.HARMFUL_MEMBERS) | frozenset(language.COMMANDS)
_LEADS: Final = frozenset(term.replace(" ", "") for term in language.LEADS)
_BRIDGE: Final = frozenset(("$", "ObjC"))
_DEEPEST: Final = 24
_MOST_TEXTS: Final = 24
_LONGEST: Final = 4_000
_NOT_WRITTEN: Final = "gives properties that are not written out"
_CHOSEN: Final = "names an app that is chosen while the script runs"
_OBJECTIVE_C: Final = "reaches Objective-C, which can do anything"
_KEEPS: Final = {
    "saving": ("yes", "discards unsaved changes"),
    "replacing": ("false", "replaces existing files"),
}
"""Options that lose something, but for one value -> that value, and what they do."""

_OBJC: Final = frozenset(("ObjC",))
_ADDED: Final = frozenset((effects.ADDITIONS,))
_UNSPELLED: Final = "..."


class _Value(NamedTuple):
    """What an expression may be.

    Attributes:
        apps: The keys of the apps whose it may be; None where it may be of any.
        kind: Its class as a term; may be empty.
        many: Whether it is a whole collection of them.
        texts: The texts that it is one of; empty if it may be another.
        number: Whether it is a number.
    """

    apps: frozenset[str] | None = frozenset()
    kind: str = ""
    many: bool = False
    texts: tuple[str, ...] = ()
    number: bool = False


_Told = tuple[str, Node, bool]
_ANY: Final = _Value(None)
_GIVES: Final[Mapping[str, tuple[str, str]]] = {
    "variable_declarator": ("name", "value"),
    "for_in_statement": ("left", "right"),
    "catch_clause": ("parameter", ""),
    "update_expression": ("argument", ""),
} | dict.fromkeys(
    ("assignment_expression", "augmented_assignment_expression", "assignment_pattern",
     "object_assignment_pattern"),
    ("left", "right"),
)  # fmt: skip
"""Kinds of nodes that give a name a value -> their fields of the name and of the value."""

_NUMBER: Final = Node("number", 0)


class TextLevel:
    """Judges the names and texts of a script, and puts what it may do into the findings."""

    def __init__(
        self, tree: Node, findings: Findings, find: Find, additions: Vocabulary | None
    ) -> None:
        self.tree, self.findings, self.find, self.additions = tree, findings, find, additions
        self.apps: dict[str, Vocabulary] = {}
        self.app_names: set[str] = set()
        self.spelled: dict[str, int] = {}
        self.given: dict[str, list[Node | None]] = {}
        self.each: set[str] = set()
        self.keys: set[str] = set()
        self.unused: set[int] = set()
        self.led: set[int] = set()
        self.handed: dict[int, Node] = {}
        self.judged: set[int] = set()
        self.values: dict[int | str, _Value] = {}
        self.asks = self.bridged = False

    def add(self, level: Level, rule: str, says: str, text: str, node: Node) -> None:
        start = node.fields["property"].start if "property" in node.fields else node.start
        self.findings.add(level, rule, says, text, start)

    def read(self) -> None:
        """Go through the script: what names are given, then what is asked of what."""
        nodes = list(self.tree.all())
        spend(len(nodes))
        for node in nodes:
            self._note(node)
        for node in nodes:
            self._name_app(node)
            joins = node.type == "binary_expression" and "+" in node.words
            if joins or node.type in ("string", "template_string"):
                for text in self.value(node).texts:
                    self.spelled.setdefault(text, node.start)
        for node in nodes:
            self._judge(node)
        self.findings.spelled |= self.spelled.keys()
        texts = [(at, text) for text, at in self.spelled.items() if text not in self.app_names]
        ui = "system_events" in self.apps
        judge_spelled(texts, self.findings, acts=True, asks=self.asks, ui=ui)

    def _note(self, node: Node) -> None:
        """Note what a node gives to names."""
        parts, kind = node.fields, node.type
        self.bridged = self.bridged or (kind == "identifier" and node.text in _BRIDGE)
        target, value = _GIVES.get(kind, ("", ""))
        if target in parts:
            each = kind in ("for_in_statement", "catch_clause")
            self._give(parts[target], parts.get(value, _NUMBER), each=each)
        elif kind == "expression_statement":
            self.unused.add(id(node.kids[0].fields.get("function")))
        elif kind in ("pair", "method_definition", "field_definition"):
            self.keys.add((parts.get("key") or parts.get("name") or parts["property"]).text)
        elif kind == "call_expression" and "object" in parts["function"].fields:
            callee = parts["function"].fields
            for function in parts["arguments"].kids:
                # A list hands a function what is in it, then where that stands.
                self.handed[id(function)] = callee["object"]
                if callee.get("property", node).text == "forEach" and "body" in function.fields:
                    self.unused.add(id(function.fields["body"].fields.get("function")))
        if kind in _WORDS["functions"] or kind.startswith("class"):
            self.given.setdefault(parts["name"].text if "name" in parts else "", [None])
            many, one = parts.get("parameters"), parts.get("parameter")
            of = self.handed.get(id(node))
            for place, parameter in enumerate(many.kids if many else [one] if one else ()):
                self._give(parameter, of if place == 0 or of is None else _NUMBER, each=True)
        inner = parts.get("object") or parts.get("function") or parts.get("constructor")
        if inner is not None and inner.type == "identifier":
            self.led.add(id(inner))

    def _give(self, target: Node, value: Node | None, *, each: bool) -> None:
        """Note what a name is given; `each` stands for what is in it."""
        inside = each or target.type not in ("identifier", "assignment_pattern")
        for name in _names_in(target):
            self.each |= {name.text} if inside else set()
            self.given.setdefault(name.text, []).append(value)

    def _name_app(self, node: Node) -> None:
        callee = node.fields.get("function") or node.fields.get("constructor")
        if callee is None or callee.type != "identifier" or callee.text != "Application":
            return
        given = node.fields["arguments"].kids if "arguments" in node.fields else []
        names = self.value(given[0]).texts if len(given) == 1 else ()
        if not names:
            self.add("DANGEROUS", "target", _CHOSEN, "Application", node)
        for name in names:
            self.app_names.add(name)
            self.findings.named.add(name)
            app = None if "/" in name or ":" in name else self.find(name)
            if app is None:
                self.findings.unknown[name] = None
                says = "names an app whose dictionary IAC does not know"
                self.add("DANGEROUS", "target", says, name, node)
            else:
                self.findings.targets[app.bundle] = None
                self.apps[app.key] = app

    def value(self, node: Node | None, depth: int = 0) -> _Value:
        """Return what an expression may be."""
        if node is None or depth > _DEEPEST:
            return _ANY
        key = node.text if node.type == "identifier" else id(node)
        if key not in self.values:
            spend(1)
            # What leads back here adds nothing to it.
            self.values[key] = _Value()
            self.values[key] = self._find_value(node, node.fields, depth + 1)
        return self.values[key]

    def _find_value(self, node: Node, parts: Mapping[str, Node], depth: int) -> _Value:
        kind = node.type
        if kind in ("string", "true", "false", "string_fragment"):
            return _Value(texts=(unescaped(node.text) or kind if kind != "string" else node.text,))
        if kind == "template_string" or (kind == "binary_expression" and "+" in node.words):
            kids = [kid.kids[0] if kid.type.startswith("template_s") else kid for kid in node.kids]
            told = [self.value(kid, depth).texts for kid in kids]
            return _Value(texts=_joined(told), number=not any(told))
        if kind in _OWN:
            return _Value(number=kind in _WORDS["numbers"] or kind == "binary_expression")
        if kind == "identifier":
            if node.text in _BRIDGE:
                return _Value(_OBJC)
            if node.text not in self.given:
                return _Value() if node.text in language.KNOWN_GLOBALS else _ANY
            given = self.given[node.text]
            found = self._merged(given, depth)
            if node.text not in self.each:
                return found
            # What is in a list of the script's own may be anything; it is one of many.
            known = all(self.value(one, depth).apps for one in given)
            return found._replace(apps=found.apps if known else None, many=False)
        if kind == "ternary_expression":
            return self._merged([parts["consequence"], parts["alternative"]], depth)
        if kind in ("call_expression", "new_expression"):
            return self._called_value(node, parts.get("function") or parts["constructor"], depth)
        if "object" in parts:
            return self._member_value(parts, depth)
        return self.value(node.kids[0], depth) if len(node.kids) == 1 else _ANY

    def _called_value(self, node: Node, callee: Node, depth: int) -> _Value:
        given = node.fields["arguments"].kids if "arguments" in node.fields else []
        name = callee.fields.get("property", callee).text
        texts = self.value(given[0], depth).texts if given else ()
        if callee.text == "Application" and given:
            known = [self.find(text) for text in texts]
            return _Value(frozenset(app.key for app in known if app) if known else None)
        if name == "currentApplication":
            return _Value(_ADDED)
        if name in ("Path", "String"):
            return _Value(texts=texts)
        of = self.value(callee, depth) if "object" in callee.fields else _ANY
        if node.type == "new_expression" or of.apps == _ADDED or self._is_data(of.apps, name):
            return of._replace(apps=frozenset())
        # What a function gives takes the place of what is in a list.
        return of._replace(apps=None) if of.apps and name in _WORDS["replaces"] else of

    def _member_value(self, parts: Mapping[str, Node], depth: int) -> _Value:
        of = self.value(parts["object"], depth)
        name = parts["property"].text if "property" in parts else ""
        # What lies in a value of the script's own may be anything.
        found = _Value(of.apps or None, of.kind, of.many, number=name == "length")
        for app in self._apps_of(found.apps):
            row = next((row for row in app.names.get(name, ()) if row.use == "class"), None)
            if row is not None:
                spec = app.tables.classes.get(row.term)
                many = spec is not None and name == spec.plural != row.term
                return found._replace(kind=row.term, many=many)
        if name in ("whose", "where"):
            return found._replace(many=bool(of.kind))
        return found._replace(many=False) if not name or name in _WORDS["indexes"] else found

    def _merged(self, nodes: Iterable[Node | None], depth: int) -> _Value:
        found = [self.value(node, depth) for node in nodes]
        texts = tuple(chain.from_iterable(one.texts for one in found))
        known = len(texts) <= _MOST_TEXTS and all(one.texts for one in found)
        return _Value(
            None if any(one.apps is None for one in found)
            else frozenset(chain.from_iterable(one.apps or () for one in found)),
            next((one.kind for one in found if one.kind), ""), found[0].many,
            texts if known else (), all(one.number for one in found),
        )  # fmt: skip

    def _is_data(self, of: frozenset[str] | None, name: str) -> bool:
        rows = [row for app in self._apps_of(of or ()) for row in app.names.get(name, ())]
        return bool(rows) and all(row.use == "property" and row.plain for row in rows)

    def _apps_of(self, keys: Collection[str] | None) -> list[Vocabulary]:
        return [app for key, app in self.apps.items() if keys is None or key in keys]

    @staticmethod
    def entries(apps: Iterable[Vocabulary], name: str, use: Use) -> list[TermUse]:
        return [entry for app in apps for entry in app.names.get(name, ()) if entry.use == use]

    def _judge(self, node: Node) -> None:
        kind, parts = node.type, node.fields
        if kind in _WORDS["unreadable"] or "async" in node.words:
            says = "is a kind of expression that IAC does not follow"
            self.add("DANGEROUS", "unknown", says, kind, node)
        if kind in ("identifier", "shorthand_property_identifier"):
            self._judge_name(node, node.text)
        elif kind in ("call_expression", "new_expression"):
            callee = parts.get("function") or parts["constructor"]
            while callee.type == "parenthesized_expression" and callee.kids:
                callee = callee.kids[0]
            self.judged.add(id(callee))
            self._member(callee, parts["arguments"].kids if "arguments" in parts else [])
        elif kind.endswith("assignment_expression") or kind == "update_expression":
            self._put(parts.get("left") or node.kids[0], parts.get("right"))
        elif kind == "for_in_statement":
            self._put(parts["left"], None)
        elif kind in ("member_expression", "subscript_expression") and id(node) not in self.judged:
            self._member(node, None)
        elif kind in ("pair_pattern", "shorthand_property_identifier_pattern"):
            self._asked(node, None, None, parts.get("key", node).text)

    def _judge_name(self, node: Node, name: str) -> None:
        led = id(node) in self.led
        if name in _WORDS["targets"] and not led:
            self.add("DANGEROUS", "target", _CHOSEN, name, node)
        own = name in self.given and (
            name in _WORDS["shadowed"] or name not in language.HARMFUL_NAMES
        )
        if name in _BRIDGE:
            self.findings.asked.add("ObjC")
        if own or name in language.KNOWN_GLOBALS or (name in _BRIDGE and led):
            return
        if name in language.HARMFUL_NAMES:
            self.add("DANGEROUS", "name", language.HARMFUL_NAMES[name], name, node)
        else:
            self.add("DANGEROUS", "unknown", "was not understood", name, node)

    def _names_of(self, node: Node) -> Sequence[str] | None:
        """Return the names that a member may have; none for a number, None if it is reckoned."""
        if "property" in node.fields:
            return [node.fields["property"].text]
        index = self.value(node.fields["index"])
        return () if index.number else index.texts or None

    def _member(self, node: Node, given: Sequence[Node] | None) -> None:
        if "object" not in node.fields:
            return
        of, names = self.value(node.fields["object"]), self._names_of(node)
        if names is None and (of.apps or (of.apps is None and given is not None)):
            says = "asks for something whose name is put together while the script runs"
            self.add("DANGEROUS", "dynamic", says, "", node)
        for name in names or ():
            # An element may be named by an index.
            if "property" in node.fields or name in _VERBS or not of.many:
                self._asked(node, given, of.apps, name)

    def _bridge(self, node: Node, given: Sequence[Node] | None, name: str, *, sure: bool) -> None:
        """Judge a member that may be asked of Objective-C; a `sure` one is."""
        loads = self.value(given[0]).texts if name == "import" and given else ()
        known = language.BRIDGE_READS | language.BRIDGE_SETS | language.KNOWN_MEMBERS
        terms = any(name in app.names for app in self.apps.values())
        own = terms or (name in self.keys and not given)
        fine = set(loads) <= language.FRAMEWORKS if loads else name in known - {"import"}
        if not (fine or (own and not sure)):
            self.add("DANGEROUS", "name", _OBJECTIVE_C, name, node)

    def _asked(
        self, node: Node, given: Sequence[Node] | None, of: frozenset[str] | None, name: str
    ) -> None:
        """Judge a member that is asked of what may be an app, or an object of one."""
        if name in _WORDS["shared"]:
            self.add("DANGEROUS", "member", language.HARMFUL_MEMBERS[name], name, node)
        if given is None or id(node) not in self.unused:
            self.findings.used.add(name)
        handed = given is None and node.type.endswith("pattern")
        if of == frozenset():
            return
        if self.bridged and (of is None or "ObjC" in of):
            self._bridge(node, () if handed else given, name, sure=of is not None)
        apps = self._apps_of(of)
        commands = self.entries(apps, name, "command")
        if self.additions and not commands and (of is None or given is not None):
            commands = self.entries((self.additions,), name, "command")
            apps = [*apps, self.additions] if commands else apps
        classes, properties = (self.entries(apps, name, use) for use in ("class", "property"))
        known = bool(classes or properties or name in language.KNOWN_MEMBERS | _WORDS["harmless"])
        standard = name in language.COMMANDS and name != "get" and bool(self.apps)
        if name in _WORDS["carries"] and given is not None and commands and self._spells(given):
            self._does(node, apps, name, "command", "MODIFY", given, language.HARMFUL_MEMBERS[name])
        elif name in language.HARMFUL_MEMBERS and (commands or of or name not in self.keys):
            rule = (
                "told" if commands and language.HARMFUL_MEMBERS[name] in language.TOLD else "member"
            )
            self.add("DANGEROUS", rule, language.HARMFUL_MEMBERS[name], name, node)
            if commands:
                self._does(node, apps, name, "command", "DANGEROUS", given or (), "")
        elif name == "set" and given is not None and not commands:
            target = node.fields["object"]
            if not (of and "property" in target.fields):
                return
            self._set(target, given[0] if given else None)
        else:
            for key in [name, *self._filter_keys(name, given or ())]:
                if any(row.secret for row in self.entries(apps, key, "property")):
                    self.findings.read_secret(key, name, node.start)
            if is_secret(name) and properties:
                says = "reads or sets a secret"
                self._does(node, apps, name, "property", "DANGEROUS", given or (), says, "unknown")
            if commands or (standard and (given is not None or handed or (bool(of) and not known))):
                level = highest([row.level for row in commands] or [language.COMMANDS[name]])
                heavy = level != "SAFE" or name in ("copy", "make", "set")
                if given is None and heavy and not (handed or of):
                    return
                self.findings.tools |= dict.fromkeys(row.tool for row in commands)
                if given is not None:
                    self._command(node, apps, name, level, given)
                else:
                    # It may be given anything.
                    says = f"hands on {name}" if heavy else ""
                    level = "DANGEROUS" if heavy else level
                    self._does(node, apps, name, "command", level, (), says)
            elif classes and given is not None and name[:1].isupper():
                self._judge_options(self._told(given, field=True))
                self._make(node, apps, name, classes, given)
            elif not known:
                if not self.apps or not (of or handed or (given is not None and of is None)):
                    return
                self.add("DANGEROUS", "unknown", "was not understood", name, node)
        self.findings.asked.add(name)

    def _filter_keys(self, name: str, given: Sequence[Node]) -> Iterator[str]:
        """Yield the properties that a filter asks for."""
        if name in ("whose", "where"):
            for value in given:
                inside = (self._record(value) or value).all()
                yield from (one.fields["key"].text for one in inside if one.type == "pair")

    def _spells(self, given: Sequence[Node]) -> bool:
        """Say whether all that a command is given is spelled out, and no address but of the web."""
        told = [self.value(one).texts for _, one, _ in self._told(given)]
        plain = (":" not in text or is_web_address(text) for texts in told for text in texts)
        return all(told) and all(plain)

    def _record(self, node: Node) -> Node | None:
        """Return the record that an expression is written out as."""
        for _ in range(_DEEPEST):
            values = self.given.get(node.text) if node.type == "identifier" else None
            if not values or len(values) > 1 or values[0] is None:
                break
            node = values[0]
        return node if node.type == "object" else None

    def _told(self, given: Iterable[Node], *, field: bool = False) -> Iterator[_Told]:
        """Yield what a command is given, each with the name of its option, if it is one.

        The fields of `withProperties` follow; one whose name is not written out is `...`.
        """
        for one in given:
            record = self._record(one)
            if record is None:
                yield "", one, field
            for kid in record.kids if record else ():
                key = kid.fields.get("key", kid).text or _UNSPELLED
                value = kid.fields.get("value", kid)
                yield key, value, field
                if key == "withProperties":
                    yield from self._told([value], field=True)

    def _judge_options(self, told: Iterable[_Told]) -> str:
        """Judge the options of a command, or the fields of what is made; returns its class."""
        made = ""
        for key, value, field in told:
            texts, says = self.value(value).texts, ""
            if key == "new" and not field:
                named = ((app, text) for app in self.apps.values() for text in texts)
                rows = ((app.names.get(n, ()), app.terms.get(n.casefold(), ())) for app, n in named)
                uses = (use for both in rows for use in chain(*both) if use.use == "class")
                made = next((use.term for use in uses), "")
                says = "" if made else "makes something that IAC does not understand"
            elif field and key in ("", _UNSPELLED):
                says = "" if key == "" and value.type == "string" else _NOT_WRITTEN
            elif key in _KEEPS and texts != (_KEEPS[key][0],):
                says = _KEEPS[key][1]
            elif key == "defaultAnswer":
                self.asks = True
            elif key in language.HARMFUL_MEMBERS or field:
                says = language.HARMFUL_MEMBERS.get(key) or self._danger_of(key, value)
            if says:
                self.add(
                    "DANGEROUS", "told" if says in language.TOLD else "member", says, key, value
                )
        return made

    def _danger_of(self, name: str, value: Node | None) -> str:
        """Return why giving a property a value is dangerous; empty where it is not."""
        if name.casefold() in _LEADS:
            return f"sets {name}, which can point to any file or server"
        if "url" in name.casefold() and not self._is_address(value):
            return "sets an address that is not a plain web address"
        return describe_deed_danger(
            self._deed("change", name, "", "property", [value] if value else ())
        )

    def _is_address(self, value: Node | None) -> bool:
        texts = self.value(value).texts
        return bool(texts) and all(map(is_web_address, texts))

    def _command(
        self, node: Node, apps: Sequence[Vocabulary], name: str, level: Level,
        given: Sequence[Node],
    ) -> None:  # fmt: skip
        # The app itself is handed what a command is about; an object is what it is about.
        target, first = self.value(node.fields.get("object", node)), given[0] if given else None
        itself = not target.kind
        many = self.value(first).many if itself and first is not None else target.many
        harms = (
            (name in ("open", "run") and first is None and not itself)
            or (name in ("open", "geturl") and first is not None and not self._is_address(first))
            or (name == "select" and "system_events" in self.apps)
            or (
                name in _WORDS["writes"]
                and first is not None
                and not self._fills_data_file(name, given)
            )
            or (name in ("move", "duplicate") and (many or self._throws(given)))
        )
        made = self._judge_options(self._told(given))
        if made:
            rows = [row for app in apps for row in app.terms.get(made, ()) if row.use == "class"]
            self._make(node, apps, name, rows, given, made)
        elif name != "make" or itself:
            level = "DANGEROUS" if harms else level
            says = f'uses "{name}", which is {level}'
            self._does(node, apps, name, "command", level, given, says)

    def _throws(self, given: Iterable[Node]) -> str:
        """Return the trash that something is moved to, by its name."""
        for one in (inner for value in given for inner in value.all()):
            spend(1)
            name = one.text or (one.fields["property"].text if "property" in one.fields else "")
            if name in ("trash", "trashMailbox", "junkMailbox") or is_trash_name(name):
                return name
        return ""

    def _fills_data_file(self, name: str, given: Sequence[Node]) -> bool:
        """Say whether a command writes one file, data in a folder where a person keeps it."""
        named = [value for key, value, _ in self._told(given) if key in ("to", "in")]
        texts = self.value(named[0]).texts if len(named) == 1 and name != "run" else ()
        return bool(texts) and all(map(is_data_path, texts))

    def _make(
        self, node: Node, apps: Sequence[Vocabulary], name: str, rows: Sequence[TermUse],
        given: Sequence[Node], made: str = "",
    ) -> None:  # fmt: skip
        level, term = highest(("MODIFY", *(row.level for row in rows))), made or rows[0].term
        says = f"makes a new {term}"
        self._does(node, apps, name, "class", level, given, says, "create", term)

    def _put(self, target: Node, value: Node | None) -> None:
        if target.type in ("array", "object", "array_pattern", "object_pattern", "pair"):
            for kid in target.kids:
                self._put(kid, None)
        elif target.type == "pair_pattern" or target.type.endswith("assignment_pattern"):
            self._put(target.fields.get("value") or target.kids[0], None)
        elif target.type in ("member_expression", "subscript_expression"):
            self.judged.add(id(target))
            self._set(target, value)
        elif target.type == "identifier" and target.text in _FIXED - self.given.keys():
            says = "changes a name of the language"
            self.add("DANGEROUS", "name", says, target.text, target)

    def _set(self, target: Node, value: Node | None) -> None:
        """Judge a member that is set."""
        of, names = self.value(target.fields["object"]), self._names_of(target)
        shared = target.fields["object"].text in language.KNOWN_GLOBALS
        apps = self._apps_of(of.apps)
        if names is None and of.apps:
            says = "sets something whose name is put together while the script runs"
            self.add("DANGEROUS", "dynamic", says, "", target)
        for name in names or () if of.apps != frozenset() or shared else ():
            if self.bridged and (of.apps is None or "ObjC" in of.apps):
                self._bridge(target, None, name, sure=of.apps is not None)
            rows = self.entries(apps, name, "property")
            self.findings.put.add(name)
            if name in _WORDS["shared"]:
                self.add("DANGEROUS", "member", language.HARMFUL_MEMBERS[name], name, target)
            if rows and name not in _WORDS["modes"]:
                self._set_property(target, apps, name, rows, value, of.many)
            elif name not in _WORDS["modes"] and (shared or (of.apps or _OBJC) != _OBJC):
                says = "sets something that IAC does not understand"
                self.add("DANGEROUS", "unknown", says, name, target)

    def _set_property(
        self, target: Node, apps: Sequence[Vocabulary], name: str, rows: Sequence[TermUse],
        value: Node | None, many: bool,
    ) -> None:  # fmt: skip
        # What adds to a text keeps what was there.
        kept = value is not None and _adds_to(name, value)
        level = highest(("MODIFY", *(row.level for row in rows if not (kept and row.content))))
        danger = self._danger_of(name, value)
        if danger or many or (name in _WORDS["ui_acts"] and "system_events" in self.apps):
            level = "DANGEROUS"
        shows = level == "MODIFY" and all(row.level == "SAFE" for row in rows)
        given = [value] if value else ()
        says = danger or f"sets {name}"
        verb: Verb = "view" if shows else "change"
        self._does(target, apps, name, "property", level, given, says, verb)

    def _does(
        self, node: Node, apps: Sequence[Vocabulary], name: str, use: Use, level: Level,
        given: Sequence[Node], says: str, verb: Verb | None = None, term: str = "",
    ) -> None:  # fmt: skip
        """Note what a member does: why it needs a level, its effects, the texts that it has run."""
        if says:
            self.add(level, "secret" if verb == "unknown" else "command", says, term or name, node)
        texts = [
            (key, text) for key, value, _ in self._told(given) for text in self.value(value).texts
        ]
        own = [app for app in apps if app.key != effects.ADDITIONS]
        known = own if term else [app for app in apps if self.entries((app,), name, use)]
        values = [self.value(one) for one in (node.fields.get("object"), *given) if one]
        kind = term or next((one.kind for one in values if one.kind), "")
        more = ("make", "push", "unshift") if use == "class" else ()
        members = (f"setting {name}" if use == "property" else name, *more)
        for app in known or own:
            self.findings.acts |= {(app.key, member) for member in members}
            row = next((row for row in app.names.get(name, ()) if row.use == use), None)
            said = verb or effects.verb_for(name, row, level)
            if row and row.event in RUNS_TEXT:
                self.findings.nested += ((row.event, text) for _, text in texts)
            deed = self._deed(said, name, kind, use, given)
            flows, of = effects.flows_of(name, texts), kind if kind in app.terms else ""
            self.findings.effects += (
                effects.effect_on(app, does, of, level, flows)
                for does in (effects.deed_verbs(deed) if level != "SAFE" else (said,))
            )

    def _deed(
        self, verb: Verb, name: str, kind: str, use: Use, given: Sequence[Node] | None
    ) -> Deed:
        """Return what a member that is called, made or set does, as far as that is written out."""
        words, trash = " ".join(split_name(name)), self._throws(given or ())
        rows = [
            (" ".join(split_name(key)), self.value(value).texts, field)
            for key, value, field in self._told(given or (), field=use == "class")
        ]
        if use == "property":
            told = rows[0][1] if rows else ()
            return Deed(verb, "", kind, [(words, told[0] if told else None)], trash=trash)
        fields = [(key, next(iter(texts), None)) for key, texts, field in rows if key and field]
        direct = [text for key, texts, _ in rows if not key for text in texts]
        direct += [text for text in self.spelled if "." in text] if words == "open" else []
        # What a press is of stands before it, in whatever variable.
        pressed = self.spelled.keys() - self.app_names if words in effects.PRESSES else ()
        named = [key for key, _, field in rows if key and field == (use == "class")]
        moves = words in effects.MOVES
        return Deed(verb, words, kind, fields, direct, trash, moves, sorted(pressed), named)


def _names_in(target: Node) -> Iterator[Node]:
    """Yield the variables that are given a value by a name or a pattern."""
    if target.type in ("identifier", "shorthand_property_identifier_pattern"):
        yield target
    elif target.type not in ("member_expression", "subscript_expression"):
        kids = target.kids[:1] if target.type.endswith("assignment_pattern") else target.kids
        for kid in (target.fields["value"],) if target.type == "pair_pattern" else kids:
            yield from _names_in(kid)


def _adds_to(name: str, value: Node) -> bool:
    """Say whether a value is what a member had, with something put to it by `+`."""
    if value.type == "binary_expression" and "+" in value.words:
        return any(_adds_to(name, kid) for kid in value.kids)
    return value.fields.get("function", value).fields.get("property", _NUMBER).text == name


def _joined(parts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the texts that parts make; none if a part is not known, or they are too many."""
    found = [""]
    for ends in parts:
        found = [one + end for one in found for end in ends]
        if not found or len(found) > _MOST_TEXTS or len(found[0]) > _LONGEST:
            return ()
    return tuple(found)
