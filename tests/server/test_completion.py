"""Completion through a client: apps, tools and what a recipe's argument is usually given."""

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from real_clients import ERAS, ask, ask_tools, backing_of, build_sdk_server

from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.serve.methods import MAX_COMPLETIONS
from iac_runtime.serve.stdio import server_identity

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
