"""What running servers say of themselves, and that nobody else speaks for them."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from iac_mcp.cli.main import main
from iac_runtime.serve.status import StatusFile, running_servers, servers_folder, status_facts


def until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.02)
    pytest.fail("it did not come to be")


@pytest.fixture
def board():
    found = StatusFile("search", 14, {"SAFE": 2, "MODIFY": 1}, workers=lambda: {"com.a": "idle"})
    yield found
    found.close()


def test_a_server_is_seen_with_its_numbers(board: StatusFile) -> None:
    board.update_fields(client="Claude")
    for number in range(50):
        board.count_call(failed=number % 10 == 0)
    until(lambda: running_servers()[0].calls == 50)
    (server,) = running_servers()
    assert (server.pid, server.errors, server.client) == (os.getpid(), 5, "Claude")
    assert (server.apps, server.tools) == (14, {"SAFE": 2, "MODIFY": 1})
    assert server.workers == {"com.a": "idle"}
    assert server.facts(server.started + 61.4)["uptime"] == 61


def test_a_task_is_counted_down_in_the_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {
        "client": "Claude",
        "covers": "mark",
        "left": 3,
        "of": 20,
        "until": "2999-01-01 10:00:00",
    }
    over = {**row, "covers": "was", "until": "2001-01-01 10:00:00"}
    board = StatusFile("search", 1, {"SAFE": 1}, tasks=lambda: [row, over])
    assert board.facts()["tasks"] == [row]
    main(["status"])
    told = capsys.readouterr().out
    board.close()
    assert "task: 3 of 20 left until 2999-01-01 10:00:00: mark" in told
    assert "was" not in told


def test_many_threads_count_right(board: StatusFile) -> None:
    threads = [
        threading.Thread(target=lambda: [board.count_call() for _ in range(200)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert board.facts()["calls"] == 1600
    assert status_facts(board)["servers"][0]["calls"] == 1600


def test_a_server_that_closes_is_gone(board: StatusFile) -> None:
    board.count_call()
    board.close()
    assert running_servers() == []
    assert status_facts()["servers"] == []


@pytest.mark.process
def test_files_of_servers_that_are_gone_or_damaged_are_removed(board: StatusFile) -> None:
    folder = servers_folder()
    good = json.loads((folder / f"{os.getpid()}.json").read_text())
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    (folder / f"{child.pid}.json").write_text(json.dumps({**good, "pid": child.pid}))
    (folder / "1.json").write_text(json.dumps({**good, "pid": 1}))
    (folder / "2.json").write_text("{")
    (folder / "3.json").write_text(json.dumps({**good, "pid": 4}))
    (folder / "5.json").write_text(json.dumps({"format": 1, "pid": 5}))
    (folder / "99999999999999999999.json").write_text(
        json.dumps({**good, "pid": 99999999999999999999})
    )
    assert [server.pid for server in running_servers()] == [os.getpid()]
    assert len(list(folder.glob("*.json"))) == 1


def test_status_prints_it_for_people_and_as_json(
    board: StatusFile, capsys: pytest.CaptureFixture[str]
) -> None:
    board.update_fields(client="Cla\x1bude")
    until(lambda: running_servers()[0].client != "")
    assert main(["status"]) == 0
    out = capsys.readouterr().out
    assert f"{os.getpid()} for Cla" in out
    assert "\x1b" not in out
    assert "14 apps, tools: 2 SAFE, 1 MODIFY" in out
    assert "0 calls, 0 errors; workers: com.a idle" in out
    assert main(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["servers"][0]["surface"] == "search"


def test_without_servers_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status"]) == 0
    assert capsys.readouterr().out == "No server is running.\n"


def test_a_state_folder_that_is_not_safe_is_told(tmp_path: Path) -> None:
    state = tmp_path / "data" / "state"
    state.mkdir(parents=True, mode=0o755)
    assert "chmod 700" in status_facts()["note"]
