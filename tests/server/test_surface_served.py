"""The surface of search through a real client: find, then call through the right door."""

import json
import plistlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from real_clients import ERAS, ask, ask_tools, backing_of, build_sdk_server, facts_of
from sdk_sessions import OPTIONS
from test_elicitation import Person

from iac_base.errors import NextCall, SetupError
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.policy.prompts import ONCE
from iac_runtime.search.page import count_tokens
from iac_runtime.serve.call import CallMethod
from iac_runtime.serve.http_sdk import build_server
from iac_runtime.serve.listing import Choice, Listings
from iac_runtime.serve.methods import build_methods
from iac_runtime.serve.stdio import DECLARED, server_identity
from iac_runtime.tools.app_names import is_name_of, localised_names
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import META_TOOLS, OWN_TOOLS, STARTERS
from iac_runtime.tools.shape import RESULT_LIMIT, listing_entry

SURFACE = {*META_TOOLS, "list_apps", "read_more"}


async def found(client: Client, query: str, **more: Any) -> list[dict[str, Any]]:
    answer = await client.call_tool("find_tools", {"query": query, **more})
    assert not answer.is_error, answer.content
    rows: list[dict[str, Any]] = (answer.structured_content or {})["tools"]
    return rows


@pytest.mark.parametrize("era", ERAS)
def test_a_tool_is_found_and_called_as_the_answer_says(tools: Path, era: str) -> None:
    async def question(client: Client) -> None:
        assert {row.name for row in (await client.list_tools()).tools} == SURFACE
        for query, name, arguments in (
            ("unread mails", "mail_list_unread", {}),
            ("look for a note with some words", "notes_find_notes", {"text": "e"}),
        ):
            row = next(row for row in await found(client, query) if row["name"] == name)
            assert row["call_with"] == "read_tool"
            required = [one for one in row["arguments"].split(", ") if one[-1:] not in "?"]
            assert {*required} <= arguments.keys()
            done = await client.call_tool(
                row["call_with"], {"name": row["name"], "arguments": arguments}
            )
            assert not done.is_error, done.content
            assert (done.meta or {})["iac/from"]["bundle"].startswith("com.apple.")

    ask_tools(tools, question, era)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("door", "name", "arguments", "right"), [
    ("read_tool", "notes_make_note", {"name": "x"}, "write_tool"),
    ("read_tool", "notes_delete", {"target": "notes[0]"}, "dangerous_tool"),
    ("write_tool", "notes_delete", {"target": "notes[0]"}, "dangerous_tool"),
    ("read_tool", "notes_set", {"target": "notes[0]", "properties": {"name": "x"}}, "write_tool"),
])  # fmt: skip
def test_the_wrong_door_names_the_right_one(
    tools: Path, era: str, door: str, name: str, arguments: dict[str, Any], right: str
) -> None:
    async def question(client: Client) -> None:
        refused = await client.call_tool(door, {"name": name, "arguments": arguments})
        facts = facts_of(refused)
        assert refused.is_error
        assert refused.structured_content is None
        assert right in facts["suggestion"]
        wanted = {"name": name, "arguments": arguments}
        assert facts["next"] == {"tool": right, "arguments": wanted}

    ask_tools(tools, question, era)


PROGRAM = 'for note in notes.list("note"):\n    notes.delete(note["ref"])'


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "given", "right"), [
    ("undo_call", {"call": 1}, "dangerous_tool"), ("undo_call", {"last": 2}, "dangerous_tool"),
    ("run_plan", {"program": PROGRAM}, "dangerous_tool"),
    ("notes_make_note", {"name": "Milk", "raw": True, "confirm": False}, "write_tool"),
])  # fmt: skip
def test_the_next_call_is_the_one_that_came_by_another_door(
    tools: Path, name: str, given: dict[str, Any], right: str
) -> None:
    """What a call stands for (an undo, a plan, a recipe) is not what is to be called."""

    async def question(client: Client) -> None:
        for new in ("Milk", "Eggs"):
            made = {"name": "notes_make_note", "arguments": {"name": new}}
            assert not (await client.call_tool("write_tool", made)).is_error
        for door in ("read_tool", "write_tool")[: 2 if right == "dangerous_tool" else 1]:
            facts = facts_of(await client.call_tool(door, {"name": name, "arguments": given}))
            wanted = {"tool": right, "arguments": {"name": name, "arguments": given}}
            assert facts["next"] == wanted, facts

    backing = backing_of(tools)
    ask(
        build_sdk_server(backing, server_identity(), 54.0),
        question,
        elicitation_callback=Person("accept", ONCE),
    )
    backing.close()


