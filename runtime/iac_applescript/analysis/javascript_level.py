"""What the names and texts of a JavaScript say that it may do: a prediction, in one walk.

Values are not followed. A name stands for all that it is given anywhere in the script, a parameter
for what the calls of its function are given. The bridge (`mediator.js`) decides when the script
runs, on real values: a name that is not noted here, or an address, path or recipient that is not
spelled out, ends the script there.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from iac_applescript.analysis import vocabulary as language
from iac_applescript.analysis.findings import Findings, spend
from iac_applescript.analysis.javascript_names import FUNCTIONS, HOLE, Names
from iac_applescript.analysis.javascript_tree import Node
from iac_applescript.analysis.nested import RUNS_TEXT
from iac_applescript.analysis.statement_effects import (
    ADDITIONS,
    MOVES,
    PRESSES,
    deed_verbs,
    effect_on,
    flows_of,
    verb_for,
)
from iac_applescript.analysis.statement_rules import describe_deed_danger
from iac_applescript.analysis.texts import is_data_path, is_web_address, judge_spelled
from iac_applescript.analysis.vocabulary import (
    HARMFUL_MEMBERS,
    HARMFUL_NAMES,
    KNOWN_GLOBALS,
    KNOWN_MEMBERS,
    TOLD,
    Find,
    TermUse,
    Use,
    Vocabulary,
)
from iac_base.secrets import is_secret
from iac_base.words import split_name
from iac_runtime.policy.verbs import Deed, is_trash_name
from iac_runtime.tool import Level, highest
from iac_runtime.toolkit import Verb

_OWN: Final = frozenset(
    "array object string number regex true false null undefined class template_string"
    " binary_expression unary_expression update_expression class_declaration".split()
) | (FUNCTIONS)
"""Expressions whose value is never an app's."""

_UNREADABLE: Final = frozenset(
    "with_statement await_expression yield_expression import import_statement export_statement"
    " meta_property jsx_element jsx_self_closing_element decorator ERROR".split()
)
_SHADOWED: Final = frozenset(("self", "window", "require", "Library", "arguments"))
"""Names of the engine that a script's own variable takes the place of."""

_FIXED: Final = KNOWN_GLOBALS | HARMFUL_NAMES.keys()
_HARMLESS: Final = frozenset(("activate", "count", "exists", "exist", "get", "log"))
_VERBS: Final = frozenset(HARMFUL_MEMBERS) | frozenset(language.COMMANDS)
_SHARED: Final = frozenset(name for name in HARMFUL_MEMBERS if name.startswith("__")) | frozenset(
    ("constructor", "prototype", "caller", "callee", "call", "apply", "bind")
)
"""Members that lead from any value to code, or to what all values share."""

_REPLACES: Final = frozenset(("map", "flatMap", "reduce", "reduceRight"))
_INDEXES: Final = frozenset(("byName", "byId", "at", "first", "last", "pop", "shift", "find"))
_DEEPEST: Final = 24
_CARRIES: Final = frozenset(("openLocation", "searchTheWeb", "addReadingListItem"))
"""Commands that take what they are given to the web."""

_WRITES: Final = frozenset(("save", "export", "archive", "run"))
"""Commands that do harm by what they are given."""

_UI_ACTS: Final = frozenset(("value", "selected", "focused"))
_LEADS: Final = frozenset(term.replace(" ", "") for term in language.LEADS)
_MODES: Final = frozenset(
    "includeStandardAdditions strictPropertyScope strictCommandScope strictParameterType".split()
)
"""What a script sets of an app's bridge, and not of the app."""

_NOT_WRITTEN: Final = "gives properties that are not written out"
_CHOSEN: Final = "names an app that is chosen while the script runs"


