"""Names: the JavaScript rule as working scripts show it, Python names, tool names."""

import keyword
import re
import runpy
import sys
from pathlib import Path

import pytest
from dictionaries import ANY_TEXT
from floors import dictionaries, floors_text, judged, lower
from floors import main as floors_main
from hypothesis import given
from hypothesis import strategies as st

from iac_gen.classify.evidence import shipped_floors
from iac_gen.model import SdefClass
from iac_gen.naming import (
    FUNCTION_RESERVED,
    MAX_TOOL_NAME,
    app_key,
    class_plural,
    clipped_name,
    distinct_names,
    function_name,
    has_verified_name,
    javascript_name,
    literal_alias,
    parameter_key,
    snake_case,
    unique_name,
)
from iac_gen.object_tools import OBJECT_EVENTS
from iac_gen.text import identifier

SEEN_IN_SCRIPTS = {
    "URL": "url", "POSIX path": "posixPath", "UI elements": "uiElements",
    "AirPlay device": "airplayDevice", "AirPlay devices": "airplayDevices",
    "PDF Windows": "pdfWindows", "unix id": "unixId", "persistent ID": "persistentID",
    "audio CD playlists": "audioCDPlaylists", "do JavaScript": "doJavaScript",
    "HTML content": "htmlContent", "to dos": "toDos", "set eof": "setEof",
    "do shell script": "doShellScript", "set the clipboard to": "setTheClipboardTo",
    "getvariable": "getvariable", "doscript": "doscript", "in": "in", "from": "from", "for": "for",
    "as": "as", "new": "new", "with properties": "withProperties",
    "button returned": "buttonReturned",
}  # fmt: skip
# What the rule gives and nobody was seen to use; only a Mac can confirm these.
FOLLOWS = {
    "MIME type": "mimeType", "XML elements": "xmlElements", "EQ enabled": "eqEnabled",
    "iCloud account": "icloudAccount", "GetURL": "geturl",
    "openVirtualLocation": "openvirtuallocation", "PackBits": "packbits", "": "",
    "  two  blanks ": "twoBlanks",
}  # fmt: skip


@pytest.mark.parametrize(("term", "name"), [*SEEN_IN_SCRIPTS.items(), *FOLLOWS.items()])
def test_the_javascript_name_of_a_term(term: str, name: str) -> None:
    assert javascript_name(term) == name


@pytest.mark.parametrize(("name", "declared", "collection"), [
    ("person", "people", "people"), ("process", "processes", "processes"),
    ("settings set", "", "settingsSets"), ("property list item", "", "propertyListItems"),
    ("outgoing message", "", "outgoingMessages"), ("inbox task", "", "inboxTasks"),
    ("UI element", "", "uiElements"),
])  # fmt: skip
def test_the_collection_of_a_class(name: str, declared: str, collection: str) -> None:
    row = SdefClass(name, "clas", plural=declared)
    assert javascript_name(class_plural(row.name, row.plural)) == collection


@pytest.mark.parametrize(("term", "name"), [
    ("GetURL", "get_url"), ("do JavaScript", "do_javascript"),
    ("do shell script", "do_shell_script"), ("openVirtualLocation", "open_virtual_location"),
    ("executeAATFile", "execute_aat_file"), ("path to", "path_to"),
    ("_load module_", "load_module"), ("open VIDEO_TS", "open_video_ts"), ("import", "import_"),
    ("break", "break_"), ("tool", "tool_"), ("str", "str_"), ("list", "list"), ("open", "open"),
    ("match", "match"), ("360p", "n360p"), ("2 up", "n2_up"), ("black & white", "black_and_white"),
    ("read/write", "read_write"), ("ICN#", "icn"), ("Straße", "strasse"),
    ("café crème", "cafe_creme"), ("ƒnet", "fnet"),
])  # fmt: skip
def test_the_python_name_of_a_command(term: str, name: str) -> None:
    assert function_name(term, "diarrere") == name


def test_a_command_whose_name_leaves_nothing_is_called_by_its_code() -> None:
    assert function_name("漢字", "diarrere") == "han_zi"
    assert function_name("§ ✓", "diarrere") == "event_6469617272657265"


