"""No road leads to what is never read: tools, scripts, plans, and results that are kept."""

import re
from pathlib import Path
from typing import Any

import pytest
from plans_desk import Desk

from iac_base.errors import CallRefusedError
from iac_runtime.gate.plans import CompletedCall, PendingCall, RefusedCall
from iac_simulator.simulator import demo_state

WORD = "hunter2-on-file"
TRUSTED = "preset = 'trusted'\n[[allow]]\ntool = '*'\n"
MAIL = 'const mail = Application("Mail");'


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IAC_DATA", str(tmp_path))


def desk_of(policy: str = TRUSTED) -> Desk:
    state = demo_state()
    state["mail"]["accounts"][0]["password"] = WORD
    return Desk(state, policy)


def script(text: str) -> dict[str, Any]:
    return {"script": text, "language": "javascript" if "Application(" in text else "applescript"}


def refusal(desk: Desk, tool: str, **arguments: Any) -> str:
    """Return why a call is refused for good, without a question."""
    found = desk.ask(tool, **arguments)
    assert isinstance(found, RefusedCall), found
    assert found.source == "secrets are never read"
    assert "No setting allows this" in found.suggestion
    return found.reason


@pytest.mark.sweep
@pytest.mark.parametrize("text", [
    f"{MAIL} mail.accounts[0].properties()", f"{MAIL} mail.accounts.properties()",
    f"{MAIL} const one = mail.accounts.byName('Example'); one.properties().name",
    f"{MAIL} mail.accounts[0].password()",
    f"{MAIL} const {{password}} = mail.accounts[0]; password()",
    f'{MAIL} mail.accounts.whose({{password: {{_beginsWith: "h"}}}}).length',
    f'{MAIL} mail.accounts.where({{_not: [{{password: "h"}}]}}).length',
    'tell application "Mail" to get properties of account 1',
    'tell application "Mail" to get properties of every imap account',
    'tell application "Mail" to tell account 1 to get its properties',
    'tell application "Mail" to get account 1\'s properties',
    'tell application "Mail" to get account 1 as record',
    'tell application "Mail" to count (accounts whose password begins with "h")',
    'tell application "Mail" to get «property macp» of account 1',
    ('tell application "Mail"\nset x to account 1\nrepeat with y in properties of x\n'
     "log y\nend repeat\nend tell"),
    'tell application "Mail" to get {password, "x"} of account 1',
    'tell application "Mail"\n(* (* -- *) *)\nget name of account 1\nend tell',
    'tell application "Mail"\n' + "count messages of " * 3_000 + "\nend tell",
])  # fmt: skip
def test_a_script_that_reads_a_secret_is_refused(text: str) -> None:
    reason = refusal(desk_of(), "execute_applescript", **script(text))
    assert "contains a secret" in reason


@pytest.mark.parametrize("text", [
    'tell application "Mail" to get properties of message 1 of inbox',
    'tell application "Mail" to get name of account 1',
    'tell application "Mail" to set password of account 1 to "x"',
    'tell application "Mail" to set account 1\'s password to "x"',
    f"{MAIL} mail.inbox.messages[0].properties().subject",
    f'{MAIL} mail.accounts[0].password = "x"',
    f'{MAIL} mail.accounts.whose({{name: "Example"}}).length',
    'tell application "Finder" to get properties of file 1 of desktop',
    'tell application "Numbers" to remove password "x" from document 1',
])  # fmt: skip
def test_a_script_that_reads_or_sets_something_else_is_not(text: str) -> None:
    found = desk_of("").ask("execute_applescript", **script(text))
    assert isinstance(found, PendingCall | CompletedCall)


HIDDEN = "const key = JSON.parse('\"password\"');"
ALL = HIDDEN.replace("password", "properties")


@pytest.mark.parametrize("text", [
    f"{HIDDEN} {MAIL} mail.accounts[0][key]()",
    f"{HIDDEN} {MAIL} mail.accounts.whose({{[key]: {{_beginsWith: 'h'}}}}).length",
    f"{ALL} {MAIL} JSON.stringify(mail.accounts[0][key]())",
    f"{MAIL} const f = eval('(x) => x.password()'); f(mail.accounts[0])",
    f"{MAIL} const f = eval('(x) => JSON.stringify(x.properties())'); f(mail.accounts[0])",
    f"{MAIL} const w = eval('mail.accounts.whose'); w({{password: {{_beginsWith: 'h'}}}}).id()",
])  # fmt: skip
def test_a_name_that_is_known_only_at_run_time_reads_none(text: str) -> None:
    desk = desk_of()
    found = desk.run("execute_applescript", **script(text))
    assert WORD not in str(found)
    if found["success"]:
        assert found["data"]["result"]["name"] == "Example"
    else:
        assert "secret password was not approved" in str(found["error"])


MINE = f"secrets = ['subject']\n{TRUSTED}"


@pytest.mark.parametrize(("tool", "arguments"), [
    ("mail_get", {"target": "inbox.messages[0].subject"}),
    ("mail_list", {"element": "message", "of": "inbox", "properties": ["subject"]}),
    ("mail_list", {"element": "message", "of": "inbox", "order": ["subject"]}),
    ("mail_count", {"element": "message", "of": "inbox", "where": {"subject": "a"}}),
    ("execute_applescript", script('tell application "Mail" to subject of message 1 of inbox')),
    ("execute_applescript", script('tell application "Mail" to properties of inbox')),
    ("execute_applescript", script(f"{MAIL} mail.inbox.messages[0].subject()")),
    ("execute_applescript", script(f"{MAIL} mail.inbox.messages[0].properties()")),
    ("execute_applescript",
     script('tell application "Mail" to count (messages of inbox whose subject is "a")')),
])  # fmt: skip
def test_what_the_user_names_is_a_secret_on_every_road(
    tool: str, arguments: dict[str, Any]
) -> None:
    assert "contains a secret" in refusal(desk_of(MINE), tool, **arguments)


def test_a_plan_is_not_given_it() -> None:
    with pytest.raises(CallRefusedError, match="contains a secret"):
        desk_of(MINE).plan('mail.get("inbox.messages[0].subject")')


def test_a_record_loses_its_secrets_and_it_is_said() -> None:
    desk = desk_of()
    text = '({name: "a", password: "b", rows: [{"api key": "c", on: true, passwordShown: false}]})'
    found = desk.ask("execute_applescript", script=text, language="javascript")
    while isinstance(found, PendingCall):
        found = desk.answer(found, "execute_applescript", script=text, language="javascript")
    assert found.value["data"]["result"] == {
        "name": "a",
        "rows": [{"on": True, "passwordShown": False}],
    }
    assert found.note == 'left out, because secrets are never read: "password", "api key"'


def test_a_kept_result_is_read_on_without_what_is_a_secret_by_now() -> None:
    state = demo_state()
    state["notes"]["accounts"][0]["folders"][0]["notes"] = [
        {"id": str(n), "name": f"note {n}", "plaintext": "private"} for n in range(50)
    ]
    first = Desk(state, TRUSTED)
    first.gate.context.limit = 2_000
    found = first.ask("notes_list", element="note", properties=["name", "plaintext"])
    assert isinstance(found, CompletedCall)
    ident = re.search(r'result "([^"]+)"', found.note)
    assert ident, found.note

    def rest(desk: Desk) -> Any:
        return desk.run("read_more", result=ident[1], offset=40)["result"][0]

    assert rest(first)["plaintext"] == "private"
    assert "plaintext" not in rest(Desk(state, MINE.replace("subject", "plaintext")))
