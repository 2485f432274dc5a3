"""What a run leaves out: the same for the same commit, and never what somebody asked for."""

from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from sampling import draw_left_out, read_seed

HERE = Path(__file__)


class Row(NamedTuple):
    """What a draw reads of a test."""

    nodeid: str
    marker: str = "sweep"
    path: Path = HERE
    share: int = 10
    of_module: bool = False

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        mark = pytest.Mark(name, (self.share,), {}, _ispytest=True)
        return mark if name == self.marker else None

    @property
    def own_markers(self) -> list[pytest.Mark | None]:
        return [] if self.of_module else [self.get_closest_marker(self.marker)]


SWEEP = [Row(f"test_sampling.py::test_each[{number}]") for number in range(100)]


def left_out(rows: list[Row], seed: str = "a", named: str = "", changed: Any = ()) -> set[str]:
    items = cast("list[pytest.Item]", rows)
    return {item.nodeid for item in draw_left_out(items, seed, [named], changed)}


def test_one_row_in_ten_runs_and_the_next_commit_draws_others() -> None:
    left = left_out(SWEEP)
    assert len(left) == 90
    assert left == left_out(SWEEP[::-1])
    assert left != left_out(SWEEP, "b")
    drawn = [left_out(SWEEP, str(seed)) for seed in range(100)]
    assert not set.intersection(*drawn), "a row that no commit draws"


def test_of_each_function_some_rows_run() -> None:
    assert len(left_out(SWEEP[:12])) == 10
    assert not left_out(SWEEP[:1])
    two = [*SWEEP[:5], *(Row(f"test_sampling.py::test_other[{number}]") for number in range(5))]
    assert len(left_out(two)) == 8


def test_a_module_may_be_a_sweep_of_its_tests() -> None:
    rows = [Row(f"test_sampling.py::test_{number}") for number in range(9)]
    assert not left_out(rows)
    assert len(left_out([row._replace(share=3, of_module=True) for row in rows])) == 6


def test_what_is_slow_is_left_out_and_what_is_unmarked_runs() -> None:
    rows = [Row("test_sampling.py::test_long", "slow"), Row("test_sampling.py::test_short", "")]
    assert left_out(rows) == {"test_sampling.py::test_long"}


@pytest.mark.parametrize("changed", [False, True])
def test_what_is_named_or_changed_runs(changed: bool) -> None:
    rows = [*SWEEP, Row("test_sampling.py::TestAll::test_long", "slow")]
    if changed:
        assert not left_out(rows, changed={HERE})
    assert left_out(rows, changed={HERE.parent / "test_other.py"})
    assert len(left_out(rows, named=f"{HERE}::test_each")) == 1
    assert len(left_out(rows, named=f"{HERE}::TestAll")) == 90
    [some, *_] = sorted(left_out(SWEEP))
    assert some not in left_out(rows, named=f"{HERE}::{some.partition('::')[2]}")
    assert left_out(rows, named=str(HERE)) == left_out(rows)


def test_the_seed_is_the_commit() -> None:
    assert read_seed() == read_seed() != ""