@pytest.mark.parametrize(("term", "key"), [
    ("in", "in_"), ("as", "as_"), ("from", "from_"), ("with properties", "with_properties"),
    ("True", "true"), ("using delimiter(s)", "using_delimiter_s"), ("§", "code_a46c7374"),
])  # fmt: skip
def test_the_key_of_a_parameter(term: str, key: str) -> None:
    assert parameter_key(term, "§lst") == key


@pytest.mark.parametrize(("name", "bundle", "key"), [
    ("Google Chrome", "com.google.Chrome", "google_chrome"),
    ("TextEdit", "com.apple.TextEdit", "textedit"), ("Straße", "de.example.x", "strasse"),
    ("1Password", "com.example.x", "n1password"), ("微信", "com.tencent.xinWeChat", "weixin"),
    ("微信", "", "weixin"),
    ("⌘", "com.example.keys", "keys"), ("⌘", "", "app"), ("Import", "", "import_"),
    ("A Name That Goes On And On", "", "a_name_that_goes_on"),
])  # fmt: skip
def test_the_key_of_an_app(name: str, bundle: str, key: str) -> None:
    assert app_key(name, bundle) == key


@pytest.mark.parametrize(("term", "name"), [
    ("save options", "SaveOptions"), ("360p sizes", "N360pSizes"), ("ref", "Ref_"),
    ("class name", "ClassName_"), ("true", "True_"), ("漢", "Han"), ("§", "Values"),
])  # fmt: skip
def test_the_alias_of_an_enumeration(term: str, name: str) -> None:
    assert literal_alias(term) == name


def test_a_taken_name_gets_the_first_free_number() -> None:
    assert unique_name("open", []) == "open"
    assert unique_name("open", ["open", "open_2"]) == "open_3"
    assert unique_name("in_", ["in_"]) == "in_2"


def test_a_long_tool_name_is_shortened_by_meaning_and_never_by_a_hash() -> None:
    full = "diary_export_the_selected_entries_as_one_document"
    assert distinct_names([full]) == ["diary_export_selected_entries_one_doc"]
    alike = [f"diary_concatenate_{way}_transformation_matrix" for way in ("scale", "turn")]
    assert distinct_names(alike) == [
        "diary_concatenate_scale_matrix", "diary_concatenate_turn_matrix",
    ]  # fmt: skip


@given(ANY_TEXT, st.text("abc \u00b6\u00df", min_size=8, max_size=8))
def test_names_are_identifiers_whatever_the_term(term: str, code: str) -> None:
    for name in (function_name(term, code), parameter_key(term, code[:4]), literal_alias(term)):
        assert name.isidentifier()
        assert not keyword.iskeyword(name)
        identifier(name)
    assert function_name(term, code) not in FUNCTION_RESERVED
    assert function_name(term, code) == function_name(term, code)
    assert re.fullmatch(r"([a-z][a-z0-9_]*)?", snake_case(term))
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,20}", app_key(term, f"com.example.{term}"))


@given(st.lists(st.text("aA b_", min_size=1, max_size=90), max_size=8))
def test_names_made_unique_stay_unique_and_identifiers(terms: list[str]) -> None:
    taken: list[str] = []
    for term in terms:
        taken.append(unique_name(function_name(term, "diarrere"), taken))
        identifier(taken[-1])
    assert len(set(taken)) == len(terms)


@given(st.from_regex(r"[a-z][a-z0-9_]{0,18}[a-z0-9]", fullmatch=True), ANY_TEXT | st.text("ab_ "))
def test_tool_names_are_short_and_plain(key: str, term: str) -> None:
    (name,) = distinct_names([f"{key}_{function_name(term, 'diarrere').rstrip('_')}"])
    assert re.fullmatch(rf"[a-z][a-z0-9_]{{0,{MAX_TOOL_NAME - 1}}}", name)
    assert name.startswith(f"{key}_")


def test_object_tools_have_the_names_of_their_verbs() -> None:
    assert {function_name(verb, code) for code, verb in OBJECT_EVENTS.items()} == set(
        OBJECT_EVENTS.values()
    )


@pytest.mark.parametrize("term", [*SEEN_IN_SCRIPTS])
def test_a_name_seen_in_scripts_is_verified(term: str) -> None:
    assert has_verified_name(term)


