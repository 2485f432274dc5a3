"""What is learned from scripts, found again, bounded, and free of what is private."""

import json
import re
import sqlite3
import tempfile
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from script_calls import data

from iac_applescript import store as store_module
from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_applescript.cli_patterns import patterns as command
from iac_applescript.patterns import (
    RunOutcome,
    pattern_from_json,
    pattern_to_json,
    redact_script,
    without_private,
)
from iac_applescript.results import SAME, pattern_fields, rank_suggestions
from iac_applescript.store import OFF, PatternStore
from iac_applescript.toolset import ScriptToolset
from iac_base.errors import SetupError
from iac_runtime.tool import Level

HERE = Path(__file__).parent
GOOD = RunOutcome(True, "text", "", None, 12.0)
BAD = RunOutcome(False, "not_found", "execution error: gone (-1728)", -1728, 5.0)
OTHERS = {
    "ines@example.com": "ben@example.org", "Ines Moreau": "Ben Okafor", "Ines": "Ben",
    "+41 79 555 01 23": "+49 30 901820", "Ravensburg": "Lindau", "4711": "90125",
}  # fmt: skip
"""Other people and numbers for those of `personal_scripts.toml`: the same deeds."""


@pytest.fixture
def store(tmp_path: Path):
    found = PatternStore(tmp_path)
    yield found
    found.close()


def rows(name: str) -> list[list[str]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]


def test_new_phrasings_find_what_was_stored(store: PatternStore) -> None:
    for intent, app in (*rows("patterns.tsv"), *rows("patterns_more.tsv")):
        store.remember_run(intent, app, "applescript", f"-- {intent}\nreturn 1", GOOD)
    asked = [*rows("phrasings.tsv"), *rows("phrasings_more.tsv")]
    found = [
        wanted in [row.pattern.intent for row in store.find_patterns(query)]
        for query, wanted in asked
    ]
    assert len(asked) >= 190
    assert sum(found) / len(found) >= 0.9


def test_what_was_stored_for_just_this_is_found_for_certain(store: PatternStore) -> None:
    said = "how many calendars there are"
    store.remember_run(said, "com.apple.iCal", "javascript", "bad way", BAD)
    store.remember_run(said, "com.apple.iCal", "javascript", "good way", GOOD)
    found = store.find_patterns("There are how many calendars?")
    assert [row.pattern.script for row in found] == ["good way", "bad way"]
    assert found[0].score >= SAME


def test_a_word_of_nearly_all_patterns_finds_the_newest_of_them(tmp_path: Path) -> None:
    store = PatternStore(tmp_path)
    first = store.remember_run("frob window", "", "applescript", "return 0", GOOD)
    row = store.get(first or 0)
    assert row is not None
    more = [
        row._replace(digest=str(n), intent=f"frob window number{n}", script=f"return {n}")
        for n in range(2_300)
    ]
    store.add_patterns(more)
    newest = store.remember_run("move window", "", "applescript", "return 1", GOOD)
    assert [row.pattern.id for row in store.find_patterns("window", limit=1)] == [newest]
    store.close()


def test_runs_of_one_script_are_counted_together(store: PatternStore) -> None:
    first = store.remember_run(
        "count windows", "com.apple.finder", "applescript", "count windows", GOOD
    )
    again = store.remember_run(
        "Count window", "com.apple.finder", "applescript", "count windows\n", BAD
    )
    assert first == again
    row = store.get(first or 0)
    assert row is not None
    assert (row.successes, row.failures, row.number) == (1, 1, -1728)


def test_what_worked_comes_before_what_failed(store: PatternStore) -> None:
    for _ in range(3):
        store.remember_run("count the windows", "", "applescript", "bad way", BAD)
        store.remember_run("count the windows", "", "applescript", "good way", GOOD)
    assert [row.pattern.script for row in store.find_patterns("count windows")] == [
        "good way",
        "bad way",
    ]


