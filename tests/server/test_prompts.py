"""Recipes, completion and skills through a client: only those whose apps are there."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError
from real_clients import ERAS, TOOLS, ask, ask_tools, backing_of, build_sdk_server, write_tools

from iac_base.errors import InvalidParameterError
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.serve.http_sdk import build_server
from iac_runtime.serve.listing import Choice, Listings
from iac_runtime.serve.methods import MAX_COMPLETIONS, build_methods
from iac_runtime.serve.resources import PROMPTS, prompt_text
from iac_runtime.serve.stdio import server_identity
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import META_TOOLS, added_tools


async def text_of(client: Client, name: str, **given: str) -> str:
    (message,) = (await client.get_prompt(name, given)).messages
    assert message.role == "user"
    return str(message.content.text)  # type: ignore[union-attr]


@pytest.mark.parametrize("era", ERAS)
def test_only_recipes_whose_apps_have_tools_are_offered(tools: Path, era: str) -> None:
    async def question(client: Client) -> None:
        rows = (await client.list_prompts()).prompts
        names = {row.name for row in rows}
        assert names == {"triage_inbox", "summarise_note", "tidy_folder", "script_app"}
        with pytest.raises(MCPError) as caught:
            await text_of(client, "day_ahead")
        assert caught.value.code == -32602

    ask_tools(tools, question, era)


@pytest.mark.parametrize("era", ERAS)
def test_a_recipe_is_filled_in(tools: Path, era: str) -> None:
    async def question(client: Client) -> None:
        assert "~/Desktop" in await text_of(client, "tidy_folder")
        assert "~/Downloads" in await text_of(client, "tidy_folder", folder="~/Downloads")
        assert "about milk {limit}" in await text_of(
            client, "summarise_note", about="milk {limit}\n", length=" "
        )

    ask_tools(tools, question, era)


@pytest.mark.parametrize(("name", "given", "words"), [
    ("summarise_note", {}, "needs about"), ("summarise_note", {"about": " \n "}, "needs about"),
    ("summarise_note", {"abut": "x"}, "Nearest: about"),
    ("summarize_note", {"about": "x"}, "Nearest: summarise_note"),
    ("script_app", {"task": "count drafts"}, "needs app"),
    ("script_app", {"app": "Mail"}, "needs task"),
    ("script_app", {"app": "Mial", "task": "x"}, "no guide for .Mial.*Nearest: mail"),
])  # fmt: skip
def test_a_wrong_wish_is_one_line_with_the_nearest(
    tools: Path, name: str, given: dict[str, str], words: str
) -> None:
    async def question(client: Client) -> None:
        with pytest.raises(MCPError, match=words) as caught:
            await text_of(client, name, **given)
        assert caught.value.code == -32602

    ask_tools(tools, question)


def test_a_folder_without_their_apps_offers_what_needs_none(tmp_path: Path) -> None:
    folder = write_tools(tmp_path / "terminal", ("terminal",))

    async def question(client: Client) -> None:
        (row,) = (await client.list_prompts()).prompts
        assert row.name == "script_app"
        assert [argument.required for argument in row.arguments or ()] == [True, True]

    ask_tools(folder, question)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("app", ["mail", "Mail", "com.apple.mail"])
def test_a_script_is_written_after_the_guide_of_its_app(tools: Path, era: str, app: str) -> None:
    async def question(client: Client) -> None:
        text = await text_of(client, "script_app", app=app, task="count drafts {x}")
        first, guide = text.split("\n\n", 1)
        assert f"In {app}: count drafts {{x}}\n" in first
        assert "find_tools" in first
        assert guide.startswith("# Mail: ")
        assert 'tell application "Mail"' in guide

    ask_tools(tools, question, era)


def test_the_recipe_for_scripts_names_tools_that_are_there() -> None:
    (prompt,) = (row for row in PROMPTS if not row.apps)
    known = {*added_tools(), *META_TOOLS}
    assert (
        {"find_tools", "execute_applescript"} <= set(re.findall(r"\w+_\w+", prompt.text)) <= known
    )


APP_PROMPTS = [prompt for prompt in PROMPTS if prompt.apps]


@pytest.mark.parametrize("prompt", APP_PROMPTS, ids=lambda prompt: prompt.name)
def test_every_tool_that_a_recipe_names_is_there(prompt: object) -> None:
    catalogue = Catalogue([TOOLS])
    keys = "|".join(catalogue.apps)
    found = re.findall(rf"\b(?:{keys})_\w+", prompt.text)  # type: ignore[attr-defined]
    assert found
    assert set(found) <= catalogue.tools.keys()
    assert {catalogue.tools[name].app.id for name in found} == set(prompt.apps)  # type: ignore[attr-defined]


@given(st.sampled_from(PROMPTS), st.text())
def test_whatever_is_filled_in_stays_on_its_line(prompt: object, value: str) -> None:
    row = prompt.arguments[0]  # type: ignore[attr-defined]
    usual = prompt_text(prompt, {a.name: "x" for a in prompt.arguments})  # type: ignore[arg-type, attr-defined]
    try:
        text = prompt_text(prompt, {**{a.name: "x" for a in prompt.arguments}, row.name: value})  # type: ignore[arg-type, attr-defined]
    except InvalidParameterError:
        assert not value.split()
    else:
        assert len(text.splitlines()) == len(usual.splitlines())


@pytest.mark.parametrize("era", ERAS)
def test_a_damaged_catalogue_is_said_where_recipes_are_asked_for(tools: Path, era: str) -> None:
    lines = Listings([tools], Choice())
    gate = build_gate(GateOptions([tools], ""))
    server = build_server(build_methods(gate, lines), lines, server_identity())
    (tools / "catalogue.json").write_text("{", encoding="utf-8")

    async def question(client: Client) -> None:
        for asked in (
            client.list_prompts,
            client.list_resources,
            partial(client.get_prompt, "tidy_folder"),
        ):
            with pytest.raises(MCPError, match="iac-gen build") as caught:
                await asked()
            assert caught.value.code == -32603

    ask(server, question, era)


MODEL = types.ResourceTemplateReference(uri="iac://apps/{key}/model")
GUIDE = types.ResourceTemplateReference(uri="iac://skills/{name}")
TOOL = types.ResourceTemplateReference(uri="iac://tools/{name}")


async def values(client: Client, ref: Any, name: str, value: str) -> list[str]:
    return (await client.complete(ref, {"name": name, "value": value})).completion.values


@pytest.mark.parametrize("era", ERAS)
def test_keys_of_apps_and_names_of_tools_are_completed(tools: Path, era: str) -> None:
    async def question(client: Client) -> None:
        assert await values(client, MODEL, "key", "") == ["finder", "mail", "notes"]
        assert await values(client, MODEL, "key", "No") == ["notes"]
        assert await values(client, MODEL, "key", "nites") == ["notes"]
        found = await values(client, TOOL, "name", "notes_li")
        assert found[:3] == ["notes_list", "notes_list_folders", "notes_list_notes"]
        assert "mail_list_unread" in await values(client, TOOL, "name", "unread")
        assert await values(client, TOOL, "name", "click_m") == ["click_menu"]
        assert await values(client, TOOL, "name", "find_to") == ["find_tools"]

    ask_tools(tools, question, era)


def test_an_argument_of_a_recipe_is_completed(tools: Path) -> None:
    async def question(client: Client) -> None:
        folder = types.PromptReference(name="tidy_folder")
        assert await values(client, folder, "folder", "~/Do") == ["~/Documents", "~/Downloads"]
        assert await values(client, folder, "nothing", "") == []
        assert await values(client, types.PromptReference(name="nothing"), "folder", "") == []

    ask_tools(tools, question)


def test_guides_are_completed_for_a_page_and_for_a_recipe(tools: Path) -> None:
    async def question(client: Client) -> None:
        assert await values(client, GUIDE, "name", "no") == ["notes", "keynote"]
        assert "mail" in await values(client, GUIDE, "name", "")
        assert await values(client, GUIDE, "nothing", "") == []
        recipe = types.PromptReference(name="script_app")
        assert await values(client, recipe, "app", "safri") == ["safari"]
        assert await values(client, recipe, "task", "") == []

    ask_tools(tools, question)


def test_what_is_not_known_has_no_values_and_many_are_cut(tools: Path) -> None:
    async def question(client: Client) -> None:
        other = types.ResourceTemplateReference(uri="iac://nothing/{x}")
        assert await values(client, other, "x", "") == []
        assert await values(client, TOOL, "nothing", "") == []
        result = types.ResourceTemplateReference(uri="iac://results/{id}{?offset}")
        assert await values(client, result, "id", "a") == []
        found = (await client.complete(TOOL, {"name": "name", "value": ""})).completion
        assert (len(found.values), found.has_more) == (MAX_COMPLETIONS, True)
        assert (found.total or 0) > MAX_COMPLETIONS

    ask_tools(tools, question)


def test_read_only_completes_no_tool_that_can_write(tools: Path) -> None:
    backing = backing_of(tools, gate=build_gate(GateOptions([tools], "", read_only=True)))

    async def question(client: Client) -> None:
        found = await values(client, TOOL, "name", "notes_")
        assert "notes_list" in found
        assert not {"notes_set", "notes_make", "notes_delete"} & set(found)
        assert "list_windows" in await values(client, TOOL, "name", "list_w")
        for hidden in ("perform_action", "execute_applescript", "app_quit", "write_tool"):
            assert hidden not in await values(client, TOOL, "name", hidden)

    ask(build_sdk_server(backing, server_identity(), 54.0), question)
    backing.close()


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def ask_newer(*requests: tuple[str, Mapping[str, Any]]) -> list[Any]:
    """Return what the server answers to requests of the newer era, in their order."""
    lines = [
        {"jsonrpc": "2.0", "id": at, "method": method, "params": {**params, "_meta": MODERN}}
        for at, (method, params) in enumerate(requests)
    ]
    done = subprocess.run(
        [sys.executable, "-m", "iac_mcp", "serve", "--simulate"],
        input="".join(f"{json.dumps(line)}\n" for line in lines),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    answers = {row["id"]: row for row in map(json.loads, done.stdout.splitlines())}
    return [answers[at] for at in range(len(lines))]


@pytest.mark.process
def test_each_file_of_a_skill_is_what_the_list_says() -> None:
    said, listed = ask_newer(("server/discover", {}), ("skills/list", {}))
    assert "io.modelcontextprotocol/skills" in said["result"]["capabilities"]["extensions"]
    result = listed["result"]
    assert result["resultType"] == "complete"
    assert {"ttlMs", "cacheScope"} <= result.keys()
    skills = {row["frontmatter"]["name"]: row for row in result["skills"]}
    chosen = skills["google-chrome"]
    assert chosen["uri"] == "skill://google-chrome/SKILL.md"
    files = chosen["resources"]
    assert any("/scripts/" in row["uri"] for row in files)
    (got, *reads) = ask_newer(
        ("skills/get", {"uri": chosen["uri"]}),
        *(("resources/read", {"uri": row["uri"]}) for row in files),
    )
    assert got["result"]["skill"] == chosen
    for row, read in zip(files, reads, strict=True):
        content = read["result"]["contents"][0]["text"].encode()
        assert (len(content), f"sha256:{sha256(content).hexdigest()}") == (
            row["size"],
            row["digest"],
        )
    head = reads[0]["result"]["contents"][0]["text"].split("---\n")[1]
    assert json.dumps(chosen["frontmatter"]["description"]) in head


@pytest.mark.process
def test_a_skill_that_is_not_there_is_the_callers_mistake() -> None:
    answers = ask_newer(
        ("skills/get", {"uri": "skill://mial/SKILL.md"}),
        ("resources/read", {"uri": "skill://mail/scripts/nothing.js"}),
    )
    assert [answer["error"]["code"] for answer in answers] == [-32602, -32602]
    assert "skill://mail/SKILL.md" in answers[0]["error"]["message"]
