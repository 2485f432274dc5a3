"""Calendar and Reminders on apps that act like real ones: nothing lost, late or told wrongly."""

import json
from pathlib import Path
from typing import Any

import pytest

from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator import Simulator, parse_profile

TOOLS = Path(__file__).parents[2] / "generated" / "iac_tools"
CATALOGUE = Catalogue([TOOLS])
APPS = [app for app in CATALOGUE.apps.values() if app.key in ("calendar", "reminders")]
EXAMPLES = [name for name in CATALOGUE.tools if CATALOGUE.find_row(name).module in
            ("calendar", "reminders")]  # fmt: skip
HONEST = {"calendar_set": "unchanged", "reminders_move": "unknown"}
"""Where the app does not do it: a first description is lost, and what is moved has a new id."""
SECONDS, EVENTS = 30, 30


class Apps:
    """Calendar and Reminders behind a gate that asks nobody."""

    def __init__(self, profile: str, state: dict[str, Any] | None = None) -> None:
        tables = [CATALOGUE.load_tables(app) for app in APPS]
        self.simulator = Simulator(tables, state, faults=parse_profile(profile))
        self.gate = Gate(CATALOGUE, Executor(self.simulator), "DANGEROUS", home="/Users/me")

    def __call__(self, tool: str, **arguments: Any) -> Any:
        """Return the call as it was done, or why it was not; on time in any case."""
        self.simulator.events.clear()
        began = self.simulator.waited
        try:
            done = self.gate.call(Call(tool, arguments))
        except ToolError as error:
            return error.type
        assert isinstance(done, CompletedCall)
        took = self.simulator.waited - began
        assert took <= SECONDS
        assert len(self.simulator.events) <= EVENTS
        return done

    def state_of(self, tool: str) -> str:
        done = self(tool, **dict(CATALOGUE.load_operation(tool).spec.example))
        return done if isinstance(done, str) else done.outcome.state if done.outcome else "read"


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_comes_out_alike_on_both_profiles(name: str) -> None:
    friendly, hard = (Apps(profile).state_of(name) for profile in ("friendly", "hard"))
    assert hard == HONEST.get(name, friendly)


def full_diary() -> dict[str, Any]:
    def day(n: int) -> dict[str, str]:
        return {"date": f"2026-{1 + n // 28:02}-{1 + n % 28:02}T09:00:00.000Z"}

    calendars = [
        {"name": f"C{c}", "writable": True, "events": [
            {"uid": f"e{c}-{n}", "summary": f"S{n}", "startDate": day(n), "endDate": day(n)}
            for n in range(200)
        ]}
        for c in range(3)
    ]  # fmt: skip
    reminders = [
        {"id": f"x-apple-reminder://{n}", "name": f"R{n}", "completed": False, "dueDate": day(n)}
        for n in range(300)
    ]
    accounts = [{"id": "a", "name": "A", "lists": [{"id": "l", "name": "L",
                 "reminders": reminders}]}]  # fmt: skip
    return {
        "calendar": {"calendars": calendars},
        "reminders": {"accounts": accounts},
        "@now": "2026-03-02T09:30:00.000Z",
    }


def test_a_day_of_full_calendars_takes_few_events_and_is_whole() -> None:
    apps = Apps("hard", full_diary())
    done = apps("calendar_events_of_day", day="2026-03-02")
    assert [row["ref"] for row in done.value] == [
        f'calendars["C{c}"].events.byId("e{c}-57")' for c in range(3)
    ]
    assert done.outcome is None
    assert len(apps.simulator.events) <= 10


def test_what_is_dear_is_told_to_be_a_part() -> None:
    done = Apps("hard", full_diary())("reminders_list_due", before="2026-02-01")
    assert done.value[0]["name"] == "R0"
    assert done.outcome.state == "partial"
    assert "to look through all 300 items would take too long" in done.note


def test_a_list_over_several_calendars_goes_on_by_its_cursor() -> None:
    for profile in ("friendly", "hard"):
        apps, seen = Apps(profile, full_diary()), list[str]()
        cursor: dict[str, Any] = {}
        while True:
            early = {"where": {"start date": {"<": "2026-01-29"}}, "order": ["start date"]}
            done = apps(
                "calendar_list", element="event", of="calendars", limit=40, **early, **cursor
            )
            seen += [row["ref"] for row in done.value]
            if "cursor" not in done.note:
                break
            cursor = {"cursor": json.loads(done.note.partition("cursor ")[2])}
        assert len(seen) == len(set(seen)) == 3 * 28
