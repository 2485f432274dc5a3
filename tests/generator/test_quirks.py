"""Quirks: data with a reason; a row that is wrong or matches nothing is told with its line."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from making import decide, module, read, sdef, source, whole

from iac_gen.cli import cli
from iac_gen.discover import from_bundled_snapshots, load_includes
from iac_gen.quirks import QuirkFile, known_apps, load_quirks, read_quirks
from iac_gen.resolve import resolve_dictionary

APP = 'app = "com.example.Diary"\n'


def quirks(folder: Path, text: str, name: str = "diary.toml") -> tuple[list[QuirkFile], list[str]]:
    (folder / name).write_text(text)
    found, faults = load_quirks(folder)
    return found, [str(one) for one in faults]


def lowered(folder: Path, text: str) -> tuple[dict[str, str], list[str]]:
    """Return the tools (name -> level) that the diary has with a quirk file, and the findings."""
    found, faults = quirks(folder, text)
    assert faults == []
    made, told = module(source(), found)
    return {tool.function: tool.level for tool in made.tools}, told


@pytest.mark.parametrize(("row", "expected"), [
    ('[[gadget]]\nwhy = "x"', "[[gadget]] is not a table of a quirk file; there are command"),
    ('[[command]]\nname = "a"', "[[command]] gives no reason; add why"),
    ('[[command]]\nname = "a"\nwhy = ""', "[[command]] gives no reason; add why"),
    ('[[command]]\nname = "a"\nwhy = "x"\ncolour = 1', "[[command]] has no key colour"),
    ('[[command]]\nname = "a"\nwhy = "x"\nlevel = "SAVE"', "SAVE is not a level; there are SAFE"),
    ('[[command]]\nwhy = "x"', "[[command]] names no command; add name or code"),
    ('[[property]]\nname = "a"\nlevel = "SAFE"\nwhy = "x"', "[[property]] needs the key class"),
    ('[[property]]\nclass = "a"\nname = "a"\nwhy = "x"', "[[property]] says nothing; add level"),
    ('[[property]]\nclass = "a"\nname = "a"\nwhy = "x"\ntype = "HTLM"', "HTLM is not a type"),
    ('[[recipe]]\nname = "a"\ndoc = "x"\nwhy = "x"', "[[recipe]] needs the key tool"),
])  # fmt: skip
def test_a_row_that_is_not_understood_is_told_with_its_line(
    tmp_path: Path, row: str, expected: str
) -> None:
    good = '[[command]]\nname = "reread"\nwhy = "It is there."\n'
    (one,), (fault,) = quirks(tmp_path, f"{APP}{good}\n{row}\n")
    # Two tables of one kind have two headers: the second is the one that is meant.
    assert fault.startswith(f"quirks/diary.toml:6: error: {expected}")
    assert [table for table, _, _ in one.rows] == ["command"]


def test_a_file_that_is_no_toml_costs_that_file(tmp_path: Path) -> None:
    (tmp_path / "apps.toml").write_text("= not read")
    (tmp_path / "notes.txt").write_text("= not read")
    (tmp_path / "ledger.toml").write_text(APP)
    (one,), (fault,) = quirks(tmp_path, "app = ")
    assert one.file == "quirks/ledger.toml"
    assert fault.startswith("quirks/diary.toml:1: error: is not TOML: ")


@pytest.mark.parametrize("row", [
    '[[command]]\nname = "burn"\nwhy = "x"', '[[command]]\ncode = "diarburn"\nwhy = "x"',
    '[[command]]\nname = "reread"\ncode = "diarburn"\nwhy = "x"',
    '[[property]]\nclass = "entry"\nname = "ink"\nlevel = "SAFE"\nwhy = "x"',
])  # fmt: skip
def test_a_row_that_matches_nothing_is_an_error_with_file_and_line(
    tmp_path: Path, row: str
) -> None:
    found, _ = quirks(tmp_path, f"{APP}\n\n{row}\n")
    _, (told,) = decide(source(), *found)
    assert told.startswith(f"quirks/diary.toml:4: error: {row.partition(chr(10))[0]}")
    assert told.endswith("matches nothing in Diary [quirk-unused]")


def test_a_row_for_all_apps_need_not_match_in_each(tmp_path: Path) -> None:
    found, _ = quirks(tmp_path, '[[command]]\ncode = "aevtquit"\nlevel = "SAFE"\nwhy = "x"\n')
    assert decide(source(), *found)[1] == []


def test_the_file_of_another_app_is_not_looked_at(tmp_path: Path) -> None:
    found, _ = quirks(tmp_path, '[[command]]\nname = "burn"\nwhy = "x"\n'.join(["", APP]))
    assert decide(source(name="Ledger"), *found)[1] == []


def test_an_app_s_own_row_wins_over_the_one_for_all(tmp_path: Path) -> None:
    every = '[[command]]\nname = "reread"\nlevel = "SAFE"\ndoc = "One."\nwhy = "x"\n'
    (tmp_path / "standard.toml").write_text(every)
    own = every.replace("SAFE", "DANGEROUS").replace("One", "Two")
    found, _ = quirks(tmp_path, APP + own)
    decisions, _ = decide(source(), *found)
    assert decisions.values_for("command", "reread")["level"] == "DANGEROUS"
    assert decisions.values_for("command", "reread")["doc"] == "Two."


def test_quirks_decide_levels_words_and_what_is_shown(tmp_path: Path) -> None:
    text = f"""{APP}
