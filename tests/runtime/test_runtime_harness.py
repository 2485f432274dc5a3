"""The harness where apps answer oddly: in a world of its own, through the simulator."""

from collections.abc import Sequence
from typing import Any

import pytest
from diary_world import WORLD

from iac_runtime.catalogue import Catalogue
from iac_runtime.errors import ToolError
from iac_runtime.execution.appleerrors import KNOWN
from iac_runtime.execution.executor import HARNESS, Executor
from iac_runtime.execution.process import Completed
from iac_runtime.gate import Call, Done, Gate
from iac_simulator import Simulator


class Patched:
    """The simulator with a few lines before the harness: an app with a defect."""

    def __init__(self, catalogue: Catalogue, before: str, world: dict[str, Any]) -> None:
        tables = [catalogue.tables(app) for app in catalogue.apps.values()]
        self.simulator = Simulator(tables, {"diary": world})
        self.script = HARNESS.read_text(encoding="utf-8").replace(
            "function run() {", "function run() {" + before, 1
        )

    def __call__(self, argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        return self.simulator([*argv[:3], "-e", self.script], stdin, timeout)


def call(catalogue: Catalogue, before: str, tool: str, **arguments: Any) -> Done:
    runner = Patched(catalogue, before, WORLD)
    outcome = Gate(catalogue, Executor(runner), "DANGEROUS").call(Call(tool, arguments))
    assert isinstance(outcome, Done)
    return outcome


BROKEN_COLUMN = """
  wholeColumn = (function (real) {
    return function (work, items, name) {
      var odd = { at: function (i) { return items.at(i); } };
      Object.defineProperty(odd, 'length', { get: function () { return items.length; } });
      odd[name] = function () { throw { errorNumber: -10000, message: 'no batch' }; };
      return real(work, odd, name);
    };
  })(wholeColumn);
"""


def test_items_are_read_one_by_one_where_an_app_gives_no_column(catalogue: Catalogue) -> None:
    done = call(catalogue, BROKEN_COLUMN, "diary_list", element="entry", of="journals[0]")
    assert [item["name"] for item in done.value] == ["Monday", "Tuesday"]


def test_what_could_not_be_read_is_said_and_not_passed_off_as_empty(catalogue: Catalogue) -> None:
    before = BROKEN_COLUMN.replace(
        "at: function (i) { return items.at(i); }",
        "at: function (i) { return i ? items.at(i) : "
        "{ name: function () { throw {errorNumber: -1728}; }, "
        "id: function () { return 'e1'; } }; }",
    )
    done = call(catalogue, before, "diary_list", element="entry", of="journals[0]")
    assert [item["name"] for item in done.value] == [None, "Tuesday"]
    assert done.note == "name could not be read of 1 of 2 items"


def test_a_denied_permission_is_not_tried_item_by_item(catalogue: Catalogue) -> None:
    before = BROKEN_COLUMN.replace("-10000", "-1743")
    with pytest.raises(ToolError) as caught:
        call(catalogue, before, "diary_list", element="entry", of="journals[0]")
    assert caught.value.number == -1743


def test_properties_are_read_one_by_one_where_an_app_cannot_give_all(catalogue: Catalogue) -> None:
    before = """
      build = (function (real) {
        return function (app, steps) {
          var target = real(app, steps);
          return {
            properties: function () { throw { errorNumber: -10000, message: 'x' }; },
            name: function () { return target.name(); },
            id: function () { return target.id(); },
            owner: function () { throw { errorNumber: -1728, message: 'x' }; },
          };
        };
      })(build);
    """
    done = call(catalogue, before, "diary_get", target="journals[0]")
    assert done.value == {"name": "Work", "id": "j1"}
    assert "1 of 3 properties could not be read" in done.note


def test_an_object_that_is_not_there_is_not_an_empty_one(catalogue: Catalogue) -> None:
    with pytest.raises(ToolError) as caught:
        call(catalogue, "", "diary_get", target='journals["No"]')
    assert caught.value.type == "NOT_FOUND"


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("undefined", None),
        ("0/0", None),
        ("'x'", "x"),
        ("[1, [true, null]]", [1, [True, None]]),
        ("new Date(0)", "1970-01-01T00:00:00.000Z"),
        ("new Date(NaN)", None),
        ("Path('/tmp/x')", "/tmp/x"),
        ("app.journals[0]", 'journals.byId("j1")'),
        ("[app.journals[0], app.today]", ["journals[0]", "today"]),
        ("app.journals.whose({name: 'Work'})[0]", 'journals.byId("j1")'),
        ("app", "application"),
        ("({pageCount: 3, other: {ref: 'x'}})", {"page count": 3, "other": {"ref": "x"}}),
    ],
)
def test_answers_of_every_kind_arrive_as_data(
    catalogue: Catalogue, answer: str, value: Any
) -> None:
    before = (
        "command = function (work, request) { var app = work.app; "
        f"return single(work, request, {answer}); }};"
    )
    assert call(catalogue, before, "diary_remind").value == value


def test_depth_and_length_have_limits_that_are_told(catalogue: Catalogue) -> None:
    before = """
      MAX_ITEMS = 30; MAX_TEXT = 5;
      command = function (work) {
        var deep = []; for (var i = 0; i < 20; i++) deep = [deep];
        var many = ['123456789', deep];
        while (many.length < 40) many.push(1);
        return plain(work, many, 0);
      };
    """
    done = call(catalogue, before, "diary_remind")
    assert done.value[0] == "12345"
    assert "a text was cut at 5 characters" in done.note
    assert "deeper than 12 levels" in done.note
    assert "of 40 items were read" in done.note


def test_no_argument_becomes_source_text(catalogue: Catalogue) -> None:
    nasty = '"); app.quit(); ("</iac:\'\\u2028\n${x}'
    runner = Patched(catalogue, "", WORLD)
    gate = Gate(catalogue, Executor(runner), "DANGEROUS")
    made = gate.call(Call("diary_make", {"element": "entry", "properties": {"name": nasty}}))
    assert isinstance(made, Done)
    read = gate.call(Call("diary_get", {"target": made.value, "properties": ["name"]}))
    assert isinstance(read, Done)
    assert read.value == {"name": nasty}
    assert "aevtquit" not in {event.event for event in runner.simulator.events}


def test_fatal_numbers_of_the_harness_are_known() -> None:
    text = HARNESS.read_text(encoding="utf-8")
    listed = text.partition("FATAL = [")[2].partition("]")[0]
    assert {int(number) for number in listed.split(",")} <= KNOWN.keys()
