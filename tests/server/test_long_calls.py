"""Calls that take long, for clients of the tasks extension: a handle, then what became of them."""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from over_http import Wire, events, over_http
from real_clients import backing_of, build_sdk_server
from scripted import Scripted, scripted, until
from talking import ENVELOPE, IDENTITY, Talk

from iac_base.errors import Cancellation
from iac_mcp.http import clients
from iac_runtime.gate.gate import Gate
from iac_runtime.serve import tasks
from iac_runtime.serve.call import Peer, RemoteClient, Result
from iac_runtime.serve.protocol import MODERN_VERSION, ProtocolError
from iac_runtime.tools.catalogue import Catalogue

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
TAKES: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
COUNT = {"name": "notes_count", "arguments": {"element": "note"}}


class Client:
    """A client on a front, which asks in the newer era."""

    def __init__(self, talk: Talk, capabilities: Mapping[str, Any] = TAKES) -> None:
        self._talk, self._asked = talk, 0
        self._meta = {**ENVELOPE, CAPABILITIES: capabilities}

    def ask(self, method: str, **params: Any) -> Any:
        """Return the result of a request, or its error."""
        self._asked += 1
        answer = self._talk.ask(method, {**params, "_meta": self._meta}, self._asked)
        return answer.get("result") or answer["error"]


@pytest.fixture
def osascript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    monkeypatch.setenv("SCRIPTED_START", "hangs")
    monkeypatch.setattr(tasks, "DIRECT_SECONDS", 0.1)
    return scripted(tmp_path, monkeypatch)


@pytest.fixture
def slow(tools: Path, osascript: Scripted) -> Iterator[Talk]:
    """A front on a gate whose osascript hangs."""
    gate = Gate(Catalogue([tools]), osascript.executor(timeout=1000))
    backing = backing_of(tools, gate=gate)
    talk = Talk(methods=lambda: backing.open_methods(40.0).by_name())
    yield talk
    talk.close()
    backing.close()


@pytest.mark.process
def test_a_call_that_takes_long_becomes_a_task_that_can_be_ended(
    slow: Talk, osascript: Scripted
) -> None:
    client = Client(slow)
    begun = client.ask("tools/call", **COUNT)
    assert (begun["resultType"], begun["status"]) == ("task", "working")
    assert begun["ttlMs"] > 0
    task = {"taskId": begun["taskId"]}
    assert client.ask("tasks/get", **task)["status"] == "working"
    assert osascript.processes()
    ended = client.ask("tasks/cancel", **task)
    assert ended["resultType"] == "complete"
    assert "status" not in ended
    assert until(lambda: client.ask("tasks/get", **task)["status"] == "cancelled")
    assert osascript.nothing_is_left()
    # Once more changes nothing.
    assert client.ask("tasks/cancel", **task)["resultType"] == "complete"


@pytest.mark.process
@pytest.mark.usefixtures("own_data_folder")
def test_a_token_that_is_taken_back_ends_its_tasks(tools: Path, osascript: Scripted) -> None:
    backing = backing_of(tools, gate=Gate(Catalogue([tools]), osascript.executor(timeout=1000)))
    token = clients.add_client("studio", "DANGEROUS")
    with over_http(build_sdk_server(backing, IDENTITY)) as settings:

        def ask(wire: Wire, method: str, **params: Any) -> Any:
            name = params.get("name") or params["taskId"]
            headers = {
                "mcp-protocol-version": MODERN_VERSION,
                "mcp-method": method,
                "mcp-name": name,
            }
            meta = {**ENVELOPE, CAPABILITIES: TAKES}
            sent = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": method,
                "params": {**params, "_meta": meta},
            }
            text = wire.post(sent, **headers).text
            answer = json.loads(text) if text.startswith("{") else events(text)[-1]
            return answer.get("result") or answer["error"]

        wire = Wire(settings.url, token)
        task = ask(wire, "tools/call", **COUNT)["taskId"]
        assert ask(wire, "tasks/get", taskId=task)["status"] == "working"
        for wrong in ({}, {"inputResponses": 5}, {"inputResponses": {"1.a": 5}}):
            assert ask(wire, "tasks/update", taskId=task, **wrong)["code"] == -32602
        assert osascript.processes()
        clients.revoke_client("studio")
        assert osascript.nothing_is_left()
        # A client of the same name is another one.
        again = Wire(settings.url, clients.add_client("studio", "DANGEROUS"))
        assert ask(again, "tasks/get", taskId=task)["code"] == -32602
    backing.close()


@pytest.mark.process
def test_a_short_call_and_a_client_without_tasks_are_answered_as_ever(
    tools: Path, slow: Talk
) -> None:
    backing = backing_of(tools)
    quick = Talk(methods=lambda: backing.open_methods(40.0).by_name())
    for capabilities in (TAKES, {}):
        listed = Client(quick, capabilities).ask("tools/call", name="list_apps", arguments={})
        assert listed["resultType"] == "complete"
        assert listed["content"]
    quick.close()
    backing.close()
    refused = Client(slow, {}).ask("tasks/get", taskId="x")
    assert refused["code"] == -32021
    assert refused["data"]["requiredCapabilities"] == TAKES
    assert Client(slow).ask("tasks/get", taskId="x")["code"] == -32602
    assert Client(slow).ask("tasks/list")["code"] == -32601