[[command]]
name = "reread"
level = "SAFE"
direct = "entry"
doc = "Read {{app}} again."
why = "Nothing is changed; it is read."

[[command]]
name = "make"
hide = true
why = "Entries are made by writing."

[[property]]
class = "entry"
name = "body"
level = "DANGEROUS"
why = "It is the diary."
"""
    found, _ = quirks(tmp_path, text)
    made, told = module(source(), found)
    tools = {tool.function: tool for tool in made.tools}
    assert not told
    assert "make" not in tools
    assert tools["reread"].level == "SAFE"
    assert tools["reread"].parameters[0].key == "entry"
    assert tools["reread"].summary == "Read Diary again. SAFE, nothing is changed, it is read."
    assert {p.term: p.level for p in made.classes["entry"].properties}["body"] == "DANGEROUS"
    assert tools["set"].ceiling == "DANGEROUS"


def test_a_quirk_can_show_a_hidden_command(tmp_path: Path) -> None:
    hidden = sdef('<command name="peek" code="diarpeek" hidden="yes"/>')
    text = f'{APP}[[command]]\nname = "peek"\nhide = false\nwhy = "It is harmless."\n'
    found, _ = quirks(tmp_path, text)
    made, _ = module(source(read(hidden)), found)
    assert [tool.function for tool in made.tools] == ["peek"]


RECIPE = '[[recipe]]\nname = "recent"\ntool = "list"\ndoc = "List entries."\nwhy = "x"\n'


@pytest.mark.parametrize(("rest", "expected"), [
    ('bind = { element = "$kind" }', "recipe recent must both declare and bind kind"),
    ('params = { kind = "text" }', "recipe recent must both declare and bind kind"),
    ('bind = { colour = "red" }', "recipe recent binds colour, which list has not"),
    ('bind = { where = { body = ["$a"] } }', "recipe recent must both declare and bind a"),
])  # fmt: skip
def test_a_recipe_that_does_not_fit_is_told_and_left_out(
    tmp_path: Path, rest: str, expected: str
) -> None:
    tools, (told,) = lowered(tmp_path, f"{APP}\n{RECIPE}{rest}\n")
    assert told == f"quirks for Diary:3: error: {expected} [recipe]"
    assert "recent" not in tools


def test_a_recipe_on_an_unknown_tool_or_under_a_taken_name_is_told(tmp_path: Path) -> None:
    _, (told,) = lowered(tmp_path, APP + RECIPE.replace('"list"', '"burn"'))
    assert "recipe recent rests on burn, which is not a tool of this app" in told
    _, (told,) = lowered(tmp_path, APP + RECIPE.replace('"recent"', '"reread"'))
    assert "recipe reread has the name of a tool" in told


def test_a_recipe_needs_the_level_that_its_arguments_reach(tmp_path: Path) -> None:
    text = f"""{APP}
