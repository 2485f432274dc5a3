"""Judging one command of a statement: what is made, opened, moved, written, saved."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from iac_applescript.analysis.applescript_names import ScriptDeclarations
from iac_applescript.analysis.applescript_shapes import bracket_depths, find_unbracketed
from iac_applescript.analysis.applescript_units import Unit
from iac_applescript.analysis.statement_rules import (
    ORDINALS,
    SAFE,
    CommandVerdict,
    StatementContext,
    has_trash_target,
    is_bare_plural,
    is_many,
    is_tell_to_many,
    judge_fields,
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
from iac_applescript.analysis.words import JUDGED
from iac_runtime.tool import Level, highest

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
        return CommandVerdict("DANGEROUS", "makes something that IAC does not understand")
    levels: list[Level] = [entry.level for _, entry in made.entries if entry.use == "class"]
    levels.append("MODIFY")
    place = next((i for i, unit in enumerate(rest) if unit.word == "at"), len(rest))
    end = next((i for i, u in enumerate(rest) if u.word in _WITH and i > place), len(rest))
    if _is_computed_place(rest[place:end], scene.declared):
        return CommandVerdict(
            "DANGEROUS", "makes something in a place that is known only when the script runs"
        )
    given = next((i for i, word in enumerate(words) if word in _WITH), len(words))
    if words[given : given + 1] == ["with properties"] and words[given + 1 : given + 2] != ["{"]:
        return CommandVerdict("DANGEROUS", "sets properties that this line does not show")
    fields = judge_fields(rest, made, scene)
    return (
        fields
        if fields.level == "DANGEROUS"
        else CommandVerdict(highest(levels), f"makes a {made.word}")
    )


def _judge_open(rest: Sequence[Unit], scene: StatementContext, base: Level) -> CommandVerdict:
    if rest and is_literal_address(rest, scene.declared):
        return CommandVerdict(highest(("MODIFY", base)), "opens a web address")
    if not rest and scene.object:
        return CommandVerdict(
            "DANGEROUS", "opens the object of its tell block with that kind of file's default app"
        )
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
        return CommandVerdict("DANGEROUS", "opens a file or an address with its default app")
    return CommandVerdict(highest(("MODIFY", base)), "opens something")


def _is_folder_word(word: str) -> bool:
    """Say whether a word belongs to the name of a folder."""
    return word in _FOLDERS or word.endswith((" folder", " domain")) or word in _PLACE_WORDS


def _judge_move(rest: Sequence[Unit], scene: StatementContext, base: Level) -> CommandVerdict:
    words = [unit.word for unit in rest]
    if has_trash_target(rest):
        return CommandVerdict("DANGEROUS", "moves things to the trash")
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
        return CommandVerdict("DANGEROUS", "moves or copies many objects at once")
    if _is_computed_place(rest[to:], scene.declared):
        return CommandVerdict(
            "DANGEROUS", "moves or copies to a place that is known only when the script runs"
        )
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
    said = given[: next(end, len(given))]
    page = starts_with_phrase(strip_parentheses(said), "url of") and all(
        unit.word != "&" for unit in said
    )
    plain = page or is_spelled_out(said, scene.declared) or is_literal_address(said, scene.declared)
    return CommandVerdict(
        highest((base, "MODIFY" if plain else "DANGEROUS")), JUDGED["search the web"]
    )


def _judge_access(rest: Sequence[Unit], scene: StatementContext, _base: Level) -> CommandVerdict:
    """Judge a file that is opened or read by itself: data of the user's, or picked."""
    rest = _inside_parentheses(rest)
    writes = any(unit.word == "write permission" for unit in rest)
    end = (
        i for i, u in enumerate(rest) if u.word in (*_WITH, "as", "from", "using", "starting at")
    )
    file = _opened_file(rest[: next(end, len(rest))], scene)
    picked = all(
        starts_with_phrase(units, "choose file") for units in possible_values(file, scene.declared)
    )
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


def _judge_closed(_rest: Sequence[Unit], _scene: StatementContext, _base: Level) -> CommandVerdict:
    return SAFE


def _judge_save(rest: Sequence[Unit], scene: StatementContext, base: Level) -> CommandVerdict:
    place = next((i for i, u in enumerate(rest) if u.word in ("in", "to", "into")), None)
    if place is None:
        return CommandVerdict(highest(("MODIFY", base)), "saves")
    file = rest[place + 1 :]
    end = next(
        (
            i
            for i, depth in enumerate(bracket_depths(file))
            if not depth and _is_clause_word(file[i])
        ),
        len(file),
    )
    place_of = file[:end]
    if is_data_file(place_of, scene.declared) or is_own_folder(place_of, scene.declared):
        return CommandVerdict("MODIFY", "writes a data file in the user's folders")
    return CommandVerdict("DANGEROUS", "writes a file that the script names")


def _is_clause_word(unit: Unit) -> bool:
    return unit.word in (*_WITH, "without", "as", "given")


def _judge_run(rest: Sequence[Unit], scene: StatementContext, base: Level) -> CommandVerdict:
    if rest or scene.object:
        return CommandVerdict("DANGEROUS", "runs something")
    return CommandVerdict(highest(("MODIFY", base)), "runs the app")


def _judge_select(_rest: Sequence[Unit], scene: StatementContext, base: Level) -> CommandVerdict:
    if scene.ui:
        return CommandVerdict("DANGEROUS", "clicks or changes something on the screen")
    return CommandVerdict(base, "selects")


def _judge_print(_rest: Sequence[Unit], _scene: StatementContext, base: Level) -> CommandVerdict:
    return CommandVerdict(highest(("MODIFY", base)), "prints")


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
    "close access": _judge_closed,
    "move": _judge_move,
    "duplicate": _judge_move,
    "save": _judge_save,
    "export": _judge_save,
    "archive": _judge_save,
    "run": _judge_run,
    "select": _judge_select,
    "print": _judge_print,
}
"""Commands whose level depends on what they are given: word -> judge(rest, scene, level)."""
