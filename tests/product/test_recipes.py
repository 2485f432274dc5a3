"""Recipes: every one is a call that its app takes, and what it binds is what is sent."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from samples import arguments
from unguarded import unguarded

from iac_base.errors import ToolError
from iac_runtime.gate.planning import expand_recipe
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.search.page import count_tokens
from iac_runtime.serve.listing import Choice, own_tools
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.shape import listing_entry
from iac_simulator import Simulator

# Hundreds of calls over the same lines, which other tests count.
pytestmark = pytest.mark.uncounted

ROOT = Path(__file__).parent.parent.parent
QUIRKS = ROOT / "generator" / "iac_gen" / "quirks"
CATALOGUE = Catalogue([ROOT / "generated" / "iac_tools"])
BOUND = {
    name: tool
    for name, row in CATALOGUE.tools.items()
    if (tool := CATALOGUE.load_operation(name)).spec.bind
}
# What an app whose objects were made from its tables alone does not have, by the error it gives:
# a message that is being written, a second desktop, a login item whose path may be set.
ABSENT = {
    "mail_add_recipient": -1719, "mail_send_message": -1719, "system_events_add_login_item": -10003,
    "system_events_get_wallpaper": -1719, "system_events_set_wallpaper": -1719,
}  # fmt: skip


def rows() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for file in sorted(QUIRKS.glob("*.toml")):
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        found += [(file.stem, row) for row in data.get("recipe", ())]
    return found


def call(name: str) -> tuple[CompletedCall | ToolError, list[Any]]:
    tool = BOUND[name]
    simulator = Simulator([tool.tables])
    gate = unguarded(CATALOGUE, simulator)
    try:
        outcome = gate.call(
            Call(
                name,
                arguments(
                    tool.spec, CATALOGUE.load_tool(CATALOGUE.find_row(name)).input, tool.tables
                ),
            )
        )
    except ToolError as error:
        return error, simulator.events
    assert isinstance(outcome, CompletedCall)
    return outcome, simulator.events


def test_every_app_has_some_and_none_too_many() -> None:
    counts = dict.fromkeys(CATALOGUE.apps, 0)
    for tool in BOUND.values():
        counts[tool.tables.key] += 1
    assert all(8 <= count <= 25 for count in counts.values()), counts


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("app", "row"), rows(), ids=lambda value: value if isinstance(value, str) else value["name"]
)
def test_every_row_became_a_tool_with_its_reason(app: str, row: dict[str, Any]) -> None:
    assert f"{app}_{row['name']}" in BOUND
    assert row["why"].endswith(".")
    assert row["doc"].endswith(".")
    assert len(row["name"]) <= 20


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(BOUND))
def test_every_recipe_is_answered(name: str) -> None:
    outcome, events = call(name)
    assert events
    if isinstance(outcome, ToolError):
        assert outcome.number == ABSENT.get(name), outcome.facts()


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(BOUND))
def test_what_is_bound_is_what_is_sent(name: str) -> None:
    tool = BOUND[name]
    given = arguments(tool.spec, CATALOGUE.load_tool(CATALOGUE.find_row(name)).input, tool.tables)
    bound = expand_recipe(tool.spec, given)
    gate = unguarded(CATALOGUE, Simulator([tool.tables]))
    line = gate.call(Call(name, given), dry_run=True).line
    if "element" in bound and tool.spec.op in ("list", "count"):
        assert tool.tables.classes[bound["element"]].plural in line
    for value in given.values():
        if isinstance(value, str) and value == "sample":
            # A text of a note goes out as HTML.
            assert '"sample"' in line or "<div>sample</div>" in line


def test_a_recipe_that_leaves_an_argument_out_asks_for_everything() -> None:
    tool = BOUND["reminders_list_open"]
    assert expand_recipe(tool.spec, {}).keys() == {"element", "where", "properties"}
    assert expand_recipe(tool.spec, {"list": "lists[0]"})["of"] == "lists[0]"


def test_recipes_cost_few_tokens() -> None:
    # A model reads neither titles, hints nor what is answered.
    entries = {
        entry["name"]: {
            k: v for k, v in entry.items() if k not in ("title", "annotations", "outputSchema")
        }
        for entry in CATALOGUE.read_listing()
    }
    all_of_them = [entries[name] for name in BOUND]
    assert count_tokens(all_of_them) / len(all_of_them) < 110
    # Who lists everything pays for everything; without a word recipes are found, and not listed.
    assert count_tokens(entries.values()) < 62_000
    listed = [listing_entry(tool) for tool in own_tools(Choice())]
    assert count_tokens(listed) < 1_600
    assert not {entry["name"] for entry in listed} & BOUND.keys()
