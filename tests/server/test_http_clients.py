"""Over HTTP: clients that send less than the protocol asks for, pages, and slow connections."""

import asyncio.constants
import json
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import mcp_types as types
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from mcp.server.lowlevel import Server
from over_http import BOTH, HELLO, Wire, call_of, events, over_http, target
from real_clients import ask

from iac_base.errors import SetupError
from iac_mcp.cli.main import main
from iac_mcp.http import clients, serve
from iac_mcp.http.guard import HttpLimits
from iac_mcp.http.serve import TlsListener, address_place, read_http_settings

NEW = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}
ACCEPTED = {
    "json": "application/json",
    "Antigravity": "application/json, application/mcp+json",
    "events": "text/event-stream",
    "curl": "*/*",
    "none": None,
    "capitals": "Application/JSON;q=0.9, Text/Event-Stream",
}


def talker() -> Server[Any]:
    """Return a server whose tool says what it does, asks if it can, and answers."""

    async def call(context: Any, params: Any) -> types.CallToolResult:
        await context.session.report_progress(1, 2, "half")
        scope = context.request.scope
        return types.CallToolResult(
            content=[types.TextContent(text=f"done, asks: {scope['iac.remote'].asks}")]
        )

    async def tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="x", input_schema={"type": "object"})])

    return Server("talker", on_call_tool=call, on_list_tools=tools)


@pytest.fixture
def token(own_data_folder: Path) -> str:
    return clients.add_client("studio", "DANGEROUS")


@pytest.fixture
def url(token: str) -> Iterator[str]:
    with over_http(talker()) as settings:
        yield settings.url


class Bare:
    """Requests with the headers that are given, and no others."""

    def __init__(self, url: str, **headers: str | None) -> None:
        self.parts = urlsplit(url)
        said = {"host": self.parts.netloc, "content-type": "application/json", **headers}
        self.headers = {key: value for key, value in said.items() if value is not None}

    def send(
        self, body: Any = None, method: str = "POST", path: str = "/mcp", **more: str
    ) -> tuple[int, dict[str, str], str]:
        content = b"" if body is None else json.dumps(body).encode()
        rows = {**self.headers, **more, "content-length": str(len(content)), "connection": "close"}
        head = "".join(f"{key.replace('_', '-')}: {value}\r\n" for key, value in rows.items())
        with socket.create_connection((self.parts.hostname or "", self.parts.port or 0), 5) as wire:
            wire.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + content)
            got = b""
            while part := wire.recv(100_000):
                got += part
        top, _, rest = got.partition(b"\r\n\r\n")
        first, *lines = top.decode().split("\r\n")
        answered = {row.partition(":")[0].lower(): row.partition(": ")[2] for row in lines}
        return int(first.split()[1]), answered, rest.decode()


def read(answered: dict[str, str], text: str) -> Any:
    """Return the last message of an answer, in whatever form it came."""
    if answered["content-type"] == "application/json":
        return json.loads(text)
    assert answered["content-type"].startswith("text/event-stream")
    return events(text)[-1]


@pytest.mark.parametrize("name", ACCEPTED)
def test_each_client_gets_the_form_that_it_accepts(url: str, token: str, name: str) -> None:
    accepted = ACCEPTED[name]
    mine = Bare(url, authorization=f"Bearer {token}", accept=accepted)
    status, answered, text = mine.send(HELLO)
    assert status == 200, text
    session = {"mcp-session-id": answered["mcp-session-id"]}
    assert read(answered, text)["result"]["serverInfo"]["name"] == "talker"
    assert mine.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)[0] == 202
    call = call_of("x", 3)
    call["params"]["_meta"] = {"progressToken": "p"}
    modern = {**call, "params": {**call["params"], "_meta": {**META, "progressToken": "p"}}}
    routed = {"mcp-protocol-version": NEW, "mcp-method": "tools/call", "mcp-name": "x"}
    only_json = name in ("json", "Antigravity")
    for body, headers, old in ((call, session, True), (modern, routed, False)):
        status, answered, text = mine.send(body, **headers)
        assert status == 200, text
        if name in ("json", "Antigravity", "events"):
            form = "application/json" if only_json else "text/event-stream"
            assert answered["content-type"].startswith(form)
        said = read(answered, text)
        assert said["id"] == 3
        # It could not see a question on a stream that it does not read.
        asks = not (only_json and old)
        assert said["result"]["content"][0]["text"] == f"done, asks: {asks}"
    # What is refused is told in JSON, whatever is accepted.
    status, answered, text = mine.send(call, **{"mcp-session-id": "0" * 32})
    assert (status, answered["content-type"]) == (404, "application/json")
    assert json.loads(text)["error"]["message"] == "Session not found"


