"""The field book: rows are strict, fit the dictionaries, act where their kind demands."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from making import module, source, whole

from iac_gen.cli import cli
from iac_gen.discover import from_bundled_snapshots, load_includes
from iac_gen.field import FAULTS, KINDS, Fact, compile_field, unknown_terms
from iac_gen.quirks import QuirkFile, load_field_book, load_quirks, read_facts, read_quirks
from iac_gen.resolve import ResolvedDictionary, resolve_dictionary
from iac_runtime.tools import field
from iac_runtime.tools.field import COSTS as WEIGHED
from iac_runtime.tools.field import field_rows

GATHERED = Path(__file__).resolve().parents[3] / "shared" / "field" / "facts.jsonl"
ROW = {
    "id": "diary-late",
    "kind": "loss",
    "terms": ["reread"],
    "act": "read an entry again",
    "happens": "The old text is read.",
    "sources": ["a Mac of ours"],
    "confidence": "measured by one",
    "use": ["postcondition"],
}
# Where a row acts -> the test that plays or tells every such row.
ACTS = {
    "profile": "simulator/test_simulator_field.py::test_each_fault_of_the_book_is_played",
    "hint": "runtime/test_known_cases.py"
    "::test_each_row_about_failures_fits_the_failure_that_it_tells_of",
    "question": "runtime/test_known_cases.py"
    "::test_each_row_for_a_question_fits_the_call_that_it_tells_of",
    "planner": "generator/test_field.py::test_what_a_row_says_of_a_cost_is_weighed",
    "recipe": "generator/test_field.py::test_recipes_that_take_the_safe_form_are_there",
    "lint": "applescript/test_script_failures.py"
    "::test_a_script_that_does_it_is_told_and_one_beside_it_is_not",
    "guide": "applescript/test_script_failures.py"
    "::test_each_row_for_guides_stands_in_that_of_its_app",
    "code": "generator/test_field.py::test_our_own_code_is_held_to_the_safe_form_by_a_test",
}
# Bundle id -> how many rows it has at least.
APPS = {
    "": 45,
    "com.apple.mail": 105,
    "com.apple.Notes": 45,
    "com.apple.iCal": 34,
    "com.apple.MobileSMS": 30,
    "com.apple.Photos": 28,
    "com.apple.reminders": 26,
    "com.apple.Safari": 24,
    "com.apple.systemevents": 22,
    "com.apple.AddressBook": 22,
    "com.apple.finder": 21,
    "com.apple.osax.standardadditions": 20,
    "com.apple.Music": 18,
    "com.apple.iWork.Keynote": 13,
    "com.google.Chrome": 11,
    "com.apple.iWork.Numbers": 8,
    "com.apple.shortcuts": 14,
    "com.apple.Terminal": 7,
    "com.apple.iWork.Pages": 5,
    "com.apple.TextEdit": 3,
    "com.omnigroup.OmniFocus4": 21,
    "com.culturedcode.ThingsMac": 23,
}


def written(**changed: object) -> QuirkFile | list[str]:
    """Return the file of somebody's own with `ROW` changed, or what is wrong in it."""
    row = {key: value for key, value in {**ROW, **changed}.items() if value is not None}
    lines = [f"{key} = {in_toml(value)}" for key, value in row.items()]
    text = "\n".join(['app = "com.example.Diary"', "[[fact]]", *lines])
    files, faults = read_quirks({"diary.toml": text.encode()})
    return [str(fault) for fault in faults] or files[0]


