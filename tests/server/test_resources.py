"""Resources through a client of either era: what can be read, and what a wrong address is told."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError
from real_clients import ERAS, ask, ask_tools, backing_of, build_sdk_server

from iac_base.errors import InvalidParameterError
from iac_base.files import open_state
from iac_runtime.audit.reading import AuditQuery, find_calls
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.gate.stored import truncate
from iac_runtime.serve.resources import parse_address
from iac_runtime.serve.stdio import server_identity
from iac_runtime.serve.tool_pages import model_text
from iac_runtime.tool import App, Class, Property
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import Tables


async def text_at(client: Client, uri: str) -> str:
    (found,) = (await client.read_resource(uri)).contents
    return str(found.text)  # type: ignore[union-attr]


async def calls_told(client: Client) -> list[dict[str, Any]]:
    """Return the calls of the audit tail."""
    return [json.loads(row) for row in (await text_at(client, "iac://audit/tail")).splitlines()]


async def told(client: Client, uri: str) -> tuple[int, str]:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)
    return caught.value.code, str(caught.value)


@pytest.mark.parametrize("era", ERAS)
def test_every_listed_resource_can_be_read(tools: Path, era: str) -> None:
    async def question(client: Client) -> None:
        uris = [row.uri for row in (await client.list_resources()).resources]
        assert {"iac://apps", "iac://status", "iac://apps/notes/model"} <= set(uris)
        for uri in uris:
            (found,) = (await client.read_resource(uri)).contents
            assert found.uri == uri
            if found.mime_type == "application/json":
                json.loads(found.text)  # type: ignore[union-attr]

    ask_tools(tools, question, era)


def test_an_object_model_says_what_can_be_named_and_set(tools: Path) -> None:
    async def question(client: Client) -> None:
        model = await text_at(client, "iac://apps/Notes/model")
        assert "note (plural notes)\n  properties: name*: text, id: text," in model
        assert "  elements: folder, note\n" in model
        assert "saveable file format: native format" in model
        assert "not instructions" in model

    ask_tools(tools, question)


def test_a_tools_page_says_where_it_comes_from(tools: Path) -> None:
    async def question(client: Client) -> None:
        page = json.loads(await text_at(client, "iac://tools/notes_set"))
        assert page["schema"]["required"]
        assert (page["level"], page["ceiling"]) == ("SAFE", "DANGEROUS")
        assert page["call_with"] == "write_tool"
        listed = json.loads(await text_at(client, "iac://tools/notes_list"))
        assert listed["call_with"] == "read_tool"
        assert page["from"]["bundle"] == "com.apple.Notes"
        assert len(page["from"]["dictionary"]) == len("sha256 ") + 12
        own = json.loads(await text_at(client, "iac://tools/app_quit"))
        assert own["level"] == "DANGEROUS"
        assert "from" not in own

    ask_tools(tools, question)


@pytest.mark.parametrize("era", ERAS)
def test_the_pages_of_other_tools_say_how_they_are_called(tools: Path, era: str) -> None:
    async def question(client: Client) -> None:
        press = json.loads(await text_at(client, "iac://tools/perform_action"))
        assert (press["level"], press["ceiling"]) == ("MODIFY", "DANGEROUS")
        assert press["call_with"] == "write_tool"
        assert press["example"]["action"] == "press"
        script = json.loads(await text_at(client, "iac://tools/execute_applescript"))
        assert (script["level"], script["ceiling"]) == ("SAFE", "DANGEROUS")
        for door in ("find_tools", "read_tool", "write_tool", "dangerous_tool"):
            page = json.loads(await text_at(client, f"iac://tools/{door}"))
            assert page["purpose"]
            assert "call_with" not in page
        more = json.loads(await text_at(client, "iac://tools/read_more"))
        assert more["schema"]["required"] == ["result", "offset"]

    ask_tools(tools, question, era)


@pytest.mark.parametrize("era", ERAS)
def test_a_guide_is_listed_and_read(tools: Path, era: str) -> None:
    async def question(client: Client) -> None:
        rows = {row.uri: row for row in (await client.list_resources()).resources}
        assert (
            rows["iac://skills/mail"].title
            == "Guide for scripts: Mail: messages, mailboxes, drafts"
        )
        (found,) = (await client.read_resource("iac://skills/mail")).contents
        assert found.mime_type == "text/markdown"
        assert found.text.startswith("# Mail: ")  # type: ignore[union-attr]
        assert await text_at(client, "iac://skills/com.apple.mail") == found.text  # type: ignore[union-attr]

    ask_tools(tools, question, era)


def test_the_users_own_guides_are_listed_and_take_the_place_of_ours(
    tools: Path, own_data_folder: Path
) -> None:
    folder = own_data_folder / "skills"
    folder.mkdir(parents=True, mode=0o700)
    for name, app in (("mail", "com.apple.mail"), ("acme", "com.acme.app")):
        front = f"---\nname: {name}\napp: {app}\ntitle: {name}: mine\n---\n"
        (folder / f"{name}.md").write_text(f"{front}Do it my way.\n")
    (folder / "bad.md").write_text("no front matter")

    async def question(client: Client) -> None:
        uris = {row.uri for row in (await client.list_resources()).resources}
        assert {"iac://skills/acme", "iac://skills/notes"} <= uris
        assert "iac://skills/bad" not in uris
        assert await text_at(client, "iac://skills/mail") == "# mail: mine\n\nDo it my way.\n"

    ask_tools(tools, question)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("uri", "words"), [
    ("iac://apps/notez/model", "Nearest: notes."), ("iac://tools/notes_lst", "Nearest: notes_list"),
    ("iac://tools/click_men", "Nearest: click_menu"), ("iac://skills/mial", "Nearest: mail"),
    ("iac://skills/mail?offset=1", "There is no resource"),
    ("iac://statu", "Nearest: iac://status"), ("iac://apps/notes", "There is no resource"),
    ("iac://apps/notes/model?offset=3", "There is no resource"),
    ("iac://results/AAAAAAAAAAAAAAAAAAAAAA", "Call the original tool again"),
    ("iac://results/x?offset=-1", "not a number of 0 or more"),
    ("iac://results/../../etc/passwd", "There is no resource"),
    ("file:///etc/passwd", "There is no resource"),
])  # fmt: skip
def test_a_wrong_address_is_the_callers_mistake_and_has_a_way_out(
    tools: Path, era: str, uri: str, words: str
) -> None:
    async def question(client: Client) -> None:
        code, line = await told(client, uri)
        assert code == -32602
        assert words in line

    ask_tools(tools, question, era)


def test_a_large_result_is_read_on_in_slices(tools: Path) -> None:
    async def question(client: Client) -> None:
        whole = "".join(f"{number} " for number in range(60_000))
        shown, note = truncate(whole, 100_000)
        ident = note.split('"')[1]
        parts, offset = [shown], len(shown)
        while offset is not None:
            found = json.loads(await text_at(client, f"iac://results/{ident}?offset={offset}"))
            parts.append(found["result"])
            offset = found.get("next")
        assert "".join(parts) == whole
        (contents,) = (await client.read_resource(f"iac://results/{ident}")).contents
        assert "do not follow" in (contents.meta or {})["iac/note"]
        code, line = await told(client, f"iac://results/{ident}?offset={len(whole)}")
        assert (code, "is outside" in line) == (-32602, True)

    ask_tools(tools, question)


def test_the_audit_tail_ends_with_the_last_call(tools: Path) -> None:
    async def question(client: Client) -> None:
        assert await text_at(client, "iac://audit/tail") == ""
        for element in ("note", "folder"):
            await client.call_tool("notes_count", {"element": element})
        rows = await calls_told(client)
        assert [row["arguments"] for row in rows] == [{"element": "note"}, {"element": "folder"}]
        assert {row["result"] for row in rows} == {"done"}

    ask_tools(tools, question)


def test_an_audit_of_long_rows_fits_into_an_answer(tools: Path) -> None:
    gate = build_gate(GateOptions([tools], ""))
    gate.context.limit = 700
    backing = backing_of(tools, gate=gate)

    async def question(client: Client) -> None:
        for _ in range(4):
            await client.call_tool("notes_count", {"element": "note"})
        rows = await calls_told(client)
        assert 1 <= len(rows) < 4

    ask(build_sdk_server(backing, server_identity(), 54.0), question)
    backing.close()


RESULT = "A" * 22
READS = [
    ("iac://audit/tail", "audit_tail", {}),
    (f"iac://results/{RESULT}?offset=5", "read_more", {"result": RESULT, "offset": 5}),
    ("iac://apps", "list_apps", {}),
]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("uri", "tool", "given"), READS)
def test_what_is_denied_to_a_tool_is_denied_to_its_resource(
    tools: Path, own_data_folder: Path, era: str, uri: str, tool: str, given: dict[str, Any]
) -> None:
    own_data_folder.mkdir(mode=0o700)
    (own_data_folder / "policy.toml").write_text(f"[[deny]]\ntool = '{tool}'\nwhy = 'Mine.'")
    _, note = truncate("x" * 500, 100)
    kept = note.split('"')[1]
    given = {key: kept if value == RESULT else value for key, value in given.items()}

    async def question(client: Client) -> None:
        _, line = await told(client, uri.replace(RESULT, kept))
        assert "denies this call: Mine." in line
        refused = await client.call_tool(tool, given)
        assert refused.is_error

    ask_tools(tools, question, era)


def test_a_resource_is_recorded_as_its_tool_is(tools: Path) -> None:
    async def question(client: Client) -> None:
        whole = "x" * 200_000
        ident = truncate(whole, 1000)[1].split('"')[1]
        await text_at(client, f"iac://results/{ident}")
        await text_at(client, "iac://apps")
        rows = await calls_told(client)
        assert [(row["tool"], row["client"]) for row in rows] == [
            ("read_more", "mcp"),
            ("list_apps", "mcp"),
        ]
        assert rows[0]["arguments"] == {"result": ident, "offset": 0}

    ask_tools(tools, question)
    recorded = find_calls(open_state(), AuditQuery(tool="audit_tail"), 100)
    assert recorded
    assert {row.result for row in recorded} == {"done"}


@pytest.mark.parametrize("era", ERAS)
def test_what_would_be_asked_about_names_the_tool_to_call(
    tools: Path, own_data_folder: Path, era: str
) -> None:
    own_data_folder.mkdir(mode=0o700)
    (own_data_folder / "policy.toml").write_text("preset = 'private'")
    asked: list[str] = []

    async def yes(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": "Allow once"})

    async def question(client: Client) -> None:
        _, line = await told(client, "iac://audit/tail")
        assert "Call the tool audit_tail with {} instead." in line
        assert asked == []
        answer = await client.call_tool("audit_tail", {})
        assert answer.structured_content == {"calls": []}
        assert len(asked) == 1
        assert await text_at(client, "iac://apps/notes/model")

    backing = backing_of(tools)
    ask(build_sdk_server(backing, server_identity(), 54.0), question, era, elicitation_callback=yes)
    backing.close()


def test_reading_the_audit_counts_for_the_limits(tools: Path, own_data_folder: Path) -> None:
    own_data_folder.mkdir(mode=0o700)
    (own_data_folder / "policy.toml").write_text("[limits]\nreads_per_second = 0.01")

    async def question(client: Client) -> None:
        assert await text_at(client, "iac://audit/tail") == ""
        _, line = await told(client, "iac://audit/tail")
        assert "Too many calls" in line
        assert await text_at(client, "iac://status")

    ask_tools(tools, question)


@pytest.mark.parametrize("era", ERAS)
def test_the_status_counts_calls_and_errors_and_names_the_client(tools: Path, era: str) -> None:
    async def question(client: Client) -> None:
        await client.call_tool("notes_count", {"element": "note"})
        await client.call_tool("notes_count", {"element": "nothing"})
        (mine,) = json.loads(await text_at(client, "iac://status"))["servers"]
        assert (mine["calls"], mine["errors"]) == (2, 1)
        assert mine["client"] == "mcp"
        assert (mine["apps"], mine["surface"]) == (3, "search")
        assert sum(mine["tools"].values()) == len(Catalogue([tools]).tools)

    ask_tools(tools, question, era)


def test_a_read_only_server_shows_no_tool_that_needs_more(tools: Path) -> None:
    backing = backing_of(tools, gate=build_gate(GateOptions([tools], "", read_only=True)))

    async def question(client: Client) -> None:
        apps = json.loads(await text_at(client, "iac://apps"))["apps"]
        assert {level for app in apps for level in app["tools"]} == {"SAFE"}
        catalogue = Catalogue([tools])
        reads = Counter(row.module for row in catalogue.tools.values() if row.ceiling == "SAFE")
        assert {app["key"]: app["tools"]["SAFE"] for app in apps} == reads
        assert json.loads(await text_at(client, "iac://tools/find_tools"))

    ask(build_sdk_server(backing, server_identity(), 54.0), question)
    backing.close()


def test_a_damaged_folder_is_said_and_the_server_lives_on(tools: Path) -> None:
    async def question(client: Client) -> None:
        (tools / "listing.jsonl").unlink()
        code, line = await told(client, "iac://tools/notes_list")
        assert code == -32603
        assert "iac-gen build" in line
        assert await text_at(client, "iac://apps")

    ask_tools(tools, question)


def test_nothing_hidden_reaches_a_client_in_an_object_model() -> None:
    rows = (Property("na\u202eme", "pnam", "name", "text", "rw", "MODIFY"),)
    classes = {"thing\u200b": Class("thng", "thing", "things", None, "SAFE", "SAFE", rows)}
    text = model_text(Tables("x", App("com.x", "X\u2066"), classes, {}, {}, {}))
    assert "name*: text" in text
    assert not {"\u202e", "\u200b", "\u2066"} & set(text)
    assert "commands" in model_text(Tables("x", App("com.x", "X"), {}, {}, {}, {}))


@given(
    st.text(max_size=40)
    | st.builds("iac://{}/{}".format, st.sampled_from(["apps", "tools", "results"]), st.text())
    | st.builds("iac://results/x?{}".format, st.text())
)
def test_any_address_is_read_or_refused_with_a_line(uri: str) -> None:
    try:
        address = parse_address(uri)
    except InvalidParameterError as error:
        assert "\n" not in str(error)
    else:
        assert address.offset >= 0


def test_templates_are_listed(tools: Path) -> None:
    async def question(client: Client) -> None:
        rows: list[Any] = (await client.list_resource_templates()).resource_templates
        assert [row.uri_template for row in rows] == [
            "iac://apps/{key}/model", "iac://tools/{name}", "iac://skills/{name}",
            "iac://results/{id}{?offset}",
        ]  # fmt: skip

    ask_tools(tools, question)
