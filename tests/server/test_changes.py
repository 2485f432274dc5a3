"""Tools that are built anew while a server runs: clients are told, and the new tools work."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.subscriptions import ToolsListChanged
from real_clients import ERAS, ask, backing_of, build_sdk_server, facts_of, program, write_tools

from iac_base.errors import SetupError
from iac_runtime.serve.listing import Choice, Listings
from iac_runtime.serve.rebuild import BuildWatch, Changes
from iac_runtime.serve.stdio import server_identity


class Heard:
    """The notifications that a client of the older era hears."""

    def __init__(self) -> None:
        self.methods: list[str] = []

    async def __call__(self, message: Any) -> None:
        method = getattr(message, "method", None)
        if method:
            self.methods.append(method)

    async def wait(self, method: str) -> None:
        while method not in self.methods:
            await anyio.sleep(0.02)


async def find(client: Client, query: str) -> list[str]:
    found = await client.call_tool("find_tools", {"query": query, "limit": 20})
    assert found.structured_content is not None
    return [row["name"] for row in found.structured_content["tools"]]


async def works(client: Client) -> None:
    """Say whether a tool of Mail, which was not there before, is found, listed and runs."""
    assert "mail_list_unread" in await find(client, "unread mails")
    page = await client.read_resource("iac://tools/mail_list_unread")
    assert page.contents
    listed = await client.call_tool("read_tool", {"name": "mail_count_unread"})
    assert not listed.is_error, listed.content
    apps = await client.call_tool("list_apps", {})
    assert [row["key"] for row in (apps.structured_content or {})["apps"]] == ["mail", "notes"]


@pytest.mark.process
def test_a_client_of_the_older_era_is_told_and_calls_the_new_tools(tmp_path: Path) -> None:
    folder = write_tools(tmp_path / "tools", ("notes",))
    heard = Heard()

    async def question(client: Client) -> None:
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed
        before = len((await client.list_prompts()).prompts)
        await client.call_tool("notes_count", {"element": "note"})
        write_tools(folder, ("notes", "mail"))
        for kind in ("tools", "prompts", "resources"):
            await heard.wait(f"notifications/{kind}/list_changed")
        assert len((await client.list_prompts()).prompts) == before + 1
        await works(client)

    server = program(folder, tmp_path / "data", "--simulate")
    ask(server, question, "legacy", message_handler=heard)


@pytest.mark.process
def test_a_listening_client_of_the_newer_era_is_told(tmp_path: Path) -> None:
    folder = write_tools(tmp_path / "tools", ("notes",))

    async def question(client: Client) -> None:
        async with client.listen(
            tools_list_changed=True, resource_subscriptions=["iac://apps"]
        ) as events:
            write_tools(folder, ("notes", "mail"))
            found = [await anext(events), await anext(events)]
            assert ToolsListChanged() in found
            assert "iac://apps" in [getattr(event, "uri", "") for event in found]
        await works(client)

    ask(program(folder, tmp_path / "data", "--simulate"), question)


@pytest.mark.process
def test_a_client_hears_of_it_before_the_first_call(tmp_path: Path) -> None:
    folder = write_tools(tmp_path / "tools", ("notes",))
    heard = Heard()

    async def question(client: Client) -> None:
        assert "notes_list" in {row.name for row in (await client.list_tools()).tools}
        write_tools(folder, ("notes",), notes_list="Otherwise.")
        await heard.wait("notifications/tools/list_changed")
        found = {row.name: row.description for row in (await client.list_tools()).tools}
        assert found["notes_list"] == "Otherwise."

    server = program(folder, tmp_path / "data", "--expose", "all", "--simulate")
    ask(server, question, "legacy", message_handler=heard)


@pytest.mark.parametrize("era", ERAS)
def test_a_module_that_changed_is_read_again(tmp_path: Path, era: str) -> None:
    folder = write_tools(tmp_path / "tools", ("notes",))
    backing = backing_of(folder)

    async def question(client: Client) -> None:
        first = await client.call_tool("notes_delete", {"target": "notes[0]"})
        assert facts_of(first)["level"] == "DANGEROUS"
        wrong = await client.call_tool("notes_get", {"target": "notes[0].nickname"})
        assert facts_of(wrong)["type"] == "INVALID_PARAMETER"
        module = folder / "notes.py"
        source = module.read_text(encoding="utf-8")
        row = 'Property("name", "pnam", "name", "text", "rw", "MODIFY")'
        assert row in source
        renamed = row.replace('"name", "pnam", "name"', '"nickname", "pnam", "nickname"')
        module.write_text(source.replace(row, renamed), encoding="utf-8")
        write_lock(folder)
        assert not backing.reload_tools()
        assert backing.reload_tools()
        assert not backing.reload_tools()
        model = await client.read_resource("iac://apps/notes/model")
        assert "nickname*: text" in model.contents[0].text  # type: ignore[union-attr]

    ask(build_sdk_server(backing, server_identity(), 54.0), question, era)
    backing.close()


def write_lock(folder: Path) -> None:
    """Write the lock anew, as the build that wrote a module does at its end."""
    lock = folder / "tools.lock"
    text = lock.read_text(encoding="utf-8")
    lock.unlink()
    lock.write_text(f"{text}\n", encoding="utf-8")


def test_a_half_written_folder_is_waited_for_and_a_damaged_one_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_tools(tmp_path / "tools", ("notes",))
    backing = backing_of(folder)
    assert not backing.reload_tools(), "nothing is opened yet"
    build_sdk_server(backing, server_identity(), 54.0)
    (folder / "catalogue.json").write_text("{", encoding="utf-8")
    assert not backing.reload_tools()
    (folder / "catalogue.json").write_text("{ ", encoding="utf-8")
    assert not backing.reload_tools(), "it has not rested yet"
    with pytest.raises(SetupError, match="iac-gen build"):
        backing.reload_tools()
    assert not backing.reload_tools(), "said once"
    write_tools(folder, ("notes", "mail"))
    assert not backing.reload_tools()
    assert backing.reload_tools()
    backing.close()


def test_an_app_that_is_built_for_the_first_time_is_seen(
    tmp_path: Path, own_data_folder: Path
) -> None:
    from iac_runtime.tools.catalogue import tool_folders

    shipped = write_tools(tmp_path / "shipped", ("notes",))
    lines = Listings(tool_folders([shipped]), Choice(("all",)), lambda: tool_folders([shipped]))
    before = len(lines())
    own_data_folder.mkdir(mode=0o700)
    (own_data_folder / "tools").mkdir(mode=0o700)
    write_tools(own_data_folder / "tools", ("mail",))
    assert not lines.reload_if_changed()
    assert lines.reload_if_changed()
    assert len(lines()) > before
    assert lines.folders == [shipped, own_data_folder / "tools"]


def test_a_choice_that_fits_no_more_keeps_what_was_listed(tmp_path: Path) -> None:
    folder = write_tools(tmp_path / "tools", ("notes", "mail"))
    lines = Listings([folder], Choice(("mail",)))
    before = lines()
    write_tools(folder, ("notes",))
    assert not lines.reload_if_changed()
    with pytest.raises(SetupError, match="mail"):
        lines.reload_if_changed()
    assert lines() == before


def test_the_watch_tells_its_listeners_and_outlives_a_damaged_folder(
    capfd: pytest.CaptureFixture[str],
) -> None:
    import threading

    changes, told = Changes(), threading.Event()
    looks = iter([False, SetupError("it is damaged"), OSError("it is gone"), True])
    stop = changes.subscribe(lambda: pytest.fail("it left"))
    stop()
    stop()
    changes.subscribe(told.set)

    def look() -> bool:
        found = next(looks, False)
        if isinstance(found, Exception):
            raise found
        return found

    watch = BuildWatch(look, changes, pause=0.001)
    watch.start()
    assert told.wait(20)
    watch.close()
    said = capfd.readouterr().err
    assert "iac-mcp: the tools were built again, but: it is damaged" in said
    assert "it is gone" in said


def test_a_state_folder_that_is_not_safe_stops_the_status_and_not_the_server(
    tmp_path: Path, own_data_folder: Path
) -> None:
    folder = write_tools(tmp_path / "tools", ("notes",))
    backing = backing_of(folder)
    (own_data_folder / "state").mkdir(parents=True, mode=0o700)
    (own_data_folder / "state" / "servers").write_text("a file", encoding="utf-8")

    async def question(client: Client) -> None:
        counted = await client.call_tool("notes_count", {"element": "note"})
        assert not counted.is_error

    ask(build_sdk_server(backing, server_identity(), 54.0), question)
    backing.close()
