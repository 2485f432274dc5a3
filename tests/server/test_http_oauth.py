"""Over HTTP from elsewhere: tokens of an issuer, TLS, and a server that does not start without."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

import anyio
import jwt
import mcp_types as types
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm
from mcp.server.lowlevel import Server
from over_http import Wire, events, over_http, target
from real_clients import ERAS, ask, build_sdk_server, facts_of

from iac_base.errors import SetupError
from iac_mcp.http import clients
from iac_mcp.http.serve import read_http_settings, serve_http
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.gate.plans import Call, PendingCall
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.policy_file import parse_policy
from iac_runtime.policy.prompts import ALWAYS, DENY, ONCE
from iac_runtime.serve.call import read_requester
from iac_runtime.serve.http_sdk import tell_sessions
from iac_runtime.serve.listing import Choice, Listings
from iac_runtime.serve.rebuild import Changes, LazyGate
from iac_runtime.serve.stdio import server_identity

KEY: Final = ec.generate_private_key(ec.SECP256R1())
STRANGER: Final = ec.generate_private_key(ec.SECP256R1())
PEM: Final = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
URL: Final = "https://mac.example.com/mcp"


class Answers(BaseHTTPRequestHandler):
    """The issuer: its keys, and what it says of a token."""

    active: dict[str, Any] = {}  # noqa: RUF012 (the tests set it)
    asked: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.asked.append(self.path)
        row = json.loads(ECAlgorithm.to_jwk(KEY.public_key()))
        secret = {"kty": "oct", "kid": "shared", "k": base64.urlsafe_b64encode(PEM).decode()}
        self._say({"keys": [{**row, "kid": "one", "alg": "ES256"}, secret, {"kid": "odd"}]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        token = parse_qs(body)["token"][0]
        right = self.headers["authorization"] == f"Basic {base64.b64encode(b'iac:pw').decode()}"
        self._say(self.active if right and token == "opaque" else {"active": False})

    def _say(self, what: Any) -> None:
        body = json.dumps(what).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: Any) -> None:
        pass


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def claims(issuer: str, **changed: Any) -> dict[str, Any]:
    said = {
        "iss": issuer, "aud": URL, "exp": time.time() + 600, "client_id": "Studio App",
        "sub": "Ines", "scope": "read write openid",
    }  # fmt: skip
    return {key: value for key, value in {**said, **changed}.items() if value is not None}


def signed(said: Any, key: Any = KEY, alg: str = "ES256", kid: Any = "one", **header: Any) -> str:
    words = {"kid": kid, **header} if kid is not None else header
    return jwt.encode(said, key, algorithm=alg, headers=words)


def forged(said: dict[str, Any], header: dict[str, Any], secret: bytes = b"") -> str:
    """Return a token as a forger writes it, by hand: the library would not."""
    import hashlib
    import hmac

    def text(what: bytes) -> str:
        return base64.urlsafe_b64encode(what).decode().rstrip("=")

    body = f"{text(json.dumps(header).encode())}.{text(json.dumps(said).encode())}"
    mac = hmac.digest(secret, body.encode(), hashlib.sha256) if secret else b""
    return f"{body}.{text(mac)}"


@pytest.fixture
def url(issuer: str) -> Iterator[str]:
    said = {"url": URL, "issuer": issuer, "jwks": f"{issuer}/keys"}
    with over_http(Server("here"), said) as settings:
        yield f"http://127.0.0.1:{settings.port}/mcp"


def test_a_token_is_good_for_this_server_from_this_issuer_alone(url: str, issuer: str) -> None:
    good = claims(issuer)
    hs = {"alg": "HS256", "typ": "JWT"}
    bad = {
        "none": "", "not a token": "a.b.c",
        "another audience": signed(claims(issuer, aud="https://other.example/mcp")),
        "an audience that begins so": signed(claims(issuer, aud=URL + "/x")),
        "no audience": signed(claims(issuer, aud=None)),
        "another issuer": signed(claims(issuer, iss="https://other.example")),
        "no issuer": signed(claims(issuer, iss=None)),
        "expired": signed(claims(issuer, exp=time.time() - 120)),
        "no end": signed(claims(issuer, exp=None)),
        "not yet": signed(claims(issuer, nbf=time.time() + 600)),
        "no client": signed(claims(issuer, client_id=None)), "another key": signed(good, STRANGER),
        "an unknown key": signed(good, STRANGER, kid="two"), "no key": signed(good, kid=None),
        "a key of its own": signed(good, STRANGER, kid="one", jku="http://evil.example/keys"),
        "alg none": forged(good, {"alg": "none", "kid": "one"}),
        "alg None": forged(good, {"alg": "None", "kid": "one"}),
        "HMAC with the public key": forged(good, {**hs, "kid": "one"}, PEM),
        "HMAC with a published secret": forged(good, {**hs, "kid": "shared"}, PEM),
        "a changed body": signed(good).replace(".", ".e", 1),
    }  # fmt: skip
    for what, token in bad.items():
        answer = Wire(url, token).post()
        assert answer.status_code == 401, what
        assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert Wire(url, signed(good)).post().status_code == 200
    assert Wire(url, signed(claims(issuer, aud=["x", URL]))).post().status_code == 200
    # Strange keys do not make this server ask the issuer each time.
    assert len(Answers.asked) <= 2


def test_a_client_learns_where_tokens_are_and_which_scope_is_missing(url: str, issuer: str) -> None:
    where = Wire(url).post().headers["www-authenticate"]
    metadata = "https://mac.example.com/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{metadata}"' in where
    told = Wire(url).http.get(url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp"))
    assert told.json()["resource"] == URL
    # Clients compare it with what the issuer calls itself, to the letter.
    assert told.json()["authorization_servers"] == [issuer]
    assert told.json()["scopes_supported"] == ["read", "write", "dangerous"]
    for scope in ("", "write", "openid", "readwrite"):
        answer = Wire(url, signed(claims(issuer, scope=scope))).post()
        assert answer.status_code == 403
        assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]


def test_sessions_are_of_one_person_at_one_client(url: str, issuer: str) -> None:
    mine = Wire(url, signed(claims(issuer))).open()
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    for other in ({"sub": "Bob"}, {"client_id": "studio app"}, {"sub": None}):
        theirs = Wire(url, signed(claims(issuer, **other)))
        theirs.session = mine.session
        assert theirs.post(ping).status_code == 404
    renewed = Wire(url, signed(claims(issuer, exp=time.time() + 900)))
    renewed.session = mine.session
    assert renewed.post(ping).status_code == 200
    # A stream ends with the token that opened it, at the latest.
    short = Wire(url, signed(claims(issuer, exp=time.time() - 29)))
    short.session = mine.session
    with short.stream() as stream:
        began = time.monotonic()
        try:
            stream.read()
        except Exception as error:
            assert "closed" in str(error) or "incomplete" in str(error)
        assert time.monotonic() - began < 5


def test_an_issuer_is_asked_about_each_token(issuer: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("pw\n")
    said = {
        "url": URL, "issuer": issuer, "introspection": f"{issuer}/introspect",
        "introspection_client": "iac", "introspection_secret_file": str(secret),
    }  # fmt: skip
    secret.chmod(0o644)
    with pytest.raises(SetupError, match="chmod 600"), over_http(Server("here"), said):
        pass
    secret.chmod(0o600)
    with over_http(Server("here"), said) as settings:
        url = f"http://127.0.0.1:{settings.port}/mcp"
        cases = [
            (401, {"active": False}),
            (401, {**claims(issuer), "active": "true"}),
            (401, {**claims(issuer, aud="https://other.example"), "active": True}),
            (401, {**claims(issuer, exp=time.time() - 60), "active": True}),
            (200, {**claims(issuer), "active": True}),
        ]
        for status, row in cases:
            Answers.active = row
            assert Wire(url, "opaque").post().status_code == status
        assert Wire(url, "other").post().status_code == 401


def test_a_proxy_must_say_that_it_did_tls(issuer: str) -> None:
    said = {"url": URL, "issuer": issuer, "jwks": f"{issuer}/keys"}
    for proxies, status in ((["127.0.0.1"], 200), (["10.0.0.1"], 403)):
        with over_http(Server("here"), {**said, "proxies": proxies}, behind_proxy=True) as settings:
            url = f"http://127.0.0.1:{settings.port}/mcp"
            token, host = signed(claims(issuer)), {"host": "mac.example.com"}
            assert Wire(url, token, **host).post().status_code == 403
            over_tls = {**host, "x-forwarded-proto": "https"}
            assert Wire(url, token, **over_tls).post().status_code == status
            # The proxy's own address is none that clients use.
            assert Wire(url, token, **{"x-forwarded-proto": "https"}).post().status_code == 421


OAUTH: Final = {"url": URL, "issuer": "https://id.example.com", "jwks": "https://id.example.com/k"}


@pytest.mark.parametrize(("raw", "said", "match"), [
    ({"host": "0.0.0.0"}, OAUTH, "needs TLS"), ({"host": "0.0.0.0"}, {}, "needs TLS"),
    ({"host": "::"}, OAUTH, "needs TLS"),
    ({"host": "0.0.0.0", "behind_proxy": True}, {}, "tokens of an OAuth issuer"),
    ({"behind_proxy": True}, {}, "tokens of an OAuth issuer"),
    ({"behind_proxy": True}, {**OAUTH, "url": "http://mac.example.com/mcp"}, "https://"),
    ({"behind_proxy": True}, {**OAUTH, "url": "https://mac.example.com/"}, "end in /mcp"),
    ({"behind_proxy": True}, {**OAUTH, "proxies": ["*"]}, "not an address"),
    ({"behind_proxy": True, "cert": "a", "key": "b"}, OAUTH, "or the proxy does"),
    ({"cert": "a"}, {}, "Give both"), ({"cert": "/none", "key": "/none"}, {}, "cannot be used"),
    ({"host": "mac.local"}, {}, "must be an address"), ({"port": "x"}, {}, "--port"),
    ({}, {**OAUTH, "issuer": "http://id.example.com"}, "must be an https"),
    ({}, {**OAUTH, "jwks": ""}, "needs jwks or introspection"),
])  # fmt: skip
def test_what_is_not_safe_does_not_start(
    raw: dict[str, Any], said: dict[str, Any], match: str, own_data_folder: Path
) -> None:
    own_data_folder.mkdir()
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in said.items())
    (own_data_folder / "policy.toml").write_text(f"[http]\n{lines}\n")
    with pytest.raises(SetupError, match=match) as refused:
        serve_http({"port": "0", **raw})
    assert "\n" not in str(refused.value)


def test_the_settings_of_a_served_address() -> None:
    policy = parse_policy(
        '[http]\nurl = "https://mac.example.com/mcp"\norigins = ["https://a.b"]\n'
    )
    found = read_http_settings({}, dict(policy.http), 8722)
    assert "mac.example.com:443" in found.hosts
    assert "https://a.b" in found.origins
    assert read_http_settings({"host": "[::1]"}, {}, 1).url == "http://[::1]:1/mcp"
    with pytest.raises(SetupError, match="line 2: there is no key"):
        parse_policy('[http]\nissuers = "x"\n')


# Over HTTP: each client is judged, limited, asked, answered and recorded as itself.


MAKE = ("notes_make_note", {"name": "Milk"})


class Served(NamedTuple):
    url: str
    tokens: dict[str, str]
    gate: Gate
    changes: Changes

    def client(self, name: str) -> Wire:
        return Wire(self.url, self.tokens[name]).open()


@pytest.fixture
def served(tools: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    said = getattr(request, "param", {})
    tokens = {
        name: clients.add_client(name, level)
        for name, level in (("ada", "DANGEROUS"), ("bob", "DANGEROUS"), ("eve", "SAFE"))
    }
    lines = Listings([tools], Choice(("all",)))
    lines()
    gate = build_gate(GateOptions([tools], ""))
    with (
        closing(LazyGate(lines, lambda: gate)) as behind,
        over_http(told(behind), said) as settings,
    ):
        yield Served(settings.url, tokens, gate, behind.changes)


def told(behind: LazyGate) -> Any:
    """Return the server as `serve --http` makes it."""
    server = build_sdk_server(behind, server_identity(), 54.0)
    tell_sessions(server, behind.changes)
    return server


def answering(label: str) -> Any:
    async def person(_context: Any, _params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"answer": label})

    return person


def call(served: Served, name: str, era: str, tool: str, given: Any, answer: str = "") -> Any:
    """Return the result of a call, made by the SDK's own client."""
    found: list[Any] = []

    async def question(client: Any) -> None:
        found.append(await client.call_tool(tool, given))

    more = {"elicitation_callback": answering(answer)} if answer else {}
    ask(target(served.url, served.tokens[name]), question, era, **more)
    return found[0]


