"""Who is let in, and what a browser is told: spoken to the page without a browser."""

import http.client
import plistlib
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from opened_page import HOSTILE, OpenPage, environment, write_calls
from starlette.testclient import TestClient

from iac_base.files import open_state
from iac_page import answers, calls, permissions
from iac_page.answers import PageSources
from iac_page.guard import COOKIE, PageKeys
from iac_page.marks import AppMarks
from iac_page.server import make_app
from iac_runtime.audit.reading import row_lines
from iac_runtime.audit.store import FILE
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.serve.status import StatusFile
from iac_runtime.tools.freshness import check_freshness

FORM = {"content-type": "application/x-www-form-urlencoded"}


def ask(
    page: OpenPage, path: str, method: str = "GET", body: str | None = None, **headers: str
) -> tuple[int, dict[str, str], str]:
    """Send a request as anybody on this machine could, and return status, headers and text."""
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, {**(FORM if body else {}), **named})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text


def enter(page: OpenPage) -> str:
    """Use the one-time address, and return the cookie."""
    status, headers, _ = ask(page, page.address.removeprefix(page.base))
    assert status == 303
    assert {"HttpOnly", "SameSite=strict"} <= set(headers["set-cookie"].split("; "))
    return headers["set-cookie"].partition(";")[0]


def form_of(text: str) -> str:
    return text.partition('name="form" value="')[2].partition('"')[0]


@pytest.fixture(scope="module")
def cookie(page: OpenPage) -> str:
    """What lets in to the page that the tests of this file share."""
    return enter(page)


def test_nobody_is_let_in_without_the_one_time_address(
    opened: Callable[[Path], OpenPage], data: Path
) -> None:
    page = opened(data)
    for path in ("/", "/now", "/history", "/rules", "/calls.jsonl", "/events", "/static/page.js"):
        assert ask(page, path)[0] == 401, path
    assert ask(page, "/enter?token=guess")[0] == 401
    assert ask(page, "/enter")[0] == 401
    cookie = enter(page)
    assert ask(page, "/history", cookie=cookie)[0] == 200
    # It works once.
    assert ask(page, page.address.removeprefix(page.base))[0] == 401
    assert ask(page, "/history", cookie=f"{cookie}x")[0] == 401
    assert ask(page, "/history", cookie="iac_page=")[0] == 401


@pytest.mark.parametrize("headers", [
    {"host": "attacker.example"}, {"host": "attacker.example:80"},
    {"origin": "http://attacker.example"}, {"origin": "null"}, {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},
])  # fmt: skip
def test_other_names_and_other_sites_are_refused(
    page: OpenPage, cookie: str, headers: dict[str, str]
) -> None:
    for path in ("/now", "/history"):
        assert ask(page, path, cookie=cookie, **headers)[0] == 403
    assert ask(page, "/now", "POST", "answer=x", cookie=cookie, **headers)[0] == 403


def test_a_change_needs_the_token_of_its_form(page: OpenPage, cookie: str) -> None:
    rule = {"rule": '[[deny]]\ntool = "notes_delete"', "how": "save"}
    for wrong in ({}, {"form": ""}, {"form": "x" * 64}):
        status, _, text = ask(page, "/rules", "POST", urlencode({**rule, **wrong}), cookie=cookie)
        assert (status, "Load the view again" in text) == (403, True)
    assert not (page.data / "policy.toml").exists()
    token = form_of(ask(page, "/rules", cookie=cookie)[2])
    body = urlencode({**rule, "form": token})
    assert ask(page, "/rules", "POST", body, cookie=cookie)[0] == 200
    assert "notes_delete" in (page.data / "policy.toml").read_text()
    large = urlencode({**rule, "form": token, "rest": "x" * 300_000})
    assert ask(page, "/rules", "POST", large, cookie=cookie)[0] == 413


def test_every_answer_forbids_what_is_not_the_page_s_own(page: OpenPage, cookie: str) -> None:
    for path in ("/now", "/apps", "/history", "/nothing", "/static/page.css"):
        _, headers, text = ask(page, path, cookie=cookie)
        assert headers["content-security-policy"].startswith("default-src 'none'; ")
        assert "unsafe" not in headers["content-security-policy"]
        assert (headers["cache-control"], headers["x-frame-options"]) == ("no-store", "DENY")
        assert "server" not in headers
        assert "<script>" not in text
        assert " style=" not in text


def test_only_this_machine_is_served(page: OpenPage) -> None:
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("needs the list of sockets of Linux")
    rows = [row.split()[1] for row in listening.read_text().splitlines()[1:]]
    assert next(row for row in rows if row.endswith(f":{page.port:04X}")).startswith("0100007F:")


def test_the_record_is_exported_whole_and_its_chain_is_told(
    opened: Callable[[Path], OpenPage], tmp_path: Path
) -> None:
    state = tmp_path / "data" / "state"
    state.mkdir(parents=True, mode=0o700)
    write_calls(state, 3)
    page = opened(state.parent)
    cookie = enter(page)
    rows = ask(page, "/calls.jsonl", cookie=cookie)[2].splitlines()
    assert rows == list(row_lines(state))
    assert "The log is intact" in ask(page, "/chain", cookie=cookie)[2]
    with closing(sqlite3.connect(state / FILE)) as record, record:
        record.execute("UPDATE rows SET body = replace(body, 'line 1', 'line 9')")
    assert "The log is not intact" in ask(page, "/chain", cookie=cookie)[2]


