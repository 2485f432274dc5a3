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

from iac_applescript.analysis.applescript_shapes import find_unbracketed, is_private_source, word_at
from iac_applescript.analysis.applescript_units import Unit
from iac_applescript.analysis.findings import spend
from iac_applescript.analysis.statement_rules import (
    StatementContext,
    find_trash_name,
    plain_target,
    record_fields,
    set_deed,
    settable_rows,
    written_value,
)
from iac_applescript.analysis.texts import is_web_address
from iac_applescript.analysis.vocabulary import COMMANDS, TermUse, Vocabulary
from iac_base.errors import quote_text
from iac_base.secrets import is_secret
from iac_runtime.policy.effects import RECIPIENTS
from iac_runtime.policy.facts import OWN_APP, READ_VERBS, Flow
from iac_runtime.policy.places import find_url_hosts
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


def _object_name(units: Sequence[Unit]) -> str:
    """Return what an object is called, in quotes; empty where it is chosen otherwise."""
    at = next((at for at, unit in enumerate(units) if unit.has_use("class")), len(units))
    name, joined = [*units[at + 1 : at + 2], None][0], units[at + 2 : at + 3]
    if name is None or name.kind != "text" or (joined and joined[0].word == "&"):
        return ""
    return quote_text(name.word, 80)


PRESSES: Final = frozenset(("click", "perform", "keystroke"))
MOVES: Final = frozenset(("move", "duplicate"))


def deed_verbs(deed: Deed) -> tuple[Verb, ...]:
    """Return all that a statement does."""
    return combine_verbs(deed, find_consequences(deed))


def command_effects(
    unit: Unit, about: Sequence[Unit], given: Sequence[Unit], level: Level, scene: StatementContext
) -> Iterator[Effect]:
    """Yield what a command does that was judged to need `level`.

    Args:
        unit: The command.
        about: What is set by `set` and `copy`; of others the same as `given`.
        given: All that it is given.
        level: What it needs.
        scene: What it stands in.
    """
    rows = [(app, entry) for app, entry in unit.entries if entry.use == "command"]
    flow = flows_of(unit.word, _labeled_texts(given))
    if unit.word in ("set", "copy"):
        if level != "SAFE":
            yield from _set_effects(about, given, level, scene, flow)
        return
    direct = _direct_object(unit.word, about)
    kind, apps = _class_and_apps(direct or scene.object, (*scene.apps, *scene.named))
    apps = [*(apps or scene.apps), *_apps_in_variables((*direct, *scene.object), scene)]
    if rows and unit.word not in COMMANDS:
        apps = [app for app, _ in rows if app in apps] or [app for app, _ in rows]
    entries = {app.key: entry for app, entry in rows}
    for app in apps or (scene.named if level != "SAFE" else ()):
        code = unit.word == "run" and given
        verb = "run" if code else verb_for(unit.word, entries.get(app.key), level)
        deed = _command_deed(unit, verb, kind, given)
        for does in (verb,) if level == "SAFE" else deed_verbs(deed):
            yield effect_on(app, does, kind, level, flow, _object_name(direct or scene.object))
    if not (apps or scene.named) and level != "SAFE":
        yield Effect(verb_for(unit.word, None, level), OWN_APP, "osascript", level=level)


def with_read_effects(
    units: Sequence[Unit], apps: Sequence[Vocabulary], done: Sequence[Effect] = ()
) -> list[Effect]:
    """Return what a statement does: `done`, and what it reads; a secret is not merely read."""
    secret = any(unit.has_use("property") and is_secret(unit.word) for unit in units)
    level: Level = "MODIFY" if any(map(is_private_source, units)) else "SAFE"
    acted = {row.app for row in done}
    kind, _ = _class_and_apps(units, apps)
    rows = [Effect("read", app.bundle, app.name, kind) for app in apps if app.bundle not in acted]
    rows = [row._replace(level=level) if row.level == "SAFE" else row for row in (*done, *rows)]
    taken = (row._replace(verb="unknown", level="DANGEROUS") for row in rows if row.is_read_only)
    return [*rows, *taken] if secret else rows


def _command_deed(unit: Unit, verb: Verb, kind: str, given: Sequence[Unit]) -> Deed:
    labeled = list(_labeled_texts(given))
    fields = [(part.word, written_value(value)) for part, value in record_fields(given)]
    direct = [text for label, text in labeled if label not in dict(fields)]
    pressed: list[str] = []
    if unit.word in PRESSES:
        # The element is named first, what it lies in behind it.
        pressed = [text for label, text in labeled if not _PROCESS_WORD.search(label)][:1]
        held = [word for word in _HELD if any(word in part.word.split() for part in given)]
        if unit.word == "keystroke" and held:
            pressed = ["+".join((*held, text)) for text in pressed]
    named = [part.word for part in given if part.kind not in ("text", "variable")]
    trash = find_trash_name(given)
    return Deed(verb, unit.word, kind, fields, direct, trash, unit.word in MOVES, pressed, named)


_PROCESS_WORD: Final = re.compile(r"\bprocess(?:es)?\Z")
_HELD: Final = ("command", "control", "option", "shift")


