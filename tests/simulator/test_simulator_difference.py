"""Comparing two states: what was added, removed and changed."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from simulated_diary import DIARY, WORLD, Script

from iac_simulator import Simulator, StateChange, difference

D = 'const d = Application("Diary"); '


def test_the_difference_tells_what_a_script_did() -> None:
    script = Script(Simulator([DIARY], {"diary": WORLD}))
    before = script.simulator.state()
    script.run(
        D + "d.journals[0].entries[0].body = 'Snow'; d.journals[0].entries[1].delete();"
        "d.journals[1].entries.push(d.Entry({name: 'New'}))"
    )
    found = difference(before, script.simulator.state())
    assert found.changed == (StateChange("diary.journals[0].entries[0].body", "Rain", "Snow"),)
    assert [place for place, _ in found.removed] == ["diary.journals[0].entries[1]"]
    assert [place for place, _ in found.added] == [
        "diary.journals[1].entries[0]",
        "diary.@next",
    ]
    assert found.added[0][1]["name"] == "New"


def test_an_object_that_moved_in_its_list_is_the_same_object() -> None:
    one, two = {"id": 1, "name": "a"}, {"id": 2, "name": "b", "x y": 1}
    assert not difference({"app": {"items": [one, two]}}, {"app": {"items": [two, one]}})
    changed = difference(
        {"app": {"items": [one, two]}}, {"app": {"items": [{**two, "x y": 2}, one]}}
    )
    assert changed.changed == (StateChange('app.items[0]."x y"', 1, 2),)


def test_true_is_not_one() -> None:
    assert difference({"a": {"x": True}}, {"a": {"x": 1}}).changed == (StateChange("a.x", True, 1),)


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "name", "x", "items"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["a", "b"]), values))
def test_a_state_does_not_differ_from_itself(state: dict[str, Any]) -> None:
    assert not difference(state, state)
    assert len(difference({}, state).added) == len(state)
    assert len(difference(state, {}).removed) == len(state)
