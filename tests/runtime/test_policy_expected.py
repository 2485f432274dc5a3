"""`policy test` and `policy explain`: what a team runs in its CI, and what it reads then."""

from pathlib import Path

import pytest

from iac_mcp.cli.main import main

POLICY = """\
[only]
apps = ["Notes"]
[[deny]]
tool = "notes_delete"
hours = "18:00-08:00"
why = "Not at night."
[[allow]]
tool = "notes_make_note"
argument = { name = "Milk*" }
client = "claude*"
"""

EXPECTED = """\
policy = "team.toml"
[[expect]]
call = "notes_make_note"
arguments = { name = "Milk" }
client = "Claude"
decision = "allow"
rule = "line 7"
[[expect]]
call = "notes_make_note"
arguments = { name = "Milk" }
decision = "ask"
[[expect]]
call = "notes_delete"
arguments = { target = "notes[0]" }
at = "sat 23:00"
decision = "deny"
rule = "Not at night"
[[expect]]
call = "notes_delete"
arguments = { target = "notes[0]" }
decision = "ask"
[[expect]]
call = "mail_count"
arguments = { element = "account" }
decision = "deny"
rule = "line 1"
"""


@pytest.fixture
def folder(tmp_path: Path, own_data_folder: Path) -> Path:
    (tmp_path / "team.toml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "team.toml").chmod(0o600)
    return tmp_path


def test_what_comes_out_as_expected_ends_well(
    capsys: pytest.CaptureFixture[str], folder: Path, generated: Path
) -> None:
    file = folder / "expected.toml"
    file.write_text(EXPECTED, encoding="utf-8")
    assert main(["policy", "test", str(file), "--tools", str(generated)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ok   expected.toml line 2: notes_make_note allow (")
    assert lines[-1] == "5 as expected, 0 not."


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"allow"', '"deny"', "FAIL expected.toml line 2: notes_make_note allow"),
        ('rule = "line 1"', 'rule = "line 9"', "; expected deny by line 9"),
        ('target = "notes[0]"', 'goal = "x"', "FAIL expected.toml line 12: notes_delete cannot be"),
        ("notes_delete", "notes_delte", "cannot be judged:"),
    ],
)
def test_what_does_not_is_told_and_ends_with_1(
    old: str, new: str, says: str, capsys: pytest.CaptureFixture[str], folder: Path, generated: Path
) -> None:
    file = folder / "expected.toml"
    file.write_text(EXPECTED.replace(old, new), encoding="utf-8")
    assert main(["policy", "test", str(file), "--tools", str(generated)]) == 1
    assert says in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[expect]]\ncall = 'x'", "e.toml line 1: this [[expect]] has no decision."),
        ("[[expect]]\ncal = 'x'", 'e.toml line 2: there is no key "cal". Nearest: call'),
        ("[[expect]]\ndecision = 'alow'", 'line 2: there is no decision "alow". Nearest: allow'),
        ("[[expect]]\nat = 'noon'", 'line 2: at must be a day and a time, such as "mon 12:00".'),
        ("[[expect]]\narguments = 3", "line 2: arguments must be a table."),
        ("expect = 3", "line 1: write each one under a separate line: [[expect]]"),
        ("expect = [", "e.toml line 1: "),
        ("policy = 'gone.toml'", "gone.toml does not exist"),
    ],
)
def test_a_file_that_is_not_right_is_told_with_its_line(
    text: str, says: str, capsys: pytest.CaptureFixture[str], folder: Path, generated: Path
) -> None:
    file = folder / "e.toml"
    file.write_text(text, encoding="utf-8")
    assert main(["policy", "test", str(file), "--tools", str(generated)]) == 2
    assert says in capsys.readouterr().err
    assert main(["policy", "test", str(folder / "gone.toml")]) == 2
    assert "gone.toml cannot be read: No such file" in capsys.readouterr().err
    file.write_bytes(b"\xff")
    assert main(["policy", "test", str(file)]) == 2
    assert "is not UTF-8" in capsys.readouterr().err


def test_explain_says_of_each_rule_why_it_does_not_hold(
    capsys: pytest.CaptureFixture[str], folder: Path, generated: Path
) -> None:
    call = ("notes_make_note", '{"name": "Bread"}', "--client", "Claude")
    policy = ("--policy", str(folder / "team.toml"), "--tools", str(generated))
    assert main(["policy", "explain", *call, *policy]) == 0
    out = capsys.readouterr().out.splitlines()
    at = f"{folder / 'team.toml'} line"
    assert out[:3] == [
        f"{at} 3 (deny) does not match: tool",
        f"{at} 1 (deny) does not match: apps",
        f"{at} 7 (allow) does not match: argument name",
    ]
    assert "It would require your approval." in out


POLICIES = Path(__file__).parents[2] / "docs" / "policies"


@pytest.mark.parametrize(
    "file", sorted(POLICIES.glob("*.expected.toml")), ids=lambda path: path.stem
)
def test_a_policy_of_the_documentation_does_what_is_expected_of_it(
    file: Path, capsys: pytest.CaptureFixture[str], generated: Path, own_data_folder: Path
) -> None:
    tools = ("--tools", str(generated))
    assert main(["policy", "test", str(file), *tools]) == 0, capsys.readouterr().out
    policy = file.with_name(file.name.replace(".expected", ""))
    assert main(["policy", "check", "--policy", str(policy), *tools]) == 0
    page = (POLICIES.parent / "how-to" / "policies.md").read_text(encoding="utf-8")
    assert policy.read_text(encoding="utf-8") in page
