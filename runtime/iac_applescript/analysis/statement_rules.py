"""Judging one command of a statement: what is set, made, opened, moved, written, saved."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from iac_applescript.analysis.applescript_names import (
    GIVEN,
    HOLE,
    TYPED,
    Possible,
    ScriptNames,
    chain,
    class_term,
    container,
    inner_node,
    is_known,
    iterate_nodes,
    property_term,
)
from iac_applescript.analysis.statement_places import (
    describe_place_danger,
    is_data_place,
    is_own_folder,
)
from iac_applescript.analysis.texts import opens_page
from iac_applescript.analysis.vocabulary import (
    JUDGED,
    LEADS,
    PROMPTS,
    TermUse,
    Use,
    Vocabulary,
)
from iac_runtime.language import applescript_tree as tree
from iac_runtime.language.applescript_tree import SyntaxNode
from iac_runtime.policy.places import FILE_APPS
from iac_runtime.policy.verbs import Deed, find_consequences, is_trash_name
from iac_runtime.tool import Level, highest
from iac_runtime.toolkit import Verb

_TEXT_PARTS: Final = frozenset(("paragraph", "word", "character", "text item", "text"))
_UI_ACTS: Final = frozenset(("value", "selected", "focused"))
_DATE_PARTS: Final = frozenset("hours minutes seconds day month year time weekday".split())
_FOLDER_WORDS: Final = frozenset(
    "home|desktop|trash|container|folder|disk|window|computer container|Finder window|startup disk"
    "|home folder".split("|")
)


class AppTerm(NamedTuple):
    app: Vocabulary
    entry: TermUse


@dataclass(frozen=True, slots=True)
class StatementContext:
    """What a statement stands in.

    Attributes:
        apps: Those whose words can be seen.
        named: All that the script names: a variable may hold an object of any of them.
        names: The script's own names.
        ui: Whether elements of the screen are around it.
        told: Whether a `tell` to something other than the script is around it.
        object: What the innermost `tell` names, if that is more than an app.
        running: Bundle ids of apps that an `if` around it has found running.
        looped: In a loop the names that change with each turn; None outside.
        made: Classes of what the statements before made in the same `tell`.
        stopped: Names of apps that did not run when the script began, by an `if` around it.
    """

    apps: tuple[Vocabulary, ...]
    named: tuple[Vocabulary, ...]
    names: ScriptNames
    ui: bool = False
    told: bool = False
    object: Possible = None
    running: frozenset[str] = frozenset()
    looped: frozenset[str] | None = None
    made: frozenset[str] = frozenset()
    stopped: bool = False

    @property
    def tells(self) -> list[Vocabulary]:
        """Return the apps that are seen, without Standard Additions."""
        return [app for app in self.apps if app.tables.app.kind == "application"]

    def uses(self, use: Use, term: str, apps: Sequence[Vocabulary] = ()) -> list[AppTerm]:
        """Return what a word is in the apps that are seen, or in others."""
        return [
            AppTerm(app, entry)
            for app in apps or self.apps
            for entry in app.terms.get(" ".join(term.casefold().split()), ())
            if entry.use == use
        ]


class CommandVerdict(NamedTuple):
    """The level of a command and why, one line."""

    level: Level
    reason: str


SAFE: Final = CommandVerdict("SAFE", "")


def _dangerous(reason: str) -> CommandVerdict:
    return CommandVerdict("DANGEROUS", reason)


# ---- how many, and which


def is_many(node: Possible, names: ScriptNames, depth: int = 0) -> bool:
    """Say whether all of something is meant, or all that pass a test; the first of them is one."""
    while node is not None and depth < 6:
        node = inner_node(node)
        match node:
            case tree.ListOf(items=items):
                return any(is_many(item, names, depth + 1) for item in items)
            case tree.Name(name=name):
                values = names.variables.get(name, ())
                return any(is_many(value, names, depth + 1) for value in values)
            case tree.ElementForm(form="every" | "whose" | "range"):
                # Parts of one text are how that text looks.
                return class_term(node) not in _TEXT_PARTS
            case tree.ElementForm(term="" | "item"):
                return False
            case tree.Member() if property_term(node) == "entire contents":
                return True
            case _:
                node = container(node)
    return False


def is_each_turn(node: Possible, scene: StatementContext) -> bool:
    """Say whether a loop around a statement makes one object many, one after the other."""
    if scene.looped is None or node is None:
        return False
    told = scene.object if any(is_told(one) for one in chain(node)) else None
    return any(
        (isinstance(one, tree.Name) and one.name in scene.looped)
        or (isinstance(one, tree.ElementForm) and one.form in ("whose", "some"))
        for part in (node, told)
        if part is not None
        for one in iterate_nodes(part)
    )


def is_told(node: SyntaxNode) -> bool:
    told = isinstance(node, tree.Name) and node.name in ("it", "result")
    return told or (isinstance(node, tree.Member | tree.ElementForm) and node.within is None)


def find_trash_name(node: Possible, names: ScriptNames, depth: int = 0) -> str:
    """Return the name of a trash or a junk folder, a mailbox in any language; empty for none."""
    for one in iterate_nodes(node) if node is not None else ():
        term = property_term(one) or class_term(one)
        if "trash" in term or term == "junk mailbox":
            return term
        if isinstance(one, tree.Name) and depth < 4:
            for value in names.variables.get(one.name, ()):
                if found := find_trash_name(value, names, depth + 1):
                    return found
        if isinstance(one, tree.Value | tree.Name | tree.OperatorForm):
            spelled = names.spell_texts(one)
            if found := next(filter(is_trash_name, spelled), ""):
                return found
    return ""


def is_joined_unknown(node: Possible, names: ScriptNames) -> bool:
    """Say whether a part of a place has a name that is put together from what is not known."""
    return node is not None and any(
        HOLE in text and text != HOLE
        for value in names.possible_values(node)
        if value is not None
        for one in iterate_nodes(value)
        if isinstance(one, tree.OperatorForm | tree.Name)
        for text in names.spell_texts(one)
    )


def _place_danger(node: Possible, scene: StatementContext) -> str:
    """Return why putting something in a place is dangerous; empty where it is not."""
    if any(app.bundle.casefold() in FILE_APPS for app in scene.apps or scene.named):
        return describe_place_danger(node, scene.names)
    if is_joined_unknown(node, scene.names):
        return "a place that is known only when the script runs"
    return ""


# ---- set


def judge_set(target: SyntaxNode, value: Possible, scene: StatementContext) -> CommandVerdict:
    """Judge `set target to value`."""
    target = inner_node(target)
    if isinstance(target, tree.ListOf | tree.RecordOf):
        return _judge_pattern(target, value, scene)
    word = property_term(target) or class_term(target)
    if isinstance(target, tree.Name):
        foreign = scene.told and not scene.tells and target.name not in ("it", "me")
        if not (foreign and scene.uses("property", target.name, scene.named)):
            return SAFE
        word = target.name
    elif is_script_value(target, scene):
        return SAFE
    if not word and not isinstance(target, tree.Place):
        return _dangerous("sets something that IAC does not understand")
    if word in _DATE_PARTS and scene.names.is_own_value(container(target)):
        return SAFE
    rows = settable_rows(target, scene)
    kept = _is_appending(target, value, scene) or is_new(container(target), scene)
    # What adds to a text keeps what was there, and what is new had nothing.
    counted = (entry for _, entry in rows if not (kept and entry.content))
    level: Level = highest(("MODIFY", *(entry.level for entry in counted)))
    if scene.ui and (word in _UI_ACTS or not property_term(target)):
        return _dangerous(f"sets the {word} of something on the screen")
    if word == "contents" and isinstance(container(target), tree.Name):
        return _dangerous("changes the object to which a variable refers")
    changes = level == "MODIFY" and (not rows or any(row.entry.level == "MODIFY" for row in rows))
    subject = target if isinstance(target, tree.ElementForm) else container(target)
    told = is_told([*chain(target)][-1]) and is_many(scene.object, scene.names)
    turned = is_each_turn(target, scene) and not is_new(container(target), scene)
    if changes and (told or turned or is_many(subject, scene.names)):
        return _dangerous(f"sets the {word} of many objects at once")
    if danger := _describe_danger(word, value, scene):
        return _dangerous(danger)
    return CommandVerdict(level, f"sets {word}")


def _judge_pattern(
    target: tree.ListOf | tree.RecordOf, value: Possible, scene: StatementContext
) -> CommandVerdict:
    parts = target.items if isinstance(target, tree.ListOf) else [row for _, row in target.fields]
    given = inner_node(value) if value is not None else None
    values: Sequence[Possible] = (value,) * len(parts)
    if isinstance(given, tree.ListOf) and len(given.items) == len(parts):
        values = given.items
    verdicts = [judge_set(*row, scene) for row in zip(parts, values, strict=True)]
    return next((v for lvl in ("DANGEROUS", "MODIFY") for v in verdicts if v.level == lvl), SAFE)


def is_script_value(target: SyntaxNode, scene: StatementContext) -> bool:
    """Say whether only a value of the script itself is set: its delimiters, an item of its list."""
    word, within = property_term(target), container(target)
    if word.endswith("text item delimiters") or word.startswith("progress "):
        return True
    if isinstance(target, tree.Member) and scene.names.is_script_object(within):
        return True
    if within is None:
        return bool(word) and not scene.told
    *links, root = chain(target)
    labels = all(isinstance(one, tree.Member) and isinstance(one.name, tree.Name) for one in links)
    if not isinstance(root, tree.Name) or not scene.names.is_own_value(root):
        return False
    # An item of a list may be an object: only the item itself is the script's.
    return len(links) == 1 or labels or isinstance(target, tree.Place | tree.ElementForm)


def settable_rows(target: SyntaxNode, scene: StatementContext) -> list[AppTerm]:
    """Return the rows of the property that may be set: of its owner's class, if that is told."""
    word = target.name if isinstance(target, tree.Name) else property_term(target)
    seen = {app.key: app for app in (*scene.apps, *scene.named)}
    rows = scene.uses("property", word, [*seen.values()]) if word and seen else []
    owner = class_term(container(target)) or next(map(class_term, chain(scene.object)), "")
    terms = {row.entry.term for row in scene.uses("class", owner)} if owner else set()
    fitting = [
        row
        for row in rows
        if any(row.app.tables.is_descendant(term, row.entry.owner) for term in terms)
    ]
    return fitting or rows


