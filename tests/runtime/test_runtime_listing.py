"""Lists, counts and reads of several objects: what they answer and how many events they cost."""

from collections.abc import Sequence
from typing import Any

import pytest
from defective import CANNOT_FILTER, Defective, no_column
from simulated import TOOLS as SHIPPED

from iac_base.errors import InvalidParameterError, ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.process import Completed
from iac_runtime.gate.gate import Gate
from iac_runtime.tools.catalogue import Catalogue

ENTRIES = [
    {"id": "a", "name": "Alpha", "words": 3, "mood": "happy", "isPrivate": False},
    {"id": "b", "name": "beta", "words": 1, "body": "Rain in May", "isPrivate": True},
    {"id": "c", "name": "Gamma", "words": 3, "creationDate": {"date": "2026-03-01T00:00:00Z"}},
    {"id": "d", "name": "alpha 2", "words": 2, "creationDate": {"date": "2026-01-01T00:00:00Z"}},
]
DIARY: dict[str, Any] = {"entries": ENTRIES, "journals": [{"id": "j", "name": "J", "owner": "me"}]}
FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"name": "ALPHA"}, ["a"]), ({"name": {"!=": "alpha"}}, ["b", "c", "d"]),
    ({"name": {"begins with": "AL"}}, ["a", "d"]), ({"name": {"ends with": "a"}}, ["a", "b", "c"]),
    ({"body": {"contains": "in may"}}, ["b"]), ({"words": {">": 1, "<=": 3}}, ["a", "c", "d"]),
    ({"words": {">=": 3}}, ["a", "c"]), ({"words": {"<": 2}}, ["b"]), ({"is private": True}, ["b"]),
    ({"creation date": {"before": "2026-02-01"}}, ["d"]),
    ({"creation date": {"after": "2026-01-01T00:00:00Z"}}, ["c"]),
    ({"creation date": "2026-03-01T00:00:00Z"}, ["c"]), ({"creation date": None}, ["a", "b"]),
    ({"creation date": {"!=": None}}, ["c", "d"]),
    ({"or": [{"words": 1}, {"words": 2}]}, ["b", "d"]),
    ({"not": [{"words": 3}, {"name": "beta"}]}, ["d"]),
    ({"and": [{"words": 3}, {"name": {"contains": "g"}}]}, ["c"]),
    ({"words": 3, "or": [{"name": "gamma"}, {"name": "beta"}]}, ["c"]),
]  # fmt: skip


def refs(value: list[dict[str, Any]]) -> list[str]:
    return [item["ref"].split('"')[1] for item in value]


@pytest.mark.sweep
@pytest.mark.parametrize(("where", "found"), FILTERS)
@pytest.mark.parametrize("number", [0, -1700, -1708, -1723, -1725, -1726, -1727, -10000])
def test_a_filter_finds_the_same_wherever_it_is_decided(
    catalogue: Catalogue, where: dict[str, Any], found: list[str], number: int
) -> None:
    defect = CANNOT_FILTER.replace("NUMBER", str(number)) if number else ""
    app = Defective(catalogue, defect, DIARY)
    done = app.call("diary_list", element="entry", where=where)
    assert refs(done.value) == found
    assert ("filtered here" in done.note) == bool(number)
    assert done.value[0]["ref"] == f'entries.byId("{found[0]}")'
    counted = app.call("diary_count", element="entry", where=where)
    assert counted.value == len(found)
    assert ("filtered here" in counted.note) == bool(number)


def test_a_few_are_found_once_and_read_through_their_ids(catalogue: Catalogue) -> None:
    app = Defective(catalogue, "", DIARY)
    app.call(
        "diary_list",
        element="entry",
        properties=["name", "body"],
        where={"words": 3},
        order=["-name"],
    )
    assert app.sent == [
        "coregetd entries.whose({_match: [ObjectSpecifier().words, 3]}).id",
        'coregetd entries.byId("a").name', 'coregetd entries.byId("a").body',
        'coregetd entries.byId("c").name', 'coregetd entries.byId("c").body',
    ]  # fmt: skip


