"""Six answers of real clients over the pipes of a real server, in both protocol eras.

Each test asserts what the caller reads, what the audit says, and what ran.
"""

from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from real_clients import ERAS, ask, facts_of, program

from iac_mcp.cli.main import main
from iac_mcp.setup.checks import DoctorContext, check_approval_prompts
from iac_runtime.audit.reading import AuditEntry, AuditQuery, find_calls
from iac_runtime.execution.executor import Executor
from iac_runtime.policy.approvals import paused_clients, unapproved_counts, unshown
from iac_runtime.policy.prompts import DENY, ONCE
from iac_runtime.serve.status import status_facts

pytestmark = pytest.mark.process

MAKE = ("notes_make_note", {"name": "Milk"})
FIND = ("notes_list", {"element": "note", "where": {"name": "Milk"}})


def says(action: Any, answer: str | None = None, seconds: float = 0.6) -> Any:
    """Return a client's person, who takes a while to say no; a yes may come at once."""
    content = None if answer is None else {"answer": answer}

    async def person(_context: Any, _params: Any) -> types.ElicitResult:
        await anyio.sleep(0 if answer else seconds)
        return types.ElicitResult(action=action, content=content)

    return {"elicitation_callback": person}


async def fails(_context: Any, _params: Any) -> Any:
    return types.ErrorData(code=types.INTERNAL_ERROR, message="no window")


async def never(_context: Any, _params: Any) -> Any:
    await anyio.sleep_forever()


def made_by(tools: Path, data: Path, era: str, more: Any, **environ: str) -> tuple[Any, int]:
    """Return the facts of a refusal, or None where the call ran, and how many notes there are."""
    found: list[Any] = []

    async def question(client: Client) -> None:
        result = await client.call_tool(*MAKE)
        found.append(facts_of(result) if result.is_error else None)
        listed = await client.call_tool(*FIND)
        found.append(len((listed.structured_content or {})["result"]))

    ask(program(tools, data, "--simulate", **environ), question, era, **more)
    return found[0], found[1]


def story(data: Path) -> AuditEntry:
    """Return what the audit has of the call, which is one row."""
    (entry,) = find_calls(data / "state", AuditQuery(tool=MAKE[0]), 10)
    assert entry.simulated
    assert not find_calls(data / "state", AuditQuery(simulated=False), 10)
    return entry


LONE = [["dialog", "unable"]]


@pytest.mark.sweep
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("more", "kind", "asked", "result"), [
    pytest.param(says("accept", ONCE), None, "once", "done", id="accepts"),
    pytest.param(says("decline"), "REFUSED", "decline", "refused", id="declines"),
    pytest.param(says("accept", DENY), "REFUSED", "decline", "refused", id="denies"),
    pytest.param(says("cancel"), "UNANSWERED", "cancel", "UNANSWERED", id="cancels"),
    pytest.param({}, "UNANSWERED", "unable", "UNANSWERED", id="unable"),
])  # fmt: skip
def test_each_answer_is_itself_to_the_caller_and_in_the_audit(
    tools: Path, tmp_path: Path, era: str, more: Any, kind: Any, asked: str, result: str
) -> None:
    data = tmp_path / "data"
    facts, count = made_by(tools, data, era, more)
    assert count == (kind is None)
    if facts is None:
        assert kind is None
    else:
        assert (facts["type"], facts["retryable"]) == (kind, kind == "UNANSWERED")
        assert ("The user declined" in facts["message"]) == (kind == "REFUSED")
        assert ("Do not call again" in facts["suggestion"]) == (kind == "REFUSED")
        assert "--allow" not in str(facts)
    entry = story(data)
    assert sorted(entry.asked) == sorted([["client", asked], *LONE])
    assert (entry.result, entry.decision) == (result, "allow" if kind is None else "deny")


@pytest.mark.sweep
@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_fails_at_asking_runs_nothing(tools: Path, tmp_path: Path, era: str) -> None:
    data = tmp_path / "data"
    found: list[Any] = []

    async def question(client: Client) -> None:
        # In the newer era the client's own library ends the call, and the server hears no more.
        try:
            found.append(facts_of(await client.call_tool(*MAKE)))
        except MCPError:
            assert era == "auto"
        listed = await client.call_tool(*FIND)
        assert (listed.structured_content or {})["result"] == []

    ask(program(tools, data, "--simulate"), question, era, elicitation_callback=fails)
    entry = story(data)
    if era == "legacy":
        (facts,) = found
        assert (facts["type"], facts["retryable"]) == ("UNANSWERED", True)
        assert "the client failed" in facts["message"]
        assert (entry.asked, entry.result) == ([*LONE, ["client", "error"]], "UNANSWERED")
    else:
        assert (entry.asked, entry.result) == ([*LONE, ["client", ""]], "asked")


