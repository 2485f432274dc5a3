"""Judging one command of a statement: what is set, made, opened, moved, saved."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from iac_applescript.analysis.applescript_units import OwnDeclarations, Unit
from iac_applescript.analysis.findings import ScriptToken
from iac_applescript.analysis.texts import is_https
from iac_applescript.analysis.vocabulary import TermUse, Vocabulary
from iac_applescript.analysis.words import LEADS
from iac_runtime.policy.addresses import THROWN, role_of
from iac_runtime.tool import Level, highest

_ORDINALS: Final = frozenset(("first", "last", "some", "front", "back", "middle", "second"))
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
_PARTS: Final = frozenset(("item", "end", "beginning", "first", "last"))
_UI_ACTS: Final = frozenset(("value", "selected", "focused"))
_RUN_FROM: Final = frozenset(
    "scripting additions|scripting additions folder|scripts folder|startup items"
    "|startup items folder|folder action scripts|folder action scripts folder|login items"
    "|launcher items folder|launcher items|control panels|extensions|services folder".split("|")
)
"""What `path to` calls the folders whose content runs by itself."""

_BUILDS: Final = frozenset(("&", "{", "text items", "characters", "reverse", "ascii character"))
"""What puts a text together."""

_WITH: Final = frozenset(("with properties", "with data", "with"))
_LOCAL: Final = frozenset(("list", "text", "string", "record", "integer", "number", "real"))


@dataclass(frozen=True, slots=True)
class Scene:
    """What a statement stands in.

    Attributes:
        apps: Those whose words can be seen.
        named: All that the script names: a variable may hold an object of any of them.
        declared: The script's own names.
        ui: Whether elements of the screen are around it.
        told: Whether a `tell` to something other than the script is around it.
        object: What the innermost `tell` names, if that is more than an app.
    """

    apps: Sequence[Vocabulary]
    named: Sequence[Vocabulary]
    declared: OwnDeclarations
    ui: bool
    told: bool
    object: tuple[Unit, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandVerdict:
    """The level of a command and why, one line."""

    level: Level
    says: str


def _properties(unit: Unit) -> list[tuple[Vocabulary, TermUse]]:
    return [(app, entry) for app, entry in unit.entries if entry.use == "property"]


def _owned(target: Sequence[Unit]) -> list[tuple[Vocabulary, TermUse]]:
    """Return the rows of the property that begins `target`; of its owner's class if told."""
    rows = _properties(target[0])
    if len(target) > 2 and target[1].word in ("of", "in"):
        owner = next((unit for unit in target[2:4] if unit.has("class")), None)
        if owner is not None:
            terms = {entry.term for _, entry in owner.entries if entry.use == "class"}
            fitting = [
                (app, entry)
                for app, entry in rows
                if any(app.tables.descends(term, entry.owner) for term in terms)
            ]
            return fitting or rows
    return rows


def is_local(name: str, declared: OwnDeclarations) -> bool:
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


def judge_set(target: Sequence[Unit], value: Sequence[Unit], scene: Scene) -> CommandVerdict:
    """Judge `set target to value`."""
    plain = plain_target(target)
    if not plain:
        return CommandVerdict("DANGEROUS", "sets something that was not understood")
    foreign = scene.told and not scene.apps and any(_by_name(unit, scene) for unit in plain)
    names = ("result", "{", "}", ",")
    if not foreign and all(unit.kind == "variable" or unit.word in names for unit in plain):
        return SAFE
    if plain[0].word == "{":
        return CommandVerdict("DANGEROUS", "sets several things at once")
    if not foreign and _of_the_script(plain, scene):
        return SAFE
    rows = set_rows(plain, scene)
    level: Level = highest(("MODIFY", *(entry.level for _, entry in rows)))
    what = plain[0].word
    if scene.ui and (what in _UI_ACTS or (not rows and plain[0].has("class"))):
        return CommandVerdict("DANGEROUS", f"sets the {what} of something on the screen")
    if what == "contents" and any(unit.kind == "variable" for unit in plain):
        return CommandVerdict("DANGEROUS", "sets what a variable leads to")
    if what in LEADS:
        return CommandVerdict("DANGEROUS", f"sets {what}, which can lead anywhere")
    many = level == "MODIFY" and (_many(target) or _all_told(scene))
    if many and (not rows or any(entry.level == "MODIFY" for _, entry in rows)):
        return CommandVerdict("DANGEROUS", f"sets the {what} of many objects at once")
    if what in ("mailbox", "container") and _throws(value):
        return CommandVerdict("DANGEROUS", "moves things to the trash")
    if "url" in what.split() and not is_https(value, scene.declared):
        return CommandVerdict("DANGEROUS", "sets an address that is not a plain web address")
    return CommandVerdict(level, f"sets {what}")


def plain_target(target: Sequence[Unit]) -> list[Unit]:
    """Return what is set, as a property of an object and no more."""
    return _of_form([unit for unit in target if unit.word not in ("my", "the", "its", "(", ")")])


