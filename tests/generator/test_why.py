"""`iac-gen show --why`: the evidence of a level, in the order in which it counted."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from making import DIARY, sdef

from iac_gen.cli import cli

MADE = """
<class name="page" code="page" inherits="entry"/>
<class name="rule" code="dirl"/>
<command name="get weather" code="diargogo">
<access-group identifier="diary.run"/>
<parameter name="password" code="pass" type="text"/><result type="text"/></command>
"""


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    path = tmp_path / "Diary.sdef"
    path.write_bytes(sdef(DIARY + MADE))
    return path


def why(*arguments: object, code: int = 0) -> list[str]:
    """Return what is printed; of a refusal the one line."""
    result = CliRunner().invoke(cli, ["show", "--why", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return (result.stderr if code else result.stdout).splitlines()


def test_all_evidence_of_a_tool_is_told_in_its_order(diary: Path) -> None:
    lines = [
        "diary_get_weather",
        "1. SAFE, reads (words)",
        "2. DANGEROUS, takes a password (parameter password [pass])",
        "3. DANGEROUS, the app requests the right to run things (access group diary.run)",
        "result: DANGEROUS, takes a password",
    ]
    assert why("diary", "diary_get_weather", "--dictionary", diary) == lines
    assert why("Diary", "get_weather", "--dictionary", diary) == lines


def test_a_tool_that_arguments_take_higher_says_with_what(diary: Path) -> None:
    told = why("diary", "set", "--dictionary", diary)
    assert told[-2:] == [
        "result: MODIFY to DANGEROUS, each property has its level",
        "DANGEROUS with entry.body",
    ]


def test_a_class_has_making_and_deleting(diary: Path) -> None:
    assert why("diary", "rule", "--dictionary", diary) == [
        "make diary.rule",
        "1. MODIFY, makes something new (event code corecrel)",
        "2. DANGEROUS, a rule acts later by itself (class)",
        "result: DANGEROUS, a rule acts later by itself",
        "delete diary.rule",
        "1. DANGEROUS, deletes a rule (event code coredelo)",
        "result: DANGEROUS, deletes a rule",
    ]


def test_an_inherited_property_is_that_of_the_class_that_declares_it(diary: Path) -> None:
    own = why("diary", "entry.body", "--dictionary", diary)
    assert own[0] == "set diary.entry.body"
    assert own[-1] == "result: DANGEROUS, replaces the whole content"
    assert why("diary", "page.body", "--dictionary", diary) == own


def test_a_quirk_is_told_with_its_place_and_its_reason() -> None:
    told = why("mail", "mail_send", "--bundled")
    place = next(line for line in told if "quirks/mail.toml:" in line)
    assert place.endswith("a quirk, which decides alone)")
    assert "leaves the machine" in place
    row = int(place.partition("mail.toml:")[2].partition(",")[0])
    text = (Path(__file__).parents[2] / "generator/iac_gen/quirks/mail.toml").read_text()
    assert text.splitlines()[row - 1] == "[[command]]"


@pytest.mark.parametrize(
    ("app", "name", "expected"),
    [
        ("diary", "entry.bod", "Nearest: entry.body."),
        ("diary", "reread_it", "Nearest: diary_reread."),
        ("diry", "entry.body", "Nearest: diary."),
    ],
)
def test_a_wrong_name_gets_one_line_with_the_nearest(
    diary: Path, app: str, name: str, expected: str
) -> None:
    (line,) = why(app, name, "--dictionary", diary, code=2)
    assert line.startswith("iac-gen: ")
    assert expected.rstrip(".") in line


def test_a_dictionary_that_cannot_be_read_is_one_line(diary: Path) -> None:
    diary.write_bytes(sdef()[:100])
    (line,) = why("diary", "entry", "--dictionary", diary, code=1)
    assert line.startswith("iac-gen: skipped ")


def test_why_takes_one_app_and_one_name(diary: Path) -> None:
    (line,) = why("diary", "entry", "notes", "--dictionary", diary, code=2)
    assert "--why needs one app and one name" in line