def test_what_no_client_needs_is_refused_as_before(url: str, token: str) -> None:
    mine = Wire(url, token).open()
    for accept in ("text/html", "image/*", "application/xml, text/plain", ","):
        assert Wire(url, token, accept=accept).post().status_code == 406
    # A stream has no other form.
    for method, headers, body in (
        ("GET", {"accept": "application/json"}, None),
        ("POST", {"accept": "application/json", "mcp_protocol_version": NEW,
                  "mcp_method": "subscriptions/listen"},
         {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"_meta": META}}),
    ):  # fmt: skip
        with mine.stream(method, body, **headers) as answer:
            assert answer.status_code == 406
    # One that says nothing gets its stream.
    bare = Bare(url, authorization=f"Bearer {token}", accept=None)
    where = (bare.parts.hostname or "", bare.parts.port or 0)
    with socket.create_connection(where, 5) as wire:
        rows = {**bare.headers, "mcp-session-id": mine.session}
        head = "".join(f"{key}: {value}\r\n" for key, value in rows.items())
        wire.sendall(f"GET /mcp HTTP/1.1\r\n{head}\r\n".encode())
        assert b"200 OK" in wire.recv(1000)


def test_a_host_has_no_case_and_may_lack_its_port(token: str) -> None:
    with over_http(talker(), {"hosts": ["Host.Docker.Internal", "mac.local:80"]}) as settings:
        port = settings.port
        cases = {
            200: ("LOCALHOST", "Localhost:{}", "127.0.0.1", "[::1]", "host.docker.internal",
                  "HOST.docker.internal:{}", "mac.local", "mac.local:80"),
            421: ("host.docker.internal:1", "mac.local:{}", "internal", "localhost.evil.example",
                  "127.0.0.1@evil.example", "evil.example#localhost", "localhost:", "", "127.1"),
        }  # fmt: skip
        for status, hosts in cases.items():
            for host in hosts:
                headers = {"authorization": f"Bearer {token}", "host": host.format(port)}
                for path in ("/mcp", "/mcp/"):
                    got = Bare(settings.url, **headers).send(HELLO, path=path)
                    assert got[0] == status, (host, got)
        # None of them is a place that pages may come from.
        for origin in ("http://host.docker.internal", f"http://host.docker.internal:{port}"):
            assert Wire(settings.url, token, origin=origin).post().status_code == 403
        for path in ("/mcp//", "//mcp", "/mcp/x", "/MCP", "/mcp/../mcp", "/"):
            headers = {"authorization": f"Bearer {token}"}
            assert Bare(settings.url, **headers).send(HELLO, path=path)[0] == 404, path


@pytest.mark.parametrize(("key", "bad"), [
    ("hosts", "*"), ("hosts", "https://a.b"), ("hosts", "a.b/mcp"), ("hosts", "a.b:*"),
    ("origins", "*"), ("origins", "a.b"), ("origins", "http://localhost:*"),
    ("origins", "https://a.b/x"),
])  # fmt: skip
def test_a_setting_that_would_let_all_in_is_refused(key: str, bad: str) -> None:
    with pytest.raises(SetupError, match=rf"\[http\] {key}: "):
        read_http_settings({}, {key: [bad]}, 1)


def test_a_page_of_a_site_that_you_named_can_use_the_server(token: str) -> None:
    site = "https://app.example.com"
    wants = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, mcp-param-x, mcp-session-id",
    }
    with over_http(talker(), {"origins": [site]}) as settings:
        page = Wire(settings.url, origin=site)
        for more in ({}, {"access-control-request-private-network": "true"}):
            asked = page.http.options(settings.url, headers={**wants, **more})
            assert asked.status_code == 200
            assert asked.headers["access-control-allow-origin"] == site
            assert "mcp-param-x" in asked.headers["access-control-allow-headers"]
            assert "access-control-allow-credentials" not in asked.headers
        assert asked.headers["access-control-allow-private-network"] == "true"
        # Leave to ask is no leave to come in.
        assert page.post().status_code == 401
        mine = Wire(settings.url, token, origin=site).post()
        assert mine.headers["access-control-allow-origin"] == site
        assert "mcp-session-id" in mine.headers["access-control-expose-headers"].lower()
        for other in (f"{site}.evil.example", "http://app.example.com", f"{site}:444", "null"):
            answer = Wire(settings.url, origin=other).http.options(settings.url, headers=wants)
            assert answer.status_code == 403
            assert "access-control-allow-origin" not in answer.headers
    with over_http(talker()) as settings:
        refused = Wire(settings.url, origin=site).http.options(settings.url, headers=wants)
        assert refused.status_code == 403
        assert "origins under [http]" in refused.text


def test_a_batch_is_refused_in_words(url: str, token: str) -> None:
    mine = Wire(url, token).open()
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    for headers in ({}, {"mcp-protocol-version": NEW}, {"mcp-protocol-version": "2025-06-18"}):
        for body in ([ping, ping], [], b" \n [1]", b"["):
            answer = mine.post(body, **headers)
            assert answer.status_code == 400
            error = answer.json()
            assert (error["id"], error["error"]["code"]) == (None, -32600)
            assert "one message at a time" in error["error"]["message"]
    # A stranger's is not looked at.
    assert Wire(url).post([ping]).status_code == 401
    assert mine.post(ping).status_code == 200


def test_the_sdk_is_served_at_either_path(url: str, token: str) -> None:
    for era in ("legacy", NEW):
        for where in (url, f"{url}/"):
            found: list[Any] = []

            async def question(client: Any, found: list[Any] = found) -> None:
                found.append(await client.call_tool("x", {}))

            ask(target(where, token), question, era)
            assert found[0].content[0].text == "done, asks: True"