def _is_appending(target: SyntaxNode, value: Possible, scene: StatementContext) -> bool:
    """Say whether a value is the target's own text with something joined to it."""
    given = inner_node(value) if value is not None else None
    if not isinstance(given, tree.OperatorForm) or given.operator != "&":
        return False
    wanted = _shape(target)
    parts = list(_joined_parts(given))
    values = [one for part in parts for one in (part, *scene.names.possible_values(part))]
    return any(one is not None and _shape(inner_node(one)) == wanted for one in values)


def _joined_parts(node: SyntaxNode) -> Iterator[SyntaxNode]:
    waiting = [node]
    while waiting:
        one = inner_node(waiting.pop())
        if isinstance(one, tree.OperatorForm) and one.operator == "&":
            waiting += one.operands
        else:
            yield one


def _shape(node: SyntaxNode) -> list[str]:
    """Return what a node says, wherever it stands."""
    return [
        f"{type(one).__name__} {getattr(one, 'name', '')!r:.60} {getattr(one, 'term', '')}"
        f" {getattr(one, 'value', '')!r:.60}"
        if not isinstance(one, tree.Member)
        else "of"
        for one in iterate_nodes(node)
        if not isinstance(one, tree.Grouped)
    ]


def is_new(holder: Possible, scene: StatementContext) -> bool:
    """Say whether what is set belongs to something that this script has just made."""
    holder = inner_node(holder) if holder is not None else scene.object
    if holder is None:
        return False
    if isinstance(holder, tree.ElementForm) and class_term(holder) in scene.made:
        keys = [key.value for key in holder.keys if isinstance(key, tree.Value)]
        return holder.form == "index" and keys == [1]
    return all(
        isinstance(value, tree.CommandCall) and value.term == "make"
        for value in scene.names.possible_values(holder)
    )


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


