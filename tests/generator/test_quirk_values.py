"""Quirk files with values of the wrong kind: one line each, and the other rows still hold."""

from pathlib import Path

import pytest
from making import module, read, sdef, source

from iac_gen.quirks import load_quirks

APP = 'app = "com.example.Diary"\n'
RECIPE = '[[recipe]]\nname = "recent"\ntool = "list"\ndoc = "List."\nwhy = "x"\n'
COMMAND = '[[command]]\nname = "reread"\nwhy = "x"\n'


@pytest.mark.parametrize(("row", "expected"), [
    (f"{RECIPE}bind = 3", "[[recipe]] has bind = 3; it takes a table"),
    (f"{RECIPE}bind = [1]", "[[recipe]] has bind = [1]; it takes a table"),
    (f"{RECIPE}params = 3", "[[recipe]] has params = 3; it takes a table of types"),
    (f"{RECIPE}params = {{ a = 3 }}", "[[recipe]] has params = {'a': 3}; it takes a table"),
    (f'{RECIPE}params = {{ a = {{ doc = "x" }} }}', "[[recipe]] has params"),
    (f'{RECIPE}params = {{ a = {{ type = "x", b = "x" }} }}', "[[recipe]] has params"),
    (f'{RECIPE}params = {{ "a b" = "text" }}',
     "[[recipe]] names 'a b', which is not a Python name"),
    (f'{RECIPE}optional = "a"', "[[recipe]] has optional = 'a'; it takes a list of texts"),
    (f"{RECIPE}result = 3", "[[recipe]] has result = 3; it takes a text"),
    (RECIPE.replace("recent", "two words"),
     "[[recipe]] names 'two words', which is not a Python name"),
    (RECIPE.replace("recent", "import"), "[[recipe]] names 'import', which is not a Python name"),
    (f"{COMMAND}doc = 3", "[[command]] has doc = 3; it takes a text"),
    (f'{COMMAND}hide = "yes"', "[[command]] has hide = 'yes'; it takes true or false"),
    (f"{COMMAND}level = 3", "[[command]] has level = 3; it takes a text"),
    (f'{COMMAND}direct = "the entry"', "[[command]] names 'the entry', which is not a Python name"),
    (COMMAND.replace('"x"', "[]"), "[[command]] has why = []; it takes a text"),
    (COMMAND.replace("[[command]]", "[command]"), "command is not a list of tables; write [[co"),
    ("command = 3", "command is not a list of tables; write [[command]]"),
    ("command = [3]", "command is not a list of tables; write [[command]]"),
])  # fmt: skip
def test_a_value_of_the_wrong_kind_is_told_in_one_line(
    tmp_path: Path, row: str, expected: str
) -> None:
    (tmp_path / "diary.toml").write_text(f"{APP}\n{row}\n")
    (one,), (fault,) = load_quirks(tmp_path)
    assert str(fault).startswith(f"quirks/diary.toml:3: error: {expected}")
    assert "\n" not in str(fault)
    assert one.rows == ()
    assert module(source(), [one])[0].tools


@pytest.mark.parametrize(("content", "place"), [(b"app = 3\n", ":1"), (b"app = \xff\n", "")])
def test_a_file_for_no_app_costs_that_file(tmp_path: Path, content: bytes, place: str) -> None:
    (tmp_path / "diary.toml").write_bytes(content)
    found, (fault,) = load_quirks(tmp_path)
    assert found == []
    assert str(fault).startswith(f"quirks/diary.toml{place}: error: ")


@pytest.mark.parametrize(("code", "expected"), [("diarpeek", "MODIFY"), ("coredosc", "DANGEROUS")])
def test_what_a_dictionary_hides_is_never_safe_by_its_name_alone(
    tmp_path: Path, code: str, expected: str
) -> None:
    hidden = sdef(f'<command name="get mood" code="{code}" hidden="yes"/>')
    shown = hidden.replace(b' hidden="yes"', b"")
    row = '[[command]]\nname = "get mood"\nhide = false\nwhy = "Useful."\n'
    (tmp_path / "diary.toml").write_text(APP + row)
    found, _ = load_quirks(tmp_path)
    (tool,) = module(source(read(hidden)), found)[0].tools
    assert tool.level == expected
    (open_tool,) = module(source(read(shown)), found)[0].tools
    assert open_tool.level == expected