def test_many_cost_an_event_a_property_between_their_ids(catalogue: Catalogue) -> None:
    app = Defective(catalogue, "", many(500))
    done = app.call("diary_list", element="entry", properties=["name", "words"], limit=500)
    read = [f"coregetd entries.{name}" for name in ("id", "name", "words", "id")]
    assert app.sent == ["corecnte entries", *read]
    assert len(done.value) == 500
    before = len(app.sent)
    where = {"words": {">": 100}}
    found = app.call(
        "diary_list", element="entry", properties=["name", "words"], where=where, limit=500
    )
    assert len(found.value) == 399
    # The filter is decided once, and the columns are those of the whole collection.
    assert [sent.rpartition(".")[2] for sent in app.sent[before:]] == [
        "id", "id", "name", "words", "id",
    ]  # fmt: skip
    assert sum("whose" in sent for sent in app.sent[before:]) == 1


def many(count: int) -> dict[str, Any]:
    return {"entries": [{"id": f"i{n}", "name": f"N{n}", "words": n} for n in range(count)]}


def test_a_limit_bounds_what_is_read_of_a_long_list(catalogue: Catalogue) -> None:
    app = Defective(catalogue, "", many(1200))
    done = app.call("diary_list", element="entry", properties=["words"], offset=700, limit=2)
    assert [(item["ref"], item["words"]) for item in done.value] == [
        ('entries.byId("i700")', 700),
        ('entries.byId("i701")', 701),
    ]
    assert done.note == '2 of 1200 items; the next: cursor "702:i701"'
    assert app.sent == [
        "corecnte entries", "coregetd entries[700:720].id",
        'coregetd entries.byId("i700").words', 'coregetd entries.byId("i701").words',
    ]  # fmt: skip
    last = app.call("diary_list", element="entry", properties=["words"], offset=1199, limit=20)
    assert [item["words"] for item in last.value] == [1199]
    one = len(app.sent)
    found = app.call("diary_list", element="entry", where={"words": {">": 8}}, limit=1)
    assert found.note.startswith("1 of 1191 items; the next: cursor")
    assert sum("whose" in sent for sent in app.sent[one:]) == 1


def test_where_the_app_cannot_filter_each_property_is_still_read_once(catalogue: Catalogue) -> None:
    app = Defective(catalogue, CANNOT_FILTER.replace("NUMBER", "-1726"), DIARY)
    done = app.call(
        "diary_list",
        element="entry",
        properties=["name", "words"],
        where={"words": 3, "isPrivate": False},
    )
    # One refused, then what the filter names and what was asked for, between the ids.
    read = ("id", "words", "isPrivate", "name", "id")
    assert app.sent[1:] == [f"coregetd entries.{name}" for name in read]
    assert refs_of(done.value) == ['entries.byId("a")', 'entries.byId("c")']
    assert done.note == (
        "the app cannot filter by this, so all 4 items were read and filtered here"
    )
    before = len(app.sent)
    assert app.call("diary_count", element="entry", where={"words": 3}).value == 2
    assert len(app.sent) - before == 2


def refs_of(value: list[dict[str, Any]]) -> list[str]:
    return [item["ref"] for item in value]


SLOW = """
  function slow(real) {
    return function (work, specifier) {
      if (/[.]whose[(]/.test(Automation.getDisplayString(specifier))) HAPPENS;
      return real(work, specifier);
    };
  }
  read = slow(read);
  size = slow(size);
"""


@pytest.mark.parametrize(
    "happens", ["delay(1000)", "throw { errorNumber: -1712, message: 'AppleEvent timed out.' }"]
)
def test_a_filter_that_takes_the_app_too_long_is_decided_here(
    catalogue: Catalogue, happens: str
) -> None:
    app, runs = Defective(catalogue, SLOW.replace("HAPPENS", happens), DIARY), list[object]()

    def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        runs.append(argv)
        return app(argv, stdin, timeout)

    app.gate = Gate(catalogue, Executor(run), "DANGEROUS")
    where = {"words": 3}
    done = app.call("diary_list", element="entry", properties=["name"], where=where)
    assert refs(done.value) == ["a", "c"]
    assert done.note == (
        f"the app took too long to filter, so all {len(DIARY['entries'])} items were read and"
        " filtered here"
    )
    once = 1 + happens.startswith("delay")
    assert len(runs) == once
    # It is not tried again.
    assert app.call("diary_count", element="entry", where=where).value == 2
    assert len(runs) == once + 1


def test_a_list_that_takes_too_long_without_a_filter_is_an_error(catalogue: Catalogue) -> None:
    slow = SLOW.replace("/[.]whose[(]/", "/[.]name$/").replace("HAPPENS", "delay(1000)")
    with pytest.raises(ToolError) as caught:
        Defective(catalogue, slow, DIARY).call("diary_list", element="entry", properties=["name"])
    assert caught.value.type == "TIMEOUT"


