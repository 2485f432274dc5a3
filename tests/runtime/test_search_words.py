"""The parts of the search: stems, spelling, reading a request, names of apps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_base.words import fold_name, split_words, stem_word, stem_words
from iac_runtime.search.lexicon import known_words, load_lexicon
from iac_runtime.search.query import (
    SearchRequest,
    nearest_words,
    read_request,
)
from iac_runtime.search.ranking import app_hints

NAMES = ["Mail", "Google Chrome", "System Events", "NetNewsWire"]


def read(text: str) -> SearchRequest:
    return read_request(text, known_words().__contains__, lambda _: [])


@pytest.mark.parametrize(("words", "same"), [
    ("messages message", True), ("play playing played plays", True),
    ("stop stopped stopping", True), ("make making makes", True), ("copy copies copied", False),
    ("box boxes", True), ("address addresses", True), ("news new", False),
])  # fmt: skip
def test_forms_of_one_word_have_one_stem(words: str, same: bool) -> None:
    assert (len(set(map(stem_word, words.split()))) == 1) is same


def test_words_in_one_are_found_apart_and_together() -> None:
    assert split_words("NetNewsWire") == ["netnewswire", "net", "news", "wire"]
    assert split_words("do JavaScript") == ["do", "javascript", "java", "script"]
    assert split_words("read_only, PDF-file") == ["read", "only", "pdf", "file"]


@given(st.text(max_size=80))
def test_stems_have_no_blanks_and_are_words_of_the_database(text: str) -> None:
    for one in stem_words(text):
        assert one
        assert one.isalnum()


@pytest.mark.parametrize("typed", ["remider", "reminderr", "remnider", "reminter"])
def test_one_wrong_letter_is_read_through(typed: str) -> None:
    assert nearest_words(typed, ["reminder", "render", "calendar"]) == ["reminder"]


def test_short_words_are_not_guessed_at() -> None:
    assert nearest_words("cax", ["cat", "car"]) == []


@given(st.text(alphabet="abcdefgh", min_size=4, max_size=12))
def test_a_word_is_nearest_to_itself(word: str) -> None:
    assert nearest_words(word, [word, "unrelated"])[0] == word


@pytest.mark.parametrize(("text", "operation"), [
    ("how many notes are there", "count"), ("create a new note", "make"),
    ("rename the note", "set"), ("show all notes", "list"), ("what is the name", "get"),
    ("turn off the rule", "set"),
])  # fmt: skip
def test_verbs_speak_for_operations(text: str, operation: str) -> None:
    operations = read(text).operations
    assert max(operations, key=lambda one: operations[one]) == operation


def test_a_word_may_be_another() -> None:
    (term,) = read("emails").terms
    assert term.options["email"] == 1
    assert 0 < term.options["mail"] < 1


def test_the_verb_of_an_order_is_known_and_a_question_has_none() -> None:
    assert read("please delete the note").action == 0
    assert read("which notes are old").action is None


def test_long_requests_are_read_in_part() -> None:
    assert len(read("word " * 5000).terms) == 1
    assert len(read(" ".join(f"word{n}" for n in range(500))).terms) <= 16


def test_every_entry_of_the_lexicon_can_be_read() -> None:
    words = load_lexicon()
    assert all(len(group.split()) > 1 for group in words.groups)
    assert {*words.intents} == {"count", "list", "get", "set", "make"}
    assert all(said and meant for said, meant in words.loose.items())


def find(name: str) -> list[tuple[int, int]]:
    if name.startswith("="):
        return [(0, place) for place, one in enumerate(NAMES) if fold_name(one) == name[1:]]
    parts = [{*stem_words(one)} - {*stem_words(fold_name(one))} for one in NAMES]
    return [(0, place) for place, words in enumerate(parts) if name[1:] in words]


def strengths(text: str) -> dict[str, float]:
    found = app_hints(read(text), find, {"system", "event", "mail"}.__contains__)
    return {NAMES[place]: hint.strength for (_, place), hint in found.items()}


def test_the_more_plainly_an_app_is_named_the_more_it_is_meant() -> None:
    by_name = strengths("something in google chrome")["Google Chrome"]
    by_part = strengths("something chrome")["Google Chrome"]
    by_topic = strengths("something with a bookmark")["Google Chrome"]
    assert by_name > by_part > by_topic > 0
    assert "Google Chrome" not in strengths("feed the cat")


def test_a_name_in_parts_is_a_name() -> None:
    whole = strengths("articles in NetNewsWire")["NetNewsWire"]
    assert strengths("articles in net news wire")["NetNewsWire"] == whole


def test_an_everyday_word_is_no_name_of_an_app() -> None:
    assert strengths("an event").get("System Events", 0) < 1
    assert strengths("send a mail").get("Mail", 0) < strengths("send it in mail")["Mail"]


@pytest.mark.parametrize(("said", "meant"), [
    ("Lösche die alte Notiz von gestern", "note"), ("Ferme tous les onglets", "tab"),
    ("Borra las notas de la semana pasada", "note"), ("カレンダーに会議を追加して", "event"),
    ("Wie viele ungelesene Nachrichten habe ich?", "unread"), ("Mets la musique en pause", "music"),
    ("¿Cuántos archivos hay en esta carpeta?", "folder"), ("フォルダを開いて", "folder"),
])  # fmt: skip
def test_other_languages_are_read_as_english(said: str, meant: str) -> None:
    assert stem_word(meant) in {term.stem for term in read(said).terms}


def test_english_is_no_other_language() -> None:
    said = {term.stem for term in read("undo the last change in the note list").terms}
    assert {"undo", stem_word("note"), "list"} <= said


def test_what_is_only_written_down_says_little() -> None:
    terms = {term.stem: term.worth for term in read("make a note: buy a calendar").terms}
    assert terms["calendar"] < terms[stem_word("note")]
    terms = {term.stem: term.worth for term in read('search the web for "mail folder"').terms}
    assert terms["folder"] < terms["web"]
