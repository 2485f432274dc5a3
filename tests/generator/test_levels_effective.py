"""What one call needs, from the level to the ceiling of a tool: decided from its arguments."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from making import build, imported, read, sdef, source

from iac_gen.classify import judge as classify_setters
from iac_runtime.language import compose
from iac_runtime.language.compose import effective_level
from iac_runtime.tool import Level
from iac_runtime.tools.tables import Operation, Tables, tables_of

ITEMS = """
<class name="application" code="capp">
  <property name="frontmost" code="pisf" type="boolean"/>
  <element type="entry"/>
  <element type="mail account"/>
  <element type="mail rule"/>
</class>
<class name="item" code="cobj">
  <property name="properties" code="pALL" type="record"/>
</class>
<class name="entry" code="entr" plural="entries" inherits="item">
  <property name="body" code="body" type="text"/>
  <property name="mood" code="mood" type="text"/>
  <property name="visible" code="pvis" type="boolean"/>
</class>
<class name="mail account" code="zzac" inherits="item">
  <property name="name" code="pnam" type="text"/>
  <property name="password" code="macp" type="text"/>
</class>
<class name="mail rule" code="zzru" inherits="item">
  <property name="name" code="pnam" type="text"/>
</class>
<command name="make" code="corecrel"><parameter name="new" code="kocl" type="type"/></command>
<command name="copy out" code="coreclon">
  <direct-parameter><type type="specifier"/><type type="specifier" list="yes"/></direct-parameter>
  <parameter name="with properties" code="prdt" type="record" optional="yes"/>
</command>
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    text = build(source(read(sdef(ITEMS))))["diary.py"]
    with imported(text, "diary", tmp_path_factory.mktemp("built")) as made:
        yield tables_of(made)


def needed(tables: Tables, tool: str, arguments: Mapping[str, Any]) -> Level:
    spec = tables.tools[tool]
    assert (spec.level, spec.ceiling) != ("DANGEROUS", "DANGEROUS")
    return effective_level(Operation(tool, tables, spec), arguments, str(Path.home()))


@pytest.mark.parametrize(
    ("target", "properties", "expected"),
    [
        ("entries[0]", None, "MODIFY"),
        ("entries[0]", {"mood": "glad"}, "MODIFY"),
        ("entries[0]", {"body": "its own"}, "MODIFY"),
        ("mailAccounts[0]", {"password": "x"}, "DANGEROUS"),
        ("mailAccounts[0]", {"properties": {"password": "x"}}, "DANGEROUS"),
        ("mailRules[0]", None, "DANGEROUS"),
        (["entries[0]", "mailRules[0]"], None, "DANGEROUS"),
        (["entries[0]", "entries[1]"], None, "MODIFY"),
        ("entries[0]", {"unheard of": 1}, "DANGEROUS"),
    ],
)
def test_a_copy_needs_what_making_it_with_the_same_properties_needs(
    tables: Tables, target: str | list[str], properties: Mapping[str, Any] | None, expected: Level
) -> None:
    arguments = {"target": target, "with_properties": properties}
    assert tables.tools["copy_out"].ceiling == "DANGEROUS"
    assert needed(tables, "copy_out", arguments) == expected


@pytest.mark.parametrize(
    ("target", "properties", "expected"),
    [
        ("entries[0]", {"visible": True}, "SAFE"),
        ("entries[0]", {"mood": "glad"}, "MODIFY"),
        ("entries[0]", {"visible": True, "mood": "glad"}, "MODIFY"),
        ("entries[0]", {"body": "new"}, "DANGEROUS"),
        ("mailAccounts[0]", {"name": "x"}, "MODIFY"),
        ("mailAccounts[0]", {"name": "x", "password": "y"}, "DANGEROUS"),
        ("entries[0]", {"unheard of": 1}, "DANGEROUS"),
        ("entries[0]", {"properties": {"mood": "glad"}}, "MODIFY"),
        ("entries[0]", {"properties": {"visible": True}}, "SAFE"),
        ("mailAccounts[0]", {"properties": {"password": "y"}}, "DANGEROUS"),
        ("mailAccounts[0]", {"properties": {"properties": {"password": "y"}}}, "DANGEROUS"),
        ("entries[0]", {"properties": {"unheard of": 1}}, "DANGEROUS"),
        ("entries[0]", {"properties": "no record"}, "DANGEROUS"),
    ],
)
def test_set_needs_the_highest_of_the_properties_it_names(
    tables: Tables, target: str, properties: Mapping[str, Any], expected: Level
) -> None:
    assert needed(tables, "set", {"target": target, "properties": properties}) == expected


@pytest.mark.parametrize(
    ("element", "properties", "expected"),
    [
        ("entry", None, "MODIFY"),
        ("entry", {"mood": "glad", "body": "text of a new one"}, "MODIFY"),
        ("entry", {"properties": {"body": "text of a new one"}}, "MODIFY"),
        ("entry", {"unheard of": 1}, "DANGEROUS"),
        ("mail account", {"name": "x"}, "DANGEROUS"),
        ("mail rule", {"name": "x"}, "DANGEROUS"),
        ("no such class", {}, "DANGEROUS"),
    ],
)
def test_make_needs_the_highest_of_its_class_and_properties(
    tables: Tables, element: str, properties: Mapping[str, Any] | None, expected: Level
) -> None:
    arguments = {"element": element, "properties": properties}
    assert needed(tables, "make", arguments) == expected


def test_build_and_call_agree_on_what_whole_contents_are() -> None:
    assert classify_setters.CONTENTS == compose.CONTENTS
