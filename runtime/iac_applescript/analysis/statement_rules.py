"""Judging one command of a statement: what is set, made, opened, moved, written, saved."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from iac_applescript.analysis.applescript_shapes import bracket_depths, find_unbracketed
from iac_applescript.analysis.applescript_units import (
    ScriptDeclarations,
    Unit,
    split_outside_brackets,
)
from iac_applescript.analysis.texts import (
    is_data_file,
    is_literal_address,
    is_own_folder,
    is_spelled_out,
    possible_values,
    starts_with_phrase,
    strip_parentheses,
)
from iac_applescript.analysis.vocabulary import JUDGED, LEADS, TermUse, Vocabulary
from iac_base.script_tokens import ScriptToken
from iac_runtime.policy.verbs import Deed, find_consequences, is_trash_name
from iac_runtime.tool import Level, highest
from iac_runtime.toolkit import Verb

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


def _dangerous(reason: str) -> CommandVerdict:
    return CommandVerdict("DANGEROUS", reason)


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
        return _dangerous("sets something that IAC does not understand")
    elsewhere = any(_rows_in_other_apps(unit, scene) for unit in plain)
    foreign = scene.told and not scene.apps and elsewhere
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
        return _dangerous(f"sets the {what} of something on the screen")
    if what == "contents" and any(unit.kind == "variable" for unit in plain):
        return _dangerous("changes the object to which a variable refers")
    many = level == "MODIFY" and (is_many(target) or is_tell_to_many(scene))
    if many and (not rows or any(entry.level == "MODIFY" for _, entry in rows)):
        return _dangerous(f"sets the {what} of many objects at once")
    if danger := _describe_danger(what, value, scene):
        return _dangerous(danger)
    return CommandVerdict(level, f"sets {what}")


_DANGERS: Final = {
    "to-trash": "moves things to the trash",
    "marks-deleted": "deletes by setting {}",
    "code": "sets {}, which runs later by itself",
    "formula": "sets a formula that asks the web or another program",
}


def describe_deed_danger(deed: Deed) -> str:
    """Return why what a statement does is dangerous, whatever it needs; empty where it is not."""
    known = (_DANGERS[row.cause].format(row.name) for row in find_consequences(deed)
             if row.cause in _DANGERS)  # fmt: skip
    return next(known, "")


def _describe_danger(name: str, value: Sequence[Unit], scene: StatementContext) -> str:
    """Return why giving a property a value is dangerous; empty where it is not."""
    if name in LEADS:
        return f"sets {name}, which can point to any file or server"
    if "url" in name.split() and not is_literal_address(value, scene.declared):
        return "sets an address that is not a plain web address"
    return describe_deed_danger(set_deed(name, value))


def set_deed(name: str, value: Sequence[Unit], verb: Verb = "change", kind: str = "") -> Deed:
    """Return what giving a property a value does."""
    return Deed(verb, "", kind, [(name, written_value(value))], trash=find_trash_name(value))


def written_value(value: Sequence[Unit]) -> str | None:
    """Return a value that is written out as one text, `false` for that; else None."""
    plain = strip_parentheses(value)
    if len(plain) == 1 and (plain[0].kind == "text" or plain[0].word in ("false", "no", "0")):
        return plain[0].word
    return None


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
    plain = strip_parentheses(units)
    cast = [unit.word for unit in plain[-2:-1]] == ["as"]
    return strip_parentheses(plain[:-2]) if cast else plain


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
    swapped: list[Unit] = []
    end = len(units)
    for place in range(end - 1, -1, -1):
        if units[place].word == "'s":
            swapped += (*units[place + 1 : end], Unit("keyword", "of", (), units[place].start))
            end = place
    return [*swapped, *units[:end]]


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
    for unit, value in record_fields(rest):
        if danger := _describe_danger(unit.word, value, scene):
            return _dangerous(danger)
        for app, entry in properties_of(unit):
            if not classes or any(app.tables.is_descendant(term, entry.owner) for term in classes):
                levels.append("MODIFY" if entry.content else entry.level)
    return CommandVerdict(highest(levels), "gives properties")


def record_fields(units: Sequence[Unit]) -> Iterator[tuple[Unit, Sequence[Unit]]]:
    """Yield the fields of a record that a command is given, each with its value."""
    for place, unit in enumerate(units):
        if place and unit.word == ":" and unit.kind == "sign":
            rest = units[place + 1 :]
            end = next((i for i, one in enumerate(rest) if one.word in (",", "}")), len(rest))
            yield units[place - 1], rest[:end]


def find_trash_name(units: Sequence[Unit]) -> str:
    """Return the name of a trash or a junk folder, a mailbox in any language; empty for none."""
    for unit in units:
        named = "trash" in unit.word or unit.word == "junk mailbox"
        if is_trash_name(unit.word) if unit.kind == "text" else named:
            return unit.word
    return ""


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


_FOLDERS: Final = frozenset(
    "folder|folders|home|desktop|disk|disks|startup disk|trash|computer|container|home folder"
    "|computer container|finder window|path to".split("|")
)
_PLACE_WORDS: Final = frozenset(
    ("of", "in", "from", "first", "front", "'s", "(", ")", "my", "documents", "downloads")
)
_FILES: Final = frozenset(
    ("file", "files", "alias", "posix file", "item", "items", "document file", "application file")
)
_POINTS: Final = frozenset(("it", "its", "result", "me"))
_RUN_FROM: Final = frozenset(
    "scripting additions|scripting additions folder|scripts folder|startup items"
    "|startup items folder|folder action scripts|folder action scripts folder|login items"
    "|launcher items folder|launcher items|control panels|extensions|services folder".split("|")
)
"""What `path to` calls the folders whose content runs by itself."""
_BUILDS: Final = frozenset(("&", "{", "text items", "characters", "reverse", "ascii character"))
"""What puts a text together."""
_WITH: Final = frozenset(("with properties", "with data", "with"))


def _judge_make(rest: Sequence[Unit], scene: StatementContext, _base: Level) -> CommandVerdict:
    words = [unit.word for unit in rest]
    place = words.index("new") + 1 if "new" in words else 0
    made = rest[place] if place < len(rest) else None
    if made is None or not made.has_use("class"):
        return _dangerous("makes something that IAC does not understand")
    levels: list[Level] = [entry.level for _, entry in made.entries if entry.use == "class"]
    levels.append("MODIFY")
    place = next((i for i, unit in enumerate(rest) if unit.word == "at"), len(rest))
    end = next((i for i, u in enumerate(rest) if u.word in _WITH and i > place), len(rest))
    if _is_computed_place(rest[place:end], scene.declared):
        return _dangerous("makes something in a place that is known only when the script runs")
    given = next((i for i, word in enumerate(words) if word in _WITH), len(words))
    if words[given : given + 1] == ["with properties"] and words[given + 1 : given + 2] != ["{"]:
        return _dangerous("sets properties that this line does not show")
    fields = judge_fields(rest, made, scene)
    if fields.level == "DANGEROUS":
        return fields
    return CommandVerdict(highest(levels), f"makes a new {made.word}")


def _judge_open(rest: Sequence[Unit], scene: StatementContext, base: Level) -> CommandVerdict:
    if rest and is_literal_address(rest, scene.declared):
        return CommandVerdict(highest(("MODIFY", base)), "opens a web address")
    if not rest and scene.object:
        return _dangerous("opens the object of its tell block with that kind of file's default app")
    words = [unit.word for unit in strip_parentheses(rest) if unit.kind not in ("text", "number")]
    shown = words and words[0] in _FOLDERS and all(map(_is_folder_word, words))
    if shown or (rest and is_own_folder(rest, scene.declared)):
        return CommandVerdict("MODIFY", "shows a folder")
    if any(
        unit.word in _FILES | _POINTS
        or unit.kind == "variable"
        or (unit.kind == "text" and not place)
        for place, unit in enumerate(rest)
    ):
        return _dangerous("opens a file or an address with its default app")
    return CommandVerdict(highest(("MODIFY", base)), "opens something")


def _is_folder_word(word: str) -> bool:
    """Say whether a word belongs to the name of a folder."""
    return word in _FOLDERS or word.endswith((" folder", " domain")) or word in _PLACE_WORDS


def _judge_move(rest: Sequence[Unit], scene: StatementContext, base: Level) -> CommandVerdict:
    words = [unit.word for unit in rest]
    if find_trash_name(rest):
        return _dangerous("moves things to the trash")
    to = next((i for i, word in enumerate(words) if word == "to"), len(words))
    # What is moved decides how much: `every` in the place says nothing.
    moved = words[:to]
    told = not moved or moved[0] in _POINTS
    if (
        is_many(rest[:to])
        or (told and is_tell_to_many(scene))
        or "entire contents" in moved
        or (moved and is_bare_plural(rest[0], moved))
        or any(_holds_many(unit, scene.declared) for unit in rest[:to])
    ):
        return _dangerous("moves or copies many objects at once")
    if _is_computed_place(rest[to:], scene.declared):
        return _dangerous("moves or copies to a place that is known only when the script runs")
    return CommandVerdict(highest(("MODIFY", base)), "moves or copies something")


def _holds_many(unit: Unit, declared: ScriptDeclarations) -> bool:
    """Say whether a variable is set to all of something anywhere."""
    values = declared.variables.get(unit.word, []) if unit.kind == "variable" else []
    return any(
        {"every", "whose"} & words and not ORDINALS & words
        for words in ({token.folded for token in tokens} for tokens in values)
    )


def _is_computed_place(units: Sequence[Unit], declared: ScriptDeclarations) -> bool:
    """Say whether a place is put together from parts, here or where its variables are set, or is
    one where things run by themselves."""
    if any(unit.word in _BUILDS for unit in units if unit.kind != "text"):
        return True
    if any(unit.word in _RUN_FROM or unit.word in declared.handlers for unit in units):
        return True
    return any(
        (any(token.text == "&" for token in tokens) and tokens[0].folded != "make")
        or (tokens[:1] and tokens[0].text == "{" and any(t.folded == "as" for t in tokens))
        for unit in units
        if unit.kind == "variable"
        for tokens in declared.variables.get(unit.word, [])
    )


def _judge_location(rest: Sequence[Unit], scene: StatementContext, _base: Level) -> CommandVerdict:
    fixed = bool(rest) and is_literal_address(rest, scene.declared)
    if fixed and scene.apps:
        return CommandVerdict("MODIFY", "opens a web address")
    return CommandVerdict("MODIFY" if fixed else "DANGEROUS", JUDGED["open location"])


def _judge_web(rest: Sequence[Unit], scene: StatementContext, base: Level) -> CommandVerdict:
    """Judge what leads to the web with a text or an address that it is given."""
    given = rest[1:] if rest and rest[0].word == "for" else rest
    end = (i for i, u in enumerate(given) if u.word == "in" or u.word.startswith("with"))
    term = given[: next(end, len(given))]
    joined = any(unit.word == "&" for unit in term)
    page = starts_with_phrase(strip_parentheses(term), "url of") and not joined
    plain = page or is_spelled_out(term, scene.declared) or is_literal_address(term, scene.declared)
    level = highest((base, "MODIFY" if plain else "DANGEROUS"))
    return CommandVerdict(level, JUDGED["search the web"])


def _judge_access(rest: Sequence[Unit], scene: StatementContext, _base: Level) -> CommandVerdict:
    """Judge a file that is opened or read by itself: data of the user's, or picked."""
    rest = _inside_parentheses(rest)
    writes = any(unit.word == "write permission" for unit in rest)
    stops = (*_WITH, "as", "from", "using", "starting at")
    end = next((i for i, u in enumerate(rest) if u.word in stops), len(rest))
    file = _opened_file(rest[:end], scene)
    values = possible_values(file, scene.declared)
    picked = all(starts_with_phrase(units, "choose file") for units in values)
    known = is_data_file(file, scene.declared) if writes else picked
    return CommandVerdict("MODIFY" if known else "DANGEROUS", JUDGED["open for access"])


