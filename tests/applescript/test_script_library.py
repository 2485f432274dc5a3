"""The library of scripts: each is understood, correct by its dictionaries, found and run by id."""

import difflib
import itertools
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from guide_lint import lint
from guide_lint import scripts as worked
from library_checks import (
    LOCK,
    RUNS_LOCK,
    dictionaries,
    forwards_arguments,
    given_arguments,
    judged,
    library_lines,
    lock,
    problems,
    taken,
)
from remainder import read_remainder
from script_calls import call, data
from simulated import simulate_apps

from iac_applescript import library
from iac_applescript.analysis.analyser import ScriptAnalysis, ScriptAnalyzer
from iac_applescript.dictionary import load_skills
from iac_applescript.library import find_script, find_scripts, own_scripts, shipped_scripts
from iac_applescript.toolset import ScriptToolset
from iac_applescript.wrapping import wrap_script
from iac_base.errors import ToolError
from iac_runtime.execution.process import Completed
from iac_runtime.serve.tool_pages import ToolSearch
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator import parse_profile

HERE = Path(__file__).parent
SCRIPTS = shipped_scripts()
JAVASCRIPT = [row for row in SCRIPTS if row.language == "javascript"]
BRIDGED = ("mac.join_pdfs", "mac.pdf_pages", "mac.pdf_text")
"""Scripts that go to Objective-C, which the reader of AppleScript does not follow."""

OWN = """app = "Notes"
[greet]
purpose = "Greet a friend by name"
params.name = ["text", "The name", "Ines"]
script = "on run {who}\\nreturn who\\nend run"
"""


@pytest.fixture(scope="module")
def known(generated: Path, tmp_path_factory: pytest.TempPathFactory) -> ScriptAnalyzer:
    made = dictionaries(tmp_path_factory.mktemp("dictionaries"))
    return ScriptAnalyzer(Catalogue([made, generated]))


@pytest.fixture(scope="module")
def found(analyser: ScriptAnalyzer) -> dict[str, ScriptAnalysis]:
    """As the product judges them, which has tools for half of their apps only."""
    return judged(analyser)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(library, "data_folder", lambda: tmp_path)
    found = tmp_path / "scripts"
    found.mkdir(mode=0o700)
    return found


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)


def test_there_are_scripts_for_what_people_do() -> None:
    assert len(SCRIPTS) == len({row.name for row in SCRIPTS}) >= 300
    assert len({row.apps[0] for row in SCRIPTS}) >= 25
    assert min(len(JAVASCRIPT), len(SCRIPTS) - len(JAVASCRIPT)) >= 100
    assert len({row.purpose for row in SCRIPTS}) >= len(SCRIPTS) * 0.95
    for row in SCRIPTS:
        assert row.apps
        assert row.tags
        assert not row.purpose.endswith(".")
        assert bool(row.parameters) == ("run {" in row.script or "run([" in row.script), row.name
        # What has a default comes after what has none, so that a list of arguments can end there.
        has = [one.default is None for one in row.parameters.values()]
        assert has == sorted(has, reverse=True), row.name


def test_no_script_is_a_single_call_of_a_tool(generated: Path) -> None:
    tooled = {app.name for app in Catalogue([generated]).apps.values()} - {"Standard Additions"}
    assert [row.name for row in SCRIPTS if {*row.apps} <= tooled and forwards_arguments(row)] == []


def test_no_two_scripts_of_an_app_are_the_same_but_for_a_word() -> None:
    for _, rows in itertools.groupby(SCRIPTS, lambda row: row.apps[0]):
        for one, other in itertools.combinations(rows, 2):
            match = difflib.SequenceMatcher(None, one.script, other.script, autojunk=False)
            if match.real_quick_ratio() > 0.96 and match.quick_ratio() > 0.96:
                assert match.ratio() <= 0.96, (one.name, other.name)


@pytest.mark.slow
def test_each_is_understood_and_speaks_to_the_apps_that_it_names(
    known: ScriptAnalyzer, found: dict[str, ScriptAnalysis]
) -> None:
    names = {app.id: app.name for app in known.catalogue.apps.values()}
    for row in SCRIPTS:
        if row.name in BRIDGED:
            continue
        assert list(problems(found[row.name])) == [], row.name
        reached = {names[target] for target in found[row.name].targets}
        assert reached == set(row.apps) - {"Standard Additions"}, row.name
        assert not found[row.name].unknown


def test_no_script_takes_a_word_of_its_apps_for_a_variable(known: ScriptAnalyzer) -> None:
    rows = (row for row in SCRIPTS if row.language == "applescript")
    assert {row.name: found for row in rows if (found := taken(row, known))} == {}


