"""What a command of a statement does, as effects, and the secrets that a statement reads.

The effects are those of the tool that does the same. A command goes to the app whose words its
object is named with, else to those that are told. A variable may hold an object of any app that the
script names.

No bridge stands before an AppleScript, so what may be a secret is one: where it cannot be told
whose properties are read, they are those of any object of the apps that the script names.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

from iac_applescript.analysis.applescript_names import (
    Possible,
    chain,
    class_term,
    container,
    inner_node,
    is_known,
    iterate_nodes,
    property_term,
)
from iac_applescript.analysis.findings import spend
from iac_applescript.analysis.statement_rules import (
    AppTerm,
    StatementContext,
    find_trash_name,
    record_fields,
    set_deed,
    settable_rows,
    written_value,
)
from iac_applescript.analysis.texts import is_web_address
from iac_applescript.analysis.vocabulary import COMMANDS, TermUse, Vocabulary
from iac_base.errors import quote_text
from iac_base.secrets import is_secret
from iac_runtime.language import applescript_tree as tree
from iac_runtime.language.applescript_terms import spell_words
from iac_runtime.language.applescript_tree import SyntaxNode
from iac_runtime.policy.effects import RECIPIENTS
from iac_runtime.policy.facts import OWN_APP, READ_VERBS, Flow
from iac_runtime.policy.places import BUILT_IN, find_url_hosts
from iac_runtime.policy.verbs import Deed, combine_verbs, command_verb, find_consequences
from iac_runtime.tool import Level
from iac_runtime.toolkit import Effect, Verb

_CODES: Final = {
    "print": "aevtpdoc",
    "run": "aevtoapp",
    "activate": "miscactv",
    "launch": "ascrnoop",
    "reopen": "aevtrapp",
}
"""Standard commands that no dictionary needs to declare, where their name does not say enough."""

ADDITIONS: Final = "standard_additions"
_ANSWER: Final = frozenset(("count", "exist", "exists", "get"))
_INTO: Final = frozenset(("in", "into", "to", "file", "posix file", "at"))
_FILLS: Final = frozenset(("export", "save", "archive"))


def verb_for(name: str, entry: TermUse | None, level: Level) -> Verb:
    """Return what a command does; without a row of a dictionary one that every app is sent."""
    if entry is not None:
        return command_verb(entry.event, name, level, answers=entry.answers)
    if name in _ANSWER:
        return "read"
    return command_verb(_CODES.get(name, ""), name, level, answers=False)


def flows_of(command: str, texts: Iterable[tuple[str, str]]) -> tuple[Flow, ...]:
    """Return where the texts lead that a command is given, each behind the word that names it."""
    flows: list[Flow] = []
    for label, text in texts:
        if is_web_address(text):
            flows += [Flow("host", host) for host in find_url_hosts(text, sure=False)]
        elif RECIPIENTS.search(label):
            flows.append(Flow("recipient", text))
        elif command in _FILLS and label in _INTO:
            flows.append(Flow("file", text))
    return tuple(flows)


def effect_on(
    app: Vocabulary,
    verb: Verb,
    kind: str,
    level: Level,
    flow: tuple[Flow, ...],
    reference: str = "",
) -> Effect:
    """Return an effect on an app."""
    flow = () if verb in READ_VERBS else flow
    return Effect(verb, app.bundle, app.name, kind, reference, flow, level)


PRESSES: Final = frozenset(("click", "perform", "keystroke"))
MOVES: Final = frozenset(("move", "duplicate"))


def deed_verbs(deed: Deed) -> tuple[Verb, ...]:
    """Return all that a statement does."""
    return combine_verbs(deed, find_consequences(deed))


def apps_of(node: Possible, scene: StatementContext) -> list[Vocabulary]:
    """Return the apps of which something may be an object."""
    links = [*chain(node)] or [*chain(scene.object)]
    root = links[-1] if links else None
    if isinstance(root, tree.Application):
        known = root.name.value if isinstance(root.name, tree.Value) else None
        return [app for app in scene.named if known and _is_called(app, str(known))]
    if isinstance(root, tree.Name) and root.name not in ("it", "result"):
        held = scene.names.possible_values(root)
        objects = any(isinstance(one, tree.ListOf | tree.RecordOf) for one in held)
        if scene.names.is_own_value(root) and not objects:
            return list(scene.tells)
        return [*scene.tells, *(app for app in scene.named if app not in scene.tells)]
    return list(scene.tells)


def _is_called(app: Vocabulary, name: str) -> bool:
    wanted = name.casefold().removesuffix(".app")
    return wanted in (app.name.casefold(), app.bundle.casefold())


def _kind_of(node: Possible, scene: StatementContext, apps: Sequence[Vocabulary]) -> str:
    """Return the class that an object names first, as the dictionary has it."""
    links = [*chain(node)] or [*chain(scene.object)]
    term = next((found for one in links if (found := class_term(one))), "")
    rows = scene.uses("class", term, apps) if term and apps else []
    return rows[0].entry.term if rows else ""


def _object_name(node: Possible, scene: StatementContext) -> str:
    """Return what an object is called, in quotes; empty where it is chosen otherwise."""
    links = [*chain(node)] or [*chain(scene.object)]
    for one in links:
        if class_term(one):
            keys = one.keys if isinstance(one, tree.ElementForm) else ()
            texts = [key.value for key in keys if isinstance(key, tree.Value)]
            return quote_text(texts[0], 80) if texts and isinstance(texts[0], str) else ""
    return ""


def command_effects(
    call: tree.CommandCall, rows: Sequence[AppTerm], level: Level, scene: StatementContext
) -> Iterator[Effect]:
    """Yield what a command does that was judged to need `level`."""
    word = command_word(call, rows)
    flow = flows_of(word, _labeled_texts(call, word, scene))
    direct = dict(call.parameters).get("new") if call.term == "make" else call.direct
    apps = apps_of(call.direct, scene)
    kind = _kind_of(direct, scene, (*apps, *scene.named))
    if kind:
        apps = [app for app in apps if scene.uses("class", kind, [app])] or apps
    if rows and word not in COMMANDS:
        apps = [app for app, _ in rows if app in apps] or [app for app, _ in rows]
    entries = {app.key: entry for app, entry in rows}
    reference = _object_name(direct, scene)
    for app in apps or (scene.named if level != "SAFE" else ()):
        code = call.term == "run" and call.direct is not None
        verb: Verb = "run" if code else verb_for(word, entries.get(app.key), level)
        deed = _command_deed(call, word, verb, kind, scene)
        for does in (verb,) if level == "SAFE" else deed_verbs(deed):
            yield effect_on(app, does, kind, level, flow, reference)
    if not (apps or scene.named) and level != "SAFE":
        yield Effect(verb_for(word, None, level), OWN_APP, "osascript", level=level)


def command_word(call: tree.CommandCall, rows: Sequence[AppTerm]) -> str:
    """Return a command as AppleScript spells it."""
    return rows[0].entry.term if rows else spell_words(call.term)


def with_read_effects(
    node: SyntaxNode,
    apps: Sequence[Vocabulary],
    scene: StatementContext,
    done: Sequence[Effect] = (),
) -> list[Effect]:
    """Return what a statement does: `done`, and what it reads; a secret is not merely read."""
    nodes = [*iterate_nodes(node)]
    secret = any(
        is_secret(word) and scene.uses("property", word, apps or scene.named)
        for one in nodes
        if (word := property_term(one))
    )
    private = any(is_private_source(one, scene) for one in nodes)
    acted = {row.app for row in done}
    term = next((found for one in nodes if (found := class_term(one))), "")
    uses = scene.uses("class", term, apps) if term and apps else []
    kind = uses[0].entry.term if uses else ""
    rows = [Effect("read", app.bundle, app.name, kind) for app in apps if app.bundle not in acted]
    level: Level = "MODIFY" if private else "SAFE"
    rows = [row._replace(level=level) if row.level == "SAFE" else row for row in (*done, *rows)]
    taken = (row._replace(verb="unknown", level="DANGEROUS") for row in rows if row.is_read_only)
    return [*rows, *taken] if secret else rows


_FILES_OF_SETTINGS: Final = frozenset(("property list file", "XML file"))
_SHELL_TEXT: Final = frozenset(("contents", "history"))


def is_screen_element(node: Possible, scene: StatementContext) -> bool:
    """Say whether a node names an element of the screen, by System Events' dictionary."""
    term = class_term(node)
    return bool(term) and any(
        app.tables.is_descendant(entry.term, "UI element")
        and not app.tables.is_descendant(entry.term, "process")
        for app, entry in scene.uses("class", term)
    )