def test_a_question_in_the_middle_of_a_call_that_is_never_answered_ends(
    tools: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    patience = "from iac_runtime.serve import call\ncall.THINKING = 1.0\n"
    server = program(tools, data, "--simulate", first=patience)
    found: list[Any] = []

    async def question(client: Client) -> None:
        found.append(facts_of(await client.call_tool(*MAKE)))
        listed = await client.call_tool(*FIND)
        assert (listed.structured_content or {})["result"] == []

    ask(server, question, "legacy", elicitation_callback=never)
    (facts,) = found
    assert facts["type"] == "UNANSWERED"
    assert "the client had no answer in time" in facts["message"]
    assert story(data).asked == [*LONE, ["client", "timeout"]]


def test_a_client_of_the_newer_era_that_never_comes_back_leaves_a_question(
    tools: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"

    async def question(client: Client) -> None:
        with anyio.move_on_after(3):
            await client.call_tool(*MAKE)
        listed = await client.call_tool(*FIND)
        assert (listed.structured_content or {})["result"] == []

    ask(program(tools, data, "--simulate"), question, "auto", elicitation_callback=never)
    entry = story(data)
    assert (entry.asked, entry.result) == ([*LONE, ["client", ""]], "asked")


@pytest.mark.sweep
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("button", "gave_up", "kind", "came"), [
    ("Allow once", False, None, "once"), ("Deny", False, "REFUSED", "decline"),
    ("", True, "UNANSWERED", "timeout"),
])  # fmt: skip
def test_what_a_client_closes_unseen_the_dialog_asks(
    tools: Path, tmp_path: Path, era: str, button: str, gave_up: bool, kind: Any, came: str
) -> None:
    dialog = stand_in(tmp_path, button, gave_up)
    data = tmp_path / "data"
    facts, count = made_by(tools, data, era, says("cancel"), IAC_OSASCRIPT=str(dialog))
    assert count == (kind is None)
    assert (facts or {}).get("type") == kind
    assert story(data).asked == [["client", "cancel"], ["dialog", came]]


@pytest.mark.sweep
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("action", "stopped"), [("cancel", False), ("decline", True)])
def test_only_declined_questions_stop_a_client(
    tools: Path, tmp_path: Path, era: str, action: str, stopped: bool
) -> None:
    data = tmp_path / "data"
    messages: list[str] = []

    async def question(client: Client) -> None:
        for _ in range(6):
            facts = facts_of(await client.call_tool(*MAKE))
            messages.append(facts["message"])

    ask(program(tools, data, "--simulate"), question, era, **says(action))
    assert ("Too many approval prompts" in messages[5]) == stopped
    assert not any("Too many approval prompts" in said for said in messages[:5])
    assert [row.lift for row in paused_clients(data / "state")] == [
        "iac-mcp policy resume"
    ] * stopped


@pytest.mark.sweep
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_client_that_answers_for_its_person_is_not_believed(
    tools: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    era: str,
    action: str,
) -> None:
    data = tmp_path / "data"
    itself = says(action, seconds=0.01)
    dialog = stand_in(tmp_path, ONCE, gave_up=False)
    facts, count = made_by(tools, data, era, itself, IAC_OSASCRIPT=str(dialog))
    assert (facts, count) == (None, 1)
    assert story(data).asked == [["client", "unshown"], ["dialog", "once"]]
    said: list[Any] = []

    async def question(client: Client) -> None:
        said.extend([facts_of(await client.call_tool(*MAKE)) for _ in range(6)])

    ask(program(tools, data, "--simulate"), question, era, **itself)
    for facts in said:
        assert (facts["type"], facts["retryable"]) == ("UNANSWERED", True)
        assert "the client showed no prompt" in facts["message"]
        assert "declined." not in facts["message"]
    assert paused_clients(data / "state") == []
    assert unapproved_counts(data / "state") == {}

    monkeypatch.setenv("IAC_DATA", str(data))
    words = "mcp answers approval prompts without showing them"
    assert main(["status"]) == 0
    assert words in capsys.readouterr().out
    assert status_facts()["unshown"] == ["mcp"]
    assert any(words in row.says for row in check_approval_prompts(DoctorContext(Executor())))
    # What comes later is a person's, and the client shows prompts by now.
    facts, _ = made_by(tools, data, era, says(action))
    assert facts["type"] == ("REFUSED" if action == "decline" else "UNANSWERED")
    assert (unshown(data / "state") == []) == (action == "decline")


def stand_in(folder: Path, button: str, gave_up: bool) -> Path:
    """Write an osascript that presses a button of every dialog, and return its path."""
    path = folder / "osascript"
    path.write_text(
        "#!/usr/bin/env python3\n"
        "import json, sys\n"
        "mark = json.load(sys.stdin)['mark']\n"
        f"answer = json.dumps({{'button': {button!r}, 'gaveUp': {gave_up!r}}})\n"
        "print(f'<iac:{mark}>{answer}</iac:{mark}>')\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path