def _describe_danger(name: str, value: Possible, scene: StatementContext) -> str:
    """Return why giving a property a value is dangerous; empty where it is not."""
    if name in LEADS:
        return f"sets {name}, which can point to any file or server"
    texts = scene.names.spell_texts(value)
    if "url" in name.split() and not opens_page(texts):
        return "sets an address that is not a plain web address"
    files = any(app.bundle.casefold() in FILE_APPS for app in scene.apps or scene.named)
    if files and name == "name" and any(text.startswith(".") for text in texts):
        return "gives a file a name that hides it or has it run"
    return describe_deed_danger(set_deed(name, value, scene.names))


def set_deed(
    name: str, value: Possible, names: ScriptNames, verb: Verb = "change", kind: str = ""
) -> Deed:
    """Return what giving a property a value does."""
    written = written_value(value, names)
    return Deed(verb, "", kind, [(name, written)], trash=find_trash_name(value, names))


def written_value(value: Possible, names: ScriptNames) -> str | None:
    """Return a value that is written out as one text, `false` for that; else None."""
    plain = inner_node(value) if value is not None else None
    if isinstance(plain, tree.TermName):
        return plain.term if plain.term == "no" else None
    if isinstance(plain, tree.Value) and not isinstance(plain.value, str):
        return "false" if plain.value in (False, 0) and plain.value is not None else None
    texts = names.spell_texts(plain)
    known = len(texts) == 1 and is_known(texts[0]) and not {TYPED, GIVEN} & set(texts[0])
    return texts[0] if known else None


