"""The quick reading of the options of serve takes what is beyond doubt."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_runtime.serve.listing import SERVE_OPTIONS, read_quickly


@pytest.mark.parametrize(("arguments", "found"), [
    ("", {}), ("--read-only --expose all", {"read_only": True, "expose": "all"}),
    ("--tools a --tools=b", {"tools": ["a", "b"]}), ("--simulate", {"simulate": ""}),
    ("--simulate --read-only", {"simulate": "", "read_only": True}),
    ("--simulate world.toml", {"simulate": "world.toml"}),
    ("--simulate=world.toml", {"simulate": "world.toml"}), ("--expose=a=b", {"expose": "a=b"}),
    ("--http --port 0", {"http": True, "port": "0"}), ("--help", None), ("--expose", None),
    ("--expose all --expose mail", None), ("--read-only=yes", None), ("--read", None),
    ("word", None), ("--", None),
])  # fmt: skip
def test_options_are_read_or_left_to_click(arguments: str, found: dict[str, Any] | None) -> None:
    assert read_quickly(arguments.split()) == found


FLAGS = st.sampled_from([option.flag for option in SERVE_OPTIONS] + ["--x", "x", "-v", "--tools=y"])


@given(st.lists(FLAGS | st.text(max_size=5), max_size=6))
def test_it_never_fails_and_knows_only_the_table(arguments: list[str]) -> None:
    found = read_quickly(arguments)
    assert found is None or found.keys() <= {option.name for option in SERVE_OPTIONS}
