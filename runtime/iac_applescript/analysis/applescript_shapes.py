"""The shape of a statement: how long it lasts, which app it starts, what its own names stand for.

Any event starts an app that does not run. Only the question whether an app runs does not
(`application "X" is running`): it is answered without an event. Sources: AppleScript Language
Guide, "Referencing an Application Without Launching It"; docs/applescript.md.

A name that the script declares is a variable where its value is used, a handler where the script
itself is asked. Inside a `tell` the app gets a call first, and may know the word as a command.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from typing import Final

from iac_applescript.analysis import vocabulary as language
from iac_applescript.analysis.applescript_units import ScriptDeclarations, Unit
from iac_applescript.analysis.findings import brackets_of, spend
from iac_applescript.analysis.vocabulary import (
    CONSTANTS,
    HARMFUL_MEMBERS,
    JUDGED,
    PHRASES,
    Vocabulary,
)
from iac_base.script_tokens import ScriptToken
from iac_runtime.policy.places import BUILT_IN

_OPENS: Final = language.STARTS | {"using"}
_LIST_WORDS: Final = frozenset(("every", "whose", "where"))


_APPLICATION: Final = frozenset(("application", "app"))
_FILES_OF_SETTINGS: Final = frozenset(("property list file", "XML file"))
_SHELL_TEXT: Final = frozenset(("contents", "history"))
_QUIET_KINDS: Final = frozenset(("sign", "text", "number", "keyword", "variable"))
_QUIET_COMMANDS: Final = frozenset(("set", "copy"))
_TOLD: Final = frozenset(("it", "its", "result"))
"""Keywords that stand for the app that is told, or may."""

_USED: Final = frozenset(("", "scripting additions", "applescript", "applescript version"))
_IT_RUNS: Final = (["it", "is", "running"], ["running"], ["its", "running"])


_VERBS: Final = frozenset((*map(str.casefold, HARMFUL_MEMBERS), *PHRASES, *JUDGED))
_LINKS: Final = frozenset(("of", "in"))
_JOINS: Final = frozenset("as & + - * / ÷ ^ = < > ≠ ≤ ≥".split())
_GIVES: Final = frozenset(("with properties", "with data", "given", "with", "without", "at"))
_BEFORE_VALUE: Final = frozenset(("(", "if", "return", "get", "=", "not"))
_DETERMINERS: Final = frozenset(
    "{ it its me my every some first second third fourth fifth last middle front back given".split()
)
_ITEMS: Final = frozenset(("item", "items", "contents", "record"))
_INDEXES: Final = frozenset(("thru", "through", "named", "id", "index"))
_BEFORE_EXPRESSION: Final = frozenset(
    "to if ( then else return get = & and or not , { : is equal error while until".split()
)


def _folded_words(tokens: Sequence[ScriptToken]) -> list[str]:
    return [token.folded if token.kind == "word" else "" for token in tokens]


def opens_block(tokens: Sequence[ScriptToken]) -> bool:
    """Say whether a statement that is no `tell` lasts until an `end`."""
    words = _folded_words(tokens)
    if words[0] == "if":
        return words[-1] == "then"
    if words[0] in ("on", "to"):
        return words[1:2] != ["error"]
    if words[0] == "with":
        return words[1:2] in (["timeout"], ["transaction"])
    return words[0] in _OPENS


def bracket_depths(units: Sequence[Unit]) -> Sequence[int]:
    """Return how many brackets are open behind each unit."""
    return brackets_of([unit.word if unit.kind == "sign" else "" for unit in units]).depth


def find_unbracketed(units: Sequence[Unit], word: str) -> int | None:
    """Return the first place of a keyword that is in no parentheses or braces."""
    for place, (unit, depth) in enumerate(zip(units, bracket_depths(units), strict=True)):
        if not depth and unit.kind == "keyword" and unit.word == word:
            return place
    return None


def has_screen_element(units: Sequence[Unit]) -> bool:
    """Say whether units name an element of the screen, by System Events' dictionary."""
    return any(
        entry.use == "class"
        and app.tables.is_descendant(entry.term, "UI element")
        and not app.tables.is_descendant(entry.term, "process")
        for unit in units
        for app, entry in unit.entries
    )


def is_private_source(unit: Unit) -> bool:
    """Say whether a unit leads to what an app did not mean to tell."""
    return bool(unit.entries) and any(
        (app.key == "system_events" and entry.use == "class" and entry.term in _FILES_OF_SETTINGS)
        or (app.bundle in BUILT_IN and entry.use == "property" and entry.term in _SHELL_TEXT)
        or (entry.use == "class" and entry.term != "window" and has_screen_element([unit]))
        for app, entry in unit.entries
    )


def word_at(units: Sequence[Unit], place: int) -> str:
    """Return the word at a place; empty outside, and for a text."""
    if not 0 <= place < len(units) or units[place].kind == "text":
        return ""
    return units[place].word