@pytest.mark.parametrize("term", [
    "GetURL", "openVirtualLocation", "PackBits", "iCloud account", "computer-object",
    "open VIDEO_TS", "Name & Extension panel", "read/write", "Mac OS Simp. Chinese", "360p", "café",
    "¶", "",
])  # fmt: skip
def test_a_name_without_evidence_is_not(term: str) -> None:
    assert not has_verified_name(term)


TOOL_NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,38}[a-z0-9]", fullmatch=True)
LIKE = st.lists(
    st.tuples(st.sampled_from(["a", "system", "system_events"]), st.integers(30, 44)), max_size=12
).map(lambda rows: [f"{key}_{'x' * size}" for key, size in rows])


@given(st.lists(TOOL_NAMES, max_size=12) | LIKE, st.lists(TOOL_NAMES, max_size=6, unique=True))
def test_names_are_told_apart_however_a_client_cuts_them(
    names: list[str], others: list[str]
) -> None:
    taken = distinct_names(others)
    found = distinct_names(names, taken)
    every = [*taken, *found]
    assert all(re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name) for name in every)
    for server in ("", "iac", "s" * 17):
        full = [f"mcp__{server}__{name}" if server else name for name in every]
        assert max(map(len, full), default=0) <= 64
        cut = [name if len(name) <= 60 else name[:30] + name[-30:] for name in full]
        assert len(set(cut)) == len(every)
    assert len({clipped_name(name) for name in every}) == len(every)
    assert distinct_names(names, taken) == found
    assert distinct_names(found, taken) == found


def test_a_name_that_is_fine_stays_and_the_first_of_equals_does() -> None:
    assert distinct_names(["mail_send", "mail_send", "mail_send_2"]) == [
        "mail_send",
        "mail_send_3",
        "mail_send_2",
    ]
    assert distinct_names(["system_events_run"], {"system_events_run"}) == ["system_events_run_2"]
    middle = "abcdef{}" + "x" * 32
    one, other = distinct_names([middle.format("12"), middle.format("34")])
    assert one == middle.format("12")
    assert (other[-2:], len(other)) == ("_2", 40)
    assert distinct_names([]) == []


@given(st.lists(st.text("abc_", min_size=1, max_size=90), max_size=6))
def test_long_names_are_cut_the_same_way_every_time(parts: list[str]) -> None:
    names = [f"key_{part}z" for part in parts]
    found = distinct_names(names)
    assert len(set(found)) == len(names)
    assert all(len(name) <= MAX_TOOL_NAME for name in found)
    for name, given_name in zip(found, names, strict=True):
        if len(given_name) <= MAX_TOOL_NAME and names.count(given_name) == 1:
            assert name == given_name or clipped_name(given_name) != given_name


# The benchmark of levels: what it measures, what it prints, and that the bounds hold.
#
# `labels.tsv` holds our own labels. They were made before the verdicts were seen (one was corrected
# afterwards), but rules were mended on them since, so its figures flatter. Rows of apps in the
# corpus are judged by their dictionary. Those that list what a command `takes` are of other apps
# and describe it by themselves; most were written from memory, so their codes are not to be relied
# on.


HERE = Path(__file__).parent
SCRIPT = HERE.parent.parent / "benchmarks" / "labels.py"
HEADER = "app\tkind\tcode\tname\ttakes\tanswers\tlabel\taccept\n"


