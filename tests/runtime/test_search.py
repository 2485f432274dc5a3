"""Finding tools: what a user asks for in everyday words, over the committed apps."""

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_base.errors import SetupError
from iac_runtime.search import index_file
from iac_runtime.search.index import Index, SearchHit
from iac_runtime.search.index_file import index_lines
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import OWN_TOOLS

ROOT = Path(__file__).parent.parent.parent
TOOLS = ROOT / "generated" / "iac_tools"
CATALOGUE = Catalogue([TOOLS])
INDEX = Index(CATALOGUE)


def names(hits: list[SearchHit]) -> list[str]:
    return [hit.tool for hit in hits]


@pytest.mark.parametrize(("query", "tool"), [
    ("how many unread emails do I have", "mail_count_unread"), ("write down a note", "notes_make"),
    ("tick off a task", "reminders_set"), ("skip this song", "music_next_track"),
    ("reboot the mac", "system_events_restart"),
    ("which web pages are open in safari", "safari_list"),
    ("put text on the clipboard", "standard_additions_set_clipboard_text"),
    ("quit an app", "app_quit"),
])  # fmt: skip
def test_everyday_words_find_the_tool(query: str, tool: str) -> None:
    assert tool in names(INDEX.find(query))


@pytest.mark.parametrize(("query", "tool"), [
    ("unraed emials", "mail_list_unread"), ("lsit my remiders", "reminders_list"),
    ("emtpy the tarsh", "finder_empty"), ("safrai bookmarcks", "safari_show_bookmarks"),
])  # fmt: skip
def test_mistyped_words_find_it_too(query: str, tool: str) -> None:
    assert tool in names(INDEX.find(query))


def test_a_hit_says_what_to_pass() -> None:
    hits = {hit.tool: hit for hit in INDEX.find("list mail messages by sender", limit=8)}
    found = hits["mail_list"]
    assert found.op == "list"
    assert found.element == "message"
    assert "sender" in found.properties
    assert "Mail" in found.why
    assert found.level == "SAFE"


def test_what_cannot_be_set_is_not_suggested_for_setting() -> None:
    hits = {hit.tool: hit for hit in INDEX.find("change the creation date of a note", limit=8)}
    assert "creation date" not in hits["notes_set"].properties
    assert "creation date" in hits["notes_get"].properties


def test_an_app_that_is_named_comes_first() -> None:
    assert INDEX.find("list tabs in chrome")[0].tool.startswith("google_chrome_")
    assert INDEX.find("list tabs in safari")[0].tool.startswith("safari_")
    assert INDEX.find("with System Events, which processes")[0].tool.startswith("system_events_")


@pytest.mark.parametrize("app", ["Mail", "mail", "com.apple.mail"])
def test_only_tools_of_a_chosen_app_come(app: str) -> None:
    hits = INDEX.find("make something new", app=app)
    assert hits
    assert all(hit.tool.startswith("mail_") for hit in hits)


def test_an_app_that_is_not_there_has_no_tools() -> None:
    assert INDEX.find("make something", app="Spotify") == []


def test_only_tools_up_to_a_level_come() -> None:
    assert "finder_empty" in names(INDEX.find("empty the trash"))
    hits = INDEX.find("empty the trash", level="SAFE")
    assert "finder_empty" not in names(hits)
    assert all(hit.level == "SAFE" for hit in hits)


def test_as_many_come_as_are_wanted_and_each_once() -> None:
    for limit in (0, 1, 5, 30):
        found = names(INDEX.find("list messages", limit=limit))
        assert len(found) <= limit
        assert len(set(found)) == len(found)
    assert len(INDEX.find("list messages", limit=5)) == 5


def test_words_that_say_nothing_find_nothing() -> None:
    assert INDEX.find("") == []
    assert INDEX.find("   the of and ") == []


@given(st.text(max_size=600))
def test_any_text_is_a_request(query: str) -> None:
    for hit in INDEX.find(query):
        assert hit.tool in CATALOGUE.tools or hit.tool in OWN_TOOLS


@given(
    st.lists(st.sampled_from("\"*:^()-+{}' NEAR AND OR NOT mail name: col".split(" ")), max_size=9)
)
def test_the_language_of_the_database_is_only_words(parts: list[str]) -> None:
    INDEX.find(" ".join(parts))


def test_the_same_request_has_the_same_answer() -> None:
    again = Index(Catalogue([TOOLS]))
    for query in ("play a song", "delete it", "what is open"):
        assert again.find(query) == INDEX.find(query)


