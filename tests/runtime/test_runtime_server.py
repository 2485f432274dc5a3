"""The server, asked by a real MCP client over standard input and output, and in process."""

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import warm
from diary_world import WORLD, write_output
from mcp import Client, MCPError, StdioServerParameters
from served import server_of
from simulated import simulate_apps

from iac_runtime.execution.executor import Executor
from iac_runtime.execution.process import Completed
from iac_runtime.gate.gate import Gate
from iac_runtime.policy.permissions import open_permissions
from iac_runtime.policy.settings import PolicyFlags
from iac_runtime.tools.catalogue import Catalogue


def ask(target: Any, question: Callable[[Client], Awaitable[None]], mode: Any = "auto") -> None:
    async def main() -> None:
        with anyio.fail_after(30):
            async with Client(target, mode=mode) as client:
                await question(client)

    anyio.run(main)


def text_of(result: Any) -> Any:
    return json.loads(result.content[0].text)


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_lists_calls_and_is_told_of_errors(
    output: Path, state_file: Path, mode: str
) -> None:
    options = ("--expose", "all", "--tools", str(output), "--simulate", str(state_file))
    command, *rest = warm.command(warm.IAC_MCP, "serve", *options)
    server = StdioServerParameters(
        command=command,
        args=rest,
        env={"PYTHONPATH": ":".join(p for p in sys.path if Path(p).name != "generated")},
    )

    async def question(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"diary_list", "diary_set", "list_apps", "app_quit"} <= names
        assert "a reference" in (client.instructions or "")

        found = await client.call_tool("diary_list", {"element": "entry", "of": "journals[0]"})
        assert found.structured_content is not None
        assert found.structured_content["result"][0]["name"] == "Monday"
        assert [row[1] for row in text_of(found)["rows"]] == ["Monday", "Tuesday"]
        assert found.meta is not None
        assert found.meta["iac/level"] == "SAFE"
        assert found.meta["iac/jxa"].startswith("const x = Application(")

        wrong = await client.call_tool("diary_get", {"target": "journals[0].nam"})
        assert wrong.is_error
        assert wrong.structured_content is None
        facts = text_of(wrong)
        assert facts["type"] == "INVALID_PARAMETER"
        assert "Nearest: name" in facts["suggestion"]

        refused = await client.call_tool("diary_delete", {"target": "journals[0]"})
        assert refused.is_error
        facts = text_of(refused)
        assert (facts["type"], facts["level"]) == ("UNANSWERED", "DANGEROUS")
        assert facts["line"].endswith(".journals[0])")

        with pytest.raises(MCPError, match="Nearest: diary_list"):
            await client.call_tool("diary_lst", {})

    ask(server, question, mode)


def gate_of(catalogue: Catalogue, world: dict[str, Any] = WORLD, **more: Any) -> Gate:
    executor = Executor(simulate_apps(catalogue, {"diary": world}))
    return Gate(catalogue, executor, "DANGEROUS", **more)


def test_a_read_only_server_hides_and_refuses_what_can_change(catalogue: Catalogue) -> None:
    async def question(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert "diary_get" in names
        assert "list_apps" in names
        assert names >= {"app_activate", "app_launch"}
        assert not names & {"diary_set", "diary_make", "diary_delete", "app_quit"}
        for name, arguments in (
            ("diary_set", {"target": "entries[0]", "properties": {"body": "x"}}),
            ("app_quit", {"app": "diary"}),
        ):
            refused = await client.call_tool(name, arguments)
            facts = text_of(refused)
            assert facts["type"] == "REFUSED"
            assert "--read-only" in facts["suggestion"]

    permissions = open_permissions(PolicyFlags(read_only=True))
    ask(server_of(gate_of(catalogue, permissions=permissions)), question)


def test_every_result_fits_its_schema_and_every_text_can_be_sent(catalogue: Catalogue) -> None:
    world = {**WORLD, "today": None, "entries": [{"id": "x", "name": "a\ud800\x00b"}]}

    async def question(client: Client) -> None:
        await client.list_tools()
        listed = await client.call_tool("diary_list", {"element": "entry"})
        assert listed.structured_content is not None
        assert not listed.is_error
        made = await client.call_tool("diary_make", {"element": "entry"})
        # The module closes its answer: what was read back goes beside it.
        assert set(made.structured_content or {}) == {"ref"}
        assert (made.meta or {})["iac/outcome"]["state"] == "confirmed"
        nothing = await client.call_tool(
            "diary_set", {"target": "entries[0]", "properties": {"body": "x"}}
        )
        assert set(nothing.structured_content or {}) == {"outcome"}
        missing = await client.call_tool(
            "diary_get", {"target": 'journals["\ud800"]'.encode("utf-8", "replace").decode()}
        )
        assert text_of(missing)["type"] == "NOT_FOUND"

    ask(server_of(gate_of(catalogue, world)), question)


def test_a_note_goes_with_a_result_that_was_cut(catalogue: Catalogue) -> None:
    async def question(client: Client) -> None:
        found = await client.call_tool("diary_list", {"element": "journal", "limit": 1})
        assert found.meta is not None
        assert found.meta["iac/note"] == '1 of 2 items; the next: cursor "1:j1"'

    ask(server_of(gate_of(catalogue)), question)


def test_a_failure_inside_is_an_answer_and_the_server_lives_on(
    catalogue: Catalogue, output: Path
) -> None:
    def broken(argv: Any, stdin: bytes, timeout: float) -> Completed:
        raise ValueError("oops\ud800")

    async def question(client: Client) -> None:
        failed = await client.call_tool("diary_get", {"target": "today"})
        facts = text_of(failed)
        assert failed.is_error
        assert facts["type"] == "EXECUTION_ERROR"
        assert "ValueError: oops" in facts["message"]
        apps = await client.call_tool("list_apps", {})
        assert apps.structured_content is not None
        assert apps.structured_content["apps"][0]["key"] == "diary"

    ask(server_of(Gate(catalogue, Executor(broken))), question)


def test_a_module_that_cannot_be_read_is_an_answer_too(tmp_path: Path) -> None:
    folder = write_output(tmp_path / "tools")
    (folder / "diary.py").write_text("raise RuntimeError('no')", encoding="utf-8")

    async def question(client: Client) -> None:
        failed = await client.call_tool("diary_get", {"target": "today"})
        assert "iac-gen build" in text_of(failed)["message"]

    ask(server_of(Gate(Catalogue([folder]), Executor())), question)


def test_a_damaged_listing_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    folder = write_output(tmp_path / "tools")
    catalogue = Catalogue([folder])
    (folder / "listing.jsonl").unlink()

    async def question(client: Client) -> None:
        with pytest.raises(MCPError, match="iac-gen build"):
            await client.list_tools()

    ask(server_of(Gate(catalogue, Executor())), question)


def test_calls_run_beside_each_other(catalogue: Catalogue) -> None:
    import threading

    both = threading.Barrier(2, timeout=20)

    def runner(argv: Any, stdin: bytes, timeout: float) -> Completed:
        both.wait()
        mark = json.loads(stdin)["mark"]
        return Completed(f'<iac:{mark}>{{"ok": true, "value": true}}</iac:{mark}>'.encode(), b"", 0)

    async def question(client: Client) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(client.call_tool, "app_running", {"app": "Diary"})

    ask(server_of(Gate(catalogue, Executor(runner))), question)
