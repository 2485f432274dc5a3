"""The page with the record of a team: what all Macs did, whatever one of them says."""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path

import pytest
from fleet_record import Fleet

from iac_fleet import approving, database, versions

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    versions.make_key(tmp_path / "lead.pem")
    return tmp_path / "lead.pem"


@pytest.fixture
def page(fleet: Fleet, key: Path, tmp_path: Path) -> Iterator[urllib.request.OpenerDirector]:
    """What gets addresses of the page, let in by its one-time address."""
    env = {**os.environ, "IAC_DATA": str(tmp_path / "own")}
    env["IAC_FLEET_DATABASE"] = fleet.address("lead")
    argv = [
        sys.executable, "-m", "iac_mcp", "open", "--no-browser", "--simulate", "--fleet", "--key",
        str(key),
    ]  # fmt: skip
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        found = re.search(r"http://\S+", child.stdout.readline())
        assert found is not None
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        opener.open(found[0]).close()
        opener.addheaders = [("x-base", found[0].partition("/enter")[0])]
        yield opener
        child.terminate()


def read(page: urllib.request.OpenerDirector, path: str) -> str:
    with page.open(f"{page.addheaders[0][1]}{path}") as answer:
        return str(answer.read().decode())


def test_the_page_shows_all_macs_and_searches_their_calls(
    fleet: Fleet, page: urllib.request.OpenerDirector
) -> None:
    fleet.write(3)
    fleet.forward()
    with database.open_connection(fleet.address("mac")) as mac:
        database.report_host(mac, HOSTILE, {"version": HOSTILE, "apps": [HOSTILE, {"tools": 5}]})
        mac.execute("SELECT tell('odd', '[1, 2]')")
    text = read(page, "/fleet")
    assert ">studio</a>" in text
    assert text.count("notes_count") == 3
    assert HOSTILE not in text
    assert "&lt;script&gt;" in text
    assert "notes_count" not in read(page, "/fleet?app=com.apple.mail")
    assert "All logs are intact" in read(page, "/fleet?check=1")
    with database.open_connection(fleet.address("owner")) as owner:
        owner.execute("UPDATE rows SET body = '{}' WHERE seq = 3")
    assert "it was changed" in read(page, "/fleet?check=1")


def test_an_approver_answers_what_the_page_shows(
    fleet: Fleet, page: urllib.request.OpenerDirector, key: Path
) -> None:
    shown = json.dumps([{"id": "q1", "text": HOSTILE, "answers": ["Deny", "Allow once"]}])
    with database.open_connection(fleet.address("mac")) as mac:
        mac.execute("SELECT ask('studio', %s::json)", (shown,))
    text = read(page, "/fleet")
    assert HOSTILE not in text
    fields = dict(re.findall(r'"hidden" name="(form|host|question|seen)" value="([^"]*)"', text))
    assert (fields["host"], fields["question"]) == ("studio", "q1")

    def post(**other: str) -> int:
        data = urllib.parse.urlencode({**fields, "answer": "Allow once", **other}).encode()
        try:
            with page.open(f"{page.addheaders[0][1]}/fleet", data) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    assert post(form="x") == 403
    assert post(seen="x") == 409
    assert post(answer="Always allow") == 400
    assert post() == 200
    with database.open_connection(fleet.address("mac")) as mac:
        [row] = mac.execute("SELECT * FROM ask('studio', %s::json)", (shown,)).fetchall()
    public = versions.public_key(versions.read_key(key))
    asked = approving.FleetQuestion("studio", "q1", HOSTILE, ("Deny", "Allow once"))
    assert (row[3], row[4]) == ("Allow once", public)
    assert versions.is_signed(approving.signed_text(asked, "Allow once"), bytes(row[5]), public)
