"""Resolve: includes expanded, overloads, extensions and self-inheriting classes merged.

Terms and codes are untouched; the order of first declaration is kept. What was merged and
what could not be resolved comes back as diagnostics.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias
from urllib.parse import unquote

from lxml import etree

from iac_gen import merge as merging
from iac_gen.merge import Notes, classes
from iac_gen.model import (
    KINDS,
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

_XPOINTER = re.compile(r"xpointer\((.*)\)", re.DOTALL)
_WHOLE = "xpointer(/dictionary/suite)"
# Real filters have one predicate with no other inside. An XPath takes a multiple of the
# skeleton's size for each level of nesting, so these bounds are bounds of time.
_LONGEST = 1000
_DEEPEST = 2
_INDEX = "index"


def path_of(href: str) -> str:
    """Return the absolute path that a file URL names, in any of its spellings."""
    return unquote(re.sub(r"^file:(//(localhost)?)?(?=/)", "", href, flags=re.IGNORECASE))


def find(include: Include, includes: IncludeMap) -> tuple[str, Dictionary | None, str]:
    """Return the path that `include` names, its dictionary if it is at hand, and a warning.

    The standard suites step in for a file of their name in another place.
    """
    path = path_of(include.href)
    target = includes.get(path)
    if target is not None:
        return path, target, ""
    name = STANDARD.rpartition("/")[2]
    if path.rpartition("/")[2].lower() == name.lower() and STANDARD in includes:
        return STANDARD, includes[STANDARD], f"{path} is not at hand; {STANDARD} steps in"
    return path, None, f"{path or 'an include without href'} is not at hand; its terms are missing"


def select(dictionary: Dictionary, include: Include) -> list[Suite] | list[Item]:
    """Return the suites or suite items of `dictionary` that `include` selects.

    Raises:
        ValueError: The xpointer is of no form that is understood.
    """
    found = _XPOINTER.fullmatch(include.xpointer or _WHOLE)
    if found is None or len(include.xpointer) > _LONGEST or _depth(found[1]) > _DEEPEST:
        raise ValueError(f"the xpointer {include.xpointer[:60]!r} is not understood")
    root, owners = _skeleton(dictionary)
    try:
        nodes = root.xpath(found[1])
    except (etree.XPathError, ValueError) as error:
        raise ValueError(f"the xpointer does not parse: {error}") from None
    if not isinstance(nodes, list):
        raise ValueError("the xpointer selects no elements")  # noqa: TRY004
    picked = [
        owners[int(node.get(_INDEX, "0"))] for node in nodes if isinstance(node, etree._Element)
    ]
    suites = [item for item in picked if isinstance(item, Suite)]
    if suites:
        return suites
    return [item for item in picked if not isinstance(item, Suite | Dictionary)]


def _depth(xpath: str) -> int:
    """Return how deep predicates stand in one another."""
    depth = deepest = 0
    for ch in xpath:
        depth += (ch == "[") - (ch == "]")
        deepest = max(deepest, depth)
    return deepest


def _skeleton(dictionary: Dictionary) -> tuple[etree._Element, list[Dictionary | Suite | Item]]:
    """Return a tree of tags, names and codes; each node's index points into the list."""
    owners: list[Dictionary | Suite | Item] = [dictionary]
    root = etree.Element("dictionary", {_INDEX: "0"})

    def add(parent: etree._Element, tag: str, owner: Suite | Item) -> etree._Element:
        owners.append(owner)
        node = etree.SubElement(parent, tag, {_INDEX: str(len(owners) - 1)})
        for name in ("name", "code", "extends", "id"):
            value = getattr(owner, name, "")
            # A code given in hex may hold characters that XML cannot.
            if value and value.isprintable():
                node.set(name, value)
        return node

    for suite in dictionary.suites:
        if isinstance(suite, Suite):
            parent = add(root, "suite", suite)
            for item in suite.items:
                if not isinstance(item, Include):
                    add(parent, _tag(item), item)
    return root, owners


def _tag(item: Item) -> str:
    if isinstance(item, SdefCommand) and item.event:
        return "event"
    if isinstance(item, SdefClass) and item.extends:
        return "class-extension"
    return KINDS[type(item)].replace(" ", "-")


@dataclass(frozen=True, slots=True)
class Resolved:
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


def resolve(source: Source, includes: IncludeMap) -> tuple[Resolved, list[Diagnostic]]:
    """Return `source` resolved, and what had to be merged, guessed or left out."""
    notes = Notes(source.dictionary.file)
    items = list(_expanded(source.dictionary, includes, notes, depth=0))
    commands = [i for i in items if isinstance(i, SdefCommand) and not i.event]
    for command in commands:
        if command.hidden:
            text = f"command {command.name} is hidden; no tool is made of it"
            notes.add(command.line, "hidden", text)
    resolved = Resolved(
        source,
        tuple(merging.commands(commands, notes)),
        tuple(i for i in items if isinstance(i, SdefCommand) and i.event),
        tuple(classes((i for i in items if isinstance(i, SdefClass)), notes)),
        tuple(merging.enumerations((i for i in items if isinstance(i, Enumeration)), notes)),
        tuple(merging.records((i for i in items if isinstance(i, RecordType)), notes)),
        tuple(merging.values((i for i in items if isinstance(i, ValueType)), notes)),
    )
    return resolved, notes.found


def _expanded(
    dictionary: Dictionary, includes: IncludeMap, notes: Notes, depth: int
) -> Iterator[Item]:
    """Yield all items in order; those of a hidden suite are hidden."""
    for suite in dictionary.suites:
        if isinstance(suite, Include):
            yield from _included(suite, includes, notes, depth)
            continue
        for item in suite.items:
            found = _included(item, includes, notes, depth) if isinstance(item, Include) else [item]
            for one in found:
                yield (
                    replace(one, hidden=True)
                    if suite.hidden and not isinstance(one, Include)
                    else one
                )


def _included(include: Include, includes: IncludeMap, notes: Notes, depth: int) -> Iterator[Item]:
    path, target, warning = find(include, includes)
    if warning:
        notes.add(include.line, "include", warning, "warning")
    if target is None or depth > 0:
        if target is not None:
            text = f"{path} is included by an included file; its terms are missing"
            notes.add(include.line, "include", text, "warning")
        return
    try:
        picked = select(target, include)
    except ValueError as error:
        notes.add(include.line, "include", f"{error}; its terms are missing", "warning")
        return
    notes.add(include.line, "included", f"{path}: {len(picked)} parts taken in")
    # Their own lines are of another file.
    here: tuple[Suite | Item, ...] = with_field(tuple(picked), "line", include.line)
    suites = tuple(part for part in here if isinstance(part, Suite))
    yield from _expanded(replace(target, suites=suites), includes, notes, depth + 1)
    for part in here:
        if not isinstance(part, Suite):
            yield part
