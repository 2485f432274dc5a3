"""Judging one command of a statement: what is set, made, opened, moved, saved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from iac_applescript.analysis.applescript_names import ScriptDeclarations, split_outside_brackets
from iac_applescript.analysis.applescript_units import Unit
from iac_applescript.analysis.findings import ScriptToken
from iac_applescript.analysis.texts import (
    is_literal_address,
    possible_values,
    starts_with_phrase,
    strip_parentheses,
)
from iac_applescript.analysis.vocabulary import TermUse, Vocabulary
from iac_applescript.analysis.words import LEADS
from iac_runtime.policy.places import DISCARD_ROLES, mailbox_role
from iac_runtime.tool import Level, highest

ORDINALS: Final = frozenset(("first", "last", "some", "front", "back", "middle", "second"))
_PARTS: Final = frozenset(("item", "end", "beginning", "first", "last"))
_TEXT_PARTS: Final = (["paragraph"], ["word"], ["character"])
_UI_ACTS: Final = frozenset(("value", "selected", "focused"))


_LOCAL: Final = frozenset(("list", "text", "string", "record", "integer", "number", "real"))


@dataclass(frozen=True, slots=True)
class StatementContext:
    """What a statement stands in.

    Attributes:
        apps: Those whose words can be seen.
        named: All that the script names: a variable may hold an object of any of them.
        declared: The script's own names.
        ui: Whether elements of the screen are around it.
        told: Whether a `tell` to something other than the script is around it.
        object: What the innermost `tell` names, if that is more than an app.
        made: Classes of what the statements before made in the same `tell`.
    """

    apps: Sequence[Vocabulary]
    named: Sequence[Vocabulary]
    declared: ScriptDeclarations
    ui: bool
    told: bool
    object: tuple[Unit, ...] = ()
    made: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CommandVerdict:
    """The level of a command and why, one line."""

    level: Level
    reason: str


def properties_of(unit: Unit) -> list[tuple[Vocabulary, TermUse]]:
    return [(app, entry) for app, entry in unit.entries if entry.use == "property"]


def _property_rows(target: Sequence[Unit]) -> list[tuple[Vocabulary, TermUse]]:
    """Return the rows of the property that begins `target`; of its owner's class if told."""
    rows = properties_of(target[0])
    if len(target) > 2 and target[1].word in ("of", "in"):
        owner = next((unit for unit in target[2:4] if unit.has_use("class")), None)
        if owner is not None:
            terms = {entry.term for _, entry in owner.entries if entry.use == "class"}
            fitting = [
                (app, entry)
                for app, entry in rows
                if any(app.tables.is_descendant(term, entry.owner) for term in terms)
            ]
            return fitting or rows
    return rows


def is_local_value(name: str, declared: ScriptDeclarations) -> bool:
    """Say whether a variable only ever holds values: lists, records, texts, numbers."""
    values = declared.variables.get(name, [])
    return bool(values) and all(map(_is_value, values))


def _is_value(tokens: tuple[ScriptToken, ...]) -> bool:
    if not tokens:
        return False
    if tokens[0].text == "{" or tokens[0].kind in ("string", "number"):
        return True
    last = [token.folded for token in tokens[-2:]]
    return len(last) == 2 and last[0] == "as" and last[1] in _LOCAL


