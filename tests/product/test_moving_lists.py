"""Lists of every committed app that move while they are read: each row is of one object."""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from io import BytesIO
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from simulated import TOOLS
from unguarded import unguarded

from iac_base.errors import InvalidParameterError, ToolError
from iac_runtime.execution.process import Completed
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_simulator import Simulator
from iac_simulator.host import BufferStreams, HostEnvironment
from iac_simulator.scenario import parse_scenario

CATALOGUE: Final = Catalogue([TOOLS])
TABLES: Final = {app.key: CATALOGUE.load_tables(app) for app in CATALOGUE.apps.values()}
PLAIN: Final = ("text", "integer", "boolean", "date")
WAYS: Final = ("insert", "remove", "reorder", "replace")
_BY_ID: Final = re.compile(r'\.byId\("?([^"]*?)"?\)$')
_BY_NAME: Final = re.compile(r'\["([^"]*)"\]$')
CASES: Final = (
    5000 if os.environ.get("IAC_HYPOTHESIS") == "stress" else settings.default.max_examples
)


class Listed(NamedTuple):
    """A list that an app can have: the classes on the way to it, from the application on."""

    app: str
    way: tuple[str, ...]

    @property
    def tables(self) -> Tables:
        return TABLES[self.app]

    @property
    def place(self) -> str:
        return "[0].".join(self.tables.classes[term].plural for term in self.way)


class MovingCase(NamedTuple):
    """What is listed, of how many items (some of one name), and what moves before which event."""

    listed: Listed
    items: int
    doubled: bool
    arguments: dict[str, Any]
    moves: dict[int, str]


def held(tables: Tables, term: str) -> Iterator[str]:
    for row in tables.elements(term):
        if row.term in tables.classes and columns(tables, row.term):
            yield row.term


def columns(tables: Tables, term: str) -> list[str]:
    """The plain readable properties of a class, by term; a position is none of an object's own."""
    return [
        row.term
        for row in tables.properties(term)
        if row.type in PLAIN and "r" in row.access and row.jxa != "index"
    ]


def all_lists() -> list[Listed]:
    found: dict[tuple[str, ...], Listed] = {}
    for tables in TABLES.values():
        if APPLICATION not in tables.classes or "list" not in tables.tools:
            continue
        for outer in held(tables, APPLICATION):
            found.setdefault((tables.key, outer), Listed(tables.key, (outer,)))
            for inner in held(tables, outer):
                found.setdefault(
                    (tables.key, f"{outer}/{inner}"), Listed(tables.key, (outer, inner))
                )
    return list(found.values())


LISTS: Final = all_lists()


def made(tables: Tables, term: str, number: int, doubled: bool) -> dict[str, Any]:
    """An object whose every value says which one it is."""
    data: dict[str, Any] = {}
    for row in tables.properties(term):
        if row.type == "text":
            data[row.jxa] = f"{row.jxa}-{number}"
        elif row.type == "integer":
            data[row.jxa] = 1000 + number
        elif row.type == "boolean":
            data[row.jxa] = number % 2 == 0
        elif row.type == "date":
            data[row.jxa] = {"date": f"2026-01-{number + 1:02d}T09:00:00.000Z"}
    if doubled and number % 3:
        data["name"] = "one of several"
    return data


@st.composite
def cases(draw: st.DrawFn) -> MovingCase:
    listed = draw(st.sampled_from(LISTS))
    tables, term = listed.tables, listed.way[-1]
    known = columns(tables, term)
    arguments: dict[str, Any] = {"element": term}
    if len(listed.way) > 1:
        arguments["of"] = listed.place.rpartition(".")[0]
    arguments["properties"] = draw(
        st.lists(st.sampled_from(known), min_size=1, max_size=4, unique=True)
    )
    texts: list[str] = [
        row.term for row in tables.properties(term) if row.type == "text" and row.term in known
    ]
    if texts and draw(st.booleans()):
        arguments["where"] = {
            draw(st.sampled_from(texts)): {"contains": draw(st.sampled_from("-12"))}
        }
    if draw(st.booleans()):
        arguments["limit"] = draw(st.integers(1, 6))
        arguments["offset"] = draw(st.integers(0, 2))
    if draw(st.integers(0, 3)) == 0:
        arguments["order"] = [draw(st.sampled_from(known))]
    way = st.sampled_from(WAYS)
    always = way.map(lambda how: dict.fromkeys(range(1, 40), how))
    moves = draw(
        st.one_of(st.dictionaries(st.integers(1, 12), way, min_size=1, max_size=5), always)
    )
    return MovingCase(listed, draw(st.integers(0, 12)), draw(st.booleans()), arguments, moves)


