"""Who is let in, and what a browser is told: spoken to the page without a browser."""

import http.client
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from opened_page import OpenPage


@pytest.fixture
def page(opened: Callable[[Path], OpenPage], data: Path) -> OpenPage:
    """One that nobody was let in to."""
    return opened(data)


FORM = {"content-type": "application/x-www-form-urlencoded"}


def ask(
    page: OpenPage,
    path: str,
    method: str = "GET",
    body: str | None = None,
    **headers: str,
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


def test_nobody_is_let_in_without_the_one_time_address(page: OpenPage) -> None:
    for path in ("/", "/now", "/calls", "/rules", "/calls.jsonl", "/events", "/static/page.js"):
        assert ask(page, path)[0] == 401, path
    assert ask(page, "/enter?token=guess")[0] == 401
    assert ask(page, "/enter")[0] == 401
    cookie = enter(page)
    assert ask(page, "/calls", cookie=cookie)[0] == 200
    # It works once.
    assert ask(page, page.address.removeprefix(page.base))[0] == 401
    assert ask(page, "/calls", cookie=f"{cookie}x")[0] == 401
    assert ask(page, "/calls", cookie="iac_page=")[0] == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "attacker.example"},
        {"host": "attacker.example:80"},
        {"origin": "http://attacker.example"},
        {"origin": "null"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_other_names_and_other_sites_are_refused(page: OpenPage, headers: dict[str, str]) -> None:
    cookie = enter(page)
    for path in ("/now", "/calls"):
        assert ask(page, path, cookie=cookie, **headers)[0] == 403
    assert ask(page, "/now", "POST", "answer=x", cookie=cookie, **headers)[0] == 403


def test_a_change_needs_the_token_of_its_form(page: OpenPage) -> None:
    cookie = enter(page)
    rule = {"rule": '[[deny]]\ntool = "notes_delete"', "how": "save"}
    for wrong in ({}, {"form": ""}, {"form": "x" * 64}):
        status, _, text = ask(page, "/rules", "POST", urlencode({**rule, **wrong}), cookie=cookie)
        assert (status, "load it again" in text) == (403, True)
    assert not (page.data / "policy.toml").exists()
    token = form_of(ask(page, "/rules", cookie=cookie)[2])
    body = urlencode({**rule, "form": token})
    assert ask(page, "/rules", "POST", body, cookie=cookie)[0] == 200
    assert "notes_delete" in (page.data / "policy.toml").read_text()
    large = urlencode({**rule, "form": token, "rest": "x" * 300_000})
    assert ask(page, "/rules", "POST", large, cookie=cookie)[0] == 413


def test_every_answer_forbids_what_is_not_the_page_s_own(page: OpenPage) -> None:
    cookie = enter(page)
    for path in ("/now", "/apps", "/calls", "/nothing", "/static/page.css"):
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
