"""Each kind of secret on each road: at no border does a text leave with one.

Borders: the question, its file and its token, the audit, the history, learned scripts, the log,
and what a client is answered beside the data that it asked for.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plans_desk import Desk
from planted_secrets import Planted, planted_secrets

from iac_base.errors import IacError
from iac_base.logs import start_logging
from iac_runtime.audit import Audit
from iac_runtime.gate.plans import PendingCall
from iac_runtime.serve.call import done_result, failure_result
from iac_runtime.serve.protocol import INVALID_PARAMS, ProtocolError, refusal_message

FILLING = " a word or two" * 40
SHORTEST = 6
"""Characters of a secret that cannot stand anywhere by chance."""


def quoted(text: Any) -> str:
    return json.dumps(text, ensure_ascii=False)


def script(text: str, language: str) -> dict[str, Any]:
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
    "AppleScript": lambda text: ("execute_applescript", script(text, "applescript")),
    "JavaScript": lambda text: ("execute_applescript", script(text, "javascript")),
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