def test_the_app_that_is_asked_for_comes_first(store: PatternStore) -> None:
    store.remember_run("list tabs", "com.google.Chrome", "applescript", "one", GOOD)
    store.remember_run("list tabs", "com.apple.Safari", "applescript", "two", GOOD)
    assert store.find_patterns("list tabs", app="com.apple.Safari")[0].pattern.script == "two"


def test_nothing_private_is_stored(store: PatternStore, tmp_path: Path) -> None:
    script = (
        'set p to "hunter2"\nset password to "hunter2secret"\nset a to "anna@example.com"\n'
        'set f to "/Users/anna/x"\nset t to "+49 170 1234567"\n'
        'set k to "ghp_0123456789abcdefABCDEF"\n'
        f'set body to "{"private words " * 20}"'
    )
    store.remember_run("mail to anna@example.com", "", "applescript", script, GOOD)
    store.close()
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for secret in (b"anna@", b"/Users/anna", b"1234567", b"ghp_0123", b"private words private"):
        assert secret not in raw
    assert b"hunter2secret" not in raw


@pytest.mark.parametrize(("level", "same"), [("MODIFY", 4), ("DANGEROUS", 2)])
def test_what_real_scripts_say_of_people_is_in_no_byte_of_the_files(
    store: PatternStore, tmp_path: Path, level: Level, same: int
) -> None:
    first = (HERE / "personal_scripts.toml").read_text(encoding="utf-8")
    any_of = "|".join(map(re.escape, OTHERS))
    for text in (first, re.sub(any_of, lambda one: OTHERS[one[0]], first)):
        told = tomllib.loads(text)
        for row in told["script"]:
            run = (row["intent"], row["app"], row["language"], row["script"])
            for outcome in (GOOD, BAD._replace(error=row["error"])):
                store.remember_run(*run, outcome, level, (), row.get("arguments", ()))
    kept = store.all_patterns()
    assert all(row.script for row in kept)
    # Of a DANGEROUS script the words of a message and the numbers are what it does.
    assert sum(row.successes == 2 for row in kept) == same
    seen = [b"".join(path.read_bytes() for path in tmp_path.iterdir())]
    store.close()
    seen.append(b"".join(path.read_bytes() for path in tmp_path.iterdir()))
    words = {word.casefold() for word in (*tomllib.loads(first)["personal"], *OTHERS.values())}
    assert not [word for word in words for raw in seen if word.encode() in raw.lower()]


def test_what_an_older_version_kept_is_cleaned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = store_module._SCHEMA._replace(migrations=store_module._SCHEMA.migrations[:2])
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "_SCHEMA", older)
        before = PatternStore(tmp_path)
        before.remember_run("mail a friend", "", "applescript", "set a to 1", GOOD)
        with before._database.begin_transaction() as base:
            script = 'set a to "Ines Moreau" -- Ines'
            base.execute("UPDATE patterns SET script = ?, intent = 'mail Ines'", (script,))
        before.close()
    assert b"Ines" in (tmp_path / "patterns.db").read_bytes()
    after = PatternStore(tmp_path)
    assert [row.script for row in after.all_patterns()] == ["set a to ‹text›"]
    assert after.find_patterns("mail Anna")
    after.close()
    assert b"Ines" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_what_varies_between_successes_is_a_parameter(store: PatternStore) -> None:
    script = 'tell application "Notes" to make new note with properties {name:"?", body:"x"}'
    for name in ("Milk", "Stamps"):
        store.remember_run(
            f"make a note {name}", "", "applescript", script.replace("?", name), GOOD
        )
    (row,) = store.all_patterns()
    assert row.script == script.replace('"?"', "‹text›")
    assert row.successes == 2
    assert pattern_fields(store.find_patterns("make a note")[0])["parameters"] == ["text 1"]
    # What it is done to is no parameter, and a failure teaches no value.
    store.remember_run(
        "make a note Eggs",
        "",
        "applescript",
        script.replace("?", "Eggs").replace('"x"', '"y"'),
        BAD,
    )
    other = script.replace("Notes", "Reminders").replace("?", "Milk")
    store.remember_run("make a note Milk", "", "applescript", other, GOOD)
    apps = ('"Notes"', '"Reminders"')
    kept = sorted(found.script for found in store.all_patterns())
    assert kept == [script.replace('"?"', "‹text›").replace('"Notes"', app) for app in apps]


