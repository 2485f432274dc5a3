"""A front whose sessions cannot be had still answers, and a client that is lost ends it."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from piped import COUNT, Piped
from talking import ENTRIES, ENVELOPE, HANDSHAKE, Talk, answer_call

from iac_base.errors import SetupError
from iac_runtime.serve import stdio
from iac_runtime.serve.stdio import Wire


def no_methods() -> Any:
    raise SetupError("The state folder is not yours.")


@pytest.fixture
def failing() -> Iterator[Talk]:
    talk = Talk(methods=no_methods)
    yield talk
    talk.close()


def test_a_server_that_cannot_be_made_is_said_to_every_request(
    failing: Talk, capfd: pytest.CaptureFixture[str]
) -> None:
    failing.ask("initialize", HANDSHAKE)
    assert failing.ask("tools/list", None, 2)["result"]["tools"] == ENTRIES
    for id_ in (3, "four"):
        error = failing.ask("tools/call", {"name": "tool_1"}, id_)["error"]
        assert error == {"code": -32603, "message": "The state folder is not yours."}
    modern = failing.ask("tools/call", {"name": "tool_1", "_meta": ENVELOPE}, 5)
    assert modern["error"]["message"] == "The state folder is not yours."
    assert failing.ask("ping", None, 6)["result"] == {}
    assert "iac-mcp: The state folder is not yours." in capfd.readouterr().err


def test_no_request_is_left_without_an_answer_when_a_call_ends_its_thread() -> None:
    """Those beside it are answered, and what is asked after it."""
    talk = Talk(methods=lambda: {"tools/call": end_or_wait})
    talk.ask("initialize", HANDSHAKE)
    talk.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    for number in range(10, 15):
        talk.say(
            {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "wait"}}
        )
    assert "error" in talk.ask("tools/call", {"name": "end"}, "end")
    assert "result" in talk.ask("tools/call", {"name": "tool_1"}, "after")
    talk.close()
    heard = [answer["id"] for answer in map(json.loads, talk.raw)]
    assert sorted(map(str, heard)) == sorted(map(str, [1, *range(10, 15), "end", "after"]))


def end_or_wait(params: Any, peer: Any, cancel: Any) -> Any:
    if params["name"] == "end":
        raise SystemExit(3)
    if params["name"] == "wait":
        cancel.wait(600)
    return answer_call(params, peer, cancel)


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Wire, int]]:
    """A wire whose client waits for a fraction of a second only, and the client's end."""
    monkeypatch.setattr(stdio, "PATIENCE", 0.5)
    to_read, to_write = os.pipe()
    said, say = os.pipe()
    yield Wire(said, to_write), to_read
    for fd in (to_read, to_write, said, say):
        os.close(fd)


def test_a_client_that_stops_reading_ends_the_reading_too(pipe: tuple[Wire, int]) -> None:
    """The one that reads its input is brought out of its wait."""
    ours, _ = pipe
    ended = threading.Event()

    def read() -> None:
        assert list(ours) == []
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    ours.write(b"x" * 1_000_000)
    ours.write(b"y")
    assert ours.broken
    assert ended.wait(30)


def test_a_client_that_reads_slowly_gets_everything(pipe: tuple[Wire, int]) -> None:
    ours, theirs = pipe
    line = bytes(range(32, 127)) * 3_000
    writer = threading.Thread(target=ours.write, args=(line,))
    writer.start()
    got = b""
    pause = threading.Event()
    while len(got) <= len(line):
        got += os.read(theirs, 8_192)
        pause.wait(0.01)
    writer.join()
    assert got == line + b"\n"
    assert not ours.broken


@pytest.mark.process
def test_a_state_that_cannot_be_read_is_an_answer_not_silence(tmp_path: Path) -> None:
    served = Piped(tmp_path / "data", "--expose", "all", "--simulate")
    try:
        served.open()
        # What the gate needs is taken away after the start.
        (tmp_path / "data" / "policy.toml").write_text("preset = 5\n")
        error = served.ask("tools/call", COUNT)["error"]
        assert error["code"] == -32603
        assert "policy.toml" in error["message"]
        assert served.ask("ping")["result"] == {}
        assert "Traceback" not in served.log.read_text()
    finally:
        assert served.close() == 1


@pytest.mark.process
def test_simulated_apps_work_beside_one_whose_module_cannot_be_imported(
    tools: Path, tmp_path: Path
) -> None:
    tools.joinpath("finder.py").write_text("def (")
    options = ("--expose", "all", "--tools", str(tools), "--simulate")
    served = Piped(tmp_path / "data", *options)
    try:
        served.open()
        for tool, element in (("mail_count", "mailbox"), ("notes_count", "note")):
            assert served.call(tool, element=element)["structuredContent"]["result"] > 0
        refused = served.call("finder_count", element="window")
        assert refused["isError"]
        assert "finder.py cannot be imported" in str(refused)
        assert "finder.py cannot be imported" in served.log.read_text()
    finally:
        assert served.close() == 0