def run(*arguments: object, capsys: pytest.CaptureFixture[str]) -> tuple[object, str]:
    """Run the script in this process; return its exit code and all that it printed."""
    old, sys.argv = sys.argv, ["labels.py", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(SCRIPT), run_name="__main__")
    finally:
        sys.argv = old
    told = capsys.readouterr()
    return ended.value.code, told.out + told.err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the dictionary of one small app."""
    (tmp_path / "Diary.sdef").write_text(
        '<dictionary><suite name="Diary" code="diar">'
        '<command name="erase" code="diareras"/>'
        '<command name="peruse" code="diarperu" hidden="yes"/>'
        '<class name="entry" code="entr"><property name="mood" code="mood" type="text"/></class>'
        "</suite></dictionary>"
    )
    return tmp_path


def write(folder: Path, *rows: str) -> Path:
    path = folder / "labels.tsv"
    path.write_text(HEADER + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


GOOD = (
    "Diary\tcommand\tdiareras\terase\t\t\tDANGEROUS\tDANGEROUS",
    "Diary\tcommand\tdiarperu\tperuse\t\t\tMODIFY\tMODIFY",
    "Diary\tproperty_set\tmood\tentry.mood\t\t\tMODIFY\tMODIFY",
    "Diary\timplicit\t\tcount\t\t\tSAFE\tSAFE",
    "Elsewhere\tcommand\telseread\tread aloud\ttext; to: file\t\tDANGEROUS\tDANGEROUS",
    "Elsewhere\tproperty_set\t\taccount.password\t\t\tDANGEROUS\tDANGEROUS",
)


def test_rows_with_and_without_a_dictionary_are_measured(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = run(write(folder, *GOOD), folder, capsys=capsys)
    assert code == 0, told
    assert "6 rows: 1 SAFE, 2 MODIFY, 3 DANGEROUS" in told
    assert "3 of them declared by no dictionary" in told
    assert "strict 100.0%, lenient 100.0%" in told


def test_a_miss_is_told_with_its_line_and_reason_and_fails(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "Diary\tcommand\t\tpurge nothing\t\t\tSAFE\tSAFE"
    low = "Diary\tcommand\t\tshow diary\t\t\tDANGEROUS\tMODIFY,DANGEROUS"
    code, told = run(write(folder, *GOOD, wrong, low), folder, capsys=capsys)
    assert code == 1
    assert "line 8: Diary command purge nothing: DANGEROUS (destroys); labelled SAFE" in told
    assert "missed: 1 DANGEROUS below their accept set" in told
    assert "missed: 1 DANGEROUS called SAFE" in told


def test_what_is_no_label_file_is_said_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = write(folder, "Diary\tcommand\t\terase\t\t\tHARMLESS\t")
    assert "line 2: 'HARMLESS' is no level" in run(odd, folder, capsys=capsys)[1]
    assert "does not exist" in run(folder / "none.tsv", folder, capsys=capsys)[1]


def test_all_rows_are_printed_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, told = run("--all", write(folder, *GOOD), folder, capsys=capsys)
    assert told.count("line ") == len(GOOD)


def test_the_bounds_hold_for_the_labels_of_the_corpus(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = run(capsys=capsys)
    assert code == 0, told


def test_the_bounds_hold_for_our_own_labels(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = run(HERE / "labels.tsv", corpus / "sdef", capsys=capsys)
    assert code == 0, told


def test_the_bounds_hold_for_labels_that_readers_of_the_dictionaries_alone_gave(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They knew neither the rules nor the words; rules were mended on all of these rows since."""
    code, told = run("--no-floors", HERE / "labels_blind.tsv", corpus / "sdef", capsys=capsys)
    assert (code, "missed" in told) == (0, False), told


def test_the_bounds_hold_for_apps_that_were_labelled_after_the_rules(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the rows of apps that nobody had judged; rules were mended on this half since."""
    field = corpus.parent / "field"
    rows = ("--no-floors", field / "labels-open.tsv", field / "dictionaries")
    code, told = run(*rows, capsys=capsys)
    assert (code, "missed" in told) == (0, False), told


def test_the_bounds_hold_without_what_is_known_by_code_alone(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = run("--no-floors", HERE / "labels.tsv", corpus / "sdef", capsys=capsys)
    assert code == 0, told


@pytest.mark.slow
def test_the_bounds_hold_as_if_no_app_had_ever_been_seen(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = run("--leave-one-app-out", HERE / "labels.tsv", corpus / "sdef", capsys=capsys)
    assert code == 0, told


def test_the_floors_are_no_lower_than_what_is_judged_today() -> None:
    assert lower(shipped_floors(), judged(dictionaries([]))) == []
    assert floors_main([]) == 0


def test_floors_of_a_new_dictionary_are_told_and_not_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert floors_main([str(folder)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "events 'diareras': SAFE, judged DANGEROUS",
        "events 'diarperu': SAFE, judged MODIFY",
        "setters ('entr', 'mood'): SAFE, judged MODIFY",
    ]


def test_the_file_of_floors_is_what_its_writer_writes(corpus: Path) -> None:
    path = Path(sys.modules["iac_gen.classify.evidence"].__file__ or "").with_name("floors.json")
    want = floors_text(judged(dictionaries([corpus / "sdef"])))
    assert path.read_text(encoding="utf-8") == want
