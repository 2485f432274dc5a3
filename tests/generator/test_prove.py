"""The proof: a module that is more than tables and delegating functions is not written."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builds import Built
from making import build, inputs, module, source

from iac_gen import pipeline
from iac_gen import verify_output as prove_imports_module
from iac_gen.pipeline import build_folder
from iac_gen.render import render_module
from iac_gen.verify_output import (
    prove_imports,
    verify_classes,
    verify_module,
    verify_schema,
    verify_source,
)

HEAD = '''"""Tools."""
from typing import Final
from iac_runtime.tool import App, Param, tool

APP: Final = App("com.example.Diary", "Diary")

'''
TOOL = '''@tool(event="diarrere", level="SAFE", params={"a": Param("", "----", "text")})
def reread(a: str) -> None:
    """Reread."""
    return APP.call(reread, a=a)
'''


SHOWN = TOOL.replace('"text")})', '"text")}, example={"a": "b"})')


def test_a_module_as_it_should_be_passes() -> None:
    assert list(verify_source(HEAD + TOOL)) == []
    assert list(verify_source(build(source())["diary.py"])) == []


ADDED = {
    "import os": "Import is not allowed", "from os import system": "import from os is not allowed",
    "from iac_runtime.gate.gate import Gate": "import from iac_runtime.gate.gate is not allowed",
    "from . import mail": "import from None is not allowed",
    "from .tool import App": "import from tool is not allowed",
    "from iac_runtime.tool import install as tool": "under another name",
    "X = eval('1')": "a call of anything but the contract",
    "X = __import__('os')": "a call of anything but the contract", "X = print": "",
    "X = APP.id": "an attribute other than APP.call",
    "X = APP.call.__globals__": "an attribute other than APP.call",
    "X = ().__class__": "an attribute other than APP.call",
    "X = (1).call(2)": "an attribute other than APP.call",
    "X = OTHER.call(2)": "an attribute other than APP.call",
    "class X: pass": "ClassDef is not allowed", "X = lambda: 1": "Lambda is not allowed",
    "X = f'{APP}'": "JoinedStr is not allowed", "X = [a for a in ()]": "ListComp is not allowed",
    "X = 1 + 1": "Add is not allowed", "X = {*()}": "is not allowed",
    "X = await y": "Await is not allowed", "async def x(): pass": "AsyncFunctionDef is not allowed",
    "for x in (): pass": "For is not allowed", "if True: pass": "If is not allowed",
    "while False: pass": "While is not allowed", "try: pass\nfinally: pass": "Try is not allowed",
    "with x: pass": "With is not allowed", "assert x": "Assert is not allowed",
    "del x": "Delete is not allowed", "global x": "Global is not allowed",
    "raise x": "Raise is not allowed", "(x := 1)": "NamedExpr is not allowed",
    "App('com.example.Other', 'Other')": "Expr does not belong in a module", "pass": "Pass",
    "\u0456 = 1": "is not an ASCII name", "x = (": "does not parse", "x = '\0'": "does not parse",
}  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), ADDED.items())
def test_each_forbidden_construct_is_found(line: str, expected: str) -> None:
    faults = list(verify_source(f"{HEAD}{TOOL}\n{line}\n"))
    if expected:
        assert any(expected in fault for fault in faults), faults
    else:
        assert faults == []


NAMED = {
    "def tool": "tool is bound twice in the module",
    "def reread": "reread is bound twice in the module",
    "def str": "str means something of the app where it must not",
    "def other(b: Page)": "Page is bound nowhere",
}


@pytest.mark.parametrize(("start", "expected"), NAMED.items())
def test_a_name_is_bound_once_and_known_where_it_is_read(start: str, expected: str) -> None:
    head, end = start.partition("(")[0], start.partition("(")[2] or "a: str)"
    other = TOOL.replace("def reread(a: str)", f"{head}({end}")
    assert expected in list(verify_source(f"{HEAD}{TOOL}\n\n{other}"))


def test_what_is_read_in_a_class_is_not_what_the_class_binds() -> None:
    head = "from iac_runtime.objects import Object, Prop\n\n\nclass Page(Object):\n"
    right = f'{head}    body: Prop[str] = Prop("body")\n'
    assert list(verify_classes(right)) == []
    odd = f'{right}    str: Prop[str] = Prop("str")\n    body: Prop[Odd] = Prop("body")\n'
    assert list(verify_classes(odd)) == [
        "body is bound twice in Page",
        "Odd is bound nowhere",
        "str means something of the app where it must not",
    ]


IMPORTED = {
    "a: str)": "",
    "a: str, a: str)": "diary.py cannot be imported: SyntaxError: duplicate argument 'a'",
    "b: str)": "reread arrives as something else when it is called",
    "reread: str, a: str = '')": "reread arrives as something else when it is called",
    "a: str = ().real)": "diary.py cannot be imported: AttributeError: 'tuple' object has no",
}


def test_a_tool_is_called_with_its_own_example() -> None:
    text = f"{HEAD}{SHOWN}SCHEMAS = {{'reread': ''}}\n"
    examples = {"{}": "missing 1 required", '{"a": "b", "c": 1}': "arrives as something else"}
    for example, said in examples.items():
        (fault,) = prove_imports("diary", {"diary.py": text.replace('{"a": "b"}', example)})
        assert said in fault.message


@pytest.mark.parametrize(("end", "expected"), IMPORTED.items())
def test_what_is_written_is_imported_and_called_before(end: str, expected: str) -> None:
    text = f"{HEAD}{SHOWN.replace('a: str)', end)}SCHEMAS = {{'reread': ''}}\n"
    faults = [one.message for one in prove_imports("diary", {"diary.py": text})]
    assert [one[: len(expected)] for one in faults] == [expected] * bool(expected)


def test_nothing_but_our_packages_is_found_by_what_is_proved() -> None:
    lines = ["import json, iac_runtime.tool", "import click", "import iac_gen"]
    faults = [prove_imports("a", {"a.py": f"{HEAD}{line}\nSCHEMAS = {{}}"}) for line in lines]
    said = "a.py cannot be imported: ModuleNotFoundError: No module named"
    assert [[one.message for one in found] for found in faults] == [
        [],
        [f"{said} 'click'"],
        [f"{said} 'iac_gen'"],
    ]


def test_a_proof_is_kept_by_the_content_of_the_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = {"a.py": HEAD}, {"a.py": f"{HEAD}import click\n"}
    assert prove_imports("a", good, tmp_path) == []
    monkeypatch.setattr(prove_imports_module, "_ask", lambda _: '["asked"]')
    assert prove_imports("a", good, tmp_path) == []
    assert [one.message for one in prove_imports("a", bad, tmp_path)] == ["asked"]


CHANGED = (
    (TOOL, TOOL.partition("\n")[2]), ("@tool(", "@App("), ("@tool(", "@APP.call("),
    ("@tool(", "@tool(event='x')\n@tool("),
    ('@tool(event="diarrere", level="SAFE", params={"a": Param("", "----", "text")})', "@tool"),
    ('"""Reread."""', "APP.call(reread, a=a)"), ('"""Reread."""', '"""Reread."""\n    x = 1'),
    ('    """Reread."""\n', ""), ("return APP.call(reread, a=a)", '"""More."""'),
)  # fmt: skip


@pytest.mark.parametrize(("old", "new"), CHANGED)
def test_a_function_is_one_decorator_a_docstring_and_one_return(old: str, new: str) -> None:
    text = HEAD + TOOL
    assert old in text
    faults = list(verify_source(text.replace(old, new)))
    assert any("reread must " in fault for fault in faults), faults


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def test_a_schema_as_it_should_be_passes() -> None:
    good = schema(
        a={"type": "string", "enum": ["x"], "description": "Words"},
        b={"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "boolean"}]},
        c={"type": "string", "format": "date-time"},
        d=schema(e={"type": "integer"}),
    )
    assert verify_schema({**good, "required": ["a"]}) == []


BROKEN: tuple[tuple[dict[str, Any], str], ...] = (
    ({"type": "string"}, "the root is not an object"),
    ({"anyOf": [schema()], "additionalProperties": False}, "the root is not an object"),
    ({"type": "object", "properties": {}}, "the root is open"),
    ({**schema(), "additionalProperties": True}, "the root is open"),
    ({**schema(), "oneOf": []}, "the root uses oneOf"),
    (schema(a={"const": 1, "type": "integer"}), "a uses const"),
    (schema(a={"type": "string", "oneOf": [{"type": "string"}]}), "a uses oneOf"),
    (schema(a={"type": "string", "not": {"type": "string"}}), "a uses not"),
    (schema(a={"type": "string", "$ref": "#/x"}), "a uses $ref"),
    (schema(a={"type": "string", "pattern": "("}), "a uses pattern"),
    (schema(a={"type": ["string", "null"]}), "a has the type ['string', 'null']"),
    (schema(a={"type": "null"}), "a has the type 'null'"),
    (schema(a={"type": "text"}), "a has the type 'text'"),
    (schema(a={}), "a needs one of type and anyOf"),
    (schema(a={"type": "string", "anyOf": [{"type": "string"}]}), "a needs one of type and anyOf"),
    (schema(a={"type": "integer", "enum": [1]}), "a has an enum"),
    (schema(a={"type": "string", "enum": []}), "a has an enum"),
    (schema(a={"type": "string", "enum": [1]}), "a has an enum"),
    (schema(a={"type": "string", "format": "uri"}), "a has the format uri"),
    (schema(a={"type": "array"}), "a is an array of nothing said"),
    (schema(a={"type": "array", "items": {"type": "null"}}), "a[] has the type"),
    (schema(a={"anyOf": [{"anyOf": [{"type": "string"}]}]}), "a has a union in a union"),
    (schema(a={"anyOf": [{"type": "null"}]}), "has the type 'null'"),
    (schema(a=schema(b={"type": "null"})), "a.b has the type 'null'"),
    (schema(**{"a b": {"type": "string"}}), "has the key 'a b'"),
    (schema(**{"a" * 65: {"type": "string"}}), "has the key"),
    (schema(**{"": {"type": "string"}}), "has the key ''"),
    (schema(a={"type": "array", "items": {"type": "string"}, "minItems": -1}), "not JSON Schema"),
    (schema(a={"type": "string", "description": 7}), "a has a description that is not text"),
    ({**schema(), "required": "a"}, "not JSON Schema"),
)


@pytest.mark.parametrize(("broken", "expected"), BROKEN)
def test_each_broken_rule_of_a_vendor_is_found(broken: dict[str, Any], expected: str) -> None:
    faults = verify_schema(broken)
    assert any(expected in fault for fault in faults), faults


def test_bad_tool_names_are_found() -> None:
    whole, _ = module(source())
    first, second, *rest = whole.tools
    text = build(source())["diary.py"]
    for name in ("Diary_get", "x" * 41, "diary get", ""):
        odd = replace(whole, tools=(replace(first, name=name), second, *rest))
        (fault,) = verify_module(odd, text)
        assert fault.file == "diary.py"
        assert "is too long or has odd characters" in fault.message
    twice = replace(whole, tools=(first, replace(second, name=first.name), *rest))
    assert [one.message for one in verify_module(twice, text)] == ["two tools have one name"]


def test_bad_schemas_of_a_tool_are_found_on_both_sides() -> None:
    whole, _ = module(source())
    text = build(source())["diary.py"]
    tool = whole.tools[0]
    parameter = replace(tool.parameters[0], schema={"type": "null"})
    odd = replace(tool, parameters=(parameter,), output={"type": "string"})
    messages = [one.message for one in verify_module(replace(whole, tools=(odd,)), text)]
    assert messages[0] == "diary_get: target has the type 'null'"
    assert any(one.startswith("diary_get (output): the root") for one in messages)


def test_an_app_that_fails_its_proof_costs_that_app(monkeypatch: pytest.MonkeyPatch) -> None:
    render = render_module

    def spoilt(one: Any, layout: Any) -> str:
        text = render(one, layout)
        return f"{text}import os\n" if one.key == "diary" else text

    monkeypatch.setattr(pipeline, "render_module", spoilt)
    files, report = build_folder(inputs(source(), source(name="Ledger")))
    assert "ledger.py" in files
    assert "diary.py" not in files
    assert {one.file for one in report.failed} == {"diary.py"}
    assert "Import is not allowed" in str(report.failed[-1])


def test_committed_modules_pass(generated: Path) -> None:
    paths = sorted(generated.glob("[a-z]*.py"))
    assert len(paths) >= 14
    for path in paths:
        prover = verify_classes if path.stem.endswith("_objects") else verify_source
        assert list(prover(path.read_text())) == [], path.name


def test_modules_of_real_dictionaries_pass(corpus_build: Built) -> None:
    for name, text in corpus_build.files.items():
        if name.endswith(".py") and name != "__init__.py":
            prover = verify_classes if name.endswith("_objects.py") else verify_source
            assert list(prover(text)) == [], name
