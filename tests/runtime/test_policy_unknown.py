"""Words of a policy that nothing knows: told with the nearest and the line, by every command."""

import logging
import time
from pathlib import Path

import pytest

from iac_mcp.cli.main import main
from iac_mcp.setup.checks import DoctorContext
from iac_mcp.setup.checks import check_policy as policy_check
from iac_runtime.execution.executor import Executor
from iac_runtime.policy.policy_file import parse_policy, unknown_words
from iac_runtime.serve import stdio
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import added_tools


@pytest.fixture(scope="module")
def catalogue(generated: Path) -> Catalogue:
    return Catalogue([generated])


def words(text: str, catalogue: Catalogue) -> list[str]:
    return unknown_words(parse_policy(text), catalogue, added_tools())


@pytest.mark.parametrize(("text", "expected"), [
    ("[only]\napps = ['Calender']", 'line 2: there is no app "Calender". Nearest: Calendar'),
    ("[[deny]]\nlevel = 'SAFE'\napp = 'Nots'", 'line 3: there is no app "Nots". Nearest: Notes'),
    ("[[deny]]\ntool = ['*', 'mail_snd*']", 'line 2: there is no tool "mail_snd*". Nearest:'),
    ("[[deny]]\ntool = 'mail_mark_read'\nargument = { mesage = 'x' }",
     'line 3: there is no argument "mesage" of mail_mark_read. Nearest: message'),
    ("[[allow]]\napp = 'Mail'\n[allow.argument]\nproperties = { 'reed status' = true }",
     'line 4: there is no property "reed status" in properties. Nearest: read status'),
    ("[[allow]]\ntool = 'mail_*'\nargument = { properties = { property = 'subjekt' } }",
     'line 3: there is no property "subjekt" in properties. Nearest: subject'),
    ("[[ask]]\ntool = 'textedit_close'\nargument = { saving = { enumerator = 'mo' } }",
     'line 3: there is no enumerator "mo" in saving. Nearest: no.'),
    ("[[ask]]\ntool = 'textedit_close'\nargument = { saving = 'yess' }",
     'line 3: there is no enumerator "yess" in saving. Nearest: yes.'),
    ("[[rule]]\nlevel = 'SAFE'\ntool = 'finder_move'\nargument = { to = { foldr = '~/x' } }",
     'line 4: there is no matcher "foldr" for to. Nearest: folder'),
])  # fmt: skip
def test_an_unknown_word_is_told_with_its_line_and_the_nearest(
    text: str, expected: str, catalogue: Catalogue
) -> None:
    (found,) = words(text, catalogue)
    assert found.startswith(f"policy.toml {expected}")


@pytest.mark.parametrize(
    "text",
    [
        "[only]\napps = ['Notes', 'com.apple.*', 'com.1password.1password']",
        "[[deny]]\ntool = ['mail_*', 'app_quit', 'execute_applescript', 'find_element']",
        # A recipe's own argument, and one of the operation behind it.
        "[[deny]]\ntool = 'mail_mark_read'\nargument = { message = 'x', target = 'y' }",
        "[[allow]]\ntool = 'mail_set'\nargument = { properties = { readStatus = true } }",
        "[[ask]]\nargument = { saving = { enumerator = 'no' }, limit = { at_most = 3 } }",
        "[[ask]]\ntool = 'textedit_close'\nargument = { saving = ['n*', 'yes'] }",
        "[[ask]]\ntool='finder_move'\nargument = { to = { folder = '~/x' } }\nhours='08:00-09:00'",
    ],
)
def test_what_is_known_is_not_told(text: str, catalogue: Catalogue) -> None:
    assert words(text, catalogue) == []


def test_check_of_the_whole_file_says_what_is_not_known(
    capsys: pytest.CaptureFixture[str], own_data_folder: Path, generated: Path
) -> None:
    own_data_folder.mkdir(mode=0o700)
    file = own_data_folder / "policy.toml"
    file.write_text("[[deny]]\ntool = 'notes_delte'\n", encoding="utf-8")
    file.chmod(0o600)
    tools = ("--tools", str(generated))
    assert main(["policy", "check", *tools]) == 1
    says = f'{file} line 2: there is no tool "notes_delte". Nearest: notes_delete'
    assert capsys.readouterr().out.startswith(says)
    warned = list(policy_check(DoctorContext(Executor(), (generated,))))
    assert [row.state for row in warned] == ["ok", "warning"]
    assert warned[1].says.startswith(says)
    file.write_text("[[deny]]\ntool = 'notes_delete'\n", encoding="utf-8")
    assert main(["policy", "check", *tools]) == 0
    known = "Every app, tool, argument and enumerator in the policy is known.\n"
    assert capsys.readouterr().out == known


def test_the_server_logs_what_is_not_known_and_serves(
    own_data_folder: Path,
    generated: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    own_data_folder.mkdir(mode=0o700)
    file = own_data_folder / "policy.toml"
    file.write_text("[[deny]]\ntool = 'notes_delte'\n", encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setattr(stdio, "_LATER", 0.0)
    with caplog.at_level(logging.WARNING, "iac.policy"):
        gate = stdio._open_gate({"tools": [str(generated)]})
        end = time.monotonic() + 20
        while not caplog.messages and time.monotonic() < end:
            time.sleep(0.01)
        gate.close()
    assert 'line 2: there is no tool "notes_delte"' in caplog.messages[0]