# ---- the commands

Parameters = Mapping[str, SyntaxNode]


def record_fields(call: tree.CommandCall) -> Iterator[tuple[str, SyntaxNode]]:
    """Yield the fields of a record that a command is given, each with its value."""
    for node in (call.direct, *(value for _, value in call.parameters)):
        record = inner_node(node) if node is not None else None
        if isinstance(record, tree.RecordOf):
            yield from ((key.casefold(), value) for key, value in record.fields)


def judge_fields(call: tree.CommandCall, made: str, scene: StatementContext) -> CommandVerdict:
    """Judge the properties that a record gives to what is made or copied."""
    classes = {row.entry.term for row in scene.uses("class", made)} if made else set()
    levels: list[Level] = ["SAFE"]
    for name, value in record_fields(call):
        files = made in ("folder", "file") and name == "name"
        if not files and (danger := _describe_danger(name, value, scene)):
            return _dangerous(danger)
        for app, entry in scene.uses("property", name):
            if not classes or any(app.tables.is_descendant(term, entry.owner) for term in classes):
                levels.append("MODIFY" if entry.content else entry.level)
    return CommandVerdict(highest(levels), "gives properties")


def made_class(call: tree.CommandCall) -> str:
    """Return the class that `make` is given."""
    new = dict(call.parameters).get("new")
    new = inner_node(new) if new is not None else None
    return class_term(new) or property_term(new)