def test_a_range_that_takes_the_app_too_long_is_given_up(catalogue: Catalogue) -> None:
    app = Defective(catalogue, "rawRead = function () { throw { errorNumber: -1712 }; };", many(99))
    done = app.call("diary_list", element="entry", properties=["words"], offset=70, limit=5)
    assert [item["words"] for item in done.value] == [70, 71, 72, 73, 74]
    assert app.sent[1:] == [f"coregetd entries.{name}" for name in ("id", "words", "id")]


PATHS = """
  display = (function (real) {
    return function (value) {
      return real(value).replace(/byName[(]"(Old|Deep)"[)]$/, 'byName("Box/$1")');
    };
  })(display);
"""


@pytest.mark.parametrize("count", [0, 20])
@pytest.mark.parametrize("timeout", [30, 300])
def test_what_lies_in_another_is_named_by_the_path_that_the_app_gives(
    count: int, timeout: int
) -> None:
    # The name is the end of the path, and only the path finds the box.
    names = ["Box", "Old", "a/b", *(f"N{number}" for number in range(count))]
    world = {"mailboxes": [{"name": name, "messages": []} for name in names]}
    app = Defective(Catalogue([SHIPPED]), PATHS, world, key="mail")
    done = app.call("mail_list", element="mailbox", timeout=timeout)
    assert refs_of(done.value)[:3] == [f'mailboxes["{name}"]' for name in ("Box", "Box/Old", "a/b")]
    assert [row["name"] for row in done.value] == names


def test_items_filtered_here_are_named_in_the_whole_collection(catalogue: Catalogue) -> None:
    pictures = [{"name": "a"}, {"name": "b"}, {"name": "B "}]
    world = {
        "entries": [{"id": "x", "pictures": pictures}, {"id": "y", "pictures": [{"name": "a"}] * 2}]
    }
    app = Defective(catalogue, CANNOT_FILTER.replace("NUMBER", "-1700"), world)
    named = app.call("diary_list", element="picture", of="entries[0]", where={"name": "b"})
    assert refs_of(named.value) == ['entries[0].pictures["b"]']
    placed = app.call("diary_list", element="picture", of="entries[1]", where={"name": "a"})
    assert refs_of(placed.value) == ["entries[1].pictures[0]", "entries[1].pictures[1]"]
    assert "positions shift" in placed.note


def test_a_path_in_a_filter_is_followed(catalogue: Catalogue) -> None:
    world = {
        "journals": [
            {"id": "j", "name": "J", "entries": [{"id": "a", "name": "A"}]},
            {"id": "k", "name": "K", "entries": [{"id": "b", "name": "B"}]},
        ]
    }
    for defect in ("", CANNOT_FILTER.replace("NUMBER", "-1700")):
        app = Defective(catalogue, defect, world)
        done = app.call("diary_list", element="entry", where={"container.name": "k"})
        assert refs(done.value) == ["b"]


def test_an_error_that_is_none_of_the_filter_is_an_error(catalogue: Catalogue) -> None:
    app = Defective(catalogue, CANNOT_FILTER.replace("NUMBER", "-1743"), DIARY)
    for tool in ("diary_list", "diary_count"):
        with pytest.raises(ToolError) as caught:
            app.call(tool, element="entry", where={"words": 3})
        assert caught.value.number == -1743


@pytest.mark.parametrize(("order", "found"), [
    (["name"], ["a", "d", "b", "c"]), (["-name"], ["c", "b", "d", "a"]),
    (["words", "-name"], ["b", "d", "c", "a"]), (["-words"], ["a", "c", "d", "b"]),
    (["creation date"], ["d", "c", "a", "b"]), (["-Creation Date"], ["c", "d", "a", "b"]),
])  # fmt: skip
def test_a_list_is_sorted_by_properties(
    catalogue: Catalogue, order: list[str], found: list[str]
) -> None:
    app = Defective(catalogue, "", DIARY)
    assert refs(app.call("diary_list", element="entry", order=order).value) == found
    page = app.call("diary_list", element="entry", order=order, offset=1, limit=2)
    assert refs(page.value) == found[1:3]
    assert page.note == f'2 of 4 items; the next: cursor "3:{refs(page.value)[-1]}"'


