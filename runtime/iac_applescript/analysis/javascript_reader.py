"""Reading a JavaScript for Automation: every name is known, or the script is dangerous.

A name that is put together at run time cannot be decided, so an access in brackets must hold a
text that is written out, or a number.
"""

from collections.abc import Callable, Sequence
from typing import Final

from iac_applescript.analysis import words as language
from iac_applescript.analysis.findings import Findings, Scan, ScriptToken
from iac_applescript.analysis.javascript_effects import Member
from iac_applescript.analysis.javascript_names import script_names
from iac_applescript.analysis.javascript_tokens import KEYWORDS, is_keyword, shape_of
from iac_applescript.analysis.texts import is_address, judge_javascript
from iac_applescript.analysis.vocabulary import TermUse, Use, Vocabulary
from iac_applescript.analysis.words import (
    HANDED_ON,
    HARMFUL_MEMBERS,
    HARMFUL_NAMES,
    KNOWN_GLOBALS,
    KNOWN_MEMBERS,
    LEADS,
    TOLD,
)
from iac_base.secrets import is_secret
from iac_runtime.policy.addresses import THROWN, role_of
from iac_runtime.policy.effects import Verb
from iac_runtime.tool import Level, highest

Find = Callable[[str], Vocabulary | None]

_ASSIGNS: Final = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "++", "--", "??="))
_UI_ACTS: Final = frozenset(("value", "selected", "focused"))
_LEADS: Final = frozenset(term.replace(" ", "") for term in LEADS)
_MOVES: Final = frozenset(("move", "duplicate"))
_WRITES: Final = frozenset(("save", "export", "archive", "run"))
"""Commands that do harm by what they are given."""

_LONGEST: Final = 64
"""Tokens between brackets that are looked at."""

_NEVER_ALONE: Final = frozenset(("Automation", "Object", "ObjectSpecifier"))
_NEVER_OF_OBJECT: Final = frozenset(("values", "entries"))