def judge_set(
    target: Sequence[Unit], value: Sequence[Unit], scene: StatementContext
) -> CommandVerdict:
    """Judge `set target to value`."""
    plain = plain_target(target)
    if not plain:
        return CommandVerdict("DANGEROUS", "sets something that IAC does not understand")
    foreign = (
        scene.told and not scene.apps and any(_rows_in_other_apps(unit, scene) for unit in plain)
    )
    names = ("result", "{", "}", ",")
    if not foreign and all(unit.kind == "variable" or unit.word in names for unit in plain):
        return SAFE
    if plain[0].word == "{" and plain[-1].word == "}":
        return _judge_pattern(plain[1:-1], value, scene)
    if not foreign and _is_script_value(plain, scene):
        return SAFE
    rows = settable_rows(plain, scene)
    kept = _is_appending(plain, value, scene) or _is_new(plain[1:], scene)
    # What adds to a text keeps what was there, and what is new had nothing.
    counted = (entry for _, entry in rows if not (kept and entry.content))
    level: Level = highest(("MODIFY", *(entry.level for entry in counted)))
    what = plain[0].word
    if scene.ui and (what in _UI_ACTS or (not rows and plain[0].has_use("class"))):
        return CommandVerdict("DANGEROUS", f"sets the {what} of something on the screen")
    if what == "contents" and any(unit.kind == "variable" for unit in plain):
        return CommandVerdict("DANGEROUS", "changes the object to which a variable refers")
    if what in LEADS:
        return CommandVerdict("DANGEROUS", f"sets {what}, which can point to any file or server")
    many = level == "MODIFY" and (is_many(target) or is_tell_to_many(scene))
    if many and (not rows or any(entry.level == "MODIFY" for _, entry in rows)):
        return CommandVerdict("DANGEROUS", f"sets the {what} of many objects at once")
    if what in ("mailbox", "container") and has_trash_target(value):
        return CommandVerdict("DANGEROUS", "moves things to the trash")
    if "url" in what.split() and not is_literal_address(value, scene.declared):
        return CommandVerdict("DANGEROUS", "sets an address that is not a plain web address")
    return CommandVerdict(level, f"sets {what}")


def _judge_pattern(
    inner: Sequence[Unit], value: Sequence[Unit], scene: StatementContext
) -> CommandVerdict:
    """Judge `set {a, item 1 of b} to value` and `set {label:a} to value` by each of its targets."""
    verdicts = [SAFE]
    for part in split_outside_brackets(inner, ","):
        named = len(part) > 2 and part[1].word == ":"
        verdicts.append(judge_set(part[2:] if named else part, value, scene))
    return next(v for lvl in ("DANGEROUS", "MODIFY", "SAFE") for v in verdicts if v.level == lvl)


def _is_appending(plain: Sequence[Unit], value: Sequence[Unit], scene: StatementContext) -> bool:
    """Say whether a value is the target's own text with something joined to it."""
    wanted = [unit.word for unit in plain]
    parts = split_outside_brackets(strip_parentheses(value), "&")
    return len(parts) > 1 and any(
        [u.word for u in plain_target(_without_cast(one))] == wanted
        or " ".join(u.word for u in _without_cast(one)) == " ".join(wanted)
        for part in parts
        for one in possible_values(_without_cast(part), scene.declared)
    )


def _without_cast(units: Sequence[Unit]) -> list[Unit]:
    found = strip_parentheses(units)
    return (
        strip_parentheses(found[:-2]) if [unit.word for unit in found[-2:-1]] == ["as"] else found
    )


def _is_new(holder: Sequence[Unit], scene: StatementContext) -> bool:
    """Say whether what is set belongs to something that this script has just made."""
    units = [unit for unit in holder if unit.word not in ("of", "in")] or list(scene.object)
    if not units:
        return False
    if units[0].word == "make" or (
        len(units) == 2
        and any(unit.word in ("front", "first", "1") for unit in units)
        and any(unit.word in scene.made for unit in units)
    ):
        return True
    made = possible_values(units[-1:], scene.declared) if units[-1].kind == "variable" else [[]]
    return all(starts_with_phrase(value, "make new") for value in made)


def plain_target(target: Sequence[Unit]) -> list[Unit]:
    """Return what is set, as a property of an object and no more."""
    return _as_of_form([unit for unit in target if unit.word not in ("my", "the", "its", "(", ")")])


def settable_rows(
    plain: Sequence[Unit], scene: StatementContext
) -> list[tuple[Vocabulary, TermUse]]:
    """Return the rows of the property that may be set."""
    return [*_property_rows(plain), *_rows_in_other_apps(plain[0], scene)]


def _as_of_form(units: Sequence[Unit]) -> list[Unit]:
    """Return `a's b` as `b of a`."""
    found: list[Unit] = []
    end = len(units)
    for place in range(end - 1, -1, -1):
        if units[place].word == "'s":
            found += (*units[place + 1 : end], Unit("keyword", "of", (), units[place].start))
            end = place
    return [*found, *units[:end]]


