"""Recipes through a client: only those whose apps are there, filled in, and nothing smuggled in."""

import re
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError
from real_clients import ERAS, TOOLS, ask, ask_tools, write_tools

from iac_base.errors import InvalidParameterError
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.serve.http_sdk import build_server
from iac_runtime.serve.listing import Choice, Listings
from iac_runtime.serve.methods import build_methods
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