def seen_and_told(case: MovingCase) -> tuple[Sequence[dict[str, Any]], list[dict[str, Any]], str]:
    """Carry out a case; return every state of each object, the rows and how the call ended."""
    tables, way = case.listed.tables, case.listed.way
    items = [made(tables, way[-1], n, case.doubled) for n in range(case.items)]
    world: dict[str, Any] = {tables.classes[way[-1]].plural: items}
    for term in reversed(way[:-1]):
        world = {tables.classes[term].plural: [{**made(tables, term, 0, False), **world}]}
    faults = [
        {"nth": nth, "times": 1, "shift": case.listed.place, "how": how}
        for nth, how in case.moves.items()
    ]
    simulator = Simulator([tables], {tables.key: world}, faults=parse_scenario({"fault": faults}))
    seen: list[dict[str, Any]] = []

    def look() -> None:
        here: Any = simulator.state()[tables.key]
        for term in way[:-1]:
            here = here[tables.classes[term].plural][0]
        seen.extend(row for row in here[tables.classes[way[-1]].plural] if row not in seen)

    @contextlib.contextmanager
    def turn() -> Iterator[None]:
        yield
        look()

    def runner(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        streams = BufferStreams(BytesIO(stdin))
        status = simulator.run(
            argv[1:], HostEnvironment(streams, lambda _: None, lambda: None), turn
        )
        return Completed(bytes(streams.written[1]), bytes(streams.written[2]), status, False)

    look()
    try:
        done = unguarded(CATALOGUE, runner).call(Call(f"{tables.key}_list", case.arguments))
    except InvalidParameterError:
        # The app's list does not offer this class.
        reject()
    except ToolError as error:
        if error.type != "LIST_CHANGED" or not error.retryable:
            raise
        return seen, [], error.type
    assert isinstance(done, CompletedCall), done
    return seen, list(done.value), done.note


def is_one(row: dict[str, Any], tables: Tables, term: str, seen: Sequence[dict[str, Any]]) -> bool:
    """Say whether a row is of one object, and the one that its reference names."""
    rows = list(tables.properties(term))
    ident = next((p for p in rows if p.code == "ID  "), None)
    ident = ident or next((p for p in rows if p.jxa in ("id", "uid")), None)
    by_id = _BY_ID.search(row["ref"])
    by_name = _BY_NAME.search(row["ref"])
    for data in seen:
        if by_id and (ident is None or str(data[ident.jxa]) != by_id[1]):
            continue
        if by_name and data.get("name") != by_name[1]:
            continue
        values = (
            (key, data.get(prop.jxa))
            for key in row
            if (prop := tables.find_property(term, key)) is not None
        )
        if all(row[key] == answered(value) for key, value in values):
            return True
    return False


def answered(value: Any) -> Any:
    """A value of a world as a list answers it: a date in local time."""
    if not isinstance(value, dict):
        return value
    return datetime.fromisoformat(value["date"]).astimezone().isoformat()


def wrong_rows(case: MovingCase) -> tuple[int, int, str]:
    """Return how many rows are of no object, how many there are, and how the call ended."""
    seen, rows, how = seen_and_told(case)
    tables, term = case.listed.tables, case.listed.way[-1]
    return sum(not is_one(row, tables, term, seen) for row in rows), len(rows), how


@settings(max_examples=CASES)
@given(case=cases())
def test_no_row_of_a_moving_list_is_of_two_objects(case: MovingCase) -> None:
    wrong, _, _ = wrong_rows(case)
    assert wrong == 0


MESSAGES: Final = Listed("mail", ("mailbox", "message"))


def moved(listed: Listed, items: int, moves: dict[int, str], **arguments: Any) -> tuple[int, str]:
    """Return how many rows a list gives, all right ones, and how it ended."""
    of = {"of": listed.place.rpartition(".")[0]} if len(listed.way) > 1 else {}
    given_ = {"element": listed.way[-1], **of, **arguments}
    wrong, rows, how = wrong_rows(MovingCase(listed, items, False, given_, moves))
    assert wrong == 0
    return rows, how


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("nth", [2, 3, 4])
def test_a_list_that_moves_once_is_read_again(how: str, nth: int) -> None:
    found, said = moved(MESSAGES, 9, {nth: how}, properties=["subject", "sender"])
    assert found == 9 + (how == "insert") - (how == "remove")
    assert said == ""


def test_a_list_that_does_not_hold_still_is_answered_in_part() -> None:
    always = dict.fromkeys(range(1, 60), "replace")
    found, said = moved(MESSAGES, 20, always, properties=["subject", "sender"])
    assert 0 < found < 20
    assert "the list kept changing while it was read" in said
    assert "items went and are left out" in said


def test_items_without_ids_that_do_not_hold_still_are_not_answered() -> None:
    always = dict.fromkeys(range(1, 60), "reorder")
    folders = Listed("finder", ("folder",))
    found, said = moved(folders, 9, always, properties=["name", "comment", "URL"])
    assert (found, said) == (0, "LIST_CHANGED")
