"""What a JavaScript does to apps: a member that is called, read or set, by the dictionaries.

What an act is given, and the effects that it has, is judged with it. A member is asked of the apps
that its holder may be; of a holder that is not known, of every app that the script names. Names
that the script gives itself have no say here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from iac_applescript.analysis import vocabulary as language
from iac_applescript.analysis.findings import Findings, spend
from iac_applescript.analysis.javascript_tree import (
    ANYTHING,
    CHOSEN,
    DATA,
    HOLE,
    NOTHING,
    NUMBER,
    Args,
    Atom,
    Node,
    Site,
    Value,
    exact,
    texts_of,
)
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
    CONTAINER_CALLS,
    HARMFUL_MEMBERS,
    HARMFUL_NAMES,
    KNOWN_MEMBERS,
    LEADS,
    TOLD,
    Find,
    TermUse,
    Use,
    Vocabulary,
)
from iac_base.secrets import is_secret
from iac_base.words import split_name
from iac_runtime.policy.verbs import Deed
from iac_runtime.tool import Level, highest
from iac_runtime.toolkit import Verb


class Acts:
    """Judges what commands and new objects are given, and notes effects."""

    def __init__(self, findings: Findings, find: Find, additions: Vocabulary | None) -> None:
        self.findings, self.find, self.additions = findings, find, additions
        self.apps: dict[str, Vocabulary] = {}
        self.sites: dict[int, Site] = {}
        self.texts: dict[str, int] = {}
        self.names: set[str] = set()
        self.asks = self.throws = self.appends = False

    def add(self, level: Level, rule: str, says: str, text: str, node: Node) -> None:
        start = node.fields["property"].start if "property" in node.fields else node.start
        self.findings.add(level, rule, says, text, start)

    @staticmethod
    def entries(apps: Sequence[Vocabulary], name: str, use: Use) -> list[TermUse]:
        return [entry for app in apps for entry in app.names.get(name, ()) if entry.use == use]

    def options(self, args: Args) -> Iterator[tuple[str, Value]]:
        atoms = [atom for value in args.values for atom in value if atom[0] == "site"]
        for site in [self.sites[atom[1]] for atom in atoms]:  # type: ignore[index]
            site.read = True
            yield from list(site.fields.items())
            if site.any and not site.fields.keys() <= {str(at) for at in range(99)}:
                yield "", site.any

    def _option(self, key: str, value: Value, node: Node, *, field: bool = False) -> str:
        """Judge an option of a command, or a field of what is made; returns the class it makes."""
        texts = exact(value)
        says = ""
        if key == "new":
            rows = [
                entry
                for text in texts or ()
                for app in self.apps.values()
                for entry in (*app.names.get(text, ()), *app.terms.get(text.casefold(), ()))
                if entry.use == "class"
            ]
            if rows:
                name = (texts or [""])[0]
                return self.make_new(NOTHING, list(self.apps.values()), name, rows, node, None)
            says = "makes something that IAC does not understand"
        elif key == "withProperties":
            if not value or any(atom[0] != "site" for atom in value):
                says = _NOT_WRITTEN
            for name, given in self.options(Args([value])):
                self._option(name, given, node, field=True)
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
            says = self.describe_danger(key, value)
        if says:
            self.add("DANGEROUS", "told" if says in TOLD else "member", says, key, node)
        return ""

    def describe_danger(self, name: str, value: Value) -> str:
        """Return why giving a property a value is dangerous; empty where it is not."""
        if name.casefold() in _LEADS:
            return f"sets {name}, which can point to any file or server"
        if "url" in name.casefold() and not is_address(value):
            return "sets an address that is not a plain web address"
        return describe_deed_danger(self._deed("change", name, "", "property", Args([value])))

    def make_new(
        self,
        holder: Value,
        apps: Sequence[Vocabulary],
        name: str,
        rows: Sequence[TermUse],
        node: Node,
        args: Args | None,
    ) -> str:
        """Judge that an object is made, and return its class."""
        level, term = highest(("MODIFY", *(row.level for row in rows))), rows[0].term
        self.add(level, "command", f"makes a new {term}", term, node)
        self.acts(holder, apps, name, "class", level, args, "create")
        return term

    def secrets_read(
        self, holder: Value, apps: Sequence[Vocabulary], name: str, args: Args | None
    ) -> Iterator[str]:
        """Yield what a member reads that is never read, or asks for in a filter."""
        asked = {name}
        if name in ("whose", "where") and args is not None:
            asked |= self._keys(args.all(), set())
        for key in sorted(asked):
            if any(row.secret for row in self.entries(apps, key, "property")):
                yield key
        for atom in holder if name == "properties" else ():
            app = self.apps.get(str(atom[1])) if atom[0] in ("app", "of") else None
            term = str(atom[2]) if atom[0] == "of" else "application"
            rows = app.terms.get(term.casefold(), ()) if app else ()
            yield from (f"all of {row.term}" for row in rows if row.secret and row.use == "class")

    def _keys(self, value: Value, seen: set[Atom]) -> set[str]:
        """Return the names of all fields of a value, at any depth."""
        found: set[str] = set()
        for atom in {atom for atom in value if atom[0] == "site"} - seen:
            seen.add(atom)
            site = self.sites[atom[1]]  # type: ignore[index]
            found |= site.fields.keys()
            found |= self._keys(NOTHING.union(site.any, *site.fields.values()), seen)
        return found

    def acts(
        self, holder: Value, apps: Sequence[Vocabulary], name: str, use: Use, level: Level,
        args: Args | None, verb: Verb | None = None,
    ) -> None:  # fmt: skip
        texts = list(self._labelled(args)) if args else []
        kinds = {str(atom[1]): str(atom[2]) for atom in holder if atom[0] == "of"}
        for value in args.values if args else ():
            kinds = {str(a[1]): str(a[2]) for a in value if a[0] == "of" and a[2]} | kinds
        seen = [app for app in apps if app.key != ADDITIONS or use == "command"]
        known = [app for app in seen if name in app.names] or seen
        own = [app for app in known if app.key != ADDITIONS]
        if any(self.entries((app,), name, use) for app in own):
            known = own
        for app in known:
            rows = (*app.names.get(name, ()), *app.terms.get(name.casefold(), ()))
            row = next((row for row in rows if row.use == use), None)
            kind = row.term if row and use == "class" else kinds.get(app.key, "")
            said = verb or verb_for(name, row, level)
            if row and row.event in RUNS_TEXT:
                self.findings.nested += ((row.event, text) for _, text in texts)
            done = deed_verbs(self._deed(said, name, kind, use, args)) if level != "SAFE" else None
            flows = flows_of(name, texts)
            self.findings.effects += (
                effect_on(app, does, kind, level, flows) for does in done or (said,)
            )

    def _deed(self, verb: Verb, name: str, kind: str, use: Use, args: Args | None) -> Deed:
        """Return what a member that is called, made or set does, as far as that is written out."""
        words, given = " ".join(split_name(name)), args or Args()
        trash = "the trash" if self.throws else ""
        if use == "property":
            return Deed(verb, "", kind, [(words, _written(given.all()))], trash=trash)
        fields = options = list(self.options(given))
        if use != "class":
            records = [Args([value]) for key, value in options if key == "withProperties"]
            fields = [row for record in records for row in self.options(record)]
        told = [(" ".join(split_name(key)), _written(value)) for key, value in fields]
        direct = [text for value in given.values for text in texts_of(value)]
        direct += [text for text in self.texts if "." in text] if words == "open" else []
        # What a press is of stands before it, in whatever variable.
        pressed = [text for text in self.texts if text not in self.names]
        pressed = pressed if words in PRESSES else []
        named = [" ".join(split_name(key)) for key, _ in options]
        return Deed(verb, words, kind, told, direct, trash, words in MOVES, pressed, named)

    def _labelled(self, args: Args) -> Iterator[tuple[str, str]]:
        given = [*(("", value) for value in args.values), *self.options(args)]
        for key, value in given:
            yield from ((key, text) for text in texts_of(value) if HOLE not in text)
            if key == "withProperties":
                yield from self._labelled(Args([value]))


def _written(value: Value) -> str | None:
    """Return a value that is written out as one text; else None."""
    return next(iter(exact(value) or ()), None)


def is_address(value: Value) -> bool:
    """Say whether a value is a plain web address that the script spells out."""
    texts = exact(value)
    return texts is not None and all(map(is_web_address, texts))


def is_many(value: Value) -> bool:
    """Say whether a value is a whole collection, or all of it that pass a test."""
    return any(atom[0] == "of" and atom[3] == "many" for atom in value)


_UI_ACTS: Final = frozenset(("value", "selected", "focused"))
_LEADS: Final = frozenset(term.replace(" ", "") for term in LEADS)
_WRITES: Final = frozenset(("save", "export", "archive", "run"))
"""Commands that do harm by what they are given."""

_NUMBERS: Final = frozenset(("parseInt", "parseFloat", "Number"))
_KNOWN: Final = frozenset(("text", "number", "of", "app", "site", "chosen"))
"""What may stand for the options of a command: nothing that may be a record of unknown keys."""

_TOLD_PLAINLY: Final = (CONTAINER_CALLS - {"of"}) | frozenset(
    "name id version running frontmost exists length toString includeStandardAdditions".split()
)
"""Members of every object that are plain values, or go through what it holds."""

_CARRIES: Final = frozenset(("openLocation", "searchTheWeb", "addReadingListItem"))
"""Commands that take what they are given to the web."""

_FOLDERS: Final[Mapping[str, str]] = {
    f"{name.lower()}{after}": name
    for name in ("Desktop", "Documents", "Downloads", "Movies", "Music", "Pictures")
    for after in ("", " folder")
}
"""The folders where a person keeps documents, as `pathTo` names them."""

_MODES: Final = frozenset(
    "includeStandardAdditions strictPropertyScope strictCommandScope strictParameterType".split()
)
"""What a script sets of an app's bridge, and not of the app."""

