"""`iac-mcp serve --http`: under some load and over a restart, as a program, in its log."""

import asyncio
import logging
import resource
import signal
import socket
import stat
import sys
import time
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from http_load import LoadServer, burst, recorded
from over_http import Wire, over_http
from real_clients import backing_of, build_sdk_server

from iac_base.logs import LOGGER, start_logging
from iac_mcp.http.clients import add_client
from iac_mcp.http.serve import quiet_full_table
from iac_runtime.audit.reading import verify_audit
from iac_runtime.serve.stdio import server_identity

LISTS = ("notes_list", "mail_list", "finder_list")


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
    log = logging.getLogger("asyncio")
    log.addFilter(quiet_full_table)
    try:
        for _ in range(1_000):
            log.error("socket.accept() out of system resource\nsocket: <socket>")
        log.error("something else")
    finally:
        log.removeFilter(quiet_full_table)
    told = [row.getMessage() for row in caplog.records]
    assert told == [
        "Nobody can connect: the process has no file descriptor left.",
        "something else",
    ]


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
