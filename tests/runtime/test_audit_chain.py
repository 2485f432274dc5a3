"""The chain of rows by itself: what was changed, removed or put in shows, and where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_runtime.audit import store
from iac_runtime.audit.store import (
    MOST_FAULTS,
    START,
    AuditRow,
    ChainCheck,
    chain_rows,
    hashed_text,
)


def verify(rows: list[AuditRow], dropped: dict[int, bytes], counter: int) -> ChainCheck:
    return store.verify_chain(
        ((row.seq, hashed_text(*row[:6]), row.hash) for row in rows), dropped, counter
    )


PARTS = st.lists(
    st.tuples(*[st.text(max_size=5)] * 2, st.integers(0, 9), *[st.text(max_size=5)] * 2)
)


@given(PARTS, st.data())
def test_no_row_can_be_changed_removed_or_moved(parts: list, data: st.DataObject) -> None:
    rows = list(chain_rows(START, 0, parts))
    assert verify(rows, {}, len(rows)).is_intact
    if not rows:
        return
    index = data.draw(st.integers(0, len(rows) - 1))
    row = rows[index]
    field = data.draw(st.sampled_from(["time", "session", "event", "body"]))
    changed = [
        *rows[:index],
        row._replace(**{field: getattr(row, field) + "x"}),
        *rows[index + 1 :],
    ]
    assert not verify(changed, {}, len(rows)).is_intact
    assert not verify(rows[:index] + rows[index + 1 :], {}, len(rows)).is_intact
    assert not verify([*rows[:index], row, *rows[index:]], {}, len(rows)).is_intact


ROWS = list(chain_rows(START, 0, [(f"t{n}", "s", n, "intent", f'{{"n":{n}}}') for n in range(9)]))


@pytest.mark.parametrize("index", [0, 4, 8])
@pytest.mark.parametrize("field", ["time", "session", "call", "event", "body", "hash"])
def test_a_change_of_any_field_of_any_row_shows_at_that_row(index: int, field: str) -> None:
    row = ROWS[index]
    now = {"call": row.call + 1, "hash": START}.get(field, f"{getattr(row, field)}x")
    rows = [*ROWS[:index], row._replace(**{field: now}), *ROWS[index + 1 :]]
    found = verify(rows, {}, 9)
    assert not found.is_intact
    assert found.faults[0] == f"row {row.seq} was changed, or the row before it was"


def test_a_chain_is_told_with_its_first_and_last_row() -> None:
    whole = verify(ROWS, {}, 9)
    assert (whole.rows, whole.first, whole.last, whole.faults) == (9, 1, 9, ())
    rest = verify(ROWS[3:], {3: ROWS[2].hash}, 9)
    assert (rest.rows, rest.first, rest.last, rest.faults) == (6, 4, 9, ())
    assert verify([], {}, 0).is_intact


@pytest.mark.parametrize(
    ("rows", "dropped", "counter", "faults"),
    [
        (ROWS[1:], {}, 9, ("row 1 is missing, and no row records a drop",)),
        (ROWS[3:], {2: ROWS[1].hash}, 9, ("rows 1 to 3 are missing, and no row records a drop",)),
        # A row that says where it was cut must have the hash from there.
        (ROWS[3:], {3: ROWS[1].hash}, 9, ("row 4 was changed, or the row before it was",)),
        (ROWS[:3] + ROWS[4:], {}, 9, ("row 4 is missing",)),
        (ROWS[:3] + ROWS[6:8], {}, 9, ("rows 4 to 6 are missing", "row 9 is missing from the end")),
        (ROWS, {}, 11, ("rows 10 to 11 are missing from the end",)),
        ([], {}, 2, ("rows 1 to 2 are missing from the end",)),
    ],
)
def test_what_a_chain_lacks_is_told(
    rows: list[AuditRow], dropped: dict[int, bytes], counter: int, faults: tuple[str, ...]
) -> None:
    assert verify(rows, dropped, counter).faults == faults


def test_a_change_after_a_gap_shows_too() -> None:
    rows = [*ROWS[:2], ROWS[3], ROWS[4]._replace(body="{}"), *ROWS[5:]]
    assert verify(rows, {}, 9).faults == (
        "row 3 is missing",
        "row 5 was changed, or the row before it was",
    )


def test_faults_are_told_up_to_a_hundred() -> None:
    rows = [
        row._replace(hash=bytes([7]) * 32)
        for row in chain_rows(START, 0, [("", "", 0, "", "")] * 101)
    ]
    assert len(verify(rows, {}, 999).faults) == MOST_FAULTS
    assert len(verify(rows[:99], {}, 99).faults) == 99