def _rows_in_other_apps(unit: Unit, scene: StatementContext) -> list[tuple[Vocabulary, TermUse]]:
    """Return the property in apps that are named elsewhere: a variable may hold their object."""
    return [
        (app, entry)
        for app in scene.named
        if app not in scene.apps
        for entry in app.terms.get(unit.word, ())
        if entry.use == "property"
    ]


def is_many(units: Sequence[Unit]) -> bool:
    """Say whether all of something is meant, or all that pass a test; the first of them is one."""
    words = [unit.word for unit in units]
    if "every" in words:
        # Parts of one text are how that text looks.
        return words[words.index("every") + 1 :][:1] not in _TEXT_PARTS
    place = next((i for i, word in enumerate(words) if word in ("whose", "where")), None)
    return place is not None and not ORDINALS & set(words[:place])


def _is_script_value(target: Sequence[Unit], scene: StatementContext) -> bool:
    """Say whether only a value of the script itself is set: its delimiters, an item of its list."""
    words = [unit.word for unit in target]
    if words[0] == "text item delimiters":
        return True
    holders = [at for at, unit in enumerate(target) if unit.kind == "variable"]
    if holders:
        # An item of a list may be an object: only the item itself is the script's.
        inner = words.count("of") + words.count("in") > 1 and words[0] not in _PARTS
        # In `folder place` it says which folder, and the folder is an app's.
        before = words[holders[-1] - 1] if holders[-1] else "of"
        mine = before in ("of", "in", "my") or words[holders[-1] + 1 :][:1] == ["'s"]
        return mine and is_local_value(words[holders[-1]], scene.declared) and not inner
    # A name that some dictionary has too, outside any `tell`: a variable all the same.
    return not scene.told and len(target) == 1 and words[0] in scene.declared.variables


def judge_fields(
    rest: Sequence[Unit], made: Unit | None, scene: StatementContext
) -> CommandVerdict:
    """Judge the properties that a record gives to what is made or copied."""
    classes = {entry.term for _, entry in made.entries if entry.use == "class"} if made else set()
    levels: list[Level] = ["SAFE"]
    for place, unit in enumerate(rest[:-1]):
        if rest[place + 1].word != ":" or rest[place + 1].kind != "sign":
            continue
        if unit.word in LEADS:
            return CommandVerdict(
                "DANGEROUS", f"gives a {unit.word}, which can point to any file or server"
            )
        if "url" in unit.word.split() and not is_literal_address(
            _field_value(rest[place + 2 :]), scene.declared
        ):
            return CommandVerdict("DANGEROUS", "gives an address that is not a plain web address")
        for app, entry in properties_of(unit):
            if not classes or any(app.tables.is_descendant(term, entry.owner) for term in classes):
                levels.append("MODIFY" if entry.content else entry.level)
    return CommandVerdict(highest(levels), "gives properties")


def _field_value(units: Sequence[Unit]) -> Sequence[Unit]:
    end = next((i for i, unit in enumerate(units) if unit.word in (",", "}")), len(units))
    return units[:end]


def has_trash_target(units: Sequence[Unit]) -> bool:
    """Say whether a trash or a junk folder is named, a mailbox in any language."""
    return any(
        mailbox_role(unit.word) in DISCARD_ROLES
        if unit.kind == "text"
        else "trash" in unit.word or unit.word == "junk mailbox"
        for unit in units
    )


SAFE: Final = CommandVerdict("SAFE", "")


def is_tell_to_many(scene: StatementContext) -> bool:
    """Say whether the `tell` around a statement names all of something."""
    told = scene.object
    return bool(told) and (is_many(told) or is_bare_plural(told[0], [unit.word for unit in told]))


def is_bare_plural(first: Unit, moved: Sequence[str]) -> bool:
    """Say whether a bare plural is moved: `files of folder "x"`."""
    return (
        first.has_use("class")
        and first.word.endswith("s")
        and all(entry.term.casefold() != first.word for _, entry in first.entries)
        and moved[1:2] in (["of"], ["in"], [])
    )
