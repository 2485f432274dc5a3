"""Properties whose names JavaScript for Automation has a use of its own for."""

from typing import Any, Final

import pytest

from iac_runtime.execution.executor import Executor
from iac_runtime.language.request import Column, Event, EventOp
from iac_runtime.language.steps import AllElements, ByIndex, PropertyStep, Step
from iac_runtime.language.text import jxa_line
from iac_runtime.tool import App, Class, Element, Property
from iac_runtime.tools.tables import Tables
from iac_simulator import Simulator

NAMES: Final = (
    "length", "name", "class", "count", "get", "set", "make", "constructor", "then", "prototype",
    "at", "first", "end", "push", "whose", "toString", "call", "valueOf",
)  # fmt: skip
APP: Final = "com.example.clash"
THINGS: Final = (AllElements("things"),)


def simulator() -> Simulator:
    rows = [Property(name, f"p{n:03}", name, "text", "r", "SAFE") for n, name in enumerate(NAMES)]
    rows.append(Property("id", "ID  ", "id", "text", "r", "SAFE"))
    classes = {
        "application": Class("capp", "application", "applications", None, "SAFE", "SAFE", (),
         (Element("thing", "rw"),)),
        "thing": Class("thng", "thing", "things", None, "SAFE", "SAFE", tuple(rows)),
    }  # fmt: skip
    items = [{"id": f"i{n}", **{name: f"{name} {n}" for name in NAMES}} for n in range(8)]
    return Simulator(
        [Tables("clash", App(APP, "Clash"), classes, {}, {}, {})], {"clash": {"things": items}}
    )


def event(op: EventOp, target: tuple[Step, ...], *names: str, ident: str = "") -> Event:
    columns = tuple(Column(name, name) for name in names)
    return Event(
        APP,
        "application",
        op,
        "coregetd",
        target=target,
        columns=columns,
        id_column=ident,
        writes=False,
    )


def answer(wanted: Event) -> Any:
    found = Executor(simulator()).execute(wanted, app="Clash", command="read")
    return found.listing["rows"] if found.listing else found.value


def line(wanted: Event) -> str:
    done = simulator()(
        ["osascript", "-l", "JavaScript", "-s", "s", "-e", jxa_line(wanted)], b"", 10
    )
    assert done.status == 0, done.stderr
    return done.stdout.decode().strip()


@pytest.mark.parametrize("name", NAMES)
def test_a_property_of_an_object_reads_as_itself(name: str) -> None:
    thing = (*THINGS, ByIndex(3))
    one = event("columns", thing, name)
    assert answer(one) == {"record": [[name, f"{name} 3"]]}
    assert line(one) == f'"{name} 3"'
    value = event("get", (*thing, PropertyStep(name)))
    assert answer(value) == f"{name} 3"
    assert line(value) == f'"{name} 3"'


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ident", ["", "id"])
def test_a_property_of_each_of_a_list_reads_as_itself(name: str, ident: str) -> None:
    rows = answer(event("list", THINGS, name, ident=ident))
    assert [row[2] for row in rows] == [[f"{name} {n}"] for n in range(8)]
    assert f'"{name} 7"' in line(event("list", THINGS, name, ident=ident))