def test_several_threads_may_ask_at_once() -> None:
    wanted = {query: INDEX.find(query) for query in ("play a song", "list notes", "new event")}
    wrong: list[str] = []

    def ask(query: str) -> None:
        answers = [INDEX.find(query) for _ in range(20)]
        wrong.extend(query for answer in answers if answer != wanted[query])

    threads = [threading.Thread(target=ask, args=[query]) for query in wanted for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_index_that_is_opened_answers_like_one_that_is_built() -> None:
    assert Index(CATALOGUE).find("play a song") == INDEX.find("play a song")


@pytest.mark.parametrize(("damage", "told"), [
    (lambda file: file.unlink(), "is missing"), (lambda file: file.write_text(""), "is damaged"),
    (lambda file: file.write_text("{}\n[1]\n"), "is damaged"),
    (lambda file: file.write_text('{"format":1}\n[99999,1,1]\n'), "is damaged"),
])  # fmt: skip
def test_a_damaged_index_is_told_to_whoever_searches(
    tmp_path: Path, damage: Callable[[Path], object], told: str
) -> None:
    folder = tmp_path / "tools"
    shutil.copytree(TOOLS, folder, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    damage(folder / "words.jsonl")
    opened = Index(Catalogue([folder]))
    for _ in range(2):
        with pytest.raises(SetupError, match=rf"words\.jsonl {told}"):
            opened.find("read my mail")


def test_an_index_is_made_on_first_need_and_anew_where_the_words_are_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "tools"
    shutil.copytree(TOOLS, folder, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    before = {path.name for path in folder.iterdir()}

    def find() -> list[str]:
        return names(Index(Catalogue([folder])).find("reply to the mail"))

    assert "mail_reply" in find()
    (made,) = (tmp_path / "cache").rglob("*.jsonl")
    assert {path.name for path in folder.iterdir()} == before
    stamp = made.stat().st_mtime_ns
    assert "mail_reply" in find()
    assert made.stat().st_mtime_ns == stamp
    # What somebody else left there, or what was cut off, is no index of these words.
    made.write_bytes(made.read_bytes()[200:])
    assert "mail_reply" in find()
    lines = (folder / "words.jsonl").read_text().splitlines(keepends=True)
    (folder / "words.jsonl").write_text("".join(one for one in lines if '"mail"' not in one))
    assert "mail_reply" not in find()


def test_an_index_is_made_where_nothing_can_be_written_and_is_beside_the_words_in_a_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert "mail_reply" in names(Index(Catalogue([TOOLS])).find("reply to the mail"))
    folder = tmp_path / "tools"
    shutil.copytree(TOOLS, folder, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    (folder / "search.jsonl").write_text(
        "".join(index_lines((folder / "words.jsonl").read_bytes()))
    )
    monkeypatch.setattr(index_file, "index_lines", lambda _: pytest.fail("was made again"))
    assert "mail_reply" in names(Index(Catalogue([folder])).find("reply to the mail"))


def test_an_index_counts_only_as_far_as_the_catalogue_says_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    shutil.copytree(TOOLS, folder, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    rows = (folder / "catalogue.json").read_text().splitlines()
    kept = [row for row in rows if not row.startswith('"mail_reply"')]
    (folder / "catalogue.json").write_text("\n".join(kept))
    hits = Index(Catalogue([folder])).find("reply to the mail", limit=50)
    assert "mail_reply" not in names(hits)
    assert "mail_get" in names(hits)


@pytest.mark.parametrize(
    "query",
    ["what is the weather in Oslo", "boil an egg", "who won the football", "translate this poem"],
)
def test_what_no_app_does_is_not_answered_with_what_comes_near(query: str) -> None:
    assert INDEX.find(query) == []


def test_an_answer_shows_several_apps_where_none_is_named() -> None:
    hits = INDEX.find("reload the page", limit=28)
    assert (
        len({CATALOGUE.tools[hit.tool].app.key for hit in hits if hit.tool in CATALOGUE.tools}) > 2
    )


def test_nothing_of_the_search_is_loaded_before_it_is_asked_for() -> None:
    code = (
        "import sys; import iac_runtime.tools.catalogue;"
        "print(sorted({'mcp', 'jsonschema', 'iac_runtime.search'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def run_benchmark(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / "search.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.process
def test_requests_as_users_phrase_them_are_served() -> None:
    done = run_benchmark()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "recall@5" in done.stdout


@pytest.mark.process
def test_the_benchmark_fails_on_requests_that_nothing_serves(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    accept = [{"app": "Mail", "command": "check for new mail"}]
    file.write_text(json.dumps({"query": "play a song", "accept": accept}) + "\n\n")
    done = run_benchmark(file, TOOLS)
    assert done.returncode == 1
    assert "miss: play a song" in done.stdout


def test_the_requests_are_a_hundred_and_twenty_of_our_own() -> None:
    lines = (ROOT / "tests" / "search" / "requests.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert len({row["query"] for row in rows}) == 120
    said = {row["description"].casefold() for row in CATALOGUE.read_listing()}
    assert not any(row["query"].casefold() in text for row in rows for text in said)
    assert not any(row["query"].casefold().replace(" ", "_") in CATALOGUE.tools for row in rows)
    apps = {accepted["app"] for row in rows for accepted in row["accept"]}
    assert apps == {app.name for app in CATALOGUE.apps.values()}
