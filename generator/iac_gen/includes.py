"""Includes: what an `xi:include` of a dictionary selects, without an XInclude processor.

A generic processor reads any file that a hostile dictionary names. Here an include is a key
into a map of known dictionaries, and its XPath runs over a bare skeleton of them.
"""

import re
from collections.abc import Mapping
from typing import TypeAlias
from urllib.parse import unquote

from lxml import etree

from iac_gen.model import Class, Command, Dictionary, Enumeration, Include, Item, RecordType, Suite

__all__ = ["STANDARD", "IncludeMap", "find", "path_of", "select"]

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
    if isinstance(item, Command):
        return "event" if item.event else "command"
    if isinstance(item, Class):
        return "class-extension" if item.extends else "class"
    if isinstance(item, Enumeration):
        return "enumeration"
    return "record-type" if isinstance(item, RecordType) else "value-type"