[[property]]
class = "entry"
name = "body"
level = "DANGEROUS"
why = "x"

[[recipe]]
name = "rewrite"
tool = "set"
bind = {{ target = "$entry", properties = {{ body = "$body" }} }}
params = {{ entry = "entry", body = {{ type = "text", doc = "The new text" }} }}
doc = "Rewrite an entry."
why = "x"

[[recipe]]
name = "write"
tool = "make"
bind = {{ element = "entry", properties = {{ mood = "$mood" }} }}
params = {{ mood = "mood" }}
optional = ["mood"]
result = "entry"
doc = "Write an entry."
why = "x"
"""
    tools, told = lowered(tmp_path, text)
    assert told == []
    assert (tools["rewrite"], tools["write"]) == ("DANGEROUS", "MODIFY")


@pytest.fixture(scope="module")
def shipped() -> list[QuirkFile]:
    found, faults = load_quirks()
    assert faults == []
    return found


def test_every_shipped_row_for_all_apps_matches_in_some_bundled_dictionary(
    shipped: list[QuirkFile],
) -> None:
    events = {
        command.code
        for loaded in whole(from_bundled_snapshots())
        for command in resolve_dictionary(loaded.source, load_includes())[0].commands
    }
    (standard,) = (one for one in shipped if not one.app)
    assert standard.rows
    assert {row["code"] for _, _, row in standard.rows} <= events


def test_every_shipped_file_is_for_a_bundled_app_and_fits_it(shipped: list[QuirkFile]) -> None:
    sources = {loaded.source.id: loaded.source for loaded in whole(from_bundled_snapshots())}
    own = [one for one in shipped if one.app]
    assert {one.app for one in own} <= sources.keys()
    for one in own:
        _, told = module(sources[one.app], shipped)
        assert [found for found in told if ": error: " in found] == [], one.file


def test_every_known_app_has_a_name_and_a_bundle_id() -> None:
    known = known_apps()
    assert known["standardadditions"].kind == "addition"
    assert all(one.name and "." in one.id for one in known.values())
    assert len({one.id for one in known.values()}) == len(known)


OURS = """
app = "com.example.Diary"

[[command]]
name = "reread"
level = "%s"
why = "Our entries are read aloud."
"""


@pytest.mark.parametrize(("level", "comes_to"), [("DANGEROUS", "DANGEROUS"), ("SAFE", "MODIFY")])
def test_a_quirk_of_somebody_else_only_raises(level: str, comes_to: str) -> None:
    reviewed, _ = read_quirks({"reviewed.toml": (OURS % "MODIFY").encode()})
    own, faults = read_quirks({"own.toml": (OURS % level).encode()})
    assert faults == []
    made, _ = module(source(), [replace(reviewed[0], raises=False), *own])
    assert {tool.function: tool.level for tool in made.tools}["reread"] == comes_to


def test_a_quirk_of_somebody_else_names_its_app() -> None:
    _, (fault,) = read_quirks({"own.toml": b'[[command]]\nname = "a"\nwhy = "x"\n'})
    assert str(fault).startswith('own.toml:1: error: names no app; begin with app = "com.')


def test_quirks_of_yours_hold_in_a_build_and_are_looked_over(tmp_path: Path) -> None:
    row = '[[command]]\nname = "show"\nlevel = "MODIFY"\nwhy = "Guests look on."\n'
    (tmp_path / "notes.toml").write_text(f'app = "com.apple.Notes"\n{row}')
    named = ("--quirks", str(tmp_path))
    told = ran("show", "--bundled", "--why", "notes", "notes_show", *named)
    assert "MODIFY, guests look on" in told.output
    assert "which can only raise" in told.output
    assert ran("lint", str(tmp_path / "notes.toml")).exit_code == 0
    (tmp_path / "notes.toml").write_text('app = "x"\n[[command]]\n')
    wrong = ran("lint", str(tmp_path / "notes.toml"))
    assert (wrong.exit_code, "notes.toml:2: error" in wrong.output) == (1, True)
    built = ran("diff", "--bundled", "notes", "--output", str(tmp_path / "out"), *named)
    assert (built.exit_code, "gives no reason" in built.output) == (1, True)


def ran(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


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