def _judge_make(call: tree.CommandCall, scene: StatementContext, _base: Level) -> CommandVerdict:
    given = dict(call.parameters)
    made = made_class(call)
    rows = scene.uses("class", made) if made else []
    if not rows:
        return _dangerous("makes something that IAC does not understand")
    record, place = given.get("with properties"), given.get("at")
    if record is not None and not isinstance(inner_node(record), tree.RecordOf):
        return _dangerous("sets properties that this line does not show")
    files = made in ("folder", "file") and any(
        app.bundle.casefold() in FILE_APPS for app, _ in rows
    )
    whole: Possible = place
    if files and place is not None and not is_own_folder(place, scene.names):
        whole = call
    elif files:
        name = dict(record_fields(call)).get("name")
        hidden = name is not None and any(t[:1] == "." for t in scene.names.spell_texts(name))
        if hidden:
            return _dangerous("makes a hidden file")
    if whole is not None and (danger := _place_danger(whole, scene)):
        return _dangerous(f"makes something in {danger}")
    fields = judge_fields(call, made, scene)
    if fields.level == "DANGEROUS":
        return fields
    levels = (entry.level for _, entry in rows)
    return CommandVerdict(highest(("MODIFY", *levels)), f"makes a new {made}")


def _judge_open(call: tree.CommandCall, scene: StatementContext, base: Level) -> CommandVerdict:
    direct = call.direct
    if direct is not None and opens_page(scene.names.spell_texts(direct)):
        return CommandVerdict(highest(("MODIFY", base)), "opens a web address")
    if direct is None and scene.object is not None:
        return _dangerous("opens the object of its tell block with that kind of file's default app")
    folder = direct is not None and (_is_folder(direct) or is_own_folder(direct, scene.names))
    if folder and not call.parameters:
        return CommandVerdict("MODIFY", "shows a folder")
    first = inner_node(direct) if direct is not None else None
    for node in iterate_nodes(direct) if direct is not None else ():
        place = class_term(node) in ("file", "alias", "item", "POSIX file", "document file",
                                     "application file")  # fmt: skip
        if (
            place
            or isinstance(node, tree.Name)
            or (node is first and isinstance(node, tree.Value | tree.OperatorForm))
        ):
            return _dangerous("opens a file or an address with its default app")
    return CommandVerdict(highest(("MODIFY", base)), "opens something")


def _is_folder(node: SyntaxNode) -> bool:
    """Say whether an object is a folder by its words."""
    links = [*chain(node)]
    known = all(
        (property_term(one) or class_term(one)).endswith((" folder", " domain"))
        or (property_term(one) or class_term(one)) in _FOLDER_WORDS
        or isinstance(one, tree.Application)
        or (isinstance(one, tree.CommandCall) and one.term == "pathTo")
        for one in links
    )
    return known and not any(isinstance(one, tree.Name) for one in iterate_nodes(node))


def _judge_move(call: tree.CommandCall, scene: StatementContext, base: Level) -> CommandVerdict:
    place = dict(call.parameters).get("to")
    if place is not None and find_trash_name(place, scene.names):
        return _dangerous("moves things to the trash")
    told = call.direct is None or is_told(inner_node(call.direct))
    if (
        is_many(call.direct, scene.names)
        or (told and is_many(scene.object, scene.names))
        or is_each_turn(call.direct, scene)
    ):
        return _dangerous("moves or copies many objects at once")
    if place is not None and (danger := _place_danger(place, scene)):
        return _dangerous(f"moves or copies to {danger}")
    return CommandVerdict(highest(("MODIFY", base)), "moves or copies something")


def _judge_location(call: tree.CommandCall, scene: StatementContext, _: Level) -> CommandVerdict:
    fixed = call.direct is not None and opens_page(scene.names.spell_texts(call.direct))
    if fixed and scene.tells:
        return CommandVerdict("MODIFY", "opens a web address")
    return CommandVerdict("MODIFY" if fixed else "DANGEROUS", JUDGED["open location"])


def _judge_web(call: tree.CommandCall, scene: StatementContext, base: Level) -> CommandVerdict:
    """Judge what leads to the web with a text or an address that it is given."""
    asked = call.direct or dict(call.parameters).get("for")
    links = [*chain(asked)]
    page = bool(links) and property_term(links[0]) == "url" and not isinstance(links[-1], tree.Name)
    texts = scene.names.spell_texts(asked)
    plain = page or all(is_known(text) and GIVEN not in text for text in texts)
    level = highest((base, "MODIFY" if plain else "DANGEROUS"))
    return CommandVerdict(level, JUDGED["search the web"])