def test_every_guide_speaks_of_what_the_dictionary_has(
    known: ScriptAnalyzer, tmp_path: Path
) -> None:
    guides = load_skills(tmp_path)
    assert len(guides) >= 21
    for name, guide in guides.items():
        assert lint(guide, known.catalogue.load_tables(known.catalogue.apps[name]), known) == []
        levels = [known.analyze_script(text, language).level for language, text in worked(guide)]
        assert name == "messages" or "MODIFY" in levels, name


def test_what_each_needs_and_does_is_as_it_was_reviewed(found: dict[str, ScriptAnalysis]) -> None:
    was, now = LOCK.read_text(encoding="utf-8").splitlines(), lock(found).splitlines()
    says = "changed: look at each, then run tests/applescript/library_checks.py"
    assert [*difflib.unified_diff(was, now, lineterm="", n=0)] == [], says


def test_each_javascript_does_it_in_the_simulator(
    known: ScriptAnalyzer, found: dict[str, ScriptAnalysis], profile: str
) -> None:
    catalogue = known.catalogue
    simulator = simulate_apps(catalogue, faults=parse_profile(profile))
    failed: dict[str, bytes] = {}
    for row in JAVASCRIPT:
        given = given_arguments(row)
        asked = found[row.name].bounds
        worn = wrap_script(row.script, "javascript", 30, asked, given)
        argv = ["osascript", "-l", "JavaScript", "-", *worn.arguments]
        done = simulator(argv, worn.text.encode(), 30)
        if done.stderr:
            failed[row.name] = done.stderr
            continue
        assert simulator.events or row.apps == ("Standard Additions",), row.name
        simulator.events.clear()
    assert failed.keys() == (read_remainder()["library"].keys() if profile == "hard" else set())


def test_each_applescript_ends_prints_and_changes_what_was_reviewed(known: ScriptAnalyzer) -> None:
    was, now = RUNS_LOCK.read_text(encoding="utf-8").splitlines(), library_lines(known)
    says = "changed: look at each, then run tests/applescript/library_checks.py"
    assert [*difflib.unified_diff(was, now, lineterm="", n=0)] == [], says
    ends = [line.split("\t")[1:3] for line in now]
    assert sum(friendly == "ran" for _, friendly in ends) >= 0.9 * len(ends)
    assert sum(hard == "ran" for hard, _ in ends) >= 0.87 * len(ends)


