"""Each kind of secret on each road: none leaves, by tools, scripts, plans or kept results."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plans_desk import Desk
from planted_secrets import Planted, planted_secrets

from iac_base.errors import CallRefusedError, IacError
from iac_base.logs import start_logging
from iac_runtime.audit import Audit
from iac_runtime.gate.plans import CompletedCall, PendingCall, RefusedCall
from iac_runtime.serve.call import done_result, failure_result
from iac_runtime.serve.protocol import INVALID_PARAMS, ProtocolError, refusal_message
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


@pytest.mark.parametrize(("policy", "text"), [
    (TRUSTED, f"{MAIL} mail.accounts[0].properties()"),
    (TRUSTED, f"{MAIL} mail.accounts.properties()"),
    (TRUSTED, f"{MAIL} mail.accounts.byName('Example').properties()"),
    (MINE, f"{MAIL} mail.inbox.messages[0].properties()"),
])  # fmt: skip
def test_all_properties_come_without_those_that_are_never_read(policy: str, text: str) -> None:
    found = str(desk_of(policy).run("execute_applescript", **script(text)))
    assert "'success': True" in found
    assert WORD not in found
    assert '"subject"' not in found
    assert '"password"' not in found


@pytest.mark.parametrize(("tool", "arguments"), [
    ("mail_get", {"target": "inbox.messages[0].subject"}),
    ("mail_list", {"element": "message", "of": "inbox", "properties": ["subject"]}),
    ("mail_list", {"element": "message", "of": "inbox", "order": ["subject"]}),
    ("mail_count", {"element": "message", "of": "inbox", "where": {"subject": "a"}}),
    ("execute_applescript", script('tell application "Mail" to subject of message 1 of inbox')),
    ("execute_applescript", script('tell application "Mail" to properties of inbox')),
    ("execute_applescript", script(f"{MAIL} mail.inbox.messages[0].subject()")),
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


FILLING = " a word or two" * 40
SHORTEST = 6
"""Characters of a secret that cannot stand anywhere by chance."""


def quoted(text: Any) -> str:
    return json.dumps(text, ensure_ascii=False)


def noted_script(text: str, language: str) -> dict[str, Any]:
    comment, made = text.replace("\n", " "), f"{{body: {quoted(text)}}}"
    body = f'-- {comment}\ntell application "Notes" to make new note with properties {made}'
    if language == "javascript":
        body = f'// {comment}\nconst n = Application("Notes"); n.notes.push(n.Note({made}))'
    return {"language": language, "intent": f"keep {text}", "script": body}


def address(text: str) -> str:
    """Return the address in a text, or one that carries it."""
    known = next((word for word in text.split() if "://" in word), "")
    return known or f"https://example.org/?q={text}"


def note(text: str) -> dict[str, Any]:
    return {"element": "note", "properties": {"name": "x", "body": text}}


def mail(text: str) -> dict[str, Any]:
    return {"element": "outgoing message", "properties": {"subject": "x", "content": text}}


ROADS: dict[str, Any] = {
    "a property": lambda text: ("notes_make", note(text)),
    "a name": lambda text: ("notes_make", {"element": "note", "properties": {"name": text}}),
    "a filter": lambda text: ("notes_list", {"element": "note", "where": {"body": text}}),
    "a count": lambda text: ("notes_count", {"element": "note", "where": {"name": text}}),
    "a mail": lambda text: ("mail_make", mail(text)),
    "a mail that is cut": lambda text: ("mail_make", mail(FILLING + f" {text}" + FILLING)),
    "at the edge of the cut": lambda text: ("mail_make", mail("x" * 200 + f" {text}" + FILLING)),
    "an address": lambda text: ("standard_additions_open_location", {"target": address(text)}),
    "a page": lambda text: (
        "safari_set", {"target": "documents[0]", "properties": {"URL": address(text)}}
    ),
    "a command": lambda text: (
        "standard_additions_run_shell_command", {"command": f"echo {quoted(text)}"}
    ),
    "the clipboard": lambda text: ("standard_additions_set_clipboard_text", {"text": text}),
    "AppleScript": lambda text: ("execute_applescript", noted_script(text, "applescript")),
    "JavaScript": lambda text: ("execute_applescript", noted_script(text, "javascript")),
    "a plan": lambda text: (
        "run_plan", {"program": f"notes.make(element='note', properties={{'body': {text!r}}})"}
    ),
    "an undo": lambda text: ("undo_call", {"last": 1}),
    "an object that is not there": lambda text: (
        "finder_move", {"target": f"home.items[{quoted(text)}]", "to": "trash"}
    ),
    "a wrong argument": lambda text: ("notes_make", {"element": text}),
    "a wrong tool": lambda text: (f"notes_make {text}", {}),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IAC_DATA", str(tmp_path))
    return tmp_path


def answered(desk: Desk, tool: str, arguments: dict[str, Any]) -> Iterator[str]:
    """Carry out a call, and yield each text that leaves beside the data that was asked for."""
    try:
        found = desk.ask(tool, **arguments)
        while isinstance(found, PendingCall):
            yield "\n".join((found.question.text, found.question.line, found.question.scope))
            body = found.token.partition(".")[0]
            yield base64.urlsafe_b64decode(body + "==").decode()
            found = desk.answer(found, tool, **arguments)
        done = done_result(found)
        meta = done.get("_meta", {})
        yield quoted({key: meta[key] for key in meta if key != "iac/outcome"})
        yield quoted(done["content"]) if done["isError"] else ""
    except IacError as error:
        failed = json.loads(failure_result(error)["content"][0]["text"])
        # The call to make next holds what was given, as it was given.
        failed.pop("next", None)
        yield quoted(failed)
        yield refusal_message(1, ProtocolError(INVALID_PARAMS, str(error))).decode()


def written_forms(text: str) -> set[str]:
    """Return a text as files hold it: as it is, and as JSON, twice too."""
    forms = {text}
    for ascii_only in (True, False):
        once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        forms |= {once, json.dumps(once, ensure_ascii=ascii_only)[1:-1]}
    return forms


def leaks(planted: Planted, text: str) -> bool:
    return len(planted.secret) >= SHORTEST and any(
        form in text for form in written_forms(planted.secret)
    )


@pytest.mark.parametrize("road", ROADS)
def test_no_kind_of_secret_leaves_by_a_road(road: str, folder: Path) -> None:
    every = planted_secrets(len(road))
    at = list(ROADS).index(road)
    chosen = every[at % 6 :: 6]
    start_logging(verbose=True, file=folder / "log.txt")
    audit = Audit.open(folder / "state")
    desk = Desk(audit=lambda: audit)
    found = []
    for planted in chosen:
        if road == "an undo":
            list(answered(desk, "notes_make", note(planted.text)))
        for text in answered(desk, *ROADS[road](planted.text)):
            found += [(planted.kind, text)] if leaks(planted, text) else []
    desk.gate.close()
    start_logging()
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        stored = path.read_bytes().decode("utf-8", "replace")
        found += [(planted.kind, path.name) for planted in chosen if leaks(planted, stored)]
    assert found == []


@pytest.mark.parametrize("tool", ["mail_set", "run_plan", "execute_applescript"])
def test_a_secret_by_its_property_is_kept_nowhere(tool: str, folder: Path) -> None:
    word = "so-plain-a-word"
    given: dict[str, dict[str, Any]] = {
        "mail_set": {"target": "accounts[0]", "properties": {"password": word}},
        "run_plan": {"program": f"mail.set('accounts[0]', properties={{'password': {word!r}}})"},
        "execute_applescript": {
            "script": f'-- password: {word}\ntell application "Mail" to set password of account 1'
            f' to "{word}"',
            "language": "applescript", "intent": f"set the password to {word!r}",
        },
    }  # fmt: skip
    audit = Audit.open(folder / "state")
    desk = Desk(audit=lambda: audit)
    texts = [*answered(desk, tool, given[tool])]
    desk.gate.close()
    stored = (path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*.*"))
    assert "[redacted]" in texts[0]
    assert all(word not in text for text in (*texts, *stored))


@pytest.mark.parametrize(("tool", "arguments"), [
    ("notes_make", note("Passwort: geheim123")),
    ("notes_set", {"target": "notes[0]", "properties": {"body": "Passwort: geheim123"}}),
])  # fmt: skip
def test_an_undo_that_would_need_a_secret_is_not_promised(
    tool: str, arguments: dict[str, Any], folder: Path
) -> None:
    desk = Desk()
    desk.run("notes_make", **note("before"))
    asked = desk.ask(tool, **arguments)
    assert "Cannot be undone: it contains something like a secret" in asked.question.text
    done = desk.answer(asked, tool, **arguments)
    assert "something like a secret" in done.outcome.undo