def test_of_a_dangerous_script_every_value_counts(store: PatternStore) -> None:
    for line in ("ls", "rm -rf ~"):
        script = f'do shell script "{line}"'
        store.remember_run("run it", "", "applescript", script, GOOD, "DANGEROUS")
    assert len(store.all_patterns()) == 2
    assert not any(row.is_trusted for row in store.all_patterns())


@pytest.mark.parametrize(("language", "script", "kept_as"), [
    ("applescript", 'set a to "anna@example.com"', "set a to ‹text›"),
    ("applescript", 'return "x" -- +49 170 1234567', 'return "x"'),
    ("applescript", '# Ines\nset a to ¬ -- Ines\n  "x" (* Ines\n Ines *) & "x"',
     'set a to ¬\n  "x" & "x"'),
    ("javascript", '#!/bin/x\n// Ines\nlet a = 1; // "Ines"\n/* Ines\n */ a', "let a = 1;\n\n a"),
    ("javascript", '"http://x" // Ines', "‹text›"),
    ("applescript", 'click menu item "New Window" of menu "Ines"',
     'click menu item "New Window" of menu ‹text›'),
    ("applescript", 'open app id "com.apple.mail" at 8001 + 12',
     'open app id "com.apple.mail" at ‹number› + 12'),
    ("javascript", "x = `Dear ${Ines}`.replace(/Ines/g, '')", "x = ‹text›.replace(‹text›, '')"),
    ("applescript", 'say "Ines', ""),
    ("applescript", "set card to 4111111111111111", "set card to ‹number›"),
    ("javascript", 'const token = "abc123";', "const token = ‹text›;"),
    ("javascript", "const token = `abc123secret`;", "const token = ‹text›;"),
    ("applescript", 'set x to "/Users/anna/x', ""),
])  # fmt: skip
def test_what_is_private_is_a_slot_or_nothing_is_kept(
    language: str, script: str, kept_as: str, analyser: ScriptAnalyzer
) -> None:
    found = redact_script(script, language, "MODIFY")  # type: ignore[arg-type]
    assert found.script == kept_as
    if "‹" in kept_as:
        assert analyser.analyze_script(found.script, language).level == "DANGEROUS"  # type: ignore[arg-type]


def test_imports_start_at_zero_trust_and_dangerous_ones_come_last(store: PatternStore) -> None:
    store.remember_run("empty the trash", "", "applescript", "a", GOOD, "DANGEROUS")
    store.remember_run("empty the trash", "", "applescript", "a", GOOD, "DANGEROUS")
    store.remember_run("empty the big bin", "", "applescript", "b", GOOD)
    line = {
        **pattern_to_json(store.all_patterns()[0]), "successes": 99, "level": "SAFE", "script": "c",
    }  # fmt: skip
    store.add_patterns([pattern_from_json(line)])
    found = store.find_patterns("empty the trash")
    assert [row.pattern.script for row in found] == ["b", "a", "c"]
    assert [row.pattern.is_trusted for row in found] == [True, True, False]
    ways = rank_suggestions("empty the trash", "", (), found, {})
    assert [(row.script, row.level) for row in ways] == [("b", "MODIFY"), ("a", "DANGEROUS")]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("written")
    store = PatternStore(folder)
    for number in range(40):
        store.remember_run(f"thing {number}", "", "applescript", f"do{number} it", GOOD)
    store.close()
    return (folder / "patterns.db").read_bytes()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0.001, 1), much=st.binary(min_size=1, max_size=4096))