def text_after(units: Sequence[Unit], place: int) -> str:
    after = units[place + 1] if place + 1 < len(units) else None
    return after.word.casefold() if after is not None and after.kind == "text" else ""


def object_operations(units: Sequence[Unit], own: Sequence[Unit]) -> list[str]:
    """Return the object tools that do what a statement does with an app's own terms."""
    words = {unit.word for unit in units}
    operations: list[str] = [op for op in ("make", "count") if op in words]
    if "set" in words and own and any(unit.has_use("property") for unit in own):
        operations.append("set")
    if own and not operations:
        plural = any(unit.has_use("class") and unit.word.endswith("s") for unit in own)
        many = _LIST_WORDS & words or plural
        operations.append("list" if many else "get")
    return operations


def if_condition(line: Sequence[ScriptToken]) -> tuple[ScriptToken, ...]:
    """Return what stands between `if` and `then`; empty for another statement."""
    words = _folded_words(line)
    start = 2 if words[:2] == ["else", "if"] else 1 if words[:1] == ["if"] else 0
    if not start or "then" not in words:
        return ()
    return tuple(line[start : words.index("then")])


def find_running_checks(line: Sequence[ScriptToken]) -> set[int]:
    """Return the places of `application` where nothing but its running is asked."""
    words = _folded_words(line)
    places = set()
    for place, word in enumerate(words):
        if word not in _APPLICATION:
            continue
        end = place + (3 if words[place + 1 : place + 2] == ["id"] else 2)
        after = words[end : end + 3]
        of_it = bool(line[end : end + 1]) and line[end].text in ("'s", "’s")
        if (
            after[:2] == ["is", "running"]
            or after == ["is", "not", "running"]
            or (of_it and after[1:2] == ["running"])
            or words[max(place - 2, 0) : place] == ["running", "of"]
        ):
            places.add(place)
    return places


def app_proven_running(asked: Sequence[ScriptToken]) -> str:
    """Return which app a condition proves to run: `it`, or its name or bundle id; else empty."""
    while len(asked) > 2 and asked[0].text == "(" and asked[-1].text == ")":
        asked = asked[1:-1]
    words = _folded_words(asked)
    if words in _IT_RUNS:
        return "it"
    plain = words[-2:] == ["is", "running"] and len(asked) in (4, 5)
    if plain and find_running_checks(asked) == {0}:
        return asked[-3].text if asked[-3].kind == "string" else ""
    return ""


def is_silent(units: Sequence[Unit], handlers: Collection[str]) -> bool:
    """Say whether a statement inside a `tell` sends its app nothing.

    Only what reckons with texts, numbers and the script's own variables does; a handler that is
    called there goes to the app first.
    """
    words = [unit.word for unit in units if unit.word not in ("if", "then", "else")]
    if words in _IT_RUNS and not any(unit.entries for unit in units):
        return True
    return all(
        (unit.kind in _QUIET_KINDS and unit.word not in _TOLD and unit.word not in handlers)
        or unit.word in CONSTANTS
        or (unit.word == "running" and not unit.entries)
        or (unit.kind == "command" and unit.word in _QUIET_COMMANDS)
        for unit in units
    )


def dangerous_verbs(apps: Iterable[Vocabulary]) -> frozenset[str]:
    """Return the words that do harm as a command, in any of these apps or wherever they stand."""
    return _VERBS | frozenset(
        term
        for app in apps
        for term, entries in app.terms.items()
        if any(entry.use == "command" and entry.level == "DANGEROUS" for entry in entries)
    )


def find_misused_names(
    units: Sequence[Unit],
    names: ScriptDeclarations,
    verbs: frozenset[str],
    *,
    told: bool,
    set_here: Container[str] | None,
) -> Iterator[tuple[Unit, str]]:
    """Yield the script's own names that stand for something else, each with why.

    Args:
        units: A statement, or what a `tell` names.
        names: The script's own names.
        verbs: Words that are never the script's own; empty for a script that names no app.
        told: Whether a `tell` to something other than the script is around it.
        set_here: What statements before set inside `tell`s to the same apps, where no command
            can be set; None if `units` are no statement but what a `tell` names.
    """
    for place, unit in enumerate(units):
        if unit.kind != "variable":
            continue
        called = word_at(units, place + 1) == "("
        start, end = place, _end_of_call(units, place + 1) if called else place + 1
        while start and word_at(units, start - 1) == "(" and word_at(units, end) == ")":
            start, end = start - 1, end + 1
        before, after = word_at(units, start - 1), word_at(units, end)
        asked = after in _LINKS and word_at(units, end + 1) == "me"
        own = before == "my" or (asked and word_at(units, end + 2) not in _LINKS)
        if unit.word in verbs:
            yield unit, "gives something of its own the name of a command"
        elif own or (
            not told
            and unit.word in names.handlers
            and _is_own_handler_call(units, start, end, names, verbs)
        ):
            continue
        elif called and (told or before == "'s" or after in _LINKS):
            yield unit, "calls a handler of something other than the script"
        elif told and set_here is not None and (not start or before in ("then", "else")):
            # Alone it is the value that a block gives back.
            if unit.word not in set_here or not (after in _JOINS or end == len(units)):
                yield unit, "was not understood inside a tell"
        elif told and (before == "its" or _is_command_argument(units, before, end)):
            yield unit, "was not understood before its argument"
        elif before == "'s" or (after == "of" and not _is_index(units, place)):
            holders = _member_owners(units, start, end, possessive=before == "'s")
            ours = holders and all(is_script_object(holder.word, names) for holder in holders)
            if not ours and (unit.word not in names.labels or not _are_values(holders)):
                yield unit, "is a name of the script, but is used on something else"


