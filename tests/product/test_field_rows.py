"""Each row of the field book about a loss acts, where its app has tools: a call shows it."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from simulated import simulate_apps
from test_every_tool import CATALOGUE
from unguarded import unguarded

from iac_base.errors import ToolError
from iac_gen.field import Fact
from iac_gen.quirks import load_field_book, read_facts
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.known_cases import describe_call_cases
from iac_runtime.gate.plans import Call, CompletedCall
from iac_simulator import field_profile, parse_profile

BOOK = {fact.id: fact for fact in read_facts(load_field_book()[0])}
CASES: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_name("field_rows.toml").read_text("utf-8")
)
APPS = {app.id for app in CATALOGUE.apps.values()}


class Played:
    """Apps behind a gate that asks nobody, of which one does what a row says, if there is one."""

    def __init__(
        self, fact: Fact | None, given: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row: dict[str, Any] = {"general": False}
        if fact is not None and fact.play:
            row |= {"id": fact.id, "terms": fact.terms, "play": fact.play}
        monkeypatch.setattr(field_profile, "book_rows", lambda _app: [row] if "id" in row else [])
        faults = replace(parse_profile("hard"), play=[row["id"]] if "id" in row else [])
        self.simulator = simulate_apps(CATALOGUE, given.get("world"), faults=faults)
        self.gate: Gate = unguarded(CATALOGUE, self.simulator)
        for tool, arguments in given.get("first", ()):
            self.call(tool, arguments)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
        """Return the state, or what went wrong, and all that is told."""
        try:
            answer = self.gate.call(Call(tool, arguments))
        except ToolError as error:
            return error.type, f"{error.message} {error.suggestion} {error.outcome}"
        assert isinstance(answer, CompletedCall)
        outcome = answer.outcome
        return (outcome.state, outcome.says) if outcome else ("", answer.note)


@pytest.mark.parametrize("case", [name for name in CASES if "call" in CASES[name]])
def test_a_row_acts_on_a_call(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fact, given = BOOK[case], CASES[case]
    way, (tool, arguments) = given["way"], given["call"]
    usual = Played(None, given, monkeypatch).call(tool, arguments)[0]
    played = Played(fact, given, monkeypatch)
    before = len(played.simulator.events)
    if way == "asked":
        plan = played.gate.plan_call(Call(tool, arguments))
        assert fact.happens in describe_call_cases(plan)
        return
    state, told = played.call(tool, arguments)
    match way:
        case "state":
            assert usual == "confirmed"
            assert state in ("unchanged", "partial", "unknown")
        case "unknown":
            assert state == "unknown"
            assert fact.happens in told
        case "told" | "later":
            assert state == "confirmed"
            assert fact.happens in told
        case "refused":
            assert state == "NOT_SUPPORTED"
            assert fact.happens in told
            assert len(played.simulator.events) == before
        case "noted":
            assert fact.happens in told
        case "partial" | "nothing":
            assert state == {"partial": "partial", "nothing": "unchanged"}[way]
            assert told
        case _:
            assert way == "fails"
            assert state.isupper()
    if way == "later":
        played.simulator.wait(300)
        state, told = played.call("outcome", {"call": 1})
        assert "unchanged" in told or "partial" in told or state != "confirmed"


def test_every_row_about_a_loss_is_played_or_its_app_has_no_tools() -> None:
    losses = [fact for fact in BOOK.values() if fact.kind == "loss" and fact.app in APPS]
    assert {fact.id for fact in losses if not fact.left} == {*CASES}