@pytest.mark.parametrize("era", ERAS)
def test_what_one_client_is_allowed_no_other_is(served: Served, era: str) -> None:
    assert not call(served, "ada", era, *MAKE, answer=ALWAYS).is_error
    # What it would answer now is a no, if it were asked.
    assert not call(served, "ada", era, *MAKE, answer=DENY).is_error
    assert call(served, "bob", era, *MAKE, answer=DENY).is_error
    for other in ("bob", "eve"):
        refused = call(served, other, era, *MAKE)
        assert refused.is_error
        assert facts_of(refused)["type"] == ("UNANSWERED" if other == "bob" else "REFUSED")
    # Nor a program of this user, whatever it calls itself.
    program = Call(*MAKE, caller=Requester("a program", ("client",)))
    assert isinstance(served.gate.call(program), PendingCall)
    local = read_requester(type("Peer", (), {"name": " HTTP:ada", "remote": None})())
    assert (local.client, local.token_client) == ("local  HTTP:ada", "")
    entries = call(served, "ada", era, "audit_tail", {}).structured_content["calls"]
    assert {entry["client"] for entry in entries} == {"http:ada"}
    assert [entry["result"] for entry in entries if entry["tool"] == MAKE[0]] == ["done", "done"]


@pytest.mark.parametrize("era", ERAS)
def test_a_no_that_comes_at_once_is_nobodys(served: Served, era: str) -> None:
    found: list[Any] = []
    waits = [0.01] * 6 + [0.6]

    async def person(_context: Any, _params: Any) -> types.ElicitResult:
        await anyio.sleep(waits.pop(0))
        return types.ElicitResult(action="decline")

    async def question(client: Any) -> None:
        found.extend([facts_of(await client.call_tool(*MAKE)) for _ in range(7)])

    where = target(served.url, served.tokens["ada"])
    ask(where, question, era, elicitation_callback=person)
    assert [facts["type"] for facts in found] == ["UNANSWERED"] * 6 + ["REFUSED"]
    assert "the client showed no prompt" in found[0]["message"]


