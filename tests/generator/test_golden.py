"""Every golden case is built as committed, and the tool that rewrites them is no trap."""

import inspect
import shutil
from pathlib import Path
from typing import get_type_hints

import black
import golden
import pytest
from making import imported


@pytest.mark.sweep
@pytest.mark.parametrize("name", golden.names())
def test_a_case_is_built_as_committed(name: str) -> None:
    old = golden.committed(name)
    for file, text in golden.built(name).items():
        assert old[file] == text, golden.difference(name, file, old[file], text)


@pytest.mark.sweep
@pytest.mark.parametrize("name", golden.names())
def test_the_module_of_a_case_is_laid_out_imported_and_its_annotations_mean_something(
    name: str, tmp_path: Path
) -> None:
    text = golden.build_case(name)[0]
    assert black.format_str(text, mode=black.Mode(line_length=100)) == text
    with imported(text, "case", tmp_path) as made:
        for function in vars(made).values():
            if inspect.isfunction(function) and function.__module__ == made.__name__:
                assert "return" in get_type_hints(function)


def test_writing_says_what_it_rewrote_and_fails_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = golden.names()[0]
    shutil.copytree(golden.CASES / name, tmp_path / name)
    monkeypatch.setattr(golden, "CASES", tmp_path)
    module = tmp_path / name / golden.DIFFERENCE
    right = module.read_text()
    module.write_text("wrong\n")

    assert golden.main([]) == 1
    assert module.read_text() == "wrong\n"
    assert "-wrong" in capsys.readouterr().out

    assert golden.main(["--write", name]) == 1
    assert module.read_text() == right
    assert capsys.readouterr().out.endswith(f"/{name}/expected.diff\n")

    assert golden.main(["--write"]) == 0
    assert capsys.readouterr().out == ""


BASE = """\
def get():
    one()
    two()


def make():
    pass


ROWS: X = {
    "a": 1,
}
"""


@pytest.mark.parametrize(("old", "new", "told"), [
    ("two()", "three()", ["@@ get @@", "-    two()", "+    three()"]),
    ("two()", "two()\n    three()", ["@@ get @@", "     two()", "+    three()"]),
    ('"a": 1', '"a": 2', ["@@ ROWS a @@", '+    "a": 2,']),
    ('    "a": 1,\n', "", ["without ROWS a"]),
    ('"a": 1,', '"a": 1,\n    "b": 2,', ["@@ ROWS b, after ROWS a @@", '+    "b": 2,']),
    ("def make", "def do", ["without make", "@@ do, after get @@", "+def do():", "+    pass"]),
    ("", "", []),
])  # fmt: skip
def test_a_difference_says_what_a_module_has_of_its_own(
    old: str, new: str, told: list[str]
) -> None:
    assert golden.compare_modules(BASE, BASE.replace(old, new)).splitlines() == told


def test_a_case_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        golden.main(["no-such-case"])
    assert ended.value.code == 2
    assert "no case is called no-such-case" in capsys.readouterr().err
