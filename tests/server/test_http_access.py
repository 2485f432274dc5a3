"""Over HTTP: what a stranger, a page in a browser, another client and a revoked one get."""

import asyncio
import json
import logging
import resource
import signal
import socket
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import mcp_types as types
import pytest
from http_load import LoadServer, burst, recorded
from mcp.server.lowlevel import Server
from over_http import Wire, call_of, events, over_http
from real_clients import backing_of, build_sdk_server

from iac_base.errors import SetupError
from iac_base.logs import LOGGER, start_logging
from iac_mcp.http import clients, serve
from iac_mcp.http.clients import add_client
from iac_mcp.http.guard import HttpLimits, SessionEvents
from iac_mcp.http.serve import RepeatFilter
from iac_runtime.audit.reading import verify_audit
from iac_runtime.serve.stdio import server_identity

LARGE = 20_000_000
STARTED: list[str] = []
ENDED: list[str] = []


def echo() -> Server[Any]:
    """Return a server whose one tool waits as long as it is told, and says that it was ended."""

    async def call(_context: Any, params: Any) -> types.CallToolResult:
        STARTED.append(params.name)
        try:
            await anyio.sleep((params.arguments or {}).get("seconds", 0))
        except anyio.get_cancelled_exc_class():
            ENDED.append(params.name)
            raise
        said = "x" * LARGE if params.name == "large" else params.name
        return types.CallToolResult(content=[types.TextContent(text=said)])

    return Server("echo", on_call_tool=call)