def test_damage_anywhere_is_found_and_mended(written: bytes, place: float, much: bytes) -> None:
    at = int(place * (len(written) - 1))
    raw = (written[:at] + much + written[at + len(much) :])[: len(written)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "patterns.db"
        file.write_bytes(raw)
        file.chmod(0o600)
        store = PatternStore(Path(folder))
        store.find_patterns("thing")
        store.remember_run("count windows", "", "applescript", "x", GOOD)
        assert store.find_patterns("count windows")
        store.close()


@given(st.text(max_size=200))
def test_taking_out_what_is_personal_ends(text: str) -> None:
    assert isinstance(without_private(text), str)


def test_hidden_characters_do_not_come_back(store: PatternStore) -> None:
    store.remember_run("count\u202e windows", "", "applescript", "count\u200b windows", GOOD)
    row = store.all_patterns()[0]
    assert row.intent == "count windows"
    assert row.script == "count windows"


def test_the_store_stays_within_its_bound(tmp_path: Path) -> None:
    store = PatternStore(tmp_path, limit=40)
    store.remember_run("the one that works", "", "applescript", "keep me", GOOD)
    for number in range(100):
        store.remember_run(f"failing thing {number}", "", "applescript", f"bad {number}", BAD)
    found = list(store.all_patterns())
    assert len(found) <= 40
    assert "keep me" in [row.script for row in found]
    base = sqlite3.connect(tmp_path / "patterns.db")
    assert base.execute("SELECT count(*) FROM words").fetchone()[0] == len(found)
    base.close()
    store.close()


def test_learning_can_be_switched_off(store: PatternStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OFF, "off")
    assert store.remember_run("count windows", "", "applescript", "x", GOOD) is None
    assert list(store.all_patterns()) == []


def test_without_an_intent_nothing_is_learned(store: PatternStore) -> None:
    assert store.remember_run("  ", "", "applescript", "x", GOOD) is None


def test_a_damaged_file_is_moved_aside(tmp_path: Path) -> None:
    (tmp_path / "patterns.db").write_bytes(b"no database at all" * 100)
    (tmp_path / "patterns.db").chmod(0o600)
    store = PatternStore(tmp_path)
    store.remember_run("count windows", "", "applescript", "x", GOOD)
    assert len(list(tmp_path.glob("patterns.db.damaged-2*"))) == 1
    assert len(list(store.all_patterns())) == 1
    store.close()


def test_a_newer_file_and_a_link_are_refused(tmp_path: Path) -> None:
    base = sqlite3.connect(tmp_path / "patterns.db")
    base.execute("PRAGMA user_version = 99")
    base.close()
    (tmp_path / "patterns.db").chmod(0o600)
    with pytest.raises(SetupError, match="newer version"):
        PatternStore(tmp_path).read_stats()
    other = tmp_path / "other"
    other.mkdir()
    (other / "patterns.db").symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(SetupError, match="it is a link"):
        PatternStore(other).read_stats()


def test_the_file_is_for_its_owner_alone(store: PatternStore, tmp_path: Path) -> None:
    store.remember_run("count windows", "", "applescript", "x", GOOD)
    assert (tmp_path / "patterns.db").stat().st_mode & 0o077 == 0


def test_a_second_process_sees_what_was_learned(store: PatternStore, tmp_path: Path) -> None:
    other = PatternStore(tmp_path)
    assert other.find_patterns("count windows") == []
    store.remember_run("count the open windows", "", "applescript", "x", GOOD)
    assert len(other.find_patterns("count the open windows")) == 1
    other.close()


def test_forgetting_forgets_the_words_too(store: PatternStore) -> None:
    id = store.remember_run("count windows", "", "applescript", "x", GOOD)
    assert store.forget_patterns([id or 0]) == 1
    assert store.find_patterns("count windows") == []
    assert store.forget_patterns() == 0


def test_statistics(store: PatternStore) -> None:
    store.remember_run("a thing", "com.apple.mail", "applescript", "x", GOOD)
    store.remember_run("another thing", "com.apple.mail", "applescript", "y", BAD)
    stats = store.read_stats()
    assert (stats.patterns, stats.successes, stats.failures) == (2, 1, 1)
    assert stats.apps == (("com.apple.mail", 1, 1),)
    assert [row.script for row in stats.failing] == ["y"]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))

    def run(*words: str, expect: int = 0):
        result = CliRunner().invoke(command, words)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            return result
        assert result.exit_code == expect, result.output
        return result

    from iac_base.files import open_state

    store = PatternStore(open_state())
    store.remember_run("count windows", "com.apple.finder", "applescript", "count windows", GOOD)
    store.remember_run("list tabs", "com.apple.Safari", "applescript", "tabs", BAD)
    store.close()
    return run


