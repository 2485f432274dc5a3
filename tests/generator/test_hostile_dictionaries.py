"""Hostile dictionaries beyond the samples: any name in any place, masses, doubles.

Each name is a command, parameter, class, ... of an app and an action, parameter, entity, ... of its
intents; the tools import, and each call arrives with its arguments.
"""

import ast
import builtins
import json
import keyword
import plistlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from dictionaries import ANY_TEXT, DICTIONARIES, HOSTILE
from golden import standard
from hypothesis import given
from hypothesis import strategies as st
from making import imported, inputs, put, read, sdef, source
from metadata import TEXT, action, content, loaded, parameter, value

from iac_gen import object_api
from iac_gen.model import Dictionary
from iac_gen.naming import app_key
from iac_gen.pipeline import BuildInputs, build_folder
from iac_gen.text import sanitize_dictionary
from iac_gen.verify_output import verify_source
from iac_runtime import objects, tool
from iac_runtime.tool import CALL
from iac_runtime.tools.catalogue import load_module
from iac_runtime.tools.lock import input_keys_of

BUILTIN = (
    "__import__ APP call tool match case type _ self cls print exec eval None True False import"
    " class def return lambda ListOf Literal Final Param Ref Schema ClassName PropertyName SCHEMAS"
    " CLASSES ENUMS RECORDS UNVERIFIED __all__ __doc__ __name__ __class__ target element of where"
    " properties at get set list count make str int float bool Mapping Any App Enum Record Element"
    " activate launch quit running async await constructor prototype __proto__ toString"
).split()
HOMOGLYPHS = ("f\u0456nder count", "finder count", "\uff46inder count", "\U0001d41finder count")


def made(items: str, folder: Path) -> str:
    """Build a dictionary, prove and import its module, and return its text."""
    files, report = build_folder(inputs(source(read(sdef(items)))))
    assert not report.failed, [str(one) for one in report.failed]
    text = files["diary.py"]
    assert list(verify_source(text)) == []
    with imported(text, "diary", folder):
        pass
    return text


def functions(text: str) -> list[str]:
    return [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]


def commands(names: Sequence[str]) -> str:
    return "".join(
        f'<command name={quoteattr(name)} code="diar{n:04}"/>' for n, name in enumerate(names)
    )


@pytest.mark.sweep
@pytest.mark.parametrize("with_classes", [False, True])
def test_names_that_mean_something_to_python_do_no_harm(with_classes: bool, tmp_path: Path) -> None:
    parts = "".join(
        f'<parameter name="{name}" code="p{n:03}" type="text" optional="yes"/>'
        for n, name in enumerate(BUILTIN)
    )
    rows = "".join(
        f'<property name="{name}" code="q{n:03}" type="{name}"/>' for n, name in enumerate(BUILTIN)
    )
    held = "".join(f'<element type="{name}"/>' for name in BUILTIN)
    classes = "".join(
        f'<class name="{name}" code="c{n:03}">{rows}{held}</class>'
        for n, name in enumerate(BUILTIN[:8])
    )
    values = "".join(
        f'<enumerator name="{name}" code="v{n:03}"/>' for n, name in enumerate(BUILTIN)
    )
    enums = "".join(
        f'<enumeration name="{name}" code="e{n:03}">{values}</enumeration>'
        f'<record-type name="{name} r" code="r{n:03}">{rows}</record-type>'
        for n, name in enumerate(BUILTIN[-8:])
    )
    everything = f'<command name="all" code="diaraall">{parts}</command>'
    items = commands(BUILTIN) + everything + enums + (classes if with_classes else "")
    names = functions(made(items, tmp_path))
    assert len(set(names)) == len(names) >= len(BUILTIN)
    assert not [name for name in names if keyword.iskeyword(name)]
    assert not {"tool", "APP", "str", "int", "float", "bool"} & set(names)


def test_names_that_look_alike_are_told_apart_in_ascii(tmp_path: Path) -> None:
    names = functions(made(commands(HOMOGLYPHS), tmp_path))
    assert len(set(names)) == len(HOMOGLYPHS)
    assert all(name.isascii() for name in names)


@pytest.mark.sweep
@pytest.mark.parametrize("size", [64, 65, 300, 5000])
def test_long_names_stay_within_every_bound(size: int, tmp_path: Path) -> None:
    long = [("word " * 1000)[: size - 1].strip() + str(n) for n in range(4)]
    rows = "".join(
        f'<class name="{name}" code="c00{n}" plural="{name}s">'
        f'<property name="{name}" code="p00{n}" type="{name}"/><element type="{long[0]}"/></class>'
        f'<enumeration name="e {name}" code="e00{n}"><enumerator name="{name}" code="v00{n}"/>'
        f'</enumeration><command name="{name}" code="diar000{n}">'
        f'<direct-parameter type="{name}"/>'
        f'<parameter name="{name}" code="para" type="e {name}"/><result type="{name}"/></command>'
        for n, name in enumerate(long)
    )
    text = made(rows, tmp_path)
    assert len(functions(text)) >= 4
    assert max(len(name) for name in functions(text)) <= 64


def test_tools_of_long_names_stay_apart_when_a_client_cuts_them() -> None:
    names = [f"do the very same long thing {n} with one and the same ending" for n in range(60)]
    files, report = build_folder(inputs(source(read(sdef(commands([*names, "in", "in_", "as"]))))))
    assert not report.failed
    tools = list(json.loads(files["catalogue.json"])["tools"])
    assert len({name[:30] + name[-30:] for name in tools}) == len(tools) == 63
    assert max(map(len, tools)) <= 40