def test_an_order_that_cannot_be_is_refused(catalogue: Catalogue) -> None:
    app = Defective(catalogue, no_column("words"), DIARY)
    with pytest.raises(InvalidParameterError, match="Nearest: name"):
        app.call("diary_list", element="entry", order=["-nam"])
    assert app.sent == []
    with pytest.raises(ToolError) as caught:
        app.call("diary_list", element="entry", properties=["name"], order=["words"])
    assert "sorted by words" in caught.value.original


def test_a_column_that_cannot_be_read_is_missing_and_said_so(catalogue: Catalogue) -> None:
    app = Defective(catalogue, no_column("name"), DIARY)
    done = app.call("diary_list", element="entry", properties=["name", "words"], limit=2)
    assert [(item["name"], item["words"]) for item in done.value] == [(None, 3), (None, 1)]
    assert '"name" could not be read (-10000)' in done.note
    # How many there are, the ids, a column that fails, of two items too, the other, the ids.
    assert len(app.sent) == 7


def test_a_page_of_a_long_list_is_read_as_a_range(catalogue: Catalogue) -> None:
    app = Defective(catalogue, "", many(3000))
    asked = {"element": "entry", "properties": ["name", "words"]}
    done = app.call("diary_list", **asked)
    assert [item["words"] for item in done.value] == [*range(50)]
    assert done.note == '50 of 3000 items; the next: cursor "50:i49"'
    span = [f"coregetd entries[0:50].{name}" for name in ("id", "name", "words", "id")]
    assert app.sent == ["corecnte entries", *span]
    # An app without ranges is read whole.
    no_range = "rawRead = function () { throw { errorNumber: -1728, message: 'no' }; };"
    other = Defective(catalogue, no_range, many(3000))
    assert other.call("diary_list", **asked).value == done.value
    assert other.sent[1:] == [f"coregetd entries.{name}" for name in ("id", "name", "words", "id")]


def test_a_range_that_moved_is_read_again(catalogue: Catalogue) -> None:
    moving = """
      var before = 4;
      rawRead = (function (real) {
        return function (work, object) {
          before -= 1;
          if (before === 0) Application('com.example.Diary').entries[0].delete();
          return real(work, object);
        };
      })(rawRead);
    """
    app = Defective(catalogue, moving, many(100))
    done = app.call("diary_list", element="entry", properties=["name", "words"], limit=30)
    rows = [(item["ref"], item["name"], item["words"]) for item in done.value]
    assert rows == [(f'entries.byId("i{n}")', f"N{n}", n) for n in range(1, 31)]
    assert done.note.startswith("30 of 99 items")


def test_what_a_filter_finds_together_is_read_as_a_range(catalogue: Catalogue) -> None:
    app = Defective(catalogue, "", many(3000))
    asked = {"element": "entry", "properties": ["name", "words"]}
    found = app.call("diary_list", **asked, where={"words": {">=": 2900}}, limit=30)
    assert [item["words"] for item in found.value] == [*range(2900, 2930)]
    assert app.sent[1:] == [
        "coregetd entries.id",
        *(f"coregetd entries[2900:2930].{name}" for name in ("name", "words", "id")),
    ]


def test_the_cheapest_way_is_taken(catalogue: Catalogue) -> None:
    costs = "COSTS.%s;"
    asked = {"element": "entry", "properties": ["name"], "where": {"words": {"<": 30}}}
    filtered = Defective(catalogue, costs % "whose = 9000", many(300))
    columns = Defective(catalogue, costs % "column = 9000", many(300))
    heavy = Defective(catalogue, costs % "heavy = {name: 900, words: 900}", many(300))
    told = [app.call("diary_list", **asked).value for app in (filtered, columns, heavy)]
    assert told[0] == told[1] == told[2]
    # The app's filter is dear: what it names is read, and compared here.
    assert filtered.sent[:2] == ["coregetd entries.id", "coregetd entries.words"]
    assert not any("whose" in sent for sent in filtered.sent)
    # Columns are dear: of the found ones alone, where there is time for all at all.
    assert all("whose" in sent for sent in columns.sent[1:])
    # Of what is dear itself no more is read than is asked for.
    assert sum(sent.endswith(".name") for sent in heavy.sent) == 30