class _Reader:
    def __init__(
        self, scan: Scan, findings: Findings, find: Find, additions: Vocabulary | None
    ) -> None:
        self.tokens = scan.tokens
        self.findings = findings
        self.shape = shape_of(scan.tokens)
        self.names = script_names(self.shape)
        self.words = {token.text for token in scan.tokens if token.kind == "word"}
        self.apps = self._apps(find, additions)
        # A trash or a junk folder that is named, in any language.
        self._throws = self.words & {"trash", "trashMailbox", "junkMailbox"} or any(
            role_of(token.text) in THROWN for token in scan.tokens if token.kind == "string"
        )
        self.ui = any(app.key == "system_events" for app in self.apps)

    def add(self, level: Level, rule: str, says: str, token: ScriptToken) -> None:
        self.findings.add(level, rule, says, token.text, token.start)

    def read(self) -> None:
        """Read every token."""
        for place in self.shape.brackets.odd[:1]:
            self.add("DANGEROUS", "shape", "is a bracket that matches none", self.at(place))
        for place, token in enumerate(self.tokens):
            if token.kind == "word":
                self._word(place, token)
            elif token.text == "[" and token.kind == "sign":
                self._bracket(place, token)
            elif (
                token.kind == "string"
                and self.at(place + 1).text == ":"
                and self.at(place - 1).text in ("{", ",")
            ):
                self._key(place, token)
        judge_javascript(self.shape, self.names.texts, self.findings, ui=self.ui)

    def at(self, place: int) -> ScriptToken:
        """Return the token at a place, or an empty one."""
        if 0 <= place < len(self.tokens):
            return self.tokens[place]
        return ScriptToken("end", "", 0)

    def _apps(self, find: Find, additions: Vocabulary | None) -> list[Vocabulary]:
        found: list[Vocabulary] = [additions] if additions else []
        for place, token in enumerate(self.tokens):
            if token.kind != "word" or token.text != "Application":
                continue
            if self.at(place - 1).text in (".", "?."):
                self.add("DANGEROUS", "target", "names an app in a way not understood", token)
                continue
            given = self.at(place + 2)
            if self.at(place + 1).text == "." and given.text == "currentApplication":
                continue
            if (
                self.at(place + 1).text != "("
                or given.kind != "string"
                or self.at(place + 3).text != ")"
            ):
                says = "names an app in a way that is decided at run time"
                self.add("DANGEROUS", "target", says, token)
                continue
            app = None if "/" in given.text or ":" in given.text else find(given.text)
            if app is None:
                self.findings.unknown[given.text] = None
                says = "names an app whose dictionary is not known here"
                self.add("DANGEROUS", "target", says, given)
            else:
                self.findings.targets[app.bundle] = None
                found.append(app)
        return found

    def _word(self, place: int, token: ScriptToken) -> None:
        name = token.text
        before, after = self.at(place - 1), self.at(place + 1)
        if before.text in (".", "?.") and before.kind == "sign":
            self._member(place, token)
        elif after.text == ":" and before.text in ("{", ",") and before.kind == "sign":
            self._key(place, token)
        elif before.text in ("{", ",") and after.text in ("}", ",", "=") and (
            self._is_harm(name) or self.shape.is_called_from(place, name, name)
        ):  # fmt: skip
            self.add("DANGEROUS", "member", HARMFUL_MEMBERS.get(name, f"hands on {name}"), token)
        elif before.text in ("{", ",") and after.text in ("}", ",") and self._leads(place, name):
            self.add("DANGEROUS", "member", f"gives a {name}, which can lead anywhere", token)
        elif name in HARMFUL_NAMES:
            self.add("DANGEROUS", "name", HARMFUL_NAMES[name], token)
        elif name in ("let", "of") and not self._is_of_the_language(place):
            self.add("DANGEROUS", "unknown", f"uses {name} as a name", token)
        elif name in _NEVER_ALONE and after.text not in (".", "[", "(") and (
            before.text != "instanceof"
        ):  # fmt: skip
            self.add("DANGEROUS", "name", "hands on what reaches every member", token)
        elif name not in KEYWORDS and name not in KNOWN_GLOBALS and name not in self.names.declared:
            self.add("DANGEROUS", "unknown", "was not understood", token)

    def _is_of_the_language(self, place: int) -> bool:
        """Say whether `let` or `of` joins words here; each can be a variable's name too."""
        before, after = self.at(place - 1), self.at(place + 1)
        joins = before.kind == "word" and not is_keyword(self.tokens, place - 1)
        if self.at(place).text == "of":
            around = self.shape.text(self.shape.around(place) - 1)
            return around == "for" and (joins or before.text in ("]", "}"))
        begins = before.kind != "sign" or before.text in (";", "{", "}", ")", "]")
        looped = before.text == "(" and self.at(place - 2).text == "for"
        if after.text == "[" and is_keyword(self.tokens, place - 1):
            return before.text in ("else", "do")
        if after.text in ("[", "{"):
            return begins or looped
        return after.kind == "word"

    def _is_harm(self, name: str) -> bool:
        """Say whether a name that a pattern may take out of an object does harm when called."""
        levels: list[Level] = [entry.level for entry in self._entries(name, "command")]
        if self.apps and name in language.COMMANDS:
            levels.append(language.COMMANDS[name])
        return name in HARMFUL_MEMBERS or highest(levels) == "DANGEROUS"

    def _entries(self, name: str, use: str) -> list[TermUse]:
        return [e for app in self.apps for e in app.names.get(name, ()) if e.use == use]

    def _member(self, place: int, token: ScriptToken) -> None:
        name = token.text
        commands = self._entries(name, "command")
        if name in HARMFUL_MEMBERS or name in HARMFUL_NAMES:
            says = HARMFUL_MEMBERS.get(name) or HARMFUL_NAMES[name]
            self.add("DANGEROUS", "told" if commands and says in TOLD else "member", says, token)
            if commands:
                self._acts(place, "command", "DANGEROUS")
            return
        if name in _NEVER_OF_OBJECT and self.at(place - 2).text == "Object":
            self.add("DANGEROUS", "member", "lists what cannot be read from the script", token)
            return
        classes = self._entries(name, "class")
        properties = self._entries(name, "property")
        called = self.at(place + 1).text == "("
        if is_secret(name) and properties:
            self.add("DANGEROUS", "secret", "reads or sets a secret", token)
            self._acts(place, "property", "DANGEROUS", "unknown")
        given = properties and self.shape.is_bound(place)
        if self.at(place + 1).text in _ASSIGNS or (name == "set" and called) or given:
            self._setter(place, token, properties)
        elif commands or (called and name in language.COMMANDS and name not in ("get", "set")):
            self._command(place, token, commands)
        elif classes and called and name[:1].isupper():
            level = highest(("MODIFY", *(entry.level for entry in classes)))
            self.add(level, "command", f"makes a {classes[0].term}", token)
            self._acts(place, "class", level, "create")
            if not self.shape.is_written_out(place + 2):
                says = "gives properties that are not written out"
                self.add("DANGEROUS", "unknown", says, token)
        elif not (classes or properties or name in KNOWN_MEMBERS or self._is_own(place)):
            self.add("DANGEROUS", "unknown", "was not understood", token)

    def _is_own(self, place: int) -> bool:
        """Say whether a member is a field of the record that a constant of the script holds.

        What else has a member of that name is not known, nor what `this` is.
        """
        fields = self.names.records.get(self.at(place - 2).text, ())
        return self._is_plain(place - 2) and self.at(place).text in fields

    def _setter(self, place: int, token: ScriptToken, properties: Sequence[TermUse]) -> None:
        name = token.text
        if name == "set":
            place -= 2
            name = self.at(place).text
            properties = self._entries(name, "property")
        if not properties and (self._is_own(place) or name in KNOWN_MEMBERS):
            return
        if not properties:
            self.add("DANGEROUS", "unknown", "sets what was not understood", token)
            return
        level = highest(("MODIFY", *(entry.level for entry in properties)))
        if (self.ui and name in _UI_ACTS) or (level == "MODIFY" and self._is_of_many(place - 2)):
            level = "DANGEROUS"
        if name.casefold() in _LEADS:
            level = "DANGEROUS"
        if "url" in name.casefold() and not is_address(self.shape, place + 2):
            level = "DANGEROUS"
        self.add(level, "command", f"sets {name}", token)
        shows = level == "MODIFY" and all(entry.level == "SAFE" for entry in properties)
        self._acts(place, "property", level, "view" if shows else "change")

    def _command(self, place: int, token: ScriptToken, commands: Sequence[TermUse]) -> None:
        name = token.text
        levels: list[Level] = [entry.level for entry in commands]
        for entry in commands:
            self.findings.tools[entry.tool] = None
        if not levels:
            levels.append(language.COMMANDS[name])
        first = self.at(place + 2)
        given = first.text != ")"
        if (
            # An object that opens itself: a file, a shortcut.
            (name in ("open", "run") and not given and not self.shape.is_app(place - 2))
            or (name in ("open", "geturl") and given and not is_address(self.shape, place + 2))
            or (name == "select" and self.ui)
            or (name in _WRITES and given)
            or (name in _MOVES and (self._moves_many(place) or self._throws))
        ):
            levels.append("DANGEROUS")
        if name == "make":
            levels.append("MODIFY")
        self.add(highest(levels), "command", f"{name} is {highest(levels)}", token)
        within = self.tokens[place : self.shape.end(place + 1, place)]
        # What `new` names is noted where that is read.
        if name != "make" or all(token.text != "new" for token in within):
            self._acts(place, "command", highest(levels))

    def _acts(self, place: int, use: Use, level: Level, verb: Verb | None = None) -> None:
        found = Member(self.shape, self.names, self.apps, place, use).effects(level, verb)
        self.findings.effects += found

    def _is_of_many(self, place: int) -> bool:
        """Say whether what ends here is a whole collection, or all of it that pass a test."""
        token = self.at(place)
        if token.text == ")":
            opening = self.shape.around(place - 1) if self.at(place - 1).text != "(" else place - 1
            return self.at(opening - 1).text in ("whose", "where")
        rows = self._entries(token.text, "class") if token.kind == "word" else []
        return any(token.text != entry.term for entry in rows)

    def _moves_many(self, place: int) -> bool:
        """Say whether a whole collection is moved: `app.move(x.files, ...)`, `x.files.move()`."""
        end = place + 2
        while self.at(end).kind == "word" or self.at(end).text in (".",):
            end += 1
        ends = self.at(end - 1) if end > place + 2 else self.at(place - 2)
        rows = self._entries(ends.text, "class") if ends.kind == "word" else []
        return any(ends.text != entry.term for entry in rows)

    def _key(self, place: int, token: ScriptToken) -> None:
        name, value = token.text, self.at(place + 2)
        taken = value.kind == "word" and self.shape.is_called_from(place, name, value.text)
        if name in HANDED_ON or taken or self._is_harm(name):
            says = HARMFUL_MEMBERS.get(name) or HARMFUL_NAMES.get(name) or f"hands on {name}"
            self.add("DANGEROUS", "member", says, token)
        elif name.casefold() in _LEADS and self._of_an_object(place):
            self.add("DANGEROUS", "member", f"gives a {name}, which can lead anywhere", token)
        elif name == "withProperties" and value.text != "{":
            self.add("DANGEROUS", "unknown", "gives properties that are not written out", value)
        elif name == "saving" and value.text != "yes":
            self.add("DANGEROUS", "told", "throws away what is not saved", token)
        elif name == "replacing" and value.text != "false":
            self.add("DANGEROUS", "told", "replaces what is there", token)
        elif name == "new":
            self._made(place + 2)
        elif (
            "url" in name.casefold()
            and self._of_an_object(place)
            and not is_address(self.shape, place + 2)
        ):
            self.add("DANGEROUS", "member", "an address that is not a plain one", token)

    def _leads(self, place: int, name: str) -> bool:
        """Say whether a variable is given as a field, and one that leads somewhere."""
        leads = name.casefold() in _LEADS or "url" in name.casefold()
        return leads and self._of_an_object(place)

    def _of_an_object(self, place: int) -> bool:
        """Say whether a key belongs to the properties of something that is made."""
        opening = self.shape.around(place)
        maker = self.at(opening - 2)
        return maker.text == "withProperties" or (
            self.at(opening - 1).text == "(" and bool(self._entries(maker.text, "class"))
        )

    def _made(self, place: int) -> None:
        value = self.at(place)
        rows = [
            entry
            for app in self.apps
            for entry in (*app.names.get(value.text, ()), *app.terms.get(value.text.casefold(), ()))
            if entry.use == "class"
        ]
        if value.kind != "string" or not rows:
            self.add("DANGEROUS", "unknown", "makes something that was not understood", value)
        else:
            level = highest(("MODIFY", *(entry.level for entry in rows)))
            self.add(level, "command", f"makes a {rows[0].term}", value)
            self._acts(place, "class", level, "create")

    def _bracket(self, place: int, token: ScriptToken) -> None:
        before = self.at(place - 1)
        end = self.shape.end(place, len(self.tokens))
        inner = self.tokens[place + 1 : min(end, place + _LONGEST)]
        if before.text in ("{", ",") and self.at(end + 1).text == ":":
            self.add("DANGEROUS", "dynamic", "a name that is put together at run time", token)
            return
        if not self.shape.is_access(place):
            return
        if len(inner) == 1 and inner[0].kind == "string":
            self._name_in_text(place - 1, inner[0])
            if before.text in KNOWN_GLOBALS:
                self._of_the_language(before.text, inner[0])
            if self.at(end + 1).text in _ASSIGNS:
                self.add("DANGEROUS", "dynamic", "sets something that a text names", inner[0])
        elif before.text in self.names.tables and self._keeps(place - 2, end + 1):
            return
        elif end >= place + _LONGEST or not _is_number(inner, self.names.numbers):
            says = "a name that is put together at run time cannot be judged"
            self.add("DANGEROUS", "dynamic", says, token)

    def _keeps(self, before: int, after: int) -> bool:
        """Say whether an entry of the script's own table is read or set, and nothing more."""
        lead, next_ = self.at(before).text, self.at(after).text
        return lead not in (".", "?.") and next_ not in ("(", "[", "`")

    def _name_in_text(self, before: int, token: ScriptToken) -> None:
        name, holder = token.text, self.at(before)
        harmful = name in HARMFUL_MEMBERS or name in HARMFUL_NAMES
        levels: list[Level] = [entry.level for entry in self._entries(name, "command")]
        if harmful or highest(levels) != "SAFE":
            why = HARMFUL_MEMBERS.get(name) or HARMFUL_NAMES.get(name) or f"calls {name}"
            self.add("DANGEROUS", "member", why, token)
        elif not (
            name in KNOWN_MEMBERS
            or any(name in app.names for app in self.apps)
            or (holder.kind == "word" and self._entries(holder.text, "class"))
            or (self._is_plain(before) and name in self.names.records.get(holder.text, ()))
        ):
            self.add("DANGEROUS", "member", "was not understood", token)

    def _is_plain(self, place: int) -> bool:
        """Say whether a variable stands here, not a member."""
        return self.at(place).kind == "word" and self.at(place - 1).text not in (".", "?.")

    def _of_the_language(self, holder: str, token: ScriptToken) -> None:
        """Judge a member of a built-in object that is named by a text."""
        if token.text not in KNOWN_MEMBERS or (
            holder == "Object" and token.text in _NEVER_OF_OBJECT
        ):
            self.add("DANGEROUS", "member", "was not understood", token)


def read_javascript(
    scan: Scan, findings: Findings, find: Find, additions: Vocabulary | None
) -> None:
    """Read a script, and put what was found into `findings`; arguments as for AppleScript."""
    _Reader(scan, findings, find, additions).read()


def _is_number(tokens: Sequence[ScriptToken], numbers: set[str]) -> bool:
    """Say whether an expression can only be a number."""
    if not tokens:
        return False
    texts = [token.text for token in tokens]
    if texts[-3:-2] == ["length"] and texts[-2:-1] == ["-"] and tokens[-1].kind == "number":
        return all(t.kind == "word" or t.text == "." for t in tokens[:-2])
    return all(
        token.kind == "number" or token.text in numbers or token.text in ("+", "-", "*", "%")
        for token in tokens
    )
