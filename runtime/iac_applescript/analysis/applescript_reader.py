"""Reading an AppleScript statement by statement: every word is known, or the script is dangerous.

A statement is judged where it stands: the apps that `tell` and `application "..."` bring into
sight give its words their meaning, and with it their level. A script that the parser cannot read is
not judged further than the apps that it names.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from iac_applescript.analysis.applescript_names import (
    ScriptNames,
    chain,
    class_term,
    container,
    inner_node,
    iterate_nodes,
    property_term,
)
from iac_applescript.analysis.findings import Findings, spend
from iac_applescript.analysis.nested import RUNS_TEXT
from iac_applescript.analysis.statement_effects import (
    apps_of,
    command_effects,
    command_word,
    is_private_source,
    is_screen_element,
    secrets_read,
    set_effects,
    with_read_effects,
)
from iac_applescript.analysis.statement_rules import (
    SAFE,
    SPECIAL,
    AppTerm,
    StatementContext,
    is_many,
    judge_fields,
    judge_set,
    made_class,
)
from iac_applescript.analysis.texts import judge_phrases, judge_script_texts
from iac_applescript.analysis.vocabulary import (
    COMMANDS,
    HARMFUL_MEMBERS,
    JUDGED,
    PHRASES,
    UNSEEN,
    Vocabulary,
)
from iac_base.script_tokens import Scan, ScriptToken
from iac_base.secrets import is_secret
from iac_runtime.language import applescript_tree as tree
from iac_runtime.language.applescript_expressions import ScriptSyntaxError, Terms
from iac_runtime.language.applescript_parser import parse_applescript
from iac_runtime.language.applescript_terms import app_terms, language_terms
from iac_runtime.language.applescript_tree import SyntaxNode
from iac_runtime.tool import Level, highest

Find = Callable[[str], Vocabulary | None]

_PROCESSES: Final = frozenset(("process", "application process"))
_BUILT_IN: Final = frozenset(("me", "it", "result", "current application"))
_DEEPEST: Final = 64


def _parts_of(node: SyntaxNode) -> tuple[SyntaxNode | None, ...]:
    """Return the expressions of a statement, without the statements in it."""
    match node:
        case tree.Evaluate(value=value) | tree.Leave(value=value) | tree.Declare(value=value):
            return (value,)
        case tree.Within(value=value):
            return (value,)
        case tree.Raise(message=message, parameters=rows):
            return (message, *(value for _, value in rows))
        case tree.Assign(target=target, value=value):
            return (target, value)
        case tree.Repeat(values=values):
            return values
        case _:
            return ()


class _ScriptReader:
    def __init__(
        self,
        script: tree.Script,
        scan: Scan,
        findings: Findings,
        find: Find,
        additions: Vocabulary | None,
    ):
        # Where an app knows a word as a command it cannot be set, but for one in bars.
        self.piped = {token.folded for token in scan.tokens if token.kind == "quoted"}
        self.set_under: dict[tuple[str, ...], set[str]] = {}
        self.findings, self.find, self.depth = findings, find, 0
        self.screen: dict[str, bool] = {}
        self.additions = (additions,) if additions else ()
        self.names = ScriptNames()
        self.names.collect(script)
        nodes = [*iterate_nodes(script)]
        named = [one for one in nodes if isinstance(one, tree.Application)]
        apps = [app for one in named if (app := self._resolve(one))]
        self.named = tuple({app.key: app for app in apps}.values())
        records = [one for one in nodes if isinstance(one, tree.RecordOf)]
        self.labels = {key.casefold() for one in records for key, _ in one.fields}
        self.labels |= self.names.properties
        # What names no app reaches none.
        self.verbs = dangerous_verbs((*self.named, *self.additions)) if self.named else frozenset()
        borrows = any(isinstance(one, tree.Within) and one.kind == "using" for one in nodes)
        self.borrowed = self.named if borrows else ()

    def danger(self, rule: str, says: str, text: str, node: SyntaxNode) -> None:
        self.findings.add("DANGEROUS", rule, says, text, node.start)

    def _resolve(self, node: tree.Application) -> Vocabulary | None:
        """Return the app that a node names, and note it as a target."""
        name = node.name.value if isinstance(node.name, tree.Value) else None
        known = isinstance(name, str) and not {"/", ":"} & set(name)
        app = self.find(name) if known and isinstance(name, str) else None
        if app is None:
            said = name if isinstance(name, str) else "an app that it names by a value"
            self.findings.unknown[str(said)] = None
            says = "names an app whose dictionary IAC does not know"
            self.danger("target", says, str(said), node)
        else:
            self.findings.targets[app.bundle] = None
        return app

    # ---- statements

    def read_script(self, script: tree.Script) -> None:
        scene = StatementContext((), self.named, self.names)
        self.read_block(script.body, scene)
        for handler in script.handlers.values():
            self.read_block(handler.body, scene)

    def read_block(self, body: Iterable[SyntaxNode], scene: StatementContext) -> None:
        here = self.set_under.setdefault(tuple(app.key for app in scene.apps), set())
        self.depth += 1
        for node in body:
            spend(1)
            if self.depth > _DEEPEST:
                self.danger("nesting", "is nested too deeply", "", node)
                break
            scene = self.read_statement(node, scene, here)
        self.depth -= 1

    def read_statement(
        self, node: SyntaxNode, scene: StatementContext, here: set[str]
    ) -> StatementContext:
        """Judge a statement; returns what those behind it stand in."""
        match node:
            case tree.Script():
                self.read_script(node)
            case tree.Tell(target=target, body=body):
                self.read_block(body, self._enter(target, scene))
            case tree.If(branches=branches):
                self._read_if(branches, scene)
            case tree.Try(body=body, handler=handler, names=names):
                self.read_block(body, scene)
                here.update(name for _, name in names if scene.apps)
                self.read_block(handler, scene)
            case tree.Repeat(body=body):
                self._judge_statement(node, scene)
                self.read_block(body, self._loop(node, scene))
            case tree.Within(body=body):
                self._judge_statement(node, scene)
                self.read_block(body, scene)
            case tree.Evaluate(value=tree.Name(name=name)) if (
                scene.told
                and name not in _BUILT_IN
                and name not in here
                and name in self.names.variables
            ):
                self.danger("unknown", "was not understood inside a tell", name, node)
            case tree.Evaluate(value=tree.Place(where=where)):
                self.danger("unknown", "was not understood", where, node)
            case _:
                self._judge_statement(node, scene)
        if isinstance(node, tree.Assign):
            target = inner_node(node.target)
            own = (one.name for one in iterate_nodes(target) if isinstance(one, tree.Name))
            here.update(name for name in own if scene.apps and name not in self.piped)
        made = node.value if isinstance(node, tree.Evaluate | tree.Assign) else None
        made = inner_node(made) if made is not None else None
        if isinstance(made, tree.CommandCall) and made.term == "make":
            return replace(scene, made=scene.made | {made_class(made)})
        return scene

    def _enter(self, target: SyntaxNode, scene: StatementContext) -> StatementContext:
        """Return what the statements of a `tell` stand in."""
        self._judge_statement(target, replace(scene, told=True), told=True)
        root = [*chain(target)][-1]
        plain = inner_node(target)
        own = self.names.is_script_object(plain)
        apps = scene.apps
        ui = scene.ui
        if own:
            apps, ui = (), False
        elif isinstance(root, tree.Application):
            app = self._resolve(root)
            apps, ui = (app,) if app else (), False
        elif isinstance(root, tree.Name) and root.name not in _BUILT_IN:
            held = self.names.possible_values(root)
            known = [self._resolve(one) for one in held if isinstance(one, tree.Application)]
            if held and len(known) == len(held):
                apps = tuple(app for app in known if app)
        wide = replace(scene, apps=apps)
        ui = ui or any(self._is_on_screen(one, wide) for one in chain(target))
        bare = own or isinstance(plain, tree.Application)
        return replace(
            scene, apps=apps, ui=ui and not own, told=not own,
            object=None if bare else target, made=frozenset(),
        )  # fmt: skip

    def _is_on_screen(self, node: SyntaxNode, scene: StatementContext) -> bool:
        """Say whether a node is, or may hold, an element of the screen."""
        if isinstance(node, tree.Name) and node.name in self.names.variables:
            if node.name not in self.screen:
                wide = replace(scene, apps=self.named)
                values = self.names.possible_values(node)
                held = (part for value in values for part in chain(value))
                self.screen[node.name] = any(is_screen_element(part, wide) for part in held)
            return self.screen[node.name]
        return is_screen_element(node, scene)

    def _loop(self, node: tree.Repeat, scene: StatementContext) -> StatementContext:
        """Return what the statements of a loop stand in: the names that change with each turn."""
        few = node.form != "ever" and not any(map(self._is_all, node.values))
        if few:
            return scene
        changed = {node.variable} | {
            target.name
            for one in node.body
            for part in iterate_nodes(one)
            if isinstance(part, tree.Assign)
            and isinstance(target := inner_node(part.target), tree.Name)
        }
        return replace(scene, looped=(scene.looped or frozenset()) | changed)

    def _is_all(self, node: SyntaxNode) -> bool:
        """Say whether something is all objects of a kind, or how many these are."""
        for value in self.names.possible_values(node):
            parts = [*iterate_nodes(value)] if value is not None else []
            forms = {one.form for one in parts if isinstance(one, tree.ElementForm)}
            held = (self.names.possible_values(one) for one in parts if isinstance(one, tree.Name))
            inner = [one for row in held for one in row if one is not None]
            if "whose" in forms:
                continue
            if any(is_many(one, self.names) for one in (*parts, *inner)):
                return True
        return False

    def _read_if(
        self,
        branches: Sequence[tuple[SyntaxNode | None, tuple[SyntaxNode, ...]]],
        scene: StatementContext,
    ) -> None:
        for test, body in branches:
            inner = scene
            if test is not None:
                self._judge_statement(test, scene)
                proven = self._proven_running(test, scene)
                inner = replace(
                    scene,
                    running=scene.running | proven,
                    stopped=scene.stopped or self._proves_stopped(test),
                )
            self.read_block(body, inner)

    def _proven_running(self, test: SyntaxNode, scene: StatementContext) -> frozenset[str]:
        test = inner_node(test)
        denied = isinstance(test, tree.OperatorForm) and test.operator == "≠"
        asked = None if denied else asked_running(test)
        if isinstance(asked, tree.Application):
            app = self._resolve(asked)
            return frozenset((app.bundle,)) if app else frozenset()
        if asked is not None and len(scene.apps) == 1 and "running" not in scene.apps[0].terms:
            return frozenset((scene.apps[0].bundle,))
        return frozenset()

    def _proves_stopped(self, test: SyntaxNode) -> bool:
        """Say whether a test is that an app did not run when the script asked."""
        test = inner_node(test)
        if not (isinstance(test, tree.OperatorForm) and test.operator == "not"):
            return False
        asked = inner_node(test.operands[0])
        values = self.names.possible_values(asked) if isinstance(asked, tree.Name) else ()
        return bool(values) and all(value and asked_running(value) for value in values)

    # ---- one statement

    def _judge_statement(
        self, node: SyntaxNode, scene: StatementContext, *, told: bool = False
    ) -> None:
        """Judge the expressions of a statement; `told` if it is what a `tell` names."""
        spend(3)
        expressions = _parts_of(node)
        parts = [part for part in expressions if part is not None]
        if not expressions and isinstance(node, tree.Declare | tree.Within):
            return
        whole: SyntaxNode = tree.ListOf(node.start, tuple(parts)) if expressions else node
        nodes = [*iterate_nodes(whole)]
        named = [app for one in nodes if isinstance(one, tree.Application)
                 if (app := self._resolve(one))]  # fmt: skip
        seen = {app.key: app for app in (*named, *scene.apps, *self.additions)}
        words = replace(scene, apps=tuple(seen.values()))
        ui = scene.ui or any(self._is_on_screen(one, words) for one in nodes)
        words = replace(words, ui=ui)
        start = len(self.findings.effects)
        plain = told and isinstance(inner_node(node), tree.Application)
        reached = [] if plain else self._note_events(nodes, scene)
        given = None
        if isinstance(node, tree.Assign):
            given = self._judge_assign(node, words)
        for one in nodes:
            self._judge_node(one, words)
        for name, one in secrets_read(whole, words, self.borrowed, given):
            self.findings.read_secret(name, name, one.start)
        effects = self.findings.effects
        if told and not any(is_private_source(one, words) for one in nodes):
            return
        effects[start:] = with_read_effects(whole, reached, words, effects[start:])
        self._note_tools(node, nodes, scene)

    def _judge_assign(self, node: tree.Assign, scene: StatementContext) -> SyntaxNode:
        target = inner_node(node.target)
        verdict = judge_set(target, node.value, scene)
        if verdict.level != "SAFE":
            self.findings.add(verdict.level, "command", verdict.reason, "set", node.start)
            self.findings.effects += set_effects(target, node.value, verdict.level, scene)
        return target

    def _judge_node(self, node: SyntaxNode, scene: StatementContext) -> None:
        match node:
            case tree.CommandCall():
                self._judge_command(node, scene)
            case tree.HandlerCall():
                self._judge_call(node, scene)
            case tree.Name(name=name):
                if name in self.verbs:
                    says = "gives something of its own the name of a command"
                    self.danger("unknown", says, name, node)
                own = name in self.names.variables or name in self.names.handlers
                if not own and name not in _BUILT_IN and name not in self.labels:
                    self.danger("unknown", "was not understood", name, node)
            case tree.Member(name=tree.Name(name=name), within=within):
                ours = self.names.is_script_object(within)
                held = [*chain(within)]
                root = held[-1] if held else None
                local = isinstance(root, tree.Name) and root.name not in _BUILT_IN
                if not ours and not (name in self.labels and local):
                    says = "is a name of the script, but is used on something else"
                    self.danger("unknown", says, name, node)
            case tree.Member(name=name) if not isinstance(name, tree.TermName):
                self.danger("unknown", "was not understood", "", node)
            case _:
                pass
        word = property_term(node)
        if word and is_secret(word) and scene.uses("property", word, (*scene.apps, *scene.named)):
            self.danger("secret", "reads or sets a secret", word, node)
        if class_term(node) in _PROCESSES and isinstance(node, tree.ElementForm):
            texts = [text for key in node.keys for text in self.names.spell_texts(key)]
            if UNSEEN & {text.casefold() for text in texts}:
                says = "touches a program that asks for consent or holds secrets"
                self.danger("blocked", says, texts[0], node)
        if is_private_source(node, scene):
            says = "reads from the screen, a shell or a settings file"
            term = class_term(node) or word
            self.findings.add("MODIFY", "private", says, term, node.start)

    def _judge_call(self, node: tree.HandlerCall, scene: StatementContext) -> None:
        if node.name in self.verbs:
            says = "gives something of its own the name of a command"
            self.danger("unknown", says, node.name, node)
        if self.names.is_script_object(node.owner) or (node.owner is None and not scene.told):
            if node.name not in self.names.handlers:
                self.danger("unknown", "calls an unknown handler", node.name, node)
        else:
            says = "calls a handler of something other than the script"
            self.danger("unknown", says, node.name, node)

    def _judge_command(self, call: tree.CommandCall, scene: StatementContext) -> None:
        rows = [
            AppTerm(app, entry)
            for app in scene.apps
            for entry in app.names.get(call.term, ())
            if entry.use == "command"
        ]
        word = command_word(call, rows)
        known = COMMANDS.get(word, "DANGEROUS")
        base: Level = highest([row.entry.level for row in rows] or [known])
        for row in rows:
            self.findings.tools[row.entry.tool] = None
        verdict, told = SAFE, apps_of(call.direct, scene)
        if (
            scene.told
            and not rows
            and not any(app.tables.app.kind == "application" for app in told)
        ):
            self.danger("target", "tells something that IAC does not know", word, call)
        if call.term in SPECIAL:
            verdict, base = SPECIAL[call.term](call, scene, base), "SAFE"
        else:
            self.findings.add(base, "command", f'uses "{word}", which is {base}', word, call.start)
            if rows and base != "SAFE":
                verdict = judge_fields(call, "", scene)
        if verdict.level != "SAFE":
            self.findings.add(verdict.level, "command", verdict.reason, word, call.start)
        level = highest((base, verdict.level))
        codes = [row.entry.event for row in rows if row.entry.event in RUNS_TEXT]
        texts = [
            one.value
            for one in iterate_nodes(call)
            if isinstance(one, tree.Value) and isinstance(one.value, str)
        ]
        self.findings.nested += ((code, text) for code in codes[:1] for text in texts)
        self.findings.effects += command_effects(
            call, rows, level, replace(scene, apps=tuple(scene.tells))
        )

    def _note_events(
        self, nodes: Sequence[SyntaxNode], scene: StatementContext
    ) -> list[Vocabulary]:
        """Note the apps that a statement sends an event to: those told, and those it names."""
        reached: dict[str, Vocabulary] = {}
        asked = {id(part) for one in nodes if (part := asked_running(one)) is not None}
        skipped = {id(one) for one in nodes if asked_running(one) is not None}
        for node in nodes:
            if id(node) in asked or id(node) in skipped:
                continue
            if isinstance(node, tree.Application):
                app = self._resolve(node)
                reached |= {app.key: app} if app else {}
            elif scene.told and self._is_event(node, scene):
                reached |= {app.key: app for app in scene.apps if app.bundle}
        start = nodes[0].start if nodes else 0
        for app in reached.values():
            if app.bundle not in scene.running:
                self.findings.add_start(app.bundle, app.name, start)
        return list(reached.values())

    def _is_event(self, node: SyntaxNode, scene: StatementContext) -> bool:
        """Say whether a node inside a `tell` has its app asked something."""
        if isinstance(node, tree.CommandCall):
            return not (node.term == "get" and node.direct is not None)
        if isinstance(node, tree.Name):
            return node.name in ("it", "result")
        term = property_term(node) or class_term(node)
        if not term or isinstance(node, tree.TermName):
            return False
        if term == "running":
            return False
        return (
            isinstance(node, tree.Member | tree.ElementForm)
            and any(scene.uses(use, term) for use in ("property", "class"))
        ) or (container(node) is None and term not in ("text item delimiters",))

    def _note_tools(
        self, node: SyntaxNode, nodes: Sequence[SyntaxNode], scene: StatementContext
    ) -> None:
        for app in scene.apps[:1]:
            calls = {one.term for one in nodes if isinstance(one, tree.CommandCall)}
            ops: list[str] = [op for op in ("make", "count") if op in calls]
            own = [one for one in nodes if (term := property_term(one) or class_term(one))
                   and term in app.terms]  # fmt: skip
            if isinstance(node, tree.Assign) and own:
                ops.append("set")
            if own and not ops:
                ops.append("list" if any(is_many(one, self.names) for one in own) else "get")
            for op in ops:
                if op in app.tables.tools:
                    self.findings.tools[f"{app.key}_{op}"] = None


_VERBS: Final = frozenset((*map(str.casefold, HARMFUL_MEMBERS), *PHRASES, *JUDGED))


def dangerous_verbs(apps: Iterable[Vocabulary]) -> frozenset[str]:
    """Return the words that do harm as a command, in any of these apps or wherever they stand."""
    return _VERBS | frozenset(
        term
        for app in apps
        for term, entries in app.terms.items()
        if any(entry.use == "command" and entry.level == "DANGEROUS" for entry in entries)
    )


def asked_running(node: SyntaxNode) -> SyntaxNode | None:
    """Return what is asked whether it runs, if a node is that question."""
    match node:
        case tree.OperatorForm(operator="=" | "≠", operands=(asked, tree.Member() as running)) if (
            property_term(running) == "running" and running.within is None
        ):
            return inner_node(asked)
        case tree.Member(within=asked) if property_term(node) == "running":
            return inner_node(asked) if asked is not None else node
        case _:
            return None


def read_applescript(
    script: str, scan: Scan, findings: Findings, find: Find, additions: Vocabulary | None
) -> None:
    """Read a script, and put what was found into `findings`.

    Args:
        script: Its text.
        scan: Its tokens.
        findings: Gets the reasons.
        find: Returns the vocabulary of an app by name or bundle id.
        additions: The vocabulary of Standard Additions, which every statement sees.
    """
    for line in _split_lines(scan.tokens):
        judge_phrases(line, findings)
        after = line[1].folded if len(line) > 1 else ""
        if line[0].folded == "use" and after not in ("scripting", "applescript", "framework"):
            says = "uses something whose terms IAC does not know"
            findings.add("DANGEROUS", "phrase", says, "use", line[0].start)
    names = ScriptNames()
    common = [language_terms(), *([app_terms(additions.tables)] if additions else [])]

    def find_terms(name: str) -> Terms | None:
        app = find(name)
        return app_terms(app.tables) if app else None

    try:
        parsed = parse_applescript(scan, find_terms, common)
        reader = _ScriptReader(parsed, scan, findings, find, additions)
        names = reader.names
        reader.read_script(parsed)
    except ScriptSyntaxError as error:
        says = f"cannot be read: {error.message}"
        findings.add("DANGEROUS", "shape", says, "", min(error.start, len(script)))
        _note_spelled_apps(scan.tokens, findings, find)
    judge_script_texts(scan, names, findings)


def _split_lines(tokens: Sequence[ScriptToken]) -> Iterator[tuple[ScriptToken, ...]]:
    line: list[ScriptToken] = []
    for token in tokens:
        if token.kind != "end":
            line.append(token)
        elif line:
            yield tuple(line)
            line = []


def _note_spelled_apps(tokens: Sequence[ScriptToken], findings: Findings, find: Find) -> None:
    """Note the apps that are named in a script that was not read."""
    for place, token in enumerate(tokens):
        if token.kind != "word" or token.folded not in ("application", "app", "id", "named"):
            continue
        name = tokens[place + 1] if place + 1 < len(tokens) else None
        if name is None or name.kind != "string":
            continue
        if app := find(name.text):
            findings.targets[app.bundle] = None
        elif token.folded != "named":
            findings.unknown[name.text] = None
            says = "names an app whose dictionary IAC does not know"
            findings.add("DANGEROUS", "target", says, name.text, token.start)