def test_wishes_in_other_words_find_the_script() -> None:
    lines = (HERE / "wishes.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    assert len(rows) >= 120
    found = [[row.script.name for row in find_scripts(wish)] for wish, _ in rows]
    right = sum(names[:1] == [wanted] for names, (_, wanted) in zip(found, rows, strict=True))
    assert right / len(rows) >= 0.85


@pytest.mark.parametrize("wish", [
    "sharpen the kitchen knives", "book a table for two at the harbour",
    "mow the lawn before my parents arrive", "explain why the sky is blue",
    "iron my shirts for Monday", "paint the fence green", "feed the cat twice a day",
    "win the lottery for me", "fix the flat tyre of my bike", "bake a birthday cake with cherries",
])  # fmt: skip
def test_what_no_script_does_finds_none(toolset: ScriptToolset, wish: str) -> None:
    assert data(toolset, "get_workflow_pattern", intent=wish)["patterns"] == []


def test_a_wish_is_answered_with_the_script_and_the_call_that_runs_it(
    toolset: ScriptToolset,
) -> None:
    wish = "add the line Buy stamps to the note Errands"
    (first, *_) = data(toolset, "get_workflow_pattern", intent=wish)["patterns"]
    assert (first["saved"], first["level"]) == ("notes.append_line", "MODIFY")
    assert first["provenance"] == "library"
    assert "title, text: The title of the note" in first["parameters"]
    asked = first["call"]["arguments"]
    seen: list[Any] = []

    def runner(argv: Any, stdin: bytes, _timeout: float) -> Completed:
        seen.append((argv, stdin.decode()))
        return Completed(b'"done"\n', b"", 0)

    asked["arguments"] = {"title": "Errands", "line": 'Buy "stamps" & (beep)'}
    assert call(toolset, "execute_applescript", runner=runner, **asked)["success"]
    argv, text = seen[0]
    assert argv[-2:] == ["Errands", 'Buy "stamps" & (beep)']
    assert "stamps" not in text
    ways = data(toolset, "get_smart_suggestion", intent=wish)["suggestions"]
    assert any(row["kind"] == "script" and "notes.append_line" in row["use"] for row in ways)
    of_app = data(toolset, "get_workflow_pattern", intent="list the open tabs", app="Google Chrome")
    assert {row["apps"][0] for row in of_app["patterns"]} == {"Google Chrome"}


def test_find_tools_offers_a_script_that_surely_does_it(catalogue: Catalogue) -> None:
    search = ToolSearch(lambda: catalogue, read_only=False)
    (row,) = search.find_pages({"query": "put the two front windows side by side"})["scripts"]
    assert row["saved"] == "system_events.side_by_side"
    assert row["call"]["arguments"] == {"saved": row["saved"]}
    assert row["call_with"] == {"MODIFY": "write_tool", "DANGEROUS": "dangerous_tool"}[row["level"]]
    assert "scripts" not in search.find_pages({"query": "sharpen the kitchen knives"})
    looks = ToolSearch(lambda: catalogue, read_only=True)
    assert "scripts" not in looks.find_pages({"query": "put the two front windows side by side"})


@pytest.mark.parametrize("given", [
    {}, {"title": 1, "line": "x"}, {"title": "x"}, ["a", "b", "c"],
    {"title": "", "text": "", "z": 1},
])  # fmt: skip
def test_arguments_are_held_to_their_types(given: Any) -> None:
    script = find_script("notes.append_line")
    assert script is not None
    with pytest.raises(ToolError, match="takes title, text: The title"):
        script.bind_arguments(given)
    event = find_script("calendar.new_event")
    assert event is not None
    assert event.bind_arguments(["Dentist", "2027-03-14T09:30"]) == [
        "Dentist", "2027-03-14T09:30", 60, "",
    ]  # fmt: skip
    with pytest.raises(ToolError, match="takes"):
        event.bind_arguments(["Dentist", "tomorrow"])


def test_the_users_scripts_come_first_and_what_is_wrong_is_a_line(
    own: Path, toolset: ScriptToolset
) -> None:
    write(own / "mine.toml", OWN)
    write(own / "notes.toml", OWN.replace("greet", "merge").replace("Greet", "Welcome"))
    head = "-- purpose: Water the tomatoes of a bed\n-- app: Notes\n-- param: bed text Which bed\n"
    write(own / "tomatoes.applescript", head + "on run {which}\nreturn which\nend run")
    write(own / "plain.js", "1 + 1")
    write(own / "broken.toml", "app = ")
    write(own / "odd.toml", OWN.replace('"text"', '"colour"'))
    write(own / "open.toml", OWN)
    (own / "open.toml").chmod(0o666)
    (own / "link.toml").symlink_to(own / "mine.toml")
    found, faults = own_scripts()
    assert {row.name for row in found} == {"mine.greet", "notes.merge", "tomatoes"}
    assert len(faults) == 4
    assert all(line.endswith(".") and str(own) in line for line in faults)
    overridden = find_script("notes.merge")
    assert overridden is not None
    assert overridden.purpose == "Welcome a friend by name"
    assert find_scripts("welcome a friend")[0].script.source == str(own / "notes.toml")
    (first, *_) = (row.script for row in find_scripts("water the tomatoes in my notes"))
    assert (first.name, first.bind_arguments({"bed": "north"})) == ("tomatoes", ["north"])
    answer = data(toolset, "get_workflow_pattern", intent="greet a friend by name in Notes")
    assert answer["patterns"][0]["provenance"] == str(own / "mine.toml")
    assert "broken.toml is not TOML" in answer["note"]
    own.chmod(0o777)
    assert own_scripts()[0] == ()


@pytest.mark.process
def test_nothing_is_read_before_a_script_is_looked_for() -> None:
    look = (
        "import sys; import iac_runtime.serve.stdio, iac_runtime.tools.own;"
        "iac_runtime.tools.own.added_tools(); assert 'iac_applescript.library' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", look], check=True)


JUDGE = """
from pathlib import Path
import iac_applescript, iac_tools
from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_applescript.library import shipped_scripts
from iac_runtime.tools.catalogue import Catalogue
print(iac_applescript.__file__)
analyser = ScriptAnalyzer(Catalogue([Path(iac_tools.__path__[0])]))
for row in shipped_scripts():
    print(row.name, analyser.analyze_script(row.script, row.language).level, sep="\\t")
"""


@pytest.mark.slow
@pytest.mark.process
def test_the_wheel_judges_each_script_as_the_checkout_does(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    root = Path(__file__).parents[2]
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    path = {"PYTHONPATH": str(tmp_path / "installed"), "HOME": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-P", "-c", JUDGE], cwd=tmp_path, env=path, check=True, capture_output=True
    )
    place, *levels = ran.stdout.decode().splitlines()
    assert place.startswith(str(tmp_path / "installed"))
    reviewed = LOCK.read_text(encoding="utf-8").splitlines()
    assert levels == ["\t".join(line.split("\t")[:2]) for line in reviewed]
