"""Long calls through a real client of either era: word of them, their end, and their cancelling."""

import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from real_clients import ERAS, ask, backing_of, build_sdk_server, facts_of, program
from scripted import Scripted, scripted, until

from iac_base.errors import Cancellation, ToolError
from iac_runtime.gate.gate import Gate
from iac_runtime.serve.call import Deadline
from iac_runtime.serve.listing import CALL_SECONDS
from iac_runtime.serve.stdio import server_identity
from iac_runtime.tools.catalogue import Catalogue

pytestmark = pytest.mark.process

RUNNING = ("app_running", {"app": "Notes"})
READ = ("notes_count", {"element": "note"})


@pytest.fixture
def osascript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    monkeypatch.setenv("SCRIPTED_START", "hangs")
    return scripted(tmp_path, monkeypatch)


@pytest.mark.sweep
@pytest.mark.parametrize("era", ERAS)
def test_a_long_call_is_told_of_and_ended_before_the_client_gives_up(
    tools: Path, osascript: Scripted, era: str
) -> None:
    gate = Gate(Catalogue([tools]), osascript.executor(timeout=1000))
    backing = backing_of(tools, gate=gate)
    heard: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    async def question(client: Client) -> None:
        result = await client.call_tool(*READ, progress_callback=note)
        facts = facts_of(result)
        assert result.is_error
        assert (facts["type"], facts["retryable"]) == ("TIMEOUT", True)
        assert "Ask for less" in facts["suggestion"]
        assert not osascript.processes()

    try:
        ask(build_sdk_server(backing, server_identity(), 3.4), question, era)
    finally:
        backing.close()
    assert [message for _, message in heard] == ["notes_count: running for 3 seconds"]
    assert heard[0][0] >= 3


@pytest.mark.sweep
@pytest.mark.parametrize("era", ERAS)
def test_a_cancelled_call_leaves_no_process(
    tools: Path, osascript: Scripted, tmp_path: Path, era: str
) -> None:
    server = program(
        tools,
        tmp_path / "data",
        IAC_OSASCRIPT=str(osascript.program),
        SCRIPTED_START="hangs",
        SCRIPTED_RUN=osascript.run,
        PATH=os.environ["PATH"],
    )

    async def question(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, *RUNNING)
            # The server itself carries the mark too.
            while len(osascript.processes()) < 2:
                await anyio.sleep(0.02)
            group.cancel_scope.cancel()
        while len(osascript.processes()) > 1:
            await anyio.sleep(0.02)
        assert (await client.call_tool("list_apps", {})).structured_content

    ask(server, question, era)
    assert until(lambda: not osascript.processes(), 20)


class Told:
    """A client that is told how long its request has run."""

    name, modern, declared = "told", False, False

    def __init__(self) -> None:
        self.heard: list[str] = []

    def report(self, seconds: float, said: str) -> None:
        self.heard.append(said)

    def elicit(self, *_asked: Any) -> Any:
        raise AssertionError


def test_nothing_is_told_after_the_end_and_only_the_block_is_ended() -> None:
    peer, cancel = Told(), Cancellation()
    deadline = Deadline(peer, "notes_count", patience=0.2, every=0.01)
    with deadline.with_progress(cancel) as inner:
        assert inner.wait(20)
    told = len(peer.heard)
    assert told > 1
    assert not cancel.is_cancelled
    with deadline.with_progress(cancel, patient=True) as inner:
        cancel.cancel()
        assert inner.is_cancelled
    assert len(peer.heard) == told


def ended(error: ToolError) -> ToolError:
    deadline = Deadline(Told(), "notes_set", patience=0.0)
    with deadline.with_progress(Cancellation()) as inner:
        assert inner.wait(20)
    return deadline.explain_error(error)


def test_what_is_said_of_the_end_depends_on_what_was_sent() -> None:
    unsent = ended(ToolError("USER_CANCELLED", "The call was cancelled before it was sent."))
    assert "Nothing was sent" in unsent.suggestion
    assert unsent.retryable
    unknown = "It is unknown whether the change happened. Check before you try again."
    write = ended(ToolError("USER_CANCELLED", "The call was cancelled.", unknown))
    assert (write.type, write.suggestion, write.retryable) == ("TIMEOUT", unknown, False)
    other = ToolError("NOT_FOUND", "There is none.")
    assert ended(other) is other
    early = Deadline(Told(), "x")
    assert early.explain_error(unsent) is unsent


def test_the_wait_for_a_turn_counts(tools: Path, osascript: Scripted) -> None:
    gate = Gate(Catalogue([tools]), osascript.executor(timeout=1000))
    backing = backing_of(tools, gate=gate)
    said: list[str] = []

    async def question(client: Client) -> None:
        async def call() -> None:
            said.append(facts_of(await client.call_tool(*READ))["suggestion"])

        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(call)

    try:
        ask(build_sdk_server(backing, server_identity(), 1.5), question)
    finally:
        backing.close()
    assert sorted(line.split(":")[0].split(",")[0] for line in said) == [
        "Ask for less",
        "Nothing was sent",
    ]


def test_a_call_is_ended_in_time_for_a_client_that_waits_a_minute() -> None:
    from iac_runtime.serve.stdio import call_patience

    assert call_patience({}) == CALL_SECONDS < 60 - 3
    assert call_patience({"timeout": "120"}) == 124