def test_a_scope_bounds_what_a_call_does_by_whatever_tool(served: Served) -> None:
    eve, before = served.client("eve"), served.client("ada").call("notes_count", element="note")
    program = 'notes.make_note(name="Milk")'
    ways: list[tuple[str, dict[str, Any]]] = [
        MAKE,
        ("write_tool", {"name": MAKE[0], "arguments": MAKE[1]}),
        ("write_tool", {"name": MAKE[0], "calls": [MAKE[1], MAKE[1]]}),
        ("notes_set", {"target": "notes[0]", "properties": {"name": "x"}}),
        ("execute_applescript", {"script": 'tell application "Notes" to delete note 1'}),
        ("app_quit", {"app": "Notes"}),
    ]
    for tool, given in ways:
        refused = eve.call(tool, **given)
        facts = json.loads(refused["content"][0]["text"])
        assert (refused["isError"], facts["source"]) == (True, "insufficient_scope"), facts
    assert eve.call("run_plan", program=program)["isError"]
    assert (
        eve.call("notes_count", element="note")["structuredContent"] == before["structuredContent"]
    )
    # The user's own --allow does not widen a token.
    served.gate._vouched = "DANGEROUS"
    assert eve.call(*MAKE[:1], **MAKE[1])["isError"]
    assert not served.client("ada").call(MAKE[0], **MAKE[1])["isError"]