def _judge_access(call: tree.CommandCall, scene: StatementContext, _: Level) -> CommandVerdict:
    """Judge a file that is opened, read or written by itself: data of the user's, or picked."""
    given = dict(call.parameters)
    writes = call.term in ("write", "setEof") or "write permission" in given
    file = given.get("to") if call.term == "write" else call.direct
    if writes:
        known = file is not None and is_data_place(file, scene.names)
    else:
        values = scene.names.possible_values(file)
        files = [
            one.direct if isinstance(one, tree.CommandCall) and one.term == "openForAccess" else one
            for one in values
        ]
        known = all(
            isinstance(one, tree.CommandCall) and one.term == "chooseFile"
            for named in files
            for one in scene.names.possible_values(named)
        )
    return CommandVerdict("MODIFY" if known else "DANGEROUS", JUDGED["open for access"])


def _judge_save(call: tree.CommandCall, scene: StatementContext, base: Level) -> CommandVerdict:
    file = next((value for key, value in call.parameters if key in ("in", "to", "into")), None)
    if file is None:
        return CommandVerdict(highest(("MODIFY", base)), "saves")
    if is_data_place(file, scene.names) or is_own_folder(file, scene.names):
        return CommandVerdict("MODIFY", "writes a data file in the user's folders")
    return _dangerous("writes a file that the script names")


def _judge_run(call: tree.CommandCall, scene: StatementContext, base: Level) -> CommandVerdict:
    if call.direct is not None or call.parameters or scene.object is not None:
        return _dangerous("runs something")
    return CommandVerdict(highest(("MODIFY", base)), "runs the app")


def _judge_select(_: tree.CommandCall, scene: StatementContext, base: Level) -> CommandVerdict:
    if scene.ui:
        return _dangerous("clicks or changes something on the screen")
    return CommandVerdict(base, "selects")


def _judge_quit(_: tree.CommandCall, scene: StatementContext, base: Level) -> CommandVerdict:
    if scene.stopped:
        return CommandVerdict("MODIFY", "ends an app that did not run before")
    return CommandVerdict(base, 'uses "quit"')


def _judge_dialog(call: tree.CommandCall, scene: StatementContext, base: Level) -> CommandVerdict:
    """Judge a dialog that takes an answer: it says what it asks, and asks for no secret."""
    given = dict(call.parameters)
    if "default answer" not in given:
        return CommandVerdict(base, "shows a dialog")
    asked = [text for node in (call.direct, given.get("with title")) if node is not None
             for text in scene.names.spell_texts(node)]  # fmt: skip
    if any(not is_known(text) or re.search(PROMPTS, text) for text in asked):
        return _dangerous("asks for an answer, and may ask for a secret")
    return CommandVerdict(base, "asks for an answer")


SPECIAL: Final[
    Mapping[str, Callable[[tree.CommandCall, StatementContext, Level], CommandVerdict]]
] = {
    "make": _judge_make,
    "open": _judge_open,
    "getURL": _judge_open,
    "getUrl": _judge_open,
    "openLocation": _judge_location,
    "searchTheWeb": _judge_web,
    "addReadingListItem": _judge_web,
    "openForAccess": _judge_access,
    "read": _judge_access,
    "write": _judge_access,
    "setEof": _judge_access,
    "closeAccess": lambda _call, _scene, _base: SAFE,
    "displayDialog": _judge_dialog,
    "move": _judge_move,
    "duplicate": _judge_move,
    "save": _judge_save,
    "export": _judge_save,
    "archive": _judge_save,
    "run": _judge_run,
    "quit": _judge_quit,
    "select": _judge_select,
    "print": lambda _call, _scene, base: CommandVerdict(highest(("MODIFY", base)), "prints"),
}
"""Commands whose level depends on what they are given: name -> judge(call, scene, level)."""