def is_private_source(node: SyntaxNode, scene: StatementContext) -> bool:
    """Say whether a node leads to what an app did not mean to tell."""
    term, word = class_term(node), property_term(node)
    if word in _SHELL_TEXT:
        return any(app.bundle in BUILT_IN for app, _ in scene.uses("property", word))
    if term in _FILES_OF_SETTINGS:
        return any(app.key == "system_events" for app, _ in scene.uses("class", term))
    return bool(term) and term != "window" and is_screen_element(node, scene)


def _command_deed(
    call: tree.CommandCall, word: str, verb: Verb, kind: str, scene: StatementContext
) -> Deed:
    labeled = [*_labeled_texts(call, word, scene)]
    fields = [(name, written_value(value, scene.names)) for name, value in record_fields(call)]
    known = dict(fields)
    direct = [text for label, text in labeled if label not in known]
    pressed: list[str] = []
    if word in PRESSES:
        # The element is named first, what it lies in behind it.
        pressed = [text for label, text in labeled if not _PROCESS_WORD.search(label)][:1]
        using = dict(call.parameters).get("using")
        words = " ".join(getattr(one, "term", "") for one in iterate_nodes(using)) if using else ""
        held = [name for name in _HELD if name in words]
        if word == "keystroke" and held:
            pressed = ["+".join((*held, text)) for text in pressed]
    named = [label for label, _ in call.parameters]
    named += [getattr(one, "term", "") for one in iterate_nodes(call)]
    trash = next(
        (found for row in (call.direct, *(v for _, v in call.parameters))
         if (found := find_trash_name(row, scene.names))), "",
    )  # fmt: skip
    return Deed(verb, word, kind, fields, direct, trash, word in MOVES, pressed, named)


