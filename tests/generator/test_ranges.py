"""A value outside of the range that an app's words state is refused before anything is sent."""

import pytest

from iac_base.errors import InvalidParameterError
from iac_runtime import connect


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
