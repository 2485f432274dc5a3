"""Includes: what an `xi:include` of a dictionary selects, without an XInclude processor.

A generic processor reads any file that a hostile dictionary names. Here an include is a key
into a map of known dictionaries, and its XPath runs over a bare skeleton of them.
"""

import re
from collections.abc import Mapping
from typing import TypeAlias

from lxml import etree

from iac_gen.model import Class, Command, Dictionary, Enumeration, Include, Item, RecordType, Suite

__all__ = ["STANDARD", "IncludeMap", "path_of", "select"]

STANDARD = "/System/Library/ScriptingDefinitions/CocoaStandard.sdef"
"""The standard suites, which about a third of all dictionaries include."""

IncludeMap: TypeAlias = Mapping[str, Dictionary]
"""Absolute path of an included file -> its dictionary."""

_XPOINTER = re.compile(r"xpointer\((.*)\)", re.DOTALL)
_LONGEST = 2000
_INDEX = "index"


def path_of(href: str) -> str:
    """Return the absolute path that a file URL names, in either of its two spellings."""
    return re.sub(r"^file://(localhost)?(?=/)", "", href)


def select(dictionary: Dictionary, include: Include) -> list[Suite] | list[Item]:
    """Return the suites or suite items of `dictionary` that `include` selects.

    Raises:
        ValueError: The xpointer is of no form that is understood.
    """
    found = _XPOINTER.fullmatch(include.xpointer or "xpointer(/dictionary/suite)")
    if found is None or len(include.xpointer) > _LONGEST:
        raise ValueError(f"the xpointer {include.xpointer[:60]!r} is not understood")
    root, owners = _skeleton(dictionary)
    try:
        nodes = root.xpath(found[1])
    except etree.XPathError as error:
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


def _skeleton(dictionary: Dictionary) -> tuple[etree._Element, list[Dictionary | Suite | Item]]:
    """Return a tree of tags, names and codes; each node's index points into the list."""
    owners: list[Dictionary | Suite | Item] = [dictionary]
    root = etree.Element("dictionary", {_INDEX: "0"})

    def add(parent: etree._Element, tag: str, name: str, owner: Suite | Item) -> etree._Element:
        owners.append(owner)
        return etree.SubElement(parent, tag, {"name": name, _INDEX: str(len(owners) - 1)})

    for suite in dictionary.suites:
        if isinstance(suite, Suite):
            parent = add(root, "suite", suite.name, suite)
            for item in suite.items:
                if not isinstance(item, Include):
                    named = isinstance(item, Class) and item.extends
                    add(parent, _tag(item), named or item.name, item)
    return root, owners


def _tag(item: Item) -> str:
    if isinstance(item, Command):
        return "event" if item.event else "command"
    if isinstance(item, Class):
        return "class-extension" if item.extends else "class"
    if isinstance(item, Enumeration):
        return "enumeration"
    return "record-type" if isinstance(item, RecordType) else "value-type"