def test_each_head_has_its_time(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "_HEAD_SECONDS", 0.4)
    with over_http(talker()) as settings:
        address = ("127.0.0.1", settings.port)
        host = f"Host: 127.0.0.1:{settings.port}"
        request = f"POST /mcp HTTP/1.1\r\n{host}\r\nContent-Length: 2\r\n\r\n{{}}".encode()

        def read_answer(wire: socket.socket) -> bytes:
            got = b""
            while not got.endswith(b"}") and (part := wire.recv(1000)):
                got += part
            return got

        with socket.create_connection(address, 5) as dripping:
            dripping.sendall(request)
            assert read_answer(dripping).startswith(b"HTTP/1.1 401")
            began = time.monotonic()
            # The head of the second request never ends.
            with suppress(ConnectionError):
                for _ in range(100):
                    dripping.sendall(b"P")
                    time.sleep(0.05)
            assert time.monotonic() - began < 3
        with socket.create_connection(address, 5) as steady:
            # One that is in time may go on for as long as it likes.
            for _ in range(5):
                steady.sendall(request)
                assert read_answer(steady).startswith(b"HTTP/1.1 401")
                time.sleep(0.2)


def test_an_answer_may_take_longer_than_a_head(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "_HEAD_SECONDS", 0.2)

    async def call(_context: Any, _params: Any) -> types.CallToolResult:
        await anyio.sleep(0.8)
        return types.CallToolResult(content=[types.TextContent(text="late")])

    with over_http(Server("slow", on_call_tool=call)) as settings:
        mine = Wire(settings.url, token).open()
        for _ in range(2):
            assert mine.call("x")["content"][0]["text"] == "late"


def test_connections_without_a_request_make_room_for_those_with_one(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "_MOST", 20)
    with over_http(talker(), limits=HttpLimits(requests=30)) as settings, ExitStack() as stack:
        mine = Wire(settings.url, token).open()
        request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{settings.port}\r\n\r\n".encode()
        for at in range(60):
            crowd = stack.enter_context(socket.create_connection(("127.0.0.1", settings.port), 5))
            if at % 2:
                # It asked once, and is kept open.
                with suppress(ConnectionError):
                    crowd.sendall(request)
                    crowd.recv(1000)
            assert mine.call("x")["content"]


def test_addresses_of_one_owner_count_as_one() -> None:
    assert (
        address_place("10.1.2.3") == address_place("::ffff:10.1.2.3") != address_place("10.1.2.4")
    )
    assert address_place("2001:db8::1") == address_place("2001:db8::ffff:1")
    assert address_place("2001:db8::1") != address_place("2001:db8:0:1::1")
    assert address_place("fe80::1%eth0")
    assert address_place("") == ""


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now()
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name)
        .public_key(key.public_key()).serial_number(1)
        .not_valid_before(now - timedelta(days=2)).not_valid_after(now + timedelta(days=2))
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    files = tmp_path / "cert.pem", tmp_path / "key.pem"
    files[0].write_bytes(made.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return str(files[0]), str(files[1])


def test_handshakes_that_do_not_end_are_bounded(
    certificate: tuple[str, str], token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "_MOST", 16)
    monkeypatch.setattr(asyncio.constants, "SSL_HANDSHAKE_TIMEOUT", 2.5)
    cert, key = certificate
    with (
        over_http(talker(), cert=cert, key=key, kind=TlsListener) as settings,
        ExitStack() as stack,
    ):
        address = ("127.0.0.1", settings.port)
        silent = [stack.enter_context(socket.create_connection(address, 5)) for _ in range(40)]
        time.sleep(0.3)

        def is_closed(wire: socket.socket) -> bool:
            wire.setblocking(False)
            try:
                return wire.recv(1) == b""
            except ConnectionError:
                return True
            except BlockingIOError:
                return False

        assert sum(map(is_closed, silent)) == 40 - 20
        time.sleep(2.6)
        # Those in the handshake had their time, and the next client is served.
        trusted = ssl.create_default_context(cafile=cert)
        trusted.check_hostname = False
        with httpx2.Client(verify=trusted, trust_env=False) as client:
            answer = client.post(settings.url, json=HELLO, headers={
                "authorization": f"Bearer {token}", "accept": BOTH,
            })  # fmt: skip
        assert answer.status_code == 200


@pytest.mark.parametrize("words", [
    ["--http", "127.0.0.1"], ["--http", "0.0.0.0:8722"], ["--http=127.0.0.1"],
    ["--http", "--port", "1", "http://127.0.0.1:8722"], ["--http", "--bind", "127.0.0.1"],
])  # fmt: skip
def test_an_address_after_http_is_told_where_it_goes(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *words]) == 2
    said = capsys.readouterr().err
    assert said.endswith("Give an address as: --http --host 127.0.0.1 --port 8722\n")
    assert said.count("\n") == 1
    assert main(["serve", "127.0.0.1"]) == 2
    assert "--host" not in capsys.readouterr().err