_PROCESS_WORD: Final = re.compile(r"\bprocess(?:es)?\Z")
_HELD: Final = ("command", "control", "option", "shift")


def set_effects(
    target: SyntaxNode, value: Possible, level: Level, scene: StatementContext
) -> Iterator[Effect]:
    """Yield what setting something does that was judged to need `level`."""
    target = inner_node(target)
    if isinstance(target, tree.ListOf | tree.RecordOf):
        parts = (
            target.items if isinstance(target, tree.ListOf) else [row for _, row in target.fields]
        )
        for part in parts:
            yield from set_effects(part, value, level, scene)
        return
    rows = settable_rows(target, scene)
    shows = bool(rows) and all(entry.level == "SAFE" for _, entry in rows)
    verb: Verb = "view" if shows and level == "MODIFY" else "change"
    holder = container(target) or scene.object
    apps = apps_of(container(target), scene)
    kind = _kind_of(holder, scene, (*apps, *scene.named)) if holder else ""
    word = property_term(target) or class_term(target)
    deed = set_deed(word, value, scene.names, verb, kind)
    texts = [(word, text) for text in scene.names.spell_texts(value) if is_known(text)]
    flow = flows_of("set", texts)
    reference = _object_name(holder, scene) if holder else ""
    for app, does in product(apps or scene.named, deed_verbs(deed)):
        yield effect_on(app, does, kind, level, flow, reference)


def _labeled_texts(
    call: tree.CommandCall, word: str, scene: StatementContext
) -> Iterator[tuple[str, str]]:
    """Yield the texts that a command is given and spells, each with the word that leads to it."""
    for label, node in ((word, call.direct), *call.parameters):
        if node is not None:
            yield from _texts_in(node, label, scene)


def _texts_in(node: SyntaxNode, label: str, scene: StatementContext) -> Iterator[tuple[str, str]]:
    node = inner_node(node)
    match node:
        case tree.Value(value=str(text)):
            yield label, text
        case tree.OperatorForm(operator="&"):
            yield from ((label, text) for text in scene.names.spell_texts(node) if is_known(text))
        case tree.ElementForm(keys=keys, within=within):
            for key in keys:
                yield from _texts_in(key, class_term(node).casefold(), scene)
            if within is not None:
                yield from _texts_in(within, label, scene)
        case tree.RecordOf(fields=fields):
            for name, value in fields:
                yield from _texts_in(value, name.casefold(), scene)
        case tree.ListOf(items=items):
            for item in items:
                yield from _texts_in(item, label, scene)
        case tree.Member(within=SyntaxNode() as within):
            yield from _texts_in(within, label, scene)
        case tree.Application():
            pass
        case _:
            pass


def secrets_read(
    node: SyntaxNode,
    scene: StatementContext,
    borrowed: Sequence[Vocabulary],
    given: Possible = None,
) -> Iterator[tuple[str, SyntaxNode]]:
    """Yield the name of each secret that a statement reads, and the node that does.

    Args:
        node: The statement, or what a `tell` names.
        scene: What it stands in.
        borrowed: Apps whose words can be meant anywhere.
        given: The property that `set` gives a value.
    """
    seen = {app.key: app for app in (*scene.apps, *scene.named, *borrowed)}
    apps = [*seen.values()]
    if not any(app.secrets for app in apps):
        return
    for one in iterate_nodes(node):
        word = property_term(one)
        if one is given:
            continue
        if word == "properties":
            if kind := _holder(container(one), scene, apps):
                yield f"all of {kind}", one
        elif (
            isinstance(one, tree.OperatorForm)
            and one.operator == "as"
            and "record" in (class_term(one.operands[1]))
        ):
            if kind := _holder(one.operands[0], scene, apps):
                yield f"all of {kind}", one
        elif word and any(entry.secret for _, entry in scene.uses("property", word, apps)):
            yield word, one


def _holder(node: Possible, scene: StatementContext, apps: Sequence[Vocabulary]) -> str:
    """Return the class whose properties are read, if it may have a secret; else an empty text."""
    spend(1)
    links = [*chain(node)] or [*chain(scene.object)]
    term = next((found for one in links if (found := class_term(one))), "")
    first = links[0] if links else None
    if term and not isinstance(first, tree.Name):
        return next((row.term for _, row in scene.uses("class", term, apps) if row.secret), "")
    # It may be an object of any app that is named.
    holders = [app.name for app in apps if app.secrets]
    return f"an unknown object of {holders[0]}" if holders else ""