def test_what_takes_too_long_is_looked_through_in_part(catalogue: Catalogue) -> None:
    slow = "COSTS.column = COSTS.whose = 60000; measure = function () {};"
    app = Defective(catalogue, slow, many(400))
    asked = {"element": "entry", "properties": ["name"]}
    done = app.call("diary_list", **asked, where={"words": {">": 3}}, limit=2)
    assert [item["name"] for item in done.value] == ["N4", "N5"]
    assert "to look through all 400 items would take too long: only the first 265 were" in done.note
    assert done.outcome is not None
    assert done.outcome.state == "partial"
    # Of all of these only what the filter names is read.
    assert [sent for sent in app.sent if "[0:265]" in sent] == ["coregetd entries[0:265].words"]
    last = app.call("diary_list", **asked, order=["-words"], limit=1)
    assert [item["name"] for item in last.value] == ["N98"]
    assert "only the first 99 were" in last.note


def test_one_bad_item_does_not_cost_a_column(catalogue: Catalogue) -> None:
    one_bad = """
      read = (function (real) {
        return function (work, specifier) {
          if (/(entries|i2"[)])[.]name$/.test(Automation.getDisplayString(specifier))) {
            throw { errorNumber: -10000, message: 'bad' };
          }
          return real(work, specifier);
        };
      })(read);
    """
    done = Defective(catalogue, one_bad, many(9)).call(
        "diary_list", element="entry", properties=["name", "words"]
    )
    assert [item["name"] for item in done.value] == [None if n == 2 else f"N{n}" for n in range(9)]
    assert done.note == '"name" could not be read (-10000)'


def test_several_objects_answer_at_once(catalogue: Catalogue) -> None:
    journals = [
        {"id": f"j{j}", "name": f"J{j}", "entries": [
            {"id": f"e{j}{n}", "name": f"E{n}", "words": 10 * n + j} for n in range(4)
        ]}
        for j in range(3)
    ]  # fmt: skip
    asked = {"element": "entry", "of": "journals", "properties": ["words"], "order": ["-words"]}
    app = Defective(catalogue, "", {"journals": journals})
    done = app.call("diary_list", **asked, where={"words": {">": 9}}, limit=4)
    assert [(item["ref"], item["words"]) for item in done.value] == [
        ('journals.byId("j2").entries.byId("e23")', 32),
        ('journals.byId("j1").entries.byId("e13")', 31),
        ('journals.byId("j0").entries.byId("e03")', 30),
        ('journals.byId("j2").entries.byId("e22")', 22),
    ]
    assert done.note == '4 of 9 items; the next: cursor "4:e22"'
    assert len(app.sent) == 6
    # An app that does not answer a list for each is asked for each.
    apart = Defective(
        catalogue,
        "flat = function () { throw { errorNumber: -1700, message: 'no' }; };",
        {"journals": journals},
    )
    each = apart.call("diary_list", **asked, where={"words": {">": 9}}, limit=4)
    assert (each.value, each.note) == (
        done.value, 'the first 4 of more items; the next: cursor "4:"'
    )  # fmt: skip
    for page in (app, apart):
        later = [
            page.call("diary_list", **asked, where={"words": {">": 9}}, limit=4, offset=offset)
            for offset in (4, 8)
        ]
        assert [row["words"] for one in later for row in one.value] == [21, 20, 12, 11, 10]


def test_no_column_and_no_id_still_gives_the_items(catalogue: Catalogue) -> None:
    world = {"entries": [{"id": "x", "pictures": [{"name": "a"}, {"name": "b"}]}]}
    app = Defective(catalogue, no_column("name"), world)
    done = app.call("diary_list", element="picture", of="entries[0]")
    assert done.value == [
        {"ref": "entries[0].pictures[0]", "name": None},
        {"ref": "entries[0].pictures[1]", "name": None},
    ]


def test_a_denied_permission_is_not_tried_again(catalogue: Catalogue) -> None:
    app = Defective(catalogue, no_column("name", -1743), DIARY)
    with pytest.raises(ToolError) as caught:
        app.call("diary_list", element="entry")
    assert caught.value.number == -1743
    assert app.sent[1:] == ["coregetd entries.id", 'coregetd entries.byId("a").name']


def test_what_is_not_there_costs_two_events_and_says_how_to_look(catalogue: Catalogue) -> None:
    app = Defective(catalogue)
    with pytest.raises(ToolError) as caught:
        app.call("diary_list", element="entry", of='journals["No"]')
    assert caught.value.type == "NOT_FOUND"
    assert 'journals["No"]' in caught.value.message
    assert (
        'List them again with diary_list {"element": "journal", "limit": 20}'
        in caught.value.suggestion
    )
    # The first counts what bears the name.
    assert len(app.sent) == 2


