"""Resolve: includes expanded, overloads, extensions and self-inheriting classes merged.

Terms and codes are untouched; the order of first declaration is kept. What was merged and
what could not be resolved comes back as diagnostics.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TypeAlias
from urllib.parse import unquote

from iac_gen import merge as merging
from iac_gen.merge import MergeNotes, merge_classes
from iac_gen.model import (
    Diagnostic,
    Dictionary,
    Enumeration,
    Include,
    Item,
    RecordType,
    SdefClass,
    SdefCommand,
    Source,
    Suite,
    ValueType,
    with_field,
)

STANDARD = "/System/Library/ScriptingDefinitions/CocoaStandard.sdef"
"""The standard suites, which about a third of all dictionaries include."""

IncludeMap: TypeAlias = Mapping[str, Dictionary]
"""Absolute path of an included file -> its dictionary."""

_WHOLE = "xpointer(/dictionary/suite)"
_LONGEST = 1000
_NAMED = re.compile(r"@name\s*=\s*'([^']*)'")
_TEST = rf"\(?{_NAMED.pattern}\)?"
# What dictionaries select: every suite, or what stands in them but some commands.
_FILTER = re.compile(
    r"xpointer\(/dictionary/suite/node\(\)\[not\(self::command and "
    rf"\(?{_TEST}(?:\s+or\s+{_TEST})*\)?\)\]\)"
)


_SENT = {
    code: str(group["by"])
    for group in tomllib.loads((files("iac_gen") / "hooks.toml").read_text("utf-8"))["sent"]
    for code in group["codes"].split()
}
# What vendors write of a handler: the app calls it in a script, nobody calls the app.
_CALLED = re.compile(
    r"\s*(this \w+ (is|gets) )?(called|sent|invoked|triggered|fired)"
    r" (when|whenever|before|after)\b",
    re.IGNORECASE,
)


def hook_reason(command: SdefCommand) -> str:
    """Return who calls a command in a script, so that no tool is made of it; empty for no hook.

    By the exact code of its event, as an `event`, or by what the dictionary says. A name says
    nothing: what reads like something that happens is a command in another app.
    """
    if command.code in _SENT:
        return _SENT[command.code]
    called = command.event or _CALLED.match(command.description)
    return "the app calls it in a script" if called else ""


def path_of_url(href: str) -> str:
    """Return the absolute path that a file URL names, in any of its spellings."""
    return unquote(re.sub(r"^file:(//(localhost)?)?(?=/)", "", href, flags=re.IGNORECASE))


def find_include(include: Include, includes: IncludeMap) -> tuple[str, Dictionary | None, str]:
    """Return the path that `include` names, its dictionary if it is at hand, and a warning.

    The standard suites step in for a file of their name in another place.
    """
    path = path_of_url(include.href)
    target = includes.get(path)
    if target is not None:
        return path, target, ""
    name = STANDARD.rpartition("/")[2]
    if path.rpartition("/")[2].lower() == name.lower() and STANDARD in includes:
        return STANDARD, includes[STANDARD], f"{path} was not found; {STANDARD} is used instead"
    return path, None, f"{path or 'an include without href'} was not found; its terms are missing"


def select_included(dictionary: Dictionary, include: Include) -> list[Suite] | list[Item]:
    """Return the suites or suite items of `dictionary` that `include` selects.

    Raises:
        ValueError: The xpointer is neither of the two that dictionaries have.
    """
    suites = [suite for suite in dictionary.suites if isinstance(suite, Suite)]
    if include.xpointer in ("", _WHOLE):
        return suites
    if len(include.xpointer) > _LONGEST or _FILTER.fullmatch(include.xpointer) is None:
        shown = ascii(include.xpointer[:60])
        raise ValueError(f"the xpointer {shown} is not of a form that IAC knows")
    left_out = set(_NAMED.findall(include.xpointer))
    items: list[Item] = [
        item
        for suite in suites
        for item in suite.items
        if not isinstance(item, Include)
        and not (isinstance(item, SdefCommand) and not item.event and item.name in left_out)
    ]
    return items


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedDictionary:
    """One dictionary with every name declared once.

    `inherits` and element types of `classes` are names of `classes`; `commands` holds neither
    events nor two rows of one name and code.
    """

    source: Source
    commands: tuple[SdefCommand, ...] = ()
    events: tuple[SdefCommand, ...] = ()
    classes: tuple[SdefClass, ...] = ()
    enumerations: tuple[Enumeration, ...] = ()
    records: tuple[RecordType, ...] = ()
    values: tuple[ValueType, ...] = ()


def resolve_dictionary(
    source: Source, includes: IncludeMap
) -> tuple[ResolvedDictionary, list[Diagnostic]]:
    """Return `source` resolved, and what had to be merged, guessed or left out."""
    notes = MergeNotes(source.dictionary.file)
    items = list(_expand_includes(source.dictionary, includes, notes, depth=0))
    commands = [i for i in items if isinstance(i, SdefCommand) and not i.event]
    for command in commands:
        if command.hidden:
            code, why = "hidden", f"{command.name} is hidden"
            if command.intent is not None:
                code, why = "left-out", f"{command.code}: {command.intent.left_out}"
            notes.add(command.line, code, f"command {why}; it gets no tool")
    resolved = ResolvedDictionary(
        source,
        tuple(merging.merge_commands(commands, notes)),
        tuple(i for i in items if isinstance(i, SdefCommand) and i.event),
        tuple(merge_classes((i for i in items if isinstance(i, SdefClass)), notes)),
        tuple(merging.merge_enumerations((i for i in items if isinstance(i, Enumeration)), notes)),
        tuple(merging.merge_records((i for i in items if isinstance(i, RecordType)), notes)),
        tuple(merging.merge_by_name((i for i in items if isinstance(i, ValueType)), notes)),
    )
    return resolved, notes.found


def _expand_includes(
    dictionary: Dictionary, includes: IncludeMap, notes: MergeNotes, depth: int
) -> Iterator[Item]:
    """Yield all items in order; those of a hidden suite are hidden."""
    for suite in dictionary.suites:
        if isinstance(suite, Include):
            yield from _included_items(suite, includes, notes, depth)
            continue
        for item in suite.items:
            expanded: Iterable[Item] = [item]
            if isinstance(item, Include):
                expanded = _included_items(item, includes, notes, depth)
            for one in expanded:
                if suite.hidden and not isinstance(one, Include):
                    one = replace(one, hidden=True)
                yield one


def _included_items(
    include: Include, includes: IncludeMap, notes: MergeNotes, depth: int
) -> Iterator[Item]:
    path, target, warning = find_include(include, includes)
    if warning:
        notes.add(include.line, "include", warning, "warning")
    if target is None or depth > 0:
        if target is not None:
            text = f"{path} is included by an included file; its terms are missing"
            notes.add(include.line, "include", text, "warning")
        return
    try:
        picked = select_included(target, include)
    except ValueError as error:
        notes.add(include.line, "include", f"{error}; its terms are missing", "warning")
        return
    notes.add(include.line, "included", f"{path}: {len(picked)} parts taken in")
    # Their own lines are of another file.
    here: tuple[Suite | Item, ...] = with_field(tuple(picked), "line", include.line)
    suites = tuple(part for part in here if isinstance(part, Suite))
    yield from _expand_includes(replace(target, suites=suites), includes, notes, depth + 1)
    for part in here:
        if not isinstance(part, Suite):
            yield part
