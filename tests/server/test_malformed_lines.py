"""Whatever a client sends, its good calls are answered and the output is the protocol's."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from malformed import KINDS, mutations
from piped import COUNT, MODERN_COUNT, Piped

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Piped]:
    """One server for all of them: what one leaves behind would be seen by the next."""
    found = Piped(tmp_path_factory.mktemp("served"), "--expose", "all", "--simulate")
    found.open()
    yield found
    assert found.close() == 0


def still_right(served: Piped) -> None:
    """Both eras are answered, by the process that was there before."""
    for params in (COUNT, MODERN_COUNT):
        result = served.ask("tools/call", params)["result"]
        assert result["structuredContent"]["result"] == 2
    assert served.process.poll() is None


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_good_calls_between_bad_lines_are_answered(
    served: Piped, kind: Callable[[], list[bytes]]
) -> None:
    for line in kind():
        served.write(line)
        assert served.ask("ping")["result"] == {}
    still_right(served)


@given(st.lists(mutations(), min_size=1, max_size=4))
def test_good_calls_between_mutated_lines_are_answered(served: Piped, lines: list[bytes]) -> None:
    served.write(*lines)
    still_right(served)


def test_before_the_handshake_a_bad_line_is_no_harm(tmp_path: Path) -> None:
    served = Piped(tmp_path, "--simulate")
    try:
        for kind in KINDS.values():
            served.write(*kind()[:20])
        assert served.ask("tools/call", MODERN_COUNT)["result"]["resultType"] == "complete"
        served.open()
        still_right(served)
    finally:
        assert served.close() == 0


@pytest.mark.sweep
@pytest.mark.parametrize("rest", [b"", b"{", b'{"jsonrpc":"2.0","id":9,"method":"tools/ca'])
def test_input_that_ends_in_the_middle_of_a_message_ends_the_server(
    tmp_path: Path, rest: bytes
) -> None:
    served = Piped(tmp_path, "--simulate")
    served.open()
    assert served.process.stdin
    served.process.stdin.write(rest)
    assert served.close() == 0


def test_an_unknown_tool_is_an_error_of_the_protocol(served: Piped) -> None:
    for name in ("ma\u0456l_count", "../../etc/passwd", "x" * 10_240):
        error = served.ask("tools/call", {"name": name, "arguments": {}})["error"]
        assert error["code"] == -32602
        assert len(error["message"]) < 1_000


def test_a_listing_is_the_same_bytes_every_time(served: Piped) -> None:
    first = served.ask("tools/list")["result"]
    assert served.ask("tools/list")["result"] == first
    assert len(first["tools"]) > 300
