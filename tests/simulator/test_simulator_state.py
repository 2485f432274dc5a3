"""State: what a world may hold, how it is loaded and saved, what is made up without one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_diary import ADDITION, DIARY, NOW, WORLD, Script

from iac_runtime.tools.tables import Tables
from iac_simulator import Simulator, StateError
from iac_simulator.state import check_world

D = 'const d = Application("Diary"); '


@pytest.mark.parametrize(("world", "said"), [
    ({"jornals": []},
     'diary: "jornals" is not a property or element of application. Nearest: journals,'
     " defaultJournal."),
    ({"journals": [{"entries": [{"bodi": "x"}]}]},
     'diary: journals[0].entries[0]: "bodi" is not a property or element of entry. '
     "Nearest: body, mood."),
    ({"journals": {}}, "diary: journals: a collection must be a list of objects."),
    ({"journals": [{"ref": "x"}]}, "diary: journals[0]: an element must be an object."),
    ({"journals": [{"@class": "jurnal"}]},
     'diary: journals[0]: "jurnal" is no class. Nearest: journal.'),
    ({"journals": [{"@result": 1}]},
     'diary: journals[0]: "@result" is not a key of an object.'
     " Known: @class, @content, @text"),
    ({"@resluts": {}}, 'diary: "@resluts" is not a key of a world. Nearest: @results.'),
    ({"@errors": 3}, "diary: @errors must be a table of event codes."),
    ([], "diary: the world of an app must be a table."),
    ({"defaultJournal": {"ref": "a b"}},
     "diary: defaultJournal: 'a b' is not a reference to an object in a world."),
    ({"defaultJournal": {"ref": '["q'}},
     'diary: defaultJournal: A quote is not closed in the reference "["q" at character 2. '
     'A reference looks like windows[0].tabs["Docs"].'),
    ({"defaultJournal": {"ref": 3}}, "diary: defaultJournal: a ref must be text."),
    ({"entries": [{"dueDate": {"date": "soon"}}]},
     "diary: entries[0].dueDate: 'soon' is not a date; write 2026-01-31T09:00:00Z."),
    ({"journals": [{"size": {"record": 1}}]}, "diary: journals[0].size: a record must be a table."),
    ({"defaultJournal": {"nane": "x"}},
     'diary: defaultJournal: "nane" is not a property or element of journal. Nearest: name.'),
])  # fmt: skip
def test_a_wrong_world_gives_one_line(world: Any, said: str) -> None:
    with pytest.raises(StateError) as caught:
        Simulator([DIARY], {"diary": world})
    assert str(caught.value) == said


@pytest.mark.parametrize(("state", "said"), [
    ({"dairy": {}}, 'dairy: there is no app with this key; give the world an "@name" to add one.'),
    ({"@now": "soon"}, "@now: 'soon' is not a date; write 2026-01-31T09:00:00Z."),
])  # fmt: skip
def test_a_wrong_state_gives_one_line(state: Any, said: str) -> None:
    with pytest.raises(StateError) as caught:
        Simulator([DIARY], state)
    assert str(caught.value) == said


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["ref", "date", "record", "journals", "name", "@class", "entries"])
            | st.text(max_size=6),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(["journals", "defaultJournal", "selection", "@results"]), json_values
    )
)
def test_any_world_is_taken_or_refused_in_one_line(world: dict[str, Any]) -> None:
    try:
        check_world(DIARY, world)
    except StateError as error:
        assert len(str(error).splitlines()) == 1
        return
    script = Script(Simulator([DIARY], {"diary": world}))
    done = script.run(
        D + "for (const read of [() => d.journals.entries.name(), () => d.selection(),"
        "() => d.properties(),"
        "() => d.entries.length]) { try { read() } catch (e) { if (!e.errorNumber) throw e } } 1"
    )
    assert done.stdout == b"1\n"


def test_an_app_that_only_the_state_knows_has_a_name_and_no_terms() -> None:
    script = Script(Simulator([], {"mystery": {"@name": "Mystery", "@dictionary": False}}))
    assert script.value("Application('Mystery').name()") == "Mystery"
    assert script.error("Application('Mystery').windows()") == -2700


def test_a_running_flag_is_seen_without_starting_the_app() -> None:
    script = Script(Simulator([DIARY], {"diary": {"@running": False}}))
    assert script.value(D + "[d.running(), d.id(), d.running()]") == [
        False,
        "com.example.Diary",
        False,
    ]
    assert script.simulator.events == []
    assert script.value(D + "d.launch(); d.running()") is True


def test_a_shipped_world_that_does_not_fit_gives_way() -> None:
    notes = Tables("notes", DIARY.app, DIARY.classes, DIARY.enums, DIARY.records, DIARY.tools)
    script = Script(Simulator([notes]))
    assert script.value(D + "d.journals.name()") == ["Journal 1", "Journal 2"]


def test_an_app_without_a_world_gets_plausible_objects() -> None:
    first, second = (Script(Simulator([DIARY], {})) for _ in range(2))
    source = D + "d.journals().map(j => [j.id(), j.name(), j.entries.name()])"
    assert first.value(source) == [
        ["journal-1", "Journal 1", ["Entry 1.1"]],
        ["journal-2", "Journal 2", ["Entry 2.1"]],
    ]
    assert first.shown(D + "d.properties()") == second.shown(D + "d.properties()")
    assert first.simulator.state() == {}
    first.run(D + "d.journals[0].name = 'Mine'")
    assert first.simulator.state()["diary"]["journals"][0]["name"] == "Mine"


@pytest.mark.parametrize("name", ["state.json", "state.toml"])
def test_a_state_can_be_saved_and_loaded(script: Script, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    script.run(D + "d.entries[0].body = 'a\\u007f\"é\\n'; d.entries[0].rating = 2.5")
    script.simulator.save(path)
    other = Script(Simulator([DIARY, ADDITION], {}))
    other.simulator.load(path)
    assert other.simulator.state() == script.simulator.state()
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert other.value(D + "d.entries[0].body()") == 'a\x7f"é\n'


def test_toml_dates_are_dates(tmp_path: Path) -> None:
    path = tmp_path / "state.toml"
    path.write_text(
        '"@now" = 2026-03-02T09:30:00Z\n[[diary.entries]]\nname = "x"\ndueDate = 2026-01-05\n',
        "utf-8",
    )
    simulator = Simulator([DIARY], {})
    simulator.load(path)
    script = Script(simulator)
    assert script.value(D + "d.entries[0].dueDate().toISOString()") == "2026-01-05T00:00:00.000Z"
    assert script.value("new Date().toISOString()") == NOW


@pytest.mark.parametrize(("name", "content", "said"), [
    ("a.json", "{", "not a state file"), ("a.json", "[]", "the state must be a table of apps"),
    ("a.toml", "= 3", "not a state file"), ("a.json", None, "No such file or directory"),
])  # fmt: skip
def test_a_bad_state_file_names_itself(
    tmp_path: Path, name: str, content: str | None, said: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(StateError, match=said) as caught:
        Simulator([DIARY], {}).load(path)
    assert str(path) in str(caught.value)


def test_a_state_that_toml_cannot_hold_leaves_no_file(tmp_path: Path) -> None:
    simulator = Simulator([DIARY], {"diary": {"@results": {"DIARfind": [None]}}})
    with pytest.raises(StateError, match=r"save this state as \.json"):
        simulator.save(tmp_path / "state.toml")
    with pytest.raises(OSError, match="No such file"):
        simulator.save(tmp_path / "none" / "state.json")
    assert list(tmp_path.iterdir()) == []


def test_the_same_script_and_state_give_the_same_bytes() -> None:
    def run() -> tuple[bytes, str]:
        script = Script(Simulator([DIARY], {"diary": WORLD, "@now": NOW}))
        out = script.run(D + "d.make({new: 'entry'}).properties()", "-s", "s").stdout
        return out, json.dumps(script.simulator.state())

    assert run() == run()


def test_the_world_of_the_caller_is_left_alone(
    with_world: Callable[[dict[str, Any]], Script],
) -> None:
    world: dict[str, Any] = {"journals": [{"id": "a", "name": "x"}]}
    script = with_world(world)
    script.run(D + "d.journals[0].name = 'y'")
    script.simulator.state()["diary"]["journals"].clear()
    assert world == {"journals": [{"id": "a", "name": "x"}]}
    assert script.value(D + "d.journals[0].name()") == "y"


# Commands that change a world, and what an app refuses.


Build = Callable[[dict[str, Any]], Script]


def diary(script: Script) -> dict[str, Any]:
    world: dict[str, Any] = script.simulator.state()["diary"]
    return world


@pytest.mark.parametrize("making", [
    'const e = d.Entry({name: "New"}); d.journals[1].entries.push(e); e.name()',
    'const e = new d.Entry(); e.name = "New"; d.journals[1].entries.push(e); e.name()',
    'd.make({new: "entry", at: d.journals[1], withProperties: {name: "New"}}).name()',
    'd.make({new: "entry", at: d.journals[1].entries, withProperties: {name: "New"}}).name()',
    ("const at = d.journals[1].entries.end; "
     'd.make({new: "entry", at, withProperties: {name: "New"}}).name()'),
    'd.Entry({name: "New"}).make().name()',
    'd.make({new: "entry", withProperties: {name: "New"}}).name()',
])  # fmt: skip
def test_every_form_of_making_adds_the_object(script: Script, making: str) -> None:
    assert script.value(D + making) == "New"
    [made] = diary(script)["journals"][1]["entries"]
    assert made == {"name": "New", "id": 3, "creationDate": {"date": "2026-03-02T09:30:00.000Z"}}
    assert script.value(D + "d.entries.name()") == ["Monday", "Tuesday", "New"]


def test_what_is_pushed_stands_for_the_new_object_by_id(script: Script) -> None:
    pushed = D + "const e = d.Entry({}); d.journals[1].entries.push(e); e"
    assert script.shown(pushed) == 'Application("Diary").journals.byId("j-2").entries.byId(3)'


def test_an_id_is_never_given_twice(script: Script) -> None:
    make = 'd.make({new: "entry"}).id()'
    assert script.value(f"{D}const a = {make}; d.entries.byId(a).delete(); [a, {make}]") == [3, 4]
    assert script.value(D + 'd.make({new: "journal"}).id()') == "journal-5"


def test_a_subclass_goes_into_the_list_of_its_superclass(script: Script) -> None:
    source = D + 'd.make({new: "long entry", at: d.journals[1]}).class()'
    assert script.value(source) == "longEntry"
    assert diary(script)["journals"][1]["entries"][0]["@class"] == "long entry"
    at_end = (
        D + "d.journals[1].longEntries.push(d.LongEntry({name: 'x'})); d.journals[1].entries.length"
    )
    assert script.value(at_end) == 2


def test_an_object_can_be_put_first(script: Script) -> None:
    source = D + 'd.make({new: "journal", at: d.journals.beginning, withProperties: {name: "A"}});'
    assert script.value(source + "d.journals.name()") == ["A", "Work", "Home"]


def test_delete_removes(script: Script) -> None:
    assert script.value(D + "d.delete(d.journals[0].entries[0]); d.entries.name()") == ["Tuesday"]
    assert script.value(D + "d.entries.whose({name: 'Tuesday'}).delete(); d.entries.length") == 0
    assert script.error(D + "d.delete(d.defaultJournal.name)") == -1708


def test_what_an_app_with_a_trash_deletes_can_be_found_there(shipped: Any) -> None:
    from iac_simulator import Simulator

    script = Script(Simulator([tables for tables in shipped if tables.key == "finder"]))
    f = 'const f = Application("Finder"); '
    assert script.value(f + "f.desktop.files[0].delete(); f.trash.items.name()") == ["Todo.txt"]
    assert script.value(f + "f.trash.files[0].delete(); f.trash.items.length") == 0


def test_move_and_duplicate(script: Script) -> None:
    moved = D + "d.move(d.journals[0].entries[0], {to: d.journals[1]}); d.journals.entries.name()"
    assert script.value(moved) == [["Tuesday"], ["Monday"]]
    copied = D + "d.journals[1].entries[0].duplicate(); d.journals[1].entries.name()"
    assert script.value(copied) == ["Monday", "Monday copy"]
    there = D + "d.duplicate(d.journals[1].entries[0], {to: d.journals[0].entries.beginning}).id()"
    assert script.value(there) == 4
    assert script.error(D + "d.move(d.entries[0])") == -1715
    assert script.error(D + "d.move(d.entries[0], {to: d.documents[0]})") == -10024
    assert script.error(D + "d.duplicate(d)") == -1708


def test_documents_open_save_and_close(script: Script) -> None:
    opened = D + "d.open([Path('/a/one.txt'), Path('/a/two.txt')]); d.documents.name()"
    # The last one opened is in front, as in every app that has windows.
    assert script.value(opened) == ["two.txt", "one.txt", "draft"]
    saved = D + "const x = d.documents[2]; x.save({in: Path('/b/final.txt')});"
    assert script.value(saved + "[x.name(), x.path(), x.modified()]") == [
        "final.txt",
        "/b/final.txt",
        False,
    ]
    assert script.value(D + "d.documents.close(); d.documents.length") == 0
    assert script.value(D + "d.journals[0].open() === undefined") is True


def test_quit_ends_the_app_and_the_next_event_starts_it(script: Script) -> None:
    assert script.value(D + "d.quit({saving: 'no'}); d.running()") is False
    assert diary(script)["@running"] is False
    assert script.value(D + "d.name(); d.running()") is True


@pytest.mark.parametrize(("name", "value"), [
    ("name", '"x"'), ("name", "7"), ("rating", "3"), ("done", "true"), ("mood", '"very good"'),
    ("tags", '["a", "b"]'), ("dueDate", "null"), ("picture", 'Path("/p")'),
])  # fmt: skip
def test_a_fitting_value_is_set(script: Script, name: str, value: str) -> None:
    source = f"{D}d.entries[0].{name} = {value}; String(d.entries[0].{name}()) === String({value})"
    assert script.value(source) is True


@pytest.mark.parametrize(("target", "value", "number"), [
    ("entries[0].rating", '"many"', -1700), ("entries[0].done", "1", -1700),
    ("entries[0].mood", '"so so"', -10023), ("entries[0].tags", '"a"', -1700),
    ("entries[0].dueDate", '"tomorrow"', -1700), ("entries[0].name", "undefined", -1700),
    ("entries[0].id", "4", -10003), ("entries[0].bodi", '"x"', -10006),
    ("journals[0]", '"x"', -10006), ("journals[0].size", "4", -1700),
    ("defaultJournal", '"Work"', -1700), ("journals[9].name", '"x"', -1719),
])  # fmt: skip
def test_a_value_that_does_not_fit_is_refused(
    script: Script, target: str, value: str, number: int
) -> None:
    before = diary(script)
    assert script.error(f"{D}d.{target} = {value}") == number
    assert diary(script) == before


@pytest.mark.parametrize(("call", "number"), [
    ('d.make({new: "nonsense"})', -10024), ("d.make({})", -1715),
    ('d.make({new: "paragraph"})', -10024), ('d.make({new: "entry", withProperties: 3})', -1700),
    ('d.make({new: "entry", withProperties: {bodi: "x"}})', -10006),
    ('d.make({new: "entry", withProperties: {id: 9}})', -10003),
    ('d.make({new: "entry", at: "x"})', -1700),
    ('d.make({new: "entry", at: Path("/nowhere")})', -43),
    ('d.make({new: "entry", at: d.journals[0].name.end})', -1700),
    ('d.make({new: "entry", at: d.journals[0].name})', -1700), ("d.Entry(3).make()", -1700),
    ("d.entries.push(d.journals[0])", -1700), ('d.get("x")', -1700), ('d.set("x", {to: 1})', -1700),
    ("d.count()", -1701),
])  # fmt: skip
def test_what_cannot_be_made_is_refused(script: Script, call: str, number: int) -> None:
    assert script.error(D + call) == number


def test_every_object_of_a_filter_is_set(script: Script) -> None:
    assert script.value(
        D + "d.entries.whose({rating: {_greaterThan: 0}}).rating = 9; d.entries.rating()"
    ) == [9, 9]


def test_a_reference_as_a_value_is_kept(script: Script) -> None:
    source = D + "d.defaultJournal = d.journals[0]; d.defaultJournal().name()"
    assert script.value(source) == "Work"
    assert diary(script)["defaultJournal"] == {"ref": "journals[0]"}


def test_parts_of_a_text_carry_their_own_properties(script: Script) -> None:
    text = D + "const t = d.entries[0].text; t.paragraphs[1].size = 12; "
    assert script.value(text + "[t(), t.paragraphs.size(), t.paragraphs.length]") == [
        "One\nTwo words",
        [0, 12],
        2,
    ]
    assert script.value(D + "d.entries[0].text.paragraphs[0].characters()") == ["O", "n", "e"]
    pushed = D + "const t = d.entries[0].text; t.paragraphs.push(d.Paragraph({}, 'End')); t()"
    assert script.value(pushed) == "One\nTwo words\nEnd"
    assert script.value(D + "d.entries[0].text = 'x'; d.entries[0].text()") == "x"


def test_faults_and_answers_of_a_world(with_world: Build) -> None:
    script = with_world(
        {
            "@errors": {"coregetd": -1743, "DIARrefr": -609},
            "@results": {"DIARfind": [{"ref": "journals[0]"}], "HELPaskq": {"record": {"a": 1}}},
            "journals": [{"id": "j", "name": "J"}],
        }
    )
    denied = script.run(D + "d.name()")
    assert (
        denied.stderr
        == b"execution error: Error: Not authorized to send Apple events to Diary. (-1743)\n"
    )
    assert script.error(D + "d.refresh()") == -609
    assert script.shown(D + "d.find('x')") == '[Application("Diary").journals.byId("j")]'
    asked = D + "d.includeStandardAdditions = true; d.askQuestion('x')"
    assert script.value(asked) == {"a": 1}


def test_an_unlisted_error_number_has_a_text(with_world: Build) -> None:
    script = with_world({"@errors": {"coregetd": -31337}})
    assert (
        script.run(D + "d.name()").stderr
        == b"execution error: Error: Error: An error occurred. (-31337)\n"
    )


def test_an_app_whose_dictionary_cannot_be_loaded_has_no_terms(with_world: Build) -> None:
    script = with_world({"@dictionary": False})
    done = script.run('Application("Diary").notes.whose({name: "x"})')
    assert done.stderr.decode() == (
        'execution error: Error: TypeError: Application("Diary").notes.whose is not a function. '
        '(In \'Application("Diary").notes.whose({name: "x"})\', '
        "'Application(\"Diary\").notes.whose' is undefined) (-2700)\n"
    )
    assert script.value('Application("Diary").running()') is True


def test_a_dangling_reference_is_a_missing_object(with_world: Build) -> None:
    script = with_world({"defaultJournal": {"ref": "journals[3]"}, "selection": [{"ref": "x[0]"}]})
    assert script.error(D + "d.defaultJournal.name()") == -1728
    assert script.error(D + "d.selection[0].name()") == -1728
    assert script.shown(D + "d.selection()") == '[Application("Diary").x.at(0)]'


def test_objects_without_id_or_name_go_by_index(with_world: Build) -> None:
    script = with_world({"documents": [{"name": "a"}, {"name": "a"}, {}]})
    assert script.shown(D + "d.documents()[2]") == 'Application("Diary").documents.at(2)'
    assert script.shown(D + "d.documents()[0]") == 'Application("Diary").documents.at(0)'
    assert script.error(D + "d.documents[2].id()") == -1728


def test_a_class_without_its_own_list_is_found_below(with_world: Build) -> None:
    script = with_world({"currentEntry": {"name": "only", "id": 4}})
    assert script.value(D + "d.entries.name()") == ["only"]
    assert script.value(D + "d.make({new: 'journal'}); d.journals.length") == 1