_BRIDGES: Final = "reaches Objective-C, which can do anything"
_NOT_WRITTEN: Final = "gives properties that are not written out"
_DIALOGS: Final = frozenset(("chooseFile", "chooseFolder", "chooseFileName"))


class AppRules(Acts):
    """Judges what is done to apps, and puts it into the findings."""

    def text(self, text: str, start: int) -> None:
        """Note a text that the script spells out or puts together."""
        if text not in self.texts:
            spend(len(text) // 20)
            self.texts[text] = start

    def finish(self) -> None:
        """Judge the texts of the whole script."""
        texts = [(at, text) for text, at in self.texts.items() if text not in self.names]
        judge_spelled(
            texts, self.findings, acts=True, asks=self.asks, ui="system_events" in self.apps
        )

    def current(self) -> Value:
        """Return the app that runs the script."""
        return frozenset((("app", ADDITIONS),))

    def application(self, args: Args, node: Node) -> Value:
        """Return the apps that `Application(...)` names."""
        given = args.values[0] if len(args.values) == 1 and not args.spread else NOTHING
        names, found = exact(given), set[Atom]()
        if names is None:
            says = "names an app that is chosen while the script runs"
            self.add("DANGEROUS", "target", says, "Application", node)
        for name in names or ():
            self.names.add(name)
            self.findings.named.add(name)
            app = None if "/" in name or ":" in name else self.find(name)
            if app is None:
                self.findings.unknown[name] = None
                says = "names an app whose dictionary IAC does not know"
                self.add("DANGEROUS", "target", says, name, node)
            else:
                self.findings.targets[app.bundle] = None
                self.apps[app.key] = app
                found.add(("app", app.key))
        return frozenset(found) or DATA

    def _seen(self, holder: Value) -> tuple[list[Vocabulary], bool]:
        """Return the apps that a value may be or belong to, and whether it may be an app itself."""
        keys = {str(atom[1]) for atom in holder if atom[0] in ("app", "of")}
        if ("anything",) in holder:
            keys |= {*self.apps, ADDITIONS}
        itself = any(atom[0] in ("app", "anything") for atom in holder)
        found = [app for key, app in self.apps.items() if key in keys]
        if self.additions and itself:
            found.append(self.additions)
        return found, itself

    def member(
        self, holder: Value, name: str, node: Node, args: Args | None, *, picked: bool = False
    ) -> Value:
        """Return what a member is, or gives; judge it where the holder may be an app's."""
        if any(atom[0] == "bridge" for atom in holder):
            return self._bridge(name, node, args)
        if any(atom[0] == "js" for atom in holder) and name not in KNOWN_MEMBERS:
            self.add("DANGEROUS", "member", "was not understood", name, node)
        apps, itself = self._seen(holder)
        if not apps and ("anything",) not in holder:
            return NOTHING
        self.findings.asked.add(name)
        commands = self.entries(apps, name, "command")
        classes, properties = (self.entries(apps, name, use) for use in ("class", "property"))
        first = args.values[0] if args and args.values else NOTHING
        if name == "read" and CHOSEN <= first <= CHOSEN | DATA:
            self.add("MODIFY", "command", "reads a file that a person picks", name, node)
            return DATA
        if name in _CARRIES and args is not None and commands and self._is_plain(args):
            self.add("MODIFY", "command", HARMFUL_MEMBERS[name], name, node)
            self.acts(holder, apps, name, "command", "MODIFY", args)
            return DATA
        if name in HARMFUL_MEMBERS or name in HARMFUL_NAMES:
            says = HARMFUL_MEMBERS.get(name) or HARMFUL_NAMES[name]
            rule = "told" if commands and says in TOLD else "member"
            self.add("DANGEROUS", rule, says, name, node)
            if commands:
                self.acts(holder, apps, name, "command", "DANGEROUS", args)
            return self._whole(holder)
        for secret in self.secrets_read(holder, apps, name, args):
            self.findings.read_secret(secret, name, node.start)
        if is_secret(name) and properties:
            self.add("DANGEROUS", "secret", "reads or sets a secret", name, node)
            self.acts(holder, apps, name, "property", "DANGEROUS", args, "unknown")
        if name == "set" and args is not None and not commands:
            for atom in holder:
                if atom[0] == "of" and atom[4]:
                    self.put(holder, str(atom[4]), args.all(), node)
            return DATA
        standard = name in language.COMMANDS and name != "get"
        if commands or (standard and (args is not None or not (classes or properties))):
            return self._command(holder, apps, name, commands, node, args, itself=itself)
        if classes and args is not None and name[:1].isupper():
            return self._make(holder, apps, name, classes, node, args)
        if picked and args is None and is_many(holder) and not (classes or properties):
            return frozenset((*a[:3], "", "") for a in holder if a[0] == "of")
        if not (classes or properties or name in KNOWN_MEMBERS or self._plain_holder(holder)):
            self.add("DANGEROUS", "unknown", "was not understood", name, node)
        return self._read(holder, name, classes, properties, args)

    def _is_plain(self, args: Args) -> bool:
        """Say whether a command is given nothing but texts that the script spells out."""
        given = [value for value in args.values if not any(a[0] == "site" for a in value)]
        given += [value for _, value in self.options(args)]
        told = [text for value in given for text in exact(value) or ("x:",)]
        return (
            not args.spread and bool(told) and all(":" not in t or is_web_address(t) for t in told)
        )

    @staticmethod
    def _plain_holder(holder: Value) -> bool:
        """Say whether a holder may be data of an app, whose fields are its own; but no app."""
        return ("data",) in holder and not any(atom[0] in ("app", "anything") for atom in holder)

    def _read(
        self,
        holder: Value,
        name: str,
        classes: list[TermUse],
        properties: list[TermUse],
        args: Args | None,
    ) -> Value:
        term = classes[0].term if classes else ""
        many = "many" if any(name != entry.term for entry in classes) else ""
        found: set[Atom] = set()
        plain = bool(properties) and not classes and all(entry.plain for entry in properties)
        for atom in holder:
            if atom[0] not in ("app", "of"):
                continue
            before, was = (str(atom[2]), str(atom[3])) if atom[0] == "of" else ("", "")
            if name in ("whose", "where"):
                found.add(("of", atom[1], before, "many", ""))
            elif name in ("byName", "byId", "at", "first", "last", "pop", "shift"):
                found.add(("of", atom[1], before, "", ""))
            elif not (classes or properties):
                if name not in _TOLD_PLAINLY:
                    found.add(("of", atom[1], before, "", ""))
                if name in _TOLD_PLAINLY or args is not None:
                    found.add(("data",))
            elif not (plain and args is not None):
                found.add(("of", atom[1], term or before, many or (was if plain else ""), name))
            if args is not None and (plain or not classes) and (properties or classes):
                found.add(("data",))
        return frozenset(found)

    @staticmethod
    def _whole(holder: Value) -> Value:
        return DATA | frozenset(("of", a[1], "", "", "") for a in holder if a[0] in ("app", "of"))

    def called(self, atom: Atom, args: Args, _node: Node) -> Value:
        """Return what calling an app's member gives, or what the language has."""
        name = str(atom[1])
        if atom[0] == "bridge":
            self.findings.asked.add("ObjC")
            return frozenset((("bridge", ""),)) if name in ("$", "") else DATA
        if atom[0] == "js":
            if name == "currentApplication":
                return self.current()
            return NUMBER if name in _NUMBERS else self._path(args) if name == "Path" else DATA
        if atom[0] == "of":
            return frozenset((atom, ("data",)))
        return self._whole(frozenset((atom,)))

    def _bridge(self, name: str, node: Node, args: Args | None) -> Value:
        self.findings.asked.add("ObjC")
        if name == "import":
            names = exact(args.values[0]) if args and args.values else None
            if names and set(names) <= language.FRAMEWORKS:
                return DATA
        if name == "import" or (name not in language.BRIDGE_READS and name not in KNOWN_MEMBERS):
            self.add("DANGEROUS", "name", _BRIDGES, name, node)
        return frozenset((("bridge", ""), ("data",)))

    @staticmethod
    def _path(args: Args) -> Value:
        """Return what a path is: the text of it, as far as it is known."""
        told = args.all()
        return told if told and all(a[0] == "text" and len(a) > 1 for a in told) else DATA | told

    def _fills_data_file(self, name: str, args: Args) -> bool:
        """Say whether a command writes one file, data in a folder where a person keeps it."""
        options = list(self.options(args))
        named = [value for key, value in options if key in ("to", "in", "")]
        if name == "run" or len(named) != 1 or args.spread:
            return False
        told = [str(a[1]) if a[0] == "text" and len(a) > 1 else "" for a in named[0]]
        return bool(told) and all(map(is_data_path, told))

    def _command(
        self, holder: Value, apps: list[Vocabulary], name: str, commands: list[TermUse], node: Node,
        args: Args | None, *, itself: bool,
    ) -> Value:  # fmt: skip
        levels: list[Level] = [entry.level for entry in commands] or [language.COMMANDS[name]]
        for entry in commands:
            self.findings.tools[entry.tool] = None
        given = args or Args()
        first = given.values[0] if given.values else NOTHING
        direct = itself and (len(given.values) > 1 or name not in language.COMMANDS)
        options = given.values[direct:]
        if itself and len(given.values) == 1 and any(a[0] in ("of", "text") for a in first):
            options = []
        if args is None:
            # A command that is handed on may be given anything.
            self.acts(holder, apps, name, "command", highest(levels), None)
            if highest(levels) != "SAFE" or name in ("copy", "make", "set"):
                self.add("DANGEROUS", "command", f"hands on {name}", name, node)
            return ANYTHING if highest(levels) != "SAFE" else DATA
        told = (atom for value in (*options, given.spread) for atom in value)
        if highest(levels) != "SAFE" and any(atom[0] not in _KNOWN for atom in told):
            self.add("DANGEROUS", "unknown", _NOT_WRITTEN, name, node)
        moved = [*given.values[:1]] if itself else [holder]
        if (
            # An object that opens itself: a file, a shortcut.
            (name in ("open", "run") and not first and not itself)
            or (name in ("open", "geturl") and first and not is_address(first))
            or (name == "select" and "system_events" in {app.key for app in apps})
            or (name in _WRITES and first and not self._fills_data_file(name, given))
            or (name in ("move", "duplicate") and (self.throws or any(map(is_many, moved))))
        ):
            levels.append("DANGEROUS")
        if name == "make":
            levels.append("MODIFY")
        kind = ""
        for key, value in self.options(given):
            kind = self._option(key, value, node) or kind
        level = highest(levels)
        self.add(level, "command", f'uses "{name}", which is {level}', name, node)
        if not kind:
            self.acts(holder, apps, name, "command", level, args)
        if name in _DIALOGS:
            return CHOSEN
        if name == "pathTo" and (folder := _FOLDERS.get((exact(first) or [""])[0])):
            return frozenset((("text", f"/Users/{HOLE}/{folder}"),))
        made = frozenset(("of", app.key, kind, "", "") for app in apps if app.key != ADDITIONS)
        only = all(app.key == ADDITIONS for app in apps if self.entries((app,), name, "command"))
        return DATA if only and commands else DATA | made | first - NUMBER

    def _make(
        self,
        holder: Value,
        apps: list[Vocabulary],
        name: str,
        classes: list[TermUse],
        node: Node,
        args: Args,
    ) -> Value:
        term = self.make_new(holder, apps, name, classes, node, args)
        if args.spread or any(a[0] not in ("site", "text") for value in args.values for a in value):
            self.add("DANGEROUS", "unknown", _NOT_WRITTEN, name, node)
        for key, value in self.options(args):
            self._option(key, value, node, field=True)
        return frozenset(("of", app.key, term, "", "") for app in apps if app.key != ADDITIONS)

    def put(self, holder: Value, name: str, value: Value, node: Node) -> None:
        """Judge a member that is set."""
        if any(atom[0] == "bridge" for atom in holder):
            if name not in language.BRIDGE_SETS:
                self.add("DANGEROUS", "name", _BRIDGES, name, node)
            return
        apps, _ = self._seen(holder)
        if (not apps and ("anything",) not in holder) or name in _MODES:
            return
        self.findings.put.add(name)
        properties = self.entries(apps, name, "property")
        if not properties:
            says = "sets something that IAC does not understand"
            self.add("DANGEROUS", "unknown", says, name, node)
            return
        # What adds to a text keeps what was there.
        kept = [e for e in properties if not (self.appends and e.content)]
        level = highest(("MODIFY", *(entry.level for entry in kept)))
        ui = "system_events" in {app.key for app in apps}
        if (ui and name in _UI_ACTS) or (level == "MODIFY" and is_many(holder)):
            level = "DANGEROUS"
        if danger := self.describe_danger(name, value):
            level = "DANGEROUS"
        self.add(level, "command", danger or f"sets {name}", name, node)
        shows = level == "MODIFY" and all(entry.level == "SAFE" for entry in properties)
        self.acts(
            holder, apps, name, "property", level, Args([value]), "view" if shows else "change"
        )