def test_the_same_object_listed_twice_is_shown_once(catalogue: Catalogue) -> None:
    twice = [{"id": "t", "name": "T"}, {"id": "u", "name": "U"}, {"id": "t", "name": "T"}]
    done = Defective(catalogue, "", {"entries": twice}).call("diary_list", element="entry")
    assert refs(done.value) == ["t", "u"]
    assert done.note == "the app listed 1 of the items more than once; each is shown once"


def test_ids_that_name_different_objects_are_not_used(catalogue: Catalogue) -> None:
    clash = [{"id": "t", "name": "T"}, {"id": "t", "name": "U"}]
    done = Defective(catalogue, "", {"entries": clash}).call("diary_list", element="entry")
    assert refs_of(done.value) == ['entries["T"]', 'entries["U"]']


def test_nothing_matched_nothing_there_and_failed_are_three_answers(catalogue: Catalogue) -> None:
    app = Defective(catalogue)
    nothing = app.call("diary_list", element="entry", where={"name": "nobody"})
    assert (nothing.value, nothing.note) == ([], "nothing matched the filter")
    empty = app.call("diary_list", element="entry", of="journals[1]")
    assert (empty.value, empty.note) == ([], "there is none")
    beyond = app.call("diary_list", element="entry", of="journals[0]", offset=7)
    assert (beyond.value, beyond.note) == ([], "there are 2 items, none from offset 7 on")
    with pytest.raises(ToolError):
        app.call("diary_list", element="entry", of="journals[9]")


def test_several_objects_are_read_in_one_call_each_with_its_own_fate(catalogue: Catalogue) -> None:
    app = Defective(catalogue)
    targets = ["journals[0].name", 'journals["No"]', "today", "journals.name"]
    done = app.call("diary_get", target=targets)
    assert [row["target"] for row in done.value] == targets
    assert done.value[0]["value"] == "Work"
    assert done.value[1]["error"]["type"] == "NOT_FOUND"
    assert 'journals["No"]' in done.value[1]["error"]["message"]
    assert done.value[2]["value"]["name"] == "Work"
    assert done.value[3]["value"] == ["Work", "Home"]
    picked = app.call("diary_get", target=["today", "journals[1]"], properties=["name"])
    assert [row["value"] for row in picked.value] == [{"name": "Work"}, {"name": "Home"}]


@pytest.mark.parametrize("target", [[], ["today"] * 101, ["entrys"]])
def test_a_wrong_list_of_targets_sends_nothing(catalogue: Catalogue, target: list[str]) -> None:
    app = Defective(catalogue)
    with pytest.raises(InvalidParameterError):
        app.call("diary_get", target=target)
    assert app.sent == []


@pytest.mark.parametrize(("tool", "arguments", "event", "code", "sent"), [
    ("diary_get", {"target": "today.name", "as": "text"}, "coregetd", "rtyp", "text"),
    ("diary_get", {"target": "today", "properties": ["name"], "as": "text"}, "coregetd", "rtyp",
     "text"),
    ("diary_get", {"target": "today", "as": "text"}, "coregetd", "rtyp", "text"),
    ("diary_count", {"element": "entry", "with hidden": True}, "corecnte", "hidn", True),
    ("diary_set", {"target": "today", "properties": {"name": "N"}, "quietly": True}, "coresetd",
     "quie", True),
    ("diary_set", {"target": "today", "properties": {"name": "N", "owner": "o"}, "quietly": False},
     "coresetd", "quie", False),
])  # fmt: skip
def test_parameters_that_an_app_adds_to_a_standard_verb_go_along(
    catalogue: Catalogue, tool: str, arguments: dict[str, Any], event: str, code: str, sent: Any
) -> None:
    app = Defective(catalogue)
    done = app.call(tool, **arguments, confirm=False)
    assert app.simulator.events
    for found in app.simulator.events:
        assert found.event == event
        assert found.params[code] == sent
    shown = Defective(catalogue)
    finished = shown.simulator(["osascript", "-l", "JavaScript", "-e", done.line], b"", 10)
    assert finished.status == 0, finished.stderr
    assert shown.simulator.events == app.simulator.events
