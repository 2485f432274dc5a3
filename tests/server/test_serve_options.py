"""The quick reading of the options of serve takes what is beyond doubt."""

from pathlib import PurePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_runtime.serve import front
from iac_runtime.serve.options import SERVE_OPTIONS, Option, read_quickly
from iac_runtime.serve.wire import claim


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("", {}),
        ("--read-only --expose all", {"read_only": True, "expose": "all"}),
        ("--tools a --tools=b", {"tools": ["a", "b"]}),
        ("--simulate", {"simulate": ""}),
        ("--simulate --read-only", {"simulate": "", "read_only": True}),
        ("--simulate world.toml", {"simulate": "world.toml"}),
        ("--simulate=world.toml", {"simulate": "world.toml"}),
        ("--expose=a=b", {"expose": "a=b"}),
        ("--help", None),
        ("--expose", None),
        ("--expose all --expose mail", None),
        ("--read-only=yes", None),
        ("--read", None),
        ("word", None),
        ("--", None),
    ],
)
def test_options_are_read_or_left_to_click(arguments: str, found: dict[str, Any] | None) -> None:
    assert read_quickly(arguments.split()) == found


FLAGS = st.sampled_from([option.flag for option in SERVE_OPTIONS] + ["--x", "x", "-v", "--tools=y"])


@given(st.lists(FLAGS | st.text(max_size=5), max_size=6))
def test_it_never_fails_and_knows_only_the_table(arguments: list[str]) -> None:
    found = read_quickly(arguments)
    assert found is None or found.keys() <= {option.name for option in SERVE_OPTIONS}


def test_an_option_may_name_another_transport(monkeypatch: pytest.MonkeyPatch) -> None:
    socket = Option("--socket", "value", "Serve on a socket.", "PATH", opens="pathlib:PurePath")
    monkeypatch.setattr(front, "SERVE_OPTIONS", (*SERVE_OPTIONS, socket))
    assert front._transport({"socket": "/a/b"})() == PurePath("/a/b")
    assert front._transport({}) is claim
