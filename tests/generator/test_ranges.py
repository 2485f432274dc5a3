"""A value outside of the range that an app's words state is refused before anything is sent."""

import pytest

from iac_base.errors import InvalidParameterError
from iac_runtime import connect
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.gate.plans import Call


@pytest.mark.parametrize(
    ("tool", "given", "name", "least", "most"),
    [
        ("music_set_volume", {}, "volume", 0, 100),
        ("reminders_set_priority", {"reminder": "reminders[0]"}, "priority", 0, 9),
    ],
)
def test_edges_of_a_stated_range(
    tool: str, given: dict[str, object], name: str, least: int, most: int
) -> None:
    mac = connect(simulate=True)
    try:
        for value in (least, most):
            mac.call(tool, **given, **{name: value})
        for value in (least - 1, most + 1, 400):
            with pytest.raises(InvalidParameterError, match=name):
                mac.call(tool, **given, **{name: value})
    finally:
        mac.close()


@pytest.mark.parametrize(("target", "properties", "says"), [
    ("application", {"sound volume": 400}, "sound volume: 400 is not from 0 to 100."),
    ("tracks[0]", {"rating": -5}, "rating: -5 is not from 0 to 100."),
    ("tracks[0]", {"rating": 80, "year": 400}, ""),
])  # fmt: skip
def test_a_property_takes_what_the_tool_that_sets_it_says(
    target: str, properties: dict[str, int], says: str
) -> None:
    gate = build_gate(GateOptions(simulate=""))
    call = Call("music_set", {"target": target, "properties": properties})
    if not says:
        assert gate.plan_call(call)
        return
    with pytest.raises(InvalidParameterError) as caught:
        gate.plan_call(call)
    assert caught.value.message == says
    assert "Decide what" in caught.value.suggestion
    assert caught.value.next is None
