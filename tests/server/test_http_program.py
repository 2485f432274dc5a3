"""`iac-mcp serve --http`: under some load and over a restart, as a program, in its log."""

import asyncio
import signal
import stat
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from http_load import LoadServer, burst, recorded
from over_http import Wire, over_http
from real_clients import backing_of

from iac_base.logs import LOGGER, begin
from iac_mcp.http.clients import add
from iac_runtime.audit.reading import verified
from iac_runtime.serve.front import identity

LISTS = ("notes_list", "mail_list", "finder_list")


def test_nothing_is_lost_under_load_and_over_a_restart(tools: Path, own_data_folder: Path) -> None:
    tokens = [add(f"client-{number}", "SAFE") for number in range(4)]
    made = []
    for name in ("first", "second"):
        with (
            closing(backing_of(tools, expose=("all",))) as behind,
            over_http(behind.server(identity(), 54.0)) as settings,
        ):
            made += asyncio.run(burst(settings.url, tokens, 8, 40, name, LISTS))[0]
    assert Counter(row.came for row in made) == {"done": 80}
    rows = recorded(own_data_folder)
    assert rows == Counter((row.mark, "done") for row in made)
    assert verified(own_data_folder / "state").holds


@pytest.mark.process
def test_the_program_serves_until_it_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))
    server = LoadServer(tmp_path / "data", "--simulate")
    token = add("studio", "SAFE")
    server.start()
    open_stream = Wire(server.url, token).open()
    with open_stream.stream() as answer:
        assert answer.status_code == 200
        assert open_stream.call("list_apps")["isError"] is False
        assert server.end(signal.SIGTERM) == 0
    open_stream.http.close()
    assert (tmp_path / "data" / "said").read_text() == f"iac-mcp: serving at {server.url}\n"


def test_the_log_begins_anew_and_stays_private(tmp_path: Path) -> None:
    import logging

    begin(file=tmp_path / "log", most=500)
    for number in range(40):
        logging.getLogger(f"{LOGGER}.test").warning("line %d\x1b[31m", number)
    begin()
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["log", "log.1", "log.2", "log.3"]
    for name in files:
        path = tmp_path / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.stat().st_size < 700
        assert b"\x1b" not in path.read_bytes()