def test_a_question_is_answered_by_who_was_asked(served: Served) -> None:
    def modern(name: str, **more: Any) -> dict[str, Any]:
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        }
        params = {"name": MAKE[0], "arguments": MAKE[1], "_meta": meta, **more}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": MAKE[0],
        }
        return Wire(served.url, served.tokens[name]).post(body, **headers).json()["result"]  # type: ignore[no-any-return]

    asked = modern("ada")
    said = {"approval": {"action": "accept", "content": {"answer": ONCE}}}
    again = {"requestState": asked["requestState"], "inputResponses": said}
    stolen = modern("bob", **again)
    assert "another call" in stolen["content"][0]["text"]
    # Used up by the attempt; nothing was made of it.
    assert modern("ada", **again)["isError"]
    asked = modern("ada")
    assert not modern("ada", requestState=asked["requestState"], inputResponses=said)["isError"]


@pytest.mark.parametrize("served", [{"clients_ask": False}], indirect=True)
@pytest.mark.parametrize("era", ERAS)
def test_a_client_may_be_kept_from_answering_for_you(served: Served, era: str) -> None:
    refused = call(served, "ada", era, *MAKE, answer=ONCE)
    assert facts_of(refused)["type"] == "UNANSWERED"


def test_results_and_changes_of_others_are_not_there(served: Served) -> None:
    served.gate.context.limit = 300
    ada, bob = served.client("ada"), served.client("bob")
    served.gate._vouched = "MODIFY"
    assert not ada.call(MAKE[0], name="Milk", body="x" * 1000)["isError"]
    long = ada.call("notes_list", element="note", properties=["name", "body"])
    ident = json.dumps(long).partition('result \\\\\\"')[2].partition("\\")[0]
    assert ident
    assert not ada.call("read_more", result=ident, offset=0)["isError"]
    assert "NOT_FOUND" in bob.call("read_more", result=ident, offset=0)["content"][0]["text"]
    ada.call("restore_point", name="mine")
    served.gate.context.limit = None
    assert len(ada.call("history")["structuredContent"]["calls"]) == 1
    assert bob.call("history")["structuredContent"] == {"calls": []}
    number = ada.call("history")["structuredContent"]["calls"][0]["call"]
    for given in ({}, {"call": number}, {"client": "http:ada"}, {"last": 5}, {"point": "mine"}):
        assert bob.call("undo_call", **given)["isError"]
    assert bob.call("outcome", call=number)["isError"]
    tail = bob.call("audit_tail")["structuredContent"]["calls"]
    assert {entry["client"] for entry in tail} == {"http:bob"}
    status = bob.post(
        {"jsonrpc": "2.0", "id": 5, "method": "resources/read", "params": {"uri": "iac://status"}}
    ).text
    assert "ada" not in status
    served.gate._vouched = "DANGEROUS"
    assert not ada.call("undo_call", call=number)["isError"]