def _set_effects(
    target: Sequence[Unit],
    given: Sequence[Unit],
    level: Level,
    scene: StatementContext,
    flow: tuple[Flow, ...],
) -> Iterator[Effect]:
    plain = plain_target(target)
    rows = settable_rows(plain, scene) if plain else []
    shows = bool(rows) and all(entry.level == "SAFE" for _, entry in rows)
    verb: Verb = "view" if shows and level == "MODIFY" else "change"
    of = next((i for i, part in enumerate(plain) if part.word in ("of", "in")), len(plain))
    kind, apps = _class_and_apps(plain[of:] or scene.object, (*scene.apps, *scene.named))
    apps = apps or [app for app, _ in rows if app in scene.apps] or list(scene.apps)
    apps += _apps_in_variables((*plain, *scene.object), scene)
    to = find_unbracketed(given, "to")
    deed = set_deed(
        plain[0].word if plain else "", () if to is None else given[to + 1 :], verb, kind
    )
    reference = _object_name(plain[of:] or scene.object)
    for app, does in product(apps or scene.named, deed_verbs(deed)):
        yield effect_on(app, does, kind, level, flow, reference)


def _direct_object(word: str, given: Sequence[Unit]) -> Sequence[Unit]:
    """Return what a command is about: of `make` the class, else what it is given first."""
    if word == "make":
        return [unit for unit in given if unit.has_use("class")][:1]
    stops = ("with properties", "with", "without", "to", "given")
    end = (i for i, unit in enumerate(given) if i and unit.word in stops)
    return given[: next(end, len(given))]


def _class_and_apps(
    units: Sequence[Unit], apps: Sequence[Vocabulary]
) -> tuple[str, list[Vocabulary]]:
    """Return the class that units name first, and those of the apps whose class it is."""
    entries = next((unit.entries for unit in units if unit.has_use("class")), ())
    rows = [(app, entry.term) for app, entry in entries if entry.use == "class" and app in apps]
    return (rows[0][1] if rows else "", list({app.key: app for app, _ in rows}.values()))


def _apps_in_variables(units: Sequence[Unit], scene: StatementContext) -> list[Vocabulary]:
    """Return the apps whose object a variable among units may be; an index or a text is none."""
    for place, unit in enumerate(units):
        values = scene.declared.variables.get(unit.word, [()])
        plain = all(value and value[0].kind in ("string", "number") for value in values)
        indexes = place and units[place - 1].has_use("class")
        if unit.kind == "variable" and not indexes and not plain:
            return [app for app in scene.named if app not in scene.apps]
    return []


def _labeled_texts(given: Sequence[Unit]) -> Iterator[tuple[str, str]]:
    """Yield the literal texts that a command is given, each with the word that leads to it."""
    for place, unit in enumerate(given):
        if unit.kind == "text":
            before = ["", "", *(part.word for part in given[max(place - 2, 0) : place])][-2:]
            yield before[0] if before[1] == ":" else before[1], unit.word


def secrets_read(
    units: Sequence[Unit], scene: StatementContext, borrowed: Sequence[Vocabulary]
) -> Iterator[tuple[str, Unit]]:
    """Yield the name of each secret that a statement reads, and the unit that does.

    Args:
        units: The statement, or what a `tell` names.
        scene: What it stands in.
        borrowed: Apps whose words can be meant anywhere.
    """
    given = _given(units)
    for place, unit in enumerate(units):
        if unit.kind == "text" or unit.start in given or word_at(units, place + 1) == ":":
            continue
        if units[place + 1 : place + 2] and units[place + 1].kind == "text":
            # A text right behind a word is what a parameter of that name is given.
            continue
        rows = [entry for _, entry in unit.entries]
        rows += [entry for app in borrowed for entry in app.terms.get(unit.word, ())]
        if any(row.secret and row.use == "property" for row in rows) or (
            unit.word.startswith("«") and _is_secret_code(unit.word, scene.named)
        ):
            yield unit.word, unit
        elif unit.word == "properties" or (
            unit.word == "record" and word_at(units, place - 1) == "as"
        ):
            kind = _holder(units, place, scene)
            if kind:
                yield f"all of {kind}", unit


def _given(units: Sequence[Unit]) -> set[int]:
    """Return where the properties begin that `set` gives a value."""
    starts: set[int] = set()
    for place, unit in enumerate(units):
        if unit.word == "set" and unit.kind == "command":
            rest = units[place + 1 :]
            target = plain_target(rest[: find_unbracketed(rest, "to")])
            starts.update(part.start for part in target[:1])
    return starts


def _is_secret_code(raw: str, apps: Sequence[Vocabulary]) -> bool:
    """Say whether a raw form is a secret's code, or that of all properties."""
    spend(100)
    code = raw.rstrip("»")[-4:]
    return any(
        row.code == code and (row.jxa in app.secrets or row.jxa == "properties")
        for app in apps
        if app.secrets
        for kind in app.tables.classes.values()
        for row in kind.properties
    )


def _holder(units: Sequence[Unit], place: int, scene: StatementContext) -> str:
    """Return the class whose properties are read, if it may have a secret; else an empty text."""
    spend(len(units) // 4)
    if word_at(units, place + 1) in ("of", "in"):
        near = [unit for unit in units[place + 2 :] if unit.has_use("class") or _is_open(unit)][:1]
    elif word_at(units, place - 1) in ("'s", "as"):
        near = [unit for unit in units[:place] if unit.has_use("class") or _is_open(unit)]
    else:
        near = [unit for unit in scene.object if unit.has_use("class")][:1]
    classes = [entry for unit in near for _, entry in unit.entries if entry.use == "class"]
    if near and not any(map(_is_open, near)):
        return next((row.term for row in classes if row.secret), "")
    # It may be an object of any app that is named.
    holders = [app.name for app in (*scene.apps, *scene.named) if app.secrets]
    return f"an unknown object of {holders[0]}" if holders else ""


def _is_open(unit: Unit) -> bool:
    """Say whether a unit may be any object."""
    return unit.kind == "variable" or unit.word in ("it", "its", "me", "result")
