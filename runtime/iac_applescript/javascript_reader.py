"""Reading a JavaScript for Automation: every name is known, or the script is dangerous.

A name that is put together at run time cannot be decided, so an access in brackets must hold a
text that is written out, or a number.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from iac_applescript import javascript_words as known
from iac_applescript import language_words as language
from iac_applescript.danger_rows import JAVASCRIPT, MEMBERS, PROMPTS, UNSEEN
from iac_applescript.findings import Findings
from iac_applescript.javascript_names import script_names
from iac_applescript.javascript_tokens import KEYWORDS
from iac_applescript.statement_rules import is_web_address, judge_text
from iac_applescript.tokens import Scan, Token
from iac_applescript.vocabulary import Entry, Vocabulary
from iac_runtime.levels import highest
from iac_runtime.secrecy import is_secret
from iac_runtime.tool import Level

__all__ = ["read_javascript"]

Find = Callable[[str], Vocabulary | None]

_ASSIGNS: Final = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "++", "--", "??="))
_VALUES: Final = frozenset(("this", "true", "false", "null", "undefined"))
_UI_ACTS: Final = frozenset(("value", "selected", "focused"))
_LEADS: Final = frozenset(("path", "posixPath", "filePath", "filepath"))
_MOVES: Final = frozenset(("move", "duplicate"))
_WRITES: Final = frozenset(("save", "export", "archive"))
_NEVER_OF_OBJECT: Final = frozenset(("values", "entries"))


class _Reader:
    def __init__(
        self, scan: Scan, findings: Findings, find: Find, additions: Vocabulary | None
    ) -> None:
        self.tokens = scan.tokens
        self.findings = findings
        self.names = script_names(scan.tokens)
        self.apps = self._apps(find, additions)
        self.ui = any(app.key == "system_events" for app in self.apps)

    def add(self, level: Level, rule: str, says: str, token: Token) -> None:
        self.findings.add(level, rule, says, token.text, token.start)

    def read(self) -> None:
        """Read every token."""
        for place, token in enumerate(self.tokens):
            if token.kind == "word":
                self._word(place, token)
            elif token.text == "[" and token.kind == "sign":
                self._bracket(place, token)
            elif token.kind in ("string", "template"):
                self._text(place, token)
        self._joined()

    def at(self, place: int) -> Token:
        """Return the token at a place, or an empty one."""
        if 0 <= place < len(self.tokens):
            return self.tokens[place]
        return Token("end", "", 0)

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

    def _word(self, place: int, token: Token) -> None:
        name = token.text
        before, after = self.at(place - 1), self.at(place + 1)
        if before.text in (".", "?.") and before.kind == "sign":
            self._member(place, token)
        elif after.text == ":" and before.text in ("{", ",") and before.kind == "sign":
            self._key(place, token)
        elif before.text in ("{", ",") and after.text in ("}", ",") and name in MEMBERS:
            self.add("DANGEROUS", "member", MEMBERS[name], token)
        elif name in JAVASCRIPT:
            self.add("DANGEROUS", "name", JAVASCRIPT[name], token)
        elif name not in KEYWORDS and name not in known.GLOBALS and name not in self.names.declared:
            self.add("DANGEROUS", "unknown", "was not understood", token)

    def _entries(self, name: str, use: str) -> list[Entry]:
        return [e for app in self.apps for e in app.names.get(name, ()) if e.use == use]

    def _member(self, place: int, token: Token) -> None:
        name = token.text
        if name in MEMBERS or name in JAVASCRIPT:
            self.add("DANGEROUS", "member", MEMBERS.get(name) or JAVASCRIPT[name], token)
            return
        if name in _NEVER_OF_OBJECT and self.at(place - 2).text == "Object":
            self.add("DANGEROUS", "member", "lists what cannot be read from the script", token)
            return
        commands = self._entries(name, "command")
        classes = self._entries(name, "class")
        properties = self._entries(name, "property")
        called = self.at(place + 1).text == "("
        if is_secret(name) and properties:
            self.add("DANGEROUS", "secret", "reads or sets a secret", token)
        if self.at(place + 1).text in _ASSIGNS or (name == "set" and called):
            self._setter(place, token, properties)
        elif commands or (called and name in language.COMMANDS and name not in ("get", "set")):
            self._command(place, token, commands)
        elif classes and called and name[:1].isupper():
            level = highest(("MODIFY", *(entry.level for entry in classes)))
            self.add(level, "command", f"makes a {classes[0].term}", token)
        elif not (classes or properties or name in known.MEMBERS or name in self.names.keys):
            self.add("DANGEROUS", "unknown", "was not understood", token)

    def _setter(self, place: int, token: Token, properties: Sequence[Entry]) -> None:
        name = token.text
        value = self.at(place + 2)
        if name == "set":
            name = self.at(place - 2).text
            properties = self._entries(name, "property")
        if not properties and (name in self.names.keys or name in known.MEMBERS):
            return
        if not properties and name in self.names.declared:
            return
        if not properties:
            self.add("DANGEROUS", "unknown", "sets what was not understood", token)
            return
        level = highest(("MODIFY", *(entry.level for entry in properties)))
        if self.ui and name in _UI_ACTS:
            level = "DANGEROUS"
        if name in _LEADS or name == "properties":
            level = "DANGEROUS"
        if "url" in name.casefold() and not (value.kind == "string" and is_web_address(value.text)):
            level = "DANGEROUS"
        self.add(level, "command", f"sets {name}", token)

    def _command(self, place: int, token: Token, commands: Sequence[Entry]) -> None:
        name = token.text
        levels: list[Level] = [entry.level for entry in commands]
        for entry in commands:
            self.findings.tools[entry.tool] = None
        if not levels:
            levels.append(language.COMMANDS[name])
        first = self.at(place + 2)
        if name in ("open", "geturl") and first.text != ")" and not (
            first.kind == "string" and is_web_address(first.text)
        ):  # fmt: skip
            levels.append("DANGEROUS")
        if name in _WRITES and first.text != ")":
            levels.append("DANGEROUS")
        if name == "run" and first.text != ")":
            levels.append("DANGEROUS")
        if name in _MOVES and (self._moves_many(place) or self._mentions("trash")):
            levels.append("DANGEROUS")
        if name == "make":
            levels.append("MODIFY")
        self.add(highest(levels), "command", f"{name} is {highest(levels)}", token)

    def _mentions(self, name: str) -> bool:
        return any(t.kind == "word" and t.text == name for t in self.tokens)

    def _moves_many(self, place: int) -> bool:
        """Say whether a whole collection is moved: `app.move(x.files, ...)`, `x.files.move()`."""
        end = place + 2
        while self.at(end).kind == "word" or self.at(end).text in (".",):
            end += 1
        ends = self.at(end - 1) if end > place + 2 else self.at(place - 2)
        rows = self._entries(ends.text, "class") if ends.kind == "word" else []
        return any(ends.text != entry.term for entry in rows)

    def _key(self, place: int, token: Token) -> None:
        name, value = token.text, self.at(place + 2)
        if name in MEMBERS:
            self.add("DANGEROUS", "member", MEMBERS[name], token)
        elif name == "saving" and value.text != "yes":
            self.add("DANGEROUS", "member", "throws away what is not saved", token)
        elif name == "replacing" and value.text != "false":
            self.add("DANGEROUS", "member", "replaces what is there", token)
        elif name == "new":
            self._made(value)
        elif (
            "url" in name.casefold()
            and self._of_an_object(place)
            and not (value.kind == "string" and is_web_address(value.text))
        ):
            self.add("DANGEROUS", "member", "an address that is not a plain one", token)

    def _of_an_object(self, place: int) -> bool:
        """Say whether a key belongs to the properties of something that is made."""
        depth = 0
        for at in range(place - 1, -1, -1):
            depth += {"}": 1, "]": 1, ")": 1, "{": -1, "[": -1, "(": -1}.get(self.at(at).text, 0)
            if depth < 0:
                maker = self.at(at - 2)
                return maker.text == "withProperties" or (
                    self.at(at - 1).text == "(" and bool(self._entries(maker.text, "class"))
                )
        return False

    def _made(self, value: Token) -> None:
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

    def _bracket(self, place: int, token: Token) -> None:
        before = self.at(place - 1)
        end = _closing(self.tokens, place)
        inner = self.tokens[place + 1 : end]
        if before.text in ("{", ",") and self.at(end + 1).text == ":":
            self.add("DANGEROUS", "dynamic", "a name that is put together at run time", token)
            return
        access = (
            before.kind in ("string", "template", "regex")
            or before.text in (")", "]", "?.")
            or (
                before.kind == "word"
                and (before.text in _VALUES or before.text not in KEYWORDS)
                and before.text != "of"
            )
        )
        if not access:
            return
        if len(inner) == 1 and inner[0].kind == "string":
            self._name_in_text(inner[0])
            if self.at(end + 1).text in _ASSIGNS:
                self.add("DANGEROUS", "dynamic", "sets something that a text names", inner[0])
        elif before.text in self.names.tables and self._keeps(place - 2, end + 1):
            return
        elif not _is_number(inner, self.names.numbers):
            says = "a name that is put together at run time cannot be judged"
            self.add("DANGEROUS", "dynamic", says, token)

    def _keeps(self, before: int, after: int) -> bool:
        """Say whether an entry of the script's own table is read or set, and nothing more."""
        lead, next_ = self.at(before).text, self.at(after).text
        return lead not in (".", "?.") and next_ not in ("(", "[", "`")

    def _name_in_text(self, token: Token) -> None:
        name = token.text
        harmful = name in MEMBERS or name in JAVASCRIPT
        levels: list[Level] = [entry.level for entry in self._entries(name, "command")]
        if harmful or highest(levels) != "SAFE":
            why = MEMBERS.get(name) or JAVASCRIPT.get(name) or f"calls {name}"
            self.add("DANGEROUS", "member", why, token)

    def _text(self, place: int, token: Token) -> None:
        why = judge_text(token.text)
        before = self.at(place - 1)
        if why and not (before.text == "(" and self.at(place - 2).text == "Application"):
            self.add("DANGEROUS", "text", why, token)
        if self.ui and token.text.casefold() in UNSEEN:
            says = "touches a program that asks for consent or holds secrets"
            self.add("DANGEROUS", "blocked", says, token)
        if re.search(PROMPTS, token.text) and any(
            t.kind == "word" and t.text == "defaultAnswer" for t in self.tokens
        ):
            self.add("DANGEROUS", "text", "asks for a password in a dialog of its own", token)
        if token.kind == "string" and self.at(place + 1).text == ":" and before.text in ("{", ","):
            self._key(place, token)

    def _joined(self) -> None:
        """Look at texts that are joined by `+` as one."""
        run: list[Token] = []
        for token in self.tokens:
            if token.kind == "string":
                run.append(token)
            elif token.text not in ("+", "(", ")"):
                if len(run) > 1:
                    whole = "".join(part.text for part in run)
                    why = judge_text(whole)
                    if why:
                        self.findings.add("DANGEROUS", "text", why, whole, run[0].start)
                run = []


def read_javascript(
    scan: Scan, findings: Findings, find: Find, additions: Vocabulary | None
) -> None:
    """Read a script, and put what was found into `findings`; arguments as for AppleScript."""
    _Reader(scan, findings, find, additions).read()


def _is_number(tokens: Sequence[Token], numbers: set[str]) -> bool:
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


def _closing(tokens: Sequence[Token], place: int) -> int:
    depth = 0
    for at in range(place, len(tokens)):
        if tokens[at].kind == "sign":
            depth += {"[": 1, "]": -1}.get(tokens[at].text, 0)
            if depth == 0:
                return at
    return len(tokens)
