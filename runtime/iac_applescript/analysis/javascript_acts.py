"""What an act of a JavaScript is given, and the effects that it has."""

from collections.abc import Iterator, Sequence
from typing import Final

from iac_applescript.analysis.findings import Findings
from iac_applescript.analysis.javascript_tree import Node
from iac_applescript.analysis.javascript_values import (
    HOLE,
    NOTHING,
    Args,
    Atom,
    Site,
    Value,
    exact,
    texts_of,
)
from iac_applescript.analysis.statement_effects import ADDITIONS, effect_on, flows_of, verb_for
from iac_applescript.analysis.texts import is_web_address
from iac_applescript.analysis.vocabulary import Find, TermUse, Use, Vocabulary
from iac_applescript.analysis.words import HARMFUL_MEMBERS, LEADS, TOLD
from iac_runtime.tool import Level, highest
from iac_runtime.toolkit import Verb

_LEADS: Final = frozenset(term.replace(" ", "") for term in LEADS)


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
        for value in args.values:
            for atom in value:
                if atom[0] == "site":
                    site = self.sites[atom[1]]  # type: ignore[index]
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
            if not rows:
                says = "makes something that IAC does not understand"
            else:
                level = highest(("MODIFY", *(entry.level for entry in rows)))
                self.add(level, "command", f"makes a {rows[0].term}", rows[0].term, node)
                made = frozenset(("app", app.key) for app in self.apps.values())
                self.acts(
                    made,
                    list(self.apps.values()),
                    (texts or [""])[0],
                    "class",
                    level,
                    None,
                    "create",
                )
                return rows[0].term
        elif key == "withProperties":
            if not value or any(atom[0] != "site" for atom in value):
                says = "gives properties that are not written out"
            for name, given in self.options(Args([value])):
                self._option(name, given, node, field=True)
        elif key == "" and field:
            says = "gives properties that are not written out"
        elif key == "saving" and texts != ["yes"]:
            says = "discards unsaved changes"
        elif key == "replacing" and texts != ["false"]:
            says = "replaces existing files"
        elif key == "defaultAnswer":
            self.asks = True
        elif key in HARMFUL_MEMBERS:
            says = HARMFUL_MEMBERS[key]
        elif field and key.casefold() in _LEADS:
            says = f"gives a {key}, which can point to any file or server"
        elif field and "url" in key.casefold() and not is_address(value):
            says = "an address that is not a plain one"
        if says:
            self.add("DANGEROUS", "told" if says in TOLD else "member", says, key, node)
        return ""

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
            self.findings.effects.append(effect_on(app, said, kind, level, flows_of(name, texts)))

    def _labelled(self, args: Args) -> Iterator[tuple[str, str]]:
        yield from (
            ("", text) for value in args.values for text in texts_of(value) if HOLE not in text
        )
        for key, value in self.options(args):
            yield from ((key, text) for text in texts_of(value) if HOLE not in text)
            if key == "withProperties":
                yield from self._labelled(Args([value]))


def is_address(value: Value) -> bool:
    """Say whether a value is a plain web address that the script spells out."""
    texts = exact(value)
    return texts is not None and all(map(is_web_address, texts))


def is_many(value: Value) -> bool:
    """Say whether a value is a whole collection, or all of it that pass a test."""
    return any(atom[0] == "of" and atom[3] == "many" for atom in value)