def _judge_write(rest: Sequence[Unit], scene: StatementContext, _base: Level) -> CommandVerdict:
    rest = _inside_parentheses(rest)
    to = find_unbracketed(rest, "to")
    file = rest[to + 1 :] if to is not None else ()
    end = next((i for i, u in enumerate(file) if u.word in ("as", "starting at", "for")), len(file))
    known = is_data_file(_opened_file(file[:end], scene), scene.declared)
    return CommandVerdict("MODIFY" if known else "DANGEROUS", JUDGED["open for access"])


def _inside_parentheses(rest: Sequence[Unit]) -> Sequence[Unit]:
    """Return what stands inside the parentheses that a command stands in."""
    depth = 0
    for place, unit in enumerate(rest):
        depth += (unit.word == "(") - (unit.word == ")") if unit.kind == "sign" else 0
        if depth < 0:
            return rest[:place]
    return rest


def _opened_file(file: Sequence[Unit], scene: StatementContext) -> Sequence[Unit]:
    """Return the file behind the number that `open for access` gave, if there is one."""
    for units in possible_values(file, scene.declared):
        if starts_with_phrase(units, "open for access"):
            end = next((i for i, u in enumerate(units) if u.word == "with"), len(units))
            return units[3:end]
    return file


def _judge_save(rest: Sequence[Unit], scene: StatementContext, base: Level) -> CommandVerdict:
    place = next((i for i, u in enumerate(rest) if u.word in ("in", "to", "into")), None)
    if place is None:
        return CommandVerdict(highest(("MODIFY", base)), "saves")
    depths = zip(rest[place + 1 :], bracket_depths(rest[place + 1 :]), strict=True)
    file = [u for u, _ in takewhile(lambda row: row[1] or not _is_clause_word(row[0]), depths)]
    if is_data_file(file, scene.declared) or is_own_folder(file, scene.declared):
        return CommandVerdict("MODIFY", "writes a data file in the user's folders")
    return _dangerous("writes a file that the script names")


