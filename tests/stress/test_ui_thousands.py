"""Two thousand times rows change between find, question and act, in apps of four toolkits."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "accessibility"))

import ui_stack as stack
from ui_trials import TOOLKITS, rows_of, trials

pytestmark = pytest.mark.stress


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("toolkit", TOOLKITS)
def test_five_hundred_trials(toolkit: str, tmp_path: Path) -> None:
    if reason := stack.missing():
        pytest.skip(reason)
    from iac_accessibility.atspi.bridge import AtspiBridge

    with stack.desktop() as desk:
        bridge = AtspiBridge(desk.env["DBUS_SESSION_BUS_ADDRESS"], desk.env["DISPLAY"])
        with rows_of(toolkit, desk, bridge, tmp_path, 11) as (held, settle):
            seen = trials(held, 500, settle)
        bridge.close()
    print(f"{toolkit}: {seen.acted} acted on, {seen.refused} refused, {len(seen.wrong)} wrong")
    assert seen.wrong == []