def not_understood(
    units: Sequence[Unit], handlers: Container[str]
) -> Iterator[tuple[str, str, str, int]]:
    """Yield what of a statement makes any script dangerous: the rule, why, the words, the place."""
    values = ("variable", "text", "number")
    for place, unit in enumerate(units):
        before = units[place - 1] if place else None
        after = word_at(units, place + 1)
        if unit.kind == "unknown":
            yield "unknown", "was not understood", unit.word, unit.start
        elif unit.word == "current application" and after == "'s":
            says = "reaches Objective-C, which can do anything"
            yield "phrase", says, unit.word, unit.start
        elif unit.word == "use" and after not in _USED:
            yield "phrase", "uses something whose terms IAC does not know", unit.word, unit.start
        elif before is None:
            continue
        elif unit.kind == "text" and before.word in ("script", "class"):
            says = "names code that is not in this script"
            yield "phrase", says, f"{before.word} {unit.word}", unit.start
        elif before.kind in values and unit.kind in values:
            # `my areaOfWidth:3 height:4` goes on with the handler's name.
            if after == ":" and any(part.word in handlers for part in units[:place]):
                continue
            yield "unknown", "was not understood", unit.word, unit.start
        elif unit.word == "(" and before.kind == "variable" and before.word not in handlers:
            yield "unknown", "calls an unknown handler", unit.word, unit.start


def is_script_object(name: str, names: ScriptDeclarations) -> bool:
    """Say whether a name stands for a script object of this script."""
    values = names.variables.get(name, [])
    known = all(len(v) == 1 and v[0].folded in names.scripts for v in values)
    return name in names.scripts or (bool(values) and known)


def _is_own_handler_call(
    units: Sequence[Unit], start: int, end: int, names: ScriptDeclarations, verbs: Collection[str]
) -> bool:
    """Say whether a handler is asked of a script object, or given what is no app's."""
    holders = _member_owners(units, start, end, possessive=word_at(units, start - 1) == "'s")
    ours = bool(holders) and all(is_script_object(unit.word, names) for unit in holders)
    return ours or not verbs or word_at(units, end + 1) == "{"


def _is_command_argument(units: Sequence[Unit], before: str, end: int) -> bool:
    """Say whether what follows a name can only be what a command is given."""
    follows = units[end] if end < len(units) else None
    if follows is None:
        return False
    if follows.word in _DETERMINERS:
        return True
    if before not in _BEFORE_EXPRESSION:
        return False
    given = before in _BEFORE_VALUE or (before == "to" and units[0].word == "set")
    return (follows.kind == "term" and not follows.has_use("label")) or (
        given and follows.word in _GIVES
    )


def _is_index(units: Sequence[Unit], place: int) -> bool:
    """Say whether a variable says which: `item n of x`, `items 1 thru n of x`."""
    before = units[place - 1] if place else None
    return before is not None and (before.kind == "term" or before.word in _INDEXES)


def _member_owners(units: Sequence[Unit], place: int, end: int, *, possessive: bool) -> list[Unit]:
    """Return what a member is asked of, as far as it is named right beside it."""
    if possessive:
        return [*units[max(place - 3, 0) : place - 1]]
    signs = (i for i, u in enumerate(units[end:], end) if u.kind == "sign" and u.word != "(")
    until = next(signs, len(units))
    spend((until - end) // 16)
    owners: list[Unit] = []
    for unit in units[end:until]:
        if unit.kind == "keyword" and unit.word not in (*_LINKS, "first", "last", "the", "its"):
            if unit.word == "application":
                owners.append(unit)
            break
        owners.append(unit)
    return owners


def _are_values(holders: Sequence[Unit]) -> bool:
    """Say whether a variable or its item is asked, no object of an app."""
    named = any(
        unit.word == "application"
        or (unit.kind == "term" and unit.word not in _ITEMS and unit.entries)
        for unit in holders
    )
    return not named and any(unit.kind == "variable" for unit in holders)


def _end_of_call(units: Sequence[Unit], opening: int) -> int:
    closed = (i for i, depth in enumerate(bracket_depths(units[opening:]), opening) if not depth)
    return next(closed, len(units) - 1) + 1
