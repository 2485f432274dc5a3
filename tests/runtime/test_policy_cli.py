"""`iac-mcp policy`: what is printed, the exit status, and that nothing half-right is kept."""

import json
import re
import time
from pathlib import Path

import pytest
from policy_calls import facts_of, stopped

from iac_mcp.cli.main import main
from iac_runtime.policy.approvals import (
    MAX_UNAPPROVED,
    ApprovalStore,
    record_answer,
    remember_approval,
)

WRITE = facts_of("notes make_note", {"name": "Milk", "body": ""})


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["policy", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def file(own_data_folder: Path) -> Path:
    own_data_folder.mkdir(mode=0o700)
    return own_data_folder / "policy.toml"


def write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)


def test_show_says_where_each_value_comes_from(
    capsys: pytest.CaptureFixture[str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, _ = run(capsys, "show")
    assert status == 0
    assert f"file        {file}  (missing: the defaults apply)" in out
    assert "preset      cautious: reads run, changes require approval  (default)" in out
    write(
        file,
        "preset = 'trusted'\nlaunch = 'com.apple.Notes'\n[blocklist]\nadd = 'com.x'\n"
        "remove = 'com.apple.Terminal'\n[[deny]]\ntool = 'mail_*'\nargument = { to = 'x' }\n"
        "[[rule]]\napp = 'Notes'\nlevel = 'SAFE'\n",
    )
    monkeypatch.setenv("IAC_RATE_LIMIT", "3")
    monkeypatch.setenv("ACCESSIBILITY_MCP_BLOCKLIST", "com.y")
    _, out, _ = run(capsys, "show", "--read-only")
    assert (
        "preset      trusted: reads and changes run, DANGEROUS calls require approval"
        f"  ({file} line 1)" in out
    )
    assert "read-only   yes  (--read-only)" in out
    assert "limit       3 writes a second  (IAC_RATE_LIMIT)" in out
    assert "limit       100 reads a second  (default)" in out
    assert "limit       0.333 DANGEROUS calls a second  (default)" in out
    assert "blocklist   com.y  (ACCESSIBILITY_MCP_BLOCKLIST)" in out
    assert f"blocklist   without com.apple.Terminal  ({file} line 3)" in out
    assert f"launch      com.apple.Notes  ({file} line 2)" in out
    assert f"deny        tool mail_*, to = x  ({file} line 6)" in out
    assert f"your rule   app Notes is SAFE  ({file} line 9)" in out


def test_show_says_what_matchers_conditions_and_sections_want(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    write(
        file,
        "[never]\nsend = true\n[only]\napps = ['Notes', 'Mail']\n[[allow]]\ntool = 'x'\n"
        "argument = { url = { host = '*.a.com' }, n = { at_most = 3 } }\ntainted = false\n"
        "hours = '08:00-18:30'\ndays = ['mon', 'tue']\n",
    )
    _, out, _ = run(capsys, "show")
    assert f"deny        never send  ({file} line 2)" in out
    assert f"deny        only apps Notes|Mail  ({file} line 3)" in out
    wanted = "tool x, hours 08:00-18:30, days mon|tue, tainted false, url = host *.a.com"
    assert f"allow       {wanted}, n = at_most 3  ({file} line 5)" in out


def test_a_broken_policy_stops_every_command_with_its_line(
    capsys: pytest.CaptureFixture[str], file: Path, output: Path
) -> None:
    write(file, "\npreset = 'cautious'\nread_onyl = true\n")
    for command in (["show"], ["resume"], ["check", "x", "--tools", str(output)]):
        status, out, err = run(capsys, *command)
        assert (status, out) == (2, "")
        assert f'{file} line 3: there is no key "read_onyl". Nearest: read_only' in err


def test_check_prints_the_decision_and_the_rule_and_sends_nothing(
    capsys: pytest.CaptureFixture[str], file: Path, output: Path
) -> None:
    write(file, "[[deny]]\ntool = 'diary_delete'\nwhy = 'Mine.'\n")
    tools = ("--tools", str(output))
    status, out, _ = run(capsys, "check", "diary_delete", '{"target": "journals[0]"}', *tools)
    assert status == 1
    assert "It would not run." in out
    assert f"decided   {file} line 1" in out
    assert f"because   {file} line 1 denies this call: Mine." in out
    assert 'runs      Application("com.example.Diary").delete(' in out
    status, out, _ = run(capsys, "check", "diary_make_entry", '{"title": "x"}', *tools)
    assert (status, out.splitlines()[0]) == (0, "It would require your approval.")
    status, out, _ = run(capsys, "check", "diary_count", '{"element": "entry"}', *tools, "--json")
    assert status == 0
    assert json.loads(out)["action"] == "allow"
    assert json.loads(out)["source"] == "preset cautious"
    status, out, _ = run(capsys, "check", "app_quit", '{"app": "Diary"}', *tools)
    assert "level     DANGEROUS" in out
    status, out, _ = run(capsys, "check", "list_apps", *tools)
    assert "It would run." in out


def test_check_says_what_always_would_cover(
    capsys: pytest.CaptureFixture[str], file: Path, generated: Path
) -> None:
    call = ("check", "notes_make_note", '{"name": "Milk", "body": ""}', "--tools", str(generated))
    _, out, _ = run(capsys, *call)
    assert 'always    make notes in Notes (with "name" and "body")' in out


def test_check_tells_wrong_usage(
    capsys: pytest.CaptureFixture[str], file: Path, output: Path
) -> None:
    tools = ("--tools", str(output))
    for arguments in ("{", "[]", "[" * 100_000):
        assert run(capsys, "check", "diary_list", arguments, *tools)[0] == 2
    status, _, err = run(capsys, "check", "diary_lst", "{}", *tools)
    assert status == 2
    assert "diary_list" in err
    status, _, err = run(capsys, "check", "diary_list", '{"elment": 1}', *tools)
    assert status == 1
    assert "element" in err


def editor(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let $VISUAL be a program that replaces what it is given by `text`."""
    source, program = tmp_path / "new.toml", tmp_path / "editor"
    source.write_text(text)
    program.write_text(f"#!/bin/sh\ncat '{source}' > \"$1\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(program))


def test_edit_replaces_the_policy_when_it_is_right(
    capsys: pytest.CaptureFixture[str], file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(tmp_path, "preset = 'private'\n", monkeypatch)
    status, out, _ = run(capsys, "edit")
    assert (status, out) == (0, f"{file} is saved. It takes effect when a server starts.\n")
    assert file.read_text() == "preset = 'private'\n"
    assert file.stat().st_mode & 0o077 == 0
    status, out, _ = run(capsys, "edit")
    assert out == "Nothing was changed.\n"
    assert [path.name for path in file.parent.iterdir()] == ["policy.toml"]


def test_edit_of_a_linked_policy_changes_what_the_link_leads_to(
    capsys: pytest.CaptureFixture[str], file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "settings"
    settings.mkdir()
    write(settings / "mine.toml", "preset = 'cautious'\n")
    (settings / "mine.toml").chmod(0o644)
    file.symlink_to(settings / "mine.toml")
    editor(tmp_path, "preset = 'private'\n", monkeypatch)
    assert run(capsys, "edit")[0] == 0
    assert file.is_symlink()
    assert (settings / "mine.toml").read_text() == "preset = 'private'\n"
    assert (settings / "mine.toml").stat().st_mode & 0o777 == 0o644
    assert [path.name for path in settings.iterdir()] == ["mine.toml"]
    assert [path.name for path in file.parent.iterdir()] == ["policy.toml"]


def test_edit_keeps_the_policy_and_the_text_when_it_is_wrong(
    capsys: pytest.CaptureFixture[str], file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(file, "preset = 'private'\n")
    editor(tmp_path, "preset = 'priate'\n", monkeypatch)
    status, _, err = run(capsys, "edit")
    assert status == 2
    assert 'policy.toml line 1: there is no preset "priate". Nearest: private' in err
    assert file.read_text() == "preset = 'private'\n"
    (draft,) = [path for path in file.parent.iterdir() if "draft" in path.name]
    assert draft.read_text() == "preset = 'priate'\n"
    assert str(draft) in err


def test_edit_starts_from_a_sample_that_is_right(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "true")
    path = tmp_path / "new" / "p.toml"
    assert run(capsys, "edit", "--policy", str(path))[0] == 0
    assert 'preset = "cautious"' in path.read_text()
    path.write_bytes(b"\xff")
    assert run(capsys, "edit", "--policy", str(path))[0] == 2
    (tmp_path / "file").write_text("")
    status, _, err = run(capsys, "edit", "--policy", str(tmp_path / "file" / "p.toml"))
    assert status == 2
    assert "cannot be" in err


def test_decisions_are_listed_and_revoked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "decisions")[1] == 'You have no "always allow" answers.\n'
    store = ApprovalStore()
    remember_approval(store, WRITE)
    _, out, _ = run(capsys, "decisions")
    assert out.startswith('1  make notes in Notes (with "name" and "body")  20')
    assert " by Claude" in out
    assert "void" not in out
    with store.open_transaction() as connection:
        connection.execute("UPDATE decisions SET says = 'nothing'")
    assert "void: this row was changed by hand" in run(capsys, "decisions")[1]
    assert run(capsys, "decisions", "--revoke", "7")[0] == 2
    assert run(capsys, "decisions", "--revoke", "x")[0] == 2
    assert run(capsys, "decisions", "--revoke", "1")[1] == "Revoked: 1.\n"
    assert run(capsys, "decisions", "--revoke", "all")[:2] == (0, "Revoked: 0.\n")


def test_a_decision_of_an_earlier_build_is_shown_as_void(
    capsys: pytest.CaptureFixture[str], generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("iac_runtime.tools.catalogue.shipped_folder", lambda: generated)
    remember_approval(ApprovalStore(), WRITE)
    assert "void: the tools of the app have changed" in run(capsys, "decisions")[1]


def test_resume_lets_questions_be_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    store = ApprovalStore()
    with store.open_transaction() as connection:
        for _ in range(MAX_UNAPPROVED):
            record_answer(connection, WRITE.client, "client", "decline", time.time())
    assert stopped(store, WRITE.client)
    for command in ("status", "doctor"):
        main([command])
        out = capsys.readouterr().out
        assert re.search(r"Claude cannot show approval prompts until 20[-0-9]+ [:0-9]+", out)
        assert "iac-mcp policy resume" in out
    main(["status", "--json"])
    (row,) = json.loads(capsys.readouterr().out)["paused"]
    assert (row["client"], row["lift"]) == ("Claude", "iac-mcp policy resume")
    assert run(capsys, "resume")[1] == "Approval prompts can appear again.\n"
    assert run(capsys, "resume")[1] == "Approval prompts were not paused.\n"
    assert not stopped(store, WRITE.client)
    main(["status"])
    assert "No question" not in capsys.readouterr().out


def test_a_state_folder_that_is_open_to_others_is_refused(
    capsys: pytest.CaptureFixture[str], own_data_folder: Path
) -> None:
    (own_data_folder / "state").mkdir(parents=True)
    (own_data_folder / "state").chmod(0o777)
    status, _, err = run(capsys, "decisions")
    assert status == 2
    assert "chmod 700" in err


def test_a_rule_for_one_server_holds_there_alone(
    capsys: pytest.CaptureFixture[str], file: Path, tmp_path: Path, generated: Path
) -> None:
    write(file, "[[deny]]\ntool = 'notes_make_note'\nserver = 'night*'\n")
    call = ("notes_make_note", '{"name": "x"}', "--tools", str(generated))
    assert run(capsys, "check", *call, "--server", "nightly")[0] == 1
    assert run(capsys, "check", *call)[0] == 0
    _, out, _ = run(capsys, "explain", *call, "--server", "daily")
    assert f"{file} line 1 (deny) does not match: server" in out
    write(file, "[[deny]]\ntool = 'notes_make_note'\nundoable = false\n")
    assert "(deny) does not match: undoable" in run(capsys, "explain", *call)[1]
    rows = '[[expect]]\ncall = "notes_make_note"\narguments = { name = "x" }\n'
    expected = tmp_path / "expected.toml"
    expected.write_text(f'{rows}decision = "deny"\nserver = "nightly"\n{rows}decision = "ask"\n')
    write(file, "[[deny]]\ntool = 'notes_make_note'\nserver = 'night*'\n")
    status, out, _ = run(capsys, "test", str(expected), "--tools", str(generated))
    assert (status, out.splitlines()[-1]) == (0, "2 as expected, 0 not.")


# `policy test` and `policy explain`: what a team runs in its CI, and what it reads then.


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


@pytest.mark.parametrize(("old", "new", "says"), [
    ('"allow"', '"deny"', "FAIL expected.toml line 2: notes_make_note allow"),
    ('rule = "line 1"', 'rule = "line 9"', "; expected deny by line 9"),
    ('target = "notes[0]"', 'goal = "x"', "FAIL expected.toml line 12: notes_delete cannot be"),
    ("notes_delete", "notes_delte", "cannot be judged:"),
])  # fmt: skip
def test_what_does_not_is_told_and_ends_with_1(
    old: str, new: str, says: str, capsys: pytest.CaptureFixture[str], folder: Path, generated: Path
) -> None:
    file = folder / "expected.toml"
    file.write_text(EXPECTED.replace(old, new), encoding="utf-8")
    assert main(["policy", "test", str(file), "--tools", str(generated)]) == 1
    assert says in capsys.readouterr().out


@pytest.mark.parametrize(("text", "says"), [
    ("[[expect]]\ncall = 'x'", "e.toml line 1: this [[expect]] has no decision."),
    ("[[expect]]\ncal = 'x'", 'e.toml line 2: there is no key "cal". Nearest: call'),
    ("[[expect]]\ndecision = 'alow'", 'line 2: there is no decision "alow". Nearest: allow'),
    ("[[expect]]\nat = 'noon'", 'line 2: at must be a day and a time, such as "mon 12:00".'),
    ("[[expect]]\narguments = 3", "line 2: arguments must be a table."),
    ("expect = 3", "line 1: write each one under a separate line: [[expect]]"),
    ("expect = [", "e.toml line 1: "), ("policy = 'gone.toml'", "gone.toml does not exist"),
])  # fmt: skip
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