class TextLevel:
    """Judges the names and texts of a script, and puts what it may do into the findings."""

    def __init__(
        self, tree: Node, findings: Findings, find: Find, additions: Vocabulary | None
    ) -> None:
        self.tree, self.findings, self.find, self.additions = tree, findings, find, additions
        self.names = Names(tree)
        self.apps: dict[str, Vocabulary] = {}
        self.spelled: dict[str, int] = {}
        self.app_names: set[str] = set()
        self.holders: dict[int, frozenset[str] | None] = {}
        self.led: set[int] = set()
        self.members: dict[str, Node] = {}
        self.asks = False

    def add(self, level: Level, rule: str, says: str, text: str, node: Node) -> None:
        start = node.fields["property"].start if "property" in node.fields else node.start
        self.findings.add(level, rule, says, text, start)

    def read(self) -> None:
        """Go through the script once."""
        for node in self.tree.all():
            spend(1)
            self._name_app(node)
            if node.type in ("string", "template_string") or (
                node.type == "binary_expression" and "+" in node.words
            ):
                for text in self.names.texts(node) or ():
                    self.spelled.setdefault(text, node.start)
        done: set[int] = set()
        for node in self.tree.all():
            self._judge(node, done)
        if "ObjC" in self.findings.asked:
            self._hold_bridge()
        self.findings.spelled |= self.spelled.keys()
        texts = [(at, text) for text, at in self.spelled.items() if text not in self.app_names]
        ui = "system_events" in self.apps
        judge_spelled(texts, self.findings, acts=True, asks=self.asks, ui=ui)

    def _name_app(self, node: Node) -> None:
        callee = node.fields.get("function") or node.fields.get("constructor")
        if callee is None or callee.type != "identifier" or callee.text != "Application":
            return
        given = node.fields["arguments"].kids if "arguments" in node.fields else []
        names = self.names.exact(given[0]) if len(given) == 1 else None
        if names is None:
            self.add("DANGEROUS", "target", _CHOSEN, "Application", node)
        for name in names or ():
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

    def holder(self, node: Node, depth: int = 0) -> frozenset[str] | None:
        """Return the apps whose a value may be; None where it may be of any."""
        if node.type in _OWN:
            return frozenset()
        if id(node) in self.holders or depth > _DEEPEST:
            return self.holders.get(id(node))
        spend(1)
        self.holders[id(node)] = frozenset()
        found = self._find_holder(node, depth)
        self.holders[id(node)] = found
        return found

    def _find_holder(self, node: Node, depth: int) -> frozenset[str] | None:
        parts = node.fields
        if node.type == "identifier":
            built_in = node.text not in self.names.declared and node.text in KNOWN_GLOBALS
            if built_in or node.text in ("$", "ObjC"):
                return frozenset()
            found = self._all_holders(self.names.values(node), depth)
            # What is in a list of the script's own may be anything.
            return found or None if node.text in self.names.each else found
        if node.type == "ternary_expression":
            ways = [parts["consequence"], parts["alternative"]]
            return self._all_holders(ways, depth)
        if node.type in ("call_expression", "new_expression"):
            callee = parts.get("function") or parts["constructor"]
            if callee.text == "Application" and parts["arguments"].kids:
                names = self.names.exact(parts["arguments"].kids[0])
                known = [self.find(name) for name in names or ()]
                return frozenset(app.key for app in known if app) if names else None
            if "currentApplication" in (callee.fields.get("property", callee).text,):
                return frozenset((ADDITIONS,))
            if node.type == "new_expression":
                return frozenset()
            if "object" not in callee.fields:
                return None
            # What a function gives takes the place of what is in a list.
            name = callee.fields["property"].text if "property" in callee.fields else ""
            found = self.holder(callee, depth + 1)
            if found and (found == {ADDITIONS} or self._is_plain_property(found, name)):
                return frozenset()
            return None if found and name in _REPLACES else found
        if "object" in parts:
            # What lies in a value of the script's own may be anything.
            return self.holder(parts["object"], depth + 1) or None
        return self.holder(node.kids[0], depth + 1) if len(node.kids) == 1 else None

    def _is_plain_property(self, keys: frozenset[str], name: str) -> bool:
        apps = [app for key, app in self.apps.items() if key in keys]
        rows = [row for app in apps for row in app.names.get(name, ())]
        return bool(rows) and all(row.use == "property" and row.plain for row in rows)

    def _all_holders(self, nodes: Sequence[Node] | None, depth: int) -> frozenset[str] | None:
        found: set[str] = set()
        for node in nodes or ():
            of = self.holder(node, depth + 1)
            if of is None:
                return None
            found |= of
        return frozenset(found) if nodes else None

    def _kind(self, node: Node | None, apps: Sequence[Vocabulary]) -> tuple[str, bool]:
        """Return the class of an object, and whether it is a whole collection of them."""
        single, depth = False, 0
        while node is not None and depth < _DEEPEST:
            depth += 1
            name = node.fields["property"].text if "property" in node.fields else ""
            rows = self.entries(apps, name, "class")
            if rows:
                return rows[0].term, not single and any(name != row.term for row in rows)
            single = single or node.type == "subscript_expression" or name in _INDEXES
            many = name in ("whose", "where")
            if node.type == "identifier":
                # What a loop or a callback is given is one of a list.
                single = single or node.text in self.names.each
                values = self.names.values(node)
                node = values[0] if values else None
                continue
            if "constructor" in node.fields:
                return self._kind(node.fields["constructor"], apps)
            inner = node.fields.get("object") or node.fields.get("function")
            if many and inner is not None:
                kind, _ = self._kind(inner, apps)
                return kind, not single
            node = inner
        return "", False

    @staticmethod
    def entries(apps: Sequence[Vocabulary], name: str, use: Use) -> list[TermUse]:
        return [entry for app in apps for entry in app.names.get(name, ()) if entry.use == use]

    def _judge(self, node: Node, done: set[int]) -> None:
        kind, parts = node.type, node.fields
        inner = parts.get("object") or parts.get("function") or parts.get("constructor")
        if inner is not None and inner.type == "identifier":
            self.led.add(id(inner))
        if kind in _UNREADABLE:
            says = "is a kind of expression that IAC does not follow"
            self.add("DANGEROUS", "unknown", says, kind, node)
        if "async" in node.words:
            says = "continues at another time, which IAC does not follow"
            self.add("DANGEROUS", "unknown", says, "async", node)
        if kind in ("identifier", "shorthand_property_identifier"):
            self._name(node)
        elif kind in ("call_expression", "new_expression"):
            callee = parts.get("function") or parts["constructor"]
            while callee.type == "parenthesized_expression" and callee.kids:
                callee = callee.kids[0]
            done.add(id(callee))
            given = parts.get("arguments")
            self._member(callee, given.kids if given else [], self._called_on(callee))
        elif kind.endswith("assignment_expression") or kind == "update_expression":
            target = parts.get("left") or node.kids[0]
            self._put(target, parts.get("right"), done)
        elif kind == "for_in_statement":
            self._put(parts["left"], None, done)
        elif kind in ("member_expression", "subscript_expression") and id(node) not in done:
            self._member(node, None, self.holder(parts["object"]))
        elif kind in ("pair_pattern", "shorthand_property_identifier_pattern"):
            self._asked(parts.get("key", node), None, None, node)

    def _called_on(self, callee: Node) -> frozenset[str] | None:
        holder = callee.fields.get("object")
        return self.holder(holder) if holder is not None else frozenset()

    def _name(self, node: Node) -> None:
        name = node.text
        if name in ("Application", "Automation", "ObjectSpecifier") and id(node) not in self.led:
            self.add("DANGEROUS", "target", _CHOSEN, name, node)
        own = name in self.names.declared and (name in _SHADOWED or name not in HARMFUL_NAMES)
        if own or name in KNOWN_GLOBALS:
            return
        if name in ("$", "ObjC"):
            self.findings.asked.add("ObjC")
            if id(node) not in self.led:
                self.add("DANGEROUS", "name", HARMFUL_NAMES[name], name, node)
        elif name in HARMFUL_NAMES:
            self.add("DANGEROUS", "name", HARMFUL_NAMES[name], name, node)
        else:
            self.add("DANGEROUS", "unknown", "was not understood", name, node)

    def _keys_of(self, node: Node) -> list[str] | None:
        """Return the names that a member may have; none for a number, None if it is reckoned."""
        if "property" in node.fields:
            return [node.fields["property"].text]
        index = node.fields["index"]
        return [] if self.names.is_number(index) else self.names.exact(index)

    def _member(
        self, node: Node, given: Sequence[Node] | None, holder: frozenset[str] | None
    ) -> None:
        if "object" not in node.fields:
            return
        root = _root(node)
        if root.type == "identifier" and root.text in ("$", "ObjC"):
            self._bridge(node, given)
            return
        names = self._keys_of(node)
        if names is None and (holder or (holder is None and given is not None)):
            says = "asks for something whose name is put together while the script runs"
            self.add("DANGEROUS", "dynamic", says, "", node)
        for name in names or ():
            self.members.setdefault(name, node)
            if "index" in node.fields and name not in _VERBS:
                apps = [app for key, app in self.apps.items() if holder is None or key in holder]
                if self._kind(node.fields["object"], apps)[1]:
                    # An element by its name.
                    continue
            self._asked(node, given, holder, node, name)

    def _hold_bridge(self) -> None:
        """Judge every member of a script that goes to Objective-C: any may be asked of it."""
        known = language.BRIDGE_READS | language.BRIDGE_SETS | KNOWN_MEMBERS | self.names.keys
        for name, node in self.members.items():
            if name not in known and not any(name in app.names for app in self.apps.values()):
                says = "reaches Objective-C, which can do anything"
                self.add("DANGEROUS", "name", says, name, node)

    def _bridge(self, node: Node, given: Sequence[Node] | None) -> None:
        names = self._keys_of(node)
        loads = self.names.exact(given[0]) if names == ["import"] and given else None
        if loads is not None and set(loads) <= language.FRAMEWORKS:
            return
        for name in names if names is not None else [""]:
            if name == "import" or name not in language.BRIDGE_READS | KNOWN_MEMBERS:
                says = "reaches Objective-C, which can do anything"
                self.add("DANGEROUS", "name", says, name, node)

    def _asked(
        self, node: Node, given: Sequence[Node] | None, holder: frozenset[str] | None, at: Node,
        name: str = "",
    ) -> None:  # fmt: skip
        """Judge a member that is asked of what may be an app, or an object of one."""
        name = name or node.text
        if name in _SHARED:
            self.add("DANGEROUS", "member", HARMFUL_MEMBERS[name], name, at)
        if given is None or id(node) not in self.names.unused:
            self.findings.used.add(name)
        if holder == frozenset():
            return
        apps = [app for key, app in self.apps.items() if holder is None or key in holder]
        commands = self.entries(apps, name, "command")
        if self.additions and not commands and (holder is None or given is not None):
            commands = self.entries((self.additions,), name, "command")
            apps = [*apps, self.additions] if commands else apps
        classes, properties = (self.entries(apps, name, use) for use in ("class", "property"))
        handed = given is None and at.type.endswith("pattern")
        if name in _CARRIES and given is not None and commands and self._is_plain(given):
            self.findings.asked.add(name)
            self.add("MODIFY", "command", HARMFUL_MEMBERS[name], name, at)
            self._acts(node, apps, name, "command", "MODIFY", given)
            return
        if name in HARMFUL_MEMBERS and (commands or holder or name not in self.names.keys):
            self.findings.asked.add(name)
            rule = "told" if commands and HARMFUL_MEMBERS[name] in TOLD else "member"
            self.add("DANGEROUS", rule, HARMFUL_MEMBERS[name], name, at)
            if commands:
                self._acts(node, apps, name, "command", "DANGEROUS", given)
            return
        for secret in self._secrets_read(node, apps, name, given):
            self.findings.read_secret(secret, name, at.start)
        if is_secret(name) and properties:
            self.add("DANGEROUS", "secret", "reads or sets a secret", name, at)
            self._acts(node, apps, name, "property", "DANGEROUS", given, "unknown")
        if name == "set" and given is not None and not commands:
            target = node.fields.get("object")
            if holder and target is not None and "property" in target.fields:
                self.findings.asked.add(name)
                self._set(target, given[0] if given else None)
            return
        standard = name in language.COMMANDS and name != "get" and bool(self.apps)
        known = bool(classes or properties or name in KNOWN_MEMBERS | _HARMLESS)
        if commands or (standard and (given is not None or handed or (holder and not known))):
            self._command(node, apps, name, commands, given, handed or bool(holder))
        elif classes and given is not None and name[:1].isupper():
            self.findings.asked.add(name)
            self._make(node, apps, name, classes, given)
        elif known:
            self.findings.asked.add(name)
        elif self.apps and (holder or handed or (given is not None and holder is None)):
            self.findings.asked.add(name)
            self.add("DANGEROUS", "unknown", "was not understood", name, at)

    def _is_plain(self, given: Sequence[Node]) -> bool:
        """Say whether a command is given nothing but texts that the script spells out."""
        told = [self.names.exact(one) for one in self._values(given)]
        return bool(told) and all(
            texts and all(":" not in text or is_web_address(text) for text in texts)
            for texts in told
        )

    def _values(self, given: Iterable[Node]) -> Iterator[Node]:
        for one in given:
            record = self._record(one)
            yield from (value for _, value in _fields(record)) if record else (one,)

    def _record(self, node: Node) -> Node | None:
        """Return the record that an expression is written out as."""
        for _ in range(_DEEPEST):
            values = self.names.values(node) if node.type == "identifier" else None
            if not values or len(values) > 1:
                break
            node = values[0]
        return node if node.type == "object" else None

    def _options(self, given: Iterable[Node]) -> Iterator[tuple[str, Node]]:
        for one in given:
            record = self._record(one)
            yield from _fields(record) if record else ()

    def _option(self, key: str, value: Node, *, field: bool = False) -> str:
        """Judge an option of a command, or a field of what is made; returns the class it makes."""
        texts, says = self.names.exact(value), ""
        if key == "new":
            rows = [
                entry
                for text in texts or ()
                for app in self.apps.values()
                for entry in (*app.names.get(text, ()), *app.terms.get(text.casefold(), ()))
                if entry.use == "class"
            ]
            if rows:
                return rows[0].term
            says = "makes something that IAC does not understand"
        elif key == "withProperties":
            record = self._record(value)
            if record is None:
                says = _NOT_WRITTEN
            for name, given in _fields(record) if record else ():
                self._option(name, given, field=True)
        elif key == "" and field:
            says = _NOT_WRITTEN
        elif key == "saving" and texts != ["yes"]:
            says = "discards unsaved changes"
        elif key == "replacing" and texts != ["false"]:
            says = "replaces existing files"
        elif key == "defaultAnswer":
            self.asks = True
        elif key in HARMFUL_MEMBERS:
            says = HARMFUL_MEMBERS[key]
        elif field:
            says = self._danger_of(key, value)
        if says:
            self.add("DANGEROUS", "told" if says in TOLD else "member", says, key, value)
        return ""

    def _danger_of(self, name: str, value: Node | None) -> str:
        """Return why giving a property a value is dangerous; empty where it is not."""
        if name.casefold() in _LEADS:
            return f"sets {name}, which can point to any file or server"
        if "url" in name.casefold() and not self._is_address(value):
            return "sets an address that is not a plain web address"
        return describe_deed_danger(self._deed("change", name, "", "property", [value]))

    def _is_address(self, value: Node | None) -> bool:
        texts = self.names.exact(value)
        return texts is not None and all(map(is_web_address, texts))

    def _secrets_read(
        self, node: Node, apps: Sequence[Vocabulary], name: str, given: Sequence[Node] | None
    ) -> Iterator[str]:
        """Yield what a member reads that is never read, or asks for in a filter."""
        asked = {name}
        if name in ("whose", "where"):
            inside = (one for value in given or () for one in (self._record(value) or value).all())
            asked |= {one.fields["key"].text for one in inside if one.type == "pair"}
        for key in sorted(asked):
            if any(row.secret for row in self.entries(apps, key, "property")):
                yield key
        if name == "properties":
            kind, _ = self._kind(node.fields.get("object"), apps)
            rows = [row for app in apps for row in app.terms.get(kind or "application", ())]
            yield from (f"all of {row.term}" for row in rows if row.secret and row.use == "class")

    def _command(
        self, node: Node, apps: Sequence[Vocabulary], name: str, commands: Sequence[TermUse],
        given: Sequence[Node] | None, handed: bool,
    ) -> None:  # fmt: skip
        levels: list[Level] = [entry.level for entry in commands] or [language.COMMANDS[name]]
        self.findings.tools |= dict.fromkeys(entry.tool for entry in commands)
        if given is None:
            # A command that is handed on may be given anything.
            level = highest(levels)
            if level != "SAFE" or name in ("copy", "make", "set"):
                if not handed:
                    return
                self.add("DANGEROUS", "command", f"hands on {name}", name, node)
            self.findings.asked.add(name)
            self._acts(node, apps, name, "command", level, None)
            return
        self.findings.asked.add(name)
        # The app itself is handed what a command is about; an object is what it is about.
        target = node.fields.get("object", node)
        _, of_object = self._kind(target, apps)
        itself = not self._kind(target, apps)[0]
        first = given[0] if given else None
        moved = self._kind(first, apps)[1] if itself else of_object
        if (
            (name in ("open", "run") and first is None and not itself)
            or (name in ("open", "geturl") and first is not None and not self._is_address(first))
            or (name == "select" and "system_events" in self.apps)
            or (name in _WRITES and first is not None and not self._fills_data_file(name, given))
            or (name in ("move", "duplicate") and (moved or self._throws(given)))
        ):
            levels.append("DANGEROUS")
        if name == "make":
            levels.append("MODIFY")
        made = ""
        for key, value in self._options(given):
            made = self._option(key, value) or made
        level = highest(levels)
        self.add(level, "command", f'uses "{name}", which is {level}', name, node)
        if made:
            rows = [row for app in apps for row in app.terms.get(made, ()) if row.use == "class"]
            self._make(node, apps, rows[0].term if rows else made, rows, given, told=True)
        elif name == "make" and not itself:
            return
        else:
            self._acts(node, apps, name, "command", level, given)

    def _throws(self, given: Sequence[Node]) -> str:
        """Return the trash that something is moved to, by its name."""
        for one in (inner for value in given for inner in value.all()):
            name = one.text or (one.fields["property"].text if "property" in one.fields else "")
            if name in ("trash", "trashMailbox", "junkMailbox") or is_trash_name(name):
                return name
        return ""

    def _fills_data_file(self, name: str, given: Sequence[Node]) -> bool:
        """Say whether a command writes one file, data in a folder where a person keeps it."""
        named = [value for key, value in self._options(given) if key in ("to", "in")]
        told = self.names.texts(named[0]) if len(named) == 1 and name != "run" else None
        return bool(told) and all(map(is_data_path, told or ()))

    def _make(
        self, node: Node, apps: Sequence[Vocabulary], name: str, rows: Sequence[TermUse],
        given: Sequence[Node], *, told: bool = False,
    ) -> None:  # fmt: skip
        level = highest(("MODIFY", *(row.level for row in rows)))
        term = rows[0].term if rows else name
        self.add(level, "command", f"makes a new {term}", term, node)
        self._acts(node, apps, name, "class", level, given, "create", term)
        if told:
            return
        if any(self._record(one) is None and one.type != "string" for one in given):
            self.add("DANGEROUS", "unknown", _NOT_WRITTEN, name, node)
        for key, value in self._options(given):
            self._option(key, value, field=True)

    def _put(self, target: Node, value: Node | None, done: set[int]) -> None:
        if target.type in ("array", "object", "array_pattern", "object_pattern", "pair"):
            for kid in target.kids:
                self._put(kid, None, done)
        elif target.type == "pair_pattern" or target.type.endswith("assignment_pattern"):
            self._put(target.fields.get("value") or target.kids[0], None, done)
        elif target.type in ("member_expression", "subscript_expression"):
            done.add(id(target))
            self._set(target, value)
        elif target.type == "identifier" and target.text in _FIXED - self.names.declared:
            says = "changes a name of the language"
            self.add("DANGEROUS", "name", says, target.text, target)

    def _set(self, target: Node, value: Node | None) -> None:
        """Judge a member that is set."""
        root = _root(target)
        holder, names = self.holder(target.fields["object"]), self._keys_of(target)
        if root.type == "identifier" and root.text in ("$", "ObjC"):
            self._bridge(target, None)
        if holder == frozenset() and root.text not in KNOWN_GLOBALS:
            return
        apps = [app for key, app in self.apps.items() if holder is None or key in holder]
        if names is None and apps and holder is not None:
            says = "sets something whose name is put together while the script runs"
            self.add("DANGEROUS", "dynamic", says, "", target)
        for name in names or ():
            self.members.setdefault(name, target)
            properties = self.entries(apps, name, "property")
            self.findings.put.add(name)
            if name in _SHARED:
                self.add("DANGEROUS", "member", HARMFUL_MEMBERS[name], name, target)
            if name in _MODES or (holder is None and not properties):
                continue
            if not properties:
                says = "sets something that IAC does not understand"
                self.add("DANGEROUS", "unknown", says, name, target)
                continue
            self._set_property(target, apps, name, properties, value)

    def _set_property(
        self, target: Node, apps: Sequence[Vocabulary], name: str, rows: Sequence[TermUse],
        value: Node | None,
    ) -> None:  # fmt: skip
        # What adds to a text keeps what was there.
        adds = value is not None and any(
            "property" in one.fields and one.fields["property"].text == name
            for one in _joined_parts(value)
        )
        level = highest(("MODIFY", *(row.level for row in rows if not (adds and row.content))))
        _, many = self._kind(target.fields["object"], apps)
        if many or (name in _UI_ACTS and "system_events" in self.apps):
            level = "DANGEROUS"
        danger = self._danger_of(name, value)
        level = "DANGEROUS" if danger else level
        self.add(level, "command", danger or f"sets {name}", name, target)
        shows = level == "MODIFY" and all(row.level == "SAFE" for row in rows)
        verb: Verb = "view" if shows else "change"
        self._acts(target, apps, name, "property", level, [value], verb)

    def _acts(
        self, node: Node, apps: Sequence[Vocabulary], name: str, use: Use, level: Level,
        given: Sequence[Node | None] | None, verb: Verb | None = None, term: str = "",
    ) -> None:  # fmt: skip
        """Note what a member does as effects, and the texts that it has run."""
        written = [one for one in given or () if one is not None]
        texts = list(self._labelled(written))
        own = [app for app in apps if app.key != ADDITIONS]
        known = [app for app in own if term or self.entries((app,), name, use)] or [
            app for app in apps if self.entries((app,), name, use)
        ]
        for app in known or own:
            adds = ("make", "push", "unshift") if use == "class" else ()
            said_as = f"setting {name}" if use == "property" else name
            self.findings.acts |= {(app.key, member) for member in (said_as, *adds)}
            row = next((row for row in app.names.get(name, ()) if row.use == use), None)
            kinds = [self._kind(one, (app,))[0] for one in (node.fields.get("object"), *written)]
            kind = term or next(filter(None, kinds), "")
            said = verb or verb_for(name, row, level)
            if row and row.event in RUNS_TEXT:
                self.findings.nested += ((row.event, text) for _, text in texts)
            deed = self._deed(said, name, kind, use, given or ())
            done = deed_verbs(deed) if level != "SAFE" else None
            flows = flows_of(name, texts)
            self.findings.effects += (
                effect_on(app, does, kind, level, flows) for does in done or (said,)
            )

    def _deed(
        self, verb: Verb, name: str, kind: str, use: Use, given: Iterable[Node | None]
    ) -> Deed:
        """Return what a member that is called, made or set does, as far as that is written out."""
        words, written = " ".join(split_name(name)), [one for one in given if one is not None]
        trash = self._throws(written)
        if use == "property":
            value = self.names.exact(written[0]) if written else None
            return Deed(verb, "", kind, [(words, value[0] if value else None)], trash=trash)
        fields = options = list(self._options(written))
        if use != "class":
            fields = list(self._options(v for key, v in options if key == "withProperties"))
        told = [
            (" ".join(split_name(key)), next(iter(self.names.exact(value) or ()), None))
            for key, value in fields
        ]
        direct = [text for one in written for text in self.names.texts(one) or ()]
        direct += [text for text in self.spelled if "." in text] if words == "open" else []
        # What a press is of stands before it, in whatever variable.
        pressed = [text for text in self.spelled if text not in self.app_names]
        named = [" ".join(split_name(key)) for key, _ in options]
        return Deed(
            verb, words, kind, told, direct, trash, words in MOVES,
            pressed if words in PRESSES else [], named,
        )  # fmt: skip

    def _labelled(self, given: Iterable[Node]) -> Iterator[tuple[str, str]]:
        for key, value in [*(("", one) for one in given), *self._options(given)]:
            yield from ((key, text) for text in self.names.texts(value) or () if HOLE not in text)
            if key == "withProperties":
                yield from self._labelled([value])


def _fields(record: Node) -> Iterator[tuple[str, Node]]:
    """Yield the fields of a record; one whose name is not written out has none."""
    for kid in record.kids:
        if kid.type == "pair":
            key = kid.fields["key"]
            yield key.text, kid.fields["value"]
        else:
            yield kid.text if kid.type == "shorthand_property_identifier" else "", kid


def _root(node: Node) -> Node:
    """Return what a chain of members and calls begins with."""
    while inner := node.fields.get("object") or node.fields.get("function"):
        node = inner
    return node


def _joined_parts(node: Node) -> Iterator[Node]:
    """Yield what `+` puts together, calls as the member that is called."""
    stack = [node]
    while stack:
        one = stack.pop()
        if one.type == "binary_expression" and "+" in one.words:
            stack += one.kids
        else:
            yield one.fields.get("function", one)