def until(holds: Callable[[], Any], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < end:
        time.sleep(0.02)
    return bool(held)


@pytest.fixture
def token(own_data_folder: Path) -> str:
    return clients.add_client("studio", "DANGEROUS")


@pytest.fixture
def url(token: str) -> Iterator[str]:
    with over_http(echo()) as settings:
        yield settings.url


def test_strangers_and_pages_of_other_sites_get_nothing(url: str, token: str) -> None:
    port = urlsplit(url).port
    cases: list[tuple[int, str, dict[str, str]]] = [
        (401, "", {}), (401, "iac_" + "A" * 43, {}), (401, token[:-1], {}), (401, token + " x", {}),
        (421, token, {"host": "evil.example"}),
        (421, token, {"host": f"127.0.0.1.evil.example:{port}"}),
        (421, token, {"host": "127.0.0.1:1"}), (403, token, {"origin": "https://evil.example"}),
        (403, token, {"origin": "null"}),
        (403, token, {"origin": f"https://127.0.0.1:{port}.evil.example"}),
        # The port is part of an origin: what else runs on this machine is another site.
        (403, token, {"origin": "http://localhost"}), (421, token, {"host": f"localhost.:{port}"}),
        (421, token, {"host": f"host.docker.internal:{port}"}), (421, token, {"host": "[::2]"}),
        (400, token, {"content-type": "text/plain"}), (406, token, {"accept": "text/html"}),
        (404, token, {"mcp-session-id": "0" * 32}),
        (200, token, {"origin": f"http://localhost:{port}", "host": f"localhost:{port}"}),
    ]  # fmt: skip
    for status, secret, headers in cases:
        answer = Wire(url, secret, **headers).post()
        assert answer.status_code == status, (headers, answer.text)
        assert "access-control-allow-origin" not in answer.headers
        if status == 421:
            assert f'"{headers["host"]}"' in answer.text
            assert "hosts under [http] in policy.toml" in answer.text
    # A form or a picture of a page can send no header; a preflight is not answered with leave.
    assert Wire(f"{url}?access_token={token}").post().status_code == 401
    preflight = Wire(url, origin="https://evil.example").http.options(url)
    assert preflight.status_code == 403
    assert Wire(url).http.get(url.replace("/mcp", "/")).status_code == 404


def test_a_refusal_tells_nothing_and_reads_nothing(url: str, token: str) -> None:
    large = b" " * (serve.LARGEST + 1)
    assert Wire(url).post(large).status_code == 401
    assert Wire(url, token).post(large).status_code == 413
    assert "server" not in Wire(url).post().headers
    with socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), 5) as wire:
        wire.settimeout(5)
        wire.sendall(b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n")
        assert wire.recv(100).startswith(b"HTTP/1.1 421")


def test_tokens_are_kept_as_hashes_for_their_owner_alone(own_data_folder: Path) -> None:
    token = clients.add_client("studio", "MODIFY")
    path = own_data_folder / "state" / "clients.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token not in path.read_text()
    assert [(row.name, row.scope) for row in clients.read_clients()] == [("studio", "write")]
    with pytest.raises(SetupError, match="already"):
        clients.add_client("studio", "SAFE")
    for name in ("", "Studio", "a b", "../x", "http:a", "a\n", "x" * 41):
        with pytest.raises(SetupError, match="cannot name a client"):
            clients.add_client(name, "SAFE")
    with pytest.raises(SetupError, match="no client"):
        clients.revoke_client("other")
    for damaged in ("", "{}", '{"clients": [["a", "ROOT", "", ""]]}', '{"clients": [["a"]]}'):
        path.write_text(damaged)
        with pytest.raises(SetupError, match="damaged"):
            clients.read_clients()
    path.chmod(0o644)
    with pytest.raises(SetupError, match="chmod 600"):
        clients.read_clients()


def test_a_file_that_cannot_be_trusted_lets_nobody_in(
    url: str, token: str, own_data_folder: Path
) -> None:
    assert Wire(url, token).post().status_code == 200
    path = own_data_folder / "state" / "clients.json"
    path.chmod(0o666)
    path.write_text(path.read_text() + " ")
    assert Wire(url, token).post().status_code == 401


def test_a_session_is_there_for_its_own_client_alone(url: str, token: str) -> None:
    mine = Wire(url, token).open()
    other = Wire(url, clients.add_client("other", "DANGEROUS"))
    other.session = mine.session
    assert other.post(call_of("x")).status_code == 404
    assert other.http.delete(url, headers={"mcp-session-id": mine.session}).status_code == 404
    with other.stream() as answer:
        assert answer.status_code == 404
    assert mine.call("here")["content"][0]["text"] == "here"


def test_a_revoked_token_ends_what_is_open(url: str, token: str) -> None:
    mine = Wire(url, token).open()
    STARTED.clear()
    ENDED.clear()
    with mine.stream("POST", call_of("long", seconds=60)) as answer, mine.stream() as pushed:
        assert (answer.status_code, pushed.status_code) == (200, 200)
        assert until(lambda: STARTED == ["long"])
        clients.revoke_client("studio")
        assert until(lambda: ENDED == ["long"])
        began = time.monotonic()
        for stream in (answer, pushed):
            with pytest.raises(httpx2.RemoteProtocolError):
                stream.read()
        assert time.monotonic() - began < 5
    assert mine.post(call_of("x")).status_code == 401
    # A client of the same name is another one.
    again = Wire(url, clients.add_client("studio", "DANGEROUS"))
    again.session = mine.session
    assert again.post(call_of("x")).status_code == 404


def test_what_one_client_takes_is_bounded(token: str) -> None:
    limits = HttpLimits(requests=2, sessions=2, idle=1.5)
    with over_http(echo(), limits=limits) as settings:
        for _ in range(3):
            # What a client ends gives its place back at once.
            done = Wire(settings.url, token).open()
            assert done.http.delete(done.url, headers=done._with({})).status_code == 200
        first, second = Wire(settings.url, token).open(), Wire(settings.url, token).open()
        refused = Wire(settings.url, token).post()
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        other = Wire(settings.url, clients.add_client("other", "SAFE")).open()
        with first.stream(), second.stream():
            assert first.post(call_of("x")).status_code == 429
            assert other.call("free")["content"][0]["text"] == "free"
        # Idle sessions end, and give their places back.
        time.sleep(2)
        assert first.post(call_of("x")).status_code == 404
        assert until(lambda: Wire(settings.url, token).post().status_code == 200)


def test_slow_ones_are_given_up(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "_HEAD_SECONDS", 0.2)
    monkeypatch.setattr(serve, "_STALLED_SECONDS", 0.2)
    with over_http(echo(), limits=HttpLimits(body=0.3)) as settings:
        address = ("127.0.0.1", settings.port)
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{settings.port}\r\nAccept: */*\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        ).encode()
        with socket.create_connection(address, 5) as silent:
            silent.settimeout(5)
            assert silent.recv(10) == b""
        with socket.create_connection(address, 5) as dripping:
            dripping.settimeout(5)
            dripping.sendall(head + b"Content-Length: 1000\r\n\r\n{")
            assert dripping.recv(10) in (b"", b"HTTP/1.1 5")
        mine = Wire(settings.url, token).open()
        session = f"Mcp-Session-Id: {mine.session}\r\n".encode()
        body = json.dumps(call_of("large")).encode()
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.settimeout(5)
            deaf.connect(address)
            deaf.sendall(head + session + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            time.sleep(0.8)
            heard = 0
            with suppress(ConnectionError):
                while part := deaf.recv(1_000_000):
                    heard += len(part)
            assert 0 < heard < LARGE
        assert Wire(settings.url, token).open().call("still here")


def test_an_early_answer_ends_a_connection_whose_body_drips(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "_REST_SECONDS", 0.3)

    def heard(connection: socket.socket) -> bytes:
        got = b""
        while not got.endswith(b'required"}'):
            got += connection.recv(1_000)
        return got

    with over_http(echo()) as settings:
        address = ("127.0.0.1", settings.port)
        host = f"Host: 127.0.0.1:{settings.port}\r\n"
        head = f"POST /mcp HTTP/1.1\r\n{host}Content-Length: 90\r\n\r\n{{".encode()
        with socket.create_connection(address, 5) as dripping:
            dripping.settimeout(5)
            dripping.sendall(head)
            assert heard(dripping).startswith(b"HTTP/1.1 401")

            def is_closed() -> bool:
                with suppress(ConnectionError):
                    dripping.sendall(b" ")
                    return False
                return True

            assert until(is_closed)
        # A client whose body was under way hears the answer, and keeps its connection.
        with socket.create_connection(address, 5) as quick:
            quick.settimeout(5)
            for _ in range(2):
                quick.sendall(head + b" " * 89)
                assert heard(quick).startswith(b"HTTP/1.1 401")
        assert Wire(settings.url, token).open().call("still here")


@pytest.mark.parametrize("size", [10, SessionEvents.BYTES])
def test_what_is_kept_of_a_stream_is_bounded_and_its_own(size: int) -> None:
    async def main() -> None:
        store, sent = SessionEvents(), []

        async def send(event: Any) -> None:
            said = event.message
            body = said.result if isinstance(said, types.JSONRPCResponse) else said.params
            sent.append((event.event_id, body["at"]))

        def message(at: int) -> types.JSONRPCNotification:
            params = {"at": at, "text": "x" * size}
            return types.JSONRPCNotification(jsonrpc="2.0", method="m", params=params)

        first = await store.store_event("a", None)
        for at in range(3):
            await store.store_event("ab"[at % 2], message(at))
        async with anyio.create_task_group() as group:
            group.start_soon(store.replay_events_after, first, send)
            await anyio.wait_all_tasks_blocked()
            # What comes while the stream is taken up again comes too, and ends with the answer.
            await store.store_event("a", message(3))
            done = types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"at": 4})
            await store.store_event("a", done)
        lives = size == 10
        assert sent == ([("2", 0), ("4", 2), ("5", 3), ("6", 4)] if lives else [])
        for at in range(2 * store.MOST if lives else 2):
            await store.store_event("a", message(at))
        for lost in (first, "", "x", "-1", "99999"):
            assert await store.replay_events_after(lost, send) is None
        assert len(store._rows) <= store.MOST
        assert store._bytes <= store.BYTES + size + 200

    anyio.run(main)


def test_what_is_kept_of_all_sessions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SessionEvents, "ALL", 10_000)
    monkeypatch.setattr(SessionEvents, "_kept", set())
    sent: list[str] = []

    async def send(event: Any) -> None:
        sent.append(event.event_id)

    async def main() -> None:
        answer = types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": "x" * 900})
        modest, greedy = SessionEvents(), [SessionEvents() for _ in range(4)]
        first = await modest.store_event("a", None)
        await modest.store_event("a", answer)
        for _ in range(20):
            for store in greedy:
                await store.store_event("a", answer)
        assert sum(store._bytes for store in (modest, *greedy)) <= 10_000
        # Those that keep much give way.
        await modest.replay_events_after(first, send)

    anyio.run(main)
    assert sent == ["2"]


def test_a_stream_that_broke_is_taken_up_again(url: str, token: str) -> None:
    mine = Wire(url, token).open()
    with mine.stream("POST", call_of("kept", 7, seconds=0.5)) as answer:
        head = next(answer.iter_lines())
    last = head.partition("id:")[2].strip()
    assert last
    with mine.stream(last_event_id=last) as again:
        lines: list[str] = []
        for line in again.iter_lines():
            lines.append(line)
            if '"result"' in line:
                break
    (found,) = events("\n".join(lines))
    assert (found["id"], found["result"]["content"][0]["text"]) == (7, "kept")
    # Another client's session has other events, whatever their numbers.
    other = Wire(url, clients.add_client("other", "SAFE")).open()
    heard: list[str] = []
    other.http.timeout = 0.3
    with suppress(httpx2.ReadTimeout), other.stream(last_event_id=last) as theirs:
        heard.extend(theirs.iter_lines())
    assert "kept" not in "".join(heard)


# `iac-mcp serve --http`: under some load and over a restart, as a program, in its log.


LISTS = ("notes_list", "mail_list", "finder_list")


@pytest.mark.slow
def test_nothing_is_lost_under_load_and_over_a_restart(tools: Path, own_data_folder: Path) -> None:
    tokens = [add_client(f"client-{number}", "SAFE") for number in range(4)]
    made = []
    for name in ("first", "second"):
        with (
            closing(backing_of(tools, expose=("all",))) as behind,
            over_http(build_sdk_server(behind, server_identity(), 54.0)) as settings,
        ):
            made += asyncio.run(burst(settings.url, tokens, 8, 40, name, LISTS))[0]
    assert Counter(row.came for row in made) == {"done": 80}
    rows = recorded(own_data_folder)
    assert rows == Counter((row.mark, "done") for row in made)
    assert verify_audit(own_data_folder / "state").is_intact


@pytest.mark.process
def test_the_program_serves_until_it_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))
    server = LoadServer(tmp_path / "data", "--simulate")
    token = add_client("studio", "SAFE")
    server.start()
    open_stream = Wire(server.url, token).open()
    with open_stream.stream() as answer:
        assert answer.status_code == 200
        assert open_stream.call("list_apps")["isError"] is False
        assert server.end(signal.SIGTERM) == 0
    open_stream.http.close()
    assert (tmp_path / "data" / "said").read_text() == f"iac-mcp: serving at {server.url}\n"


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="sets the limit of another process")
def test_connections_of_one_address_leave_room_for_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))
    server = LoadServer(tmp_path / "data", "--simulate")
    token = add_client("studio", "SAFE")
    server.start()
    assert server.process is not None
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (256, 256))
    with ExitStack() as stack:
        client = Wire(server.url, token).open()
        for _ in range(400):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 5))
        time.sleep(1)
        answer = client.call("list_apps")
        assert answer["isError"] is False, answer
        client.http.close()
    assert server.end(signal.SIGTERM) == 0
    said = (tmp_path / "data" / "said").read_text().splitlines()
    assert "Connections of 127.0.0.1 are closed" in said[1]
    assert len(said) <= 3, "one line a minute for each trouble"


def test_a_full_table_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    log, bound = logging.getLogger("asyncio"), RepeatFilter()
    caplog.handler.addFilter(bound)
    try:
        for number in range(1_000):
            log.error("socket.accept() out of system resource\nsocket: <socket %d>", number)
        log.error("something else")
    finally:
        caplog.handler.removeFilter(bound)
    told = [row.getMessage() for row in caplog.records]
    assert told == [
        "Nobody can connect: the process has no file descriptor left.",
        "something else",
    ]


def test_what_strangers_send_is_told_once_a_minute(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    monkeypatch.setattr(serve.time, "monotonic", lambda: now[0])
    log, bound = logging.getLogger("mcp.server.of_a_test"), RepeatFilter()
    caplog.handler.addFilter(bound)
    caplog.set_level(logging.DEBUG)
    try:
        for number in range(200):
            log.warning(f"Strange header: {number}")
            log.debug("seen") if number < 2 else None
            now[0] += 0.5
    finally:
        caplog.handler.removeFilter(bound)
    assert [row.getMessage() for row in caplog.records] == [
        "Strange header: 0", "seen", "seen",
        "Strange header: 120 (and 119 more like this before)",
    ]  # fmt: skip


def test_the_log_begins_anew_and_stays_private(tmp_path: Path) -> None:
    start_logging(file=tmp_path / "log", most=500)
    for number in range(40):
        logging.getLogger(f"{LOGGER}.test").warning("line %d\x1b[31m", number)
    start_logging()
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["log", "log.1", "log.2", "log.3"]
    for name in files:
        path = tmp_path / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.stat().st_size < 700
        assert b"\x1b" not in path.read_bytes()
