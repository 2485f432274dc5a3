"""Any name in any place: keywords, builtins, dunders, and every name that our own code uses.

Each is a command, parameter, class, ... of an app and an action, parameter, entity, ... of its
intents; the tools import, and each call arrives with its arguments.
"""

import ast
import builtins
import json
import keyword
import plistlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from golden import standard
from making import inputs, put, read, sdef, source
from metadata import TEXT, action, content, loaded, parameter, value

from iac_gen import object_api
from iac_gen.pipeline import BuildInputs, build_folder
from iac_runtime import objects, tool
from iac_runtime.tool import CALL
from iac_runtime.tools.catalogue import load_module
from iac_runtime.tools.lock import input_keys_of

CHUNKS = 12
OURS = frozenset({"UUID", "AppIntentDescriptor", CALL})
"""Keys that a shortcut has itself."""


@cache
def names() -> list[str]:
    """Return some 1,400 names: Python's, the contract's, the templates', and all arguments."""
    root = Path(__file__).parents[2]
    found = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *dir(object), *dir(type)}
    found |= {*tool.__all__, *objects.__all__, *dir(objects.TextObject), *dir(objects.Items)}
    for path in (root / "templates").rglob("*.jinja"):
        found |= {*re.findall(r"[A-Za-z_]\w*", path.read_text())}
    for folder in ("generator", "runtime"):
        for path in (root / folder).rglob("*.py"):
            tree = ast.walk(ast.parse(path.read_text()))
            found |= {node.arg for node in tree if isinstance(node, ast.arg)}
    # Of a name without letters nothing can be made.
    return sorted(name for name in found | OURS | {"WFDictionaryKey"} if name.strip("_"))


def chunk(number: int, shift: int = 0) -> list[str]:
    """Return every twelfth name; with `shift` the neighbours of those."""
    known = names()
    at = range(number, len(known), CHUNKS)
    return [known[(place + shift) % len(known)] for place in at]


def code(number: int) -> str:
    return "".join(chr(97 + number // 26**place % 26) for place in range(4))


def dictionary(number: int) -> bytes:
    """Return a dictionary in which each name of a chunk stands in each place."""
    rows = []
    shifted = zip(*(chunk(number, shift) for shift in range(5)), strict=True)
    for place, (name, other, third, fourth, fifth) in enumerate(shifted):
        own, near, far, more, last = map(quoteattr, (name, other, third, fourth, fifth))
        four = code(place)
        rows.append(
            f'<class name={own} code="{four}" plural={near}><element type={own}/>'
            f'<property name={own} code="{four}" type="text"/>'
            f'<property name={more} code="{code(place + 9)}" type={own}/></class>'
            f'<enumeration name={far} code="{four}"><enumerator name={own} code="{four}"/>'
            f'<enumerator name={near} code="{four[::-1]}"/></enumeration>'
            f'<record-type name={last} code="{four}"><property name={own} code="{four}"'
            f' type={far}/><property name={near} code="{four[::-1]}" type="date"/></record-type>'
            f'<command name={own} code="diar{four}"><direct-parameter type={near}/>'
            f'<parameter name={own} code="aaaa" type={last}/>'
            f'<parameter name={near} code="bbbb" type={far} optional="yes"/>'
            f"<result type={own}/></command>"
        )
    held = "".join(f"<element type={quoteattr(name)}/>" for name in chunk(number))
    make = '<command name="make" code="corecrel"><parameter name="new" code="kocl" type="type"/>'
    app = f'<class name="application" code="capp"><element type="application"/>{held}</class>'
    suite = f"name={quoteattr(names()[number])} code='diar'"
    return sdef(f"{app}{make}</command>{''.join(rows)}", suite)


def intents(number: int) -> bytes:
    """Return metadata in which each name of a chunk stands in each place."""
    actions, entities, enums = [], {}, []
    shifted = zip(*(chunk(number, shift) for shift in range(3)), strict=True)
    for name, other, third in shifted:
        entity, mood = value("entity", typeName=name), value("linkEnumeration", identifier=other)
        rows = [parameter(name), parameter(other, mood, isOptional=True), parameter(third, entity)]
        actions += [action(name, *rows[:2], outputType=entity), action(f"{name}.more", *rows)]
        held = [{"identifier": one, "valueType": TEXT} for one in (name, third)]
        entities[name] = {"typeName": name, "properties": held}
        enums.append({"identifier": other, "cases": [{"identifier": name}]})
    return content(*actions, entities=entities, enums=enums)


def call_all(files: Mapping[str, str], folder: Path, patch: pytest.MonkeyPatch) -> int:
    """Import the tools of a build and call each with all its arguments; return how many."""
    put(folder, files)
    tools = json.loads(files["catalogue.json"])["tools"].values()
    for row in tools:
        module = load_module(folder, row["module"])
        schema = json.loads(module.SCHEMAS[row["function"]].input)
        arrived: list[Any] = []
        patch.setattr(tool, "_dispatch", lambda *call, to=arrived: to.extend(call))
        function = getattr(module, row["function"])
        code = function.__code__
        given = dict.fromkeys(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], 1)
        assert {name.rstrip("_") for name in given} == schema["properties"].keys()
        assert len(given) == len(schema["properties"])
        function(**given)
        assert arrived == [function, given]
    return len(tools)


@pytest.mark.property
@pytest.mark.sweep(6)
@pytest.mark.parametrize("number", range(CHUNKS))
def test_any_name_may_stand_in_any_place_of_a_dictionary(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, report = build_folder(inputs(source(read(dictionary(number)))))
    assert report.lost == []
    assert call_all(files, tmp_path, monkeypatch) >= len(chunk(number))


@pytest.mark.property
@pytest.mark.sweep(6)
@pytest.mark.parametrize("number", range(CHUNKS))
def test_any_name_may_stand_in_any_place_of_intents(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, report = build_folder(BuildInputs([loaded(intents(number))], standard(), []))
    assert report.lost == []
    assert call_all(files, tmp_path, monkeypatch) >= 2 * len(chunk(number))
    made = plistlib.loads(files["diary_intents.plist"].encode())
    for name, other in zip(chunk(number), chunk(number, 1), strict=True):
        if name in OURS:
            assert name not in made
            continue
        given = action_of(made[name])
        assert given.keys() - {"UUID", "AppIntentDescriptor"} == {name, other} - OURS
        assert given["AppIntentDescriptor"]["AppIntentIdentifier"] == name
        assert set(input_keys_of(made[name])) == {name, other} - OURS


def action_of(workflow: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of an app's action in the branch of a shortcut that has all."""
    steps = (row["WFWorkflowActionParameters"] for row in workflow["WFWorkflowActions"])
    return next(row for row in steps if "AppIntentDescriptor" in row)


def test_the_generator_knows_the_names_of_every_typed_object() -> None:
    of_object = {*dir(objects.TextObject), *dir(objects.Replaceable)}
    assert {name for name in of_object if name[0] != "_"} == object_api._OBJECT_API
    assert {name for name in {*of_object, *dir(objects.Items)} if name[0] != "_"} == object_api._API