def test_quotes_and_escapes_in_codes_stay_codes(tmp_path: Path) -> None:
    codes = ['"""\\', "'''\\", '\\\\\\"', "{{}}", "{%x%", "# x\\", "-1-1", "    ", "\\n\\n"]
    rows = "".join(
        f'<class name="row {n}" code={quoteattr(code)}>'
        f'<property name="p" code={quoteattr(code)} type="text"/></class>'
        f'<enumeration name="e {n}" code={quoteattr(code)}>'
        f"<enumerator name={quoteattr(code)} code={quoteattr(code)}/></enumeration>"
        f'<command name="go {n}" code={quoteattr(code * 2)}>'
        f'<direct-parameter type="e {n}"/></command>'
        for n, code in enumerate(codes)
    )
    text = made(rows, tmp_path)
    found = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
    assert {*codes, *(code * 2 for code in codes)} <= found


def test_everything_twice_and_thrice_is_there_once(tmp_path: Path) -> None:
    items = (
        '<class name="row" code="rowr"><property name="p" code="pppp" type="mood"/>'
        '<property name="p" code="pppp" type="text"/><element type="row"/></class>'
        '<enumeration name="mood" code="mood"><enumerator name="glad" code="glad"/>'
        '<enumerator name="glad" code="glad"/><enumerator name="g\u200blad" code="othr"/>'
        '</enumeration><record-type name="r" code="reco"><property name="p" code="pppp"'
        ' type="mood"/><property name="p" code="pqqq" type="mood"/></record-type>'
        '<command name="go" code="diargogo"><direct-parameter type="row"/>'
        '<parameter name="by" code="byby" type="mood"/><parameter name="by" code="byby" type="r"/>'
        '<parameter name="by" code="bzbz" type="r"/><result type="mood"/></command>'
    )
    once, thrice = made(items, tmp_path), made(items * 3, tmp_path)
    assert functions(once) == functions(thrice)
    for node in ast.walk(ast.parse(thrice)):
        if isinstance(node, ast.Dict):
            keys = [ast.dump(key) for key in node.keys if key is not None]
            assert len(set(keys)) == len(keys)


@pytest.mark.slow
def test_ten_thousand_suites_and_a_thousand_commands_of_one_name_end_soon(tmp_path: Path) -> None:
    suites = "</suite>" + '<suite name="S" code="diar"/>' * 10_000 + '<suite name="T" code="diar">'
    same = "".join(f'<command name="go" code="dia{n:05}"/>' for n in range(300))
    names = functions(made(suites + same, tmp_path))
    assert len(set(names)) == 300


@pytest.mark.sweep
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_in_every_attribute_are_harmless(text: str, tmp_path: Path) -> None:
    said = quoteattr("".join(ch for ch in text if ch >= " " and not 0xD800 <= ord(ch) <= 0xDFFF))
    items = (
        f"<class name={said} code='rowr' id={said} plural={said} inherits={said}>"
        f"<property name={said} code='pppp' type={said} access={said} hidden={said}/>"
        f"<element type={said}/><responds-to command={said}/></class>"
        f"<class-extension extends={said} id={said}/><value-type name={said} code='valu'/>"
        f"<command name={said} code='diargogo' id={said}><direct-parameter type={said}/>"
        f"<parameter name={said} code='para' type={said} optional={said}/><result type={said}/>"
        f"<synonym name={said}/><access-group identifier={said}/></command>"
        f"<enumeration name={said} code='enum' inline={said}>"
        f"<enumerator name={said} code='valu'/></enumeration><command name='z' code='diarzzzz'/>"
    )
    made(items, tmp_path)


@given(DICTIONARIES)
def test_any_dictionary_becomes_a_module_that_can_be_imported(
    tmp_path_factory: pytest.TempPathFactory, dictionary: Dictionary
) -> None:
    clean, _ = sanitize_dictionary(dictionary)
    files, report = build_folder(inputs(source(clean)))
    assert not report.failed, [str(one) for one in report.failed]
    text = files["diary.py"]
    with imported(text, "diary", tmp_path_factory.getbasetemp()):
        pass
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Dict):
            keys = [ast.dump(key) for key in node.keys if key is not None]
            assert len(set(keys)) == len(keys)


@given(ANY_TEXT | st.sampled_from(HOSTILE), ANY_TEXT | st.sampled_from(HOSTILE))
def test_no_name_leads_out_of_the_output_folder(name: str, identifier: str) -> None:
    key = app_key(name, identifier)
    assert re.fullmatch(r"[a-z][a-z0-9_]*", key)
    assert not keyword.iskeyword(key)
    assert Path("out", f"{key}.py").resolve().parent == Path("out").resolve()


@pytest.mark.sweep
@pytest.mark.parametrize(
    "name", ["../../x", "/etc/passwd", "a\\b", "C:x", "..", ".", "", "\u202e/", "con", "__init__"]
)
def test_no_app_is_written_outside_or_over_another_file(name: str) -> None:
    files, report = build_folder(
        inputs(source(read(sdef()), name), source(read(sdef()), f"{name}x"))
    )
    assert not report.failed
    assert all(re.fullmatch(r"[a-z_][a-z0-9_]*\.(py|json|jsonl|lock)", file) for file in files)
    assert len([file for file in files if file.endswith(".py")]) == 5


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