def test_pages_of_calls_leave_none_out_and_charts_count_all(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    write_calls(state, 230)
    with closing(build_gate(GateOptions(simulate=""))) as gate:
        assert gate.catalogue is not None
        marks = AppMarks(gate.catalogue)

    def look(asked: Mapping[str, object]) -> tuple[dict[str, Any], list[int]]:
        view = calls.history_view(state, {k: str(v) for k, v in asked.items()}, marks, ())
        rows = [one for day in view["days"] for run in day.runs for one in run.calls]
        return view, [one.entry.seq for one in rows]

    view, seen = look({})
    charts = calls.charts_view(state, marks)
    assert sum(bar.calls for bar in charts["bars"]) == charts["total"] == 231
    assert {mark.name: bar.calls for mark, bar in charts["most"]}["Notes"] == 230
    assert sum(len(lane.marks) for lane in view["lanes"]) == len(seen)
    while view["older"]:
        view, more = look(view["older"])
        seen += more
    assert len(seen) == len(set(seen)) == 231
    assert look({"decision": "deny"})[1] == seen[:1]


@pytest.mark.slow
def test_it_ends_when_nobody_looks(tmp_path: Path) -> None:
    data = tmp_path / "data"
    code = (
        "from iac_page.server import serve_page; from iac_runtime.gate.opening import GateOptions;"
        "serve_page(GateOptions(simulate=''), 0, 1.5, lambda address: print(address, flush=True))"
    )
    argv = [sys.executable, "-c", code]
    child = subprocess.Popen(argv, env=environment(data), stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    address = child.stdout.readline().strip()
    page = OpenPage(address.partition("/enter")[0], address, data)
    watching = http.client.HTTPConnection("127.0.0.1", page.port, timeout=20)
    try:
        watching.request("GET", "/events", headers={"cookie": enter(page)})
        with watching.getresponse() as events:
            assert events.status == 200
            time.sleep(3)
            assert child.poll() is None, "somebody looks"
        watching.close()
        assert child.wait(20) == 0
    finally:
        child.kill()
        child.communicate()
    assert not (data / "state" / "page.json").exists()


def test_every_text_of_a_view_is_in_one_place() -> None:
    class Words(HTMLParser):
        said = ""

        def handle_data(self, data: str) -> None:
            self.said += data

        def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.said += " ".join(
                value or "" for name, value in attrs if name in ("aria-label", "placeholder")
            )

    for path in (Path(answers.__file__).parent / "templates").glob("*.html"):
        words = Words()
        words.feed(re.sub(r"{%.*?%}|{{.*?}}", "", path.read_text(), flags=re.DOTALL))
        assert set(re.findall("[A-Za-z]+", words.said)) <= {"IAC", "ms"}, path


def test_a_rule_fits_past_calls_of_recipes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IAC_DATA", str(tmp_path))
    with closing(build_gate(GateOptions(simulate="", allow="MODIFY"))) as gate:
        done = gate.call(Call("notes_make_note", {"name": "Milk"}))
        assert isinstance(done, CompletedCall)
        state = tmp_path / "state"
        for tool, fits in (("notes_make_note", 1), ("notes_make*", 1), ("notes_make", 0)):
            draft = permissions.try_rule(state, gate, f'[[deny]]\ntool = "{tool}"')
            assert (draft.wrong, len(draft.calls)) == ("", fits)
        (entry,) = draft.calls or permissions.recent_calls(state)
        assert permissions.rule_from_call(entry).startswith('[[deny]]\ntool = "notes_make_note"')


def test_an_app_that_was_updated_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))
    inside = tmp_path / "Notes.app" / "Contents"
    (inside / "Resources").mkdir(parents=True)
    facts = {"CFBundleIdentifier": "com.apple.Notes", "OSAScriptingDefinition": "Notes.sdef"}
    facts["CFBundleShortVersionString"] = f"9.1{HOSTILE[:8]}"
    (inside / "Info.plist").write_bytes(plistlib.dumps(facts))
    (inside / "Resources" / "Notes.sdef").write_text("<dictionary/>")
    looked = partial(check_freshness, folders=[str(tmp_path)])
    monkeypatch.setattr("iac_page.updates.check_freshness", looked)
    keys = PageKeys()
    with closing(build_gate(GateOptions(simulate=""))) as gate:
        app = make_app(PageSources(open_state(), gate, lambda: gate, keys), 80)
        client = TestClient(app, "http://127.0.0.1:80", cookies={COOKIE: keys.session})
        text = client.get("/changes", headers={"host": "127.0.0.1:80"}).text
    assert 'href="/changes?compare=1&amp;app=com.apple.Notes"' in text
    assert "→ 9.1&lt;script" in text


def test_what_is_left_of_a_task_is_shown(
    page: OpenPage, cookie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IAC_DATA", str(page.data))
    row = {"client": "<b>Claude", "covers": "mark in {inbox}", "left": 3, "of": 20}
    board = StatusFile("search", 1, {}, tasks=lambda: [{**row, "until": "2999-01-01 10:00:00"}])
    shown = ask(page, "/now?part", cookie=cookie)[2]
    board.close()
    said = "3 of 20 changes left until 2999-01-01 10:00:00: mark in {inbox}."
    assert f"&lt;b&gt;Claude: {said}" in shown
