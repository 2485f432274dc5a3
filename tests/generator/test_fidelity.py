"""A second reading of every real dictionary, independent of ours: nothing is lost in silence.

What xml.etree finds in a file must stand in the tables of the built module with its code, or be
named in a diagnostic.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from golden import standard

from iac_gen.ir import Module
from iac_gen.model import SdefCommand, Source
from iac_gen.pipeline import represent_app
from iac_gen.resolve import hook_reason
from iac_gen.xml import LoadedDictionary, load_dictionary

FILES = 60
# Parameters that the object tools carry under names of their own.
OWN = {"kocl", "insh", "prdt", "data"}


class Row(NamedTuple):
    """What a dictionary says: a kind, the owner, the name and the code as MacRoman text."""

    kind: str
    owner: str
    name: str
    code: str


def words(node: ElementTree.Element, key: str) -> str:
    return " ".join(node.get(key, "").split())


def code(node: ElementTree.Element) -> str:
    text = node.get("code", "")
    return bytes.fromhex(text[2:]).decode("mac_roman") if text.startswith("0x") else text


def within(node: ElementTree.Element, *tags: str) -> Iterator[ElementTree.Element]:
    """Yield descendants with one of `tags`, looked for through collectors only."""
    for child in node:
        if child.tag in tags:
            yield child
        elif child.tag.endswith("s") and not child.get("name"):
            yield from within(child, *tags)


def rows(root: ElementTree.Element) -> Iterator[Row]:
    ids = {words(one, "id"): words(one, "name") for one in root.iter("class")}
    for one in root.iter("class"):
        ids |= {words(other, "name"): words(one, "name") for other in one.iter("synonym")}
    for node in root.iter():
        name, number = words(node, "name"), code(node)
        if node.tag in ("class", "class-extension"):
            extended = words(node, "extends")
            owner = name or ids.get(extended, extended)
            if name:
                yield Row("class", "", name, number)
            for child in within(node, "property"):
                yield Row("property", owner, words(child, "name"), code(child))
            for child in within(node, "contents"):
                known = words(child, "name") or "contents", code(child) or "pcnt"
                yield Row("property", owner, *known)
            for child in within(node, "element"):
                kind = words(child, "type")
                yield Row("element", owner, ids.get(kind, kind), "")
        elif node.tag == "enumeration":
            yield Row("enumeration", "", name, number)
            for child in within(node, "enumerator"):
                yield Row("enumerator", name, words(child, "name"), code(child))
        elif node.tag == "record-type":
            yield Row("record", "", name, number)
            for child in within(node, "property"):
                yield Row("field", name, words(child, "name"), code(child))


def commands(root: ElementTree.Element) -> Iterator[Row]:
    for suite in root.iter("suite"):
        for node in suite.iter("command"):
            if "yes" in (suite.get("hidden"), node.get("hidden")):
                continue
            yield Row("command", "", words(node, "name"), code(node))
            for child in within(node, "parameter"):
                if child.get("hidden") != "yes":
                    yield Row("parameter", code(node), words(child, "name"), code(child))
            for _ in within(node, "direct-parameter"):
                yield Row("parameter", code(node), "", "----")


def stands(row: Row, module: Module) -> bool:
    """Say whether a table of `module` has the row."""
    match row.kind:
        case "class":
            return row.name in module.classes and module.classes[row.name].code == row.code
        case "property":
            held = module.classes.get(row.owner)
            return held is not None and (row.name, row.code) in {p[:2] for p in held.properties}
        case "element":
            held = module.classes.get(row.owner)
            return held is not None and any(
                row.name in (e.term, module.classes[e.term].code) for e in held.elements
            )
        case "enumeration":
            return row.name in module.enums
        case "enumerator":
            return (row.name, row.code) in module.enums[row.owner]
        case "record":
            return module.records[row.name].code == row.code
        case "field":
            return (row.name, row.code) in {p[:2] for p in module.records[row.owner].properties}
        case "command":
            return any(tool.event == row.code for tool in module.tools)
    tools = [tool for tool in module.tools if tool.event == row.owner]
    known = {(p.row.term, p.row.code) for tool in tools for p in tool.parameters}
    object_tool = any(tool.op != "command" for tool in tools)
    return (row.name, row.code) in known or (object_tool and row.code in {*OWN, "----"})


def lost(path: Path) -> list[Row]:
    """Return what the file says and neither the module nor a diagnostic has."""
    dictionary, found = load_dictionary(path)
    source = Source(dictionary, path.stem, "com.example.x", path.stem)
    made = represent_app(LoadedDictionary(source, tuple(found)), "key", standard(), [])
    told = [one.message for one in made.diagnostics]
    # A hook is told with its name; its parameters go with it.
    items = [one for one in dictionary.own_items() if isinstance(one, SdefCommand)]
    hooks = {one.code for one in items if hook_reason(one)}
    root = ElementTree.fromstring(path.read_bytes())
    every: Sequence[Row] = [*rows(root), *commands(root)]
    assert every or "include" in path.read_text()
    return [
        row
        for row in every
        if not stands(row, made.module)
        and not any(row.name in text and row.owner in text for text in told)
        and row.owner not in hooks
    ]


def test_nothing_that_a_real_dictionary_says_is_lost_in_silence(corpus: Path) -> None:
    paths = sorted((corpus / "sdef").glob("*.sdef"))
    assert len(paths) == FILES
    assert {path.name: found for path in paths if (found := lost(path))} == {}


def test_the_second_reading_would_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "app.sdef"
    path.write_text(
        '<dictionary><suite name="a" code="aaaa"><class name="application" code="capp">'
        '<property name="lost" code="lost" type="text"/></class></suite></dictionary>'
    )
    assert lost(path) == []
    monkeypatch.setattr("iac_gen.merge.merge_properties", lambda *_: ())
    assert lost(path) == [Row("property", "application", "lost", "lost")]