def test_the_command_line_lists_shows_and_forgets(cli) -> None:
    assert "count windows" in cli("list").output
    assert "list tabs" not in cli("list", "--app", "com.apple.finder").output
    assert "1/1" in cli("list", "count the windows").output
    assert json.loads(cli("show", "1").output)["script"] == "count windows"
    assert isinstance(cli("show", "99").exception, SetupError)
    cli("forget", expect=2)
    assert "Patterns forgotten: 1" in cli("forget", "1", "--yes").output
    assert "Patterns forgotten: 1" in cli("forget", "--all", "--yes").output
    assert "no patterns" in cli("forget", "--all", "--yes").output


def test_an_export_can_be_taken_in(cli, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    file.write_text(cli("export").output, encoding="utf-8")
    cli("forget", "--all", "--yes")
    assert "Patterns imported: 2" in cli("import", str(file)).output
    assert "count windows" in cli("list").output


@pytest.mark.parametrize(("line", "says"), [
    ("{", "is not JSON"), ("[]", "is not an object"), ('{"intent": 1}', "intent"),
    ('{"trust": 1}', "unknown field"),
])  # fmt: skip
def test_a_bad_line_takes_nothing_in(cli, tmp_path: Path, line: str, says: str) -> None:
    file = tmp_path / "in.jsonl"
    good = cli("export").output
    file.write_text(f"{good}{line}\n", encoding="utf-8")
    error = cli("import", str(file)).exception
    assert isinstance(error, SetupError)
    assert says in str(error)
    assert "line 3" in str(error)


@pytest.mark.parametrize(
    ("field", "value"), [("language", "perl"), ("successes", -1), ("number", "x"), ("script", None)]
)
def test_a_row_with_a_wrong_field_is_refused(field: str, value: object) -> None:
    row = {
        **dict.fromkeys(("intent", "app", "script", "kind", "error", "first", "last"), "x"),
        "language": "applescript", "number": None, "milliseconds": 1, "successes": 1, "failures": 0,
    }  # fmt: skip
    assert pattern_from_json(row).successes == 0
    with pytest.raises(ValueError, match=r"."):
        pattern_from_json({**row, field: value})


@pytest.mark.parametrize("harm", ["mode", "folder", "link", "missing state"])
def test_a_store_that_cannot_be_used_costs_learning_only(
    toolset: ScriptToolset, tmp_path: Path, harm: str
) -> None:
    file = tmp_path / "state" / "patterns.db"
    if harm == "mode":
        file.touch(0o600)
        file.chmod(0o666)
    elif harm == "folder":
        file.mkdir()
    elif harm == "link":
        file.symlink_to(tmp_path / "elsewhere.db")
    else:
        file.parent.rmdir()
    said = {
        "error": "Can’t get note 1. (-1728)",
        "script": 'tell application "Notes" to get note 1',
    }
    assert data(toolset, "analyze_failure", **said)["cause"] == "not_found"
    assert data(toolset, "get_smart_suggestion", intent="make a note")["suggestions"]
    found = data(toolset, "get_workflow_pattern", intent="add a line to a note in Notes")
    assert found["patterns"]
    assert "What was learned is left out" in found["note"]
    assert data(toolset, "get_app_skill", app="Notes")["title"]
    discovered = data(toolset, "discover_capabilities")
    assert (discovered["patterns"], bool(discovered["apps"])) == (0, True)
