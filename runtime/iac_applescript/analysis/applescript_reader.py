"""Reading an AppleScript statement by statement: every word is known, or the script is dangerous.

A statement is judged where it stands: the apps that `tell` and `application "..."` bring into
sight give its words their meaning, and with it their level.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from iac_applescript.analysis import vocabulary as language
from iac_applescript.analysis.applescript_shapes import (
    app_proven_running,
    dangerous_verbs,
    find_misused_names,
    find_running_checks,
    find_unbracketed,
    has_screen_element,
    if_condition,
    is_private_source,
    is_script_object,
    is_silent,
    not_understood,
    object_operations,
    opens_block,
    text_after,
)
from iac_applescript.analysis.applescript_units import (
    ScriptDeclarations,
    Unit,
    WordScope,
    find_declarations,
    has_labeled_parameters,
    parse_units,
    split_statements,
)
from iac_applescript.analysis.findings import Findings, spend
from iac_applescript.analysis.nested import RUNS_TEXT
from iac_applescript.analysis.statement_effects import (
    command_effects,
    secrets_read,
    with_read_effects,
)
from iac_applescript.analysis.statement_rules import (
    SAFE,
    SPECIAL,
    StatementContext,
    judge_fields,
    judge_set,
)
from iac_applescript.analysis.texts import judge_phrases, judge_script_texts
from iac_applescript.analysis.vocabulary import UNSEEN, Vocabulary
from iac_base.script_tokens import Scan, ScriptToken
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
class _OpenBlock:
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


class _AppTarget(NamedTuple):
    app: Vocabulary | None
    name: str


class _StatementReader:
    def __init__(self, scan: Scan, findings: Findings, find: Find, additions: Vocabulary | None):
        self.findings = findings
        self.find = find
        self.additions = (additions,) if additions else ()
        self.declared = find_declarations(scan.tokens)
        self.set_under: dict[tuple[str, ...], set[str]] = {}
        self.sights: dict[tuple[str, ...], WordScope] = {}
        self.blocks: list[_OpenBlock] = [_OpenBlock((), ui=False)]
        self.named: tuple[Vocabulary, ...] = ()
        self.named = tuple(
            {app.key: app for app in self._note_mentioned_apps(scan.tokens)}.values()
        )
        # What names no app reaches none; a call behind `tell` or `of` is judged all the same.
        seen = (*self.named, *self.additions)
        terms = any(token.folded == "using" for token in scan.tokens)
        self.borrowed = self.named if terms else ()
        self.verbs = dangerous_verbs(seen) if self.named else frozenset[str]()

    def _add_danger(self, rule: str, says: str, text: str, start: int) -> None:
        self.findings.add("DANGEROUS", rule, says, text, start)

    def read_statement(self, tokens: Sequence[ScriptToken], depth: int = 0) -> None:
        """Read one statement, and those behind it on its line."""
        first = tokens[0].folded if tokens[0].kind == "word" else ""
        if depth > _DEEPEST:
            self._add_danger("nesting", "is nested too deeply", "", tokens[0].start)
            return
        if first == "end" and depth:
            self._add_danger("shape", "an end within a line", "end", tokens[0].start)
            return
        if first == "end":
            self._close_block(tokens)
            return
        if first == "else" and len(self.blocks) > 1:
            self.blocks[-1] = replace(self.blocks[-1], running=self.blocks[-2].running)
        proven = self._apps_proven_running(if_condition(tokens))
        tell = next(
            (i for i, t in enumerate(tokens) if t.kind == "word" and t.folded == "tell"), None
        )
        if proven and tokens[-1].folded != "then":
            # What an `if` of one line found holds for the rest of the line alone.
            place, before = len(self.blocks) - 1, self.blocks[-1]
            self.blocks[place] = replace(before, running=before.running | proven)
            self._dispatch_statement(tokens, first, tell, depth)
            self.blocks[place : place + 1] = [before]
            return
        self._dispatch_statement(tokens, first, tell, depth)
        if proven:
            self.blocks[-1] = replace(self.blocks[-1], running=self.blocks[-1].running | proven)

    def _dispatch_statement(
        self, tokens: Sequence[ScriptToken], first: str, tell: int | None, depth: int
    ) -> None:
        if tell is not None:
            self._read_tell(tokens, tell, depth)
            return
        if opens_block(tokens):
            top = self.blocks[-1]
            own = first in ("on", "to", "script")
            self.blocks.append(replace(top, running=frozenset()) if own else top)
        if first in ("on", "to") and len(tokens) > 1 and tokens[1].folded != "error":
            self._check_handler(tokens)
            return
        self._judge_statement(tokens, self._note_mentioned_apps(tokens))

    def check_blocks_closed(self) -> None:
        """Say so if a block was not closed."""
        if len(self.blocks) != 1:
            self._add_danger("shape", "blocks and their ends do not match", "end", 0)

    def _close_block(self, tokens: Sequence[ScriptToken]) -> None:
        if (
            len(self.blocks) < 2
            or sum(t.text != ":" for t in tokens) > 5
            or any(t.kind == "raw" for t in tokens)
        ):
            self._add_danger("shape", "an end without a beginning", "end", tokens[0].start)
            return
        self.blocks.pop()

    def _check_handler(self, tokens: Sequence[ScriptToken]) -> None:
        name = tokens[1].folded
        simple = all(t.kind in ("word", "quoted") or t.text in "(){},:" for t in tokens)
        called = len(tokens) > 2 and tokens[2].text == "("
        known = called or name in ("run", "idle", "quit", "open")
        if has_labeled_parameters(tokens):
            simple = known = True
        if not simple or not known:
            says = "declares a handler of a kind that IAC does not know"
            self._add_danger("handler", says, name, tokens[0].start)

    def _apps_proven_running(self, asked: Sequence[ScriptToken]) -> frozenset[str]:
        """Return the bundle id of the app that a condition finds running."""
        name = app_proven_running(asked) if asked else ""
        if name == "it":
            # An object of the app may have a property of this name; then it is not the app's.
            apps = [app for app in self.blocks[-1].apps if "running" not in app.terms]
            return frozenset(app.bundle for app in apps) if len(apps) == 1 else frozenset()
        app = self.find(name) if name else None
        return frozenset((app.bundle,)) if app else frozenset()

    def _note_events(
        self, tokens: Sequence[ScriptToken], units: Sequence[Unit], apps: Sequence[Vocabulary]
    ) -> list[Vocabulary]:
        """Note the apps that a statement sends an event to: those told, and those it names."""
        asked = find_running_checks(tokens)
        named = [token for place, token in enumerate(tokens) if place not in asked]
        reached = {app.key: app for app in self._note_mentioned_apps(named)}
        if not is_silent(units, self.declared.handlers):
            reached |= {app.key: app for app in apps if app.bundle}
        for app in reached.values():
            if app.bundle not in self.blocks[-1].running:
                self.findings.add_start(app.bundle, app.name, tokens[0].start)
        return list(reached.values())

    def _note_mentioned_apps(self, tokens: Sequence[ScriptToken]) -> list[Vocabulary]:
        """Return the apps that a statement names, and note them as targets."""
        apps: list[Vocabulary] = []
        for place, token in enumerate(tokens):
            if token.kind != "word" or token.folded not in ("application", "app"):
                continue
            target = self._parse_target(tokens, place)
            if target is None:
                continue
            if target.app is None:
                self.findings.unknown[target.name] = None
                says = "names an app whose dictionary IAC does not know"
                self._add_danger("target", says, target.name, token.start)
            else:
                self.findings.targets[target.app.bundle] = None
                apps.append(target.app)
        return apps

    def _parse_target(self, tokens: Sequence[ScriptToken], place: int) -> _AppTarget | None:
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
            return _AppTarget(None if "/" in name or ":" in name else self.find(name), name)
        phrase = f"application {rest[0].folded}"
        apps = (*self.additions, *self.blocks[-1].apps)
        if rest[0].kind == "word" and (
            rest[0].folded in _AFTER_APPLICATION or any(phrase in app.terms for app in apps)
        ):
            return None
        if rest[0].kind == "sign" and rest[0].text not in ("(",):
            return None
        return _AppTarget(None, rest[0].text)

    def _read_tell(self, tokens: Sequence[ScriptToken], tell: int, depth: int) -> None:
        if tell:
            self._judge_statement(tokens[:tell], self._note_mentioned_apps(tokens[:tell]))
        rest = tokens[tell + 1 :]
        outer = self.blocks[-1]
        named = self._note_mentioned_apps(rest)
        sight = self._word_scope([*named, *outer.apps])
        units = parse_units(rest, sight)
        place = find_unbracketed(units, "to")
        to = None if place is None else units[place].start
        target = [unit for unit in units if to is None or unit.start < to]
        names = self._note_mentioned_apps([t for t in rest if to is None or t.start < to])
        if any(unit.word == "tell" and unit.kind == "keyword" for unit in target):
            self._add_danger("shape", "a tell without a target", "tell", tokens[tell].start)
        own = any(
            unit.word in ("me", "current application") or is_script_object(unit.word, self.declared)
            for unit in target[:1]
        )
        apps = () if own else tuple(names) or outer.apps
        ui = not names and (outer.ui or has_screen_element(target))
        self._judge_units(target, StatementContext((), self.named, self.declared, ui, told=True))
        self._check_own_names(target, None)
        told = [t for t in rest if to is None or t.start < to]
        object_: tuple[Unit, ...] = ()
        if not all(t.kind == "string" or t.folded in _NAMES for t in told):
            self._note_events(told, target, names)
            self.findings.effects += with_read_effects(
                target, apps if any(map(is_private_source, target)) else ()
            )
            object_ = () if own else tuple(unit for unit in target if unit.word != "(")
        place = len(self.blocks)
        self.blocks.append(_OpenBlock(apps, ui, not own, outer.running, object_))
        if to is not None:
            behind = [t for t in rest if t.start > to]
            if behind:
                self.read_statement(behind, depth + 1)
            # What stands behind `to` may be a `tell` that lasts: its own block stays.
            del self.blocks[place : place + 1]

    def _word_scope(self, apps: Iterable[Vocabulary]) -> WordScope:
        unique = {app.key: app for app in (*apps, *self.additions)}
        key = tuple(unique)
        if key not in self.sights:
            own = self.declared
            names = (own.variables, frozenset(own.handlers), frozenset(own.labels))
            self.sights[key] = WordScope(tuple(unique.values()), *names, {})
        return self.sights[key]

    def _judge_statement(self, tokens: Sequence[ScriptToken], named: Sequence[Vocabulary]) -> None:
        spend(3)
        block = self.blocks[-1]
        unique = {app.key: app for app in (*named, *block.apps)}
        apps = tuple(unique.values())
        units = parse_units(tokens, self._word_scope(apps))
        ui = block.ui or has_screen_element(units)
        reached, start = self._note_events(tokens, units, block.apps), len(self.findings.effects)
        scene = StatementContext(
            apps, self.named, self.declared, ui, block.told, block.object, block.made
        )
        self._judge_units(units, scene)
        made = next((i for i, unit in enumerate(units) if unit.word == "new"), len(units))
        if any(unit.word == "make" for unit in units[:made]):
            classes = frozenset(unit.word for unit in units[made + 1 : made + 2])
            if units[0].word in ("make", "set"):
                self.blocks[-1] = replace(block, made=block.made | classes)
        effects = self.findings.effects
        effects[start:] = with_read_effects(units, reached, effects[start:])
        here = self.set_under.setdefault(tuple(app.key for app in block.apps), set())
        self._check_own_names(units, here)
        # Where an app knows a word as a command it cannot be set, but for one in pipes.
        words = [token.folded if token.kind == "word" else "" for token in tokens[:3]]
        if block.apps and words[::2] == ["set", "to"]:
            here.add(words[1])
        elif block.apps and words[:2] == ["on", "error"]:
            here.update(token.folded for token in tokens[2:] if token.kind == "word")

    def _check_own_names(self, units: Sequence[Unit], set_here: set[str] | None) -> None:
        values = (self.declared.variables.get(unit.word, ()) for unit in units)
        spend(sum(map(len, values)) // 8)
        told = self.blocks[-1].told
        misused = find_misused_names(units, self.declared, self.verbs, told=told, set_here=set_here)
        for unit, says in misused:
            self._add_danger("unknown", says, unit.word, unit.start)

    def _judge_units(self, units: Sequence[Unit], scene: StatementContext) -> None:
        for row in not_understood(units, self.declared.handlers):
            self._add_danger(*row)
        for place, unit in enumerate(units):
            if unit.kind == "command":
                self._judge_command(unit, units[place + 1 :], scene)
            elif unit.kind == "term" and is_secret(unit.word) and unit.has_use("property"):
                self._add_danger("secret", "reads or sets a secret", unit.word, unit.start)
            elif unit.word in _PROCESSES and text_after(units, place) in UNSEEN:
                says = "touches a program that asks for consent or holds secrets"
                self._add_danger("blocked", says, text_after(units, place), unit.start)
            elif is_private_source(unit):
                says = "reads from the screen, a shell or a settings file"
                self.findings.add("MODIFY", "private", says, unit.word, unit.start)
        for name, unit in secrets_read(units, scene, self.borrowed):
            self.findings.read_secret(name, unit.word, unit.start)
        self._note_tools(units, scene)

    def _judge_command(self, unit: Unit, rest: Sequence[Unit], scene: StatementContext) -> None:
        rows = [entry for _, entry in unit.entries if entry.use == "command"]
        base: Level = highest([entry.level for entry in rows] or [language.COMMANDS[unit.word]])
        for entry in rows:
            self.findings.tools[entry.tool] = None
        # Each rule goes through what is given.
        spend(len(rest))
        until = next((i for i, u in enumerate(rest) if u.word == "else"), len(rest))
        rest = about = rest[:until]
        if unit.word == "set":
            to = find_unbracketed(rest, "to")
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
            self.findings.add(
                base, "command", f'uses "{unit.word}", which is {base}', unit.word, unit.start
            )
            verdict = judge_fields(rest, None, scene) if rows and base != "SAFE" else SAFE
        if verdict.level != "SAFE":
            self.findings.add(verdict.level, "command", verdict.reason, unit.word, unit.start)
        level = highest((base, verdict.level))
        codes = [entry.event for entry in rows if entry.event in RUNS_TEXT]
        texts = [part.word for part in rest if part.kind == "text"]
        self.findings.nested += ((code, text) for code in codes[:1] for text in texts)
        self.findings.effects += command_effects(unit, about, rest, level, scene)

    def _note_tools(self, units: Sequence[Unit], scene: StatementContext) -> None:
        for app in scene.apps[:1]:
            own = [u for u in units if any(a.key == app.key for a, _ in u.entries)]
            for op in object_operations(units, own):
                if op in app.tables.tools:
                    self.findings.tools[f"{app.key}_{op}"] = None


def read_applescript(
    scan: Scan, findings: Findings, find: Find, additions: Vocabulary | None
) -> ScriptDeclarations:
    """Read a script, and put what was found into `findings`.

    Args:
        scan: Its tokens.
        findings: Gets the reasons.
        find: Returns the vocabulary of an app by name or bundle id.
        additions: The vocabulary of Standard Additions, which every statement sees.
    """
    reader = _StatementReader(scan, findings, find, additions)
    for line in split_statements(scan.tokens):
        judge_phrases(line, findings)
        reader.read_statement(line)
    reader.check_blocks_closed()
    judge_script_texts(scan, reader.declared, findings)
    return reader.declared