def test_a_tool_that_is_not_listed_is_named_with_its_door(tools: Path) -> None:
    catalogue = Catalogue([tools])
    gate = build_gate(GateOptions([tools], simulate=""))
    as_call_tool = CallMethod(gate, lambda: catalogue).as_call_tool
    start, apps = NextCall("app_launch", {"app": "Notes"}), NextCall("list_apps")
    wanted = NextCall("write_tool", {"name": "app_launch", "arguments": {"app": "Notes"}})
    assert as_call_tool(start, "read_tool", "notes_list") == wanted
    assert as_call_tool(start, "notes_list", "notes_list") == start
    assert as_call_tool(apps, "read_tool", "notes_list") == apps


def test_the_next_call_of_several_is_all_of_them(tools: Path) -> None:
    async def question(client: Client) -> None:
        given = {"name": "notes_delete", "calls": [{"target": "notes[0]"}, {"target": "notes[1]"}]}
        facts = facts_of(await client.call_tool("write_tool", given))
        assert facts["next"] == {"tool": "dangerous_tool", "arguments": given}

    ask_tools(tools, question)


@pytest.mark.parametrize("era", ERAS)
def test_tools_of_scripts_and_interfaces_are_found_and_called_through_their_doors(
    tools: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a machine where nobody is at a screen.
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"):
        monkeypatch.delenv(name, raising=False)

    async def call(client: Client, query: str, name: str, **arguments: Any) -> tuple[Any, Any]:
        row = next(row for row in await found(client, query) if row["name"] == name)
        done = await client.call_tool(row["call_with"], {"name": name, "arguments": arguments})
        return row, done

    async def question(client: Client) -> None:
        row, done = await call(
            client, "why did it fail with -1728", "analyze_failure", number=-1728
        )
        assert row["level"] == "SAFE"
        assert (done.structured_content or {})["data"]["cause"] == "not_found"
        row, done = await call(
            client, "run this AppleScript", "execute_applescript", script='do shell script "id"'
        )
        assert (row["level"], row["call_with"]) == ("SAFE to DANGEROUS", "write_tool")
        assert done.is_error
        assert "dangerous_tool" in facts_of(done)["suggestion"]
        row, done = await call(
            client,
            "click the Close button in Preview",
            "perform_action",
            app="Preview",
            element="window[0]",
            action="press",
        )
        assert (row["level"], row["call_with"]) == ("MODIFY to DANGEROUS", "write_tool")
        assert facts_of(done)["type"] in ("UNAVAILABLE", "PERMISSION_DENIED")
        assert facts_of(done)["suggestion"]

    ask_tools(tools, question, era)


def test_a_search_in_an_app_without_tools_says_so_and_gives_what_works_with_any(
    tools: Path,
) -> None:
    async def question(client: Client) -> None:
        answer = await client.call_tool("find_tools", {"query": "click Close", "app": "Spotify"})
        content = answer.structured_content or {}
        # An element and a menu item may both be called that.
        assert {"click", "click_menu"} == {row["name"] for row in content["tools"][:2]}
        assert "There are no tools for" in content["note"]
        answer = await client.call_tool("find_tools", {"query": "xyzzy", "app": "Spotify"})
        assert (answer.structured_content or {})["tools"] == []

    ask_tools(tools, question)


def test_a_listing_loads_no_toolset(tools: Path) -> None:
    code = (
        "import sys; from pathlib import Path;"
        "from iac_runtime.serve.listing import Listings;"
        "from iac_runtime.serve.listing import Choice;"
        f"lines = Listings([Path({str(tools)!r})], Choice()); lines(); lines.prompt_lines();"
        "print([name for name in sys.modules if name.startswith(('iac_app', 'iac_acc', 'mcp'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("door", [None, "read_tool", "write_tool", "dangerous_tool"])
def test_an_unknown_name_gives_the_nearest(tools: Path, era: str, door: str | None) -> None:
    async def question(client: Client) -> None:
        if door is not None:
            # The tool that was called is there: it answers.
            failed = await client.call_tool(door, {"name": "notes_lst"})
            facts = facts_of(failed)
            assert (failed.is_error, facts["type"]) == (True, "UNKNOWN_TOOL")
            assert "Nearest: notes_list" in facts["suggestion"]
            return
        with pytest.raises(MCPError, match="Nearest: notes_list") as caught:
            await client.call_tool("notes_lst", {})
        assert caught.value.code == -32602

    ask_tools(tools, question, era)


def test_a_door_calls_no_door(tools: Path) -> None:
    async def question(client: Client) -> None:
        facts = facts_of(await client.call_tool("read_tool", {"name": "write_tool"}))
        assert "Call write_tool directly" in facts["suggestion"]

    ask_tools(tools, question)


@pytest.mark.parametrize("era", ERAS)
def test_every_tool_can_be_called_by_its_own_name_though_not_listed(tools: Path, era: str) -> None:
    async def question(client: Client) -> None:
        counted = await client.call_tool("notes_count", {"element": "note"})
        assert counted.structured_content is not None
        running = await client.call_tool("app_running", {"app": "Notes"})
        assert running.structured_content == {"result": True}

    ask_tools(tools, question, era)


def test_what_apps_can_you_control_is_answered(tools: Path) -> None:
    async def question(client: Client) -> None:
        listed = await client.call_tool("list_apps", {})
        apps = (listed.structured_content or {})["apps"]
        assert [row["name"] for row in apps] == ["Finder", "Mail", "Notes"]
        assert all(row["tools"]["SAFE"] for row in apps)
        assert await found(client, "what can you do on this Mac?")

    ask_tools(tools, question)


@pytest.mark.parametrize("era", ERAS)
def test_read_only_hides_the_doors_that_write(tools: Path, era: str) -> None:
    lines = Listings([tools], Choice(read_only=True))
    gate = build_gate(GateOptions([tools], "", read_only=True))

    async def question(client: Client) -> None:
        names = {row.name for row in (await client.list_tools()).tools}
        assert names == SURFACE - {"write_tool", "dangerous_tool"} | {*STARTERS}
        assert {row["level"] for row in await found(client, "notes", limit=20)} == {"SAFE"}
        for query in ("run this AppleScript", "click the OK button"):
            assert {row["level"] for row in await found(client, query)} == {"SAFE"}
        for name in ("write_tool", "dangerous_tool"):
            call = {"name": "notes_make_note", "arguments": {"name": "x"}}
            refused = await client.call_tool(name, call)
            assert "read-only" in facts_of(refused)["suggestion"]
        refused = await client.call_tool("read_tool", call)
        assert "read-only" in facts_of(refused)["suggestion"]

    ask(build_server(build_methods(gate, lines), lines, server_identity()), question, era)
    gate.close()


def test_a_pinned_app_is_listed_beside_search(tools: Path) -> None:
    async def question(client: Client) -> None:
        names = {row.name for row in (await client.list_tools()).tools}
        assert names >= SURFACE
        assert {name.split("_")[0] for name in names - SURFACE} == {"notes"}

    ask_tools(tools, question, pins=("notes",))


def test_the_default_surface_costs_the_same_for_any_number_of_tools(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    tools = {
        f"app{number}_get": {"module": f"app{number}", "function": "get"}
        | {"level": "SAFE", "ceiling": "SAFE"}
        for number in range(1200)
    }
    apps = {row["module"]: {"id": f"com.{row['module']}", "name": "A"} for row in tools.values()}
    catalogue = {"format": 1, "apps": apps, "tools": tools}
    (folder / "catalogue.json").write_text(json.dumps(catalogue))
    (folder / "listing.jsonl").write_text("{}\n")
    listed = [json.loads(line) for line in Listings([folder], Choice())()]
    assert {row["name"] for row in listed} == SURFACE
    # A client keeps titles and hints for itself and for the person.
    read = [{k: v for k, v in row.items() if k not in ("title", "annotations")} for row in listed]
    assert count_tokens(read) <= 720
    assert count_tokens(listed) + len(server_identity().instructions) // 4 <= 1150


def test_what_gives_large_results_says_how_large() -> None:
    for tool in (META_TOOLS["read_tool"], OWN_TOOLS["read_more"]):
        assert listing_entry(tool)["_meta"]["anthropic/maxResultSizeChars"] == RESULT_LIMIT
    assert all(listing_entry(tool)["_meta"]["anthropic/alwaysLoad"] for tool in META_TOOLS.values())


def test_the_session_declares_what_the_front_declares(tools: Path) -> None:
    backing = backing_of(tools)
    server = build_sdk_server(backing, server_identity(), 54.0)
    options = server.create_initialization_options(OPTIONS)
    declared = options.capabilities.model_dump(exclude_none=True, by_alias=True)
    # Extensions are of the newer era; the session leaves them out on the wire of the older.
    declared.pop("extensions", None)
    assert declared == DECLARED["legacy"]
    backing.close()


def test_a_damaged_app_of_a_catalogue_costs_that_app(
    tools: Path, caplog: pytest.LogCaptureFixture
) -> None:
    catalogue = json.loads((tools / "catalogue.json").read_bytes())
    catalogue["apps"]["notes"] = {"id": "com.apple.Notes"}
    (tools / "catalogue.json").write_text(json.dumps(catalogue))
    listed = b"".join(Listings([tools], Choice(("all",)))())
    assert b"mail_list" in listed
    assert b"notes_list" not in listed
    assert any("iac-gen build" in line for line in caplog.messages)
    (tools / "catalogue.json").write_text("{")
    with pytest.raises(SetupError, match="iac-gen build"):
        Listings([tools], Choice())()


def test_a_build_tells_clients_the_size_of_answers_and_what_to_search_for(tmp_path: Path) -> None:
    folder = tmp_path / "built"
    program = Path(sys.executable).with_name("iac-gen")
    command = (program, "build", "notes", "--bundled", "--output", folder)
    subprocess.run(command, check=True, capture_output=True)
    rows = {
        row["name"]: row.get("_meta", {})
        for row in map(json.loads, (folder / "listing.jsonl").read_text().splitlines())
    }
    for name in ("notes_list", "notes_get", "notes_read_note"):
        assert rows[name]["anthropic/maxResultSizeChars"] == RESULT_LIMIT
    assert rows["notes_set"] == {}
    assert rows["notes_make"]["anthropic/searchHint"].startswith("account, folder, note")


@pytest.mark.parametrize(
    ("said", "meant"), [("Chrome", "google_chrome"), ("google", "google_chrome"), ("Not", None)]
)
def test_an_app_is_found_by_a_part_of_its_name_that_is_its_own(
    said: str, meant: str | None
) -> None:
    catalogue = Catalogue([Path(__file__).parents[2] / "generated" / "iac_tools"])
    found = catalogue.meant_app(said)
    assert (found.key if found else None) == meant
    # Whose tools a rule is about is said by its whole name.
    assert catalogue.find_app(said) is None


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Apple Notes", "notes"), ("Notes.app", "notes"), ("the Notes app", "notes"),
        ("Notizen", "notes"), ("メモ", "notes"), ("COM.APPLE.NOTES", "notes"),
        ("iCal", "calendar"), ("Apple Kalender", "calendar"), ("iTunes", "music"),
        ("Erinnerungen", "reminders"), ("Chrome", "google_chrome"), ("Apple", None), ("app", None),
    ],
)  # fmt: skip
def test_an_app_is_found_by_the_names_that_people_use(said: str, meant: str | None) -> None:
    catalogue = Catalogue([Path(__file__).parents[2] / "generated" / "iac_tools"])
    found = catalogue.named_app(said)
    assert (found.key if found else None) == meant


def test_a_bundle_says_what_its_app_is_called(tmp_path: Path) -> None:
    resources = tmp_path / "Diary.app" / "Contents" / "Resources"
    (resources / "de.lproj").mkdir(parents=True)
    (resources / "ja.lproj").mkdir()
    loctable = {"fr": {"CFBundleName": "Journal"}, "LocProvenance": {"fr": 1}, "x": 3}
    (resources / "InfoPlist.loctable").write_bytes(plistlib.dumps(loctable))
    line = '/* name */\n"CFBundleDisplayName" = "Tagebuch";\n'
    (resources / "de.lproj" / "InfoPlist.strings").write_bytes(line.encode("utf-16"))
    (resources / "ja.lproj" / "InfoPlist.strings").write_bytes(b"\x00 damaged")
    names = tuple(localised_names(tmp_path / "Diary.app"))
    assert names == ("Journal", "Tagebuch")
    assert is_name_of("tagebuch", "com.example.Diary", lambda _id: names)
    assert not is_name_of("Tag", "com.example.Diary", lambda _id: names)