def set_rows(plain: Sequence[Unit], scene: Scene) -> list[tuple[Vocabulary, TermUse]]:
    """Return the rows of the property that may be set."""
    return [*_owned(plain), *_by_name(plain[0], scene)]


def _of_form(units: Sequence[Unit]) -> list[Unit]:
    """Return `a's b` as `b of a`."""
    places = [place for place, unit in enumerate(units) if unit.word == "'s"]
    if not places:
        return list(units)
    last = places[-1]
    link = Unit("keyword", "of", (), units[last].start)
    return [*units[last + 1 :], link, *_of_form(units[:last])]


def _by_name(unit: Unit, scene: Scene) -> list[tuple[Vocabulary, TermUse]]:
    """Return the property in apps that are named elsewhere: a variable may hold their object."""
    return [
        (app, entry)
        for app in scene.named
        if app not in scene.apps
        for entry in app.terms.get(unit.word, ())
        if entry.use == "property"
    ]


def _many(units: Sequence[Unit]) -> bool:
    """Say whether all of something is meant, or all that pass a test; the first of them is one."""
    words = [unit.word for unit in units]
    if "every" in words:
        return True
    place = next((i for i, word in enumerate(words) if word in ("whose", "where")), None)
    return place is not None and not _ORDINALS & set(words[:place])


def _of_the_script(target: Sequence[Unit], scene: Scene) -> bool:
    """Say whether only a value of the script itself is set: its delimiters, an item of its list."""
    words = [unit.word for unit in target]
    if words[0] == "text item delimiters":
        return True
    holders = [unit.word for unit in target if unit.kind == "variable"]
    if holders:
        # An item of a list may be an object: only the item itself is the script's.
        inner = words.count("of") + words.count("in") > 1 and words[0] not in _PARTS
        return is_local(holders[-1], scene.declared) and not inner
    # A name that some dictionary has too, outside any `tell`: a variable all the same.
    return not scene.told and len(target) == 1 and words[0] in scene.declared.variables


def _judge_make(rest: Sequence[Unit], scene: Scene, _base: Level) -> CommandVerdict:
    words = [unit.word for unit in rest]
    place = words.index("new") + 1 if "new" in words else 0
    made = rest[place] if place < len(rest) else None
    if made is None or not made.has("class"):
        return CommandVerdict("DANGEROUS", "makes something that was not understood")
    levels: list[Level] = [entry.level for _, entry in made.entries if entry.use == "class"]
    levels.append("MODIFY")
    place = next((i for i, unit in enumerate(rest) if unit.word == "at"), len(rest))
    end = next((i for i, u in enumerate(rest) if u.word in _WITH and i > place), len(rest))
    if _built(rest[place:end], scene.declared):
        return CommandVerdict(
            "DANGEROUS", "makes something in a place that is put together at run time"
        )
    given = next((i for i, word in enumerate(words) if word in _WITH), len(words))
    if words[given : given + 1] == ["with properties"] and words[given + 1 : given + 2] != ["{"]:
        return CommandVerdict("DANGEROUS", "gives properties that are not written out here")
    fields = judge_fields(rest, made, scene)
    return (
        fields
        if fields.level == "DANGEROUS"
        else CommandVerdict(highest(levels), f"makes a {made.word}")
    )


def judge_fields(rest: Sequence[Unit], made: Unit | None, scene: Scene) -> CommandVerdict:
    """Judge the properties that a record gives to what is made or copied."""
    classes = {entry.term for _, entry in made.entries if entry.use == "class"} if made else set()
    levels: list[Level] = ["SAFE"]
    for place, unit in enumerate(rest[:-1]):
        if rest[place + 1].word != ":" or rest[place + 1].kind != "sign":
            continue
        if unit.word in LEADS:
            return CommandVerdict("DANGEROUS", f"gives a {unit.word}, which can lead anywhere")
        if "url" in unit.word.split() and not is_https(_field(rest[place + 2 :]), scene.declared):
            return CommandVerdict("DANGEROUS", "gives an address that is not a plain web address")
        for app, entry in _properties(unit):
            if not classes or any(app.tables.descends(term, entry.owner) for term in classes):
                levels.append("MODIFY" if entry.content else entry.level)
    return CommandVerdict(highest(levels), "gives properties")


def _field(units: Sequence[Unit]) -> Sequence[Unit]:
    end = next((i for i, unit in enumerate(units) if unit.word in (",", "}")), len(units))
    return units[:end]


