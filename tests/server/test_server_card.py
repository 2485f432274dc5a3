"""What a server tells over HTTP before anybody has connected: the card, and who may read it."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.server.lowlevel import Server
from over_http import Wire, over_http

from iac_mcp.http.card import CARD_PATHS, PURPOSE
from iac_runtime.version import VERSION

CARD, OLD_PLACE, CATALOG = CARD_PATHS
ELSEWHERE = {"origin": "https://elsewhere.example"}
PUBLIC = {
    "url": "https://mac.example.com/mcp",
    "issuer": "https://login.example.com",
    "jwks": "https://login.example.com/keys",
}


@pytest.fixture(params=["here", "for others"])
def served(request: Any) -> Iterator[tuple[str, bool]]:
    """The root of a server, and whether other machines reach it."""
    others = request.param == "for others"
    said = {**PUBLIC, "hosts": ["127.0.0.1"]} if others else {}
    with over_http(Server("x"), said) as settings:
        yield f"http://127.0.0.1:{settings.port}", others


def test_the_card_says_where_to_go_and_what_is_needed(served: tuple[str, bool]) -> None:
    root, others = served
    http = Wire(root).http
    answer = http.get(root + CARD)
    card = answer.json()
    assert answer.headers["content-type"].startswith("application/mcp-server-card+json")
    assert http.get(root + OLD_PLACE).json() == card
    assert (card["title"], card["version"]) == ("IAC", VERSION)
    assert card["name"] == ("com.example.mac/iac" if others else "localhost/iac")
    (remote,) = card["remotes"]
    assert remote["url"] == (PUBLIC["url"] if others else f"{root}/mcp")
    assert "2026-07-28" in remote["supportedProtocolVersions"]
    # Where OAuth gives tokens, its own documents say so.
    assert [row["name"] for row in remote.get("headers", ())] == ["Authorization"] * (not others)
    (entry,) = http.get(root + CATALOG).json()["entries"]
    assert entry["url"] == remote["url"] + "/server-card"
    assert entry["type"] == "application/mcp-server-card+json"


def test_an_unchanged_card_is_not_sent_again(served: tuple[str, bool]) -> None:
    root, _ = served
    http = Wire(root).http
    tag = http.get(root + CARD).headers["etag"]
    again = http.get(root + CARD, headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")


def test_pages_of_others_read_the_card_only_where_others_are_served(
    served: tuple[str, bool],
) -> None:
    root, others = served
    for path in CARD_PATHS:
        answer = Wire(root).http.get(root + path, headers=ELSEWHERE)
        assert answer.status_code == (200 if others else 403)
        assert not others or answer.headers["access-control-allow-origin"] == "*"
        loaded = Wire(root).http.get(root + path, headers={"sec-fetch-site": "cross-site"})
        assert loaded.status_code == answer.status_code
        named = Wire(root).http.get(root + path, headers={"host": "evil.example"})
        assert named.status_code == 421
    assert Wire(root).http.get(root + "/mcp", headers=ELSEWHERE).status_code == 403


def test_the_card_describes_iac_as_every_other_door_does() -> None:
    path = Path(__file__).parents[2] / "distribution/distribution.toml"
    about = tomllib.loads(path.read_text(encoding="utf-8"))
    assert (about["purpose"], len(PURPOSE) <= 100) == (PURPOSE, True)
