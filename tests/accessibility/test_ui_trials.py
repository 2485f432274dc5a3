"""Rows change between find, question and act: no other element is ever acted on.

The quick examples; `tests/stress/test_ui_thousands.py` has the thousands.
"""

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pytest
import ui_stack as stack
from ui_trials import TOOLKITS, rows_of, trials

EXAMPLES = {"gtk3": 30, "gtk4": 10, "qt": 20, "chromium": 5}


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize("toolkit", TOOLKITS)
def test_no_other_element_is_acted_on(
    toolkit: str, desk: stack.Desktop, bridge: Any, tmp_path: Path
) -> None:
    if toolkit == "qt" and importlib.util.find_spec("PySide6") is None:
        pytest.skip("PySide6-Essentials is not installed")
    if toolkit == "gtk4" and not stack.has_gtk4():
        pytest.skip("gir1.2-gtk-4.0 is not installed")
    if toolkit == "chromium" and shutil.which("chromium") is None:
        pytest.skip("chromium is not installed")
    with rows_of(toolkit, desk, bridge, tmp_path, 7) as (held, settle):
        seen = trials(held, EXAMPLES[toolkit], settle)
    assert seen.wrong == []
    assert seen.acted > 0
    assert seen.acted + seen.refused == EXAMPLES[toolkit]