def _judge_open(rest: Sequence[Unit], scene: Scene, base: Level) -> CommandVerdict:
    if rest and is_https(rest, scene.declared):
        return CommandVerdict(highest(("MODIFY", base)), "opens a web address")
    if not rest and scene.object:
        return CommandVerdict("DANGEROUS", "opens what the tell names with whatever app claims it")
    words = [unit.word for unit in rest if unit.kind not in ("text", "number")]
    if words and words[0] in _FOLDERS and all(map(_is_place, words)):
        return CommandVerdict("MODIFY", "shows a folder")
    if any(
        unit.word in _FILES | _POINTS
        or unit.kind == "variable"
        or (unit.kind == "text" and not place)
        for place, unit in enumerate(rest)
    ):
        return CommandVerdict("DANGEROUS", "opens a file or an address with whatever app claims it")
    return CommandVerdict(highest(("MODIFY", base)), "opens something")


def _is_place(word: str) -> bool:
    """Say whether a word belongs to the name of a folder."""
    return word in _FOLDERS or word.endswith((" folder", " domain")) or word in _PLACE_WORDS


def _throws(units: Sequence[Unit]) -> bool:
    """Say whether a trash or a junk folder is named, a mailbox in any language."""
    return any(
        role_of(unit.word) in THROWN
        if unit.kind == "text"
        else "trash" in unit.word or unit.word == "junk mailbox"
        for unit in units
    )


def _judge_move(rest: Sequence[Unit], scene: Scene, base: Level) -> CommandVerdict:
    words = [unit.word for unit in rest]
    if _throws(rest):
        return CommandVerdict("DANGEROUS", "moves things to the trash")
    to = next((i for i, word in enumerate(words) if word == "to"), len(words))
    # What is moved decides how much: `every` in the place says nothing.
    moved = words[:to]
    told = not moved or moved[0] in _POINTS
    if (
        _many(rest[:to])
        or (told and _all_told(scene))
        or "entire contents" in moved
        or (moved and _is_all(rest[0], moved))
        or any(_holds_many(unit, scene.declared) for unit in rest[:to])
    ):
        return CommandVerdict("DANGEROUS", "moves or copies many objects at once")
    if _built(rest[to:], scene.declared):
        return CommandVerdict(
            "DANGEROUS", "moves or copies to a place that is put together at run time"
        )
    return CommandVerdict(highest(("MODIFY", base)), "moves or copies something")


def _all_told(scene: Scene) -> bool:
    """Say whether the `tell` around a statement names all of something."""
    told = scene.object
    return bool(told) and (_many(told) or _is_all(told[0], [unit.word for unit in told]))


def _holds_many(unit: Unit, declared: OwnDeclarations) -> bool:
    """Say whether a variable is set to all of something anywhere."""
    values = declared.variables.get(unit.word, []) if unit.kind == "variable" else []
    return any(
        {"every", "whose"} & words and not _ORDINALS & words
        for words in ({token.folded for token in tokens} for tokens in values)
    )


def _is_all(first: Unit, moved: Sequence[str]) -> bool:
    """Say whether a bare plural is moved: `files of folder "x"`."""
    return (
        first.has("class")
        and first.word.endswith("s")
        and all(entry.term.casefold() != first.word for _, entry in first.entries)
        and moved[1:2] in (["of"], ["in"], [])
    )


def _built(units: Sequence[Unit], declared: OwnDeclarations) -> bool:
    """Say whether a place is put together from parts, here or where its variables are set, or is
    one where things run by themselves."""
    if any(unit.word in _BUILDS for unit in units if unit.kind != "text"):
        return True
    if any(unit.word in _RUN_FROM or unit.word in declared.handlers for unit in units):
        return True
    return any(
        any(token.text == "&" for token in tokens)
        or (tokens[:1] and tokens[0].text == "{" and any(t.folded == "as" for t in tokens))
        for unit in units
        if unit.kind == "variable"
        for tokens in declared.variables.get(unit.word, [])
    )


def _judge_save(rest: Sequence[Unit], _scene: Scene, base: Level) -> CommandVerdict:
    if any(unit.word in ("in", "to", "into") for unit in rest):
        return CommandVerdict("DANGEROUS", "writes a file that the script names")
    return CommandVerdict(highest(("MODIFY", base)), "saves")


def _judge_run(rest: Sequence[Unit], scene: Scene, base: Level) -> CommandVerdict:
    if rest or scene.object:
        return CommandVerdict("DANGEROUS", "runs something")
    return CommandVerdict(highest(("MODIFY", base)), "runs the app")


def _judge_select(_rest: Sequence[Unit], scene: Scene, base: Level) -> CommandVerdict:
    if scene.ui:
        return CommandVerdict("DANGEROUS", "acts on something on the screen")
    return CommandVerdict(base, "selects")


def _judge_print(_rest: Sequence[Unit], _scene: Scene, base: Level) -> CommandVerdict:
    return CommandVerdict(highest(("MODIFY", base)), "prints")


SAFE: Final = CommandVerdict("SAFE", "")

SPECIAL: Final[Mapping[str, Callable[[Sequence[Unit], Scene, Level], CommandVerdict]]] = {
    "make": _judge_make,
    "open": _judge_open,
    "get url": _judge_open,
    "geturl": _judge_open,
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
