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


@pytest.mark.parametrize(
    ("world", "said"),
    [
        (
            {"jornals": []},
            'diary: "jornals" is not a property or element of application. Nearest: journals,'
            " defaultJournal.",
        ),
        (
            {"journals": [{"entries": [{"bodi": "x"}]}]},
            'diary: journals[0].entries[0]: "bodi" is not a property or element of entry. '
            "Nearest: body, mood.",
        ),
        ({"journals": {}}, "diary: journals: a collection must be a list of objects."),
        ({"journals": [{"ref": "x"}]}, "diary: journals[0]: an element must be an object."),
        (
            {"journals": [{"@class": "jurnal"}]},
            'diary: journals[0]: "jurnal" is no class. Nearest: journal.',
        ),
        (
            {"journals": [{"@result": 1}]},
            'diary: journals[0]: "@result" is not a key of an object.'
            " Known: @class, @content, @text",
        ),
        ({"@resluts": {}}, 'diary: "@resluts" is not a key of a world. Nearest: @results.'),
        ({"@errors": 3}, "diary: @errors must be a table of event codes."),
        ([], "diary: the world of an app must be a table."),
        (
            {"defaultJournal": {"ref": "a b"}},
            "diary: defaultJournal: 'a b' is not a reference to an object in a world.",
        ),
        (
            {"defaultJournal": {"ref": '["q'}},
            'diary: defaultJournal: A quote is not closed in the reference "["q" at character 2. '
            'A reference looks like windows[0].tabs["Docs"].',
        ),
        ({"defaultJournal": {"ref": 3}}, "diary: defaultJournal: a ref must be text."),
        (
            {"entries": [{"dueDate": {"date": "soon"}}]},
            "diary: entries[0].dueDate: 'soon' is not a date; write 2026-01-31T09:00:00Z.",
        ),
        (
            {"journals": [{"size": {"record": 1}}]},
            "diary: journals[0].size: a record must be a table.",
        ),
        (
            {"defaultJournal": {"nane": "x"}},
            'diary: defaultJournal: "nane" is not a property or element of journal. Nearest: name.',
        ),
    ],
)
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
