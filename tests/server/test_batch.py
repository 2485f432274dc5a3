"""Several calls in one question, through a real client of either era, on simulated apps."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from real_clients import ERAS, ask, facts_of, program
from test_elicitation import Person, talk

from iac_runtime.policy.prompts import DENY, ONCE

NAMES = ("Milk", "Eggs", "Bread")
MAKE = {"name": "notes_make_note", "calls": [{"name": name} for name in NAMES]}


async def refs(client: Client, door: str = "write_tool") -> list[str]:
    made = await client.call_tool(door, MAKE)
    assert not made.is_error, made.content
    return list((made.structured_content or {})["results"])


async def names_of(client: Client) -> list[str]:
    read = {"element": "note", "properties": ["name"]}
    listed = await client.call_tool("read_tool", {"name": "notes_list", "arguments": read})
    rows = (listed.structured_content or {})["result"]
    return [row["name"] for row in rows if row["name"] in NAMES]


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize("era", ERAS)
def test_many_calls_are_one_question_and_run_in_order(
    tools: Path, tmp_path: Path, era: str
) -> None:
    person = Person("accept", ONCE)

    async def question(client: Client) -> None:
        made = await refs(client)
        assert sorted(await names_of(client)) == sorted(NAMES)
        found = await client.call_tool(
            "read_tool", {"name": "notes_get", "calls": [{"target": f"{ref}.name"} for ref in made]}
        )
        assert found.structured_content == {"results": [*NAMES]}
        gone = {"name": "notes_delete", "calls": [{"target": ref} for ref in made[:2]]}
        deleted = await client.call_tool("dangerous_tool", gone)
        assert not deleted.is_error, deleted.content
        assert await names_of(client) == ["Bread"]

    server = program(tools, tmp_path / "data", "--simulate")
    ask(server, question, era, elicitation_callback=person)
    made, deleted = person.asked
    assert "make 3 notes in Notes" in made
    assert [line for line in made.splitlines() if line.startswith("  2. ") and '"Eggs"' in line]
    assert "delete 2 notes in Notes" in deleted
    assert '"Milk"' in deleted
    assert "DANGEROUS" in deleted


@pytest.mark.parametrize("era", ERAS)
def test_a_no_and_a_low_door_run_none(tools: Path, era: str) -> None:
    person = Person("accept", DENY)

    async def question(client: Client) -> None:
        refused = await client.call_tool("write_tool", MAKE)
        assert refused.is_error
        assert "declined" in facts_of(refused)["message"]
        low = await client.call_tool("read_tool", MAKE)
        assert "write_tool" in facts_of(low)["suggestion"]
        assert await names_of(client) == []

    talk(tools, era, question, person)
    assert len(person.asked) == 1


@pytest.mark.parametrize(("given", "says"), [
    ({"calls": []}, "calls"), ({"calls": [{"name": "x"}] * 51}, "calls"), ({"calls": "x"}, "calls"),
    ({"calls": [3]}, "calls"),
    ({"calls": [{"name": "x"}], "arguments": {"name": "x"}}, "arguments and calls"),
    ({"calls": [{"name": "x"}, {"nam": "y"}]}, "Call 2 of 2"),
    ({"calls": [{"name": "x"}, {"name": 3}]}, "Call 2 of 2"),
])  # fmt: skip
def test_what_is_wrong_with_calls_is_told_and_nothing_is_asked(
    tools: Path, given: dict[str, Any], says: str
) -> None:
    person = Person("accept", ONCE)

    async def question(client: Client) -> None:
        found = await client.call_tool("write_tool", {"name": "notes_make_note", **given})
        assert found.is_error
        assert says in facts_of(found)["message"]

    talk(tools, "auto", question, person)
    assert person.asked == []


def test_a_failure_in_the_middle_reaches_the_client_with_what_was_done(tools: Path) -> None:
    person = Person("accept", ONCE)

    async def question(client: Client) -> None:
        made = await refs(client)
        wrong = 'notes.byId("nothing")'
        calls = [{"target": ref} for ref in (made[0], wrong, made[1])]
        found = await client.call_tool("dangerous_tool", {"name": "notes_delete", "calls": calls})
        facts = facts_of(found)
        assert found.is_error
        assert (facts["failed"], facts["not_sent"], len(facts["results"])) == (2, [3], 1)
        assert sorted(await names_of(client)) == ["Bread", "Eggs"]

    talk(tools, "auto", question, person)
