"""Reading an AppleScript statement by statement: every word is known, or the script is dangerous.

A statement is judged where it stands: the apps that `tell` and `application "..."` bring into
sight give its words their meaning, and with it their level.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from iac_applescript.analysis import words as language
from iac_applescript.analysis.applescript_names import (
    OwnDeclarations,
    declared,
    labelled,
    statements,
)
from iac_applescript.analysis.applescript_secrets import secrets_read
from iac_applescript.analysis.applescript_shapes import (
    asked_about,
    condition,
    dangerous_verbs,
    is_script,
    is_silent,
    lasts,
    looks_into,
    misused,
    not_understood,
    on_screen,
    operations,
    outside,
    proves_running,
    text_after,
)
from iac_applescript.analysis.applescript_units import Unit, WordScope, units_of
from iac_applescript.analysis.budget import spend
from iac_applescript.analysis.command_rules import SPECIAL
from iac_applescript.analysis.findings import Findings, Scan, ScriptToken
from iac_applescript.analysis.statement_effects import effects_of, seen_by
from iac_applescript.analysis.statement_rules import SAFE, Scene, judge_fields, judge_set
from iac_applescript.analysis.texts import judge_applescript, phrases
from iac_applescript.analysis.vocabulary import Vocabulary
from iac_applescript.analysis.words import UNSEEN
from iac_base.secrets import is_secret
from iac_runtime.tool import Level, highest

Find = Callable[[str], Vocabulary | None]

_PROCESSES: Final = frozenset(("process", "application process", "processes"))
_AFTER_APPLICATION: Final = frozenset(
    "process processes file files support responses bindings whose of to is as and then where"
    " dialog".split()
)
_BEFORE_NO_NAME: Final = frozenset(("class", "current", "every", "first", "frontmost"))
_NAMES: Final = frozenset(("application", "app", "id", "named", "the"))
_DEEPEST: Final = 64


@dataclass(frozen=True, slots=True)
class _Block:
    """A statement that lasts until `end`: the apps it brings into sight, if it is a `tell`.

    `running` holds the bundle ids of apps that an `if` around it has found running, `object` what
    a `tell` names if that is more than an app, `made` the classes of what was made in it.
    """

    apps: tuple[Vocabulary, ...]
    ui: bool
    told: bool = False
    running: frozenset[str] = frozenset()
    object: tuple[Unit, ...] = ()
    made: frozenset[str] = frozenset()


class _Target(NamedTuple):
    app: Vocabulary | None
    name: str


class _Reader:
    def __init__(self, scan: Scan, findings: Findings, find: Find, additions: Vocabulary | None):
        self.findings = findings
        self.find = find
        self.additions = (additions,) if additions else ()
        self.declared = declared(scan.tokens)
        self.set_under: dict[tuple[str, ...], set[str]] = {}
        self.sights: dict[tuple[str, ...], WordScope] = {}
        self.blocks: list[_Block] = [_Block((), ui=False)]
        self.named: tuple[Vocabulary, ...] = ()
        self.named = tuple({app.key: app for app in self._mentioned(scan.tokens)}.values())
        # What names no app reaches none; a call behind `tell` or `of` is judged all the same.
        seen = (*self.named, *self.additions)
        terms = any(token.folded == "using" for token in scan.tokens)
        self.borrowed = self.named if terms else ()
        self.verbs = dangerous_verbs(seen) if self.named else frozenset[str]()

    def add(self, level: Level, rule: str, says: str, text: str, start: int) -> None:
        self.findings.add(level, rule, says, text, start)

    def line(self, tokens: Sequence[ScriptToken], depth: int = 0) -> None:
        """Read one statement, and those behind it on its line."""
        first = tokens[0].folded if tokens[0].kind == "word" else ""
        if depth > _DEEPEST:
            self.add("DANGEROUS", "nesting", "is nested too deeply", "", tokens[0].start)
            return
        if first == "end" and depth:
            self.add("DANGEROUS", "shape", "an end within a line", "end", tokens[0].start)
            return
        if first == "end":
            self._end(tokens)
            return
        if first == "else" and len(self.blocks) > 1:
            self.blocks[-1] = replace(self.blocks[-1], running=self.blocks[-2].running)
        proven = self._proven(condition(tokens))
        tell = next(
            (i for i, t in enumerate(tokens) if t.kind == "word" and t.folded == "tell"), None
        )
        if proven and tokens[-1].folded != "then":
            # What an `if` of one line found holds for the rest of the line alone.
            place, before = len(self.blocks) - 1, self.blocks[-1]
            self.blocks[place] = replace(before, running=before.running | proven)
            self._statement(tokens, first, tell, depth)
            self.blocks[place : place + 1] = [before]
            return
        self._statement(tokens, first, tell, depth)
        if proven:
            self.blocks[-1] = replace(self.blocks[-1], running=self.blocks[-1].running | proven)

    def _statement(
        self, tokens: Sequence[ScriptToken], first: str, tell: int | None, depth: int
    ) -> None:
        if tell is not None:
            self._tell(tokens, tell, depth)
            return
        if lasts(tokens):
            top = self.blocks[-1]
            own = first in ("on", "to", "script")
            self.blocks.append(replace(top, running=frozenset()) if own else top)
        if first in ("on", "to") and len(tokens) > 1 and tokens[1].folded != "error":
            self._handler(tokens)
            return
        self._judge(tokens, self._mentioned(tokens))

    def close(self) -> None:
        """Say so if a block was not closed."""
        if len(self.blocks) != 1:
            self.add("DANGEROUS", "shape", "blocks and their ends do not match", "end", 0)

    def _end(self, tokens: Sequence[ScriptToken]) -> None:
        if len(self.blocks) < 2 or len(tokens) > 5 or any(t.kind == "raw" for t in tokens):
            self.add("DANGEROUS", "shape", "an end without a beginning", "end", tokens[0].start)
            return
        self.blocks.pop()

    def _handler(self, tokens: Sequence[ScriptToken]) -> None:
        name = tokens[1].folded
        simple = all(t.kind in ("word", "quoted") or t.text in "(){},:" for t in tokens)
        called = len(tokens) > 2 and tokens[2].text == "("
        known = called or name in ("run", "idle", "quit", "open") or labelled(tokens)
        if not simple or not known:
            self.add(
                "DANGEROUS", "handler", "declares a handler of a kind that IAC does not know",
                name, tokens[0].start,
            )  # fmt: skip

    def _proven(self, asked: Sequence[ScriptToken]) -> frozenset[str]:
        """Return the bundle id of the app that a condition finds running."""
        name = proves_running(asked) if asked else ""
        if name == "it":
            # An object of the app may have a property of this name; then it is not the app's.
            apps = [app for app in self.blocks[-1].apps if "running" not in app.terms]
            return frozenset(app.bundle for app in apps) if len(apps) == 1 else frozenset()
        app = self.find(name) if name else None
        return frozenset((app.bundle,)) if app else frozenset()

    def _sends(
        self, tokens: Sequence[ScriptToken], units: Sequence[Unit], apps: Sequence[Vocabulary]
    ) -> list[Vocabulary]:
        """Note the apps that a statement sends an event to: those told, and those it names."""
        asked = asked_about(tokens)
        named = [token for place, token in enumerate(tokens) if place not in asked]
        reached = {app.key: app for app in self._mentioned(named)}
        if not is_silent(units, self.declared.handlers):
            reached |= {app.key: app for app in apps if app.bundle}
        for app in reached.values():
            if app.bundle not in self.blocks[-1].running:
                self.findings.start(app.bundle, app.name, tokens[0].start)
        return list(reached.values())

    def _mentioned(self, tokens: Sequence[ScriptToken]) -> list[Vocabulary]:
        """Return the apps that a statement names, and note them as targets."""
        found: list[Vocabulary] = []
        for place, token in enumerate(tokens):
            if token.kind != "word" or token.folded not in ("application", "app"):
                continue
            target = self._target(tokens, place)
            if target is None:
                continue
            if target.app is None:
                self.findings.unknown[target.name] = None
                says = "names an app whose dictionary IAC does not know"
                self.add("DANGEROUS", "target", says, target.name, token.start)
            else:
                self.findings.targets[target.app.bundle] = None
                found.append(target.app)
        return found

    def _target(self, tokens: Sequence[ScriptToken], place: int) -> _Target | None:
        if place and tokens[place - 1].folded in _BEFORE_NO_NAME:
            return None
        rest = tokens[place + 1 : place + 4]
        if rest and rest[0].folded in ("id", "named") and rest[0].kind == "word":
            rest = rest[1:]
        if not rest:
            return None
        # A name that goes on behind the text is put together at run time.
        if rest[0].kind == "string" and not (len(rest) > 1 and rest[1].text == "&"):
            name = rest[0].text
            return _Target(None if "/" in name or ":" in name else self.find(name), name)
        phrase = f"application {rest[0].folded}"
        apps = (*self.additions, *self.blocks[-1].apps)
        if rest[0].kind == "word" and (
            rest[0].folded in _AFTER_APPLICATION or any(phrase in app.terms for app in apps)
        ):
            return None
        if rest[0].kind == "sign" and rest[0].text not in ("(",):
            return None
        return _Target(None, rest[0].text)

    def _tell(self, tokens: Sequence[ScriptToken], tell: int, depth: int) -> None:
        if tell:
            self._judge(tokens[:tell], self._mentioned(tokens[:tell]))
        rest = tokens[tell + 1 :]
        outer = self.blocks[-1]
        named = self._mentioned(rest)
        sight = self._sight([*named, *outer.apps])
        units = units_of(rest, sight)
        place = outside(units, "to")
        to = None if place is None else units[place].start
        target = [unit for unit in units if to is None or unit.start < to]
        names = self._mentioned([t for t in rest if to is None or t.start < to])
        if any(unit.word == "tell" and unit.kind == "keyword" for unit in target):
            self.add("DANGEROUS", "shape", "a tell without a target", "tell", tokens[tell].start)
        own = any(
            unit.word in ("me", "current application") or is_script(unit.word, self.declared)
            for unit in target[:1]
        )
        if own:
            apps: tuple[Vocabulary, ...] = ()
        else:
            apps = tuple(names) or outer.apps
        ui = not names and (outer.ui or on_screen(target))
        self._weigh(target, Scene((), self.named, self.declared, ui, told=True))
        self._own_names(target, None)
        told = [t for t in rest if to is None or t.start < to]
        object_: tuple[Unit, ...] = ()
        if not all(t.kind == "string" or t.folded in _NAMES for t in told):
            self._sends(told, target, names)
            self.findings.effects += seen_by(target, apps if any(map(looks_into, target)) else ())
            object_ = () if own else tuple(unit for unit in target if unit.word != "(")
        place = len(self.blocks)
        self.blocks.append(_Block(apps, ui, not own, outer.running, object_))
        if to is not None:
            behind = [t for t in rest if t.start > to]
            if behind:
                self.line(behind, depth + 1)
            # What stands behind `to` may be a `tell` that lasts: its own block stays.
            del self.blocks[place : place + 1]

    def _sight(self, apps: Iterable[Vocabulary]) -> WordScope:
        unique = {app.key: app for app in (*apps, *self.additions)}
        key = tuple(unique)
        if key not in self.sights:
            own = self.declared
            names = (own.variables, frozenset(own.handlers), frozenset(own.labels))
            self.sights[key] = WordScope(tuple(unique.values()), *names, {})
        return self.sights[key]

    def _judge(self, tokens: Sequence[ScriptToken], named: Sequence[Vocabulary]) -> None:
        spend(3)
        block = self.blocks[-1]
        unique = {app.key: app for app in (*named, *block.apps)}
        apps = tuple(unique.values())
        units = units_of(tokens, self._sight(apps))
        ui = block.ui or on_screen(units)
        reached, start = self._sends(tokens, units, block.apps), len(self.findings.effects)
        scene = Scene(apps, self.named, self.declared, ui, block.told, block.object, block.made)
        self._weigh(units, scene)
        made = next((i for i, unit in enumerate(units) if unit.word == "new"), len(units))
        if any(unit.word == "make" for unit in units[:made]):
            classes = frozenset(unit.word for unit in units[made + 1 : made + 2])
            if units[0].word in ("make", "set"):
                self.blocks[-1] = replace(block, made=block.made | classes)
        effects = self.findings.effects
        effects[start:] = seen_by(units, reached, effects[start:])
        here = self.set_under.setdefault(tuple(app.key for app in block.apps), set())
        self._own_names(units, here)
        # Where an app knows a word as a command it cannot be set, but for one in pipes.
        words = [token.folded if token.kind == "word" else "" for token in tokens[:3]]
        if block.apps and words[::2] == ["set", "to"]:
            here.add(words[1])

    def _own_names(self, units: Sequence[Unit], set_here: set[str] | None) -> None:
        values = (self.declared.variables.get(unit.word, ()) for unit in units)
        spend(sum(map(len, values)) // 8)
        told = self.blocks[-1].told
        found = misused(units, self.declared, self.verbs, told=told, set_here=set_here)
        for unit, says in found:
            self.add("DANGEROUS", "unknown", says, unit.word, unit.start)

    def _weigh(self, units: Sequence[Unit], scene: Scene) -> None:
        for row in not_understood(units, self.declared.handlers):
            self.add("DANGEROUS", *row)
        for place, unit in enumerate(units):
            if unit.kind == "command":
                self._command(unit, units[place + 1 :], scene)
            elif unit.kind == "term" and is_secret(unit.word) and unit.has("property"):
                self.add("DANGEROUS", "secret", "reads or sets a secret", unit.word, unit.start)
            elif unit.word in _PROCESSES and text_after(units, place) in UNSEEN:
                says = "touches a program that asks for consent or holds secrets"
                self.add("DANGEROUS", "blocked", says, text_after(units, place), unit.start)
            elif looks_into(unit):
                says = "reads from the screen, a shell or a settings file"
                self.add("MODIFY", "private", says, unit.word, unit.start)
        for name, unit in secrets_read(units, scene, self.borrowed):
            self.findings.read_secret(name, unit.word, unit.start)
        self._tools(units, scene)

    def _command(self, unit: Unit, rest: Sequence[Unit], scene: Scene) -> None:
        rows = [entry for _, entry in unit.entries if entry.use == "command"]
        base: Level = highest([entry.level for entry in rows] or [language.COMMANDS[unit.word]])
        for entry in rows:
            self.findings.tools[entry.tool] = None
        # Each rule goes through what is given.
        spend(len(rest))
        until = next((i for i, u in enumerate(rest) if u.word == "else"), len(rest))
        rest = about = rest[:until]
        if unit.word == "set":
            to = outside(rest, "to")
            target, value = (rest, ()) if to is None else (rest[:to], rest[to + 1 :])
            verdict, about, base = judge_set(target, value, scene), target, "SAFE"
        elif unit.word == "copy" and not rest:
            verdict = judge_set(rest, rest, scene)
        elif unit.word == "copy":
            to = next((i for i in range(len(rest) - 1, -1, -1) if rest[i].word == "to"), None)
            parts = (rest, rest) if to is None else (rest[to + 1 :], rest[:to])
            verdict, about, base = judge_set(*parts, scene), parts[0], "SAFE"
        elif unit.word in SPECIAL:
            verdict, base = SPECIAL[unit.word](rest, scene, base), "SAFE"
        else:
            self.add(base, "command", f"{unit.word} is {base}", unit.word, unit.start)
            verdict = judge_fields(rest, None, scene) if rows and base != "SAFE" else SAFE
        if verdict.level != "SAFE":
            self.add(verdict.level, "command", verdict.says, unit.word, unit.start)
        level = highest((base, verdict.level))
        self.findings.effects += effects_of(unit, about, rest, level, scene)

    def _tools(self, units: Sequence[Unit], scene: Scene) -> None:
        for app in scene.apps[:1]:
            own = [u for u in units if any(a.key == app.key for a, _ in u.entries)]
            for op in operations(units, own):
                if op in app.tables.tools:
                    self.findings.tools[f"{app.key}_{op}"] = None


def read_applescript(
    scan: Scan, findings: Findings, find: Find, additions: Vocabulary | None
) -> OwnDeclarations:
    """Read a script, and put what was found into `findings`.

    Args:
        scan: Its tokens.
        findings: Gets the reasons.
        find: Returns the vocabulary of an app by name or bundle id.
        additions: The vocabulary of Standard Additions, which every statement sees.
    """
    reader = _Reader(scan, findings, find, additions)
    for line in statements(scan.tokens):
        phrases(line, findings)
        reader.line(line)
    reader.close()
    judge_applescript(scan, reader.declared, findings)
    return reader.declared