def test_a_client_uses_up_its_own_limits_alone(served: Served) -> None:
    ada, bob = served.client("ada"), served.client("bob")
    mine = served.gate._limiter
    assert mine is not None
    for _ in range(250):
        mine.for_client("http:ada").reserve_places("read")
    assert (
        json.loads(ada.call("notes_count", element="note")["content"][0]["text"])["type"] == "BUSY"
    )
    assert not bob.call("notes_count", element="note")["isError"]


def test_a_session_of_the_older_era_hears_that_the_tools_are_others(served: Served) -> None:
    ada, bob = served.client("ada"), Wire(served.url, served.tokens["bob"])
    said = events(bob.post().text)[-1]["result"]["capabilities"]
    assert {said[kind]["listChanged"] for kind in ("tools", "prompts", "resources")} == {True}
    # Sent again, it is heard once.
    ada.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    ada.call("list_apps")
    assert len(served.changes._listeners) == 1
    with ada.stream() as answer:
        served.changes.notify_listeners()
        heard: list[str] = []
        for line in answer.iter_lines():
            heard += [row["method"] for row in events(line)]
            if len(heard) == 3:
                break
    assert heard == [
        f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources")
    ]
    # It ends with its session.
    assert ada.http.delete(ada.url, headers=ada._with({})).status_code == 200
    while served.changes._listeners:
        time.sleep(0.01)