def in_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {json.dumps(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


@pytest.fixture(scope="module")
def facts() -> list[Fact]:
    files, faults = load_field_book()
    assert faults == []
    return read_facts(files)


@pytest.fixture(scope="module")
def dictionaries() -> dict[str, ResolvedDictionary]:
    includes = load_includes()
    found = (resolve_dictionary(one.source, includes)[0] for one in whole(from_bundled_snapshots()))
    return {one.source.identity: one for one in found}


def texts_of(fact: Fact) -> Iterator[str]:
    yield from (fact.act, fact.happens, fact.safe, fact.undo, fact.stays, fact.left, fact.when)


@pytest.mark.parametrize(("changed", "expected"), [
    ({"colour": "red"}, "[[fact]] has no key colour"),
    ({"sources": []}, "[[fact]] diary-late has no sources"),
    ({"terms": []}, "[[fact]] diary-late has no terms"),
    ({"happens": None}, "[[fact]] needs the key happens"),
    ({"kind": "gossip"}, "gossip is not a kind; there are loss, cost"),
    ({"confidence": "sure"}, "sure is not a confidence; there are by several"),
    ({"use": ["poster"]}, "[[fact]] diary-late has poster; there are postcondition"),
    ({"use": []}, "[[fact]] diary-late is of the kind loss and acts nowhere; use one of"),
    ({"use": ["hint"]}, "[[fact]] diary-late is of the kind loss and acts nowhere; use one of"),
    ({"use": ["hint"], "kind": "cost"}, "[[fact]] diary-late is of the kind cost and acts nowhere"),
    ({"use": ["planner"], "kind": "cost"}, "[[fact]] diary-late is for the planner and says"),
    ({"use": ["question", "recipe"]}, "[[fact]] diary-late needs both: quirk or recipe in use"),
    ({"profile": "grim"}, "grim is not a profile; there are mild"),
    ({"prefer": "luck"}, "luck is no way to prefer; there are column"),
    ({"cost": {"minutes": 1}}, "[[fact]] diary-late has minutes; there are event_ms"),
    ({"cost": {"event_ms": "1 s"}}, "[[fact]] diary-late has a cost or play of the wrong type"),
    ({"play": {"fault": "late"}}, "[[fact]] diary-late needs both: profile in use, and a play"),
    ({"use": ["question", "lint"]}, "[[fact]] diary-late needs both: lint and a warn, or code"),
    ({"use": ["question", "code"]}, "[[fact]] diary-late needs both: lint and a warn, or code"),
    ({"use": ["question"], "warn": {"javascript": "x"}}, "[[fact]] diary-late needs both: lint"),
    (
        {"use": ["question", "lint"], "warn": {"javascript": "("}},
        "[[fact]] diary-late has a given or warn that is no pattern",
    ),
    ({"use": ["question", "profile"]}, "[[fact]] diary-late needs both: profile in use, and"),
    ({"play": {"fault": "tired"}}, "tired is not a fault; there are no-effect"),
    ({"play": {"fault": ["late"]}}, "[[fact]] diary-late has a cost or play of the wrong type"),
])  # fmt: skip
def test_a_row_that_is_wrong_is_told_with_its_line(
    changed: dict[str, object], expected: str
) -> None:
    told = written(**changed)
    assert isinstance(told, list)
    (fault,) = told
    assert fault.startswith(f"diary.toml:2: error: {expected}")


def test_a_reason_stands_for_a_use_that_the_kind_demands() -> None:
    file = written(use=[], left="The shell does it, and no app.")
    assert isinstance(file, QuirkFile)
    assert read_facts([file])[0].left == "The shell does it, and no app."


@pytest.mark.parametrize(("changed", "unknown"), [
    ({"terms": ["reread", "hide"]}, "hide"),
    ({"terms": ["entry.colour"]}, "entry.colour"),
    (
        {"use": ["question", "profile"], "play": {"fault": "late", "verb": "hide"}},
        "hide",
    ),
])  # fmt: skip
def test_a_term_that_the_dictionary_lacks_is_told_with_its_line(
    changed: dict[str, object], unknown: str
) -> None:
    file = written(**changed)
    assert isinstance(file, QuirkFile)
    _, told = module(source(), [file])
    assert [found for found in told if "[quirk-unused]" in found] == [
        f"diary.toml:2: error: [[fact]] diary-late: {unknown} matches nothing in Diary"
        " [quirk-unused]"
    ]


def test_terms_of_the_dictionary_and_of_every_app_are_known() -> None:
    file = written(terms=["reread", "entry.body", "make", "whose", "*"])
    assert isinstance(file, QuirkFile)
    _, told = module(source(), [file])
    assert [found for found in told if "quirk-unused" in found] == []


def test_every_app_has_its_rows_and_each_is_there_once(facts: list[Fact]) -> None:
    counted = Counter(fact.app for fact in facts)
    assert {app: least for app, least in APPS.items() if counted[app] < least} == {}
    assert len({fact.id for fact in facts}) == len(facts)
    assert sum(fact.is_proven for fact in facts) >= 240
    assert sum(fact.confidence == "measured by one" for fact in facts) >= 200


def test_each_row_acts_where_its_kind_demands(facts: list[Fact]) -> None:
    kinds = Counter(fact.kind for fact in facts)
    assert kinds.keys() == KINDS.keys()
    assert kinds["loss"] >= 120
    assert kinds["error"] >= 100
    assert kinds["cost"] >= 70
    idle = [fact.id for fact in facts if KINDS[fact.kind] and not KINDS[fact.kind] & {*fact.use}]
    assert idle == [fact.id for fact in facts if fact.left]
    assert len(idle) <= 13


def test_recipes_that_take_the_safe_form_are_there(facts: list[Fact]) -> None:
    there = {(file.app, row.get("name")) for file in load_quirks()[0] for _, _, row in file.rows}
    named = {(fact.app, name) for fact in facts for name in fact.by}
    assert len(named) >= 15
    assert named <= there


def test_each_row_acts_where_a_test_plays_or_tells_every_row(facts: list[Fact]) -> None:
    """Who acts only as postcondition or refusal is read back or refused call by call."""

    def acts(fact: Fact) -> set[str]:
        weighed = fact.cost.keys() & {*WEIGHED.values(), "body_ms"}
        return {use for use in fact.use if use in ACTS and (use != "planner" or weighed)}

    tests = Path(__file__).parents[1]
    for place in ACTS.values():
        file, _, test = place.partition("::")
        assert f"def {test}(" in (tests / file).read_text("utf-8"), place
    rest = [fact for fact in facts if not (fact.left or acts(fact))]
    assert all({"postcondition", "refusal"} & {*fact.use} for fact in rest)
    assert len(rest) <= 8
    places = {(fact.kind, use) for fact in facts for use in acts(fact)}
    assert places >= {
        *(("loss", "question"), ("cost", "planner"), ("error", "profile"), ("error", "hint")),
        *(("ids", "profile"), ("format", "profile"), ("order", "profile"), ("locale", "profile")),
        *(("type", "profile"), ("permission", "hint"), ("ui", "hint"), ("safe-form", "recipe")),
        *(("engine", "lint"), ("engine", "code"), ("version", "guide")),
    }


def test_our_own_code_is_held_to_the_safe_form_by_a_test(facts: list[Fact]) -> None:
    held = [fact.held.split("::") for fact in facts if "code" in fact.use]
    assert len(held) >= 15
    tests = Path(__file__).parents[1]
    assert [
        (file, test)
        for file, test in held
        if f"def {test}(" not in (tests.parent / file).read_text("utf-8")
    ] == []


def test_terms_are_those_of_the_bundled_dictionaries(
    facts: list[Fact], dictionaries: dict[str, ResolvedDictionary]
) -> None:
    checked = [fact for fact in facts if fact.app in dictionaries]
    assert {fact.app for fact in checked} == dictionaries.keys()
    unknown = {
        fact.place: unknown_terms(dictionaries[fact.app], {"terms": fact.terms, "play": fact.play})
        for fact in checked
    }
    assert {place: terms for place, terms in unknown.items() if terms} == {}


def test_a_variant_of_an_app_is_named_where_sources_disagree(facts: list[Fact]) -> None:
    profiles = Counter((fact.app, fact.profile) for fact in facts if fact.profile)
    assert profiles["com.apple.mail", "sick"] >= 3
    assert all(fact.play or fact.cost for fact in facts if fact.profile)


@pytest.mark.parametrize("play", [
    {"fault": "dialog", "verb": "make"},
    {"fault": "order", "value": "restored ones first"},
    {"fault": "crash", "of": "document"},
    {"fault": "ambiguous", "part": "copies of the app"},
    {"fault": "renumber", "verb": "make"},
    {"fault": "renumber", "verb": "save"},
    {"fault": "column-fails", "of": "message"},
    {"fault": "missing", "part": "cells with errors"},
    {"fault": "localised", "of": "mailbox"},
    {"fault": "localised", "part": "error texts"},
    {"fault": "hang", "needs": "no right"},
    {"fault": "denied", "number": -10004},
    {"fault": "hang", "needs": "in the background"},
    {"fault": "extra", "part": "a draft", "ms": 15000},
    {"fault": "late", "verb": "delete", "ms": 3000},
    {"fault": "missing", "needs": "other space"},
])  # fmt: skip
def test_what_a_hard_mac_does_can_be_played(facts: list[Fact], play: dict[str, object]) -> None:
    assert any(play.items() <= fact.play.items() for fact in facts)


def test_every_fault_is_played_by_some_row(facts: list[Fact]) -> None:
    assert {fact.play["fault"] for fact in facts if "fault" in fact.play} == FAULTS.keys()


def test_the_table_has_what_a_use_needs_and_no_more(facts: list[Fact]) -> None:
    table = compile_field(facts)
    deleted = next(
        row for row in table["com.apple.mail"]["profile"] if row["id"] == "mail-delete-async"
    )
    assert deleted == {
        "id": "mail-delete-async",
        "terms": ("delete",),
        "play": {"fault": "late", "verb": "delete", "of": "message", "ms": 3000},
        "cost": {"settle_ms": 3000},
    }
    keys = {key for uses in table.values() for rows in uses.values() for row in rows for key in row}
    assert keys == {
        *("id", "terms", "act", "happens", "safe", "stays", "play", "cost", "prefer", "profile"),
        "warn",
        "given",
    }
    assert {use for uses in table.values() for use in uses} == {
        *("postcondition", "question", "refusal", "planner", "profile", "hint", "undo"),
        *("lint", "guide"),
    }


def test_run_time_reads_the_rows_of_an_app_and_of_every_app() -> None:
    notes = field_rows("com.apple.Notes", "planner")
    assert {row["id"] for row in notes} >= {"notes-whose-event-cost", "engine-costs"}
    assert field_rows("com.example.Diary", "planner") == field_rows("", "planner")
    assert field_rows("com.apple.Notes", "poster") == []


def test_what_a_row_says_of_a_cost_is_weighed(facts: list[Fact]) -> None:
    weighed = 0
    for fact in (one for one in facts if "planner" in one.use and not one.profile):
        for what, key in WEIGHED.items():
            if key in fact.cost:
                terms = {part for term in fact.terms for part in term.split(".")}
                weighed += 1
                assert any(
                    field.read_costs(fact.app, term).get(what, 0) >= fact.cost[key]
                    for term in terms
                ), fact.id
    assert weighed >= 33


def test_rows_are_printed_for_an_app_with_those_of_yours(tmp_path: Path) -> None:
    own = tmp_path / "diary.toml"
    rows = "\n".join(f"{key} = {json.dumps(value)}" for key, value in ROW.items())
    own.write_text(f'app = "com.example.Diary"\n[[fact]]\n{rows}\n')

    def shown(*args: str) -> str:
        result = CliRunner().invoke(cli, ["show", "--field", "--quirks", str(own), *args])
        return result.stdout + result.stderr

    assert shown("diary") == (
        "diary-late [loss, measured by one] reread\n"
        "  read an entry again: The old text is read.\n"
        "  acts: postcondition\n"
        "  sources: a Mac of ours\n"
        "\n"
        "com.example.Diary: 1 row; measured by one 1; loss 1; postcondition 1\n"
    )
    assert shown("things", "notes").splitlines()[-1].startswith("com.culturedcode.ThingsMac: ")
    assert shown("com.apple.Notes") == shown("notes")
    assert "notes-body-newlines [format, by several] note.body\n" in shown("notes")
    assert "cost: one event 60 ms, " in shown("notes")
    assert "diary-late" in shown("--all")
    assert "has no rows for nots; nearest: notes" in shown("nots")


@pytest.fixture(scope="module")
def gathered() -> dict[str, dict[str, str]]:
    if not GATHERED.exists():
        pytest.skip("needs shared/field beside the checkout")
    rows = [json.loads(line) for line in GATHERED.read_text("utf-8").splitlines()]
    return {row["id"]: row for row in rows}


def test_all_that_was_gathered_is_a_row_or_was_left_with_a_reason(
    facts: list[Fact], gathered: dict[str, dict[str, str]]
) -> None:
    files, _ = load_field_book()
    left = [one for file in files for table, _, row in file.rows if table == "left"
            for one in row["ids"]]  # fmt: skip
    told = [*left, *(fact.ref or fact.id for fact in facts)]
    assert sorted(told) == sorted(gathered)
    assert len(left) <= 20


def test_words_are_ours(facts: list[Fact], gathered: dict[str, dict[str, str]]) -> None:
    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"[\w'’.-]+", text.lower())
        return {tuple(words[at : at + 8]) for at in range(len(words) - 7)}

    theirs = {
        run
        for row in gathered.values()
        for key in ("what", "safe", "cost", "undo", "test", "when")
        for run in runs(row[key] or "")
    }
    shared = {fact.id for fact in facts for text in texts_of(fact) if runs(text) & theirs}
    assert shared == set()


def test_what_happens_is_said_in_two_sentences_at_most(facts: list[Fact]) -> None:
    long = [fact.id for fact in facts if len(re.findall(r"[.!?](?=\s|$)", fact.happens)) > 2]
    assert long == []


def test_rows_of_yours_act_beside_the_tools_that_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hint(**changed: object) -> str:
        row = {**ROW, "kind": "ui", "use": ["hint"], **changed}
        return "\n".join(["[[fact]]", *(f"{key} = {in_toml(one)}" for key, one in row.items())])

    folder, own = tmp_path / "tools", tmp_path / "notes.toml"
    good = hint(id="mine", terms=["show"], happens="It beeps.")
    own.write_text(
        "\n".join([
            'app = "com.apple.Notes"',
            good,
            hint(id="odd", kind="gossip"),
            hint(id="lost", terms=["fly"]),
            hint(id="notes-600-means-no-grant", terms=["*"], happens="Ours is put right."),
        ])
    )  # fmt: skip
    monkeypatch.setattr(field, "READ_FOLDERS", {folder: None})

    def built() -> str:
        options = ["build", "--bundled", "--output", str(folder), "--quirks", str(own), "notes"]
        return " ".join(CliRunner().invoke(cli, options).output.split())

    told = built()
    assert told.count(f"{own}:11: error: gossip is not a kind") == 1
    assert told.count("[[fact]] lost: fly matches nothing in Notes") == 1
    rows = {row["id"]: row["happens"] for row in field_rows("com.apple.Notes", "hint")}
    assert rows["mine"] == "It beeps."
    assert rows["notes-600-means-no-grant"] == "Ours is put right."
    assert not {"odd", "lost"} & rows.keys()
    own.write_text('app = "com.apple.Notes"\n')
    built()
    assert "mine" not in {row["id"] for row in field_rows("com.apple.Notes", "hint")}
    assert not (folder / "field.json").exists()
