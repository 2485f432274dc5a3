"""Dictionaries changed at random: never an exception, and a loss costs what depends on it."""

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import golden
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from iac_gen.ir import Module
from iac_gen.model import Source
from iac_gen.pipeline import represent_app
from iac_gen.render import render_module
from iac_gen.verify_output import verify_module
from iac_gen.xml import LoadedDictionary, LoadError, parse_dictionary

PARSER = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True)
ODD = (
    "", " ", "text", "0x", "0x00000001", "yes", "list of", "list of list of a | b|", "|", "item",
    "application", "capp", "¶", "漢字", "a-b/c&d", "class", "\u202e", "x" * 300, "self", "9 lives",
)  # fmt: skip
Change = Callable[[random.Random, etree._Element], None]


@cache
def case(name: str) -> bytes:
    return (golden.CASES / name / golden.DICTIONARY).read_bytes()


# Files that are no XML until they are mended, if they can be.
CASES = [name for name in golden.names() if not name.startswith(("iterm", "radiant"))]


def tree(content: bytes) -> etree._Element:
    return etree.fromstring(content, PARSER)


def nodes(root: etree._Element) -> list[etree._Element]:
    return [node for node in root.iter(etree.Element) if node is not root]


def rename(chance: random.Random, root: etree._Element) -> None:
    node = chance.choice(nodes(root))
    key = chance.choice([*node.attrib, "name", "type", "code", "list", "hidden", "access"])
    node.set(key, chance.choice([*ODD, *(other.get(key, "") for other in nodes(root))]))


def duplicate(chance: random.Random, root: etree._Element) -> None:
    node = chance.choice(nodes(root))
    target = chance.choice([node.getparent(), *nodes(root)])
    if target is not None:
        target.append(etree.fromstring(etree.tostring(node, with_tail=False)))


def drop(chance: random.Random, root: etree._Element) -> None:
    node = chance.choice(nodes(root))
    parent = node.getparent()
    if parent is not None and len(nodes(root)) > 2:
        parent.remove(node)


def reorder(chance: random.Random, root: etree._Element) -> None:
    node = chance.choice([root, *nodes(root)])
    node[:] = chance.sample(list(node), len(node))


def lose_attribute(chance: random.Random, root: etree._Element) -> None:
    node = chance.choice(nodes(root))
    if node.attrib:
        del node.attrib[chance.choice(list(node.attrib))]


def retag(chance: random.Random, root: etree._Element) -> None:
    node = chance.choice(nodes(root))
    node.tag = chance.choice([other.tag for other in nodes(root)])


CHANGES: tuple[Change, ...] = (rename, duplicate, drop, reorder, lose_attribute, retag)


def changed(content: bytes, chance: random.Random) -> bytes:
    root = tree(content)
    for _ in range(chance.randint(1, 6)):
        if nodes(root):
            chance.choice(CHANGES)(chance, root)
    return etree.tostring(root, encoding="utf-8")


def made(content: bytes) -> Module | None:
    """Return the module of `content`, None where the file as a whole is none."""
    try:
        dictionary, found = parse_dictionary(content, "app.sdef")
    except LoadError as lost:
        assert lost.diagnostic.message
        return None
    source = Source(dictionary, "Example", "com.example.Example", "Example")
    return represent_app(
        LoadedDictionary(source, tuple(found)), "example", golden.standard(), []
    ).module


@given(st.sampled_from(CASES), st.randoms(use_true_random=False))
def test_a_changed_dictionary_still_becomes_a_module(name: str, chance: random.Random) -> None:
    module = made(changed(case(name), chance))
    if module is not None:
        assert verify_module(module, render_module(module)) == []


@settings(max_examples=settings.default.max_examples // 8)
@given(st.data())
def test_a_changed_real_dictionary_still_becomes_a_module(
    corpus: Path, data: st.DataObject
) -> None:
    files = [p for p in sorted((corpus / "sdef").glob("*.sdef")) if p.stat().st_size < 60_000]
    path = data.draw(st.sampled_from(files))
    made(changed(path.read_bytes(), data.draw(st.randoms(use_true_random=False))))


def without(content: bytes, wanted: etree._Element) -> bytes:
    root = tree(content)
    for node in root.iter(wanted.tag):
        if node.sourceline == wanted.sourceline and node.attrib == wanted.attrib:
            parent = node.getparent()
            assert parent is not None
            parent.remove(node)
            break
    return etree.tostring(root, encoding="utf-8")


@pytest.mark.sweep
@pytest.mark.parametrize("name", CASES)
def test_dropping_an_item_changes_only_what_depends_on_it(name: str) -> None:
    content = case(name)
    whole = made(content)
    if whole is None:
        return
    root = tree(content)
    for node in root.iter("command", "event"):
        less = made(without(content, node))
        if less is None:
            continue
        assert (less.classes, less.enums, less.records) == (
            whole.classes,
            whole.enums,
            whole.records,
        )
        event = node.get("code", "")
        if event.startswith("0x"):
            event = bytes.fromhex(event[2:]).decode("mac_roman")
        # `make` is an object tool where a command allows it; the rest never looks at a command.
        kept = {(t.event, t.term, t.op): t.parameters for t in whole.tools if t.event != event}
        assert {
            (t.event, t.term, t.op): t.parameters for t in less.tools if t.event != event
        } == kept
    for node in root.iter("property", "element", "enumerator"):
        less = made(without(content, node))
        if less is None:
            continue
        gone = node.get("name") or node.get("type")
        for term, row in whole.classes.items():
            if term not in less.classes:
                # A class that was made because an element named it.
                assert term in ("application", "item", "document", "window")
                continue
            assert [p for p in less.classes[term].properties if p.term != gone] == [
                p for p in row.properties if p.term != gone
            ]
        assert less.records.keys() == whole.records.keys()
        assert less.enums.keys() == whole.enums.keys()
