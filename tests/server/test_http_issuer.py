"""Over HTTP with a real issuer: finding it, audience, scopes, rotation, clocks, revocation."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from oauth_issuer import SECRET, Issuer, run_issuer
from over_http import Wire, over_http
from test_http_clients import talker

from iac_mcp.http import guard


@pytest.fixture
def issuer(own_data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Issuer]:
    # Keys are looked for again each half a minute at most; here each half a second.
    monkeypatch.setattr(guard, "_PAUSE", 0.5)
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with run_issuer() as running:
        yield running


@pytest.fixture
def url(issuer: Issuer) -> Iterator[str]:
    with over_http(talker(), {"issuer": issuer.url, "jwks": f"{issuer.url}/keys"}) as settings:
        issuer.audience = settings.url
        yield settings.url


def token_of(
    issuer: Issuer, client: str = "studio", scope: str = "read", at: str = "", **more: str
) -> str:
    body = {"grant_type": "client_credentials", "scope": scope, **more}
    answer = httpx2.post(
        f"{at or issuer.url}/token", data=body, auth=(client, SECRET), trust_env=False
    )
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


def status(url: str, token: str) -> int:
    return Wire(url, token).post().status_code


class Kept:
    """The tokens of a client of the SDK."""

    tokens: Any = None
    client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


def test_a_client_finds_the_issuer_and_gets_in(url: str, issuer: Issuer) -> None:
    said: list[str] = []

    async def main() -> None:
        # It knows the server's address and its own name; all else it is told.
        auth = ClientCredentialsOAuthProvider(url, Kept(), "studio", SECRET, issuer=issuer.url)
        async with (
            httpx2.AsyncClient(auth=auth, timeout=20, trust_env=False) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            for _ in range(3):
                result = await client.call_tool("x", {})
                said.append(result.content[0].text)

    anyio.run(main)
    assert said == ["done, asks: True"] * 3
    assert issuer.asked.count("/token") == 1
    assert issuer.asked.count("/keys") == 1


def test_tokens_for_others_and_without_a_scope_stay_out(url: str, issuer: Issuer) -> None:
    assert status(url, token_of(issuer)) == 200
    for audience in ("https://other.example/mcp", url + "/", url.replace("127.0.0.1", "localhost")):
        assert status(url, token_of(issuer, resource=audience)) == 401, audience
    for scope in ("openid", ""):
        assert status(url, token_of(issuer, scope=scope)) == 403
    # The issuer gives this one less than it asks for; the server takes what is in the token.
    assert status(url, token_of(issuer, "reports", "read write dangerous")) == 200
    with run_issuer() as other:
        other.audience = url
        assert status(url, token_of(other)) == 401
    with run_issuer(named=issuer.url) as other:
        # It says that it is the issuer, and has other keys.
        other.audience = url
        at = f"http://127.0.0.1:{other.port}"
        assert status(url, token_of(other, at=at)) == 401


def test_keys_are_rotated_without_a_gap(
    url: str, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = token_of(issuer)
    assert status(url, old) == 200
    for _ in range(3):
        time.sleep(0.6)
        issuer.rotate(2)
        new = token_of(issuer)
        # The new key is fetched when it is first seen, the one before it is good meanwhile.
        assert (status(url, new), status(url, old)) == (200, 200)
        old = new
    time.sleep(0.6)
    issuer.rotate(1)
    assert status(url, token_of(issuer)) == 200
    # A key that is published no longer is none.
    assert status(url, old) == 401
    monkeypatch.setattr(guard, "_PAUSE", 30.0)
    asked = issuer.asked.count("/keys")
    for _ in range(20):
        assert status(url, old) == 401
    assert issuer.asked.count("/keys") <= asked + 1


@pytest.mark.parametrize(("clock", "lifetime", "expected"), [
    (0, 600, 200), (20, 600, 200), (-20, 600, 200), (-620, 600, 200),
    (60, 600, 401), (-660, 600, 401), (-3600, 600, 401),
])  # fmt: skip
def test_clocks_may_differ_by_half_a_minute(
    url: str, issuer: Issuer, clock: int, lifetime: int, expected: int
) -> None:
    issuer.clock, issuer.lifetime = clock, lifetime
    assert status(url, token_of(issuer)) == expected


def test_an_issuer_that_is_away_lets_known_keys_be_good(url: str, issuer: Issuer) -> None:
    good = token_of(issuer)
    assert status(url, good) == 200
    keys, issuer.keys = issuer.keys, []
    issuer.url = "http://127.0.0.1:1"
    time.sleep(0.6)
    assert status(url, good) == 200
    issuer.keys = keys


def test_a_token_that_is_revoked_is_out_with_the_next_request(
    issuer: Issuer, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    said = {
        "issuer": issuer.url, "introspection": f"{issuer.url}/introspection",
        "introspection_client": "mac", "introspection_secret_file": str(secret),
    }  # fmt: skip
    with over_http(talker(), said) as settings:
        issuer.audience = settings.url
        token = token_of(issuer)
        mine = Wire(settings.url, token).open()
        assert mine.call("x")["content"]
        other = token_of(issuer, resource="https://other.example/mcp")
        assert status(settings.url, other) == 401
        revoked = httpx2.post(
            f"{issuer.url}/revocation", data={"token": token}, auth=("studio", SECRET),
            trust_env=False,
        )  # fmt: skip
        assert revoked.status_code == 200
        assert mine.post().status_code == 401
        assert status(settings.url, token_of(issuer)) == 200


def test_strangers_do_not_have_the_issuer_asked_at_once(
    issuer: Issuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "_QUESTIONS", 3)
    asking, most = [0], [0]

    class Slow(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, _request: Any) -> httpx2.Response:
            asking[0] += 1
            most[0] = max(most[0], asking[0])
            await anyio.sleep(0.01)
            asking[0] -= 1
            return httpx2.Response(200, json={"active": False})

    monkeypatch.setattr(guard, "_http_client", lambda: httpx2.AsyncClient(transport=Slow()))
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    verifier = guard.open_verifier(
        guard.Issuer("http://127.0.0.1/mcp", issuer.url, "", issuer.url, "mac", str(secret))
    )

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for at in range(40):
                group.start_soon(verifier.verify_token, f"guess {at}")

    anyio.run(main)
    assert most == [3]