class Asker:
    """A client of tasks that a token proved, or a program of this user."""

    name, modern, declared, views, tasks = "tests", True, True, False, True

    def __init__(self, holder: str = "") -> None:
        self.remote = RemoteClient(holder, "DANGEROUS") if holder else None
        self.told: list[str] = []

    def report(self, _seconds: float, said: str) -> None:
        self.told.append(said)

    def elicit(self, *_question: Any) -> Any:
        raise AssertionError("a result asks in this era")


def ask_twice(params: Mapping[str, Any], peer: Peer, cancel: Cancellation) -> Result:
    """Ask two questions in every round; end when the second round was answered."""
    cancel.wait(0.2)
    peer.report(0.2, "running for 0 seconds")
    rounds = int(params.get("requestState", 0)) + ("inputResponses" in params)
    if rounds == 2:
        return {"content": [], "isError": False, "given": params["inputResponses"]}
    asked = {"a": {"method": "elicitation/create"}, "b": {"method": "elicitation/create"}}
    return {"resultType": "input_required", "inputRequests": asked, "requestState": str(rounds)}


def test_questions_of_a_task_are_answered_one_at_a_time_and_never_under_an_old_key() -> None:
    calls, client, none = tasks.TaskCalls(ask_twice, 0.05), Asker(), Cancellation()
    begun = calls.call_tool({"name": "x"}, client, none)
    task = {"taskId": begun["taskId"]}

    def wait_for(status: str) -> dict[str, Any]:
        assert until(lambda: calls.get_task(task, client, none)["status"] == status)
        return calls.get_task(task, client, none)

    seen: set[str] = set()
    for _ in range(2):
        keys = list(wait_for("input_required")["inputRequests"])
        assert not seen & set(keys)
        seen |= set(keys)
        accepted = {"action": "accept", "content": {}}
        calls.update_task({**task, "inputResponses": {keys[0]: accepted, "no": {}}}, client, none)
        left = wait_for("input_required")
        assert list(left["inputRequests"]) == keys[1:]
        assert "requestState" not in left
        calls.update_task({**task, "inputResponses": {keys[1]: {}}}, client, none)
    done = wait_for("completed")
    assert done["result"]["given"] == {"a": accepted, "b": {}}
    assert done["result"]["resultType"] == "complete"
    assert done["statusMessage"] == "running for 0 seconds"
    # The request itself was answered long before.
    assert not client.told


def test_a_task_belongs_to_the_client_whose_call_it_is() -> None:
    calls, none = tasks.TaskCalls(ask_twice, 0.05), Cancellation()
    task = calls.call_tool({"name": "x"}, Asker("http:ann"), none)
    assert calls.get_task(task, Asker("http:ann"), none)["taskId"] == task["taskId"]
    for other in (Asker("http:ben"), Asker()):
        with pytest.raises(ProtocolError, match="no task"):
            calls.cancel_task(task, other, none)


@pytest.mark.parametrize("most", ["MOST_TASKS", "MOST_WORKING"])
def test_with_many_tasks_a_call_is_answered_when_it_has_ended(
    monkeypatch: pytest.MonkeyPatch, most: str
) -> None:
    monkeypatch.setattr(tasks, most, 1)
    calls, client, none = tasks.TaskCalls(ask_twice, 0.05), Asker("http:ann"), Cancellation()
    first = calls.call_tool({"name": "x"}, client, none)
    assert first["resultType"] == "task"
    assert calls.call_tool({"name": "x"}, client, none)["resultType"] == "input_required"
    # Another client's are its own.
    assert calls.call_tool({"name": "x"}, Asker("http:ben"), none)["resultType"] == "task"
    monkeypatch.setattr(tasks, "KEPT_SECONDS", 0)
    time.sleep(0.01)
    with pytest.raises(ProtocolError, match="no task"):
        calls.get_task(first, client, none)
    assert calls.call_tool({"name": "x"}, client, none)["resultType"] == "task"


def test_an_error_of_the_protocol_is_the_end_of_its_task() -> None:
    def fail(_params: Any, _peer: Peer, cancel: Cancellation) -> Result:
        cancel.wait(0.2)
        raise ProtocolError(-32602, "There is no such tool.")

    calls, client, none = tasks.TaskCalls(fail, 0.05), Asker(), Cancellation()
    task = calls.call_tool({"name": "x"}, client, none)
    assert until(lambda: calls.get_task(task, client, none)["status"] == "failed")
    error = calls.get_task(task, client, none)["error"]
    assert error == {"code": -32602, "message": "There is no such tool."}
    with pytest.raises(ProtocolError):
        tasks.TaskCalls(fail, 1.0).call_tool({"name": "x"}, client, none)