def _is_clause_word(unit: Unit) -> bool:
    return unit.word in (*_WITH, "without", "as", "given")


def _judge_run(rest: Sequence[Unit], scene: StatementContext, base: Level) -> CommandVerdict:
    if rest or scene.object:
        return _dangerous("runs something")
    return CommandVerdict(highest(("MODIFY", base)), "runs the app")


def _judge_select(_rest: Sequence[Unit], scene: StatementContext, base: Level) -> CommandVerdict:
    if scene.ui:
        return _dangerous("clicks or changes something on the screen")
    return CommandVerdict(base, "selects")


SPECIAL: Final[
    Mapping[str, Callable[[Sequence[Unit], StatementContext, Level], CommandVerdict]]
] = {
    "make": _judge_make,
    "open": _judge_open,
    "get url": _judge_open,
    "geturl": _judge_open,
    "open location": _judge_location,
    "search the web": _judge_web,
    "add reading list item": _judge_web,
    "open for access": _judge_access,
    "read": _judge_access,
    "write": _judge_write,
    "close access": lambda _rest, _scene, _base: SAFE,
    "move": _judge_move,
    "duplicate": _judge_move,
    "save": _judge_save,
    "export": _judge_save,
    "archive": _judge_save,
    "run": _judge_run,
    "select": _judge_select,
    "print": lambda _rest, _scene, base: CommandVerdict(highest(("MODIFY", base)), "prints"),
}
"""Commands whose level depends on what they are given: word -> judge(rest, scene, level)."""
